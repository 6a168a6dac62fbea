#include "os/clock.h"
#include <errno.h>
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

void vs_clock_sleep_until_ns(uint64_t deadline) {
  const struct timespec time = {.tv_sec = (time_t)(deadline / 1000000000),
                                .tv_nsec = (long)(deadline % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
  }
}

void vs_clock_local(uint64_t wall_ns, vs_clock_calendar *calendar) {
  const time_t seconds = (time_t)(wall_ns / 1000000000);
  struct tm local = {0};
  (void)localtime_r(&seconds, &local);
  *calendar = (vs_clock_calendar){.year = (uint32_t)(local.tm_year + 1900),
                                  .month = (uint32_t)local.tm_mon + 1,
                                  .day = (uint32_t)local.tm_mday,
                                  .hour = (uint32_t)local.tm_hour,
                                  .minute = (uint32_t)local.tm_min,
                                  .second = (uint32_t)local.tm_sec,
                                  .millisecond = (uint32_t)(wall_ns / 1000000 % 1000)};
}
