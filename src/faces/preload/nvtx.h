/* Ranges that the program marks with NVIDIA's tools extension (NVTX), as annotations.
 *
 * NVTX is compiled into each library that uses it, and does nothing until a tool is there: its first call in a library looks for one in the
 * file that NVTX_INJECTION64_PATH names, and asks that to fill the library's table of functions. So this library offers itself, where the
 * program begins with it and no other tool is named. A profiler that is keeps its place, and no NVTX range is recorded. Where the recording
 * begins later, nvtx_join.h finds the tables.
 *
 * Recorded are pushed and started ranges, with the name of their domain, if it has one. Marks are not: they have no length. What NVTX returns
 * to the program is what it returns without a tool, but for handles and the numbers of started ranges. */
#ifndef VS_PRELOAD_NVTX_H
#define VS_PRELOAD_NVTX_H

#include "faces/preload/nvtx_abi.h"
#include "faces/preload/pytorch.h"

/* Names this library as NVTX's tool, where the environment has none. Before the program begins. */
void vs_nvtx_offer(void);

/* What NVTX calls in the library that it finds. Returns 1: the table has our functions; 0: it cannot be filled. */
VS_PRELOAD_API int InitializeInjectionNvtx2(nvtx_get_table *get_table);

/* Puts our functions into the table of a library whose NVTX has looked for a tool; other threads may call it meanwhile. False: another tool's
 * are there. */
bool vs_nvtx_fill(nvtx_globals *globals);

/* Takes them out: NVTX does nothing, as if it had found no tool. */
void vs_nvtx_clear(nvtx_globals *globals);

/* Whether the environment names another tool. */
bool vs_nvtx_is_promised(void);

#endif
