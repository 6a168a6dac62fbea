/* Who belongs to a communicator that was split off. NCCL's ranks ask each other; here nobody can be asked, so the members
 * are told from what the one call brings: the color, the key and the name.
 *
 * Programs make groups of ranks at equal distances (a row or a column of a mesh). This rank's key is its place in the new
 * group, so a distance fixes the first rank and only the size is open: a short list of candidates. PyTorch's colors and names
 * are made from the list of ranks, so that one candidate fits:
 *
 *   color  the hash of the tuple of ranks in Python, modulo 2^31 (new_group, 2.4 to 2.14)
 *   name   SHA-1, in hexadecimal, of "RANK_RANK_..._NUMBER", the color being the first rank (split_group, 2.15)
 *
 * split_group of older versions has the first rank as color and no name: there the size is a guess.
 * So it is for all other programs: a group of color 0 with this rank as its key is taken for the same world again. */
#ifndef VS_SIMCUDA_NCCL_GROUPS_H
#define VS_SIMCUDA_NCCL_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

/* Members base, base + stride, ..., `count` of them. */
typedef struct vs_nccl_shape {
  int count, base, stride;
} vs_nccl_shape;

/* The members of a group, as ranks of its parent. `name` may be NULL. false: *shape is a guess. */
bool vs_nccl_recognise(int parent_count, int parent_rank, int color, int key, const char *name,
                       vs_nccl_shape *shape);

#endif
