/* Virtual memory management (cuMem...): addresses are reserved, physical memory is created, and one is mapped to the other.
 *
 *   reserve  addresses only, never charged                create  physical memory, charged to a card at once
 *   map      a whole physical allocation to addresses     access  which devices may use a mapping
 *
 * Physical memory lives as long as it has references (one from create, one more from each retain and import) or mappings. All
 * sizes and addresses are multiples of VS_SIM_GRANULE. */
#ifndef VS_DEVICE_SIM_VMM_H
#define VS_DEVICE_SIM_VMM_H

#include "device/sim/memory.h"

#define VS_SIM_PHYSICAL_HANDLES UINT64_C(0x60000000) /* + 256 * index */

/* One allocation of physical memory. A slot without references and mappings is spare. */
typedef struct vs_sim_physical {
  uint64_t size;
  uint64_t id;     /* from the same sequence as the ids of ranges */
  uint32_t device; /* VS_SIM_NO_DEVICE_ID: host memory, not charged */
  uint32_t refs;
  uint32_t mappings;
  bool is_charged;  /* to this process: false for host memory and imports */
  uint32_t account; /* for whom, with is_charged */
  uint64_t flags;   /* for the face: kinds of handles, compression, ... */
  uint32_t next;    /* in the list of spare slots; UINT32_MAX: none */
} vs_sim_physical;

/* `alignment`: 0 or a power of two. `hint`: a preferred address, ignored if it is not free.
 * Fails: VS_SIM_INVALID_VALUE (size 0 or not whole granules, alignment not a power of two), VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_reserve(vs_sim *sim, uint64_t size, uint64_t alignment, uint64_t hint,
                                          uint64_t *address);

/* Releases a whole reservation, in which nothing is mapped. Fails: VS_SIM_INVALID_VALUE */
VS_MUST_CHECK vs_sim_error vs_sim_unreserve(vs_sim *sim, uint64_t address, uint64_t size);

/* The reservation that contains an address, mapped or not; NULL if there is none. Borrowed until the next change. */
const vs_sim_range *vs_sim_find_reserved(const vs_sim *sim, uint64_t address);

/* `device`: VS_SIM_NO_DEVICE_ID for host memory.
 * Fails: VS_SIM_INVALID_VALUE, VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_physical_create(vs_sim *sim, uint32_t device, uint64_t size, uint64_t flags,
                                                  uint64_t *handle);

/* Releases one reference. Fails: VS_SIM_INVALID_VALUE (it has none; mappings do not count) */
VS_MUST_CHECK vs_sim_error vs_sim_physical_release(vs_sim *sim, uint64_t handle);

/* Adds a reference to the physical memory that is mapped at an address. Fails: VS_SIM_INVALID_VALUE */
VS_MUST_CHECK vs_sim_error vs_sim_physical_retain(vs_sim *sim, uint64_t address, uint64_t *handle);

/* NULL if it has no references. Borrowed until the next change. */
const vs_sim_physical *vs_sim_physical_find(const vs_sim *sim, uint64_t handle);

/* Maps a whole physical allocation at `address`, inside one reservation and where nothing is mapped yet. `size` has to be that of
 * the allocation and `offset` 0, as CUDA requires.
 * Fails: VS_SIM_INVALID_VALUE, VS_SIM_OUT_OF_MEMORY (of the host) */
VS_MUST_CHECK vs_sim_error vs_sim_map(vs_sim *sim, uint64_t address, uint64_t size, uint64_t offset,
                                      uint64_t handle);

/* Removes one or several whole mappings without a gap. Fails: VS_SIM_INVALID_VALUE; then nothing has changed */
VS_MUST_CHECK vs_sim_error vs_sim_unmap(vs_sim *sim, uint64_t address, uint64_t size);

typedef enum vs_sim_access {
  VS_SIM_ACCESS_NONE = 0,
  VS_SIM_ACCESS_READ = 1,
  VS_SIM_ACCESS_READ_WRITE = 3,
} vs_sim_access;

/* Sets the access of a device to whole mappings without a gap. VS_SIM_NO_DEVICE_ID (the host) is accepted without effect.
 * Fails: VS_SIM_INVALID_VALUE, VS_SIM_INVALID_DEVICE */
VS_MUST_CHECK vs_sim_error vs_sim_access_set(vs_sim *sim, uint64_t address, uint64_t size, uint32_t device,
                                             vs_sim_access access);
VS_MUST_CHECK vs_sim_error vs_sim_access_get(const vs_sim *sim, uint64_t address, uint32_t device,
                                             vs_sim_access *access);

/* Share physical memory with another process, where its import is not charged. An import in the process that created it adds a
 * reference.
 * Fails: VS_SIM_INVALID_VALUE, VS_SIM_INVALID_HANDLE (released in the meantime), VS_SIM_OUT_OF_MEMORY (of the host) */
VS_MUST_CHECK vs_sim_error vs_sim_physical_export(const vs_sim *sim, uint64_t handle, vs_sim_token *token);
VS_MUST_CHECK vs_sim_error vs_sim_physical_import(vs_sim *sim, const vs_sim_token *token, uint64_t *handle);

#endif
