/* The rule to get from a program counter to the caller's frame, from .eh_frame. Private to os.
 *
 * Supported is the part of the tables' language that compilers use for the two registers that a walk needs. CFA is
 * the caller's stack pointer at the call; the return address is at CFA - 8 (x86-64), or after the saved frame
 * pointer (aarch64). */
#ifndef VS_OS_UNWIND_H
#define VS_OS_UNWIND_H

#include <vramscope/base.h>

typedef enum vs_unwind_kind {
  VS_UNWIND_UNKNOWN, /* not searched yet: vs_unwind_find never returns it */
  VS_UNWIND_END,     /* the outermost frame, or its table has something that is not supported */
  VS_UNWIND_GUESS,   /* there is no table: try the frame pointer */
  VS_UNWIND_SP,      /* CFA = sp + cfa */
  VS_UNWIND_FP,      /* CFA = fp + cfa */
  VS_UNWIND_AT_FP,   /* CFA = *(fp - cfa): functions that align their stack */
} vs_unwind_kind;

enum {
  VS_UNWIND_SAME_FP = 0,    /* the caller's frame pointer is still in its register */
  VS_UNWIND_LOST_FP = 510,  /* it is somewhere else */
  VS_UNWIND_FP_AT_FP = 511, /* it is saved where the frame pointer points to */
  VS_UNWIND_MOST_FP = 509,
  VS_UNWIND_MOST_CFA = (1 << 17) - 1,
};

/* In words of 8 bytes. The caller's frame pointer is saved at CFA - fp (aarch64: at the register that CFA
 * is counted from, + fp - 1), where fp is 1 .. VS_UNWIND_MOST_FP; with `saves_only_return` the return
 * address is there, and the frame pointer still in its register. */
typedef struct vs_unwind_rule {
  vs_unwind_kind kind;
  uint32_t cfa;
  uint32_t fp;
  bool saves_only_return; /* aarch64 */
} vs_unwind_rule;

/* The rule for the instruction at `pc` (of a return address: one byte before it). Under the loader's lock,
 * about a microsecond. */
vs_unwind_rule vs_unwind_find(uint64_t pc);

#endif
