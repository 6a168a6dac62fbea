#include "analyze/steps.h"
#include "base/sort.h"
#include "base/text.h"

const char *vs_steps_source_name(vs_steps_source source) {
  static const char *const names[] = {[VS_STEPS_NONE] = "none",
                                      [VS_STEPS_ANNOTATIONS] = "annotations",
                                      [VS_STEPS_ROUNDS] = "rounds",
                                      [VS_STEPS_PATTERN] = "pattern"};
  return names[source];
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
  const int64_t *times = vs_slice_times(slice);
  uint32_t event = 0;
  for (size_t i = 0; i < count && times != NULL; i++) {
    const int64_t start = slice->snapshot->annotations.data[starts[i].value].time_us;
    while (event < slice->event_count && times[event] < start) event++; /* VS_NO_TIME is before every time */
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

/* An allocation by its stack and size, how regularly it comes back, and whether the same allocations are made in between. The
 * first distance is not judged: a first step warms up. */
typedef struct signature {
  uint64_t size;
  uint32_t stack;
  uint64_t before; /* hash of the allocation or free before it; 0: any */
  uint32_t count;
  uint32_t first, last;       /* events */
  uint32_t shortest, longest; /* distances in events */
  uint32_t equal;             /* rounds with the same allocations as the round before */
  uint64_t allocs;            /* of all signatures, when it came last */
  uint64_t sum, round;        /* `signatures.sum` then, and its increase over the last round */
  uint64_t first_alloc;       /* `allocs` when it came first */
} signature;

/* A step has its kinds of allocations in the thousands; what comes later than this many others is not looked at. */
enum { FEWEST_RETURNS = 4, SHORTEST_STEP = 6, MOST_SIGNATURES = VS_HOSTILE ? 2048 : 16384 };

typedef struct signatures {
  const vs_host *host;
  VS_VEC(signature) list;
  vs_map by_hash;
  uint64_t allocs; /* all that were noted or passed over */
  uint64_t sum;    /* of their hashes: rounds with equal allocations, in any order, add the same */
} signatures;

/* Another return of a signature. */
static void note_return(const signatures *all, signature *s, uint32_t event) {
  const uint32_t distance = event - s->last;
  const uint64_t round = all->sum - s->sum;
  if (s->count >= 2) {
    if (distance < s->shortest) s->shortest = distance;
    if (distance > s->longest) s->longest = distance;
    s->equal += round == s->round;
  }
  s->count++;
  s->last = event;
  s->allocs = all->allocs;
  s->sum = all->sum;
  s->round = round;
}

/* An allocation or a free, by its stack and size. */
static uint64_t hash_of(vs_event_kind kind, uint32_t stack, uint64_t size) {
  return vs_hash_mix(size ^ UINT64_C(0x8bb84b93962eacc9),
                     stack ^ UINT64_C(0x2d358dccaa6c78a5) ^ (uint64_t)kind << 40);
}

static vs_status note(signatures *all, uint64_t before, uint32_t stack, uint64_t size, uint32_t event) {
  const uint64_t own = hash_of(VS_EVENT_ALLOC, stack, size), hash = own ^ vs_hash_u64(before);
  size_t slot = vs_map_find(&all->by_hash, hash);
  all->allocs++;
  all->sum += vs_hash_u64(own);
  for (; slot != VS_MAP_NONE; slot = vs_map_find_next(&all->by_hash, slot)) {
    signature *old = &all->list.data[all->by_hash.slots[slot].value];
    if (old->size != size || old->stack != stack || old->before != before) continue;
    note_return(all, old, event);
    return VS_OK;
  }
  if (all->list.count >= MOST_SIGNATURES) return VS_OK;
  VS_TRY(vs_vec_reserve(all->host, &all->list, 1));
  VS_TRY(vs_map_reserve(all->host, &all->by_hash));
  vs_map_add(&all->by_hash, hash, (uint32_t)all->list.count);
  all->list.data[all->list.count++] = (signature){.size = size,
                                                  .stack = stack,
                                                  .before = before,
                                                  .count = 1,
                                                  .first = event,
                                                  .last = event,
                                                  .shortest = UINT32_MAX,
                                                  .allocs = all->allocs,
                                                  .first_alloc = all->allocs,
                                                  .sum = all->sum};
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
 * of steps; of equals the smaller. If most signatures with that number of returns are not regular, the regular ones are chance. */
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

/* A few of many signatures are regular by chance. In a loop more of them are, and they cover a good part of all
 * allocations. */
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

/* ---- rounds -------------------------------------------------------------------------------------------- */

/* Whether nearly all rounds of the signature make the same allocations, and make up half of all. A few differ from the one
 * before: the first ones warm up, and something is logged now and then. */
static bool repeats_exactly(const signatures *all, const signature *s, uint32_t events) {
  if (s->count <= VS_STEPS_ROUNDS_FEWEST) return false;
  const uint32_t pairs = s->count - 2;
  return pairs - s->equal <= 2 + pairs / 8 && s->last - s->first >= events / 2 &&
         s->allocs - s->first_alloc >= all->allocs / 2;
}

static const signature *choose_round(const signatures *all, uint32_t events) {
  const signature *best = NULL;
  for (size_t i = 0; i < all->list.count; i++) {
    const signature *s = &all->list.data[i];
    if ((best == NULL || s->count > best->count) && repeats_exactly(all, s, events)) best = s;
  }
  return best;
}

/* ---- what code repeats ------------------------------------------------------------------------------------ */

enum { MOST_CALLERS = 64 };

/* The callers that the stacks of one step have in common, outermost first: their Python frames or, in C programs, the
 * user's. `is_one_function`: below them all are in one function, or there is nothing below them. */
typedef struct callers {
  uint32_t frames[MOST_CALLERS];
  uint32_t count;
  uint32_t next; /* the frame below them; VS_NO_FRAME: none */
  bool is_set, is_one_function;
} callers;

static bool is_same_function(const vs_frames *frames, uint32_t a, uint32_t b) {
  const vs_frame *all = frames->snapshot->stacks.frames.data;
  return a != VS_NO_FRAME && b != VS_NO_FRAME && all[a].name == all[b].name && all[a].file == all[b].file;
}

/* Keeps what the callers have in common with those of another stack; `next` is then the frame of either below it. */
static void meet(const vs_frames *frames, callers *c, const callers *other) {
  if (!c->is_set) {
    *c = *other;
    return;
  }
  uint32_t same = 0;
  while (same < c->count && same < other->count && c->frames[same] == other->frames[same]) same++;
  const uint32_t mine = same < c->count ? c->frames[same] : c->next,
                 theirs = same < other->count ? other->frames[same] : VS_NO_FRAME;
  if (same < c->count) c->is_one_function = is_same_function(frames, mine, theirs);
  else if (theirs != c->next)
    c->is_one_function &= c->next == VS_NO_FRAME || is_same_function(frames, c->next, theirs);
  c->count = same;
  c->next = mine != VS_NO_FRAME ? mine : theirs;
}

/* The callers of one stack; false if it has none. */
static bool callers_of(vs_frames *frames, uint32_t stack, callers *out) {
  *out = (callers){.next = VS_NO_FRAME, .is_set = true, .is_one_function = true};
  if (stack == VS_LIST_NONE) return false;
  const vs_list list = vs_lists_at(&frames->snapshot->stacks.lists, stack);
  for (size_t i = list.count; i-- > 0 && out->count < MOST_CALLERS;) {
    const vs_frame_kind kind = vs_frames_kind(frames, list.items[i]);
    if (vs_frames_is_border(frames, list.items[i])) out->count = 0; /* above it is the forward pass */
    if (kind == VS_FRAME_KIND_user || kind == VS_FRAME_KIND_library)
      out->frames[out->count++] = list.items[i];
  }
  return out->count > 0;
}

/* Code that repeats over the parts of a model. */
static bool is_of_model(const vs_frames *frames, uint32_t frame) {
  const vs_snapshot *s = frames->snapshot;
  const vs_frame *f = &s->stacks.frames.data[frame];
  const vs_str file = vs_snapshot_string(s, f->file);
  return vs_str_contains(file, VS_STR("torch/nn/modules/")) ||
         vs_str_contains(file, VS_STR("torch/optim/")) ||
         vs_str_contains(file, VS_STR("torch\\nn\\modules\\")) ||
         vs_str_contains(file, VS_STR("torch\\optim\\")) ||
         vs_str_equal(vs_snapshot_string(s, f->name), VS_STR("__init__"));
}

/* The common callers of a step in the middle. */
static callers callers_of_step(const vs_slice *slice, vs_frames *frames, const vs_steps *steps) {
  const vs_events *events = &slice->snapshot->events;
  const size_t middle = steps->boundaries.count / 2;
  callers all = {.next = VS_NO_FRAME}, one;
  VS_ASSERT(middle > 0);
  for (uint32_t event = steps->boundaries.data[middle - 1]; event < steps->boundaries.data[middle]; event++) {
    const uint32_t row = vs_slice_row(slice, event);
    if (vs_events_kind(events, row) == VS_EVENT_ALLOC &&
        callers_of(frames, vs_events_stack(events, row), &one))
      meet(frames, &all, &one);
  }
  return all;
}

static bool may_be_steps(const vs_slice *slice, vs_frames *frames, const vs_steps *steps) {
  if (steps->boundaries.count < 2) return false;
  const callers c = callers_of_step(slice, frames, steps);
  for (uint32_t i = 0; i < c.count; i++)
    if (is_of_model(frames, c.frames[i])) return false;
  if (steps->source == VS_STEPS_PATTERN) return true;
  return c.is_set && (c.count > 0 || c.is_one_function);
}

/* ---- from the trace ------------------------------------------------------------------------------------- */

/* The allocations of a slice one after the other, each with the hash of the allocation or free before it. */
typedef struct alloc_walk {
  const vs_slice *slice;
  uint32_t event, stack;
  uint64_t size, before, sum; /* sum: of the hashes of frees between the last two allocations */
  uint64_t last;              /* hash of the last allocation or free */
} alloc_walk;

static bool next_alloc(alloc_walk *w) {
  const vs_events *events = &w->slice->snapshot->events;
  for (w->sum = 0, w->event++; w->event < w->slice->event_count; w->event++) {
    const uint32_t row = vs_slice_row(w->slice, w->event);
    const vs_event_kind kind = vs_events_kind(events, row);
    if (kind != VS_EVENT_ALLOC && kind != VS_EVENT_FREE_REQUESTED) continue;
    w->stack = vs_events_stack(events, row);
    w->size = vs_events_size(events, row);
    w->before = w->last;
    w->last = hash_of(kind, w->stack, w->size);
    if (kind == VS_EVENT_ALLOC) return true;
    w->sum += vs_hash_u64(w->last);
  }
  return false;
}

static vs_status note_allocs(const vs_slice *slice, bool with_frees, signatures *all) {
  alloc_walk w = {.slice = slice, .event = UINT32_MAX};
  while (next_alloc(&w)) {
    if (with_frees) all->sum += w.sum;
    VS_TRY(note(all, with_frees ? w.before : 0, w.stack, w.size, w.event));
  }
  return VS_OK;
}

static void signatures_deinit(signatures *all) {
  vs_vec_free(all->host, &all->list);
  vs_map_deinit(all->host, &all->by_hash);
}

/* Makes the steps that begin with the anchor, if they may be steps. */
static vs_status take_anchor(const vs_host *host, const vs_slice *slice, vs_frames *frames,
                             const signature *anchor, vs_steps_source source, vs_steps *out) {
  if (anchor == NULL) return VS_OK;
  *out = (vs_steps){
      .source = source, .anchor = anchor->stack, .anchor_size = anchor->size, .boundaries = out->boundaries};
  alloc_walk w = {.slice = slice, .event = UINT32_MAX};
  while (next_alloc(&w))
    if (w.stack == anchor->stack && w.size == anchor->size &&
        (anchor->before == 0 || anchor->before == w.before))
      VS_TRY(add_boundary(host, out, w.event));
  if (may_be_steps(slice, frames, out)) return VS_OK;
  out->boundaries.count = 0;
  *out = (vs_steps){.source = VS_STEPS_NONE, .boundaries = out->boundaries};
  return VS_OK;
}

/* If one allocation is made several times in a round, the allocation or free before it identifies the one that begins the
 * round. Frees are only examined if the allocations come in rounds, and are ignored if they come at arbitrary times. */
static vs_status refine_rounds(const vs_host *host, const vs_slice *slice, vs_frames *frames,
                               const signature *anchor, vs_steps *out) {
  signatures all = {.host = host};
  vs_status status = note_allocs(slice, true, &all);
  const signature *finer = status == VS_OK ? choose_round(&all, slice->event_count) : NULL;
  const bool is_other =
      finer != NULL && finer->count + 1 < anchor->count; /* the first has nothing before it */
  if (status == VS_OK)
    status = take_anchor(host, slice, frames, is_other ? finer : anchor, VS_STEPS_ROUNDS, out);
  signatures_deinit(&all);
  return status;
}

static vs_status from_trace(const vs_host *host, const vs_slice *slice, vs_frames *frames, vs_steps *out) {
  signatures all = {.host = host};
  vs_status status = note_allocs(slice, false, &all);
  const signature *anchor = status == VS_OK ? choose_round(&all, slice->event_count) : NULL;
  if (anchor != NULL) status = refine_rounds(host, slice, frames, anchor, out);
  if (status == VS_OK && out->source == VS_STEPS_NONE) {
    status = choose(&all, slice->event_count, &anchor);
    if (status == VS_OK) status = take_anchor(host, slice, frames, anchor, VS_STEPS_PATTERN, out);
  }
  signatures_deinit(&all);
  return status;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static vs_status build(const vs_host *host, const vs_slice *slice, vs_frames *frames, vs_steps *out) {
  uint32_t name;
  VS_TRY(from_annotations(host, slice, VS_STR("ProfilerStep#"), VS_STRING_NONE, out));
  if (out->source != VS_STEPS_NONE) return VS_OK;
  VS_TRY(most_frequent(host, slice, VS_STR("Optimizer.step#"), &name));
  if (name != VS_STRING_NONE) VS_TRY(from_annotations(host, slice, VS_STR("Optimizer.step#"), name, out));
  if (out->source != VS_STEPS_NONE) return VS_OK;
  return from_trace(host, slice, frames, out);
}

vs_status vs_steps_build(const vs_host *host, const vs_slice *slice, vs_frames *frames, vs_steps *out) {
  *out = (vs_steps){.source = VS_STEPS_NONE};
  const vs_status status = build(host, slice, frames, out);
  if (status != VS_OK) vs_steps_deinit(host, out);
  return status;
}

void vs_steps_deinit(const vs_host *host, vs_steps *steps) { vs_vec_free(host, &steps->boundaries); }
