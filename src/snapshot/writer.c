#include "snapshot/writer.h"
#include "base/double_text.h"
#include "snapshot/emit.h"
#include "snapshot/vram_writer.h"

typedef enum key {
#define VS_KEY(name, text, where) KEY_##name,
#include "snapshot/keys.def"
#undef VS_KEY
  KEY_COUNT,
} key;

static const vs_str key_texts[KEY_COUNT] = {
#define VS_KEY(name, text, where) [KEY_##name] = {(text), sizeof(text) - 1},
#include "snapshot/keys.def"
#undef VS_KEY
};

/* The slots of the emitter: first the keys, then the entries of each table with ids. */
typedef struct slots {
  size_t strings, frames, stacks, texts, pools, count;
} slots;

typedef struct writer {
  vs_emit emit;
  const vs_snapshot *s;
  slots slots;
} writer;

static slots lay_out_slots(const vs_snapshot *s) {
  slots at = {.strings = KEY_COUNT};
  at.frames = at.strings + vs_strings_count(&s->strings);
  at.stacks = at.frames + s->stacks.frames.count;
  at.texts = at.stacks + vs_lists_count(&s->stacks.lists);
  at.pools = at.texts + vs_lists_count(&s->texts);
  at.count = at.pools + s->pools.count + 1; /* pool ids begin at 1 */
  VS_ASSERT(at.strings <= at.frames && at.frames <= at.stacks && at.stacks <= at.texts &&
            at.texts <= at.pools);
  return at;
}

/* ---- members: a key and its value; nothing if the value is absent ---------------------------------------------- */

static void put_key(writer *w, key k) { vs_emit_key(&w->emit, (size_t)k, key_texts[k], true); }

/* A text of the recorded program, such as a file or a function. There can be many. */
static void put_text(writer *w, uint32_t id) {
  vs_emit_str(&w->emit, w->slots.strings + id, vs_snapshot_string(w->s, id), false);
}

/* One of the few words of the allocator. */
static void put_word(writer *w, uint32_t id) {
  vs_emit_str(&w->emit, w->slots.strings + id, vs_snapshot_string(w->s, id), true);
}

static void put_u64(writer *w, key k, uint64_t value) {
  put_key(w, k);
  vs_emit_u64(&w->emit, value);
}

static void put_i64(writer *w, key k, int64_t value) {
  put_key(w, k);
  vs_emit_i64(&w->emit, value);
}

typedef void put_id(writer *w, uint32_t id);

static void put_string(writer *w, key k, uint32_t id, put_id *put) {
  if (id == VS_STRING_NONE) return;
  put_key(w, k);
  put(w, id);
}

/* The same for a key that decides the kind of a dict, so it must be written. */
static void put_string_or_none(writer *w, key k, uint32_t id, put_id *put) {
  put_key(w, k);
  if (id == VS_STRING_NONE) vs_emit_none(&w->emit);
  else put(w, id);
}

static void put_time(writer *w, int64_t time_us) {
  if (time_us != VS_NO_TIME) put_i64(w, KEY_TIME_US, time_us);
}

static void put_pool(writer *w, key k, uint32_t pool) {
  if (pool == 0) return;
  const vs_pool_id id = w->s->pools.data[pool - 1];
  VS_ASSERT(pool <= w->s->pools.count);
  put_key(w, k);
  vs_emit_pair(&w->emit, w->slots.pools + pool, id.a, id.b);
}

/* ---- stacks ---------------------------------------------------------------------------------------------------- */

/* All three keys are always written, because PyTorch's tools read each. */
static void put_frame(writer *w, uint32_t id) {
  const size_t slot = w->slots.frames + id;
  VS_ASSERT(slot < w->slots.stacks);
  if (vs_emit_again(&w->emit, slot)) return;
  const vs_frame *frame = &w->s->stacks.frames.data[id];
  vs_emit_dict_begin(&w->emit);
  put_string_or_none(w, KEY_NAME, frame->name, put_text);
  put_string_or_none(w, KEY_FILENAME, frame->file, put_text);
  put_i64(w, KEY_LINE, frame->line);
  if (frame->detail != 0) {
    const vs_frame_detail *detail = &w->s->stacks.details.data[frame->detail - 1];
    put_string(w, KEY_FX_NODE_OP, detail->fx_node_op, put_text);
    put_string(w, KEY_FX_NODE_NAME, detail->fx_node_name, put_text);
    put_string(w, KEY_FX_NODE_TARGET, detail->fx_node_target, put_text);
    put_string(w, KEY_FX_ORIGINAL_TRACE, detail->fx_original_trace, put_text);
  }
  vs_emit_dict_end(&w->emit);
  vs_emit_remember(&w->emit, slot);
}

/* A list whose items `put_item` writes. Empty lists are not shared, because a reference is longer. */
static void put_list(writer *w, size_t slot, vs_list list, put_id *put_item) {
  if (list.count != 0 && vs_emit_again(&w->emit, slot)) return;
  vs_emit_list_begin(&w->emit);
  for (uint32_t i = 0; i < list.count; i++) put_item(w, list.items[i]);
  vs_emit_list_end(&w->emit);
  if (list.count != 0) vs_emit_remember(&w->emit, slot);
}

static void put_frames(writer *w, uint32_t stack) {
  if (stack == VS_LIST_NONE) return;
  const uint32_t recorded = vs_snapshot_recorded_stack(w->s, stack);
  put_key(w, KEY_FRAMES);
  put_list(w, w->slots.stacks + recorded, vs_stacks_at(&w->s->stacks, recorded), put_frame);
}

static void put_forward_frames(writer *w, uint32_t texts) {
  if (texts == VS_LIST_NONE) return;
  put_key(w, KEY_FORWARD_FRAMES);
  put_list(w, w->slots.texts + texts, vs_lists_at(&w->s->texts, texts), put_text);
}

/* ---- segments and blocks --------------------------------------------------------------------------------------- */

/* Values that the oldest files leave out are written as the reader derived them, because current tools require them. */
static void put_block(writer *w, const vs_block *block) {
  vs_emit_dict_begin(&w->emit);
  put_u64(w, KEY_ADDRESS, block->address);
  put_u64(w, KEY_SIZE, block->size);
  put_u64(w, KEY_REQUESTED_SIZE, block->requested_size);
  put_string_or_none(w, KEY_STATE, block->state_name, put_word);
  put_frames(w, block->stack == VS_LIST_NONE ? VS_LIST_EMPTY : block->stack);
  put_forward_frames(w, block->forward_frames);
  vs_emit_dict_end(&w->emit);
}

static void put_segment(writer *w, const vs_segment *segment) {
  vs_emit_dict_begin(&w->emit);
  put_i64(w, KEY_DEVICE, segment->device);
  put_u64(w, KEY_ADDRESS, segment->address);
  put_u64(w, KEY_TOTAL_SIZE, segment->total_size);
  if (segment->has & VS_SEGMENT_HAS_ALLOCATED) put_u64(w, KEY_ALLOCATED_SIZE, segment->allocated_size);
  if (segment->has & VS_SEGMENT_HAS_ACTIVE) put_u64(w, KEY_ACTIVE_SIZE, segment->active_size);
  if (segment->has & VS_SEGMENT_HAS_REQUESTED) put_u64(w, KEY_REQUESTED_SIZE, segment->requested_size);
  put_u64(w, KEY_STREAM, w->s->streams.data[segment->stream]);
  put_string(w, KEY_SEGMENT_TYPE, segment->type, put_word);
  put_pool(w, KEY_SEGMENT_POOL_ID, segment->pool);
  if (segment->has & VS_SEGMENT_HAS_EXPANDABLE) {
    put_key(w, KEY_IS_EXPANDABLE);
    vs_emit_bool(&w->emit, segment->is_expandable);
  }
  if (segment->registration_counter != VS_NO_COUNTER)
    put_i64(w, KEY_REGISTRATION_COUNTER, segment->registration_counter);
  put_frames(w, segment->stack);
  put_forward_frames(w, segment->forward_frames);
  put_key(w, KEY_BLOCKS);
  vs_emit_list_begin(&w->emit);
  VS_ASSERT(segment->first_block + (uint64_t)segment->block_count <= w->s->blocks.count);
  for (uint32_t i = 0; i < segment->block_count; i++)
    put_block(w, &w->s->blocks.data[segment->first_block + i]);
  vs_emit_list_end(&w->emit);
  vs_emit_dict_end(&w->emit);
}

/* The segments first .. end - 1. */
static void put_segments(writer *w, key k, size_t first, size_t end) {
  put_key(w, k);
  vs_emit_list_begin(&w->emit);
  for (size_t i = first; i < end && !vs_emit_failed(&w->emit); i++) put_segment(w, &w->s->segments.data[i]);
  vs_emit_list_end(&w->emit);
}

/* The first row of "host_segments", in a file with that key: the host segments at the end of the table. */
static size_t host_segments_begin(const vs_snapshot *s) {
  size_t at = s->segments.count;
  if ((s->has & VS_HAS_HOST_SEGMENTS) == 0) return at;
  while (at > 0 && s->segments.data[at - 1].device == VS_DEVICE_HOST) at--;
  return at;
}

/* ---- traces ---------------------------------------------------------------------------------------------------- */

static void put_event(writer *w, uint32_t row) {
  const vs_events *events = &w->s->events;
  const uint32_t metadata = vs_events_user_metadata(events, row);
  vs_emit_dict_begin(&w->emit);
  put_key(w, KEY_ACTION);
  put_word(w, w->s->actions.data[vs_events_action(events, row)]);
  if ((vs_events_missing(events, row) & VS_EVENT_NO_ADDRESS) == 0)
    put_u64(w, vs_events_kind(events, row) == VS_EVENT_OOM ? KEY_DEVICE_FREE : KEY_ADDR,
            vs_events_address(events, row));
  put_u64(w, KEY_SIZE, vs_events_size(events, row));
  put_u64(w, KEY_STREAM, w->s->streams.data[vs_events_stream(events, row)]);
  put_time(w, vs_events_time_us(events, row));
  put_string(w, KEY_COMPILE_CONTEXT, vs_events_compile_context(events, row), put_word);
  put_string(w, KEY_USER_METADATA, metadata, metadata == VS_STRING_EMPTY ? put_word : put_text);
  put_pool(w, KEY_POOL_ID, vs_events_pool(events, row));
  put_string(w, KEY_CATEGORY, vs_events_category(events, row), put_word);
  put_frames(w, vs_events_stack(events, row));
  put_forward_frames(w, vs_events_forward_frames(events, row));
  vs_emit_dict_end(&w->emit);
}

static void put_trace(writer *w, const vs_trace *trace) {
  VS_ASSERT(trace->count == 0 || trace->first + (uint64_t)trace->count <= w->s->events.count);
  vs_emit_list_begin(&w->emit);
  for (uint32_t i = 0; i < trace->count && !vs_emit_failed(&w->emit); i++) put_event(w, trace->first + i);
  vs_emit_list_end(&w->emit);
}

static void put_device_traces(writer *w) {
  put_key(w, KEY_DEVICE_TRACES);
  vs_emit_list_begin(&w->emit);
  for (size_t i = 0; i < w->s->traces.count; i++)
    if (w->s->traces.data[i].device != VS_DEVICE_HOST) put_trace(w, &w->s->traces.data[i]);
  vs_emit_list_end(&w->emit);
}

/* The reader joined several lists of host entries, so they are written as one. */
static void put_host_trace(writer *w) {
  static const vs_trace nothing = {.device = VS_DEVICE_HOST};
  const vs_trace *trace = vs_snapshot_trace(w->s, VS_DEVICE_HOST);
  const bool is_nested = (w->s->has & VS_HAS_NESTED_HOST_TRACES) != 0;
  put_key(w, KEY_HOST_TRACES);
  if (is_nested) vs_emit_list_begin(&w->emit);
  put_trace(w, trace == NULL ? &nothing : trace);
  if (is_nested) vs_emit_list_end(&w->emit);
}

/* ---- settings and annotations ---------------------------------------------------------------------------------- */

static void put_setting(writer *w, const vs_setting *setting) {
  switch ((vs_setting_kind)setting->kind) {
    case VS_SETTING_NONE:
    case VS_SETTING_DICT: vs_emit_none(&w->emit); return;
    case VS_SETTING_BOOL: vs_emit_bool(&w->emit, setting->bits != 0); return;
    case VS_SETTING_INT: vs_emit_i64(&w->emit, (int64_t)setting->bits); return;
    case VS_SETTING_REAL: vs_emit_f64(&w->emit, vs_f64_from_bits(setting->bits)); return;
    case VS_SETTING_STRING: put_text(w, (uint32_t)setting->bits); return;
  }
}

/* Writes the dict whose entries, of `depth`, begin at row `at`; returns the row after its last entry. */
static size_t put_settings(writer *w, size_t at, uint32_t depth) {
  vs_emit_dict_begin(&w->emit);
  VS_ASSERT(depth < VS_MAX_SETTING_DEPTH);
  while (at < w->s->settings.count && w->s->settings.data[at].depth == depth) {
    const vs_setting *setting = &w->s->settings.data[at++];
    vs_emit_key(&w->emit, w->slots.strings + setting->key, vs_snapshot_string(w->s, setting->key), false);
    if (setting->kind == VS_SETTING_DICT) at = put_settings(w, at, depth + 1);
    else put_setting(w, setting);
  }
  vs_emit_dict_end(&w->emit);
  return at;
}

static void put_annotations(writer *w) {
  put_key(w, KEY_EXTERNAL_ANNOTATIONS);
  vs_emit_list_begin(&w->emit);
  for (size_t i = 0; i < w->s->annotations.count; i++) {
    const vs_annotation *annotation = &w->s->annotations.data[i];
    vs_emit_dict_begin(&w->emit);
    put_string_or_none(w, KEY_NAME, annotation->name, put_text);
    put_string_or_none(w, KEY_STAGE, annotation->stage, put_word);
    put_i64(w, KEY_DEVICE, annotation->device);
    put_time(w, annotation->time_us);
    vs_emit_dict_end(&w->emit);
  }
  vs_emit_list_end(&w->emit);
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static void put_snapshot(writer *w) {
  const vs_snapshot *s = w->s;
  const size_t host_segments = host_segments_begin(s);
  vs_emit_dict_begin(&w->emit);
  put_segments(w, KEY_SEGMENTS, 0, host_segments);
  put_device_traces(w);
  if (s->has & VS_HAS_SETTINGS) {
    put_key(w, KEY_ALLOCATOR_SETTINGS);
    (void)put_settings(w, 0, 0);
  }
  if (s->has & VS_HAS_ANNOTATIONS) put_annotations(w);
  if (s->has & VS_HAS_HOST_SEGMENTS) put_segments(w, KEY_HOST_SEGMENTS, host_segments, s->segments.count);
  if (s->has & VS_HAS_HOST_TRACES) put_host_trace(w);
  vs_emit_dict_end(&w->emit);
}

static vs_status write_nested(const vs_snapshot *snapshot, vs_file_format format, const vs_writer *to) {
  writer w = {.s = snapshot, .slots = lay_out_slots(snapshot)};
  VS_TRY(vs_emit_init(&w.emit, snapshot->host, to, format, w.slots.count));
  put_snapshot(&w);
  const vs_status status = vs_emit_finish(&w.emit);
  vs_emit_deinit(&w.emit);
  return status;
}

vs_status vs_snapshot_write(const vs_snapshot *snapshot, vs_file_format format, const vs_writer *to,
                            vs_error *error) {
  if (vs_snapshot_lacks(snapshot) != 0)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "the file lists no segments: reserved and cached memory are unknown");
  const vs_status status =
      format == VS_FORMAT_VRAM ? vs_snapshot_write_vram(snapshot, to) : write_nested(snapshot, format, to);
  return status == VS_OK ? VS_OK : vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
}
