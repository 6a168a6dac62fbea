/* Shared by the parts of the builder: builder.c (the kind of a mapping), builder_rows.c (a mapping to a row),
 * builder_finish.c (the rows that are used, in their order). Private to them. */
#ifndef VS_SNAPSHOT_BUILDER_INTERNAL_H
#define VS_SNAPSHOT_BUILDER_INTERNAL_H

#include "base/text.h"
#include "snapshot/builder.h"

enum {
  VS_IN_EVENT = 1,
  VS_IN_SEGMENT = 2,
  VS_IN_BLOCK = 4,
  VS_IN_HISTORY = 8,
  VS_IN_FRAME = 16,
  VS_IN_ANNOTATION = 32,
  VS_IN_TOP = 64,
};

typedef enum vs_key {
#define VS_KEY(name, text, where) VS_KEY_##name,
#include "snapshot/keys.def"
#undef VS_KEY
  VS_KEY_COUNT,
} vs_key;

_Static_assert(VS_KEY_COUNT <= 64, "a set of keys is one uint64_t");
#define VS_KEY_BIT(name) (UINT64_C(1) << VS_KEY_##name)

/* What the keys of a mapping, in their order, say about it. A file has few such shapes, and a million mappings of some.
 * Invariant: bit k of `seen` is set exactly if key k is among the keys; at[k] is then the index of its value, the last one of a repeated
 * key, as in Python. A shape that is looked for has `count` keys, all of them strings, with the ids keys[0 .. count). */
enum { VS_SHAPE_KEYS = 32, VS_SHAPES = 8 };
typedef struct vs_shape {
  uint64_t seen;
  uint8_t place;   /* VS_IN_...: the kind of the mapping; 0: it is no row */
  bool is_foreign; /* it has keys that are counted as unknown */
  uint32_t count;
  uint32_t keys[VS_SHAPE_KEYS];
  size_t at[VS_KEY_COUNT];
} vs_shape;

/* The known keys of one mapping, and their values. */
typedef struct vs_fields {
  uint64_t seen;    /* the shape's */
  const size_t *at; /* the shape's */
  const vs_value *pairs;
} vs_fields;

/* The value of a key that the shape has. */
static inline const vs_value *vs_field_value(const vs_fields *fields, vs_key key) {
  VS_ASSERT(fields->seen >> key & 1);
  return &fields->pairs[fields->at[key]];
}

/* Some rows of one kind in order: first, first + 1, ... if `rows_at` is VS_ROWS_RUN, else list_rows[rows_at ...]. */
#define VS_ROWS_RUN SIZE_MAX
typedef struct vs_row_list {
  uint32_t first;
  uint32_t count;
  size_t rows_at;
} vs_row_list;

typedef struct vs_history {
  uint64_t real_size;
  uint32_t stack;
} vs_history;

/* A mapping that is not a row: allocator_settings and the dicts in it. */
typedef struct vs_dict {
  size_t first; /* in dict_pairs: key, value, ... */
  size_t count; /* pairs */
} vs_dict;

typedef struct vs_top {
  vs_value segments, device_traces, allocator_settings, external_annotations, host_segments, host_traces;
  uint32_t has;
} vs_top;

struct vs_builder {
  const vs_host *host;
  vs_fold fold;
  vs_snapshot *s;
  uint32_t first_key;   /* string ids of the keys, in the order of keys.def */
  uint32_t first_state; /* string ids of the block states, in the order of builder.c */
  VS_VEC(vs_row_list) lists;
  VS_VEC(uint32_t) list_rows;
  VS_VEC(vs_history) histories;
  VS_VEC(vs_dict) dicts;
  VS_VEC(vs_value) dict_pairs;
  VS_VEC(vs_top) tops;
  VS_VEC(uint32_t) scratch;
  vs_map stream_by_handle;
  vs_map pool_by_hash;
  vs_map action_by_string;
  uint64_t last_stream_handle; /* cache of the row before, because streams seldom change */
  uint32_t last_stream;        /* its index + 1; 0: no row yet */
  bool learn;                  /* vs_builder_create */
  vs_shape shapes[VS_SHAPES];  /* a cache; count 0: unused */
};

/* builder_rows.c: each makes one row from the fields of a mapping. */
vs_status vs_builder_event(vs_builder *b, const vs_fields *fields, vs_value *out, vs_error *error);
vs_status vs_builder_segment(vs_builder *b, const vs_fields *fields, vs_value *out, vs_error *error);
vs_status vs_builder_block(vs_builder *b, const vs_fields *fields, vs_value *out, vs_error *error);
vs_status vs_builder_history(vs_builder *b, const vs_fields *fields, vs_value *out, vs_error *error);
vs_status vs_builder_frame(vs_builder *b, const vs_fields *fields, vs_value *out, vs_error *error);
vs_status vs_builder_annotation(vs_builder *b, const vs_fields *fields, vs_value *out, vs_error *error);

/* Row `index` of a list. */
static inline uint32_t vs_row_list_at(const vs_builder *b, const vs_row_list *list, uint32_t index) {
  VS_ASSERT(index < list->count);
  return list->rows_at == VS_ROWS_RUN ? list->first + index : b->list_rows.data[list->rows_at + index];
}

/* Counts a skipped key of a mapping of the kind `where` (a literal). */
vs_status vs_builder_skipped(vs_builder *b, const char *where, uint32_t key);

#endif
