/* "course": reserved memory over a window of the trace when it is replayed. */
#include "base/double_text.h"
#include "query/replays.h"
#include "query/reply.h"
#include "query/window.h"

/* The last moment of the run. */
static vs_moment end_of(const vs_call *call, const vs_replay *figures) {
  if (!figures->ran_out && !figures->is_cut) return vs_slice_end(call->device->slice);
  return figures->last_event == VS_NO_EVENT ? VS_AT_START : (vs_moment)figures->last_event;
}

/* A column without moments, or behind the end of a run that failed, has no value: NaN. */
static void add_columns(vs_call *call, const vs_window *window, const vs_replay_cache *replays) {
  const vs_moment end = end_of(call, &replays->course_figures);
  double *high = vs_columns_add(&call->columns, "reserved_high", VS_COLUMN_F64, window->columns);
  double *low = vs_columns_add(&call->columns, "reserved_low", VS_COLUMN_F64, window->columns);
  if (call->columns.status != VS_OK) return;
  for (uint32_t c = 0; c < window->columns; c++) {
    vs_moment first, last;
    uint64_t most, least;
    high[c] = low[c] = vs_f64_from_bits(UINT64_C(0x7ff8000000000000));
    if (!vs_window_column(window, c, &first, &last) || first > end) continue;
    vs_replay_trail_between(&replays->course, first, last < end ? last : end, &most, &least);
    VS_ASSERT(least <= most);
    high[c] = (double)most;
    low[c] = (double)least;
  }
}

vs_status vs_method_course(vs_call *call) {
  const vs_replay_cache *replays;
  vs_window window;
  VS_TRY(vs_find_window(call, call->request->columns, "columns", &window));
  VS_TRY(vs_cached_course(call, &replays));
  const vs_replay *figures = &replays->course_figures;
  vs_reply_device(call, call->device);
  vs_reply_window(call, &window);
  vs_jsonw_member_u64(call->json, "columns_count", window.columns);
  vs_reply_ran_out(call, figures);
  vs_jsonw_member_bool(call->json, "is_cut", figures->is_cut);
  vs_reply_event(call->json, "last_event", figures->last_event);
  vs_jsonw_member_u64(call->json, "reserved_peak_bytes", figures->reserved_peak);
  add_columns(call, &window, replays);
  return VS_OK;
}
