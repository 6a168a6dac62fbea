/* The spans alive at one moment after another, piled in stacking order: what a picture and a course are drawn from.
 *
 * The pile is cut into groups of up to VS_PILE_GROUP spans, each with its sum and its earliest end. So a group in which
 * nothing ends costs one step, and so does one that nobody wants to look into. New spans begin at the top, because
 * stacking order is the order of starts. */
#ifndef VS_ANALYZE_PILE_H
#define VS_ANALYZE_PILE_H

#include "analyze/spans.h"

enum { VS_PILE_GROUP = VS_HOSTILE ? 4 : 64 };

typedef struct vs_pile_chunk {
  uint64_t top[VS_PILE_GROUP]; /* the height of a span's upper edge above the lower one of the group */
  uint32_t until[VS_PILE_GROUP], row[VS_PILE_GROUP];
} vs_pile_chunk;

typedef struct vs_pile_group {
  uint64_t bytes;
  uint32_t earliest; /* the smallest until */
  uint32_t count;    /* > 0 */
  uint32_t chunk;    /* index into chunks */
} vs_pile_group;

/* Invariant: the groups hold the spans with from <= done < until, the lowest first; bytes is the sum of all, steady the
 * height below which nothing has changed with the last move; each chunk is in one group or in `spare`. */
typedef struct vs_pile {
  const vs_spans *spans;
  uint32_t done;
  uint32_t next; /* the first span with from > done */
  uint64_t bytes, steady;
  VS_VEC(vs_pile_group) groups;
  VS_VEC(vs_pile_chunk) chunks;
  VS_VEC(uint32_t) spare;
} vs_pile;

/* Empty: before the first move. */
vs_pile vs_pile_of(const vs_spans *spans);
void vs_pile_deinit(const vs_host *host, vs_pile *pile);

/* Forwards only. */
VS_MUST_CHECK vs_status vs_pile_move(const vs_host *host, vs_pile *pile, uint32_t done);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_pile_check(const vs_pile *pile);

#endif
