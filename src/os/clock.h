/* The clocks of recorded events. */
#ifndef VS_OS_CLOCK_H
#define VS_OS_CLOCK_H

#include <vramscope/base.h>

/* A monotonic clock in nanoseconds, the same for all threads, from an arbitrary zero. Takes about 20 ns, no system
 * call. */
uint64_t vs_clock_ns(void);

/* The same clock for many readings: in half of the time, by the processor's counter where the kernel's own clock is that one (x86-64); elsewhere
 * it is vs_clock_ns. Within microseconds of it; a reading may be as much before the one before. */
uint64_t vs_clock_quick_ns(void);

/* Nanoseconds since 1970; may jump, because the clock can be set. */
uint64_t vs_clock_wall_ns(void);

/* Sleeps for about that long. */
void vs_clock_sleep_ns(uint64_t ns);

/* Sleeps until vs_clock_ns() is `deadline`; returns at once if it is past. A signal does not end it early, so
 * periodic deadlines do not drift. */
void vs_clock_sleep_until_ns(uint64_t deadline);

/* A moment of vs_clock_wall_ns in the time zone of the process. */
typedef struct vs_clock_calendar {
  uint32_t year, month, day, hour, minute, second, millisecond; /* month and day count from 1 */
} vs_clock_calendar;
void vs_clock_local(uint64_t wall_ns, vs_clock_calendar *calendar);

#endif
