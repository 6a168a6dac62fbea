/* Expandable segments: addresses for more than the whole card are reserved once; pages are mapped when blocks need them,
 * and unmapped when the cache is emptied. Unmapped blocks are in a list of their lane. */
#include "alloc/expandable.h"
#include "alloc/cache.h"
#include "alloc/pools.h"

const vs_alloc_reserve *vs_alloc_reserve_of(const vs_alloc *alloc, uint64_t stream, const char **class_name) {
  const vs_alloc_settings *settings = &alloc->settings;
  *class_name = "";
  for (size_t i = 0; i < alloc->stream_classes.count; i++)
    if (alloc->stream_classes.data[i].stream == stream) *class_name = alloc->stream_classes.data[i].name;
  for (uint32_t c = 0; c < settings->class_count; c++)
    if (vs_str_equal(vs_str_from(settings->classes[c].name), vs_str_from(*class_name)))
      return &settings->classes[c].reserve;
  return &settings->reserve;
}

/* 9/8 of the card's memory, as PyTorch reserves; less if the setting says so. */
uint64_t vs_alloc_reserve_bytes(const vs_alloc *alloc, const vs_alloc_reserve *reserve) {
  const uint64_t total = alloc->device.total_bytes, most = total + total / 8;
  if (!reserve->is_set) return most;
  const double wanted = reserve->value * (reserve->is_fraction ? (double)total : 1024.0 * (double)VS_MIB);
  return wanted < (double)most ? (uint64_t)wanted : most;
}

static uint64_t page_of(const vs_alloc *alloc, const vs_alloc_lane *lane) {
  return lane->pool->is_small ? VS_ALLOC_SMALL_BUFFER : alloc->large_segment;
}

static uint64_t reserved_addresses(const vs_alloc *alloc, const vs_alloc_lane *lane) {
  const char *class_name;
  const uint64_t page = page_of(alloc, lane);
  const uint64_t bytes = vs_alloc_reserve_bytes(alloc, vs_alloc_reserve_of(alloc, lane->stream, &class_name));
  const uint64_t pages = (bytes + page - 1) / page;
  return (pages > 0 ? pages : 1) * page;
}

void vs_alloc_extent_destroy(vs_alloc *alloc, vs_alloc_extent *extent) {
  *(extent->prev != NULL ? &extent->prev->next : &alloc->extents) = extent->next;
  if (extent->next != NULL) extent->next->prev = extent->prev;
  vs_vec_free(alloc->host, &extent->handles);
  vs_host_free(alloc->host, extent, sizeof *extent);
}

vs_status vs_alloc_extent_release(vs_alloc *alloc, vs_alloc_block *block) {
  vs_alloc_extent *extent = block->extent;
  VS_ASSERT(block->place == VS_PLACE_UNMAPPED && block->size == extent->size);
  VS_TRY(vs_device_status(alloc->device.ops->unreserve(alloc->device.ctx, extent->address, extent->size)));
  vs_alloc_unmapped_remove(block->lane, block);
  vs_alloc_blocks_give(&alloc->blocks, block);
  vs_alloc_extent_destroy(alloc, extent);
  return VS_OK;
}

/* Creates an extent, as one unmapped block. */
static vs_status extent_create(vs_alloc *alloc, vs_alloc_lane *lane, vs_alloc_block **block) {
  vs_alloc_extent *extent = vs_host_alloc(alloc->host, sizeof *extent);
  if (extent == NULL) return VS_NO_MEMORY;
  *extent = (vs_alloc_extent){.size = reserved_addresses(alloc, lane),
                              .page = page_of(alloc, lane),
                              .stream = lane->stream,
                              .next = alloc->extents};
  vs_status status = vs_alloc_lane_reserve(alloc->host, lane, extent->size);
  if (status == VS_OK)
    status = vs_device_status(alloc->device.ops->reserve(alloc->device.ctx, extent->size, &extent->address));
  if (status != VS_OK) {
    vs_host_free(alloc->host, extent, sizeof *extent);
    return status;
  }
  if (extent->next != NULL) extent->next->prev = extent;
  alloc->extents = extent;
  *block = vs_alloc_block_new(alloc, lane, extent->address, extent->size, extent);
  (*block)->place = VS_PLACE_UNMAPPED;
  alloc->registrations += alloc->settings.rules->orders_by_segment;
  vs_alloc_unmapped_add(lane, *block);
  return VS_OK;
}

/* ---- pages -------------------------------------------------------------------------------------------------- */

static uint64_t page_at(const vs_alloc_extent *extent, uint64_t address) {
  VS_ASSERT(address >= extent->address && address - extent->address <= extent->size + extent->page - 1);
  return (address - extent->address) / extent->page;
}

vs_status vs_alloc_handles_reserve(vs_alloc *alloc, vs_alloc_extent *extent, uint64_t pages) {
  const size_t count = extent->handles.count;
  if (count >= pages) return VS_OK;
  VS_TRY(vs_vec_reserve(alloc->host, &extent->handles, (size_t)pages - count));
  memset(extent->handles.data + count, 0, ((size_t)pages - count) * sizeof *extent->handles.data);
  extent->handles.count = (size_t)pages;
  return VS_OK;
}

/* Undoes a mapping that failed: pages [begin, end) have memory, and [begin, mapped) are mapped. */
static void give_up(vs_alloc *alloc, vs_alloc_extent *extent, uint64_t begin, uint64_t mapped, uint64_t end) {
  const vs_device *device = &alloc->device;
  for (uint64_t i = begin; i < end; i++) {
    if (i < mapped) (void)device->ops->unmap(device->ctx, extent->address + i * extent->page, extent->page);
    (void)device->ops->release(device->ctx, extent->handles.data[i]);
    extent->handles.data[i] = 0;
  }
}

static vs_device_result map_pages(vs_alloc *alloc, vs_alloc_extent *extent, uint64_t begin, uint64_t end) {
  const vs_device *device = &alloc->device;
  vs_device_result result = VS_DEVICE_OK;
  uint64_t made = begin, mapped = begin;
  for (; made < end && result == VS_DEVICE_OK; made += result == VS_DEVICE_OK)
    result = device->ops->create(device->ctx, extent->page, &extent->handles.data[made]);
  for (; mapped < end && result == VS_DEVICE_OK; mapped += result == VS_DEVICE_OK)
    result = device->ops->map(device->ctx, extent->address + mapped * extent->page, extent->page,
                              extent->handles.data[mapped]);
  if (result == VS_DEVICE_OK)
    result = device->ops->access(device->ctx, extent->address + begin * extent->page,
                                 (end - begin) * extent->page);
  if (result != VS_DEVICE_OK) give_up(alloc, extent, begin, mapped, made);
  return result;
}

/* Maps whole pages from the beginning of an unmapped block, for at least `size` bytes, and makes them a free block.
 * VS_NOT_FOUND: the card has no memory. */
static vs_status map_block(vs_alloc *alloc, vs_alloc_block *block, uint64_t size, vs_context context) {
  vs_alloc_extent *extent = block->extent;
  vs_alloc_lane *lane = block->lane;
  const uint64_t begin = page_at(extent, block->address);
  const uint64_t end = page_at(extent, block->address + size + extent->page - 1);
  const uint64_t bytes = (end - begin) * extent->page;
  VS_ASSERT(block->place == VS_PLACE_UNMAPPED && bytes >= size && bytes <= block->size);
  VS_TRY(vs_alloc_blocks_reserve(alloc->host, &alloc->blocks, 1));
  VS_TRY(vs_alloc_handles_reserve(alloc, extent, end));
  const vs_device_result result = map_pages(alloc, extent, begin, end);
  if (result == VS_DEVICE_OUT_OF_MEMORY) return VS_NOT_FOUND;
  VS_TRY(vs_device_status(result));

  vs_alloc_unmapped_remove(lane, block);
  block->place = VS_PLACE_FREE;
  const uint64_t address = block->address;
  if (bytes < block->size) {
    vs_alloc_block *rest = vs_alloc_block_part(alloc, block, address + bytes, block->size - bytes);
    rest->place = VS_PLACE_UNMAPPED;
    rest->prev = block;
    rest->next = block->next;
    if (rest->next != NULL) rest->next->prev = rest;
    block->next = rest;
    block->size = bytes;
    vs_alloc_unmapped_add(lane, rest);
  }
  vs_alloc_merge(alloc, block);
  vs_alloc_cache_add(block);
  vs_alloc_reserved_add(alloc, lane->pool, bytes);
  vs_alloc_tell(alloc, VS_EVENT_SEGMENT_MAP, address, bytes, lane, context);
  if (block->prev == NULL && block->segment_context == VS_CONTEXT_NONE) block->segment_context = context;
  return VS_OK;
}

/* ---- growing ------------------------------------------------------------------------------------ */

static bool is_usable(const vs_alloc_block *block) {
  return block != NULL && (block->place == VS_PLACE_FREE || block->place == VS_PLACE_UNMAPPED);
}

static bool has_room(const vs_alloc_block *block, uint64_t size) {
  uint64_t bytes = 0;
  for (; bytes < size && is_usable(block); block = block->next) bytes += block->size;
  return bytes >= size;
}

/* The beginning of the lowest run of free and unmapped neighbours with `size` bytes; NULL if there is none. */
static vs_alloc_block *find_room(const vs_alloc_lane *lane, uint64_t size) {
  for (vs_alloc_block *block = lane->unmapped; block != NULL; block = block->right) {
    vs_alloc_block *start = is_usable(block->prev) ? block->prev : block;
    if (has_room(start, size)) return start;
  }
  return NULL;
}

vs_status vs_alloc_expand(vs_alloc *alloc, vs_alloc_request *request) {
  vs_alloc_lane *lane = request->lane;
  vs_alloc_block *block = find_room(lane, request->size);
  if (block == NULL) {
    if (request->size > reserved_addresses(alloc, lane)) return VS_NOT_FOUND;
    VS_TRY(extent_create(alloc, lane, &block));
  }
  if (block->place == VS_PLACE_UNMAPPED)
    VS_TRY(map_block(alloc, block, vs_min_u64(block->size, request->size), request->context));
  /* Here `block` is free. While it is too small, the block after it is unmapped. */
  while (block->size < request->size) {
    vs_alloc_block *next = block->next;
    if (next == NULL || next->place != VS_PLACE_UNMAPPED)
      return VS_NOT_FOUND; /* the reserve is smaller than the request */
    const uint64_t missing = vs_min_u64(request->size - block->size, next->size);
    VS_TRY(map_block(alloc, next, missing, request->context));
    block = next;
  }
  VS_ASSERT(block->place == VS_PLACE_FREE);
  vs_alloc_lane_remove(lane, block);
  request->block = block;
  return VS_OK;
}

/* ---- unmapping -------------------------------------------------------------------------------------------- */

/* Keeps one edge of a block, whose middle is unmapped, as a free block. */
static void keep_edge(vs_alloc *alloc, vs_alloc_block *block, uint64_t address, uint64_t size) {
  vs_alloc_block *edge = vs_alloc_block_part(alloc, block, address, size);
  const bool is_before = address == block->address;
  edge->prev = is_before ? block->prev : block;
  edge->next = is_before ? block : block->next;
  if (edge->prev != NULL) edge->prev->next = edge;
  if (edge->next != NULL) edge->next->prev = edge;
  vs_alloc_cache_add(edge);
}

/* Unmaps pages [begin, *end). On a failure *end is after the last page that was unmapped. Memory that the driver does not
 * release is lost. */
static vs_status unmap_pages(vs_alloc *alloc, vs_alloc_extent *extent, uint64_t begin, uint64_t *end) {
  const vs_device *device = &alloc->device;
  vs_status status = vs_device_status(device->ops->stream_synchronize(device->ctx, extent->stream));
  uint64_t i = begin;
  while (i < *end && status == VS_OK) {
    status =
        vs_device_status(device->ops->unmap(device->ctx, extent->address + i * extent->page, extent->page));
    if (status != VS_OK) break;
    status = vs_device_status(device->ops->release(device->ctx, extent->handles.data[i]));
    extent->handles.data[i++] = 0;
  }
  *end = i;
  return status;
}

vs_status vs_alloc_unmap(vs_alloc *alloc, vs_alloc_block *block, vs_context context) {
  vs_alloc_extent *extent = block->extent;
  vs_alloc_lane *lane = block->lane;
  const uint64_t begin = page_at(extent, block->address + extent->page - 1);
  uint64_t end = page_at(extent, block->address + block->size);
  if (begin >= end) return VS_OK;
  VS_TRY(vs_alloc_blocks_reserve(alloc->host, &alloc->blocks, 2));
  const vs_status status = unmap_pages(alloc, extent, begin, &end);
  if (begin == end) return status;
  const uint64_t address = extent->address + begin * extent->page, bytes = (end - begin) * extent->page;
  const uint64_t before = address - block->address, behind = block->size - before - bytes;
  VS_ASSERT(before < extent->page && before + bytes <= block->size);
  vs_alloc_lane_remove(lane, block);
  if (behind > 0) keep_edge(alloc, block, address + bytes, behind);
  if (before > 0) keep_edge(alloc, block, block->address, before);
  block->address = address;
  block->size = bytes;
  block->place = VS_PLACE_UNMAPPED;
  vs_alloc_merge(alloc, block);
  vs_alloc_unmapped_add(lane, block);
  vs_alloc_reserved_take(alloc, lane->pool, bytes);
  alloc->statistics.num_device_free++;
  vs_alloc_tell(alloc, VS_EVENT_SEGMENT_UNMAP, address, bytes, lane,
                vs_alloc_either(context, block->segment_context));
  return status;
}
