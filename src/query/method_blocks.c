/* "blocks": the blocks that are live at a moment, one by one. */
#include "query/reply.h"
#include "query/selection.h"

/* Writes an event and its time; both null for VS_NO_EVENT. */
static void write_event(const vs_call *call, const vs_slice *slice, const char *event_key,
                        const char *time_key, uint32_t event) {
  vs_reply_event(call->json, event_key, event);
  vs_reply_time(call->json, time_key, event == VS_NO_EVENT ? VS_NO_TIME : vs_slice_time(slice, event));
}

static void write_block(vs_call *call, const vs_selection *selection, const vs_lifetime *row) {
  vs_jsonw *json = call->json;
  const vs_slice *slice = selection->lifetimes->slice;
  const vs_snapshot *s = slice->snapshot;
  const bool is_at_end = row->block != VS_NO_ROW;
  vs_jsonw_object_begin(json);
  const bool has_address = !is_at_end || vs_block_has_address(s, &s->blocks.data[row->block]);
  vs_reply_u64_or_null(json, "address", has_address, row->address);
  vs_jsonw_member_u64(json, "requested_bytes", row->size);
  vs_reply_u64_or_null(json, "size_bytes", is_at_end, is_at_end ? s->blocks.data[row->block].size : 0);
  vs_jsonw_member_str(json, "state", vs_selection_state(selection, row));
  vs_reply_stream(call, vs_lifetime_stream(selection->lifetimes, row));
  vs_reply_pool(call, vs_lifetime_pool(selection->lifetimes, selection->items.segments, row));
  vs_reply_string(call, "category", vs_selection_category(selection, row));
  write_event(call, slice, "alloc_event", "alloc_time_us", row->start);
  write_event(call, slice, "free_event", "free_time_us",
              row->free_requested != VS_NO_EVENT ? row->free_requested : row->end);
  const uint32_t stack = vs_lifetime_stack(selection->lifetimes, row);
  vs_reply_owner(call, stack, row->start == VS_NO_EVENT);
  vs_reply_stack(call, stack);
  vs_jsonw_object_end(json);
}

static void write_blocks(vs_call *call, const vs_device_cache *device, const vs_selection *selection,
                         const vs_rows *rows) {
  vs_jsonw *json = call->json;
  const uint64_t offset = vs_min_u64(call->request->offset, rows->count), top = call->request->top;
  const uint64_t end = top != 0 && top < rows->count - offset ? offset + top : rows->count;
  VS_ASSERT(offset <= end && end <= rows->count);
  vs_reply_device(call, device);
  vs_reply_moment(call, device, "at", selection->set.moment);
  vs_jsonw_member_u64(json, "bytes", selection->set.bytes);
  vs_jsonw_member_u64(json, "count", rows->count);
  vs_jsonw_member_u64(json, "offset", offset);
  vs_reply_array_begin(json, "blocks");
  for (uint64_t i = offset; i < end; i++)
    write_block(call, selection, &selection->lifetimes->rows.data[rows->data[i]]);
  vs_jsonw_array_end(json);
}

vs_status vs_method_blocks(vs_call *call) {
  vs_device_cache *device = call->device;
  vs_selection selection;
  vs_rows rows;
  VS_TRY(vs_selection_build(call, device, &selection));
  const vs_status status = vs_selection_by_size(call, &selection, &rows);
  if (status == VS_OK) {
    write_blocks(call, device, &selection, &rows);
    vs_vec_free(call->engine->host, &rows);
  }
  vs_selection_deinit(call, &selection);
  return status;
}
