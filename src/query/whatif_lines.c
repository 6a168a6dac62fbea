/* The sentences of "whatif". */
#include "device/sim/own_memory.h"
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
  if (!a->capacity.is_known && names_cards) return; /* no run uses it */
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

/* What was assumed about calls that follow one another. */
static void put_told(vs_lines *lines, const vs_checkpoint *checkpoint) {
  static const char *const by[] = {
      [VS_CALLS_LINES] = "the lines of the function",
      [VS_CALLS_SIZES] = "sizes that repeat",
      [VS_CALLS_STACKS] = "stacks that repeat",
  };
  const char *gap = "; calls from a loop are told apart by ";
  for (int i = 0; i < VS_CALLS_RUNS; i++) {
    if (checkpoint->told[i] == 0) continue;
    vs_line_put(lines, "%s%s", gap, by[i]);
    gap = " and by ";
  }
}

static void say_checkpoint(vs_lines *lines, const vs_checkpoint *checkpoint, vs_str function,
                           const vs_checkpointed *sum) {
  vs_line_begin(lines, VS_LINE_checkpoint, sum->blocks != 0 ? VS_TONE_plain : VS_TONE_warning);
  vs_line_value(lines, sum->most_bytes);
  vs_text_str(&lines->text, function);
  vs_line_put(lines, ": %C", sum->calls, "call");
  if (sum->blocks == 0) {
    vs_line_put(lines, ", none of which saves a block that a recorded backward pass frees: nothing changes");
    vs_line_end(lines);
    return;
  }
  vs_line_put(lines, " save %C for the backward pass, at most %B at one time; %N are computed again",
              sum->blocks, "block", sum->most_bytes, sum->recomputed);
  if (sum->recomputed < sum->calls) vs_line_put(lines, ", of the others no backward pass is recorded");
  put_told(lines, checkpoint);
  vs_line_end(lines);
}

/* A run begins with the segments that were there before the trace, so its peak is at least what they reserve. */
static void say_start(vs_lines *lines, const vs_whatif_answer *a) {
  const uint64_t reserved = a->plan->start.reserved;
  if (reserved == 0 || vs_whatif_best(a)->replay.reserved_peak > reserved) return;
  vs_line_begin(lines, VS_LINE_start, VS_TONE_warning);
  vs_line_value(lines, reserved);
  vs_line_put(
      lines,
      "%B were reserved before the recording began. Every run starts with them, so none reserves less: "
      "for figures of a whole run, start recording before the first allocation",
      reserved);
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

static uint64_t size_of(const vs_whatif_answer *a, const vs_smallest *smallest) {
  return vs_sim_size_with_room(smallest->bytes, a->plan->has_streams);
}

/* "9.36 GiB with expandable_segments:True (8.84 GiB for the allocator)" */
static void put_smallest(vs_lines *lines, const vs_whatif_answer *a, const vs_smallest *smallest,
                         const vs_whatif_run *run) {
  if (smallest->is_known) vs_line_put(lines, "%B", size_of(a, smallest));
  else vs_line_put(lines, "unknown");
  vs_line_put(lines, " with ");
  if (run == NULL) vs_line_put(lines, "the recorded settings");
  else put_settings(lines, run);
  if (smallest->is_known) vs_line_put(lines, " (%B for the allocator)", smallest->bytes);
}

static void say_smallest(vs_lines *lines, const vs_whatif_answer *a) {
  vs_line_begin(lines, VS_LINE_smallest, VS_TONE_plain);
  if (a->smallest_recorded.is_known) vs_line_value(lines, size_of(a, &a->smallest_recorded));
  put_smallest(lines, a, &a->smallest_recorded, NULL);
  if (vs_whatif_has_better(a)) {
    vs_line_put(lines, ", ");
    put_smallest(lines, a, &a->smallest_best, vs_whatif_best(a));
  }
  vs_line_put(
      lines,
      "; the rest is for the context and the libraries of a training. NCCL and other libraries take more");
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
    for (size_t i = 0; i < answer->checkpoint.functions.count; i++)
      say_checkpoint(&lines, &answer->checkpoint, vs_texts_at(&call->request->checkpoint, i),
                     &answer->checkpoint.functions.data[i]);
    if (!answer->is_search || answer->steps >= vs_whatif_search_count()) {
      say_start(&lines, answer);
      say_result(&lines, answer);
    }
    if (answer->has_smallest) say_smallest(&lines, answer);
    if (answer->has_bound && !answer->has_edits) say_bound(&lines, answer);
  }
  vs_lines_end(&lines);
}
