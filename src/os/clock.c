#include "os/clock.h"
#include <time.h>

static uint64_t read_clock(clockid_t clock) {
  struct timespec now = {0};
  (void)clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t vs_clock_ns(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t vs_clock_wall_ns(void) { return read_clock(CLOCK_REALTIME); }

void vs_clock_sleep_ns(uint64_t ns) {
  const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
  (void)nanosleep(&time, NULL); /* a signal may end it early: "about" */
}
