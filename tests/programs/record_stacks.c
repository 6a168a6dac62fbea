/* A small program that records itself, with native stacks: record_stacks OUT.vram
 *
 * It allocates 1 MB in train > layer > torch::allocate(long), and 2 MB in train > bias (inlined) >
 * torch::allocate(long); from a segment of 20 MiB. */
#include "os/clock.h"
#include "record/record.h"
#include <stdio.h>

void allocate(vs_recorder *recorder, vs_record_stacks *stacks, uint64_t address,
              uint64_t size) __asm__("_ZN5torch8allocateEl");
void layer(vs_recorder *recorder, vs_record_stacks *stacks);
void train(vs_recorder *recorder, vs_record_stacks *stacks);

static volatile unsigned sink;

__attribute__((noinline)) void allocate(vs_recorder *recorder, vs_record_stacks *stacks, uint64_t address,
                                        uint64_t size) {
  const vs_event event = {.address = address,
                          .size = size,
                          .rounded = size,
                          .context = vs_record_capture(stacks),
                          .kind = VS_EVENT_ALLOC};
  vs_record_event(recorder, &event, &(vs_record_facts){.time_ns = vs_clock_ns()});
  sink++;
}

__attribute__((noinline)) void layer(vs_recorder *recorder, vs_record_stacks *stacks) {
  allocate(recorder, stacks, 0x7f0000000000, 1000000);
  sink++;
}

static inline __attribute__((always_inline)) void bias(vs_recorder *recorder, vs_record_stacks *stacks) {
  allocate(recorder, stacks, 0x7f0000200000, 2000000);
  sink++;
}

__attribute__((noinline)) void train(vs_recorder *recorder, vs_record_stacks *stacks) {
  layer(recorder, stacks);
  bias(recorder, stacks);
  sink++;
}

int main(int argc, char **argv) {
  vs_record_stacks *stacks;
  vs_recorder *recorder;
  vs_error error = {0};
  if (argc != 2 || !vs_record_native_is_supported() || vs_record_stacks_create(NULL, &stacks) != VS_OK)
    return 2;
  const vs_record_options options = {.path = argv[1], .may_replace = true, .wait = true, .stacks = stacks};
  if (vs_record_open(vs_host_default(), &options, &recorder, &error) != VS_OK) {
    fprintf(stderr, "record_stacks: %s\n", error.text);
    return 1;
  }
  const vs_event segment = {.address = 0x7f0000000000,
                            .size = 20 << 20,
                            .context = VS_CONTEXT_NONE,
                            .kind = VS_EVENT_SEGMENT_ALLOC};
  vs_record_event(recorder, &segment, &(vs_record_facts){.time_ns = vs_clock_ns()});
  train(recorder, stacks);
  const vs_status status = vs_record_close(recorder, NULL, &error);
  vs_record_stacks_destroy(stacks);
  return status == VS_OK ? 0 : 1;
}
