/* "report": everything of one device that fits on a screen, from its vs_report. */
#include "query/advice.h"
#include "query/report_lines.h"
#include "query/trust_lines.h"

static void sentence(vs_jsonw *json, const char *key, const char *words) {
  if (words == NULL) vs_jsonw_member_null(json, key);
  else vs_jsonw_member_str(json, key, vs_str_from(words));
}

/* ---- trace ----------------------------------------------------------------------------------------------------- */

static void write_trace(const vs_call *call, const vs_times *times, const vs_report *r) {
  static const struct {
    const char *key;
    vs_event_kind kind;
  } counts[] = {
      {"allocs", VS_EVENT_ALLOC},
      {"frees", VS_EVENT_FREE_REQUESTED},
      {"frees_completed", VS_EVENT_FREE_COMPLETED},
      {"ooms", VS_EVENT_OOM},
      {"snapshots", VS_EVENT_SNAPSHOT},
      {"segment_allocs", VS_EVENT_SEGMENT_ALLOC},
      {"segment_frees", VS_EVENT_SEGMENT_FREE},
      {"segment_maps", VS_EVENT_SEGMENT_MAP},
      {"segment_unmaps", VS_EVENT_SEGMENT_UNMAP},
  };
  static const char *const baselines[VS_CURVE_KINDS] = {
      [VS_CURVE_REQUESTED] = "baseline_requested_bytes",
      [VS_CURVE_HELD] = "baseline_held_bytes",
      [VS_CURVE_RESERVED] = "baseline_reserved_bytes",
  };
  vs_jsonw *json = call->json;
  vs_reply_object_begin(json, "trace");
  vs_jsonw_member_u64(json, "events", r->slice->event_count);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    vs_jsonw_member_u64(json, counts[i].key, r->slice->counts[counts[i].kind]);
  for (size_t i = 0; i < VS_CURVE_KINDS; i++)
    vs_reply_i64_or_null(json, baselines[i], i != VS_CURVE_RESERVED || vs_reply_knows_segments(call),
                         r->curves.curve[i].baseline);
  vs_reply_time(json, "first_time_us", times->first_us);
  vs_reply_time(json, "last_time_us", times->last_us);
  vs_jsonw_member_bool(json, "frees_at_request", r->curves.closing.at_request);
  vs_jsonw_object_end(json);
}

/* ---- peaks ----------------------------------------------------------------------------------------------------- */

/* By the memory metadata that the program had set; nothing where it has set none. */
static void write_metadata(vs_call *call, const vs_groups *groups) {
  const size_t count = groups->list.count;
  const bool is_set = count > 1 || (count == 1 && groups->list.data[0].key != VS_STRING_NONE);
  vs_reply_array_begin(call->json, "metadata");
  for (size_t i = 0; is_set && i < vs_reply_at_most(call, count); i++)
    vs_reply_group_value(call, VS_BY_METADATA, &groups->list.data[i], groups->bytes);
  vs_jsonw_array_end(call->json);
  vs_jsonw_member_u64(call->json, "metadata_count", is_set ? count : 0);
}

static void write_peak(vs_call *call, const vs_report *r) {
  vs_jsonw *json = call->json;
  vs_reply_object_begin(json, "peak");
  vs_jsonw_member_i64(json, "allocated_bytes", r->allocated.peak);
  vs_jsonw_member_bool(json, "allocated_is_exact", r->allocated.is_exact);
  vs_jsonw_member_i64(json, "allocated_event", r->allocated.peak_at);
  vs_jsonw_member_i64(json, "requested_bytes", r->curves.curve[VS_CURVE_REQUESTED].peak);
  vs_jsonw_member_i64(json, "event", r->peak_moment);
  vs_reply_time(json, "time_us", r->peak_time_us);
  vs_jsonw_member_u64(json, "count", r->peak_set.rows.count);
  vs_jsonw_member_u64(json, "pending_bytes", r->peak_set.pending_bytes);
  vs_reply_reserved(call, "reserved_bytes",
                    vs_curve_at(r->slice, &r->curves, VS_CURVE_RESERVED, r->peak_moment));
  vs_reply_owners(call, &r->peak_owners, true);
  write_metadata(call, &r->peak_by_metadata);
  vs_jsonw_object_end(json);
}

static void write_other_peak(const vs_call *call, const vs_report *r, vs_curve_kind kind, const char *key,
                             const char *bytes) {
  const vs_curve *curve = &r->curves.curve[kind];
  if (kind == VS_CURVE_RESERVED && !vs_reply_knows_segments(call)) {
    vs_jsonw_member_null(call->json, key);
    return;
  }
  vs_reply_object_begin(call->json, key);
  vs_jsonw_member_i64(call->json, bytes, curve->peak);
  vs_jsonw_member_i64(call->json, "event", curve->peak_at);
  vs_reply_time(call->json, "time_us", vs_slice_time(r->slice, curve->peak_at));
  vs_jsonw_object_end(call->json);
}

/* ---- fragmentation --------------------------------------------------------------------------------------------- */

/* The stack of the request that allocated a block of the state. */
static uint32_t stack_of(const vs_report *r, const vs_state_block *block) {
  if (block->lifetime != VS_NO_ROW)
    return vs_lifetime_stack(r->lifetimes, &r->lifetimes->rows.data[block->lifetime]);
  return block->row == VS_NO_ROW ? VS_LIST_NONE : r->slice->snapshot->blocks.data[block->row].stack;
}

static void write_pinned(vs_call *call, const vs_report *r, const vs_pinned *pinned) {
  vs_jsonw *json = call->json;
  const vs_state *state = &r->fragmentation.state;
  const vs_state_segment *segment = &state->segments.data[pinned->segment];
  const vs_state_block *biggest = NULL;
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const vs_state_block *block = &state->blocks.data[segment->first_block + i];
    if (biggest == NULL || block->size > biggest->size) biggest = block;
  }
  const uint32_t stack = biggest == NULL ? VS_LIST_NONE : stack_of(r, biggest);
  const bool is_older = biggest == NULL || biggest->lifetime == VS_NO_ROW ||
                        r->lifetimes->rows.data[biggest->lifetime].start == VS_NO_EVENT;
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "address", segment->address);
  vs_jsonw_member_u64(json, "size_bytes", segment->size);
  vs_jsonw_member_u64(json, "active_bytes", pinned->active);
  vs_jsonw_member_u64(json, "free_bytes", pinned->free);
  vs_jsonw_member_u64(json, "pinned_bytes", pinned->pinned);
  vs_jsonw_member_u64(json, "blocks", segment->block_count);
  vs_reply_object_begin(json, "owner");
  vs_reply_owner(call, stack, is_older);
  vs_jsonw_member_u64(json, "bytes", biggest != NULL ? biggest->requested : 0);
  vs_reply_u64_or_null(json, "stack_id", stack != VS_LIST_NONE, stack);
  vs_jsonw_object_end(json);
  vs_jsonw_object_end(json);
}

static void write_fragmentation(vs_call *call, const vs_report *r) {
  vs_jsonw *json = call->json;
  const vs_fragmentation *f = &r->fragmentation;
  const vs_holes *holes = &f->all;
  if (!vs_reply_knows_segments(call)) {
    vs_jsonw_member_null(json, "fragmentation");
    return;
  }
  vs_reply_object_begin(json, "fragmentation");
  vs_jsonw_member_u64(json, "free_bytes", holes->free);
  vs_jsonw_member_u64(json, "pinned_bytes", holes->pinned);
  vs_jsonw_member_u64(json, "releasable_bytes", holes->releasable);
  vs_jsonw_member_u64(json, "largest_hole_bytes", holes->largest_hole);
  vs_jsonw_member_u64(json, "holes", holes->hole_count);
  vs_reply_u64_or_null(json, "unusable_bytes", holes->is_unusable_known, holes->unusable);
  vs_reply_share(json, "share", holes->free - vs_min_u64(holes->largest_hole, holes->free), holes->free);
  sentence(json, "sentence", vs_explain_fragmentation(holes));
  vs_reply_areas(call, f);
  vs_reply_array_begin(json, "pinned");
  for (size_t i = 0; i < f->pinned.count; i++) write_pinned(call, r, &f->pinned.data[i]);
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
}

static void write_rounding(const vs_call *call, const vs_report *r) {
  if ((vs_snapshot_lacks(call->engine->snapshot) & VS_LACKS_ROUNDING) != 0) {
    vs_jsonw_member_null(call->json, "rounding");
    return;
  }
  vs_reply_object_begin(call->json, "rounding");
  vs_jsonw_member_u64(call->json, "lost_bytes", r->end.all.rounding);
  vs_reply_share(call->json, "share", r->end.all.rounding, r->end.all.allocated);
  vs_jsonw_object_end(call->json);
}

/* ---- steps and growth ------------------------------------------------------------------------------------------ */

static void write_period(const vs_call *call, const vs_report *r, uint32_t first, uint32_t last,
                         size_t count) {
  const int64_t from = vs_slice_time(r->slice, first), to = vs_slice_time(r->slice, last);
  const bool is_known = from != VS_NO_TIME && to != VS_NO_TIME && from <= to && count != 0;
  const uint64_t span = is_known ? (uint64_t)to - (uint64_t)from : 0;
  vs_reply_u64_or_null(call->json, "period_us", is_known, is_known ? span / count : 0);
}

static void write_anchor(vs_call *call, const vs_steps *steps) {
  if (steps->source == VS_STEPS_ANNOTATIONS) {
    vs_reply_string(call, "anchor", steps->anchor);
    vs_jsonw_member_null(call->json, "anchor_bytes");
    return;
  }
  const uint32_t frame = vs_frames_user(&call->engine->frames, steps->anchor);
  if (frame == VS_NO_FRAME) {
    vs_jsonw_member_null(call->json, "anchor");
  } else {
    vs_frames_put_owning(&call->engine->frames, &call->scratch, frame, VS_PATH_SHORT);
    vs_reply_scratch(call, "anchor");
  }
  vs_jsonw_member_u64(call->json, "anchor_bytes", steps->anchor_size);
}

static void write_steps(vs_call *call, const vs_report *r) {
  vs_jsonw *json = call->json;
  const vs_steps *steps = &r->steps;
  if (steps->source == VS_STEPS_NONE || steps->boundaries.count == 0) {
    vs_jsonw_member_null(json, "steps");
    return;
  }
  const size_t count = steps->boundaries.count - 1;
  const uint32_t first = steps->boundaries.data[0], last = steps->boundaries.data[count];
  vs_reply_object_begin(json, "steps");
  vs_jsonw_member_str(json, "source", vs_str_from(vs_steps_source_name(steps->source)));
  vs_jsonw_member_u64(json, "count", count);
  vs_jsonw_member_u64(json, "first_event", first);
  vs_jsonw_member_u64(json, "last_event", last);
  write_period(call, r, first, last, count);
  write_anchor(call, steps);
  vs_jsonw_object_end(json);
}

static void write_growth(vs_call *call, const vs_report *r) {
  vs_jsonw *json = call->json;
  vs_reply_array_begin(json, "growth");
  for (size_t i = 0; i < vs_reply_at_most(call, r->growths.list.count); i++) {
    const vs_growth *growth = &r->growths.list.data[i];
    vs_jsonw_object_begin(json);
    vs_reply_owner(call, growth->stack, false);
    vs_jsonw_member_str(json, "kind", vs_str_from(vs_growth_kind_name(growth->kind)));
    vs_jsonw_member_u64(json, "bytes", growth->bytes);
    vs_jsonw_member_u64(json, "blocks", growth->blocks);
    vs_jsonw_member_u64(json, "bytes_per_step", growth->bytes_per_step);
    vs_jsonw_member_u64(json, "steps", growth->steps);
    vs_jsonw_member_u64(json, "rises", growth->rises);
    vs_jsonw_member_u64(json, "first_step", growth->first_step);
    vs_jsonw_member_u64(json, "live_bytes", growth->live_bytes);
    vs_jsonw_member_u64(json, "pending_bytes", growth->pending_bytes);
    vs_jsonw_member_u64(json, "end_bytes", growth->end_bytes);
    sentence(json, "sentence", vs_explain_growth(growth, r->steps.source));
    vs_reply_stack(call, growth->stack);
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
  vs_jsonw_member_u64(json, "growth_count", r->growths.list.count);
}

/* ---- out of memory --------------------------------------------------------------------------------------------- */

static void write_oom(vs_call *call, const vs_told *told, const vs_oom *oom) {
  vs_jsonw *json = call->json;
  const bool knows_cache = oom->is_looked_at && vs_reply_knows_segments(call);
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "event", oom->event);
  vs_reply_time(json, "time_us", oom->time_us);
  vs_reply_stream(call, oom->stream);
  vs_jsonw_member_u64(json, "requested_bytes", oom->size);
  vs_reply_u64_or_null(json, "device_free_bytes", oom->is_free_known, oom->device_free);
  vs_jsonw_member_i64(json, "live_requested_bytes", oom->requested);
  vs_jsonw_member_i64(json, "held_bytes", oom->held);
  vs_reply_reserved(call, "reserved_bytes", oom->reserved);
  vs_reply_u64_or_null(json, "active_bytes", oom->is_looked_at, oom->active);
  vs_reply_u64_or_null(json, "cached_bytes", knows_cache, oom->cached);
  vs_reply_u64_or_null(json, "cached_usable_bytes", knows_cache, oom->cached_usable);
  vs_reply_u64_or_null(json, "short_bytes", oom->is_short_known, oom->short_by);
  vs_reply_u64_or_null(json, "largest_hole_bytes", knows_cache, oom->largest_hole);
  vs_reply_u64_or_null(json, "largest_hole_of_kind_bytes", knows_cache, oom->largest_hole_kind);
  vs_reply_u64_or_null(json, "largest_hole_for_it_bytes", knows_cache, oom->largest_hole_area);
  vs_jsonw_member_str(json, "cause", vs_str_from(vs_oom_verdict_name(oom->verdict)));
  sentence(json, "sentence", vs_explain_oom(oom->verdict));
  sentence(json, "advice", vs_advice_for_oom(call->engine->snapshot, oom->verdict));
  vs_report_oom_lines(call, told, oom);
  vs_reply_owners(call, &oom->owners, oom->is_looked_at);
  vs_jsonw_key(json, VS_STR("owner"));
  if (oom->is_looked_at && oom->top.count != 0)
    vs_reply_group_value(call, VS_BY_STACK, &oom->top, oom->requested > 0 ? (uint64_t)oom->requested : 0);
  else vs_jsonw_null(json);
  vs_reply_owner(call, oom->stack, false);
  vs_reply_stack(call, oom->stack);
  vs_jsonw_object_end(json);
}

static void write_ooms(vs_call *call, const vs_told *told) {
  const vs_ooms *ooms = &told->report->ooms;
  vs_reply_array_begin(call->json, "ooms");
  for (size_t i = 0; i < ooms->list.count; i++) write_oom(call, told, &ooms->list.data[i]);
  vs_jsonw_array_end(call->json);
}

/* ---- trust ----------------------------------------------------------------------------------------------------- */

static void write_trust(vs_call *call, const vs_told *told) {
  const vs_report *r = told->report;
  vs_jsonw *json = call->json;
  vs_reply_object_begin(json, "trust");
  vs_jsonw_member_bool(json, "complete", r->trust.is_complete);
  vs_reply_array_begin(json, "findings");
  for (int i = 0; i < VS_FINDING_KINDS; i++) {
    const vs_finding_kind kind = (vs_finding_kind)i;
    const vs_tally *tally = &r->trust.findings[i];
    if (tally->count == 0) continue;
    vs_jsonw_object_begin(json);
    vs_jsonw_member_str(json, "kind", vs_str_from(vs_finding_name(kind)));
    vs_jsonw_member_str(json, "severity", vs_str_from(vs_severity_name(vs_finding_severity(kind))));
    vs_jsonw_member_u64(json, "count", tally->count);
    vs_reply_i64_or_null(json, "first_event", tally->first_event >= 0, tally->first_event);
    vs_finding_put(&call->scratch, told, kind);
    vs_reply_scratch(call, "sentence");
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
}

/* ---- the reply ------------------------------------------------------------------------------------------------- */

static vs_status write_device(vs_call *call, vs_device_cache *device) {
  vs_report *r;
  const vs_times *times;
  VS_TRY(vs_cached_times(call->engine->host, device, &times));
  VS_TRY(vs_cached_report(call->engine->host, device, &r));
  const vs_told told = {.report = r, .times = times};
  vs_jsonw_object_begin(call->json);
  vs_reply_device(call, device);
  vs_report_lines(call, &told);
  vs_reply_end(call, r);
  write_trace(call, times, r);
  write_peak(call, r);
  write_other_peak(call, r, VS_CURVE_HELD, "peak_held", "held_bytes");
  write_other_peak(call, r, VS_CURVE_RESERVED, "peak_reserved", "reserved_bytes");
  write_fragmentation(call, r);
  write_rounding(call, r);
  vs_reply_lifetimes(call, &r->churn);
  write_steps(call, r);
  write_growth(call, r);
  write_ooms(call, &told);
  write_trust(call, &told);
  vs_jsonw_object_end(call->json);
  return VS_OK;
}

static bool is_asked_for(const vs_call *call, const vs_device_cache *device) {
  return !call->request->device.is_given || device == call->device;
}

vs_status vs_method_report(vs_call *call) {
  vs_engine *engine = call->engine;
  const bool is_gpu = engine->devices.count != 0 && call->device->slice->device != VS_DEVICE_HOST;
  vs_reply_file(call);
  vs_report_file_lines(call);
  vs_reply_i64_or_null(call->json, "busiest", is_gpu, call->device->slice->device);
  vs_reply_array_begin(call->json, "devices");
  for (size_t i = 0; i < engine->devices.count; i++) {
    vs_device_cache *device = &engine->devices.data[i];
    if (device->slice->device != VS_DEVICE_HOST && is_asked_for(call, device))
      VS_TRY(write_device(call, device));
  }
  vs_jsonw_array_end(call->json);
  vs_device_cache *host = vs_find_device(&engine->devices, VS_DEVICE_HOST);
  vs_jsonw_key(call->json, VS_STR("host"));
  if (host != NULL && is_asked_for(call, host)) return write_device(call, host);
  vs_jsonw_null(call->json);
  return VS_OK;
}
