/* The units as NVML lists them, converted to vs_devices_info. */
#include "base/sized.h"
#include "devices/state.h"

static bool ends(const char *text, vs_str with) {
  const size_t size = strlen(text);
  return size >= with.size && memcmp(text + size - with.size, with.data, with.size) == 0;
}

static uint32_t or_none(int32_t number) { return number < 0 ? VS_DEVICES_NONE : (uint32_t)number; }

static void describe(vs_devices_info *info, const vs_telemetry_unit *unit) {
  *info =
      (vs_devices_info){.pci_domain = unit->pci_domain,
                        .pci_bus = unit->pci_bus,
                        .pci_device = unit->pci_device,
                        .pci_function = unit->pci_function,
                        .index = unit->index,
                        .is_mig = unit->is_mig,
                        .parent = unit->is_mig ? or_none(unit->parent) : VS_DEVICES_NONE,
                        .mig_index = unit->is_mig ? or_none(unit->mig_slot) : VS_DEVICES_NONE,
                        .gpu_instance = unit->is_mig ? or_none(unit->gpu_instance) : VS_DEVICES_NONE,
                        .compute_instance = unit->is_mig ? or_none(unit->compute_instance) : VS_DEVICES_NONE,
                        .is_simulated = ends(unit->name, VS_STR("(simulated)")),
                        .total_bytes = unit->total_bytes.value};
  vs_format(info->name, sizeof info->name, "%s", unit->name);
  vs_format(info->uuid, sizeof info->uuid, "%s", unit->uuid);
  vs_format(info->bus_id, sizeof info->bus_id, "%s", unit->bus_id);
  vs_format(info->serial, sizeof info->serial, "%s", unit->serial);
}

/* A card whose memory NVML does not support uses the machine's memory. The name of the card is not used for this, because
 * new cards of this kind have new names. */
static bool is_unified(const vs_telemetry_unit *unit) {
  return !unit->is_mig && unit->total_bytes.reason == VS_REASON_NOT_SUPPORTED;
}

static bool is_divided(const vs_devices *devices, uint32_t card) {
  const vs_metric mode = devices->telemetry.ops->metric(devices->telemetry.ctx, card, VS_METRIC_ID_MIG_MODE);
  if (vs_metric_is_known(mode)) return mode.value == 1;
  for (size_t i = card + 1; i < devices->units.count; i++)
    if (devices->units.data[i].parent == card) return true;
  return false;
}

vs_status vs_devices__list(vs_devices *devices) {
  const vs_telemetry_ops *ops = devices->telemetry.ops;
  void *ctx = devices->telemetry.ctx;
  const uint32_t count = ops->count(ctx);
  const size_t answers = (size_t)count * VS_METRIC_ID_COUNT;
  devices->units.count = 0;
  devices->answers.count = 0;
  VS_TRY(vs_vec_reserve(devices->host, &devices->units, count));
  VS_TRY(vs_vec_reserve(devices->host, &devices->answers, answers));
  if (answers != 0) memset(devices->answers.data, 0, answers * sizeof *devices->answers.data);
  devices->answers.count = answers;
  for (uint32_t i = 0; i < count; i++) {
    const vs_telemetry_unit *unit = ops->unit(ctx, i);
    VS_ASSERT(unit != NULL && (!unit->is_mig || (unit->parent >= 0 && (uint32_t)unit->parent < i)));
    describe(&devices->units.data[i], unit);
    devices->units.data[i].is_unified = is_unified(unit);
    devices->units.data[i].is_numa = vs_metric_is_known(ops->metric(ctx, i, VS_METRIC_ID_NUMA_NODE));
  }
  devices->units.count = count;
  VS_ASSERT(devices->answers.count == (size_t)count * VS_METRIC_ID_COUNT);
  for (uint32_t i = 0; i < count; i++)
    if (!devices->units.data[i].is_mig) devices->units.data[i].is_divided = is_divided(devices, i);
  return VS_OK;
}

uint32_t vs_devices_count(const vs_devices *devices) { return (uint32_t)devices->units.count; }

bool vs_devices__needs_cuda(const vs_devices *devices) {
  for (size_t i = 0; i < devices->units.count; i++)
    if (devices->units.data[i].cuda_index.reason == VS_REASON_NOT_SAMPLED) return true;
  return false;
}

vs_status vs_devices_info_of_sized(const vs_devices *devices, uint32_t unit, vs_devices_info *info,
                                   size_t size) {
  static const vs_devices_info none = {.parent = VS_DEVICES_NONE};
  const bool is_there = vs_devices_has(devices, unit);
  vs_sized_give(info, size, is_there ? &devices->units.data[unit] : &none, sizeof none);
  return is_there ? VS_OK : VS_BAD_ARGUMENT;
}
