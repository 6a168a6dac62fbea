/* "picture": the stack of live items over a window of the trace, in pixels, with the curves above it. */
#include "base/double_text.h"
#include "query/picture_query.h"
#include "query/reply.h"
#include "query/window.h"

/* The value of a curve in a column without moments: NaN. */
static double no_value(void) { return vs_f64_from_bits(UINT64_C(0x7ff8000000000000)); }

static vs_status find_edges(const vs_call *call, vs_look *look) {
  const vs_request *request = call->request;
  if (request->rows > VS_MOST_PIXEL_ROWS)
    return vs_fail(call->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "parameter 'rows' has to be from 0 to %d",
                   VS_MOST_PIXEL_ROWS);
  look->rows = (uint32_t)request->rows;
  return vs_find_bytes(call, VS_FIT, &look->y0, &look->y1);
}

/* ---- curves ---------------------------------------------------------------------------------------------------- */

static void add_curve(vs_call *call, const vs_window *window, const vs_curve_index *curve,
                      const char *high_name, const char *low_name, bool is_known) {
  vs_curve_reader reader;
  double *high = vs_columns_add(&call->columns, high_name, VS_COLUMN_F64, window->columns);
  double *low = vs_columns_add(&call->columns, low_name, VS_COLUMN_F64, window->columns);
  if (call->columns.status != VS_OK) return;
  vs_curve_reader_init(&reader, curve);
  for (uint32_t c = 0; c < window->columns; c++) {
    vs_moment first, last;
    high[c] = low[c] = no_value();
    if (!is_known || !vs_window_column(window, c, &first, &last)) continue;
    const vs_curve_extent extent = vs_curve_reader_between(&reader, first, last);
    VS_ASSERT(extent.low <= extent.high);
    high[c] = (double)extent.high;
    low[c] = (double)extent.low;
  }
}

/* The numbers of segments obtained from the driver and released, in each column. */
static void add_segment_events(vs_call *call, const vs_window *window, const vs_mappings *mappings) {
  uint32_t *gets = vs_columns_add(&call->columns, "segment_gets", VS_COLUMN_U32, window->columns);
  uint32_t *gives = vs_columns_add(&call->columns, "segment_gives", VS_COLUMN_U32, window->columns);
  if (call->columns.status != VS_OK) return;
  for (uint32_t c = 0; c < window->columns; c++) {
    uint32_t first, end;
    vs_window_events(window, c, &first, &end);
    gets[c] = vs_count_events(mappings->gets.data, mappings->gets.count, first, end);
    gives[c] = vs_count_events(mappings->gives.data, mappings->gives.count, first, end);
  }
}

static vs_status add_curves(vs_call *call, const vs_window *window, const vs_mappings *mappings) {
  const vs_curve_index *curves;
  VS_TRY(vs_cached_curve_indexes(call->engine->host, call->device, &curves));
  add_curve(call, window, &curves[VS_CURVE_REQUESTED], "requested_high", "requested_low", true);
  add_curve(call, window, &curves[VS_CURVE_HELD], "held_high", "held_low", true);
  add_curve(call, window, &curves[VS_CURVE_RESERVED], "reserved_high", "reserved_low",
            vs_reply_knows_segments(call));
  add_segment_events(call, window, mappings);
  return VS_OK;
}

/* ---- the stack ------------------------------------------------------------------------------------------------- */

static void add_stack(vs_call *call, const vs_picture *picture) {
  vs_columns *columns = &call->columns;
  const size_t samples = picture->sample_event.count, runs = picture->run_end.count;
  VS_ASSERT(picture->sample_column.count == samples + 1 && picture->sample_run.count == samples + 1);
  VS_ASSERT(picture->sample_run.data[samples] == runs);
  vs_columns_copy(columns, "sample_column", VS_COLUMN_U32, picture->sample_column.data, samples + 1);
  vs_columns_copy(columns, "sample_event", VS_COLUMN_I32, picture->sample_event.data, samples);
  vs_columns_copy(columns, "sample_bytes", VS_COLUMN_F64, picture->sample_bytes.data, samples);
  vs_columns_copy(columns, "sample_kept", VS_COLUMN_U16, picture->sample_kept.data, samples);
  vs_columns_copy(columns, "sample_run", VS_COLUMN_U32, picture->sample_run.data, samples + 1);
  vs_columns_copy(columns, "run_end", VS_COLUMN_U16, picture->run_end.data, runs);
  vs_columns_copy(columns, "run_row", VS_COLUMN_U32, picture->run_row.data, runs);
  vs_columns_copy(columns, "run_group", VS_COLUMN_U16, picture->run_group.data, runs);
  vs_columns_copy(columns, "run_flags", VS_COLUMN_U8, picture->run_flags.data, runs);
}

static void write_header(const vs_call *call, const vs_window *window, const vs_look *look,
                         const vs_picture *picture) {
  vs_jsonw *json = call->json;
  vs_reply_device(call, call->device);
  vs_reply_drawn(call, call->request->drawn);
  vs_reply_window(call, window);
  vs_jsonw_member_u64(json, "y0", picture->y0);
  vs_jsonw_member_u64(json, "y1", picture->y1);
  vs_jsonw_member_u64(json, "columns_count", window->columns);
  vs_jsonw_member_u64(json, "rows_count", look->rows);
  vs_reply_object_begin(json, "highest");
  vs_jsonw_member_u64(json, "bytes", picture->highest);
  vs_reply_i64_or_null(json, "event", picture->highest_at != VS_NO_MOMENT, picture->highest_at);
  vs_jsonw_object_end(json);
  vs_jsonw_member_u64(json, "count", picture->count);
  if (vs_filter_is_empty(&call->request->mark)) {
    vs_jsonw_member_null(json, "marked");
    return;
  }
  vs_reply_object_begin(json, "marked");
  vs_jsonw_member_u64(json, "count", picture->marked_count);
  vs_jsonw_member_u64(json, "bytes_at_highest", picture->marked_bytes);
  vs_jsonw_object_end(json);
}

/* Sets groups and marks. Without pixels colours are not needed, but marked items are still counted. */
static vs_status dress(vs_call *call, const vs_picture_query *query, vs_look *look) {
  const vs_filter_bitmap *marked;
  const vs_colours *colours;
  VS_TRY(vs_items_bitmap(call, &query->items, &call->request->mark, &marked));
  if (marked != NULL) look->marked = marked->bits.data;
  VS_ASSERT(marked == NULL || marked->size == query->items.count);
  if (call->request->colour == VS_COLOUR_ALLOCATION || look->rows == 0) return VS_OK;
  VS_TRY(vs_picture_query_colours(call, query, (vs_group_by)call->request->colour, &colours));
  look->groups = colours->of_row.data;
  return VS_OK;
}

vs_status vs_method_picture(vs_call *call) {
  const vs_host *host = call->engine->host;
  vs_look look = {.rows = 0};
  vs_picture_query query;
  const vs_spans *spans;
  const vs_curve_index *curve;
  vs_picture picture;
  VS_TRY(vs_find_window(call, call->request->columns, "columns", &look.window));
  VS_TRY(find_edges(call, &look));
  VS_TRY(vs_picture_query_build(call, &query));
  VS_TRY(vs_picture_query_spans(call, &query, &spans));
  VS_TRY(vs_picture_query_curve(call, &query, &curve));
  VS_TRY(dress(call, &query, &look));
  VS_TRY(vs_picture_build(host, spans, curve, &look, &picture));
  write_header(call, &look.window, &look, &picture);
  add_stack(call, &picture);
  vs_picture_deinit(host, &picture);
  return add_curves(call, &look.window, query.items.mappings);
}
