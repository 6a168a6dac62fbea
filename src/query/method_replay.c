/* "replay": the trace run through the allocator, once as recorded and compared with the recording, once as
 * asked. */
#include "analyze/replay.h"
#include "query/replays.h"
#include "query/reply.h"

/* ---- what differs -------------------------------------------------------------------------------------- */

static void write_step(const vs_call *call, const char *key, bool is_there, const vs_replay_step *step) {
  vs_jsonw *json = call->json;
  vs_jsonw_key(json, vs_str_from(key));
  if (!is_there) {
    vs_jsonw_null(json);
    return;
  }
  vs_jsonw_object_begin(json);
  vs_jsonw_member_str(json, "action", vs_str_from(vs_event_kind_action(step->kind)));
  vs_jsonw_member_u64(json, "address", step->address);
  vs_jsonw_member_u64(json, "size_bytes", step->size);
  vs_jsonw_member_u64(json, "stream", step->stream);
  vs_reply_event(json, "event", step->event);
  vs_jsonw_object_end(json);
}

static void write_misses(const vs_call *call, const vs_replay *replay) {
  vs_jsonw *json = call->json;
  const uint64_t top = call->request->top;
  vs_reply_array_begin(json, "misses");
  for (size_t i = 0; i < replay->misses.count && (top == 0 || i < top); i++) {
    const vs_replay_miss *miss = &replay->misses.data[i];
    vs_jsonw_object_begin(json);
    vs_reply_event(json, "request_event", miss->request);
    write_step(call, "expected", miss->has_expected, &miss->expected);
    write_step(call, "got", miss->has_got, &miss->got);
    vs_jsonw_member_str(json, "reason", vs_str_from(vs_replay_reason_word(miss->reason)));
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
  vs_jsonw_member_u64(json, "miss_count", replay->miss_count);
  vs_reply_array_begin(json, "reasons");
  for (int reason = 0; reason < VS_REPLAY_REASONS; reason++) {
    if (replay->by_reason[reason] == 0) continue;
    vs_jsonw_object_begin(json);
    vs_jsonw_member_str(json, "reason", vs_str_from(vs_replay_reason_word((vs_replay_reason)reason)));
    vs_jsonw_member_u64(json, "count", replay->by_reason[reason]);
    vs_jsonw_member_str(json, "sentence", vs_str_from(vs_replay_reason_sentence((vs_replay_reason)reason)));
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
}

static void write_check(vs_call *call, const vs_replay_options *options, const vs_replay *replay) {
  vs_jsonw *json = call->json;
  vs_reply_object_begin(json, "check");
  vs_reply_alloc_settings(call, &options->settings);
  vs_jsonw_member_bool(json, "settings_known", options->settings_known);
  vs_reply_matches(call, replay);
  vs_reply_event(json, "first_misplaced_event", replay->first_misplaced);
  vs_jsonw_member_u64(json, "strays", replay->strays);
  vs_jsonw_member_bool(json, "is_cut", replay->is_cut);
  write_misses(call, replay);
  vs_jsonw_object_end(json);
}

/* ---- what would be ------------------------------------------------------------------------------------- */

static void write_run(vs_call *call, const vs_replay_options *options, const vs_replay *replay) {
  vs_jsonw *json = call->json;
  vs_reply_object_begin(json, "run");
  vs_reply_alloc_settings(call, &options->settings);
  vs_reply_u64_or_null(json, "card_bytes", options->card != 0, options->card);
  vs_reply_ran_out(call, replay);
  vs_jsonw_member_u64(json, "avoided_ooms", replay->avoided);
  vs_jsonw_member_bool(json, "is_cut", replay->is_cut);
  vs_reply_event(json, "last_event", replay->last_event);
  vs_reply_peaks(call, replay);
  vs_jsonw_member_u64(json, "requested_peak_bytes", replay->requested_peak);
  vs_jsonw_object_end(json);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static vs_status answer_run(vs_call *call, const vs_replay_cache *replays) {
  const vs_host *host = call->engine->host;
  vs_replay_options options;
  vs_replay replay;
  VS_TRY(vs_replay_options_asked(call, replays, &options));
  VS_TRY(vs_replay_run(host, &replays->plan, &options, &replay));
  write_run(call, &options, &replay);
  vs_replay_deinit(host, &replay);
  return VS_OK;
}

vs_status vs_method_replay(vs_call *call) {
  const vs_replay_cache *replays;
  VS_TRY(vs_cached_check(call, &replays));
  vs_reply_device(call, call->device);
  vs_jsonw_member_u64(call->json, "events", call->device->slice->event_count);
  vs_jsonw_member_u64(call->json, "reserved_peak_bytes", replays->plan.reserved_peak);
  write_check(call, &replays->recorded, &replays->check);
  return answer_run(call, replays);
}
