/* A host for what threads allocate while the process forks, in tests whose child allocates, too.
 *
 * After a fork glibc's allocator serves a child even if another thread was in the middle of a call. AddressSanitizer's of GCC 12
 * does not: the lock that the other thread held stays held in the child, which waits for ever. This host makes a fork wait
 * until no thread is within one of its calls. */
#ifndef VS_TESTS_FORK_HOST_H
#define VS_TESTS_FORK_HOST_H

#include "base/host.h"

/* Any thread may use it. It is the default host with a lock, which forks take, too. */
const vs_host *fork_host(void);

#endif
