/* One harness for all allocators: it replays a trace on one of them and measures the time. Each
 * allocator is a bench_side; the program around it is the same, so that two programs can be compared.
 *
 *   bench_allocator_ours SIDE TRACE [option=value...]
 *
 *   mode=replay    replay: processor ns an event of each round; latency: of each call; threads: several at once
 *   rounds=20      replays after the first one, which is not measured
 *   burst=0        mode replay: so many events at a time, then a pause that is not measured, in which a
 *                  recording catches up: as a program whose events come with work between them. 0: no pause
 *   threads=2      mode threads: each with streams and memory of its own
 *   ms=300         mode threads: how long a round takes
 *   settings=TEXT  of the allocator
 *   history=off    off, state, all, native (all, with the machine's stacks), vram (recorded to `file`)
 *   file=PATH      where a recording goes
 *   clock=real     real; or work: 1 to 16 us pass between events, as in a program that uses its memory
 *
 * Prints lines "name value". `digest` is over all addresses of the first replay, `digest_last` over those of
 * the last one: equal digests mean that two allocators did the same. A second thread sleeps all the time, so
 * that locks are real. With a history the calls come from BENCH_SITES places in the program, 30 calls deep. */
#ifndef BENCH_ALLOCATOR_MEASURE_H
#define BENCH_ALLOCATOR_MEASURE_H

#include "traces.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_THREADS = 4, BENCH_ALL_STREAMS = BENCH_THREADS * BENCH_STREAMS };

typedef struct bench_options {
  const char *settings, *history, *file, *clock;
} bench_options;

typedef struct bench_side {
  const char *name;
  void (*begin)(const bench_options *options);
  /* The address. `stream` is below BENCH_ALL_STREAMS. Any thread. */
  uint64_t (*alloc)(uint64_t bytes, uint32_t stream);
  void (*free)(uint64_t address);
  /* Waits until background threads have processed all events so far. NULL: the side has no such thread. */
  void (*settle)(void);
  /* Prints the side's own figures and frees what `begin` made. NULL: nothing to do. `events` counts all, measured or not. */
  void (*end)(uint64_t events);
} bench_side;

void bench_fail(const char *what, const char *why); /* does not return */

/* The rest of main. `sides` ends with a NULL. */
int bench_main(int argc, char **argv, const bench_side *const *sides);

#ifdef __cplusplus
}
#endif

#endif
