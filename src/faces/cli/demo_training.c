/* A small GPT is trained with AdamW: 12 layers, 16-bit activations, 32-bit parameters. Batches differ in length, as text
 * does, so each step requests other sizes than the one before. One stream copies the next batch, another one reduces
 * gradients. And there is a mistake to find: metrics.py keeps tensors of every step on the GPU.
 *
 * The requests are synthetic; the allocator that serves them is the real one. Each request has a stack: `enter` and `leave`
 * are the calls of the program, as Python would have them on its stack. */
#include "faces/cli/demo.h"
#include "base/check.h"

enum { LAYERS = 12, WIDTH = 768, HEADS = 12, VOCABULARY = 50304, BATCH = 8, POSITIONS = 1024, TOP = 64 };
enum { PARAMETERS = 2 + 12 * LAYERS + 2, ACTIVATIONS = 11, DEPTH = 24, MOST_KEPT = 4096 };

typedef struct tensor {
  uint64_t address, bytes;
} tensor;

typedef struct training {
  vs_live *live;
  vs_status status; /* of the first failure; nothing is allocated after it */
  uint64_t random;
  int64_t clock_us;
  uint64_t main, copy, reduce; /* streams */
  vs_live_frame calls[DEPTH];  /* outermost first */
  size_t depth;
  tensor parameters[PARAMETERS], gradients[PARAMETERS], moments[2 * PARAMETERS];
  tensor saved[LAYERS][ACTIVATIONS], embedded, normalised, logits, probabilities, loss;
  tensor batch[2], next[2];
  tensor kept[MOST_KEPT]; /* what metrics.py should not keep */
  size_t kept_count;
  bool has_moments;
} training;

/* ---- time and chance */

static int64_t clock_of(void *ctx) {
  const training *t = ctx;
  return t->clock_us;
}

static uint64_t below(training *t, uint64_t bound) { /* SplitMix64 */
  VS_ASSERT(bound != 0);
  uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (z ^ (z >> 31)) % bound;
}

/* ---- where the program is */

static void at_here(training *t) {
  vs_live_frame innermost_first[DEPTH];
  vs_stack stack;
  VS_ASSERT(t->depth != 0); /* every request has a stack */
  for (size_t i = 0; i < t->depth; i++) innermost_first[i] = t->calls[t->depth - 1 - i];
  const vs_status status = vs_live_stack(t->live, innermost_first, t->depth, &stack);
  if (t->status == VS_OK) t->status = status;
  if (status == VS_OK) (void)vs_live_stack_set(t->live, stack);
}

static void enter(training *t, const char *function, const char *file, int64_t line) {
  VS_ASSERT(t->depth < DEPTH);
  t->calls[t->depth++] = (vs_live_frame){.function = function, .file = file, .line = line};
}

static void leave(training *t, size_t calls) {
  VS_ASSERT(calls <= t->depth);
  t->depth -= calls;
}

static void enter_module(training *t, int64_t line) {
  enter(t, "forward", "model.py", line);
  enter(t, "_call_impl", "torch/nn/modules/module.py", 1786);
}

static void begin(training *t, const char *name) {
  const vs_status status = vs_live_annotation_begin(t->live, 0, name);
  if (t->status == VS_OK) t->status = status;
}

static void end(training *t, const char *name) {
  const vs_status status = vs_live_annotation_end(t->live, 0, name);
  if (t->status == VS_OK) t->status = status;
}

/* ---- tensors */

static tensor make_on(training *t, uint64_t bytes, uint64_t stream) {
  tensor made = {.bytes = bytes};
  if (t->status != VS_OK) return made;
  t->clock_us += 3 + (int64_t)below(t, 88);
  at_here(t);
  if (t->status == VS_OK) t->status = vs_live_malloc(t->live, 0, bytes, stream, &made.address);
  return made;
}

static tensor make(training *t, uint64_t bytes) { return make_on(t, bytes, t->main); }

static tensor make_at(training *t, uint64_t bytes, const char *function, const char *file, int64_t line) {
  enter(t, function, file, line);
  const tensor made = make(t, bytes);
  leave(t, 1);
  return made;
}

static void drop(training *t, tensor *tensors, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (t->status != VS_OK || tensors[i].address == 0) continue;
    t->clock_us += 1 + (int64_t)below(t, 3);
    t->status = vs_live_free(t->live, 0, tensors[i].address);
    tensors[i] = (tensor){0};
  }
}

static void use_on(training *t, const tensor *used, uint64_t stream) {
  VS_ASSERT(t->status != VS_OK || used->address != 0);
  if (t->status == VS_OK) t->status = vs_live_record_stream(t->live, 0, used->address, stream);
}

/* ---- the parts of a step; `rows` are the tokens of the batch */

static void load_model(training *t) {
  static const uint64_t layer[12] = {3 * WIDTH * WIDTH,
                                     3 * WIDTH,
                                     WIDTH * WIDTH,
                                     WIDTH,
                                     4 * WIDTH * WIDTH,
                                     4 * WIDTH,
                                     4 * WIDTH * WIDTH,
                                     WIDTH,
                                     WIDTH,
                                     WIDTH,
                                     WIDTH,
                                     WIDTH};
  size_t count = 0;
  enter(t, "main", "train.py", 71);
  enter(t, "to", "torch/nn/modules/module.py", 1371);
  enter(t, "convert", "torch/nn/modules/module.py", 1357);
  t->parameters[count++] = make(t, 4 * (uint64_t)VOCABULARY * WIDTH);
  t->parameters[count++] = make(t, 4 * (uint64_t)POSITIONS * WIDTH);
  for (int i = 0; i < LAYERS; i++)
    for (int j = 0; j < 12; j++) t->parameters[count++] = make(t, 4 * layer[j]);
  for (int i = 0; i < 2; i++) t->parameters[count++] = make(t, 4 * (uint64_t)WIDTH);
  VS_ASSERT(count == PARAMETERS);
  leave(t, 3);
}

/* The batch of the next step comes in on a stream of its own while this one is computed. */
static void fetch_batch(training *t, uint64_t rows) {
  enter(t, "prefetch", "data.py", 33);
  for (int i = 0; i < 2; i++) {
    t->next[i] = make_on(t, 8 * rows, t->copy);
    use_on(t, &t->next[i], t->main);
  }
  leave(t, 1);
}

static void forward_layer(training *t, uint64_t rows, tensor saved[ACTIVATIONS]) {
  const uint64_t hidden = rows * WIDTH * 2;
  enter_module(t, 121);
  saved[0] = make_at(t, hidden, "forward", "model.py", 84);
  enter_module(t, 85);
  saved[1] = make_at(t, 3 * hidden, "forward", "model.py", 41);
  saved[2] = make_at(t, hidden, "forward", "model.py", 47);
  saved[3] = make_at(t, rows * HEADS * 4, "forward", "model.py", 47); /* log-sum-exp */
  tensor projected = make_at(t, hidden, "forward", "model.py", 50);
  leave(t, 2);
  saved[4] = make_at(t, hidden, "forward", "model.py", 85);
  drop(t, &projected, 1);
  saved[5] = make_at(t, hidden, "forward", "model.py", 86);
  enter_module(t, 87);
  saved[6] = make_at(t, 4 * hidden, "forward", "model.py", 66);
  saved[7] = make_at(t, 4 * hidden, "forward", "model.py", 67);
  projected = make_at(t, hidden, "forward", "model.py", 68);
  leave(t, 2);
  saved[8] = make_at(t, hidden, "forward", "model.py", 87);
  drop(t, &projected, 1);
  leave(t, 2);
}

static void forward(training *t, uint64_t rows) {
  const uint64_t hidden = rows * WIDTH * 2;
  begin(t, "forward");
  enter(t, "train_step", "train.py", 45);
  t->embedded = make_at(t, hidden, "forward", "model.py", 118);
  for (int i = 0; i < LAYERS; i++) forward_layer(t, rows, t->saved[i]);
  t->normalised = make_at(t, hidden, "forward", "model.py", 123);
  t->logits = make_at(t, rows * VOCABULARY * 2, "forward", "model.py", 124);
  leave(t, 1);
  enter(t, "train_step", "train.py", 46);
  enter(t, "cross_entropy", "torch/nn/functional.py", 3494);
  t->probabilities = make(t, rows * VOCABULARY * 4);
  leave(t, 2);
  t->loss = make_at(t, 4, "train_step", "train.py", 47);
  end(t, "forward");
}

/* The mistake: .detach() would not help, only .cpu() or .item(). */
static void observe(training *t) {
  enter(t, "train_step", "train.py", 48);
  enter(t, "observe", "metrics.py", 27);
  if (t->kept_count + 2 <= MOST_KEPT) {
    t->kept[t->kept_count++] = t->loss;
    t->kept[t->kept_count++] = make_at(t, (uint64_t)BATCH * POSITIONS * TOP * 4, "topk", "metrics.py", 19);
  }
  leave(t, 2);
}

static void add_gradient(training *t, size_t parameter) {
  VS_ASSERT(parameter < PARAMETERS && t->gradients[parameter].address == 0);
  t->gradients[parameter] = make(t, t->parameters[parameter].bytes);
  use_on(t, &t->gradients[parameter], t->reduce);
}

static void backward_layer(training *t, uint64_t rows, size_t layer, tensor *gradient) {
  const uint64_t hidden = rows * WIDTH * 2;
  VS_ASSERT(layer < LAYERS && (t->status != VS_OK || gradient->address != 0));
  tensor scratch = make(t, 4 * hidden);
  for (size_t i = 0; i < 12; i++) add_gradient(t, 2 + 12 * layer + 11 - i);
  const tensor passed_down = make(t, hidden);
  drop(t, &scratch, 1);
  drop(t, gradient, 1);
  drop(t, t->saved[layer], ACTIVATIONS);
  *gradient = passed_down;
}

static void backward(training *t, uint64_t rows) {
  begin(t, "backward");
  enter(t, "train_step", "train.py", 50);
  enter(t, "backward", "torch/_tensor.py", 625);
  enter(t, "_engine_run_backward", "torch/autograd/graph.py", 841);
  tensor of_logits = make(t, rows * VOCABULARY * 2);
  drop(t, &t->probabilities, 1);
  drop(t, &t->logits, 1);
  tensor gradient = make(t, rows * WIDTH * 2);
  drop(t, &of_logits, 1);
  drop(t, &t->normalised, 1);
  for (size_t i = 0; i < 2; i++) add_gradient(t, PARAMETERS - 1 - i);
  for (size_t i = LAYERS; i-- > 0;) backward_layer(t, rows, i, &gradient);
  for (size_t i = 0; i < 2; i++) add_gradient(t, 1 - i);
  drop(t, &gradient, 1);
  drop(t, &t->embedded, 1);
  leave(t, 3);
  end(t, "backward");
}

static void optimize(training *t) {
  begin(t, "Optimizer.step#AdamW.step");
  enter(t, "train_step", "train.py", 51);
  enter(t, "step", "torch/optim/adamw.py", 232);
  enter(t, "_init_group", "torch/optim/adamw.py", 175);
  for (size_t i = 0; i < PARAMETERS && !t->has_moments; i++)
    for (size_t j = 0; j < 2; j++) t->moments[2 * i + j] = make(t, t->parameters[i].bytes);
  t->has_moments = true;
  leave(t, 1);
  enter(t, "_multi_tensor_adamw", "torch/optim/adamw.py", 698);
  tensor scratch[PARAMETERS];
  for (size_t i = 0; i < PARAMETERS; i++) scratch[i] = make(t, t->parameters[i].bytes);
  drop(t, scratch, PARAMETERS);
  leave(t, 3);
  end(t, "Optimizer.step#AdamW.step");
  enter(t, "train_step", "train.py", 52);
  enter(t, "zero_grad", "torch/optim/optimizer.py", 988);
  drop(t, t->gradients, PARAMETERS);
  leave(t, 2);
}

/* loss.item() at the end waits for the GPU, so for the work of all streams. */
static void wait_for_gpu(training *t) {
  const uint64_t streams[] = {t->main, t->copy, t->reduce};
  for (size_t i = 0; i < 3 && t->status == VS_OK; i++)
    t->status = vs_live_synchronize(t->live, 0, streams[i]);
  t->clock_us += 180000 + (int64_t)below(t, 40000);
}

/* The first three steps have short texts, as a warm-up; later ones have any length. */
static uint64_t rows_of(training *t, uint64_t step) {
  const uint64_t shortest = step < 3 ? 6 : 8, longest = step < 3 ? 8 : 16;
  return BATCH * 64 * (shortest + below(t, longest - shortest + 1));
}

static void do_step(training *t, uint64_t step, uint64_t rows, uint64_t rows_next) {
  char name[32];
  vs_format(name, sizeof name, "step %U", step);
  begin(t, name);
  memcpy(t->batch, t->next, sizeof t->batch);
  fetch_batch(t, rows_next);
  forward(t, rows);
  observe(t);
  backward(t, rows);
  optimize(t);
  drop(t, t->batch, 2);
  wait_for_gpu(t);
  end(t, name);
}

/* ---- the whole */

static void remember_oom(void *ctx, const vs_live_oom *oom) { *(vs_live_oom *)ctx = *oom; }

static void train(training *t, const vs_demo_plan *plan, vs_demo_outcome *outcome) {
  enter(t, "<module>", "train.py", 88);
  load_model(t);
  enter(t, "main", "train.py", 79);
  uint64_t rows = rows_of(t, 0);
  fetch_batch(t, rows);
  for (uint64_t step = 0; step < plan->steps && t->status == VS_OK; step++) {
    const uint64_t rows_next = rows_of(t, step + 1);
    vs_scope *scope = NULL;
    vs_scope_figures figures;
    t->status = vs_live_scope_begin(t->live, 0, &scope);
    if (t->status != VS_OK) break;
    do_step(t, step, rows, rows_next);
    vs_live_scope_end(scope, &figures);
    VS_ASSERT(figures.allocated.peak >= figures.allocated.start);
    const uint64_t most = figures.allocated.peak - figures.allocated.start;
    if (most > outcome->largest_step) outcome->largest_step = most;
    if (t->status == VS_OK) outcome->steps = step + 1;
    rows = rows_next;
  }
  leave(t, 2);
  VS_ASSERT(t->depth == 0);
}

static vs_status run(training *t, const vs_demo_plan *plan, vs_demo_outcome *outcome) {
  uint32_t observer;
  VS_TRY(vs_live_device_of(t->live, 0, &outcome->card));
  VS_TRY(vs_live_observe_oom(t->live, VS_LIVE_ON_OOM, remember_oom, &outcome->oom, &observer));
  VS_TRY(vs_live_stream_create(t->live, 0, &t->copy));
  VS_TRY(vs_live_stream_create(t->live, 0, &t->reduce));
  const int64_t began = t->clock_us;
  train(t, plan, outcome);
  outcome->took_us = t->clock_us - began;
  outcome->ran_out = t->status == VS_DEVICE_MEMORY;
  if (t->status != VS_OK && !outcome->ran_out) return t->status;
  return vs_live_memory_of(t->live, 0, &outcome->memory);
}

vs_status vs_demo_train(const vs_demo_plan *plan, vs_demo_outcome *outcome, vs_error *error) {
  static training t; /* large for a stack */
  const vs_live_options options = {.gpus = plan->gpus,
                                   .settings = plan->settings,
                                   .recording = plan->recording,
                                   .replace_recording = plan->may_replace,
                                   .done_at_sync = true,
                                   .time = clock_of,
                                   .time_ctx = &t};
  *outcome = (vs_demo_outcome){0};
  t = (training){.random = plan->seed + 26, .clock_us = INT64_C(1760000000000000)};
  VS_TRY(vs_live_open(&options, &t.live, error));
  vs_status status = run(&t, plan, outcome);
  if (status != VS_OK) vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  vs_error closing;
  const vs_status closed = vs_live_close(t.live, &closing);
  if (status != VS_OK || closed == VS_OK) return status;
  if (error != NULL) *error = closing;
  return closed;
}
