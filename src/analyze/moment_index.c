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

vs_status vs_moment_index_begin(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment_index *out) {
  *out = (vs_moment_index){.lifetimes = lifetimes};
  vs_status status = look_through(host, out);
  if (status == VS_OK) status = vs_mappings_build(host, lifetimes->slice, &out->mappings);
  if (status != VS_OK) vs_moment_index_deinit(host, out);
  return status;
}

vs_status vs_moment_index_add_spans(const vs_host *host, vs_moment_index *moments) {
  if (!moments->has_spans) VS_TRY(vs_spans_of_lifetimes(host, moments->lifetimes, NULL, &moments->spans));
  moments->has_spans = true;
  return VS_OK;
}

vs_status vs_moment_index_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment_index *out) {
  VS_TRY(vs_moment_index_begin(host, lifetimes, out));
  const vs_status status = vs_moment_index_add_spans(host, out);
  if (status != VS_OK) vs_moment_index_deinit(host, out);
  return status;
}

void vs_moment_index_deinit(const vs_host *host, vs_moment_index *moments) {
  vs_mappings_deinit(host, &moments->mappings);
  if (moments->has_spans) vs_spans_deinit(host, &moments->spans);
  moments->has_spans = false;
  vs_vec_free(host, &moments->at_end);
}
