/* "reserved": what the reserved memory of a moment consists of. */
#include "analyze/libraries.h"
#include "analyze/reserved.h"
#include "query/ledger_answer.h"
#include "query/reply.h"
#include "query/rows.h"

static void write_sums(const vs_call *call, const vs_reserved_sums *sums) {
  vs_jsonw *json = call->json;
  vs_jsonw_member_u64(json, "reserved_bytes", sums->reserved);
  vs_jsonw_member_u64(json, "requested_bytes", sums->requested);
  vs_jsonw_member_u64(json, "rounding_bytes", sums->rounding);
  vs_jsonw_member_u64(json, "pending_bytes", sums->pending);
  vs_jsonw_member_u64(json, "fragmented_bytes", sums->fragmented);
  vs_jsonw_member_u64(json, "releasable_bytes", sums->releasable);
}

static void write_pool(const vs_call *call, const vs_reserved_pool *pool) {
  const vs_snapshot *s = call->engine->snapshot;
  vs_jsonw *json = call->json;
  vs_jsonw_object_begin(json);
  vs_reply_pool(call, pool->pool);
  if (pool->pool == 0) vs_jsonw_member_null(json, "is_private");
  else
    vs_jsonw_member_bool(json, "is_private",
                         s->pools.data[pool->pool - 1].a != 0 || s->pools.data[pool->pool - 1].b != 0);
  write_sums(call, &pool->sums);
  vs_jsonw_object_end(json);
}

/* What else the file knows of the card: its name and size, and what the driver reported as free at a failed request. */
static void write_card(const vs_call *call, vs_moment moment) {
  const vs_snapshot *s = call->engine->snapshot;
  const vs_slice *slice = call->device->slice;
  vs_recorded_device card = {.name = VS_STRING_NONE};
  uint64_t free_bytes = 0;
  for (size_t i = 0; i < s->recording.devices.count; i++)
    if (s->recording.devices.data[i].device == slice->device) card = s->recording.devices.data[i];
  const uint64_t total = card.total_bytes;
  vs_reply_string(call, "card_name", card.name);
  vs_reply_u64_or_null(call->json, "card_bytes", total != 0, total);
  const uint32_t row = moment >= 0 ? vs_slice_row(slice, (uint32_t)moment) : 0;
  const bool is_oom = moment >= 0 && vs_events_kind(&s->events, row) == VS_EVENT_OOM;
  const bool is_known = is_oom && vs_event_address(&s->events, row, &free_bytes);
  vs_reply_u64_or_null(call->json, "card_free_bytes", is_known, free_bytes);
}

static void write_libraries(const vs_call *call, const vs_library_uses *uses) {
  if (!uses->is_complete) {
    vs_jsonw_member_null(call->json, "libraries");
    return;
  }
  vs_reply_array_begin(call->json, "libraries");
  for (size_t i = 0; i < uses->list.count; i++) {
    vs_jsonw_object_begin(call->json);
    vs_jsonw_member_str(call->json, "library", uses->list.data[i].name);
    vs_jsonw_member_u64(call->json, "bytes", uses->list.data[i].bytes);
    vs_jsonw_object_end(call->json);
  }
  vs_jsonw_array_end(call->json);
}

static void write_reserved(const vs_call *call, const vs_reserved *reserved, const vs_library_uses *uses) {
  vs_reply_device(call, call->device);
  vs_reply_moment(call, call->device, "at", reserved->moment);
  vs_jsonw_member_bool(call->json, "is_exact", reserved->is_exact);
  write_card(call, reserved->moment);
  write_libraries(call, uses);
  write_sums(call, &reserved->all);
  vs_jsonw_member_u64(call->json, "outside_bytes", reserved->outside);
  vs_reply_array_begin(call->json, "pools");
  for (size_t i = 0; i < reserved->pools.count; i++) write_pool(call, &reserved->pools.data[i]);
  vs_jsonw_array_end(call->json);
}

vs_status vs_reply_reserved_at(vs_call *call, vs_moment moment) {
  const vs_host *host = call->engine->host;
  const vs_moment_index *moments;
  vs_library_uses uses;
  vs_reserved reserved;
  VS_TRY(vs_cached_moments(host, call->device, &moments));
  VS_TRY(vs_libraries_at(host, call->device->slice, moment, &uses));
  const vs_status status = vs_reserved_at(host, moments, moment, &reserved);
  if (status == VS_OK) write_reserved(call, &reserved, &uses);
  if (status == VS_OK) vs_reserved_deinit(host, &reserved);
  vs_library_uses_deinit(host, &uses);
  return status;
}

/* The moment of the request, moved to one with the wanted reserved bytes. */
static vs_status find_moment(const vs_call *call, vs_moment *moment) {
  const vs_request *request = call->request;
  VS_TRY(vs_find_moment(call->engine->host, call->device, request->at, moment, call->error));
  if (request->reserved_bytes == 0) return VS_OK;
  if (vs_reserved_moment(call->device->slice, vs_cached_curves(call->device), request->reserved_bytes,
                         *moment, moment))
    return VS_OK;
  return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET,
                 "the trace has no moment at which %U bytes were reserved", request->reserved_bytes);
}

vs_status vs_method_reserved(vs_call *call) {
  vs_moment moment;
  VS_TRY(find_moment(call, &moment));
  return vs_reply_reserved_at(call, moment);
}
