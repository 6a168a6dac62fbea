/* One device of a snapshot, and the moments of its trace. Every question of this module is about one slice; devices are
 * never mixed.
 *
 * Words of the whole module
 *   slice     one device's trace and segments; pinned host memory (VS_DEVICE_HOST) is a device like the others
 *   event     index in the device's own trace, 0 = oldest; VS_NO_EVENT where there is none
 *   others    the events that are neither an alloc nor a free: the few of segments, failures, snapshots
 *   moment    right after an event; VS_AT_START (-1) is before the first, vs_slice_end() after the last
 *   row       index into a table (snapshot->blocks, lifetimes, ...); VS_NO_ROW where there is none
 * Units: bytes and microseconds throughout. */
#ifndef VS_ANALYZE_SLICE_H
#define VS_ANALYZE_SLICE_H

#include "snapshot/model.h"

#define VS_NO_EVENT UINT32_MAX
#define VS_NO_ROW   UINT32_MAX

typedef int64_t vs_moment;
#define VS_AT_START ((vs_moment)-1)

typedef struct vs_slice {
  const vs_snapshot *snapshot;
  int32_t device;
  uint32_t first_event; /* row of snapshot->events that is event 0 */
  uint32_t event_count;
  uint32_t counts[VS_EVENT_KIND_COUNT + 1]; /* events of each kind; the last: unknown actions */
  const uint32_t *others;                   /* events, rising */
  uint32_t other_count;
  const uint32_t *segments; /* rows of snapshot->segments, in file order */
  uint32_t segment_count;
} vs_slice;

/* The devices that have a segment or an event: rising, VS_DEVICE_HOST last. It refers to the snapshot, as everything
 * built from a slice does, so the snapshot must live longer and stay unchanged.
 * Invariant: the slices' segments tile segment_rows, which contains every row of snapshot->segments once; their others tile
 * `others`. */
typedef struct vs_slices {
  VS_VEC(vs_slice) list;
  VS_VEC(uint32_t) others;
  VS_VEC(uint32_t) segment_rows;
} vs_slices;

VS_MUST_CHECK vs_status vs_slices_build(const vs_host *host, const vs_snapshot *snapshot, vs_slices *out);
void vs_slices_deinit(const vs_host *host, vs_slices *slices);

/* NULL for a device that has neither a segment nor an event. */
const vs_slice *vs_slices_find(const vs_slices *slices, int32_t device);

static inline vs_moment vs_slice_end(const vs_slice *slice) { return (vs_moment)slice->event_count - 1; }

/* The row of snapshot->events of an event. */
static inline uint32_t vs_slice_row(const vs_slice *slice, uint32_t event) {
  VS_ASSERT(event < slice->event_count);
  return slice->first_event + event;
}

/* The last event whose time is at or before `time_us`; VS_AT_START if there is none. Entries without a time are
 * skipped. */
vs_moment vs_slice_moment_at(const vs_slice *slice, int64_t time_us);

/* The time of an event; VS_NO_TIME if it has none or is VS_AT_START. */
int64_t vs_slice_time(const vs_slice *slice, vs_moment moment);

/* The times of all events, VS_NO_TIME where one has none; NULL where no event has one. */
static inline const int64_t *vs_slice_times(const vs_slice *slice) {
  const int64_t *times = slice->snapshot->events.time_us;
  return times == NULL ? NULL : times + slice->first_event;
}

/* Three columns of a slice by event, for scans of the whole trace: with less work for each event than vs_events_kind and
 * its like. NULL where every event has the absent value. */
typedef struct vs_columns_of_slice {
  const uint16_t *actions;
  const uint64_t *addresses, *sizes;
} vs_columns_of_slice;

static inline vs_columns_of_slice vs_slice_columns(const vs_slice *slice) {
  const vs_events *events = &slice->snapshot->events;
  const uint32_t first = slice->first_event;
  return (vs_columns_of_slice){.actions = events->action == NULL ? NULL : events->action + first,
                               .addresses = events->address == NULL ? NULL : events->address + first,
                               .sizes = events->size == NULL ? NULL : events->size + first};
}

/* Below VS_EVENT_UNKNOWN it is the kind of the event. */
static inline uint32_t vs_action_at(vs_columns_of_slice columns, uint32_t event) {
  return columns.actions == NULL ? (uint32_t)VS_EVENT_ALLOC : columns.actions[event];
}
static inline uint64_t vs_address_at(vs_columns_of_slice columns, uint32_t event) {
  return columns.addresses == NULL ? 0 : columns.addresses[event];
}
static inline uint64_t vs_size_at(vs_columns_of_slice columns, uint32_t event) {
  return columns.sizes == NULL ? 0 : columns.sizes[event];
}

/* How a trace records the end of a block. PyTorch can be configured to leave actions out (skip_actions). At most one
 * of the first two is true. */
typedef struct vs_closing {
  bool at_request;      /* frees, but no free_completed at all: a block ends with its free_requested */
  bool only_completion; /* free_completed, but no free_requested: when the program freed it is unknown */
  bool lacks_segments;  /* the file says nothing of segments (VS_LACKS_SEGMENTS) */
} vs_closing;
vs_closing vs_slice_closing(const vs_slice *slice);

/* The segment (row of snapshot->segments) that owns a row of snapshot->blocks. */
uint32_t vs_segment_of_block(const vs_snapshot *snapshot, uint32_t block);

/* The order of pools (0: unknown, or 1 + index into pools) by their pair of numbers, unknown first. */
bool vs_pool_before(const vs_snapshot *snapshot, uint32_t a, uint32_t b);

/* The segments of a slice by address, to find the one that contains an address at the end. */
typedef struct vs_segment_index {
  VS_VEC(uint32_t) rows; /* of snapshot->segments, by rising address */
} vs_segment_index;

VS_MUST_CHECK vs_status vs_segment_index_build(const vs_host *host, const vs_slice *slice,
                                               vs_segment_index *out);
void vs_segment_index_deinit(const vs_host *host, vs_segment_index *index);
/* VS_NO_ROW if none contains it. */
uint32_t vs_segment_index_find(const vs_segment_index *index, const vs_snapshot *snapshot, uint64_t address);

static inline bool vs_event_has_address(const vs_events *events, uint32_t row) {
  return (vs_events_missing(events, row) & VS_EVENT_NO_ADDRESS) == 0;
}

/* The memory metadata that the program had set at an event; VS_STRING_NONE: none, for which PyTorch writes an empty text. */
static inline uint32_t vs_event_metadata(const vs_events *events, uint32_t row) {
  const uint32_t text = vs_events_user_metadata(events, row);
  return text == VS_STRING_EMPTY ? VS_STRING_NONE : text;
}

#endif
