/* "live": the allocations that are live at a moment, in groups. */
#include "query/reply.h"
#include "query/selection.h"

static void write_rest(const vs_call *call, const vs_groups *groups, size_t shown) {
  uint64_t bytes = 0, count = 0;
  VS_ASSERT(shown <= groups->list.count);
  for (size_t i = shown; i < groups->list.count; i++) {
    bytes = vs_sat_add_u64(bytes, groups->list.data[i].bytes);
    count += groups->list.data[i].count;
  }
  vs_reply_object_begin(call->json, "rest");
  vs_jsonw_member_u64(call->json, "bytes", bytes);
  vs_jsonw_member_u64(call->json, "count", count);
  vs_jsonw_member_u64(call->json, "groups", groups->list.count - shown);
  vs_jsonw_object_end(call->json);
}

static void write_groups(vs_call *call, const vs_device_cache *device, const vs_selection *selection,
                         const vs_groups *groups) {
  const size_t shown = vs_reply_at_most(call, groups->list.count);
  vs_jsonw *json = call->json;
  vs_reply_device(call, device);
  vs_reply_selection(call, device, selection);
  vs_jsonw_member_str(json, "by", vs_str_from(vs_group_by_name(groups->by)));
  vs_jsonw_member_u64(json, "bytes", groups->bytes);
  vs_jsonw_member_u64(json, "count", groups->count);
  vs_reply_array_begin(json, "groups");
  for (size_t i = 0; i < shown; i++)
    vs_reply_group_value(call, groups->by, &groups->list.data[i], groups->bytes);
  vs_jsonw_array_end(json);
  vs_jsonw_member_u64(json, "group_count", groups->list.count);
  write_rest(call, groups, shown);
}

vs_status vs_method_live(vs_call *call) {
  const vs_host *host = call->engine->host;
  vs_device_cache *device = call->device;
  vs_selection selection;
  vs_groups groups;
  VS_TRY(vs_selection_build(call, device, &selection));
  const vs_status status = vs_selection_groups(call, &selection, call->request->by, &groups);
  if (status == VS_OK) {
    write_groups(call, device, &selection, &groups);
    vs_groups_deinit(host, &groups);
  }
  vs_selection_deinit(call, &selection);
  return status;
}
