/* The segments and blocks from before the trace: see replay.h. */
#include "alloc/adopt.h"
#include "analyze/replay_course.h"

typedef struct block_row {
  VS_VEC(vs_alloc_block_info) blocks;
} block_row;

static void block_add(block_row *row, vs_alloc_block_info block) {
  if (block.size > 0) row->blocks.data[row->blocks.count++] = block;
}

/* Bytes that a block of the start has, of `room` there are. What is gone at the end is rounded as the
 * settings say. */
static uint64_t block_size(const vs_replay_course *r, const vs_state_block *block, uint64_t room) {
  uint64_t size = block->size;
  if (block->row == VS_NO_ROW && block->requested < VS_REPLAY_ENOUGH)
    size = vs_max_u64(size, vs_alloc_rounded(r->alloc, block->requested));
  return vs_min_u64((size + VS_SMALLEST_BLOCK - 1) & ~(uint64_t)(VS_SMALLEST_BLOCK - 1), room);
}

/* Lists a segment's live blocks and the free blocks between them. false: the live blocks overlap or are not aligned. */
static bool blocks_fill(const vs_replay_course *r, const vs_state_segment *segment, block_row *row) {
  uint64_t at = segment->address;
  const uint64_t end = segment->address + segment->size;
  row->blocks.count = 0;
  for (uint32_t b = 0; b < segment->block_count; b++) {
    const vs_state_block *block = &r->plan->start.blocks.data[segment->first_block + b];
    const uint64_t next = b + 1 < segment->block_count ? block[1].address : end;
    if (block->address < at || block->address % VS_SMALLEST_BLOCK != 0 || next <= block->address)
      return false;
    block_add(
        row, (vs_alloc_block_info){.address = at, .size = block->address - at, .state = VS_ALLOC_BLOCK_FREE});
    const uint64_t size = block_size(r, block, next - block->address);
    block_add(row, (vs_alloc_block_info){.address = block->address,
                                         .size = size,
                                         .requested = vs_min_u64(block->requested, size),
                                         .state = VS_ALLOC_BLOCK_ALLOCATED,
                                         .context = vs_replay_block_cause(r, block->lifetime)});
    at = block->address + size;
  }
  block_add(row, (vs_alloc_block_info){.address = at, .size = end - at, .state = VS_ALLOC_BLOCK_FREE});
  return true;
}

static uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/* Adopts a run of pages. Its reserve is as large as one that the allocator makes, if that does not meet
 * anything. */
static vs_status adopt_run(vs_replay_course *r, vs_alloc_adopted *adopted, uint64_t base, uint64_t total) {
  const vs_alloc_segment_info *segment = &adopted->segment;
  const uint64_t page = vs_alloc_page(r->alloc, segment->is_small);
  const uint64_t least = round_up(segment->address - base + segment->size, page);
  const uint64_t usual = vs_max_u64(round_up(total + total / 8, page), least);
  adopted->reserve_address = base;
  const size_t known = vs_map_find(&r->device.by_address, base);
  if (known != VS_MAP_NONE) {
    adopted->reserve_size = r->device.ranges.data[r->device.by_address.slots[known].value].size;
    const vs_status status = vs_alloc_adopt_segment(r->alloc, adopted);
    if (status == VS_OK) r->device.used += segment->size;
    return status;
  }
  adopted->reserve_size = usual;
  vs_status status = vs_replay_device_put(&r->device, base, usual, segment->size);
  if (status == VS_BAD_ARGUMENT) {
    adopted->reserve_size = least;
    status = vs_replay_device_put(&r->device, base, least, segment->size);
  }
  if (status != VS_OK) return status;
  status = vs_alloc_adopt_segment(r->alloc, adopted);
  if (status == VS_OK) return VS_OK;
  vs_replay_device_take(&r->device, base);
  r->device.used -= segment->size;
  return status;
}

static vs_status adopt_plain(vs_replay_course *r, const vs_alloc_adopted *adopted) {
  const vs_alloc_segment_info *segment = &adopted->segment;
  VS_TRY(vs_replay_device_put(&r->device, segment->address, segment->size, segment->size));
  const vs_status status = vs_alloc_adopt_segment(r->alloc, adopted);
  if (status == VS_OK) return VS_OK;
  vs_replay_device_take(&r->device, segment->address);
  r->device.used -= segment->size;
  return status;
}

/* Whether a block of the start had been freed already: then the trace has its completion only. */
static bool is_waiting(const vs_replay_course *r, const vs_state_block *block) {
  if (block->is_pending || block->lifetime == VS_NO_ROW) return block->is_pending;
  const vs_lifetime *life = &r->plan->lifetimes->rows.data[block->lifetime];
  return life->free_requested == VS_NO_EVENT && life->end != VS_NO_EVENT &&
         !r->plan->lifetimes->closing.only_completion;
}

static vs_status blocks_take(vs_replay_course *r, const vs_state_segment *segment) {
  for (uint32_t b = 0; b < segment->block_count; b++) {
    const vs_state_block *block = &r->plan->start.blocks.data[segment->first_block + b];
    const uint32_t row = block->lifetime;
    if (!is_waiting(r, block)) {
      if (row != VS_NO_ROW) r->addresses[row] = block->address;
      continue;
    }
    const uint32_t done = row == VS_NO_ROW ? VS_NO_EVENT : r->plan->lifetimes->rows.data[row].end;
    VS_TRY(vs_replay_free_pending(r, block->address, done));
  }
  return VS_OK;
}

static vs_status adopt(vs_replay_course *r, size_t index, block_row *row, uint64_t total) {
  const vs_state_segment *segment = &r->plan->start.segments.data[index];
  VS_TRY(vs_vec_reserve(r->host, &row->blocks, 2 * (size_t)segment->block_count + 1 - row->blocks.count));
  if (segment->size > VS_REPLAY_ENOUGH || segment->address > UINT64_MAX - segment->size ||
      !blocks_fill(r, segment, row))
    return VS_BAD_ARGUMENT;
  vs_alloc_adopted adopted = {
      .segment = {.address = segment->address,
                  .size = segment->size,
                  .stream = vs_replay_stream(r->snapshot, segment->stream),
                  .pool = vs_replay_pool(r, segment->pool),
                  .is_small = segment->kind == VS_SEGMENT_SMALL,
                  .is_expandable = segment->is_expandable &&
                                   (r->options->follows || r->options->settings.expandable_segments),
                  .context = vs_replay_segment_cause(r, index)},
      .blocks = row->blocks.data,
      .block_count = row->blocks.count,
  };
  VS_TRY(vs_replay_pool_need(r, adopted.segment.pool));
  if (adopted.segment.is_expandable) VS_TRY(adopt_run(r, &adopted, r->plan->bases.data[index], total));
  else VS_TRY(adopt_plain(r, &adopted));
  return blocks_take(r, segment);
}

/* A segment that cannot be adopted is left out; frees of its blocks do nothing. */
vs_status vs_replay_start_adopt(vs_replay_course *r, uint64_t total) {
  block_row row = {0};
  vs_status status = VS_OK;
  for (size_t i = 0; i < r->plan->start.segments.count && status == VS_OK; i++) {
    row.blocks.count = 0;
    if (r->plan->start.segments.data[i].is_expandable) r->device.work += r->device.unmapped++;
    r->out->is_cut = r->device.work > r->device.most_work;
    if (r->out->is_cut) break;
    status = adopt(r, i, &row, total);
    if (status != VS_BAD_ARGUMENT && status != VS_UNSUPPORTED) continue;
    r->out->strays++;
    status = VS_OK;
  }
  vs_vec_free(r->host, &row.blocks);
  return status;
}
