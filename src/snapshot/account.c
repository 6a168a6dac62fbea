#include "snapshot/account.h"
#include "base/check.h"
#include "base/sort.h"

typedef VS_VEC(vs_sort_pair) order;

vs_status vs_account_init(const vs_host *host, vs_account *account) {
  *account = (vs_account){.host = host};
  VS_TRY(vs_snapshot_create(host, &account->s));
  account->s->has = VS_HAS_SEGMENTS | VS_HAS_TRACES;
  account->s->lacks = VS_LACKS_SEGMENTS;
  VS_TRY(vs_vec_reserve(host, &account->s->streams, 1));
  account->s->streams.data[account->s->streams.count++] = 0;
  return VS_OK;
}

void vs_account_deinit(vs_account *account) {
  vs_snapshot_destroy(account->s);
  account->s = NULL;
  vs_vec_free(account->host, &account->entries);
  vs_vec_free(account->host, &account->stated);
}

vs_status vs_account_add(vs_account *account, const vs_account_entry *entry) {
  VS_ASSERT(entry->device >= 0 && entry->device < VS_MAX_DEVICES);
  if (account->entries.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(account->host, &account->entries, 1));
  account->entries.data[account->entries.count++] = *entry;
  return VS_OK;
}

/* ---- the order of the entries ---------------------------------------------------------------------------------- */

/* By device, and within a device by time or as they came: vs_sort_pairs is stable. */
static vs_status sort_entries(const vs_account *a, bool by_time, order *out) {
  const size_t count = a->entries.count;
  VS_TRY(vs_vec_reserve(a->host, out, count));
  for (size_t i = 0; i < count; i++) {
    const uint64_t time =
        (uint64_t)a->entries.data[i].time_ns ^ (UINT64_C(1) << 63); /* signed order as unsigned */
    out->data[out->count++] = (vs_sort_pair){.key = by_time ? time : 0, .value = (uint32_t)i};
  }
  if (by_time) VS_TRY(vs_sort_pairs(a->host, out->data, count));
  for (size_t i = 0; i < count; i++) out->data[i].key = (uint64_t)a->entries.data[out->data[i].value].device;
  return vs_sort_pairs(a->host, out->data, count);
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static int64_t as_us(int64_t time_ns) {
  if (time_ns == VS_NO_TIME) return VS_NO_TIME;
  return time_ns / 1000 - (time_ns % 1000 < 0);
}

static vs_status add_event(vs_account *a, const vs_account_entry *entry) {
  vs_events *events = &a->s->events;
  uint32_t row;
  const bool has_address = entry->kind != VS_EVENT_OOM;
  VS_TRY(vs_events_add(a->host, events, &row));
  VS_TRY(vs_events_set_action(a->host, events, row, entry->kind));
  VS_TRY(vs_events_set_address(a->host, events, row, has_address ? entry->address : 0));
  VS_TRY(vs_events_set_size(a->host, events, row, entry->size));
  VS_TRY(vs_events_set_stream(a->host, events, row, entry->stream));
  VS_TRY(vs_events_set_time_us(a->host, events, row, as_us(entry->time_ns)));
  VS_TRY(vs_events_set_stack(a->host, events, row, entry->stack));
  return vs_events_set_missing(a->host, events, row, has_address ? 0 : VS_EVENT_NO_ADDRESS);
}

static vs_status need_traces(vs_account *a, int32_t device) {
  while ((int32_t)a->s->traces.count <= device) {
    VS_TRY(vs_vec_reserve(a->host, &a->s->traces, 1));
    const vs_trace trace = {.device = (int32_t)a->s->traces.count, .first = a->s->events.count};
    a->s->traces.data[a->s->traces.count++] = trace;
  }
  return VS_OK;
}

/* ---- blocks of the end ----------------------------------------------------------------------------------------- */

static const uint64_t MOST_BLOCKS = UINT32_MAX - 2;

vs_status vs_account_reserve_blocks(vs_account *a, uint64_t count) {
  const uint64_t room = MOST_BLOCKS - a->s->blocks.count, extra = vs_min_u64(count, room);
  if (extra == 0 && count != 0) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(a->host, &a->s->blocks, extra));
  return vs_vec_reserve(a->host, &a->s->segments, extra);
}

vs_status vs_account_block(vs_account *a, const vs_account_entry *entry, uint8_t has) {
  vs_snapshot *s = a->s;
  uint32_t name;
  VS_TRY(vs_account_reserve_blocks(a, 1));
  VS_TRY(need_traces(a, entry->device));
  VS_TRY(
      vs_strings_intern(a->host, &s->strings, vs_str_from(vs_block_state_name(VS_BLOCK_ALLOCATED)), &name));
  s->segments.data[s->segments.count++] = (vs_segment){.address = entry->address,
                                                       .total_size = entry->size,
                                                       .registration_counter = VS_NO_COUNTER,
                                                       .device = entry->device,
                                                       .stream = entry->stream,
                                                       .first_block = (uint32_t)s->blocks.count,
                                                       .block_count = 1};
  s->blocks.data[s->blocks.count++] = (vs_block){.address = entry->address,
                                                 .size = entry->size,
                                                 .requested_size = entry->size,
                                                 .stack = entry->stack,
                                                 .state_name = name,
                                                 .state = VS_BLOCK_ALLOCATED,
                                                 .has = has};
  return VS_OK;
}

/* The entries of one device, order[first .. end), followed from the first to the last. */
typedef struct course {
  vs_account *a;
  const vs_sort_pair *order;
  vs_map open;    /* address -> index into `order` of the allocation that is live there */
  uint64_t older; /* bytes that were freed without having been allocated */
  uint64_t high;  /* the end of the highest block */
  uint64_t low;   /* the lowest address */
} course;

static const vs_account_entry *entry_at(const course *c, size_t at) {
  return &c->a->entries.data[c->order[at].value];
}

static vs_status follow_entry(course *c, size_t at) {
  const vs_account_entry *entry = entry_at(c, at);
  if (entry->kind == VS_EVENT_OOM) return VS_OK;
  c->low = vs_min_u64(c->low, entry->address);
  c->high = vs_max_u64(c->high, vs_sat_add_u64(entry->address, entry->size));
  const size_t slot = vs_map_find(&c->open, entry->address);
  if (entry->kind == VS_EVENT_FREE_REQUESTED) {
    if (slot != VS_MAP_NONE) vs_map_remove(&c->open, slot);
    else c->older = vs_sat_add_u64(c->older, entry->size);
    return VS_OK;
  }
  if (slot != VS_MAP_NONE) {
    c->open.slots[slot].value = (uint32_t)at;
    return VS_OK;
  }
  VS_TRY(vs_map_reserve(c->a->host, &c->open));
  vs_map_add(&c->open, entry->address, (uint32_t)at);
  return VS_OK;
}

/* The live blocks in the order of their allocations. */
static vs_status add_live(course *c, size_t first, size_t end) {
  for (size_t at = first; at < end; at++) {
    const vs_account_entry *entry = entry_at(c, at);
    if (entry->kind != VS_EVENT_ALLOC) continue;
    const size_t slot = vs_map_find(&c->open, entry->address);
    if (slot != VS_MAP_NONE && c->open.slots[slot].value == at)
      VS_TRY(vs_account_block(c->a, entry, VS_BLOCK_HAS_ADDRESS));
  }
  return VS_OK;
}

/* What the stated total has beyond the older blocks that were freed: below all blocks, or above them where there is no room. */
static vs_status add_rest(course *c, int32_t device) {
  const uint64_t stated = (size_t)device < c->a->stated.count ? c->a->stated.data[device] : 0;
  if (stated <= c->older) return VS_OK;
  const uint64_t rest = stated - c->older;
  if (rest > c->low && c->high > UINT64_MAX - rest) return VS_OK;
  const vs_account_entry entry = {.address = rest <= c->low ? c->low - rest : c->high,
                                  .size = rest,
                                  .stack = VS_LIST_NONE,
                                  .device = device,
                                  .kind = VS_EVENT_ALLOC};
  return vs_account_block(c->a, &entry, 0);
}

static vs_status follow(vs_account *a, const order *entries, size_t first, size_t end, int32_t device) {
  course c = {.a = a, .order = entries->data, .low = UINT64_MAX};
  vs_status status = need_traces(a, device);
  for (size_t at = first; at < end && status == VS_OK; at++) status = follow_entry(&c, at);
  for (size_t at = first; at < end && status == VS_OK; at++) status = add_event(a, entry_at(&c, at));
  if (status == VS_OK) a->s->traces.data[device].count = (uint32_t)(end - first);
  if (status == VS_OK) status = add_live(&c, first, end);
  if (status == VS_OK) status = add_rest(&c, device);
  vs_map_deinit(a->host, &c.open);
  return status;
}

vs_status vs_account_finish(vs_account *a, bool by_time, vs_snapshot **out) {
  order entries = {0};
  vs_status status = sort_entries(a, by_time, &entries);
  for (size_t first = 0, end; first < entries.count && status == VS_OK; first = end) {
    const uint64_t device = entries.data[first].key;
    for (end = first; end < entries.count && entries.data[end].key == device;) end++;
    status = follow(a, &entries, first, end, (int32_t)device);
  }
  vs_vec_free(a->host, &entries);
  VS_TRY(status);
  *out = a->s;
  a->s = NULL;
  return VS_OK;
}
