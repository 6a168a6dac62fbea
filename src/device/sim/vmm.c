#include "device/sim/memory_internal.h"

static bool is_whole(uint64_t bytes) { return bytes % VS_SIM_GRANULE == 0; }

/* ---- reserved addresses -------------------------------------------------------------------------------- */

static bool find_addresses(const vs_sim *sim, uint64_t size, uint64_t alignment, uint64_t hint,
                           uint64_t *address) {
  const vs_sim_free_set *addresses = &sim->memory.addresses;
  if (hint != 0 && hint % alignment == 0 && vs_sim_free_set_cover(addresses, hint, size)) {
    *address = hint;
    return true;
  }
  return vs_sim_free_set_first(addresses, size, alignment, address);
}

vs_sim_error vs_sim_reserve(vs_sim *sim, uint64_t size, uint64_t alignment, uint64_t hint,
                            uint64_t *address) {
  struct vs_sim_memory *m = &sim->memory;
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_RESERVE));
  if (size == 0 || !is_whole(size) || (alignment & (alignment - 1)) != 0) return VS_SIM_INVALID_VALUE;
  alignment = vs_max_u64(alignment, VS_SIM_GRANULE);
  /* At the start there is one free range, and each reservation adds at most one. */
  VS_SIM_TRY(vs_sim_from_status(vs_sim_free_set_reserve(sim->host, &m->addresses, m->reserved.count + 2)));
  vs_sim_range range = {.size = size, .device = VS_SIM_NO_DEVICE_ID, .kind = VS_SIM_RANGE_RESERVED};
  if (!find_addresses(sim, size, alignment, hint, &range.base)) return VS_SIM_OUT_OF_MEMORY;
  uint32_t index;
  VS_SIM_TRY(vs_sim_range_add(sim, &m->reserved, &range, &index));
  vs_sim_free_set_cut(&m->addresses, range.base, size);
  *address = range.base;
  return VS_SIM_OK;
}

vs_sim_error vs_sim_unreserve(vs_sim *sim, uint64_t address, uint64_t size) {
  struct vs_sim_memory *m = &sim->memory;
  const vs_sim_range *range = vs_sim_range_from(sim, &m->reserved, address);
  if (range == NULL || range->size != size) return VS_SIM_INVALID_VALUE;
  if (vs_sim_ranges_meet(sim, &m->mapped, address, size)) return VS_SIM_INVALID_VALUE;
  vs_sim_range_remove(sim, &m->reserved, address);
  (void)vs_sim_free_set_put(&m->addresses, (vs_sim_span){address, size},
                            (vs_sim_span){VS_SIM_RESERVED_BASE, VS_SIM_RESERVED_END - VS_SIM_RESERVED_BASE});
  return VS_SIM_OK;
}

const vs_sim_range *vs_sim_find_reserved(const vs_sim *sim, uint64_t address) {
  return vs_sim_range_with(sim, &sim->memory.reserved, address);
}

/* ---- physical memory ----------------------------------------------------------------------------------- */

static uint64_t handle_of(uint32_t index) { return VS_SIM_PHYSICAL_HANDLES + UINT64_C(256) * index; }

static vs_sim_physical *physical_at(const vs_sim *sim, uint32_t index) {
  return &sim->memory.physicals.data[index];
}

/* The physical memory of a handle, even without references; NULL if there is none. */
static vs_sim_physical *physical_of(const vs_sim *sim, uint64_t handle, uint32_t *index) {
  const uint64_t at = (handle - VS_SIM_PHYSICAL_HANDLES) / 256;
  if (handle < VS_SIM_PHYSICAL_HANDLES || handle % 256 != 0 || at >= sim->memory.physicals.count) return NULL;
  *index = (uint32_t)at;
  return physical_at(sim, *index);
}

const vs_sim_physical *vs_sim_physical_find(const vs_sim *sim, uint64_t handle) {
  uint32_t index;
  const vs_sim_physical *physical = physical_of(sim, handle, &index);
  return physical != NULL && physical->refs > 0 ? physical : NULL;
}

/* Makes space for one more, so that add_physical cannot fail. */
static vs_sim_error make_room(vs_sim *sim) {
  struct vs_sim_memory *m = &sim->memory;
  if (m->spare_physical != VS_SIM_NO_INDEX) return VS_SIM_OK;
  if (m->physicals.count >= VS_SIM_NO_INDEX) return VS_SIM_OUT_OF_MEMORY;
  return vs_sim_from_status(vs_vec_reserve(sim->host, &m->physicals, 1));
}

static uint64_t add_physical(vs_sim *sim, const vs_sim_physical *physical) {
  struct vs_sim_memory *m = &sim->memory;
  uint32_t index = m->spare_physical;
  if (index != VS_SIM_NO_INDEX) m->spare_physical = physical_at(sim, index)->next;
  else index = (uint32_t)m->physicals.count++;
  VS_ASSERT(index < m->physicals.capacity && physical->refs == 1 && physical->mappings == 0);
  *physical_at(sim, index) = *physical;
  physical_at(sim, index)->id = ++m->last_id;
  return handle_of(index);
}

/* Releases it to the card if it has neither references nor mappings. */
static void drop_if_unheld(vs_sim *sim, uint32_t index) {
  vs_sim_physical *physical = physical_at(sim, index);
  if (physical->refs > 0 || physical->mappings > 0) return;
  VS_ASSERT(physical->size > 0 && is_whole(physical->size));
  if (physical->is_charged) vs_sim_pay_back(sim, physical->device, physical->account, physical->size);
  *physical = (vs_sim_physical){.next = sim->memory.spare_physical};
  sim->memory.spare_physical = index;
}

vs_sim_error vs_sim_physical_create(vs_sim *sim, uint32_t device, uint64_t size, uint64_t flags,
                                    uint64_t *handle) {
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_CREATE));
  if (size == 0 || !is_whole(size)) return VS_SIM_INVALID_VALUE;
  const bool is_of_card = device != VS_SIM_NO_DEVICE_ID;
  if (is_of_card) VS_SIM_TRY(vs_sim_context_use(sim, device));
  VS_SIM_TRY(make_room(sim));
  if (is_of_card) VS_SIM_TRY(vs_sim_pay(sim, device, sim->account, size));
  const vs_sim_physical physical = {.size = size,
                                    .device = device,
                                    .refs = 1,
                                    .is_charged = is_of_card,
                                    .account = sim->account,
                                    .flags = flags};
  *handle = add_physical(sim, &physical);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_physical_release(vs_sim *sim, uint64_t handle) {
  uint32_t index;
  vs_sim_physical *physical = physical_of(sim, handle, &index);
  if (physical == NULL || physical->refs == 0) return VS_SIM_INVALID_VALUE;
  physical->refs--;
  drop_if_unheld(sim, index);
  return VS_SIM_OK;
}

static vs_sim_error add_ref(vs_sim_physical *physical) {
  if (physical->refs == UINT32_MAX) return VS_SIM_OUT_OF_MEMORY;
  physical->refs++;
  return VS_SIM_OK;
}

vs_sim_error vs_sim_physical_retain(vs_sim *sim, uint64_t address, uint64_t *handle) {
  const vs_sim_range *mapping = vs_sim_range_with(sim, &sim->memory.mapped, address);
  uint32_t index;
  if (mapping == NULL) return VS_SIM_INVALID_VALUE;
  vs_sim_physical *physical = physical_of(sim, mapping->owner, &index);
  VS_ASSERT(physical != NULL); /* a mapping keeps its physical memory */
  VS_SIM_TRY(add_ref(physical));
  *handle = handle_of(index);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_physical_export(const vs_sim *sim, uint64_t handle, vs_sim_token *token) {
  const vs_sim_physical *physical = vs_sim_physical_find(sim, handle);
  if (physical == NULL || physical->device == VS_SIM_NO_DEVICE_ID) return VS_SIM_INVALID_VALUE;
  vs_sim_token_make(sim, token);
  token->base = handle;
  token->size = physical->size;
  token->id = physical->id;
  token->card = sim->cards[physical->device];
  token->kind = VS_SIM_RANGE_MAPPING;
  return VS_SIM_OK;
}

static vs_sim_error import_own(vs_sim *sim, const vs_sim_token *token, uint64_t *handle) {
  uint32_t index;
  vs_sim_physical *physical = physical_of(sim, token->base, &index);
  const bool is_same = physical != NULL && physical->id == token->id && physical->size == token->size;
  if (!is_same) return VS_SIM_INVALID_HANDLE;
  VS_SIM_TRY(add_ref(physical));
  *handle = handle_of(index);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_physical_import(vs_sim *sim, const vs_sim_token *token, uint64_t *handle) {
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_IPC));
  if (!vs_sim_token_is(sim, token, VS_SIM_RANGE_MAPPING) || !is_whole(token->size))
    return VS_SIM_INVALID_VALUE;
  if (vs_sim_token_is_own(sim, token)) return import_own(sim, token, handle);
  const uint32_t device = vs_sim_token_device(sim, token);
  VS_SIM_TRY(make_room(sim));
  const vs_sim_physical physical = {.size = token->size, .device = device, .refs = 1};
  *handle = add_physical(sim, &physical);
  return VS_SIM_OK;
}

/* ---- mappings ------------------------------------------------------------------------------------------ */

static bool is_reserved(const vs_sim *sim, uint64_t address, uint64_t size) {
  const vs_sim_range *range = vs_sim_find_reserved(sim, address);
  return range != NULL && size <= range->size - (address - range->base);
}

vs_sim_error vs_sim_map(vs_sim *sim, uint64_t address, uint64_t size, uint64_t offset, uint64_t handle) {
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_MAP));
  uint32_t index;
  vs_sim_physical *physical = physical_of(sim, handle, &index);
  if (physical == NULL || physical->refs == 0 || offset != 0 || size != physical->size)
    return VS_SIM_INVALID_VALUE;
  if (!is_whole(address) || !is_reserved(sim, address, size)) return VS_SIM_INVALID_VALUE;
  if (vs_sim_ranges_meet(sim, &sim->memory.mapped, address, size)) return VS_SIM_INVALID_VALUE;
  if (physical->mappings == UINT32_MAX) return VS_SIM_OUT_OF_MEMORY;
  const vs_sim_range range = {.base = address,
                              .size = size,
                              .owner = handle,
                              .device = physical->device,
                              .kind = VS_SIM_RANGE_MAPPING};
  uint32_t ignored;
  VS_SIM_TRY(vs_sim_range_add(sim, &sim->memory.mapped, &range, &ignored));
  physical->mappings++;
  return VS_SIM_OK;
}

static void unmap_one(vs_sim *sim, uint64_t base) {
  const vs_sim_range *range = vs_sim_range_from(sim, &sim->memory.mapped, base);
  uint32_t index = 0;
  vs_sim_physical *physical = physical_of(sim, range->owner, &index);
  VS_ASSERT(physical != NULL && physical->mappings > 0);
  vs_sim_range_remove(sim, &sim->memory.mapped, base);
  physical->mappings--;
  drop_if_unheld(sim, index);
}

/* Whether whole mappings without a gap make up exactly [address, address + size). */
static bool is_mapped_whole(const vs_sim *sim, uint64_t address, uint64_t size) {
  const vs_ordmap *map = &sim->memory.mapped;
  uint64_t at = address, end;
  if (size == 0 || !vs_add_u64(address, size, &end)) return false;
  for (vs_ordmap_pos pos = vs_ordmap_lower(map, address); at < end; pos = vs_ordmap_next(map, pos)) {
    if (vs_ordmap_at_end(map, pos) || vs_ordmap_key(map, pos) != at) return false;
    at += vs_sim_range_of(sim, map, pos)->size;
  }
  return at == end;
}

vs_sim_error vs_sim_unmap(vs_sim *sim, uint64_t address, uint64_t size) {
  if (!is_mapped_whole(sim, address, size)) return VS_SIM_INVALID_VALUE;
  for (uint64_t at = address; at < address + size;) {
    const uint64_t base = at;
    at += vs_sim_range_from(sim, &sim->memory.mapped, base)->size;
    unmap_one(sim, base);
  }
  return VS_SIM_OK;
}

static uint8_t with_bit(uint8_t bits, uint32_t device, bool is_set) {
  VS_ASSERT(device < VS_SIM_MAX_DEVICES); /* a bit of 8 */
  const unsigned bit = 1u << device;
  return (uint8_t)(is_set ? bits | bit : bits & ~bit);
}

vs_sim_error vs_sim_access_set(vs_sim *sim, uint64_t address, uint64_t size, uint32_t device,
                               vs_sim_access access) {
  const vs_ordmap *map = &sim->memory.mapped;
  if (device >= sim->device_count && device != VS_SIM_NO_DEVICE_ID) return VS_SIM_INVALID_DEVICE;
  if (access != VS_SIM_ACCESS_NONE && access != VS_SIM_ACCESS_READ && access != VS_SIM_ACCESS_READ_WRITE)
    return VS_SIM_INVALID_VALUE;
  if (!is_mapped_whole(sim, address, size)) return VS_SIM_INVALID_VALUE;
  if (device == VS_SIM_NO_DEVICE_ID) return VS_SIM_OK;
  vs_ordmap_pos pos = vs_ordmap_lower(map, address);
  for (; !vs_ordmap_at_end(map, pos) && vs_ordmap_key(map, pos) - address < size;
       pos = vs_ordmap_next(map, pos)) {
    vs_sim_range *range = vs_sim_range_of(sim, map, pos);
    range->readable = with_bit(range->readable, device, access != VS_SIM_ACCESS_NONE);
    range->writable = with_bit(range->writable, device, access == VS_SIM_ACCESS_READ_WRITE);
  }
  return VS_SIM_OK;
}

vs_sim_error vs_sim_access_get(const vs_sim *sim, uint64_t address, uint32_t device, vs_sim_access *access) {
  const vs_sim_range *range = vs_sim_range_with(sim, &sim->memory.mapped, address);
  if (device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  if (range == NULL) return VS_SIM_INVALID_VALUE;
  *access = (range->writable >> device & 1) != 0   ? VS_SIM_ACCESS_READ_WRITE
            : (range->readable >> device & 1) != 0 ? VS_SIM_ACCESS_READ
                                                   : VS_SIM_ACCESS_NONE;
  return VS_SIM_OK;
}

/* ---- reset and check ----------------------------------------------------------------------------------- */

void vs_sim_vmm_reset(vs_sim *sim, uint32_t device) {
  struct vs_sim_memory *m = &sim->memory;
  for (size_t i = 0; i < m->ranges.count; i++) {
    const vs_sim_range *range = &m->ranges.data[i];
    if (range->kind == VS_SIM_RANGE_MAPPING && range->device == device) unmap_one(sim, range->base);
  }
  for (uint32_t i = 0; i < m->physicals.count; i++) {
    vs_sim_physical *physical = physical_at(sim, i);
    if (physical->refs == 0 || physical->device != device) continue;
    physical->refs = 0;
    drop_if_unheld(sim, i);
  }
}

static uint32_t count_mappings(const vs_sim *sim, uint64_t handle) {
  uint32_t count = 0;
  for (size_t i = 0; i < sim->memory.ranges.count; i++) {
    const vs_sim_range *range = &sim->memory.ranges.data[i];
    count += range->kind == VS_SIM_RANGE_MAPPING && range->owner == handle;
  }
  return count;
}

bool vs_sim_vmm_check(const vs_sim *sim, uint32_t device, uint64_t *charged) {
  *charged = 0;
  for (uint32_t i = 0; i < sim->memory.physicals.count; i++) {
    const vs_sim_physical *physical = physical_at(sim, i);
    if (physical->device == device && physical->is_charged) *charged += physical->size;
    if (physical->device == device && physical->mappings != count_mappings(sim, handle_of(i))) return false;
    if (physical->refs == 0 && physical->mappings == 0 && physical->size != 0) return false;
  }
  return true;
}
