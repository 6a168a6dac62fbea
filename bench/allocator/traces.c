#include "traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 12, HIDDEN = 768, HEADS = 12, VOCABULARY = 50304, BATCH = 8, STEPS = 23, MOST_LIVE = 4096 };

/* Where in the program the first event of a part is; each further event of the part is one place further. */
enum { AT_START = 0, AT_FORWARD = 16, AT_LOSS = 96, AT_BACKWARD = 112, AT_UPDATE = 224, AT_END = 240 };

typedef struct maker {
  bench_trace trace;
  size_t capacity;
  uint32_t spare[MOST_LIVE]; /* slots that hold nothing */
  size_t spare_count;
  uint32_t passing[2]; /* the temporary blocks of the last operations, older first; UINT32_MAX: none */
  uint32_t site;
  uint64_t random;
} maker;

static uint64_t draw(maker *m, uint64_t bound) {
  m->random ^= m->random << 13;
  m->random ^= m->random >> 7;
  m->random ^= m->random << 17;
  return m->random % bound;
}

static void put(maker *m, bench_event event) {
  if (m->trace.count == m->capacity) {
    m->capacity = m->capacity == 0 ? 4096 : 2 * m->capacity;
    m->trace.events = realloc(m->trace.events, m->capacity * sizeof event);
    if (m->trace.events == NULL) abort();
  }
  event.site = (uint16_t)m->site++;
  if (event.site >= BENCH_SITES) abort();
  m->trace.events[m->trace.count++] = event;
}

static uint32_t take(maker *m, uint64_t bytes, uint32_t stream) {
  if (m->spare_count == 0) abort();
  const uint32_t slot = m->spare[--m->spare_count];
  put(m, (bench_event){.bytes = bytes, .slot = slot, .stream = (uint16_t)stream});
  return slot;
}

static void give(maker *m, uint32_t slot) {
  if (slot == UINT32_MAX) return;
  put(m, (bench_event){.slot = slot});
  m->spare[m->spare_count++] = slot;
}

/* A temporary block that is passed to the next operations: freed after two more of its kind. */
static void pass(maker *m, uint64_t bytes) {
  const uint32_t slot = take(m, bytes, 0);
  give(m, m->passing[0]);
  m->passing[0] = m->passing[1];
  m->passing[1] = slot;
}

static void pass_nothing(maker *m) {
  for (int i = 0; i < 2; i++) {
    give(m, m->passing[i]);
    m->passing[i] = UINT32_MAX;
  }
}

/* ---- train, varlen ---- */

enum { KEPT = 10, PARAMETERS = 12 };

static const uint64_t parameter_sizes[PARAMETERS] = {
    HIDDEN, HIDDEN, 3 * HIDDEN *HIDDEN, 3 * HIDDEN, HIDDEN *HIDDEN,     HIDDEN,
    HIDDEN, HIDDEN, 4 * HIDDEN *HIDDEN, 4 * HIDDEN, 4 * HIDDEN *HIDDEN, HIDDEN};

typedef struct network {
  uint32_t parameters[LAYERS][PARAMETERS], moments[LAYERS][PARAMETERS][2], gradients[LAYERS][PARAMETERS];
  uint32_t kept[LAYERS][KEPT];
} network;

static void forward_layer(maker *m, network *model, int layer, uint64_t tokens, uint64_t length) {
  const uint64_t row = 2 * tokens * HIDDEN, scores = 2ull * BATCH * HEADS * length * length;
  const uint64_t kept[KEPT] = {row, 4 * tokens, 4 * tokens, 3 * row, row, scores, row, row, 4 * row, 4 * row};
  m->site = AT_FORWARD;
  for (int i = 0; i < KEPT; i++) {
    if (i == 3 || i == 8) pass(m, 2 * parameter_sizes[i == 3 ? 2 : 8]); /* the weights as halves */
    if (i == 5) pass(m, 2 * scores);
    model->kept[layer][i] = take(m, kept[i], 0);
    pass(m, i % 3 == 0 ? 4 * tokens : row);
    if (i % 2 == 1) pass(m, row);
  }
  pass_nothing(m);
}

static void backward_layer(maker *m, network *model, int layer, uint64_t tokens) {
  const uint64_t row = 2 * tokens * HIDDEN;
  m->site = AT_BACKWARD;
  for (int i = KEPT; i-- > 0;) {
    pass(m, i >= 8 ? 4 * row : row);
    if (i == 6) pass(m, 8000 + 64 * (uint64_t)layer);
    if (i % 2 == 0) pass(m, row);
    give(m, model->kept[layer][i]);
  }
  for (int p = 0; p < PARAMETERS; p++) {
    pass(m, 2 * parameter_sizes[p]);
    model->gradients[layer][p] = take(m, 4 * parameter_sizes[p], 0);
    if (p % 2 == 0) pass(m, row);
  }
  pass_nothing(m);
}

static void optimizer_step(maker *m, network *model) {
  m->site = AT_UPDATE;
  pass(m, 4ull * LAYERS * PARAMETERS);
  for (int layer = 0; layer < LAYERS; layer++)
    for (int p = 0; p < PARAMETERS; p++) {
      m->site = AT_UPDATE + 1;
      pass(m, 4 * parameter_sizes[p]);
      pass(m, 4);
      pass(m, 4 * parameter_sizes[p]);
      give(m, model->gradients[layer][p]);
    }
  pass_nothing(m);
}

static void make_training(maker *m, int is_varying) {
  static network model;
  for (int layer = 0; layer < LAYERS; layer++)
    for (int p = 0; p < PARAMETERS; p++) {
      m->site = AT_START;
      model.parameters[layer][p] = take(m, 4 * parameter_sizes[p], 0);
      for (int i = 0; i < 2; i++) model.moments[layer][p][i] = take(m, 4 * parameter_sizes[p], 0);
    }
  for (int step = 0; step < STEPS; step++) {
    const uint64_t length = is_varying ? 128 + 8 * draw(m, 112) : 1024, tokens = BATCH * length;
    m->site = AT_START + 8;
    const uint32_t embedding = take(m, 2 * tokens * HIDDEN, 0);
    for (int layer = 0; layer < LAYERS; layer++) forward_layer(m, &model, layer, tokens, length);
    m->site = AT_LOSS;
    const uint32_t logits = take(m, 2 * tokens * VOCABULARY, 0);
    pass(m, 4 * tokens * VOCABULARY);
    pass(m, 4 * tokens);
    pass_nothing(m);
    give(m, logits);
    for (int layer = LAYERS; layer-- > 0;) backward_layer(m, &model, layer, tokens);
    m->site = AT_END;
    give(m, embedding);
    optimizer_step(m, &model);
  }
  for (int layer = 0; layer < LAYERS; layer++)
    for (int p = 0; p < PARAMETERS; p++) {
      m->site = AT_END + 1;
      give(m, model.parameters[layer][p]);
      for (int i = 0; i < 2; i++) give(m, model.moments[layer][p][i]);
    }
}

/* ---- serve ---- */

static void make_serving(maker *m) {
  enum { LIVE = 1000, ROUNDS = 99130 };
  static uint32_t live[LIVE];
  for (int i = 0; i < LIVE + ROUNDS; i++) {
    const size_t at = i < LIVE ? (size_t)i : draw(m, LIVE);
    m->site = (uint32_t)draw(m, BENCH_SITES - 1);
    if (i >= LIVE) give(m, live[at]);
    const uint64_t scale = UINT64_C(1) << (8 + draw(m, 16)); /* 256 bytes to 16 MiB */
    live[at] = take(m, scale + draw(m, scale), (uint32_t)draw(m, BENCH_STREAMS));
  }
  for (int i = 0; i < LIVE; i++) {
    m->site = 0;
    give(m, live[i]);
  }
}

bench_trace bench_trace_make(const char *name) {
  static maker m;
  m = (maker){.passing = {UINT32_MAX, UINT32_MAX},
              .random = 88172645463325252u,
              .spare_count = MOST_LIVE,
              .trace.slots = MOST_LIVE};
  for (uint32_t i = 0; i < MOST_LIVE; i++) m.spare[i] = MOST_LIVE - 1 - i;
  if (strcmp(name, "train") == 0) {
    make_training(&m, 0);
  } else if (strcmp(name, "varlen") == 0) {
    make_training(&m, 1);
  } else if (strcmp(name, "serve") == 0) {
    make_serving(&m);
  } else {
    fprintf(stderr, "traces: train, varlen, serve; not '%s'\n", name);
    exit(2);
  }
  return m.trace;
}
