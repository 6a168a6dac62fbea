/* The object behind devices.h, private to this folder.
 *
 * devices.c (open, refresh, close) uses driver.c, units.c and cuda.c; select.c uses cuda.c, visible.h and pci.h; all use the
 * telemetry; check.c uses none of them.
 *
 * Invariants (vs_devices__check): unit i is unit i of the telemetry; a MIG device comes behind its card; `answers` has
 * VS_METRIC_ID_COUNT entries for each unit; by_cuda and the units' cuda_index agree. */
#ifndef VS_DEVICES_STATE_H
#define VS_DEVICES_STATE_H

#include <vramscope/devices.h>

#include "base/text.h"
#include "base/vec.h"
#include "device/cuda/cuda.h"
#include "device/telemetry.h"

enum { VS_USER_NAME = 64 };

/* The last answer for a slow figure. */
typedef struct vs_answer {
  vs_metric metric;
  uint64_t asked_us;
  bool is_there;
} vs_answer;

typedef struct vs_user {
  uint32_t id;
  char name[VS_USER_NAME];
} vs_user;

/* The offsets in `texts` of the texts of a row. */
typedef struct vs_row_texts {
  size_t user, name, command, program, container;
} vs_row_texts;

struct vs_devices {
  const vs_host *host;
  vs_devices_options options; /* with the defaults filled in; only nvml, visible and order may be NULL */
  VS_VEC(char *) copies;      /* copies of variables, which options point at */
  vs_telemetry telemetry;
  vs_devices_driver driver;
  VS_VEC(vs_devices_info) units;

  vs_cuda *cuda;            /* NULL: not opened yet */
  bool has_cuda_numbers;    /* cuda_index comes from the driver */
  VS_VEC(uint32_t) by_cuda; /* the unit of each of CUDA's numbers; NONE: a card that NVML does not list */

  VS_VEC(vs_answer) answers; /* of unit u and metric m: [u * VS_METRIC_ID_COUNT + m] */
  uint64_t spared;           /* questions answered without asking NVML */

  VS_VEC(vs_devices_process) rows; /* of the last list of processes */
  VS_VEC(vs_row_texts) row_texts;  /* of the same rows */
  vs_text texts;                   /* the texts that rows point at */
  VS_VEC(vs_user) users;           /* names already looked up, kept because that may be slow */
  VS_VEC(vs_devices_account) accounts;
};

static inline bool vs_devices_has(const vs_devices *devices, uint32_t unit) {
  return unit < devices->units.count;
}

static inline vs_metric vs_metric_unknown(vs_reason reason) { return (vs_metric){.reason = reason}; }
static inline vs_metric vs_metric_of(uint64_t value) {
  return (vs_metric){.reason = VS_REASON_KNOWN, .value = value};
}

uint64_t vs_devices__now(const vs_devices *devices);

/* driver.c: fills `driver` from the system, then from NVML. */
void vs_devices__look_at_system(vs_devices *devices);
void vs_devices__look_at_library(vs_devices *devices);
/* Describes the failure of an open or a reopen. `was` is the answer of device/nvml. */
void vs_devices__explain(const vs_devices *devices, vs_status status, const vs_telemetry_failure *was,
                         vs_devices_failure *failure);

/* units.c: reads the units again from the telemetry, without CUDA's numbers. */
VS_MUST_CHECK vs_status vs_devices__list(vs_devices *devices);
/* Whether only CUDA's driver knows the number of some unit. */
bool vs_devices__needs_cuda(const vs_devices *devices);

/* cuda.c: gives the units CUDA's numbers, from the driver if it is open already, else from the variables. */
VS_MUST_CHECK vs_status vs_devices__number(vs_devices *devices);

/* check.c: execute the invariants, for tests and the hostile build. The first one that of the whole object; the others
 * those of an answer for `unit`, as vs_devices_memory_of and vs_devices_processes_of filled it. */
bool vs_devices__check(const vs_devices *devices);
bool vs_devices__check_memory(const vs_devices *devices, uint32_t unit, const vs_devices_memory *memory);
bool vs_devices__check_processes(const vs_devices *devices, uint32_t unit,
                                 const vs_devices_processes *processes);

static inline vs_answer *vs_devices__answer(vs_devices *devices, uint32_t unit, vs_metric_id id) {
  VS_ASSERT(vs_devices_has(devices, unit) && (unsigned)id < VS_METRIC_ID_COUNT);
  return &devices->answers.data[(size_t)unit * VS_METRIC_ID_COUNT + (size_t)id];
}

/* How device/nvml reports in a metric that host memory ran out. */
static inline bool vs_devices__is_out_of_memory(vs_metric metric) {
  enum { NVML_OUT_OF_MEMORY = 20 };
  return metric.reason == VS_REASON_FAILED && metric.code == NVML_OUT_OF_MEMORY;
}

#endif
