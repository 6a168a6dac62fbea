/* What a library of a process on the simulated GPU, such as the recorder, can be told of the memory that libraries take. */
#ifndef VS_DEVICE_SIM_LIBRARY_MEMORY_H
#define VS_DEVICE_SIM_LIBRARY_MEMORY_H

#include <stdint.h>

/* A library has `bytes` of a device, in total, from now on. `library` is the name of its file, or that of a row of accounts.def; it is NULL
 * where memory was taken for which that is not known. `card`, `card_bytes`: of the device. The first call about a device comes when the
 * process begins to use it: with "" as `library`, and 0 bytes. The texts are the caller's; calls do not overlap. */
typedef struct vs_sim_library_memory {
  const char *library, *card;
  uint64_t card_bytes, bytes;
  int32_t device;
} vs_sim_library_memory;
typedef void vs_sim_library_listener(const vs_sim_library_memory *memory);

/* libvramscope-sim.so has this function: from now on, and at once about all that libraries have, `listener` is told. The call that takes memory
 * returns after it. It may wait and use locks of its own, but not call CUDA. NULL ends that. */
#define VS_SIM_LISTEN "vs_simcuda_listen"
typedef void vs_sim_listen(vs_sim_library_listener *listener);

#endif
