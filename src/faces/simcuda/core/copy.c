/* Copies and memsets: checks of the ranges, the stream's order, and the bytes. */
#include "faces/simcuda/core/process_internal.h"

#include "faces/simcuda/core/callbacks.h"
#include "faces/simcuda/core/readback_sites.h"

/* Rows in source and destination; a plain copy is one row. */
typedef struct vs_transfer {
  uint64_t to, to_pitch, from, from_pitch, width, height;
} vs_transfer;

/* ---- the kind of memory at an address */

typedef enum vs_place {
  PLACE_PAGEABLE, /* the program's own memory */
  PLACE_PINNED,   /* host memory that CUDA allocated or registered, and managed memory: real bytes */
  PLACE_DEVICE,   /* bytes are in vs_readback */
} vs_place;

static bool is_device_address(uint64_t address) {
  return address >= VS_SIM_WINDOW_BASE && address < VS_SIM_RESERVED_END;
}

/* Adjacent mappings may be used as one range of addresses. */
static bool mappings_reach(const vs_sim *sim, const vs_sim_range *range, uint64_t end) {
  while (range->base + range->size < end) {
    range = vs_sim_find(sim, range->base + range->size);
    if (range == NULL || range->kind != VS_SIM_RANGE_MAPPING) return false;
  }
  return true;
}

static vs_sim_error find_place(const vs_sim *sim, uint64_t address, uint64_t size, vs_place *place) {
  uint64_t end;
  if (!vs_add_u64(address, size, &end)) return VS_SIM_INVALID_VALUE;
  const vs_sim_range *range = vs_sim_find(sim, address);
  if (!is_device_address(address)) {
    *place = range == NULL ? PLACE_PAGEABLE : PLACE_PINNED;
    return VS_SIM_OK;
  }
  if (range == NULL) return VS_SIM_INVALID_VALUE;
  *place = range->kind == VS_SIM_RANGE_MANAGED ? PLACE_PINNED : PLACE_DEVICE;
  if (range->kind == VS_SIM_RANGE_MAPPING)
    return mappings_reach(sim, range, end) ? VS_SIM_OK : VS_SIM_INVALID_VALUE;
  return end - range->base <= range->size ? VS_SIM_OK : VS_SIM_INVALID_VALUE;
}

/* The bytes from the start of the first row to the end of the last. false: rows overlap, or the size overflows. */
static bool span_of(uint64_t pitch, uint64_t width, uint64_t height, uint64_t *span) {
  uint64_t before;
  VS_ASSERT(width != 0 && height != 0);
  if (height > 1 && pitch < width) return false;
  return !__builtin_mul_overflow(pitch, height - 1, &before) && vs_add_u64(before, width, span);
}

/* ---- order in the stream */

/* Adds work to the stream. *is_captured: the stream captures, so nothing is copied now. */
static vs_sim_error add_work(vs_sim *sim, vs_sim_node_kind kind, uint64_t stream, bool *is_captured) {
  const vs_simcuda_thread *thread = vs_simcuda_this_thread();
  const vs_sim_work work = {.kind = kind};
  *is_captured = false;
  VS_SIM_TRY(vs_simcuda_use_locked(thread->device));
  if (stream != VS_SIMCUDA_NO_STREAM) return vs_sim_work_add(sim, thread->device, stream, &work, is_captured);
  VS_SIM_TRY(vs_sim_unsafe_call(sim, &thread->sim));
  return vs_sim_work_add(sim, thread->device, VS_SIM_STREAM_NULL, &work, is_captured);
}

static vs_sim_error wait_for(vs_sim *sim, uint64_t stream) {
  const vs_simcuda_thread *thread = vs_simcuda_this_thread();
  const uint64_t which = stream == VS_SIMCUDA_NO_STREAM ? (uint64_t)VS_SIM_STREAM_NULL : stream;
  return vs_sim_stream_synchronize(sim, thread->device, which);
}

/* A synchronous form first waits for functions of the program that were enqueued before it. */
static vs_sim *lock_for(uint64_t stream) {
  if (stream == VS_SIMCUDA_NO_STREAM) vs_callbacks_wait();
  return vs_simcuda_lock();
}

/* ---- bytes */

/* An address of the host as a pointer; the caller has found that it is host memory. */
static uint8_t *host(uint64_t address) {
  return (uint8_t *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

/* Joins rows without gaps into one row. */
static void join_rows(vs_transfer *t) {
  uint64_t joined;
  if (t->height <= 1 || t->to_pitch != t->width || t->from_pitch != t->width) return;
  if (__builtin_mul_overflow(t->width, t->height, &joined)) return;
  t->width = joined;
  t->height = 1;
}

static void copy_on_host(const vs_transfer *t) {
  for (uint64_t row = 0; row < t->height; row++)
    memmove(host(t->to + row * t->to_pitch), host(t->from + row * t->from_pitch), (size_t)t->width);
}

static void read_unknown(const vs_transfer *t) {
  for (uint64_t row = 0; row < t->height; row++)
    vs_readback_read_unknown(vs_this_process.configuration.given.values, host(t->to + row * t->to_pitch),
                             t->width);
}

/* The part of a copy that needs the lock. true: no byte of the source is known, so the caller can write the
 * host's bytes without the lock. */
static bool move_bytes(const vs_transfer *t, vs_place to, vs_place from) {
  vs_stored_values *stored = &vs_this_process.stored;
  uint64_t span;
  VS_ASSERT(vs_simcuda_is_locked());
  if (to != PLACE_DEVICE && from != PLACE_DEVICE) return false;
  if (to != PLACE_DEVICE && span_of(t->from_pitch, t->width, t->height, &span) &&
      !vs_readback_is_known(&stored->common, t->from, span))
    return true;
  for (uint64_t row = 0; row < t->height; row++) {
    const uint64_t target = t->to + row * t->to_pitch, source = t->from + row * t->from_pitch;
    if (to == PLACE_DEVICE && from == PLACE_DEVICE) vs_stored_move(stored, target, source, t->width);
    else if (to == PLACE_DEVICE) vs_stored_write(stored, target, host(source), t->width);
    else vs_readback_read(&stored->common, source, host(target), t->width);
  }
  return false;
}

/* ---- values that the place of a read is given */

/* What the program's state was when it read, by which a loop that changes nothing is recognised. */
static void look_at_state(vs_readback_state *state) {
  const vs_sim_process *process = vs_this_process.process;
  VS_ASSERT(vs_simcuda_is_locked());
  *state = (vs_readback_state){.kernels = process->kernels,
                               .written = vs_this_process.stored.written,
                               .steps = process->steps,
                               .thread = vs_simcuda_this_thread()->id};
  for (uint32_t i = 0; i < vs_this_process.device_count; i++) {
    const vs_sim_use *use = &process->use[vs_this_process.devices[i].number];
    state->memory += use->used_bytes + __atomic_load_n(&use->allocated_peak_bytes, __ATOMIC_RELAXED);
  }
}

static void read_kept(const vs_transfer *t) {
  if (vs_simcuda_lock() == NULL) return;
  vs_readback *kept = vs_stored_kept(&vs_this_process.stored);
  for (uint64_t row = 0; row < t->height; row++)
    vs_readback_read(kept, t->from + row * t->from_pitch, host(t->to + row * t->to_pitch), t->width);
  vs_simcuda_unlock();
}

/* false: the value does not fit such a read, which keeps what it has. */
static bool fill_rows(const vs_transfer *t, const vs_given_value *value) {
  for (uint64_t row = 0; row < t->height; row++)
    if (!vs_given_fill(value, host(t->to + row * t->to_pitch), t->width)) return false;
  return true;
}

static bool is_zero(const uint8_t *bytes, uint64_t size) {
  uint64_t i = 0;
  while (i < size && bytes[i] == 0) i++;
  return i == size;
}

/* The bytes are there; the place of the read may be given others. */
static void note_read(const vs_transfer *t, vs_readback_state *state) {
  enum { SAMPLE = 64 };
  state->value = vs_hash_bytes(host(t->to), vs_min_u64(t->width, SAMPLE));
  state->is_zero = t->width <= SAMPLE && is_zero(host(t->to), t->width);
  const vs_readback_override given = vs_readback_sites_note(t->width * t->height, state);
  if (!given.is_there) return;
  if (given.value.kind == VS_GIVEN_KEEP) read_kept(t);
  else if (!fill_rows(t, &given.value)) vs_readback_sites_misfit(given.place, t->width * t->height);
}

static void report_lost(bool lost) {
  if (lost)
    vs_simcuda_say_once("the host has no memory to keep more values; what was not kept is read as zeros");
}

/* ---- copy */

typedef struct vs_copy_plan {
  vs_place to, from;
  bool is_captured, is_unknown, has_lost;
  vs_readback_state state; /* of a read */
} vs_copy_plan;

static vs_sim_error copy_locked(vs_sim *sim, const vs_transfer *t, uint64_t stream, vs_copy_plan *plan) {
  uint64_t to_span, from_span;
  if (!span_of(t->to_pitch, t->width, t->height, &to_span)) return VS_SIM_INVALID_VALUE;
  if (!span_of(t->from_pitch, t->width, t->height, &from_span)) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(find_place(sim, t->to, to_span, &plan->to));
  VS_SIM_TRY(find_place(sim, t->from, from_span, &plan->from));
  VS_SIM_TRY(add_work(sim, VS_SIM_NODE_MEMCPY, stream, &plan->is_captured));
  if (plan->is_captured) return VS_SIM_OK;
  /* A copy from the device to pageable memory is complete when the call returns. */
  if (stream == VS_SIMCUDA_NO_STREAM || (plan->from == PLACE_DEVICE && plan->to == PLACE_PAGEABLE))
    VS_SIM_TRY(wait_for(sim, stream));
  plan->is_unknown = move_bytes(t, plan->to, plan->from);
  plan->has_lost = vs_stored_lost(&vs_this_process.stored);
  if (plan->from != PLACE_DEVICE || plan->to == PLACE_DEVICE) return VS_SIM_OK;
  vs_count(&vs_this_process.process->reads, 1);
  look_at_state(&plan->state);
  return VS_SIM_OK;
}

static vs_sim_error copy(vs_transfer t, uint64_t stream) {
  vs_copy_plan plan = {0};
  join_rows(&t);
  vs_sim *sim = lock_for(stream);
  if (sim == NULL) return vs_simcuda_why_not();
  const vs_sim_error error = copy_locked(sim, &t, stream, &plan);
  vs_simcuda_unlock();
  if (error != VS_SIM_OK || plan.is_captured) return error;
  report_lost(plan.has_lost);
  VS_ASSERT(!plan.is_unknown || (plan.from == PLACE_DEVICE && plan.to != PLACE_DEVICE));
  if (plan.is_unknown) read_unknown(&t);
  else if (plan.to != PLACE_DEVICE && plan.from != PLACE_DEVICE) copy_on_host(&t);
  if (plan.from == PLACE_DEVICE && plan.to != PLACE_DEVICE) note_read(&t, &plan.state);
  return VS_SIM_OK;
}

static vs_sim_error check_direction(vs_simcuda_direction direction) {
  return (uint32_t)direction > VS_SIMCUDA_BY_ADDRESS ? VS_SIM_INVALID_VALUE : VS_SIM_OK;
}

vs_sim_error vs_simcuda_copy(uint64_t to, uint64_t from, uint64_t size, vs_simcuda_direction direction,
                             uint64_t stream) {
  return vs_simcuda_copy_rows(to, size, from, size, size, 1, direction, stream);
}

vs_sim_error vs_simcuda_copy_rows(uint64_t to, uint64_t to_pitch, uint64_t from, uint64_t from_pitch,
                                  uint64_t width, uint64_t height, vs_simcuda_direction direction,
                                  uint64_t stream) {
  VS_SIM_TRY(check_direction(direction));
  if (width == 0 || height == 0) return vs_simcuda_begin();
  return copy((vs_transfer){to, to_pitch, from, from_pitch, width, height}, stream);
}

/* ---- fill */

static void fill_on_host(uint8_t *to, uint32_t value, uint32_t element_size, uint64_t size) {
  if (element_size == 1) memset(to, (int)(value & 255), (size_t)size);
  else
    for (uint64_t i = 0; i < size; i++) to[i] = (uint8_t)(value >> (8 * (i % element_size)));
}

typedef struct vs_fill_plan {
  uint64_t to, pitch, width, height, stream;
  uint32_t value, element_size;
} vs_fill_plan;

static vs_sim_error fill_locked(vs_sim *sim, const vs_fill_plan *f) {
  vs_place place;
  bool is_captured;
  uint64_t span;
  if (!span_of(f->pitch, f->width, f->height, &span)) return VS_SIM_INVALID_VALUE;
  VS_SIM_TRY(find_place(sim, f->to, span, &place));
  if (place == PLACE_PAGEABLE) return VS_SIM_INVALID_VALUE;
  VS_ASSERT(f->width % f->element_size == 0);
  const uint64_t stream = f->stream == VS_SIMCUDA_NO_STREAM ? (uint64_t)VS_SIM_STREAM_NULL : f->stream;
  VS_SIM_TRY(add_work(sim, VS_SIM_NODE_MEMSET, stream, &is_captured));
  for (uint64_t row = 0; !is_captured && row < f->height; row++) {
    const uint64_t to = f->to + row * f->pitch;
    if (place == PLACE_DEVICE)
      vs_stored_fill(&vs_this_process.stored, to, f->value, f->element_size, f->width);
    else fill_on_host(host(to), f->value, f->element_size, f->width);
  }
  return VS_SIM_OK;
}

vs_sim_error vs_simcuda_fill(uint64_t to, uint64_t pitch, uint32_t value, uint32_t element_size,
                             uint64_t count, uint64_t height, uint64_t stream) {
  if (element_size != 1 && element_size != 2 && element_size != 4) return VS_SIM_INVALID_VALUE;
  if (to % element_size != 0) return VS_SIM_INVALID_VALUE;
  if (count == 0 || height == 0) return vs_simcuda_begin();
  vs_fill_plan plan = {.to = to,
                       .pitch = pitch,
                       .height = height,
                       .stream = stream,
                       .value = value,
                       .element_size = element_size};
  if (__builtin_mul_overflow(count, element_size, &plan.width)) return VS_SIM_INVALID_VALUE;
  uint64_t joined; /* rows without gaps are one row */
  if (height > 1 && pitch == plan.width && !__builtin_mul_overflow(plan.width, height, &joined)) {
    plan.width = joined;
    plan.height = 1;
  }
  vs_sim *sim = lock_for(stream);
  if (sim == NULL) return vs_simcuda_why_not();
  const vs_sim_error error = fill_locked(sim, &plan);
  const bool lost = vs_stored_lost(&vs_this_process.stored);
  vs_simcuda_unlock();
  report_lost(lost);
  return error;
}

/* ---- what libraries compute */

void vs_simcuda_put(uint64_t to, const void *bytes, uint64_t size) {
  vs_place place = PLACE_DEVICE;
  const vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return;
  if (find_place(sim, to, size, &place) != VS_SIM_OK && !is_device_address(to)) place = PLACE_PAGEABLE;
  if (place == PLACE_DEVICE) vs_stored_write(&vs_this_process.stored, to, bytes, size);
  else memcpy(host(to), bytes, (size_t)size);
  vs_simcuda_unlock();
}
