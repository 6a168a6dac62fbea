#include "device/sim/graph_internal.h"

/* ---- completion ---- */

static vs_sim_stream *legacy_of(const vs_sim *sim, uint32_t device) {
  VS_ASSERT(device < sim->device_count && sim->streams.rows.data[2 * device]->is_legacy);
  return sim->streams.rows.data[2 * device];
}

/* Whether the stream and the legacy stream of its device wait for each other's work. */
static bool is_blocking(const vs_sim_stream *stream) {
  return !stream->is_legacy && (stream->flags & VS_SIM_STREAM_NON_BLOCKING) == 0;
}

/* The stream of a point; NULL if it was destroyed since, which completed all its work. */
static vs_sim_stream *stream_of(const vs_sim *sim, const vs_sim_point *point) {
  if (point->stream >= sim->streams.rows.count) return NULL;
  vs_sim_stream *stream = sim->streams.rows.data[point->stream];
  return stream != NULL && stream->id == point->life ? stream : NULL;
}

vs_sim_point vs_sim_stream_point(const vs_sim_stream *stream) {
  return (vs_sim_point){
      .stream = stream->row, .life = stream->id, .position = stream->last, .legacy = stream->legacy};
}

bool vs_sim_point_is_done(const vs_sim *sim, const vs_sim_point *point) {
  const vs_sim_stream *stream = stream_of(sim, point);
  return stream == NULL || stream->done >= point->position;
}

/* Raises the stream's goal to `position`. If that is a new goal, the stream is added to the list *open. */
static void want(vs_sim_stream *stream, uint64_t position, vs_sim_stream **open) {
  const uint64_t goal = vs_min_u64(position, stream->last);
  if (goal <= stream->goal) return;
  if (stream->goal == stream->done) {
    stream->next = *open;
    *open = stream;
  }
  stream->goal = goal;
}

static void want_point(const vs_sim *sim, const vs_sim_point *point, vs_sim_stream **open) {
  vs_sim_stream *stream = stream_of(sim, point);
  if (stream == NULL || stream->done >= point->position) return;
  want(stream, point->position, open);
  if (is_blocking(stream)) want(legacy_of(sim, stream->device), point->legacy, open);
}

static void want_blocking(const vs_sim *sim, uint32_t device, uint64_t position, vs_sim_stream **open) {
  for (size_t row = 0; row < sim->streams.rows.count; row++) {
    vs_sim_stream *stream = sim->streams.rows.data[row];
    if (stream != NULL && stream->device == device && is_blocking(stream)) want(stream, position, open);
  }
}

/* Removes the waits up to the stream's `done` and wants the events that they waited for. */
static void pass_waits(const vs_sim *sim, vs_sim_stream *stream, vs_sim_stream **open) {
  size_t passed = 0;
  while (passed < stream->waits.count && stream->waits.data[passed].position <= stream->done)
    want_point(sim, &stream->waits.data[passed++].until, open);
  if (passed == 0) return;
  stream->waits.count -= passed;
  memmove(stream->waits.data, stream->waits.data + passed, stream->waits.count * sizeof *stream->waits.data);
}

/* Completes everything that is wanted, and what it was ordered behind. It terminates because goals only rise and are bounded by
 * the streams' last work. */
static void settle(const vs_sim *sim, vs_sim_stream *open) {
  while (open != NULL) {
    vs_sim_stream *stream = open;
    open = stream->next;
    VS_ASSERT(stream->done < stream->goal && stream->goal <= stream->last);
    stream->done = stream->goal;
    pass_waits(sim, stream, &open);
    if (stream->is_legacy) want_blocking(sim, stream->device, stream->done, &open);
  }
}

void vs_sim_point_complete(vs_sim *sim, const vs_sim_point *point) {
  vs_sim_stream *open = NULL;
  want_point(sim, point, &open);
  settle(sim, open);
}

void vs_sim_stream_complete(vs_sim *sim, const vs_sim_stream *stream) {
  vs_sim_stream *open = NULL;
  const vs_sim_point point = vs_sim_stream_point(stream);
  want_point(sim, &point, &open);
  if (stream->is_legacy) want_blocking(sim, stream->device, UINT64_MAX, &open);
  settle(sim, open);
}

void vs_sim_streams_complete(vs_sim *sim, uint32_t device) {
  vs_sim_stream *open = NULL;
  for (size_t row = 0; row < sim->streams.rows.count; row++) {
    vs_sim_stream *stream = sim->streams.rows.data[row];
    if (stream != NULL && stream->device == device) want(stream, UINT64_MAX, &open);
  }
  settle(sim, open);
}

bool vs_sim_stream_is_done(const vs_sim *sim, const vs_sim_stream *stream) {
  if (stream->done < stream->last) return false;
  for (size_t row = 0; stream->is_legacy && row < sim->streams.rows.count; row++) {
    const vs_sim_stream *other = sim->streams.rows.data[row];
    if (other != NULL && other->device == stream->device && is_blocking(other) && other->done < other->last)
      return false;
  }
  return true;
}

void vs_sim_stream_advance(vs_sim *sim, vs_sim_stream *stream) {
  vs_sim_streams *streams = &sim->streams;
  VS_ASSERT(stream->capture == NULL && stream->last <= streams->sequence);
  streams->clock_ns += streams->work_ns;
  stream->last = ++streams->sequence;
  if (is_blocking(stream)) stream->legacy = legacy_of(sim, stream->device)->last;
  if (streams->rule == VS_SIM_EVENTS_AT_ONCE) stream->done = stream->goal = stream->last;
}

/* ---- waits ---- */

/* Removes waits that are done; if there are still too many, removes the older half. */
static void tidy_waits(const vs_sim *sim, vs_sim_stream *stream) {
  size_t kept = 0;
  for (size_t i = 0; i < stream->waits.count; i++)
    if (!vs_sim_point_is_done(sim, &stream->waits.data[i].until))
      stream->waits.data[kept++] = stream->waits.data[i];
  stream->waits.count = kept;
  if (kept < VS_SIM_MOST_WAITS) return;
  stream->waits.count = VS_SIM_MOST_WAITS / 2;
  memmove(stream->waits.data, stream->waits.data + (kept - stream->waits.count),
          stream->waits.count * sizeof *stream->waits.data);
}

vs_sim_error vs_sim_stream_waits_reserve(vs_sim *sim, vs_sim_stream *stream, size_t count) {
  if (sim->streams.rule == VS_SIM_EVENTS_AT_ONCE) return VS_SIM_OK;
  const size_t room = VS_SIM_MOST_WAITS - stream->waits.count;
  const vs_status status = vs_vec_reserve(sim->host, &stream->waits, count < room ? count : room);
  return status == VS_OK ? VS_SIM_OK : VS_SIM_OUT_OF_MEMORY;
}

void vs_sim_stream_wait_now(vs_sim *sim, vs_sim_stream *stream, const vs_sim_event *event) {
  vs_sim_stream_advance(sim, stream);
  if (!event->is_recorded || stream_of(sim, &event->at) == stream || vs_sim_point_is_done(sim, &event->at))
    return;
  if (stream->waits.count == VS_SIM_MOST_WAITS) tidy_waits(sim, stream);
  VS_ASSERT(stream->waits.count < stream->waits.capacity); /* vs_sim_stream_waits_reserve */
  stream->waits.data[stream->waits.count++] = (vs_sim_wait){.position = stream->last, .until = event->at};
}

/* ---- streams ---- */

static vs_sim_stream *new_stream(vs_sim *sim, uint32_t device, uint32_t row) {
  vs_sim_stream *stream = vs_host_alloc(sim->host, sizeof *stream);
  if (stream != NULL) *stream = (vs_sim_stream){.id = ++sim->streams.last_id, .row = row, .device = device};
  return stream;
}

static void drop_stream(vs_sim *sim, vs_sim_stream *stream) {
  VS_ASSERT(sim->streams.rows.data[stream->row] == stream);
  vs_vec_free(sim->host, &stream->waits);
  vs_vec_free(sim->host, &stream->frontier);
  sim->streams.rows.data[stream->row] = NULL;
  vs_host_free(sim->host, stream, sizeof *stream);
}

vs_sim_error vs_sim_streams_init(vs_sim *sim, vs_sim_event_rule rule) {
  vs_sim_streams *streams = &sim->streams;
  *streams = (vs_sim_streams){.rule = rule, .work_ns = VS_SIM_WORK_NS};
  if (vs_vec_reserve(sim->host, &streams->rows, 2 * (size_t)sim->device_count) != VS_OK)
    return VS_SIM_OUT_OF_MEMORY;
  for (uint32_t row = 0; row < 2 * sim->device_count; row++) {
    vs_sim_stream *stream = new_stream(sim, row / 2, row);
    if (stream == NULL) {
      vs_sim_streams_deinit(sim);
      return VS_SIM_OUT_OF_MEMORY;
    }
    stream->is_legacy = row % 2 == 0;
    stream->handle = stream->is_legacy ? VS_SIM_STREAM_LEGACY : VS_SIM_STREAM_PER_THREAD;
    streams->rows.data[streams->rows.count++] = stream;
  }
  return VS_SIM_OK;
}

void vs_sim_streams_deinit(vs_sim *sim) {
  vs_sim_streams *streams = &sim->streams;
  for (size_t row = 0; row < streams->rows.count; row++)
    if (streams->rows.data[row] != NULL) drop_stream(sim, streams->rows.data[row]);
  vs_vec_free(sim->host, &streams->rows);
  vs_sim_numbers_deinit(sim->host, &streams->numbers);
  vs_sim_handles_deinit(sim->host, &streams->events);
  *streams = (vs_sim_streams){0};
}

/* Resets a default stream. Points from before count as done, because its id changes. */
static void renew(vs_sim *sim, vs_sim_stream *stream) {
  stream->id = ++sim->streams.last_id;
  stream->last = stream->legacy = stream->done = stream->goal = 0;
  vs_vec_free(sim->host, &stream->waits);
  vs_vec_free(sim->host, &stream->frontier);
}

void vs_sim_streams_reset(vs_sim *sim, uint32_t device) {
  vs_sim_streams *streams = &sim->streams;
  const uint32_t first = 2 * sim->device_count;
  for (uint32_t row = first; row < streams->rows.count; row++) {
    vs_sim_stream *stream = streams->rows.data[row];
    if (stream == NULL || stream->device != device) continue;
    drop_stream(sim, stream);
    vs_sim_numbers_give(&streams->numbers, row - first);
  }
  renew(sim, streams->rows.data[2 * device]);
  renew(sim, streams->rows.data[2 * device + 1]);
}

/* Takes a free number, with space for its row. */
static vs_sim_error take_row(vs_sim *sim, uint32_t *row) {
  vs_sim_streams *streams = &sim->streams;
  uint32_t number;
  if (vs_vec_reserve(sim->host, &streams->rows, 1) != VS_OK) return VS_SIM_OUT_OF_MEMORY;
  VS_SIM_TRY(vs_sim_numbers_take(sim->host, &streams->numbers, VS_SIM_STREAMS_MOST, &number));
  *row = 2 * sim->device_count + number;
  VS_ASSERT(*row <= streams->rows.count && (*row == streams->rows.count || streams->rows.data[*row] == NULL));
  if (*row == streams->rows.count) streams->rows.data[streams->rows.count++] = NULL;
  return VS_SIM_OK;
}

vs_sim_error vs_sim_stream_create(vs_sim *sim, uint32_t device, uint32_t flags, int32_t priority,
                                  uint64_t *handle) {
  if (device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  if (handle == NULL || (flags & ~(uint32_t)VS_SIM_STREAM_NON_BLOCKING) != 0) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_STREAM));
  uint32_t row;
  VS_SIM_TRY(take_row(sim, &row));
  const uint32_t number = row - 2 * sim->device_count;
  vs_sim_stream *stream = new_stream(sim, device, row);
  const vs_sim_error error =
      stream == NULL ? VS_SIM_OUT_OF_MEMORY : vs_sim_own_take(sim, device, VS_SIM_OWN_STREAM, NULL);
  if (error != VS_SIM_OK) {
    if (stream != NULL) vs_host_free(sim->host, stream, sizeof *stream);
    vs_sim_numbers_give(&sim->streams.numbers, number);
    return error;
  }
  stream->flags = flags;
  stream->priority = priority;
  if (priority > VS_SIM_PRIORITY_LEAST) stream->priority = VS_SIM_PRIORITY_LEAST;
  if (priority < VS_SIM_PRIORITY_GREATEST) stream->priority = VS_SIM_PRIORITY_GREATEST;
  stream->handle = *handle = VS_SIM_STREAM_BASE + (uint64_t)number * VS_SIM_STREAM_STEP;
  sim->streams.rows.data[row] = stream;
  return VS_SIM_OK;
}

vs_sim_stream *vs_sim_stream_find(const vs_sim *sim, uint32_t device, uint64_t handle) {
  const vs_sim_streams *streams = &sim->streams;
  if (handle <= VS_SIM_STREAM_PER_THREAD) {
    if (device >= sim->device_count) return NULL;
    return streams->rows.data[2 * device + (handle == VS_SIM_STREAM_PER_THREAD ? 1 : 0)];
  }
  if (handle < VS_SIM_STREAM_BASE || (handle - VS_SIM_STREAM_BASE) % VS_SIM_STREAM_STEP != 0) return NULL;
  const uint64_t number = (handle - VS_SIM_STREAM_BASE) / VS_SIM_STREAM_STEP;
  if (number >= streams->rows.count - 2 * (size_t)sim->device_count) return NULL;
  return streams->rows.data[2 * sim->device_count + number];
}

vs_sim_error vs_sim_stream_destroy(vs_sim *sim, uint64_t handle) {
  if (handle <= VS_SIM_STREAM_PER_THREAD) return VS_SIM_INVALID_HANDLE;
  vs_sim_stream *stream = vs_sim_stream_find(sim, 0, handle);
  if (stream == NULL) return VS_SIM_INVALID_HANDLE;
  if (stream->capture != NULL) {
    stream->capture->is_invalid = true;
    return VS_SIM_CAPTURE_UNSUPPORTED;
  }
  vs_sim_stream_complete(sim, stream);
  const uint32_t number = stream->row - 2 * sim->device_count;
  vs_sim_own_give(sim, stream->device, VS_SIM_OWN_STREAM);
  drop_stream(sim, stream);
  vs_sim_numbers_give(&sim->streams.numbers, number);
  return VS_SIM_OK;
}

static bool check_stream(const vs_sim *sim, const vs_sim_stream *stream, size_t row) {
  if (stream->row != row || stream->device >= sim->device_count) return false;
  if (stream->goal != stream->done || stream->done > stream->last || stream->legacy > stream->last)
    return false;
  if (stream->capture == NULL && stream->frontier.count != 0) return false;
  if (stream->waits.count > VS_SIM_MOST_WAITS) return false;
  uint64_t before = stream->done;
  for (size_t i = 0; i < stream->waits.count; i++) {
    if (stream->waits.data[i].position <= before) return false;
    before = stream->waits.data[i].position;
  }
  return before <= stream->last && stream->last <= sim->streams.sequence;
}

bool vs_sim_streams_check(const vs_sim *sim) {
  const vs_sim_streams *streams = &sim->streams;
  const size_t first = 2 * (size_t)sim->device_count;
  size_t free = 0;
  uint32_t made[VS_SIM_MAX_DEVICES] = {0};
  for (size_t row = 0; row < streams->rows.count; row++) {
    const vs_sim_stream *stream = streams->rows.data[row];
    if (stream == NULL) free++;
    else if (!check_stream(sim, stream, row)) return false;
    if (stream == NULL && row < first) return false;
    if (stream != NULL && row >= first) made[stream->device]++;
  }
  for (uint32_t d = 0; d < sim->device_count; d++)
    if (sim->memory.windows[d].own.live[VS_SIM_OWN_STREAM] != made[d]) return false;
  return free == streams->numbers.free.count && streams->rows.count == first + streams->numbers.next;
}
