/* "whatif_snapshot": one run of "whatif" as a snapshot. */
#include "analyze/replay_snapshot.h"
#include "query/whatif_answer.h"
#include "snapshot/writer.h"

_Static_assert((int)VS_WRITTEN_pickle == (int)VS_FORMAT_PICKLE &&
                   (int)VS_WRITTEN_json == (int)VS_FORMAT_JSON && (int)VS_WRITTEN_vram == (int)VS_FORMAT_VRAM,
               "the formats are the same");

/* What the snapshot shows in its own way: memory from before the trace, and that its oldest events are missing. */
static bool is_shown(vs_finding_kind kind) {
  return kind == VS_FINDING_BEGAN_LATE || kind == VS_FINDING_FREE_WITHOUT_ALLOC ||
         kind == VS_FINDING_LIVE_WITHOUT_ALLOC || kind == VS_FINDING_RING_WRAPPED;
}

static bool is_estimate(const vs_whatif_answer *a, const vs_replay *replay, const vs_trust *trust) {
  if (!vs_whatif_is_equal(&a->replays->check) || replay->strays != 0) return true;
  for (int i = 0; i < VS_FINDING_KINDS; i++) {
    const vs_finding_kind kind = (vs_finding_kind)i;
    if (trust->findings[i].count != 0 && vs_finding_severity(kind) != VS_SEVERITY_NOTE && !is_shown(kind))
      return true;
  }
  return false;
}

static vs_status seal_and_write(vs_call *call, const vs_whatif_answer *a, const vs_replay_options *options,
                                const vs_replay *replay) {
  vs_report *report;
  VS_TRY(vs_cached_report(call->engine->host, call->device, &report));
  const vs_trust *trust = &report->trust;
  const vs_whatif_mark mark = {.is_there = true,
                               .is_estimate = is_estimate(a, replay, trust),
                               .ran_out = replay->ran_out,
                               .capacity_bytes = vs_min_u64(options->card, VS_REPLAY_ENOUGH),
                               .edited = a->has_edits ? a->edited.allocs : 0};
  VS_TRY(vs_replay_snapshot_seal(options->snapshot, &options->settings, &mark,
                                 trust->findings[VS_FINDING_RING_WRAPPED].count != 0));
  return vs_snapshot_write(&options->snapshot->snapshot, (vs_file_format)call->request->written, call->reply,
                           call->error);
}

/* A run that says nothing is not written. */
static vs_status check_run(vs_call *call, const vs_replay *replay) {
  if (replay->is_cut)
    return vs_fail(call->error, VS_LIMIT, VS_NO_OFFSET, "the replay takes too long and was cut off");
  if (replay->ran_out && replay->ran_out_at == VS_NO_EVENT)
    return vs_fail(
        call->error, VS_NOT_FOUND, VS_NO_OFFSET,
        "%U bytes were reserved before the recording began, more than the GPU has: nothing is replayed",
        replay->ran_out_for);
  return VS_OK;
}

static vs_status write_run(vs_call *call, const vs_whatif_answer *a, const vs_whatif_run *run) {
  const vs_host *host = call->engine->host;
  vs_replay_options options = vs_whatif_options(a, run, true);
  vs_replay_snapshot snapshot;
  vs_replay replay;
  options.snapshot = &snapshot;
  vs_status status = vs_replay_snapshot_init(&snapshot, host, call->engine->snapshot);
  if (status == VS_OK) status = vs_replay_run(host, a->plan, &options, &replay);
  if (status == VS_OK) {
    status = check_run(call, &replay);
    if (status == VS_OK) status = seal_and_write(call, a, &options, &replay);
    vs_replay_deinit(host, &replay);
  }
  vs_replay_snapshot_deinit(&snapshot);
  return status;
}

static vs_status write_best(vs_call *call) {
  vs_whatif_answer *search;
  VS_TRY(vs_whatif_search(call, vs_whatif_steps(), &search));
  if (search->runs.count != 0 && vs_whatif_has_better(search))
    return write_run(call, search, vs_whatif_best(search));
  return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET,
                 "no setting of the search is better than the recorded ones: name the settings");
}

static vs_status write_asked(vs_call *call, vs_whatif_answer *a) {
  VS_TRY(vs_whatif_begin(call, a));
  VS_TRY(vs_whatif_edits(call, a));
  VS_TRY(vs_whatif_rows(call, a));
  if (a->runs.count == 1) return write_run(call, a, &a->runs.data[0]);
  return vs_fail(call->error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                 "a snapshot is of one run, and these are %U: choose one of the settings and one of the GPUs",
                 (uint64_t)a->runs.count);
}

vs_status vs_method_whatif_snapshot(vs_call *call) {
  const vs_replay_plan *plan;
  vs_whatif_answer a = {0};
  VS_TRY(vs_cached_plan(call, &plan));
  if (plan->requests.count == 0)
    return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET,
                   "no history was recorded: there is nothing to replay");
  if (vs_whatif_is_search(call->request)) return write_best(call);
  const vs_status status = write_asked(call, &a);
  vs_whatif_answer_deinit(call->engine->host, &a);
  return status;
}
