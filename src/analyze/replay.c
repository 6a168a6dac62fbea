#include "analyze/replay_course.h"

#include "device/sim/own_memory.h"

/* Sums of sizes stay below this: what a file claims must not overflow. */
#define MOST_VOLUME (UINT64_C(1) << 61)

/* A run stops after this much work, plus MOST_WORK_EACH for each request. Work counts the blocks visited when the cache is
 * emptied, and the unmapped ranges visited when an expandable segment grows. */
enum { MOST_WORK = 1 << 23, MOST_WORK_EACH = 16 };

/* More than a program has: bounds the time that a hostile file can take. */
enum { MOST_STREAMS = 4096 };

static void *resize_noticed(void *ctx, void *old, size_t old_size, size_t new_size) {
  vs_replay_course *r = ctx;
  void *memory = r->host->resize(r->host->ctx, old, old_size, new_size);
  if (memory == NULL && new_size > 0) r->status = VS_NO_MEMORY;
  return memory;
}

/* ---- requests ------------------------------------------------------------------------------------------ */

/* That a private pool had no users left shows only in the release of its segments. */
static vs_status pools_release(vs_replay_course *r) {
  for (uint32_t i = r->device.next; i < r->device.end; i++) {
    const vs_replay_step *step = &r->device.steps[i];
    const vs_pool_id pool = vs_replay_pool(r, step->pool);
    if (step->kind != VS_EVENT_SEGMENT_FREE && step->kind != VS_EVENT_SEGMENT_UNMAP) continue;
    while (!vs_pool_id_is_default(pool) && vs_alloc_pool_users(r->alloc, pool) > 0)
      VS_TRY(vs_alloc_pool_release(r->alloc, pool));
  }
  return VS_OK;
}

static bool accept_all(void *ctx, uint64_t stream) {
  (void)ctx, (void)stream;
  return true;
}

/* Whether a graph may have been captured on the request's stream: then the allocator could not empty its cache for it.
 * The pools (n, 0) are made by captures. The others are of either kind, but the default stream is never captured. */
static bool is_in_capture(const vs_replay_course *r, const vs_replay_request *request) {
  if (request->pool == 0 || request->pool > r->pools.count) return false;
  const vs_pool_id recorded = r->snapshot->pools.data[request->pool - 1];
  const bool is_of_capture = recorded.a != 0 && recorded.b == 0;
  return is_of_capture ||
         (!vs_pool_id_is_default(recorded) && vs_replay_stream(r->snapshot, request->stream) != 0);
}

static void capture_set(vs_replay_course *r, bool on) {
  r->device.is_capturing = on;
  if (on) vs_alloc_capture_begin(r->alloc);
  else vs_alloc_capture_end(r->alloc);
}

/* Frees whose events are done are completed first, as outside of a capture: the recorded moments tell which are. */
static vs_status allocate_in_capture(vs_replay_course *r, uint64_t size, uint64_t stream, uint64_t *address) {
  VS_TRY(vs_alloc_poll(r->alloc, vs_replay_cause(r)));
  capture_set(r, true);
  const vs_status status = vs_alloc_malloc(r->alloc, size, stream, vs_replay_cause(r), address);
  capture_set(r, false);
  return status;
}

static vs_status allocate(vs_replay_course *r, const vs_replay_request *request, uint64_t *address) {
  const uint64_t stream = vs_replay_stream(r->snapshot, request->stream);
  const vs_pool_id pool = vs_replay_pool(r, request->pool);
  if (vs_pool_id_is_default(pool))
    return vs_alloc_malloc(r->alloc, request->size, stream, vs_replay_cause(r), address);
  VS_TRY(vs_replay_pool_need(r, pool));
  VS_TRY(vs_alloc_route_begin(r->alloc, pool, accept_all, NULL));
  const vs_status status = is_in_capture(r, request) ? allocate_in_capture(r, request->size, stream, address)
                                                     : vs_alloc_malloc(r->alloc, request->size, stream,
                                                                       vs_replay_cause(r), address);
  VS_TRY(vs_alloc_route_end(r->alloc, pool, VS_CONTEXT_NONE));
  VS_TRY(vs_alloc_pool_release(r->alloc, pool));
  return status;
}

static void count_place(vs_replay_course *r, const vs_replay_request *request, uint64_t address) {
  vs_replay *out = r->out;
  const uint64_t expected = r->plan->lifetimes->rows.data[request->lifetime].address;
  out->allocs++;
  if (address == expected) {
    out->placed++;
  } else if (out->first_misplaced == VS_NO_EVENT) {
    out->first_misplaced = request->event;
    out->misplaced_at = address;
    out->misplaced_expected = expected;
  }
}

static vs_status run_alloc(vs_replay_course *r, const vs_replay_request *request) {
  uint64_t address;
  if (r->device.next < r->device.end) VS_TRY(pools_release(r));
  const vs_status status = allocate(r, request, &address);
  if (status == VS_DEVICE_MEMORY) {
    if (!r->options->follows) {
      r->out->ran_out = true;
      r->out->ran_out_at = request->event;
      r->out->ran_out_for = request->size;
      return VS_OK;
    }
    address = 0;
  } else if (status != VS_OK) {
    return status;
  }
  r->addresses[request->lifetime] = address;
  if (r->options->follows) count_place(r, request, address);
  return VS_OK;
}

/* A request that failed in the recording. The program continued without the memory, and so does the replay. */
static vs_status run_fail(vs_replay_course *r, const vs_replay_request *request) {
  uint64_t address;
  VS_TRY(pools_release(r));
  const vs_status status = allocate(r, request, &address);
  if (status == VS_DEVICE_MEMORY) {
    if (r->out->refused++ == 0) r->out->refused_at = request->event;
    r->out->refused_last = request->event;
    return VS_OK;
  }
  VS_TRY(status);
  r->out->avoided++;
  return vs_alloc_free(r->alloc, address, vs_replay_cause(r));
}

static vs_status run_free(vs_replay_course *r, const vs_replay_request *request) {
  const uint64_t address = r->addresses[request->lifetime];
  if (address == 0) return VS_OK;
  r->addresses[request->lifetime] = 0;
  if (request->is_prompt) return vs_alloc_free(r->alloc, address, vs_replay_cause(r));
  VS_ASSERT(request->lifetime < r->plan->lifetimes->rows.count);
  const vs_lifetime *life = &r->plan->lifetimes->rows.data[request->lifetime];
  if (life->end == request->event || life->end == request->event + 1)
    return vs_alloc_free(r->alloc, address, vs_replay_cause(r));
  return vs_replay_free_pending(r, address, life->end);
}

/* Empties the whole cache, or that of one private pool if only its segments were released. One that an edit added has no
 * steps, and empties the whole cache, except that the default pool keeps its own during a capture. */
static vs_status run_empty(vs_replay_course *r, const vs_replay_request *request) {
  const vs_replay_device *device = &r->device;
  VS_TRY(pools_release(r));
  vs_pool_id pool = {0, 0};
  if (device->next < device->end) pool = vs_replay_pool(r, device->steps[device->next].pool);
  for (uint32_t i = device->next; i < device->end; i++)
    if (!vs_pool_id_equal(pool, vs_replay_pool(r, device->steps[i].pool))) pool = (vs_pool_id){0, 0};
  const bool is_capturing = is_in_capture(r, request);
  if (is_capturing) capture_set(r, true);
  const vs_status status = vs_alloc_empty_cache(r->alloc, pool, vs_replay_cause(r));
  if (is_capturing) capture_set(r, false);
  return status;
}

static vs_status run_request(vs_replay_course *r, const vs_replay_request *request) {
  switch ((vs_replay_kind)request->kind) {
    case VS_REPLAY_ALLOC: return run_alloc(r, request);
    case VS_REPLAY_FREE: return run_free(r, request);
    case VS_REPLAY_FAIL: return run_fail(r, request);
    case VS_REPLAY_EMPTY: return run_empty(r, request);
  }
  return VS_OK;
}

/* Keeps sums of sizes in 63 bits: no operation adds more to one than the card and a request have. */
static bool is_too_much(vs_replay_course *r, const vs_replay_request *request) {
  const uint64_t bytes = vs_sat_add_u64(r->device.used, vs_min_u64(request->size, MOST_VOLUME));
  r->volume = vs_sat_add_u64(r->volume, bytes);
  return r->volume > MOST_VOLUME || r->device.pages_left == 0 || r->device.work > r->device.most_work;
}

/* Every block may have been looked at where the cache was emptied. */
static void count_work(vs_replay_course *r, const vs_replay_request *request, uint64_t retries) {
  if (request->kind < VS_REPLAY_FAIL && vs_alloc_retries(r->alloc) == retries) return;
  r->device.work += vs_replay_visit_work(r);
}

static vs_status run_one(vs_replay_course *r, const vs_replay_request *request) {
  const uint64_t retries = vs_alloc_retries(r->alloc);
  if (request->is_doubtful && r->options->follows) return VS_OK;
  if (is_too_much(r, request)) {
    r->out->is_cut = true;
    return VS_OK;
  }
  VS_TRY(vs_replay_snapshot_step(r, request));
  vs_replay_steps_begin(r, request);
  const vs_status status = run_request(r, request);
  if (status == VS_DEVICE) {
    r->out->is_cut = true;
    return r->status;
  }
  VS_TRY(status);
  VS_TRY(r->status);
  vs_replay_steps_end(r);
  count_work(r, request, retries);
  r->out->last_event = request->event;
  return vs_replay_trail_step(r, request->event);
}

vs_status vs_replay_course_run(vs_replay_course *r, const vs_replay_request *requests, size_t count) {
  for (size_t i = 0; i < count && !r->out->ran_out && !r->out->is_cut; i++) {
    if (requests[i].event > r->options->until) break;
    VS_TRY(run_one(r, &requests[i]));
  }
  return VS_OK;
}

/* Recorded steps that belong to no request count as missing. */
static vs_status run_all(vs_replay_course *r) {
  const vs_replay_requests *requests =
      r->options->requests != NULL ? r->options->requests : &r->plan->requests;
  VS_TRY(vs_replay_course_run(r, requests->data, requests->count));
  if (r->out->is_cut) return VS_OK;
  VS_TRY(vs_replay_snapshot_rest(r));
  r->now = NULL;
  r->device.end = (uint32_t)r->plan->steps.count;
  vs_replay_steps_end(r);
  return r->status;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* A lower bound of the recorded card's bytes. The reserved address ranges follow from it: if they were larger than the recorded
 * ones, whose size is unknown, they would overlap. */
static uint64_t least_total(const vs_replay_course *r) {
  const uint64_t seen = vs_max_u64(r->plan->reserved_peak, r->plan->widest / 9 * 8);
  return vs_min_u64(vs_max_u64(seen, VS_LARGE_PAGE), VS_REPLAY_ENOUGH);
}

/* Bytes of the card as the allocator sees them: limits and the address ranges of expandable segments follow from them. A card
 * is larger than what the allocator can reserve of it; a range that is too small would be full before its time. */
static uint64_t total_of(const vs_replay_course *r) {
  const vs_replay_options *options = r->options;
  if (options->total != 0) return vs_min_u64(options->total, VS_REPLAY_ENOUGH);
  const uint64_t card = vs_min_u64(options->card, VS_REPLAY_ENOUGH);
  if (options->follows) return card != 0 ? card : least_total(r);
  return card != 0 ? vs_sim_size_with_room(card, r->plan->has_streams) : VS_REPLAY_ENOUGH;
}

/* The bytes that the device can give. A run that follows gets the memory that the recorded device gave. */
static uint64_t capacity_of(const vs_replay_course *r) {
  const bool is_limited = !r->options->follows && r->options->card != 0;
  return is_limited ? vs_min_u64(r->options->card, VS_REPLAY_ENOUGH) : VS_REPLAY_ENOUGH;
}

vs_status vs_replay_course_begin(vs_replay_course *r) {
  const vs_replay_options *options = r->options;
  vs_alloc_settings settings = options->settings;
  if (settings.backend != VS_ALLOC_NATIVE) return VS_UNSUPPORTED;
  r->limit_unknown =
      options->card == 0 && (settings.memory_fraction < 1 || settings.garbage_collection_threshold > 0);
  if (options->card == 0) settings.memory_fraction = 1;
  r->collects = settings.memory_fraction < 1 && settings.garbage_collection_threshold > 0;
  r->device.capacity = capacity_of(r);
  r->device.follows = options->follows;
  r->device.steps = r->plan->steps.data;
  r->device.most_work = MOST_WORK + MOST_WORK_EACH * (uint64_t)r->plan->requests.count;
  const vs_device device = {.ops = &vs_replay_device_ops, .ctx = &r->device, .total_bytes = total_of(r)};
  const vs_observer observer = {.ctx = r,
                                .event = options->follows ? vs_replay_observe : vs_replay_snapshot_observe};
  const bool is_observed = options->follows || options->snapshot != NULL;
  VS_ASSERT(!options->follows || options->snapshot == NULL);
  VS_TRY(vs_alloc_create(&r->noticed, &device, &settings, is_observed ? &observer : NULL, NULL, &r->alloc));
  r->out->is_cut = r->snapshot->streams.count > MOST_STREAMS || r->snapshot->pools.count > MOST_STREAMS;
  if (r->out->is_cut) return VS_OK;
  VS_TRY(vs_replay_pools_name(r));
  VS_TRY(vs_replay_snapshot_begin(r));
  VS_TRY(vs_replay_start_adopt(r, least_total(r)));
  if (!options->follows && r->device.used > r->device.capacity) {
    r->out->ran_out = true;
    r->out->ran_out_for = r->device.used;
  }
  vs_replay_trail_begin(r);
  return r->status;
}

void vs_replay_course_figures(const vs_replay_course *r) {
  vs_replay *out = r->out;
  const vs_alloc_statistics *statistics = vs_alloc_statistics_of(r->alloc);
  const vs_alloc_figures *all = &statistics->part[VS_ALLOC_ALL];
  out->reserved_peak = (uint64_t)all->peak[VS_ALLOC_RESERVED_BYTES];
  out->allocated_peak = (uint64_t)all->peak[VS_ALLOC_ALLOCATED_BYTES];
  out->active_peak = (uint64_t)all->peak[VS_ALLOC_ACTIVE_BYTES];
  out->requested_peak = (uint64_t)all->peak[VS_ALLOC_REQUESTED_BYTES];
  out->segments_peak = (uint64_t)all->peak[VS_ALLOC_SEGMENT];
  out->reserved = (uint64_t)all->current[VS_ALLOC_RESERVED_BYTES];
  out->allocated = (uint64_t)all->current[VS_ALLOC_ALLOCATED_BYTES];
  out->retries = (uint64_t)statistics->num_alloc_retries;
  out->device_allocs = (uint64_t)statistics->num_device_alloc;
  out->device_frees = (uint64_t)statistics->num_device_free;
  out->steps = r->plan->steps.count;
}

static vs_status execute(vs_replay_course *r) {
  VS_TRY(vs_replay_course_begin(r));
  if (!r->out->is_cut) VS_TRY(run_all(r));
  VS_TRY(vs_replay_trail_end(r));
  VS_TRY(vs_replay_snapshot_end(r));
  vs_replay_course_figures(r);
  return VS_OK;
}

vs_status vs_replay_course_init(vs_replay_course *r, const vs_host *host, const vs_host *table_host,
                                const vs_replay_plan *plan, const vs_replay_options *options,
                                vs_replay *out) {
  *out = (vs_replay){.first_misplaced = VS_NO_EVENT,
                     .ran_out_at = VS_NO_EVENT,
                     .refused_at = VS_NO_EVENT,
                     .refused_last = VS_NO_EVENT,
                     .last_event = VS_NO_EVENT};
  *r = (vs_replay_course){.host = host,
                          .table_host = table_host,
                          .plan = plan,
                          .options = options,
                          .snapshot = plan->lifetimes->slice->snapshot,
                          .out = out,
                          .noticed = {.ctx = r, .resize = resize_noticed}};
  VS_TRY(vs_replay_device_init(&r->noticed, &r->device));
  r->address_count = plan->lifetimes->rows.count + options->copies + 1;
  r->addresses = vs_host_alloc(table_host, r->address_count * sizeof *r->addresses);
  if (r->addresses == NULL) return VS_NO_MEMORY;
  memset(r->addresses, 0, r->address_count * sizeof *r->addresses);
  return VS_OK;
}

void vs_replay_course_deinit(vs_replay_course *r) {
  vs_alloc_destroy(r->alloc);
  vs_host_free(r->table_host, r->addresses, r->address_count * sizeof *r->addresses);
  vs_replay_device_deinit(&r->device);
  vs_vec_free(r->host, &r->wait_until);
  vs_vec_free(r->host, &r->pools);
}

vs_status vs_replay_run(const vs_host *host, const vs_replay_plan *plan, const vs_replay_options *options,
                        vs_replay *out) {
  vs_replay_course r;
  vs_status status = vs_replay_course_init(&r, host, host, plan, options, out);
  if (status == VS_OK) status = execute(&r);
  vs_replay_course_deinit(&r);
  if (status != VS_OK) vs_replay_deinit(host, out);
  return status;
}

void vs_replay_deinit(const vs_host *host, vs_replay *replay) { vs_vec_free(host, &replay->misses); }

/* ---- rules of other versions ------------------------------------------------------------------------------------------ */

static bool is_equal(const vs_replay *replay) {
  return replay->miss_count == 0 && replay->placed == replay->allocs;
}

static bool is_better(const vs_replay *replay, const vs_replay *than) {
  if (replay->placed != than->placed) return replay->placed > than->placed;
  return replay->miss_count < than->miss_count;
}

/* Replays by other rules, and takes them over where they reproduce the recording better. */
static vs_status follow_by(const vs_host *host, const vs_replay_plan *plan, const vs_alloc_rules *rules,
                           vs_replay_options *options, vs_replay *out) {
  vs_replay_options trial = *options;
  vs_replay other;
  trial.follows = true;
  trial.settings.rules = rules;
  VS_TRY(vs_replay_run(host, plan, &trial, &other));
  const bool takes_over = is_better(&other, out);
  vs_replay_deinit(host, takes_over ? out : &other);
  if (takes_over) *out = other;
  if (takes_over) options->settings.rules = rules;
  return VS_OK;
}

vs_status vs_replay_follow(const vs_host *host, const vs_replay_plan *plan, vs_replay_options *options,
                           vs_replay *out) {
  uint32_t count;
  const vs_alloc_rules *list = vs_alloc_rules_list(&count), *first = options->settings.rules;
  vs_replay_options trial = *options;
  trial.follows = true;
  VS_TRY(vs_replay_run(host, plan, &trial, out));
  vs_status status = VS_OK;
  const vs_alloc_rules *rules = vs_alloc_rules_newer(first);
  for (; status == VS_OK && rules != NULL && !is_equal(out); rules = vs_alloc_rules_newer(rules))
    status = follow_by(host, plan, rules, options, out);
  for (rules = first + 1; status == VS_OK && rules < list + count && !is_equal(out); rules++)
    status = follow_by(host, plan, rules, options, out);
  if (status != VS_OK) vs_replay_deinit(host, out);
  return status;
}
