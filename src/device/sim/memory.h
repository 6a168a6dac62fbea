/* Memory as one process sees it: ranges of addresses, each with its device and its kind.
 *
 * Addresses are chosen here and nothing lies behind them; a face that wants pages puts them there.
 *
 *   [0x200000000000 + d * 2 TiB, + 2 TiB)   the window of device d: device, managed and pool memory, and what
 *                                           other processes share
 *   [0x300000000000, 0x540000000000)        reserved addresses (vmm.h)
 *
 * In a window the lowest addresses that fit are taken, in granules of 2 MiB. Requests below 1 MiB share
 * granules, at multiples of 512 bytes; a granule goes back when its last piece does. So the card is charged
 * by granules: what a driver would do with one that asks for little. Equal programs get equal addresses.
 *
 * Managed memory, ranges of the host and what another process shares cost the card nothing: managed memory
 * lies where it was touched last and may be more than a card has, which the model does not follow
 * (managed_bytes tells how much of it there is); shared memory is charged to the process that made it. */
#ifndef VS_DEVICE_SIM_MEMORY_H
#define VS_DEVICE_SIM_MEMORY_H

#include "base/map.h"
#include "base/ordmap.h"
#include "device/sim/error.h"
#include "device/sim/free_set.h"
#include "device/sim/profile.h"

typedef struct vs_sim vs_sim;

#define VS_SIM_WINDOW_BASE   UINT64_C(0x200000000000)
#define VS_SIM_WINDOW_SIZE   (UINT64_C(2) << 40)
#define VS_SIM_RESERVED_BASE UINT64_C(0x300000000000)
#define VS_SIM_RESERVED_END  UINT64_C(0x540000000000)
#define VS_SIM_SMALL_LIMIT   (UINT64_C(1) << 20) /* smaller requests share granules */
#define VS_SIM_SMALL_UNIT    UINT64_C(512)

#define VS_SIM_NO_DEVICE_ID UINT32_MAX /* the device of host memory */

typedef enum vs_sim_range_kind {
  VS_SIM_RANGE_NONE = 0, /* an entry of the table that is not in use */
  VS_SIM_RANGE_DEVICE,
  VS_SIM_RANGE_MANAGED,
  VS_SIM_RANGE_HOST,     /* registered, or allocated as pinned: the address is the caller's */
  VS_SIM_RANGE_POOL,     /* from a memory pool */
  VS_SIM_RANGE_MAPPING,  /* physical memory mapped into reserved addresses */
  VS_SIM_RANGE_IMPORTED, /* another process' range */
  VS_SIM_RANGE_RESERVED, /* addresses only: vs_sim_find never answers with it */
  VS_SIM_RANGE_CHUNK,    /* what a pool has of the card: no answer either */
} vs_sim_range_kind;

typedef struct vs_sim_range {
  uint64_t base, size; /* the size as it was asked for */
  uint64_t id;         /* 1, 2, 3, ... : never used twice in a process */
  uint64_t owner;      /* POOL: its pool; MAPPING: its physical memory; CHUNK: its pool */
  uint64_t user;       /* the face's own: where pages are, for instance */
  uint32_t flags;      /* the face's own */
  uint32_t device;     /* VS_SIM_NO_DEVICE_ID: the host */
  uint8_t kind;        /* vs_sim_range_kind */
  uint8_t readable;    /* MAPPING: a bit for each device that may read it */
  uint8_t writable;
  uint32_t uses; /* IMPORTED: how often it was opened. In the list of spare entries: the next */
} vs_sim_range;

/* What another process needs to know of a range: 64 bytes, to be copied as they are. */
typedef struct vs_sim_token {
  uint32_t magic;
  uint32_t pid; /* of the process that shares */
  uint64_t base, size, id;
  uint64_t started; /* of the pid */
  uint32_t card;    /* of the node: devices are a process' own numbers */
  uint32_t kind;    /* VS_SIM_RANGE_DEVICE or VS_SIM_RANGE_MAPPING (physical memory) */
  uint64_t reserved[2];
} vs_sim_token;

typedef struct vs_sim_window {
  vs_sim_free_set granules; /* free addresses of the window */
  vs_sim_free_set small;    /* free pieces of the granules that small requests share */
  uint64_t pieces;          /* what took granules: ranges, shared granules, chunks */
  uint64_t small_pieces;    /* ranges that share granules */
  uint64_t charged_bytes;   /* what the node was asked for, contexts apart */
  uint64_t managed_bytes;
  bool is_used;  /* the context is made */
  uint8_t peers; /* a bit for each device whose memory this one may use */
} vs_sim_window;

struct vs_sim_physical;
struct vs_sim_pool;

/* The memory part of a vs_sim. Ordered maps go from a base to an index in `ranges`. */
struct vs_sim_memory {
  VS_VEC(vs_sim_range) ranges;
  uint32_t spare_range; /* list of entries not in use, through `uses`; UINT32_MAX: none */
  uint64_t last_id;
  vs_ordmap by_base;         /* all but MAPPING, RESERVED and CHUNK */
  vs_ordmap reserved;        /* RESERVED */
  vs_ordmap mapped;          /* MAPPING */
  vs_sim_free_set addresses; /* free ones for reservations */
  vs_sim_window windows[VS_SIM_MAX_DEVICES];
  vs_map imports; /* from the hash of a token to its range */
  VS_VEC(struct vs_sim_physical) physicals;
  uint32_t spare_physical;
  VS_VEC(struct vs_sim_pool) pools;
  uint32_t spare_pool;
  uint64_t current_pools[VS_SIM_MAX_DEVICES]; /* handles */
};

/* ---- the card ------------------------------------------------------------------------------------------ */

/* First use of a card by this process: takes the context's memory, once. Everything below that needs a card
 * calls it.
 * Fails: VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_context_use(vs_sim *sim, uint32_t device);

/* Memory beside the ranges that the driver takes for this process and gives back with the context: loaded
 * code, larger stacks. Fails as above. */
VS_MUST_CHECK vs_sim_error vs_sim_context_grow(vs_sim *sim, uint32_t device, uint64_t bytes);

/* Free and total memory of a card, over all processes. Uses the card, as the real question does. */
VS_MUST_CHECK vs_sim_error vs_sim_memory_info(vs_sim *sim, uint32_t device, uint64_t *free_bytes,
                                              uint64_t *total_bytes);

/* Peers. Every pair of different cards can.
 * Fails: VS_SIM_INVALID_DEVICE, VS_SIM_PEER_ACCESS_ALREADY_ENABLED, VS_SIM_PEER_ACCESS_NOT_ENABLED */
bool vs_sim_peer_possible(const vs_sim *sim, uint32_t device, uint32_t peer);
VS_MUST_CHECK vs_sim_error vs_sim_peer_enable(vs_sim *sim, uint32_t device, uint32_t peer);
VS_MUST_CHECK vs_sim_error vs_sim_peer_disable(vs_sim *sim, uint32_t device, uint32_t peer);

/* ---- ranges -------------------------------------------------------------------------------------------- */

/* The range that `address` lies in, mappings and host memory too; NULL if there is none. Borrowed until the
 * next change. The second form lets the face write `user` and `flags`, and nothing else. */
const vs_sim_range *vs_sim_find(const vs_sim *sim, uint64_t address);
vs_sim_range *vs_sim_find_mutable(vs_sim *sim, uint64_t address);

/* Calls `visit` for each range that vs_sim_find could answer with, by rising address in each of two walks:
 * all others first, then mappings. It must not change anything. */
void vs_sim_for_each_range(const vs_sim *sim, void (*visit)(void *ctx, const vs_sim_range *range), void *ctx);

/* Device memory. A size of 0 is an error here; faces that answer it otherwise do so themselves.
 * Fails: VS_SIM_INVALID_VALUE, VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_alloc(vs_sim *sim, uint32_t device, uint64_t size, uint64_t *address);

/* Managed memory: addresses in the window of `device`, charged to nobody. The face puts real pages there. */
VS_MUST_CHECK vs_sim_error vs_sim_managed_alloc(vs_sim *sim, uint32_t device, uint64_t size,
                                                uint64_t *address);

/* Host memory that the device may use, at the caller's address.
 * Fails: VS_SIM_INVALID_VALUE (empty, wraps, or lies in addresses of devices),
 * VS_SIM_HOST_MEMORY_ALREADY_REGISTERED (meets another one), VS_SIM_OUT_OF_MEMORY; remove:
 * VS_SIM_HOST_MEMORY_NOT_REGISTERED */
VS_MUST_CHECK vs_sim_error vs_sim_host_add(vs_sim *sim, uint64_t address, uint64_t size, uint32_t flags,
                                           uint64_t user);
VS_MUST_CHECK vs_sim_error vs_sim_host_remove(vs_sim *sim, uint64_t address, vs_sim_range *was);

/* ---- between processes --------------------------------------------------------------------------------- */

/* A token for the whole range that `address` lies in. Only DEVICE memory can be shared so.
 * Fails: VS_SIM_INVALID_VALUE */
VS_MUST_CHECK vs_sim_error vs_sim_ipc_export(const vs_sim *sim, uint64_t address, vs_sim_token *token);

/* Addresses for another process' range, charged to nobody here. A second opening gives the same ones, and
 * needs a second closing. Whether that process still lives is not looked at.
 * Fails: VS_SIM_INVALID_VALUE (no token), VS_SIM_INVALID_CONTEXT (this process' own), VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_ipc_open(vs_sim *sim, const vs_sim_token *token, uint64_t *address);
VS_MUST_CHECK vs_sim_error vs_sim_ipc_close(vs_sim *sim, uint64_t address);

#endif
