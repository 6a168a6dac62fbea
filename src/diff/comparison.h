/* Two inventories, compared: what the reply and its sentences are made of. */
#ifndef VS_DIFF_COMPARISON_H
#define VS_DIFF_COMPARISON_H

#include "codec/json_writer.h"
#include "diff/diff.h"

typedef struct vs_comparison {
  const vs_host *host;
  vs_diff_options options;
  vs_side sides[2]; /* before, after */
  vs_str roots[2];  /* the folder that all files of the user have in common; borrowed */
  vs_pairing pairing;
  vs_diff_rows rows;
} vs_comparison;

/* Of two inventories, which must live longer. Fails: VS_BAD_FORMAT  one of the two is no inventory; VS_NO_MEMORY, VS_LIMIT. On failure
 * there is nothing to deinit. */
VS_MUST_CHECK vs_status vs_comparison_init(vs_comparison *c, const vs_host *host, vs_diff_options options,
                                           vs_json before, vs_json after, vs_error *error);
void vs_comparison_deinit(vs_comparison *c);

/* The sums of the changes of the rows that grew and of those that shrank, without their signs; saturating. */
void vs_comparison_changes(const vs_comparison *c, uint64_t *more, uint64_t *less);

/* The names of a part of a row. */
typedef struct vs_part_name {
  vs_text owner;   /* "train.py:31 forward"; by file "train.py", by size "2,097,152 B" */
  vs_text file;    /* without what differs between machines (files.h); empty: none */
  vs_str function; /* empty: none */
  int64_t line;    /* VS_SIDE_NO_LINE: none */
} vs_part_name;

/* `side`: 0 or 1; the part has allocations. A failure is kept until it is freed. */
void vs_part_name_init(vs_part_name *name, const vs_comparison *c, const vs_diff_row *row, unsigned side);
/* Frees the texts. A failure of them becomes one of *status, unless that has one. */
void vs_part_name_deinit(vs_part_name *name, vs_status *status);

/* Whether two names of a row, one of each side, say different places: it moved, or was renamed. */
bool vs_part_names_differ(const vs_part_name *before, const vs_part_name *after);

/* Writes the row as one object of the reply. */
void vs_comparison_put_row(vs_jsonw *json, const vs_comparison *c, const vs_diff_row *row);

/* Writes the member "rows": those that are not the same, at most `most` of them. */
void vs_comparison_put_changed(vs_jsonw *json, const vs_comparison *c, uint64_t most);

/* Writes a side as the member `key`: the figures of its inventory. */
void vs_comparison_put_side(vs_jsonw *json, const vs_side *side, const char *key);

#endif
