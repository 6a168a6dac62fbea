/* The tables of one device of the file. Each is built by the first call of its vs_cached_... function; callers
 * borrow it until the next file is loaded. */
#ifndef VS_QUERY_DEVICE_CACHE_H
#define VS_QUERY_DEVICE_CACHE_H

#include "analyze/block_names.h"
#include "analyze/moment_index.h"
#include "analyze/picture.h"
#include "analyze/replay_trail.h"
#include "analyze/report.h"
#include "base/sort.h"
#include "query/colours.h"
#include "query/filter_bitmap.h"
#include "query/request.h"

/* The spans that one filter keeps, and the sum of their bytes over time.
 *
 * Invariant: has_curve_index implies has_spans, and `curve` is that of `spans`; where has_spans, `spans` points at
 * `own` or at moments.spans of the device. */
typedef struct vs_span_cache {
  bool has_spans, has_curve_index;
  VS_VEC(char) filter; /* its text; empty: all rows */
  vs_spans own;        /* meaningful where has_spans */
  const vs_spans *spans;
  vs_curve_index curve;
} vs_span_cache;

enum { VS_DRAWN_KINDS = VS_DRAWN_segments + 1 };

/* The failed requests (out-of-memory errors) of one trace. */
typedef struct vs_failures {
  size_t count;
  uint32_t first;  /* event; VS_NO_EVENT if there is none */
  int64_t time_us; /* of the first; VS_NO_TIME if it is unknown */
} vs_failures;

/* What replays of the trace share.
 *
 * Invariant: has_check implies has_plan; has_course implies has_check; the plan borrows the lifetimes of the device. `search` is
 * NULL until one has begun, and then borrows the plan. */
typedef struct vs_replay_cache {
  bool has_plan, has_check, has_course;
  vs_replay_plan plan;
  vs_replay_options recorded;         /* follows the recording, by the rules that reproduce it best */
  const vs_alloc_rules *rules_of_age; /* the oldest rules by which the file can have been written */
  vs_replay check;                    /* a run of `recorded` */
  /* The last replay whose curve was requested: its settings, with is_given, and what it could reserve; 0: unlimited. */
  bool course_is_given;
  VS_VEC(char) course_settings;
  uint64_t course_card;
  vs_replay_trail course;
  vs_replay course_figures;
  struct vs_whatif_answer *search; /* whatif_answer.h */
} vs_replay_cache;

typedef struct vs_device_cache vs_device_cache;
typedef VS_VEC(vs_device_cache) vs_device_caches;

/* Tables that grow with the trace are built once (lifetimes, names, moments, curve indexes, times). Bitmaps and colours
 * are kept for the last two filters, spans for all rows and for the last filter. Nothing is moved or freed before the
 * next file, except the entries that a new filter replaces.
 *
 * Invariant: has_report, has_names and has_moment_index each imply has_lifetimes, and the report and the moments
 * borrow these lifetimes; has_curve_indexes implies has_curves. Where has_failures,
 * failures.first is VS_NO_EVENT exactly if there is none. */
struct vs_device_cache {
  const vs_slice *slice;
  const vs_device_caches *siblings; /* all devices of the file, including this one; NULL for no_device */
  uint64_t reserved;                /* bytes at the end */
  bool has_curves, has_lifetimes, has_report, has_names, has_moment_index, has_curve_indexes, has_times,
      has_segments, has_ranges, has_failures;
  vs_failures failures;
  vs_curves curves;
  vs_lifetimes lifetimes;
  vs_report report; /* borrows the lifetimes */
  vs_block_names names;
  vs_moment_index moments; /* borrows the lifetimes */
  vs_times times;
  vs_curve_index curve_indexes[VS_CURVE_KINDS];
  vs_segment_index segments;
  vs_named_ranges ranges;
  /* (event, row of the mappings that end with it), sorted; built with `moments` */
  VS_VEC(vs_sort_pair) mapping_ends;
  vs_bitmap_cache event_bitmaps, item_bitmaps[VS_DRAWN_KINDS];
  vs_colour_cache colours[VS_DRAWN_KINDS];
  vs_span_cache unfiltered[VS_DRAWN_KINDS], filtered[VS_DRAWN_KINDS];
  vs_replay_cache replays;
};

/* NULL: the file has no memory of that device. */
vs_device_cache *vs_find_device(const vs_device_caches *devices, int32_t device);
/* The device of requests that name none: the GPU with an out-of-memory error, among several the one whose first
 * error has the earliest time; if no GPU has one, the GPU with the highest peak reserved; among equal ones the
 * lowest number. Pinned host memory only if the file has no GPU; NULL if it has no device at all. With several GPUs
 * it costs a pass over the kinds of all events, and one over their curves if no GPU has an error; both are cached. */
vs_device_cache *vs_default_device(const vs_device_caches *devices);

void vs_span_cache_deinit(const vs_host *host, vs_span_cache *cached);

const vs_failures *vs_cached_failures(vs_device_cache *device);
const vs_curves *vs_cached_curves(vs_device_cache *device);
/* first_us and last_us are VS_NO_TIME where no event has a time. */
VS_MUST_CHECK vs_status vs_cached_times(const vs_host *host, vs_device_cache *device, const vs_times **out);
VS_MUST_CHECK vs_status vs_cached_lifetimes(const vs_host *host, vs_device_cache *device,
                                            const vs_lifetimes **out);
VS_MUST_CHECK vs_status vs_cached_names(const vs_host *host, vs_device_cache *device,
                                        const vs_block_names **out);
VS_MUST_CHECK vs_status vs_cached_moments(const vs_host *host, vs_device_cache *device,
                                          const vs_moment_index **out);
VS_MUST_CHECK vs_status vs_cached_segments(const vs_host *host, vs_device_cache *device,
                                           const vs_segment_index **out);
VS_MUST_CHECK vs_status vs_cached_ranges(const vs_host *host, vs_device_cache *device,
                                         const vs_named_ranges **out);
/* *out points at VS_CURVE_KINDS indexes, by vs_curve_kind. */
VS_MUST_CHECK vs_status vs_cached_curve_indexes(const vs_host *host, vs_device_cache *device,
                                                const vs_curve_index **out);
VS_MUST_CHECK vs_status vs_cached_report(const vs_host *host, vs_device_cache *device, vs_report **out);
/* The row of the mappings that a segment event begins or ends, the first of several; VS_NO_ROW if there is none.
 * Requires has_moment_index. */
uint32_t vs_mapping_of_event(const vs_device_cache *device, uint32_t event);

/* Fails: VS_NOT_FOUND  the trace has no such event, no times, no OOM; `error` says which */
VS_MUST_CHECK vs_status vs_find_moment(const vs_host *host, vs_device_cache *device, vs_when when,
                                       vs_moment *out, vs_error *error);

/* The first and the last moment of the steps that `when` (VS_WHEN_STEPS) names. Fails: VS_NOT_FOUND  there are no steps, or not so many */
VS_MUST_CHECK vs_status vs_find_steps(const vs_host *host, vs_device_cache *device, vs_when when,
                                      vs_moment *first, vs_moment *last, vs_error *error);

/* Executes the invariants of the cache and of its tables; NULL if they hold, else the sentence that does not. */
const char *vs_device_cache_check(const vs_device_cache *device);

#endif
