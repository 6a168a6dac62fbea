/* Nanoseconds and bytes of recording an event: bench_record_events [STEPS]
 *
 * A training loop that allocates and frees the same blocks step after step, from 64 places of a program
 * whose stack is 30 frames deep; neighbouring events share all but the innermost ones, as in a real one.
 * In turn, in one run:
 *
 *   nothing     the loop alone
 *   facts       recorded without stacks: clock, sequence, ring
 *   stacks      the same with the native stack of each allocation and each free, interned
 *   stacks far  every event from a stack that shares only half of its frames with the one before
 *   waits       recorded without stacks by a recorder that waits for room, as that of `vramscope run` does, and loses nothing, while another
 *               thread keeps a second processor busy
 *
 * An event is an allocation or a free (which are one record of the file, as PyTorch's two events are).
 * Prints "NAME ns p50 p99 p99.9" (processor time of the thread, and by the clock, with waiting; of the single event by the clock, whose own 20 ns
 * are in it) and what the file takes. */
#define _POSIX_C_SOURCE 200809L /* the clock of a thread */
#include "event/event.h"
#include "os/clock.h"
#include "os/thread.h"
#include "record/record.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { SITES = 64, BLOCKS = 256, DEPTH = 20, MOST_SAMPLES = 1 << 20 };

typedef enum mode { NOTHING, FACTS, STACKS, WAITS } mode;

static mode how;
static vs_recorder *recorder;
static vs_record_stacks *stacks;
static uint64_t allocations;
static bool is_sampling;
static uint32_t *samples;
static uint32_t sample_count;
static volatile unsigned sink;

#define NOINLINE __attribute__((noinline))

/* Processor time of this thread, without other programs and the writer thread. */
static double processor_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* What an allocator does around its own work. */
static NOINLINE void work(uint64_t block, bool is_free) {
  sink++;
  allocations++;
  if (how == NOTHING) return;
  const vs_event event = {.address = UINT64_C(0x7f0000000000) + block * 0x200000,
                          .size = 1000 + block % 37 * 4096,
                          .rounded = (1000 + block % 37 * 4096 + 511) / 512 * 512,
                          .context = how == STACKS ? vs_record_capture(stacks) : VS_CONTEXT_NONE,
                          .kind = VS_EVENT_ALLOC};
  const vs_record_facts facts = {.time_ns = vs_clock_ns()};
  if (is_free) vs_record_free(recorder, &event, &facts);
  else vs_record_event(recorder, &event, &facts);
}

static NOINLINE void call(uint64_t block, bool is_free) {
  if (!is_sampling) {
    work(block, is_free);
  } else {
    const uint64_t began = vs_clock_ns();
    work(block, is_free);
    const uint64_t took = vs_clock_ns() - began;
    if (sample_count < MOST_SAMPLES) samples[sample_count++] = (uint32_t)took;
  }
  sink++;
}

/* Four frames of an operator below the 22 that stay: 64 places. */
static NOINLINE void allocate(uint64_t block, bool is_free) {
  call(block, is_free);
  sink++;
}
static NOINLINE void empty(uint64_t block, bool is_free) {
  allocate(block, is_free);
  sink++;
}

#define PLACE(n)                                                 \
  static NOINLINE void place_##n(uint64_t block, bool is_free) { \
    empty(block, is_free);                                       \
    sink += n;                                                   \
  }
#define EIGHT(n) \
  PLACE(n##0) PLACE(n##1) PLACE(n##2) PLACE(n##3) PLACE(n##4) PLACE(n##5) PLACE(n##6) PLACE(n##7)
EIGHT(1)
EIGHT(2)
EIGHT(3)
EIGHT(4)
EIGHT(5)
EIGHT(6)
EIGHT(7)
EIGHT(8)
#define NAME(n)  place_##n,
#define NAMES(n) NAME(n##0) NAME(n##1) NAME(n##2) NAME(n##3) NAME(n##4) NAME(n##5) NAME(n##6) NAME(n##7)
static void (*const places[SITES])(uint64_t block, bool is_free) = {NAMES(1) NAMES(2) NAMES(3) NAMES(4)
                                                                        NAMES(5) NAMES(6) NAMES(7) NAMES(8)};

/* One step: half of the blocks live until its end, the others are freed soon. */
static NOINLINE void step(void) {
  for (uint64_t i = 0; i < BLOCKS; i++) {
    places[i % SITES](i, false);
    if (i % 2 == 1) places[(i + 7) % SITES](i, true);
  }
  for (uint64_t i = BLOCKS; i != 0; i -= 2) places[(i + 13) % SITES](i - 2, true);
}

static NOINLINE void train(unsigned depth, uint64_t steps) {
  if (depth == 0)
    for (uint64_t i = 0; i < steps; i++) step();
  else train(depth - 1, steps);
  sink++;
}

/* Every event re-enters the outer half of the stack. */
static NOINLINE void deep(unsigned depth, uint64_t block, bool is_free) {
  if (depth == 0) places[block % SITES](block, is_free);
  else deep(depth - 1, block, is_free);
  sink += depth;
}
static NOINLINE void wander(unsigned depth, uint64_t steps) {
  if (depth == 0)
    for (uint64_t i = 0; i < steps * BLOCKS; i++) {
      deep(12 + (unsigned)(i & 1), i % BLOCKS, false);
      deep(11, i % BLOCKS, true);
    }
  else wander(depth - 1, steps);
  sink++;
}

static int by_value(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static void tell(const char *name, double ns, double clock_ns, const char *path,
                 const vs_record_figures *figures) {
  printf("%-11s %6.1f ns, %6.1f by the clock", name, ns, clock_ns);
  if (sample_count != 0) {
    qsort(samples, sample_count, sizeof *samples, by_value);
    printf("   p50 %u  p99 %u  p99.9 %u", samples[sample_count / 2], samples[sample_count / 100 * 99],
           samples[sample_count / 1000 * 999]);
  }
  if (path != NULL)
    printf("   %.2f bytes an event, %llu lost", (double)figures->bytes / (double)allocations,
           (unsigned long long)(figures->lost_ring + figures->lost_file + figures->lost_other));
  printf("\n");
}

static uint32_t ring_slots_of(mode chosen, bool with_samples) {
  if (chosen == WAITS) return VS_RECORD_RING;
  return with_samples ? 1 << 20 : 1 << 16;
}

static _Atomic bool is_over;
static void keep_busy(void *unused) {
  volatile unsigned count = 0;
  (void)unused;
  while (!is_over) count++;
}

static void run(const char *name, mode chosen, void (*program)(unsigned depth, uint64_t steps),
                uint64_t steps, bool with_samples) {
  const char *path = "bench_record_events.vram";
  vs_record_figures figures = {0};
  vs_error error;
  how = chosen;
  if (chosen != NOTHING) {
    const vs_record_options options = {.path = path,
                                       .may_replace = true,
                                       .stacks = stacks,
                                       .wait = chosen == WAITS,
                                       .has_no_pools = chosen == WAITS,
                                       .has_no_completions = chosen == WAITS,
                                       .ring_slots = ring_slots_of(chosen, with_samples)};
    if (vs_record_open(vs_host_default(), &options, &recorder, &error) != VS_OK) {
      fprintf(stderr, "bench_record_events: %s\n", error.text);
      exit(1);
    }
  }
  is_sampling = false;
  sample_count = 0;
  program(DEPTH, 2); /* stacks, rules, pages: as in a run that goes on */
  allocations = 0;
  is_sampling = with_samples;
  const double began = processor_ns();
  const uint64_t began_clock = vs_clock_ns();
  program(DEPTH, steps);
  const double ns = (processor_ns() - began) / (double)allocations;
  const double clock_ns = (double)(vs_clock_ns() - began_clock) / (double)allocations;
  if (chosen != NOTHING && vs_record_close(recorder, &figures, &error) != VS_OK) exit(1);
  (void)unlink(path);
  tell(name, ns, clock_ns, chosen == NOTHING ? NULL : path, &figures);
}

int main(int argc, char **argv) {
  const uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
  const vs_record_stacks_options options = {.depth = 64};
  samples = malloc(MOST_SAMPLES * sizeof *samples);
  if (samples == NULL || vs_record_stacks_create(&options, &stacks) != VS_OK) return 1;
  for (int with_samples = 0; with_samples < 2; with_samples++) {
    run("nothing", NOTHING, train, steps, with_samples);
    run("facts", FACTS, train, steps, with_samples);
    run("stacks", STACKS, train, steps, with_samples);
    run("nothing", NOTHING, wander, steps, with_samples);
    run("stacks far", STACKS, wander, steps, with_samples);
  }
  vs_thread busy;
  if (vs_thread_start(&busy, "busy", keep_busy, NULL) != VS_OK) return 1;
  run("waits", WAITS, train, steps, false);
  is_over = true;
  vs_thread_join(&busy);
  const uint64_t *frames;
  printf("%u frames, %u stacks\n", vs_record_stack_at(stacks, 0, &frames),
         vs_record_stacks_figures_of(stacks).stacks);
  vs_record_stacks_destroy(stacks);
  free(samples);
  return 0;
}
