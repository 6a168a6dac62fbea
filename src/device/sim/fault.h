/* Failures and delays on request, so that a program's answer to them can be tried.
 *
 * Each call of a kind is counted. The n-th, counted from the request on, answers "out of memory"; those
 * before and behind it are as ever. A delay is added to the virtual clock by each call of its kind. */
#ifndef VS_DEVICE_SIM_FAULT_H
#define VS_DEVICE_SIM_FAULT_H

#include "device/sim/error.h"

typedef enum vs_sim_fault {
#define VS_SIM_FAULT_KIND(name, word, what) VS_SIM_FAULT_##name,
#include "device/sim/faults.def"
#undef VS_SIM_FAULT_KIND
  VS_SIM_FAULT_COUNT,
} vs_sim_fault;

typedef struct vs_sim_faults {
  uint64_t calls[VS_SIM_FAULT_COUNT];
  uint64_t fail_at[VS_SIM_FAULT_COUNT]; /* the number of the call that fails, from 1 on; 0: none */
  uint64_t delay_ns[VS_SIM_FAULT_COUNT];
} vs_sim_faults;

/* "alloc", and what that is: "device memory". */
const char *vs_sim_fault_word(vs_sim_fault kind);
const char *vs_sim_fault_what(vs_sim_fault kind);

/* "alloc:3" as kind and number (at least 1). Fails: VS_BAD_ARGUMENT with its place */
VS_MUST_CHECK vs_status vs_sim_fault_parse(vs_str text, vs_sim_fault *kind, uint64_t *n, vs_error *error);

#endif
