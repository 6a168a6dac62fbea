#include "query/failure_lines.h"
#include "query/advice.h"

static void say_oom(vs_lines *lines, const vs_told *told, const vs_oom *oom, size_t count) {
  vs_line_begin(lines, VS_LINE_oom, VS_TONE_bad);
  vs_line_value(lines, oom->size);
  vs_line_at(lines, oom->event);
  vs_line_put(lines, "failed to allocate %B", oom->size);
  if (oom->stack != VS_LIST_NONE) vs_line_put(lines, " at %O", oom->stack);
  if (oom->is_short_known) vs_line_put(lines, ", short by %B", oom->short_by);
  vs_line_put(lines, " (event %N", (uint64_t)oom->event);
  const size_t before = lines->text.bytes.count;
  vs_line_put(lines, ", ");
  if (!vs_told_since_put(&lines->text, told, oom->time_us)) lines->text.bytes.count = before;
  vs_line_put(lines, ")");
  if (count > 1) vs_line_put(lines, "; the last of %C", (uint64_t)count, "such error");
  vs_told_when_put(&lines->brief, told, oom->event, oom->time_us);
  if (oom->is_short_known) vs_line_put_brief(lines, "; short by %B", oom->short_by);
  vs_line_end(lines);
}

static void say_usable(vs_lines *lines, const vs_oom *oom, const char *about) {
  if (oom->cached == 0) return;
  if (oom->cached_usable == 0) {
    vs_line_put(lines, " (none of it usable for this request)");
    return;
  }
  vs_line_put(lines, " (");
  if (oom->cached_usable != oom->cached)
    vs_line_put(lines, "%s%B usable for this request, ", about, oom->cached_usable);
  vs_line_put(lines, "largest free block %B)", oom->largest_hole_area);
}

static void say_oom_state(vs_lines *lines, const vs_oom *oom) {
  const char *about = oom->is_exact ? "" : "≈";
  vs_line_begin(lines, VS_LINE_oom_state, VS_TONE_plain);
  if (!oom->is_looked_at) {
    vs_line_put(lines, "%B requested, %B reserved", vs_told_bytes(oom->requested),
                vs_told_bytes(oom->reserved));
  } else {
    vs_line_put(lines, "%s%B allocated", about, oom->active);
    if (vs_reply_knows_segments(lines->call)) vs_line_put(lines, ", %s%B cached", about, oom->cached);
    say_usable(lines, oom, about);
  }
  if (oom->is_free_known) vs_line_put(lines, ", %B free on the GPU", oom->device_free);
  vs_line_end(lines);
}

static void say_oom_cause(vs_lines *lines, const vs_oom *oom) {
  vs_line_begin(lines, VS_LINE_oom_cause, VS_TONE_plain);
  switch (oom->verdict) {
    case VS_OOM_FRAGMENTED:
      vs_line_put(lines, "fragmentation: %B cached", oom->cached_usable);
      if (oom->cached_usable < oom->size) vs_line_put(lines, " and %B free", oom->device_free);
      vs_line_put(lines, ", but no free block of %B", oom->size);
      break;
    case VS_OOM_ELSEWHERE:
      vs_line_put(lines, "%B cached, but ", oom->cached);
      if (oom->cached_usable == 0) vs_line_put(lines, "none");
      else vs_line_put(lines, "only %B", oom->cached_usable);
      vs_line_put(lines,
                  " of it where this request can use it: %s belongs to another stream, pool or "
                  "kind of segment",
                  oom->cached_usable == 0 ? "it" : "the rest");
      break;
    case VS_OOM_LIMIT:
    case VS_OOM_FULL:
    case VS_OOM_UNKNOWN: vs_line_put(lines, "%s", vs_explain_oom(oom->verdict)); break;
  }
  vs_line_end(lines);
}

static void say_oom_owners(vs_lines *lines, const vs_oom *oom) {
  if (!vs_failure_has_owners(oom)) return;
  vs_line_begin(lines, VS_LINE_oom_owners, VS_TONE_plain);
  vs_line_put(lines, "of the %B requested then", oom->owners.lines.bytes);
  lines->shows_blocks = true;
  vs_line_rows_begin(lines);
  vs_line_owner_rows(lines, &oom->owners);
  vs_line_rows_end(lines);
}

void vs_say_failure(vs_lines *lines, const vs_told *told, const vs_oom *oom, size_t count) {
  say_oom(lines, told, oom, count);
  say_oom_state(lines, oom);
  say_oom_cause(lines, oom);
  say_oom_owners(lines, oom);
}

static void say_oom_advice(vs_lines *lines, const vs_oom *oom) {
  const char *advice = vs_advice_for_oom(lines->call->engine->snapshot, oom->verdict);
  if (advice == NULL) return;
  vs_line_begin(lines, VS_LINE_oom_advice, VS_TONE_plain);
  vs_line_put(lines, "%s", advice);
  vs_line_end(lines);
}

void vs_say_failure_with_advice(vs_lines *lines, const vs_told *told, const vs_oom *oom, size_t count) {
  say_oom(lines, told, oom, count);
  say_oom_state(lines, oom);
  say_oom_cause(lines, oom);
  say_oom_advice(lines, oom);
  say_oom_owners(lines, oom);
}
