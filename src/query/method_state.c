/* "state": the address space at a moment, segment by segment and block by block. */
#include "base/sort.h"
#include "query/reply.h"

static uint32_t stack_of(const vs_lifetimes *lifetimes, const vs_state_block *block) {
  if (block->lifetime != VS_NO_ROW)
    return vs_lifetime_stack(lifetimes, &lifetimes->rows.data[block->lifetime]);
  return block->row == VS_NO_ROW ? VS_LIST_NONE : lifetimes->slice->snapshot->blocks.data[block->row].stack;
}

static void write_block(const vs_call *call, const vs_lifetimes *lifetimes, const vs_state_block *block) {
  vs_jsonw *json = call->json;
  const uint32_t stack = stack_of(lifetimes, block);
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "address", block->address);
  vs_jsonw_member_u64(json, "size_bytes", block->size);
  vs_jsonw_member_u64(json, "requested_bytes", block->requested);
  const vs_block_state state = block->is_pending ? VS_BLOCK_PENDING : VS_BLOCK_ALLOCATED;
  vs_jsonw_member_str(json, "state", vs_str_from(vs_block_state_name(state)));
  vs_reply_event(json, "alloc_event",
                 block->lifetime == VS_NO_ROW ? VS_NO_EVENT : lifetimes->rows.data[block->lifetime].start);
  vs_reply_u64_or_null(json, "stack_id", stack != VS_LIST_NONE, stack);
  vs_jsonw_object_end(json);
}

static void write_blocks(const vs_call *call, const vs_lifetimes *lifetimes, const vs_state *state,
                         const char *key, size_t first, size_t end) {
  vs_reply_array_begin(call->json, key);
  VS_ASSERT(first <= end && end <= state->blocks.count);
  for (size_t i = first; i < end; i++) write_block(call, lifetimes, &state->blocks.data[i]);
  vs_jsonw_array_end(call->json);
}

static void write_segment(const vs_call *call, const vs_lifetimes *lifetimes, const vs_state *state,
                          const vs_state_segment *segment) {
  vs_jsonw *json = call->json;
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "address", segment->address);
  vs_jsonw_member_u64(json, "size_bytes", segment->size);
  vs_reply_stream(call, segment->stream);
  vs_reply_pool(call, segment->pool);
  vs_jsonw_member_str(json, "kind", vs_str_from(vs_segment_kind_name((vs_segment_kind)segment->kind)));
  vs_jsonw_member_bool(json, "is_expandable", segment->is_expandable);
  write_blocks(call, lifetimes, state, "blocks", segment->first_block,
               segment->first_block + segment->block_count);
  vs_jsonw_object_end(json);
}

/* The stacks of all blocks, each once, by rising id. */
typedef VS_VEC(vs_sort_pair) stack_ids;

static vs_status collect_stacks(const vs_host *host, const vs_lifetimes *lifetimes, const vs_state *state,
                                stack_ids *out) {
  VS_TRY(vs_vec_reserve(host, out, state->blocks.count));
  for (size_t i = 0; i < state->blocks.count; i++) {
    const uint32_t stack = stack_of(lifetimes, &state->blocks.data[i]);
    if (stack != VS_LIST_NONE) out->data[out->count++] = (vs_sort_pair){.key = stack};
  }
  VS_TRY(vs_sort_pairs(host, out->data, out->count));
  size_t kept = 0;
  VS_ASSERT(out->count <= state->blocks.count);
  for (size_t i = 0; i < out->count; i++)
    if (i == 0 || out->data[i].key != out->data[i - 1].key) out->data[kept++] = out->data[i];
  out->count = kept;
  return VS_OK;
}

static void write_stacks(vs_call *call, const stack_ids *stacks) {
  vs_reply_object_begin(call->json, "stacks");
  for (size_t i = 0; i < stacks->count; i++) {
    char key[24];
    vs_format(key, sizeof key, "%U", stacks->data[i].key);
    vs_jsonw_key(call->json, vs_str_from(key));
    vs_reply_stack_value(call, (uint32_t)stacks->data[i].key);
  }
  vs_jsonw_object_end(call->json);
}

static void write_state(vs_call *call, const vs_device_cache *device, const vs_lifetimes *lifetimes,
                        const vs_state *state, const stack_ids *stacks) {
  vs_jsonw *json = call->json;
  vs_reply_device(call, device);
  vs_reply_moment(call, device, "at", state->moment);
  vs_jsonw_member_bool(json, "is_exact", state->is_exact);
  vs_jsonw_member_u64(json, "reserved_bytes", state->reserved);
  vs_jsonw_member_u64(json, "requested_bytes", state->requested);
  vs_reply_array_begin(json, "segments");
  for (size_t i = 0; i < state->segments.count; i++)
    write_segment(call, lifetimes, state, &state->segments.data[i]);
  vs_jsonw_array_end(json);
  write_blocks(call, lifetimes, state, "outside", state->outside, state->blocks.count);
  write_stacks(call, stacks);
}

vs_status vs_method_state(vs_call *call) {
  const vs_host *host = call->engine->host;
  vs_device_cache *device = call->device;
  const vs_moment_index *moments;
  const vs_lifetimes *lifetimes;
  vs_moment moment;
  vs_state state;
  stack_ids stacks = {0};
  VS_TRY(vs_find_moment(call->engine->host, device, call->request->at, &moment, call->error));
  VS_TRY(vs_cached_moments(call->engine->host, device, &moments));
  lifetimes = moments->lifetimes;
  VS_TRY(vs_state_at(host, moments, moment, &state));
  const vs_status status = collect_stacks(host, lifetimes, &state, &stacks);
  if (status == VS_OK) write_state(call, device, lifetimes, &state, &stacks);
  vs_vec_free(host, &stacks);
  vs_state_deinit(host, &state);
  return status;
}
