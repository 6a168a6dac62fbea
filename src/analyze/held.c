#include "analyze/held.h"

#include "analyze/arrange.h"
#include "analyze/state.h"

typedef struct builder {
  const vs_host *host;
  const vs_lifetimes *lifetimes;
  vs_held *out;
  VS_VEC(uint32_t) keys; /* by index into out->rows, before they are sorted */
} builder;

static vs_status rows_collect(builder *b, const vs_spans *spans, uint32_t event) {
  vs_liveset live;
  VS_TRY(vs_liveset_at(b->host, b->lifetimes, spans, event, &live));
  vs_status status = vs_vec_reserve(b->host, &b->out->rows, live.rows.count);
  for (size_t i = 0; i < live.rows.count && status == VS_OK; i++) {
    const vs_lifetime *row = &b->lifetimes->rows.data[live.rows.data[i]];
    if (vs_lifetime_is_pending(b->lifetimes, row, event)) continue;
    b->out->rows.data[b->out->rows.count++] = live.rows.data[i];
    b->out->rounded = vs_sat_add_u64(b->out->rounded, vs_round_request(row->size));
  }
  vs_liveset_deinit(b->host, &live);
  return status;
}

static vs_status keys_collect(builder *b, vs_frames *frames) {
  vs_keys keys;
  VS_TRY(vs_vec_reserve(b->host, &b->keys, b->out->rows.count));
  VS_TRY(vs_keys_init(&keys, b->host, b->lifetimes->slice, VS_BY_LINE, frames));
  vs_status status = VS_OK;
  for (size_t i = 0; i < b->out->rows.count && status == VS_OK; i++) {
    const vs_keyed keyed = vs_keyed_lifetime(b->lifetimes, NULL, b->out->rows.data[i]);
    status = vs_key_of(&keys, &keyed, &b->keys.data[b->keys.count++]);
  }
  vs_keys_deinit(&keys);
  return status;
}

/* By key, then by falling size; equal ones keep their order. */
static bool is_before(const void *ctx, uint32_t left, uint32_t right) {
  const builder *b = ctx;
  const vs_lifetime *rows = b->lifetimes->rows.data;
  if (b->keys.data[left] != b->keys.data[right]) return b->keys.data[left] < b->keys.data[right];
  return rows[b->out->rows.data[left]].size > rows[b->out->rows.data[right]].size;
}

static void holder_add_block(builder *b, vs_holder *holder, uint32_t row) {
  const vs_lifetime *life = &b->lifetimes->rows.data[row];
  vs_group *group = &holder->group;
  if (group->count == 0) group->stack = vs_lifetime_stack(b->lifetimes, life); /* of the largest */
  group->each = group->count == 0 || group->each == life->size ? life->size : 0;
  group->bytes = vs_sat_add_u64(group->bytes, life->size);
  group->count++;
  holder->count++;
}

/* `order` are the indexes of the rows, sorted. */
static vs_status holders_make(builder *b, const uint32_t *order, uint32_t *sorted) {
  vs_holder *holder = NULL;
  for (uint32_t i = 0; i < b->out->rows.count; i++) {
    const uint32_t key = b->keys.data[order[i]];
    if (holder == NULL || holder->group.key != key) {
      VS_TRY(vs_vec_reserve(b->host, &b->out->holders, 1));
      holder = &b->out->holders.data[b->out->holders.count++];
      *holder = (vs_holder){.group = {.key = key}, .first = i};
    }
    sorted[i] = b->out->rows.data[order[i]];
    holder_add_block(b, holder, sorted[i]);
  }
  memcpy(b->out->rows.data, sorted, b->out->rows.count * sizeof *sorted);
  return VS_OK;
}

/* The order of groups: most bytes, then most blocks, then the one that was allocated first. */
static bool is_holder_before(const void *ctx, uint32_t left, uint32_t right) {
  const builder *b = ctx;
  const vs_holder *x = &b->out->holders.data[left], *y = &b->out->holders.data[right];
  if (x->group.bytes != y->group.bytes) return x->group.bytes > y->group.bytes;
  if (x->group.count != y->group.count) return x->group.count > y->group.count;
  return b->out->rows.data[x->first] < b->out->rows.data[y->first];
}

static vs_status sort(builder *b) {
  const size_t count = b->out->rows.count, bytes = 2 * count * sizeof(uint32_t);
  if (count == 0) return VS_OK;
  uint32_t *order = vs_host_alloc(b->host, bytes);
  if (order == NULL) return VS_NO_MEMORY;
  for (uint32_t i = 0; i < count; i++) order[i] = i;
  vs_status status = vs_sort_rows(b->host, order, count, is_before, b);
  if (status == VS_OK) status = holders_make(b, order, order + count);
  vs_host_free(b->host, order, bytes);
  VS_TRY(status);
  return vs_arrange(b->host, b->out->holders.data, b->out->holders.count, sizeof *b->out->holders.data,
                    is_holder_before, b);
}

vs_status vs_held_build(const vs_host *host, const vs_lifetimes *lifetimes, const vs_spans *spans,
                        vs_frames *frames, uint32_t event, vs_held *out) {
  *out = (vs_held){0};
  builder b = {.host = host, .lifetimes = lifetimes, .out = out};
  vs_status status = rows_collect(&b, spans, event);
  if (status == VS_OK) status = keys_collect(&b, frames);
  if (status == VS_OK) status = sort(&b);
  vs_vec_free(host, &b.keys);
  if (status != VS_OK) vs_held_deinit(host, out);
  return status;
}

void vs_held_deinit(const vs_host *host, vs_held *held) {
  vs_vec_free(host, &held->rows);
  vs_vec_free(host, &held->holders);
}

const vs_holder *vs_held_of_stack(const vs_held *held, const vs_lifetimes *lifetimes, uint32_t stack) {
  for (size_t i = 0; i < held->holders.count; i++) {
    const vs_holder *holder = &held->holders.data[i];
    for (uint32_t r = holder->first; r < holder->first + holder->count; r++)
      if (vs_lifetime_stack(lifetimes, &lifetimes->rows.data[held->rows.data[r]]) == stack) return holder;
  }
  return NULL;
}
