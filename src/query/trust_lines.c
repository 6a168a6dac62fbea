#include "query/trust_lines.h"
#include "query/advice.h"

/* ---- which finding matters most */

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
  if (vs_told_since_put(text, told, time_us)) return;
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

/* "; shown is process 4711, python3" */
static void put_shown(vs_text *text, const vs_told *told) {
  const vs_slice *slice = told->report->slice;
  for (size_t i = 0; i < slice->snapshot->shown.count; i++) {
    const vs_shown_process *shown = &slice->snapshot->shown.data[i];
    const vs_str name = vs_snapshot_string(slice->snapshot, shown->name);
    if (shown->device != slice->device) continue;
    vs_text_format(text, "; shown is process %D", shown->pid);
    if (name.size != 0) vs_text_format(text, ", %S", name);
  }
}

void vs_finding_put(vs_text *text, const vs_told *told, vs_finding_kind kind) {
  const uint64_t count = told->report->trust.findings[kind].count;
  if (put_loss(text, told, kind)) return;
  vs_text_cstr(text, vs_finding_sentence(kind));
  if (kind == VS_FINDING_NOT_ENDED && told->times->last_us != VS_NO_TIME) {
    vs_text_cstr(text, "; what came after ");
    put_moment(text, told, told->times->last_us, -1);
    vs_text_cstr(text, " is missing");
  }
  if (count > 1) {
    vs_text_cstr(text, " (");
    vs_text_counted(text, count, vs_finding_noun(kind));
    vs_text_cstr(text, ")");
  }
  if (kind == VS_FINDING_OTHER_PROCESSES) put_shown(text, told);
}

static void put_worst(vs_lines *lines, const vs_told *told, vs_finding_kind worst) {
  const vs_curve *curves = told->report->curves.curve;
  const uint64_t allocated = vs_told_bytes(curves[VS_CURVE_REQUESTED].baseline);
  if (worst != VS_FINDING_BEGAN_LATE) vs_finding_put(&lines->text, told, worst);
  else if (allocated != 0)
    vs_line_put(lines, "recording started when %B were already allocated; their owners are unknown",
                allocated);
  else
    vs_line_put(lines, "recording started when %B were already reserved",
                vs_told_bytes(curves[VS_CURVE_RESERVED].baseline));
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
  if (!vs_report_has_trace(told->report)) {
    vs_text_cstr(&lines->text, "only the end state was recorded");
    if (vs_snapshot_lacks(told->report->slice->snapshot) == 0)
      vs_text_format(&lines->text, ". To see the peak, steps and errors too, %s", vs_advice_how_to_record);
    vs_text_cstr(&lines->value, "end state only");
    vs_text_cstr(&lines->brief, "no history was recorded");
    lines->tone = VS_TONE_warning;
    vs_line_end(lines);
    return;
  }
  vs_text_cstr(&lines->value, is_whatif ? "simulated" : verdict);
  vs_told_extent_put(&lines->brief, told);
  vs_text_format(&lines->text, "%s: ", verdict);
  if (worst != VS_FINDING_KINDS) {
    put_worst(lines, told, (vs_finding_kind)worst);
    if (count > 1) vs_line_put(lines, "; %C", (uint64_t)count - 1, "more finding");
    vs_line_put(lines, "; ");
  }
  vs_told_extent_put(&lines->text, told);
  vs_line_end(lines);
}

void vs_say_trust(vs_lines *lines, const vs_told *told) {
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
      vs_finding_put(&lines->text, told, kind);
      vs_line_end(lines);
    }
}
