/* What an event costs in a recording: a synthetic GPT training loop, encoded.
 *
 *   write_recording [STEPS [FILE]]
 *
 * 24 layers, 11 allocations in each, 30-frame stacks, two streams; forward keeps activations, backward frees
 * them in turn, the optimizer makes and drops what it needs. Times between events are 1 to 40 us. Prints one
 * line of JSON: ns and bytes an event, an event being an allocation or a free. With FILE the recording
 * stays, for vramscope compact. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "tracefile/writer.h"

enum { LAYERS = 24, OPS = 11, FRAMES = 30, MOST_EVENTS = 1 << 20, MOST_FREE = 4096 };

/* ---- the program: events first, so that only the encoding is measured ---------------------------------- */

typedef struct cache { /* of one size: addresses to use again, the last one first */
  uint64_t size, free[MOST_FREE];
  uint32_t count;
} cache;

static vs_trace_event *events;
static size_t event_count;
static cache caches[64];
static size_t cache_count;
static uint64_t next_address = UINT64_C(0x7f0000000000), random_state = 1;
static int64_t now_us = INT64_C(1700000000000000);

static uint64_t next_random(void) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return random_state >> 33;
}

static cache *cache_of(uint64_t size) {
  for (size_t i = 0; i < cache_count; i++)
    if (caches[i].size == size) return &caches[i];
  caches[cache_count].size = size;
  return &caches[cache_count++];
}

static void happen(vs_event_kind kind, uint64_t address, uint64_t size, uint32_t site) {
  if (event_count == MOST_EVENTS) return;
  events[event_count++] = (vs_trace_event){.address = address,
                                           .size = size,
                                           .rounded = (size + 511) / 512 * 512,
                                           .time_us = now_us,
                                           .stack = site,
                                           .context = site % 50 == 7,
                                           .kind = (uint8_t)kind};
}

static uint64_t get(uint64_t size, uint32_t site) {
  const uint64_t rounded = (size + 511) / 512 * 512;
  cache *c = cache_of(rounded);
  uint64_t address = c->count != 0 ? c->free[--c->count] : next_address;
  if (address == next_address) next_address += rounded;
  now_us += 1 + (int64_t)(next_random() % 40);
  happen(VS_EVENT_ALLOC, address, size, site);
  return address;
}

static void give(uint64_t address, uint64_t size, uint32_t site) {
  cache *c = cache_of((size + 511) / 512 * 512);
  if (c->count < MOST_FREE) c->free[c->count++] = address;
  now_us += 1 + (int64_t)(next_random() % 12);
  happen(VS_EVENT_FREE_REQUESTED, address, size, site);
  happen(VS_EVENT_FREE_COMPLETED, address, size, site);
}

static const uint64_t sizes[OPS] = {25165824,  75497472,  25165824, 100663296, 50331648, 25165824,
                                    100663296, 100663296, 25165824, 98304,     12288};

static void train_step(void) {
  static uint64_t kept[LAYERS][OPS];
  for (uint32_t layer = 0; layer < LAYERS; layer++)
    for (uint32_t op = 0; op < OPS; op++) {
      const uint64_t workspace = get(8519680, 100 + op);
      kept[layer][op] = get(sizes[op], op);
      give(workspace, 8519680, 100 + op);
    }
  for (uint32_t layer = LAYERS; layer-- > 0;)
    for (uint32_t op = OPS; op-- > 0;) {
      const uint64_t gradient = get(sizes[op], 20 + op), extra = get(12288, 40 + op);
      give(kept[layer][op], sizes[op], 60 + op);
      give(extra, 12288, 40 + op);
      give(gradient, sizes[op], 80 + op);
    }
  for (uint32_t i = 0; i < 6 * LAYERS; i++) {
    const uint64_t state = get(9437184 + 512 * (uint64_t)(i % 6), 120 + i % 6);
    give(state, 9437184 + 512 * (uint64_t)(i % 6), 120 + i % 6);
  }
}

/* ---- the recording ------------------------------------------------------------------------------------- */

static uint8_t slot[VS_TRACE_FRAME_SIZE];

static vs_status begin(void *ctx, size_t at_least, void **memory, size_t *size) {
  (void)ctx;
  if (at_least > sizeof slot) return VS_LIMIT;
  *memory = slot;
  *size = sizeof slot;
  return VS_OK;
}

static vs_status sealed(void *ctx, void *memory, size_t size) {
  return ctx == NULL || fwrite(memory, 1, size, ctx) == size ? VS_OK : VS_IO;
}

static void must(vs_status status) {
  if (status == VS_OK) return;
  fprintf(stderr, "write_recording: %s\n", vs_status_text(status));
  exit(1);
}

static void define(vs_tracew *w, uint32_t stacks[150], uint32_t contexts[2]) {
  uint32_t file, name, frames[FRAMES];
  char text[64];
  must(vs_tracew_string(w, (vs_str){"model.py", 8}, &file));
  for (uint32_t site = 0; site < 150; site++) {
    for (uint32_t depth = 0; depth < FRAMES; depth++) { /* all sites share the outer half */
      const uint32_t which = depth < FRAMES / 2 ? site * FRAMES + depth : depth;
      const int size = snprintf(text, sizeof text, "function_%u", which);
      must(vs_tracew_string(w, (vs_str){text, (size_t)size}, &name));
      must(vs_tracew_frame(w, &(vs_trace_frame){.name = name, .file = file, .line = which}, &frames[depth]));
    }
    must(vs_tracew_stack(w, frames, FRAMES, &stacks[site]));
  }
  must(vs_tracew_context(w, &(vs_trace_context){.has_pool = true}, &contexts[0]));
  must(vs_tracew_context(w, &(vs_trace_context){.has_pool = true, .stream = 64}, &contexts[1]));
}

/* Processor time of this process, which excludes other processes. */
static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

int main(int argc, char **argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 200;
  FILE *file = argc > 2 ? fopen(argv[2], "wb") : NULL;
  const vs_tracew_sink sink = {.ctx = file, .begin = begin, .sealed = sealed};
  uint32_t stacks[150], contexts[2];
  vs_tracew *w;
  events = malloc(MOST_EVENTS * sizeof *events);
  if (events == NULL) return 1;
  for (int i = 0; i < steps; i++) train_step();
  must(vs_tracew_create(vs_host_default(), &sink, NULL, &w));
  define(w, stacks, contexts);
  for (size_t i = 0; i < event_count; i++) {
    events[i].stack = stacks[events[i].stack];
    events[i].context = contexts[events[i].context];
  }
  const uint64_t dictionaries = vs_tracew_bytes(w);
  const double began = seconds();
  for (size_t i = 0; i < event_count; i++) must(vs_tracew_event(w, &events[i]));
  must(vs_tracew_flush(w));
  const double took = seconds() - began;
  const double count = (double)vs_tracew_events(w);
  printf(
      "{\"events\": %.0f, \"ns_per_event\": %.1f, \"bytes_per_event\": %.2f, \"dictionary_bytes\": %llu}\n",
      count, took * 1e9 / count, (double)vs_tracew_bytes(w) / count, (unsigned long long)dictionaries);
  vs_tracew_destroy(w);
  free(events);
  return file == NULL || fclose(file) == 0 ? 0 : 1;
}
