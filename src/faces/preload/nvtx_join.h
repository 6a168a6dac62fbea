/* NVTX ranges in a recording that begins while the program runs.
 *
 * Each NVTX in the process (nvtx_search.h) is in one of three states:
 *
 *   complete   it has looked for a tool and found none: its functions are NULL, and become ours
 *   fresh      its first call is still to come, and would set all functions to NULL. So it is made to look now, by its own function that does
 *              nothing else (nvtxInitialize)
 *   started    a thread is looking: it is waited for, for a moment
 *
 * Where another tool is there, or the environment names one, NVTX is left alone, and the recording says that annotations are missing
 * (VS_DOUBT_ANNOTATIONS), as it does where memory cannot be searched. Functions that were NULL are NULL again when the recording has ended. */
#ifndef VS_PRELOAD_NVTX_JOIN_H
#define VS_PRELOAD_NVTX_JOIN_H

#include <stdbool.h>

/* Joins NVTX in all libraries that are loaded. Any thread that holds no lock of the loader's or of PyTorch's allocator's, here and below. */
void vs_nvtx_join(void);

/* Whether it has joined, and not left. */
bool vs_nvtx_is_joined(void);

/* Joins it in libraries that were loaded since the last call, too. Does nothing where it has not joined. */
void vs_nvtx_look_again(void);

/* Does nothing where it has not joined. */
void vs_nvtx_leave(void);

#endif
