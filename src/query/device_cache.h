/* What is known so far about one device of the file. Each answer is computed by the first call of its vs_cached_... and
 * borrowed from the cache until the next file. */
#ifndef VS_QUERY_DEVICE_CACHE_H
#define VS_QUERY_DEVICE_CACHE_H

#include "analyze/block_names.h"
#include "analyze/moment_index.h"
#include "analyze/picture.h"
#include "analyze/report.h"
#include "base/sort.h"
#include "query/colours.h"
#include "query/filter_bitmap.h"
#include "query/request.h"

/* The spans that one filter keeps, and the sum of their bytes over time.
 *
 * Invariant: `curve` is built only after the spans; `spans` points at `own` or at moments.spans of the device. */
typedef struct vs_span_cache {
  bool has_spans, has_curve_index;
  VS_VEC(char) filter; /* its text; empty: all rows */
  vs_spans own;        /* meaningful where has_spans */
  const vs_spans *spans;
  vs_curve_index curve;
} vs_span_cache;

enum { VS_DRAWN_KINDS = VS_DRAWN_segments + 1 };

/* The requests of one trace that failed. */
typedef struct vs_failures {
  size_t count;
  uint32_t first;  /* event; VS_NO_EVENT: none failed */
  int64_t time_us; /* of the first; VS_NO_TIME */
} vs_failures;

typedef struct vs_device_cache vs_device_cache;
typedef VS_VEC(vs_device_cache) vs_device_caches;

/* Tables that grow with the trace are built once (lifetimes, names, moments, curve indexes, times). Bitmaps and colours are
 * kept for the last two filters, spans for none and for the last filter. Nothing moves or is freed before the next file,
 * except what a new filter evicts. */
struct vs_device_cache {
  const vs_slice *slice;
  const vs_device_caches *siblings; /* all devices of the file, this one among them; NULL: it stands alone */
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
  VS_VEC(vs_sort_pair)
  mapping_ends; /* event -> first row of mappings that ends with it; built with `moments` */
  vs_bitmap_cache event_bitmaps, item_bitmaps[VS_DRAWN_KINDS];
  vs_colour_cache colours[VS_DRAWN_KINDS];
  vs_span_cache unfiltered[VS_DRAWN_KINDS], filtered[VS_DRAWN_KINDS];
};

/* NULL: the file has no memory of that device. */
vs_device_cache *vs_find_device(const vs_device_caches *devices, int32_t device);
/* The rule for requests that name no device: the GPU that ran out of memory, of several the one whose first failure has the
 * earliest time; else the one with the highest peak reserved; of equals the lowest number. Pinned host memory only where there
 * is no GPU; NULL: the file has no device at all. Costs one pass over the kinds of all events where there are several GPUs, and
 * one over their curves where none ran out, both cached. */
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
/* *out points at VS_CURVE_KINDS of them. */
VS_MUST_CHECK vs_status vs_cached_curve_indexes(const vs_host *host, vs_device_cache *device,
                                                const vs_curve_index **out);
VS_MUST_CHECK vs_status vs_cached_report(const vs_host *host, vs_device_cache *device, vs_report **out);
/* The row of mappings that a segment event gave or took, the first of several; VS_NO_ROW. Requires `moments`. */
uint32_t vs_mapping_of_event(const vs_device_cache *device, uint32_t event);

/* Fails: VS_NOT_FOUND  the trace has no such event, no times, no OOM; `error` says which */
VS_MUST_CHECK vs_status vs_find_moment(const vs_host *host, vs_device_cache *device, vs_when when,
                                       vs_moment *out, vs_error *error);

#endif
