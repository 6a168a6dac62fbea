/* The sentences of "whatif". */
#include "query/advice.h"
#include "query/lines.h"
#include "query/whatif_answer.h"

void vs_say_check(vs_lines *lines, const vs_replay *check) {
  const bool is_equal = vs_whatif_is_equal(check);
  vs_line_begin(lines, VS_LINE_replay, is_equal ? VS_TONE_good : VS_TONE_warning);
  vs_text_cstr(&lines->value, is_equal ? "equal" : "not equal");
  vs_line_put(lines, is_equal ? "equal to the recording: " : "not equal to the recording: ");
  vs_line_put(lines, "%N of %C and %N of %N addresses came out as recorded", check->matched, check->steps,
              "driver call", check->placed, check->allocs);
  if (!is_equal) {
    int reason = 0;
    while (reason < VS_REPLAY_REASONS && check->by_reason[reason] == 0) reason++;
    vs_line_put(lines, "; the answers below are estimates");
    if (reason < VS_REPLAY_REASONS)
      vs_line_put(lines, " (%s)", vs_replay_reason_sentence((vs_replay_reason)reason));
  }
  vs_line_end(lines);
}

/* Whether the recorded settings fail at the recorded capacity where the recording fails, and nowhere before. */
static bool is_reproduced(const vs_whatif_answer *a) {
  return !a->baseline.replay.ran_out && a->baseline.replay.avoided == 0 && a->baseline.replay.refused > 0;
}

static void say_capacity(vs_lines *lines, const vs_whatif_answer *a) {
  const bool names_cards = a->runs.data[0].card.asked.size != 0;
  if (!a->capacity.is_known && names_cards) return; /* no run needs it */
  if (!a->capacity.is_known) {
    vs_line_begin(lines, VS_LINE_capacity, VS_TONE_plain);
    vs_text_cstr(&lines->value, "unknown");
    vs_line_put(lines,
                "unknown: no request of the recording failed. The runs have no limit unless a GPU is named");
    vs_line_end(lines);
    return;
  }
  const bool is_sure = is_reproduced(a);
  vs_line_begin(lines, VS_LINE_capacity, is_sure ? VS_TONE_plain : VS_TONE_warning);
  vs_line_value(lines, a->capacity.bytes);
  vs_line_at(lines, a->capacity.event);
  vs_line_put(lines, "the process could reserve %B when event %N failed", a->capacity.bytes,
              (uint64_t)a->capacity.event);
  if (!is_sure)
    vs_line_put(
        lines,
        "; a replay with this capacity does not fail as the recording did, so the results are estimates");
  vs_line_end(lines);
}

static void say_edits(vs_lines *lines, const vs_whatif_answer *a) {
  const bool is_any = a->edited.allocs != 0;
  vs_line_begin(lines, VS_LINE_edits, is_any ? VS_TONE_plain : VS_TONE_warning);
  vs_text_cstr(&lines->value, is_any ? "" : "none");
  vs_line_put(lines, "%C of %B are changed", a->edited.allocs, "allocation", a->edited.bytes);
  if (a->edited.start_allocs != 0)
    vs_line_put(lines, ", including %C from before the recording, whose segments stay reserved",
                a->edited.start_allocs, "block");
  vs_line_end(lines);
}

static void put_settings(vs_lines *lines, const vs_whatif_run *run) {
  if (run->is_recorded) vs_line_put(lines, "the recorded settings");
  else if (run->asked.size == 0) vs_line_put(lines, "the default settings");
  else vs_text_str(&lines->text, run->asked);
}

/* A verb and the peak: "passes, peak reserved 6.81 GiB". */
static void put_outcome(vs_lines *lines, const vs_whatif_run *run) {
  const vs_replay *replay = &run->replay;
  if (replay->is_cut) vs_line_put(lines, "takes too long and was cut off");
  else if (replay->ran_out && replay->ran_out_at == VS_NO_EVENT)
    vs_line_put(lines, "fails, because %B were reserved before the recording began", replay->ran_out_for);
  else if (replay->ran_out)
    vs_line_put(lines, "fails at event %N, a request of %B", (uint64_t)replay->ran_out_at,
                replay->ran_out_for);
  else if (replay->refused != 0)
    vs_line_put(lines, "fails at event %N as in the recording", (uint64_t)replay->refused_at);
  else vs_line_put(lines, "passes");
  vs_line_put(lines, ", peak reserved %B", replay->reserved_peak);
}

static void put_price(vs_lines *lines, const vs_whatif_answer *a, const vs_whatif_run *best) {
  const uint64_t before = a->baseline.replay.device_allocs, after = best->replay.device_allocs;
  if (after > before) vs_line_put(lines, "; price: %C more", after - before, "driver allocation");
}

static void say_search(vs_lines *lines, const vs_whatif_answer *a) {
  const vs_whatif_run *best = vs_whatif_best(a);
  const uint64_t before = a->baseline.replay.reserved_peak, after = best->replay.reserved_peak;
  const bool helps = vs_whatif_has_better(a), fails = !vs_replay_passes(&a->baseline.replay);
  vs_line_begin(lines, VS_LINE_result, helps ? VS_TONE_good : VS_TONE_plain);
  if (!helps && fails) {
    vs_text_cstr(&lines->value, "no setting helps");
    vs_line_put(lines, "none of the %N settings lets the failed request pass", (uint64_t)a->runs.count);
  } else if (!helps) {
    vs_text_cstr(&lines->value, "no setting helps");
    vs_line_put(lines, "none of the %N settings reserves less than the recorded ones (%B)",
                (uint64_t)a->runs.count, before);
  } else {
    vs_text_str(&lines->value, best->asked);
    put_settings(lines, best);
    if (fails) vs_line_put(lines, " lets the failed request pass: peak reserved %B", after);
    else {
      vs_line_put(lines, " reserves %B at its peak, %B (", after, before - after);
      vs_text_percent(&lines->text, before - after, before);
      vs_line_put(lines, ") less than the recorded settings");
    }
    put_price(lines, a, best);
  }
  vs_line_end(lines);
}

static void say_result(vs_lines *lines, const vs_whatif_answer *a) {
  const vs_whatif_run *best = vs_whatif_best(a);
  uint64_t passing = 0;
  if (a->is_search) {
    say_search(lines, a);
    return;
  }
  for (size_t i = 0; i < a->runs.count; i++) passing += vs_replay_passes(&a->runs.data[i].replay);
  vs_line_begin(lines, VS_LINE_result, passing != 0 ? VS_TONE_good : VS_TONE_bad);
  vs_text_cstr(&lines->value, passing != 0 ? "passes" : "fails");
  if (a->runs.count > 1) vs_line_put(lines, "%N of %N runs pass. Best: ", passing, (uint64_t)a->runs.count);
  put_settings(lines, best);
  vs_line_put(lines, a->has_edits ? " with the edits: " : ": ");
  put_outcome(lines, best);
  vs_line_put(lines, ". As recorded: ");
  put_outcome(lines, &a->baseline);
  vs_line_end(lines);
}

static void put_smallest(vs_lines *lines, const vs_smallest *smallest) {
  if (smallest->is_known) vs_line_put(lines, "%B", smallest->bytes);
  else vs_line_put(lines, "unknown");
}

/* Sizes are what the process can reserve: a card is larger by the context and whatever else lies on it. */
static void say_smallest(vs_lines *lines, const vs_whatif_answer *a) {
  const vs_whatif_run *best = vs_whatif_best(a);
  vs_line_begin(lines, VS_LINE_smallest, VS_TONE_plain);
  if (a->smallest_recorded.is_known) vs_line_value(lines, a->smallest_recorded.bytes);
  vs_line_put(lines, "the recorded settings need ");
  put_smallest(lines, &a->smallest_recorded);
  if (vs_whatif_has_better(a)) {
    vs_line_put(lines, ", ");
    put_settings(lines, best);
    vs_line_put(lines, " ");
    put_smallest(lines, &a->smallest_best);
  }
  vs_line_put(lines, " for the allocator; the context and other libraries come on top");
  vs_line_end(lines);
}

/* Of the recorded program. */
static void say_bound(vs_lines *lines, const vs_whatif_answer *a) {
  vs_line_begin(lines, VS_LINE_bound, VS_TONE_plain);
  vs_line_value(lines, a->packing.lower);
  vs_line_put(lines, "no allocator can reserve less than %B", a->packing.lower);
  if (a->packing.has_plan)
    vs_line_put(lines, "; one that knew the program in advance reaches %B", a->packing.plan);
  vs_line_end(lines);
}

static void say_nothing(vs_lines *lines) {
  vs_line_begin(lines, VS_LINE_replay, VS_TONE_warning);
  vs_line_put(lines, "no history was recorded: there is nothing to replay. To record one, %s",
              vs_advice_how_to_record);
  vs_line_end(lines);
}

void vs_whatif_lines(vs_call *call, const vs_whatif_answer *answer) {
  vs_lines lines;
  vs_lines_begin(&lines, call);
  if (answer->plan->requests.count == 0) {
    say_nothing(&lines);
  } else {
    vs_say_check(&lines, &answer->replays->check);
    say_capacity(&lines, answer);
    if (answer->has_edits) say_edits(&lines, answer);
    if (!answer->is_search || answer->steps >= vs_whatif_search_count()) say_result(&lines, answer);
    if (answer->has_smallest) say_smallest(&lines, answer);
    if (answer->has_bound && !answer->has_edits) say_bound(&lines, answer);
  }
  vs_lines_end(&lines);
}
