/* "fragmentation": the free blocks at a moment, and the live blocks that keep their segments from being released. */
#include "query/advice.h"
#include "query/items.h"
#include "query/reply.h"

static void write_all(const vs_call *call, const vs_holes *holes) {
  vs_jsonw *json = call->json;
  vs_reply_object_begin(json, "all");
  vs_jsonw_member_u64(json, "reserved", holes->reserved);
  vs_jsonw_member_u64(json, "active", holes->active);
  vs_jsonw_member_u64(json, "free", holes->free);
  vs_jsonw_member_u64(json, "pinned", holes->pinned);
  vs_jsonw_member_u64(json, "releasable", holes->releasable);
  vs_jsonw_member_u64(json, "largest_hole", holes->largest_hole);
  vs_jsonw_member_u64(json, "hole_count", holes->hole_count);
  vs_reply_u64_or_null(json, "unusable", holes->is_unusable_known, holes->unusable);
  vs_jsonw_object_end(json);
}

static vs_status write_block(vs_call *call, const vs_items *items, const vs_state_segment *segment,
                             const vs_state_block *block) {
  vs_jsonw *json = call->json;
  VS_ASSERT(block->address >= segment->address);
  vs_jsonw_object_begin(json);
  vs_reply_u64_or_null(json, "row", block->lifetime != VS_NO_ROW, block->lifetime);
  if (block->lifetime != VS_NO_ROW) {
    const vs_item item = vs_item_at(items, block->lifetime);
    VS_TRY(vs_reply_item_name(call, items, &item));
    vs_reply_owner(call, item.stack, item.start == VS_NO_EVENT);
  } else {
    vs_jsonw_member_null(json, "name");
    const vs_snapshot *s = call->engine->snapshot;
    vs_reply_owner(call, block->row == VS_NO_ROW ? VS_LIST_NONE : s->blocks.data[block->row].stack, true);
  }
  vs_jsonw_member_u64(json, "size_bytes", block->size);
  vs_jsonw_member_u64(json, "offset_bytes", block->address - segment->address);
  vs_jsonw_object_end(json);
  return VS_OK;
}

/* The first mapping of a segment of the state. */
static uint32_t mapping_at(const vs_mappings *mappings, uint64_t address, vs_moment moment) {
  for (size_t i = 0; i < mappings->rows.count; i++)
    if (mappings->rows.data[i].address == address && vs_mapping_is_live(&mappings->rows.data[i], moment))
      return (uint32_t)i;
  return VS_NO_ROW;
}

enum { MOST_BLOCKS = 100 }; /* of one segment */

static vs_status write_pinned(vs_call *call, const vs_items *items, const vs_state *state,
                              const vs_pinned *pinned) {
  vs_jsonw *json = call->json;
  const vs_state_segment *segment = &state->segments.data[pinned->segment];
  VS_ASSERT(pinned->segment < state->segments.count && pinned->free <= segment->size);
  const uint32_t row = mapping_at(items->mappings, segment->address, state->moment);
  vs_jsonw_object_begin(json);
  vs_reply_u64_or_null(json, "row", row != VS_NO_ROW, row);
  vs_jsonw_member_u64(json, "address", segment->address);
  vs_jsonw_member_u64(json, "size_bytes", segment->size);
  vs_jsonw_member_u64(json, "active_bytes", pinned->active);
  vs_jsonw_member_u64(json, "free_bytes", pinned->free);
  vs_jsonw_member_u64(json, "pinned_bytes", pinned->pinned);
  vs_reply_pool(call, segment->pool);
  vs_reply_stream(call, segment->stream);
  vs_jsonw_member_u64(json, "block_count", segment->block_count);
  vs_reply_array_begin(json, "blocks");
  for (uint32_t i = 0; i < segment->block_count && i < MOST_BLOCKS; i++)
    VS_TRY(write_block(call, items, segment, &state->blocks.data[segment->first_block + i]));
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
  return VS_OK;
}

static vs_status write_fragmentation(vs_call *call, const vs_items *items, const vs_fragmentation *f) {
  vs_jsonw *json = call->json;
  vs_reply_device(call, call->device);
  vs_reply_moment(call, call->device, "at", f->state.moment);
  vs_jsonw_member_bool(json, "is_exact", f->state.is_exact);
  write_all(call, &f->all);
  vs_reply_areas(call, f);
  vs_reply_array_begin(json, "pinned");
  for (size_t i = 0; i < f->pinned.count; i++)
    VS_TRY(write_pinned(call, items, &f->state, &f->pinned.data[i]));
  vs_jsonw_array_end(json);
  vs_jsonw_member_str(json, "sentence", vs_str_from(vs_explain_fragmentation(&f->all)));
  return VS_OK;
}

vs_status vs_method_fragmentation(vs_call *call) {
  const vs_host *host = call->engine->host;
  const uint64_t top = call->request->top;
  const uint32_t most = top == 0 || top > UINT32_MAX ? UINT32_MAX : (uint32_t)top;
  const vs_moment_index *moments;
  vs_items items;
  vs_moment moment;
  vs_fragmentation f;
  VS_TRY(vs_find_moment(call->engine->host, call->device, call->request->at, &moment, call->error));
  VS_TRY(vs_items_init(call->engine->host, call->device, VS_DRAWN_allocations, &items));
  VS_TRY(vs_cached_moments(call->engine->host, call->device, &moments));
  VS_TRY(vs_fragmentation_at(host, moments, moment, most, &f));
  const vs_status status = write_fragmentation(call, &items, &f);
  vs_fragmentation_deinit(host, &f);
  return status;
}
