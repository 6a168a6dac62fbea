/* A host whose memory can be set back: every piece that was allocated at the mark is there again, at its address and with the
 * content that it had then. So a computation that has all of its state in such memory can be continued in several ways.
 *
 *   vs_rewind_init(&rewind, parent);      what allocates with &rewind.host from now on is kept track of
 *   VS_TRY(vs_rewind_mark(&rewind));      once
 *   ... change, allocate, free ...
 *   vs_rewind_back(&rewind);              as often as wanted
 *   vs_rewind_deinit(&rewind);            frees all that is left
 *
 * State outside of this memory, such as structs on the stack that point into it, is the caller's to set back.
 *
 * Invariant: a piece is in exactly one of the two rings; those in `kept` have a copy, and no other has. A piece of `kept` that is
 * freed or resized stays allocated until deinit. */
#ifndef VS_ANALYZE_REWIND_H
#define VS_ANALYZE_REWIND_H

#include "base/host.h"

/* What stands in front of the memory that a caller gets. */
typedef struct vs_rewind_piece {
  _Alignas(16) struct vs_rewind_piece *previous;
  struct vs_rewind_piece *next;
  void *copy; /* its content at the mark; NULL: allocated since, or there is no mark */
  size_t size;
} vs_rewind_piece;

typedef struct vs_rewind {
  const vs_host *parent;
  vs_rewind_piece kept, young; /* heads of the rings */
  uint64_t kept_bytes;
  bool is_marked;
  vs_host host; /* its ctx is this struct, which must not move */
} vs_rewind;

void vs_rewind_init(vs_rewind *rewind, const vs_host *parent);
void vs_rewind_deinit(vs_rewind *rewind);

/* Fails: VS_NO_MEMORY (then there is no mark) */
VS_MUST_CHECK vs_status vs_rewind_mark(vs_rewind *rewind);
void vs_rewind_back(vs_rewind *rewind);

#endif
