#include "base/hot.h"
#include "os/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock) {
  struct timespec now = {0};
  (void)clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t vs_clock_ns(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t vs_clock_wall_ns(void) { return read_clock(CLOCK_REALTIME); }

/* ---- the quick clock: a line through two readings of both clocks, renewed after a while */

#if defined(__x86_64__)

typedef struct reading {
  uint64_t counter, ns;
} reading;

/* Read and written under `sequence`, which is odd while it is written. The line holds for `span` ticks from `counter` on; 0: there is none.
 * Only the thread that made `sequence` odd uses `first`. */
static struct {
  _Atomic uint32_t sequence;
  _Atomic uint64_t counter, ns, span;
  _Atomic uint64_t rate; /* nanoseconds of a tick, x 2^32 */
  reading first;         /* of the two that the next line goes through; counter 0: none yet */
} line VS_HOT;

#define LOAD(member)         atomic_load_explicit(&(member), memory_order_relaxed)
#define STORE(member, value) atomic_store_explicit(&(member), (value), memory_order_relaxed)

static uint64_t ns_of(uint64_t ticks, uint64_t rate) {
  return (uint64_t)((unsigned __int128)ticks * rate >> 32);
}

/* The kernel has found it to be steady, and equal on all processors. */
static bool counter_is_a_clock(void) {
  static _Atomic int8_t answer; /* 0: not asked yet */
  if (LOAD(answer) != 0) return LOAD(answer) > 0;
  const int number = errno;
  char name[4] = "";
  const int fd =
      open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  const bool is_it =
      fd >= 0 && read(fd, name, sizeof name) == sizeof name && memcmp(name, "tsc\n", sizeof name) == 0;
  if (fd >= 0) (void)close(fd);
  STORE(answer, is_it ? 1 : -1);
  errno = number;
  return is_it;
}

/* False: something came between the two clocks. */
static bool read_both(reading *r) {
  enum { MOST_TICKS = 4000 };
  const uint64_t before = __builtin_ia32_rdtsc();
  r->ns = vs_clock_ns();
  r->counter = __builtin_ia32_rdtsc();
  return r->counter - before < MOST_TICKS;
}

/* A rate that is wrong by a microsecond in the time between the two readings is wrong by few of them in a span of four times that. */
static void draw(reading now) {
  enum { LEAST_NS = 10000000, MOST_NS = 1000000000, MOST_AHEAD = 1000000 };
  const reading first = line.first;
  const uint64_t elapsed = now.ns - first.ns, ticks = now.counter - first.counter;
  if (first.counter == 0 || now.counter <= first.counter) line.first = now;
  if (line.first.counter == now.counter || elapsed < LEAST_NS) return;
  const uint64_t rate = (uint64_t)(((unsigned __int128)elapsed << 32) / ticks), before = LOAD(line.rate);
  const uint64_t told = before == 0 ? 0 : LOAD(line.ns) + ns_of(now.counter - LOAD(line.counter), before);
  const uint64_t span_ns = elapsed < MOST_NS / 4 ? 4 * elapsed : MOST_NS;
  /* A counter that jumped, as after a machine slept, has another rate. */
  const bool is_steady = before == 0 || (rate > before - before / 1000 && rate < before + before / 1000);
  STORE(line.counter, now.counter);
  STORE(line.ns, told > now.ns && told - now.ns < MOST_AHEAD ? told : now.ns); /* it does not go back */
  STORE(line.rate, is_steady ? rate : 0);
  STORE(line.span, is_steady ? (uint64_t)(((unsigned __int128)span_ns << 32) / rate) : 0);
  line.first = now;
}

/* False: the line ended before now, at `spans` times its span, or is being written. */
static inline bool read_line(uint64_t spans, uint64_t *ns) {
  const uint32_t before = atomic_load_explicit(&line.sequence, memory_order_acquire);
  const uint64_t begin = LOAD(line.ns), rate = LOAD(line.rate), span = LOAD(line.span);
  if (span == 0) return false;
  const uint64_t ticks = __builtin_ia32_rdtsc() - LOAD(line.counter);
  *ns = begin + ns_of(ticks, rate);
  atomic_thread_fence(memory_order_acquire);
  return (before & 1) == 0 && ticks < spans * span && LOAD(line.sequence) == before;
}

/* A line that could not be renewed is used a little longer. */
static uint64_t __attribute__((noinline)) renew(void) {
  if (!counter_is_a_clock()) return vs_clock_ns();
  uint32_t before = LOAD(line.sequence);
  reading now = {.counter = 0};
  if (read_both(&now) && (before & 1) == 0 &&
      atomic_compare_exchange_strong(&line.sequence, &before, before + 1)) {
    atomic_thread_fence(memory_order_release);
    draw(now);
    atomic_store_explicit(&line.sequence, before + 2, memory_order_release);
  }
  uint64_t ns;
  return read_line(2, &ns) ? ns : vs_clock_ns();
}

uint64_t vs_clock_quick_ns(void) {
  uint64_t ns;
  return __builtin_expect(read_line(1, &ns), 1) ? ns : renew();
}

#else

uint64_t vs_clock_quick_ns(void) { return vs_clock_ns(); }

#endif

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
