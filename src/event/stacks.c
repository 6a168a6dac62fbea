#include "event/stacks.h"

vs_status vs_stacks_init(const vs_host *host, vs_stacks *stacks) {
  *stacks = (vs_stacks){0};
  return vs_lists_init(host, &stacks->lists);
}

void vs_stacks_deinit(const vs_host *host, vs_stacks *stacks) {
  vs_vec_free(host, &stacks->frames);
  vs_vec_free(host, &stacks->details);
  vs_map_deinit(host, &stacks->frame_by_hash);
  vs_map_deinit(host, &stacks->detail_by_hash);
  vs_lists_deinit(host, &stacks->lists);
}

static vs_status intern_detail(const vs_host *host, vs_stacks *stacks, const vs_frame_detail *detail,
                               uint32_t *id) {
  const uint64_t hash = vs_hash_bytes(detail, sizeof *detail);
  for (size_t slot = vs_map_find(&stacks->detail_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&stacks->detail_by_hash, slot)) {
    *id = stacks->detail_by_hash.slots[slot].value;
    VS_ASSERT(*id >= 1 && *id <= stacks->details.count);
    if (memcmp(&stacks->details.data[*id - 1], detail, sizeof *detail) == 0) return VS_OK;
  }
  if (stacks->details.count >= UINT32_MAX - 1) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(host, &stacks->details, 1));
  VS_TRY(vs_map_reserve(host, &stacks->detail_by_hash));
  stacks->details.data[stacks->details.count++] = *detail;
  *id = (uint32_t)stacks->details.count;
  vs_map_add(&stacks->detail_by_hash, hash, *id);
  return VS_OK;
}

static vs_status intern_frame(const vs_host *host, vs_stacks *stacks, vs_frame frame, uint32_t *id) {
  const uint64_t hash = vs_hash_bytes(&frame, sizeof frame);
  VS_ASSERT(frame.detail <= stacks->details.count && frame.is_forward <= 1);
  for (size_t slot = vs_map_find(&stacks->frame_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&stacks->frame_by_hash, slot)) {
    *id = stacks->frame_by_hash.slots[slot].value;
    VS_ASSERT(*id < stacks->frames.count);
    if (memcmp(&stacks->frames.data[*id], &frame, sizeof frame) == 0) return VS_OK;
  }
  if (stacks->frames.count >= UINT32_MAX) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(host, &stacks->frames, 1));
  VS_TRY(vs_map_reserve(host, &stacks->frame_by_hash));
  *id = (uint32_t)stacks->frames.count;
  stacks->frames.data[stacks->frames.count++] = frame;
  vs_map_add(&stacks->frame_by_hash, hash, *id);
  return VS_OK;
}

vs_status vs_stacks_frame(const vs_host *host, vs_stacks *stacks, uint32_t name, uint32_t file, int64_t line,
                          const vs_frame_detail *detail, uint32_t *id) {
  vs_frame frame = {.line = line, .name = name, .file = file};
  if (detail != NULL) VS_TRY(intern_detail(host, stacks, detail, &frame.detail));
  return intern_frame(host, stacks, frame, id);
}

vs_status vs_stacks_forward_frame(const vs_host *host, vs_stacks *stacks, uint32_t name, uint32_t file,
                                  int64_t line, uint32_t *id) {
  return intern_frame(host, stacks, (vs_frame){.line = line, .name = name, .file = file, .is_forward = 1},
                      id);
}

const char *vs_stacks_check(const vs_stacks *stacks) {
  const char *broken = vs_lists_check(&stacks->lists);
  if (broken == NULL) broken = vs_map_check(&stacks->frame_by_hash);
  if (broken == NULL) broken = vs_map_check(&stacks->detail_by_hash);
  if (broken != NULL) return broken;
  if (stacks->frame_by_hash.count != stacks->frames.count ||
      stacks->detail_by_hash.count != stacks->details.count)
    return "a frame is not in its table";
  for (size_t i = 0; i < stacks->frames.count; i++)
    if (stacks->frames.data[i].detail > stacks->details.count || stacks->frames.data[i].is_forward > 1)
      return "a frame has a detail that does not exist";
  for (size_t i = 0; i < stacks->lists.items.count; i++)
    if (stacks->lists.items.data[i] >= stacks->frames.count) return "a stack has a frame that does not exist";
  return NULL;
}
