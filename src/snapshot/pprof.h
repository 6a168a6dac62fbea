/* JAX's device memory profile (jax.profiler.save_device_memory_profile): the buffers that are live at one moment, as a profile of
 * pprof (profile.proto), which is stored compressed.
 *
 *   samples     buffers of one size that one stack allocated: their number (allocations) and their bytes (space). Each becomes
 *               a block of the end state; blocks have no address (VS_LACKS_ADDRESSES)
 *   labels      kind: buffer or executable; device: "cuda:0". Executables name no device, and memory of the CPU is not a GPU's:
 *               both are counted in `left_out`
 *   stacks      locations and functions, innermost first
 *
 * There is no history. Unknown: segments, rounding, streams. */
#ifndef VS_SNAPSHOT_PPROF_H
#define VS_SNAPSHOT_PPROF_H

#include "codec/input.h"
#include "snapshot/model.h"

/* Whether bytes begin as a profile: with the type of a sample, which is two numbers. */
bool vs_pprof_is(vs_str head);

enum {
  VS_PPROF_MOST_FIELD = 16 * 1024 * 1024, /* bytes of one sample, function or string */
  VS_PPROF_MOST_FRAMES = 1024, /* of one stack; the outermost ones of a deeper stack are left out */
};

/* Reads the profile to its end. Owner: the caller, vs_snapshot_destroy.
 * Fails: VS_UNSUPPORTED  a profile of something else, or without memory of a GPU; VS_BAD_FORMAT, VS_TRUNCATED, VS_LIMIT, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_pprof_read(vs_input *input, vs_snapshot **out, vs_error *error);

#endif
