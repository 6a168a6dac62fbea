/* The engine's call tree, folded to what a person wants to follow: the calls of their own code, and below each of those the
 * place in a package that allocated. What lies between (modules calling themselves, C++, the recorder) is left out, and
 * what that makes equal is added up.
 *
 * Invariant: bytes of a node = its own + those of its children; children stand behind their parent in `nodes`. */
#ifndef VS_CLI_CALLTREE_H
#define VS_CLI_CALLTREE_H

#include "base/map.h"
#include "codec/json_reply.h"

#define VS_NO_NODE UINT32_MAX

typedef struct vs_call_node {
  vs_json frame;         /* a node of the reply, which has the parts of a frame; the root's means nothing */
  uint64_t bytes, count; /* in this call and below it */
  uint64_t own_bytes, own_count;
  uint32_t parent, first_child,
      next_sibling; /* VS_NO_NODE: there is none; siblings biggest first, once built */
  bool is_unknown;  /* what was recorded without a stack */
  bool is_kept;     /* worth drawing, as vs_calltree_keep has it */
} vs_call_node;

typedef struct vs_calltree {
  VS_VEC(vs_call_node) nodes; /* nodes[0] is the root */
} vs_calltree;

/* `reply` is one of the method "tree"; the tree refers to its document. */
VS_MUST_CHECK vs_status vs_calltree_build(const vs_host *host, vs_json reply, vs_calltree *out);
/* Marks the calls to draw: the `rows` biggest, none with less than `least` bytes. A call that holds all that its caller
 * holds continues its row and does not count. Kept siblings stand before the others, and the caller of a kept one is
 * kept. */
VS_MUST_CHECK vs_status vs_calltree_keep(const vs_host *host, vs_calltree *tree, uint64_t rows,
                                         uint64_t least);

void vs_calltree_deinit(const vs_host *host, vs_calltree *tree);

#endif
