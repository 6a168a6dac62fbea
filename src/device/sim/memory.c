#include "device/sim/memory_internal.h"

/* ---- the table of ranges ------------------------------------------------------------------------------- */

vs_sim_range *vs_sim_range_from(const vs_sim *sim, const vs_ordmap *map, uint64_t base) {
  vs_ordmap_pos pos;
  return vs_ordmap_find(map, base, &pos) ? vs_sim_range_of(sim, map, pos) : NULL;
}

vs_sim_range *vs_sim_range_with(const vs_sim *sim, const vs_ordmap *map, uint64_t address) {
  vs_ordmap_pos pos;
  if (!vs_ordmap_floor(map, address, &pos)) return NULL;
  vs_sim_range *range = vs_sim_range_of(sim, map, pos);
  return address - range->base < range->size ? range : NULL;
}

bool vs_sim_ranges_meet(const vs_sim *sim, const vs_ordmap *map, uint64_t address, uint64_t size) {
  if (vs_sim_range_with(sim, map, address) != NULL) return true;
  const vs_ordmap_pos next = vs_ordmap_lower(map, address);
  return !vs_ordmap_at_end(map, next) && vs_ordmap_key(map, next) - address < size;
}

vs_sim_error vs_sim_range_add(vs_sim *sim, vs_ordmap *map, const vs_sim_range *range, uint32_t *index) {
  struct vs_sim_memory *m = &sim->memory;
  if (m->ranges.count >= VS_SIM_NO_INDEX) return VS_SIM_OUT_OF_MEMORY;
  VS_SIM_TRY(vs_sim_from_status(vs_vec_reserve(sim->host, &m->ranges, 1)));
  const bool is_spare = m->spare_range != VS_SIM_NO_INDEX;
  *index = is_spare ? m->spare_range : (uint32_t)m->ranges.count;
  VS_SIM_TRY(vs_sim_from_status(vs_ordmap_put(sim->host, map, range->base, *index)));
  VS_ASSERT(!is_spare || m->ranges.data[*index].kind == VS_SIM_RANGE_NONE);
  if (is_spare) m->spare_range = m->ranges.data[*index].uses;
  else m->ranges.count++;
  m->ranges.data[*index] = *range;
  m->ranges.data[*index].id = ++m->last_id;
  return VS_SIM_OK;
}

void vs_sim_range_undo(vs_sim *sim, vs_ordmap *map, uint64_t base) {
  struct vs_sim_memory *m = &sim->memory;
  vs_ordmap_pos pos;
  if (!vs_ordmap_find(map, base, &pos)) return;
  const uint32_t index = vs_ordmap_value(map, pos);
  VS_ASSERT(index < m->ranges.count && m->ranges.data[index].base == base);
  vs_ordmap_remove(sim->host, map, pos);
  m->ranges.data[index] = (vs_sim_range){.kind = VS_SIM_RANGE_NONE, .uses = m->spare_range};
  m->spare_range = index;
}

void vs_sim_range_remove(vs_sim *sim, vs_ordmap *map, uint64_t base) {
  const vs_sim_range *range = vs_sim_range_from(sim, map, base);
  if (range == NULL) return;
  const bool is_found = range->kind != VS_SIM_RANGE_RESERVED && range->kind != VS_SIM_RANGE_CHUNK;
  if (is_found && sim->hooks.gone != NULL) sim->hooks.gone(sim->hooks.ctx, range);
  vs_sim_range_undo(sim, map, base);
}

/* ---- the charge at the machine -------------------------------------------------------------------------- */

/* Locks the machine. If `bytes` of a card are not free, first gives the hook `make_room` the chance to release memory. */
static void lock_with_room(vs_sim *sim, uint32_t device, uint64_t bytes) {
  vs_sim_lock_machine(sim);
  if (sim->hooks.make_room == NULL || vs_sim_machine_free_bytes(sim->machine, sim->cards[device]) >= bytes)
    return;
  vs_sim_unlock_machine(sim);
  sim->hooks.make_room(sim->hooks.ctx, device, bytes);
  vs_sim_lock_machine(sim);
}

static void tell_charged(vs_sim *sim) {
  if (sim->hooks.charged != NULL) sim->hooks.charged(sim->hooks.ctx);
}

vs_sim_error vs_sim_pay(vs_sim *sim, uint32_t device, uint32_t account, uint64_t bytes) {
  VS_ASSERT(device < sim->device_count && sim->memory.windows[device].is_used);
  lock_with_room(sim, device, bytes);
  const vs_sim_error error = vs_sim_machine_take(sim->machine, sim->slot, sim->cards[device], account, bytes);
  vs_sim_unlock_machine(sim);
  if (error != VS_SIM_OK) return error;
  sim->memory.windows[device].charged_bytes += bytes;
  tell_charged(sim);
  return VS_SIM_OK;
}

bool vs_sim_pay_quietly(vs_sim *sim, uint32_t device, uint32_t account, uint64_t bytes) {
  vs_sim_lock_machine(sim);
  const uint32_t card = sim->cards[device];
  const bool is_enough = vs_sim_machine_free_bytes(sim->machine, card) >= bytes &&
                         vs_sim_machine_take(sim->machine, sim->slot, card, account, bytes) == VS_SIM_OK;
  vs_sim_unlock_machine(sim);
  if (!is_enough) return false;
  sim->memory.windows[device].charged_bytes += bytes;
  tell_charged(sim);
  return true;
}

void vs_sim_pay_back(vs_sim *sim, uint32_t device, uint32_t account, uint64_t bytes) {
  VS_ASSERT(bytes <= sim->memory.windows[device].charged_bytes);
  sim->memory.windows[device].charged_bytes -= bytes;
  vs_sim_lock_machine(sim);
  vs_sim_machine_give(sim->machine, sim->slot, sim->cards[device], account, bytes);
  vs_sim_unlock_machine(sim);
  tell_charged(sim);
}

vs_sim_error vs_sim_refuse(vs_sim *sim, uint32_t device, uint64_t bytes) {
  VS_ASSERT(bytes > VS_SIM_MOST_TOTAL);
  return vs_sim_pay(sim, device, sim->account, bytes);
}

/* ---- the card ------------------------------------------------------------------------------------------ */

vs_sim_error vs_sim_context_use(vs_sim *sim, uint32_t device) {
  if (device >= sim->device_count) return VS_SIM_INVALID_DEVICE;
  if (sim->memory.windows[device].is_used) return VS_SIM_OK;
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_CONTEXT));
  lock_with_room(sim, device, sim->machine->cards[sim->cards[device]].context_bytes);
  const vs_sim_error error = vs_sim_machine_context(sim->machine, sim->slot, sim->cards[device]);
  vs_sim_unlock_machine(sim);
  sim->memory.windows[device].is_used = error == VS_SIM_OK;
  if (error == VS_SIM_OK) tell_charged(sim);
  return error;
}

vs_sim_error vs_sim_context_grow(vs_sim *sim, uint32_t device, uint32_t account, uint64_t bytes) {
  VS_SIM_TRY(vs_sim_context_use(sim, device));
  lock_with_room(sim, device, bytes);
  const vs_sim_error error =
      vs_sim_machine_context_grow(sim->machine, sim->slot, sim->cards[device], account, bytes);
  vs_sim_unlock_machine(sim);
  if (error == VS_SIM_OK) tell_charged(sim);
  return error;
}

vs_sim_error vs_sim_memory_info(vs_sim *sim, uint32_t device, uint64_t *free_bytes, uint64_t *total_bytes) {
  VS_SIM_TRY(vs_sim_context_use(sim, device));
  vs_sim_lock_machine(sim);
  *free_bytes = vs_sim_machine_free_bytes(sim->machine, sim->cards[device]);
  vs_sim_unlock_machine(sim);
  *total_bytes = sim->machine->cards[sim->cards[device]].figures.total_bytes;
  return VS_SIM_OK;
}

bool vs_sim_peer_possible(const vs_sim *sim, uint32_t device, uint32_t peer) {
  return device != peer && device < sim->device_count && peer < sim->device_count;
}

vs_sim_error vs_sim_peer_enable(vs_sim *sim, uint32_t device, uint32_t peer) {
  if (!vs_sim_peer_possible(sim, device, peer)) return VS_SIM_INVALID_DEVICE;
  uint8_t *peers = &sim->memory.windows[device].peers;
  if ((*peers >> peer & 1) != 0) return VS_SIM_PEER_ACCESS_ALREADY_ENABLED;
  VS_SIM_TRY(vs_sim_context_use(sim, device));
  VS_SIM_TRY(vs_sim_context_use(sim, peer));
  *peers = (uint8_t)(*peers | 1u << peer);
  return VS_SIM_OK;
}

vs_sim_error vs_sim_peer_disable(vs_sim *sim, uint32_t device, uint32_t peer) {
  if (!vs_sim_peer_possible(sim, device, peer)) return VS_SIM_INVALID_DEVICE;
  uint8_t *peers = &sim->memory.windows[device].peers;
  if ((*peers >> peer & 1) == 0) return VS_SIM_PEER_ACCESS_NOT_ENABLED;
  *peers = (uint8_t)(*peers & ~(1u << peer));
  return VS_SIM_OK;
}

/* ---- addresses in a window ----------------------------------------------------------------------------- */

static uint64_t window_base(uint32_t device) { return VS_SIM_WINDOW_BASE + device * VS_SIM_WINDOW_SIZE; }

static vs_sim_span window_span(uint32_t device) {
  return (vs_sim_span){window_base(device), VS_SIM_WINDOW_SIZE};
}

static vs_sim_span granule_of(uint64_t address) {
  return (vs_sim_span){address - address % VS_SIM_GRANULE, VS_SIM_GRANULE};
}

/* Makes space for one more owner of granules: a window with n of them has at most n + 1 free ranges. */
static vs_sim_error make_room_for_granules(vs_sim *sim, uint32_t device) {
  vs_sim_window *window = &sim->memory.windows[device];
  return vs_sim_from_status(vs_sim_free_set_reserve(sim->host, &window->granules, window->pieces + 2));
}

vs_sim_error vs_sim_granules_find(vs_sim *sim, uint32_t device, uint64_t bytes, uint64_t *address) {
  VS_SIM_TRY(make_room_for_granules(sim, device));
  const vs_sim_free_set *granules = &sim->memory.windows[device].granules;
  return vs_sim_free_set_first(granules, bytes, 1, address) ? VS_SIM_OK : VS_SIM_OUT_OF_MEMORY;
}

void vs_sim_granules_cut(vs_sim *sim, uint32_t device, uint64_t address, uint64_t bytes) {
  VS_ASSERT(address % VS_SIM_GRANULE == 0 && bytes % VS_SIM_GRANULE == 0);
  vs_sim_free_set_cut(&sim->memory.windows[device].granules, address, bytes);
  sim->memory.windows[device].pieces++;
}

void vs_sim_granules_give(vs_sim *sim, uint32_t device, uint64_t address, uint64_t bytes) {
  VS_ASSERT(address % VS_SIM_GRANULE == 0 && bytes % VS_SIM_GRANULE == 0);
  VS_ASSERT(sim->memory.windows[device].pieces > 0);
  (void)vs_sim_free_set_put(&sim->memory.windows[device].granules, (vs_sim_span){address, bytes},
                            window_span(device));
  sim->memory.windows[device].pieces--;
}

/* Finds addresses for a small request: in a shared granule, or in a new granule that becomes shared (*is_fresh). A granule
 * with n blocks has at most n + 1 free ranges and at least one block, so space for twice the number of blocks is enough. */
static vs_sim_error find_small(vs_sim *sim, uint32_t device, uint64_t bytes, uint64_t *address,
                               bool *is_fresh) {
  vs_sim_window *window = &sim->memory.windows[device];
  VS_SIM_TRY(
      vs_sim_from_status(vs_sim_free_set_reserve(sim->host, &window->small, 2 * (window->small_pieces + 1))));
  VS_SIM_TRY(vs_sim_from_status(vs_map_reserve(sim->host, &window->shared)));
  *is_fresh = !vs_sim_free_set_first(&window->small, bytes, 1, address);
  return *is_fresh ? vs_sim_granules_find(sim, device, VS_SIM_GRANULE, address) : VS_SIM_OK;
}

static void cut_small(vs_sim *sim, uint32_t device, uint64_t address, uint64_t bytes, bool is_fresh) {
  vs_sim_window *window = &sim->memory.windows[device];
  if (is_fresh) {
    vs_sim_granules_cut(sim, device, address, VS_SIM_GRANULE);
    (void)vs_sim_free_set_put(&window->small, granule_of(address), granule_of(address));
    vs_map_add(&window->shared, granule_of(address).start, sim->account);
  }
  vs_sim_free_set_cut(&window->small, address, bytes);
  window->small_pieces++;
}

static void give_small(vs_sim *sim, uint32_t device, uint64_t address, uint64_t bytes) {
  vs_sim_window *window = &sim->memory.windows[device];
  const vs_sim_span free_range =
      vs_sim_free_set_put(&window->small, (vs_sim_span){address, bytes}, granule_of(address));
  VS_ASSERT(window->small_pieces > 0);
  window->small_pieces--;
  if (free_range.size < VS_SIM_GRANULE) return;
  vs_sim_free_set_cut(&window->small, free_range.start, free_range.size);
  vs_sim_granules_give(sim, device, free_range.start, free_range.size);
  const size_t shared = vs_map_find(&window->shared, free_range.start);
  VS_ASSERT(shared != VS_MAP_NONE);
  const uint32_t account = window->shared.slots[shared].value;
  vs_map_remove(&window->shared, shared);
  vs_sim_pay_back(sim, device, account, VS_SIM_GRANULE);
}

/* ---- device memory ------------------------------------------------------------------------------------- */

/* The bytes of its window that a range occupies. */
static uint64_t footprint(const vs_sim_range *range) {
  const bool is_small = range->kind == VS_SIM_RANGE_DEVICE && range->size <= VS_SIM_SMALL_LIMIT;
  return vs_sim_round_up(range->size, is_small ? VS_SIM_SMALL_UNIT : VS_SIM_GRANULE);
}

static vs_sim_error alloc_small(vs_sim *sim, vs_sim_range *range, uint32_t *index) {
  const uint64_t bytes = footprint(range);
  bool is_fresh;
  VS_SIM_TRY(find_small(sim, range->device, bytes, &range->base, &is_fresh));
  VS_SIM_TRY(vs_sim_range_add(sim, &sim->memory.by_base, range, index));
  const vs_sim_error error =
      is_fresh ? vs_sim_pay(sim, range->device, sim->account, VS_SIM_GRANULE) : VS_SIM_OK;
  if (error == VS_SIM_OK) cut_small(sim, range->device, range->base, bytes, is_fresh);
  else vs_sim_range_undo(sim, &sim->memory.by_base, range->base);
  return error;
}

static vs_sim_error alloc_granules(vs_sim *sim, vs_sim_range *range, bool is_charged, uint32_t *index) {
  const uint64_t bytes = footprint(range);
  VS_SIM_TRY(vs_sim_granules_find(sim, range->device, bytes, &range->base));
  VS_SIM_TRY(vs_sim_range_add(sim, &sim->memory.by_base, range, index));
  const vs_sim_error error = is_charged ? vs_sim_pay(sim, range->device, range->account, bytes) : VS_SIM_OK;
  if (error == VS_SIM_OK) vs_sim_granules_cut(sim, range->device, range->base, bytes);
  else vs_sim_range_undo(sim, &sim->memory.by_base, range->base);
  return error;
}

vs_sim_error vs_sim_alloc(vs_sim *sim, uint32_t device, uint64_t size, uint64_t *address) {
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_ALLOC));
  if (size == 0) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_sim_context_use(sim, device));
  if (size > VS_SIM_MOST_TOTAL) return vs_sim_refuse(sim, device, size);
  vs_sim_range range = {
      .size = size, .device = device, .kind = VS_SIM_RANGE_DEVICE, .account = (uint8_t)sim->account};
  uint32_t index;
  VS_SIM_TRY(size <= VS_SIM_SMALL_LIMIT ? alloc_small(sim, &range, &index)
                                        : alloc_granules(sim, &range, true, &index));
  *address = range.base;
  return VS_SIM_OK;
}

vs_sim_error vs_sim_managed_alloc(vs_sim *sim, uint32_t device, uint64_t size, uint64_t *address) {
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_MANAGED));
  if (size == 0) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(vs_sim_context_use(sim, device));
  if (size > VS_SIM_WINDOW_SIZE) return VS_SIM_OUT_OF_MEMORY;
  vs_sim_range range = {.size = size, .device = device, .kind = VS_SIM_RANGE_MANAGED};
  uint32_t index;
  VS_SIM_TRY(alloc_granules(sim, &range, false, &index));
  sim->memory.windows[device].managed_bytes += size;
  *address = range.base;
  return VS_SIM_OK;
}

void vs_sim_range_free(vs_sim *sim, const vs_sim_range *range) {
  const uint64_t bytes = footprint(range);
  vs_sim_range_remove(sim, &sim->memory.by_base, range->base);
  if (bytes < VS_SIM_GRANULE) {
    give_small(sim, range->device, range->base, bytes);
    return;
  }
  vs_sim_granules_give(sim, range->device, range->base, bytes);
  if (range->kind == VS_SIM_RANGE_DEVICE) vs_sim_pay_back(sim, range->device, range->account, bytes);
  if (range->kind == VS_SIM_RANGE_MANAGED) sim->memory.windows[range->device].managed_bytes -= range->size;
}

/* ---- looking for ranges -------------------------------------------------------------------------------- */

static vs_sim_range *range_at_address(const vs_sim *sim, uint64_t address) {
  const bool is_reserved = address >= VS_SIM_RESERVED_BASE && address < VS_SIM_RESERVED_END;
  return vs_sim_range_with(sim, is_reserved ? &sim->memory.mapped : &sim->memory.by_base, address);
}

const vs_sim_range *vs_sim_find(const vs_sim *sim, uint64_t address) {
  return range_at_address(sim, address);
}

vs_sim_range *vs_sim_find_mutable(vs_sim *sim, uint64_t address) { return range_at_address(sim, address); }

static void visit_all(const vs_sim *sim, const vs_ordmap *map,
                      void (*visit)(void *ctx, const vs_sim_range *range), void *ctx) {
  for (vs_ordmap_pos pos = vs_ordmap_begin(); !vs_ordmap_at_end(map, pos); pos = vs_ordmap_next(map, pos))
    visit(ctx, vs_sim_range_of(sim, map, pos));
}

void vs_sim_for_each_range(const vs_sim *sim, void (*visit)(void *ctx, const vs_sim_range *range),
                           void *ctx) {
  visit_all(sim, &sim->memory.by_base, visit, ctx);
  visit_all(sim, &sim->memory.mapped, visit, ctx);
}

/* ---- host memory --------------------------------------------------------------------------------------- */

static bool is_host_span(uint64_t address, uint64_t size) {
  uint64_t end;
  if (size == 0 || address == 0 || !vs_add_u64(address, size, &end)) return false;
  return end <= VS_SIM_WINDOW_BASE || address >= VS_SIM_RESERVED_END;
}

vs_sim_error vs_sim_host_add(vs_sim *sim, uint64_t address, uint64_t size, uint32_t flags, uint64_t user) {
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_HOST));
  if (!is_host_span(address, size)) return VS_SIM_INVALID_VALUE;
  if (vs_sim_ranges_meet(sim, &sim->memory.by_base, address, size))
    return VS_SIM_HOST_MEMORY_ALREADY_REGISTERED;
  const vs_sim_range range = {.base = address,
                              .size = size,
                              .user = user,
                              .flags = flags,
                              .device = VS_SIM_NO_DEVICE_ID,
                              .kind = VS_SIM_RANGE_HOST};
  uint32_t index;
  return vs_sim_range_add(sim, &sim->memory.by_base, &range, &index);
}

vs_sim_error vs_sim_host_remove(vs_sim *sim, uint64_t address, vs_sim_range *was) {
  const vs_sim_range *range = vs_sim_range_from(sim, &sim->memory.by_base, address);
  if (range == NULL || range->kind != VS_SIM_RANGE_HOST) return VS_SIM_HOST_MEMORY_NOT_REGISTERED;
  if (was != NULL) *was = *range;
  vs_sim_range_remove(sim, &sim->memory.by_base, address);
  return VS_SIM_OK;
}

/* ---- between processes --------------------------------------------------------------------------------- */

_Static_assert(sizeof(vs_sim_token) == 64, "programs pass tokens on as 64 bytes");

void vs_sim_token_make(const vs_sim *sim, vs_sim_token *token) {
  *token = (vs_sim_token){.magic = VS_SIM_TOKEN_MAGIC,
                          .pid = sim->machine->processes[sim->slot].pid,
                          .started = sim->machine->processes[sim->slot].started};
}

bool vs_sim_token_is(const vs_sim *sim, const vs_sim_token *token, vs_sim_range_kind kind) {
  return token->magic == VS_SIM_TOKEN_MAGIC && token->kind == (uint32_t)kind &&
         vs_sim_token_device(sim, token) < sim->device_count && token->size > 0 &&
         token->size <= VS_SIM_MOST_TOTAL;
}

uint32_t vs_sim_token_device(const vs_sim *sim, const vs_sim_token *token) {
  uint32_t device = 0;
  while (device < sim->device_count && sim->cards[device] != token->card) device++;
  return device;
}

bool vs_sim_token_is_own(const vs_sim *sim, const vs_sim_token *token) {
  const vs_sim_process *self = &sim->machine->processes[sim->slot];
  return token->pid == self->pid && token->started == self->started;
}

vs_sim_error vs_sim_ipc_export(const vs_sim *sim, uint64_t address, vs_sim_token *token) {
  const vs_sim_range *range = vs_sim_find(sim, address);
  if (range == NULL || range->kind != VS_SIM_RANGE_DEVICE) return VS_SIM_INVALID_VALUE;
  vs_sim_token_make(sim, token);
  token->base = range->base;
  token->size = range->size;
  token->id = range->id;
  token->card = sim->cards[range->device];
  token->kind = VS_SIM_RANGE_DEVICE;
  return VS_SIM_OK;
}

/* A hash of the identity of a shared range, stored in the `owner` of the import. Tokens with equal hashes count as equal. At 64
 * bits that does not happen by chance, and a program that constructs such tokens affects only itself. */
static uint64_t name_of(const vs_sim_token *token) {
  const uint64_t who[] = {token->pid, token->started, token->id, token->base};
  return vs_hash_bytes(who, sizeof who);
}

vs_sim_error vs_sim_ipc_open(vs_sim *sim, const vs_sim_token *token, uint64_t *address) {
  struct vs_sim_memory *m = &sim->memory;
  VS_SIM_TRY(vs_sim_fault_step(sim, VS_SIM_FAULT_IPC));
  if (!vs_sim_token_is(sim, token, VS_SIM_RANGE_DEVICE)) return VS_SIM_INVALID_VALUE;
  if (vs_sim_token_is_own(sim, token)) return VS_SIM_INVALID_CONTEXT;
  const uint32_t device = vs_sim_token_device(sim, token);
  const uint64_t name = name_of(token);
  const size_t slot = vs_map_find(&m->imports, name);
  if (slot != VS_MAP_NONE) {
    vs_sim_range *known = vs_sim_range_at(sim, m->imports.slots[slot].value);
    VS_ASSERT(known->kind == VS_SIM_RANGE_IMPORTED && known->uses > 0);
    known->uses++;
    *address = known->base;
    return VS_SIM_OK;
  }
  vs_sim_range range = {
      .size = token->size, .owner = name, .device = device, .kind = VS_SIM_RANGE_IMPORTED, .uses = 1};
  VS_SIM_TRY(vs_sim_from_status(vs_map_reserve(sim->host, &m->imports)));
  uint32_t index;
  VS_SIM_TRY(alloc_granules(sim, &range, false, &index));
  vs_map_add(&m->imports, name, index);
  *address = range.base;
  return VS_SIM_OK;
}

static void forget_import(vs_sim *sim, const vs_sim_range *range) {
  const vs_sim_range copy = *range;
  const size_t slot = vs_map_find(&sim->memory.imports, copy.owner);
  VS_ASSERT(slot != VS_MAP_NONE);
  if (slot != VS_MAP_NONE) vs_map_remove(&sim->memory.imports, slot);
  vs_sim_range_free(sim, &copy);
}

vs_sim_error vs_sim_ipc_close(vs_sim *sim, uint64_t address) {
  vs_sim_range *range = vs_sim_range_from(sim, &sim->memory.by_base, address);
  if (range == NULL || range->kind != VS_SIM_RANGE_IMPORTED) return VS_SIM_INVALID_VALUE;
  if (--range->uses == 0) forget_import(sim, range);
  return VS_SIM_OK;
}

/* ---- init, deinit, reset ------------------------------------------------------------------------------- */

void vs_sim_memory_reset(vs_sim *sim, uint32_t device) {
  for (size_t i = 0; i < sim->memory.ranges.count; i++) {
    const vs_sim_range range = sim->memory.ranges.data[i];
    if (range.device != device) continue;
    if (range.kind == VS_SIM_RANGE_IMPORTED) forget_import(sim, &range);
    else if (range.kind == VS_SIM_RANGE_DEVICE || range.kind == VS_SIM_RANGE_MANAGED)
      vs_sim_range_free(sim, &range);
  }
  vs_sim_lock_machine(sim);
  vs_sim_machine_reset(sim->machine, sim->slot, sim->cards[device]);
  vs_sim_unlock_machine(sim);
  sim->memory.windows[device].is_used = false;
  sim->memory.windows[device].peers = 0;
  sim->memory.windows[device].own = (vs_sim_own){0};
  tell_charged(sim);
}

static vs_sim_error init_free_set(vs_sim *sim, vs_sim_free_set *set, uint64_t start, uint64_t size) {
  VS_SIM_TRY(vs_sim_from_status(vs_sim_free_set_reserve(sim->host, set, 1)));
  (void)vs_sim_free_set_put(set, (vs_sim_span){start, size}, (vs_sim_span){start, size});
  return VS_SIM_OK;
}

static vs_sim_error init_all(vs_sim *sim) {
  VS_SIM_TRY(init_free_set(sim, &sim->memory.addresses, VS_SIM_RESERVED_BASE,
                           VS_SIM_RESERVED_END - VS_SIM_RESERVED_BASE));
  for (uint32_t d = 0; d < sim->device_count; d++)
    VS_SIM_TRY(init_free_set(sim, &sim->memory.windows[d].granules, window_base(d), VS_SIM_WINDOW_SIZE));
  return VS_SIM_OK;
}

vs_sim_error vs_sim_memory_init(vs_sim *sim) {
  sim->memory = (struct vs_sim_memory){
      .spare_range = VS_SIM_NO_INDEX, .spare_physical = VS_SIM_NO_INDEX, .spare_pool = VS_SIM_NO_INDEX};
  const vs_sim_error error = init_all(sim);
  if (error != VS_SIM_OK) vs_sim_memory_deinit(sim);
  return error;
}

void vs_sim_memory_deinit(vs_sim *sim) {
  struct vs_sim_memory *m = &sim->memory;
  for (uint32_t d = 0; d < VS_SIM_MAX_DEVICES; d++) {
    vs_sim_free_set_deinit(sim->host, &m->windows[d].granules);
    vs_sim_free_set_deinit(sim->host, &m->windows[d].small);
    vs_map_deinit(sim->host, &m->windows[d].shared);
  }
  vs_sim_free_set_deinit(sim->host, &m->addresses);
  vs_ordmap_deinit(sim->host, &m->by_base);
  vs_ordmap_deinit(sim->host, &m->reserved);
  vs_ordmap_deinit(sim->host, &m->mapped);
  vs_map_deinit(sim->host, &m->imports);
  vs_vec_free(sim->host, &m->ranges);
  vs_vec_free(sim->host, &m->physicals);
}

/* ---- check --------------------------------------------------------------------------------------------- */

typedef struct window_sums {
  uint64_t addresses; /* bytes of ranges with granules of their own, charged or not */
  uint64_t charged;   /* the charged part of these */
  uint64_t small;     /* bytes of ranges in shared granules */
  uint64_t small_pieces, managed;
} window_sums;

static window_sums sum_window(const vs_sim *sim, uint32_t device) {
  window_sums sums = {0};
  for (size_t i = 0; i < sim->memory.ranges.count; i++) {
    const vs_sim_range *range = &sim->memory.ranges.data[i];
    if (range->device != device) continue;
    const uint64_t bytes = footprint(range);
    if (range->kind == VS_SIM_RANGE_MANAGED) sums.managed += range->size;
    if (range->kind == VS_SIM_RANGE_MANAGED || range->kind == VS_SIM_RANGE_IMPORTED) sums.addresses += bytes;
    if (range->kind != VS_SIM_RANGE_DEVICE) continue;
    if (range->size <= VS_SIM_SMALL_LIMIT) {
      sums.small += bytes;
      sums.small_pieces++;
    } else {
      sums.addresses += bytes;
      sums.charged += bytes;
    }
  }
  return sums;
}

bool vs_sim_window_check(vs_sim *sim, uint32_t device, uint64_t physical, uint64_t chunks) {
  const vs_sim_window *window = &sim->memory.windows[device];
  const window_sums sums = sum_window(sim, device);
  uint64_t free_bytes, free_small;
  if (!vs_sim_free_set_check(&window->granules, &free_bytes)) return false;
  if (!vs_sim_free_set_check(&window->small, &free_small)) return false;
  const uint64_t shared = sums.small + free_small; /* whole granules */
  if (shared % VS_SIM_GRANULE != 0 || sums.small_pieces != window->small_pieces) return false;
  if (free_bytes + sums.addresses + shared + chunks != VS_SIM_WINDOW_SIZE) return false;
  if (window->managed_bytes != sums.managed) return false;
  if (window->charged_bytes != sums.charged + shared + chunks + physical) return false;
  vs_sim_lock_machine(sim);
  const vs_sim_use *use = &sim->machine->processes[sim->slot].use[sim->cards[device]];
  const bool is_paid = use->used_bytes - use->context_bytes == window->charged_bytes;
  vs_sim_unlock_machine(sim);
  return is_paid;
}

/* Whether a range in a window lies in it, and its first and last byte are not free. */
static bool is_in_window(const vs_sim *sim, const vs_sim_range *range) {
  if (range->device >= sim->device_count) return false;
  const vs_sim_window *window = &sim->memory.windows[range->device];
  const uint64_t offset = range->base - window_base(range->device);
  if (offset >= VS_SIM_WINDOW_SIZE || range->size > VS_SIM_WINDOW_SIZE - offset) return false;
  return !vs_sim_free_set_cover(&window->granules, range->base, 1) &&
         !vs_sim_free_set_cover(&window->granules, range->base + range->size - 1, 1) &&
         !vs_sim_free_set_cover(&window->small, range->base, 1);
}

/* Whether the addresses of a range are where its kind belongs. */
static bool is_placed(const vs_sim *sim, const vs_sim_range *range) {
  const struct vs_sim_memory *m = &sim->memory;
  const vs_sim_range *around;
  switch (range->kind) {
    case VS_SIM_RANGE_HOST: return range->device == VS_SIM_NO_DEVICE_ID;
    case VS_SIM_RANGE_RESERVED:
      return range->base >= VS_SIM_RESERVED_BASE && range->base < VS_SIM_RESERVED_END &&
             range->size <= VS_SIM_RESERVED_END - range->base &&
             !vs_sim_free_set_cover(&m->addresses, range->base, 1);
    case VS_SIM_RANGE_MAPPING:
      around = vs_sim_range_with(sim, &m->reserved, range->base);
      return around != NULL && range->size <= around->size - (range->base - around->base);
    default: return is_in_window(sim, range);
  }
}

/* Whether the list of spare entries has each entry without a range, and no other. */
static bool check_spare(const vs_sim *sim) {
  const struct vs_sim_memory *m = &sim->memory;
  size_t spare = 0, listed = 0;
  for (size_t i = 0; i < m->ranges.count; i++) spare += m->ranges.data[i].kind == VS_SIM_RANGE_NONE;
  for (uint32_t at = m->spare_range; at != VS_SIM_NO_INDEX; at = m->ranges.data[at].uses) {
    if (at >= m->ranges.count || m->ranges.data[at].kind != VS_SIM_RANGE_NONE) return false;
    if (++listed > spare) return false; /* a circle */
  }
  return listed == spare;
}

/* Every entry of `map` refers to a range with its base in the right place, and no two of these overlap. */
static bool check_map(const vs_sim *sim, const vs_ordmap *map, size_t *count) {
  uint64_t end = 0;
  if (!vs_ordmap_check(map)) return false;
  for (vs_ordmap_pos pos = vs_ordmap_begin(); !vs_ordmap_at_end(map, pos); pos = vs_ordmap_next(map, pos)) {
    if (vs_ordmap_value(map, pos) >= sim->memory.ranges.count) return false;
    const vs_sim_range *range = vs_sim_range_of(sim, map, pos);
    if (range->kind == VS_SIM_RANGE_NONE || range->base != vs_ordmap_key(map, pos)) return false;
    if (range->size == 0 || range->base < end || !is_placed(sim, range)) return false;
    end = range->base + range->size;
    ++*count;
  }
  return true;
}

bool vs_sim_ranges_check(const vs_sim *sim) {
  const struct vs_sim_memory *m = &sim->memory;
  size_t entered = 0, used = 0;
  if (!check_map(sim, &m->by_base, &entered) || !check_map(sim, &m->reserved, &entered) ||
      !check_map(sim, &m->mapped, &entered))
    return false;
  for (size_t i = 0; i < m->ranges.count; i++)
    used += m->ranges.data[i].kind != VS_SIM_RANGE_NONE && m->ranges.data[i].kind != VS_SIM_RANGE_CHUNK;
  return entered == used && check_spare(sim) && vs_sim_free_set_check(&m->addresses, NULL);
}
