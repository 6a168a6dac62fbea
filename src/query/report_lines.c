#include "query/report_lines.h"
#include "query/advice.h"
#include "query/failure_lines.h"
#include "query/trust_lines.h"

/* ---- what there is to say -------------------------------------------------------------------------------------- */

/* Whether any owner of the peak has a name. */
static bool has_owners(const vs_call *call, const vs_report *r) {
  vs_group_name name = {.known = false};
  for (size_t i = 0; i < r->peak_owners.lines.list.count && !name.known; i++)
    vs_group_name_get(call->engine->snapshot, &call->engine->frames, VS_BY_LINE,
                      &r->peak_owners.lines.list.data[i], &name);
  return name.known;
}

/* A line that has less than a thousandth of the peak is not worth a sentence. */
static bool is_growth_told(const vs_report *r, const vs_growth *growth) {
  const uint64_t bytes = growth->kind == VS_GROWTH_ALLOCATED ? growth->end_bytes : growth->live_bytes;
  return bytes >= (uint64_t)r->curves.curve[VS_CURVE_REQUESTED].peak / 1000;
}

/* Lines that grow and are still allocated at the end. */
static size_t count_growth(const vs_report *r) {
  size_t count = 0;
  for (size_t i = 0; i < r->growths.list.count; i++) {
    const vs_growth *growth = &r->growths.list.data[i];
    count += growth->kind == VS_GROWTH_ALLOCATED && is_growth_told(r, growth);
  }
  return count;
}

/* "≈" in front of a peak that rests on estimated sizes. */
static void put_estimate(vs_text *text, const vs_allocated *allocated) {
  if (!allocated->is_exact) vs_text_cstr(text, "≈");
}

/* The failure that the report is about: the last one; NULL: no request failed. */
static const vs_oom *failure_of(const vs_report *r) {
  return r->ooms.list.count == 0 ? NULL : &r->ooms.list.data[r->ooms.list.count - 1];
}

/* ---- peak and end ---------------------------------------------------------------------------------------------- */

/* Whether two sizes have the same text. A failure is kept in the status of the line's. */
static bool read_alike(vs_lines *lines, uint64_t a, uint64_t b) {
  vs_text text;
  vs_text_init(&text, lines->text.host, NULL);
  vs_text_bytes(&text, a, lines->unit);
  const size_t size = text.bytes.count;
  vs_text_bytes(&text, b, lines->unit);
  const vs_str both = vs_text_view(&text);
  const bool are =
      text.status == VS_OK && both.size == 2 * size && memcmp(both.data, both.data + size, size) == 0;
  if (lines->text.status == VS_OK) lines->text.status = text.status;
  vs_text_deinit(&text);
  return are;
}

/* "12.30 GiB allocated, 12.28 GiB requested after 1.45 s (event 421); 14.0 GiB reserved": the highest of what is allocated
 * and, where its moment is another one, that of what is requested, to which the owners belong. Requested bytes that read as
 * the allocated ones are left out. */
static void put_peak(vs_lines *lines, const vs_told *told, uint64_t requested) {
  const vs_report *r = told->report;
  const uint64_t allocated = vs_told_bytes(r->allocated.peak);
  lines->bytes = allocated;
  lines->has_bytes = true;
  put_estimate(&lines->value, &r->allocated);
  vs_text_bytes(&lines->value, allocated, lines->unit);
  put_estimate(&lines->text, &r->allocated);
  vs_line_put(lines, "%B allocated", allocated);
  if (r->allocated.peak_at != r->peak_moment) {
    if (r->allocated.peak_at < 0) vs_line_put(lines, " at the start; ");
    else vs_line_put(lines, " at event %N; ", (uint64_t)r->allocated.peak_at);
    vs_line_put(lines, "%B requested", requested);
  } else if (!read_alike(lines, allocated, requested)) {
    vs_line_put(lines, ", %B requested", requested);
  }
  vs_line_put(lines, " ");
  vs_told_when_put(&lines->text, told, r->peak_moment, r->peak_time_us);
  if (r->peak_moment >= 0 && r->peak_time_us != VS_NO_TIME)
    vs_line_put(lines, " (event %N)", (uint64_t)r->peak_moment);
  if (vs_reply_knows_segments(lines->call))
    vs_line_put(lines, "; %B reserved",
                vs_told_bytes(vs_curve_at(r->slice, &r->curves, VS_CURVE_RESERVED, r->peak_moment)));
  vs_told_when_put(&lines->brief, told, r->peak_moment, r->peak_time_us);
}

static void say_peak(vs_lines *lines, const vs_told *told) {
  const vs_report *r = told->report;
  const vs_owners *owners = &r->peak_owners;
  const uint64_t bytes = vs_told_bytes(r->curves.curve[VS_CURVE_REQUESTED].peak);
  const bool is_traced = vs_report_has_trace(r);
  vs_line_begin(lines, is_traced ? VS_LINE_peak : VS_LINE_in_use, VS_TONE_plain);
  vs_line_at(lines, r->peak_moment);
  if (is_traced) {
    put_peak(lines, told, bytes);
  } else {
    vs_line_value(lines, bytes);
    vs_line_put(lines, "%B at the end", bytes);
  }
  const vs_oom *failure = failure_of(r);
  const bool are_owners_told =
      failure != NULL && vs_failure_has_owners(failure); /* those that matter, then */
  vs_line_rows_begin(lines);
  if (bytes != 0 && !are_owners_told) vs_line_owner_rows(lines, owners);
  vs_line_rows_end(lines);
}

static void say_peak_held(vs_lines *lines, const vs_told *told) {
  const vs_curve *held = &told->report->curves.curve[VS_CURVE_HELD];
  if (!vs_report_has_trace(told->report) || held->peak <= 0 ||
      held->peak >= told->report->curves.curve[VS_CURVE_REQUESTED].peak)
    return;
  vs_line_detail_begin(lines, VS_LINE_peak_held, VS_TONE_plain);
  vs_line_put(lines, "%B without freed blocks that another stream may still use", vs_told_bytes(held->peak));
  vs_line_end(lines);
}

/* The end of a file without segments. */
static void say_allocated_end(vs_lines *lines, const vs_told *told) {
  const uint64_t bytes = told->report->end.all.allocated;
  if (!vs_report_has_trace(told->report)) return; /* the line in front of it says the same */
  vs_line_begin(lines, VS_LINE_end, VS_TONE_plain);
  vs_line_value(lines, bytes);
  vs_line_at(lines, vs_slice_end(told->report->slice));
  vs_line_put(lines, "%B allocated", bytes);
  vs_line_put_brief(lines, "allocated");
  vs_line_end(lines);
}

static void say_end(vs_lines *lines, const vs_told *told) {
  const vs_end_sums *end = &told->report->end.all;
  const uint64_t most = vs_told_bytes(told->report->curves.curve[VS_CURVE_RESERVED].peak);
  const bool is_traced = vs_report_has_trace(told->report);
  vs_line_begin(lines, VS_LINE_end, VS_TONE_plain);
  vs_line_value(lines, is_traced ? end->allocated : end->reserved);
  vs_line_at(lines, vs_slice_end(told->report->slice));
  if (failure_of(told->report) != NULL) vs_line_put(lines, "after the error: ");
  else vs_line_put(lines, "%B reserved: ", end->reserved);
  vs_line_put(lines, "%B allocated", end->allocated);
  if (end->pending != 0) vs_line_put(lines, ", %B pending free", end->pending);
  vs_line_put(lines, ", %B cached", end->inactive);
  if (most > end->reserved) vs_line_put(lines, "; peak reserved %B", most);
  if (is_traced) vs_line_put_brief(lines, "of %B ", end->reserved);
  vs_line_put_brief(lines, "reserved");
  vs_line_end(lines);
}

/* ---- what is cached, and how much of it the driver could have ---------------------------------------------------- */

static const char *grade(uint64_t stuck, uint64_t reserved) {
  return stuck < reserved / 10 ? "low" : stuck < reserved / 4 ? "noticeable" : "high";
}

/* `loose` is releasable, `stuck` is not. After an error, when PyTorch has unwound the program, that is no advice. */
static void put_cached_parts(vs_lines *lines, uint64_t loose, uint64_t stuck, bool has_failed) {
  vs_line_put(lines, "%B", loose != 0 ? loose : stuck);
  if (loose == 0) {
    vs_line_put(lines, ", none of it releasable: every segment still contains live blocks");
    return;
  }
  vs_line_put(lines,
              has_failed ? " releasable after the error" : " releasable with torch.cuda.empty_cache()");
  if (stuck == 0) return;
  vs_line_put(lines, ", %B not: live blocks share its segments", stuck);
}

static void say_cached(vs_lines *lines, const vs_told *told) {
  enum { LITTLE = 20 }; /* the part of reserved below which it does not matter: 5% */
  const vs_holes *holes = &told->report->fragmentation.all;
  const uint64_t stuck = holes->pinned, reserved = told->report->end.all.reserved;
  const bool is_little = holes->free < reserved / LITTLE;
  const char *word = grade(stuck, reserved);
  if (reserved == 0 || !vs_reply_knows_segments(lines->call)) return;
  vs_line_begin(lines, VS_LINE_cached, !is_little && stuck >= reserved / 4 ? VS_TONE_warning : VS_TONE_plain);
  vs_line_value(lines, holes->free);
  vs_line_at(lines, vs_slice_end(told->report->slice));
  if (is_little) {
    vs_line_put(lines, "%s", holes->free == 0 ? "nothing" : "too little to matter");
    vs_text_cstr(&lines->brief, "too little to matter");
  } else {
    put_cached_parts(lines, holes->releasable, stuck, failure_of(told->report) != NULL);
    vs_line_put(lines, "; largest free block %B", holes->largest_hole);
    vs_text_format(&lines->text, "; fragmentation: %s", word);
    vs_text_format(&lines->brief, "%s fragmentation", word);
  }
  vs_line_end(lines);
  if (!is_little) {
    vs_line_detail_begin(lines, VS_LINE_fragmentation, VS_TONE_plain);
    vs_line_put(lines, "%s", vs_explain_fragmentation(holes));
    vs_line_end(lines);
  }
}

/* A line of its own only where it costs 2% or more of what is allocated. */
static void say_rounding(vs_lines *lines, const vs_end_sums *end) {
  if (end->rounding == 0) return;
  vs_line_begin(lines, VS_LINE_rounding, VS_TONE_plain);
  lines->is_detail = end->rounding < end->allocated / 50;
  vs_line_put(lines, "%B is lost to rounding up sizes (", end->rounding);
  vs_text_percent(&lines->text, end->rounding, end->allocated);
  vs_line_put(lines, " of what is allocated)");
  vs_line_end(lines);
}

/* ---- growth ---------------------------------------------------------------------------------------------------- */

/* What it is likely to be. Rounds of a loop may also be what builds up a model or a cache. */
static const char *likely_cause(const vs_growth *growth, vs_steps_source source) {
  if (source == VS_STEPS_ROUNDS) return "a leak, an unbounded cache, or memory that the loop builds up";
  return growth->blocks == 0 ? "its blocks get larger, not more" : "likely a leak or an unbounded cache";
}

static void put_grower(vs_lines *lines, const vs_growth *growth, vs_steps_source source) {
  const uint64_t steps = growth->steps;
  switch (growth->kind) {
    case VS_GROWTH_ALLOCATED:
      vs_line_put(lines, "%O grows by %B every step over %C, and %B is still allocated: %s", growth->stack,
                  growth->bytes_per_step, steps, "step", growth->end_bytes, likely_cause(growth, source));
      break;
    case VS_GROWTH_FREED:
      vs_line_put(lines,
                  "%O grew by %B every step over %C, and most of it was freed since: %B is still allocated",
                  growth->stack, growth->bytes_per_step, steps, "step", growth->end_bytes);
      break;
    case VS_GROWTH_PENDING:
      vs_line_put(lines,
                  "%O has %B more pending every step over %C: freed, but another stream may still use it "
                  "(record_stream)",
                  growth->stack, growth->bytes_per_step, steps, "step");
      break;
  }
}

static void say_grower(vs_lines *lines, const vs_growth *growth, vs_steps_source source, bool is_first) {
  static const vs_tone tones[] = {[VS_GROWTH_ALLOCATED] = VS_TONE_bad,
                                  [VS_GROWTH_FREED] = VS_TONE_plain,
                                  [VS_GROWTH_PENDING] = VS_TONE_warning};
  const bool is_built = growth->kind == VS_GROWTH_ALLOCATED && source == VS_STEPS_ROUNDS;
  vs_line_begin(lines, is_first ? VS_LINE_growth : VS_LINE_grows,
                is_built ? VS_TONE_warning : tones[growth->kind]);
  if (growth->kind != VS_GROWTH_FREED) {
    lines->bytes = growth->bytes_per_step;
    lines->has_bytes = true;
    vs_text_bytes_change(&lines->value, (int64_t)vs_min_u64(growth->bytes_per_step, INT64_MAX), lines->unit);
  }
  vs_line_put_brief(lines, "%O", growth->stack);
  put_grower(lines, growth, source);
  vs_line_end(lines);
}

static void say_no_growth(vs_lines *lines, size_t steps) {
  enum { FEW = 3 }; /* steps in which nothing can be told */
  vs_line_begin(lines, VS_LINE_growth, VS_TONE_plain);
  if (steps == 0) vs_line_put(lines, "not checked: no repeating steps found");
  else if (steps < FEW) vs_line_put(lines, "not checked: too few repeating steps");
  else vs_line_put(lines, "none over %C", (uint64_t)steps, "step");
  vs_line_end(lines);
}

static void say_growth(vs_lines *lines, const vs_report *r) {
  enum { MOST = 3 };
  const size_t boundaries = r->steps.source == VS_STEPS_NONE ? 0 : r->steps.boundaries.count;
  const size_t steps = boundaries == 0 ? 0 : boundaries - 1;
  if (!vs_report_has_trace(r)) return;
  size_t told = 0;
  for (size_t i = 0; i < r->growths.list.count && told < MOST; i++)
    if (is_growth_told(r, &r->growths.list.data[i]))
      say_grower(lines, &r->growths.list.data[i], r->steps.source, told++ == 0);
  if (told == 0) say_no_growth(lines, steps);
  if (steps != 0) {
    vs_line_detail_begin(lines, VS_LINE_steps, VS_TONE_plain);
    vs_line_put(lines, "%N, told by ", (uint64_t)steps);
    if (r->steps.source == VS_STEPS_ANNOTATIONS)
      vs_text_str(&lines->text, vs_snapshot_string(r->slice->snapshot, r->steps.anchor));
    else vs_line_put(lines, "%O", r->steps.anchor);
    vs_line_end(lines);
  }
  vs_line_detail_begin(lines, VS_LINE_allocations, VS_TONE_plain);
  vs_line_put(lines, "%N, of which %N were freed and %N were short-lived", r->churn.count,
              r->churn.ended_count, r->churn.short_count);
  vs_line_end(lines);
}

/* ---- the parts of the reply ------------------------------------------------------------------------------------ */

void vs_report_oom_lines(vs_call *call, const vs_told *told, const vs_oom *oom) {
  vs_lines lines;
  vs_lines_begin(&lines, call);
  vs_say_failure_with_advice(&lines, told, oom, 0);
  vs_lines_end(&lines);
}

/* "peak 12.3 GiB allocated; peak reserved 14.0 GiB; at the end 10.1 GiB allocated of 14.0 GiB reserved; 1 out-of-memory error" */
static void write_summary(vs_call *call, const vs_report *r) {
  const vs_unit unit = call->request->unit;
  vs_text *text = &call->scratch;
  if (vs_report_has_trace(r)) {
    vs_text_cstr(text, "peak ");
    put_estimate(text, &r->allocated);
    vs_text_bytes(text, vs_told_bytes(r->allocated.peak), unit);
    vs_text_cstr(text, " allocated; ");
    if (vs_reply_knows_segments(call)) {
      vs_text_cstr(text, "peak reserved ");
      vs_text_bytes(text, vs_told_bytes(r->curves.curve[VS_CURVE_RESERVED].peak), unit);
      vs_text_cstr(text, "; ");
    }
  }
  vs_text_cstr(text, "at the end ");
  vs_text_bytes(text, r->end.all.allocated, unit);
  vs_text_cstr(text, " allocated");
  if (vs_reply_knows_segments(call)) {
    vs_text_cstr(text, " of ");
    vs_text_bytes(text, r->end.all.reserved, unit);
    vs_text_cstr(text, " reserved");
  }
  if (r->ooms.list.count != 0) {
    vs_text_cstr(text, "; ");
    vs_text_counted(text, r->ooms.list.count, "out-of-memory error");
  }
  vs_reply_scratch(call, "summary");
}

/* The method to ask next, with "at" where it is not the peak, and what for. */
static void write_next(vs_call *call, const vs_report *r) {
  const char *method = "tree", *text = "call tree of the peak";
  vs_reply_object_begin(call->json, "next");
  if (failure_of(r) != NULL) {
    method = "oom";
    text = "what would have let it pass";
    vs_jsonw_member_null(call->json, "at");
  } else if (count_growth(r) != 0 || !vs_report_has_trace(r)) {
    if (!has_owners(call, r)) method = "blocks";
    text = "what was never freed";
    vs_jsonw_member_str(call->json, "at", VS_STR("end"));
  } else {
    vs_jsonw_member_null(call->json, "at");
  }
  vs_jsonw_member_str(call->json, "method", vs_str_from(method));
  vs_jsonw_member_str(call->json, "text", vs_str_from(text));
  vs_jsonw_object_end(call->json);
}

void vs_report_lines(vs_call *call, const vs_told *told) {
  const vs_report *r = told->report;
  const vs_oom *failure = failure_of(r);
  vs_lines lines;
  vs_lines_begin(&lines, call);
  if (failure != NULL) vs_say_failure_with_advice(&lines, told, failure, r->ooms.list.count);
  say_peak(&lines, told);
  say_peak_held(&lines, told);
  if (vs_reply_knows_segments(call)) say_end(&lines, told);
  else say_allocated_end(&lines, told);
  say_cached(&lines, told);
  say_rounding(&lines, &r->end.all);
  say_growth(&lines, r);
  vs_say_trust(&lines, told);
  vs_lines_end(&lines);
  write_summary(call, r);
  write_next(call, r);
}

void vs_report_file_lines(vs_call *call) {
  vs_lines lines;
  vs_lines_begin(&lines, call);
  if (call->engine->devices.count == 0) {
    vs_line_begin(&lines, VS_LINE_recording, VS_TONE_warning);
    vs_text_cstr(&lines.value, "no device");
    vs_text_cstr(&lines.brief, "nothing was reserved");
    vs_text_format(&lines.text,
                   "It is empty: PyTorch reserved nothing, and no history was recorded. To "
                   "record one, %s.",
                   vs_advice_how_to_record);
    vs_line_end(&lines);
  }
  vs_lines_end(&lines);
}
