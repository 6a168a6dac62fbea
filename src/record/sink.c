/* Frames in the file's pages: frame i is at i x 64 KiB, in a ring file of n frames at (i modulo n) x 64 KiB.
 *
 * The last frame of a window is begun only once the disk has space for the next window. So when the disk is full there is one
 * frame left, in which the recorder says so. */
#include "record/recorder.h"

enum { CHUNK = VS_CHUNK_FRAMES * VS_TRACE_FRAME_SIZE };

/* Maps the window that contains frame number `frame`. */
static vs_status move_window(vs_sink *sink, uint64_t frame) {
  const uint64_t number = frame / VS_CHUNK_FRAMES;
  if (sink->chunk != NULL && sink->chunk_number == number) return VS_OK;
  vs_mapfile_release(sink->chunk, CHUNK);
  sink->chunk = NULL;
  void *window;
  VS_TRY(vs_mapfile_window(&sink->file, number * CHUNK, CHUNK, &window, &sink->error));
  sink->chunk = window;
  sink->chunk_number = number;
  return VS_OK;
}

static vs_status begin_frame(void *ctx, size_t at_least, void **memory, size_t *size) {
  vs_sink *sink = ctx;
  if (at_least > VS_TRACE_FRAME_SIZE)
    return VS_LIMIT; /* not reached: texts are truncated, and stacks are short */
  const uint64_t frame = sink->most == 0 ? sink->frame : sink->frame % sink->most;
  if (sink->most == 0 && frame % VS_CHUNK_FRAMES == VS_CHUNK_FRAMES - 1 && !sink->may_use_spare)
    VS_TRY(vs_mapfile_reserve(&sink->file, (frame / VS_CHUNK_FRAMES + 2) * CHUNK, &sink->error));
  VS_TRY(move_window(sink, frame));
  VS_ASSERT(sink->chunk != NULL && sink->chunk_number == frame / VS_CHUNK_FRAMES);
  *memory = sink->chunk + frame % VS_CHUNK_FRAMES * VS_TRACE_FRAME_SIZE;
  *size = VS_TRACE_FRAME_SIZE;
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
vs_status vs_sink_open(vs_sink *sink, const vs_record_options *options, vs_error *error) {
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
  const uint64_t frames = sink->most == 0 ? sink->frame : vs_min_u64(sink->frame, sink->most);
  return vs_mapfile_close(&sink->file, frames * VS_TRACE_FRAME_SIZE, error);
}

void vs_sink_abandon(vs_sink *sink) {
  vs_mapfile_release(sink->chunk, CHUNK);
  sink->chunk = NULL;
  vs_mapfile_abandon(&sink->file);
}

void vs_sink_forget(vs_sink *sink) {
  sink->chunk = NULL; /* the child of a fork does not have the mapping */
  vs_mapfile_forget(&sink->file);
}
