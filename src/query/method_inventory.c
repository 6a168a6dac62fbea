/* "inventory": what was live at a moment by stack and size, with the peaks. It names no address and no time, so that two runs can
 * be compared. With `since` it is what of that was allocated after that moment. */
#include "analyze/inventory.h"
#include "analyze/operation.h"
#include "analyze/requests.h"
#include "query/reply.h"
#include "query/selection.h"

/* The frames of the stacks, each once, in the order in which they are first met. */
typedef struct frame_table {
  VS_VEC(uint32_t) numbers; /* by frame id: 0: not met, else 1 + its place in `frames` */
  VS_VEC(uint32_t) frames;  /* frame ids */
} frame_table;

static vs_status table_init(const vs_host *host, const vs_snapshot *snapshot, frame_table *table) {
  const size_t count = snapshot->stacks.frames.count;
  *table = (frame_table){0};
  VS_TRY(vs_vec_reserve(host, &table->numbers, count));
  if (count != 0) memset(table->numbers.data, 0, count * sizeof *table->numbers.data);
  table->numbers.count = count;
  return VS_OK;
}

static void table_deinit(const vs_host *host, frame_table *table) {
  vs_vec_free(host, &table->numbers);
  vs_vec_free(host, &table->frames);
}

static uint32_t stack_of(const vs_group *group) {
  return group->key < VS_OWNER_frame ? VS_LIST_NONE : group->key - VS_OWNER_frame;
}

static vs_status collect(const vs_call *call, const vs_inventory *inventory, frame_table *table) {
  for (size_t i = 0; i < inventory->stacks.count; i++) {
    const vs_list list =
        vs_stacks_at(&call->engine->snapshot->stacks, stack_of(&inventory->stacks.data[i].group));
    for (uint32_t k = 0; k < list.count; k++) {
      uint32_t *number = &table->numbers.data[list.items[k]];
      if (*number != 0) continue;
      VS_TRY(vs_vec_reserve(call->engine->host, &table->frames, 1));
      table->frames.data[table->frames.count++] = list.items[k];
      *number = (uint32_t)table->frames.count;
    }
  }
  return VS_OK;
}

static void write_frames(vs_call *call, const frame_table *table) {
  vs_reply_array_begin(call->json, "frames");
  for (size_t i = 0; i < table->frames.count; i++) {
    vs_jsonw_object_begin(call->json);
    vs_reply_frame(call, table->frames.data[i]);
    vs_jsonw_object_end(call->json);
  }
  vs_jsonw_array_end(call->json);
}

/* Whether the owner is a line of the forward pass, for what its backward pass allocates. */
static bool is_forward(const vs_call *call, uint32_t owner) {
  return call->engine->snapshot->stacks.frames.data[owner].is_forward != 0 &&
         !vs_frames_is_border(&call->engine->frames, owner);
}

static void write_stack(vs_call *call, const vs_inventory *inventory, const frame_table *table,
                        const vs_inventory_stack *stack) {
  vs_jsonw *json = call->json;
  const uint32_t id = stack_of(&stack->group);
  const vs_list list = vs_stacks_at(&call->engine->snapshot->stacks, id);
  const uint32_t owner = vs_frames_user(&call->engine->frames, id);
  vs_jsonw_object_begin(json);
  vs_reply_group_name(call, VS_BY_STACK, &stack->group);
  vs_put_operation(&call->engine->frames, &call->scratch, id);
  vs_reply_scratch(call, "operation");
  vs_reply_u64_or_null(json, "owner_frame", owner != VS_NO_FRAME,
                       owner == VS_NO_FRAME ? 0 : table->numbers.data[owner] - 1);
  vs_jsonw_member_bool(json, "is_forward", owner != VS_NO_FRAME && is_forward(call, owner));
  vs_reply_array_begin(json, "frames");
  for (uint32_t i = 0; i < list.count; i++) vs_jsonw_u64(json, table->numbers.data[list.items[i]] - 1);
  vs_jsonw_array_end(json);
  vs_jsonw_member_u64(json, "bytes", stack->group.bytes);
  vs_jsonw_member_u64(json, "count", stack->group.count);
  vs_reply_array_begin(json, "sizes");
  for (uint32_t i = 0; i < stack->count; i++) {
    const vs_inventory_size *size = &inventory->sizes.data[stack->first + i];
    vs_jsonw_array_begin(json);
    vs_jsonw_u64(json, size->size);
    vs_jsonw_u64(json, size->count);
    vs_jsonw_array_end(json);
  }
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
}

/* Null where requests may be missing, and without a trace. */
static void write_requests(vs_call *call, const vs_report *r) {
  const vs_slice *slice = call->device->slice;
  if (r->trust.is_complete && slice->event_count != 0) {
    const uint64_t hash = vs_requests_hash(slice);
    for (unsigned i = 0; i < 16; i++)
      vs_text_byte(&call->scratch, (uint8_t) "0123456789abcdef"[hash >> (60 - 4 * i) & 15]);
  }
  if (call->scratch.bytes.count == 0) vs_jsonw_member_null(call->json, "requests_hash");
  else vs_reply_scratch(call, "requests_hash");
}

static bool has_since(const vs_call *call) { return call->request->since.kind != VS_WHEN_NONE; }

static void write_peaks(const vs_call *call, const vs_report *r, const vs_selection *selection) {
  vs_jsonw *json = call->json;
  const bool is_complete =
      has_since(call) ? vs_trust_is_complete_since(&r->trust, selection->since) : r->trust.is_complete;
  vs_jsonw_member_i64(json, "peak_allocated_bytes", r->allocated.peak);
  vs_jsonw_member_bool(json, "allocated_is_exact", r->allocated.is_exact);
  vs_jsonw_member_i64(json, "peak_requested_bytes", r->curves.curve[VS_CURVE_REQUESTED].peak);
  vs_reply_reserved(call, "peak_reserved_bytes", r->curves.curve[VS_CURVE_RESERVED].peak);
  vs_jsonw_member_u64(json, "ooms", r->slice->counts[VS_EVENT_OOM]);
  vs_jsonw_member_bool(json, "complete", is_complete);
}

/* The peaks within the steps that `at` names; null of other moments. */
static vs_status write_within(const vs_call *call, const vs_report *r) {
  vs_jsonw *json = call->json;
  vs_device_cache *device = call->device;
  const vs_moment_index *moments;
  vs_moment first, last;
  int64_t allocated;
  if (call->request->at.kind != VS_WHEN_STEPS) {
    vs_jsonw_member_null(json, "within");
    return VS_OK;
  }
  VS_TRY(vs_find_steps(call->engine->host, device, call->request->at, &first, &last, call->error));
  VS_TRY(vs_cached_moments(call->engine->host, device, &moments));
  VS_TRY(vs_allocated_peaks_between(call->engine->host, r->lifetimes, &moments->mappings,
                                    &(vs_moment_range){first, last}, 1, &allocated));
  const vs_curve_peaks peaks = vs_curves_peaks_between(device->slice, &r->curves, first, last);
  vs_reply_object_begin(json, "within");
  vs_jsonw_member_i64(json, "first_event", first);
  vs_jsonw_member_i64(json, "last_event", last);
  vs_jsonw_member_i64(json, "peak_allocated_bytes", allocated);
  vs_jsonw_member_i64(json, "peak_requested_bytes", peaks.peak[VS_CURVE_REQUESTED]);
  vs_reply_reserved(call, "peak_reserved_bytes", peaks.peak[VS_CURVE_RESERVED]);
  vs_jsonw_object_end(json);
  return VS_OK;
}

static vs_status write(vs_call *call, const vs_selection *selection, const vs_inventory *inventory,
                       frame_table *table) {
  vs_report *r;
  VS_TRY(vs_cached_report(call->engine->host, call->device, &r));
  VS_TRY(collect(call, inventory, table));
  vs_reply_file(call);
  vs_reply_device(call, call->device);
  write_peaks(call, r, selection);
  write_requests(call, r);
  vs_reply_moment(call, call->device, "at", selection->at);
  if (has_since(call)) vs_reply_moment(call, call->device, "since", selection->since);
  else vs_jsonw_member_null(call->json, "since");
  VS_TRY(write_within(call, r));
  vs_jsonw_member_u64(call->json, "bytes", inventory->bytes);
  vs_jsonw_member_u64(call->json, "count", inventory->count);
  write_frames(call, table);
  vs_reply_array_begin(call->json, "stacks");
  for (size_t i = 0; i < inventory->stacks.count; i++)
    write_stack(call, inventory, table, &inventory->stacks.data[i]);
  vs_jsonw_array_end(call->json);
  return VS_OK;
}

vs_status vs_method_inventory(vs_call *call) {
  const vs_host *host = call->engine->host;
  vs_selection selection;
  vs_inventory inventory;
  frame_table table;
  if (has_since(call)) call->request->measure = VS_MEASURE_grown;
  VS_TRY(vs_selection_build(call, call->device, &selection));
  if (has_since(call) && selection.at < selection.since) selection.set.rows.count = 0;
  vs_status status = vs_inventory_build(host, selection.lifetimes, selection.set.rows.data,
                                        selection.set.rows.count, &call->engine->frames, &inventory);
  if (status == VS_OK) {
    status = table_init(host, call->engine->snapshot, &table);
    if (status == VS_OK) {
      status = write(call, &selection, &inventory, &table);
      table_deinit(host, &table);
    }
    vs_inventory_deinit(host, &inventory);
  }
  vs_selection_deinit(call, &selection);
  return status;
}
