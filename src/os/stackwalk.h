/* Native stacks: the return addresses on the calling thread's own stack.
 *
 * A frame is left by a rule that holds for its program counter: where the caller's stack pointer is,
 * counted from our stack or frame pointer, and where the frame pointer was saved. The rules come from the
 * tables that compilers write for exceptions (.eh_frame), one search for each program counter, and are
 * kept. Code without tables (made at run time) is left by its frame pointer, if that points to where one
 * could be; otherwise the walk ends there.
 *
 * Neighbouring walks of a thread have most frames in common. A walk that comes to a frame of the one
 * before, with equal registers, and finds all that was read from there on unchanged in memory, must end as
 * that one did: the rest is taken over.
 *
 * Takes no memory but for a thread's first walk, and no lock but the dynamic loader's where a rule is
 * searched. Every read is within the thread's stack, so that the worst of tables gives a short walk and
 * not a crash; on a stack that is not the thread's own (coroutines, signal stacks) a walk is one address
 * long. x86-64 and aarch64; elsewhere there are no walks. */
#ifndef VS_OS_STACKWALK_H
#define VS_OS_STACKWALK_H

#include <vramscope/base.h>

enum { VS_STACKWALK_MOST = 256 }; /* the most frames of a walk */

bool vs_stackwalk_is_supported(void);

/* One frame, and where it was read from.
 *
 * Invariant: address = *return_slot, unless more than that was read to find it: then *return_slot is 0;
 *            fp = *fp_slot (NULL: unchanged, that of the frame inside)
 *            sum = sum of the frame outside x VS_STACKWALK_BASE + vs_hash_u64(address); that of nothing is 0
 *            needs_fp: uses_fp, or the frame outside has no fp_slot and needs_fp */
typedef struct vs_stackwalk_frame {
  uint64_t address; /* a return address; sp and fp are the registers there */
  uint64_t sp, fp;
  uint64_t sum;
  const uint64_t *return_slot, *fp_slot;
  bool uses_fp;  /* the rule of `address` begins at fp */
  bool needs_fp; /* the way out of here depends on fp; else fp is anything that happened to be there */
} vs_stackwalk_frame;

#define VS_STACKWALK_BASE UINT64_C(0x9ddfea08eb382d69)

/* The frames, OUTERMOST first. Borrowed until vs_stackwalk_end. */
typedef struct vs_stackwalk_result {
  const vs_stackwalk_frame *frames;
  uint32_t count;
  bool is_cut; /* there are more outside */
  /* 0, until the caller stores something: kept for as long as the thread's walks are the same. */
  uint64_t *note;
} vs_stackwalk_result;

/* Where a walk begins: in the function that says vs_stackwalk_here(). */
typedef struct vs_stackwalk_start {
  const void *frame, *cfa;
} vs_stackwalk_start;
#define vs_stackwalk_here() ((vs_stackwalk_start){__builtin_frame_address(0), __builtin_dwarf_cfa()})

/* The callers of the function where `start` is. False, and nothing to end: not supported here, no memory,
 * a walk of this thread has not ended (this one is in a signal handler, or in the malloc under a thread's
 * first walk). */
bool vs_stackwalk_begin(vs_stackwalk_start start, vs_stackwalk_result *result);
void vs_stackwalk_end(void);

/* Drops all rules, after modules were loaded or unloaded (vs_modules_version has changed). */
void vs_stackwalk_forget(void);

#endif
