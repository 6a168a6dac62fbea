#include "diff/side.h"

static vs_status wrong(vs_error *error, const char *what, size_t at) {
  return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "not an inventory of vramscope: %s %U", what,
                 (uint64_t)at);
}

static bool is_array(vs_json json) { return vs_json_kind(json) == VS_JSON_ARRAY; }

static bool is_u64(vs_json json) {
  const uint32_t kind = vs_json_kind(json);
  return kind == VS_VALUE_UINT || (kind == VS_VALUE_INT && vs_json_i64(json, -1) >= 0);
}

static vs_side_frame frame_of(vs_json json) {
  const vs_str kind = vs_reply_str(json, "kind");
  const bool is_user = vs_str_equal(kind, VS_STR("user"));
  return (vs_side_frame){.function = vs_reply_str(json, "function"),
                         .file = vs_reply_str(json, "file"),
                         .line = vs_json_i64(vs_reply_at(json, "line"), VS_SIDE_NO_LINE),
                         .is_user = is_user,
                         .is_python = is_user || vs_str_equal(kind, VS_STR("library"))};
}

static vs_status read_frames(vs_side *side, const vs_host *host, vs_json list, vs_error *error) {
  const size_t count = vs_json_count(list);
  VS_TRY(vs_vec_reserve(host, &side->frames, count));
  for (size_t i = 0; i < count; i++) {
    const vs_json frame = vs_json_at(list, i);
    if (vs_json_kind(frame) != VS_JSON_OBJECT) return wrong(error, "no frame is", i);
    side->frames.data[side->frames.count++] = frame_of(frame);
  }
  return VS_OK;
}

static vs_status read_stack_frames(vs_side *side, const vs_host *host, vs_json list, vs_side_stack *stack,
                                   size_t at, vs_error *error) {
  const size_t count = vs_json_count(list);
  if (!is_array(list) || count > UINT32_MAX - side->stack_frames.count)
    return wrong(error, "no frames in stack", at);
  VS_TRY(vs_vec_reserve(host, &side->stack_frames, count));
  stack->first_frame = (uint32_t)side->stack_frames.count;
  stack->frame_count = (uint32_t)count;
  for (size_t i = 0; i < count; i++) {
    const uint64_t frame = vs_json_u64(vs_json_at(list, i), UINT64_MAX);
    if (frame >= side->frames.count) return wrong(error, "a frame that is not listed in stack", at);
    side->stack_frames.data[side->stack_frames.count++] = (uint32_t)frame;
  }
  return VS_OK;
}

static vs_status read_sizes(vs_side *side, const vs_host *host, vs_json list, vs_side_stack *stack, size_t at,
                            vs_error *error) {
  const size_t count = vs_json_count(list);
  if (!is_array(list) || count == 0 || count > UINT32_MAX - side->sizes.count)
    return wrong(error, "no sizes in stack", at);
  VS_TRY(vs_vec_reserve(host, &side->sizes, count));
  stack->first_size = (uint32_t)side->sizes.count;
  stack->size_count = (uint32_t)count;
  for (size_t i = 0; i < count; i++) {
    const vs_json size = vs_json_at(vs_json_at(list, i), 0), times = vs_json_at(vs_json_at(list, i), 1);
    if (!is_u64(size) || !is_u64(times)) return wrong(error, "no size and number in stack", at);
    const vs_side_size row = {.size = vs_json_u64(size, 0), .count = vs_json_u64(times, 0)};
    side->sizes.data[side->sizes.count++] = row;
    stack->bytes = vs_sat_add_u64(stack->bytes, vs_sat_mul_u64(row.size, row.count));
    stack->count = vs_sat_add_u64(stack->count, row.count);
  }
  return VS_OK;
}

static vs_status add_stack(vs_side *side, const vs_host *host, const vs_side_stack *stack) {
  VS_TRY(vs_vec_reserve(host, &side->stacks, 1));
  side->stacks.data[side->stacks.count++] = *stack;
  side->bytes = vs_sat_add_u64(side->bytes, stack->bytes);
  side->count = vs_sat_add_u64(side->count, stack->count);
  return VS_OK;
}

static vs_status read_stack(vs_side *side, const vs_host *host, vs_json json, size_t at, vs_error *error) {
  vs_side_stack stack = {.label = vs_reply_str(json, "label"),
                         .long_label = vs_reply_str(json, "long_label"),
                         .operation = vs_reply_str(json, "operation"),
                         .is_forward = vs_reply_bool(json, "is_forward"),
                         .owner = VS_SIDE_NONE};
  VS_TRY(read_stack_frames(side, host, vs_reply_at(json, "frames"), &stack, at, error));
  VS_TRY(read_sizes(side, host, vs_reply_at(json, "sizes"), &stack, at, error));
  if (vs_reply_knows(json, "owner_frame")) {
    const uint64_t owner = vs_reply_u64(json, "owner_frame");
    if (owner >= side->frames.count) return wrong(error, "an owner that is not listed in stack", at);
    stack.owner = (uint32_t)owner;
  }
  return add_stack(side, host, &stack);
}

static vs_status read_stacks(vs_side *side, const vs_host *host, vs_json list, vs_error *error) {
  for (size_t i = 0; i < vs_json_count(list); i++)
    VS_TRY(read_stack(side, host, vs_json_at(list, i), i, error));
  return VS_OK;
}

/* ---- a baseline: owners in place of frames and stacks */

static vs_status read_owner(vs_side *side, const vs_host *host, vs_json json, size_t at, vs_error *error) {
  vs_side_stack stack = {.label = vs_reply_str(json, "owner"),
                         .long_label = vs_reply_str(json, "owner"),
                         .is_forward = vs_reply_bool(json, "is_forward"),
                         .owner = VS_SIDE_NONE,
                         .first_frame = (uint32_t)side->stack_frames.count};
  if (vs_json_kind(json) != VS_JSON_OBJECT) return wrong(error, "no owner is", at);
  if (vs_reply_knows(json, "function")) {
    VS_TRY(vs_vec_reserve(host, &side->frames, 1));
    VS_TRY(vs_vec_reserve(host, &side->stack_frames, 1));
    stack.owner = (uint32_t)side->frames.count;
    stack.frame_count = 1;
    side->stack_frames.data[side->stack_frames.count++] = stack.owner;
    side->frames.data[side->frames.count++] = frame_of(json);
  }
  VS_TRY(read_sizes(side, host, vs_reply_at(json, "sizes"), &stack, at, error));
  return add_stack(side, host, &stack);
}

static vs_status read_owners(vs_side *side, const vs_host *host, vs_json list, vs_error *error) {
  if (vs_json_count(list) >= UINT32_MAX) return VS_LIMIT;
  for (size_t i = 0; i < vs_json_count(list); i++)
    VS_TRY(read_owner(side, host, vs_json_at(list, i), i, error));
  return VS_OK;
}

/* ---- finding it */

static bool is_of(vs_json inventory, const int64_t *device) {
  return device == NULL || vs_json_i64(vs_reply_at(inventory, "device"), -1) == *device;
}

/* What makes a GPU the busiest; files without segments say only what was allocated. */
static uint64_t peak_of(vs_json inventory) {
  return vs_reply_u64(inventory, vs_reply_knows(inventory, "peak_reserved_bytes") ? "peak_reserved_bytes"
                                                                                  : "peak_allocated_bytes");
}

vs_json vs_inventory_in(vs_json document, const int64_t *device) {
  const vs_json list = vs_reply_at(document, "inventories");
  vs_json found = vs_json_at(list, vs_json_count(list)); /* absent */
  if (vs_json_is_absent(list)) return is_of(document, device) ? document : found;
  for (size_t i = 0; i < vs_json_count(list); i++) {
    const vs_json next = vs_json_at(list, i);
    if (!is_of(next, device)) continue;
    if (vs_json_is_absent(found) || peak_of(next) > peak_of(found)) found = next;
  }
  return found;
}

/* ---- reading it */

vs_status vs_side_init(vs_side *side, const vs_host *host, vs_json inventory, vs_error *error) {
  const vs_json frames = vs_reply_at(inventory, "frames"), stacks = vs_reply_at(inventory, "stacks");
  const vs_json owners = vs_reply_at(inventory, "owners");
  *side = (vs_side){.json = inventory};
  if (!is_array(owners) && !(is_array(frames) && is_array(stacks)))
    return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET,
                   "not an inventory of vramscope: it has no frames and stacks");
  vs_status status =
      is_array(owners) ? read_owners(side, host, owners, error) : read_frames(side, host, frames, error);
  if (status == VS_OK && !is_array(owners)) status = read_stacks(side, host, stacks, error);
  if (status != VS_OK) vs_side_deinit(host, side);
  VS_ASSERT(status != VS_OK || vs_side_check(side) == NULL);
  return status;
}

void vs_side_deinit(const vs_host *host, vs_side *side) {
  vs_vec_free(host, &side->frames);
  vs_vec_free(host, &side->stack_frames);
  vs_vec_free(host, &side->sizes);
  vs_vec_free(host, &side->stacks);
}

const char *vs_side_check(const vs_side *side) {
  uint64_t frames = 0, sizes = 0, bytes = 0, count = 0;
  for (size_t i = 0; i < side->stacks.count; i++) {
    const vs_side_stack *stack = &side->stacks.data[i];
    if (stack->first_frame != frames || stack->first_size != sizes)
      return "the stacks do not tile their tables";
    if (stack->owner != VS_SIDE_NONE && stack->owner >= side->frames.count) return "an owner is no frame";
    frames += stack->frame_count;
    sizes += stack->size_count;
    bytes = vs_sat_add_u64(bytes, stack->bytes);
    count = vs_sat_add_u64(count, stack->count);
  }
  if (frames != side->stack_frames.count || sizes != side->sizes.count) return "frames or sizes of no stack";
  for (size_t i = 0; i < side->stack_frames.count; i++)
    if (side->stack_frames.data[i] >= side->frames.count) return "a frame number is above the last";
  return bytes == side->bytes && count == side->count ? NULL : "the sums are not those of the stacks";
}
