/* The object behind devices.h, private to this folder.
 *
 * Who stands on whom: devices.c (open, refresh, close) on driver.c, units.c and cuda.c; select.c on cuda.c,
 * visible.h and pci.h; all on the telemetry. Invariants: units.count is what the telemetry counts, and unit i is
 * its unit i; answers has VS_METRIC_ID_COUNT for each unit. */
#ifndef VS_DEVICES_STATE_H
#define VS_DEVICES_STATE_H

#include <vramscope/devices.h>

#include "base/text.h"
#include "base/vec.h"
#include "device/cuda/cuda.h"
#include "device/telemetry.h"

enum { VS_USER_NAME = 64 };

/* The last answer to a slow question. */
typedef struct vs_answer {
  vs_metric metric;
  uint64_t asked_us;
  bool is_there;
} vs_answer;

typedef struct vs_user {
  uint32_t id;
  char name[VS_USER_NAME];
} vs_user;

/* Where the texts of a row begin in `texts`. */
typedef struct vs_row_texts {
  size_t user, name, command, program, container;
} vs_row_texts;

struct vs_devices {
  const vs_host *host;
  vs_devices_options options; /* no NULL in it but nvml, visible and order */
  VS_VEC(char *) copies;      /* of variables, which options point at */
  vs_telemetry telemetry;
  vs_devices_driver driver;
  VS_VEC(vs_devices_info) units;

  vs_cuda *cuda;            /* NULL: nobody has asked the driver yet */
  bool has_cuda_numbers;    /* cuda_index comes from the driver */
  VS_VEC(uint32_t) by_cuda; /* the unit of each of CUDA's numbers; NONE: a card that NVML does not list */

  VS_VEC(vs_answer) answers; /* of unit u and metric m: [u * VS_METRIC_ID_COUNT + m] */
  uint64_t spared;

  VS_VEC(vs_devices_process) rows; /* of the last list of processes */
  VS_VEC(vs_row_texts) row_texts;  /* of the same rows */
  vs_text texts;                   /* what they point at */
  VS_VEC(vs_user) users;           /* names that were asked for, kept: asking may be slow */
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

/* driver.c: what is known of the driver without NVML, then with it. */
void vs_devices__look_at_system(vs_devices *devices);
void vs_devices__look_at_library(vs_devices *devices);
/* The failure of an open or a reopen, in words. `was` is what device/nvml said. */
void vs_devices__explain(const vs_devices *devices, vs_status status, const vs_telemetry_failure *was,
                         vs_devices_failure *failure);

/* units.c: reads the units anew from the telemetry, without CUDA's numbers. */
VS_MUST_CHECK vs_status vs_devices__list(vs_devices *devices);
/* Whether some unit's number is known to the driver only. */
bool vs_devices__needs_cuda(const vs_devices *devices);

/* cuda.c: gives the units CUDA's numbers, by the driver if it was asked already, else by the variables. */
VS_MUST_CHECK vs_status vs_devices__number(vs_devices *devices);

static inline vs_answer *vs_devices__answer(vs_devices *devices, uint32_t unit, vs_metric_id id) {
  return &devices->answers.data[(size_t)unit * VS_METRIC_ID_COUNT + (size_t)id];
}

/* device/nvml's way to say in a figure that host memory ran out. */
static inline bool vs_devices__is_out_of_memory(vs_metric metric) {
  enum { NVML_OUT_OF_MEMORY = 20 };
  return metric.reason == VS_REASON_FAILED && metric.code == NVML_OUT_OF_MEMORY;
}

#endif
