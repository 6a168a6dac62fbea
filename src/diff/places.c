#include "diff/places.h"
#include "base/sort.h"

void vs_places_deinit(const vs_host *host, vs_places *places) {
  vs_vec_free(host, &places->files);
  vs_vec_free(host, &places->functions);
  vs_vec_free(host, &places->places);
  vs_vec_free(host, &places->place_of);
  vs_vec_free(host, &places->order);
  vs_map_deinit(host, &places->by_file);
  vs_map_deinit(host, &places->by_function);
  vs_map_deinit(host, &places->by_place);
  vs_features_deinit(host, &places->names);
  vs_features_deinit(host, &places->kin);
}

static uint32_t find(const vs_map *map, uint64_t key) {
  const size_t slot = vs_map_find(map, key);
  return slot == VS_MAP_NONE ? VS_PLACES_NONE : map->slots[slot].value;
}

uint32_t vs_places_find_file(const vs_places *places, uint32_t name) { return find(&places->by_file, name); }

static uint64_t function_key(uint32_t file, uint32_t name) { return (uint64_t)file << 32 | name; }

uint32_t vs_places_find_function(const vs_places *places, uint32_t file, uint32_t name) {
  return find(&places->by_function, function_key(file, name));
}

/* ---- the tables -------------------------------------------------------------------------------------------------- */

static vs_status file_of(const vs_host *host, vs_places *p, uint32_t name, bool is_user, uint32_t *out) {
  *out = vs_places_find_file(p, name);
  if (*out != VS_PLACES_NONE) return VS_OK;
  VS_TRY(vs_vec_reserve(host, &p->files, 1));
  VS_TRY(vs_map_reserve(host, &p->by_file));
  *out = (uint32_t)p->files.count;
  p->files.data[p->files.count++] = (vs_place_file){.name = name, .is_user = is_user};
  vs_map_add(&p->by_file, name, *out);
  return VS_OK;
}

static vs_status function_of(const vs_host *host, vs_places *p, uint32_t file, uint32_t name, uint32_t *out) {
  *out = vs_places_find_function(p, file, name);
  if (*out != VS_PLACES_NONE) return VS_OK;
  VS_TRY(vs_vec_reserve(host, &p->functions, 1));
  VS_TRY(vs_map_reserve(host, &p->by_function));
  *out = (uint32_t)p->functions.count;
  p->functions.data[p->functions.count++] = (vs_place_function){.file = file, .name = name};
  vs_map_add(&p->by_function, function_key(file, name), *out);
  return VS_OK;
}

static vs_status place_of(const vs_host *host, vs_places *p, uint32_t function, int64_t line, uint32_t *out) {
  const uint64_t hash = vs_hash_mix(vs_hash_u64(function), (uint64_t)line + UINT64_C(0x9e3779b97f4a7c15));
  for (size_t slot = vs_map_find(&p->by_place, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&p->by_place, slot)) {
    *out = p->by_place.slots[slot].value;
    if (p->places.data[*out].function == function && p->places.data[*out].line == line) return VS_OK;
  }
  VS_TRY(vs_vec_reserve(host, &p->places, 1));
  VS_TRY(vs_map_reserve(host, &p->by_place));
  *out = (uint32_t)p->places.count;
  p->places.data[p->places.count++] = (vs_place){.function = function, .line = line};
  vs_map_add(&p->by_place, hash, *out);
  return VS_OK;
}

static vs_status add_frame(const vs_host *host, const vs_side_frame *frame, vs_str root, vs_strings *strings,
                           vs_places *p) {
  uint32_t name, file, function, place;
  VS_TRY(vs_files_intern(host, strings, root, frame, &name));
  VS_TRY(file_of(host, p, name, frame->is_user, &file));
  VS_TRY(vs_strings_intern(host, strings, frame->function, &name));
  VS_TRY(function_of(host, p, file, name, &function));
  VS_TRY(place_of(host, p, function, frame->line, &place));
  p->place_of.data[p->place_of.count++] = place;
  return VS_OK;
}

static vs_status add_frames(const vs_host *host, const vs_side *side, vs_strings *strings, vs_places *p) {
  const vs_str root = vs_files_root(side);
  VS_TRY(vs_vec_reserve(host, &p->place_of, side->frames.count));
  for (size_t i = 0; i < side->frames.count; i++)
    VS_TRY(add_frame(host, &side->frames.data[i], root, strings, p));
  return VS_OK;
}

static bool place_before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_places *p = ctx;
  const vs_place *x = &p->places.data[a], *y = &p->places.data[b];
  return x->function != y->function ? x->function < y->function : x->line < y->line;
}

static vs_status sort_places(const vs_host *host, vs_places *p) {
  VS_TRY(vs_vec_reserve(host, &p->order, p->places.count));
  for (size_t i = 0; i < p->places.count; i++) p->order.data[i] = (uint32_t)i;
  p->order.count = p->places.count;
  return vs_sort_rows(host, p->order.data, p->order.count, place_before, p);
}

/* ---- what they are told by --------------------------------------------------------------------------------------- */

enum { CALLER = 1, CALLEE, SIZE }; /* what a feature is of */

static uint64_t feature(uint32_t kind, uint64_t value) { return vs_hash_mix(vs_hash_u64(value), kind); }

static uint32_t function_at(const vs_places *p, const vs_side *side, uint32_t at) {
  return p->places.data[p->place_of.data[side->stack_frames.data[at]]].function;
}

static vs_status add_kin(const vs_host *host, const vs_side *side, const vs_side_stack *stack, vs_places *p) {
  for (uint32_t i = 1; i < stack->frame_count; i++) {
    const uint32_t at = stack->first_frame + i, outer = function_at(p, side, at),
                   inner = function_at(p, side, at - 1);
    const uint64_t callee = feature(CALLEE, p->functions.data[inner].name),
                   caller = feature(CALLER, p->functions.data[outer].name);
    VS_TRY(vs_features_add(host, &p->kin, outer, callee, stack->count));
    VS_TRY(vs_features_add(host, &p->kin, inner, caller, stack->count));
  }
  return VS_OK;
}

static vs_status add_features(const vs_host *host, const vs_side *side, vs_places *p) {
  for (size_t i = 0; i < p->functions.count; i++)
    VS_TRY(vs_features_add(host, &p->names, p->functions.data[i].file, p->functions.data[i].name, 1));
  for (size_t i = 0; i < side->stacks.count; i++) VS_TRY(add_kin(host, side, &side->stacks.data[i], p));
  VS_TRY(vs_features_sort(host, &p->names, (uint32_t)p->files.count));
  return vs_features_sort(host, &p->kin, (uint32_t)p->functions.count);
}

static vs_status add_sizes(const vs_host *host, const vs_side *side, const vs_side_stack *stack,
                           uint32_t place, vs_features *calls) {
  for (uint32_t i = 0; i < stack->size_count; i++) {
    const vs_side_size *size = &side->sizes.data[stack->first_size + i];
    VS_TRY(vs_features_add(host, calls, place, feature(SIZE, size->size), size->count));
  }
  return VS_OK;
}

static vs_status add_calls(const vs_host *host, const vs_side *side, const vs_side_stack *stack,
                           const vs_places *p, const uint32_t *numbers, vs_features *calls) {
  for (uint32_t i = 0; i < stack->frame_count; i++) {
    const uint32_t at = stack->first_frame + i, frame = side->stack_frames.data[at],
                   place = p->place_of.data[frame];
    if (i == 0 || frame == stack->owner) VS_TRY(add_sizes(host, side, stack, place, calls));
    if (i == 0) continue;
    const uint32_t callee = numbers[function_at(p, side, at - 1)];
    VS_TRY(vs_features_add(host, calls, place, feature(CALLEE, callee), stack->count));
  }
  return VS_OK;
}

vs_status vs_places_calls(const vs_host *host, const vs_side *side, const vs_places *places,
                          const uint32_t *numbers, vs_features *calls) {
  vs_status status = VS_OK;
  *calls = (vs_features){0};
  for (size_t i = 0; i < side->stacks.count && status == VS_OK; i++)
    status = add_calls(host, side, &side->stacks.data[i], places, numbers, calls);
  if (status == VS_OK) status = vs_features_sort(host, calls, (uint32_t)places->places.count);
  if (status != VS_OK) vs_features_deinit(host, calls);
  return status;
}

vs_status vs_places_build(const vs_host *host, const vs_side *side, vs_strings *strings, vs_places *out) {
  *out = (vs_places){0};
  vs_status status = add_frames(host, side, strings, out);
  if (status == VS_OK) status = sort_places(host, out);
  if (status == VS_OK) status = add_features(host, side, out);
  if (status != VS_OK) vs_places_deinit(host, out);
  return status;
}
