#include "analyze/replay_trail.h"
#include "analyze/replay_course.h"
#include "base/sort.h"

/* ---- while it runs ------------------------------------------------------------------------------------- */

static uint64_t reserved_now(const vs_replay_course *r) {
  return (uint64_t)vs_alloc_statistics_of(r->alloc)->part[VS_ALLOC_ALL].current[VS_ALLOC_RESERVED_BYTES];
}

static uint64_t last_level(const vs_replay_trail *trail) {
  return trail->levels.count == 0 ? trail->start : trail->levels.data[trail->levels.count - 1].reserved;
}

void vs_replay_trail_begin(vs_replay_course *r) {
  if (r->options->trail != NULL) r->options->trail->start = reserved_now(r);
}

/* Several requests of one event make one level, and none where the last one restores the bytes before the event. */
vs_status vs_replay_trail_step(vs_replay_course *r, uint32_t event) {
  vs_replay_trail *trail = r->options->trail;
  if (trail == NULL) return VS_OK;
  const uint64_t reserved = reserved_now(r);
  if (trail->levels.count != 0 && trail->levels.data[trail->levels.count - 1].event == event)
    trail->levels.count--;
  VS_ASSERT(trail->levels.count == 0 || trail->levels.data[trail->levels.count - 1].event < event);
  if (last_level(trail) == reserved) return VS_OK;
  VS_TRY(vs_vec_reserve(r->host, &trail->levels, 1));
  trail->levels.data[trail->levels.count++] = (vs_replay_level){.event = event, .reserved = reserved};
  return VS_OK;
}

/* ---- the segments and blocks at its end ---------------------------------------------------------------- */

typedef struct names {
  const vs_replay_course *course;
  vs_state *state;
  vs_replay_names places;
  VS_VEC(vs_sort_pair) rows; /* (address, row), sorted */
  size_t next;               /* of rows: blocks are visited by rising address */
} names;

static vs_status name_rows(names *n) {
  const vs_replay_course *r = n->course;
  const size_t rows = r->plan->lifetimes->rows.count;
  for (size_t row = 0; row < rows; row++) {
    if (r->addresses[row] == 0) continue;
    VS_TRY(vs_vec_reserve(r->host, &n->rows, 1));
    n->rows.data[n->rows.count++] = (vs_sort_pair){.key = r->addresses[row], .value = (uint32_t)row};
  }
  return vs_sort_pairs(r->host, n->rows.data, n->rows.count);
}

static vs_status add_segment(void *ctx, const vs_alloc_segment_info *info) {
  names *n = ctx;
  vs_state *state = n->state;
  VS_TRY(vs_vec_reserve(n->course->host, &state->segments, 1));
  state->segments.data[state->segments.count++] = (vs_state_segment){
      .address = info->address,
      .size = info->size,
      .stream = vs_replay_names_stream(&n->places, info->stream),
      .pool = vs_replay_names_pool(&n->places, info->pool),
      .first_block = (uint32_t)state->blocks.count,
      .row = VS_NO_ROW,
      .kind = info->is_small ? VS_SEGMENT_SMALL : VS_SEGMENT_LARGE,
      .is_expandable = info->is_expandable,
  };
  state->reserved += info->size;
  return VS_OK;
}

/* The row of a block that is allocated; a block whose free is pending has left `addresses`. */
static uint32_t row_of(names *n, uint64_t address) {
  while (n->next < n->rows.count && n->rows.data[n->next].key < address) n->next++;
  return n->next < n->rows.count && n->rows.data[n->next].key == address ? n->rows.data[n->next].value
                                                                         : VS_NO_ROW;
}

static vs_status add_block(void *ctx, const vs_alloc_block_info *info) {
  names *n = ctx;
  vs_state *state = n->state;
  if (info->state == VS_ALLOC_BLOCK_FREE) return VS_OK;
  VS_TRY(vs_vec_reserve(n->course->host, &state->blocks, 1));
  VS_ASSERT(state->segments.count != 0);
  state->blocks.data[state->blocks.count++] = (vs_state_block){
      .address = info->address,
      .size = info->size,
      .requested = info->requested,
      .lifetime = row_of(n, info->address),
      .row = VS_NO_ROW,
      .is_pending = info->state == VS_ALLOC_BLOCK_PENDING,
  };
  state->segments.data[state->segments.count - 1].block_count++;
  state->requested += info->requested;
  return VS_OK;
}

static vs_status take_state(names *n) {
  const vs_alloc_visitor visitor = {.ctx = n, .segment = add_segment, .block = add_block};
  VS_TRY(vs_replay_names_init(n->course, &n->places));
  VS_TRY(name_rows(n));
  return vs_alloc_visit(n->course->alloc, (vs_pool_id){0, 0}, &visitor);
}

vs_status vs_replay_trail_end(vs_replay_course *r) {
  vs_replay_trail *trail = r->options->trail;
  if (trail == NULL || !trail->wants_state) return VS_OK;
  const uint32_t last = r->out->last_event;
  names n = {.course = r, .state = &trail->state};
  const vs_status status = take_state(&n);
  trail->state.moment = last == VS_NO_EVENT ? VS_AT_START : (vs_moment)last;
  trail->state.is_exact = true;
  trail->state.outside = (uint32_t)trail->state.blocks.count;
  vs_replay_names_deinit(r->host, &n.places);
  vs_vec_free(r->host, &n.rows);
  return status;
}

void vs_replay_trail_deinit(const vs_host *host, vs_replay_trail *trail) {
  vs_vec_free(host, &trail->levels);
  if (trail->wants_state) vs_state_deinit(host, &trail->state);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* The number of levels that begin at or before a moment. */
static size_t levels_until(const vs_replay_trail *trail, vs_moment moment) {
  size_t low = 0, high = trail->levels.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if ((vs_moment)trail->levels.data[middle].event <= moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

void vs_replay_trail_between(const vs_replay_trail *trail, vs_moment first, vs_moment last, uint64_t *high,
                             uint64_t *low) {
  VS_ASSERT(first <= last);
  const size_t from = levels_until(trail, first), to = levels_until(trail, last);
  *high = *low = from == 0 ? trail->start : trail->levels.data[from - 1].reserved;
  for (size_t i = from; i < to; i++) {
    *high = vs_max_u64(*high, trail->levels.data[i].reserved);
    *low = vs_min_u64(*low, trail->levels.data[i].reserved);
  }
}

const char *vs_replay_trail_check(const vs_replay_trail *trail) {
  uint64_t before = trail->start;
  for (size_t i = 0; i < trail->levels.count; i++) {
    const vs_replay_level *level = &trail->levels.data[i];
    if (i > 0 && level->event <= trail->levels.data[i - 1].event) return "events of levels that do not rise";
    if (level->reserved == before) return "a level that changes nothing";
    before = level->reserved;
  }
  return NULL;
}
