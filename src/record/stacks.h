/* Call stacks as numbers: interned while the program runs, by any thread, without malloc, and without a lock if the
 * stack is known.
 *
 * A stack is a list of frames, innermost first; a frame is one word. A native frame is the return address; it gets
 * its name later, from the module that contains it. A named frame (of an interpreter, of a demo) has a function, a
 * file and a line: its word is its number with bit 63 set, which no address of a program has. A stack may contain
 * both kinds.
 *
 * A stack's number is its vs_context. It never changes, nothing is removed, and everything is bounded: a stack for
 * which there is no room is VS_CONTEXT_NONE, and counted.
 *
 * Invariants
 *   numbers      dense, below the count; a stack is complete before its number is returned
 *   equality     equal stacks have equal numbers; different ones have different numbers unless their 64-bit hashes are equal
 *   texts        likewise (id 0: none, 1: the empty one), by their bytes */
#ifndef VS_RECORD_STACKS_H
#define VS_RECORD_STACKS_H

#include "event/event.h"
#include "os/stackwalk.h"

#define VS_RECORD_NAMED_FRAME (UINT64_C(1) << 63)

enum {
  VS_RECORD_DEPTH = 64, /* frames of a native stack by default */
  VS_RECORD_DEPTH_MOST = 128,
};

typedef struct vs_record_stacks vs_record_stacks;

typedef struct vs_record_stacks_options {
  uint32_t depth;       /* of native stacks, 0: VS_RECORD_DEPTH */
  uint32_t stacks;      /* their largest number; 0: 2^20. Memory is used only for those that exist */
  uint64_t frame_bytes; /* for all their frames, 8 bytes each; 0: 128 MiB */
  uint64_t text_bytes;  /* for names and other texts; 0: 16 MiB */
} vs_record_stacks_options;

/* `options` may be NULL. Fails: VS_NO_MEMORY, VS_BAD_ARGUMENT (a depth over VS_RECORD_DEPTH_MOST) */
VS_MUST_CHECK vs_status vs_record_stacks_create(const vs_record_stacks_options *options,
                                                vs_record_stacks **out);

/* Does nothing for NULL. No thread and no recorder may use the stacks any more. */
void vs_record_stacks_destroy(vs_record_stacks *stacks);

/* Whether native stacks can be captured on this machine (x86-64; aarch64 if gcc compiled it). */
bool vs_record_native_is_supported(void);

/* The native stack of the caller. The hot path: takes no lock and no memory if the stack is known. */
vs_context vs_record_capture(vs_record_stacks *stacks);
/* The callers of the function where `start` is. */
vs_context vs_record_capture_from(vs_record_stacks *stacks, vs_stackwalk_start start);

/* The number of the stack `frames`; of more than VS_RECORD_DEPTH_MOST frames the innermost ones. 0 frames are a
 * stack, too. */
vs_context vs_record_intern(vs_record_stacks *stacks, const uint64_t *frames, uint32_t count);

/* The word of a named frame. Takes a lock if the frame is new. Fails: VS_LIMIT (no room) */
typedef struct vs_record_frame {
  vs_str function, file;
  int64_t line; /* 0: unknown */
} vs_record_frame;
VS_MUST_CHECK vs_status vs_record_frame_intern(vs_record_stacks *stacks, const vs_record_frame *frame,
                                               uint64_t *word);

/* The number of a text: metadata, the name of an annotation. Takes a lock if the text is new. Fails: VS_LIMIT (no room) */
VS_MUST_CHECK vs_status vs_record_text_intern(vs_record_stacks *stacks, vs_str text, uint32_t *id);

/* ---- reading, from any thread; borrowed until the stacks are destroyed */

/* The frames of a stack, innermost first; 0 of VS_CONTEXT_NONE. */
uint32_t vs_record_stack_at(const vs_record_stacks *stacks, vs_context stack, const uint64_t **frames);
/* A word with VS_RECORD_NAMED_FRAME. */
vs_record_frame vs_record_frame_at(const vs_record_stacks *stacks, uint64_t word);
vs_str vs_record_text_at(const vs_record_stacks *stacks, uint32_t id);

typedef struct vs_record_stacks_figures {
  uint32_t stacks, frames, texts; /* frames: named ones */
  uint64_t lost;                  /* stacks for which there was no room */
} vs_record_stacks_figures;
vs_record_stacks_figures vs_record_stacks_figures_of(const vs_record_stacks *stacks);

/* Executes the invariants; NULL if they hold, else what does not, in words. Takes the lock of adding. */
const char *vs_record_stacks_check(vs_record_stacks *stacks);

#endif
