/* Writes a recording: records into frames, in memory of a sink.
 *
 *   vs_tracew_create(host, &sink, &options, &w);
 *   vs_tracew_string(w, VS_STR("train.py"), &file);          an id for each repeated value
 *   vs_tracew_frame(w, &(vs_trace_frame){...}, &frame);
 *   vs_tracew_stack(w, frames, count, &stack);
 *   vs_tracew_context(w, &(vs_trace_context){...}, &context);
 *   vs_tracew_event(w, &(vs_trace_event){...});
 *   vs_tracew_flush(w);
 *   vs_tracew_destroy(w);
 *
 * Every record is complete in the sink's memory when the call returns: its first byte is stored last. So a sink that
 * maps a file (MAP_SHARED) keeps all records that were written before the process was killed, in a frame that is not
 * sealed.
 *
 * An entry is written when it first gets its id; equal entries have equal ids. Only new entries, sites and sizes
 * allocate memory.
 *
 * A call that fails has written nothing and can be repeated: it asks the sink for a frame again if there is none.
 * After the sink lost a frame, all dictionaries are written once more.
 *
 * Threads: one writer is used by one thread at a time. */
#ifndef VS_TRACEFILE_WRITER_H
#define VS_TRACEFILE_WRITER_H

#include "base/host.h"
#include "tracefile/records.h"

/* The memory of frames. */
typedef struct vs_tracew_sink {
  void *ctx;
  /* Gives memory for a new frame, of at least `at_least` bytes: options.frame_size, or more for a very long string.
   * *size is its size. The writer clears it first. It stays valid until `sealed` or the next `begin`. */
  vs_status (*begin)(void *ctx, size_t at_least, void **memory, size_t *size);
  /* The frame is complete; it is the first `size` bytes. */
  vs_status (*sealed)(void *ctx, void *memory, size_t size);
} vs_tracew_sink;

typedef struct vs_tracew_options {
  uint32_t process;  /* the pid that goes into every frame */
  bool keeps_slots;  /* a sealed frame is as long as its memory (mapped files), not as its contents */
  uint64_t sequence; /* number of the first frame; 0 in a new file */
  size_t frame_size; /* 0: VS_TRACE_FRAME_SIZE; at least VS_TRACE_LEAST_FRAME_SIZE */
} vs_tracew_options;

typedef struct vs_tracew vs_tracew;

/* `options` may be NULL. `sink` is copied; its ctx has to outlive the writer. */
VS_MUST_CHECK vs_status vs_tracew_create(const vs_host *host, const vs_tracew_sink *sink,
                                         const vs_tracew_options *options, vs_tracew **out);
/* Does not seal the open frame: call vs_tracew_flush first. Does nothing for NULL. */
void vs_tracew_destroy(vs_tracew *w);

/* Seals the open frame, if there is one. */
VS_MUST_CHECK vs_status vs_tracew_flush(vs_tracew *w);

/* Writes all dictionaries once more, so that a reader can begin here. A ring file needs at least one checkpoint in its
 * length. */
VS_MUST_CHECK vs_status vs_tracew_checkpoint(vs_tracew *w);

/* ---- dictionaries: the id of an entry, which is written if it is new. Its member `id` is ignored ------ */

VS_MUST_CHECK vs_status vs_tracew_string(vs_tracew *w, vs_str text, uint32_t *id);
VS_MUST_CHECK vs_status vs_tracew_texts(vs_tracew *w, const uint32_t *strings, size_t count, uint32_t *id);
VS_MUST_CHECK vs_status vs_tracew_module(vs_tracew *w, const vs_trace_module *module, uint32_t *id);
VS_MUST_CHECK vs_status vs_tracew_frame(vs_tracew *w, const vs_trace_frame *frame, uint32_t *id);
VS_MUST_CHECK vs_status vs_tracew_native(vs_tracew *w, uint32_t module, uint64_t offset, uint32_t *id);
/* Innermost frame first. */
VS_MUST_CHECK vs_status vs_tracew_stack(vs_tracew *w, const uint32_t *frames, size_t count, uint32_t *id);
VS_MUST_CHECK vs_status vs_tracew_context(vs_tracew *w, const vs_trace_context *context, uint32_t *id);

/* ---- events and facts. An unknown id is VS_BAD_ARGUMENT ------------------------------------------------- */

/* FREE_COMPLETED directly after its FREE_REQUESTED takes no byte. */
VS_MUST_CHECK vs_status vs_tracew_event(vs_tracew *w, const vs_trace_event *event);
VS_MUST_CHECK vs_status vs_tracew_annotation(vs_tracew *w, const vs_trace_annotation *annotation);
VS_MUST_CHECK vs_status vs_tracew_library(vs_tracew *w, const vs_trace_library *library);
VS_MUST_CHECK vs_status vs_tracew_process(vs_tracew *w, const vs_trace_process *process);
VS_MUST_CHECK vs_status vs_tracew_device(vs_tracew *w, const vs_trace_device *device);
VS_MUST_CHECK vs_status vs_tracew_thread(vs_tracew *w, const vs_trace_thread *thread);
VS_MUST_CHECK vs_status vs_tracew_setting(vs_tracew *w, const vs_trace_setting *setting);
VS_MUST_CHECK vs_status vs_tracew_shape(vs_tracew *w, const vs_trace_shape *shape);
VS_MUST_CHECK vs_status vs_tracew_lost(vs_tracew *w, const vs_trace_lost *lost);
VS_MUST_CHECK vs_status vs_tracew_stopped(vs_tracew *w, const vs_trace_stopped *stopped);

/* A state: begin, then each segment followed by its blocks in address order, then end. No events between. */
VS_MUST_CHECK vs_status vs_tracew_state_begin(vs_tracew *w, vs_trace_moment moment, int64_t time_us);
VS_MUST_CHECK vs_status vs_tracew_segment(vs_tracew *w, const vs_trace_segment *segment);
VS_MUST_CHECK vs_status vs_tracew_block(vs_tracew *w, const vs_trace_block *block);
VS_MUST_CHECK vs_status vs_tracew_state_end(vs_tracew *w);

/* Events and bytes of sealed frames and of the open one, so far. */
uint64_t vs_tracew_events(const vs_tracew *w);
uint64_t vs_tracew_bytes(const vs_tracew *w);

/* Executes the invariants between two calls; NULL if they hold, else what does not, in words. */
const char *vs_tracew_check(const vs_tracew *w);

#endif
