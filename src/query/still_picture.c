#include "query/still_picture.h"
#include "query/reply.h"
#include "query/window.h"

/* ---- bands ----------------------------------------------------------------------------------------------------- */

/* Keys by line, given to the rows in their order, as vs_colours gives them. */
typedef struct line_keys {
  vs_keys keys;
  VS_VEC(uint32_t) key_of_row; /* of rows that the filter keeps */
  VS_VEC(uint8_t) band_of_key;
} line_keys;

static bool is_kept(const vs_picture_query *query, uint32_t row) {
  return query->bitmap == NULL || vs_filter_bitmap_has(query->bitmap, row);
}

static vs_status give_keys(vs_call *call, const vs_picture_query *query, line_keys *lines) {
  const vs_host *host = call->engine->host;
  vs_items items = query->items;
  items.without_pools = true;
  VS_TRY(vs_keys_init(&lines->keys, host, items.slice, VS_BY_LINE, &call->engine->frames));
  VS_TRY(vs_vec_reserve(host, &lines->key_of_row, items.count));
  VS_TRY(vs_vec_reserve(host, &lines->band_of_key, lines->keys.bound));
  memset(lines->band_of_key.data, VS_STILL_LINES, lines->keys.bound);
  for (uint32_t row = 0; row < items.count; row++) {
    if (!is_kept(query, row)) continue;
    const vs_item item = vs_item_at(&items, row);
    const vs_keyed keyed = vs_item_keyed(&item);
    VS_TRY(vs_key_of(&lines->keys, &keyed, &lines->key_of_row.data[row]));
  }
  return VS_OK;
}

/* The place of a line in the page's legend, which has all of them. */
static uint32_t place_in_legend(const vs_colours *colours, uint32_t key) {
  uint32_t at = 0;
  while (at < colours->list.count && colours->list.data[at].key != key) at++;
  VS_ASSERT(at < colours->list.count);
  return at;
}

static uint32_t free_colour(const bool used[VS_LEGEND]) {
  uint32_t at = 0;
  while (used[at]) at++;
  VS_ASSERT(at < VS_LEGEND);
  return at;
}

/* A line beyond the colours of the page gets one that no other band has. */
static void give_colours(vs_still_picture *p, const uint32_t places[]) {
  bool used[VS_LEGEND] = {false};
  for (uint32_t band = 0; band < p->lines; band++)
    if (places[band] < VS_LEGEND) used[places[band]] = true;
  for (uint32_t band = 0; band < p->lines; band++) {
    p->colour[band] = places[band] < VS_LEGEND ? places[band] : free_colour(used);
    used[p->colour[band]] = true;
  }
}

static void stack_bands(vs_still_picture *p, const uint32_t places[]) {
  for (uint32_t band = 0; band < p->lines; band++) {
    uint32_t at = band;
    for (; at > 0 && places[p->stacked[at - 1]] > places[band]; at--) p->stacked[at] = p->stacked[at - 1];
    p->stacked[at] = band;
  }
}

/* A group's key is that of the first frame of its line among the live rows. The same line has another key among all rows, which its
 * largest allocation tells. */
static vs_status give_bands(vs_call *call, const vs_picture_query *query, vs_still_picture *p,
                            line_keys *lines) {
  uint32_t places[VS_STILL_LINES];
  const vs_colours *colours;
  VS_TRY(vs_picture_query_colours(call, query, VS_BY_LINE, &colours));
  while (p->lines < VS_STILL_LINES && p->lines < p->groups.list.count &&
         p->groups.list.data[p->lines].bytes != 0) {
    const vs_group *group = &p->groups.list.data[p->lines];
    uint32_t key = group->key;
    if (key >= VS_OWNER_frame) VS_TRY(vs_key_of(&lines->keys, &(vs_keyed){.stack = group->stack}, &key));
    VS_ASSERT(key < lines->keys.bound && lines->band_of_key.data[key] == VS_STILL_LINES);
    lines->band_of_key.data[key] = (uint8_t)p->lines;
    places[p->lines++] = place_in_legend(colours, key);
  }
  give_colours(p, places);
  stack_bands(p, places);
  return VS_OK;
}

/* ---- columns --------------------------------------------------------------------------------------------------- */

/* The moment that each column shows, as the number of events done; rising. */
static void choose_moments(const vs_still_picture *p, const vs_curve_index *total, uint32_t done[]) {
  vs_curve_reader reader;
  vs_curve_reader_init(&reader, total);
  for (uint32_t c = 0; c < VS_STILL_COLUMNS; c++) {
    vs_moment first, last;
    vs_moment shown = c == 0 ? VS_AT_START : (vs_moment)done[c - 1] - 1;
    if (vs_window_column(&p->window, c, &first, &last)) {
      shown = vs_curve_reader_between(&reader, first, last).high_at;
    }
    done[c] = vs_done(p->window.event_count, shown);
    VS_ASSERT(c == 0 || done[c - 1] <= done[c]);
  }
}

/* The first column that shows a moment with at least so many events done. */
static uint32_t column_from(const uint32_t done[], uint32_t least) {
  uint32_t low = 0, high = VS_STILL_COLUMNS;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (done[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Adds each span where it begins and takes it away where it ends, then sums up: differences are modulo 2^64. */
static void sum_up(vs_still_picture *p, const vs_spans *spans, const line_keys *lines,
                   const uint32_t done[]) {
  for (uint32_t i = 0; i < spans->count; i++) {
    const uint8_t band = lines->band_of_key.data[lines->key_of_row.data[spans->row.data[i]]];
    p->bytes[band][column_from(done, spans->from.data[i])] += spans->size.data[i];
    p->bytes[band][column_from(done, spans->until.data[i])] -= spans->size.data[i];
  }
  for (size_t band = 0; band < VS_STILL_BANDS; band++)
    for (uint32_t c = 0; c < VS_STILL_COLUMNS; c++) {
      if (c != 0) p->bytes[band][c] += p->bytes[band][c - 1];
      p->highest[band] = vs_max_u64(p->highest[band], p->bytes[band][c]);
    }
  for (uint32_t c = 0; c < VS_STILL_COLUMNS; c++) {
    uint64_t total = 0;
    for (size_t band = 0; band < VS_STILL_BANDS; band++) total += p->bytes[band][c];
    p->most = vs_max_u64(p->most, total);
  }
}

static vs_status stack_up(vs_call *call, const vs_picture_query *query, vs_still_picture *p,
                          line_keys *lines) {
  uint32_t done[VS_STILL_COLUMNS];
  const vs_spans *spans;
  const vs_curve_index *total;
  VS_TRY(give_keys(call, query, lines));
  VS_TRY(give_bands(call, query, p, lines));
  VS_TRY(vs_picture_query_spans(call, query, &spans));
  VS_TRY(vs_picture_query_curve(call, query, &total));
  choose_moments(p, total, done);
  sum_up(p, spans, lines, done);
  return VS_OK;
}

static vs_status add_reserved(vs_call *call, vs_still_picture *p) {
  const vs_curve_index *curves;
  vs_curve_reader reader;
  p->has_reserved = vs_reply_knows_segments(call) && call->request->filter.terms.count == 0;
  if (!p->has_reserved) return VS_OK;
  VS_TRY(vs_cached_curve_indexes(call->engine->host, call->device, &curves));
  vs_curve_reader_init(&reader, &curves[VS_CURVE_RESERVED]);
  for (uint32_t c = 0; c < VS_STILL_COLUMNS; c++) {
    vs_moment first, last;
    if (vs_window_column(&p->window, c, &first, &last))
      p->reserved[c] = vs_curve_reader_between(&reader, first, last).high;
    else p->reserved[c] = c == 0 ? 0 : p->reserved[c - 1];
  }
  return VS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

uint32_t vs_still_picture_column(const vs_still_picture *picture, vs_moment moment) {
  for (uint32_t c = 0; c < VS_STILL_COLUMNS; c++) {
    vs_moment first, last;
    if (vs_window_column(&picture->window, c, &first, &last) && first <= moment && moment <= last) return c;
  }
  return VS_STILL_COLUMNS - 1;
}

static vs_status find_window(vs_call *call, vs_still_picture *p) {
  const vs_times *times;
  VS_TRY(vs_cached_times(call->engine->host, call->device, &times));
  const bool by_time = call->request->axis == VS_AXIS_time && times->first_us != VS_NO_TIME;
  p->window = vs_window_whole(call->device->slice, by_time ? times : NULL, VS_STILL_COLUMNS);
  return VS_OK;
}

vs_status vs_still_picture_build(vs_call *call, vs_still_picture *out) {
  const vs_host *host = call->engine->host;
  line_keys lines = {0};
  vs_picture_query query;
  VS_TRY(find_window(call, out));
  VS_TRY(vs_selection_build(call, call->device, &out->selection));
  VS_TRY(vs_selection_groups(call, &out->selection, VS_BY_LINE, &out->groups));
  out->moment = out->selection.set.moment;
  out->column = vs_still_picture_column(out, out->moment);
  VS_TRY(vs_picture_query_build(call, &query));
  const vs_status status = stack_up(call, &query, out, &lines);
  vs_keys_deinit(&lines.keys);
  vs_vec_free(host, &lines.key_of_row);
  vs_vec_free(host, &lines.band_of_key);
  return status == VS_OK ? add_reserved(call, out) : status;
}

void vs_still_picture_deinit(const vs_call *call, vs_still_picture *picture) {
  vs_groups_deinit(call->engine->host, &picture->groups);
  vs_selection_deinit(call, &picture->selection);
}
