#include "analyze/inventory.h"
#include "base/check.h"
#include "base/sort.h"

typedef VS_VEC(vs_sort_pair) pairs;

/* The place of each group in the list, by its key. */
static vs_status map_groups(const vs_host *host, const vs_groups *groups, vs_map *places) {
  for (size_t i = 0; i < groups->list.count; i++) {
    VS_TRY(vs_map_reserve(host, places));
    vs_map_add(places, groups->list.data[i].key, (uint32_t)i);
  }
  return VS_OK;
}

/* pairs: (place of the row's group, index in `rows`), sorted by place, and within it by falling size. */
static vs_status sort_rows(const vs_host *host, const vs_lifetimes *lifetimes, const uint32_t *rows,
                           size_t count, vs_keys *keys, const vs_map *places, pairs *sorted) {
  VS_TRY(vs_vec_reserve(host, sorted, count));
  for (size_t i = 0; i < count; i++)
    sorted->data[i] = (vs_sort_pair){.key = ~lifetimes->rows.data[rows[i]].size, .value = (uint32_t)i};
  sorted->count = count;
  VS_TRY(vs_sort_pairs(host, sorted->data, count));
  for (size_t i = 0; i < count; i++) {
    const vs_keyed what = vs_keyed_lifetime(lifetimes, NULL, rows[sorted->data[i].value]);
    uint32_t key;
    VS_TRY(vs_key_of(keys, &what, &key));
    const size_t slot = vs_map_find(places, key);
    VS_ASSERT(slot != VS_MAP_NONE);
    sorted->data[i].key = places->slots[slot].value;
  }
  return vs_sort_pairs(host, sorted->data, count);
}

static vs_status add_row(const vs_host *host, uint64_t size, vs_inventory_stack *stack, vs_inventory *out) {
  vs_inventory_size *last = stack->count == 0 ? NULL : &out->sizes.data[out->sizes.count - 1];
  if (last != NULL && last->size == size) {
    last->count++;
    return VS_OK;
  }
  if (out->sizes.count >= UINT32_MAX) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(host, &out->sizes, 1));
  out->sizes.data[out->sizes.count++] = (vs_inventory_size){.size = size, .count = 1};
  stack->count++;
  return VS_OK;
}

static vs_status fill(const vs_host *host, const vs_lifetimes *lifetimes, const uint32_t *rows,
                      const vs_groups *groups, const pairs *sorted, vs_inventory *out) {
  size_t next = 0;
  VS_TRY(vs_vec_reserve(host, &out->stacks, groups->list.count));
  for (size_t i = 0; i < groups->list.count; i++) {
    vs_inventory_stack *stack = &out->stacks.data[out->stacks.count++];
    *stack = (vs_inventory_stack){.group = groups->list.data[i], .first = (uint32_t)out->sizes.count};
    for (; next < sorted->count && sorted->data[next].key == i; next++)
      VS_TRY(add_row(host, lifetimes->rows.data[rows[sorted->data[next].value]].size, stack, out));
  }
  VS_ASSERT(next == sorted->count);
  out->bytes = groups->bytes;
  out->count = groups->count;
  return VS_OK;
}

static vs_status build(const vs_host *host, const vs_lifetimes *lifetimes, const uint32_t *rows, size_t count,
                       vs_frames *frames, const vs_groups *groups, vs_inventory *out) {
  vs_map places = {0};
  vs_keys keys = {0};
  pairs sorted = {0};
  vs_status status = map_groups(host, groups, &places);
  if (status == VS_OK) status = vs_keys_init(&keys, host, lifetimes->slice, VS_BY_STACK, frames);
  if (status == VS_OK) {
    status = sort_rows(host, lifetimes, rows, count, &keys, &places, &sorted);
    if (status == VS_OK) status = fill(host, lifetimes, rows, groups, &sorted, out);
    vs_keys_deinit(&keys);
  }
  vs_vec_free(host, &sorted);
  vs_map_deinit(host, &places);
  return status;
}

vs_status vs_inventory_build(const vs_host *host, const vs_lifetimes *lifetimes, const uint32_t *rows,
                             size_t count, vs_frames *frames, vs_inventory *out) {
  vs_groups groups;
  *out = (vs_inventory){0};
  VS_TRY(vs_groups_build(host, lifetimes, rows, count, VS_BY_STACK, frames, &groups));
  const vs_status status = build(host, lifetimes, rows, count, frames, &groups, out);
  vs_groups_deinit(host, &groups);
  if (status != VS_OK) vs_inventory_deinit(host, out);
  VS_ASSERT(status != VS_OK || vs_inventory_check(out) == NULL);
  return status;
}

void vs_inventory_deinit(const vs_host *host, vs_inventory *inventory) {
  vs_vec_free(host, &inventory->stacks);
  vs_vec_free(host, &inventory->sizes);
}

static const char *check_stack(const vs_inventory *inventory, const vs_inventory_stack *stack,
                               uint64_t *before) {
  uint64_t bytes = 0, count = 0;
  if (stack->first != *before) return "the stacks do not tile the sizes";
  if (stack->count > inventory->sizes.count - stack->first) return "a stack's sizes are behind the last one";
  for (uint32_t i = 0; i < stack->count; i++) {
    const vs_inventory_size *size = &inventory->sizes.data[stack->first + i];
    if (size->count == 0) return "a size without allocations";
    if (i != 0 && size->size >= size[-1].size) return "the sizes of a stack do not fall";
    count += size->count;
    bytes = vs_sat_add_u64(bytes, vs_sat_mul_u64(size->size, size->count));
  }
  if (count != stack->group.count) return "the counts of the sizes are not those of the stack";
  if (bytes != stack->group.bytes) return "the bytes of the sizes are not those of the stack";
  *before += stack->count;
  return NULL;
}

const char *vs_inventory_check(const vs_inventory *inventory) {
  uint64_t before = 0;
  for (size_t i = 0; i < inventory->stacks.count; i++) {
    const char *wrong = check_stack(inventory, &inventory->stacks.data[i], &before);
    if (wrong != NULL) return wrong;
  }
  if (before != inventory->sizes.count) return "sizes of no stack";
  return NULL;
}
