/* Completion under AT_SYNC against a naive model: a list of all work, each piece with what it stands behind,
 * and a walk over all of it whenever something is synchronised. */
#include "support/random.h"
#include "unit/device/sim/work.h"

enum { STREAMS = 9, EVENTS = 8, MOST_WORK = 400, BEHIND = STREAMS + 2, RUNS = 300 };

typedef struct piece {
  uint32_t behind[BEHIND];
  uint32_t count;
  bool is_done;
} piece;

typedef struct model_stream {
  uint64_t handle;
  uint32_t device;
  bool is_legacy, is_blocking;
  int last; /* its last piece, -1 for none */
} model_stream;

typedef struct model {
  piece work[MOST_WORK];
  uint32_t count;
  model_stream streams[STREAMS];
  uint64_t events[EVENTS];
  int recorded[EVENTS]; /* the piece that is the record, -1 for none */
} model;

static machine m;
static model model_now;

static void stand_behind(piece *p, int other) {
  if (other >= 0) p->behind[p->count++] = (uint32_t)other;
}

/* A piece of work on a stream; `event` is what it waits for, -1 for none. */
static int give(model *w, uint32_t s, int event) {
  model_stream *stream = &w->streams[s];
  piece *p = &w->work[w->count];
  *p = (piece){.count = 0};
  stand_behind(p, stream->last);
  for (uint32_t i = 0; i < STREAMS; i++) {
    const model_stream *other = &w->streams[i];
    if (other->device != stream->device) continue;
    if ((stream->is_legacy && other->is_blocking) || (stream->is_blocking && other->is_legacy))
      stand_behind(p, other->last);
  }
  if (event >= 0) stand_behind(p, w->recorded[event]);
  return stream->last = (int)w->count++;
}

/* Everything before a piece has a lower number, so one walk from there down is enough. */
static void finish(model *w, int last) {
  if (last < 0) return;
  static bool wanted[MOST_WORK];
  memset(wanted, 0, sizeof wanted);
  wanted[last] = true;
  for (int i = last; i >= 0; i--) {
    if (!wanted[i]) continue;
    w->work[i].is_done = true;
    for (uint32_t k = 0; k < w->work[i].count; k++) wanted[w->work[i].behind[k]] = true;
  }
}

static void finish_stream(model *w, uint32_t s) {
  finish(w, w->streams[s].last);
  for (uint32_t i = 0; i < STREAMS && w->streams[s].is_legacy; i++)
    if (w->streams[i].is_blocking && w->streams[i].device == w->streams[s].device)
      finish(w, w->streams[i].last);
}

static bool is_finished(const model *w, int last) { return last < 0 || w->work[last].is_done; }

static bool is_stream_finished(const model *w, uint32_t s) {
  for (uint32_t i = 0; i < STREAMS && w->streams[s].is_legacy; i++)
    if (w->streams[i].is_blocking && w->streams[i].device == w->streams[s].device &&
        !is_finished(w, w->streams[i].last))
      return false;
  return is_finished(w, w->streams[s].last);
}

/* Both devices' default streams, and created ones of both kinds. */
static void begin(model *w, vs_sim *sim) {
  w->count = 0;
  for (uint32_t s = 0; s < STREAMS; s++) {
    model_stream *stream = &w->streams[s];
    *stream = (model_stream){.device = s % CARDS, .last = -1};
    if (s < 2) stream->is_legacy = true;
    else stream->is_blocking = s < 6;
    if (s < 2) stream->handle = VS_SIM_STREAM_LEGACY;
    else if (s < 4) stream->handle = VS_SIM_STREAM_PER_THREAD;
    else
      stream->handle =
          new_stream_on(sim, stream->device, stream->is_blocking ? 0 : VS_SIM_STREAM_NON_BLOCKING);
  }
  for (uint32_t e = 0; e < EVENTS; e++) {
    w->recorded[e] = -1;
    expect_sim_ok(vs_sim_event_create(sim, e % CARDS, 0, &w->events[e]));
  }
}

static void renew(model *w, vs_sim *sim, uint32_t s) {
  model_stream *stream = &w->streams[s];
  finish_stream(w, s);
  expect_sim_ok(vs_sim_stream_destroy(sim, stream->handle));
  stream->last = -1;
  stream->handle = new_stream_on(sim, stream->device, stream->is_blocking ? 0 : VS_SIM_STREAM_NON_BLOCKING);
}

static void step(model *w, vs_sim *sim, test_random *random) {
  const uint32_t s = (uint32_t)random_below(random, STREAMS), e = (uint32_t)random_below(random, EVENTS);
  const model_stream *stream = &w->streams[s];
  switch (random_below(random, 30)) {
    case 0:
      expect_sim_ok(vs_sim_stream_synchronize(sim, stream->device, stream->handle));
      finish_stream(w, s);
      break;
    case 1:
      expect_sim_ok(vs_sim_event_synchronize(sim, &main_thread, w->events[e]));
      finish(w, w->recorded[e]);
      break;
    case 2:
      if (random_below(random, 4) != 0) break;
      expect_sim_ok(vs_sim_device_synchronize(sim, s % CARDS));
      for (uint32_t i = 0; i < STREAMS; i++)
        if (w->streams[i].device == s % CARDS) finish(w, w->streams[i].last);
      break;
    case 3:
      if (s >= 4 && random_below(random, 3) == 0) renew(w, sim, s);
      break;
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
    case 10:
      if (e % CARDS != stream->device) break;
      expect_sim_ok(vs_sim_event_record(sim, stream->device, w->events[e], stream->handle, 0));
      w->recorded[e] = give(w, s, -1);
      break;
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
    case 17:
      expect_sim_ok(vs_sim_stream_wait_event(sim, stream->device, stream->handle, w->events[e], 0));
      (void)give(w, s, (int)e);
      break;
    default:
      expect_sim_ok(vs_sim_op(sim, stream->device, stream->handle, VS_SIM_NODE_KERNEL));
      (void)give(w, s, -1);
      break;
  }
}

static void compare(const model *w, vs_sim *sim) {
  assert_true(vs_sim_check(sim));
  for (uint32_t s = 0; s < STREAMS; s++)
    assert_int_equal(vs_sim_stream_query(sim, w->streams[s].device, w->streams[s].handle),
                     is_stream_finished(w, s) ? VS_SIM_OK : VS_SIM_NOT_READY);
  for (uint32_t e = 0; e < EVENTS; e++)
    assert_int_equal(vs_sim_event_query(sim, &main_thread, w->events[e]),
                     is_finished(w, w->recorded[e]) ? VS_SIM_OK : VS_SIM_NOT_READY);
}

static void completion_is_the_closure_of_order(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    test_random random = {seed};
    vs_sim *sim = work_begin(&m, VS_SIM_EVENTS_AT_SYNC);
    begin(&model_now, sim);
    while (model_now.count < MOST_WORK - 1) {
      step(&model_now, sim, &random);
      compare(&model_now, sim);
    }
    machine_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(completion_is_the_closure_of_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
