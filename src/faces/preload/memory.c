#include "faces/preload/memory.h"
#include "faces/preload/blocks.h"
#include "faces/preload/pytorch.h"
#include "faces/preload/recording.h"
#include "faces/preload/segments.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/thread.h"
#include <stddef.h>

typedef struct device {
  vs_lock lock;   /* guards all below */
  uint32_t forks; /* 1 + the generation of the process that it is about; 0: of none */
  vs_live_blocks blocks;
  vs_own_segments segments;
  bool is_unsure; /* the segments are not all that there are */
} device;

static device devices[C10_MOST_DEVICES];

/* ---- entering */

/* The device with its lock taken. What a child of a fork inherited is about its parent's memory, and may have been in the middle of a
 * change: it is left. */
static device *enter(uint32_t index) {
  VS_ASSERT(index < C10_MOST_DEVICES);
  device *d = &devices[index];
  vs_lock_take(&d->lock);
  const uint32_t here = vs_fork_generation() + 1;
  if (__builtin_expect(d->forks != here, 0)) {
    d->blocks = (vs_live_blocks){.unused = 0};
    d->segments = (vs_own_segments){.bytes = 0};
    d->is_unsure = false;
    d->forks = here;
  }
  return d;
}

static void leave(device *d) { vs_lock_give(&d->lock); }

static void put(const device *d, const vs_event *event) {
  vs_recorder *recorder = vs_recording_now()->recorder;
  const vs_record_facts facts = {.time_ns = vs_clock_ns(), .device = (int32_t)(d - devices)};
  if (recorder != NULL) vs_record_event(recorder, event, &facts);
}

/* ---- what is doubtful is written into the recording when it is first known, because the process may be killed later */

static const struct {
  uint32_t doubt;
  const char *key, *sentence;
} marks[] = {
    {VS_DOUBT_REQUESTS, "vramscope_rounded_requests",
     "some requests are seen only after they were rounded: the sizes of their blocks are recorded"},
    {VS_DOUBT_SEGMENTS, "vramscope_inferred_segments",
     "not all segments are seen: the recording's reserved memory is inferred from the blocks"},
    {VS_DOUBT_STREAMS, "vramscope_unknown_streams",
     "streams are not seen: all memory is recorded as the default stream's"},
    {VS_DOUBT_STACKS, "vramscope_native_stacks",
     "the stacks of this version of Python are not known: native stacks are recorded"},
};

static void put_mark(vs_recorder *recorder, size_t i) {
  const vs_record_setting_value mark = {
      .key = vs_str_from(marks[i].key), .kind = VS_RECORD_SETTING_INT, .bits = 1, .text = VS_STR("")};
  vs_record_put_setting(recorder, &mark);
  vs_recording_say(marks[i].sentence);
}

static void put_doubts(vs_recorder *recorder) {
  static _Atomic uint64_t told; /* the generation of the process, then the doubts */
  const uint64_t now = (uint64_t)vs_fork_generation() << 32 | vs_pytorch_doubts();
  uint64_t before = atomic_load_explicit(&told, memory_order_relaxed);
  if (__builtin_expect(before == now, 1) || recorder == NULL) return;
  const uint32_t old = before >> 32 == now >> 32 ? (uint32_t)before : 0;
  if (!atomic_compare_exchange_strong(&told, &before, now)) return; /* another thread tells it */
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (((uint32_t)now & ~old & marks[i].doubt) != 0) put_mark(recorder, i);
}

/* ---- segments */

static void add_segment(device *d, const vs_own_segment *segment, vs_context stack) {
  const vs_event event = {.kind = segment->is_expandable ? VS_EVENT_SEGMENT_MAP : VS_EVENT_SEGMENT_ALLOC,
                          .address = segment->address,
                          .size = segment->bytes,
                          .stream = segment->stream,
                          .context = stack};
  if (vs_own_segments_add(&d->segments, vs_host_default(), segment) == VS_OK) put(d, &event);
  else d->is_unsure = true;
}

/* pages
 *
 * An expandable segment grows by pages at its mapped end, only when a block needs them. So of pages that were mapped for a block the
 * first one is at the end of the mapped range in which the block begins, or at the block. Pages that were unmapped can be any that no
 * block uses: from then on the segments are unsure. */
static void follow_pages(device *d, const vs_report *report, vs_context stack) {
  enum { LARGEST_PAGE = 20 * 1024 * 1024 };
  const uint64_t known = d->segments.bytes, end = report->address + report->bytes;
  const vs_own_segment *around = vs_own_segments_at(&d->segments, report->address);
  const uint64_t from = around == NULL ? report->address : around->address + around->bytes;
  const uint64_t needed = end > from ? end - from : 0;
  uint64_t more = report->reserved > known ? report->reserved - known : 0;
  if (report->reserved < known || more < needed || more - needed >= LARGEST_PAGE) d->is_unsure = true;
  if (d->is_unsure) vs_pytorch_doubt_add(VS_DOUBT_SEGMENTS);
  if (d->is_unsure) more = needed; /* so that each block lies in a segment */
  const vs_own_segment pages = {
      .address = from, .bytes = more, .stream = report->stream, .is_expandable = !report->is_late};
  if (more != 0) add_segment(d, &pages, stack);
}

static void follow_segments(device *d, const vs_report *report, vs_request *request) {
  const vs_own_segment new = {
      .address = request->segment_address, .bytes = request->segment_bytes, .stream = report->stream};
  if (new.bytes != 0) add_segment(d, &new, request->stack);
  request->segment_bytes = 0;
  if (__builtin_expect(report->reserved != d->segments.bytes, 0)) follow_pages(d, report, request->stack);
}

void vs_memory_segment_freed(uint64_t address) {
  vs_own_segment segment;
  for (uint32_t i = 0; i < C10_MOST_DEVICES; i++) {
    if (devices[i].forks == 0) continue;
    device *d = enter(i);
    const bool is_here = vs_own_segments_take(&d->segments, address, &segment);
    const vs_event event = {.kind = VS_EVENT_SEGMENT_FREE,
                            .address = address,
                            .size = segment.bytes,
                            .stream = segment.stream,
                            .context = VS_CONTEXT_NONE};
    if (is_here) put(d, &event);
    leave(d);
    if (is_here) return;
  }
}

/* ---- blocks */

void vs_memory_allocated(const vs_report *report, vs_request *request) {
  const bool is_known = request->is_open && request->bytes <= report->bytes;
  const vs_live_block block = {.address = report->address,
                               .requested = is_known ? request->bytes : report->bytes,
                               .bytes = report->bytes,
                               .stack = request->stack};
  const vs_event event = {.kind = VS_EVENT_ALLOC,
                          .address = block.address,
                          .size = block.requested,
                          .rounded = block.bytes,
                          .stream = report->stream,
                          .context = block.stack};
  if (!is_known) vs_pytorch_doubt_add(VS_DOUBT_REQUESTS);
  request->is_open = false;
  device *d = enter(report->device);
  put_doubts(vs_recording_now()->recorder);
  follow_segments(d, report, request);
  put(d, &event);
  if (vs_live_blocks_add(&d->blocks, vs_host_default(), &block) != VS_OK)
    vs_pytorch_doubt_add(VS_DOUBT_REQUESTS); /* its free will have the block's bytes */
  leave(d);
}

void vs_memory_freed(const vs_report *report) {
  vs_live_block block = {.requested = report->bytes, .bytes = report->bytes};
  device *d = enter(report->device);
  (void)vs_live_blocks_take(&d->blocks, report->address, &block);
  const vs_event event = {.kind = VS_EVENT_FREE_REQUESTED,
                          .address = report->address,
                          .size = block.requested,
                          .rounded = report->bytes,
                          .stream = report->stream,
                          .context = VS_CONTEXT_NONE};
  put(d, &event);
  leave(d);
}

void vs_memory_refused(uint32_t index, uint64_t bytes, uint64_t free_bytes, const vs_request *request) {
  device *d = enter(index);
  const vs_event event = {
      .kind = VS_EVENT_OOM, .address = free_bytes, .size = bytes, .context = request->stack};
  put_doubts(vs_recording_now()->recorder);
  put(d, &event);
  leave(d);
}

/* ---- the state at the end: segments, each divided into blocks and what is free between them */

typedef struct end_state {
  const device *d;
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
                              .device = (int32_t)(e->d - devices),
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

static vs_status put_device(const device *d, vs_recorder *recorder) {
  vs_block_rows rows;
  VS_TRY(vs_live_blocks_sort(&d->blocks, vs_host_default(), &rows));
  end_state e = {.d = d, .recorder = recorder, .rows = &rows};
  for (size_t i = 0; i < d->segments.rows.count; i++) put_segment(&e, &d->segments.rows.data[i]);
  vs_host_free(vs_host_default(), rows.data, rows.count * sizeof *rows.data);
  return VS_OK;
}

/* A state that is begun and not ended counts as none. */
static void put_state(vs_recorder *recorder) {
  vs_status status = VS_OK;
  vs_record_state_begin(recorder, VS_RECORD_AT_END, vs_clock_ns());
  for (uint32_t i = 0; i < C10_MOST_DEVICES && status == VS_OK; i++)
    if (devices[i].forks == vs_fork_generation() + 1) status = put_device(&devices[i], recorder);
  if (status == VS_OK) vs_record_state_end(recorder);
}

void vs_memory_end(void) {
  for (uint32_t i = 0; i < C10_MOST_DEVICES; i++) (void)enter(i);
  vs_recorder *recorder = vs_recording_take();
  if (recorder != NULL) put_doubts(recorder);
  if (recorder != NULL) put_state(recorder);
  for (uint32_t i = 0; i < C10_MOST_DEVICES; i++) leave(&devices[i]);
  if (recorder == NULL) return;
  vs_error error;
  if (vs_record_close(recorder, NULL, &error) != VS_OK) {
    char sentence[VS_ERROR_TEXT_SIZE + 64];
    vs_format(sentence, sizeof sentence, "the recording is incomplete: %s", error.text);
    vs_recording_say(sentence);
  }
}
