#include "query/replays.h"
#include "analyze/whatif.h"
#include "query/whatif_answer.h"

/* ---- the recording ------------------------------------------------------------------------------------- */

vs_status vs_cached_plan(vs_call *call, const vs_replay_plan **out) {
  const vs_host *host = call->engine->host;
  vs_replay_cache *replays = &call->device->replays;
  const vs_lifetimes *lifetimes;
  if (call->device->slice->device == VS_DEVICE_HOST)
    return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET,
                   "pinned host memory has an allocator of its own: it is not replayed");
  VS_TRY(vs_cached_lifetimes(host, call->device, &lifetimes));
  if (!replays->has_plan) VS_TRY(vs_replay_plan_build(host, lifetimes, &replays->plan));
  replays->has_plan = true;
  *out = &replays->plan;
  return VS_OK;
}

vs_status vs_cached_check(vs_call *call, const vs_replay_cache **out) {
  const vs_host *host = call->engine->host;
  vs_replay_cache *replays = &call->device->replays;
  const vs_replay_plan *plan;
  VS_TRY(vs_cached_plan(call, &plan));
  if (!replays->has_check) {
    vs_replay_options_init(&replays->recorded, call->engine->snapshot);
    replays->rules_of_age = replays->recorded.settings.rules;
    if (replays->recorded.settings.backend != VS_ALLOC_NATIVE)
      return vs_fail(
          call->error, VS_NOT_FOUND, VS_NO_OFFSET,
          "this was recorded with another allocator than PyTorch's caching one: it is not replayed");
    VS_TRY(vs_replay_follow(host, plan, &replays->recorded, &replays->check));
  }
  replays->has_check = true;
  *out = replays;
  return VS_OK;
}

/* ---- settings ------------------------------------------------------------------------------------------ */

bool vs_settings_of_search(vs_str text, const vs_replay_cache *replays, vs_alloc_settings *out) {
  VS_ASSERT(replays->has_check);
  return vs_whatif_search_settings(text, replays->recorded.settings.rules, replays->rules_of_age, out);
}

static bool is_of_search(vs_str text) {
  for (size_t i = 0; i < vs_whatif_search_count(); i++)
    if (vs_str_equal(text, vs_str_from(vs_whatif_search_at(i)))) return true;
  return false;
}

vs_status vs_replay_options_asked(vs_call *call, const vs_replay_cache *replays, vs_replay_options *out) {
  const vs_given_text *given = &call->request->settings;
  const vs_str text = vs_given_text_view(given);
  *out = replays->recorded;
  out->follows = false;
  out->card = call->request->card;
  if (!given->is_given) return VS_OK;
  if (is_of_search(text) && vs_settings_of_search(text, replays, &out->settings)) return VS_OK;
  return vs_replay_settings_parse(text, replays->recorded.settings.rules, &out->settings, call->error);
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

static void drop_course(const vs_host *host, vs_replay_cache *replays) {
  vs_replay_trail_deinit(host, &replays->course);
  if (replays->has_course) vs_replay_deinit(host, &replays->course_figures);
  replays->has_course = false;
  replays->course = (vs_replay_trail){0};
}

static bool is_course(const vs_replay_cache *replays, const vs_request *request) {
  const vs_str kept = {replays->course_settings.data, replays->course_settings.count};
  return replays->has_course && replays->course_is_given == request->settings.is_given &&
         replays->course_card == request->card && vs_str_equal(kept, vs_given_text_view(&request->settings));
}

vs_status vs_cached_course(vs_call *call, const vs_replay_cache **out) {
  const vs_host *host = call->engine->host;
  vs_replay_cache *replays = &call->device->replays;
  const vs_str text = vs_given_text_view(&call->request->settings);
  vs_replay_options options;
  VS_TRY(vs_cached_check(call, out));
  if (is_course(replays, call->request)) return VS_OK;
  VS_TRY(vs_replay_options_asked(call, replays, &options));
  drop_course(host, replays);
  replays->course_settings.count = 0;
  VS_TRY(vs_vec_reserve(host, &replays->course_settings, text.size));
  if (text.size != 0) memcpy(replays->course_settings.data, text.data, text.size);
  replays->course_settings.count = text.size;
  replays->course_is_given = call->request->settings.is_given;
  replays->course_card = call->request->card;
  options.trail = &replays->course;
  VS_TRY(vs_replay_run(host, &replays->plan, &options, &replays->course_figures));
  replays->has_course = true;
  return VS_OK;
}

vs_status vs_state_asked(vs_call *call, vs_moment moment, vs_state *state, vs_replay *figures) {
  const vs_host *host = call->engine->host;
  const vs_replay_cache *replays;
  vs_replay_options options;
  vs_replay_trail trail = {.wants_state = true};
  VS_TRY(vs_cached_check(call, &replays));
  VS_TRY(vs_replay_options_asked(call, replays, &options));
  vs_replay_requests none = {0};
  if (moment == VS_AT_START) options.requests = &none;
  else options.until = (uint32_t)moment;
  options.trail = &trail;
  const vs_status status = vs_replay_run(host, &replays->plan, &options, figures);
  if (status == VS_OK) {
    *state = trail.state;
    trail.wants_state = false;
    state->moment = moment;
  }
  vs_replay_trail_deinit(host, &trail);
  return status;
}

void vs_whatif_answer_deinit(const vs_host *host, vs_whatif_answer *answer) {
  for (size_t i = 0; i < answer->runs.count; i++) vs_replay_deinit(host, &answer->runs.data[i].replay);
  vs_vec_free(host, &answer->runs);
  vs_vec_free(host, &answer->runs_of_step);
  vs_vec_free(host, &answer->ranking);
  vs_replay_deinit(host, &answer->baseline.replay);
  vs_checkpoint_deinit(host, &answer->checkpoint);
  vs_edited_deinit(host, &answer->edited);
}

void vs_replay_cache_deinit(const vs_host *host, vs_replay_cache *replays) {
  if (replays->search != NULL) {
    vs_whatif_answer_deinit(host, replays->search);
    vs_host_free(host, replays->search, sizeof *replays->search);
  }
  drop_course(host, replays);
  vs_vec_free(host, &replays->course_settings);
  if (replays->has_check) vs_replay_deinit(host, &replays->check);
  if (replays->has_plan) vs_replay_plan_deinit(host, &replays->plan);
  *replays = (vs_replay_cache){0};
}
