/* "stats": the end state by stream, pool and kind, and the allocations by size and lifetime. */
#include "base/sort.h"
#include "query/reply.h"

typedef enum part_key { PART_STREAM, PART_POOL } part_key;
typedef VS_VEC(vs_sort_pair) pairs;

/* Writes parts, most reserved first. */
static vs_status write_parts(const vs_call *call, const char *key, part_key kind, const vs_end_part *parts,
                             size_t count) {
  const vs_host *host = call->engine->host;
  pairs order = {0};
  VS_TRY(vs_vec_reserve(host, &order, count));
  for (size_t i = 0; i < count; i++)
    order.data[order.count++] = (vs_sort_pair){.key = ~parts[i].sums.reserved, .value = (uint32_t)i};
  const vs_status status = vs_sort_pairs(host, order.data, order.count);
  vs_reply_array_begin(call->json, key);
  for (size_t i = 0; i < order.count; i++) {
    const vs_end_part *part = &parts[order.data[i].value];
    vs_jsonw_object_begin(call->json);
    if (kind == PART_STREAM) vs_reply_stream(call, part->key);
    else vs_reply_pool(call, part->key);
    vs_reply_end_sums(call, &part->sums);
    vs_jsonw_object_end(call->json);
  }
  vs_jsonw_array_end(call->json);
  vs_vec_free(host, &order);
  return status;
}

/* A selection sort, because there are only three kinds: the one with most reserved bytes first. */
static void write_kinds(const vs_call *call, const vs_end_state *end) {
  bool is_done[VS_SEGMENT_KINDS] = {false};
  vs_reply_array_begin(call->json, "kinds");
  for (int n = 0; n < VS_SEGMENT_KINDS; n++) {
    int best = -1;
    for (int k = 0; k < VS_SEGMENT_KINDS; k++)
      if (!is_done[k] && (best < 0 || end->by_kind[k].reserved > end->by_kind[best].reserved)) best = k;
    VS_ASSERT(best >= 0);
    is_done[best] = true;
    if (end->by_kind[best].segments == 0) continue;
    vs_jsonw_object_begin(call->json);
    vs_jsonw_member_str(call->json, "kind", vs_str_from(vs_segment_kind_name((vs_segment_kind)best)));
    vs_reply_end_sums(call, &end->by_kind[best]);
    vs_jsonw_object_end(call->json);
  }
  vs_jsonw_array_end(call->json);
}

static void write_sizes(const vs_call *call, const vs_churn *churn, const vs_groups *live) {
  vs_jsonw *json = call->json;
  vs_reply_array_begin(json, "sizes");
  for (uint32_t n = 0; n < VS_POWERS; n++) {
    vs_group now = {0};
    for (size_t i = 0; i < live->list.count; i++)
      if (live->list.data[i].key == n) now = live->list.data[i];
    if (churn->by_size[n] == 0 && now.count == 0) continue;
    vs_jsonw_object_begin(json);
    vs_jsonw_member_u64(json, "from_bytes", n == 0 ? 0 : UINT64_C(1) << n);
    vs_jsonw_member_u64(json, "to_bytes", (UINT64_C(2) << n) - 1);
    vs_jsonw_member_u64(json, "allocs", churn->by_size[n]);
    vs_jsonw_member_u64(json, "alloc_bytes", churn->bytes_by_size[n]);
    vs_jsonw_member_u64(json, "live_count", now.count);
    vs_jsonw_member_u64(json, "live_bytes", now.bytes);
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
}

static vs_status live_by_size(const vs_host *host, const vs_lifetimes *lifetimes, vs_groups *out) {
  vs_liveset set;
  VS_TRY(vs_liveset_build(host, lifetimes, vs_slice_end(lifetimes->slice), &set));
  const vs_status status =
      vs_groups_build(host, lifetimes, set.rows.data, set.rows.count, VS_BY_SIZE, NULL, out);
  vs_liveset_deinit(host, &set);
  return status;
}

vs_status vs_method_stats(vs_call *call) {
  vs_device_cache *device = call->device;
  vs_report *r;
  vs_groups live;
  VS_TRY(vs_cached_report(call->engine->host, device, &r));
  vs_reply_device(call, device);
  vs_reply_end(call, r);
  VS_TRY(write_parts(call, "streams", PART_STREAM, r->end.by_stream.data, r->end.by_stream.count));
  VS_TRY(write_parts(call, "pools", PART_POOL, r->end.by_pool.data, r->end.by_pool.count));
  write_kinds(call, &r->end);
  VS_TRY(live_by_size(call->engine->host, r->lifetimes, &live));
  write_sizes(call, &r->churn, &live);
  vs_groups_deinit(call->engine->host, &live);
  vs_reply_lifetimes(call, &r->churn);
  return VS_OK;
}
