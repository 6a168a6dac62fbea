#include "measure.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const bench_side *side;
static bench_trace trace;

static struct {
  bench_options side;
  const char *mode;
  unsigned rounds, threads, ms, burst;
} options = {{"", "off", "bench.vram", "real"}, "replay", 20, 2, 300, 0};

void bench_fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Processor time of this thread, which excludes other threads on a busy machine. */
static uint64_t processor_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b) {
  const double left = *(const double *)a, right = *(const double *)b;
  return left < right ? -1 : left > right;
}

/* ---- one event, from its place in the program ---------------------------------------------------------- */

/* A thread's replay: its part of the streams, and where its allocations are. */
typedef struct worker {
  uint64_t *at;
  uint32_t streams;
  uint64_t digest, events;
  pthread_t thread;
} worker;

static inline void step(worker *w, const bench_event *event) {
  if (event->bytes != 0) w->at[event->slot] = side->alloc(event->bytes, w->streams + event->stream);
  else side->free(w->at[event->slot]);
}

/* 16 times 16 ways to get to an event. The text in each differs, so that no compiler makes one of two. */
#define PLACES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define INNER(n)                                                                         \
  static __attribute__((noinline)) void inner_##n(worker *w, const bench_event *event) { \
    step(w, event);                                                                      \
    __asm__ volatile("# inner " #n ::: "memory");                                        \
  }
PLACES(INNER)
#define NAME_INNER(n) inner_##n,
static void (*const inner[])(worker *, const bench_event *) = {PLACES(NAME_INNER)};

#define OUTER(n)                                                                         \
  static __attribute__((noinline)) void outer_##n(worker *w, const bench_event *event) { \
    inner[event->site % 16](w, event);                                                   \
    __asm__ volatile("# outer " #n ::: "memory");                                        \
  }
PLACES(OUTER)
#define NAME_OUTER(n) outer_##n,
static void (*const outer[])(worker *, const bench_event *) = {PLACES(NAME_OUTER)};

/* ---- replays ------------------------------------------------------------------------------------------- */

typedef void (*replayer)(worker *w, size_t begin, size_t end);

static void replay(worker *w, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) step(w, &trace.events[i]);
}

static void replay_from_sites(worker *w, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) outer[trace.events[i].site / 16](w, &trace.events[i]);
}

static void settle(void) {
  if (options.burst != 0 && side->settle != NULL) side->settle();
}

static void replay_digest(worker *w) {
  w->digest = 0;
  for (size_t i = 0; i < trace.count; i++) {
    const bench_event *event = &trace.events[i];
    step(w, event);
    if (event->bytes != 0) w->digest = w->digest * 31 + w->at[event->slot];
    if (options.burst != 0 && i % options.burst == 0) settle();
  }
  settle();
}

static void print_sorted(const char *name, double *values, size_t count) {
  qsort(values, count, sizeof *values, compare);
  printf("%s_best %.2f\n%s_median %.2f\n", name, values[0], name, values[count / 2]);
}

/* Processor time of one replay in ns, pauses left out. */
static uint64_t replay_timed(worker *w, replayer how) {
  const size_t burst = options.burst == 0 ? trace.count : options.burst;
  uint64_t sum = 0;
  for (size_t at = 0, end; at < trace.count; at = end) {
    end = at + burst < trace.count ? at + burst : trace.count;
    const uint64_t begin = processor_ns();
    how(w, at, end);
    sum += processor_ns() - begin;
    settle();
  }
  return sum;
}

static void measure_replay(worker *w) {
  const replayer how = strcmp(options.side.history, "off") == 0 ? replay : replay_from_sites;
  double *ns = calloc(options.rounds + 1, sizeof *ns);
  if (ns == NULL) abort();
  (void)replay_timed(w, how);
  for (unsigned i = 0; i < options.rounds; i++) ns[i] = (double)replay_timed(w, how) / (double)trace.count;
  w->events += (options.rounds + 1) * trace.count;
  if (options.rounds > 0) print_sorted("ns", ns, options.rounds);
  free(ns);
}

/* ---- latency: the processor's own counter, as a call of the clock takes as long as an event ------------ */

static inline uint64_t ticks(void) {
#ifdef __x86_64__
  return __builtin_ia32_rdtsc();
#else
  return now_ns();
#endif
}

static double ns_of_tick(void) {
  const uint64_t begin = now_ns(), first = ticks();
  while (now_ns() - begin < 20000000) {
  }
  return (double)(now_ns() - begin) / (double)(ticks() - first);
}

enum { LONGEST = 1 << 22 };

static void measure_latency(worker *w) {
  const double scale = ns_of_tick();
  uint32_t *counts = calloc(LONGEST, sizeof *counts);
  if (counts == NULL) abort();
  for (unsigned round = 0; round < options.rounds; round++)
    for (size_t i = 0; i < trace.count; i++) {
      const uint64_t begin = ticks();
      step(w, &trace.events[i]);
      const uint64_t taken = ticks() - begin;
      counts[taken < LONGEST ? taken : LONGEST - 1]++;
    }
  const uint64_t events = options.rounds * (uint64_t)trace.count;
  w->events += events;
  static const struct {
    const char *name;
    double part;
  } wanted[] = {{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}};
  uint64_t sum = 0;
  for (size_t tick = 0, next = 0; tick < LONGEST && next < 3; tick++) {
    sum += counts[tick];
    for (; next < 3 && (double)sum >= wanted[next].part * (double)events; next++)
      printf("%s %.0f\n", wanted[next].name, (double)tick * scale);
  }
  free(counts);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static int is_over;
static pthread_barrier_t together;

static void *hammer(void *ctx) {
  worker *w = ctx;
  replay(w, 0, trace.count); /* segments */
  pthread_barrier_wait(&together);
  for (;;)
    for (size_t i = 0; i < trace.count; i++) {
      step(w, &trace.events[i]);
      __atomic_store_n(&w->events, w->events + 1, __ATOMIC_RELAXED);
      /* A worker frees all its blocks at the end of its trace, so it stops only there. */
      if (i + 1 == trace.count && __atomic_load_n(&is_over, __ATOMIC_RELAXED)) return NULL;
    }
}

static double one_race(worker *workers) {
  __atomic_store_n(&is_over, 0, __ATOMIC_RELAXED);
  pthread_barrier_init(&together, NULL, options.threads + 1);
  for (unsigned t = 0; t < options.threads; t++)
    if (pthread_create(&workers[t].thread, NULL, hammer, &workers[t]) != 0) abort();
  pthread_barrier_wait(&together);
  uint64_t before = 0, after = 0;
  const uint64_t begin = now_ns();
  for (unsigned t = 0; t < options.threads; t++)
    before += __atomic_load_n(&workers[t].events, __ATOMIC_RELAXED);
  while (now_ns() - begin < options.ms * UINT64_C(1000000)) {
    const struct timespec little = {.tv_nsec = 1000000};
    nanosleep(&little, NULL);
  }
  for (unsigned t = 0; t < options.threads; t++)
    after += __atomic_load_n(&workers[t].events, __ATOMIC_RELAXED);
  const uint64_t end = now_ns();
  __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
  for (unsigned t = 0; t < options.threads; t++) pthread_join(workers[t].thread, NULL);
  pthread_barrier_destroy(&together);
  return (double)(after - before) / (double)(end - begin) * 1000;
}

static worker new_worker(unsigned number) {
  worker w = {.at = calloc(trace.slots, sizeof *w.at), .streams = number * BENCH_STREAMS};
  if (w.at == NULL) abort();
  return w;
}

static void measure_threads(void) {
  worker *workers = calloc(options.threads, sizeof *workers);
  double *rates = calloc(options.rounds, sizeof *rates);
  if (workers == NULL || rates == NULL) abort();
  for (unsigned t = 0; t < options.threads; t++) workers[t] = new_worker(t);
  for (unsigned i = 0; i < options.rounds; i++) rates[i] = one_race(workers);
  qsort(rates, options.rounds, sizeof *rates, compare);
  printf("mevents_best %.3f\nmevents_median %.3f\n", rates[options.rounds - 1], rates[options.rounds / 2]);
  for (unsigned t = 0; t < options.threads; t++) free(workers[t].at);
  free(workers);
  free(rates);
}

/* ---- main ---------------------------------------------------------------------------------------------- */

static unsigned number(const char *text) {
  char *end;
  const unsigned long value = strtoul(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value > 1000000) bench_fail(text, "is no number");
  return (unsigned)value;
}

static void read_option(char *argument) {
  char *value = strchr(argument, '=');
  if (value == NULL) bench_fail(argument, "an option is name=value");
  *value++ = '\0';
  if (strcmp(argument, "rounds") == 0) options.rounds = number(value);
  else if (strcmp(argument, "threads") == 0) options.threads = number(value);
  else if (strcmp(argument, "burst") == 0) options.burst = number(value);
  else if (strcmp(argument, "ms") == 0) options.ms = number(value);
  else if (strcmp(argument, "mode") == 0) options.mode = value;
  else if (strcmp(argument, "settings") == 0) options.side.settings = value;
  else if (strcmp(argument, "history") == 0) options.side.history = value;
  else if (strcmp(argument, "clock") == 0) options.side.clock = value;
  else if (strcmp(argument, "file") == 0) options.side.file = value;
  else bench_fail(argument, "no such option");
  if (options.threads < 1 || options.threads > BENCH_THREADS) bench_fail("threads", "1 to 4");
}

static void *sleep_long(void *ctx) {
  (void)ctx;
  for (;;) nanosleep(&(struct timespec){.tv_sec = 1000}, NULL);
  return NULL;
}

static void measure(void) {
  worker w = new_worker(0);
  if (strcmp(options.mode, "threads") == 0) {
    measure_threads();
  } else {
    replay_digest(&w);
    printf("digest %016llx\n", (unsigned long long)w.digest);
    if (strcmp(options.mode, "latency") == 0) measure_latency(&w);
    else if (strcmp(options.mode, "replay") == 0) measure_replay(&w);
    else bench_fail(options.mode, "no such mode");
    replay_digest(&w);
    printf("digest_last %016llx\n", (unsigned long long)w.digest);
    w.events += 2 * trace.count;
  }
  printf("events %zu\n", trace.count);
  if (side->end != NULL) side->end(w.events);
  free(w.at);
}

/* As deep in the program as users' code is; two more calls are the site, one the allocator. */
static __attribute__((noinline)) void descend(int calls) {
  if (calls == 0) measure();
  else descend(calls - 1);
  __asm__ volatile("" ::: "memory");
}

int bench_main(int argc, char **argv, const bench_side *const *sides) {
  if (argc < 3) bench_fail(argv[0], "SIDE TRACE [option=value...]; see measure.h");
  for (; *sides != NULL && strcmp((*sides)->name, argv[1]) != 0; sides++) {
  }
  side = *sides;
  if (side == NULL) bench_fail(argv[1], "no such side");
  trace = bench_trace_make(argv[2]);
  for (int i = 3; i < argc; i++) read_option(argv[i]);
  pthread_t sleeper;
  if (pthread_create(&sleeper, NULL, sleep_long, NULL) != 0) abort();
  side->begin(&options.side);
  descend(24);
  free(trace.events);
  return 0;
}
