/* The calls of the CUDA driver by which a program takes memory: each is passed on, then told to driver_memory.h.
 *
 * Who asked is the innermost caller that is neither a CUDA runtime nor this library.
 *
 * Not seen: arrays (textures), managed memory (which has no fixed place), memory nodes of CUDA graphs, and what the driver takes for contexts,
 * code and streams. */
#ifndef VS_PRELOAD_DRIVER_H
#define VS_PRELOAD_DRIVER_H

#include <stdbool.h>

/* From here on the program finds these functions in the place of the driver's (driver_lookup.h). */
void vs_driver_watch(void);

/* Of a simulated GPU the calls are not looked at, because its CUDA runtime does not call its driver: it tells what libraries have
 * (device/sim/library_memory.h), in total, and of nothing that is not seen here. What was taken before is told at once. */
bool vs_driver_is_simulated(void);
void vs_driver_listen(void);

#endif
