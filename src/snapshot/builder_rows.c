/* Makes a row from a mapping. Missing keys get the defaults of docs/formats/snapshot.md. A value of the wrong type
 * is an error if figures depend on its key; else the key counts as skipped. */
#include "base/double_text.h"
#include "snapshot/builder_internal.h"

enum { MAX_ACTIONS = UINT16_MAX };

static const char *const key_texts[VS_KEY_COUNT] = {
#define VS_KEY(name, text, where) [VS_KEY_##name] = (text),
#include "snapshot/keys.def"
#undef VS_KEY
};

/* The value of a key; NULL if it is absent or None. */
static inline const vs_value *field(const vs_fields *fields, vs_key key) {
  if ((fields->seen >> key & 1) == 0) return NULL;
  const vs_value *value = vs_field_value(fields, key);
  return value->kind == VS_VALUE_NONE ? NULL : value;
}

/* A whole number that was written as a float, as some tools that write JSON do. */
__attribute__((noinline)) static bool whole(vs_value value, int64_t *out) {
  if (value.kind != VS_VALUE_REAL) return false;
  const double real = vs_f64_from_bits(value.bits);
  if (!(real >= -9007199254740992.0 && real <= 9007199254740992.0)) return false;
  *out = (int64_t)real;
  return (double)*out == real;
}

__attribute__((noinline)) static vs_status wrong(vs_error *error, vs_key key, const char *where,
                                                 const char *wanted) {
  return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "\"%s\" of a %s is not %s", key_texts[key], where,
                 wanted);
}

/* Bytes, not negative. If the key is absent, *out stays unchanged. */
static vs_status take_size(const vs_fields *fields, vs_key key, const char *where, uint64_t *out,
                           vs_error *error) {
  const vs_value *value = field(fields, key);
  int64_t number;
  if (value == NULL) return VS_OK;
  if (value->kind == VS_VALUE_UINT || (value->kind == VS_VALUE_INT && value->bits <= INT64_MAX)) {
    *out = value->bits;
    return VS_OK;
  }
  if (whole(*value, &number) && number >= 0) {
    *out = (uint64_t)number;
    return VS_OK;
  }
  return wrong(error, key, where, "a number of bytes");
}

/* 64 bits. C++ pickles write numbers that do not fit a signed number as negative ones. */
static vs_status take_address(const vs_fields *fields, vs_key key, const char *where, uint64_t *out,
                              vs_error *error) {
  const vs_value *value = field(fields, key);
  int64_t number;
  if (value == NULL) return VS_OK;
  if (value->kind == VS_VALUE_UINT || value->kind == VS_VALUE_INT) {
    *out = value->bits;
    return VS_OK;
  }
  if (whole(*value, &number)) {
    *out = (uint64_t)number;
    return VS_OK;
  }
  return wrong(error, key, where, "an address of 64 bits");
}

static vs_status take_int(const vs_fields *fields, vs_key key, const char *where, int64_t *out,
                          vs_error *error) {
  const vs_value *value = field(fields, key);
  if (value == NULL) return VS_OK;
  if (value->kind == VS_VALUE_INT) {
    *out = (int64_t)value->bits;
    return VS_OK;
  }
  if (whole(*value, out)) return VS_OK;
  return wrong(error, key, where, "a whole number of 64 bits");
}

/* Microseconds. Tools that convert times can leave fractions, which are dropped. */
static vs_status take_time(const vs_fields *fields, const char *where, int64_t *out, vs_error *error) {
  const vs_value *value = field(fields, VS_KEY_TIME_US);
  if (value == NULL || value->kind != VS_VALUE_REAL)
    return take_int(fields, VS_KEY_TIME_US, where, out, error);
  const double real = vs_f64_from_bits(value->bits);
  if (!(real > -9e18 && real < 9e18)) return wrong(error, VS_KEY_TIME_US, where, "a time");
  *out = (int64_t)real;
  return VS_OK;
}

static vs_status take_device(const vs_fields *fields, const char *where, int32_t *out, vs_error *error) {
  int64_t device = *out;
  VS_TRY(take_int(fields, VS_KEY_DEVICE, where, &device, error));
  if (device < VS_DEVICE_HOST || device >= VS_MAX_DEVICES)
    return vs_fail(error, VS_LIMIT, VS_NO_OFFSET, "device %D; 0 to %d are read", device, VS_MAX_DEVICES - 1);
  *out = (int32_t)device;
  return VS_OK;
}

vs_status vs_builder_skipped(vs_builder *b, const char *where, uint32_t key) {
  vs_snapshot *s = b->s;
  s->unknown_key_count++;
  VS_ASSERT(key < vs_strings_count(&s->strings));
  for (size_t i = 0; i < s->unknown_keys.count; i++) {
    vs_unknown_key *known = &s->unknown_keys.data[i];
    if (known->key == key && vs_str_equal(vs_str_from(known->where), vs_str_from(where))) {
      known->count++;
      return VS_OK;
    }
  }
  if (s->unknown_keys.count >= VS_MAX_UNKNOWN_KEYS) return VS_OK;
  VS_TRY(vs_vec_reserve(b->host, &s->unknown_keys, 1));
  s->unknown_keys.data[s->unknown_keys.count++] = (vs_unknown_key){.where = where, .key = key, .count = 1};
  return VS_OK;
}

__attribute__((noinline)) static vs_status skipped(vs_builder *b, vs_key key, const char *where) {
  return vs_builder_skipped(b, where, b->first_key + key);
}

static vs_status take_string(vs_builder *b, const vs_fields *fields, vs_key key, const char *where,
                             uint32_t *out) {
  const vs_value *value = field(fields, key);
  *out = VS_STRING_NONE;
  if (value == NULL) return VS_OK;
  if (value->kind != VS_VALUE_STRING) return skipped(b, key, where);
  *out = (uint32_t)value->bits;
  return VS_OK;
}

/* A list of frames or of strings (`wanted`), which may be empty. */
static vs_status take_list(vs_builder *b, const vs_fields *fields, vs_key key, const char *where,
                           uint32_t wanted, uint32_t *out) {
  const vs_value *value = field(fields, key);
  *out = VS_LIST_NONE;
  if (value == NULL) return VS_OK;
  if (value->kind == VS_BUILT_EMPTY) {
    *out = VS_LIST_EMPTY;
    return VS_OK;
  }
  if (value->kind != wanted) return skipped(b, key, where);
  *out = (uint32_t)value->bits;
  return VS_OK;
}

static vs_status take_pool(vs_builder *b, const vs_fields *fields, vs_key key, const char *where,
                           uint32_t *out) {
  const vs_value *value = field(fields, key);
  *out = 0;
  if (value == NULL) return VS_OK;
  if (value->kind != VS_BUILT_POOL) return skipped(b, key, where);
  *out = (uint32_t)value->bits;
  return VS_OK;
}

/* The index of a stream that is not the one of the row before. */
__attribute__((noinline)) static vs_status stream_index(vs_builder *b, uint64_t handle, uint32_t *out) {
  const size_t slot = vs_map_find(&b->stream_by_handle, handle);
  if (slot != VS_MAP_NONE) {
    *out = b->stream_by_handle.slots[slot].value;
  } else {
    VS_TRY(vs_vec_reserve(b->host, &b->s->streams, 1));
    VS_TRY(vs_map_reserve(b->host, &b->stream_by_handle));
    *out = (uint32_t)b->s->streams.count;
    b->s->streams.data[b->s->streams.count++] = handle;
    vs_map_add(&b->stream_by_handle, handle, *out);
  }
  b->last_stream_handle = handle;
  b->last_stream = *out + 1;
  VS_ASSERT(*out < b->s->streams.count && b->s->streams.data[*out] == handle);
  return VS_OK;
}

static vs_status take_stream(vs_builder *b, const vs_fields *fields, const char *where, uint32_t *out,
                             vs_error *error) {
  uint64_t handle = 0;
  VS_TRY(take_address(fields, VS_KEY_STREAM, where, &handle, error));
  if (b->last_stream == 0 || b->last_stream_handle != handle) return stream_index(b, handle, out);
  *out = b->last_stream - 1;
  return VS_OK;
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

/* The index of an action that is no known kind. */
__attribute__((noinline)) static vs_status unknown_action(vs_builder *b, uint32_t string, uint16_t *out,
                                                          vs_error *error) {
  const size_t slot = vs_map_find(&b->action_by_string, string);
  if (slot != VS_MAP_NONE) {
    *out = (uint16_t)b->action_by_string.slots[slot].value;
    VS_ASSERT(*out < b->s->actions.count && b->s->actions.data[*out] == string);
    return VS_OK;
  }
  if (b->s->actions.count >= MAX_ACTIONS)
    return vs_fail(error, VS_LIMIT, VS_NO_OFFSET, "more than %d different actions", MAX_ACTIONS);
  VS_TRY(vs_vec_reserve(b->host, &b->s->actions, 1));
  VS_TRY(vs_map_reserve(b->host, &b->action_by_string));
  *out = (uint16_t)b->s->actions.count;
  b->s->actions.data[b->s->actions.count++] = string;
  vs_map_add(&b->action_by_string, string, *out);
  return VS_OK;
}

/* The index of an action in the snapshot's table, which begins with the known kinds. */
static vs_status action_index(vs_builder *b, uint32_t string, uint16_t *out, vs_error *error) {
  const uint64_t known = (uint64_t)string - b->s->actions.data[0]; /* their string ids are consecutive */
  if (known >= VS_EVENT_KIND_COUNT) return unknown_action(b, string, out, error);
  *out = (uint16_t)known;
  return VS_OK;
}

/* A trace has a million entries, so what takes their values is inlined here. */
__attribute__((flatten)) vs_status vs_builder_event(vs_builder *b, const vs_fields *fields, vs_value *out,
                                                    vs_error *error) {
  static const char where[] = "trace entry";
  const vs_value *action = field(fields, VS_KEY_ACTION);
  if (action == NULL || action->kind != VS_VALUE_STRING) return wrong(error, VS_KEY_ACTION, where, "a name");
  vs_event_row row = {.time_us = VS_NO_TIME};
  uint32_t at = 0;
  VS_TRY(action_index(b, (uint32_t)action->bits, &row.action, error));
  const vs_key address_key = row.action == VS_EVENT_OOM && field(fields, VS_KEY_DEVICE_FREE) != NULL
                                 ? VS_KEY_DEVICE_FREE
                                 : VS_KEY_ADDR;
  VS_TRY(take_address(fields, address_key, where, &row.address, error));
  VS_TRY(take_size(fields, VS_KEY_SIZE, where, &row.size, error));
  VS_TRY(take_time(fields, where, &row.time_us, error));
  VS_TRY(take_stream(b, fields, where, &row.stream, error));
  VS_TRY(take_list(b, fields, VS_KEY_FRAMES, where, VS_BUILT_STACK, &row.stack));
  VS_TRY(take_list(b, fields, VS_KEY_FORWARD_FRAMES, where, VS_BUILT_TEXTS, &row.forward_frames));
  VS_TRY(take_pool(b, fields, VS_KEY_POOL_ID, where, &row.pool));
  VS_TRY(take_string(b, fields, VS_KEY_COMPILE_CONTEXT, where, &row.compile_context));
  VS_TRY(take_string(b, fields, VS_KEY_USER_METADATA, where, &row.user_metadata));
  VS_TRY(take_string(b, fields, VS_KEY_CATEGORY, where, &row.category));
  row.missing = field(fields, address_key) == NULL ? VS_EVENT_NO_ADDRESS : 0;
  VS_ASSERT(row.action < b->s->actions.count);
  VS_TRY(vs_events_append(b->host, &b->s->events, &row, &at));
  *out = (vs_value){.bits = at, .kind = VS_BUILT_EVENT};
  return VS_OK;
}

/* ---- segments and blocks --------------------------------------------------------------------------------------- */

vs_status vs_builder_segment(vs_builder *b, const vs_fields *fields, vs_value *out, vs_error *error) {
  static const char where[] = "segment";
  vs_segment segment = {.registration_counter = VS_NO_COUNTER, .first_block = UINT32_MAX};
  const vs_value *blocks = field(fields, VS_KEY_BLOCKS), *expandable = field(fields, VS_KEY_IS_EXPANDABLE);
  if (field(fields, VS_KEY_TOTAL_SIZE) == NULL) return wrong(error, VS_KEY_TOTAL_SIZE, where, "there");
  if (field(fields, VS_KEY_ADDRESS) == NULL) return wrong(error, VS_KEY_ADDRESS, where, "there");
  VS_TRY(take_address(fields, VS_KEY_ADDRESS, where, &segment.address, error));
  VS_TRY(take_size(fields, VS_KEY_TOTAL_SIZE, where, &segment.total_size, error));
  VS_TRY(take_size(fields, VS_KEY_ALLOCATED_SIZE, where, &segment.allocated_size, error));
  VS_TRY(take_size(fields, VS_KEY_ACTIVE_SIZE, where, &segment.active_size, error));
  VS_TRY(take_size(fields, VS_KEY_REQUESTED_SIZE, where, &segment.requested_size, error));
  VS_TRY(take_int(fields, VS_KEY_REGISTRATION_COUNTER, where, &segment.registration_counter, error));
  VS_TRY(take_device(fields, where, &segment.device, error));
  VS_TRY(take_stream(b, fields, where, &segment.stream, error));
  VS_TRY(take_pool(b, fields, VS_KEY_SEGMENT_POOL_ID, where, &segment.pool));
  VS_TRY(take_string(b, fields, VS_KEY_SEGMENT_TYPE, where, &segment.type));
  VS_TRY(take_list(b, fields, VS_KEY_FRAMES, where, VS_BUILT_STACK, &segment.stack));
  VS_TRY(take_list(b, fields, VS_KEY_FORWARD_FRAMES, where, VS_BUILT_TEXTS, &segment.forward_frames));
  if (field(fields, VS_KEY_ALLOCATED_SIZE) != NULL) segment.has |= VS_SEGMENT_HAS_ALLOCATED;
  if (field(fields, VS_KEY_ACTIVE_SIZE) != NULL) segment.has |= VS_SEGMENT_HAS_ACTIVE;
  if (field(fields, VS_KEY_REQUESTED_SIZE) != NULL) segment.has |= VS_SEGMENT_HAS_REQUESTED;
  if (expandable != NULL && expandable->kind == VS_VALUE_BOOL) {
    segment.has |= VS_SEGMENT_HAS_EXPANDABLE;
    segment.is_expandable = expandable->bits != 0;
  }
  if (blocks != NULL && blocks->kind == VS_BUILT_BLOCKS) {
    segment.first_block = (uint32_t)blocks->bits; /* until finish: the index of the row list */
    VS_ASSERT(blocks->bits < b->lists.count);
    segment.block_count = b->lists.data[blocks->bits].count;
  } else if (blocks != NULL && blocks->kind != VS_BUILT_EMPTY) {
    return wrong(error, VS_KEY_BLOCKS, where, "a list of blocks");
  }
  if (b->s->segments.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(b->host, &b->s->segments, 1));
  *out = (vs_value){.bits = b->s->segments.count, .kind = VS_BUILT_SEGMENT};
  b->s->segments.data[b->s->segments.count++] = segment;
  return VS_OK;
}

/* The newest entry of a block's history (1.13 to 2.0) has the values that newer files have in the block itself. */
static const vs_history *newest_history(const vs_builder *b, const vs_fields *fields) {
  const vs_value *history = field(fields, VS_KEY_HISTORY);
  if (history == NULL || history->kind != VS_BUILT_HISTORIES) return NULL;
  VS_ASSERT(history->bits < b->lists.count);
  return &b->histories.data[vs_row_list_at(b, &b->lists.data[history->bits], 0)];
}

vs_status vs_builder_block(vs_builder *b, const vs_fields *fields, vs_value *out, vs_error *error) {
  static const char where[] = "block";
  const vs_value *state = field(fields, VS_KEY_STATE);
  if (state == NULL || state->kind != VS_VALUE_STRING) return wrong(error, VS_KEY_STATE, where, "a name");
  if (field(fields, VS_KEY_SIZE) == NULL) return wrong(error, VS_KEY_SIZE, where, "there");
  vs_block block = {.state_name = (uint32_t)state->bits};
  const uint64_t known = state->bits - b->first_state;
  block.state = known < VS_BLOCK_UNKNOWN ? (uint8_t)known : VS_BLOCK_UNKNOWN;
  const vs_history *history = newest_history(b, fields);
  VS_TRY(take_size(fields, VS_KEY_SIZE, where, &block.size, error));
  block.requested_size = history != NULL ? history->real_size : block.size;
  VS_TRY(take_size(fields, VS_KEY_REQUESTED_SIZE, where, &block.requested_size, error));
  VS_TRY(take_address(fields, VS_KEY_ADDRESS, where, &block.address, error));
  VS_TRY(take_list(b, fields, VS_KEY_FRAMES, where, VS_BUILT_STACK, &block.stack));
  VS_TRY(take_list(b, fields, VS_KEY_FORWARD_FRAMES, where, VS_BUILT_TEXTS, &block.forward_frames));
  if (block.stack == VS_LIST_NONE && history != NULL) block.stack = history->stack;
  if (field(fields, VS_KEY_ADDRESS) != NULL) block.has |= VS_BLOCK_HAS_ADDRESS;
  if (field(fields, VS_KEY_REQUESTED_SIZE) != NULL || history != NULL) block.has |= VS_BLOCK_HAS_REQUESTED;
  if (b->s->blocks.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(b->host, &b->s->blocks, 1));
  *out = (vs_value){.bits = b->s->blocks.count, .kind = VS_BUILT_BLOCK};
  b->s->blocks.data[b->s->blocks.count++] = block;
  return VS_OK;
}

/* Joins the C++ frames, which are the inner ones, and the Python frames into one stack. */
static vs_status join_stacks(vs_builder *b, uint32_t inner, uint32_t outer, uint32_t *joined) {
  vs_lists *lists = &b->s->stacks.lists;
  const size_t count = vs_lists_at(lists, inner).count + (size_t)vs_lists_at(lists, outer).count;
  b->scratch.count = 0;
  VS_TRY(vs_vec_reserve(b->host, &b->scratch, count));
  for (int part = 0; part < 2; part++) {
    const vs_list list = vs_lists_at(lists, part == 0 ? inner : outer);
    for (uint32_t i = 0; i < list.count; i++) b->scratch.data[b->scratch.count++] = list.items[i];
  }
  VS_ASSERT(b->scratch.count == count);
  return vs_lists_intern(b->host, lists, b->scratch.data, count, joined);
}

vs_status vs_builder_history(vs_builder *b, const vs_fields *fields, vs_value *out, vs_error *error) {
  static const char where[] = "history entry";
  vs_history history = {0};
  uint32_t cpp;
  VS_TRY(take_size(fields, VS_KEY_REAL_SIZE, where, &history.real_size, error));
  VS_TRY(take_list(b, fields, VS_KEY_FRAMES, where, VS_BUILT_STACK, &history.stack));
  VS_TRY(take_list(b, fields, VS_KEY_CPP_FRAMES, where, VS_BUILT_STACK, &cpp));
  if (history.stack == VS_LIST_NONE) history.stack = cpp;
  else if (cpp > VS_LIST_EMPTY) VS_TRY(join_stacks(b, cpp, history.stack, &history.stack));
  if (b->histories.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(b->host, &b->histories, 1));
  *out = (vs_value){.bits = b->histories.count, .kind = VS_BUILT_HISTORY};
  b->histories.data[b->histories.count++] = history;
  return VS_OK;
}

/* ---- frames and annotations ------------------------------------------------------------------------------------ */

vs_status vs_builder_frame(vs_builder *b, const vs_fields *fields, vs_value *out, vs_error *error) {
  static const char where[] = "frame";
  uint32_t name, file, id;
  int64_t line = 0;
  vs_frame_detail detail;
  VS_TRY(take_string(b, fields, VS_KEY_NAME, where, &name));
  VS_TRY(take_string(b, fields, VS_KEY_FILENAME, where, &file));
  VS_TRY(take_int(fields, VS_KEY_LINE, where, &line, error));
  VS_TRY(take_string(b, fields, VS_KEY_FX_NODE_OP, where, &detail.fx_node_op));
  VS_TRY(take_string(b, fields, VS_KEY_FX_NODE_NAME, where, &detail.fx_node_name));
  VS_TRY(take_string(b, fields, VS_KEY_FX_NODE_TARGET, where, &detail.fx_node_target));
  VS_TRY(take_string(b, fields, VS_KEY_FX_ORIGINAL_TRACE, where, &detail.fx_original_trace));
  const bool detailed =
      (detail.fx_node_op | detail.fx_node_name | detail.fx_node_target | detail.fx_original_trace) != 0;
  VS_TRY(vs_stacks_frame(b->host, &b->s->stacks, name, file, line, detailed ? &detail : NULL, &id));
  *out = (vs_value){.bits = id, .kind = VS_BUILT_FRAME};
  return VS_OK;
}

vs_status vs_builder_annotation(vs_builder *b, const vs_fields *fields, vs_value *out, vs_error *error) {
  static const char where[] = "annotation";
  vs_annotation annotation = {.time_us = VS_NO_TIME};
  VS_TRY(take_string(b, fields, VS_KEY_NAME, where, &annotation.name));
  VS_TRY(take_string(b, fields, VS_KEY_STAGE, where, &annotation.stage));
  VS_TRY(take_time(fields, where, &annotation.time_us, error));
  VS_TRY(take_device(fields, where, &annotation.device, error));
  if (b->s->annotations.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(b->host, &b->s->annotations, 1));
  *out = (vs_value){.bits = b->s->annotations.count, .kind = VS_BUILT_ANNOTATION};
  b->s->annotations.data[b->s->annotations.count++] = annotation;
  return VS_OK;
}
