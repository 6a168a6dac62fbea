#include "analyze/report.h"

static vs_status build_peak(const vs_host *host, const vs_moment_index *moments, vs_report *out) {
  out->peak_moment = out->curves.curve[VS_CURVE_REQUESTED].peak_at;
  out->peak_time_us = vs_slice_time(out->slice, out->peak_moment);
  VS_TRY(
      vs_liveset_at(host, out->lifetimes, vs_moment_index_spans(moments), out->peak_moment, &out->peak_set));
  const uint32_t *rows = out->peak_set.rows.data;
  const size_t count = out->peak_set.rows.count;
  VS_TRY(vs_groups_build(host, out->lifetimes, rows, count, VS_BY_METADATA, NULL, &out->peak_by_metadata));
  return vs_owners_build(host, out->lifetimes, rows, count, &out->frames, &out->peak_owners);
}

/* Whether the trace is not what happened: it contradicts itself, or events are missing inside of it. */
static bool is_wrong(const vs_trust *trust) {
  for (int i = 0; i < VS_FINDING_KINDS; i++)
    if (trust->findings[i].count != 0 &&
        (vs_finding_is_loss((vs_finding_kind)i) ||
         vs_finding_severity((vs_finding_kind)i) == VS_SEVERITY_CONTRADICTION))
      return true;
  return false;
}

static vs_status build(const vs_host *host, const vs_moment_index *moments, vs_report *out) {
  const vs_slice *slice = out->slice;
  VS_TRY(vs_end_state_build(host, slice, &out->end));
  VS_TRY(vs_frames_init(host, slice->snapshot, &out->frames));
  VS_TRY(build_peak(host, moments, out));
  VS_TRY(vs_fragmentation_at(host, moments, vs_slice_end(slice), VS_REPORT_MOST_PINNED, &out->fragmentation));
  vs_churn_measure(out->lifetimes, &out->churn);
  VS_TRY(vs_steps_build(host, slice, &out->frames, &out->steps));
  VS_TRY(vs_growths_build(host, out->lifetimes, &out->steps, &out->frames, &out->growths));
  VS_TRY(vs_ooms_build(host, moments, &out->curves, &out->frames, &out->ooms));
  vs_address_check addresses;
  VS_TRY(vs_allocated_measure(host, out->lifetimes, &moments->mappings, &addresses, &out->allocated));
  VS_TRY(vs_trust_build(host, out->lifetimes, &out->curves, &addresses, &out->trust));
  if (is_wrong(&out->trust)) out->allocated.is_exact = false;
  return VS_OK;
}

static vs_status build_alone(const vs_host *host, vs_report *out) {
  vs_moment_index moments;
  vs_curves_measure(out->slice, &out->curves);
  VS_TRY(vs_lifetimes_build(host, out->slice, &out->own_lifetimes));
  VS_TRY(vs_moment_index_begin(host, out->lifetimes, &moments));
  const vs_status status = build(host, &moments, out);
  vs_moment_index_deinit(host, &moments);
  return status;
}

vs_status vs_report_build(const vs_host *host, const vs_slice *slice, vs_report *out) {
  *out = (vs_report){.slice = slice, .lifetimes = &out->own_lifetimes};
  const vs_status status = build_alone(host, out);
  if (status != VS_OK) vs_report_deinit(host, out);
  return status;
}

vs_status vs_report_build_with(const vs_host *host, const vs_moment_index *moments, const vs_curves *curves,
                               vs_report *out) {
  *out = (vs_report){.slice = moments->lifetimes->slice, .lifetimes = moments->lifetimes, .curves = *curves};
  const vs_status status = build(host, moments, out);
  if (status != VS_OK) vs_report_deinit(host, out);
  return status;
}

void vs_report_deinit(const vs_host *host, vs_report *report) {
  vs_end_state_deinit(host, &report->end);
  vs_lifetimes_deinit(host, &report->own_lifetimes);
  vs_frames_deinit(host, &report->frames);
  vs_liveset_deinit(host, &report->peak_set);
  vs_owners_deinit(host, &report->peak_owners);
  vs_groups_deinit(host, &report->peak_by_metadata);
  vs_fragmentation_deinit(host, &report->fragmentation);
  vs_steps_deinit(host, &report->steps);
  vs_growths_deinit(host, &report->growths);
  vs_ooms_deinit(host, &report->ooms);
}
