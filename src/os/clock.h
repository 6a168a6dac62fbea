/* The clocks of recorded events. */
#ifndef VS_OS_CLOCK_H
#define VS_OS_CLOCK_H

#include <vramscope/base.h>

/* Nanoseconds that only go forward, the same for all threads; their zero means nothing. About 20 ns, no
 * system call. */
uint64_t vs_clock_ns(void);

/* Nanoseconds since 1970, which somebody may set. */
uint64_t vs_clock_wall_ns(void);

/* Gives the processor away for about that long. */
void vs_clock_sleep_ns(uint64_t ns);

#endif
