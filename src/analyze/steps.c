#include "analyze/steps.h"
#include "base/sort.h"
#include "base/text.h"

const char *vs_steps_source_name(vs_steps_source source) {
  return source == VS_STEPS_ANNOTATIONS ? "annotations" : source == VS_STEPS_PATTERN ? "pattern" : "none";
}

/* ---- from annotations ---------------------------------------------------------------------------------- */

/* The STARTs that begin with `prefix`; with `only` not VS_STRING_NONE, those of just that name. */
static bool begins_step(const vs_snapshot *s, const vs_annotation *at, const vs_slice *slice, vs_str prefix,
                        uint32_t only) {
  if (at->time_us == VS_NO_TIME || (slice->device != VS_DEVICE_HOST && at->device != slice->device))
    return false;
  if (!vs_str_equal(vs_snapshot_string(s, at->stage), VS_STR("START"))) return false;
  return only != VS_STRING_NONE ? at->name == only : vs_str_starts(vs_snapshot_string(s, at->name), prefix);
}

/* The name that begins most often; of equals the one met first. Programs with two optimizers step both. */
static vs_status most_frequent(const vs_host *host, const vs_slice *slice, vs_str prefix, uint32_t *name) {
  const vs_snapshot *s = slice->snapshot;
  vs_map counts = {0};
  uint32_t best = 0;
  vs_status status = VS_OK;
  *name = VS_STRING_NONE;
  for (size_t i = 0; i < s->annotations.count && status == VS_OK; i++) {
    const vs_annotation *at = &s->annotations.data[i];
    if (!begins_step(s, at, slice, prefix, VS_STRING_NONE)) continue;
    size_t slot = vs_map_find(&counts, at->name);
    if (slot == VS_MAP_NONE) {
      status = vs_map_reserve(host, &counts);
      if (status == VS_OK) vs_map_add(&counts, at->name, 1);
    } else {
      counts.slots[slot].value++;
    }
  }
  for (size_t i = 0; i < s->annotations.count && status == VS_OK; i++) {
    const size_t slot = vs_map_find(&counts, s->annotations.data[i].name);
    if (slot == VS_MAP_NONE || counts.slots[slot].value <= best) continue;
    best = counts.slots[slot].value;
    *name = s->annotations.data[i].name;
  }
  vs_map_deinit(host, &counts);
  return status;
}

static vs_status add_boundary(const vs_host *host, vs_steps *out, uint32_t event) {
  if (out->boundaries.count > 0 && out->boundaries.data[out->boundaries.count - 1] >= event) return VS_OK;
  VS_TRY(vs_vec_reserve(host, &out->boundaries, 1));
  out->boundaries.data[out->boundaries.count++] = event;
  return VS_OK;
}

/* The first event at or after each START; none where nothing happened in between. */
static vs_status boundaries_at(const vs_host *host, const vs_slice *slice, const vs_sort_pair *starts,
                               size_t count, vs_steps *out) {
  uint32_t event = 0;
  for (size_t i = 0; i < count; i++) {
    const int64_t start = slice->snapshot->annotations.data[starts[i].value].time_us;
    while (event < slice->event_count && vs_slice_time(slice, event) < start) event++;
    if (event == slice->event_count) return VS_OK;
    VS_TRY(add_boundary(host, out, event));
  }
  return VS_OK;
}

static vs_status from_annotations(const vs_host *host, const vs_slice *slice, vs_str prefix, uint32_t only,
                                  vs_steps *out) {
  const vs_snapshot *s = slice->snapshot;
  VS_VEC(vs_sort_pair) starts = {0};
  vs_status status = VS_OK;
  for (size_t i = 0; i < s->annotations.count && status == VS_OK; i++) {
    const vs_annotation *at = &s->annotations.data[i];
    if (!begins_step(s, at, slice, prefix, only)) continue;
    status = vs_vec_reserve(host, &starts, 1);
    if (status == VS_OK)
      starts.data[starts.count++] = (vs_sort_pair){(uint64_t)at->time_us ^ (UINT64_C(1) << 63), (uint32_t)i};
  }
  if (status == VS_OK) status = vs_sort_pairs(host, starts.data, starts.count);
  if (status == VS_OK) status = boundaries_at(host, slice, starts.data, starts.count, out);
  if (status == VS_OK && out->boundaries.count >= 2) {
    out->source = VS_STEPS_ANNOTATIONS;
    out->anchor = s->annotations.data[starts.data[0].value].name;
  } else {
    out->boundaries.count = 0;
  }
  vs_vec_free(host, &starts);
  return status;
}

/* ---- from a pattern ------------------------------------------------------------------------------------ */

/* An allocation by who asked and for how much, and how regularly it comes back. The first distance is not judged: a
 * first step warms up. */
typedef struct signature {
  uint64_t size;
  uint32_t stack;
  uint32_t count;
  uint32_t first, last;       /* events */
  uint32_t shortest, longest; /* distances in events */
} signature;

/* A step has its kinds of allocations in the thousands; what comes later than this many others is not looked at. */
enum { FEWEST_RETURNS = 4, SHORTEST_STEP = 6, MOST_SIGNATURES = VS_HOSTILE ? 64 : 16384 };

typedef struct signatures {
  const vs_host *host;
  VS_VEC(signature) list;
  vs_map by_hash;
  uint64_t allocs; /* all that were noted or passed over */
} signatures;

static vs_status note(signatures *all, uint32_t stack, uint64_t size, uint32_t event) {
  const uint64_t hash =
      vs_hash_mix(size ^ UINT64_C(0x8bb84b93962eacc9), stack ^ UINT64_C(0x2d358dccaa6c78a5));
  size_t slot = vs_map_find(&all->by_hash, hash);
  all->allocs++;
  for (; slot != VS_MAP_NONE; slot = vs_map_find_next(&all->by_hash, slot)) {
    signature *old = &all->list.data[all->by_hash.slots[slot].value];
    if (old->size != size || old->stack != stack) continue;
    const uint32_t distance = event - old->last;
    if (old->count >= 2) {
      if (distance < old->shortest) old->shortest = distance;
      if (distance > old->longest) old->longest = distance;
    }
    old->count++;
    old->last = event;
    return VS_OK;
  }
  if (all->list.count >= MOST_SIGNATURES) return VS_OK;
  VS_TRY(vs_vec_reserve(all->host, &all->list, 1));
  VS_TRY(vs_map_reserve(all->host, &all->by_hash));
  vs_map_add(&all->by_hash, hash, (uint32_t)all->list.count);
  all->list.data[all->list.count++] = (signature){
      .size = size, .stack = stack, .count = 1, .first = event, .last = event, .shortest = UINT32_MAX};
  return VS_OK;
}

/* Nearly equal distances over at least half of the trace: what repeats inside one step only is no step. */
static bool is_regular(const signature *s, uint32_t events) {
  return s->count >= FEWEST_RETURNS && s->shortest >= SHORTEST_STEP &&
         s->longest <= s->shortest + s->shortest / 2 && s->last - s->first >= events / 2;
}

/* The signatures that come back a certain number of times. */
typedef struct ballot {
  uint32_t returns;
  uint32_t all, regular;
} ballot;

typedef struct ballots {
  VS_VEC(ballot) list;
  vs_map by_returns;
} ballots;

static vs_status vote(const vs_host *host, ballots *votes, const signature *s, uint32_t events) {
  size_t slot = vs_map_find(&votes->by_returns, s->count);
  if (slot == VS_MAP_NONE) {
    VS_TRY(vs_vec_reserve(host, &votes->list, 1));
    VS_TRY(vs_map_reserve(host, &votes->by_returns));
    vs_map_add(&votes->by_returns, s->count, (uint32_t)votes->list.count);
    votes->list.data[votes->list.count++] = (ballot){.returns = s->count};
    slot = vs_map_find(&votes->by_returns, s->count);
  }
  ballot *b = &votes->list.data[votes->by_returns.slots[slot].value];
  b->all++;
  b->regular += is_regular(s, events);
  return VS_OK;
}

/* Most allocations of a step come once in it. So the number of returns that most regular signatures share is the number
 * of steps; of equals the smaller. Where most of those that come back as often are not regular, it is chance. */
static const ballot *most_regular(const ballots *votes) {
  const ballot *best = NULL;
  for (size_t i = 0; i < votes->list.count; i++) {
    const ballot *b = &votes->list.data[i];
    if (b->regular == 0 || b->regular < b->all - b->regular) continue;
    if (best == NULL || b->regular > best->regular ||
        (b->regular == best->regular && b->returns < best->returns))
      best = b;
  }
  return best;
}

/* Chance finds a few regular signatures among many. In a loop they are not so few, and a good part of all that is
 * allocated comes back in every step. */
static bool is_loop(const signatures *all, const ballots *votes, const ballot *best) {
  uint64_t returning = 0, covered = 0;
  for (size_t i = 0; i < votes->list.count; i++) {
    const ballot *b = &votes->list.data[i];
    returning += b->all;
    if (b->returns + 1 >= best->returns) covered += (uint64_t)b->all * b->returns;
  }
  return best->regular >= returning / 16 && covered >= all->allocs / 8;
}

/* The anchor is the first regular signature of those that come once a step; NULL if nothing repeats. */
static vs_status choose(const signatures *all, uint32_t events, const signature **anchor) {
  ballots votes = {0};
  vs_status status = VS_OK;
  *anchor = NULL;
  for (size_t i = 0; i < all->list.count && status == VS_OK; i++)
    if (all->list.data[i].count >= FEWEST_RETURNS)
      status = vote(all->host, &votes, &all->list.data[i], events);
  const ballot *best = status == VS_OK ? most_regular(&votes) : NULL;
  if (best != NULL && !is_loop(all, &votes, best)) best = NULL;
  for (size_t i = 0; i < all->list.count && *anchor == NULL && best != NULL; i++)
    if (all->list.data[i].count == best->returns && is_regular(&all->list.data[i], events))
      *anchor = &all->list.data[i];
  vs_vec_free(all->host, &votes.list);
  vs_map_deinit(all->host, &votes.by_returns);
  return status;
}

/* Calls note() for each allocation, or, once there is an anchor, makes its events boundaries. */
static vs_status walk_allocs(const vs_slice *slice, signatures *all, const signature *anchor, vs_steps *out) {
  const vs_events *events = &slice->snapshot->events;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    const uint32_t row = vs_slice_row(slice, event);
    if (vs_events_kind(events, row) != VS_EVENT_ALLOC) continue;
    const uint32_t stack = vs_events_stack(events, row);
    const uint64_t size = vs_events_size(events, row);
    if (anchor == NULL) VS_TRY(note(all, stack, size, event));
    else if (anchor->stack == stack && anchor->size == size) VS_TRY(add_boundary(all->host, out, event));
  }
  return VS_OK;
}

static vs_status from_pattern(const vs_host *host, const vs_slice *slice, vs_steps *out) {
  signatures all = {.host = host};
  const signature *anchor = NULL;
  vs_status status = walk_allocs(slice, &all, NULL, out);
  if (status == VS_OK) status = choose(&all, slice->event_count, &anchor);
  if (status == VS_OK && anchor != NULL) {
    status = walk_allocs(slice, &all, anchor, out);
    out->source = VS_STEPS_PATTERN;
    out->anchor = anchor->stack;
    out->anchor_size = anchor->size;
  }
  vs_vec_free(host, &all.list);
  vs_map_deinit(host, &all.by_hash);
  return status;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static vs_status build(const vs_host *host, const vs_slice *slice, vs_steps *out) {
  uint32_t name;
  VS_TRY(from_annotations(host, slice, VS_STR("ProfilerStep#"), VS_STRING_NONE, out));
  if (out->source != VS_STEPS_NONE) return VS_OK;
  VS_TRY(most_frequent(host, slice, VS_STR("Optimizer.step#"), &name));
  if (name != VS_STRING_NONE) VS_TRY(from_annotations(host, slice, VS_STR("Optimizer.step#"), name, out));
  if (out->source != VS_STEPS_NONE) return VS_OK;
  return from_pattern(host, slice, out);
}

vs_status vs_steps_build(const vs_host *host, const vs_slice *slice, vs_steps *out) {
  *out = (vs_steps){.source = VS_STEPS_NONE};
  const vs_status status = build(host, slice, out);
  if (status != VS_OK) vs_steps_deinit(host, out);
  return status;
}

void vs_steps_deinit(const vs_host *host, vs_steps *steps) { vs_vec_free(host, &steps->boundaries); }
