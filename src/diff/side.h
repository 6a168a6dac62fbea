/* One of the two inventories that are compared, as columns. An inventory is the reply of the method "inventory" (docs/formats/query.md),
 * of this run or of a file that an earlier one wrote, or a baseline (baseline.h), whose owners are stacks of one frame.
 *
 * Texts are borrowed from the JSON document, which must live longer. */
#ifndef VS_DIFF_SIDE_H
#define VS_DIFF_SIDE_H

#include "codec/json_reply.h"

enum { VS_SIDE_NONE = UINT32_MAX };
#define VS_SIDE_NO_LINE INT64_C(-1)

typedef struct vs_side_frame {
  vs_str function, file; /* as recorded; empty where there is none */
  int64_t line;          /* VS_SIDE_NO_LINE: none */
  bool is_python;        /* code of the user or of a package, in Python */
  bool is_user;
} vs_side_frame;

typedef struct vs_side_size {
  uint64_t size, count;
} vs_side_size;

typedef struct vs_side_stack {
  vs_str label, long_label, operation; /* operation: empty where it is unknown */
  uint32_t owner;  /* the frame that owns it; VS_SIDE_NONE: the label says why there is none */
  bool is_forward; /* the owner is a line of the forward pass, and the memory of its backward pass */
  uint32_t first_frame, frame_count; /* in stack_frames, innermost first */
  uint32_t first_size, size_count;   /* in sizes */
  uint64_t bytes, count;             /* the sums of these sizes; saturating */
} vs_side_stack;

/* Invariant: the stacks tile stack_frames and sizes; every frame number is below frames.count; bytes and count are the sums of the
 * stacks'. */
typedef struct vs_side {
  vs_json json; /* the inventory, for what is passed on unchanged */
  VS_VEC(vs_side_frame) frames;
  VS_VEC(uint32_t) stack_frames;
  VS_VEC(vs_side_size) sizes;
  VS_VEC(vs_side_stack) stacks;
  uint64_t bytes, count;
} vs_side;

/* The inventory in a document: the document itself, or that of a device in the "inventories" of a dry run. Without `device` (NULL) the
 * one with the highest peak reserved, of equals the first. Absent if there is none. */
vs_json vs_inventory_in(vs_json document, const int64_t *device);

/* Fails: VS_BAD_FORMAT with what is wrong where; VS_NO_MEMORY. On failure there is nothing to deinit. */
VS_MUST_CHECK vs_status vs_side_init(vs_side *side, const vs_host *host, vs_json inventory, vs_error *error);
void vs_side_deinit(const vs_host *host, vs_side *side);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_side_check(const vs_side *side);

#endif
