/* Runs the requests of a recording through vs_alloc, for one device.
 *
 * A run that *follows* the recording checks the allocator's rules under the recorded settings: the device returns the recorded
 * addresses and refuses where the recorded one refused, blocks wait for other streams as long as they waited, and each segment
 * event is compared with the recorded one (kind, size, stream, address). A run that does not follow answers what another
 * setting or card would have done: the device has a capacity and returns the lowest address that fits, in granules of 2 MiB.
 *
 * A plan is made once from a trace and run any number of times. It starts with the segments and blocks that were there before
 * the trace, undone from the end state (state.h), and holds the requests:
 *   ALLOC   an alloc event                        FREE    a free_requested
 *   FAIL    an oom event                          EMPTY   segments released for no request: empty_cache()
 *
 * Segments released before an ALLOC that needed a new one belong to that allocation (the card or a limit refused it, and the
 * allocator released its cache) or to an empty_cache() before it. It was empty_cache() if one of them would have served the
 * request, and the allocation if they have its stack. Otherwise it is doubtful, and counts as empty_cache() if more was reserved
 * at another time. A run that follows treats doubtful releases as the allocation's, since the result is the same there; any
 * other run empties the cache.
 *
 * A free that was completed during a request was done before the allocator looked for a block, or the allocator waited for it
 * because the device had refused memory. The second is assumed where the device did refuse: otherwise the block would have been
 * reused.
 *
 * While a graph is captured the allocator cannot empty its cache for a request. No event says so: requests from a pool that a
 * capture made are of one, and so may be those from any other private pool on a stream that can be captured. They are
 * treated alike, so that no size is found in which a capture fails.
 *
 * Estimated: a block that was allocated before the trace and freed in it shows only its requested size. Its end is the start
 * of the first allocation placed behind it, otherwise the rounded size. Ages of cached blocks start with the trace. */
#ifndef VS_ANALYZE_REPLAY_H
#define VS_ANALYZE_REPLAY_H

#include "alloc/settings.h"
#include "alloc/statistics.h"
#include "analyze/state.h"

/* A segment event of the recording, or of the replay. */
typedef struct vs_replay_step {
  uint64_t address, size;
  uint64_t stream; /* handle */
  uint32_t pool;   /* 0 (not said), or 1 + index into pools */
  uint32_t event;  /* of the trace; VS_NO_EVENT: of the replay only */
  vs_event_kind kind;
} vs_replay_step;

typedef enum vs_replay_kind {
  VS_REPLAY_ALLOC,
  VS_REPLAY_FREE,
  VS_REPLAY_FAIL,
  VS_REPLAY_EMPTY
} vs_replay_kind;

/* 32 bytes: a million of them are read once a run. */
typedef struct vs_replay_request {
  uint64_t size;     /* ALLOC, FAIL: bytes */
  uint32_t event;    /* of the trace; EMPTY: that of its first step */
  uint32_t lifetime; /* ALLOC, FREE: row of lifetimes */
  uint32_t stream;   /* index into streams; EMPTY: of an edit, that of the request behind it; otherwise 0 */
  uint32_t pool;     /* 0, or 1 + index into pools; EMPTY: likewise */
  uint32_t steps;    /* recorded steps up to and with this request's: they end before steps[this] */
  uint8_t kind;      /* vs_replay_kind */
  bool was_refused;  /* ALLOC, FAIL: the device had no memory for it at first, or so it may be */
  bool is_doubtful;  /* EMPTY: the releases may have been the fallbacks of the next request */
  bool is_prompt;    /* FREE: of an edit; the block is reusable at once */
} vs_replay_request;

typedef VS_VEC(vs_replay_request) vs_replay_requests;

/* Refers to the lifetimes. Invariant: requests[i].steps rise; the last one's are <= steps.count (what is
 * behind it belongs to no request); ALLOC and FREE name a row. */
typedef struct vs_replay_plan {
  const vs_lifetimes *lifetimes;
  vs_state start;
  vs_replay_requests requests;
  VS_VEC(vs_replay_step) steps;
  VS_VEC(uint64_t) bases; /* by segment of the start: where its reserve begins; 0: it is not expandable */
  uint64_t reserved_peak; /* bytes, as recorded; the start counts */
  uint64_t
      widest; /* bytes from the first to the last page of the largest range that looks like one expandable reserve */
  uint64_t empties;  /* EMPTY requests */
  uint64_t pendings; /* blocks that waited for other streams */
  bool has_private_pools, knows_pools;
  bool has_streams; /* another stream than the default one has memory */
} vs_replay_plan;

VS_MUST_CHECK vs_status vs_replay_plan_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                             vs_replay_plan *out);
void vs_replay_plan_deinit(const vs_host *host, vs_replay_plan *plan);

/* Executes the invariant; NULL if it holds. */
const char *vs_replay_plan_check(const vs_replay_plan *plan);

/* Whether a step of this kind gives memory; else it takes it back. */
static inline bool vs_replay_gives(vs_event_kind kind) {
  return kind == VS_EVENT_SEGMENT_ALLOC || kind == VS_EVENT_SEGMENT_MAP;
}

/* The handle of a stream. */
static inline uint64_t vs_replay_stream(const vs_snapshot *snapshot, uint32_t stream) {
  return stream < snapshot->streams.count ? snapshot->streams.data[stream] : 0;
}

/* ---- settings ------------------------------------------------------------------------------------------ */

/* The settings of the recorded allocator, from the snapshot's allocator_settings: first its string, then its single values,
 * which were the ones in force; the rules follow from the file's age. *is_known is false where the file has no settings: then
 * they are the defaults. A string that cannot be parsed is ignored. */
void vs_replay_settings_of(const vs_snapshot *snapshot, vs_alloc_settings *settings, bool *is_known);

/* A settings string over the defaults, by `rules` (NULL: the newest) or, where these do not know its keys, by those of the
 * next newer version that does. Fails: VS_BAD_ARGUMENT (`error` says what and where, by the newest rules) */
VS_MUST_CHECK vs_status vs_replay_settings_parse(vs_str text, const vs_alloc_rules *rules,
                                                 vs_alloc_settings *settings, vs_error *error);

/* Puts the settings that are not the defaults into an empty text, as a settings string; nothing where all
 * are. */
void vs_replay_settings_write(const vs_alloc_settings *settings, vs_text *out);

/* ---- running ------------------------------------------------------------------------------------------- */

typedef enum vs_replay_reason {
#define VS_REPLAY_REASON(name, word, sentence) VS_REPLAY_##name,
#include "analyze/replay_reasons.def"
#undef VS_REPLAY_REASON
} vs_replay_reason;

enum {
  VS_REPLAY_REASONS = 0
#define VS_REPLAY_REASON(name, word, sentence) +1
#include "analyze/replay_reasons.def"
#undef VS_REPLAY_REASON
};

const char *vs_replay_reason_word(vs_replay_reason reason);
const char *vs_replay_reason_sentence(vs_replay_reason reason);

/* One difference: a recorded step that the replay did not make, or made otherwise, or one that it made on
 * its own. */
typedef struct vs_replay_miss {
  uint32_t request; /* event of the request it belongs to; VS_NO_EVENT: to none */
  bool has_expected, has_got;
  vs_replay_step expected, got;
  vs_replay_reason reason;
} vs_replay_miss;

enum { VS_REPLAY_MOST_MISSES = 64 };

/* What a run leaves for a picture of it: replay_trail.h. */
typedef struct vs_replay_trail vs_replay_trail;
/* A run as a snapshot: replay_snapshot.h. */
typedef struct vs_replay_snapshot vs_replay_snapshot;

typedef struct vs_replay_options {
  vs_alloc_settings settings;
  bool settings_known; /* they are those of the recording: no doubt is cast on them */
  bool follows;
  /* Bytes that the allocator can reserve; 0: unlimited. A run that follows uses it for limits only; there 0 means unknown. */
  uint64_t card;
  /* Bytes of the card as its driver reports them, of which limits are a fraction; 0: those of a card that has room for `card`
   * (vs_sim_size_with_room), or `card` itself in a run that follows. */
  uint64_t total;
  /* Runs that do not follow: the requests in place of the plan's, as vs_edits_apply made them; NULL: the plan's. */
  const vs_replay_requests *requests;
  uint32_t copies; /* blocks that these name behind the rows of lifetimes */
  /* By request of `requests`: the event of the trace whose stack an ALLOC has, VS_NO_EVENT: unknown. NULL: its own event. */
  const uint32_t *causes;
  /* Runs that do not follow: the event after which the run ends; VS_NO_EVENT: it runs to the end of the trace. */
  uint32_t until;
  /* Runs that do not follow: filled by the run; NULL: nothing is kept. */
  vs_replay_trail *trail;
  vs_replay_snapshot *snapshot; /* likewise; it must have been initialized */
} vs_replay_options;

/* Settings as recorded, following. */
void vs_replay_options_init(vs_replay_options *options, const vs_snapshot *snapshot);

typedef struct vs_replay {
  /* following: recorded steps; of these equal ones and others; steps of the replay that were not recorded */
  uint64_t steps, matched, extra;
  /* following: allocations, and those at the recorded address; the first that is not */
  uint64_t allocs, placed;
  uint32_t first_misplaced; /* event; VS_NO_EVENT: none */
  uint64_t misplaced_at, misplaced_expected;
  VS_VEC(vs_replay_miss) misses; /* the first VS_REPLAY_MOST_MISSES */
  uint64_t miss_count;
  uint64_t by_reason[VS_REPLAY_REASONS];

  /* the run */
  bool ran_out;         /* an allocation that succeeded when recorded failed: it ended there */
  uint32_t ran_out_at;  /* event; VS_NO_EVENT: what was reserved before the trace is more than the card has */
  uint64_t ran_out_for; /* requested bytes; of VS_NO_EVENT: the bytes reserved before the trace */
  uint64_t avoided;     /* failures of the recording that succeeded now */
  uint64_t refused;     /* failures of the recording that failed again */
  uint32_t refused_at, refused_last; /* events of the first and the last of these; VS_NO_EVENT: none */
  uint64_t strays;                   /* segments of the start that could not be taken over */
  bool is_cut;                       /* it would have taken too long; figures up to `last_event` */
  uint32_t last_event;               /* the last request that was run; VS_NO_EVENT: none */

  /* figures: `segments` counts as PyTorch does, expandable ones not at all */
  uint64_t reserved_peak, allocated_peak, active_peak, requested_peak, segments_peak;
  uint64_t reserved, allocated; /* at the end of it */
  uint64_t retries, device_allocs, device_frees;
} vs_replay;

/* Fails: VS_NO_MEMORY, VS_UNSUPPORTED (settings of another back end than the caching allocator) */
VS_MUST_CHECK vs_status vs_replay_run(const vs_host *host, const vs_replay_plan *plan,
                                      const vs_replay_options *options, vs_replay *out);
void vs_replay_deinit(const vs_host *host, vs_replay *replay);

/* Follows the recording under options->settings. Where it does not come out equal, the rules of other versions
 * are tried, as no file names its version: newer ones, then older ones. Those that place the most allocations (of equal ones
 * the first) are left in the settings, and *out is their run. Fails: as vs_replay_run */
VS_MUST_CHECK vs_status vs_replay_follow(const vs_host *host, const vs_replay_plan *plan,
                                         vs_replay_options *options, vs_replay *out);

#endif
