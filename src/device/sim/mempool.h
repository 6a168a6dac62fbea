/* Memory pools: what stream-ordered allocation takes from.
 *
 * A pool takes chunks from its card, 32 MiB or a multiple of it (just what is needed where that does not
 * fit), and gives out pieces of them at multiples of 512 bytes, the lowest that fits first. A piece that is
 * freed goes back to the pool at once and any stream may have it, which is what the three reuse settings,
 * all on by default, allow a driver to do. Chunks that are wholly free go back to the card at the next
 * synchronisation while the pool holds more than its release threshold (0 at first), by a trim, and when an
 * allocation from a pool finds the card full. Highest address first.
 *
 * Simplified: chunks are not put together from pages as a driver can, so a pool with many long-lived pieces
 * holds more here; memory freed in one stream needs no dependency to be had in another; no way to other
 * processes. */
#ifndef VS_DEVICE_SIM_MEMPOOL_H
#define VS_DEVICE_SIM_MEMPOOL_H

#include "device/sim/vmm.h"

/* + 256 * index; first the default pools, one per device, then the graph pools. */
#define VS_SIM_POOL_HANDLES UINT64_C(0x58000000)
#define VS_SIM_POOL_CHUNK   (UINT64_C(32) << 20)

/* The numbers are those of cudaMemPoolAttr and CUmemPool_attribute. */
typedef enum vs_sim_pool_attribute {
  VS_SIM_POOL_REUSE_FOLLOW_EVENTS = 1,
  VS_SIM_POOL_REUSE_OPPORTUNISTIC = 2,
  VS_SIM_POOL_REUSE_INTERNAL = 3,
  VS_SIM_POOL_RELEASE_THRESHOLD = 4,
  VS_SIM_POOL_RESERVED_CURRENT = 5,
  VS_SIM_POOL_RESERVED_HIGH = 6,
  VS_SIM_POOL_USED_CURRENT = 7,
  VS_SIM_POOL_USED_HIGH = 8,
} vs_sim_pool_attribute;

typedef struct vs_sim_pool {
  bool is_there, is_dying; /* dying: destroyed while pieces are out */
  uint32_t device;
  uint32_t next;              /* in the list of spare slots */
  uint32_t reuse;             /* the three settings as bits 1 .. 3 */
  uint8_t readable, writable; /* a bit for each device */
  uint64_t release_threshold;
  uint64_t most_bytes; /* 0: no limit */
  uint64_t reserved, reserved_high, used, used_high;
  uint64_t idle;    /* of the reserved: in chunks that are wholly free */
  uint64_t pieces;  /* that are out */
  vs_ordmap chunks; /* from base to the index of a range of kind CHUNK */
  vs_sim_free_set free_set;
} vs_sim_pool;

/* The pool that a device begins with, the one that its graphs' memory nodes use, and the one that is used
 * where none is named; 0 for a device that is not there. */
uint64_t vs_sim_pool_default(const vs_sim *sim, uint32_t device);
uint64_t vs_sim_pool_graph(const vs_sim *sim, uint32_t device);
uint64_t vs_sim_pool_current(const vs_sim *sim, uint32_t device);
/* Fails: VS_SIM_INVALID_DEVICE, VS_SIM_INVALID_VALUE (no pool, or another device's) */
VS_MUST_CHECK vs_sim_error vs_sim_pool_make_current(vs_sim *sim, uint32_t device, uint64_t pool);

/* `most_bytes`: what it may hold at most, 0 for no limit.
 * Fails: VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_pool_create(vs_sim *sim, uint32_t device, uint64_t most_bytes,
                                              uint64_t *pool);
/* Pieces that are out stay good; with the last of them the pool's memory goes. The device's current pool
 * becomes its default one again. Fails: VS_SIM_INVALID_VALUE (none, or one that nobody made) */
VS_MUST_CHECK vs_sim_error vs_sim_pool_destroy(vs_sim *sim, uint64_t pool);

/* NULL if it is none. Borrowed until the next change. */
const vs_sim_pool *vs_sim_pool_find(const vs_sim *sim, uint64_t pool);

/* Fails: VS_SIM_INVALID_VALUE (size 0, no pool), VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_pool_alloc(vs_sim *sim, uint64_t pool, uint64_t size, uint64_t *address);
/* Fails: VS_SIM_INVALID_VALUE (no piece of a pool begins there) */
VS_MUST_CHECK vs_sim_error vs_sim_pool_free(vs_sim *sim, uint64_t address);

/* A synchronisation happened (of a stream, an event, the device): pools of that device give back what they
 * need not hold. Costs nothing where there is nothing to give. */
void vs_sim_pools_synchronize(vs_sim *sim, uint32_t device);

/* Gives back free chunks as long as `keep_bytes` stay. Fails: VS_SIM_INVALID_VALUE (no pool) */
VS_MUST_CHECK vs_sim_error vs_sim_pool_trim(vs_sim *sim, uint64_t pool, uint64_t keep_bytes);

/* The high marks can be set, to 0 only: they then are what is held now. The current ones cannot.
 * Fails: VS_SIM_INVALID_VALUE */
VS_MUST_CHECK vs_sim_error vs_sim_pool_get(const vs_sim *sim, uint64_t pool, vs_sim_pool_attribute attribute,
                                           uint64_t *value);
VS_MUST_CHECK vs_sim_error vs_sim_pool_set(vs_sim *sim, uint64_t pool, vs_sim_pool_attribute attribute,
                                           uint64_t value);

/* Which devices may use the pool's memory; its own always may.
 * Fails: VS_SIM_INVALID_DEVICE, VS_SIM_INVALID_VALUE (no pool, or its own device less than all) */
VS_MUST_CHECK vs_sim_error vs_sim_pool_access_set(vs_sim *sim, uint64_t pool, uint32_t device,
                                                  vs_sim_access access);
VS_MUST_CHECK vs_sim_error vs_sim_pool_access_get(const vs_sim *sim, uint64_t pool, uint32_t device,
                                                  vs_sim_access *access);

#endif
