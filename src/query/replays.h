/* Replays of the trace of a device. The plan and other parts that several methods need are computed once (device_cache.h). */
#ifndef VS_QUERY_REPLAYS_H
#define VS_QUERY_REPLAYS_H

#include "query/engine.h"

/* The plan, and the recorded settings by the rules that reproduce the recording best; both stay until the next file.
 * Fails: VS_NOT_FOUND  pinned host memory, or recorded with another allocator; `error` says which */
VS_MUST_CHECK vs_status vs_cached_plan(vs_call *call, const vs_replay_plan **out);
VS_MUST_CHECK vs_status vs_cached_check(vs_call *call, const vs_replay_cache **out);

/* Options of a run under the request's "settings" (null: the recorded ones) with "card" bytes. A string of the search of
 * "whatif" means what it means there. Fails: VS_BAD_ARGUMENT  they make no sense; `error` says why */
VS_MUST_CHECK vs_status vs_replay_options_asked(vs_call *call, const vs_replay_cache *replays,
                                                vs_replay_options *out);

/* The settings of a string of the search: by the rules that place the blocks or, where they do not know it, by those of the
 * file's age. A string that neither knows would not help the user of that version of PyTorch: false. */
bool vs_settings_of_search(vs_str text, const vs_replay_cache *replays, vs_alloc_settings *out);

/* The reserved bytes over the trace of a run as asked. Borrowed until another is requested. */
VS_MUST_CHECK vs_status vs_cached_course(vs_call *call, const vs_replay_cache **out);

/* The segments and blocks of a run as asked at a moment, or when it failed before. On success `state` is the caller's. */
VS_MUST_CHECK vs_status vs_state_asked(vs_call *call, vs_moment moment, vs_state *state, vs_replay *figures);

void vs_replay_cache_deinit(const vs_host *host, vs_replay_cache *replays);

#endif
