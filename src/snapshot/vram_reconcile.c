/* Both states become sorted lists, of live blocks and of ranges of segments, and a merge finds what is only in one of them. */
#include "snapshot/vram_reconcile.h"
#include "base/sort.h"

/* A live block with the properties of its segment, or the range of a segment. */
typedef struct piece {
  uint64_t address, size, requested;
  int32_t device;
  uint32_t stream, pool, stack, forward_frames;
  bool is_pending;    /* of blocks */
  bool is_expandable; /* of segments */
} piece;

typedef struct pieces {
  VS_VEC(piece) list;
} pieces;

typedef struct sides {
  const vs_host *host;
  const vs_vram_changes *out;
  pieces before, after;
} sides;

/* ---- lists */

static vs_status add(const vs_host *host, pieces *to, const piece *one) {
  VS_TRY(vs_vec_reserve(host, &to->list, 1));
  to->list.data[to->list.count++] = *one;
  return VS_OK;
}

static piece piece_of(const vs_segment *segment) {
  return (piece){.address = segment->address,
                 .size = vs_min_u64(segment->total_size, UINT64_MAX - segment->address),
                 .device = segment->device,
                 .stream = segment->stream,
                 .pool = segment->pool,
                 .stack = segment->stack == VS_LIST_EMPTY ? VS_LIST_NONE : segment->stack,
                 .forward_frames = segment->forward_frames,
                 .is_expandable = segment->is_expandable};
}

static vs_status list_segments(const vs_host *host, const vs_vram_memory *memory, pieces *to) {
  for (size_t i = 0; i < memory->segment_count; i++) {
    const piece one = piece_of(&memory->segments[i]);
    if (one.size != 0) VS_TRY(add(host, to, &one));
  }
  return VS_OK;
}

static vs_status list_blocks_of(const vs_host *host, const vs_vram_memory *memory, const vs_segment *segment,
                                pieces *to) {
  for (uint32_t i = 0; i < segment->block_count; i++) {
    VS_ASSERT(segment->first_block + i < memory->block_count);
    const vs_block *block = &memory->blocks[segment->first_block + i];
    if (!vs_block_is_active(block)) continue;
    piece one = piece_of(segment);
    one.address = block->address;
    one.size = block->size;
    one.requested = block->requested_size;
    one.stack = block->stack == VS_LIST_EMPTY ? VS_LIST_NONE : block->stack;
    one.forward_frames = block->forward_frames;
    one.is_pending = block->state == VS_BLOCK_PENDING;
    one.is_expandable = false; /* of blocks it says nothing */
    VS_TRY(add(host, to, &one));
  }
  return VS_OK;
}

static vs_status list_blocks(const vs_host *host, const vs_vram_memory *memory, pieces *to) {
  for (size_t i = 0; i < memory->segment_count; i++)
    VS_TRY(list_blocks_of(host, memory, &memory->segments[i], to));
  return VS_OK;
}

/* By owner, then by address. Blocks of one device cannot be at one address twice, so for them the owner is the device alone. */
static int compare_owners(const piece *a, const piece *b) {
  if (a->device != b->device) return a->device < b->device ? -1 : 1;
  if (a->is_expandable != b->is_expandable) return a->is_expandable ? 1 : -1;
  if (!a->is_expandable) return 0;
  if (a->stream != b->stream) return a->stream < b->stream ? -1 : 1;
  return a->pool == b->pool ? 0 : a->pool < b->pool ? -1 : 1;
}

static int compare(const piece *a, const piece *b) {
  const int owners = compare_owners(a, b);
  if (owners != 0) return owners;
  return a->address == b->address ? 0 : a->address < b->address ? -1 : 1;
}

static bool is_before(const void *ctx, uint32_t a, uint32_t b) {
  const piece *list = ctx;
  const int order = compare(&list[a], &list[b]);
  return order != 0 ? order < 0 : a < b;
}

static vs_status sort_with(const vs_host *host, pieces *all, uint32_t *rows) {
  const size_t count = all->list.count;
  pieces sorted = {0};
  for (size_t i = 0; i < count; i++) rows[i] = (uint32_t)i;
  VS_TRY(vs_sort_rows(host, rows, count, is_before, all->list.data));
  VS_TRY(vs_vec_reserve(host, &sorted.list, count));
  for (size_t i = 0; i < count; i++) sorted.list.data[i] = all->list.data[rows[i]];
  sorted.list.count = count;
  vs_vec_free(host, &all->list);
  *all = sorted;
  return VS_OK;
}

static vs_status sort(const vs_host *host, pieces *all) {
  if (all->list.count < 2) return VS_OK;
  uint32_t *rows = vs_host_alloc(host, all->list.count * sizeof *rows);
  if (rows == NULL) return VS_NO_MEMORY;
  const vs_status status = sort_with(host, all, rows);
  vs_host_free(host, rows, all->list.count * sizeof *rows);
  return status;
}

/* ---- changes */

static vs_status give(const sides *s, vs_event_kind kind, const piece *one, bool has_stack) {
  const bool is_block =
      kind == VS_EVENT_ALLOC || kind == VS_EVENT_FREE_REQUESTED || kind == VS_EVENT_FREE_COMPLETED;
  const vs_vram_change change = {.kind = kind,
                                 .device = one->device,
                                 .address = one->address,
                                 .size = is_block ? one->requested : one->size,
                                 .rounded = is_block ? one->size : 0,
                                 .stream = one->stream,
                                 .pool = one->pool,
                                 .stack = has_stack ? one->stack : VS_LIST_NONE,
                                 .forward_frames = has_stack ? one->forward_frames : VS_LIST_NONE};
  return s->out->change(s->out->ctx, &change);
}

/* ---- blocks */

/* Whether the block after may be the one before: a pending one is never allocated again without a free in between. */
static bool is_same_block(const piece *a, const piece *b) {
  return a->size == b->size && a->requested == b->requested && a->stream == b->stream && a->pool == b->pool &&
         (!a->is_pending || b->is_pending) &&
         (a->stack == b->stack || a->stack == VS_LIST_NONE || b->stack == VS_LIST_NONE);
}

static vs_status close_block(const sides *s, const piece *before) {
  if (!before->is_pending) VS_TRY(give(s, VS_EVENT_FREE_REQUESTED, before, false));
  return give(s, VS_EVENT_FREE_COMPLETED, before, false);
}

static vs_status open_block(const sides *s, const piece *after) {
  VS_TRY(give(s, VS_EVENT_ALLOC, after, true));
  return after->is_pending ? give(s, VS_EVENT_FREE_REQUESTED, after, false) : VS_OK;
}

/* Gives what is to be freed (`frees`), or what is to be allocated, in order of addresses. */
static vs_status merge_blocks(const sides *s, bool frees) {
  for (size_t i = 0, j = 0; i < s->before.list.count || j < s->after.list.count;) {
    const piece *a = i < s->before.list.count ? &s->before.list.data[i] : NULL;
    const piece *b = j < s->after.list.count ? &s->after.list.data[j] : NULL;
    const int order = a == NULL ? 1 : b == NULL ? -1 : compare(a, b);
    const bool is_same = order == 0 && is_same_block(a, b);
    if (frees && is_same && b->is_pending && !a->is_pending)
      VS_TRY(give(s, VS_EVENT_FREE_REQUESTED, a, false));
    if (frees && !is_same && order <= 0) VS_TRY(close_block(s, a));
    if (!frees && !is_same && order >= 0) VS_TRY(open_block(s, b));
    i += order <= 0;
    j += order >= 0;
  }
  return VS_OK;
}

/* ---- segments: those of an expandable one are ranges, of which parts may have been mapped or unmapped */

static vs_status give_range(const sides *s, vs_event_kind kind, const piece *of, uint64_t from, uint64_t to) {
  piece part = *of;
  if (from >= to) return VS_OK;
  part.address = from;
  part.size = to - from;
  return give(s, kind, &part, kind == VS_EVENT_SEGMENT_MAP);
}

/* The parts of `one` that none of the sorted pieces from *next on covers. *next moves behind those that end before `one`. */
static vs_status subtract(const sides *s, vs_event_kind kind, const piece *one, const pieces *others,
                          size_t *next) {
  const piece *list = others->list.data;
  const size_t count = others->list.count;
  const uint64_t end = one->address + one->size;
  uint64_t at = one->address;
  while (*next < count &&
         (compare_owners(&list[*next], one) < 0 ||
          (compare_owners(&list[*next], one) == 0 && list[*next].address + list[*next].size <= one->address)))
    ++*next;
  for (size_t i = *next; i < count && at < end; i++) {
    if (compare_owners(&list[i], one) != 0 || list[i].address >= end) break;
    VS_TRY(give_range(s, kind, one, at, list[i].address));
    at = vs_max_u64(at, list[i].address + list[i].size);
  }
  return give_range(s, kind, one, at, end);
}

/* Joins ranges of one owner that overlap or touch, so that no loop over them is longer than the file. */
static void join(pieces *all) {
  size_t kept = 0;
  for (size_t i = 0; i < all->list.count; i++) {
    const piece *one = &all->list.data[i];
    piece *last = kept == 0 ? NULL : &all->list.data[kept - 1];
    if (last != NULL && last->is_expandable && compare_owners(last, one) == 0 &&
        one->address - last->address <= last->size)
      last->size = vs_max_u64(last->size, one->address - last->address + one->size);
    else all->list.data[kept++] = *one;
  }
  all->list.count = kept;
}

static bool is_same_segment(const piece *a, const piece *b) {
  return a->size == b->size && a->stream == b->stream && a->pool == b->pool;
}

/* What only `these` have. */
static vs_status differ(const sides *s, const pieces *these, const pieces *others, vs_event_kind whole,
                        vs_event_kind part) {
  size_t next = 0, next_range = 0;
  for (size_t i = 0; i < these->list.count; i++) {
    const piece *one = &these->list.data[i];
    if (one->is_expandable) {
      VS_TRY(subtract(s, part, one, others, &next_range));
      continue;
    }
    while (next < others->list.count && compare(&others->list.data[next], one) < 0) next++;
    const bool is_there = next < others->list.count && compare(&others->list.data[next], one) == 0 &&
                          is_same_segment(&others->list.data[next], one);
    if (!is_there) VS_TRY(give(s, whole, one, whole == VS_EVENT_SEGMENT_ALLOC));
  }
  return VS_OK;
}

/* ---- all of it */

static vs_status sort_both(sides *s) {
  VS_TRY(sort(s->host, &s->before));
  return sort(s->host, &s->after);
}

static vs_status reconcile(sides *blocks, sides *segments, const vs_vram_memory *before,
                           const vs_vram_memory *after) {
  VS_TRY(list_blocks(blocks->host, before, &blocks->before));
  VS_TRY(list_blocks(blocks->host, after, &blocks->after));
  VS_TRY(list_segments(segments->host, before, &segments->before));
  VS_TRY(list_segments(segments->host, after, &segments->after));
  VS_TRY(sort_both(blocks));
  VS_TRY(sort_both(segments));
  join(&segments->before);
  join(&segments->after);
  VS_TRY(merge_blocks(blocks, true));
  VS_TRY(
      differ(segments, &segments->before, &segments->after, VS_EVENT_SEGMENT_FREE, VS_EVENT_SEGMENT_UNMAP));
  VS_TRY(differ(segments, &segments->after, &segments->before, VS_EVENT_SEGMENT_ALLOC, VS_EVENT_SEGMENT_MAP));
  return merge_blocks(blocks, false);
}

vs_status vs_vram_reconcile(const vs_host *host, const vs_vram_memory *before, const vs_vram_memory *after,
                            const vs_vram_changes *out) {
  sides blocks = {.host = host, .out = out}, segments = blocks;
  const vs_status status = reconcile(&blocks, &segments, before, after);
  vs_vec_free(host, &blocks.before.list);
  vs_vec_free(host, &blocks.after.list);
  vs_vec_free(host, &segments.before.list);
  vs_vec_free(host, &segments.after.list);
  return status;
}
