/* A connection to the driver, the object behind the vs_telemetry of vs_nvml_open. Private to device/nvml. */
#ifndef VS_DEVICE_NVML_CONNECTION_H
#define VS_DEVICE_NVML_CONNECTION_H

#include "base/vec.h"
#include "device/nvml/api.h"

/* A unit and its handles. If it has no handle, told.handle has the reason and the unit is not queried. */
typedef struct vs_nvml_unit {
  vs_telemetry_unit told;
  nvmlDevice_t device; /* its own handle */
  nvmlDevice_t card;   /* its card's handle; different only for a MIG device */
} vs_nvml_unit;

/* The versions of the calls that list processes, from the newest to the oldest; the first one that works is used for the whole
 * connection. The newest one also returns protected memory and is called only if a card has some; other tools use the others. */
typedef enum vs_nvml_rung {
  VS_NVML_DETAIL, /* entries of 32 bytes, with a version */
  VS_NVML_V3,     /* of 24; in drivers 535.43 to 535.86 of 32, which only the entries themselves reveal */
  VS_NVML_V2,     /* of 24 */
  VS_NVML_V1,     /* of 16 */
  VS_NVML_RUNGS
} vs_nvml_rung;

/* NVML's lists of processes, numbered as in the newest call. */
enum { VS_NVML_COMPUTE, VS_NVML_GRAPHICS, VS_NVML_MPS, VS_NVML_KINDS };

/* Invariant: unless is_open there are no units and the library is closed. A MIG device comes behind its card. */
typedef struct vs_nvml {
  const vs_host *host;
  const char *path; /* given by the caller, or NULL; in the bytes behind this struct */
  bool is_open;
  vs_nvml_api api;
  VS_VEC(vs_nvml_unit) units;
  vs_nvml_rung rungs[VS_NVML_KINDS];
  nvmlEventSet_t events; /* of the cards whose XID errors are watched; NULL: none is */
  int cuda;              /* the newest CUDA that the driver supports: 13010 is 13.1; 0: unknown */

  /* The last lists. `entries` has what the driver writes, with space for the largest layout. */
  VS_VEC(nvmlProcessDetail_v1_t) entries;
  VS_VEC(vs_telemetry_process) processes;
  VS_VEC(uint32_t) pids;
  VS_VEC(vs_telemetry_account) accounts;
} vs_nvml;

/* ---- units.c: fills `units`. Fails: VS_NO_MEMORY; VS_DEVICE, with the driver's answer in *code */
VS_MUST_CHECK vs_status vs_nvml_enumerate(vs_nvml *nvml, nvmlReturn_t *code);

/* ---- metrics.c, texts.c, processes.c, accounts.c: the operations of telemetry.h */
void vs_nvml_metrics(void *ctx, uint32_t unit, const vs_metric_id *ids, size_t count, vs_metric *to);
vs_metric vs_nvml_one_metric(void *ctx, uint32_t unit, vs_metric_id id);
void vs_nvml_memory(void *ctx, uint32_t unit, vs_telemetry_memory *memory);
vs_metric vs_nvml_text(void *ctx, uint32_t unit, vs_metric_text_id id, char *text);
vs_metric vs_nvml_driver(void *ctx, vs_driver_text which, char *text);
vs_metric vs_nvml_processes(void *ctx, uint32_t unit, uint32_t kinds, const vs_telemetry_process **list);
vs_metric vs_nvml_accounts(void *ctx, uint32_t unit, const vs_telemetry_account **list);

/* ---- xids.c: likewise */
vs_metric vs_nvml_watch_xids(void *ctx, uint32_t number);
vs_metric vs_nvml_next_xid(void *ctx, uint32_t milliseconds, vs_telemetry_xid *xid);
void vs_nvml_forget_xids(vs_nvml *nvml);

/* The driver's CUDA version in *version. */
nvmlReturn_t vs_nvml_read_cuda(vs_nvml_api *api, int *version);

/* ---- pci.c */

/* A card's place and kind on the bus, from the newest call that works. */
typedef struct vs_nvml_pci {
  unsigned int domain, bus, device, device_id, subsystem_id;
  bool has_class;
  unsigned int base_class, sub_class;
} vs_nvml_pci;
nvmlReturn_t vs_nvml_read_pci(vs_nvml_api *api, nvmlDevice_t device, vs_nvml_pci *pci);

/* Writes "00000000:83:00.0" to `text` of VS_TELEMETRY_NAME bytes. */
void vs_nvml_put_bus_id(const vs_nvml_pci *pci, char *text);

nvmlReturn_t vs_nvml_read_fabric(vs_nvml_api *api, nvmlDevice_t device, nvmlGpuFabricInfoV_t *it);

/* The unit with a number; NULL if there is none. */
static inline vs_nvml_unit *vs_nvml_unit_at(vs_nvml *nvml, uint32_t unit) {
  return unit < nvml->units.count ? &nvml->units.data[unit] : NULL;
}

#endif
