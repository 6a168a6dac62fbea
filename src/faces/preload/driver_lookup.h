/* How a program finds the CUDA driver's functions, and how it finds others in their place.
 *
 * A CUDA runtime, whether in libcudart.so or linked into another library, opens libcuda.so.1 and asks for its functions by name: `dlsym` for
 * cuGetProcAddress, and that for the rest. This library is asked first where it is preloaded, because it exports `dlsym`; and a library
 * that is linked with libcuda.so.1 is bound to the names that this one exports. For the names of driver_calls.def they get ours, for all
 * others, the driver's tables of exports too, what the driver has.
 *
 * x86-64 alone: on other machines the driver is asked directly. */
#ifndef VS_PRELOAD_DRIVER_LOOKUP_H
#define VS_PRELOAD_DRIVER_LOOKUP_H

#include "device/abi/driver_types.h"
#include <stdbool.h>

typedef enum vs_driver_stream { VS_STREAM_ANY, VS_STREAM_SHARED, VS_STREAM_PER_THREAD } vs_driver_stream;

typedef enum vs_driver_call {
#define VS_DRIVER_CALL(name, symbol, version, stream, ours) VS_CALL_##symbol,
#include "faces/preload/driver_calls.def"
  VS_DRIVER_CALLS
} vs_driver_call;

typedef void vs_driver_function(void); /* any function of the driver's, to be cast */

/* From here on programs find these, by vs_driver_call. */
void vs_driver_lookup_begin(vs_driver_function *const table[VS_DRIVER_CALLS]);

/* The driver's own. NULL: the driver is not loaded. */
vs_driver_function *vs_driver_original(vs_driver_call call);

/* Of the calling thread; below 0, and 0: unknown. */
CUdevice vs_driver_current_device(void);
uint64_t vs_driver_current_context(void);
/* The card's name, cut to `size`, and what it has. False: unknown. */
bool vs_driver_card(CUdevice device, char *name, int size, uint64_t *bytes);
/* True also where that is unknown. */
bool vs_driver_has_primary_context(CUdevice device);

/* The driver answered a question for one of its functions (cuGetProcAddress, with these arguments) by *address: that becomes ours if there
 * is one. */
void vs_driver_replace_answer(const char *name, void **address, int version, cuuint64_t flags);

#endif
