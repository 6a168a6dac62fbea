/* The members of a communicator that was made by a split. NCCL's ranks ask each other; here no other rank exists,
 * so the members are derived from the arguments of the one call: the color, the key and the name.
 *
 * Programs make groups of ranks at equal distances (a row or a column of a mesh). This rank's key is its position
 * in the new group, so a distance determines the first rank, and only the size is open: a short list of
 * candidates. PyTorch derives colors and names from the list of ranks, so that one candidate matches:
 *
 *   color  the hash of the tuple of ranks in Python, modulo 2^31 (new_group, 2.4 to 2.14)
 *   name   SHA-1, in hexadecimal, of "RANK_RANK_..._NUMBER", the color being the first rank (split_group, 2.15)
 *
 * split_group of older versions passes the first rank as color, and no name: there the size is a guess. It is a
 * guess for all other programs too: a group of color 0 with this rank as its key is taken for the parent's members
 * again. */
#ifndef VS_SIMCUDA_NCCL_GROUPS_H
#define VS_SIMCUDA_NCCL_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

/* `count` members: base, base + stride, ... */
typedef struct vs_nccl_shape {
  int count, base, stride;
} vs_nccl_shape;

/* The members of a group, as ranks of its parent. `name` may be NULL. false: *shape is a guess. */
bool vs_nccl_recognise(int parent_count, int parent_rank, int color, int key, const char *name,
                       vs_nccl_shape *shape);

#endif
