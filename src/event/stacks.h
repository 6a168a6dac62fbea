/* Call stacks, interned: a frame is stored once, a stack is a list of frame ids, equal stacks have equal ids.
 *
 * Order inside a stack: innermost frame first (the allocator's own frames), the program's entry last.
 * `line` is a line number in Python frames; in C++ frames PyTorch stores the offset in the library there (values in the
 * millions), which must not be shown as a line: see vs_frames_has_line. */
#ifndef VS_EVENT_STACKS_H
#define VS_EVENT_STACKS_H

#include "base/interned_lists.h"
#include "base/interned_strings.h"

/* Fields that torch.fx adds to frames of generated code (string ids, VS_STRING_NONE if absent). */
typedef struct vs_frame_detail {
  uint32_t fx_node_op, fx_node_name, fx_node_target, fx_original_trace;
} vs_frame_detail;

typedef struct vs_frame {
  int64_t line;
  uint32_t name;       /* string id of the function */
  uint32_t file;       /* string id */
  uint32_t detail;     /* 0, or 1 + index into details */
  uint32_t is_forward; /* 1: of the forward pass (snapshot/forward.h), else 0; frames are compared as bytes */
} vs_frame;

typedef struct vs_stacks {
  VS_VEC(vs_frame) frames;
  VS_VEC(vs_frame_detail) details;
  vs_map frame_by_hash, detail_by_hash;
  /* Stack id -> frame ids; VS_LIST_NONE: no stack was recorded, VS_LIST_EMPTY: an empty one was. */
  vs_lists lists;
} vs_stacks;

VS_MUST_CHECK vs_status vs_stacks_init(const vs_host *host, vs_stacks *stacks);
void vs_stacks_deinit(const vs_host *host, vs_stacks *stacks);

/* The id of a frame; `detail` may be NULL. */
VS_MUST_CHECK vs_status vs_stacks_frame(const vs_host *host, vs_stacks *stacks, uint32_t name, uint32_t file,
                                        int64_t line, const vs_frame_detail *detail, uint32_t *id);
/* Likewise, of a frame with `is_forward`, which differs from the same line of a recorded stack. */
VS_MUST_CHECK vs_status vs_stacks_forward_frame(const vs_host *host, vs_stacks *stacks, uint32_t name,
                                                uint32_t file, int64_t line, uint32_t *id);

/* Executes the invariants; NULL if they hold, else what does not, in words. */
const char *vs_stacks_check(const vs_stacks *stacks);

static inline vs_list vs_stacks_at(const vs_stacks *stacks, uint32_t stack) {
  return vs_lists_at(&stacks->lists, stack);
}

#endif
