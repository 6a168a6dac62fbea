#include "faces/web/heap.h"
#include "base/mem.h"

enum { SMALLEST = 16, STEPS = 4 };

/* A free range of pages; it stands in its own first bytes. */
struct vs_heap_range {
  vs_heap_range *next;
  size_t size;
};

static unsigned char *end_of(vs_heap_range *range) { return (unsigned char *)range + range->size; }

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* ---- large: whole pages ---------------------------------------------------------------------------------------- */

/* 0 for what is too much for any memory. */
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

static bool extend(vs_heap *heap, size_t size) {
  if (!heap->extend(heap->ctx, size)) return false;
  put_range(heap, heap->end, size);
  heap->end += size;
  return true;
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

static void *take_pages(vs_heap *heap, size_t size) {
  vs_heap_range **link = best_fit(heap, size);
  if (link == NULL) {
    vs_heap_range *last = heap->ranges;
    while (last != NULL && last->next != NULL) last = last->next;
    const size_t there = last != NULL && end_of(last) == heap->end ? last->size : 0;
    if (!extend(heap, size - there)) return NULL;
    link = best_fit(heap, size);
  }
  void *memory = *link;
  take_front(link, size);
  return memory;
}

/* Makes a block of pages longer where it lies. */
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

/* Classes: 16, 32, 48, 64, then four for each doubling: 80, 96, 112, 128, 160, ... */
static size_t class_of(size_t size, size_t *rounded) {
  size_t step = SMALLEST, first = 0;
  while (size > first + STEPS * step) {
    first += first == 0 ? STEPS * step : STEPS * step;
    if (first >= 2 * STEPS * step) step *= 2;
  }
  (void)rounded;
  return step;
}
