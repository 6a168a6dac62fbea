#include "snapshot/builder_internal.h"

enum { DICT_MAX_PAIRS = 4096 };

static const uint8_t key_places[VS_KEY_COUNT] = {
#define VS_KEY(name, text, where) [VS_KEY_##name] = (where),
#include "snapshot/keys.def"
#undef VS_KEY
};

/* ---- strings --------------------------------------------------------------------------------------------------- */

static vs_status fold_string(void *ctx, vs_str text, vs_value *out, vs_error *error) {
  vs_builder *b = ctx;
  uint32_t id;
  (void)error;
  VS_TRY(vs_strings_intern(b->host, &b->s->strings, text, &id));
  *out = (vs_value){.bits = id, .kind = VS_VALUE_STRING};
  return VS_OK;
}

static vs_str fold_text(void *ctx, vs_value string) {
  const vs_builder *b = ctx;
  VS_ASSERT(string.kind == VS_VALUE_STRING && string.bits < vs_strings_count(&b->s->strings));
  return vs_snapshot_string(b->s, (uint32_t)string.bits);
}

/* ---- sequences ------------------------------------------------------------------------------------------------- */

static bool all_of_kind(const vs_value *items, size_t count, uint32_t kind) {
  for (size_t i = 0; i < count; i++)
    if (items[i].kind != kind) return false;
  return true;
}

/* Puts the items' ids into the scratch array. */
static vs_status gather_bits(vs_builder *b, const vs_value *items, size_t count) {
  b->scratch.count = 0;
  VS_TRY(vs_vec_reserve(b->host, &b->scratch, count));
  for (size_t i = 0; i < count; i++) {
    VS_ASSERT(items[i].bits <= UINT32_MAX);
    b->scratch.data[i] = (uint32_t)items[i].bits;
  }
  b->scratch.count = count;
  return VS_OK;
}

static vs_status interned_list(vs_builder *b, vs_lists *lists, uint32_t kind, const vs_value *items,
                               size_t count, vs_value *out) {
  uint32_t id;
  VS_TRY(gather_bits(b, items, count));
  VS_TRY(vs_lists_intern(b->host, lists, b->scratch.data, count, &id));
  *out = (vs_value){.bits = id, .kind = kind};
  return VS_OK;
}

static vs_status row_list(vs_builder *b, uint32_t kind, const vs_value *items, size_t count, vs_value *out) {
  if (count > UINT32_MAX - 2) return VS_LIMIT;
  VS_ASSERT(count > 0 && kind >= VS_BUILT_EVENTS && kind <= VS_BUILT_ANNOTATIONS);
  VS_TRY(vs_vec_reserve(b->host, &b->lists, 1));
  vs_row_list list = {.first = (uint32_t)items[0].bits, .count = (uint32_t)count, .rows_at = VS_ROWS_RUN};
  size_t run = 1;
  while (run < count && items[run].bits == items[0].bits + run) run++;
  if (run < count) {
    list.rows_at = b->list_rows.count;
    VS_TRY(vs_vec_reserve(b->host, &b->list_rows, count));
    for (size_t i = 0; i < count; i++) b->list_rows.data[b->list_rows.count++] = (uint32_t)items[i].bits;
  }
  *out = (vs_value){.bits = b->lists.count, .kind = kind};
  b->lists.data[b->lists.count++] = list;
  return VS_OK;
}

/* A list of lists of events, some of which may be empty: rows are indices of lists, UINT32_MAX for an empty one. */
static vs_status list_of_lists(vs_builder *b, const vs_value *items, size_t count, vs_value *out) {
  if (count > UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(b->host, &b->lists, 1));
  VS_TRY(vs_vec_reserve(b->host, &b->list_rows, count));
  *out = (vs_value){.bits = b->lists.count, .kind = VS_BUILT_LISTS};
  b->lists.data[b->lists.count++] = (vs_row_list){.count = (uint32_t)count, .rows_at = b->list_rows.count};
  for (size_t i = 0; i < count; i++)
    b->list_rows.data[b->list_rows.count++] =
        items[i].kind == VS_BUILT_EMPTY ? UINT32_MAX : (uint32_t)items[i].bits;
  return VS_OK;
}

static bool is_unsigned(vs_value value) {
  return value.kind == VS_VALUE_UINT || (value.kind == VS_VALUE_INT && value.bits <= INT64_MAX);
}

static vs_status pool_id(vs_builder *b, vs_pool_id id, vs_value *out) {
  const uint64_t hash = vs_hash_mix(vs_hash_u64(id.a), id.b ^ UINT64_C(0x9fb21c651e98df25));
  for (size_t slot = vs_map_find(&b->pool_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&b->pool_by_hash, slot)) {
    const uint32_t index = b->pool_by_hash.slots[slot].value;
    VS_ASSERT(index < b->s->pools.count);
    if (b->s->pools.data[index].a == id.a && b->s->pools.data[index].b == id.b) {
      *out = (vs_value){.bits = index + 1, .kind = VS_BUILT_POOL};
      return VS_OK;
    }
  }
  if (b->s->pools.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(b->host, &b->s->pools, 1));
  VS_TRY(vs_map_reserve(b->host, &b->pool_by_hash));
  vs_map_add(&b->pool_by_hash, hash, (uint32_t)b->s->pools.count);
  b->s->pools.data[b->s->pools.count++] = id;
  *out = (vs_value){.bits = b->s->pools.count, .kind = VS_BUILT_POOL};
  return VS_OK;
}

static bool is_list_of_events(vs_value value) {
  return value.kind == VS_BUILT_EVENTS || value.kind == VS_BUILT_EMPTY;
}

static vs_status fold_sequence(void *ctx, const vs_value *items, size_t count, bool is_tuple, vs_value *out,
                               vs_error *error) {
  vs_builder *b = ctx;
  (void)error;
  *out = (vs_value){.kind = VS_BUILT_OTHER};
  if (count == 0) {
    *out = (vs_value){.bits = is_tuple, .kind = VS_BUILT_EMPTY};
    return VS_OK;
  }
  const uint32_t kind = items[0].kind;
  if (is_list_of_events(items[0])) {
    for (size_t i = 0; i < count; i++)
      if (!is_list_of_events(items[i])) return VS_OK;
    return list_of_lists(b, items, count, out);
  }
  if (count == 2 && is_unsigned(items[0]) && is_unsigned(items[1]))
    return pool_id(b, (vs_pool_id){items[0].bits, items[1].bits}, out);
  if (!all_of_kind(items, count, kind)) return VS_OK;
  if (kind == VS_BUILT_FRAME) return interned_list(b, &b->s->stacks.lists, VS_BUILT_STACK, items, count, out);
  if (kind == VS_VALUE_STRING) return interned_list(b, &b->s->texts, VS_BUILT_TEXTS, items, count, out);
  if (kind >= VS_BUILT_EVENT && kind <= VS_BUILT_ANNOTATION && !is_tuple)
    return row_list(b, kind + (VS_BUILT_EVENTS - VS_BUILT_EVENT), items, count, out);
  return VS_OK;
}

/* ---- mappings -------------------------------------------------------------------------------------------------- */

#define TOP_KEYS                                                                       \
  (VS_KEY_BIT(SEGMENTS) | VS_KEY_BIT(DEVICE_TRACES) | VS_KEY_BIT(ALLOCATOR_SETTINGS) | \
   VS_KEY_BIT(EXTERNAL_ANNOTATIONS) | VS_KEY_BIT(HOST_SEGMENTS) | VS_KEY_BIT(HOST_TRACES))

/* The kind of a mapping with these keys. */
static uint8_t place_of(uint64_t seen) {
  if (seen & VS_KEY_BIT(ACTION)) return VS_IN_EVENT;
  if (seen & (VS_KEY_BIT(BLOCKS) | VS_KEY_BIT(TOTAL_SIZE))) return VS_IN_SEGMENT;
  if (seen & VS_KEY_BIT(STATE)) return VS_IN_BLOCK;
  if (seen & VS_KEY_BIT(FILENAME) || (seen & VS_KEY_BIT(NAME) && seen & VS_KEY_BIT(LINE))) return VS_IN_FRAME;
  if (seen & VS_KEY_BIT(STAGE)) return VS_IN_ANNOTATION;
  if (seen & VS_KEY_BIT(REAL_SIZE)) return VS_IN_HISTORY;
  return seen & TOP_KEYS ? VS_IN_TOP : 0;
}

static void learn_shape(const vs_builder *b, const vs_value *pairs, size_t count, vs_shape *shape) {
  bool unknown = false;
  shape->seen = 0;
  shape->count = b->learn && count <= VS_SHAPE_KEYS ? (uint32_t)count : 0;
  for (size_t i = 0; i < count; i++) {
    const vs_value key = pairs[2 * i];
    const uint64_t index = key.bits - b->first_key;
    if (key.kind != VS_VALUE_STRING) shape->count = 0;
    if (i < VS_SHAPE_KEYS) shape->keys[i] = (uint32_t)key.bits;
    if (key.kind == VS_VALUE_STRING && index < VS_KEY_COUNT) {
      shape->seen |= UINT64_C(1) << index;
      shape->at[index] = 2 * i + 1;
    } else {
      unknown = true;
    }
  }
  shape->place = place_of(shape->seen);
  for (uint64_t rest = shape->seen; rest != 0 && !unknown; rest &= rest - 1)
    unknown = (key_places[__builtin_ctzll(rest)] & shape->place) == 0;
  shape->is_foreign = unknown;
}

static inline bool is_key(const vs_value *pair, uint32_t id) {
  return pair->bits == id && pair->kind == VS_VALUE_STRING;
}

/* Two keys at a time, because every mapping comes here. */
static bool has_shape(const vs_shape *shape, const vs_value *pairs, size_t count) {
  if (shape->count != count) return false;
  const uint32_t *id = shape->keys, *const end = id + count;
  if (count % 2 != 0 && !is_key(pairs, *id)) return false;
  pairs += 2 * (count % 2);
  for (id += count % 2; id != end; id += 2, pairs += 4)
    if (!is_key(pairs, id[0]) || !is_key(pairs + 2, id[1])) return false;
  return true;
}

/* The shape of a mapping, valid until the next call. */
static const vs_shape *shape_of(vs_builder *b, const vs_value *pairs, size_t count) {
  const uint64_t mixed = count == 0 ? 0 : count + pairs[0].bits + pairs[2 * (count - 1)].bits;
  vs_shape *shape = &b->shapes[mixed % VS_SHAPES];
  if (count == 0 || !has_shape(shape, pairs, count)) learn_shape(b, pairs, count, shape);
  return shape;
}

/* Counts the keys of a mapping that do not belong to its place. */
static vs_status count_unknown(vs_builder *b, const vs_value *pairs, size_t count, uint8_t place) {
  static const char *const names[] = {"trace entry", "segment",    "block",   "history",
                                      "frame",       "annotation", "snapshot"};
  const char *where = names[__builtin_ctz(place)];
  for (size_t i = 0; i < count; i++) {
    const vs_value key = pairs[2 * i];
    const uint64_t index = key.bits - b->first_key;
    if (key.kind == VS_VALUE_STRING && index < VS_KEY_COUNT && (key_places[index] & place) != 0) continue;
    VS_TRY(vs_builder_skipped(b, where, key.kind == VS_VALUE_STRING ? (uint32_t)key.bits : VS_STRING_NONE));
  }
  return VS_OK;
}

/* The top-level fields of a snapshot. "traces" is of an old wrapper and adds nothing, so it is ignored. */
static vs_status top(vs_builder *b, const vs_fields *fields, vs_value *out) {
  vs_top t = {0};
#define TAKE(KEY, member, flag)                       \
  if (fields->seen & VS_KEY_BIT(KEY)) {               \
    t.member = *vs_field_value(fields, VS_KEY_##KEY); \
    t.has |= (flag);                                  \
  }
  TAKE(SEGMENTS, segments, VS_HAS_SEGMENTS)
  TAKE(DEVICE_TRACES, device_traces, VS_HAS_TRACES)
  TAKE(ALLOCATOR_SETTINGS, allocator_settings, VS_HAS_SETTINGS)
  TAKE(EXTERNAL_ANNOTATIONS, external_annotations, VS_HAS_ANNOTATIONS)
  TAKE(HOST_SEGMENTS, host_segments, VS_HAS_HOST_SEGMENTS)
  TAKE(HOST_TRACES, host_traces, VS_HAS_HOST_TRACES)
#undef TAKE
  VS_TRY(vs_vec_reserve(b->host, &b->tops, 1));
  *out = (vs_value){.bits = b->tops.count, .kind = VS_BUILT_TOP};
  b->tops.data[b->tops.count++] = t;
  return VS_OK;
}

/* A mapping with other keys is kept unchanged if it could be settings: only string keys, and not too many. */
static vs_status dict(vs_builder *b, const vs_value *pairs, size_t count, vs_value *out) {
  *out = (vs_value){.kind = VS_BUILT_OTHER};
  if (count > DICT_MAX_PAIRS) return VS_OK;
  for (size_t i = 0; i < count; i++)
    if (pairs[2 * i].kind != VS_VALUE_STRING) return VS_OK;
  VS_TRY(vs_vec_reserve(b->host, &b->dicts, 1));
  VS_TRY(vs_vec_reserve(b->host, &b->dict_pairs, 2 * count));
  *out = (vs_value){.bits = b->dicts.count, .kind = VS_BUILT_DICT};
  b->dicts.data[b->dicts.count++] = (vs_dict){.first = b->dict_pairs.count, .count = count};
  for (size_t i = 0; i < 2 * count; i++) b->dict_pairs.data[b->dict_pairs.count++] = pairs[i];
  VS_ASSERT(b->dict_pairs.count == b->dicts.data[b->dicts.count - 1].first + 2 * count);
  return VS_OK;
}

static vs_status fold_mapping(void *ctx, const vs_value *pairs, size_t count, vs_value *out,
                              vs_error *error) {
  vs_builder *b = ctx;
  const vs_shape *shape = shape_of(b, pairs, count);
  const vs_fields fields = {.seen = shape->seen, .at = shape->at, .pairs = pairs};
  switch (shape->place) {
    case VS_IN_EVENT: VS_TRY(vs_builder_event(b, &fields, out, error)); break;
    case VS_IN_SEGMENT: VS_TRY(vs_builder_segment(b, &fields, out, error)); break;
    case VS_IN_BLOCK: VS_TRY(vs_builder_block(b, &fields, out, error)); break;
    case VS_IN_FRAME: VS_TRY(vs_builder_frame(b, &fields, out, error)); break;
    case VS_IN_ANNOTATION: VS_TRY(vs_builder_annotation(b, &fields, out, error)); break;
    case VS_IN_HISTORY: VS_TRY(vs_builder_history(b, &fields, out, error)); break;
    case VS_IN_TOP: VS_TRY(top(b, &fields, out)); break;
    default: return dict(b, pairs, count, out);
  }
  return shape->is_foreign ? count_unknown(b, pairs, count, shape->place) : VS_OK;
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

/* Interns a word that is not in the table yet, so that a list of words gets consecutive ids. */
static vs_status intern_next(vs_builder *b, const char *word) {
  uint32_t id;
  const uint32_t expected = vs_strings_count(&b->s->strings);
  VS_TRY(vs_strings_intern(b->host, &b->s->strings, vs_str_from(word), &id));
  VS_ASSERT(id == expected);
  (void)expected;
  return VS_OK;
}

static vs_status init(vs_builder *b) {
  VS_TRY(vs_snapshot_create(b->host, &b->s));
  b->first_key = vs_strings_count(&b->s->strings);
#define VS_KEY(name, text, where) VS_TRY(intern_next(b, text));
#include "snapshot/keys.def"
#undef VS_KEY
  b->first_state = vs_strings_count(&b->s->strings);
  VS_ASSERT(b->first_state == b->first_key + VS_KEY_COUNT);
  for (int state = 0; state < VS_BLOCK_UNKNOWN; state++)
    VS_TRY(intern_next(b, vs_block_state_name((vs_block_state)state)));
  return VS_OK;
}

vs_status vs_builder_create(const vs_host *host, bool learn, vs_builder **out) {
  *out = NULL;
  vs_builder *b = vs_host_alloc(host, sizeof *b);
  if (b == NULL) return VS_NO_MEMORY;
  *b = (vs_builder){.host = host,
                    .learn = learn,
                    .fold = {.ctx = b,
                             .string = fold_string,
                             .sequence = fold_sequence,
                             .mapping = fold_mapping,
                             .text = fold_text}};
  const vs_status status = init(b);
  if (status != VS_OK) {
    vs_builder_destroy(b);
    return status;
  }
  *out = b;
  return VS_OK;
}

void vs_builder_destroy(vs_builder *b) {
  if (b == NULL) return;
  const vs_host *host = b->host;
  vs_snapshot_destroy(b->s);
  vs_vec_free(host, &b->lists);
  vs_vec_free(host, &b->list_rows);
  vs_vec_free(host, &b->histories);
  vs_vec_free(host, &b->dicts);
  vs_vec_free(host, &b->dict_pairs);
  vs_vec_free(host, &b->tops);
  vs_vec_free(host, &b->scratch);
  vs_map_deinit(host, &b->stream_by_handle);
  vs_map_deinit(host, &b->pool_by_hash);
  vs_map_deinit(host, &b->action_by_string);
  vs_host_free(host, b, sizeof *b);
}

const vs_fold *vs_builder_fold(const vs_builder *b) { return &b->fold; }
