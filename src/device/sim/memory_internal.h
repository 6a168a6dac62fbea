/* What the files of the memory part share: the table of ranges, the windows, and the account at the node.
 *
 * A change that can fail goes in this order, so that a failure leaves everything as it was: make room in all
 * tables, find an address, enter the range, pay at the node (when that fails, take the range out again), cut
 * the address. */
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
  return &sim->memory.ranges.data[index];
}
static inline vs_sim_range *vs_sim_range_of(const vs_sim *sim, const vs_ordmap *map, vs_ordmap_pos pos) {
  return vs_sim_range_at(sim, vs_ordmap_value(map, pos));
}

/* The range in `map` that begins at `base` or holds `address`; NULL if there is none. */
vs_sim_range *vs_sim_range_from(const vs_sim *sim, const vs_ordmap *map, uint64_t base);
vs_sim_range *vs_sim_range_with(const vs_sim *sim, const vs_ordmap *map, uint64_t address);
/* Whether any range in `map` meets [address, address + size), which does not wrap. */
bool vs_sim_ranges_meet(const vs_sim *sim, const vs_ordmap *map, uint64_t address, uint64_t size);

/* Enters a copy of `range`, with a number of its own, into the table and `map`. */
VS_MUST_CHECK vs_sim_error vs_sim_range_add(vs_sim *sim, vs_ordmap *map, const vs_sim_range *range,
                                            uint32_t *index);
/* Takes the range that begins at `base` out of both: remove tells the hook `gone` of it, undo does not,
 * because nobody heard of the range yet. */
void vs_sim_range_remove(vs_sim *sim, vs_ordmap *map, uint64_t base);
void vs_sim_range_undo(vs_sim *sim, vs_ordmap *map, uint64_t base);

/* The account. `vs_sim_pay_quietly` asks first, so that a refusal is not counted as one. */
VS_MUST_CHECK vs_sim_error vs_sim_pay(vs_sim *sim, uint32_t device, uint64_t bytes);
VS_MUST_CHECK bool vs_sim_pay_quietly(vs_sim *sim, uint32_t device, uint64_t bytes);
void vs_sim_pay_back(vs_sim *sim, uint32_t device, uint64_t bytes);
/* Lets the node refuse what no window could hold. */
VS_MUST_CHECK vs_sim_error vs_sim_refuse(vs_sim *sim, uint32_t device, uint64_t bytes);

/* Whole granules of a window. find makes room, too, so that cut and give need no memory; they do not pay. */
VS_MUST_CHECK vs_sim_error vs_sim_granules_find(vs_sim *sim, uint32_t device, uint64_t bytes,
                                                uint64_t *address);
void vs_sim_granules_cut(vs_sim *sim, uint32_t device, uint64_t address, uint64_t bytes);
void vs_sim_granules_give(vs_sim *sim, uint32_t device, uint64_t address, uint64_t bytes);

/* Tokens: one with this process' name in it; whether one makes sense here; whether it is this process' own.
 */
#define VS_SIM_TOKEN_MAGIC UINT32_C(0x6b6f7476)
void vs_sim_token_make(const vs_sim *sim, vs_sim_token *token);
bool vs_sim_token_is(const vs_sim *sim, const vs_sim_token *token, vs_sim_range_kind kind);
/* The device of this process that is the token's card; device_count where it sees none. */
uint32_t vs_sim_token_device(const vs_sim *sim, const vs_sim_token *token);
bool vs_sim_token_is_own(const vs_sim *sim, const vs_sim_token *token);

/* Gives back a device, managed or imported range; `range` is a copy of it. */
void vs_sim_range_free(vs_sim *sim, const vs_sim_range *range);

/* ---- what sim.c does with each part --------------------------------------------------------------------
 *
 * A reset of a device ends its pools, then its mappings, then its other ranges and its context. */

VS_MUST_CHECK vs_sim_error vs_sim_memory_init(vs_sim *sim);
void vs_sim_memory_deinit(vs_sim *sim);
void vs_sim_memory_reset(vs_sim *sim, uint32_t device);
/* The tables of ranges. */
bool vs_sim_ranges_check(const vs_sim *sim);
/* A device's window, of whose charge physical memory and the pools' chunks are a part; and that the node was
 * charged with it. */
bool vs_sim_window_check(vs_sim *sim, uint32_t device, uint64_t physical, uint64_t chunks);

void vs_sim_vmm_reset(vs_sim *sim, uint32_t device);
bool vs_sim_vmm_check(const vs_sim *sim, uint32_t device, uint64_t *charged);

VS_MUST_CHECK vs_sim_error vs_sim_pools_init(vs_sim *sim);
void vs_sim_pools_deinit(vs_sim *sim);
void vs_sim_pools_reset(vs_sim *sim, uint32_t device);
bool vs_sim_pools_check(const vs_sim *sim, uint32_t device, uint64_t *charged);

#endif
