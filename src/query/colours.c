#include "query/colours.h"
#include "analyze/arrange.h"
#include "query/picture_query.h"

void vs_colours_deinit(const vs_host *host, vs_colours *colours) {
  vs_vec_free(host, &colours->filter);
  vs_vec_free(host, &colours->list);
  vs_vec_free(host, &colours->of_row);
}

void vs_colour_cache_deinit(const vs_host *host, vs_colour_cache *cache) {
  for (size_t i = 0; i < 2; i++) vs_colours_deinit(host, &cache->slots[i]);
  *cache = (vs_colour_cache){0};
}

/* ---- summing up ------------------------------------------------------------------------------------------------ */

enum { NO_GROUP = UINT32_MAX };

typedef struct builder {
  const vs_host *host;
  vs_items items;
  const vs_filter_bitmap *bitmap;
  vs_moment peak;
  vs_colours *out;
  vs_keys keys;
  VS_VEC(uint32_t) group_of_key; /* in order of appearance; NO_GROUP */
  VS_VEC(uint32_t) group_of_row; /* likewise; set for rows that are kept */
  VS_VEC(uint32_t) rank;         /* group in order of appearance -> index in out->list */
} builder;

static void add_to(vs_colour_group *group, const builder *b, const vs_item *item) {
  const uint64_t weight = vs_sat_mul_u64(item->size, vs_item_moments(b->items.slice, item));
  group->weight = vs_sat_add_u64(group->weight, weight);
  b->out->weight = vs_sat_add_u64(b->out->weight, weight);
  if (vs_item_is_live(item, b->peak)) group->bytes_at_peak = vs_sat_add_u64(group->bytes_at_peak, item->size);
  if (group->count++ != 0 && item->size <= group->largest) return;
  group->largest = item->size;
  group->stack = item->stack;
}

static vs_status add_row(builder *b, uint32_t row) {
  const vs_item item = vs_item_at(&b->items, row);
  const vs_keyed keyed = vs_item_keyed(&item);
  uint32_t key;
  VS_TRY(vs_key_of(&b->keys, &keyed, &key));
  if (key >= b->keys.bound) key = b->keys.bound - 1; /* a stream that the file does not name */
  uint32_t *group = &b->group_of_key.data[key];
  VS_ASSERT(*group == NO_GROUP || (*group < b->out->list.count && b->out->list.data[*group].key == key));
  if (*group == NO_GROUP) {
    VS_TRY(vs_vec_reserve(b->host, &b->out->list, 1));
    *group = (uint32_t)b->out->list.count;
    b->out->list.data[b->out->list.count++] = (vs_colour_group){.key = key};
  }
  add_to(&b->out->list.data[*group], b, &item);
  b->group_of_row.data[row] = *group;
  return VS_OK;
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

static bool heavier_first(const void *ctx, uint32_t a, uint32_t b) {
  const vs_colour_group *groups = ctx;
  if (groups[a].weight != groups[b].weight) return groups[a].weight > groups[b].weight;
  return groups[a].count > groups[b].count;
}

static vs_status arrange(builder *b) {
  vs_colours *out = b->out;
  const size_t count = out->list.count;
  VS_VEC(uint32_t) order = {0};
  VS_VEC(vs_colour_group) sorted = {0};
  VS_TRY(vs_vec_reserve(b->host, &b->rank, count));
  vs_status status = vs_vec_reserve(b->host, &order, count);
  if (status == VS_OK) status = vs_vec_reserve(b->host, &sorted, count);
  for (size_t i = 0; i < count && status == VS_OK; i++) order.data[i] = (uint32_t)i;
  if (status == VS_OK) status = vs_sort_rows(b->host, order.data, count, heavier_first, out->list.data);
  for (size_t i = 0; i < count && status == VS_OK; i++) {
    sorted.data[i] = out->list.data[order.data[i]];
    b->rank.data[order.data[i]] = (uint32_t)i;
  }
  if (status == VS_OK && count != 0) memcpy(out->list.data, sorted.data, count * sizeof *sorted.data);
  VS_ASSERT(status != VS_OK || count == 0 || out->list.data[0].weight >= out->list.data[count - 1].weight);
  vs_vec_free(b->host, &sorted);
  vs_vec_free(b->host, &order);
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static bool is_kept(const builder *b, uint32_t row) {
  return b->bitmap == NULL || vs_filter_bitmap_has(b->bitmap, row);
}

static vs_status prepare(builder *b) {
  const uint32_t bound = b->keys.bound, rows = b->items.count;
  VS_ASSERT(b->bitmap == NULL || b->bitmap->size == rows);
  VS_TRY(vs_vec_reserve(b->host, &b->group_of_key, bound));
  memset(b->group_of_key.data, 0xff, bound * sizeof(uint32_t));
  VS_TRY(vs_vec_reserve(b->host, &b->group_of_row, rows));
  VS_TRY(vs_vec_reserve(b->host, &b->out->of_row, rows));
  const vs_filter_bitmap *bitmap = b->bitmap;
  const size_t size = bitmap == NULL ? 0 : bitmap->filter.count;
  VS_TRY(vs_vec_reserve(b->host, &b->out->filter, size));
  if (size != 0) memcpy(b->out->filter.data, bitmap->filter.data, size);
  b->out->filter.count = size;
  return VS_OK;
}

static vs_status build(builder *b, vs_frames *frames, vs_group_by by) {
  const uint32_t rows = b->items.count;
  VS_TRY(vs_keys_init(&b->keys, b->host, b->items.slice, by, frames));
  VS_TRY(prepare(b));
  for (uint32_t row = 0; row < rows; row++)
    if (is_kept(b, row)) VS_TRY(add_row(b, row));
  VS_TRY(arrange(b));
  for (uint32_t row = 0; row < rows; row++) {
    VS_ASSERT(!is_kept(b, row) || b->group_of_row.data[row] < b->out->list.count);
    const uint32_t rank = is_kept(b, row) ? b->rank.data[b->group_of_row.data[row]] : VS_LEGEND;
    b->out->of_row.data[row] = (uint16_t)(rank < VS_LEGEND ? rank : VS_LEGEND);
  }
  b->out->of_row.count = rows;
  return VS_OK;
}

static vs_status build_colours(vs_call *call, const vs_picture_query *query, vs_group_by by,
                               vs_colours *out) {
  const vs_host *host = call->engine->host;
  const bool is_segments = query->items.drawn == VS_DRAWN_segments;
  *out = (vs_colours){.by = by};
  builder b = {.host = host, .items = query->items, .bitmap = query->bitmap, .out = out};
  b.items.without_pools = by != VS_BY_POOL;
  b.peak =
      vs_cached_curves(call->device)->curve[is_segments ? VS_CURVE_RESERVED : VS_CURVE_REQUESTED].peak_at;
  const vs_status status = build(&b, &call->engine->frames, by);
  vs_keys_deinit(&b.keys);
  vs_vec_free(host, &b.group_of_key);
  vs_vec_free(host, &b.group_of_row);
  vs_vec_free(host, &b.rank);
  if (status != VS_OK) vs_colours_deinit(host, out);
  return status;
}

static bool are_of(const vs_colours *colours, const vs_picture_query *query, vs_group_by by) {
  const vs_str filter = {colours->filter.data, colours->filter.count};
  if (colours->by != by) return false;
  if (query->bitmap == NULL) return filter.size == 0;
  return vs_str_equal(filter, (vs_str){query->bitmap->filter.data, query->bitmap->filter.count});
}

vs_status vs_picture_query_colours(vs_call *call, const vs_picture_query *query, vs_group_by by,
                                   const vs_colours **out) {
  vs_colour_cache *cache = &call->device->colours[query->items.drawn];
  for (uint8_t i = 0; i < 2; i++)
    if (cache->is_built[i] && are_of(&cache->slots[i], query, by)) {
      cache->latest = i;
      *out = &cache->slots[i];
      return VS_OK;
    }
  vs_colours built;
  VS_TRY(build_colours(call, query, by, &built));
  const uint8_t at = !cache->latest;
  VS_ASSERT(cache->latest < 2 && are_of(&built, query, by));
  vs_colours_deinit(call->engine->host, &cache->slots[at]);
  cache->slots[at] = built;
  cache->is_built[at] = true;
  cache->latest = at;
  *out = &cache->slots[at];
  return VS_OK;
}
