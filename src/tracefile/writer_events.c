/* Events: short records for those that the model predicts, long ones for the others. */
#include "tracefile/writer_internal.h"

enum { MOST_BYTES = 256 }; /* of an event, with the context that it introduces */

/* ---- context, site, sizes: numbers in this frame ------------------------------------------------------- */

/* The number of a context in this frame. A new one gets a record of its own. */
static uint32_t put_context(vs_tracew *w, uint32_t context) {
  VS_ASSERT(context < w->locals.count);
  vs_local *local = &w->locals.data[context];
  if (local->frame == w->model.frame) return local->number;
  const uint64_t *row = vs_rows_at(&w->contexts, context);
  uint8_t *at = vs_tracew_body(w);
  for (size_t i = 0; i < VS_CONTEXT_WORDS; i++) at = vs_put_varint(at, row[i]);
  vs_tracew_record(w, VS_TRACE_CONTEXT, at);
  *local = (vs_local){.frame = w->model.frame, .number = w->model.contexts++};
  return local->number;
}

/* A weak hash is enough: the map mixes it again. */
static uint64_t hash_of(uint64_t a, uint64_t b) { return a * UINT64_C(0x9fb21c651e98df25) + b; }

static bool is_site(const vs_model *model, uint32_t site, uint32_t stack, uint32_t context) {
  return site < model->sites.count && model->sites.data[site].stack == stack &&
         model->sites.data[site].context == context;
}

/* The number of a site; of a new one the next unused number. */
static uint32_t find_site(const vs_tracew *w, uint32_t expected, uint32_t stack, uint32_t context) {
  const vs_model *model = &w->model;
  if (is_site(model, expected, stack, context)) return expected;
  const uint64_t hash = hash_of(stack, context);
  for (size_t slot = vs_map_find(&w->site_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&w->site_by_hash, slot))
    if (is_site(model, w->site_by_hash.slots[slot].value, stack, context))
      return w->site_by_hash.slots[slot].value;
  return (uint32_t)model->sites.count;
}

/* Writes the site if `is_told`, and makes it the last event's. The definition of a new one follows its number. */
static uint8_t *put_site(vs_tracew *w, uint8_t *at, uint32_t site, bool is_told, uint32_t stack,
                         uint32_t context) {
  if (is_told) at = vs_put_varint(at, site);
  if (site == w->model.sites.count) {
    at = vs_put_varint(vs_put_varint(at, stack), context);
    vs_map_add(&w->site_by_hash, hash_of(stack, context), site);
    vs_model_add_site(&w->model, stack, context);
    w->ready = NULL;
  }
  vs_model_take_site(&w->model, site);
  return at;
}

static bool are_sizes(const vs_model *model, uint32_t sizes, const vs_trace_event *event) {
  return model->sizes.data[sizes].requested == event->size &&
         model->sizes.data[sizes].rounded == event->rounded;
}

static uint32_t find_sizes(const vs_tracew *w, const vs_trace_event *event) {
  const uint64_t hash = hash_of(event->size, event->rounded);
  for (size_t slot = vs_map_find(&w->sizes_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&w->sizes_by_hash, slot))
    if (are_sizes(&w->model, w->sizes_by_hash.slots[slot].value, event))
      return w->sizes_by_hash.slots[slot].value;
  return (uint32_t)w->model.sizes.count;
}

static uint8_t *put_sizes(vs_tracew *w, uint8_t *at, const vs_trace_event *event, uint32_t *sizes) {
  *sizes = find_sizes(w, event);
  at = vs_put_varint(at, *sizes);
  if (*sizes < w->model.sizes.count) return at;
  at = vs_put_varint(at, event->size);
  if (event->rounded == 0) *at++ = VS_ROUNDED_UNKNOWN;
  else if (event->rounded == vs_model_round(event->size)) *at++ = VS_ROUNDED_TO_512;
  else *at++ = VS_ROUNDED_TOLD, at = vs_put_varint(at, event->rounded);
  vs_map_add(&w->sizes_by_hash, hash_of(event->size, event->rounded), *sizes);
  vs_model_add_sizes(&w->model, event->size, event->rounded);
  w->ready = NULL;
  return at;
}

/* ---- parts of a record --------------------------------------------------------------------------------- */

/* Publishes the record by storing its first byte last. */
static void finish(vs_tracew *w, uint8_t first, uint8_t *end) {
  uint8_t *at = w->at;
  VS_ASSERT(end > at && end <= w->limit && *at == 0 && first != 0);
  w->at = end;
  __atomic_signal_fence(__ATOMIC_RELEASE);
  *at = first;
}

/* The time since the last one, which is not later. Returns the bits of the first byte. */
static uint8_t put_later(vs_tracew *w, uint8_t **at, int64_t time_us) {
  const uint64_t later = (uint64_t)time_us - (uint64_t)w->model.time_us;
  VS_ASSERT(time_us >= w->model.time_us);
  w->model.time_us = time_us;
  if (later < VS_EVENT_LATER) return (uint8_t)later;
  *at = vs_put_varint(*at, later);
  return VS_EVENT_LATER;
}

/* Addresses of blocks are multiples of 512: their distance is written in units of 512, doubled; any other one after
 * a 1. */
static uint8_t *put_address(const vs_tracew *w, uint8_t *at, uint64_t address) {
  const uint64_t distance = address - w->model.address;
  if ((distance & 511) != 0) return vs_put_varint(vs_put_varint(at, 1), vs_fold_sign((int64_t)distance));
  return vs_put_varint(at, vs_fold_sign((int64_t)distance / 512) << 1);
}

static vs_placed *placed_at(vs_tracew *w, uint64_t address) {
  return &w->placed[vs_hash_u64(address) >> (64 - VS_PLACED_BITS)];
}

/* ---- short records ------------------------------------------------------------------------------------- */

static bool is_in_order(const vs_tracew *w, const vs_trace_event *event) {
  return event->time_us != VS_TRACE_NO_TIME && event->time_us >= w->model.time_us && !event->no_address;
}

static uint8_t put_place(vs_tracew *w, uint8_t **at, uint32_t sizes, uint64_t address) {
  const vs_model_sizes *row = &w->model.sizes.data[sizes];
  for (uint32_t i = row->freed_count; i-- > 0;) {
    if (row->freed[i] != address) continue;
    const uint32_t back = row->freed_count - 1 - i;
    if (back == 0) return VS_ALLOC_AT_FREED;
    *at = vs_put_varint(*at, back);
    return VS_ALLOC_AT_FREED_ONE;
  }
  if (address == w->model.end) return VS_ALLOC_BEHIND;
  *at = put_address(w, *at, address);
  return VS_ALLOC_AT_DISTANCE;
}

static void put_alloc(vs_tracew *w, const vs_trace_event *event, uint32_t context) {
  vs_model *model = &w->model;
  uint8_t first = VS_EVENT_ALLOCATED, *at = w->at + 1;
  const uint32_t expected = vs_model_expected_site(model),
                 site = find_site(w, expected, event->stack, context);
  const bool is_told = site != expected;
  if (is_told) first |= VS_ALLOC_TELLS_SITE;
  at = put_site(w, at, site, is_told, event->stack, context);
  uint32_t sizes = model->sites.data[site].sizes;
  if (sizes == VS_MODEL_NONE || !are_sizes(model, sizes, event)) {
    first |= VS_ALLOC_TELLS_SIZES;
    at = put_sizes(w, at, event, &sizes);
    model->sites.data[site].sizes = sizes;
  }
  first |= put_place(w, &at, sizes, event->address);
  first |= put_later(w, &at, event->time_us);
  *placed_at(w, event->address) = (vs_placed){.free_site = VS_MODEL_NONE,
                                              .address = event->address,
                                              .frame = model->frame,
                                              .number = model->blocks,
                                              .site = site,
                                              .sizes = sizes};
  vs_model_allocated(model, sizes, event->address);
  finish(w, first, at);
}

/* The number of a block, in the shortest form. *last is that of the block before, and becomes this one. */
static uint8_t put_number(const vs_model *model, uint8_t **at, uint32_t number, uint32_t *last) {
  const uint32_t before = *last;
  VS_ASSERT(number < model->blocks);
  const uint64_t ago = model->blocks - 1 - number;
  const int64_t from_last = (int64_t)number - (int64_t)before;
  *last = number;
  if (before != VS_MODEL_NONE && from_last == 1) return VS_FREE_NEXT;
  const bool is_near = before != VS_MODEL_NONE && vs_fold_sign(from_last) < ago;
  *at = vs_put_varint(*at, is_near ? vs_fold_sign(from_last) : ago);
  return is_near ? VS_FREE_NEAR : VS_FREE_AGO;
}

/* The block: by its number if it was allocated in this frame, else by sizes and address. */
static uint8_t put_block(vs_tracew *w, uint8_t **at, const vs_placed *placed, const vs_trace_event *event,
                         uint32_t *sizes) {
  vs_model *model = &w->model;
  if (placed == NULL) {
    *at = put_sizes(w, *at, event, sizes);
    *at = put_address(w, *at, event->address);
    return VS_FREE_TELLS_BLOCK;
  }
  *sizes = placed->sizes;
  return put_number(model, at, placed->number, &model->freed);
}

/* The block if it was allocated in this frame, else NULL. */
static vs_placed *find_block(vs_tracew *w, const vs_trace_event *event) {
  vs_placed *placed = placed_at(w, event->address);
  const bool is_it = placed->frame == w->model.frame && placed->address == event->address &&
                     are_sizes(&w->model, placed->sizes, event);
  return is_it ? placed : NULL;
}

static void put_free(vs_tracew *w, const vs_trace_event *event, uint32_t context) {
  vs_model *model = &w->model;
  vs_placed *placed = find_block(w, event);
  uint8_t first = VS_EVENT_FREEING, *at = w->at + 1;
  uint32_t site, sizes;
  bool is_told = false;
  if (placed != NULL && is_site(model, placed->site, event->stack, context)) {
    site = placed->site;
    first |= VS_FREE_AT_ALLOCATION;
  } else {
    const uint32_t expected = vs_model_expected_site(model);
    site = find_site(w, expected, event->stack, context);
    is_told = site != expected;
    if (is_told) first |= VS_FREE_TELLS_SITE;
  }
  at = put_site(w, at, site, is_told, event->stack, context);
  first |= put_block(w, &at, placed, event, &sizes);
  first |= put_later(w, &at, event->time_us);
  vs_model_freed(model, sizes, event->address);
  if (placed != NULL) placed->free_site = site;
  w->freeing = w->at;
  w->freed = *event;
  finish(w, first, at);
}

/* ---- completion of a free ------------------------------------------------------------------------------ */

static bool completes(const vs_tracew *w, const vs_trace_event *event) {
  const vs_trace_event *freed = &w->freed;
  return w->freeing != NULL && event->address == freed->address && event->size == freed->size &&
         event->rounded == freed->rounded && event->stack == freed->stack &&
         event->context == freed->context && event->time_us != VS_TRACE_NO_TIME &&
         event->time_us >= freed->time_us && !event->no_address && w->limit - w->at > VS_VARINT_MOST;
}

static void put_completion(vs_tracew *w, const vs_trace_event *event) {
  if (event->time_us == w->freed.time_us) {
    *w->freeing = (uint8_t)((*w->freeing & ~VS_EVENT_FORM) | VS_EVENT_FREED);
  } else {
    uint8_t *at = vs_put_varint(w->at + 1, (uint64_t)event->time_us - (uint64_t)w->model.time_us);
    w->model.time_us = event->time_us;
    finish(w, VS_EVENT_COMPLETED, at);
  }
  w->freeing = NULL;
}

/* A completion after other events: a record of its own, if the free was a short record of this frame. Its site is
 * that of the call that polled, or that of the free. */
static bool put_late_completion(vs_tracew *w, const vs_trace_event *event, uint32_t context) {
  vs_model *model = &w->model;
  const vs_placed *placed = find_block(w, event);
  if (placed == NULL || placed->free_site == VS_MODEL_NONE) return false;
  const uint32_t expected = vs_model_expected_site(model);
  uint32_t site = placed->free_site;
  uint64_t where = VS_COMPLETED_AT_FREE;
  if (!is_site(model, site, event->stack, context)) {
    site = find_site(w, expected, event->stack, context);
    where = site == expected ? VS_COMPLETED_AT_EXPECTED : VS_COMPLETED_AT_SITE + (uint64_t)site;
  }
  uint8_t first = VS_EVENT_FREED | VS_FREE_COMPLETES, *at = vs_put_varint(w->at + 1, where);
  at = put_site(w, at, site, false, event->stack, context);
  first |= put_number(model, &at, placed->number, &model->completed);
  first |= put_later(w, &at, event->time_us);
  model->address = event->address;
  finish(w, first, at);
  return true;
}

/* ---- long records -------------------------------------------------------------------------------------- */

/* Whether the event's address is a number of bytes. */
static bool is_number(uint8_t kind) { return kind == VS_EVENT_OOM || kind == VS_EVENT_SNAPSHOT; }

static void put_as_it_is(vs_tracew *w, const vs_trace_event *event, uint32_t context) {
  vs_model *model = &w->model;
  uint8_t *at = w->at + 1, *has = at++;
  uint32_t sizes;
  *has = 0;
  at = put_site(w, at, find_site(w, vs_model_expected_site(model), event->stack, context), true, event->stack,
                context);
  at = put_sizes(w, at, event, &sizes);
  if (event->time_us != VS_TRACE_NO_TIME) {
    *has |= VS_AS_IT_IS_TIME;
    at = vs_put_varint(at, vs_fold_sign((int64_t)((uint64_t)event->time_us - (uint64_t)model->time_us)));
    model->time_us = event->time_us;
  }
  if (!event->no_address) {
    *has |= VS_AS_IT_IS_ADDRESS;
    at = is_number(event->kind) ? vs_put_varint(at, event->address) : put_address(w, at, event->address);
    if (!is_number(event->kind)) model->address = event->address;
  }
  if (event->kind == VS_EVENT_UNKNOWN) at = vs_put_varint(at, event->action);
  finish(w, (uint8_t)(VS_EVENT_AS_IT_IS + event->kind), at);
}

/* ---- events -------------------------------------------------------------------------------------------- */

static bool is_sensible(const vs_tracew *w, const vs_trace_event *event) {
  const bool is_known = event->kind < VS_EVENT_UNKNOWN
                            ? event->action == VS_TRACE_NONE
                            : event->kind == VS_EVENT_UNKNOWN && event->action != VS_TRACE_NONE &&
                                  vs_tracew_has_string(w, event->action);
  return is_known && vs_tracew_has_stack(w, event->stack) && event->context < w->locals.count &&
         (!event->no_address || event->address == 0);
}

/* Makes room for everything that an event may define, so that writing it cannot fail. */
static vs_status reserve(vs_tracew *w) {
  VS_TRY(vs_model_reserve(w->host, &w->model));
  VS_TRY(vs_map_reserve(w->host, &w->site_by_hash));
  VS_TRY(vs_map_reserve(w->host, &w->sizes_by_hash));
  VS_TRY(vs_tracew_prepare(w, MOST_BYTES));
  w->ready = w->limit - MOST_BYTES + 1;
  return VS_OK;
}

vs_status vs_tracew_event(vs_tracew *w, const vs_trace_event *event) {
  if (event->kind == VS_EVENT_FREE_COMPLETED && completes(w, event)) {
    put_completion(w, event);
    return VS_OK;
  }
  if (!is_sensible(w, event)) return VS_BAD_ARGUMENT;
  if (w->at >= w->ready) VS_TRY(reserve(w));
  w->freeing = NULL;
  const uint32_t context = put_context(w, event->context);
  const bool is_short = is_in_order(w, event);
  if (event->kind == VS_EVENT_ALLOC && is_short) put_alloc(w, event, context);
  else if (event->kind == VS_EVENT_FREE_REQUESTED && is_short) put_free(w, event, context);
  else if (event->kind != VS_EVENT_FREE_COMPLETED || !is_short || !put_late_completion(w, event, context))
    put_as_it_is(w, event, context);
  w->frame_events += event->kind != VS_EVENT_FREE_COMPLETED;
  return VS_OK;
}
