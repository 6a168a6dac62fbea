/* Reading nested data without building it: a fold.
 *
 * A pickle or a JSON text is a tree of sequences, mappings and scalars (a pickle, with its memo, a graph without
 * cycles). The readers of this folder never build that tree. When a sequence or mapping is complete, they pass its
 * items to the consumer, which returns ONE value in its place: a row number in a column, an interned id, or "not
 * needed". The items are then dropped. So memory is the consumer's columns and the open containers between the root
 * and the read position; an object that a pickle shares through its memo is folded once however often it is used,
 * and data that unfolds exponentially costs nothing.
 *
 * Order: items before their container, left to right. Every container is passed on exactly once, complete, and may
 * not change afterwards; this also excludes containers that contain themselves. */
#ifndef VS_CODEC_FOLD_H
#define VS_CODEC_FOLD_H

#include "base/check.h"

typedef enum vs_value_kind {
  VS_VALUE_NONE,      /* None, null */
  VS_VALUE_BOOL,      /* bits: 0 or 1 */
  VS_VALUE_INT,       /* bits: the int64_t */
  VS_VALUE_UINT,      /* bits: a number above INT64_MAX */
  VS_VALUE_BIG,       /* an integer of more than 64 bits; its digits are not kept */
  VS_VALUE_REAL,      /* bits: those of the double */
  VS_VALUE_STRING,    /* bits: the consumer's id */
  VS_VALUE_BYTES,     /* a byte string (pickle only); not kept */
  VS_VALUE_READER,    /* from here on private to the reader: a consumer never gets these */
  VS_VALUE_USER = 16, /* from here on the consumer's own kinds, for containers that it folded */
} vs_value_kind;

typedef struct vs_value {
  uint64_t bits;
  uint32_t kind;
} vs_value;

/* The consumer. A failure ends the reading; `error` (never NULL) may be filled with vs_fail, the reader then adds the
 * offset. `items` and `pairs` (key, value, key, value, ...) are valid only during the call; keys can be of any kind. */
typedef struct vs_fold {
  void *ctx;
  vs_status (*string)(void *ctx, vs_str utf8, vs_value *out, vs_error *error);
  vs_status (*sequence)(void *ctx, const vs_value *items, size_t count, bool is_tuple, vs_value *out,
                        vs_error *error);
  vs_status (*mapping)(void *ctx, const vs_value *pairs, size_t pair_count, vs_value *out, vs_error *error);
  vs_str (*text)(void *ctx, vs_value string); /* the text of a string's id, to quote it in an error */
} vs_fold;

#endif
