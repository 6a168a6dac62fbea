#include "live/machine.h"
#include "base/text.h"
#include "os/process.h"

/* ---- each function of the driver, under the machine's lock */

#define LOCKED(name, parameters, ...)                                         \
  static vs_device_result locked_##name parameters {                          \
    vs_live_card *card = ctx;                                                 \
    const vs_device *inner = &card->sim.device;                               \
    vs_live_lock_take(&card->machine->lock);                                  \
    const vs_device_result result = inner->ops->name(inner->ctx __VA_ARGS__); \
    vs_live_lock_give(&card->machine->lock);                                  \
    return result;                                                            \
  }
#define WITH(...) , __VA_ARGS__

LOCKED(alloc, (void *ctx, uint64_t size, uint64_t *address), WITH(size, address))
LOCKED(free, (void *ctx, uint64_t address), WITH(address))
LOCKED(memory_info, (void *ctx, uint64_t *free_bytes, uint64_t *total_bytes), WITH(free_bytes, total_bytes))
LOCKED(reserve, (void *ctx, uint64_t size, uint64_t *address), WITH(size, address))
LOCKED(unreserve, (void *ctx, uint64_t address, uint64_t size), WITH(address, size))
LOCKED(create, (void *ctx, uint64_t size, uint64_t *handle), WITH(size, handle))
LOCKED(release, (void *ctx, uint64_t handle), WITH(handle))
LOCKED(map, (void *ctx, uint64_t address, uint64_t size, uint64_t handle), WITH(address, size, handle))
LOCKED(access, (void *ctx, uint64_t address, uint64_t size), WITH(address, size))
LOCKED(unmap, (void *ctx, uint64_t address, uint64_t size), WITH(address, size))
LOCKED(event_create, (void *ctx, uint64_t *event), WITH(event))
LOCKED(event_destroy, (void *ctx, uint64_t event), WITH(event))
LOCKED(event_record, (void *ctx, uint64_t event, uint64_t stream), WITH(event, stream))
LOCKED(event_query, (void *ctx, uint64_t event), WITH(event))
LOCKED(event_synchronize, (void *ctx, uint64_t event), WITH(event))
LOCKED(stream_synchronize, (void *ctx, uint64_t stream), WITH(stream))
LOCKED(capture_info, (void *ctx, uint64_t stream, vs_device_capture *capture), WITH(stream, capture))
LOCKED(needs, (void *ctx, uint64_t graph, uint64_t node, const uint64_t **nodes, uint64_t *count),
       WITH(graph, node, nodes, count))
LOCKED(async_alloc, (void *ctx, uint64_t size, uint64_t stream, uint64_t *address),
       WITH(size, stream, address))
LOCKED(async_free, (void *ctx, uint64_t address, uint64_t stream), WITH(address, stream))
LOCKED(async_trim, (void *ctx, uint64_t keep), WITH(keep))
LOCKED(async_info,
       (void *ctx, uint64_t *used, uint64_t *used_peak, uint64_t *reserved, uint64_t *reserved_peak),
       WITH(used, used_peak, reserved, reserved_peak))

/* The code of the card's last failure. Needs no lock: only the thread that holds the card's lock calls it. */
static int64_t last_code(void *ctx, const char **text) {
  vs_live_card *card = ctx;
  const vs_device *inner = &card->sim.device;
  return inner->ops->last_code(inner->ctx, text);
}

_Static_assert((int)VS_SIM_MAX_DEVICES <= (int)VS_LIVE_CARDS, "a simulated machine fits");

static const vs_device_ops locked_ops = {
    .alloc = locked_alloc,
    .free = locked_free,
    .memory_info = locked_memory_info,
    .reserve = locked_reserve,
    .unreserve = locked_unreserve,
    .create = locked_create,
    .release = locked_release,
    .map = locked_map,
    .access = locked_access,
    .unmap = locked_unmap,
    .event_create = locked_event_create,
    .event_destroy = locked_event_destroy,
    .event_record = locked_event_record,
    .event_query = locked_event_query,
    .event_synchronize = locked_event_synchronize,
    .stream_synchronize = locked_stream_synchronize,
    .capture_info = locked_capture_info,
    .needs = locked_needs,
    .async_alloc = locked_async_alloc,
    .async_free = locked_async_free,
    .async_trim = locked_async_trim,
    .async_info = locked_async_info,
    .last_code = last_code,
};

/* ---- the simulation */

static vs_status init_sim_machine(vs_live_machine *machine, const vs_sim_gpu *gpus, uint32_t count,
                                  uint32_t *slot, vs_error *error) {
  const vs_status status = vs_sim_machine_init(machine->sim_machine, gpus, count);
  if (status != VS_OK)
    return vs_fail(error, status, VS_NO_OFFSET, "these GPUs cannot be simulated: %s", vs_status_text(status));
  if (vs_sim_machine_enter(machine->sim_machine, (uint32_t)vs_process_id(), 1, slot) != VS_SIM_OK)
    return vs_fail(error, VS_LIMIT, VS_NO_OFFSET, "the simulated machine has no room for the process");
  return VS_OK;
}

static vs_status init_sim(vs_live_machine *machine, uint32_t slot, bool done_at_sync, vs_error *error) {
  const vs_sim_event_rule rule = done_at_sync ? VS_SIM_EVENTS_AT_SYNC : VS_SIM_EVENTS_AT_ONCE;
  if (vs_sim_init(&machine->sim, machine->host, machine->sim_machine, slot, NULL, rule) == VS_SIM_OK)
    return VS_OK;
  return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
}

static void init_card(vs_live_machine *machine, uint32_t index) {
  vs_live_card *card = &machine->cards[index];
  card->machine = machine;
  vs_sim_device_init(&card->sim, &machine->sim, index);
  card->device = (vs_device){
      .ops = &locked_ops, .ctx = card, .index = index, .total_bytes = card->sim.device.total_bytes};
  vs_format(card->name, sizeof card->name, "%s", machine->sim_machine->cards[index].name);
}

static vs_status simulate(vs_live_machine *machine, vs_str gpus, bool done_at_sync, vs_error *error) {
  const vs_host *host = machine->host;
  vs_sim_gpu wanted[VS_SIM_MAX_DEVICES];
  uint32_t count = 0, slot = 0;
  VS_TRY(vs_sim_gpus_parse(gpus, wanted, VS_SIM_MAX_DEVICES, &count, error));
  if (count == 0) return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "no GPU is named");
  machine->sim_machine = vs_host_alloc(host, sizeof *machine->sim_machine);
  if (machine->sim_machine == NULL)
    return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
  vs_status status = init_sim_machine(machine, wanted, count, &slot, error);
  if (status == VS_OK) status = init_sim(machine, slot, done_at_sync, error);
  if (status != VS_OK) {
    vs_host_free(host, machine->sim_machine, sizeof *machine->sim_machine);
    return status;
  }
  VS_ASSERT(count <= VS_SIM_MAX_DEVICES);
  machine->count = count;
  for (uint32_t i = 0; i < count; i++) init_card(machine, i);
  return VS_OK;
}

vs_status vs_live_machine_init(vs_live_machine *machine, const vs_host *host, vs_str gpus, bool done_at_sync,
                               vs_error *error) {
  *machine = (vs_live_machine){.host = host};
  return vs_live_machine__is_cuda(gpus) ? vs_live_machine__cuda_init(machine, gpus, error)
                                        : simulate(machine, gpus, done_at_sync, error);
}

void vs_live_machine_deinit(vs_live_machine *machine) {
  if (machine->cuda != NULL) {
    vs_live_machine__cuda_deinit(machine);
    return;
  }
  for (uint32_t i = 0; i < machine->count; i++) vs_sim_device_deinit(&machine->cards[i].sim);
  vs_sim_deinit(&machine->sim);
  vs_host_free(machine->host, machine->sim_machine, sizeof *machine->sim_machine);
}

const char *vs_live_machine_name(const vs_live_machine *machine, uint32_t card) {
  VS_ASSERT(card < machine->count);
  return machine->cards[card].name;
}

vs_status vs_live_machine_stream(vs_live_machine *machine, uint32_t card, uint64_t *stream) {
  VS_ASSERT(card < machine->count);
  if (machine->cuda != NULL) return VS_UNSUPPORTED;
  vs_live_lock_take(&machine->lock);
  const vs_sim_error error = vs_sim_stream_create(&machine->sim, card, VS_SIM_STREAM_NON_BLOCKING, 0, stream);
  vs_live_lock_give(&machine->lock);
  return error == VS_SIM_OK ? VS_OK : VS_NO_MEMORY;
}
