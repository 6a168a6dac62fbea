#include "analyze/moment_index.h"

static vs_status look_through(const vs_host *host, vs_moment_index *out) {
  out->smallest = out->smallest_large = VS_NO_SIZE;
  for (size_t i = 0; i < out->lifetimes->rows.count; i++) {
    const vs_lifetime *row = &out->lifetimes->rows.data[i];
    if (row->block != VS_NO_ROW) {
      VS_TRY(vs_vec_reserve(host, &out->at_end, 1));
      out->at_end.data[out->at_end.count++] = (uint32_t)i;
    }
    if (row->start == VS_NO_EVENT) continue;
    if (row->size < out->smallest) out->smallest = row->size;
    if (row->size > VS_LARGEST_SMALL_REQUEST && row->size < out->smallest_large)
      out->smallest_large = row->size;
  }
  VS_ASSERT(out->smallest <= out->smallest_large && out->at_end.count <= out->lifetimes->rows.count);
  return VS_OK;
}

vs_status vs_moment_index_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment_index *out) {
  *out = (vs_moment_index){.lifetimes = lifetimes};
  vs_status status = look_through(host, out);
  if (status == VS_OK) status = vs_mappings_build(host, lifetimes->slice, &out->mappings);
  if (status == VS_OK) status = vs_spans_of_lifetimes(host, lifetimes, NULL, &out->spans);
  if (status != VS_OK) vs_moment_index_deinit(host, out);
  return status;
}

void vs_moment_index_deinit(const vs_host *host, vs_moment_index *moments) {
  vs_mappings_deinit(host, &moments->mappings);
  vs_spans_deinit(host, &moments->spans);
  vs_vec_free(host, &moments->at_end);
}
