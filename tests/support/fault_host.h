/* A host that counts, spoils and fails.
 *
 * It knows every block that is out, holds the caller to the sizes it tells, moves on every resize, fills fresh
 * memory and what is given back with patterns, and answers "no memory" to one request of the test's choice. */
#ifndef VS_TESTS_FAULT_HOST_H
#define VS_TESTS_FAULT_HOST_H

#include "base/host.h"

#define FAULT_NEVER UINT64_MAX

typedef struct fault_host {
  vs_host host;      /* what to hand on; its ctx is this struct, which must not move */
  uint64_t fail_at;  /* the number, from 0 on, of the request that fails */
  uint64_t requests; /* so far: allocations and resizes; giving back is none */
  uint64_t live_blocks, live_bytes, peak_bytes;
} fault_host;

void fault_host_init(fault_host *fault, uint64_t fail_at);

/* Everything was given back. */
void fault_host_expect_empty(const fault_host *fault);

/* The whole out-of-memory proof of an operation: runs it with the first request failing, then the second, and
 * so on until it succeeds. Each failure has to be VS_NO_MEMORY and must leave nothing behind. Returns the
 * requests of the success. */
uint64_t fault_prove(vs_status (*operation)(const vs_host *host, void *ctx), void *ctx);

#endif
