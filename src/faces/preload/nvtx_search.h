/* Where NVTX is in the libraries that are loaded: its globals are found by what they contain.
 *
 * NVTX has no names that others could look up. But its globals begin with two structs of known sizes, and end with tables of the addresses of
 * their own functions, so nothing else in memory looks like them: 79 words have exactly one possible value each, and two more are addresses of
 * the library's code.
 *
 * Only data of loaded files is searched, as far as it can be written and comes from the file. It is read by process_vm_readv, which returns an
 * error where a program has unmapped or protected it. */
#ifndef VS_PRELOAD_NVTX_SEARCH_H
#define VS_PRELOAD_NVTX_SEARCH_H

#include "faces/preload/nvtx_abi.h"
#include <stdbool.h>

typedef struct vs_nvtx_part {
  uint64_t start, end; /* [start, end) */
} vs_nvtx_part;

/* A loaded library; of more parts the rest is not searched. */
enum { VS_NVTX_MOST_PARTS = 8 };
typedef struct vs_nvtx_library {
  const char *name; /* as the loader has it: "" for the program */
  vs_nvtx_part data[VS_NVTX_MOST_PARTS], code[VS_NVTX_MOST_PARTS];
  size_t data_count, code_count;
} vs_nvtx_library;

typedef void vs_nvtx_found(void *ctx, const vs_nvtx_library *library, nvtx_globals *globals);

/* Calls `found` for each NVTX in the data of one library. False: the system refuses to read memory. */
bool vs_nvtx_search(const vs_nvtx_library *library, vs_nvtx_found *found, void *ctx);

/* The same for the program and all loaded libraries. `found` is called under the loader's lock. *searched says which were searched by an earlier
 * call and are left out, 0: none; it is set to those that are loaded now, unless it is NULL. */
bool vs_nvtx_search_all(vs_nvtx_found *found, void *ctx, uint64_t *searched);

/* Whether NVTX is still there, in a library that the caller keeps loaded. *initialize: its function of that name, if it is the library's own, else
 * NULL. */
typedef void vs_nvtx_initialize(const void *reserved);
bool vs_nvtx_confirm(const nvtx_globals *globals, vs_nvtx_initialize **initialize);

#endif
