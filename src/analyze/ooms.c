#include "analyze/ooms.h"
#include "analyze/replay.h"

static const char *const VERDICTS[VS_OOM_VERDICTS] = {
    [VS_OOM_UNKNOWN] = "unknown",       [VS_OOM_FULL] = "full",   [VS_OOM_ELSEWHERE] = "elsewhere",
    [VS_OOM_FRAGMENTED] = "fragmented", [VS_OOM_LIMIT] = "limit",
};

const char *vs_oom_verdict_name(vs_oom_verdict verdict) { return VERDICTS[verdict]; }

/* ---- free blocks ----------------------------------------------------------------------------------------- */

/* What decides whether a request may use a free block, and the largest tail of its place. */
typedef struct look {
  const vs_snapshot *snapshot;
  vs_alloc_settings settings;
  vs_segment_kind kind;
  uint32_t pool; /* 0 (unknown), or 1 + index into pools */
  uint64_t
      smallest_free; /* runs up to this size behind a block of an ordinary large segment belong to the block */
  uint64_t tail;     /* the largest free block at the end of an expandable segment of its place */
  vs_oom *oom;
} look;

/* The pool of the request: what the event says, else the default pool. 0: the file tells no pool of that name. */
static uint32_t pool_of(const vs_snapshot *s, uint32_t row) {
  const uint32_t pool = vs_events_pool(&s->events, row);
  for (uint32_t i = 0; pool == 0 && i < s->pools.count; i++)
    if (s->pools.data[i].a == 0 && s->pools.data[i].b == 0) return i + 1;
  return pool;
}

static bool is_of_kind(const look *l, const vs_state_segment *segment) {
  return segment->kind == l->kind || segment->kind == VS_SEGMENT_OTHER;
}

static bool is_of_place(const look *l, const vs_state_segment *segment) {
  return is_of_kind(l, segment) && segment->stream == l->oom->stream &&
         (segment->pool == l->pool || segment->pool == 0 || l->pool == 0);
}

/* max_split_size: small requests do not take blocks of at least that size, and larger ones not much larger blocks. */
static bool is_kept_from_it(const look *l, uint64_t size) {
  const uint64_t most = l->settings.max_split_size, wanted = l->oom->size;
  if (wanted < most) return size >= most;
  return size >= vs_sat_add_u64(wanted, l->settings.max_non_split_rounding);
}

static void add_free_block(look *l, const vs_state_segment *segment, uint64_t size, bool is_last) {
  vs_oom *oom = l->oom;
  if (size <= (segment->kind == VS_SEGMENT_LARGE && !segment->is_expandable ? l->smallest_free : 0)) return;
  oom->cached = vs_sat_add_u64(oom->cached, size);
  oom->largest_hole = vs_max_u64(oom->largest_hole, size);
  if (!is_of_kind(l, segment)) return;
  oom->largest_hole_kind = vs_max_u64(oom->largest_hole_kind, size);
  if (!is_of_place(l, segment) || is_kept_from_it(l, size)) return;
  oom->cached_usable = vs_sat_add_u64(oom->cached_usable, size);
  oom->largest_hole_area = vs_max_u64(oom->largest_hole_area, size);
  if (is_last && segment->is_expandable) l->tail = vs_max_u64(l->tail, size);
}

static void add_segment(look *l, const vs_state *state, const vs_state_segment *segment) {
  uint64_t cursor = segment->address;
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const vs_state_block *block = &state->blocks.data[segment->first_block + i];
    add_free_block(l, segment, block->address - cursor, false);
    cursor = block->address + block->size;
  }
  add_free_block(l, segment, vs_sat_add_u64(segment->address, segment->size) - cursor, true);
}

static bool has_expandable(const vs_state *state) {
  for (size_t i = 0; i < state->segments.count; i++)
    if (state->segments.data[i].is_expandable) return true;
  return false;
}

/* ---- the verdict ----------------------------------------------------------------------------------------- */

/* The largest request, up to this one, that the driver's free bytes could have served. */
static uint64_t new_memory(const look *l) {
  const vs_oom *oom = l->oom;
  const uint64_t free = oom->device_free, large = l->settings.large_segment_size;
  const bool is_small = l->kind == VS_SEGMENT_SMALL;
  if (oom->is_expandable) return vs_sat_add_u64(l->tail, free - free % (is_small ? VS_SMALL_PAGE : large));
  if (oom->size >= VS_ALLOC_MIN_LARGE) return free - free % VS_SMALL_PAGE;
  return free >= (is_small ? VS_SMALL_PAGE : large) ? oom->size : 0;
}

static vs_oom_verdict judge(const vs_oom *oom, uint64_t new_bytes) {
  const uint64_t free = oom->is_free_known && oom->is_expandable ? oom->device_free : 0;
  if (new_bytes >= oom->size) return VS_OOM_LIMIT;
  if (oom->largest_hole_area >= oom->size) return VS_OOM_UNKNOWN; /* then it would not have failed */
  if (vs_sat_add_u64(oom->cached_usable, free) >= oom->size) return VS_OOM_FRAGMENTED;
  if (vs_sat_add_u64(oom->cached, free) >= oom->size) return VS_OOM_ELSEWHERE;
  return oom->is_free_known ? VS_OOM_FULL : VS_OOM_UNKNOWN;
}

static void look_at_state(const vs_slice *slice, const vs_state *state, vs_oom *oom) {
  look l = {.snapshot = slice->snapshot, .oom = oom, .smallest_free = 0};
  bool is_known;
  vs_replay_settings_of(l.snapshot, &l.settings, &is_known);
  l.kind = oom->size <= VS_LARGEST_SMALL_REQUEST ? VS_SEGMENT_SMALL : VS_SEGMENT_LARGE;
  l.pool = pool_of(l.snapshot, vs_slice_row(slice, oom->event));
  oom->is_exact = state->is_exact;
  oom->is_expandable = l.settings.expandable_segments || has_expandable(state);
  if (!state->is_exact && !oom->is_expandable) l.smallest_free = VS_LARGEST_SMALL_REQUEST;
  oom->cached = oom->cached_usable = 0;
  oom->largest_hole = oom->largest_hole_kind = oom->largest_hole_area = 0;
  const bool has_segments = (vs_snapshot_lacks(l.snapshot) & VS_LACKS_SEGMENTS) == 0;
  for (size_t i = 0; i < state->segments.count && has_segments; i++)
    add_segment(&l, state, &state->segments.data[i]);
  oom->active = has_segments ? state->reserved - oom->cached : (uint64_t)oom->requested;
  const uint64_t new_bytes = oom->is_free_known ? new_memory(&l) : 0,
                 had = vs_max_u64(oom->largest_hole_area, new_bytes);
  oom->verdict = judge(oom, new_bytes);
  oom->is_short_known = oom->is_free_known && had < oom->size;
  oom->short_by = oom->is_short_known ? oom->size - had : 0;
}

/* ---- the full look --------------------------------------------------------------------------------------- */

static vs_status find_owners(const vs_host *host, const vs_moment_index *moments, vs_frames *frames,
                             vs_oom *oom) {
  const vs_lifetimes *lifetimes = moments->lifetimes;
  vs_liveset live;
  vs_groups stacks;
  VS_TRY(vs_liveset_at(host, lifetimes, vs_moment_index_spans(moments), oom->event, &live));
  vs_status status = vs_owners_build(host, lifetimes, live.rows.data, live.rows.count, frames, &oom->owners);
  if (status == VS_OK) {
    status = vs_groups_build(host, lifetimes, live.rows.data, live.rows.count, VS_BY_STACK, frames, &stacks);
    if (status == VS_OK) {
      oom->top = stacks.list.count > 0 ? stacks.list.data[0] : (vs_group){0};
      vs_groups_deinit(host, &stacks);
    } else {
      vs_owners_deinit(host, &oom->owners);
    }
  }
  vs_liveset_deinit(host, &live);
  return status;
}

vs_status vs_oom_look(const vs_host *host, const vs_moment_index *moments, vs_frames *frames, vs_oom *oom) {
  vs_state state;
  VS_TRY(vs_state_at(host, moments, oom->event, &state));
  const vs_status status = find_owners(host, moments, frames, oom);
  if (status == VS_OK) look_at_state(moments->lifetimes->slice, &state, oom);
  vs_state_deinit(host, &state);
  oom->is_looked_at = status == VS_OK;
  return status;
}

/* ---- the list -------------------------------------------------------------------------------------------- */

bool vs_oom_device_free(const vs_slice *slice, uint32_t event, uint64_t *bytes) {
  const vs_events *events = &slice->snapshot->events;
  const uint32_t row = vs_slice_row(slice, event);
  if ((vs_events_missing(events, row) & VS_EVENT_NO_ADDRESS) != 0) return false;
  *bytes = vs_events_address(events, row);
  return true;
}

bool vs_oom_capacity(const vs_slice *slice, uint32_t event, uint64_t reserved, uint64_t *bytes) {
  uint64_t device_free;
  if (!vs_oom_device_free(slice, event, &device_free)) return false;
  *bytes = vs_sat_add_u64(reserved, device_free);
  return true;
}

static vs_oom plain_facts(const vs_slice *slice, uint32_t event) {
  const vs_events *events = &slice->snapshot->events;
  const uint32_t row = vs_slice_row(slice, event);
  uint64_t device_free = 0;
  const bool is_free_known = vs_oom_device_free(slice, event, &device_free);
  return (vs_oom){
      .event = event,
      .stream = vs_events_stream(events, row),
      .stack = vs_events_stack(events, row),
      .time_us = vs_events_time_us(events, row),
      .size = vs_events_size(events, row),
      .is_free_known = is_free_known,
      .device_free = device_free,
  };
}

static vs_status list_ooms(const vs_host *host, const vs_slice *slice, const vs_curves *curves,
                           vs_ooms *out) {
  const vs_events *events = &slice->snapshot->events;
  vs_curve_cursor cursor = vs_curve_cursor_at_start(slice, curves);
  for (uint32_t i = 0; i < slice->other_count; i++) {
    const uint32_t event = slice->others[i];
    if (vs_events_kind(events, vs_slice_row(slice, event)) != VS_EVENT_OOM) continue;
    vs_curve_cursor_move(&cursor, event);
    VS_TRY(vs_vec_reserve(host, &out->list, 1));
    vs_oom *oom = &out->list.data[out->list.count++];
    *oom = plain_facts(slice, event);
    oom->requested = cursor.values[VS_CURVE_REQUESTED];
    oom->held = cursor.values[VS_CURVE_HELD];
    oom->reserved = cursor.values[VS_CURVE_RESERVED];
  }
  return VS_OK;
}

vs_status vs_ooms_build(const vs_host *host, const vs_moment_index *moments, const vs_curves *curves,
                        vs_frames *frames, vs_ooms *out) {
  *out = (vs_ooms){0};
  vs_status status = list_ooms(host, moments->lifetimes->slice, curves, out);
  const size_t count = out->list.count;
  for (size_t i = 0; i < count && status == VS_OK; i++)
    if (i == 0 || i + VS_OOM_LOOKS > count) status = vs_oom_look(host, moments, frames, &out->list.data[i]);
  if (status != VS_OK) vs_ooms_deinit(host, out);
  return status;
}

void vs_ooms_deinit(const vs_host *host, vs_ooms *ooms) {
  for (size_t i = 0; i < ooms->list.count; i++) vs_owners_deinit(host, &ooms->list.data[i].owners);
  vs_vec_free(host, &ooms->list);
}
