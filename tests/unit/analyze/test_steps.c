/* Steps from annotations and from patterns, and what grows from step to step, on a made training loop. */
#include "analyze/growth.h"
#include "support/random.h"
#include "unit/analyze/made.h"

enum { LAYERS = 6 };

/* A training run: weights, then steps of forward, backward and optimizer. */
typedef struct run {
  made m;
  uint64_t next; /* address */
  int64_t now_us;
  test_random random;
  uint32_t weights, activations, gradients, moments, leak, buffer, batch;
} run;

static uint32_t alloc(run *r, uint32_t stack, uint64_t size, uint64_t *address) {
  *address = r->next;
  r->next += (size + 511) / 512 * 512;
  const uint32_t event = made_alloc(&r->m, *address, size, stack);
  made_time(&r->m, event, r->now_us++);
  return event;
}

static void release(run *r, uint64_t address, uint64_t size) {
  made_time(&r->m, made_free(&r->m, address, size), r->now_us++);
}

typedef struct options {
  int steps;
  bool annotate_profiler, annotate_optimizer;
  bool varies;       /* batches differ in length */
  uint64_t leak;     /* bytes kept in every step */
  int leak_pauses;   /* in every n-th step nothing is kept */
  uint64_t swelling; /* a buffer that is replaced by one larger by this */
  bool cache;        /* something that comes and goes, seen at boundaries */
} options;

static run begin_run(void) {
  run r = {.m = made_begin(), .next = 1 << 20, .now_us = 1000, .random = {3}};
  r.weights = made_stack(&r.m, "build", 10);
  r.activations = made_stack(&r.m, "forward", 20);
  r.gradients = made_stack(&r.m, "backward", 30);
  r.moments = made_stack(&r.m, "step", 40);
  r.leak = made_stack(&r.m, "log", 50);
  r.buffer = made_stack(&r.m, "append", 60);
  r.batch = made_stack(&r.m, "load", 70);
  uint64_t ignored;
  for (int i = 0; i < LAYERS; i++) (void)alloc(&r, r.weights, 4096, &ignored);
  return r;
}

static void train(run *r, const options *o) {
  uint64_t activation[LAYERS], buffer = 0, buffer_size = 0, cached[2] = {0}, ignored;
  static const char *const names[] = {"ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3",
                                      "ProfilerStep#4", "ProfilerStep#5", "ProfilerStep#6", "ProfilerStep#7",
                                      "ProfilerStep#8", "ProfilerStep#9"};
  for (int step = 0; step < o->steps; step++) {
    if (o->annotate_profiler) made_annotation(&r->m, "START", names[step % 10], r->now_us);
    uint64_t batch;
    (void)alloc(r, r->batch, 1000, &batch);
    const uint64_t length = o->varies ? 1000 + random_below(&r->random, 5000) : 2000;
    for (int i = 0; i < LAYERS; i++)
      (void)alloc(r, r->activations, length * (uint64_t)(i + 1), &activation[i]);
    for (int i = LAYERS; i-- > 0;) {
      if (step == 0) (void)alloc(r, r->gradients, 4096, &ignored); /* appear once and stay */
      release(r, activation[i], length * (uint64_t)(i + 1));
    }
    release(r, batch, 1000);
    if (o->annotate_optimizer) made_annotation(&r->m, "START", "Optimizer.step#AdamW.step", r->now_us);
    for (int i = 0; i < LAYERS && step == 1; i++) (void)alloc(r, r->moments, 8192, &ignored);
    if (o->leak > 0 && (o->leak_pauses == 0 || step % o->leak_pauses != 1))
      (void)alloc(r, r->leak, o->leak, &ignored);
    if (o->swelling > 0) {
      const uint64_t old = buffer, old_size = buffer_size;
      buffer_size += o->swelling;
      (void)alloc(r, r->buffer, buffer_size, &buffer);
      if (old_size > 0) release(r, old, old_size);
    }
    if (o->cache) {
      if (cached[step % 2] != 0) release(r, cached[step % 2], 700);
      (void)alloc(r, r->batch, 700, &cached[step % 2]);
    }
    if (o->annotate_optimizer) made_annotation(&r->m, "END", "Optimizer.step#AdamW.step", r->now_us);
  }
}

typedef struct found {
  vs_lifetimes lifetimes;
  vs_frames frames;
  vs_steps steps;
  vs_growths growths;
} found;

static found find(run *r) {
  found f;
  made_trace(&r->m, 0);
  const vs_slice *slice = made_slice(&r->m, 0);
  expect_ok(vs_lifetimes_build(r->m.host, slice, &f.lifetimes));
  expect_ok(vs_frames_init(r->m.host, r->m.snapshot, &f.frames));
  expect_ok(vs_steps_build(r->m.host, slice, &f.frames, &f.steps));
  expect_ok(vs_growths_build(r->m.host, &f.lifetimes, &f.steps, &f.frames, &f.growths));
  return f;
}

static void end(run *r, found *f) {
  vs_growths_deinit(r->m.host, &f->growths);
  vs_frames_deinit(r->m.host, &f->frames);
  vs_steps_deinit(r->m.host, &f->steps);
  vs_lifetimes_deinit(r->m.host, &f->lifetimes);
  made_end(&r->m);
}

static void expect_growth(const found *f, uint32_t stack, uint64_t bytes_per_step, uint32_t steps) {
  assert_int_equal(f->growths.list.count, 1);
  const vs_growth *growth = &f->growths.list.data[0];
  assert_int_equal(growth->stack, stack);
  assert_int_equal(growth->bytes_per_step, bytes_per_step);
  assert_int_equal(growth->steps, steps);
  assert_int_equal(growth->first_step + growth->steps, f->steps.boundaries.count - 1);
}

/* ---- a leak, however the steps are found --------------------------------------------------------------- */

static void test_profiler_steps(void **state) {
  (void)state;
  run r = begin_run();
  train(&r,
        &(options){
            .steps = 6, .annotate_profiler = true, .annotate_optimizer = true, .leak = 300, .varies = true});
  found f = find(&r);
  assert_int_equal(f.steps.source, VS_STEPS_ANNOTATIONS);
  assert_int_equal(f.steps.boundaries.count, 6);
  expect_str(vs_snapshot_string(r.m.snapshot, f.steps.anchor), "ProfilerStep#0");
  for (uint32_t i = 0; i < 6; i++) { /* each begins with its batch */
    const uint32_t row = vs_slice_row(f.lifetimes.slice, f.steps.boundaries.data[i]);
    assert_int_equal(vs_events_stack(&r.m.snapshot->events, row), r.batch);
  }
  expect_growth(&f, r.leak, 300, 5);
  assert_int_equal(f.growths.list.data[0].rises, 5);
  assert_int_equal(f.growths.list.data[0].blocks, 5);
  assert_int_equal(f.growths.list.data[0].bytes, 1500);
  assert_int_equal(f.growths.list.data[0].live_bytes, 1500);
  end(&r, &f);
}

static void test_optimizer_steps(void **state) {
  (void)state;
  run r = begin_run();
  train(&r, &(options){.steps = 5, .annotate_optimizer = true, .leak = 300});
  made_annotation(&r.m, "START", "Optimizer.step#SGD.step", 1001); /* a second optimizer, stepped once */
  found f = find(&r);
  assert_int_equal(f.steps.source, VS_STEPS_ANNOTATIONS);
  assert_int_equal(f.steps.boundaries.count, 5);
  expect_str(vs_snapshot_string(r.m.snapshot, f.steps.anchor), "Optimizer.step#AdamW.step");
  expect_growth(&f, r.leak, 300, 4);
  end(&r, &f);
}

static void test_pattern(void **state) {
  (void)state;
  run r = begin_run();
  train(&r, &(options){.steps = 8, .leak = 300});
  found f = find(&r);
  assert_int_equal(f.steps.source, VS_STEPS_PATTERN);
  assert_int_equal(f.steps.boundaries.count, 8);
  assert_int_equal(f.steps.anchor, r.batch);
  assert_int_equal(f.steps.anchor_size, 1000);
  expect_growth(&f, r.leak, 300, 7);
  end(&r, &f);
}

/* A first step that takes longer than the others does not count. */
static void test_a_warm_up_step(void **state) {
  (void)state;
  for (int late = 0; late < 2; late++) {
    run r = begin_run();
    uint64_t ignored;
    for (int step = 0; step < 8; step++) {
      for (uint64_t i = 0; i < 6; i++) {
        (void)alloc(&r, r.batch, 1000 + i, &ignored);
        release(&r, ignored, 1000 + i);
      }
      for (int i = 0; i < (step == late ? 30 : 10) + step % 2; i++) { /* no two steps are equal */
        (void)alloc(&r, r.activations, 2000 + (uint64_t)(100 * step + i), &ignored);
        release(&r, ignored, 2000 + (uint64_t)(100 * step + i));
      }
    }
    found f = find(&r);
    assert_int_equal(f.steps.source, late == 0 ? VS_STEPS_PATTERN : VS_STEPS_NONE);
    if (late == 0) assert_int_equal(f.steps.boundaries.count, 8);
    end(&r, &f);
  }
}

static void test_leak_with_pauses(void **state) {
  (void)state;
  run r = begin_run();
  train(&r,
        &(options){
            .steps = 12, .annotate_profiler = true, .leak = 300, .leak_pauses = 6}); /* not in steps 1, 7 */
  found f = find(&r);
  expect_growth(&f, r.leak, 245, 11); /* 9 of 11 steps rise */
  assert_int_equal(f.growths.list.data[0].rises, 9);
  assert_int_equal(f.growths.list.data[0].bytes, 2700);
  end(&r, &f);
}

static void test_swelling_buffer(void **state) {
  (void)state;
  run r = begin_run();
  train(&r, &(options){.steps = 8, .annotate_profiler = true, .swelling = 1000});
  found f = find(&r);
  expect_growth(&f, r.buffer, 1000, 6); /* in the first step the buffer appears: that is another block */
  assert_int_equal(f.growths.list.data[0].blocks, 0);
  assert_int_equal(f.growths.list.data[0].live_bytes, 7000);
  end(&r, &f);
}

/* ---- rounds of a loop without annotations ---------------------------------------------------------------- */

/* A stack of two frames: a line of the loop, and its caller. */
static uint32_t called_by(run *r, int64_t line, const char *caller, const char *file) {
  const uint32_t frames[] = {made_frame(&r->m, "main", "/home/user/train.py", line),
                             made_frame(&r->m, caller, file, 9)};
  return made_stack_of(&r->m, frames, 2);
}

/* One allocation a round, and all of them stay. */
static void test_a_bare_loop(void **state) {
  (void)state;
  for (int rounds = 8; rounds <= 40; rounds += rounds == 8 ? 1 : 31) {
    run r = {.m = made_begin(), .next = 1 << 20, .now_us = 1000};
    const uint32_t kept = made_stack(&r.m, "<module>", 12);
    uint64_t ignored;
    for (int i = 0; i < rounds; i++) (void)alloc(&r, kept, 3000, &ignored);
    found f = find(&r);
    assert_int_equal(f.steps.source, rounds == 8 ? VS_STEPS_NONE : VS_STEPS_ROUNDS);
    if (rounds > 8) {
      assert_int_equal(f.steps.boundaries.count, rounds);
      assert_int_equal(f.steps.anchor_size, 3000);
      expect_growth(&f, kept, 3000, (uint32_t)rounds - 1);
      assert_int_equal(f.growths.list.data[0].end_bytes, rounds * 3000);
      assert_int_equal(f.growths.list.data[0].kind, VS_GROWTH_ALLOCATED);
    }
    end(&r, &f);
  }
}

/* What a line replaces each round is not growth, and does not hide what it keeps. */
static void test_a_loop_with_a_temporary(void **state) {
  (void)state;
  for (int keeps = 0; keeps < 2; keeps++) {
    run r = {.m = made_begin(), .next = 1 << 20, .now_us = 1000};
    const uint32_t line = made_stack(&r.m, "<module>", 12);
    uint64_t old = 0, x, y;
    for (int i = 0; i < 40; i++) {
      (void)alloc(&r, line, 5000, &x);
      if (old != 0) release(&r, old, 5000);
      (void)alloc(&r, line, 2000, &y);
      if (keeps == 0) release(&r, y, 2000);
      old = x;
    }
    found f = find(&r);
    assert_int_equal(f.steps.source, VS_STEPS_ROUNDS);
    assert_int_equal(f.steps.boundaries.count, 40);
    if (keeps == 0) assert_int_equal(f.growths.list.count, 0);
    else expect_growth(&f, line, (39 * 2000 + 5000) / 39, 39); /* with the last temporary */
    end(&r, &f);
  }
}

/* Rounds may differ at first and now and then, but not every fourth time. */
static void test_rounds_that_differ(void **state) {
  (void)state;
  for (int every = 4; every <= 20; every += 16) {
    run r = {.m = made_begin(), .next = 1 << 20, .now_us = 1000};
    const uint32_t work = made_stack(&r.m, "<module>", 12), log = made_stack(&r.m, "<module>", 13);
    uint64_t x;
    for (int i = 0; i < 60; i++) {
      (void)alloc(&r, work, 5000, &x);
      release(&r, x, 5000);
      if (i != 0 && i % every != 0) continue;
      (void)alloc(&r, log, 700 + (uint64_t)i, &x);
      release(&r, x, 700 + (uint64_t)i);
    }
    found f = find(&r);
    assert_int_equal(f.steps.source, every == 4 ? VS_STEPS_NONE : VS_STEPS_ROUNDS);
    end(&r, &f);
  }
}

/* Layers of a forward pass, parameters and optimizer states come in rounds, too: code of the model is around them. Other
 * callers do not matter, but the rounds are those of one function. */
static void test_rounds_of_a_model_are_no_steps(void **state) {
  (void)state;
  static const struct {
    const char *caller, *file;
    bool are_steps;
  } cases[] = {
      {"forward", "/opt/site-packages/torch/nn/modules/container.py", false},
      {"forward", "C:\\torch\\nn\\modules\\container.py", false},
      {"step", "/opt/site-packages/torch/optim/adam.py", false},
      {"__init__", "/home/user/model.py", false},
      {"forward", "/home/user/model.py", true},
      {"train", "/opt/site-packages/transformers/trainer.py", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run r = {.m = made_begin(), .next = 1 << 20, .now_us = 1000};
    uint32_t lines[5];
    for (int64_t line = 0; line < 5; line++)
      lines[line] = called_by(&r, line + 1, cases[i].caller, cases[i].file);
    uint64_t kept, temporary;
    for (int round = 0; round < 12; round++)
      for (int line = 0; line < 5; line++) {
        (void)alloc(&r, lines[line], 3000, line == 0 ? &kept : &temporary);
        if (line != 0) release(&r, temporary, 3000);
      }
    found f = find(&r);
    if ((f.steps.source == VS_STEPS_ROUNDS) != cases[i].are_steps) fail_msg("case %zu", i);
    if (!cases[i].are_steps) assert_int_equal(f.steps.source, VS_STEPS_NONE);
    end(&r, &f);
  }
}

/* Rounds are steps only if they make up half of the events and half of the allocations. */
static void test_rounds_of_a_part(void **state) {
  (void)state;
  for (int others = 20; others <= 60; others += 40)
    for (int frees = 0; frees < 2; frees++) {
      run r = {.m = made_begin(), .next = 1 << 20, .now_us = 1000};
      const uint32_t work = made_stack(&r.m, "<module>", 12), build = made_stack(&r.m, "<module>", 13);
      uint64_t x;
      for (int i = 0; i < others; i++) { /* as many allocations, or as many events */
        (void)alloc(&r, build, 90000 + (uint64_t)i, &x);
        if (frees != 0) release(&r, x, 90000 + (uint64_t)i);
      }
      for (int i = 0; i < 40; i++) {
        (void)alloc(&r, work, 5000, &x);
        if (frees == 0) release(&r, x, 5000);
      }
      found f = find(&r);
      const bool are_steps = others == 20 && frees == 0;
      assert_int_equal(f.steps.source, are_steps ? VS_STEPS_ROUNDS : VS_STEPS_NONE);
      end(&r, &f);
    }
}

/* The backward pass has the callers of its own, not those of the forward pass that were recorded with it. */
static void test_the_forward_pass_calls_no_backward_pass(void **state) {
  (void)state;
  run r = {.m = made_begin(), .next = 1 << 20, .now_us = 1000};
  uint32_t border;
  expect_ok(vs_stacks_frame(r.m.host, &r.m.snapshot->stacks, made_string(&r.m, VS_FORWARD_BORDER),
                            made_string(&r.m, ""), 0, NULL, &border));
  const uint32_t frames[] = {made_frame(&r.m, "<module>", "/home/user/train.py", 5), border,
                             made_frame(&r.m, "forward", "/opt/torch/nn/modules/linear.py", 9)};
  for (int i = 1; i < 3; i++) r.m.snapshot->stacks.frames.data[frames[i]].is_forward = 1;
  const uint32_t stack = made_stack_of(&r.m, frames, 3);
  uint64_t ignored;
  for (int i = 0; i < 40; i++) (void)alloc(&r, stack, 3000, &ignored);
  found f = find(&r);
  assert_int_equal(f.steps.source, VS_STEPS_ROUNDS);
  end(&r, &f);
}

static void test_rounds_of_several_functions_are_no_steps(void **state) {
  (void)state;
  run r = {.m = made_begin(), .next = 1 << 20, .now_us = 1000};
  const uint32_t one = made_stack(&r.m, "one", 12), other = made_stack(&r.m, "other", 13);
  uint64_t ignored;
  for (int i = 0; i < 40; i++) {
    (void)alloc(&r, one, 3000, &ignored);
    (void)alloc(&r, other, 3000, &ignored);
  }
  found f = find(&r);
  assert_int_equal(f.steps.source, VS_STEPS_NONE);
  end(&r, &f);
}

/* ---- what became of it ---------------------------------------------------------------------------------- */

/* Steps that keep a block each; afterwards `freed` of them are freed, and of each free only the request is recorded where
 * it is pending. */
static found kept_and_freed(run *r, int steps, int freed, bool at_once, bool is_pending) {
  uint64_t kept[32];
  for (int step = 0; step < steps; step++) {
    made_annotation(&r->m, "START", "ProfilerStep#1", r->now_us);
    (void)alloc(r, r->leak, 1000, &kept[step]);
    if (at_once) made_time(&r->m, made_event(&r->m, VS_EVENT_FREE_REQUESTED, kept[step], 1000), r->now_us++);
  }
  for (int step = 0; step < freed; step++) {
    if (is_pending)
      made_time(&r->m, made_event(&r->m, VS_EVENT_FREE_REQUESTED, kept[step], 1000), r->now_us++);
    else release(r, kept[step], 1000);
  }
  release(r, 1 << 20, 4096); /* some free is complete */
  return find(r);
}

static void test_what_became_of_growth(void **state) {
  (void)state;
  static const struct {
    int freed;
    bool at_once, is_pending;
    vs_growth_kind kind;
    uint64_t end_bytes;
  } cases[] = {
      {0, false, false, VS_GROWTH_ALLOCATED, 8000}, {4, false, false, VS_GROWTH_ALLOCATED, 4000},
      {5, false, false, VS_GROWTH_FREED, 3000},     {8, false, false, VS_GROWTH_FREED, 0},
      {0, true, false, VS_GROWTH_PENDING, 0},       {8, false, true, VS_GROWTH_FREED, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run r = begin_run();
    found f = kept_and_freed(&r, 8, cases[i].freed, cases[i].at_once, cases[i].is_pending);
    expect_growth(&f, r.leak, 1000, 7);
    assert_int_equal(f.growths.list.data[0].kind, cases[i].kind);
    assert_int_equal(f.growths.list.data[0].live_bytes, 7000);
    assert_int_equal(f.growths.list.data[0].end_bytes, cases[i].end_bytes);
    assert_int_equal(f.growths.list.data[0].pending_bytes, cases[i].at_once ? 7000 : 0);
    end(&r, &f);
  }
  assert_string_equal(vs_growth_kind_name(VS_GROWTH_ALLOCATED), "allocated");
  assert_string_equal(vs_growth_kind_name(VS_GROWTH_FREED), "freed");
  assert_string_equal(vs_growth_kind_name(VS_GROWTH_PENDING), "pending");
}

/* Of four blocks that a step keeps, an older one goes in each step: a quarter. Of three it is more. */
static void test_growth_that_is_freed_again(void **state) {
  (void)state;
  for (int came = 3; came <= 4; came++) {
    run r = begin_run();
    uint64_t kept[64] = {0};
    for (int step = 0; step < 12; step++) {
      made_annotation(&r.m, "START", "ProfilerStep#1", r.now_us);
      for (int i = 0; i < came; i++) (void)alloc(&r, r.leak, 1000, &kept[came * step + i]);
      if (step >= 2) release(&r, kept[came * (step - 2)], 1000);
    }
    found f = find(&r);
    assert_int_equal(f.steps.source, VS_STEPS_ANNOTATIONS);
    assert_int_equal(f.growths.list.count, came == 4);
    end(&r, &f);
  }
}

/* Two callers of one line are one line. */
static void test_growth_is_told_by_line(void **state) {
  (void)state;
  run r = begin_run();
  const uint32_t one = called_by(&r, 5, "first", "/home/user/train.py"),
                 other = called_by(&r, 5, "second", "/home/user/train.py");
  uint64_t ignored;
  for (int step = 0; step < 8; step++) {
    made_annotation(&r.m, "START", "ProfilerStep#1", r.now_us);
    (void)alloc(&r, step % 2 == 0 ? one : other, 1000, &ignored);
  }
  found f = find(&r);
  expect_growth(&f, one, 1000, 7);
  end(&r, &f);
}

/* Begins a step with its batch, which does not outlive it. */
static void begin_step(run *r) {
  uint64_t batch;
  made_annotation(&r->m, "START", "ProfilerStep#1", r->now_us);
  (void)alloc(r, r->batch, 1000, &batch);
  release(r, batch, 1000);
}

/* Each step keeps some blocks and frees one of two steps before: growth where that is a quarter, not where it is more. */
static void test_most_of_what_comes_stays(void **state) {
  (void)state;
  for (int count = 2; count <= 4; count++) {
    run r = begin_run();
    uint64_t kept[12];
    for (int step = 0; step < 12; step++) {
      begin_step(&r);
      for (int i = 0; i < count; i++) (void)alloc(&r, r.leak, 250, &kept[step]);
      if (step > 1) release(&r, kept[step - 2], 250);
    }
    begin_step(&r);
    found f = find(&r);
    assert_int_equal(f.steps.boundaries.count, 13);
    assert_int_equal(f.growths.list.count, count == 4);
    end(&r, &f);
  }
}

/* What grows fastest comes first, also where something else is larger by now. */
static void test_the_fastest_growth_comes_first(void **state) {
  (void)state;
  run r = begin_run();
  uint64_t ignored;
  (void)alloc(&r, r.buffer, 100000, &ignored);
  for (int step = 0; step < 6; step++) {
    begin_step(&r);
    (void)alloc(&r, r.buffer, 200, &ignored);
    (void)alloc(&r, r.leak, 300, &ignored);
  }
  begin_step(&r);
  found f = find(&r);
  assert_int_equal(f.growths.list.count, 2);
  assert_int_equal(f.growths.list.data[0].stack, r.leak);
  assert_int_equal(f.growths.list.data[1].stack, r.buffer);
  assert_int_equal(f.growths.list.data[1].end_bytes, 100000 + 6 * 200);
  end(&r, &f);
}

/* ---- which repetition is a step ------------------------------------------------------------------------ */

static void pass_by(run *r, int count) {
  for (int i = 0; i < count; i++) {
    uint64_t address;
    (void)alloc(r, r->moments, 20000 + (uint64_t)r->now_us, &address); /* of no other's size */
    release(r, address, 20000 + (uint64_t)r->now_us - 1);
  }
}

/* The first step does more than the others: it warms up. */
static void test_a_long_first_step(void **state) {
  (void)state;
  run r = begin_run();
  uint64_t batch;
  for (int step = 0; step < 8; step++) {
    (void)alloc(&r, r.batch, 1000, &batch);
    pass_by(&r, step == 0 ? 20 : 3);
    release(&r, batch, 1000);
  }
  found f = find(&r);
  assert_int_equal(f.steps.source, VS_STEPS_PATTERN);
  assert_int_equal(f.steps.boundaries.count, 8);
  end(&r, &f);
}

/* A loop of a third of the trace can be one inside a step. */
static void test_a_loop_in_a_part_of_the_trace(void **state) {
  (void)state;
  for (int rest = 0; rest <= 110; rest += 110) {
    run r = begin_run();
    train(&r, &(options){.steps = 8});
    pass_by(&r, rest);
    found f = find(&r);
    assert_int_equal(f.steps.source, rest == 0 ? VS_STEPS_PATTERN : VS_STEPS_NONE);
    end(&r, &f);
  }
}

/* Two allocations that come once in a step, and two that come twice. */
static void test_of_equals_the_fewer_steps(void **state) {
  (void)state;
  run r = begin_run();
  uint64_t once[2], twice[2];
  for (int step = 0; step < 8; step++) {
    for (int half = 0; half < 2; half++) {
      (void)alloc(&r, r.batch, 1000 + 1000 * (uint64_t)half, &once[half]);
      (void)alloc(&r, r.activations, 3000, &twice[0]);
      (void)alloc(&r, r.activations, 4000, &twice[1]);
      release(&r, twice[0], 3000);
      release(&r, twice[1], 4000);
      pass_by(&r, 1);
      release(&r, once[half], 1000 + 1000 * (uint64_t)half);
    }
  }
  found f = find(&r);
  assert_int_equal(f.steps.source, VS_STEPS_PATTERN);
  assert_int_equal(f.steps.boundaries.count, 8);
  assert_int_equal(f.steps.anchor_size, 1000);
  end(&r, &f);
}

/* ---- no false alarms ----------------------------------------------------------------------------------- */

static void test_healthy_runs(void **state) {
  (void)state;
  for (int variant = 0; variant < 16; variant++) {
    run r = begin_run();
    train(&r, &(options){
                  .steps = 4 + variant % 4 * 3,
                  .annotate_profiler = variant % 2 == 0,
                  .varies = variant % 4 < 2,
                  .cache = variant % 8 < 4,
              });
    found f = find(&r);
    if (f.growths.list.count > 0) fail_msg("variant %d grows", variant);
    end(&r, &f);
  }
}

/* Too few steps to say anything. */
static void test_few_steps(void **state) {
  (void)state;
  run r = begin_run();
  train(&r, &(options){.steps = 3, .annotate_profiler = true, .leak = 300});
  found f = find(&r);
  assert_int_equal(f.steps.boundaries.count, 3);
  assert_int_equal(f.growths.list.count, 0);
  end(&r, &f);
}

/* A forward pass that ends in the middle: its layers come back regularly, and everything stays. */
static void test_layers_are_no_steps(void **state) {
  (void)state;
  run r = begin_run();
  uint64_t ignored, temporary;
  for (int layer = 0; layer < 24; layer++) {
    (void)alloc(&r, r.activations, 5000, &ignored);
    (void)alloc(&r, r.gradients, 3000, &ignored);
    (void)alloc(&r, r.buffer, 1000, &temporary);
    release(&r, temporary, 1000);
    (void)alloc(&r, r.moments, 7000, &ignored);
  }
  found f = find(&r);
  assert_int_equal(f.growths.list.count, 0);
  end(&r, &f);
}

static void test_noise_has_no_steps(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    run r = begin_run();
    r.random.state = seed;
    uint64_t live[64][2], count = 0;
    for (int i = 0; i < 1500; i++) {
      if (count < 64 && random_below(&r.random, 2) == 0) {
        live[count][1] = 1 + random_below(&r.random, 40);
        (void)alloc(&r, (uint32_t)(2 + random_below(&r.random, 7)), live[count][1], &live[count][0]);
        count++;
      } else if (count > 0) {
        const uint64_t at = random_below(&r.random, count--);
        release(&r, live[at][0], live[at][1]);
        live[at][0] = live[count][0];
        live[at][1] = live[count][1];
      }
    }
    found f = find(&r);
    if (f.growths.list.count > 0) fail_msg("seed %d grows", (int)seed);
    end(&r, &f);
  }
}

static void test_nothing(void **state) {
  (void)state;
  run r = {.m = made_begin()};
  (void)made_event(&r.m, VS_EVENT_SNAPSHOT, 0, 0);
  found f = find(&r);
  assert_int_equal(f.steps.source, VS_STEPS_NONE);
  assert_int_equal(f.steps.boundaries.count, 0);
  assert_int_equal(f.growths.list.count, 0);
  end(&r, &f);
  assert_string_equal(vs_steps_source_name(VS_STEPS_NONE), "none");
  assert_string_equal(vs_steps_source_name(VS_STEPS_PATTERN), "pattern");
  assert_string_equal(vs_steps_source_name(VS_STEPS_ROUNDS), "rounds");
  assert_string_equal(vs_steps_source_name(VS_STEPS_ANNOTATIONS), "annotations");
}

/* Sizes that no sum holds. */
static void test_extremes(void **state) {
  (void)state;
  run r = begin_run();
  train(&r, &(options){.steps = 6, .annotate_profiler = true, .leak = UINT64_MAX / 2});
  found f = find(&r);
  assert_int_equal(f.growths.list.count, 1);
  end(&r, &f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_profiler_steps),
      cmocka_unit_test(test_optimizer_steps),
      cmocka_unit_test(test_pattern),
      cmocka_unit_test(test_a_warm_up_step),
      cmocka_unit_test(test_leak_with_pauses),
      cmocka_unit_test(test_swelling_buffer),
      cmocka_unit_test(test_a_bare_loop),
      cmocka_unit_test(test_a_loop_with_a_temporary),
      cmocka_unit_test(test_rounds_that_differ),
      cmocka_unit_test(test_rounds_of_a_model_are_no_steps),
      cmocka_unit_test(test_rounds_of_a_part),
      cmocka_unit_test(test_the_forward_pass_calls_no_backward_pass),
      cmocka_unit_test(test_rounds_of_several_functions_are_no_steps),
      cmocka_unit_test(test_what_became_of_growth),
      cmocka_unit_test(test_growth_that_is_freed_again),
      cmocka_unit_test(test_growth_is_told_by_line),
      cmocka_unit_test(test_most_of_what_comes_stays),
      cmocka_unit_test(test_the_fastest_growth_comes_first),
      cmocka_unit_test(test_a_long_first_step),
      cmocka_unit_test(test_a_loop_in_a_part_of_the_trace),
      cmocka_unit_test(test_of_equals_the_fewer_steps),
      cmocka_unit_test(test_healthy_runs),
      cmocka_unit_test(test_few_steps),
      cmocka_unit_test(test_layers_are_no_steps),
      cmocka_unit_test(test_noise_has_no_steps),
      cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_extremes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
