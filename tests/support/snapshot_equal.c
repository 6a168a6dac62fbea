#include "support/snapshot_equal.h"

#include "base/double_text.h"
#include "base/utf8.h"

/* ---- text ------------------------------------------------------------------------------------------------------ */

/* Takes one code point off the front; of a byte that is no UTF-8 the surrogate that stands for it. */
static uint32_t take_point(vs_str *rest) {
  const uint8_t *p = (const uint8_t *)rest->data;
  const size_t length = vs_utf8_length(*rest), taken = length == 0 ? 1 : length;
  uint32_t point = length == 0 ? 0xdc00u + p[0] : length == 1 ? p[0] : p[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) point = point << 6 | (p[i] & 0x3fu);
  *rest = (vs_str){rest->data + taken, rest->size - taken};
  return point;
}

static bool is_high(uint32_t point) { return point >= 0xd800 && point <= 0xdbff; }
static bool is_low(uint32_t point) { return point >= 0xdc00 && point <= 0xdfff; }

/* The same with the halves of a surrogate pair joined. */
static uint32_t take_character(vs_str *rest) {
  const uint32_t point = take_point(rest);
  if (is_high(point) && rest->size != 0) {
    vs_str behind = *rest;
    const uint32_t low = take_point(&behind);
    if (is_low(low)) {
      *rest = behind;
      return 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
  }
  return point;
}

static bool same_text(vs_str a, vs_str b) {
  if (vs_str_equal(a, b)) return true;
  while (a.size != 0 && b.size != 0)
    if (take_character(&a) != take_character(&b)) return false;
  return a.size == b.size;
}

/* ---- what is referred to by an id ------------------------------------------------------------------------------ */

typedef struct pair {
  const vs_snapshot *a, *b;
} pair;

static bool same_string(const pair *p, uint32_t a, uint32_t b) {
  if ((a == VS_STRING_NONE) != (b == VS_STRING_NONE)) return false;
  return same_text(vs_snapshot_string(p->a, a), vs_snapshot_string(p->b, b));
}

static bool same_detail(const pair *p, uint32_t a, uint32_t b) {
  if ((a == 0) != (b == 0)) return false;
  if (a == 0) return true;
  const vs_frame_detail *x = &p->a->stacks.details.data[a - 1], *y = &p->b->stacks.details.data[b - 1];
  return same_string(p, x->fx_node_op, y->fx_node_op) && same_string(p, x->fx_node_name, y->fx_node_name) &&
         same_string(p, x->fx_node_target, y->fx_node_target) &&
         same_string(p, x->fx_original_trace, y->fx_original_trace);
}

static bool same_frame(const pair *p, uint32_t a, uint32_t b) {
  const vs_frame *x = &p->a->stacks.frames.data[a], *y = &p->b->stacks.frames.data[b];
  return x->line == y->line && same_string(p, x->name, y->name) && same_string(p, x->file, y->file) &&
         same_detail(p, x->detail, y->detail);
}

static bool same_list(const pair *p, const vs_lists *a_lists, uint32_t a, const vs_lists *b_lists, uint32_t b,
                      bool (*same_item)(const pair *p, uint32_t a, uint32_t b)) {
  if ((a == VS_LIST_NONE) != (b == VS_LIST_NONE)) return false;
  const vs_list x = vs_lists_at(a_lists, a), y = vs_lists_at(b_lists, b);
  if (x.count != y.count) return false;
  for (uint32_t i = 0; i < x.count; i++)
    if (!same_item(p, x.items[i], y.items[i])) return false;
  return true;
}

static bool same_stack(const pair *p, uint32_t a, uint32_t b) {
  return same_list(p, &p->a->stacks.lists, a, &p->b->stacks.lists, b, same_frame);
}

static bool same_texts(const pair *p, uint32_t a, uint32_t b) {
  return same_list(p, &p->a->texts, a, &p->b->texts, b, same_string);
}

static bool same_pool(const pair *p, uint32_t a, uint32_t b) {
  if ((a == 0) != (b == 0)) return false;
  if (a == 0) return true;
  const vs_pool_id x = p->a->pools.data[a - 1], y = p->b->pools.data[b - 1];
  return x.a == y.a && x.b == y.b;
}

static bool same_stream(const pair *p, uint32_t a, uint32_t b) {
  return p->a->streams.data[a] == p->b->streams.data[b];
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static const char *compare_blocks(const pair *p, const vs_block *a, const vs_block *b) {
  const uint32_t a_stack = a->stack == VS_LIST_NONE ? VS_LIST_EMPTY : a->stack;
  const uint32_t b_stack = b->stack == VS_LIST_NONE ? VS_LIST_EMPTY : b->stack;
  if (a->address != b->address) return "address of a block";
  if (a->size != b->size) return "size of a block";
  if (a->requested_size != b->requested_size) return "requested_size of a block";
  if (a->state != b->state || !same_string(p, a->state_name, b->state_name)) return "state of a block";
  if (!same_stack(p, a_stack, b_stack)) return "frames of a block";
  if (!same_texts(p, a->forward_frames, b->forward_frames)) return "forward_frames of a block";
  return NULL;
}

static const char *compare_segments(const pair *p, const vs_segment *a, const vs_segment *b) {
  if (a->device != b->device) return "device of a segment";
  if (a->address != b->address) return "address of a segment";
  if (a->total_size != b->total_size) return "total_size of a segment";
  if (a->has != b->has) return "keys of a segment";
  if (a->allocated_size != b->allocated_size) return "allocated_size of a segment";
  if (a->active_size != b->active_size) return "active_size of a segment";
  if (a->requested_size != b->requested_size) return "requested_size of a segment";
  if (a->registration_counter != b->registration_counter) return "registration_counter of a segment";
  if (a->is_expandable != b->is_expandable) return "is_expandable of a segment";
  if (!same_stream(p, a->stream, b->stream)) return "stream of a segment";
  if (!same_pool(p, a->pool, b->pool)) return "segment_pool_id of a segment";
  if (!same_string(p, a->type, b->type)) return "segment_type of a segment";
  if (!same_stack(p, a->stack, b->stack)) return "frames of a segment";
  if (!same_texts(p, a->forward_frames, b->forward_frames)) return "forward_frames of a segment";
  if (a->block_count != b->block_count) return "number of blocks of a segment";
  const char *difference = NULL;
  for (uint32_t i = 0; i < a->block_count && difference == NULL; i++)
    difference =
        compare_blocks(p, &p->a->blocks.data[a->first_block + i], &p->b->blocks.data[b->first_block + i]);
  return difference;
}

static const char *compare_events(const pair *p, uint32_t row) {
  const vs_events *a = &p->a->events, *b = &p->b->events;
  if (!same_string(p, p->a->actions.data[vs_events_action(a, row)],
                   p->b->actions.data[vs_events_action(b, row)]))
    return "action of an event";
  if (vs_events_missing(a, row) != vs_events_missing(b, row)) return "keys of an event";
  if (vs_events_address(a, row) != vs_events_address(b, row)) return "addr of an event";
  if (vs_events_size(a, row) != vs_events_size(b, row)) return "size of an event";
  if (!same_stream(p, vs_events_stream(a, row), vs_events_stream(b, row))) return "stream of an event";
  if (vs_events_time_us(a, row) != vs_events_time_us(b, row)) return "time_us of an event";
  if (!same_stack(p, vs_events_stack(a, row), vs_events_stack(b, row))) return "frames of an event";
  if (!same_pool(p, vs_events_pool(a, row), vs_events_pool(b, row))) return "pool_id of an event";
  if (!same_string(p, vs_events_compile_context(a, row), vs_events_compile_context(b, row)))
    return "compile_context of an event";
  if (!same_string(p, vs_events_user_metadata(a, row), vs_events_user_metadata(b, row)))
    return "user_metadata of an event";
  if (!same_string(p, vs_events_category(a, row), vs_events_category(b, row))) return "category of an event";
  if (!same_texts(p, vs_events_forward_frames(a, row), vs_events_forward_frames(b, row)))
    return "forward_frames of an event";
  return NULL;
}

static const char *compare_annotations(const pair *p, const vs_annotation *a, const vs_annotation *b) {
  if (a->time_us != b->time_us) return "time_us of an annotation";
  if (a->device != b->device) return "device of an annotation";
  if (!same_string(p, a->name, b->name)) return "name of an annotation";
  if (!same_string(p, a->stage, b->stage)) return "stage of an annotation";
  return NULL;
}

/* A number that is not finite is null in JSON. */
static uint8_t storable_kind(const vs_setting *setting) {
  const bool is_lost = setting->kind == VS_SETTING_REAL && !vs_f64_is_finite(vs_f64_from_bits(setting->bits));
  return is_lost ? VS_SETTING_NONE : setting->kind;
}

static const char *compare_settings(const pair *p, const vs_setting *a, const vs_setting *b) {
  const uint8_t kind = storable_kind(a);
  if (!same_string(p, a->key, b->key)) return "name of a setting";
  if (kind != storable_kind(b) || a->depth != b->depth) return "kind of a setting";
  if (kind == VS_SETTING_NONE) return NULL;
  const bool same =
      kind == VS_SETTING_STRING ? same_string(p, (uint32_t)a->bits, (uint32_t)b->bits) : a->bits == b->bits;
  return same ? NULL : "value of a setting";
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

/* Top-level keys that are always written. */
#define ALWAYS_WRITTEN (VS_HAS_SEGMENTS | VS_HAS_TRACES | VS_HAS_ONLY_SEGMENTS)

static const char *compare_all_segments(const pair *p) {
  const char *difference = p->a->segments.count == p->b->segments.count ? NULL : "number of segments";
  for (size_t i = 0; i < p->a->segments.count && difference == NULL; i++)
    difference = compare_segments(p, &p->a->segments.data[i], &p->b->segments.data[i]);
  return difference;
}

static const char *compare_all_traces(const pair *p) {
  if (p->a->traces.count != p->b->traces.count) return "number of traces";
  for (size_t i = 0; i < p->a->traces.count; i++) {
    const vs_trace *a = &p->a->traces.data[i], *b = &p->b->traces.data[i];
    if (a->device != b->device) return "device of a trace";
    if (a->first != b->first || a->count != b->count) return "number of events of a trace";
  }
  const char *difference = p->a->events.count == p->b->events.count ? NULL : "number of events";
  for (uint32_t row = 0; row < p->a->events.count && difference == NULL; row++)
    difference = compare_events(p, row);
  return difference;
}

static const char *compare_all_annotations(const pair *p) {
  const char *difference =
      p->a->annotations.count == p->b->annotations.count ? NULL : "number of annotations";
  for (size_t i = 0; i < p->a->annotations.count && difference == NULL; i++)
    difference = compare_annotations(p, &p->a->annotations.data[i], &p->b->annotations.data[i]);
  return difference;
}

static const char *compare_all_settings(const pair *p) {
  const char *difference = p->a->settings.count == p->b->settings.count ? NULL : "number of settings";
  for (size_t i = 0; i < p->a->settings.count && difference == NULL; i++)
    difference = compare_settings(p, &p->a->settings.data[i], &p->b->settings.data[i]);
  return difference;
}

bool vs_snapshot_equal(const vs_snapshot *a, const vs_snapshot *b, const char **difference) {
  const pair p = {.a = a, .b = b};
  *difference = (a->has | ALWAYS_WRITTEN) == (b->has | ALWAYS_WRITTEN) ? NULL : "top-level keys";
  if (*difference == NULL) *difference = compare_all_segments(&p);
  if (*difference == NULL) *difference = compare_all_traces(&p);
  if (*difference == NULL) *difference = compare_all_annotations(&p);
  if (*difference == NULL) *difference = compare_all_settings(&p);
  return *difference == NULL;
}
