#include "faces/simcuda/core/readback_values.h"

void vs_readback_init(vs_readback *readback, const vs_host *host, vs_values values, uint64_t most_bytes) {
  *readback = (vs_readback){.host = host, .values = values, .most_pages = most_bytes / VS_READBACK_PAGE};
}

void vs_readback_deinit(vs_readback *readback) {
  const vs_host *host = readback->host;
  vs_ordmap_deinit(host, &readback->by_start);
  vs_vec_free(host, &readback->extents);
  vs_vec_free(host, &readback->store);
  vs_vec_free(host, &readback->moving);
  for (size_t i = 0; i < readback->pages.count; i++)
    vs_host_free(host, readback->pages.data[i].bytes, VS_READBACK_PAGE);
  vs_map_deinit(host, &readback->page_of);
  vs_vec_free(host, &readback->pages);
  vs_vec_free(host, &readback->spare_pages);
}

/* ---- fresh */

/* Drops what was written before the last kernel. A map with few entries is emptied but keeps its chunk, so that
 * the next writes do not allocate. */
static void catch_up(vs_readback *c) {
  enum { FEW = 64 };
  if (c->kernels_then == c->kernels) return;
  c->kernels_then = c->kernels;
  if (c->used == 0 && c->extents.count == 0) return;
  vs_ordmap_pos last;
  if (c->by_start.count > FEW) vs_ordmap_deinit(c->host, &c->by_start);
  while (vs_ordmap_floor(&c->by_start, UINT64_MAX, &last)) vs_ordmap_remove(c->host, &c->by_start, last);
  c->extents.count = 0;
  c->store.count = 0;
  c->used = 0;
}

/* Adds an extent; the range holds no other. Out of memory, the range stays unknown. */
static void add_extent(vs_readback *c, uint64_t start, vs_extent extent) {
  if (c->extents.count >= VS_READBACK_MOST_EXTENTS) return;
  if (vs_vec_reserve(c->host, &c->extents, 1) != VS_OK) return;
  if (vs_ordmap_put(c->host, &c->by_start, start, (uint32_t)c->extents.count) != VS_OK) return;
  c->extents.data[c->extents.count++] = extent;
}

/* `extent` without its first `count` bytes, of which it has more. */
static vs_extent without_first(vs_extent extent, uint64_t count) {
  VS_ASSERT(count < extent.size);
  extent.size -= count;
  extent.at = extent.is_fill ? (uint32_t)((extent.at + count) % 4) : extent.at + (uint32_t)count;
  return extent;
}

static vs_extent *extent_at(const vs_readback *c, vs_ordmap_pos pos) {
  return &c->extents.data[vs_ordmap_value(&c->by_start, pos)];
}

/* The first extent that ends behind `start`: the first that can overlap a range beginning there. Further ones
 * follow in order, until one starts at or behind the range's end. */
static vs_ordmap_pos first_meeting(const vs_readback *c, uint64_t start) {
  vs_ordmap_pos pos;
  if (!vs_ordmap_floor(&c->by_start, start, &pos)) return vs_ordmap_begin();
  if (vs_ordmap_key(&c->by_start, pos) + extent_at(c, pos)->size > start) return pos;
  return vs_ordmap_next(&c->by_start, pos);
}

static bool meets(const vs_readback *c, vs_ordmap_pos pos, uint64_t end) {
  return !vs_ordmap_at_end(&c->by_start, pos) && vs_ordmap_key(&c->by_start, pos) < end;
}

static void erase(vs_readback *c, uint64_t start, uint64_t end) {
  for (;;) {
    const vs_ordmap_pos pos = first_meeting(c, start);
    if (!meets(c, pos, end)) return;
    const uint64_t begin = vs_ordmap_key(&c->by_start, pos);
    vs_extent *extent = extent_at(c, pos);
    const vs_extent whole = *extent;
    if (begin < start) extent->size = start - begin;
    else vs_ordmap_remove(c->host, &c->by_start, pos);
    if (begin + whole.size > end) add_extent(c, end, without_first(whole, end - begin));
  }
}

static bool pay(vs_readback *c, uint64_t cost) {
  if (cost > VS_READBACK_BUDGET - c->used) return false;
  c->used += (uint32_t)cost;
  VS_ASSERT(c->used <= VS_READBACK_BUDGET);
  return true;
}

static void fresh_write(vs_readback *c, uint64_t to, const void *bytes, uint64_t size) {
  erase(c, to, to + size);
  if (size > VS_READBACK_BUDGET || !pay(c, size + VS_READBACK_PIECE)) return;
  if (vs_vec_reserve(c->host, &c->store, size) != VS_OK) return;
  const uint32_t at = (uint32_t)c->store.count;
  memcpy(c->store.data + at, bytes, (size_t)size);
  c->store.count += (size_t)size;
  add_extent(c, to, (vs_extent){.size = size, .at = at});
}

static void fresh_fill(vs_readback *c, uint64_t to, const uint8_t pattern[static 4], uint64_t size) {
  static const uint8_t zeros[4] = {0};
  erase(c, to, to + size);
  if (c->values == VS_VALUES_ZEROS && memcmp(pattern, zeros, 4) == 0)
    return; /* unknown bytes read as zeros too */
  if (!pay(c, VS_READBACK_PIECE)) return;
  vs_extent extent = {.size = size, .is_fill = 1};
  memcpy(extent.pattern, pattern, 4);
  add_extent(c, to, extent);
}

/* The part of the extent at `pos` inside [start, end), which it overlaps. */
static vs_extent_at clipped(const vs_readback *c, vs_ordmap_pos pos, uint64_t start, uint64_t end) {
  vs_extent_at piece = {vs_ordmap_key(&c->by_start, pos), *extent_at(c, pos)};
  if (piece.start < start) {
    piece.extent = without_first(piece.extent, start - piece.start);
    piece.start = start;
  }
  piece.extent.size = vs_min_u64(piece.extent.size, end - piece.start);
  VS_ASSERT(piece.extent.size != 0);
  return piece;
}

static void fresh_move(vs_readback *c, uint64_t to, uint64_t from, uint64_t size) {
  c->moving.count = 0;
  const uint64_t end = from + size;
  for (vs_ordmap_pos pos = first_meeting(c, from); meets(c, pos, end);
       pos = vs_ordmap_next(&c->by_start, pos)) {
    if (vs_vec_reserve(c->host, &c->moving, 1) != VS_OK) break;
    c->moving.data[c->moving.count++] = clipped(c, pos, from, end);
  }
  erase(c, to, to + size);
  for (size_t i = 0; i < c->moving.count && pay(c, VS_READBACK_PIECE); i++)
    add_extent(c, to + (c->moving.data[i].start - from), c->moving.data[i].extent);
}

static void fresh_read(vs_readback *c, uint64_t from, uint8_t *bytes, uint64_t size) {
  vs_readback_read_unknown(c->values, bytes, size);
  const uint64_t end = from + size;
  for (vs_ordmap_pos pos = first_meeting(c, from); meets(c, pos, end);
       pos = vs_ordmap_next(&c->by_start, pos)) {
    const vs_extent_at piece = clipped(c, pos, from, end);
    uint8_t *to = bytes + (piece.start - from);
    if (piece.extent.is_fill)
      for (uint64_t i = 0; i < piece.extent.size; i++)
        to[i] = piece.extent.pattern[(piece.extent.at + i) % 4];
    else memcpy(to, c->store.data + piece.extent.at, (size_t)piece.extent.size);
  }
}

/* ---- kept */

/* A run of addresses inside one page. */
typedef struct vs_part {
  uint64_t page;
  uint32_t offset, size;
} vs_part;

static vs_part part_at(uint64_t address, uint64_t size) {
  const uint32_t offset = (uint32_t)(address % VS_READBACK_PAGE);
  VS_ASSERT(size != 0);
  return (vs_part){address / VS_READBACK_PAGE, offset, (uint32_t)vs_min_u64(size, VS_READBACK_PAGE - offset)};
}

static uint8_t *page_bytes(const vs_readback *c, uint64_t number) {
  const size_t slot = vs_map_find(&c->page_of, number);
  return slot == VS_MAP_NONE ? NULL : c->pages.data[c->page_of.slots[slot].value].bytes;
}

/* The page with this number, allocated if absent. NULL, and has_lost, beyond the bound or out of memory. */
static uint8_t *page_for_writing(vs_readback *c, uint64_t number) {
  uint8_t *bytes = page_bytes(c, number);
  if (bytes != NULL) return bytes;
  c->has_lost = true;
  if (c->page_of.count >= c->most_pages || vs_map_reserve(c->host, &c->page_of) != VS_OK) return NULL;
  if (c->spare_pages.count == 0) {
    if (vs_vec_reserve(c->host, &c->pages, 1) != VS_OK) return NULL;
    if (vs_vec_reserve(c->host, &c->spare_pages, c->pages.count + 1) != VS_OK) return NULL;
    c->pages.data[c->pages.count] = (vs_readback_page){0};
    c->spare_pages.data[c->spare_pages.count++] = (uint32_t)c->pages.count++;
  }
  bytes = vs_host_alloc(c->host, VS_READBACK_PAGE);
  if (bytes == NULL) return NULL;
  c->has_lost = false;
  memset(bytes, 0, VS_READBACK_PAGE);
  const uint32_t index = c->spare_pages.data[--c->spare_pages.count];
  VS_ASSERT(index < c->pages.count && c->pages.data[index].bytes == NULL);
  c->pages.data[index] = (vs_readback_page){number, bytes};
  vs_map_add(&c->page_of, number, index);
  return bytes;
}

static void drop_page(vs_readback *c, uint64_t number) {
  const size_t slot = vs_map_find(&c->page_of, number);
  if (slot == VS_MAP_NONE) return;
  const uint32_t index = c->page_of.slots[slot].value;
  vs_map_remove(&c->page_of, slot);
  vs_host_free(c->host, c->pages.data[index].bytes, VS_READBACK_PAGE);
  c->pages.data[index].bytes = NULL;
  VS_ASSERT(c->spare_pages.count < c->pages.count);
  c->spare_pages.data[c->spare_pages.count++] = index;
}

static void zero_part(vs_readback *c, vs_part part) {
  uint8_t *bytes = page_bytes(c, part.page);
  if (bytes == NULL) return;
  if (part.size == VS_READBACK_PAGE) drop_page(c, part.page);
  else memset(bytes + part.offset, 0, part.size);
}

/* Writes zeros, which need no pages. A range of a terabyte costs no more steps than there are pages. */
static void kept_zero(vs_readback *c, uint64_t address, uint64_t size) {
  if (size / VS_READBACK_PAGE <= c->page_of.count) {
    for (vs_part part; size != 0; address += part.size, size -= part.size) {
      part = part_at(address, size);
      zero_part(c, part);
    }
    return;
  }
  for (size_t i = 0; i < c->pages.count; i++) {
    const vs_readback_page page = c->pages.data[i];
    const uint64_t first = page.number * VS_READBACK_PAGE;
    const uint64_t begin = vs_max_u64(first, address);
    const uint64_t end = vs_min_u64(first + VS_READBACK_PAGE, address + size);
    if (page.bytes != NULL && begin < end) zero_part(c, part_at(begin, end - begin));
  }
}

static void kept_write(vs_readback *c, uint64_t to, const uint8_t *bytes, uint64_t size) {
  for (vs_part part; size != 0; to += part.size, bytes += part.size, size -= part.size) {
    part = part_at(to, size);
    uint8_t *page = page_for_writing(c, part.page);
    if (page != NULL) memcpy(page + part.offset, bytes, part.size);
  }
}

static void kept_fill(vs_readback *c, uint64_t to, const uint8_t pattern[static 4], uint64_t size) {
  static const uint8_t zeros[4] = {0};
  if (memcmp(pattern, zeros, 4) == 0) {
    kept_zero(c, to, size);
    return;
  }
  uint64_t done = 0;
  for (vs_part part; done < size; done += part.size) {
    part = part_at(to + done, size - done);
    uint8_t *page = page_for_writing(c, part.page);
    if (page == NULL) continue;
    for (uint32_t i = 0; i < part.size; i++) page[part.offset + i] = pattern[(done + i) % 4];
  }
}

/* Neither range crosses the end of a page. */
static void move_part(vs_readback *c, uint64_t to, uint64_t from, uint64_t size) {
  const vs_part target = part_at(to, size), source = part_at(from, size);
  VS_ASSERT(target.size == size && source.size == size);
  const uint8_t *bytes = page_bytes(c, source.page);
  if (bytes == NULL) {
    zero_part(c, target);
    return;
  }
  uint8_t *page = page_for_writing(c, target.page);
  if (page != NULL) memmove(page + target.offset, bytes + source.offset, (size_t)size);
}

/* The largest step from both addresses that leaves neither page: forwards, and backwards. */
static uint64_t forwards(uint64_t a, uint64_t b) {
  return VS_READBACK_PAGE - vs_max_u64(a % VS_READBACK_PAGE, b % VS_READBACK_PAGE);
}
static uint64_t backwards(uint64_t a, uint64_t b) {
  return vs_min_u64((a - 1) % VS_READBACK_PAGE, (b - 1) % VS_READBACK_PAGE) + 1;
}

static void kept_move(vs_readback *c, uint64_t to, uint64_t from, uint64_t size) {
  if (to <= from) {
    for (uint64_t step; size != 0; to += step, from += step, size -= step) {
      step = vs_min_u64(size, forwards(to, from));
      move_part(c, to, from, step);
    }
  } else { /* from the end, so that no byte is overwritten before it is read */
    for (uint64_t step; size != 0; size -= step) {
      step = vs_min_u64(size, backwards(to + size, from + size));
      move_part(c, to + size - step, from + size - step, step);
    }
  }
}

static void kept_read(const vs_readback *c, uint64_t from, uint8_t *bytes, uint64_t size) {
  for (vs_part part; size != 0; from += part.size, bytes += part.size, size -= part.size) {
    part = part_at(from, size);
    const uint8_t *page = page_bytes(c, part.page);
    if (page == NULL) memset(bytes, 0, part.size);
    else memcpy(bytes, page + part.offset, part.size);
  }
}

static bool kept_is_known(const vs_readback *c, uint64_t address, uint64_t size) {
  if (c->page_of.count == 0) return false;
  if (size / VS_READBACK_PAGE > c->page_of.count)
    return true; /* not looked up: reading known or unknown bytes gives the right result */
  for (vs_part part; size != 0; address += part.size, size -= part.size) {
    part = part_at(address, size);
    if (page_bytes(c, part.page) != NULL) return true;
  }
  return false;
}

/* ---- the interface of both stores */

static bool is_empty(uint64_t address, uint64_t size) {
  uint64_t end;
  return size == 0 || !vs_add_u64(address, size, &end);
}

void vs_readback_write(vs_readback *readback, uint64_t to, const void *bytes, uint64_t size) {
  if (is_empty(to, size)) return;
  if (readback->values == VS_VALUES_KEEP) {
    kept_write(readback, to, bytes, size);
    return;
  }
  catch_up(readback);
  fresh_write(readback, to, bytes, size);
}

void vs_readback_fill(vs_readback *readback, uint64_t to, uint32_t value, uint32_t element_size,
                      uint64_t size) {
  if (is_empty(to, size)) return;
  uint8_t pattern[4];
  VS_ASSERT(element_size == 1 || element_size == 2 || element_size == 4);
  for (uint32_t i = 0; i < 4; i++) pattern[i] = (uint8_t)(value >> (8 * (i % element_size)));
  if (readback->values == VS_VALUES_KEEP) {
    kept_fill(readback, to, pattern, size);
    return;
  }
  catch_up(readback);
  fresh_fill(readback, to, pattern, size);
}

void vs_readback_move(vs_readback *readback, uint64_t to, uint64_t from, uint64_t size) {
  if (is_empty(to, size) || is_empty(from, size) || to == from) return;
  if (readback->values == VS_VALUES_KEEP) {
    kept_move(readback, to, from, size);
    return;
  }
  catch_up(readback);
  fresh_move(readback, to, from, size);
}

void vs_readback_forget(vs_readback *readback, uint64_t address, uint64_t size) {
  if (is_empty(address, size)) return;
  if (readback->values == VS_VALUES_KEEP) {
    kept_zero(readback, address, size);
    return;
  }
  catch_up(readback);
  erase(readback, address, address + size);
}

void vs_readback_read_unknown(vs_values values, void *bytes, uint64_t size) {
  memset(bytes, values == VS_VALUES_TRUE && size == 1 ? 1 : 0, (size_t)size);
}

void vs_readback_read(vs_readback *readback, uint64_t from, void *bytes, uint64_t size) {
  if (is_empty(from, size)) return;
  if (readback->values == VS_VALUES_KEEP) {
    kept_read(readback, from, bytes, size);
    return;
  }
  catch_up(readback);
  fresh_read(readback, from, bytes, size);
}

bool vs_readback_is_known(vs_readback *readback, uint64_t address, uint64_t size) {
  if (is_empty(address, size)) return false;
  if (readback->values == VS_VALUES_KEEP) return kept_is_known(readback, address, size);
  catch_up(readback);
  return meets(readback, first_meeting(readback, address), address + size);
}

bool vs_readback_check(const vs_readback *c) {
  uint64_t end = 0;
  for (vs_ordmap_pos pos = vs_ordmap_begin(); !vs_ordmap_at_end(&c->by_start, pos);
       pos = vs_ordmap_next(&c->by_start, pos)) {
    const vs_extent *extent = extent_at(c, pos);
    if (vs_ordmap_key(&c->by_start, pos) < end || extent->size == 0) return false;
    if (!extent->is_fill && extent->at + extent->size > c->store.count) return false;
    end = vs_ordmap_key(&c->by_start, pos) + extent->size;
  }
  size_t live = 0;
  for (size_t i = 0; i < c->pages.count; i++)
    if (c->pages.data[i].bytes != NULL && page_bytes(c, c->pages.data[i].number) == c->pages.data[i].bytes)
      live++;
  return vs_ordmap_check(&c->by_start) && live == c->page_of.count &&
         live + c->spare_pages.count == c->pages.count;
}
