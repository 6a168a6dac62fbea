/* From nested data to columns: the consumer (codec/fold.h) that knows the shape of a snapshot.
 *
 * The keys of a mapping decide its kind: one with "action" is a trace entry, one with "blocks" a segment, and so on.
 * It becomes a row immediately, and its value is then "event row 17". A sequence of such values becomes a row list.
 * At the end, the top-level lists determine which rows are used and in which order. Usually these are all rows in
 * the order in which they were read, and nothing is moved. Rows in no such list (the same shapes under an unknown
 * key) are dropped. */
#ifndef VS_SNAPSHOT_BUILDER_H
#define VS_SNAPSHOT_BUILDER_H

#include "codec/fold.h"
#include "snapshot/model.h"

/* Kinds of folded values. The five kinds of rows come first, then the kinds of their lists in the same order. */
typedef enum vs_built_kind {
  VS_BUILT_EVENT = VS_VALUE_USER, /* bits: row */
  VS_BUILT_SEGMENT,
  VS_BUILT_BLOCK,
  VS_BUILT_HISTORY,
  VS_BUILT_ANNOTATION,
  VS_BUILT_EVENTS, /* bits: index of a row list */
  VS_BUILT_SEGMENTS,
  VS_BUILT_BLOCKS,
  VS_BUILT_HISTORIES,
  VS_BUILT_ANNOTATIONS,
  VS_BUILT_LISTS, /* bits: index of a row list over values: lists of events, or empty ones */
  VS_BUILT_FRAME, /* bits: frame id */
  VS_BUILT_STACK, /* bits: stack id */
  VS_BUILT_TEXTS, /* bits: id of a list of strings */
  VS_BUILT_POOL,  /* bits: 1 + index into pools */
  VS_BUILT_EMPTY, /* an empty sequence */
  VS_BUILT_DICT,  /* bits: index of a mapping of other keys */
  VS_BUILT_TOP,   /* bits: index of a top-level mapping */
  VS_BUILT_OTHER, /* anything else */
} vs_built_kind;

typedef struct vs_builder vs_builder;

/* `learn`: whether the place of each key is remembered for mappings with the same keys; without it each is looked at anew, which gives the
 * same rows. */
VS_MUST_CHECK vs_status vs_builder_create(const vs_host *host, bool learn, vs_builder **out);
void vs_builder_destroy(vs_builder *builder);

/* The consumer for a reader; valid as long as the builder. */
const vs_fold *vs_builder_fold(const vs_builder *builder);

/* Makes the snapshot from the root value. On success the caller owns *out. */
VS_MUST_CHECK vs_status vs_builder_finish(vs_builder *builder, vs_value root, vs_snapshot **out,
                                          vs_error *error);

#endif
