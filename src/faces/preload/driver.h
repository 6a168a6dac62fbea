/* The calls of the CUDA driver by which a program takes memory: each is passed on, then told to driver_memory.h.
 *
 * Who asked is the innermost caller that is neither a CUDA runtime nor this library.
 *
 * Not seen: arrays (textures), managed memory (which has no fixed place), memory nodes of CUDA graphs, and what the driver takes for contexts,
 * code and streams. */
#ifndef VS_PRELOAD_DRIVER_H
#define VS_PRELOAD_DRIVER_H

/* From here on the program finds these functions in the place of the driver's (driver_lookup.h). */
void vs_driver_watch(void);

#endif
