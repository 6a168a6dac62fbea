#include "analyze/liveset.h"

static vs_moment within(const vs_lifetimes *lifetimes, vs_moment moment) {
  const vs_moment end = vs_slice_end(lifetimes->slice);
  return moment < VS_AT_START ? VS_AT_START : moment > end ? end : moment;
}

static vs_status add(const vs_host *host, const vs_lifetimes *lifetimes, uint32_t row, vs_liveset *out) {
  const vs_lifetime *life = &lifetimes->rows.data[row];
  VS_TRY(vs_vec_reserve(host, &out->rows, 1));
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
