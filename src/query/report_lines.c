#include "query/report_lines.h"
#include "query/advice.h"

/* ---- what there is to say -------------------------------------------------------------------------------------- */

static bool has_trace(const vs_report *r) {
  return r->counts[VS_EVENT_ALLOC] + r->counts[VS_EVENT_FREE_REQUESTED] + r->counts[VS_EVENT_OOM] != 0;
}

/* Whether any owner of the peak has a name. */
static bool has_owners(const vs_call *call, const vs_report *r) {
  vs_group_name name = {.known = false};
  for (size_t i = 0; i < r->peak_by_line.list.count && !name.known; i++)
    vs_group_name_get(call->engine->snapshot, &call->engine->frames, VS_BY_LINE,
                      &r->peak_by_line.list.data[i], &name);
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

static uint64_t unsigned_bytes(int64_t bytes) { return bytes < 0 ? 0 : (uint64_t)bytes; }

/* ---- pieces ---------------------------------------------------------------------------------------------------- */

/* "1.45 s": the time of a moment since the first event; false where the trace has no times. */
static bool put_since(vs_text *text, const vs_times *times, int64_t time_us) {
  if (time_us == VS_NO_TIME || times->first_us == VS_NO_TIME || time_us < times->first_us) return false;
  vs_text_duration(text, (uint64_t)time_us - (uint64_t)times->first_us);
  return true;
}

/* "after 1.45 s" or "at event 421", and "at the start". */
static void put_when(vs_text *text, const vs_told *told, int64_t event, int64_t time_us) {
  const size_t before = text->bytes.count;
  vs_text_cstr(text, "after ");
  if (event >= 0 && put_since(text, told->times, time_us)) return;
  text->bytes.count = before;
  vs_text_cstr(text, event < 0 ? "at the start" : "at event ");
  if (event >= 0) vs_text_count(text, (uint64_t)event);
}

/* "1,234 events over 1.45 s" */
static void put_extent(vs_text *text, const vs_told *told) {
  vs_text_counted(text, told->report->slice->event_count, "event");
  const size_t before = text->bytes.count;
  vs_text_cstr(text, " over ");
  if (!put_since(text, told->times, told->times->last_us)) text->bytes.count = before;
}

/* ---- owners --------------------------------------------------------------------------------------------------------- */

/* "≈" in front of a peak that rests on estimated sizes. */
static void put_estimate(vs_text *text, const vs_allocated *allocated) {
  if (!allocated->is_exact) vs_text_cstr(text, "≈");
}

static void say_owners(vs_lines *lines, const vs_groups *owners) {
  const uint64_t top = lines->call->request->top;
  const size_t shown = top != 0 && top < owners->list.count ? (size_t)top : owners->list.count;
  uint64_t rest = owners->bytes;
  for (size_t i = 0; i < shown; i++) {
    vs_line_group_row(lines, VS_BY_LINE, &owners->list.data[i], owners->bytes);
    rest -= vs_min_u64(owners->list.data[i].bytes, rest);
  }
  if (owners->list.count > shown)
    vs_line_rest_row(lines, rest, owners->list.count - shown, "other line", owners->bytes);
}

/* ---- out of memory --------------------------------------------------------------------------------------------- */

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
  if (!put_since(&lines->text, told->times, oom->time_us)) lines->text.bytes.count = before;
  vs_line_put(lines, ")");
  if (count > 1) vs_line_put(lines, "; the last of %C", (uint64_t)count, "such error");
  put_when(&lines->brief, told, oom->event, oom->time_us);
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
    vs_line_put(lines, "%B requested, %B reserved", unsigned_bytes(oom->requested),
                unsigned_bytes(oom->reserved));
  } else {
    vs_line_put(lines, "%s%B allocated, %s%B cached", about, oom->active, about, oom->cached);
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

static bool has_owners_then(const vs_oom *oom) { return oom->is_looked_at && oom->owners.bytes != 0; }

static void say_oom_owners(vs_lines *lines, const vs_oom *oom) {
  if (!has_owners_then(oom)) return;
  vs_line_begin(lines, VS_LINE_oom_owners, VS_TONE_plain);
  vs_line_put(lines, "of the %B requested then", oom->owners.bytes);
  lines->shows_blocks = true;
  vs_line_rows_begin(lines);
  say_owners(lines, &oom->owners);
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

/* The same with advice, between the cause and the owners. `count` as in vs_say_failure. */
static void say_failure(vs_lines *lines, const vs_told *told, const vs_oom *oom, size_t count) {
  say_oom(lines, told, oom, count);
  say_oom_state(lines, oom);
  say_oom_cause(lines, oom);
  say_oom_advice(lines, oom);
  say_oom_owners(lines, oom);
}

/* The failure that the report is about: the last one; NULL: no request failed. */
static const vs_oom *failure_of(const vs_report *r) {
  return r->ooms.list.count == 0 ? NULL : &r->ooms.list.data[r->ooms.list.count - 1];
}

/* ---- peak and end ---------------------------------------------------------------------------------------------- */

/* Whether two sizes have the same text. */
static bool read_alike(const vs_lines *lines, uint64_t a, uint64_t b) {
  vs_text text;
  vs_text_init(&text, lines->text.host, NULL);
  vs_text_bytes(&text, a, lines->unit);
  const size_t size = text.bytes.count;
  vs_text_bytes(&text, b, lines->unit);
  const vs_str both = vs_text_view(&text);
  const bool are = both.size == 2 * size && memcmp(both.data, both.data + size, size) == 0;
  vs_text_deinit(&text);
  return are;
}

/* "12.30 GiB allocated, 12.28 GiB requested after 1.45 s (event 421); 14.0 GiB reserved": the highest of what is allocated
 * and, where its moment is another one, that of what is requested, to which the owners belong. Requested bytes that read as
 * the allocated ones are left out. */
static void put_peak(vs_lines *lines, const vs_told *told, uint64_t requested) {
  const vs_report *r = told->report;
  const uint64_t allocated = unsigned_bytes(r->allocated.peak);
  vs_curve_cursor cursor = vs_curve_cursor_at_start(r->slice, &r->curves);
  vs_curve_cursor_move(&cursor, r->peak_moment);
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
  put_when(&lines->text, told, r->peak_moment, r->peak_time_us);
  if (r->peak_moment >= 0 && r->peak_time_us != VS_NO_TIME)
    vs_line_put(lines, " (event %N)", (uint64_t)r->peak_moment);
  vs_line_put(lines, "; %B reserved", unsigned_bytes(cursor.values[VS_CURVE_RESERVED]));
  put_when(&lines->brief, told, r->peak_moment, r->peak_time_us);
}

static void say_peak(vs_lines *lines, const vs_told *told) {
  const vs_report *r = told->report;
  const vs_groups *owners = &r->peak_by_line;
  const uint64_t bytes = unsigned_bytes(r->curves.curve[VS_CURVE_REQUESTED].peak);
  const bool is_traced = has_trace(r);
  vs_line_begin(lines, is_traced ? VS_LINE_peak : VS_LINE_in_use, VS_TONE_plain);
  vs_line_at(lines, r->peak_moment);
  if (is_traced) {
    put_peak(lines, told, bytes);
  } else {
    vs_line_value(lines, bytes);
    vs_line_put(lines, "%B at the end", bytes);
  }
  const vs_oom *failure = failure_of(r);
  const bool are_owners_told = failure != NULL && has_owners_then(failure); /* those that matter, then */
  vs_line_rows_begin(lines);
  if (bytes != 0 && !are_owners_told) say_owners(lines, owners);
  vs_line_rows_end(lines);
}

static void say_peak_held(vs_lines *lines, const vs_told *told) {
  const vs_curve *held = &told->report->curves.curve[VS_CURVE_HELD];
  if (!has_trace(told->report) || held->peak <= 0 ||
      held->peak >= told->report->curves.curve[VS_CURVE_REQUESTED].peak)
    return;
  vs_line_detail_begin(lines, VS_LINE_peak_held, VS_TONE_plain);
  vs_line_put(lines, "%B without freed blocks that another stream may still use", unsigned_bytes(held->peak));
  vs_line_end(lines);
}

static void say_end(vs_lines *lines, const vs_told *told) {
  const vs_end_sums *end = &told->report->end.all;
  const uint64_t most = unsigned_bytes(told->report->curves.curve[VS_CURVE_RESERVED].peak);
  const bool is_traced = has_trace(told->report);
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
  if (reserved == 0) return;
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
  if (!has_trace(r)) return;
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

/* ---- how far to trust it --------------------------------------------------------------------------------------- */

/* What "began late" says already. */
static bool is_implied(const vs_trust *trust, vs_finding_kind kind) {
  return trust->findings[VS_FINDING_BEGAN_LATE].count != 0 &&
         (kind == VS_FINDING_FREE_WITHOUT_ALLOC || kind == VS_FINDING_LIVE_WITHOUT_ALLOC);
}

static bool is_doubt(const vs_trust *trust, vs_finding_kind kind) {
  return trust->findings[kind].count != 0 && vs_finding_severity(kind) != VS_SEVERITY_NOTE &&
         !is_implied(trust, kind);
}

static bool has_loss(const vs_trust *trust) {
  for (int i = 0; i < VS_FINDING_KINDS; i++)
    if (vs_finding_is_loss((vs_finding_kind)i) && trust->findings[i].count != 0) return true;
  return false;
}

/* How much a finding matters, the least number most: contradictions that stand for themselves, losses of events, the
 * contradictions that these explain, other gaps. */
static int rank_of(const vs_trust *trust, vs_finding_kind kind) {
  const bool is_contradiction = vs_finding_severity(kind) == VS_SEVERITY_CONTRADICTION;
  if (is_contradiction && has_loss(trust) && vs_finding_is_explained(kind)) return 2;
  return is_contradiction ? 0 : vs_finding_is_loss(kind) ? 1 : 3;
}

/* The finding that matters most, of equal ones the first of findings.def; VS_FINDING_KINDS: none. */
static int worst_finding(const vs_trust *trust, size_t *count) {
  int worst = VS_FINDING_KINDS;
  *count = 0;
  for (int i = VS_FINDING_KINDS - 1; i >= 0; i--) {
    if (!is_doubt(trust, (vs_finding_kind)i)) continue;
    ++*count;
    if (worst == VS_FINDING_KINDS ||
        rank_of(trust, (vs_finding_kind)i) <= rank_of(trust, (vs_finding_kind)worst))
      worst = i;
  }
  return worst;
}

/* ---- losses: how many events are missing, and from when on */

typedef struct losses {
  uint64_t events, gaps;
  const vs_gap *first;
  bool is_ended; /* a state follows each gap */
} losses;

static losses losses_of(const vs_recording *recording, vs_gap_cause cause) {
  losses all = {.is_ended = true};
  for (size_t i = 0; i < recording->gaps.count; i++) {
    const vs_gap *gap = &recording->gaps.data[i];
    if (gap->cause != cause) continue;
    if (all.first == NULL) all.first = gap;
    all.gaps++;
    all.events = vs_sat_add_u64(all.events, gap->events);
    all.is_ended = all.is_ended && gap->to_us != VS_NO_TIME;
  }
  return all;
}

/* "1.45 s", "event 421" where the trace has no times, "the start" */
static void put_moment(vs_text *text, const vs_told *told, int64_t time_us, int64_t event) {
  if (put_since(text, told->times, time_us)) return;
  vs_text_cstr(text, event <= 0 ? "the start" : "event ");
  if (event > 0) vs_text_count(text, (uint64_t)event);
}

/* "1,234 events are missing in 3 gaps, the first from 1.45 s to 1.52 s" */
static void put_missing(vs_text *text, const vs_told *told, const losses *all, int64_t event) {
  if (all->events == 0) vs_text_cstr(text, "an unknown number of events is");
  else vs_text_counted(text, all->events, "event");
  vs_text_cstr(text, all->events == 0 ? " missing" : all->events == 1 ? " is missing" : " are missing");
  if (all->gaps > 1) {
    vs_text_cstr(text, " in ");
    vs_text_count(text, all->gaps);
    vs_text_cstr(text, all->gaps == VS_MOST_GAPS ? " or more gaps, the first" : " gaps, the first");
  }
  vs_text_cstr(text, " from ");
  put_moment(text, told, all->first->from_us, event);
  if (all->first->to_us == VS_NO_TIME) {
    vs_text_cstr(text, " on");
    return;
  }
  vs_text_cstr(text, " to ");
  put_moment(text, told, all->first->to_us, event);
}

static void put_stop(vs_text *text, const vs_told *told, const losses *all, int64_t event) {
  const vs_snapshot *s = told->report->slice->snapshot;
  vs_text_cstr(text, "the recorder stopped after ");
  put_moment(text, told, all->first->from_us, event);
  vs_text_cstr(text, ": ");
  vs_text_str(text, vs_snapshot_string(s, s->recording.stopped));
  if (all->events == 0) return;
  vs_text_cstr(text, "; at least ");
  vs_text_counted(text, all->events, "later event");
  vs_text_cstr(text, all->events == 1 ? " is missing" : " are missing");
}

/* False: the finding is no loss, or the file does not say where it is. */
static bool put_loss(vs_text *text, const vs_told *told, vs_finding_kind kind) {
  const vs_gap_cause cause = kind == VS_FINDING_DAMAGED_FILE ? VS_GAP_DAMAGED
                             : kind == VS_FINDING_STOPPED    ? VS_GAP_STOPPED
                                                             : VS_GAP_UNRECORDED;
  const losses all = losses_of(&told->report->slice->snapshot->recording, cause);
  const int64_t event = told->report->trust.findings[kind].first_event;
  if (!vs_finding_is_loss(kind) || all.gaps == 0) return false;
  if (kind == VS_FINDING_STOPPED) {
    put_stop(text, told, &all, event);
    return true;
  }
  put_missing(text, told, &all, event);
  vs_text_cstr(text, kind == VS_FINDING_DAMAGED_FILE ? ": the file is damaged there"
                                                     : ": the recorder could not keep up");
  if (all.is_ended) vs_text_cstr(text, "; the rest is exact");
  return true;
}

void vs_report_finding_put(vs_text *text, const vs_told *told, vs_finding_kind kind) {
  const uint64_t count = told->report->trust.findings[kind].count;
  if (put_loss(text, told, kind)) return;
  vs_text_cstr(text, vs_finding_sentence(kind));
  if (kind == VS_FINDING_NOT_ENDED && told->times->last_us != VS_NO_TIME) {
    vs_text_cstr(text, "; what came after ");
    put_moment(text, told, told->times->last_us, -1);
    vs_text_cstr(text, " is missing");
  }
  if (count <= 1) return;
  vs_text_cstr(text, " (");
  vs_text_counted(text, count, vs_finding_noun(kind));
  vs_text_cstr(text, ")");
}

static void put_worst(vs_lines *lines, const vs_told *told, vs_finding_kind worst) {
  const vs_curve *curves = told->report->curves.curve;
  const uint64_t allocated = unsigned_bytes(curves[VS_CURVE_REQUESTED].baseline);
  if (worst != VS_FINDING_BEGAN_LATE) vs_report_finding_put(&lines->text, told, worst);
  else if (allocated != 0)
    vs_line_put(lines, "recording started when %B were already allocated; their owners are unknown",
                allocated);
  else
    vs_line_put(lines, "recording started when %B were already reserved",
                unsigned_bytes(curves[VS_CURVE_RESERVED].baseline));
}

static void say_verdict(vs_lines *lines, const vs_told *told) {
  size_t count;
  const vs_trust *trust = &told->report->trust;
  const int worst = worst_finding(trust, &count);
  const bool is_wrong = worst != VS_FINDING_KINDS && rank_of(trust, (vs_finding_kind)worst) == 0;
  const char *verdict = trust->is_complete ? "complete" : is_wrong ? "contradictory" : "partial";
  const bool is_whatif = trust->findings[VS_FINDING_WHATIF].count != 0;
  vs_line_begin(lines, VS_LINE_recording, trust->is_complete && !is_whatif ? VS_TONE_good : VS_TONE_warning);
  if (is_whatif) vs_line_put(lines, "simulated by vramscope whatif, not recorded; ");
  if (!has_trace(told->report)) {
    vs_text_format(&lines->text, "only the end state was recorded. To see the peak, steps and errors too, %s",
                   vs_advice_how_to_record);
    vs_text_cstr(&lines->value, "end state only");
    vs_text_cstr(&lines->brief, "no history was recorded");
    lines->tone = VS_TONE_warning;
    vs_line_end(lines);
    return;
  }
  vs_text_cstr(&lines->value, is_whatif ? "simulated" : verdict);
  put_extent(&lines->brief, told);
  vs_text_format(&lines->text, "%s: ", verdict);
  if (worst != VS_FINDING_KINDS) {
    put_worst(lines, told, (vs_finding_kind)worst);
    if (count > 1) vs_line_put(lines, "; %C", (uint64_t)count - 1, "more finding");
    vs_line_put(lines, "; ");
  }
  put_extent(&lines->text, told);
  vs_line_end(lines);
}

static void say_trust(vs_lines *lines, const vs_told *told) {
  static const vs_line_id about[] = {[VS_SEVERITY_CONTRADICTION] = VS_LINE_contradiction,
                                     [VS_SEVERITY_GAP] = VS_LINE_gap,
                                     [VS_SEVERITY_NOTE] = VS_LINE_note};
  static const vs_tone tones[] = {[VS_SEVERITY_CONTRADICTION] = VS_TONE_bad,
                                  [VS_SEVERITY_GAP] = VS_TONE_warning,
                                  [VS_SEVERITY_NOTE] = VS_TONE_plain};
  const vs_trust *trust = &told->report->trust;
  say_verdict(lines, told);
  for (int severity = VS_SEVERITY_CONTRADICTION; severity <= VS_SEVERITY_NOTE; severity++)
    for (int i = 0; i < VS_FINDING_KINDS; i++) {
      const vs_finding_kind kind = (vs_finding_kind)i;
      if (trust->findings[i].count == 0 || (int)vs_finding_severity(kind) != severity ||
          is_implied(trust, kind))
        continue;
      vs_line_detail_begin(lines, about[severity], tones[severity]);
      vs_report_finding_put(&lines->text, told, kind);
      vs_line_end(lines);
    }
}

/* ---- the parts of the reply ------------------------------------------------------------------------------------ */

void vs_report_oom_lines(vs_call *call, const vs_told *told, const vs_oom *oom) {
  vs_lines lines;
  vs_lines_begin(&lines, call);
  say_failure(&lines, told, oom, 0);
  vs_lines_end(&lines);
}

/* "peak 12.3 GiB allocated; peak reserved 14.0 GiB; at the end 10.1 GiB allocated of 14.0 GiB reserved; 1 out-of-memory error" */
static void write_summary(vs_call *call, const vs_report *r) {
  const vs_unit unit = call->request->unit;
  vs_text *text = &call->scratch;
  if (has_trace(r)) {
    vs_text_cstr(text, "peak ");
    put_estimate(text, &r->allocated);
    vs_text_bytes(text, unsigned_bytes(r->allocated.peak), unit);
    vs_text_cstr(text, " allocated; peak reserved ");
    vs_text_bytes(text, unsigned_bytes(r->curves.curve[VS_CURVE_RESERVED].peak), unit);
    vs_text_cstr(text, "; ");
  }
  vs_text_cstr(text, "at the end ");
  vs_text_bytes(text, r->end.all.allocated, unit);
  vs_text_cstr(text, " allocated of ");
  vs_text_bytes(text, r->end.all.reserved, unit);
  vs_text_cstr(text, " reserved");
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
  } else if (count_growth(r) != 0 || !has_trace(r)) {
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
  if (failure != NULL) say_failure(&lines, told, failure, r->ooms.list.count);
  say_peak(&lines, told);
  say_peak_held(&lines, told);
  say_end(&lines, told);
  say_cached(&lines, told);
  say_rounding(&lines, &r->end.all);
  say_growth(&lines, r);
  say_trust(&lines, told);
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
                   "It is empty: nothing was reserved when it was taken, and no history was recorded. To "
                   "record one, %s.",
                   vs_advice_how_to_record);
    vs_line_end(&lines);
  }
  vs_lines_end(&lines);
}
