/* Native stacks: the return addresses on the calling thread's own stack.
 *
 * The walk goes from a frame to its caller by a rule for the program counter: the caller's stack pointer as an
 * offset from the stack or frame pointer, and where the frame pointer was saved. The rules come from the tables that
 * compilers write for exceptions (.eh_frame); each program counter is searched once, and its rule is cached. For
 * code without tables (generated at run time) the walk uses the frame pointer if it points into the stack; otherwise
 * it ends there.
 *
 * Consecutive walks of a thread share most frames. If a walk reaches a frame of the last one with equal registers,
 * and all words that were read from there on are unchanged, it must end as that one did, so the remaining frames are
 * taken over. Of the walks for which the caller noted something, a thread keeps the last ones, and knows them again without walking.
 *
 * Only a thread's first walk, and the first one that is kept, allocate memory, and only searching a rule takes a lock, the dynamic loader's. All
 * reads are within the thread's stack, so wrong tables give a short walk and not a crash; on another stack
 * (coroutines, signal stacks) a walk has one address. x86-64, and aarch64 if gcc compiled it; elsewhere there are no walks. */
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
  /* 0, until the caller stores something: kept for as long as the thread's walks are the same, and for vs_stackwalk_recall. */
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

/* What the caller noted for an earlier walk of this thread that was equal to the one which begins at `start`; 0: none is known, and only a walk tells. */
uint64_t vs_stackwalk_recall(vs_stackwalk_start start);

/* Drops all rules, after modules were loaded or unloaded (vs_modules_version has changed). */
void vs_stackwalk_forget(void);

#endif
