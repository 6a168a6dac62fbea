/* The loaded programs and libraries, visited under the lock of the dynamic loader, with forks kept out.
 *
 * glibc (2.36 and others) does not reset that lock in the child of a fork. If another thread holds it at that moment, the child waits for
 * ever when it loads or visits libraries itself. So a fork waits until no thread is within such a visit of ours. */
#ifndef VS_OS_LOADER_H
#define VS_OS_LOADER_H

#include <link.h>

/* As dl_iterate_phdr, from any thread; `visit` may visit again. It must not fork. */
int vs_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *ctx), void *ctx);

#endif
