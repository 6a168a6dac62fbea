/* States of all memory: when a recording begins late, and at its end. */
#include "faces/preload/memory.h"
#include "faces/preload/annotations.h"
#include "faces/preload/memory_device.h"
#include "faces/preload/recording.h"
#include "base/text.h"
#include "os/clock.h"

/* ---- a state: segments, each divided into blocks and what is free between them */

typedef struct end_state {
  const vs_memory_device *d;
  vs_recorder *recorder;
  const vs_block_rows *rows;
  size_t next; /* in rows */
} end_state;

enum { SMALL_SEGMENT = 2 * 1024 * 1024 };

static const vs_live_block *next_block(const end_state *e, uint64_t end) {
  if (e->next == e->rows->count) return NULL;
  const vs_live_block *block = &e->d->blocks.rows.data[e->rows->data[e->next]];
  return block->address < end ? block : NULL;
}

static void put_block(const end_state *e, uint64_t address, uint64_t bytes, const vs_live_block *block) {
  const vs_record_block record = {.address = address,
                                  .size = bytes,
                                  .requested = block == NULL ? 0 : block->requested,
                                  .context = block == NULL ? VS_CONTEXT_NONE : block->stack,
                                  .state = block == NULL ? VS_RECORD_FREE : VS_RECORD_ALLOCATED};
  if (bytes != 0) vs_record_state_block(e->recorder, &record);
}

/* Blocks that lie before the segment are in none: reports were missed. They are left out. */
static void skip_blocks(end_state *e, uint64_t address) {
  while (next_block(e, address) != NULL) e->next++;
}

static void put_segment(end_state *e, const vs_own_segment *segment) {
  const uint64_t end = segment->address + segment->bytes;
  vs_record_segment record = {.address = segment->address,
                              .size = segment->bytes,
                              .stream = segment->stream,
                              .context = VS_CONTEXT_NONE,
                              .device = (int32_t)(e->d - vs_memory_devices),
                              .registration = -1,
                              .is_small = segment->bytes <= SMALL_SEGMENT,
                              .is_expandable = segment->is_expandable};
  skip_blocks(e, segment->address);
  const size_t first = e->next;
  for (const vs_live_block *block; (block = next_block(e, end)) != NULL; e->next++) {
    record.allocated += block->bytes;
    record.requested += block->requested;
  }
  record.active = record.allocated;
  vs_record_state_segment(e->recorder, &record);
  uint64_t at = segment->address;
  e->next = first;
  for (const vs_live_block *block; (block = next_block(e, end)) != NULL; e->next++) {
    if (block->address < at || block->bytes > end - block->address) continue; /* contradicts another */
    put_block(e, at, block->address - at, NULL);
    put_block(e, block->address, block->bytes, block);
    at = block->address + block->bytes;
  }
  put_block(e, at, end - at, NULL);
}

static vs_status put_device(const vs_memory_device *d, vs_recorder *recorder) {
  vs_block_rows rows;
  VS_TRY(vs_live_blocks_sort(&d->blocks, vs_host_default(), &rows));
  end_state e = {.d = d, .recorder = recorder, .rows = &rows};
  for (size_t i = 0; i < d->segments.rows.count; i++) put_segment(&e, &d->segments.rows.data[i]);
  vs_host_free(vs_host_default(), rows.data, rows.count * sizeof *rows.data);
  return VS_OK;
}

static void enter_devices(void) {
  for (uint32_t i = 0; i < C10_MOST_DEVICES; i++) (void)vs_memory_enter(i);
}

static void leave_devices(void) {
  for (uint32_t i = 0; i < C10_MOST_DEVICES; i++) vs_memory_leave(&vs_memory_devices[i]);
}

/* No thread uses the recorder between these two calls. */
static void enter_all(void) {
  enter_devices();
  vs_annotations_enter();
}

static void leave_all(void) {
  vs_annotations_leave();
  leave_devices();
}

/* A state that is begun and not ended counts as none. */
static vs_status put_state(vs_recorder *recorder, vs_record_moment moment) {
  vs_status status = VS_OK;
  vs_record_state_begin(recorder, moment, vs_clock_quick_ns());
  for (uint32_t i = 0; i < C10_MOST_DEVICES && status == VS_OK; i++)
    status = put_device(&vs_memory_devices[i], recorder);
  if (status == VS_OK) vs_record_state_end(recorder);
  return status;
}

/* ---- a recording that begins late
 *
 * The allocator's calls are led here first; then it is asked what it has, which it answers under its lock, as it makes its calls. So
 * where a call told about an address, that is newer than the answer or in it; everything else in the answer was there before. */

void vs_memory_learn_begin(void) {
  vs_memory_has_failed_to_learn = false;
  vs_memory_learning = vs_recording_era() + 1;
}

void vs_memory_learn_segment(uint32_t index, const vs_own_segment *segment) {
  vs_memory_device *d = vs_memory_enter(index);
  const bool is_new = vs_map_find(&d->told_segments, segment->address) == VS_MAP_NONE;
  if (is_new && vs_own_segments_add(&d->segments, vs_host_default(), segment) == VS_NO_MEMORY)
    vs_memory_has_failed_to_learn = true;
  vs_memory_leave(d);
}

void vs_memory_learn_block(uint32_t index, uint64_t address, uint64_t bytes, uint64_t requested) {
  vs_live_block block = {
      .address = address, .requested = requested, .bytes = bytes, .stack = VS_CONTEXT_NONE};
  vs_memory_device *d = vs_memory_enter(index);
  const vs_own_segment *segment = vs_own_segments_at(&d->segments, address);
  if (segment != NULL) block.stream = segment->stream;
  if (vs_map_find(&d->told_blocks, address) == VS_MAP_NONE &&
      vs_live_blocks_add(&d->blocks, vs_host_default(), &block) != VS_OK)
    vs_memory_has_failed_to_learn = true;
  vs_memory_leave(d);
}

vs_status vs_memory_learn_end(void) {
  bool is_empty = true;
  vs_status status = vs_memory_has_failed_to_learn ? VS_NO_MEMORY : VS_OK;
  enter_devices(); /* the annotations are entered where the recording is opened */
  for (uint32_t i = 0; i < C10_MOST_DEVICES; i++)
    is_empty = is_empty && vs_memory_devices[i].segments.rows.count == 0;
  vs_recorder *recorder = is_empty ? NULL : vs_recording_now()->recorder;
  if (status == VS_OK && recorder != NULL) status = put_state(recorder, VS_RECORD_AT_START);
  vs_memory_learning = 0;
  leave_devices();
  return status;
}

/* ---- in a file that keeps its newest part, and after a loss: on the recorder's own thread
 *
 * A thread that records may hold a device's lock while it waits for this one to make room, so the locks are only tried. */

static bool try_all(void) {
  uint32_t taken = 0;
  while (taken < C10_MOST_DEVICES && vs_memory_try(taken)) taken++;
  if (taken == C10_MOST_DEVICES) return true;
  while (taken-- > 0) vs_memory_leave(&vs_memory_devices[taken]);
  return false;
}

bool vs_memory_checkpoint(void *ctx, vs_recorder *recorder) {
  bool is_written = false;
  (void)ctx;
  if (!try_all()) return false;
  if (vs_recording_current() == recorder && !vs_memory_is_learning()) {
    vs_recording_put_settings(recorder);
    vs_memory_put_marks(recorder, vs_pytorch_doubts());
    is_written = put_state(recorder, VS_RECORD_AT_CHECKPOINT) == VS_OK;
  }
  leave_devices();
  return is_written;
}

/* ---- the end */

/* The state with which a recording ends, unless that is not learned yet; then another one begins with it, if `goes_on`. The locks of all
 * devices are held. */
static vs_status finish(vs_recording_taken *taken, bool goes_on) {
  vs_recorder *const recorder = vs_recording_current();
  if (recorder == NULL || vs_memory_is_learning()) return VS_OK;
  vs_memory_put_doubts(recorder);
  const vs_status status = put_state(recorder, VS_RECORD_AT_END);
  vs_recorder *const next = goes_on ? vs_recording_change(taken) : NULL;
  if (next == NULL) return status;
  vs_memory_put_marks(next, vs_pytorch_doubts());
  vs_annotations_repeat(next);
  const vs_status begun = put_state(next, VS_RECORD_AT_START);
  return status == VS_OK ? begun : status;
}

static vs_status conclude(const vs_recording_taken *taken, bool has_oom, vs_status last, vs_error *error) {
  const vs_status status = vs_recording_close(taken, has_oom, error);
  if (status != VS_OK || last == VS_OK) return status;
  return vs_fail(error, last, VS_NO_OFFSET, "it lacks the state at the end: %s", vs_status_text(last));
}

static void say_incomplete(const vs_error *error) {
  char sentence[VS_PRELOAD_PATH];
  vs_format(sentence, sizeof sentence, "the recording is incomplete: %s", error->text);
  vs_recording_say(sentence);
}

void vs_memory_keep(void) {
  vs_recording_taken taken = {.recorder = NULL};
  vs_error error;
  vs_status last = VS_OK;
  enter_all();
  if (vs_memory_refusal == vs_recording_era()) last = finish(&taken, true);
  vs_memory_refusal = 0;
  leave_all();
  if (taken.recorder != NULL && conclude(&taken, true, last, &error) != VS_OK) say_incomplete(&error);
}

vs_status vs_memory_end(vs_error *error) {
  vs_recording_taken taken = {.recorder = NULL};
  enter_all();
  const vs_status last = finish(&taken, false);
  (void)vs_recording_take(&taken);
  vs_own_figures_end();
  const bool has_oom = vs_memory_refusal == vs_recording_era();
  leave_all();
  return taken.recorder == NULL ? VS_OK : conclude(&taken, has_oom, last, error);
}
