/* "segments": the segments of the end state, with the free memory in each. */
#include "base/sort.h"
#include "query/reply.h"
#include "query/rows.h"

static void write_segment(vs_call *call, const vs_segment *segment) {
  vs_jsonw *json = call->json;
  const vs_end_sums sums = vs_segment_sums(call->engine->snapshot, segment);
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "address", segment->address);
  vs_jsonw_member_u64(json, "reserved_bytes", sums.reserved);
  vs_jsonw_member_u64(json, "allocated_bytes", sums.allocated);
  vs_jsonw_member_u64(json, "active_bytes", sums.active);
  vs_jsonw_member_u64(json, "requested_bytes", sums.requested);
  vs_jsonw_member_u64(json, "inactive_bytes", sums.inactive);
  vs_jsonw_member_u64(json, "largest_hole_bytes", vs_largest_hole_of(call->engine->snapshot, segment));
  vs_jsonw_member_u64(json, "blocks", segment->block_count);
  vs_jsonw_member_u64(json, "active_blocks", sums.allocated_blocks + sums.pending_blocks);
  vs_reply_stream(call, segment->stream);
  vs_reply_pool(call, segment->pool);
  vs_reply_string(call, "segment_type", segment->type);
  if ((segment->has & VS_SEGMENT_HAS_EXPANDABLE) != 0)
    vs_jsonw_member_bool(json, "is_expandable", segment->is_expandable);
  else vs_jsonw_member_null(json, "is_expandable");
  vs_reply_stack(call, segment->stack);
  vs_jsonw_object_end(json);
}

typedef VS_VEC(vs_sort_pair) pairs;

/* The segments that the filter keeps, most reserved first, equal ones by address. */
static vs_status choose(const vs_call *call, const vs_slice *slice, pairs *out, uint64_t *reserved) {
  const vs_host *host = call->engine->host;
  const vs_snapshot *s = slice->snapshot;
  *reserved = 0;
  VS_TRY(vs_vec_reserve(host, out, slice->segment_count));
  for (uint32_t i = 0; i < slice->segment_count; i++) {
    const vs_segment *segment = &s->segments.data[slice->segments[i]];
    const uint64_t size = vs_segment_sums(s, segment).reserved;
    const vs_filter_row row = vs_row_of_segment(s, segment, size);
    if (!vs_filter_keeps(&call->request->filter, s, &row)) continue;
    out->data[out->count++] = (vs_sort_pair){.key = segment->address, .value = slice->segments[i]};
    *reserved = vs_sat_add_u64(*reserved, size);
  }
  VS_TRY(vs_sort_pairs(host, out->data, out->count));
  for (size_t i = 0; i < out->count; i++)
    out->data[i].key = ~vs_segment_sums(s, &s->segments.data[out->data[i].value]).reserved;
  return vs_sort_pairs(host, out->data, out->count);
}

static void write_segments(vs_call *call, const vs_device_cache *device, const pairs *chosen,
                           uint64_t reserved) {
  vs_jsonw *json = call->json;
  const uint64_t offset = vs_min_u64(call->request->offset, chosen->count), top = call->request->top;
  const uint64_t end = top != 0 && top < chosen->count - offset ? offset + top : chosen->count;
  VS_ASSERT(offset <= end && end <= chosen->count);
  vs_reply_device(call, device);
  vs_jsonw_member_u64(json, "reserved_bytes", reserved);
  vs_jsonw_member_u64(json, "count", chosen->count);
  vs_jsonw_member_u64(json, "offset", offset);
  vs_reply_array_begin(json, "segments");
  for (uint64_t i = offset; i < end; i++)
    write_segment(call, &call->engine->snapshot->segments.data[chosen->data[i].value]);
  vs_jsonw_array_end(json);
}

vs_status vs_method_segments(vs_call *call) {
  vs_device_cache *device = call->device;
  pairs chosen = {0};
  uint64_t reserved;
  VS_TRY(vs_filter_allow(&call->request->filter, call->engine->snapshot, VS_SEGMENT_KEYS, "segments",
                         call->error));
  VS_TRY(vs_filter_prepare(&call->request->filter, call->engine->snapshot, &call->engine->frames));
  const vs_status status = choose(call, device->slice, &chosen, &reserved);
  if (status == VS_OK) write_segments(call, device, &chosen, reserved);
  vs_vec_free(call->engine->host, &chosen);
  return status;
}
