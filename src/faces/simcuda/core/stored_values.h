/* The values of this process's device memory: the store that most reads come from, and a second one that keeps all bytes where
 * only some places read what copies wrote last (device/sim/values.h). Not thread-safe. */
#ifndef VS_SIMCUDA_STORED_VALUES_H
#define VS_SIMCUDA_STORED_VALUES_H

#include "faces/simcuda/core/readback_values.h"

typedef struct vs_stored_values {
  vs_readback common; /* of the configuration's kind */
  vs_readback kept;   /* used only with keeps_also */
  bool keeps_also;
  uint64_t written; /* a sum of hashes of all writes: what was written between two moments is a difference */
} vs_stored_values;

/* `most_bytes`: the bound on kept bytes. */
void vs_stored_init(vs_stored_values *stored, const vs_host *host, const vs_given_values *given,
                    uint64_t most_bytes);

/* As the functions of vs_readback. */
void vs_stored_write(vs_stored_values *stored, uint64_t to, const void *bytes, uint64_t size);
void vs_stored_fill(vs_stored_values *stored, uint64_t to, uint32_t value, uint32_t element_size,
                    uint64_t size);
void vs_stored_move(vs_stored_values *stored, uint64_t to, uint64_t from, uint64_t size);
void vs_stored_forget(vs_stored_values *stored, uint64_t address, uint64_t size);
bool vs_stored_lost(vs_stored_values *stored);

/* The store that keeps all bytes; the configuration keeps them, or some place does. */
static inline vs_readback *vs_stored_kept(vs_stored_values *stored) {
  return stored->keeps_also ? &stored->kept : &stored->common;
}

#endif
