/* Virtual memory by hand: addresses are reserved, physical memory is made, the one is mapped to the other.
 *
 *   reserve  addresses only, never charged        create  physical memory, charged to a card at once
 *   map      whole physical memory to addresses   access  says who may use a mapping
 *
 * Physical memory stays as long as anything holds it: references (one from create, one more from each retain
 * and import) and mappings. All sizes and addresses are multiples of VS_SIM_GRANULE. */
#ifndef VS_DEVICE_SIM_VMM_H
#define VS_DEVICE_SIM_VMM_H

#include "device/sim/memory.h"

#define VS_SIM_PHYSICAL_HANDLES UINT64_C(0x60000000) /* + 256 * index */

/* One piece of physical memory. Slots without references and mappings are spare. */
typedef struct vs_sim_physical {
  uint64_t size;
  uint64_t id;     /* from the numbers of the ranges */
  uint32_t device; /* VS_SIM_NO_DEVICE_ID: host memory, charged to nobody */
  uint32_t refs;
  uint32_t mappings;
  bool is_charged; /* to this process: false for host memory and imports */
  uint64_t flags;  /* the face's own: kinds of handles, compression, ... */
  uint32_t next;   /* in the list of spare slots; UINT32_MAX: none */
} vs_sim_physical;

/* `alignment`: 0 or a power of two. `hint`: an address that is taken if it is free, else ignored.
 * Fails: VS_SIM_INVALID_VALUE (size 0 or not whole granules, strange alignment), VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_reserve(vs_sim *sim, uint64_t size, uint64_t alignment, uint64_t hint,
                                          uint64_t *address);

/* Exactly what was reserved, with nothing mapped in it. Fails: VS_SIM_INVALID_VALUE */
VS_MUST_CHECK vs_sim_error vs_sim_unreserve(vs_sim *sim, uint64_t address, uint64_t size);

/* The reservation that an address lies in, mapped or not; NULL if there is none. Borrowed until the next
 * change. */
const vs_sim_range *vs_sim_find_reserved(const vs_sim *sim, uint64_t address);

/* `device`: VS_SIM_NO_DEVICE_ID makes host memory.
 * Fails: VS_SIM_INVALID_VALUE, VS_SIM_INVALID_DEVICE, VS_SIM_OUT_OF_MEMORY */
VS_MUST_CHECK vs_sim_error vs_sim_physical_create(vs_sim *sim, uint32_t device, uint64_t size, uint64_t flags,
                                                  uint64_t *handle);

/* Gives one reference back. Fails: VS_SIM_INVALID_VALUE (there is none: mappings alone do not count) */
VS_MUST_CHECK vs_sim_error vs_sim_physical_release(vs_sim *sim, uint64_t handle);

/* One more reference to what is mapped at an address. Fails: VS_SIM_INVALID_VALUE */
VS_MUST_CHECK vs_sim_error vs_sim_physical_retain(vs_sim *sim, uint64_t address, uint64_t *handle);

/* NULL if it has no references. Borrowed until the next change. */
const vs_sim_physical *vs_sim_physical_find(const vs_sim *sim, uint64_t handle);

/* The whole of it at `address`, in one reservation where nothing is mapped yet. `size` is the physical
 * memory's and `offset` 0, as CUDA wants it today.
 * Fails: VS_SIM_INVALID_VALUE, VS_SIM_OUT_OF_MEMORY (of the host) */
VS_MUST_CHECK vs_sim_error vs_sim_map(vs_sim *sim, uint64_t address, uint64_t size, uint64_t offset,
                                      uint64_t handle);

/* One or several whole mappings without a gap. Fails: VS_SIM_INVALID_VALUE, and then nothing has changed */
VS_MUST_CHECK vs_sim_error vs_sim_unmap(vs_sim *sim, uint64_t address, uint64_t size);

typedef enum vs_sim_access {
  VS_SIM_ACCESS_NONE = 0,
  VS_SIM_ACCESS_READ = 1,
  VS_SIM_ACCESS_READ_WRITE = 3,
} vs_sim_access;

/* Who may use whole mappings without a gap; VS_SIM_NO_DEVICE_ID (the host) is accepted and not remembered.
 * Fails: VS_SIM_INVALID_VALUE, VS_SIM_INVALID_DEVICE */
VS_MUST_CHECK vs_sim_error vs_sim_access_set(vs_sim *sim, uint64_t address, uint64_t size, uint32_t device,
                                             vs_sim_access access);
VS_MUST_CHECK vs_sim_error vs_sim_access_get(const vs_sim *sim, uint64_t address, uint32_t device,
                                             vs_sim_access *access);

/* For another process: its import charges nothing there. In the process that made it an import is one more
 * reference.
 * Fails: VS_SIM_INVALID_VALUE, VS_SIM_INVALID_HANDLE (gone since), VS_SIM_OUT_OF_MEMORY (of the host) */
VS_MUST_CHECK vs_sim_error vs_sim_physical_export(const vs_sim *sim, uint64_t handle, vs_sim_token *token);
VS_MUST_CHECK vs_sim_error vs_sim_physical_import(vs_sim *sim, const vs_sim_token *token, uint64_t *handle);

#endif
