#include "query/told.h"

bool vs_report_has_trace(const vs_report *r) {
  const uint32_t *counts = r->slice->counts;
  return counts[VS_EVENT_ALLOC] + counts[VS_EVENT_FREE_REQUESTED] + counts[VS_EVENT_OOM] != 0;
}

bool vs_told_since_put(vs_text *text, const vs_told *told, int64_t time_us) {
  const vs_times *times = told->times;
  if (time_us == VS_NO_TIME || times->first_us == VS_NO_TIME || time_us < times->first_us) return false;
  vs_text_duration(text, (uint64_t)time_us - (uint64_t)times->first_us);
  return true;
}

void vs_told_when_put(vs_text *text, const vs_told *told, int64_t event, int64_t time_us) {
  const size_t before = text->bytes.count;
  vs_text_cstr(text, "after ");
  if (event >= 0 && vs_told_since_put(text, told, time_us)) return;
  text->bytes.count = before;
  vs_text_cstr(text, event < 0 ? "at the start" : "at event ");
  if (event >= 0) vs_text_count(text, (uint64_t)event);
}

void vs_told_extent_put(vs_text *text, const vs_told *told) {
  vs_text_counted(text, told->report->slice->event_count, "event");
  const size_t before = text->bytes.count;
  vs_text_cstr(text, " over ");
  if (!vs_told_since_put(text, told, told->times->last_us)) text->bytes.count = before;
}
