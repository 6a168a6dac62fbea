/* What changed between two inventories, row by row. */
#ifndef VS_DIFF_ROWS_H
#define VS_DIFF_ROWS_H

#include "diff/pairing.h"

/* What makes a row: VS_DIFF_BY(name, "what there are several of"). */
#define VS_DIFF_BYS(row)                                                                \
  row(line, "lines") row(function, "functions") row(file, "files") row(stack, "stacks") \
      row(operation, "operations") row(size, "sizes")

typedef enum vs_diff_by {
#define VS_DIFF_BY(name, plural) VS_DIFF_BY_##name,
  VS_DIFF_BYS(VS_DIFF_BY)
#undef VS_DIFF_BY
      VS_DIFF_BY_COUNT
} vs_diff_by;

/* The name and the plural of each. */
extern const char *const vs_diff_by_names[VS_DIFF_BY_COUNT];
extern const char *const vs_diff_by_plurals[VS_DIFF_BY_COUNT];

/* "line" for 1, else "lines". */
static inline const char *vs_diff_by_noun(vs_diff_by by, uint64_t count) {
  return count == 1 ? vs_diff_by_names[by] : vs_diff_by_plurals[by];
}

/* What a row has on one side. count 0: nothing. */
typedef struct vs_diff_part {
  uint64_t bytes, count; /* saturating */
  uint64_t sizes;        /* a hash of the sizes with their counts, in any order */
  uint64_t least, most;  /* the smallest and the largest size */
  uint64_t stack_bytes;  /* of `stack` */
  uint32_t
      stack; /* the stack of the side with most of the bytes, which gives the row its name; VS_SIDE_NONE: none */
} vs_diff_part;

typedef struct vs_diff_row {
  vs_diff_part parts[2]; /* before, after */
} vs_diff_row;

/* Whether it has allocations of the same sizes on both sides. */
bool vs_diff_row_is_same(const vs_diff_row *row);

/* after - before. Between INT64_MIN and INT64_MAX where the difference is beyond. */
int64_t vs_diff_row_change(const vs_diff_row *row);

/* Invariant: the parts of a side add up to the side's bytes and count where these did not saturate; the rows are in the order of
 * the size of their change, then of their larger part, the largest first, and those without a change last; no row is empty on both
 * sides. */
typedef struct vs_diff_rows {
  VS_VEC(vs_diff_row) list;
  uint64_t matched_bytes; /* the sum of the smaller part of each row: what both sides have */
} vs_diff_rows;

/* Fails: VS_NO_MEMORY, VS_LIMIT. On failure there is nothing to deinit. */
VS_MUST_CHECK vs_status vs_diff_rows_build(const vs_host *host, const vs_side sides[2],
                                           const vs_pairing *pairing, vs_diff_by by, vs_diff_rows *out);
void vs_diff_rows_deinit(const vs_host *host, vs_diff_rows *rows);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_diff_rows_check(const vs_diff_rows *rows, const vs_side sides[2]);

#endif
