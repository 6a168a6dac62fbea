/* From a trace to requests: see replay.h. */
#include "analyze/replay.h"

#include "analyze/end_state.h"

#define MOST_SLACK   ((uint64_t)VS_SMALL_PAGE / 2) /* of a large block: less is not split off */
#define MOST_RESERVE (UINT64_C(1) << 42)

typedef struct planner {
  const vs_host *host;
  const vs_slice *slice;
  const vs_events *events;
  vs_replay_plan *out;
  vs_segment_index segments;
  vs_alloc_settings settings; /* as recorded */
  uint32_t seen;              /* steps so far */
  uint32_t window;            /* the first of them that belongs to the request that is to come */
  uint64_t reserved;          /* after them */
} planner;

static bool is_step(vs_event_kind kind) {
  return kind >= VS_EVENT_SEGMENT_ALLOC && kind <= VS_EVENT_SEGMENT_UNMAP;
}

static uint64_t reserved_after(uint64_t reserved, const vs_replay_step *step) {
  return vs_replay_gives(step->kind) ? vs_sat_add_u64(reserved, step->size)
                                     : reserved - vs_min_u64(reserved, step->size);
}

/* All steps, and how much was reserved at most. */
static vs_status steps_collect(planner *p) {
  vs_replay_plan *out = p->out;
  uint64_t reserved = out->reserved_peak = out->start.reserved;
  for (uint32_t event = 0; event < p->slice->event_count; event++) {
    const uint32_t row = vs_slice_row(p->slice, event);
    const vs_event_kind kind = vs_events_kind(p->events, row);
    if (!is_step(kind)) continue;
    VS_TRY(vs_vec_reserve(p->host, &out->steps, 1));
    const vs_replay_step step = {
        .address = vs_events_address(p->events, row),
        .size = vs_events_size(p->events, row),
        .stream = vs_replay_stream(p->slice->snapshot, vs_events_stream(p->events, row)),
        .pool = vs_events_pool(p->events, row),
        .event = event,
        .kind = kind,
    };
    out->steps.data[out->steps.count++] = step;
    reserved = reserved_after(reserved, &step);
    out->reserved_peak = vs_max_u64(out->reserved_peak, reserved);
  }
  return VS_OK;
}

static vs_status request_add(planner *p, vs_replay_request request, uint32_t steps) {
  VS_TRY(vs_vec_reserve(p->host, &p->out->requests, 1));
  request.steps = steps;
  p->out->requests.data[p->out->requests.count++] = request;
  p->window = steps;
  return VS_OK;
}

/* ---- which request the released segments belong to ----------------------------------------------------------- */

typedef enum giver {
  LADDER,  /* the request's own, which the device had refused */
  EMPTIER, /* empty_cache() before it */
  DOUBTFUL /* probably empty_cache() */
} giver;

static bool is_private(const planner *p, uint32_t pool) {
  return pool != 0 && !vs_pool_id_is_default(p->slice->snapshot->pools.data[pool - 1]);
}

/* Whether one of the released segments would have served the request: then the request itself did not release them. */
static bool would_serve(const planner *p, const vs_replay_step *step, uint32_t row, uint32_t pool) {
  const uint64_t size = vs_events_size(p->events, row), most = p->settings.max_split_size;
  if (step->stream != vs_replay_stream(p->slice->snapshot, vs_events_stream(p->events, row))) return false;
  if (step->pool != pool || step->size < size) return false;
  if ((step->size == VS_SMALL_PAGE) != (size <= VS_SMALL_PAGE / 2)) return false;
  return size < most ? step->size < most : step->size - size < p->settings.max_non_split_rounding;
}

/* The request's own events have its stack. */
typedef enum likeness { SAME_STACK, OTHER_STACK, NO_STACK } likeness;

static likeness compare_stacks(const planner *p, uint32_t begin, uint32_t end, uint32_t row) {
  const uint32_t stack = vs_events_stack(p->events, row);
  if (stack == VS_LIST_NONE || stack == VS_LIST_EMPTY) return NO_STACK;
  for (uint32_t i = begin; i < end; i++) {
    const uint32_t other = vs_events_stack(p->events, vs_slice_row(p->slice, p->out->steps.data[i].event));
    if (other == VS_LIST_NONE || other == VS_LIST_EMPTY) return NO_STACK;
    if (other != stack) return OTHER_STACK;
  }
  return SAME_STACK;
}

/* Whether more was reserved at another time than the request would have made it: then the card need not
 * have been full. */
static bool had_room(const planner *p, uint32_t begin, uint32_t row) {
  uint64_t before = p->reserved;
  for (uint32_t i = p->seen; i-- > begin;) {
    const vs_replay_step *step = &p->out->steps.data[i];
    before = vs_replay_gives(step->kind) ? before - vs_min_u64(before, step->size)
                                         : vs_sat_add_u64(before, step->size);
  }
  return vs_sat_add_u64(before, vs_events_size(p->events, row)) <= p->out->reserved_peak;
}

/* Of the steps [begin, end), which stand before the request `row` or before its own steps. */
static giver judge(const planner *p, uint32_t begin, uint32_t end, uint32_t row, uint32_t pool) {
  bool is_all_private = true;
  for (uint32_t i = begin; i < end; i++) {
    const vs_replay_step *step = &p->out->steps.data[i];
    if (would_serve(p, step, row, pool)) return EMPTIER;
    is_all_private &= is_private(p, step->pool);
  }
  const likeness stacks = compare_stacks(p, begin, end, row);
  if (stacks == SAME_STACK) return LADDER;
  if (is_all_private || is_private(p, pool)) return EMPTIER;
  return stacks == OTHER_STACK || had_room(p, begin, row) ? DOUBTFUL : LADDER;
}

static vs_status empty_add(planner *p, uint32_t end, bool is_doubtful) {
  const vs_replay_request request = {.event = p->out->steps.data[p->window].event,
                                     .lifetime = VS_NO_ROW,
                                     .kind = VS_REPLAY_EMPTY,
                                     .is_doubtful = is_doubtful};
  p->out->empties++;
  return request_add(p, request, end);
}

/* The end of one empty_cache(), which releases the segments of the default pool first, then those of private
 * pools. */
static uint32_t empty_end(const planner *p, uint32_t end) {
  const vs_replay_step *steps = p->out->steps.data;
  uint32_t stop = p->window + 1;
  while (stop < end && (!is_private(p, steps[stop - 1].pool) || is_private(p, steps[stop].pool))) stop++;
  return stop;
}

/* Steps up to `end` that belong to no request. */
static vs_status empties_add(planner *p, uint32_t end) {
  while (p->window < end) VS_TRY(empty_add(p, empty_end(p, end), false));
  return VS_OK;
}

/* Steps before a request that are not its own. */
static vs_status split_window(planner *p, uint32_t row, bool is_alloc, uint32_t pool) {
  const uint32_t count = p->seen;
  uint32_t end = p->window;
  while (end < count && !vs_replay_gives(p->out->steps.data[end].kind)) end++;
  if (end == count && is_alloc) return empties_add(p, end);
  while (p->window < end) {
    const uint32_t stop = empty_end(p, end);
    const giver who = stop < end ? EMPTIER : judge(p, p->window, stop, row, pool);
    if (who == LADDER) break;
    VS_TRY(empty_add(p, stop, who == DOUBTFUL));
  }
  return VS_OK;
}

/* ---- events -------------------------------------------------------------------------------------------- */

static uint32_t pool_of(const planner *p, uint32_t row, uint32_t lifetime) {
  const uint32_t recorded = vs_events_pool(p->events, row);
  if (recorded != 0 || !p->out->has_private_pools || lifetime == VS_NO_ROW) return recorded;
  return vs_lifetime_pool(p->out->lifetimes, &p->segments, &p->out->lifetimes->rows.data[lifetime]);
}

/* Whether the steps of the request that is to come give memory back, or those left to it. */
static bool was_refused(const planner *p) {
  const size_t count = p->out->requests.count;
  if (count > 0 && p->out->requests.data[count - 1].is_doubtful) return true;
  for (uint32_t i = p->window; i < p->seen; i++)
    if (!vs_replay_gives(p->out->steps.data[i].kind)) return true;
  return false;
}

static vs_status alloc_add(planner *p, uint32_t event, uint32_t row, bool is_alloc) {
  const uint32_t lifetime = is_alloc ? p->out->lifetimes->row_of_event.data[event] : VS_NO_ROW;
  const uint32_t pool = pool_of(p, row, lifetime);
  VS_TRY(split_window(p, row, is_alloc, pool));
  return request_add(p,
                     (vs_replay_request){
                         .size = vs_events_size(p->events, row),
                         .event = event,
                         .lifetime = lifetime,
                         .stream = vs_events_stream(p->events, row),
                         .pool = pool,
                         .kind = is_alloc ? VS_REPLAY_ALLOC : VS_REPLAY_FAIL,
                         .was_refused = !is_alloc || was_refused(p),
                     },
                     p->seen);
}

/* The event that freed a block, if its row has it: see vs_closing. */
static bool is_the_free(const planner *p, uint32_t event, vs_event_kind kind, const vs_lifetime *life) {
  if (p->out->lifetimes->closing.only_completion)
    return kind == VS_EVENT_FREE_COMPLETED && life->end == event;
  return kind == VS_EVENT_FREE_REQUESTED && life->free_requested == event;
}

static vs_status free_add(planner *p, uint32_t event, vs_event_kind kind) {
  const uint32_t lifetime = p->out->lifetimes->row_of_event.data[event];
  if (lifetime == VS_NO_ROW) return VS_OK;
  const vs_lifetime *life = &p->out->lifetimes->rows.data[lifetime];
  if (!is_the_free(p, event, kind, life)) return VS_OK;
  if (p->seen > p->window && !vs_replay_gives(p->out->steps.data[p->seen - 1].kind))
    VS_TRY(empties_add(p, p->seen));
  if (life->end != event && life->end != event + 1) p->out->pendings++;
  return request_add(p, (vs_replay_request){.event = event, .lifetime = lifetime, .kind = VS_REPLAY_FREE},
                     p->window);
}

static vs_status event_add(planner *p, uint32_t event) {
  const uint32_t row = vs_slice_row(p->slice, event);
  const vs_event_kind kind = vs_events_kind(p->events, row);
  if (is_step(kind)) {
    p->reserved = reserved_after(p->reserved, &p->out->steps.data[p->seen++]);
    return VS_OK;
  }
  switch (kind) {
    case VS_EVENT_ALLOC: return alloc_add(p, event, row, true);
    case VS_EVENT_OOM: return alloc_add(p, event, row, false);
    case VS_EVENT_FREE_REQUESTED:
    case VS_EVENT_FREE_COMPLETED: return free_add(p, event, kind);
    default: return VS_OK;
  }
}

/* ---- blocks of the start ------------------------------------------------------------------------------- */

static uint64_t end_of(const vs_state_block *block) { return block->address + block->size; }

/* In a large segment that cannot grow, what is too small to be split off belongs to the block before it. */
static void take_slack(vs_state *start) {
  for (size_t i = 0; i < start->segments.count; i++) {
    const vs_state_segment *segment = &start->segments.data[i];
    if (segment->is_expandable || segment->kind == VS_SEGMENT_SMALL || segment->block_count == 0) continue;
    vs_state_block *blocks = &start->blocks.data[segment->first_block];
    for (uint32_t b = 0; b < segment->block_count; b++) {
      const bool is_last = b + 1 == segment->block_count;
      const uint64_t next = is_last ? segment->address + segment->size : blocks[b + 1].address;
      if (blocks[b].row == VS_NO_ROW && next - end_of(&blocks[b]) <= MOST_SLACK)
        blocks[b].size = next - blocks[b].address;
    }
  }
}

/* The last block of the start that begins before `address`; VS_NO_ROW: none. */
static uint32_t block_before(const vs_state *start, uint64_t address) {
  uint32_t low = 0, high = start->outside;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (start->blocks.data[middle].address < address) low = middle + 1;
    else high = middle;
  }
  return low == 0 ? VS_NO_ROW : low - 1;
}

static bool is_there(const vs_lifetime *life, uint32_t event) {
  const uint32_t gone = life->free_requested != VS_NO_EVENT ? life->free_requested : life->end;
  return gone == VS_NO_EVENT || gone > event;
}

/* The first allocation after a block of the start, made while that is live, begins where the free block after it
 * began. `until`: by block, the end of its segment if the block may be larger than it shows; 0 if not, or once the
 * size is known. */
static void sharpen(const vs_replay_plan *plan, vs_state *start, uint64_t *until) {
  for (size_t r = 0; r < plan->requests.count; r++) {
    const vs_replay_request *request = &plan->requests.data[r];
    if (request->kind != VS_REPLAY_ALLOC) continue;
    const uint64_t address = plan->lifetimes->rows.data[request->lifetime].address;
    const uint32_t at = block_before(start, address);
    if (at == VS_NO_ROW || until[at] <= address) continue;
    vs_state_block *block = &start->blocks.data[at];
    until[at] = 0;
    if (address < end_of(block) || address - end_of(block) > MOST_SLACK) continue;
    if (is_there(&plan->lifetimes->rows.data[block->lifetime], request->event))
      block->size = address - block->address;
  }
}

static void find_unsure(const vs_state *start, uint64_t *until) {
  for (size_t i = 0; i < start->segments.count; i++) {
    const vs_state_segment *segment = &start->segments.data[i];
    const bool has_slack = !segment->is_expandable && segment->kind != VS_SEGMENT_SMALL;
    for (uint32_t b = segment->first_block; b < segment->first_block + segment->block_count; b++) {
      const vs_state_block *block = &start->blocks.data[b];
      const bool is_known = block->row != VS_NO_ROW || block->lifetime == VS_NO_ROW;
      until[b] = has_slack && !is_known ? segment->address + segment->size : 0;
    }
  }
}

static vs_status blocks_measure(planner *p) {
  vs_state *start = &p->out->start;
  take_slack(start);
  if (start->outside == 0 || p->out->requests.count == 0) return VS_OK;
  uint64_t *until = vs_host_alloc(p->host, start->outside * sizeof *until);
  if (until == NULL) return VS_NO_MEMORY;
  find_unsure(start, until);
  sharpen(p->out, start, until);
  vs_host_free(p->host, until, start->outside * sizeof *until);
  return VS_OK;
}

/* ---- reserves of expandable segments ------------------------------------------------------------------- */

/* What one stream has of one pool in expandable segments: they lie in one reserve while any of them is
 * mapped. */
typedef struct lane {
  uint64_t stream, low, high, mapped;
  uint32_t pool;
  bool is_small;
} lane;

enum { MOST_LANES = 64 };

typedef struct lane_list {
  lane list[MOST_LANES];
  uint32_t count;
} lane_list;

static lane *lane_find(lane_list *lanes, uint64_t stream, uint32_t pool, bool is_small) {
  for (uint32_t i = 0; i < lanes->count; i++) {
    lane *l = &lanes->list[i];
    if (l->stream == stream && l->is_small == is_small && (l->pool == pool || l->pool == 0 || pool == 0))
      return l;
  }
  if (lanes->count == MOST_LANES) return NULL;
  lane *l = &lanes->list[lanes->count++];
  *l = (lane){.stream = stream, .pool = pool, .is_small = is_small, .low = UINT64_MAX};
  return l;
}

static void lane_widen(vs_replay_plan *plan, lane *l, uint64_t address, uint64_t size) {
  const uint64_t low = vs_min_u64(l->low, address), high = vs_max_u64(l->high, vs_sat_add_u64(address, size));
  if (high - low > MOST_RESERVE) return; /* these are two reserves, or the file contradicts itself */
  l->low = low;
  l->high = high;
  plan->widest = vs_max_u64(plan->widest, high - low);
}

/* A reserve ends when none of its pages is mapped. */
static void lane_step(vs_replay_plan *plan, lane_list *lanes, const vs_replay_step *step) {
  const bool is_map = step->kind == VS_EVENT_SEGMENT_MAP;
  if (!is_map && step->kind != VS_EVENT_SEGMENT_UNMAP) return;
  const bool is_small = is_map ? step->size == VS_SMALL_PAGE : step->size % VS_LARGE_PAGE != 0;
  lane *l = lane_find(lanes, step->stream, step->pool, is_small);
  if (l == NULL) return;
  if (is_map) {
    l->mapped = vs_sat_add_u64(l->mapped, step->size);
    lane_widen(plan, l, step->address, step->size);
  } else {
    l->mapped -= vs_min_u64(l->mapped, step->size);
    if (l->mapped == 0)
      *l = (lane){.stream = l->stream, .pool = l->pool, .is_small = l->is_small, .low = UINT64_MAX};
  }
}

static void lanes_of_start(vs_replay_plan *plan, lane_list *lanes) {
  const vs_snapshot *snapshot = plan->lifetimes->slice->snapshot;
  for (size_t i = 0; i < plan->start.segments.count; i++) {
    const vs_state_segment *segment = &plan->start.segments.data[i];
    if (!segment->is_expandable) continue;
    lane *l = lane_find(lanes, vs_replay_stream(snapshot, segment->stream), segment->pool,
                        segment->kind == VS_SEGMENT_SMALL);
    if (l == NULL) continue;
    l->mapped = vs_sat_add_u64(l->mapped, segment->size);
    lane_widen(plan, l, segment->address, segment->size);
  }
}

/* Pages below those of the start that are the first to be mapped belong to the same reserve: the lowest
 * room is taken. */
static void bases_lower(const vs_replay_plan *plan, lane_list *lanes) {
  bool is_met[MOST_LANES] = {false};
  for (size_t i = 0; i < plan->steps.count; i++) {
    const vs_replay_step *step = &plan->steps.data[i];
    if (step->kind != VS_EVENT_SEGMENT_MAP) continue;
    const uint32_t count = lanes->count;
    const lane *found = lane_find(lanes, step->stream, step->pool, step->size == VS_SMALL_PAGE);
    lanes->count = count;
    if (found == NULL || found - lanes->list >= (ptrdiff_t)count || is_met[found - lanes->list]) continue;
    lane *l = &lanes->list[found - lanes->list];
    is_met[found - lanes->list] = true;
    if (step->address < l->low && l->low - step->address <= MOST_RESERVE) l->low = step->address;
  }
}

static vs_status bases_set(planner *p, lane_list *lanes) {
  vs_replay_plan *plan = p->out;
  VS_TRY(vs_vec_reserve(p->host, &plan->bases, plan->start.segments.count));
  for (size_t i = 0; i < plan->start.segments.count; i++) {
    const vs_state_segment *segment = &plan->start.segments.data[i];
    uint64_t base = 0;
    if (segment->is_expandable) {
      const lane *l = lane_find(lanes, vs_replay_stream(p->slice->snapshot, segment->stream), segment->pool,
                                segment->kind == VS_SEGMENT_SMALL);
      const bool is_near =
          l != NULL && l->low <= segment->address && segment->address - l->low <= MOST_RESERVE;
      base = is_near ? l->low : segment->address;
    }
    plan->bases.data[plan->bases.count++] = base;
  }
  return VS_OK;
}

static vs_status reserves_measure(planner *p) {
  lane_list lanes = {.count = 0};
  lanes_of_start(p->out, &lanes);
  lane_list later = lanes;
  bases_lower(p->out, &lanes);
  VS_TRY(bases_set(p, &lanes));
  for (size_t i = 0; i < p->out->steps.count; i++) lane_step(p->out, &later, &p->out->steps.data[i]);
  return VS_OK;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static vs_status requests_collect(planner *p) {
  p->reserved = p->out->start.reserved;
  VS_TRY(vs_vec_reserve(p->host, &p->out->requests, p->slice->event_count / 3 * 2 + 1));
  for (uint32_t event = 0; event < p->slice->event_count; event++) VS_TRY(event_add(p, event));
  if (p->seen > p->window && !vs_replay_gives(p->out->steps.data[p->seen - 1].kind))
    VS_TRY(empties_add(p, p->seen));
  return VS_OK;
}

static vs_status build(planner *p) {
  VS_TRY(vs_state_build(p->host, p->out->lifetimes, VS_AT_START, &p->out->start));
  VS_TRY(steps_collect(p));
  VS_TRY(requests_collect(p));
  VS_TRY(blocks_measure(p));
  return reserves_measure(p);
}

static bool has_private(const vs_snapshot *snapshot) {
  for (size_t i = 0; i < snapshot->pools.count; i++)
    if (!vs_pool_id_is_default(snapshot->pools.data[i])) return true;
  return false;
}

static bool has_streams(const vs_replay_plan *plan) {
  const vs_snapshot *snapshot = plan->lifetimes->slice->snapshot;
  bool has = false;
  for (size_t i = 0; i < plan->requests.count && !has; i++)
    has = vs_replay_stream(snapshot, plan->requests.data[i].stream) != 0;
  for (size_t i = 0; i < plan->start.segments.count && !has; i++)
    has = vs_replay_stream(snapshot, plan->start.segments.data[i].stream) != 0;
  return has;
}

vs_status vs_replay_plan_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_replay_plan *out) {
  const vs_slice *slice = lifetimes->slice;
  *out = (vs_replay_plan){.lifetimes = lifetimes,
                          .has_private_pools = has_private(slice->snapshot),
                          .knows_pools = slice->snapshot->events.pool != NULL};
  planner p = {.host = host, .slice = slice, .events = &slice->snapshot->events, .out = out};
  bool is_known;
  vs_replay_settings_of(slice->snapshot, &p.settings, &is_known);
  VS_TRY(vs_segment_index_build(host, slice, &p.segments));
  const vs_status status = build(&p);
  vs_segment_index_deinit(host, &p.segments);
  if (status != VS_OK) vs_replay_plan_deinit(host, out);
  else out->has_streams = has_streams(out);
  return status;
}

void vs_replay_plan_deinit(const vs_host *host, vs_replay_plan *plan) {
  vs_state_deinit(host, &plan->start);
  vs_vec_free(host, &plan->requests);
  vs_vec_free(host, &plan->steps);
  vs_vec_free(host, &plan->bases);
}

const char *vs_replay_plan_check(const vs_replay_plan *plan) {
  uint32_t steps = 0;
  for (size_t i = 0; i < plan->requests.count; i++) {
    const vs_replay_request *request = &plan->requests.data[i];
    if (request->steps < steps) return "steps of requests do not rise";
    steps = request->steps;
    const bool names_block = request->kind == VS_REPLAY_ALLOC || request->kind == VS_REPLAY_FREE;
    if (names_block && request->lifetime >= plan->lifetimes->rows.count) return "a request without its block";
  }
  if (steps > plan->steps.count) return "more steps than there are";
  if (plan->bases.count != plan->start.segments.count) return "a segment without its base";
  return vs_state_check(&plan->start);
}
