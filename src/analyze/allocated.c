#include "analyze/allocated.h"
#include "analyze/rankset.h"
#include "analyze/replay.h"
#include "base/sort.h"

/* The last block that began at an address. */
typedef struct place {
  uint64_t end;      /* of its rounded size */
  uint64_t reach;    /* of its requested size, of which 0 bytes count as 1, so that they can overlap */
  uint64_t doubt;    /* bytes that it may have beyond its end: of a block that is older than the trace */
  uint32_t row;      /* of lifetimes; VS_NO_ROW: there was none yet */
  uint32_t segments; /* how many addresses of segments are at or below it */
} place;

/* The ranks of the live blocks next to an address; VS_NO_ROW: there is none. */
typedef struct neighbours {
  uint32_t before, after;
} neighbours;

/* The mapping at an address. */
typedef struct segment {
  uint64_t address;
  const vs_mapping *mapping; /* the last one that began there */
  bool is_private;           /* it is of a private pool */
} segment;

/* The last block of a private pool that left bytes free behind it. */
typedef struct remnant {
  uint32_t rank, row; /* row VS_NO_ROW: there is none */
} remnant;

/* Invariant: `live` has the ranks of places whose block is live, `mapped` those of segments that are mapped. A block that is the
 * last one of its place is live until it ends. */
typedef struct measure {
  const vs_host *host;
  const vs_lifetimes *lifetimes;
  const vs_lifetime *rows; /* of lifetimes, as are the ranks */
  const uint32_t *ranks, *row_of_event;
  const uint64_t *addresses; /* by rank */
  const vs_mappings *mappings;
  const vs_snapshot *snapshot;
  vs_allocated *out;
  vs_address_checker *checker; /* NULL: addresses are not checked */
  vs_event_kind ending;        /* the free that ends what the program holds */
  bool is_account, is_without_segments, is_host, has_divisions;
  vs_alloc_settings settings;
  VS_VEC(place) places;     /* by rank */
  VS_VEC(segment) segments; /* by rising address */
  VS_VEC(remnant) remnants; /* two for each pool as rows say it: of small blocks, of large ones */
  vs_rankset live, mapped;
  uint32_t next_mapping;         /* the first row of mappings that did not begin yet */
  uint32_t next_start;           /* the event with which it begins */
  int64_t value;                 /* relative to the start */
  int64_t doubt;                 /* of all places: the true value is up to this much higher */
  bool has_doubts;               /* there was one at the start */
  int64_t most;                  /* highest value + doubt, if has_doubts */
  const vs_moment_range *ranges; /* of which peaks[i] is the peak, relative to the start */
  size_t range_count;
  size_t range; /* the first one that is not over */
  int64_t *peaks;
} measure;

/* ---- segments ------------------------------------------------------------------------------------------ */

static vs_status list_segments(measure *m) {
  const size_t count = m->mappings->rows.count;
  VS_VEC(vs_sort_pair) order = {0};
  vs_status status = vs_vec_reserve(m->host, &order, count);
  if (status == VS_OK) status = vs_vec_reserve(m->host, &m->segments, count);
  for (size_t i = 0; i < count && status == VS_OK; i++)
    order.data[order.count++] = (vs_sort_pair){m->mappings->rows.data[i].address, (uint32_t)i};
  if (status == VS_OK) status = vs_sort_pairs(m->host, order.data, count);
  for (size_t i = 0; i < count && status == VS_OK; i++)
    if (i == 0 || order.data[i - 1].key != order.data[i].key)
      m->segments.data[m->segments.count++] = (segment){.address = order.data[i].key};
  vs_vec_free(m->host, &order);
  return status == VS_OK ? vs_rankset_init(m->host, (uint32_t)m->segments.count, &m->mapped) : status;
}

/* How many segments begin below `address`. */
static uint32_t segments_below(const measure *m, uint64_t address) {
  size_t low = 0, high = m->segments.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (m->segments.data[middle].address < address) low = middle + 1;
    else high = middle;
  }
  return (uint32_t)low;
}

static bool is_private(const measure *m, uint32_t pool) {
  if (pool == 0 || pool > m->snapshot->pools.count) return false;
  const vs_pool_id id = m->snapshot->pools.data[pool - 1];
  return id.a != 0 || id.b != 0;
}

/* Maps the segments that begin with `event`; VS_NO_EVENT: those that were there before. */
static void map_segments(measure *m, uint32_t event) {
  const vs_mapping *rows = m->mappings->rows.data;
  for (; m->next_mapping < m->mappings->rows.count && rows[m->next_mapping].start == event;
       m->next_mapping++) {
    const vs_mapping *mapping = &rows[m->next_mapping];
    const uint32_t rank = segments_below(m, mapping->address);
    VS_ASSERT(m->segments.data[rank].address == mapping->address);
    m->segments.data[rank].mapping = mapping;
    m->segments.data[rank].is_private = is_private(m, mapping->pool);
    vs_rankset_put(&m->mapped, rank);
  }
  m->next_start = m->next_mapping < m->mappings->rows.count ? rows[m->next_mapping].start : VS_NO_EVENT;
}

/* Unmaps the segments in a range that end with `event`. */
static void unmap_segments(measure *m, uint32_t event, uint64_t from, uint64_t to) {
  for (uint32_t rank = segments_below(m, from);
       rank < m->segments.count && m->segments.data[rank].address < to;) {
    if (vs_rankset_has(&m->mapped, rank) && m->segments.data[rank].mapping->end == event)
      vs_rankset_remove(&m->mapped, rank);
    if (!vs_rankset_after(&m->mapped, rank, &rank)) return;
  }
}

/* The mapped segment that contains the address of a place; NULL if none does. */
static inline const segment *segment_of(const measure *m, uint32_t rank, uint64_t address) {
  uint32_t below = m->places.data[rank].segments;
  if (below == 0) return NULL;
  below--;
  if (!vs_rankset_has(&m->mapped, below) && !vs_rankset_before(&m->mapped, below, &below)) return NULL;
  const segment *at = &m->segments.data[below];
  VS_ASSERT(at->address <= address && address == m->addresses[rank]);
  return address - at->address < at->mapping->size ? at : NULL;
}

/* ---- the size of a block --------------------------------------------------------------------------------- */

static inline uint64_t rounded(const measure *m, uint64_t size) {
  if (m->is_account) return size; /* it has the sizes of the blocks */
  if (size > UINT64_C(1) << 62) return size;
  return m->has_divisions ? vs_alloc_settings_round(&m->settings, size) : vs_round_request(size);
}

static inline neighbours neighbours_of(const measure *m, uint32_t rank) {
  neighbours n;
  if (!vs_rankset_before(&m->live, rank, &n.before)) n.before = VS_NO_ROW;
  if (!vs_rankset_after(&m->live, rank, &n.after)) n.after = VS_NO_ROW;
  return n;
}

/* The end of the run of free bytes in front of the next live block. */
static inline uint64_t free_until(const measure *m, neighbours n, const vs_mapping *mapping) {
  const uint64_t end = vs_sat_add_u64(mapping->address, mapping->size);
  return n.after != VS_NO_ROW ? vs_min_u64(end, m->addresses[n.after]) : end;
}

/* The bytes that are left behind a block of `size`, and belong to it if they are not split off. */
static inline uint64_t rest_of(measure *m, uint64_t address, neighbours n, const vs_mapping *mapping,
                               uint64_t size) {
  const uint64_t room = free_until(m, n, mapping) - address;
  if (room < size && !mapping->is_expandable)
    m->out->is_exact = false; /* pages of one block can be several rows */
  return room < size ? 0 : room - size;
}

static inline bool is_split_off(const measure *m, const vs_mapping *mapping, uint64_t size, uint64_t rest) {
  if (m->is_host) return false;
  if (size <= VS_ALLOC_SMALL_SIZE || mapping->is_expandable) return true;
  return size < m->settings.max_split_size && rest > VS_ALLOC_SMALL_SIZE;
}

/* PyTorch puts a block where a free block begins: behind a live one, or at the start of what is mapped. */
static inline bool begins_free(const measure *m, uint64_t address, neighbours n, const vs_mapping *mapping) {
  return address == mapping->address || (n.before != VS_NO_ROW && m->places.data[n.before].end == address);
}

static remnant *remnant_of(measure *m, const vs_mapping *mapping, uint64_t size) {
  return &m->remnants.data[2 * mapping->pool + (size > VS_ALLOC_SMALL_SIZE)];
}

/* Whether a private pool takes a new segment although the bytes that a live block left free were enough: then it was made
 * with no_split, and they are that block's. */
static bool shows_no_split(measure *m, uint32_t rank, const vs_mapping *mapping, uint64_t size,
                           uint32_t event) {
  if (mapping->start == VS_NO_EVENT || mapping->start + 1 != event) return false;
  const remnant *left = remnant_of(m, mapping, size);
  if (left->row == VS_NO_ROW || left->rank == rank || !vs_rankset_has(&m->live, left->rank)) return false;
  const place *at = &m->places.data[left->rank];
  const segment *other = segment_of(m, left->rank, m->addresses[left->rank]);
  if (at->row != left->row || other == NULL || other->mapping->stream != mapping->stream) return false;
  const uint64_t end = free_until(m, neighbours_of(m, left->rank), other->mapping);
  return end >= at->end && end - at->end >= size;
}

/* The rounded size of the block that is allocated at a place. */
static inline uint64_t size_at_alloc(measure *m, uint32_t rank, uint32_t row, neighbours n) {
  const vs_lifetime *life = &m->rows[row];
  const uint64_t size = rounded(m, life->size);
  if (m->is_without_segments) return size;
  const segment *at = segment_of(m, rank, life->address);
  if (at == NULL || !begins_free(m, life->address, n, at->mapping)) m->out->is_exact = false;
  if (at == NULL) return size;
  const vs_mapping *mapping = at->mapping;
  const uint64_t rest = rest_of(m, life->address, n, mapping, size);
  if (at->is_private) {
    if (shows_no_split(m, rank, mapping, size, life->start)) m->out->is_exact = false;
    if (rest != 0) *remnant_of(m, mapping, size) = (remnant){rank, row};
  }
  if (is_split_off(m, mapping, size, rest)) return size;
  if (rest != 0 && m->settings.expandable_segments) m->out->is_exact = false;
  return size + rest;
}

/* The same of a block that is older than the trace. What was next to it at its alloc is unknown, so the free bytes behind
 * it may be its own, of a large request up to 1 MiB of them. */
static uint64_t size_at_start(measure *m, uint32_t rank, uint32_t row) {
  const vs_lifetime *life = &m->rows[row];
  const uint64_t size = rounded(m, life->size);
  if (m->is_without_segments) return size;
  const segment *at = segment_of(m, rank, life->address);
  if (at == NULL) {
    m->out->is_exact = false;
    return size;
  }
  const uint64_t rest = rest_of(m, life->address, neighbours_of(m, rank), at->mapping, size);
  if (size >= m->settings.max_split_size) m->places.data[rank].doubt = rest;
  else if (!is_split_off(m, at->mapping, size, 0))
    m->places.data[rank].doubt = vs_min_u64(rest, VS_ALLOC_SMALL_SIZE);
  return size;
}

/* ---- events ---------------------------------------------------------------------------------------------- */

/* The size in the end state, which knows it best. */
static bool is_at_end(const measure *m, uint32_t row, uint64_t *size) {
  const uint32_t block = m->rows[row].block;
  if (block == VS_NO_ROW) return false;
  *size = m->snapshot->blocks.data[block].size;
  return true;
}

static inline uint64_t reach_of(const vs_lifetime *life) {
  return vs_sat_add_u64(life->address, life->size == 0 ? 1 : life->size);
}

/* Puts a block where it lives until its end. */
static inline void put(measure *m, uint32_t rank, uint32_t row, uint64_t size) {
  const vs_lifetime *life = &m->rows[row];
  place *at = &m->places.data[rank];
  at->end = vs_sat_add_u64(life->address, size);
  at->reach = reach_of(life);
  at->row = row;
  vs_rankset_put(&m->live, rank);
}

static inline uint64_t bytes_of(const measure *m, uint32_t rank, uint32_t row) {
  const place *at = &m->places.data[rank];
  const vs_lifetime *life = &m->rows[row];
  return at->row == row ? at->end - life->address : rounded(m, life->size);
}

static int64_t as_step(uint64_t bytes) { return bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes; }

static inline void rise(measure *m, vs_moment moment, uint64_t bytes) {
  m->value = vs_sat_add_i64(m->value, as_step(bytes));
  if (m->has_doubts) {
    const int64_t most = vs_sat_add_i64(m->value, m->doubt);
    if (most > m->most) m->most = most;
  }
  if (m->value <= m->out->peak) return;
  m->out->peak = m->value;
  m->out->peak_at = moment;
}

/* Whether a live block of another address reaches into the block of this one. */
static inline bool meets_neighbour(const measure *m, const vs_lifetime *life, neighbours n) {
  if (n.before != VS_NO_ROW && m->places.data[n.before].reach > life->address) return true;
  return n.after != VS_NO_ROW && m->addresses[n.after] < reach_of(life);
}

static inline void on_alloc(measure *m, uint32_t event, bool is_placed) {
  const uint32_t row = m->row_of_event[event], rank = m->ranks[row];
  const vs_lifetime *life = &m->rows[row];
  const neighbours n = neighbours_of(m, rank);
  const uint64_t by_rule = size_at_alloc(m, rank, row, n);
  uint64_t size = by_rule;
  VS_ASSERT(life->start == event && life->address == m->addresses[rank]);
  if (m->checker != NULL && is_placed)
    vs_address_check_alloc(m->checker, event, life, meets_neighbour(m, life, n));
  if (is_at_end(m, row, &size) && size != by_rule) m->out->is_exact = false;
  put(m, rank, row, size);
  rise(m, event, m->places.data[rank].end - life->address);
}

/* The program no longer holds the bytes of a block. */
static inline void fall(measure *m, uint32_t rank, uint32_t row) {
  m->value = vs_sat_add_i64(m->value, -as_step(bytes_of(m, rank, row)));
  place *at = &m->places.data[rank];
  if (!m->has_doubts || at->row != row) return;
  m->doubt = vs_sat_add_i64(m->doubt, -as_step(at->doubt));
  at->doubt = 0;
}

static inline void end_block(measure *m, uint32_t rank, uint32_t row) {
  if (m->places.data[rank].row == row) vs_rankset_remove(&m->live, rank);
}

static inline void on_free_requested(measure *m, uint32_t event) {
  const uint32_t row = m->row_of_event[event], rank = m->ranks[row];
  if (m->rows[row].free_requested != event) return; /* a second free of it */
  if (m->ending == VS_EVENT_FREE_REQUESTED) fall(m, rank, row);
  if (m->rows[row].end == event) end_block(m, rank, row);
}

static inline void on_free_completed(measure *m, uint32_t event) {
  const uint32_t row = m->row_of_event[event], rank = m->ranks[row];
  VS_ASSERT(m->rows[row].end == event);
  if (m->ending == VS_EVENT_FREE_COMPLETED) fall(m, rank, row);
  end_block(m, rank, row);
}

/* Whether a live block has bytes in a range. */
static bool is_in_use(const measure *m, uint64_t start, uint64_t end) {
  size_t low = 0, high = m->places.count; /* the addresses before low are below start */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (m->addresses[middle] < start) low = middle + 1;
    else high = middle;
  }
  uint32_t other;
  if (vs_rankset_before(&m->live, (uint32_t)low, &other) && m->places.data[other].reach > start &&
      m->addresses[other] < end)
    return true;
  if (low == m->places.count) return false;
  other = (uint32_t)low;
  if (!vs_rankset_has(&m->live, other) && !vs_rankset_after(&m->live, other, &other)) return false;
  return m->addresses[other] < end;
}

static vs_status on_other(measure *m, uint32_t event, vs_event_kind kind) {
  const vs_slice *slice = m->lifetimes->slice;
  const vs_events *events = &slice->snapshot->events;
  const uint32_t row = vs_slice_row(slice, event);
  const uint64_t start = vs_events_address(events, row),
                 end = vs_sat_add_u64(start, vs_events_size(events, row));
  if (m->checker != NULL && vs_changes_ranges(kind) && vs_event_has_address(events, row))
    VS_TRY(vs_address_check_range(m->checker, event, kind, (vs_range){start, end}, is_in_use(m, start, end)));
  if (kind == VS_EVENT_SEGMENT_FREE || kind == VS_EVENT_SEGMENT_UNMAP) unmap_segments(m, event, start, end);
  if (event == m->next_start) map_segments(m, event);
  return VS_OK;
}

/* Moments come in their order, and so do the ranges. */
static void raise_peak_between(measure *m, vs_moment moment) {
  while (m->range < m->range_count && m->ranges[m->range].last < moment) m->range++;
  if (m->range == m->range_count || m->ranges[m->range].first > moment) return;
  if (m->value > m->peaks[m->range]) m->peaks[m->range] = m->value;
}

static vs_status scan(measure *m) {
  const vs_slice *slice = m->lifetimes->slice;
  const vs_events *events = &slice->snapshot->events;
  const vs_columns_of_slice columns = vs_slice_columns(slice);
  const uint32_t count = slice->event_count;
  for (uint32_t event = 0; event < count; event++) {
    const uint32_t action = vs_action_at(columns, event);
    if (action == VS_EVENT_ALLOC)
      on_alloc(m, event, vs_event_has_address(events, vs_slice_row(slice, event)));
    else if (action == VS_EVENT_FREE_REQUESTED) on_free_requested(m, event);
    else if (action == VS_EVENT_FREE_COMPLETED) on_free_completed(m, event);
    else if (action < VS_EVENT_UNKNOWN) VS_TRY(on_other(m, event, (vs_event_kind)action));
    if (m->range_count != 0) raise_peak_between(m, event);
  }
  VS_ASSERT(m->next_mapping == m->mappings->rows.count || m->is_without_segments);
  return VS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

static vs_status prepare(measure *m) {
  bool is_known;
  m->rows = m->lifetimes->rows.data;
  m->ranks = m->lifetimes->ranks.data;
  m->row_of_event = m->lifetimes->row_of_event.data;
  m->addresses = m->lifetimes->addresses.data;
  m->ending = m->lifetimes->closing.only_completion ? VS_EVENT_FREE_COMPLETED : VS_EVENT_FREE_REQUESTED;
  m->is_account = vs_format_is_account(m->snapshot->format);
  /* Without segments there are no free blocks either: each block has the bytes that the account says. */
  m->is_without_segments = (vs_snapshot_lacks(m->snapshot) & VS_LACKS_SEGMENTS) != 0;
  m->is_host = m->lifetimes->slice->device == VS_DEVICE_HOST;
  vs_replay_settings_of(m->snapshot, &m->settings, &is_known);
  if (m->is_host) m->settings.expandable_segments = false;
  for (int i = 0; i < VS_ALLOC_DIVISIONS; i++) m->has_divisions |= m->settings.roundup_divisions[i] > 1;
  if (!m->is_without_segments) VS_TRY(list_segments(m));
  const size_t count = m->lifetimes->addresses.count;
  uint32_t segments = 0;
  VS_TRY(vs_vec_reserve(m->host, &m->places, count));
  VS_TRY(vs_vec_reserve(m->host, &m->remnants, 2 * (m->snapshot->pools.count + 1)));
  for (size_t rank = 0; rank < count; rank++) {
    while (segments < m->segments.count && m->segments.data[segments].address <= m->addresses[rank])
      segments++;
    m->places.data[m->places.count++] = (place){.row = VS_NO_ROW, .segments = segments};
  }
  while (m->remnants.count < 2 * (m->snapshot->pools.count + 1))
    m->remnants.data[m->remnants.count++] = (remnant){0, VS_NO_ROW};
  return vs_rankset_init(m->host, (uint32_t)count, &m->live);
}

/* The blocks that are older than the trace, all of them before the size of any is judged by what is next to it. Of several
 * at one address the one with the latest end counts. */
static void put_older(measure *m) {
  const vs_lifetime *rows = m->rows;
  for (int round = 0; round < 2 && m->lifetimes->older != 0; round++)
    for (size_t i = 0; i < m->lifetimes->rows.count; i++) {
      if (rows[i].start != VS_NO_EVENT) continue;
      const uint32_t rank = m->ranks[i];
      place *at = &m->places.data[rank];
      if (round == 1 && at->row == (uint32_t)i) {
        uint64_t size;
        if (!is_at_end(m, (uint32_t)i, &size)) size = size_at_start(m, rank, (uint32_t)i);
        put(m, rank, (uint32_t)i, size);
        m->doubt = vs_sat_add_i64(m->doubt, as_step(at->doubt));
        m->has_doubts |= at->doubt != 0;
        m->most = m->doubt;
      }
      if (round == 1 || (at->row != VS_NO_ROW && rows[at->row].end >= rows[i].end)) continue;
      at->row = (uint32_t)i;
      vs_rankset_put(&m->live, rank);
    }
}

/* Bytes of blocks that the program holds at the end. */
static int64_t allocated_at_end(const vs_slice *slice) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < slice->segment_count; i++)
    bytes = vs_sat_add_u64(
        bytes,
        vs_segment_sums(slice->snapshot, &slice->snapshot->segments.data[slice->segments[i]]).allocated);
  return as_step(bytes);
}

static void finish(measure *m) {
  vs_allocated *out = m->out;
  out->end = allocated_at_end(m->lifetimes->slice);
  out->baseline = vs_sat_add_i64(out->end, m->value == INT64_MIN ? INT64_MAX : -m->value);
  if (m->has_doubts && m->most != out->peak) out->is_exact = false;
  out->peak = vs_sat_add_i64(out->peak, out->baseline);
  VS_ASSERT(out->peak >= out->end && out->peak >= out->baseline);
  if (m->lifetimes->closing.at_request || m->lifetimes->closing.only_completion || out->baseline < 0)
    out->is_exact = false;
  if (m->is_account) out->is_exact = true; /* the sizes are those of the file */
}

static vs_status follow(measure *m) {
  m->next_start = VS_NO_EVENT;
  if (!m->is_without_segments) map_segments(m, VS_NO_EVENT);
  put_older(m);
  VS_TRY(scan(m));
  finish(m);
  return VS_OK;
}

static void measure_deinit(measure *m) {
  vs_vec_free(m->host, &m->places);
  vs_vec_free(m->host, &m->segments);
  vs_vec_free(m->host, &m->remnants);
  vs_rankset_deinit(m->host, &m->live);
  vs_rankset_deinit(m->host, &m->mapped);
}

vs_status vs_allocated_measure(const vs_host *host, const vs_lifetimes *lifetimes,
                               const vs_mappings *mappings, vs_address_check *check, vs_allocated *out) {
  vs_address_checker checker;
  *out = (vs_allocated){.peak_at = VS_AT_START, .is_exact = true};
  measure m = {.host = host,
               .lifetimes = lifetimes,
               .mappings = mappings,
               .snapshot = lifetimes->slice->snapshot,
               .out = out,
               .checker = &checker};
  VS_ASSERT(mappings->slice == lifetimes->slice);
  VS_TRY(vs_address_check_begin(host, lifetimes->slice, check, &checker));
  vs_status status = prepare(&m);
  if (status == VS_OK) status = follow(&m);
  measure_deinit(&m);
  vs_address_check_end(&checker);
  return status;
}

vs_status vs_allocated_peaks_between(const vs_host *host, const vs_lifetimes *lifetimes,
                                     const vs_mappings *mappings, const vs_moment_range *ranges, size_t count,
                                     int64_t *peaks) {
  vs_allocated all = {.peak_at = VS_AT_START, .is_exact = true};
  measure m = {.host = host,
               .lifetimes = lifetimes,
               .mappings = mappings,
               .snapshot = lifetimes->slice->snapshot,
               .out = &all,
               .ranges = ranges,
               .range_count = count,
               .peaks = peaks};
  VS_ASSERT(mappings->slice == lifetimes->slice);
  for (size_t i = 0; i < count; i++) {
    VS_ASSERT(ranges[i].first <= ranges[i].last && (i == 0 || ranges[i - 1].last < ranges[i].first));
    peaks[i] = ranges[i].first == VS_AT_START ? 0 : INT64_MIN;
  }
  vs_status status = prepare(&m);
  if (status == VS_OK) status = follow(&m);
  for (size_t i = 0; i < count && status == VS_OK; i++) peaks[i] = vs_sat_add_i64(peaks[i], all.baseline);
  measure_deinit(&m);
  return status;
}
