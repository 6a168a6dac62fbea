#include "analyze/liveset.h"
#include "base/sort.h"

static vs_moment within(const vs_lifetimes *lifetimes, vs_moment moment) {
  const vs_moment end = vs_slice_end(lifetimes->slice);
  return moment < VS_AT_START ? VS_AT_START : moment > end ? end : moment;
}

static vs_status add(const vs_host *host, const vs_lifetimes *lifetimes, uint32_t row, vs_liveset *out) {
  const vs_lifetime *life = &lifetimes->rows.data[row];
  VS_TRY(vs_vec_reserve(host, &out->rows, 1));
  VS_ASSERT(vs_lifetime_is_live(life, out->moment));
  VS_ASSERT(out->rows.count == 0 || out->rows.data[out->rows.count - 1] < row);
  out->rows.data[out->rows.count++] = row;
  out->bytes = vs_sat_add_u64(out->bytes, life->size);
  if (vs_lifetime_is_pending(lifetimes, life, out->moment)) {
    out->pending_count++;
    out->pending_bytes = vs_sat_add_u64(out->pending_bytes, life->size);
  }
  return VS_OK;
}

vs_status vs_liveset_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment moment,
                           vs_liveset *out) {
  *out = (vs_liveset){.moment = within(lifetimes, moment)};
  for (size_t row = 0; row < lifetimes->rows.count; row++) {
    if (!vs_lifetime_is_live(&lifetimes->rows.data[row], out->moment)) continue;
    const vs_status status = add(host, lifetimes, (uint32_t)row, out);
    if (status == VS_OK) continue;
    vs_liveset_deinit(host, out);
    return status;
  }
  return VS_OK;
}

typedef VS_VEC(vs_sort_pair) pairs;

/* Rows from before the trace may be anywhere in the table but are the first spans, so the rows may have to be
 * sorted. */
static vs_status list_alive(const vs_host *host, const vs_spans *spans, uint32_t done, pairs *rows) {
  bool rises = true;
  for (uint32_t span = vs_spans_next(spans, done, 0); span < spans->count;
       span = vs_spans_next(spans, done, span + 1)) {
    VS_TRY(vs_vec_reserve(host, rows, 1));
    rises &= rows->count == 0 || rows->data[rows->count - 1].key < spans->row.data[span];
    rows->data[rows->count++] = (vs_sort_pair){.key = spans->row.data[span]};
  }
  return rises ? VS_OK : vs_sort_pairs(host, rows->data, rows->count);
}

vs_status vs_liveset_at(const vs_host *host, const vs_lifetimes *lifetimes, const vs_spans *spans,
                        vs_moment moment, vs_liveset *out) {
  if (spans == NULL) return vs_liveset_build(host, lifetimes, moment, out);
  *out = (vs_liveset){.moment = within(lifetimes, moment)};
  pairs rows = {0};
  VS_ASSERT(spans->count == lifetimes->rows.count);
  vs_status status = list_alive(host, spans, vs_done(spans->event_count, moment), &rows);
  if (status == VS_OK) status = vs_vec_reserve(host, &out->rows, rows.count);
  for (size_t i = 0; i < rows.count && status == VS_OK; i++)
    status = add(host, lifetimes, (uint32_t)rows.data[i].key, out);
  vs_vec_free(host, &rows);
  if (status != VS_OK) vs_liveset_deinit(host, out);
  return status;
}

void vs_liveset_deinit(const vs_host *host, vs_liveset *set) {
  vs_vec_free(host, &set->rows);
  *set = (vs_liveset){.moment = set->moment};
}

vs_status vs_liveset_difference(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment without,
                                vs_moment moment, vs_liveset *out) {
  *out = (vs_liveset){.moment = within(lifetimes, moment)};
  without = within(lifetimes, without);
  for (size_t row = 0; row < lifetimes->rows.count; row++) {
    const vs_lifetime *life = &lifetimes->rows.data[row];
    if (!vs_lifetime_is_live(life, out->moment) || vs_lifetime_is_live(life, without)) continue;
    const vs_status status = add(host, lifetimes, (uint32_t)row, out);
    if (status == VS_OK) continue;
    vs_liveset_deinit(host, out);
    return status;
  }
  return VS_OK;
}
