/* The numbers that CUDA gives the units: by the rule of visible.h, or from CUDA's driver, whose cards are matched by UUID
 * and then by PCI id. */
#include "base/sized.h"
#include "devices/state.h"
#include "devices/pci.h"
#include "devices/visible.h"

static void set_all(vs_devices *devices, vs_metric number) {
  for (size_t i = 0; i < devices->units.count; i++) devices->units.data[i].cuda_index = number;
}

/* ---- from the driver */

static bool is_same_uuid(const char *a, const char *b) {
  return a[0] != 0 && vs_str_equal(vs_str_from(a), vs_str_from(b));
}

static bool is_same_place(const vs_devices_info *info, const vs_cuda_identity *identity) {
  vs_pci ours, theirs;
  return vs_pci_parse(vs_str_from(info->bus_id), &ours) &&
         vs_pci_parse(vs_str_from(identity->bus_id), &theirs) && vs_pci_fits(&ours, &theirs);
}

/* A MIG device has the PCI id of its card, so it is matched by its UUID only. */
static uint32_t unit_of(const vs_devices *devices, const vs_cuda_identity *identity) {
  const size_t count = devices->units.count;
  for (size_t i = 0; i < count; i++)
    if (is_same_uuid(devices->units.data[i].uuid, identity->uuid)) return (uint32_t)i;
  for (size_t i = 0; i < count && !identity->is_mig; i++)
    if (!devices->units.data[i].is_mig && is_same_place(&devices->units.data[i], identity))
      return (uint32_t)i;
  return VS_DEVICES_NONE;
}

/* Fills by_cuda. New entries are collected behind the old ones, so that a failure leaves the old numbers. */
static vs_status match_cards(vs_devices *devices) {
  const uint32_t count = devices->cuda->count;
  const size_t first = devices->by_cuda.count;
  VS_TRY(vs_vec_reserve(devices->host, &devices->by_cuda, count));
  for (uint32_t i = 0; i < count; i++) {
    vs_cuda_identity identity;
    VS_TRY(vs_cuda_identity_of(devices->cuda, i, &identity));
    const uint32_t unit = unit_of(devices, &identity);
    VS_ASSERT(unit == VS_DEVICES_NONE || unit < devices->units.count);
    devices->by_cuda.data[first + i] = unit;
    if (unit != VS_DEVICES_NONE && (identity.unknown & VS_CUDA_INTEGRATED) == 0)
      devices->units.data[unit].is_unified = identity.is_integrated;
  }
  if (count != 0) memmove(devices->by_cuda.data, devices->by_cuda.data + first, count * sizeof(uint32_t));
  devices->by_cuda.count = count;
  return VS_OK;
}

/* Two of CUDA's cards may match one unit when a driver reports a UUID twice; then the last number counts. */
static vs_status number_by_driver(vs_devices *devices) {
  VS_TRY(match_cards(devices));
  set_all(devices, vs_metric_unknown(VS_REASON_NOT_VISIBLE));
  for (uint32_t i = 0; i < devices->by_cuda.count; i++) {
    const uint32_t unit = devices->by_cuda.data[i];
    if (unit != VS_DEVICES_NONE) devices->units.data[unit].cuda_index = vs_metric_of(i);
  }
  return VS_OK;
}

/* ---- by the variables */

static vs_status number_by_rule(vs_devices *devices) {
  const uint32_t count = vs_devices_count(devices);
  VS_TRY(vs_vec_reserve(devices->host, &devices->by_cuda, count));
  const vs_visible seen = vs_visible_units(devices->units.data, count, devices->options.visible,
                                           devices->options.order, devices->by_cuda.data);
  VS_ASSERT(seen.count <= count && (seen.is_known || seen.count == 0));
  set_all(devices, vs_metric_unknown(seen.is_known ? VS_REASON_NOT_VISIBLE : VS_REASON_NOT_SAMPLED));
  for (uint32_t i = 0; i < seen.count; i++)
    devices->units.data[devices->by_cuda.data[i]].cuda_index = vs_metric_of(i);
  devices->by_cuda.count = seen.count;
  return VS_OK;
}

vs_status vs_devices__number(vs_devices *devices) {
  devices->by_cuda.count = 0;
  return devices->has_cuda_numbers ? number_by_driver(devices) : number_by_rule(devices);
}

/* ---- asking */

static vs_status open_cuda(vs_devices *devices, vs_error *error) {
  if (devices->cuda != NULL) return VS_OK;
  vs_cuda_failure failure;
  const vs_status status = vs_cuda_open(devices->host, NULL, &devices->cuda, &failure, error);
  return status == VS_UNSUPPORTED ? VS_DEVICE : status;
}

vs_status vs_devices_ask_cuda(vs_devices *devices, vs_error *error) {
  if (devices->has_cuda_numbers) return VS_OK;
  VS_TRY(open_cuda(devices, error));
  const vs_status status = number_by_driver(devices);
  devices->has_cuda_numbers = status == VS_OK;
  VS_ASSERT(vs_devices__check(devices));
  return status == VS_OK ? VS_OK : vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
}

/* ---- preloading */

typedef struct vs_gauge_of {
  vs_devices *devices;
  uint32_t unit;
} vs_gauge_of;

static bool used_of(void *ctx, uint64_t *bytes) {
  const vs_gauge_of *of = ctx;
  const vs_metric used = vs_devices_used_fast(of->devices, of->unit);
  *bytes = used.value;
  return vs_metric_is_known(used);
}

static vs_status preload(vs_devices *devices, uint32_t cuda_index, vs_devices_preload_cost *cost,
                         vs_error *error) {
  *cost = (vs_devices_preload_cost){.bytes = 0};
  VS_TRY(vs_devices_ask_cuda(devices, error));
  if (cuda_index >= devices->by_cuda.count)
    return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "CUDA offers %u GPU%s to this process, and no cuda:%u",
                   devices->cuda->count, devices->cuda->count == 1 ? "" : "s", cuda_index);
  VS_ASSERT(devices->has_cuda_numbers && devices->cuda != NULL);
  vs_gauge_of of = {devices, devices->by_cuda.data[cuda_index]};
  const vs_cuda_gauge gauge = {.used = used_of, .ctx = &of};
  vs_cuda_context context; /* not released: it has to live until the process ends */
  VS_TRY(vs_cuda_context_retain(devices->cuda, cuda_index, &gauge, &context, error));
  *cost = (vs_devices_preload_cost){
      .bytes = context.bytes, .us = context.microseconds, .was_there = context.was_there};
  return VS_OK;
}

vs_status vs_devices_preload_sized(vs_devices *devices, uint32_t cuda_index, vs_devices_preload_cost *cost,
                                   size_t size, vs_error *error) {
  vs_devices_preload_cost own;
  const vs_status status = preload(devices, cuda_index, &own, error);
  vs_sized_give(cost, size, &own, sizeof own);
  return status;
}
