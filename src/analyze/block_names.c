#include "analyze/block_names.h"

/* Whether the end of a row counts in the versions of later rows: not if a second alloc ended it. */
static bool counts(const vs_lifetimes *lifetimes, const vs_lifetime *row) {
  if (row->end == VS_NO_EVENT) return false;
  const vs_slice *slice = lifetimes->slice;
  VS_ASSERT(row->end < slice->event_count);
  return vs_events_kind(&slice->snapshot->events, vs_slice_row(slice, row->end)) != VS_EVENT_ALLOC;
}

/* Rows of one address are in the order in which the trace first mentions them, and each begins after the one before
 * it ended. */
vs_status vs_block_names_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_block_names *out) {
  const size_t rows = lifetimes->rows.count, addresses = lifetimes->addresses.count;
  VS_VEC(uint32_t) frees = {0}; /* by rank of the address: so far */
  *out = (vs_block_names){0};
  VS_ASSERT(lifetimes->ranks.count == rows);
  vs_status status = vs_vec_reserve(host, &frees, addresses);
  if (status == VS_OK) status = vs_vec_reserve(host, &out->versions, rows);
  if (status == VS_OK) {
    if (addresses > 0) memset(frees.data, 0, addresses * sizeof *frees.data);
    for (size_t row = 0; row < rows; row++) {
      uint32_t *version = &frees.data[lifetimes->ranks.data[row]];
      out->versions.data[out->versions.count++] = *version;
      *version += counts(lifetimes, &lifetimes->rows.data[row]);
    }
  }
  vs_vec_free(host, &frees);
  if (status != VS_OK) vs_block_names_deinit(host, out);
  return status;
}

void vs_block_names_deinit(const vs_host *host, vs_block_names *names) {
  vs_vec_free(host, &names->versions);
}

uint32_t vs_block_names_find(const vs_block_names *names, const vs_lifetimes *lifetimes, uint64_t address,
                             uint32_t version) {
  VS_ASSERT(names->versions.count == lifetimes->rows.count);
  for (size_t row = 0; row < lifetimes->rows.count; row++)
    if (lifetimes->rows.data[row].address == address && names->versions.data[row] == version)
      return (uint32_t)row;
  return VS_NO_ROW;
}
