/* Memory pools, from which stream-ordered allocation takes memory.
 *
 * A pool takes chunks from its card, of a multiple of 32 MiB or, if that does not fit, of the least size. It allocates blocks in
 * them at multiples of 512 bytes, at the lowest address that fits. A freed block returns to the pool at once and any stream may
 * reuse it, as the three reuse settings, all on by default, allow a driver to do. Empty chunks are released to the card,
 * highest address first: at the next synchronisation while the pool holds more than its release threshold (initially 0), by a
 * trim, and when an allocation from a pool finds the card full.
 *
 * Simplifications: a driver can compose chunks of pages, so a pool with many long-lived blocks holds more memory here; memory
 * freed in one stream can be reused in another without a dependency; pools cannot be shared with other processes. */
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
  bool is_there, is_dying; /* dying: destroyed while some blocks are still allocated */
  uint32_t device;
  uint32_t next;              /* in the list of spare slots */
  uint32_t reuse;             /* the three settings as bits 1 .. 3 */
  uint8_t readable, writable; /* a bit for each device */
  uint64_t release_threshold;
  uint64_t most_bytes; /* 0: no limit */
  uint64_t reserved, reserved_high, used, used_high;
  uint64_t idle;    /* the reserved bytes in empty chunks */
  uint64_t pieces;  /* number of allocated blocks */
  vs_ordmap chunks; /* maps a base to the index of a range of kind CHUNK */
  vs_sim_free_set free_set;
} vs_sim_pool;

/* The default pool of a device, the pool of its graphs' memory nodes, and the pool for calls that name none; 0 for a device that
 * does not exist. */
uint64_t vs_sim_pool_default(const vs_sim *sim, uint32_t device);
uint64_t vs_sim_pool_graph(const vs_sim *sim, uint32_t device);
uint64_t vs_sim_pool_current(const vs_sim *sim, uint32_t device);
/* Fails: VS_SIM_INVALID_DEVICE, VS_SIM_INVALID_VALUE (no pool, or another device's) */
VS_MUST_CHECK vs_sim_error vs_sim_pool_make_current(vs_sim *sim, uint32_t device, uint64_t pool);

/* `most_bytes`: the most that the pool may reserve, 0 for no limit.
 * Fails: VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_pool_create(vs_sim *sim, uint32_t device, uint64_t most_bytes,
                                              uint64_t *pool);
/* Allocated blocks stay valid; the pool's memory is released with the last of them. If it was the device's current pool, the
 * default pool becomes current. Fails: VS_SIM_INVALID_VALUE (no pool, or not made by vs_sim_pool_create) */
VS_MUST_CHECK vs_sim_error vs_sim_pool_destroy(vs_sim *sim, uint64_t pool);

/* NULL if there is no such pool. Borrowed until the next change. */
const vs_sim_pool *vs_sim_pool_find(const vs_sim *sim, uint64_t pool);

/* Fails: VS_SIM_INVALID_VALUE (size 0, no pool), VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_pool_alloc(vs_sim *sim, uint64_t pool, uint64_t size, uint64_t *address);
/* Fails: VS_SIM_INVALID_VALUE (no block of a pool begins there) */
VS_MUST_CHECK vs_sim_error vs_sim_pool_free(vs_sim *sim, uint64_t address);

/* Called at each synchronisation of a stream, an event or the device: the device's pools release what exceeds their threshold.
 * Cheap if there are no empty chunks. */
void vs_sim_pools_synchronize(vs_sim *sim, uint32_t device);

/* Releases empty chunks as long as at least `keep_bytes` stay reserved. Fails: VS_SIM_INVALID_VALUE (no pool) */
VS_MUST_CHECK vs_sim_error vs_sim_pool_trim(vs_sim *sim, uint64_t pool, uint64_t keep_bytes);

/* A high-water mark can only be set to 0, which resets it to the current value. Current values cannot be set.
 * Fails: VS_SIM_INVALID_VALUE */
VS_MUST_CHECK vs_sim_error vs_sim_pool_get(const vs_sim *sim, uint64_t pool, vs_sim_pool_attribute attribute,
                                           uint64_t *value);
VS_MUST_CHECK vs_sim_error vs_sim_pool_set(vs_sim *sim, uint64_t pool, vs_sim_pool_attribute attribute,
                                           uint64_t value);

/* Which devices may access the pool's memory; its own device always may.
 * Fails: VS_SIM_INVALID_DEVICE, VS_SIM_INVALID_VALUE (no pool, or less than full access for its own device) */
VS_MUST_CHECK vs_sim_error vs_sim_pool_access_set(vs_sim *sim, uint64_t pool, uint32_t device,
                                                  vs_sim_access access);
VS_MUST_CHECK vs_sim_error vs_sim_pool_access_get(const vs_sim *sim, uint64_t pool, uint32_t device,
                                                  vs_sim_access *access);

#endif
