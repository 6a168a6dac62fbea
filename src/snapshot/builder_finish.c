/* The end of reading: the top-level lists determine which rows are used and in which order. In a file that PyTorch
 * wrote these are all rows in the order in which they were read, and the tables stay unchanged; else the rows are
 * copied into new tables. */
#include "snapshot/builder_internal.h"

typedef VS_VEC(uint32_t) row_order;

static vs_status add_rows(vs_builder *b, row_order *order, const vs_row_list *list) {
  VS_TRY(vs_vec_reserve(b->host, order, list->count));
  for (uint32_t i = 0; i < list->count; i++) order->data[order->count++] = vs_row_list_at(b, list, i);
  return VS_OK;
}

static bool is_identity(const row_order *order, size_t rows) {
  if (order->count != rows) return false;
  for (size_t i = 0; i < rows; i++)
    if (order->data[i] != i) return false;
  return true;
}

/* Replaces an array by its rows in `order`. */
static vs_status gather(const vs_host *host, void **data, size_t *capacity, size_t size,
                        const row_order *order) {
  uint8_t *gathered = NULL;
  if (order->count != 0) {
    gathered = vs_host_alloc(host, order->count * size);
    if (gathered == NULL) return VS_NO_MEMORY;
  }
  for (size_t i = 0; i < order->count; i++) {
    VS_ASSERT(order->data[i] < *capacity);
    memcpy(gathered + i * size, (const uint8_t *)*data + order->data[i] * size, size);
  }
  vs_host_free(host, *data, *capacity * size);
  *data = gathered;
  *capacity = order->count;
  return VS_OK;
}

/* The same for a vector; nothing is moved if it is in that order already. */
#define gather_vec(host, vec, order)     \
  (is_identity((order), (vec)->count)    \
       ? VS_OK                           \
       : ((vec)->count = (order)->count, \
          gather((host), (void **)&(vec)->data, &(vec)->capacity, sizeof *(vec)->data, (order))))

static vs_status not_a_list(vs_error *error, const char *key, const char *of) {
  return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "\"%s\" is not a list of %s", key, of);
}

/* ---- segments and blocks --------------------------------------------------------------------------------------- */

static vs_status add_segment_list(vs_builder *b, row_order *order, vs_value value, const char *key,
                                  vs_error *error) {
  if (value.kind == VS_BUILT_SEGMENTS) return add_rows(b, order, &b->lists.data[value.bits]);
  if (value.kind == VS_BUILT_EMPTY || value.kind == VS_VALUE_NONE) return VS_OK;
  return not_a_list(error, key, "segments");
}

/* Sets the addresses that the oldest files leave out: the segment's plus the sizes of the blocks before. */
static void derive_addresses(const vs_segment *segment, vs_block *blocks) {
  uint64_t address = segment->address;
  for (uint32_t i = 0; i < segment->block_count; i++) {
    if ((blocks[i].has & VS_BLOCK_HAS_ADDRESS) == 0) blocks[i].address = address;
    address = blocks[i].address + blocks[i].size;
  }
}

/* Sorts the blocks by the segments that own them. */
static vs_status order_blocks(vs_builder *b) {
  vs_snapshot *s = b->s;
  row_order order = {0};
  vs_status status = VS_OK;
  uint64_t total = 0;
  for (size_t i = 0; i < s->segments.count && status == VS_OK; i++) {
    vs_segment *segment = &s->segments.data[i];
    VS_ASSERT(segment->block_count == 0 || b->lists.data[segment->first_block].count == segment->block_count);
    if (segment->block_count != 0) status = add_rows(b, &order, &b->lists.data[segment->first_block]);
    segment->first_block = (uint32_t)total;
    total += segment->block_count;
    if (total > UINT32_MAX - 2) status = VS_LIMIT;
  }
  if (status == VS_OK) status = gather_vec(b->host, &s->blocks, &order);
  vs_vec_free(b->host, &order);
  VS_TRY(status);
  for (size_t i = 0; i < s->segments.count; i++)
    if (s->segments.data[i].block_count != 0)
      derive_addresses(&s->segments.data[i], s->blocks.data + s->segments.data[i].first_block);
  return VS_OK;
}

static vs_status finish_segments(vs_builder *b, const vs_top *top, vs_error *error) {
  vs_snapshot *s = b->s;
  row_order order = {0};
  vs_status status = add_segment_list(b, &order, top->segments, "segments", error);
  const size_t on_devices = order.count;
  if (status == VS_OK) status = add_segment_list(b, &order, top->host_segments, "host_segments", error);
  if (status == VS_OK) status = gather_vec(b->host, &s->segments, &order);
  vs_vec_free(b->host, &order);
  VS_TRY(status);
  VS_ASSERT(on_devices <= s->segments.count);
  for (size_t i = on_devices; i < s->segments.count; i++) s->segments.data[i].device = VS_DEVICE_HOST;
  return order_blocks(b);
}

/* ---- traces ---------------------------------------------------------------------------------------------------- */

static vs_status add_trace(vs_builder *b, row_order *order, int32_t device, uint32_t list) {
  vs_snapshot *s = b->s;
  VS_TRY(vs_vec_reserve(b->host, &s->traces, 1));
  const size_t first = order->count;
  VS_ASSERT(list == UINT32_MAX || list < b->lists.count);
  if (list != UINT32_MAX) VS_TRY(add_rows(b, order, &b->lists.data[list]));
  if (order->count > UINT32_MAX - 2) return VS_LIMIT;
  s->traces.data[s->traces.count++] =
      (vs_trace){.device = device, .first = (uint32_t)first, .count = (uint32_t)(order->count - first)};
  return VS_OK;
}

static vs_status add_device_traces(vs_builder *b, row_order *order, vs_value value, vs_error *error) {
  if (value.kind == VS_BUILT_EMPTY || value.kind == VS_VALUE_NONE) return VS_OK;
  if (value.kind != VS_BUILT_LISTS)
    return not_a_list(error, "device_traces", "lists of trace entries, one a device");
  const vs_row_list lists = b->lists.data[value.bits];
  if (lists.count > VS_MAX_DEVICES)
    return vs_fail(error, VS_LIMIT, VS_NO_OFFSET, "traces of %U devices; at most %d are read",
                   (uint64_t)lists.count, VS_MAX_DEVICES);
  for (uint32_t i = 0; i < lists.count; i++)
    VS_TRY(add_trace(b, order, (int32_t)i, vs_row_list_at(b, &lists, i)));
  return VS_OK;
}

/* Adds empty traces for devices that only segments name, so that each device has one. */
static vs_status add_missing_traces(vs_builder *b, row_order *order) {
  int32_t devices = (int32_t)b->s->traces.count;
  for (size_t i = 0; i < b->s->segments.count; i++)
    if (b->s->segments.data[i].device >= devices) devices = b->s->segments.data[i].device + 1;
  VS_ASSERT(devices <= VS_MAX_DEVICES);
  while ((int32_t)b->s->traces.count < devices)
    VS_TRY(add_trace(b, order, (int32_t)b->s->traces.count, UINT32_MAX));
  return VS_OK;
}

static bool has_host_segments(const vs_snapshot *s) {
  for (size_t i = 0; i < s->segments.count; i++)
    if (s->segments.data[i].device == VS_DEVICE_HOST) return true;
  return false;
}

/* host_traces is a list of entries, or a list of such lists, which are concatenated. */
static vs_status add_host_trace(vs_builder *b, row_order *order, vs_value value, vs_error *error) {
  vs_snapshot *s = b->s;
  if (value.kind == VS_BUILT_EVENTS) return add_trace(b, order, VS_DEVICE_HOST, (uint32_t)value.bits);
  if (value.kind == VS_BUILT_EMPTY || value.kind == VS_VALUE_NONE)
    return has_host_segments(s) ? add_trace(b, order, VS_DEVICE_HOST, UINT32_MAX) : VS_OK;
  if (value.kind != VS_BUILT_LISTS) return not_a_list(error, "host_traces", "trace entries");
  s->has |= VS_HAS_NESTED_HOST_TRACES;
  VS_TRY(add_trace(b, order, VS_DEVICE_HOST, UINT32_MAX));
  const vs_row_list lists = b->lists.data[value.bits];
  for (uint32_t i = 0; i < lists.count; i++) {
    const uint32_t list = vs_row_list_at(b, &lists, i);
    if (list != UINT32_MAX) VS_TRY(add_rows(b, order, &b->lists.data[list]));
  }
  if (order->count > UINT32_MAX - 2) return VS_LIMIT;
  vs_trace *trace = &s->traces.data[s->traces.count - 1];
  trace->count = (uint32_t)(order->count - trace->first);
  return VS_OK;
}

static vs_status gather_events(vs_builder *b, const row_order *order) {
  vs_events *events = &b->s->events;
  if (is_identity(order, events->count)) return VS_OK;
  if (order->count == 0) {
    vs_events_deinit(b->host, events);
    return VS_OK;
  }
  /* 0 until all columns have the new length, because some are shorter than the others in between. */
  events->count = events->capacity = 0;
#define VS_EVENT_COLUMN(type, name, absent) \
  if (events->name != NULL)                 \
    VS_TRY(gather(b->host, (void **)&events->name, &events->name##_capacity, sizeof(type), order));
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN
  events->count = events->capacity = (uint32_t)order->count;
  return VS_OK;
}

static vs_status finish_events(vs_builder *b, const vs_top *top, vs_error *error) {
  row_order order = {0};
  vs_status status = add_device_traces(b, &order, top->device_traces, error);
  if (status == VS_OK) status = add_missing_traces(b, &order);
  if (status == VS_OK) status = add_host_trace(b, &order, top->host_traces, error);
  if (status == VS_OK) status = gather_events(b, &order);
  vs_vec_free(b->host, &order);
  return status;
}

/* ---- annotations and settings ---------------------------------------------------------------------------------- */

static vs_status finish_annotations(vs_builder *b, const vs_top *top, vs_error *error) {
  vs_snapshot *s = b->s;
  const vs_value value = top->external_annotations;
  row_order order = {0};
  vs_status status = VS_OK;
  if (value.kind == VS_BUILT_ANNOTATIONS) status = add_rows(b, &order, &b->lists.data[value.bits]);
  else if (value.kind != VS_BUILT_EMPTY && value.kind != VS_VALUE_NONE)
    status = not_a_list(error, "external_annotations", "annotations");
  if (status == VS_OK) status = gather_vec(b->host, &s->annotations, &order);
  vs_vec_free(b->host, &order);
  return status;
}

/* `left` is the number of entries that are still allowed, because a pickle can refer to the same dict many times. */
static vs_status add_settings(vs_builder *b, vs_dict dict, uint8_t depth, uint32_t *left);

static vs_status add_setting(vs_builder *b, uint32_t key, vs_value value, uint8_t depth, uint32_t *left) {
  vs_setting setting = {.key = key, .depth = depth, .bits = value.bits};
  switch (value.kind) {
    case VS_VALUE_NONE: setting.kind = VS_SETTING_NONE; break;
    case VS_VALUE_BOOL: setting.kind = VS_SETTING_BOOL; break;
    case VS_VALUE_INT: setting.kind = VS_SETTING_INT; break;
    case VS_VALUE_REAL: setting.kind = VS_SETTING_REAL; break;
    case VS_VALUE_STRING: setting.kind = VS_SETTING_STRING; break;
    case VS_BUILT_DICT:
      setting.kind = VS_SETTING_DICT;
      setting.bits = b->dicts.data[value.bits].count;
      if (depth + 1 >= VS_MAX_SETTING_DEPTH) return VS_LIMIT;
      break;
    default: return vs_builder_skipped(b, "allocator_settings", key);
  }
  VS_TRY(vs_vec_reserve(b->host, &b->s->settings, 1));
  b->s->settings.data[b->s->settings.count++] = setting;
  if (setting.kind != VS_SETTING_DICT) return VS_OK;
  /* Entries may be skipped, so they are counted after they were added. */
  const size_t at = b->s->settings.count - 1;
  VS_TRY(add_settings(b, b->dicts.data[value.bits], (uint8_t)(depth + 1), left));
  uint64_t entries = 0;
  for (size_t i = at + 1; i < b->s->settings.count; i++) entries += b->s->settings.data[i].depth == depth + 1;
  b->s->settings.data[at].bits = entries;
  return VS_OK;
}

static vs_status add_settings(vs_builder *b, vs_dict dict, uint8_t depth, uint32_t *left) {
  if (dict.count > *left) return VS_LIMIT;
  VS_ASSERT(depth < VS_MAX_SETTING_DEPTH && dict.first + 2 * dict.count <= b->dict_pairs.count);
  *left -= (uint32_t)dict.count;
  for (size_t i = 0; i < dict.count; i++) {
    const vs_value key = b->dict_pairs.data[dict.first + 2 * i];
    VS_TRY(add_setting(b, (uint32_t)key.bits, b->dict_pairs.data[dict.first + 2 * i + 1], depth, left));
  }
  return VS_OK;
}

static vs_status finish_settings(vs_builder *b, const vs_top *top, vs_error *error) {
  const vs_value value = top->allocator_settings;
  if (value.kind == VS_VALUE_NONE) return VS_OK;
  if (value.kind != VS_BUILT_DICT)
    return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "\"allocator_settings\" is not a mapping of settings");
  uint32_t left = VS_MAX_SETTINGS;
  const vs_status status = add_settings(b, b->dicts.data[value.bits], 0, &left);
  if (status != VS_LIMIT) return status;
  return vs_fail(error, VS_LIMIT, VS_NO_OFFSET,
                 "\"allocator_settings\" has more than %d entries or %d levels", VS_MAX_SETTINGS,
                 VS_MAX_SETTING_DEPTH);
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* Interprets the root of the file: a mapping with a snapshot's keys, or a bare list of segments. */
static vs_status find_top(const vs_builder *b, vs_value root, vs_top *top, vs_error *error) {
  *top = (vs_top){0};
  if (root.kind == VS_BUILT_TOP) {
    *top = b->tops.data[root.bits];
    return VS_OK;
  }
  if (root.kind == VS_BUILT_SEGMENTS || (root.kind == VS_BUILT_EMPTY && root.bits == 0)) {
    top->segments = root;
    top->has = VS_HAS_SEGMENTS | VS_HAS_ONLY_SEGMENTS;
    return VS_OK;
  }
  if (root.kind == VS_BUILT_DICT && b->dicts.data[root.bits].count == 0) return VS_OK;
  return vs_fail(error, VS_BAD_FORMAT, 0,
                 "not a PyTorch memory snapshot: expected a mapping with \"segments\" or \"device_traces\", "
                 "or a list of segments");
}

vs_status vs_builder_finish(vs_builder *b, vs_value root, vs_snapshot **out, vs_error *error) {
  vs_top top;
  VS_TRY(find_top(b, root, &top, error));
  b->s->has = top.has;
  VS_TRY(finish_segments(b, &top, error));
  VS_TRY(finish_events(b, &top, error));
  VS_TRY(finish_annotations(b, &top, error));
  VS_TRY(finish_settings(b, &top, error));
  VS_TRY(vs_forward_join(b->s));
  *out = b->s;
  b->s = NULL;
  return VS_OK;
}
