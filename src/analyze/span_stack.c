#include "analyze/span_stack.h"

vs_span_stack vs_span_stack_of(const vs_spans *spans) { return (vs_span_stack){.spans = spans}; }

void vs_span_stack_deinit(const vs_host *host, vs_span_stack *span_stack) {
  vs_vec_free(host, &span_stack->groups);
  vs_vec_free(host, &span_stack->chunks);
  vs_vec_free(host, &span_stack->spare);
}

/* ---- removing spans that have ended -------------------------------------------------------------------- */

static vs_span_stack_chunk *chunk_of(vs_span_stack *span_stack, const vs_span_stack_group *group) {
  VS_ASSERT(group->chunk < span_stack->chunks.count && group->count <= VS_SPAN_STACK_GROUP);
  return &span_stack->chunks.data[group->chunk];
}

/* Removes the spans of a group that have ended, and moves those above them down. */
static void thin(vs_span_stack *span_stack, vs_span_stack_group *group, uint32_t done) {
  vs_span_stack_chunk *chunk = chunk_of(span_stack, group);
  uint32_t kept = 0, earliest = VS_STILL_ALIVE;
  uint64_t below = 0, top = 0; /* heights: with the ended spans, and without them */
  for (uint32_t i = 0; i < group->count; i++) {
    const uint32_t until = chunk->until[i];
    const uint64_t size = chunk->top[i] - below;
    VS_ASSERT(chunk->top[i] >= below);
    below = chunk->top[i];
    if (until <= done) continue;
    if (until < earliest) earliest = until;
    top += size;
    chunk->top[kept] = top;
    chunk->until[kept] = until;
    chunk->row[kept++] = chunk->row[i];
  }
  *group = (vs_span_stack_group){.bytes = top, .earliest = earliest, .count = kept, .chunk = group->chunk};
}

static void give_back(vs_span_stack *span_stack, const vs_span_stack_group *group) {
  VS_ASSERT(span_stack->spare.count <
            span_stack->spare.capacity); /* add_group reserves a place for each chunk */
  span_stack->spare.data[span_stack->spare.count++] = group->chunk;
}

/* Appends a group to the one below it, if both fit into one. */
static bool join(vs_span_stack *span_stack, vs_span_stack_group *below, const vs_span_stack_group *group) {
  if (below->count + group->count > VS_SPAN_STACK_GROUP) return false;
  vs_span_stack_chunk *to = chunk_of(span_stack, below), *from = chunk_of(span_stack, group);
  for (uint32_t i = 0; i < group->count; i++) to->top[below->count + i] = below->bytes + from->top[i];
  memcpy(to->until + below->count, from->until, group->count * sizeof *to->until);
  memcpy(to->row + below->count, from->row, group->count * sizeof *to->row);
  below->count += group->count;
  below->bytes += group->bytes;
  if (group->earliest < below->earliest) below->earliest = group->earliest;
  give_back(span_stack, group);
  return true;
}

/* The height of the first ended span of a group above the group's lower edge. The group must have one. */
static uint64_t height_below_ended(vs_span_stack *span_stack, const vs_span_stack_group *group,
                                   uint32_t done) {
  const vs_span_stack_chunk *chunk = chunk_of(span_stack, group);
  uint32_t i = 0;
  VS_ASSERT(group->earliest <= done);
  while (chunk->until[i] > done) i++;
  VS_ASSERT(i < group->count);
  return i == 0 ? 0 : chunk->top[i - 1];
}

static void take_out(vs_span_stack *span_stack, uint32_t done) {
  vs_span_stack_group *groups = span_stack->groups.data;
  size_t kept = 0, at = 0;
  uint64_t below = 0;
  while (at < span_stack->groups.count && groups[at].earliest > done) below += groups[at++].bytes;
  kept = at;
  if (at < span_stack->groups.count)
    span_stack->steady = below + height_below_ended(span_stack, &groups[at], done);
  for (; at < span_stack->groups.count; at++) {
    vs_span_stack_group group = groups[at];
    const bool is_thinner = group.earliest <= done;
    if (is_thinner) thin(span_stack, &group, done);
    below += group.bytes;
    if (group.count == 0) give_back(span_stack, &group);
    else if (kept == 0 || !join(span_stack, &groups[kept - 1], &group)) groups[kept++] = group;
  }
  span_stack->groups.count = kept;
  span_stack->bytes = below;
  VS_ASSERT(span_stack->steady <= span_stack->bytes);
}

/* ---- adding spans that have begun ---------------------------------------------------------------------- */

/* Adds an empty group at the top. `spare` has room for every chunk, so that give_back cannot fail. */
static vs_status add_group(const vs_host *host, vs_span_stack *span_stack) {
  VS_TRY(vs_vec_reserve(host, &span_stack->groups, 1));
  if (span_stack->spare.count == 0) {
    VS_TRY(vs_vec_reserve(host, &span_stack->chunks, 1));
    VS_TRY(vs_vec_reserve(host, &span_stack->spare, span_stack->chunks.count + 1));
    span_stack->spare.data[span_stack->spare.count++] = (uint32_t)span_stack->chunks.count++;
  }
  span_stack->groups.data[span_stack->groups.count++] = (vs_span_stack_group){
      .earliest = VS_STILL_ALIVE, .chunk = span_stack->spare.data[--span_stack->spare.count]};
  return VS_OK;
}

static vs_status put_on(const vs_host *host, vs_span_stack *span_stack, uint32_t span) {
  const vs_spans *spans = span_stack->spans;
  const size_t groups = span_stack->groups.count;
  if (groups == 0 || span_stack->groups.data[groups - 1].count == VS_SPAN_STACK_GROUP)
    VS_TRY(add_group(host, span_stack));
  vs_span_stack_group *group = &span_stack->groups.data[span_stack->groups.count - 1];
  vs_span_stack_chunk *chunk = chunk_of(span_stack, group);
  const uint32_t at = group->count++, until = spans->until.data[span];
  VS_ASSERT(at < VS_SPAN_STACK_GROUP && until > span_stack->done);
  group->bytes += spans->size.data[span];
  span_stack->bytes += spans->size.data[span];
  chunk->top[at] = group->bytes;
  chunk->until[at] = until;
  chunk->row[at] = spans->row.data[span];
  if (until < group->earliest) group->earliest = until;
  return VS_OK;
}

vs_status vs_span_stack_move(const vs_host *host, vs_span_stack *span_stack, uint32_t done) {
  const vs_spans *spans = span_stack->spans;
  VS_ASSERT(done >= span_stack->done);
  span_stack->steady = span_stack->bytes;
  span_stack->done = done;
  take_out(span_stack, done);
  uint32_t span = span_stack->next;
  const uint32_t *from = spans->from.data, *until = spans->until.data, *latest = spans->latest.data;
  while (span < spans->count && from[span] <= done) {
    if (span % VS_SPAN_GROUP == 0 && latest[span / VS_SPAN_GROUP] <= done) {
      span += VS_SPAN_GROUP; /* all of the group have ended, so all of it have begun */
      continue;
    }
    if (until[span] > done) VS_TRY(put_on(host, span_stack, span));
    span++;
  }
  span_stack->next = span;
  VS_ASSERT(span_stack->next <= spans->count + VS_SPAN_GROUP - 1);
  return VS_OK;
}

const char *vs_span_stack_check(const vs_span_stack *span_stack) {
  uint64_t bytes = 0;
  uint32_t span = 0;
  if (span_stack->groups.count + span_stack->spare.count != span_stack->chunks.count)
    return "chunks are lost";
  for (size_t g = 0; g < span_stack->groups.count; g++) {
    const vs_span_stack_group *group = &span_stack->groups.data[g];
    const vs_span_stack_chunk *chunk = &span_stack->chunks.data[group->chunk];
    uint64_t sum = 0;
    uint32_t earliest = VS_STILL_ALIVE;
    if (group->count == 0 || group->count > VS_SPAN_STACK_GROUP) return "a group of a wrong size";
    for (uint32_t i = 0; i < group->count; i++, span++) {
      span = vs_spans_next(span_stack->spans, span_stack->done, span);
      if (span >= span_stack->spans->count || chunk->row[i] != span_stack->spans->row.data[span])
        return "not the spans alive";
      sum += span_stack->spans->size.data[span];
      if (chunk->top[i] != sum) return "a wrong edge";
      if (chunk->until[i] < earliest) earliest = chunk->until[i];
    }
    if (sum != group->bytes) return "a wrong sum";
    if (earliest != group->earliest) return "a wrong end";
    bytes += sum;
  }
  if (vs_spans_next(span_stack->spans, span_stack->done, span) != span_stack->spans->count)
    return "a span is missing";
  return bytes == span_stack->bytes ? NULL : "a wrong height";
}
