#include "analyze/window.h"

/* ---- doubles to whole numbers -------------------------------------------------------------------------- */

#define FAR 0x1p62

/* The largest whole number that is not above x, within +-2^62. */
static int64_t floor_of(double x) {
  if (!(x > -FAR)) return -(INT64_C(1) << 62);
  if (x >= FAR) return INT64_C(1) << 62;
  const int64_t whole = (int64_t)x;
  return whole - ((double)whole > x);
}

static int64_t ceil_of(double x) {
  const int64_t whole = floor_of(x);
  return whole + ((double)whole < x);
}

/* ---- the window ---------------------------------------------------------------------------------------- */

/* Microseconds from the first time to a later one. A double holds them exactly up to 2^53, which only invalid times
 * exceed. */
static double since_first(const vs_times *times, int64_t time_us) {
  VS_ASSERT(time_us >= times->first_us);
  return (double)((uint64_t)time_us - (uint64_t)times->first_us);
}

static double whole_end(const vs_window *window) {
  return window->times == NULL ? (double)window->event_count
                               : since_first(window->times, window->times->last_us) + 1;
}

vs_window vs_window_whole(const vs_slice *slice, const vs_times *times, uint32_t columns) {
  vs_window window = {.times = times, .event_count = slice->event_count, .columns = columns};
  window.x0 = times == NULL ? -1 : 0;
  window.x1 = whole_end(&window);
  return window;
}

double vs_window_edge(const vs_window *window, uint32_t column) {
  VS_ASSERT(window->columns > 0 && window->x0 < window->x1);
  if (column >= window->columns) return window->x1;
  return window->x0 + (window->x1 - window->x0) * (double)column / (double)window->columns;
}

double vs_window_place(const vs_window *window, vs_moment moment) {
  return window->times == NULL ? (double)moment
                               : since_first(window->times, vs_times_at(window->times, moment));
}

/* The first moment that begins at x or to the right of it. */
static vs_moment first_from(const vs_window *window, double x) {
  const int64_t whole = ceil_of(x);
  if (window->times != NULL)
    return vs_times_first(window->times, vs_sat_add_i64(window->times->first_us, whole));
  return whole < VS_AT_START ? VS_AT_START : whole > window->event_count ? window->event_count : whole;
}

bool vs_window_column(const vs_window *window, uint32_t column, vs_moment *first, vs_moment *last) {
  VS_ASSERT(column < window->columns);
  const double left = vs_window_edge(window, column), right = vs_window_edge(window, column + 1);
  if (left >= whole_end(window)) return false;
  *first = first_from(window, left);
  *last = first_from(window, right) - 1;
  const bool begins_there =
      *first < (vs_moment)window->event_count &&
      vs_window_place(window, *first) <= left; /* else the moment before covers `left` */
  if (*first > VS_AT_START && !begins_there) --*first;
  if (*last < VS_AT_START) return false;
  if (*last < *first) *last = *first;
  VS_ASSERT(*first >= VS_AT_START && *last < (vs_moment)window->event_count);
  return true;
}

void vs_window_events(const vs_window *window, uint32_t column, uint32_t *first, uint32_t *end) {
  const vs_moment from = first_from(window, vs_window_edge(window, column)),
                  to = first_from(window, vs_window_edge(window, column + 1));
  *first = from < 0 ? 0 : (uint32_t)from;
  *end = to < 0 ? 0 : (uint32_t)to;
  if (*end < *first) *end = *first;
  VS_ASSERT(*end <= window->event_count);
}
