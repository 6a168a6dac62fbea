#include "faces/preload/memory.h"
#include "faces/preload/memory_device.h"
#include "faces/preload/recording.h"
#include "base/hot.h"
#include "base/text.h"
#include "os/clock.h"
#include <stddef.h>

vs_memory_device vs_memory_devices[C10_MOST_DEVICES];
VS_HOT _Atomic uint32_t vs_memory_learning;
_Atomic uint32_t vs_memory_refusal;
_Atomic bool vs_memory_has_failed_to_learn;

typedef vs_memory_device device;

/* ---- entering */

/* What a child of a fork inherited is about its parent's memory, and may have been in the middle of a change: it is left. */
static void begin_era(device *d, uint32_t era) {
  const vs_host *host = vs_host_default();
  if (d->forks == vs_fork_generation()) {
    vs_live_blocks_free(&d->blocks, host);
    vs_vec_free(host, &d->segments.rows);
    vs_map_deinit(host, &d->told_blocks);
    vs_map_deinit(host, &d->told_segments);
  }
  d->blocks = (vs_live_blocks){.unused = 0};
  d->segments = (vs_own_segments){.bytes = 0};
  d->told_blocks = d->told_segments = (vs_map){0};
  d->is_unsure = false;
  d->forks = vs_fork_generation();
  d->figures = NULL;
  d->era = era;
}

static inline void see_era(device *d) {
  const uint32_t era = vs_recording_era();
  if (__builtin_expect(d->era != era, 0)) begin_era(d, era);
  d->recorder = vs_recording_current();
}

vs_memory_device *vs_memory_enter(uint32_t index) {
  VS_ASSERT(index < C10_MOST_DEVICES);
  device *d = &vs_memory_devices[index];
  vs_lock_take(&d->lock);
  see_era(d);
  return d;
}

bool vs_memory_try(uint32_t index) {
  VS_ASSERT(index < C10_MOST_DEVICES);
  if (!vs_lock_try(&vs_memory_devices[index].lock)) return false;
  see_era(&vs_memory_devices[index]);
  return true;
}

/* The calls until what is older is learned are not recorded: the state that is written then has them. */
static void put(const device *d, const vs_event *event) {
  const vs_record_facts facts = {.time_ns = vs_clock_quick_ns(), .device = (int32_t)(d - vs_memory_devices)};
  if (d->recorder != NULL && !vs_memory_is_learning()) vs_record_event(d->recorder, event, &facts);
}

/* A call told about the memory at `address`, so what is learned about it is older. */
static void note_told(vs_map *told, uint64_t address) {
  if (!vs_memory_is_learning() || vs_map_find(told, address) != VS_MAP_NONE) return;
  if (vs_map_reserve(vs_host_default(), told) == VS_OK) vs_map_add(told, address, 0);
  else vs_memory_has_failed_to_learn = true;
}

/* ---- what is doubtful is written into the recording when it is first known, because the process may be killed later */

static const struct {
  uint32_t doubt;
  const char *key, *sentence; /* NULL: the program's user is told nothing */
} marks[] = {
    {VS_DOUBT_REQUESTS, "vramscope_rounded_requests",
     "some requests are seen only after they were rounded: the sizes of their blocks are recorded"},
    {VS_DOUBT_FIRST_REQUESTS, "vramscope_rounded_requests", NULL},
    {VS_DOUBT_SEGMENTS, "vramscope_inferred_segments",
     "not all segments are seen: the recording's reserved memory is inferred from the blocks"},
    {VS_DOUBT_STREAMS, "vramscope_unknown_streams",
     "streams are not seen: all memory is recorded as the default stream's"},
    {VS_DOUBT_STACKS, "vramscope_native_stacks",
     "the stacks of this version of Python are not known: native stacks are recorded"},
    {VS_DOUBT_ANNOTATIONS, "vramscope_missing_annotations",
     "not all named ranges of the program are seen: annotations are missing in the recording"},
};

void vs_memory_put_marks(vs_recorder *recorder, uint32_t doubts) {
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    const vs_record_setting_value mark = {
        .key = vs_str_from(marks[i].key), .kind = VS_RECORD_SETTING_INT, .bits = 1, .text = VS_STR("")};
    if ((doubts & marks[i].doubt) != 0) vs_record_put_setting(recorder, &mark);
  }
}

void vs_memory_put_doubts(vs_recorder *recorder) {
  static VS_HOT _Atomic uint64_t told; /* the era, then the doubts */
  const uint64_t now = (uint64_t)vs_recording_era() << 32 | vs_pytorch_doubts();
  uint64_t before = atomic_load_explicit(&told, memory_order_relaxed);
  if (__builtin_expect(before == now, 1) || recorder == NULL) return;
  const uint32_t old = before >> 32 == now >> 32 ? (uint32_t)before : 0;
  if (!atomic_compare_exchange_strong(&told, &before, now)) return; /* another thread tells it */
  vs_memory_put_marks(recorder, (uint32_t)now & ~old);
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (((uint32_t)now & ~old & marks[i].doubt) != 0 && marks[i].sentence != NULL)
      vs_recording_say(marks[i].sentence);
}

/* The first call of PyTorch's allocator in a recording, which a library may have begun: the settings are what they are now. */
static void note_call(const device *d) {
  static VS_HOT _Atomic uint32_t noted; /* an era */
  const uint32_t era = d->era;
  if (__builtin_expect(atomic_load_explicit(&noted, memory_order_relaxed) == era, 1) || d->recorder == NULL)
    return;
  if (atomic_exchange(&noted, era) == era) return;
  vs_recording_put_settings(d->recorder);
  vs_recording_note_pytorch();
}

/* ---- the figures for other processes */

/* Made by the first call that tells something, so that a process without PyTorch's allocator has none. */
static inline vs_figures_device *figures_of(device *d) {
  if (__builtin_expect(d->figures == NULL, 0))
    d->figures = vs_own_figures_begin((uint32_t)(d - vs_memory_devices), d->era);
  return d->figures;
}

static inline void tell_figures(device *d, const vs_report *report) {
  vs_figures_tell(figures_of(d), d->era, report->allocated, report->reserved);
}

static void forget_retries(device *d) { vs_figures_set(&figures_of(d)->retries, VS_FIGURES_UNKNOWN); }

/* Where cudaMalloc fails PyTorch flushes its cache and tries again, once for a request. What was flushed without such a failure, for the limit of a
 * memory fraction or by garbage collection, is not told apart; of the two only the first is a retry. */
static void count_retry(device *d, vs_request *request) {
  const bool has_failed = request->has_failed, has_freed = request->has_freed;
  request->has_failed = request->has_freed = false;
  if (__builtin_expect(!has_failed && !has_freed, 1)) return;
  if (has_failed) vs_figures_count(&figures_of(d)->retries);
  else forget_retries(d);
}

/* A request is refused only after its retry. */
static void count_refusal(device *d, const vs_report *report, vs_request *request) {
  request->has_failed = request->has_freed = false;
  vs_figures_count(&figures_of(d)->retries);
  vs_figures_count(&figures_of(d)->ooms);
  tell_figures(d, report);
}

/* ---- segments */

static void add_segment(device *d, const vs_own_segment *segment, vs_context stack) {
  const vs_event event = {.kind = segment->is_expandable ? VS_EVENT_SEGMENT_MAP : VS_EVENT_SEGMENT_ALLOC,
                          .address = segment->address,
                          .size = segment->bytes,
                          .stream = segment->stream,
                          .context = stack};
  note_told(&d->told_segments, segment->address);
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
  if (!report->is_late) forget_retries(d); /* a failure to map pages is not seen */
}

static void follow_segments(device *d, const vs_report *report, vs_request *request) {
  const vs_own_segment new = {
      .address = request->segment_address, .bytes = request->segment_bytes, .stream = report->stream};
  if (new.bytes != 0) add_segment(d, &new, request->stack);
  request->segment_bytes = 0;
  if (__builtin_expect(report->reserved != d->segments.bytes, 0) && !vs_memory_is_learning())
    follow_pages(d, report, request->stack);
}

void vs_memory_segment_freed(uint64_t address) {
  vs_own_segment segment;
  if (vs_recording_now()->recorder == NULL) return;
  for (uint32_t i = 0; i < C10_MOST_DEVICES; i++) {
    if (vs_memory_devices[i].era == 0) continue;
    device *d = vs_memory_enter(i);
    note_told(&d->told_segments, address);
    const bool is_here = vs_own_segments_take(&d->segments, address, &segment);
    const vs_event event = {.kind = VS_EVENT_SEGMENT_FREE,
                            .address = address,
                            .size = segment.bytes,
                            .stream = segment.stream,
                            .context = VS_CONTEXT_NONE};
    if (is_here) put(d, &event);
    if (is_here && !d->is_unsure && d->figures != NULL)
      vs_figures_set(&d->figures->reserved, d->segments.bytes);
    vs_memory_leave(d);
    if (is_here) return;
  }
}

/* ---- blocks
 *
 * Of what a call needs, where `blocks` has the address is the least likely to be in the processor's cache. It is fetched before all else, also
 * before the lock is taken. A fetch from a place that the table has left costs that alone: it reads nothing. */

static inline void note_near(device *d) {
  atomic_store_explicit(&d->near_slots, (uint64_t)(uintptr_t)d->blocks.at.slots, memory_order_relaxed);
  atomic_store_explicit(&d->near_mask, d->blocks.at.capacity - 1, memory_order_relaxed);
}

void vs_memory_fetch(uint32_t index, uint64_t address) {
  VS_ASSERT(index < C10_MOST_DEVICES);
  const device *d = &vs_memory_devices[index];
  const uint64_t slots = atomic_load_explicit(&d->near_slots, memory_order_relaxed),
                 mask = atomic_load_explicit(&d->near_mask, memory_order_relaxed);
  vs_map_fetch_at(slots, mask, address);
}

void vs_memory_allocated(const vs_report *report, vs_request *request) {
  const bool is_known = request->is_open && request->bytes <= report->bytes;
  const vs_live_block block = {.address = report->address,
                               .requested = is_known ? request->bytes : report->bytes,
                               .bytes = report->bytes,
                               .stream = report->stream,
                               .stack = request->stack};
  const vs_event event = {.kind = VS_EVENT_ALLOC,
                          .address = block.address,
                          .size = block.requested,
                          .rounded = block.bytes,
                          .stream = report->stream,
                          .context = block.stack};
  if (!is_known) vs_pytorch_doubt_add(report->is_first ? VS_DOUBT_FIRST_REQUESTS : VS_DOUBT_REQUESTS);
  request->is_open = false;
  device *d = vs_memory_enter(report->device);
  vs_live_blocks_fetch(&d->blocks);
  note_call(d);
  vs_memory_put_doubts(d->recorder);
  follow_segments(d, report, request);
  note_told(&d->told_blocks, block.address);
  put(d, &event);
  if (vs_live_blocks_add(&d->blocks, vs_host_default(), &block) != VS_OK)
    vs_pytorch_doubt_add(VS_DOUBT_REQUESTS); /* its free will have the block's bytes */
  note_near(d);
  count_retry(d, request);
  tell_figures(d, report);
  vs_memory_leave(d);
}

void vs_memory_freed(const vs_report *report) {
  vs_live_block block = {.requested = report->bytes, .bytes = report->bytes};
  device *d = vs_memory_enter(report->device);
  tell_figures(d, report);
  note_told(&d->told_blocks, report->address);
  (void)vs_live_blocks_take(&d->blocks, report->address, &block);
  const vs_event event = {.kind = VS_EVENT_FREE_REQUESTED,
                          .address = report->address,
                          .size = block.requested,
                          .rounded = report->bytes,
                          .stream = block.stream,
                          .context = VS_CONTEXT_NONE};
  put(d, &event);
  vs_memory_leave(d);
}

void vs_memory_refused(const vs_report *report, uint64_t free_bytes, vs_request *request) {
  device *d = vs_memory_enter(report->device);
  const vs_event event = {
      .kind = VS_EVENT_OOM, .address = free_bytes, .size = report->bytes, .context = request->stack};
  note_call(d);
  vs_memory_put_doubts(d->recorder);
  put(d, &event);
  count_refusal(d, report, request);
  vs_memory_refusal = d->era;
  vs_memory_leave(d);
}
