/* A small model of an allocator's memory, to which events are applied one by one. Impossible events (a free of a
 * block that does not exist) are ignored, because a recording may have lost earlier ones. */
#include "snapshot/vram_state.h"
#include "base/ordmap.h"
#include "base/text.h"

enum {
  SMALL_SEGMENT = 2 * 1024 * 1024,
  SMALL_REQUEST = 1024 * 1024,
  LEAST_BLOCK = 512,
  LEAST_LARGE = 1024 * 1024
};

/* The segments and blocks of one device by address. The values are indices into `segments` and `blocks` of the
 * memory. */
typedef struct device {
  vs_ordmap segments, blocks;
} device;

/* Invariant: the blocks of a device do not overlap; nor do its segments. */
typedef struct memory {
  vs_snapshot *s;
  const vs_host *host;
  device *devices; /* the host first, then device 0, ... */
  size_t device_count;
  vs_block_state requested; /* the state of a block whose free was requested */
  VS_VEC(vs_segment) segments;
  VS_VEC(vs_block) blocks;
  VS_VEC(uint32_t) unused_segments, unused_blocks;
  uint32_t states[VS_BLOCK_UNKNOWN]; /* names */
  uint32_t small, large;
} memory;

static uint64_t end_of(uint64_t address, uint64_t size) { return vs_sat_add_u64(address, size); }

/* ---- blocks -------------------------------------------------------------------------------------------- */

static vs_status add_block(memory *m, device *d, const vs_block *block) {
  uint32_t index;
  if (block->size == 0) return VS_OK;
  VS_ASSERT(block->size <= UINT64_MAX - block->address);
  if (m->unused_blocks.count != 0) {
    index = m->unused_blocks.data[m->unused_blocks.count - 1];
  } else {
    VS_TRY(vs_vec_reserve(m->host, &m->blocks, 1));
    index = (uint32_t)m->blocks.count;
  }
  VS_TRY(vs_ordmap_put(m->host, &d->blocks, block->address, index));
  if (index == m->blocks.count) m->blocks.count++;
  else m->unused_blocks.count--;
  m->blocks.data[index] = *block;
  return VS_OK;
}

static vs_status remove_block(memory *m, device *d, vs_ordmap_pos pos) {
  VS_TRY(vs_vec_reserve(m->host, &m->unused_blocks, 1));
  m->unused_blocks.data[m->unused_blocks.count++] = vs_ordmap_value(&d->blocks, pos);
  vs_ordmap_remove(m->host, &d->blocks, pos);
  return VS_OK;
}

static vs_block inactive(const memory *m, uint64_t address, uint64_t size) {
  return (vs_block){.address = address,
                    .size = size,
                    .stack = VS_LIST_EMPTY,
                    .state_name = m->states[VS_BLOCK_INACTIVE],
                    .state = VS_BLOCK_INACTIVE,
                    .has = VS_BLOCK_HAS_ADDRESS | VS_BLOCK_HAS_REQUESTED};
}

/* The block that contains `address`. */
static bool find_block(memory *m, device *d, uint64_t address, vs_ordmap_pos *pos, vs_block **block) {
  if (!vs_ordmap_floor(&d->blocks, address, pos)) return false;
  *block = &m->blocks.data[vs_ordmap_value(&d->blocks, *pos)];
  VS_ASSERT(vs_ordmap_value(&d->blocks, *pos) < m->blocks.count);
  return address - (*block)->address < (*block)->size;
}

static bool find_segment(memory *m, device *d, uint64_t address, vs_ordmap_pos *pos, vs_segment **segment) {
  if (!vs_ordmap_floor(&d->segments, address, pos)) return false;
  *segment = &m->segments.data[vs_ordmap_value(&d->segments, *pos)];
  VS_ASSERT(vs_ordmap_value(&d->segments, *pos) < m->segments.count);
  return address - (*segment)->address < (*segment)->total_size;
}

/* Joins the block at `address`, if it is inactive, with inactive neighbours in its segment. */
static vs_status merge(memory *m, device *d, uint64_t address) {
  vs_ordmap_pos pos, at;
  vs_segment *segment;
  vs_block *block, *other;
  if (!find_segment(m, d, address, &pos, &segment) || !find_block(m, d, address, &pos, &block) ||
      block->state != VS_BLOCK_INACTIVE)
    return VS_OK;
  const uint64_t end = end_of(block->address, block->size);
  if (end - segment->address < segment->total_size && find_block(m, d, end, &at, &other) &&
      other->state == VS_BLOCK_INACTIVE) {
    VS_ASSERT(other->address == end);
    block->size += other->size;
    VS_TRY(remove_block(m, d, at));
  }
  if (block->address <= segment->address || !find_block(m, d, block->address - 1, &at, &other) ||
      other->state != VS_BLOCK_INACTIVE || !vs_ordmap_find(&d->blocks, block->address, &pos))
    return VS_OK;
  VS_ASSERT(other->address + other->size == block->address);
  other->size += block->size;
  return remove_block(m, d, pos);
}

/* Removes [address, address + size) from the inactive block that contains it; the rest stays inactive. */
static vs_status cut(memory *m, device *d, vs_ordmap_pos pos, uint64_t address, uint64_t size) {
  const vs_block whole = m->blocks.data[vs_ordmap_value(&d->blocks, pos)];
  const uint64_t before = address - whole.address, behind = whole.size - before - size;
  VS_ASSERT(address >= whole.address && before <= whole.size && size <= whole.size - before);
  vs_block left = whole, right = inactive(m, address + size, behind);
  left.size = before;
  VS_TRY(remove_block(m, d, pos));
  VS_TRY(add_block(m, d, &left));
  return add_block(m, d, &right);
}

/* ---- segments ------------------------------------------------------------------------------------------ */

static vs_status add_segment(memory *m, device *d, const vs_segment *segment) {
  uint32_t index;
  if (m->unused_segments.count != 0) {
    index = m->unused_segments.data[m->unused_segments.count - 1];
  } else {
    VS_TRY(vs_vec_reserve(m->host, &m->segments, 1));
    index = (uint32_t)m->segments.count;
  }
  VS_TRY(vs_ordmap_put(m->host, &d->segments, segment->address, index));
  if (index == m->segments.count) m->segments.count++;
  else m->unused_segments.count--;
  m->segments.data[index] = *segment;
  return VS_OK;
}

static vs_status remove_segment(memory *m, device *d, vs_ordmap_pos pos) {
  VS_TRY(vs_vec_reserve(m->host, &m->unused_segments, 1));
  m->unused_segments.data[m->unused_segments.count++] = vs_ordmap_value(&d->segments, pos);
  vs_ordmap_remove(m->host, &d->segments, pos);
  return VS_OK;
}

/* Removes all blocks that begin in [address, end). */
static vs_status remove_blocks(memory *m, device *d, uint64_t address, uint64_t end) {
  for (;;) {
    const vs_ordmap_pos pos = vs_ordmap_lower(&d->blocks, address);
    if (vs_ordmap_at_end(&d->blocks, pos) || vs_ordmap_key(&d->blocks, pos) >= end) return VS_OK;
    VS_TRY(remove_block(m, d, pos));
  }
}

static bool is_free_range(memory *m, device *d, uint64_t address, uint64_t size) {
  vs_ordmap_pos pos;
  vs_segment *segment;
  if (size == 0 || address + size < address || find_segment(m, d, address, &pos, &segment)) return false;
  pos = vs_ordmap_lower(&d->segments, address);
  return vs_ordmap_at_end(&d->segments, pos) || vs_ordmap_key(&d->segments, pos) - address >= size;
}

static vs_segment segment_of(const memory *m, const device *d, uint32_t row, bool is_expandable) {
  const vs_events *events = &m->s->events;
  const uint64_t size = vs_events_size(events, row);
  return (vs_segment){
      .address = vs_events_address(events, row),
      .total_size = size,
      .registration_counter = VS_NO_COUNTER,
      .device = (int32_t)(d - m->devices) - 1,
      .stream = vs_events_stream(events, row),
      .pool = vs_events_pool(events, row),
      .type = size == SMALL_SEGMENT ? m->small : m->large,
      .stack = vs_events_stack(events, row),
      .forward_frames = vs_events_forward_frames(events, row),
      .has = VS_SEGMENT_HAS_EXPANDABLE,
      .is_expandable = is_expandable,
  };
}

static vs_status got_segment(memory *m, device *d, uint32_t row, bool is_expandable) {
  const vs_segment segment = segment_of(m, d, row, is_expandable);
  const vs_block block = inactive(m, segment.address, segment.total_size);
  if (!is_free_range(m, d, segment.address, segment.total_size)) return VS_OK;
  VS_TRY(remove_blocks(m, d, segment.address, end_of(segment.address, segment.total_size)));
  VS_TRY(add_segment(m, d, &segment));
  return add_block(m, d, &block);
}

static vs_status gave_segment(memory *m, device *d, uint64_t address) {
  vs_ordmap_pos pos;
  if (!vs_ordmap_find(&d->segments, address, &pos)) return VS_OK;
  const vs_segment *segment = &m->segments.data[vs_ordmap_value(&d->segments, pos)];
  VS_TRY(remove_blocks(m, d, address, end_of(address, segment->total_size)));
  return remove_segment(m, d, pos);
}

static bool are_one(const vs_segment *a, const vs_segment *b) {
  return a->is_expandable && b->is_expandable && a->stream == b->stream && a->pool == b->pool;
}

/* Joins the mapped run that begins at `address` with the one that ends there, if both belong to one segment. */
static vs_status join(memory *m, device *d, uint64_t address) {
  vs_ordmap_pos pos, before;
  vs_segment *left;
  if (address == 0 || !vs_ordmap_find(&d->segments, address, &pos)) return VS_OK;
  const vs_segment right = m->segments.data[vs_ordmap_value(&d->segments, pos)];
  if (!find_segment(m, d, address - 1, &before, &left) || !are_one(left, &right)) return VS_OK;
  VS_ASSERT(left->address + left->total_size == address && right.address == address);
  left->total_size += right.total_size;
  if (left->type == m->small) left->type = right.type;
  VS_TRY(remove_segment(m, d, pos));
  return merge(m, d, address);
}

static vs_status mapped(memory *m, device *d, uint32_t row) {
  const uint64_t address = vs_events_address(&m->s->events, row);
  VS_TRY(
      got_segment(m, d, row, true)); /* its type is estimated by size; join() takes that of an adjacent run */
  VS_TRY(join(m, d, end_of(address, vs_events_size(&m->s->events, row))));
  return join(m, d, address);
}

static vs_status unmapped(memory *m, device *d, uint64_t address, uint64_t size) {
  vs_ordmap_pos pos, block_pos;
  vs_segment *segment;
  vs_block *block;
  if (!find_segment(m, d, address, &pos, &segment) || !find_block(m, d, address, &block_pos, &block) ||
      block->state != VS_BLOCK_INACTIVE || size == 0 || size > block->size - (address - block->address) ||
      size > segment->total_size - (address - segment->address))
    return VS_OK;
  vs_segment left = *segment, right = *segment;
  left.total_size = address - segment->address;
  right.address = address + size;
  right.total_size = segment->total_size - left.total_size - size;
  VS_TRY(cut(m, d, block_pos, address, size));
  VS_TRY(remove_segment(m, d, pos));
  if (left.total_size != 0) VS_TRY(add_segment(m, d, &left));
  return right.total_size != 0 ? add_segment(m, d, &right) : VS_OK;
}

/* ---- allocations --------------------------------------------------------------------------------------- */

/* The size of a block that is cut from a free one of `room` bytes. `rounded`: as recorded, or 0. */
static uint64_t size_of(uint64_t requested, uint64_t rounded, uint64_t room, bool is_small) {
  if (rounded == 0) {
    rounded = requested > UINT64_MAX - LEAST_BLOCK
                  ? room
                  : (requested + LEAST_BLOCK - 1) / LEAST_BLOCK * LEAST_BLOCK;
    if (rounded == 0) rounded = LEAST_BLOCK;
    if (rounded < room && (is_small ? room - rounded < LEAST_BLOCK : room - rounded <= LEAST_LARGE))
      rounded = room;
  }
  return vs_min_u64(rounded, room);
}

static vs_status allocated(memory *m, device *d, uint32_t row, uint64_t rounded) {
  const vs_events *events = &m->s->events;
  const uint64_t address = vs_events_address(events, row), requested = vs_events_size(events, row);
  vs_ordmap_pos pos, segment_pos;
  vs_segment *segment;
  vs_block *free_block;
  if (!find_segment(m, d, address, &segment_pos, &segment) || !find_block(m, d, address, &pos, &free_block))
    return VS_OK;
  free_block->state = VS_BLOCK_INACTIVE; /* if it was active, its free was lost */
  free_block->state_name = m->states[VS_BLOCK_INACTIVE];
  const uint64_t room = free_block->size - (address - free_block->address);
  VS_ASSERT(room > 0 && room <= free_block->size);
  const vs_block block = {
      .address = address,
      .size = size_of(requested, rounded, room, segment->type == m->small),
      .requested_size = requested,
      .stack = vs_events_stack(events, row),
      .forward_frames = vs_events_forward_frames(events, row),
      .state_name = m->states[VS_BLOCK_ALLOCATED],
      .state = VS_BLOCK_ALLOCATED,
      .has = VS_BLOCK_HAS_ADDRESS | VS_BLOCK_HAS_REQUESTED,
  };
  VS_TRY(cut(m, d, pos, address, block.size));
  return add_block(m, d, &block);
}

static vs_status freed(memory *m, device *d, uint64_t address, vs_block_state state) {
  vs_ordmap_pos pos;
  if (!vs_ordmap_find(&d->blocks, address, &pos)) return VS_OK;
  vs_block *block = &m->blocks.data[vs_ordmap_value(&d->blocks, pos)];
  block->state = (uint8_t)state;
  block->state_name = m->states[state];
  if (state != VS_BLOCK_INACTIVE) return VS_OK;
  block->stack = VS_LIST_EMPTY;
  block->forward_frames = VS_LIST_NONE;
  return merge(m, d, address);
}

static vs_status move_on(memory *m, device *d, uint32_t row, uint64_t rounded) {
  const vs_events *events = &m->s->events;
  const uint64_t address = vs_events_address(events, row);
  switch (vs_events_kind(events, row)) {
    case VS_EVENT_ALLOC: return allocated(m, d, row, rounded);
    case VS_EVENT_FREE_REQUESTED: return freed(m, d, address, m->requested);
    case VS_EVENT_FREE_COMPLETED: return freed(m, d, address, VS_BLOCK_INACTIVE);
    case VS_EVENT_SEGMENT_ALLOC: return got_segment(m, d, row, false);
    case VS_EVENT_SEGMENT_FREE: return gave_segment(m, d, address);
    case VS_EVENT_SEGMENT_MAP: return mapped(m, d, row);
    case VS_EVENT_SEGMENT_UNMAP: return unmapped(m, d, address, vs_events_size(events, row));
    case VS_EVENT_OOM:
    case VS_EVENT_SNAPSHOT:
    case VS_EVENT_ANNOTATE:
    case VS_EVENT_UNKNOWN: break;
  }
  return VS_OK;
}

/* ---- from and to the snapshot -------------------------------------------------------------------------- */

static vs_status load(memory *m) {
  vs_snapshot *s = m->s;
  for (size_t i = 0; i < s->segments.count; i++) {
    const vs_segment *segment = &s->segments.data[i];
    device *d = &m->devices[segment->device + 1];
    VS_ASSERT((size_t)(segment->device + 1) < m->device_count);
    if (!is_free_range(m, d, segment->address, segment->total_size)) continue;
    VS_TRY(add_segment(m, d, segment));
    uint64_t next = segment->address;
    for (uint32_t j = 0; j < segment->block_count; j++) {
      const vs_block *block = &s->blocks.data[segment->first_block + j];
      const uint64_t left = end_of(segment->address, segment->total_size) - next;
      if (block->address != next || block->size > left)
        break; /* blocks that do not tile the segment are dropped */
      VS_TRY(add_block(m, d, block));
      next += block->size;
    }
  }
  return VS_OK;
}

static vs_status save_segment(memory *m, device *d, vs_segment segment) {
  vs_snapshot *s = m->s;
  const uint64_t end = end_of(segment.address, segment.total_size);
  segment.first_block = (uint32_t)s->blocks.count;
  segment.block_count = 0;
  segment.allocated_size = segment.active_size = segment.requested_size = 0;
  segment.has |= VS_SEGMENT_HAS_ALLOCATED | VS_SEGMENT_HAS_ACTIVE | VS_SEGMENT_HAS_REQUESTED;
  for (vs_ordmap_pos pos = vs_ordmap_lower(&d->blocks, segment.address);
       !vs_ordmap_at_end(&d->blocks, pos) && vs_ordmap_key(&d->blocks, pos) < end;
       pos = vs_ordmap_next(&d->blocks, pos)) {
    const vs_block *block = &m->blocks.data[vs_ordmap_value(&d->blocks, pos)];
    if (s->blocks.count >= UINT32_MAX - 2) return VS_LIMIT;
    VS_TRY(vs_vec_reserve(m->host, &s->blocks, 1));
    s->blocks.data[s->blocks.count++] = *block;
    segment.block_count++;
    if (block->state == VS_BLOCK_ALLOCATED)
      segment.allocated_size = vs_sat_add_u64(segment.allocated_size, block->size);
    if (!vs_block_is_active(block)) continue;
    segment.active_size = vs_sat_add_u64(segment.active_size, block->size);
    segment.requested_size = vs_sat_add_u64(segment.requested_size, block->requested_size);
  }
  VS_TRY(vs_vec_reserve(m->host, &s->segments, 1));
  s->segments.data[s->segments.count++] = segment;
  return VS_OK;
}

/* Writes segments by device and address; those of the host come last. */
static vs_status save(memory *m) {
  m->s->segments.count = m->s->blocks.count = 0;
  for (size_t i = 1; i <= m->device_count; i++) {
    device *d = &m->devices[i % m->device_count];
    for (vs_ordmap_pos pos = vs_ordmap_begin(); !vs_ordmap_at_end(&d->segments, pos);
         pos = vs_ordmap_next(&d->segments, pos))
      VS_TRY(save_segment(m, d, m->segments.data[vs_ordmap_value(&d->segments, pos)]));
  }
  return VS_OK;
}

static vs_status init(memory *m, uint32_t device_count) {
  vs_snapshot *s = m->s;
  for (int i = 0; i < VS_BLOCK_UNKNOWN; i++)
    VS_TRY(vs_strings_intern(m->host, &s->strings, vs_str_from(vs_block_state_name((vs_block_state)i)),
                             &m->states[i]));
  VS_TRY(vs_strings_intern(m->host, &s->strings, VS_STR("small"), &m->small));
  VS_TRY(vs_strings_intern(m->host, &s->strings, VS_STR("large"), &m->large));
  const size_t count = (size_t)device_count + 1;
  m->devices = vs_host_alloc(m->host, count * sizeof *m->devices);
  if (m->devices == NULL) return VS_NO_MEMORY;
  memset(m->devices, 0, count * sizeof *m->devices);
  m->device_count = count;
  return VS_OK;
}

static void deinit(memory *m) {
  for (size_t i = 0; i < m->device_count; i++) {
    vs_ordmap_deinit(m->host, &m->devices[i].segments);
    vs_ordmap_deinit(m->host, &m->devices[i].blocks);
  }
  vs_host_free(m->host, m->devices, m->device_count * sizeof *m->devices);
  vs_vec_free(m->host, &m->segments);
  vs_vec_free(m->host, &m->blocks);
  vs_vec_free(m->host, &m->unused_segments);
  vs_vec_free(m->host, &m->unused_blocks);
}

vs_status vs_vram_rebuild(vs_snapshot *s, const vs_vram_rows *rows) {
  memory m = {
      .s = s, .host = s->host, .requested = rows->frees_at_request ? VS_BLOCK_INACTIVE : VS_BLOCK_PENDING};
  vs_status status = init(&m, rows->device_count);
  VS_ASSERT(rows->first <= s->events.count);
  if (status == VS_OK) status = load(&m);
  for (uint32_t row = rows->first; row < s->events.count && status == VS_OK; row++)
    status = move_on(&m, &m.devices[rows->devices[row] + 1], row, rows->rounded[row]);
  if (status == VS_OK) status = save(&m);
  deinit(&m);
  return status;
}
