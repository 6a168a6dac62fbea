/* Shared by the files of the memory part: the table of ranges, the windows, and the charge at the machine.
 *
 * A change that can fail has this order, so that a failure changes nothing: reserve space in all tables, find an address, add
 * the range, charge the machine (if that fails, remove the range again), cut the address out of the free set. */
#ifndef VS_DEVICE_SIM_MEMORY_INTERNAL_H
#define VS_DEVICE_SIM_MEMORY_INTERNAL_H

#include "device/sim/sim.h"

#define VS_SIM_NO_INDEX UINT32_MAX

static inline uint64_t vs_sim_round_up(uint64_t size, uint64_t unit) {
  return (size + unit - 1) & ~(unit - 1);
}

static inline vs_sim_error vs_sim_from_status(vs_status status) {
  return status == VS_OK ? VS_SIM_OK : VS_SIM_OUT_OF_MEMORY;
}

static inline vs_sim_range *vs_sim_range_at(const vs_sim *sim, uint32_t index) {
  VS_ASSERT(index < sim->memory.ranges.count);
  return &sim->memory.ranges.data[index];
}
static inline vs_sim_range *vs_sim_range_of(const vs_sim *sim, const vs_ordmap *map, vs_ordmap_pos pos) {
  return vs_sim_range_at(sim, vs_ordmap_value(map, pos));
}

/* The range in `map` that begins at `base`, or that contains `address`; NULL if there is none. */
vs_sim_range *vs_sim_range_from(const vs_sim *sim, const vs_ordmap *map, uint64_t base);
vs_sim_range *vs_sim_range_with(const vs_sim *sim, const vs_ordmap *map, uint64_t address);
/* Whether any range in `map` overlaps [address, address + size), which does not wrap. */
bool vs_sim_ranges_meet(const vs_sim *sim, const vs_ordmap *map, uint64_t address, uint64_t size);

/* Adds a copy of `range`, with a new id, to the table and `map`. */
VS_MUST_CHECK vs_sim_error vs_sim_range_add(vs_sim *sim, vs_ordmap *map, const vs_sim_range *range,
                                            uint32_t *index);
/* Remove the range that begins at `base` from both. remove calls the hook `gone`; undo does not, because the range was never
 * visible to the caller. */
void vs_sim_range_remove(vs_sim *sim, vs_ordmap *map, uint64_t base);
void vs_sim_range_undo(vs_sim *sim, vs_ordmap *map, uint64_t base);

/* The charge at the machine. A refusal of `vs_sim_pay_quietly` is not counted as a refused request. */
VS_MUST_CHECK vs_sim_error vs_sim_pay(vs_sim *sim, uint32_t device, uint32_t account, uint64_t bytes);
VS_MUST_CHECK bool vs_sim_pay_quietly(vs_sim *sim, uint32_t device, uint32_t account, uint64_t bytes);
void vs_sim_pay_back(vs_sim *sim, uint32_t device, uint32_t account, uint64_t bytes);
/* Lets the machine refuse, and count, a request that is larger than any window. */
VS_MUST_CHECK vs_sim_error vs_sim_refuse(vs_sim *sim, uint32_t device, uint64_t bytes);

/* Whole granules of a window. find also reserves the space that cut and give need. None of them charges the machine. */
VS_MUST_CHECK vs_sim_error vs_sim_granules_find(vs_sim *sim, uint32_t device, uint64_t bytes,
                                                uint64_t *address);
void vs_sim_granules_cut(vs_sim *sim, uint32_t device, uint64_t address, uint64_t bytes);
void vs_sim_granules_give(vs_sim *sim, uint32_t device, uint64_t address, uint64_t bytes);

/* Tokens: makes one of this process; whether a token is valid here; whether this process made it. */
#define VS_SIM_TOKEN_MAGIC UINT32_C(0x6b6f7476)
void vs_sim_token_make(const vs_sim *sim, vs_sim_token *token);
bool vs_sim_token_is(const vs_sim *sim, const vs_sim_token *token, vs_sim_range_kind kind);
/* The device of this process for the token's card; device_count if this process does not see that card. */
uint32_t vs_sim_token_device(const vs_sim *sim, const vs_sim_token *token);
bool vs_sim_token_is_own(const vs_sim *sim, const vs_sim_token *token);

/* Frees a device, managed or imported range; `range` is a copy of it. */
void vs_sim_range_free(vs_sim *sim, const vs_sim_range *range);

/* ---- called by sim.c -----------------------------------------------------------------------------------
 *
 * A reset of a device ends its pools, then its mappings, then its other ranges and its context. */

VS_MUST_CHECK vs_sim_error vs_sim_memory_init(vs_sim *sim);
void vs_sim_memory_deinit(vs_sim *sim);
void vs_sim_memory_reset(vs_sim *sim, uint32_t device);
/* Checks the tables of ranges: no two ranges of a table overlap, and each used entry is in exactly one. */
bool vs_sim_ranges_check(const vs_sim *sim);
/* Checks a device's window: its charge is the sum of its ranges, of `physical` memory and of the pools' `chunks`, and equals the
 * machine's account of this process. */
bool vs_sim_window_check(vs_sim *sim, uint32_t device, uint64_t physical, uint64_t chunks);

void vs_sim_vmm_reset(vs_sim *sim, uint32_t device);
bool vs_sim_vmm_check(const vs_sim *sim, uint32_t device, uint64_t *charged);

VS_MUST_CHECK vs_sim_error vs_sim_pools_init(vs_sim *sim);
void vs_sim_pools_deinit(vs_sim *sim);
void vs_sim_pools_reset(vs_sim *sim, uint32_t device);
bool vs_sim_pools_check(const vs_sim *sim, uint32_t device, uint64_t *charged);

#endif
