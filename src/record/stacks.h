/* Who did it, as a number: call stacks, interned while the program runs, by any thread, without a lock and
 * without malloc.
 *
 * A stack is a list of frames, innermost first; a frame is one word. Native frames are the return
 * addresses themselves; they get names long after, from the modules they lie in. Named frames (of an
 * interpreter, of a demo) say their function, file and line: bit 63, which no address of a program has,
 * marks them, and the rest is their number. Both kinds may meet in one stack.
 *
 * A stack's number is its vs_context. It never changes, nothing is ever forgotten, and all is bounded:
 * what finds no room any more is VS_CONTEXT_NONE, and counted.
 *
 * Invariants
 *   numbers      dense: a stack number is below count, and complete as soon as somebody knows it
 *   equality     equal frames have equal numbers; different ones have different numbers as long as no two
 *                64-bit hashes meet
 *   texts        likewise (id 0: none, 1: the empty one), by their bytes */
#ifndef VS_RECORD_STACKS_H
#define VS_RECORD_STACKS_H

#include "event/event.h"
#include <vramscope/base.h>

#define VS_RECORD_NAMED_FRAME (UINT64_C(1) << 63)

enum {
  VS_RECORD_DEPTH = 64, /* frames of a native stack, if nothing else is said */
  VS_RECORD_DEPTH_MOST = 128,
};

typedef struct vs_record_stacks vs_record_stacks;

typedef struct vs_record_stacks_options {
  uint32_t depth;       /* of native stacks, 0: VS_RECORD_DEPTH */
  uint32_t stacks;      /* most of them; 0: 2^20. Memory is used as they come */
  uint64_t frame_bytes; /* for all their frames, 8 bytes each; 0: 128 MiB */
  uint64_t text_bytes;  /* for names and other texts; 0: 16 MiB */
} vs_record_stacks_options;

/* `options` may be NULL. Fails: VS_NO_MEMORY, VS_BAD_ARGUMENT (a depth over VS_RECORD_DEPTH_MOST) */
VS_MUST_CHECK vs_status vs_record_stacks_create(const vs_record_stacks_options *options,
                                                vs_record_stacks **out);

/* NULL is nothing. Nobody may be in it, and no recorder use it any more. */
void vs_record_stacks_destroy(vs_record_stacks *stacks);

/* Whether this machine can look at native stacks at all (x86-64, aarch64). */
bool vs_record_native_is_supported(void);

/* The native stack of whoever calls this, now. The hot path: no lock, no memory. */
vs_context vs_record_capture(vs_record_stacks *stacks);

/* The number of a stack that the caller has already. `count` over VS_RECORD_DEPTH_MOST: the innermost
 * ones. 0 frames are a stack, too. */
vs_context vs_record_intern(vs_record_stacks *stacks, const uint64_t *frames, uint32_t count);

/* A named frame's word. Takes a lock for a moment: for when a frame is seen first. Fails: VS_LIMIT (no room) */
typedef struct vs_record_frame {
  vs_str function, file;
  int64_t line; /* 0: unknown */
} vs_record_frame;
VS_MUST_CHECK vs_status vs_record_frame_intern(vs_record_stacks *stacks, const vs_record_frame *frame,
                                               uint64_t *word);

/* The number of a text: metadata, the name of an annotation. Takes a lock for a moment. Fails: VS_LIMIT
 * (no room) */
VS_MUST_CHECK vs_status vs_record_text_intern(vs_record_stacks *stacks, vs_str text, uint32_t *id);

/* ---- reading; from any thread, borrowed for as long as the stacks live */

/* Frames of a stack, innermost first. VS_CONTEXT_NONE: none, as a number that is none. */
uint32_t vs_record_stack_at(const vs_record_stacks *stacks, vs_context stack, const uint64_t **frames);
/* A word with VS_RECORD_NAMED_FRAME. */
vs_record_frame vs_record_frame_at(const vs_record_stacks *stacks, uint64_t word);
vs_str vs_record_text_at(const vs_record_stacks *stacks, uint32_t id);

typedef struct vs_record_stacks_figures {
  uint32_t stacks, frames, texts; /* frames: named ones */
  uint64_t lost;                  /* stacks that found no room */
} vs_record_stacks_figures;
vs_record_stacks_figures vs_record_stacks_figures_of(const vs_record_stacks *stacks);

#endif
