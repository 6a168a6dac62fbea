/* Executes the invariants of model.h. Each function returns the sentence of the first that does not hold, or NULL. */
#include "base/text.h"
#include "snapshot/model.h"

static bool is_string(const vs_snapshot *s, uint32_t id) { return id < vs_strings_count(&s->strings); }
static bool is_stack(const vs_snapshot *s, uint32_t id) { return id < vs_lists_count(&s->stacks.lists); }
static bool is_text(const vs_snapshot *s, uint32_t id) { return id < vs_lists_count(&s->texts); }
static bool is_pool(const vs_snapshot *s, uint32_t id) { return id <= s->pools.count; }
static bool is_stream(const vs_snapshot *s, uint32_t id) { return id < s->streams.count; }
static bool is_device(int32_t device) { return device >= VS_DEVICE_HOST && device < VS_MAX_DEVICES; }

/* ---- stacks and texts ------------------------------------------------------------------------------------------ */

static bool all_items_below(const vs_lists *lists, size_t end) {
  for (size_t i = 0; i < lists->items.count; i++)
    if (lists->items.data[i] >= end) return false;
  return true;
}

static const char *check_forward(const vs_snapshot *s) {
  const vs_forward *forward = &s->forward;
  const uint32_t stacks = vs_lists_count(&s->stacks.lists);
  if (forward->recorded.count == 0) return NULL;
  if (forward->first_stack > stacks || forward->recorded.count != stacks - forward->first_stack)
    return "a stack is neither recorded nor joined";
  for (size_t i = 0; i < forward->recorded.count; i++) {
    const uint32_t recorded = forward->recorded.data[i];
    if (recorded >= forward->first_stack) return "a joined stack was recorded as a joined one";
    const vs_list list = vs_stacks_at(&s->stacks, forward->first_stack + (uint32_t)i);
    const uint32_t inner = vs_stacks_at(&s->stacks, recorded).count;
    if (list.count < inner + 2) return "a joined stack has no frames of the forward pass";
    for (uint32_t k = 0; k < list.count; k++)
      if (s->stacks.frames.data[list.items[k]].is_forward != (k >= inner))
        return "a joined stack has frames of the forward pass in the wrong place";
  }
  return NULL;
}

static const char *check_stacks(const vs_snapshot *s) {
  const vs_stacks *stacks = &s->stacks;
  if (!all_items_below(&stacks->lists, stacks->frames.count))
    return "a stack names a frame that is not there";
  if (!all_items_below(&s->texts, vs_strings_count(&s->strings)))
    return "a text names a string that is not there";
  for (size_t i = 0; i < stacks->frames.count; i++) {
    const vs_frame *frame = &stacks->frames.data[i];
    if (!is_string(s, frame->name) || !is_string(s, frame->file))
      return "a frame names a string that is not there";
    if (frame->detail > stacks->details.count) return "a frame names a detail that is not there";
  }
  for (size_t i = 0; i < stacks->details.count; i++) {
    const vs_frame_detail *detail = &stacks->details.data[i];
    if (!is_string(s, detail->fx_node_op) || !is_string(s, detail->fx_node_name) ||
        !is_string(s, detail->fx_node_target) || !is_string(s, detail->fx_original_trace))
      return "a frame's detail names a string that is not there";
  }
  return NULL;
}

/* ---- segments and blocks --------------------------------------------------------------------------------------- */

static bool is_silent_where_absent(const vs_segment *segment) {
  return ((segment->has & VS_SEGMENT_HAS_ALLOCATED) != 0 || segment->allocated_size == 0) &&
         ((segment->has & VS_SEGMENT_HAS_ACTIVE) != 0 || segment->active_size == 0) &&
         ((segment->has & VS_SEGMENT_HAS_REQUESTED) != 0 || segment->requested_size == 0) &&
         ((segment->has & VS_SEGMENT_HAS_EXPANDABLE) != 0 || !segment->is_expandable);
}

static const char *check_segment(const vs_snapshot *s, const vs_segment *segment) {
  if (!is_device(segment->device)) return "a segment is on a device that cannot be";
  if (vs_snapshot_trace(s, segment->device) == NULL) return "a segment's device has no trace";
  if (!is_stream(s, segment->stream)) return "a segment names a stream that is not there";
  if (!is_pool(s, segment->pool)) return "a segment names a pool that is not there";
  if (!is_string(s, segment->type)) return "a segment names a string that is not there";
  if (!is_stack(s, segment->stack)) return "a segment names a stack that is not there";
  if (!is_text(s, segment->forward_frames)) return "a segment names a text that is not there";
  if (!is_silent_where_absent(segment)) return "a segment has a figure that is said to be absent";
  return NULL;
}

static const char *check_block(const vs_snapshot *s, const vs_block *block) {
  if (block->state > VS_BLOCK_UNKNOWN) return "a block is in a state that is none";
  if (!is_string(s, block->state_name)) return "a block names a string that is not there";
  if (!is_stack(s, block->stack)) return "a block names a stack that is not there";
  if (!is_text(s, block->forward_frames)) return "a block names a text that is not there";
  return NULL;
}

static const char *check_segments(const vs_snapshot *s) {
  uint64_t next = 0;
  for (size_t i = 0; i < s->segments.count; i++) {
    const vs_segment *segment = &s->segments.data[i];
    const char *broken = check_segment(s, segment);
    if (broken != NULL) return broken;
    if (segment->first_block != next)
      return "the segments' blocks do not follow each other in the block table";
    next += segment->block_count;
  }
  if (next != s->blocks.count) return "the segments do not own just the blocks that there are";
  for (size_t i = 0; i < s->blocks.count; i++) {
    const char *broken = check_block(s, &s->blocks.data[i]);
    if (broken != NULL) return broken;
  }
  return NULL;
}

/* ---- traces and events ----------------------------------------------------------------------------------------- */

static const char *check_traces(const vs_snapshot *s) {
  uint64_t next = 0;
  for (size_t i = 0; i < s->traces.count; i++) {
    const vs_trace *trace = &s->traces.data[i];
    const bool is_host = trace->device == VS_DEVICE_HOST && i + 1 == s->traces.count;
    if (!is_device(trace->device)) return "a trace is of a device that cannot be";
    if (!is_host && trace->device != (int64_t)i)
      return "the traces are not of device 0, 1, ... and then of the host";
    if (trace->first != next) return "the traces do not follow each other in the event table";
    for (int cause = 0; cause < VS_GAP_CAUSES; cause++)
      if (trace->missing_from[cause] > (uint64_t)trace->count + 1)
        return "events are missing behind the end of a trace";
    next += trace->count;
  }
  if (next != s->events.count) return "the traces do not own just the events that there are";
  return NULL;
}

static const char *check_columns(const vs_snapshot *s) {
  const vs_events *events = &s->events;
  bool is_room = events->count <= events->capacity;
#define VS_EVENT_COLUMN(type, name, absent) \
  is_room = is_room && (events->name == NULL || events->name##_capacity >= events->capacity);
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN
  return is_room ? NULL : "an event column is shorter than the event table";
}

/* The known kinds come first, so that an action's index is its kind, and no other action has one of their names. */
static const char *check_actions(const vs_snapshot *s) {
  if (s->actions.count < VS_EVENT_KIND_COUNT || s->actions.count > UINT16_MAX)
    return "the actions do not begin with the known kinds";
  for (size_t i = 0; i < s->actions.count; i++) {
    if (!is_string(s, s->actions.data[i])) return "an action names a string that is not there";
    const vs_str action = vs_snapshot_string(s, s->actions.data[i]);
    for (size_t kind = 0; kind < VS_EVENT_KIND_COUNT; kind++)
      if (vs_str_equal(action, vs_str_from(vs_event_kind_action((vs_event_kind)kind))) != (i == kind))
        return "the actions do not begin with the known kinds";
  }
  return NULL;
}

static const char *check_event(const vs_snapshot *s, uint32_t row) {
  const vs_events *events = &s->events;
  if (vs_events_action(events, row) >= s->actions.count) return "an event names an action that is not there";
  if (!is_stream(s, vs_events_stream(events, row))) return "an event names a stream that is not there";
  if (!is_stack(s, vs_events_stack(events, row))) return "an event names a stack that is not there";
  if (!is_pool(s, vs_events_pool(events, row))) return "an event names a pool that is not there";
  if (!is_text(s, vs_events_forward_frames(events, row))) return "an event names a text that is not there";
  if (!is_string(s, vs_events_compile_context(events, row)) ||
      !is_string(s, vs_events_user_metadata(events, row)) || !is_string(s, vs_events_category(events, row)))
    return "an event names a string that is not there";
  if ((vs_events_missing(events, row) & VS_EVENT_NO_ADDRESS) != 0 && vs_events_address(events, row) != 0)
    return "an event has an address that is said to be absent";
  return NULL;
}

static const char *check_events(const vs_snapshot *s) {
  for (uint32_t row = 0; row < s->events.count; row++) {
    const char *broken = check_event(s, row);
    if (broken != NULL) return broken;
  }
  return NULL;
}

/* ---- settings, annotations, skipped keys ----------------------------------------------------------------------- */

static bool can_be(const vs_snapshot *s, const vs_setting *setting) {
  switch ((vs_setting_kind)setting->kind) {
    case VS_SETTING_BOOL: return setting->bits <= 1;
    case VS_SETTING_STRING: return setting->bits < vs_strings_count(&s->strings);
    case VS_SETTING_NONE:
    case VS_SETTING_INT:
    case VS_SETTING_REAL:
    case VS_SETTING_DICT: return true;
  }
  return false;
}

/* Follows the nesting of the dicts with the number of entries that are still expected at each depth. */
static const char *check_settings(const vs_snapshot *s) {
  uint64_t left[VS_MAX_SETTING_DEPTH] = {UINT64_MAX};
  size_t depth = 0;
  for (size_t i = 0; i < s->settings.count; i++) {
    const vs_setting *setting = &s->settings.data[i];
    if (!is_string(s, setting->key)) return "a setting names a string that is not there";
    if (!can_be(s, setting)) return "a setting has a value that cannot be";
    if (setting->depth != depth) return "a setting is not in the dict in which it should be";
    left[depth]--;
    if (setting->kind == VS_SETTING_DICT) {
      if (++depth == VS_MAX_SETTING_DEPTH) return "the settings are nested too deeply";
      left[depth] = setting->bits;
    }
    while (depth > 0 && left[depth] == 0) depth--;
  }
  return depth == 0 ? NULL : "a dict of settings has fewer entries than it says";
}

static const char *check_annotations(const vs_snapshot *s) {
  for (size_t i = 0; i < s->annotations.count; i++) {
    const vs_annotation *annotation = &s->annotations.data[i];
    if (!is_device(annotation->device)) return "an annotation is of a device that cannot be";
    if (!is_string(s, annotation->name) || !is_string(s, annotation->stage))
      return "an annotation names a string that is not there";
  }
  return NULL;
}

static const char *check_libraries(const vs_snapshot *s) {
  for (size_t i = 0; i < s->libraries.count; i++) {
    if (!is_device(s->libraries.data[i].device)) return "a library has memory of a device that cannot be";
    if (!is_string(s, s->libraries.data[i].name)) return "a library's name is a string that is not there";
  }
  return NULL;
}

static const char *check_unknown_keys(const vs_snapshot *s) {
  uint64_t named = 0;
  if (s->unknown_keys.count > VS_MAX_UNKNOWN_KEYS) return "more skipped keys have a name than may have";
  for (size_t i = 0; i < s->unknown_keys.count; i++) {
    if (!is_string(s, s->unknown_keys.data[i].key)) return "a skipped key names a string that is not there";
    named = vs_sat_add_u64(named, s->unknown_keys.data[i].count);
  }
  return named <= s->unknown_key_count ? NULL : "more keys were skipped by name than at all";
}

const char *vs_snapshot_check(const vs_snapshot *snapshot) {
  static const char *(*const checks[])(const vs_snapshot *s) = {
      check_stacks, check_forward,  check_traces,      check_segments,  check_columns,      check_actions,
      check_events, check_settings, check_annotations, check_libraries, check_unknown_keys,
  };
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
    const char *broken = checks[i](snapshot);
    if (broken != NULL) return broken;
  }
  return NULL;
}
