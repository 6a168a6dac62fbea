/* Memory as one process sees it: ranges of addresses, each with its device and its kind.
 *
 * The addresses have no pages; a face that needs pages maps them there.
 *
 *   [0x200000000000 + d * 2 TiB, + 2 TiB)   the window of device d: device, managed and pool memory, and what
 *                                           other processes share
 *   [0x300000000000, 0x540000000000)        reserved addresses (vmm.h)
 *
 * A request gets the lowest free addresses that fit, in granules of 2 MiB. Requests up to 1 MiB share granules, at multiples
 * of 512 bytes; a granule is released with its last block. The card is charged by granules, as a driver does. Equal programs get
 * equal addresses.
 *
 * Managed memory, host memory and memory of another process are not charged to the card. Managed memory resides where it was
 * touched last and may exceed the card's memory; the model does not simulate this (managed_bytes is its sum). Shared memory is
 * charged to the process that allocated it. */
#ifndef VS_DEVICE_SIM_MEMORY_H
#define VS_DEVICE_SIM_MEMORY_H

#include "base/map.h"
#include "base/ordmap.h"
#include "device/sim/error.h"
#include "device/sim/free_set.h"
#include "device/sim/own_memory.h"
#include "device/sim/profile.h"

typedef struct vs_sim vs_sim;

#define VS_SIM_WINDOW_BASE   UINT64_C(0x200000000000)
#define VS_SIM_WINDOW_SIZE   (UINT64_C(2) << 40)
#define VS_SIM_RESERVED_BASE UINT64_C(0x300000000000)
#define VS_SIM_RESERVED_END  UINT64_C(0x540000000000)
#define VS_SIM_SMALL_LIMIT   (UINT64_C(1) << 20) /* requests up to this size share granules */
#define VS_SIM_SMALL_UNIT    UINT64_C(512)

#define VS_SIM_NO_DEVICE_ID UINT32_MAX /* the device of host memory */

typedef enum vs_sim_range_kind {
  VS_SIM_RANGE_NONE = 0, /* a spare entry of the table */
  VS_SIM_RANGE_DEVICE,
  VS_SIM_RANGE_MANAGED,
  VS_SIM_RANGE_HOST,     /* registered, or allocated as pinned: the address is the caller's */
  VS_SIM_RANGE_POOL,     /* from a memory pool */
  VS_SIM_RANGE_MAPPING,  /* physical memory mapped into reserved addresses */
  VS_SIM_RANGE_IMPORTED, /* another process' range */
  VS_SIM_RANGE_RESERVED, /* addresses only: vs_sim_find does not return it */
  VS_SIM_RANGE_CHUNK,    /* memory that a pool holds: vs_sim_find does not return it */
} vs_sim_range_kind;

typedef struct vs_sim_range {
  uint64_t base, size; /* the requested size */
  uint64_t id;         /* 1, 2, 3, ... : unique in a process */
  uint64_t owner;      /* POOL, CHUNK: the pool; MAPPING: the physical memory; IMPORTED: the token's hash */
  uint64_t user;       /* for the face, for example the size of its pages */
  uint32_t flags;      /* for the face */
  uint32_t device;     /* VS_SIM_NO_DEVICE_ID: the host */
  uint8_t kind;        /* vs_sim_range_kind */
  uint8_t account;     /* DEVICE, CHUNK: for whom it was taken */
  uint8_t readable;    /* MAPPING: a bit for each device with read access */
  uint8_t writable;
  uint32_t uses; /* IMPORTED: how often it was opened; CHUNK: its blocks; a spare entry: the next one */
} vs_sim_range;

/* Describes a range to another process. Programs copy it as 64 opaque bytes. */
typedef struct vs_sim_token {
  uint32_t magic;
  uint32_t pid; /* of the process that shares */
  uint64_t base, size, id;
  uint64_t started; /* of the pid */
  uint32_t card;    /* the machine's number: device numbers differ between processes */
  uint32_t kind;    /* VS_SIM_RANGE_DEVICE or VS_SIM_RANGE_MAPPING (physical memory) */
  uint64_t reserved[2];
} vs_sim_token;

typedef struct vs_sim_window {
  vs_sim_free_set granules; /* free addresses of the window */
  vs_sim_free_set small;    /* free addresses in the granules that small requests share */
  vs_map shared; /* by address, the granules that small requests share: the account that the first one has */
  uint64_t pieces;        /* owners of granules: ranges, shared granules, chunks */
  uint64_t small_pieces;  /* ranges in shared granules */
  uint64_t charged_bytes; /* charged at the machine for this process, without contexts */
  uint64_t managed_bytes; /* sum of the sizes of managed ranges */
  bool is_used;           /* the context exists */
  uint8_t peers;          /* a bit for each device whose memory this one may access */
  vs_sim_own own;         /* objects of the driver and of libraries, whose memory is the context's */
} vs_sim_window;

struct vs_sim_physical;
struct vs_sim_pool;

/* The memory part of a vs_sim. The ordered maps map a base address to an index in `ranges`. */
struct vs_sim_memory {
  VS_VEC(vs_sim_range) ranges;
  uint32_t spare_range; /* first of the list of spare entries, linked by `uses`; UINT32_MAX: none */
  uint64_t last_id;
  vs_ordmap by_base;         /* all but MAPPING, RESERVED and CHUNK */
  vs_ordmap reserved;        /* RESERVED */
  vs_ordmap mapped;          /* MAPPING */
  vs_sim_free_set addresses; /* free addresses for reservations */
  vs_sim_window windows[VS_SIM_MAX_DEVICES];
  vs_map imports; /* from the hash of a token to its range */
  VS_VEC(struct vs_sim_physical) physicals;
  uint32_t spare_physical;
  VS_VEC(struct vs_sim_pool) pools;
  uint32_t spare_pool;
  uint64_t current_pools[VS_SIM_MAX_DEVICES]; /* handles */
};

/* ---- the card ------------------------------------------------------------------------------------------ */

/* Makes this process' context on a card, if it has none. Every function below that needs a card calls it.
 * Fails: VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_context_use(vs_sim *sim, uint32_t device);

/* Adds memory to the context, which is released with it, for an account: loaded code, larger stacks. Fails as above. */
VS_MUST_CHECK vs_sim_error vs_sim_context_grow(vs_sim *sim, uint32_t device, uint32_t account,
                                               uint64_t bytes);

/* Free and total memory of a card, over all processes. Makes the context, as cudaMemGetInfo does. */
VS_MUST_CHECK vs_sim_error vs_sim_memory_info(vs_sim *sim, uint32_t device, uint64_t *free_bytes,
                                              uint64_t *total_bytes);

/* Peer access. It is possible between any two different cards.
 * Fails: VS_SIM_INVALID_DEVICE, VS_SIM_PEER_ACCESS_ALREADY_ENABLED, VS_SIM_PEER_ACCESS_NOT_ENABLED */
bool vs_sim_peer_possible(const vs_sim *sim, uint32_t device, uint32_t peer);
VS_MUST_CHECK vs_sim_error vs_sim_peer_enable(vs_sim *sim, uint32_t device, uint32_t peer);
VS_MUST_CHECK vs_sim_error vs_sim_peer_disable(vs_sim *sim, uint32_t device, uint32_t peer);

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* The range that contains `address`, of any kind except RESERVED and CHUNK; NULL if there is none. Borrowed until the next
 * change. With the second form the face may write `user` and `flags` only. */
const vs_sim_range *vs_sim_find(const vs_sim *sim, uint64_t address);
vs_sim_range *vs_sim_find_mutable(vs_sim *sim, uint64_t address);

/* Calls `visit` for each range that vs_sim_find could return, by rising address: first for all but mappings, then for the
 * mappings. `visit` must not change the vs_sim. */
void vs_sim_for_each_range(const vs_sim *sim, void (*visit)(void *ctx, const vs_sim_range *range), void *ctx);

/* Allocates device memory. A size of 0 is an error here; a face that accepts it handles it itself.
 * Fails: VS_SIM_INVALID_VALUE, VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_alloc(vs_sim *sim, uint32_t device, uint64_t size, uint64_t *address);

/* Allocates managed memory: addresses in the window of `device`, without a charge. The face maps pages there. */
VS_MUST_CHECK vs_sim_error vs_sim_managed_alloc(vs_sim *sim, uint32_t device, uint64_t size,
                                                uint64_t *address);

/* Registers host memory at the caller's address.
 * Fails: VS_SIM_INVALID_VALUE (empty, wraps, or overlaps the addresses of devices),
 * VS_SIM_HOST_MEMORY_ALREADY_REGISTERED (overlaps another range), VS_SIM_OUT_OF_MEMORY; remove:
 * VS_SIM_HOST_MEMORY_NOT_REGISTERED */
VS_MUST_CHECK vs_sim_error vs_sim_host_add(vs_sim *sim, uint64_t address, uint64_t size, uint32_t flags,
                                           uint64_t user);
VS_MUST_CHECK vs_sim_error vs_sim_host_remove(vs_sim *sim, uint64_t address, vs_sim_range *was);

/* ---- between processes --------------------------------------------------------------------------------- */

/* A token for the whole range that contains `address`, which has to be DEVICE memory.
 * Fails: VS_SIM_INVALID_VALUE */
VS_MUST_CHECK vs_sim_error vs_sim_ipc_export(const vs_sim *sim, uint64_t address, vs_sim_token *token);

/* Addresses for another process' range, without a charge and without a context on its card: nvidia-smi lists a rank that opened the
 * memory of its peers (NCCL's, vLLM's all-reduce) on its own card alone. Opening it again returns the same addresses and needs one
 * more close. It is not checked whether that process still runs.
 * Fails: VS_SIM_INVALID_VALUE (no token), VS_SIM_INVALID_CONTEXT (this process' own), VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_ipc_open(vs_sim *sim, const vs_sim_token *token, uint64_t *address);
VS_MUST_CHECK vs_sim_error vs_sim_ipc_close(vs_sim *sim, uint64_t address);

#endif
