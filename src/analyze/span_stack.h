/* The spans alive at successive moments, in stacking order. Pictures are drawn from it.
 *
 * The stack is cut into groups of up to VS_SPAN_STACK_GROUP spans, each with its sum and its earliest end. So a
 * group in which nothing ends costs one step, and so does a group that a caller skips. New spans are added at the
 * top, because stacking order is the order of starts. */
#ifndef VS_ANALYZE_SPAN_STACK_H
#define VS_ANALYZE_SPAN_STACK_H

#include "analyze/spans.h"

enum { VS_SPAN_STACK_GROUP = VS_HOSTILE ? 4 : 64 };

typedef struct vs_span_stack_chunk {
  uint64_t top[VS_SPAN_STACK_GROUP]; /* height of the span's upper edge above the lower edge of the group */
  uint32_t until[VS_SPAN_STACK_GROUP], row[VS_SPAN_STACK_GROUP];
} vs_span_stack_chunk;

typedef struct vs_span_stack_group {
  uint64_t bytes;
  uint32_t earliest; /* the smallest until */
  uint32_t count;    /* > 0 */
  uint32_t chunk;    /* index into chunks */
} vs_span_stack_group;

/* Invariant: the groups contain the spans with from <= done < until, the lowest first; bytes is the sum of all,
 * steady the height below which the last move changed nothing; each chunk is in one group or in `spare`. */
typedef struct vs_span_stack {
  const vs_spans *spans;
  uint32_t done;
  uint32_t next; /* the first span with from > done */
  uint64_t bytes, steady;
  VS_VEC(vs_span_stack_group) groups;
  VS_VEC(vs_span_stack_chunk) chunks;
  VS_VEC(uint32_t) spare;
} vs_span_stack;

/* An empty stack, before the first move. It borrows the spans. */
vs_span_stack vs_span_stack_of(const vs_spans *spans);
void vs_span_stack_deinit(const vs_host *host, vs_span_stack *span_stack);

/* Moves to a later moment, or to the same. */
VS_MUST_CHECK vs_status vs_span_stack_move(const vs_host *host, vs_span_stack *span_stack, uint32_t done);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_span_stack_check(const vs_span_stack *span_stack);

#endif
