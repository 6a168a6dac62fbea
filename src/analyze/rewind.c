#include "analyze/rewind.h"

#include "base/mem.h"

static void ring_init(vs_rewind_piece *head) { head->previous = head->next = head; }

static void ring_add(vs_rewind_piece *head, vs_rewind_piece *piece) {
  piece->previous = head;
  piece->next = head->next;
  head->next->previous = piece;
  head->next = piece;
}

static void ring_remove(vs_rewind_piece *piece) {
  piece->previous->next = piece->next;
  piece->next->previous = piece->previous;
}

static void piece_free(vs_rewind *rewind, vs_rewind_piece *piece) {
  ring_remove(piece);
  vs_host_free(rewind->parent, piece->copy, piece->size);
  vs_host_free(rewind->parent, piece, sizeof *piece + piece->size);
}

static void ring_free(vs_rewind *rewind, vs_rewind_piece *head) {
  while (head->next != head) piece_free(rewind, head->next);
}

/* The caller frees a piece. A piece that existed at the mark stays allocated, because vs_rewind_back restores it. */
static void piece_drop(vs_rewind *rewind, void *memory) {
  vs_rewind_piece *piece = (vs_rewind_piece *)memory - 1;
  if (piece->copy == NULL) piece_free(rewind, piece);
}

static void *resize(void *ctx, void *old, size_t old_size, size_t new_size) {
  vs_rewind *rewind = ctx;
  vs_rewind_piece *piece = NULL;
  if (new_size > SIZE_MAX - sizeof *piece) return NULL;
  if (new_size != 0) {
    piece = vs_host_alloc(rewind->parent, sizeof *piece + new_size);
    if (piece == NULL) return NULL;
    *piece = (vs_rewind_piece){.size = new_size};
    ring_add(&rewind->young, piece);
    if (old != NULL) memcpy(piece + 1, old, old_size < new_size ? old_size : new_size);
  }
  if (old != NULL) piece_drop(rewind, old);
  return piece == NULL ? NULL : piece + 1;
}

void vs_rewind_init(vs_rewind *rewind, const vs_host *parent) {
  *rewind = (vs_rewind){.parent = parent, .host = {.ctx = rewind, .resize = resize}};
  ring_init(&rewind->kept);
  ring_init(&rewind->young);
}

void vs_rewind_deinit(vs_rewind *rewind) {
  ring_free(rewind, &rewind->young);
  ring_free(rewind, &rewind->kept);
}

vs_status vs_rewind_mark(vs_rewind *rewind) {
  VS_ASSERT(!rewind->is_marked);
  for (vs_rewind_piece *piece = rewind->young.next; piece != &rewind->young; piece = piece->next) {
    void *copy = vs_host_alloc(rewind->parent, piece->size);
    if (copy == NULL) { /* pieces with a copy are still in the wrong ring: undo */
      for (piece = piece->previous; piece != &rewind->young; piece = piece->previous) {
        vs_host_free(rewind->parent, piece->copy, piece->size);
        piece->copy = NULL;
      }
      return VS_NO_MEMORY;
    }
    memcpy(copy, piece + 1, piece->size);
    piece->copy = copy;
    rewind->kept_bytes += piece->size;
  }
  while (rewind->young.next != &rewind->young) {
    vs_rewind_piece *piece = rewind->young.next;
    ring_remove(piece);
    ring_add(&rewind->kept, piece);
  }
  rewind->is_marked = true;
  return VS_OK;
}

void vs_rewind_back(vs_rewind *rewind) {
  VS_ASSERT(rewind->is_marked);
  ring_free(rewind, &rewind->young);
  for (vs_rewind_piece *piece = rewind->kept.next; piece != &rewind->kept; piece = piece->next) {
    VS_ASSERT(piece->copy != NULL);
    memcpy(piece + 1, piece->copy, piece->size);
  }
}
