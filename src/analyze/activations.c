#include "analyze/activations.h"

#include "analyze/arrange.h"
#include "analyze/passes.h"

/* What the allocations of one line were freed by, in bytes. */
typedef struct tally {
  uint64_t by_backward, by_others;
} tally;

typedef struct builder {
  const vs_host *host;
  const vs_lifetimes *lifetimes;
  vs_frames *frames;
  uint32_t event;
  vs_activations *out;
  vs_keys keys;
  vs_passes passes;
  VS_VEC(uint64_t) freed_in_backward; /* one bit for each event */
  VS_VEC(tally) tallies;              /* by key */
  VS_VEC(uint32_t) group_of_key;      /* by key: 0, or 1 + index into out->lines */
} builder;

static bool has_bit(const uint64_t *bits, uint32_t at) { return (bits[at / 64] >> at % 64 & 1) != 0; }
static void set_bit(uint64_t *bits, uint32_t at) { bits[at / 64] |= UINT64_C(1) << at % 64; }

static bool is_backward(builder *b, uint32_t stack) { return vs_passes_is_backward(&b->passes, stack); }

#define FILL(host, vec, entries)                                                                    \
  (vs_vec_reserve(host, vec, entries) == VS_OK                                                      \
       ? (memset((vec)->data, 0, (entries) * sizeof *(vec)->data), (vec)->count = (entries), VS_OK) \
       : VS_NO_MEMORY)

static vs_status prepare(builder *b) {
  const vs_slice *slice = b->lifetimes->slice;
  const size_t words = (size_t)slice->event_count / 64 + 1, rows = b->lifetimes->rows.count / 64 + 1;
  VS_TRY(vs_passes_init(b->host, b->frames, &b->passes));
  VS_TRY(FILL(b->host, &b->freed_in_backward, words));
  VS_TRY(FILL(b->host, &b->out->events, words));
  VS_TRY(FILL(b->host, &b->out->rows, rows));
  VS_TRY(vs_keys_init(&b->keys, b->host, slice, VS_BY_LINE, b->frames));
  VS_TRY(FILL(b->host, &b->tallies, b->keys.bound));
  return FILL(b->host, &b->group_of_key, b->keys.bound);
}

/* Marks the frees between two allocations of the backward pass. */
static void frees_mark(builder *b) {
  const vs_slice *slice = b->lifetimes->slice;
  const vs_events *events = &slice->snapshot->events;
  uint32_t since = VS_NO_EVENT; /* the last allocation, if it was of the backward pass */
  for (uint32_t event = 0; event < slice->event_count && event <= b->event; event++) {
    const uint32_t row = vs_slice_row(slice, event);
    if (vs_events_kind(events, row) != VS_EVENT_ALLOC) continue;
    const bool is_of_it = is_backward(b, vs_events_stack(events, row));
    b->out->has_backward |= is_of_it;
    if (is_of_it && since != VS_NO_EVENT)
      for (uint32_t i = since + 1; i < event; i++) set_bit(b->freed_in_backward.data, i);
    since = is_of_it ? event : VS_NO_EVENT;
  }
}

static uint32_t freed_at(const vs_lifetime *life) {
  return life->free_requested != VS_NO_EVENT ? life->free_requested : life->end;
}

/* The key of the line of the forward pass that allocated it; false: no such line did. */
static vs_status key_of(builder *b, uint32_t row, bool *is_forward, uint32_t *key) {
  const vs_lifetime *life = &b->lifetimes->rows.data[row];
  const uint32_t stack = vs_lifetime_stack(b->lifetimes, life);
  *is_forward = life->start != VS_NO_EVENT && life->start < b->event && !is_backward(b, stack) &&
                vs_frames_owner(b->frames, stack, false) == VS_OWNER_frame;
  if (!*is_forward) return VS_OK;
  const vs_keyed keyed = vs_keyed_lifetime(b->lifetimes, NULL, row);
  return vs_key_of(&b->keys, &keyed, key);
}

static vs_status lines_tally(builder *b) {
  for (uint32_t row = 0; row < b->lifetimes->rows.count; row++) {
    const vs_lifetime *life = &b->lifetimes->rows.data[row];
    const uint32_t freed = freed_at(life);
    bool is_forward;
    uint32_t key;
    if (freed == VS_NO_EVENT || freed >= b->event) continue;
    VS_TRY(key_of(b, row, &is_forward, &key));
    if (!is_forward) continue;
    tally *t = &b->tallies.data[key];
    uint64_t *sum = has_bit(b->freed_in_backward.data, freed) ? &t->by_backward : &t->by_others;
    *sum = vs_sat_add_u64(*sum, life->size);
  }
  return VS_OK;
}

static vs_status live_add(builder *b, const vs_lifetime *life, uint32_t key) {
  uint32_t *index = &b->group_of_key.data[key];
  if (*index == 0) {
    VS_TRY(vs_vec_reserve(b->host, &b->out->lines, 1));
    b->out->lines.data[b->out->lines.count++] =
        (vs_group){.key = key, .stack = vs_lifetime_stack(b->lifetimes, life), .each = life->size};
    *index = (uint32_t)b->out->lines.count;
  }
  vs_group *group = &b->out->lines.data[*index - 1];
  if (group->each != life->size) group->each = 0;
  group->bytes = vs_sat_add_u64(group->bytes, life->size);
  group->count++;
  b->out->live_bytes = vs_sat_add_u64(b->out->live_bytes, life->size);
  return VS_OK;
}

static bool is_of_activations(const builder *b, uint32_t key) {
  return b->tallies.data[key].by_backward > b->tallies.data[key].by_others;
}

/* The allocations of these lines, the later ones too. */
static vs_status rows_mark(builder *b) {
  for (uint32_t row = 0; row < b->lifetimes->rows.count; row++) {
    const vs_lifetime *life = &b->lifetimes->rows.data[row];
    bool is_forward;
    uint32_t key;
    VS_TRY(key_of(b, row, &is_forward, &key));
    if (!is_forward || !is_of_activations(b, key)) continue;
    set_bit(b->out->rows.data, row);
    if (freed_at(life) == VS_NO_EVENT || freed_at(life) > b->event) VS_TRY(live_add(b, life, key));
  }
  return VS_OK;
}

/* Failed requests of these lines scale as their allocations do. */
static vs_status failures_mark(builder *b) {
  const vs_slice *slice = b->lifetimes->slice;
  const vs_events *events = &slice->snapshot->events;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    const uint32_t row = vs_slice_row(slice, event), stack = vs_events_stack(events, row);
    uint32_t key;
    if (vs_events_kind(events, row) != VS_EVENT_OOM || is_backward(b, stack) ||
        vs_frames_owner(b->frames, stack, false) != VS_OWNER_frame)
      continue;
    const vs_keyed keyed = {.stack = stack, .start = event, .end = VS_NO_EVENT};
    VS_TRY(vs_key_of(&b->keys, &keyed, &key));
    if (is_of_activations(b, key)) set_bit(b->out->events.data, event);
  }
  return VS_OK;
}

static bool is_before(const void *ctx, uint32_t left, uint32_t right) {
  const vs_group *groups = ctx;
  return groups[left].bytes > groups[right].bytes;
}

static vs_status build(builder *b) {
  VS_TRY(prepare(b));
  frees_mark(b);
  if (!b->out->has_backward) return VS_OK;
  VS_TRY(lines_tally(b));
  VS_TRY(rows_mark(b));
  VS_TRY(failures_mark(b));
  return vs_arrange(b->host, b->out->lines.data, b->out->lines.count, sizeof *b->out->lines.data, is_before,
                    b->out->lines.data);
}

vs_status vs_activations_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_frames *frames,
                               uint32_t event, vs_activations *out) {
  *out = (vs_activations){0};
  builder b = {.host = host, .lifetimes = lifetimes, .frames = frames, .event = event, .out = out};
  const vs_status status = build(&b);
  vs_keys_deinit(&b.keys);
  vs_passes_deinit(host, &b.passes);
  vs_vec_free(host, &b.freed_in_backward);
  vs_vec_free(host, &b.tallies);
  vs_vec_free(host, &b.group_of_key);
  if (status != VS_OK) vs_activations_deinit(host, out);
  return status;
}

void vs_activations_deinit(const vs_host *host, vs_activations *activations) {
  vs_vec_free(host, &activations->rows);
  vs_vec_free(host, &activations->events);
  vs_vec_free(host, &activations->lines);
}
