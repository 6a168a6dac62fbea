#include "analyze/pile.h"

vs_pile vs_pile_of(const vs_spans *spans) { return (vs_pile){.spans = spans}; }

void vs_pile_deinit(const vs_host *host, vs_pile *pile) {
  vs_vec_free(host, &pile->groups);
  vs_vec_free(host, &pile->chunks);
  vs_vec_free(host, &pile->spare);
}

/* ---- taking out what has ended ------------------------------------------------------------------------- */

static vs_pile_chunk *chunk_of(vs_pile *pile, const vs_pile_group *group) {
  return &pile->chunks.data[group->chunk];
}

/* Closes the gaps of those that have ended. */
static void thin(vs_pile *pile, vs_pile_group *group, uint32_t done) {
  vs_pile_chunk *chunk = chunk_of(pile, group);
  uint32_t kept = 0, earliest = VS_STILL_ALIVE;
  uint64_t below = 0, top = 0; /* of those that were there, of those that stay */
  for (uint32_t i = 0; i < group->count; i++) {
    const uint32_t until = chunk->until[i];
    const uint64_t size = chunk->top[i] - below;
    below = chunk->top[i];
    if (until <= done) continue;
    if (until < earliest) earliest = until;
    top += size;
    chunk->top[kept] = top;
    chunk->until[kept] = until;
    chunk->row[kept++] = chunk->row[i];
  }
  *group = (vs_pile_group){.bytes = top, .earliest = earliest, .count = kept, .chunk = group->chunk};
}

static void give_back(vs_pile *pile, const vs_pile_group *group) {
  pile->spare.data[pile->spare.count++] = group->chunk; /* there is room, see add_group */
}

/* Puts a group upon the one below it, where both fit into one. */
static bool join(vs_pile *pile, vs_pile_group *below, const vs_pile_group *group) {
  if (below->count + group->count > VS_PILE_GROUP) return false;
  vs_pile_chunk *to = chunk_of(pile, below), *from = chunk_of(pile, group);
  for (uint32_t i = 0; i < group->count; i++) to->top[below->count + i] = below->bytes + from->top[i];
  memcpy(to->until + below->count, from->until, group->count * sizeof *to->until);
  memcpy(to->row + below->count, from->row, group->count * sizeof *to->row);
  below->count += group->count;
  below->bytes += group->bytes;
  if (group->earliest < below->earliest) below->earliest = group->earliest;
  give_back(pile, group);
  return true;
}

/* The height below the first span of a group that has ended, above the group's lower edge. */
static uint64_t height_below_ended(vs_pile *pile, const vs_pile_group *group, uint32_t done) {
  const vs_pile_chunk *chunk = chunk_of(pile, group);
  uint32_t i = 0;
  while (chunk->until[i] > done) i++;
  return i == 0 ? 0 : chunk->top[i - 1];
}

static void take_out(vs_pile *pile, uint32_t done) {
  vs_pile_group *groups = pile->groups.data;
  size_t kept = 0, at = 0;
  uint64_t below = 0;
  while (at < pile->groups.count && groups[at].earliest > done) below += groups[at++].bytes;
  kept = at;
  if (at < pile->groups.count) pile->steady = below + height_below_ended(pile, &groups[at], done);
  for (; at < pile->groups.count; at++) {
    vs_pile_group group = groups[at];
    const bool is_thinner = group.earliest <= done;
    if (is_thinner) thin(pile, &group, done);
    below += group.bytes;
    if (group.count == 0) give_back(pile, &group);
    else if (kept == 0 || !join(pile, &groups[kept - 1], &group)) groups[kept++] = group;
  }
  pile->groups.count = kept;
  pile->bytes = below;
}

/* ---- putting on what has begun ------------------------------------------------------------------------- */

/* An empty group at the top. For each chunk there is a place in `spare`. */
static vs_status add_group(const vs_host *host, vs_pile *pile) {
  VS_TRY(vs_vec_reserve(host, &pile->groups, 1));
  if (pile->spare.count == 0) {
    VS_TRY(vs_vec_reserve(host, &pile->chunks, 1));
    VS_TRY(vs_vec_reserve(host, &pile->spare, pile->chunks.count + 1));
    pile->spare.data[pile->spare.count++] = (uint32_t)pile->chunks.count++;
  }
  pile->groups.data[pile->groups.count++] =
      (vs_pile_group){.earliest = VS_STILL_ALIVE, .chunk = pile->spare.data[--pile->spare.count]};
  return VS_OK;
}

static vs_status put_on(const vs_host *host, vs_pile *pile, uint32_t span) {
  const vs_spans *spans = pile->spans;
  const size_t groups = pile->groups.count;
  if (groups == 0 || pile->groups.data[groups - 1].count == VS_PILE_GROUP) VS_TRY(add_group(host, pile));
  vs_pile_group *group = &pile->groups.data[pile->groups.count - 1];
  vs_pile_chunk *chunk = chunk_of(pile, group);
  const uint32_t at = group->count++, until = spans->until.data[span];
  group->bytes += spans->size.data[span];
  pile->bytes += spans->size.data[span];
  chunk->top[at] = group->bytes;
  chunk->until[at] = until;
  chunk->row[at] = spans->row.data[span];
  if (until < group->earliest) group->earliest = until;
  return VS_OK;
}

vs_status vs_pile_move(const vs_host *host, vs_pile *pile, uint32_t done) {
  const vs_spans *spans = pile->spans;
  VS_ASSERT(done >= pile->done);
  pile->steady = pile->bytes;
  pile->done = done;
  take_out(pile, done);
  uint32_t span = pile->next;
  const uint32_t *from = spans->from.data, *until = spans->until.data, *latest = spans->latest.data;
  while (span < spans->count && from[span] <= done) {
    if (span % VS_SPAN_GROUP == 0 && latest[span / VS_SPAN_GROUP] <= done) {
      span += VS_SPAN_GROUP; /* perhaps behind some that have not begun, but they cannot have ended, either */
      continue;
    }
    if (until[span] > done) VS_TRY(put_on(host, pile, span));
    span++;
  }
  pile->next = span;
  return VS_OK;
}

const char *vs_pile_check(const vs_pile *pile) {
  uint64_t bytes = 0;
  uint32_t span = 0;
  if (pile->groups.count + pile->spare.count != pile->chunks.count) return "chunks are lost";
  for (size_t g = 0; g < pile->groups.count; g++) {
    const vs_pile_group *group = &pile->groups.data[g];
    const vs_pile_chunk *chunk = &pile->chunks.data[group->chunk];
    uint64_t sum = 0;
    uint32_t earliest = VS_STILL_ALIVE;
    if (group->count == 0 || group->count > VS_PILE_GROUP) return "a group of a wrong size";
    for (uint32_t i = 0; i < group->count; i++, span++) {
      span = vs_spans_next(pile->spans, pile->done, span);
      if (span >= pile->spans->count || chunk->row[i] != pile->spans->row.data[span])
        return "not the spans alive";
      sum += pile->spans->size.data[span];
      if (chunk->top[i] != sum) return "a wrong edge";
      if (chunk->until[i] < earliest) earliest = chunk->until[i];
    }
    if (sum != group->bytes) return "a wrong sum";
    if (earliest != group->earliest) return "a wrong end";
    bytes += sum;
  }
  if (vs_spans_next(pile->spans, pile->done, span) != pile->spans->count) return "a span is missing";
  return bytes == pile->bytes ? NULL : "a wrong height";
}
