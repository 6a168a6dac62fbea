#include "faces/web/heap.h"
#include "base/mem.h"

enum {
  SMALLEST = 16,
  STEPS = 4,
  MOST_EXTRA = 64 << 20, /* bytes that the memory grows by more than is needed */
  ROOMY_FROM = 1 << 20,  /* blocks of this size ... */
  ROOM = 4,              /* ... that have grown get so many times their size to grow on ... */
};
#define MOST_ROOMY ((size_t)1 << 31) /* ... while the memory is no longer than that */

/* A free range of pages; it stands in its own first bytes. */
struct vs_heap_range {
  vs_heap_range *next;
  size_t size;
};

static unsigned char *end_of(vs_heap_range *range) { return (unsigned char *)range + range->size; }

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* ---- large: whole pages ---------------------------------------------------------------------------------------- */

/* 0 for a size that overflows when it is rounded up. */
static size_t whole_pages(size_t size) {
  if (size > SIZE_MAX - VS_HEAP_PAGE) return 0;
  return (size + VS_HEAP_PAGE - 1) / VS_HEAP_PAGE * VS_HEAP_PAGE;
}

static void put_range(vs_heap *heap, unsigned char *start, size_t size) {
  vs_heap_range *before = NULL, *behind = heap->ranges;
  while (behind != NULL && (unsigned char *)behind < start) {
    before = behind;
    behind = behind->next;
  }
  vs_heap_range *range = (vs_heap_range *)(void *)start;
  *range = (vs_heap_range){.next = behind, .size = size};
  if (behind != NULL && end_of(range) == (unsigned char *)behind) {
    range->size += behind->size;
    range->next = behind->next;
  }
  if (before == NULL) {
    heap->ranges = range;
  } else if (end_of(before) == start) {
    before->size += range->size;
    before->next = range->next;
  } else {
    before->next = range;
  }
}

/* Takes the first `size` bytes of the range that *link points to. */
static void take_front(vs_heap_range **link, size_t size) {
  vs_heap_range *range = *link;
  if (range->size == size) {
    *link = range->next;
    return;
  }
  vs_heap_range *rest = (vs_heap_range *)(void *)((unsigned char *)range + size);
  *rest = (vs_heap_range){.next = range->next, .size = range->size - size};
  *link = rest;
}

static bool extend_exactly(vs_heap *heap, size_t size) {
  if (!heap->extend(heap->ctx, size)) return false;
  put_range(heap, heap->end, size);
  heap->end += size;
  return true;
}

/* Makes the memory longer by at least `size`, a multiple of pages. Each growth is a system call, and untouched pages cost
 * nothing, so it grows by a quarter of the current size where possible. */
static bool extend(vs_heap *heap, size_t size) {
  const size_t step = smaller(whole_pages((size_t)(heap->end - heap->start) / 4), MOST_EXTRA);
  return (step > size && extend_exactly(heap, step)) || extend_exactly(heap, size);
}

/* The link to the free range at `address`, or behind all if there is none. */
static vs_heap_range **link_at(vs_heap *heap, const unsigned char *address) {
  vs_heap_range **link = &heap->ranges;
  while (*link != NULL && (unsigned char *)*link != address) link = &(*link)->next;
  return link;
}

/* The smallest free range that is large enough: large vectors come and go, and this keeps the long ranges long. */
static vs_heap_range **best_fit(vs_heap *heap, size_t size) {
  vs_heap_range **best = NULL;
  for (vs_heap_range **link = &heap->ranges; *link != NULL; link = &(*link)->next)
    if ((*link)->size >= size && (best == NULL || (*link)->size < (*best)->size)) best = link;
  return best;
}

/* Bytes of the free range that ends where the memory does. */
static size_t free_at_end(const vs_heap *heap) {
  vs_heap_range *last = heap->ranges;
  while (last != NULL && last->next != NULL) last = last->next;
  return last != NULL && end_of(last) == heap->end ? last->size : 0;
}

static void *take_pages(vs_heap *heap, size_t size) {
  vs_heap_range **link = best_fit(heap, size);
  if (link == NULL) {
    if (!extend(heap, size - free_at_end(heap))) return NULL;
    link = best_fit(heap, size);
  }
  void *memory = *link;
  take_front(link, size);
  return memory;
}

static vs_heap_range *widest(const vs_heap *heap) {
  vs_heap_range *best = heap->ranges;
  for (vs_heap_range *range = best; range != NULL; range = range->next)
    if (range->size > best->size) best = range;
  return best;
}

/* A place for a block that has grown and will grow further: in the middle of the widest range, so that the block before it
 * can also grow. While there are enough addresses, that range is extended first. */
static void *take_roomy(vs_heap *heap, size_t size) {
  vs_heap_range *range = widest(heap);
  const size_t room = size <= MOST_ROOMY / ROOM ? ROOM * size : size, there = free_at_end(heap);
  if ((range == NULL || range->size < room) && there < room &&
      (size_t)(heap->end - heap->start) + (room - there) <= MOST_ROOMY && extend_exactly(heap, room - there))
    range = widest(heap);
  if (range == NULL || range->size < size + 2 * VS_HEAP_PAGE) return take_pages(heap, size);
  const size_t before = (range->size - size) / 2 / VS_HEAP_PAGE * VS_HEAP_PAGE;
  unsigned char *memory = (unsigned char *)range + before;
  vs_heap_range *behind = (vs_heap_range *)(void *)(memory + size);
  *behind = (vs_heap_range){.next = range->next, .size = range->size - before - size};
  range->size = before;
  range->next = behind;
  return memory;
}

/* Extends a block of pages in place. */
static bool grow_in_place(vs_heap *heap, unsigned char *memory, size_t old_pages, size_t new_pages) {
  const size_t more = new_pages - old_pages;
  unsigned char *behind = memory + old_pages;
  vs_heap_range **link = link_at(heap, behind);
  const size_t there = *link != NULL ? (*link)->size : 0;
  if (there < more) {
    if (behind + there != heap->end || !extend(heap, more - there)) return false;
    link = link_at(heap, behind);
  }
  take_front(link, more);
  return true;
}

/* ---- small: classes -------------------------------------------------------------------------------------------- */

enum { BUMP_PAGES = 4 };

/* The class of a size and what it is rounded up to: 16, 32, 48, 64, then four to each doubling (80, 96, 112, 128, 160). */
static size_t class_of(size_t size, size_t *rounded) {
  size_t group = 0, base = 0, step = SMALLEST;
  while (size > base + STEPS * step) {
    base += STEPS * step;
    if (group++ > 0) step *= 2;
  }
  const size_t index = (size - base + step - 1) / step;
  *rounded = base + step * index;
  return STEPS * group + index - 1;
}

static void put_small(vs_heap *heap, void *memory, size_t class) {
  memcpy(memory, &heap->free[class], sizeof heap->free[class]);
  heap->free[class] = memory;
}

/* What is left of the bytes that small blocks were cut from, as free blocks. */
static void put_rest_of_bump(vs_heap *heap) {
  for (size_t rest; (rest = (size_t)(heap->bump_end - heap->bump)) >= SMALLEST;) {
    size_t size = smaller(rest, VS_HEAP_SMALL), rounded;
    size_t class = class_of(size, &rounded);
    for (; rounded > rest; class = class_of(size, &rounded)) size -= SMALLEST;
    put_small(heap, heap->bump, class);
    heap->bump += rounded;
  }
}

static void *take_small(vs_heap *heap, size_t size) {
  size_t rounded;
  const size_t class = class_of(size, &rounded);
  void *memory = heap->free[class];
  if (memory != NULL) {
    memcpy(&heap->free[class], memory, sizeof heap->free[class]);
    return memory;
  }
  if ((size_t)(heap->bump_end - heap->bump) < rounded) {
    unsigned char *pages = take_pages(heap, BUMP_PAGES * VS_HEAP_PAGE);
    if (pages == NULL) return NULL;
    put_rest_of_bump(heap);
    heap->bump = pages;
    heap->bump_end = pages + BUMP_PAGES * VS_HEAP_PAGE;
  }
  memory = heap->bump;
  heap->bump += rounded;
  return memory;
}

/* ---- both ------------------------------------------------------------------------------------------------------ */

static void *take(vs_heap *heap, size_t size) {
  if (size <= VS_HEAP_SMALL) return take_small(heap, size);
  const size_t pages = whole_pages(size);
  return pages == 0 ? NULL : take_pages(heap, pages);
}

static void give_back(vs_heap *heap, void *memory, size_t size) {
  size_t rounded;
  if (size <= VS_HEAP_SMALL) put_small(heap, memory, class_of(size, &rounded));
  else put_range(heap, memory, whole_pages(size));
}

/* Whether a block can take its new size without moving; then it has. */
static bool fits(vs_heap *heap, void *memory, size_t old_size, size_t new_size) {
  size_t old_room, new_room;
  if (old_size <= VS_HEAP_SMALL)
    return new_size <= VS_HEAP_SMALL && class_of(old_size, &old_room) == class_of(new_size, &new_room);
  if (new_size <= VS_HEAP_SMALL) return false;
  old_room = whole_pages(old_size);
  new_room = whole_pages(new_size);
  if (new_room == 0) return false;
  if (new_room > old_room) return grow_in_place(heap, memory, old_room, new_room);
  if (new_room < old_room) put_range(heap, (unsigned char *)memory + new_room, old_room - new_room);
  return true;
}

static void *move(vs_heap *heap, void *old, size_t old_size, size_t new_size) {
  const bool grows = old_size > VS_HEAP_SMALL && new_size > old_size && new_size >= ROOMY_FROM;
  const size_t pages = grows ? whole_pages(new_size) : 0;
  void *memory = pages != 0 ? take_roomy(heap, pages) : take(heap, new_size);
  if (memory == NULL || old == NULL) return memory;
  memcpy(memory, old, smaller(old_size, new_size));
  give_back(heap, old, old_size);
  return memory;
}

static void *resize(void *ctx, void *old, size_t old_size, size_t new_size) {
  vs_heap *heap = ctx;
  void *memory = NULL;
  if (new_size == 0) {
    if (old != NULL) give_back(heap, old, old_size);
  } else {
    memory = old != NULL && fits(heap, old, old_size, new_size) ? old : move(heap, old, old_size, new_size);
    if (memory == NULL) return NULL;
  }
  heap->used = heap->used - old_size + new_size;
  return memory;
}

void vs_heap_init(vs_heap *heap, void *start, bool (*extend_by)(void *ctx, size_t bytes), void *ctx) {
  *heap = (vs_heap){.extend = extend_by, .ctx = ctx, .start = start, .end = start};
}

vs_host vs_heap_host(vs_heap *heap) { return (vs_host){.ctx = heap, .resize = resize}; }

bool vs_heap_check(const vs_heap *heap) {
  const unsigned char *free_from = heap->start; /* the next range may begin here or behind */
  bool is_first = true;
  for (vs_heap_range *range = heap->ranges; range != NULL; range = range->next) {
    const unsigned char *start = (unsigned char *)range;
    if (start < free_from || (!is_first && start == free_from) || range->size % VS_HEAP_PAGE != 0)
      return false;
    if (range->size == 0 || end_of(range) > heap->end) return false;
    free_from = end_of(range);
    is_first = false;
  }
  return heap->start <= heap->end && heap->bump <= heap->bump_end &&
         heap->used <= (uint64_t)(heap->end - heap->start);
}
