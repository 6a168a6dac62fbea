/* Failures and delays on request, to test how a program handles them.
 *
 * Each call of a kind is counted. The n-th one after the request answers "out of memory"; the others are not affected. Each call
 * of a kind adds that kind's delay to the virtual clock. */
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

/* The word of a kind ("alloc") and its description ("device memory"). */
const char *vs_sim_fault_word(vs_sim_fault kind);
const char *vs_sim_fault_what(vs_sim_fault kind);

/* Reads "alloc:3" as kind and number (at least 1). Fails: VS_BAD_ARGUMENT with the offset */
VS_MUST_CHECK vs_status vs_sim_fault_parse(vs_str text, vs_sim_fault *kind, uint64_t *n, vs_error *error);

#endif
