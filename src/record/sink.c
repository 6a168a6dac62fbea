/* Frames in the file's pages: frame i is at place i, in a ring file of n frames at place i modulo n; place p begins at p x 64 KiB.
 *
 * A file that keeps a time has as many places as that needs. A frame takes the place of the oldest one if all events there are older, else a
 * new one at the end of the file, which stands in the ring of places between the last frame and the oldest.
 *
 * The last frame of a window is begun only once the disk has space for the next window. So when the disk is full there is one
 * frame left, in which the recorder says so. */
#include "record/recorder.h"

enum { CHUNK = VS_CHUNK_FRAMES * VS_TRACE_FRAME_SIZE };

/* Maps the window that contains a place. */
static vs_status move_window(vs_sink *sink, uint64_t place) {
  const uint64_t number = place / VS_CHUNK_FRAMES;
  if (sink->chunk != NULL && sink->chunk_number == number) return VS_OK;
  vs_mapfile_release(sink->chunk, CHUNK);
  sink->chunk = NULL;
  void *window;
  VS_TRY(vs_mapfile_window(&sink->file, number * CHUNK, CHUNK, &window, &sink->error));
  sink->chunk = window;
  sink->chunk_number = number;
  return VS_OK;
}

/* ---- places */

/* The place of the oldest frame, if all of its events are too old; else a new one. */
static vs_status choose_in_time(vs_sink *sink, uint64_t *place) {
  *place = sink->places.count;
  if (sink->places.count >= VS_CHUNK_FRAMES) {
    const uint64_t oldest = sink->places.data[sink->place].next;
    if (sink->newest_ns - sink->places.data[oldest].newest_ns > sink->most_ns) *place = oldest;
  }
  return vs_vec_reserve(sink->host, &sink->places, 1);
}

/* The open frame is sealed, and one is begun at `place`. */
static void enter_place(vs_sink *sink, uint64_t place) {
  vs_sink_place *last = &sink->places.data[sink->place];
  if (sink->places.count != 0) last->newest_ns = sink->newest_ns;
  if (place != sink->places.count) return;
  sink->places.data[sink->places.count++].next = place == 0 ? 0 : last->next;
  last->next = place;
}

static vs_status choose_place(vs_sink *sink, uint64_t *place) {
  if (sink->most_ns != 0) return choose_in_time(sink, place);
  *place = sink->most == 0 ? sink->frame : sink->frame % sink->most;
  return VS_OK;
}

static uint64_t place_count(const vs_sink *sink) {
  if (sink->most_ns != 0) return sink->places.count;
  return sink->most == 0 ? sink->frame : vs_min_u64(sink->frame, sink->most);
}

/* ---- frames */

static vs_status begin_frame(void *ctx, size_t at_least, void **memory, size_t *size) {
  vs_sink *sink = ctx;
  uint64_t place;
  if (at_least > VS_TRACE_FRAME_SIZE)
    return VS_LIMIT; /* not reached: texts are truncated, and stacks are short */
  const uint64_t before = place_count(sink);
  VS_TRY(choose_place(sink, &place));
  const bool grows = sink->most == 0 && place >= before;
  if (grows && place % VS_CHUNK_FRAMES == VS_CHUNK_FRAMES - 1 && !sink->may_use_spare)
    VS_TRY(vs_mapfile_reserve(&sink->file, (place / VS_CHUNK_FRAMES + 2) * CHUNK, &sink->error));
  VS_TRY(move_window(sink, place));
  VS_ASSERT(sink->chunk != NULL && sink->chunk_number == place / VS_CHUNK_FRAMES);
  *memory = sink->chunk + place % VS_CHUNK_FRAMES * VS_TRACE_FRAME_SIZE;
  *size = VS_TRACE_FRAME_SIZE;
  if (sink->most_ns != 0) enter_place(sink, place);
  sink->place = place;
  sink->frame++;
  return VS_OK;
}

static vs_status frame_sealed(void *ctx, void *memory, size_t size) {
  (void)ctx;
  (void)memory;
  (void)size;
  return VS_OK;
}

vs_tracew_sink vs_sink_of(vs_sink *sink) {
  return (vs_tracew_sink){.ctx = sink, .begin = begin_frame, .sealed = frame_sealed};
}

/* Maps the first window at once, so that opening fails if the disk is full. */
vs_status vs_sink_open(vs_sink *sink, const vs_host *host, const vs_record_options *options,
                       vs_error *error) {
  sink->host = host;
  sink->most_ns = options->max_ns;
  const uint64_t chunks = options->max_bytes / CHUNK;
  sink->most = options->max_bytes == 0 ? 0 : vs_max_u64(chunks, 1) * VS_CHUNK_FRAMES;
  VS_TRY(vs_mapfile_create(&sink->file, options->path, options->may_replace, error));
  const vs_status status = move_window(sink, 0);
  if (status != VS_OK) {
    *error = sink->error;
    vs_mapfile_abandon(&sink->file);
  }
  return status;
}

vs_status vs_sink_close(vs_sink *sink, vs_error *error) {
  vs_mapfile_release(sink->chunk, CHUNK);
  sink->chunk = NULL;
  const uint64_t places = place_count(sink);
  vs_vec_free(sink->host, &sink->places);
  return vs_mapfile_close(&sink->file, places * VS_TRACE_FRAME_SIZE, error);
}

void vs_sink_abandon(vs_sink *sink) {
  vs_mapfile_release(sink->chunk, CHUNK);
  sink->chunk = NULL;
  vs_vec_free(sink->host, &sink->places);
  vs_mapfile_abandon(&sink->file);
}

void vs_sink_forget(vs_sink *sink) {
  sink->chunk = NULL; /* the child of a fork does not have the mapping */
  vs_vec_free(sink->host, &sink->places);
  vs_mapfile_forget(&sink->file);
}
