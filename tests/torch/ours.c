/* vs_alloc on a simulated card of its own: the same model as below the peer, in its own node, so that equal
 * calls give equal addresses. */
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/alloc.h"
#include "alloc/async.h"
#include "device/sim/device.h"

static struct {
  vs_sim_machine machine;
  vs_sim sim;
  vs_sim_device card;
  vs_sim_thread thread;
  vs_alloc *alloc;
  vs_async *async; /* in its place with backend:cudaMallocAsync */
  vs_alloc_settings settings;
  parity_contexts contexts;
  uint32_t context;
  uint64_t anchor, next_capture;
  uint32_t current; /* the stream of the last allocation, as the peer has it */
  uint64_t streams[PARITY_STREAMS], hashes[PARITY_STREAMS];
  uint64_t slots[PARITY_SLOTS], marks[PARITY_MARKS], weights[PARITY_WEIGHTS];
  int locks;
  char message[PARITY_MESSAGE];
  struct source {
    vs_alloc_source source;
    uint64_t next, end;
  } sources[PARITY_POOLS];
  struct route {
    int32_t only;
    uint64_t capture;
  } routes[PARITY_POOLS];
  VS_VEC(parity_event) events;
  VS_VEC(parity_row) rows;
} ours;

_Noreturn static void give_up(const char *what, const char *why) {
  fprintf(stderr, "parity: %s: %s\n", what, why);
  exit(3);
}

static void must_sim(vs_sim_error error, const char *what) {
  if (error != VS_SIM_OK) give_up(what, "the simulated device refuses");
}

static void must(vs_status status, const char *what) {
  if (status != VS_OK) give_up(what, vs_status_name(status));
}

static vs_pool_id id_of(const uint64_t *pool) { return (vs_pool_id){pool[0], pool[1]}; }

/* The context that an allocation has, and one that comes with level ALL only. */
static vs_context at_alloc(void) {
  return ours.contexts == PARITY_CONTEXTS_NEVER ? VS_CONTEXT_NONE : ours.context;
}
static vs_context at_all(void) {
  return ours.contexts == PARITY_CONTEXTS_ALL ? ours.context : VS_CONTEXT_NONE;
}

/* ---- answers */

static const char *size_text(char *out, size_t room, uint64_t bytes) {
  const double b = (double)bytes;
  if (bytes <= 1024) snprintf(out, room, "%llu bytes", (unsigned long long)bytes);
  else if (bytes <= 1048576) snprintf(out, room, "%.2f KiB", b / 1024.0);
  else if (bytes <= 1073741824) snprintf(out, room, "%.2f MiB", b / 1048576.0);
  else snprintf(out, room, "%.2f GiB", b / 1073741824.0);
  return out;
}

/* The sentence about this process, as PyTorch makes it of what NVML says. */
static void write_oom(void) {
  char used[64], processes[256];
  size_text(used, sizeof used, ours.machine.processes[ours.sim.slot].use[0].used_bytes);
  snprintf(processes, sizeof processes, "Including non-PyTorch memory, this process has %s memory in use. ",
           used);
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  must(ours.async != NULL
           ? vs_async_oom_write(ours.async, &text)
           : vs_alloc_oom_write(vs_alloc_last_oom(ours.alloc), 0, vs_str_from(processes), &text),
       "the message");
  const vs_str view = vs_text_view(&text);
  snprintf(ours.message, sizeof ours.message, "%.*s", (int)view.size, view.data);
  vs_text_deinit(&text);
}

static parity_result result_of(vs_status status) {
  if (status == VS_OK) return PARITY_DONE;
  if (status == VS_DEVICE_MEMORY) {
    write_oom();
    return PARITY_OOM;
  }
  snprintf(ours.message, sizeof ours.message, "%s", vs_status_name(status));
  return PARITY_REFUSED;
}

static parity_result result_of_sim(vs_sim_error error) {
  if (error == VS_SIM_OK) return PARITY_DONE;
  snprintf(ours.message, sizeof ours.message, "simulated device: %d", (int)error);
  return PARITY_REFUSED;
}

/* ---- what the allocator asks and tells */

static void hear(void *ctx, const vs_event *event) {
  (void)ctx;
  must(vs_vec_reserve(vs_host_default(), &ours.events, 1), "events");
  ours.events.data[ours.events.count++] = (parity_event){.address = event->address,
                                                         .size = event->size,
                                                         .stream = event->stream,
                                                         .pool = {event->pool.a, event->pool.b},
                                                         .kind = event->kind,
                                                         .context = event->context};
}

static bool free_memory(void *ctx) {
  (void)ctx;
  return parity_free_memory(&parity_ours);
}

static void unlock(void *ctx) {
  (void)ctx;
  if (--ours.locks != 0) give_up("the lock", "given back twice");
}
static void lock(void *ctx) {
  (void)ctx;
  if (++ours.locks != 1) give_up("the lock", "taken twice");
}

static uint64_t stream_hash(void *ctx, uint64_t stream) {
  (void)ctx;
  for (int i = 0; i < PARITY_STREAMS; i++)
    if (ours.streams[i] == stream) return ours.hashes[i];
  return stream;
}

static uint64_t current_stream(void *ctx) {
  (void)ctx;
  return ours.streams[ours.current];
}

static uint64_t source_alloc(void *ctx, uint64_t size, uint64_t stream) {
  struct source *source = ctx;
  (void)stream;
  if (size > source->end - source->next) return 0;
  source->next += size;
  return source->next - size;
}

static void source_free(void *ctx, uint64_t address, uint64_t size, uint64_t stream) {
  (void)ctx;
  (void)address;
  (void)size;
  (void)stream;
}

static bool takes(void *ctx, uint64_t stream) {
  const struct route *route = ctx;
  if (route->only >= 0) return ours.streams[route->only] == stream;
  if (route->only == -1) return true;
  vs_sim_capture_info info = {0};
  must_sim(vs_sim_stream_capture_info(&ours.sim, 0, stream, &info), "capture info");
  return info.status == VS_SIM_CAPTURE_ACTIVE && info.id == route->capture;
}

/* ---- beginning */

/* Streams are made in the peer's numbers, whatever else it made on the way. */
static void make_streams(void) {
  uint64_t last = 0;
  for (uint32_t i = 0; i < PARITY_STREAMS; i++) {
    ours.streams[i] = parity_peer.stream(i, &ours.hashes[i]);
    while (ours.streams[i] > last)
      must_sim(vs_sim_stream_create(&ours.sim, 0, VS_SIM_STREAM_NON_BLOCKING, 0, &last), "a stream");
  }
}

static void begin(const parity_start *start) {
  vs_sim_gpu gpus[VS_SIM_MAX_DEVICES];
  uint32_t count = 0, slot = 0;
  vs_error error = {0};
  const vs_host *host = vs_host_default();
  if (vs_sim_gpus_parse(vs_str_from(start->gpu), gpus, VS_SIM_MAX_DEVICES, &count, &error) != VS_OK)
    give_up(start->gpu, "no card");
  must(vs_sim_machine_init(&ours.machine, gpus, count), "the node");
  must_sim(vs_sim_machine_enter(&ours.machine, 1, 1, &slot), "the process");
  must_sim(vs_sim_init(&ours.sim, host, &ours.machine, slot, NULL,
                       start->events_at_sync ? VS_SIM_EVENTS_AT_SYNC : VS_SIM_EVENTS_AT_ONCE),
           "the simulation");
  vs_sim_device_init(&ours.card, &ours.sim, 0);
  ours.thread = (vs_sim_thread){.id = 1};
  ours.locks = 1;
  ours.contexts = start->contexts;
  make_streams();
  for (int i = 0; i < PARITY_MARKS; i++)
    must_sim(vs_sim_event_create(&ours.sim, 0, VS_SIM_EVENT_NO_TIMING, &ours.marks[i]), "an event");
  must_sim(vs_sim_alloc(&ours.sim, 0, 2 << 20, &ours.anchor), "the anchor");
  vs_alloc_settings_init(&ours.settings);
  if (*start->settings != 0 &&
      vs_alloc_settings_parse(&ours.settings, vs_str_from(start->settings), &error) != VS_OK)
    give_up(start->settings, error.text);
  const vs_observer observer = {NULL, hear};
  const vs_alloc_hooks hooks = {NULL, free_memory, unlock, lock, stream_hash, current_stream};
  if (ours.settings.backend == VS_ALLOC_ASYNC)
    must(vs_async_create(host, &ours.card.device, &ours.settings, &observer, &ours.async), "an allocator");
  else
    must(vs_alloc_create(host, &ours.card.device, &ours.settings, &observer, &hooks, &ours.alloc),
         "an allocator");
}

static uint64_t stream(uint32_t which, uint64_t *hash) {
  *hash = ours.hashes[which];
  return ours.streams[which];
}

static void set_context(uint32_t context) { ours.context = context; }

/* ---- allocation */

static parity_result alloc(uint32_t slot, uint64_t size, uint32_t which, uint64_t *address) {
  *address = 0;
  ours.current = which;
  const vs_status status = ours.async != NULL
                               ? vs_async_malloc(ours.async, size, ours.streams[which], at_alloc(), address)
                               : vs_alloc_malloc(ours.alloc, size, ours.streams[which], at_alloc(), address);
  if (status == VS_OK) ours.slots[slot] = *address;
  return result_of(status);
}

static parity_result free_slot(uint32_t slot) {
  if (ours.async != NULL) return result_of(vs_async_free(ours.async, ours.slots[slot], at_all()));
  return result_of(vs_alloc_free(ours.alloc, ours.slots[slot], at_all()));
}

static parity_result record(uint32_t slot, uint32_t which) {
  if (ours.slots[slot] == 0) return PARITY_DONE;
  if (ours.async != NULL)
    return result_of(vs_async_record_stream(ours.async, ours.slots[slot], ours.streams[which]));
  return result_of(vs_alloc_record_stream(ours.alloc, ours.slots[slot], ours.streams[which]));
}

static parity_result base(uint32_t slot, uint64_t *begins, uint64_t *size) {
  return result_of(vs_alloc_base(ours.alloc, ours.slots[slot], begins, size));
}

static parity_result empty(const uint64_t *pool) {
  if (ours.async != NULL) return result_of(vs_async_empty_cache(ours.async, at_all()));
  return result_of(vs_alloc_empty_cache(ours.alloc, id_of(pool), at_all()));
}

static parity_result fraction(double value) {
  return result_of(ours.async != NULL ? vs_async_fraction_set(ours.async, value)
                                      : vs_alloc_fraction_set(ours.alloc, value));
}

static parity_result set_settings(const char *text) {
  vs_error error = {0};
  const vs_status status = vs_alloc_settings_parse(&ours.settings, vs_str_from(text), &error);
  if (status != VS_OK) return result_of(status);
  return result_of(vs_alloc_settings_apply(ours.alloc, &ours.settings));
}

static parity_result stream_class(uint32_t which, const char *name) {
  return result_of(vs_alloc_stream_class(ours.alloc, ours.streams[which], vs_str_from(name)));
}

static void reset_peak(void) {
  if (ours.async != NULL) must(vs_async_reset_peak(ours.async), "peaks");
  else vs_alloc_reset_peak(ours.alloc);
}
static void reset_totals(void) { vs_alloc_reset_totals(ours.alloc); }

/* ---- pools and captures */

static parity_result pool_retain(const uint64_t *pool, uint64_t bytes) {
  struct source *source = &ours.sources[pool[1] % PARITY_POOLS];
  const uint64_t begins = UINT64_C(0x700000000000) + (pool[1] << 40);
  if (bytes != 0) *source = (struct source){{source, source_alloc, source_free}, begins, begins + bytes};
  return result_of(vs_alloc_pool_retain(ours.alloc, id_of(pool), bytes == 0 ? NULL : &source->source));
}

static parity_result pool_release(const uint64_t *pool) {
  return result_of(vs_alloc_pool_release(ours.alloc, id_of(pool)));
}

static parity_result lend(const uint64_t *pool, bool on) {
  return result_of(vs_alloc_pool_use_on_oom(ours.alloc, id_of(pool), on));
}

static parity_result no_split(const uint64_t *pool) {
  return result_of(vs_alloc_pool_no_split(ours.alloc, id_of(pool)));
}

static int64_t users(const uint64_t *pool) { return (int64_t)vs_alloc_pool_users(ours.alloc, id_of(pool)); }

static parity_result route_begin(const uint64_t *pool, int32_t only) {
  struct route *route = &ours.routes[(pool[0] + pool[1]) % PARITY_POOLS];
  *route = (struct route){only, ours.next_capture + 1};
  return result_of(vs_alloc_route_begin(ours.alloc, id_of(pool), takes, route));
}

static parity_result route_end(const uint64_t *pool) {
  return result_of(vs_alloc_route_end(ours.alloc, id_of(pool), at_all()));
}

static parity_result capture_begin(uint32_t which) {
  const parity_result result = result_of_sim(
      vs_sim_capture_begin(&ours.sim, &ours.thread, 0, ours.streams[which], VS_SIM_CAPTURE_RELAXED));
  if (result == PARITY_DONE) {
    ours.next_capture++;
    vs_alloc_capture_begin(ours.alloc);
  }
  return result;
}

static parity_result capture_end(uint32_t which) {
  uint64_t graph = 0;
  const parity_result result =
      result_of_sim(vs_sim_capture_end(&ours.sim, &ours.thread, 0, ours.streams[which], &graph));
  if (graph != 0) must_sim(vs_sim_graph_destroy(&ours.sim, graph), "a graph's end");
  vs_alloc_capture_end(ours.alloc);
  return result;
}

/* ---- what the program does beside */

static parity_result work(uint32_t which) {
  return result_of_sim(vs_sim_op(&ours.sim, 0, ours.streams[which], VS_SIM_NODE_MEMSET));
}

static parity_result mark(uint32_t which, uint32_t on) {
  return result_of_sim(vs_sim_event_record(&ours.sim, 0, ours.marks[which], ours.streams[on], 0));
}

static parity_result wait(uint32_t which, uint32_t on) {
  return result_of_sim(vs_sim_stream_wait_event(&ours.sim, 0, ours.streams[which], ours.marks[on], 0));
}

static parity_result synchronize(int32_t which) {
  return result_of_sim(which < 0 ? vs_sim_device_synchronize(&ours.sim, 0)
                                 : vs_sim_stream_synchronize(&ours.sim, 0, ours.streams[which]));
}

static parity_result weigh(uint32_t which, uint64_t size) {
  return result_of_sim(vs_sim_alloc(&ours.sim, 0, size, &ours.weights[which]));
}
static parity_result unweigh(uint32_t which) {
  return result_of_sim(vs_sim_free(&ours.sim, ours.weights[which], NULL));
}

/* ---- what there is */

static void memory(uint64_t *free_bytes, uint64_t *total_bytes) {
  must_sim(vs_sim_memory_info(&ours.sim, 0, free_bytes, total_bytes), "memory info");
}

static parity_stat stat(vs_alloc_stat from) {
  return (parity_stat){from.current, from.peak, from.allocated, from.freed};
}

/* One key of torch.cuda.memory_stats(), as "allocated_bytes.all.peak"; those of all memory alone, since the others
 * are 0 there. */
static vs_status take_figure(void *ctx, vs_str key, int64_t value) {
  static const char *const names[][4] = {
#define METRIC(text, metric) text ".all." metric
#define VS_ALLOC_GROUP(name, text, is_bytes, words) \
  {METRIC(text, "current"), METRIC(text, "peak"), METRIC(text, "allocated"), METRIC(text, "freed")},
#include "alloc/groups.def"
#undef VS_ALLOC_GROUP
#undef METRIC
  };
  parity_statistics *out = ctx;
  for (int g = 0; g < PARITY_GROUPS; g++) {
    parity_stat *to = &out->group[g][0];
    int64_t *const metrics[] = {&to->current, &to->peak, &to->allocated, &to->freed};
    for (int metric = 0; metric < 4; metric++)
      if (vs_str_equal(key, vs_str_from(names[g][metric]))) *metrics[metric] = value;
  }
  return VS_OK;
}

static void async_statistics(parity_statistics *out) {
  vs_async_figures now;
  *out = (parity_statistics){0};
  must(vs_async_measure(ours.async, &now), "figures");
  must(vs_async_visit(&now, &ours.settings, take_figure, out), "figures");
}

static void statistics(parity_statistics *out) {
  if (ours.async != NULL) {
    async_statistics(out);
    return;
  }
  const vs_alloc_statistics *now = vs_alloc_statistics_of(ours.alloc);
  for (int g = 0; g < PARITY_GROUPS; g++)
    for (int p = 0; p < PARITY_PARTS; p++)
      out->group[g][p] = stat(vs_alloc_statistics_at(now, (vs_alloc_group)g, (vs_alloc_part)p));
  out->oversize[0] = stat(now->oversize_allocations);
  out->oversize[1] = stat(now->oversize_segments);
  const int64_t counters[PARITY_COUNTERS] = {
      now->num_alloc_retries, now->num_ooms,           now->num_sync_all_streams, now->num_device_alloc,
      now->num_device_free,   now->num_oom_rejections, now->max_split_size};
  memcpy(out->counter, counters, sizeof counters);
  const vs_alloc_private *pools = NULL;
  uint64_t count = 0;
  must(vs_alloc_private_pools(ours.alloc, &pools, &count), "private pools");
  out->pool_count = (uint32_t)(count < PARITY_POOLS ? count : PARITY_POOLS);
  for (uint32_t i = 0; i < out->pool_count; i++) {
    out->pool[i] = (parity_private){.pool = {pools[i].id.a, pools[i].id.b}};
    for (int p = 0; p < PARITY_PARTS; p++) out->pool[i].part[p] = stat(pools[i].reserved[p]);
  }
}

static parity_row *new_row(void) {
  must(vs_vec_reserve(vs_host_default(), &ours.rows, 1), "rows");
  return &ours.rows.data[ours.rows.count++];
}

static vs_status see_segment(void *ctx, const vs_alloc_segment_info *segment) {
  (void)ctx;
  *new_row() = (parity_row){.is_segment = true,
                            .address = segment->address,
                            .size = segment->size,
                            .requested = segment->requested,
                            .context = segment->context,
                            .allocated = segment->allocated,
                            .active = segment->active,
                            .stream = segment->stream,
                            .pool = {segment->pool.a, segment->pool.b},
                            .is_small = segment->is_small,
                            .is_expandable = segment->is_expandable,
                            .registration = segment->registration};
  return VS_OK;
}

static vs_status see_block(void *ctx, const vs_alloc_block_info *block) {
  (void)ctx;
  *new_row() = (parity_row){.address = block->address,
                            .size = block->size,
                            .requested = block->requested,
                            .state = block->state,
                            .context = block->context};
  return VS_OK;
}

static parity_result snapshot(const uint64_t *pool, const parity_row **rows, uint64_t *count) {
  const vs_alloc_visitor visitor = {NULL, see_segment, see_block};
  ours.rows.count = 0;
  const parity_result result = result_of(vs_alloc_visit(ours.alloc, id_of(pool), &visitor));
  if (result == PARITY_DONE) vs_alloc_mark_snapshot(ours.alloc, id_of(pool));
  *rows = ours.rows.data;
  *count = ours.rows.count;
  return result;
}

static const char *message(void) { return ours.message; }

static uint64_t events(const parity_event **out) {
  const uint64_t count = ours.events.count;
  ours.events.count = 0;
  *out = ours.events.data;
  return count;
}

static const char *check(void) { return ours.async != NULL ? NULL : vs_alloc_check(ours.alloc); }

const parity_side parity_ours = {
    .name = "vs_alloc",
    .begin = begin,
    .stream = stream,
    .context = set_context,
    .alloc = alloc,
    .free = free_slot,
    .record = record,
    .base = base,
    .empty = empty,
    .fraction = fraction,
    .settings = set_settings,
    .stream_class = stream_class,
    .reset_peak = reset_peak,
    .reset_totals = reset_totals,
    .pool_retain = pool_retain,
    .pool_release = pool_release,
    .lend = lend,
    .no_split = no_split,
    .users = users,
    .route_begin = route_begin,
    .route_end = route_end,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .work = work,
    .mark = mark,
    .wait = wait,
    .synchronize = synchronize,
    .weigh = weigh,
    .unweigh = unweigh,
    .memory = memory,
    .statistics = statistics,
    .snapshot = snapshot,
    .message = message,
    .events = events,
    .check = check,
};
