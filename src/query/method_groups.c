/* "groups": the legend of a picture. */
#include "query/picture_query.h"
#include "query/reply.h"

static void write_group(vs_call *call, const vs_colours *colours, size_t index) {
  vs_jsonw *json = call->json;
  const vs_colour_group *group = &colours->list.data[index];
  const vs_group named = {.count = group->count, .key = group->key, .stack = group->stack};
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "index", index);
  vs_reply_group_name(call, colours->by, &named);
  vs_jsonw_member_u64(json, "bytes_at_peak", group->bytes_at_peak);
  vs_jsonw_member_u64(json, "count", group->count);
  vs_reply_share(json, "share_of_time", group->weight, colours->weight);
  vs_jsonw_object_end(json);
}

static void write_rest(const vs_call *call, const vs_colours *colours, size_t shown) {
  vs_jsonw *json = call->json;
  uint64_t bytes = 0, count = 0, weight = 0;
  VS_ASSERT(shown <= colours->list.count);
  for (size_t i = shown; i < colours->list.count; i++) {
    bytes = vs_sat_add_u64(bytes, colours->list.data[i].bytes_at_peak);
    weight = vs_sat_add_u64(weight, colours->list.data[i].weight);
    count += colours->list.data[i].count;
  }
  vs_reply_object_begin(json, "rest");
  vs_jsonw_member_u64(json, "groups", colours->list.count - shown);
  vs_jsonw_member_u64(json, "bytes_at_peak", bytes);
  vs_jsonw_member_u64(json, "count", count);
  vs_reply_share(json, "share_of_time", weight, colours->weight);
  vs_jsonw_object_end(json);
}

static void write_groups(vs_call *call, const vs_colours *colours) {
  vs_jsonw *json = call->json;
  const size_t count = colours->list.count, shown = vs_reply_at_most(call, count);
  vs_reply_array_begin(json, "groups");
  for (size_t i = 0; i < shown; i++) write_group(call, colours, i);
  vs_jsonw_array_end(json);
  vs_reply_u64_or_null(json, "others", count > VS_LEGEND, VS_LEGEND);
  vs_jsonw_member_u64(json, "group_count", count);
  write_rest(call, colours, shown);
}

static const vs_colours no_colours;

vs_status vs_method_groups(vs_call *call) {
  const uint32_t colour = call->request->colour;
  vs_picture_query query;
  const vs_colours *colours = &no_colours;
  VS_TRY(vs_picture_query_build(call, &query));
  if (colour != VS_COLOUR_ALLOCATION)
    VS_TRY(vs_picture_query_colours(call, &query, (vs_group_by)colour, &colours));
  vs_reply_device(call, call->device);
  vs_reply_drawn(call, call->request->drawn);
  vs_jsonw_member_str(call->json, "by",
                      colour == VS_COLOUR_ALLOCATION ? VS_STR("allocation")
                                                     : vs_str_from(vs_group_by_name((vs_group_by)colour)));
  write_groups(call, colours);
  return VS_OK;
}
