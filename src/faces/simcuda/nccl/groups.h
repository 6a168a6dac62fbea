/* The members of a communicator that was made by a split. NCCL's ranks ask each other; here no other rank has to
 * exist.
 *
 * Where the program's framework told the ranks of its groups (core/process_groups.h), the name of the call says which
 * group it is. Other calls have three arguments that depend on the members: the color, the key and the name.
 * Programs make groups of ranks at equal distances (a row or a column of a mesh). This rank's key is its position
 * in the new group, so a distance determines the first rank, and only the size is open: a short list of
 * candidates. PyTorch derives colors and names from the list of ranks, so that one candidate matches:
 *
 *   color  the hash of the tuple of ranks in Python, modulo 2^31 (new_group, 2.6 to 2.14); SHA-1 of "RANK_RANK_...", modulo 2^62 - 1,
 *          of which NCCL gets the lowest 32 bits, so that it may be negative (new_group, 2.4)
 *   name   SHA-1, in hexadecimal, of "RANK_RANK_..._NUMBER", the color being the lowest rank (split_group, 2.15)
 *
 * new_group of 2.15 passes the lowest rank and a number as name, split_group of older versions the first rank and no
 * name: if nothing was told, the size is a guess there. It is a guess for all other programs too: a group of color 0
 * with this rank as its key is taken for the parent's members again. */
#ifndef VS_SIMCUDA_NCCL_GROUPS_H
#define VS_SIMCUDA_NCCL_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `count` members: base, base + stride, ..., or where their distances differ a list of them, which is borrowed; then base and stride
 * are 0. */
typedef struct vs_nccl_shape {
  int count, base, stride;
  const int *ranks; /* NULL: equal distances */
} vs_nccl_shape;

/* Member number `i`. Ranks that join later are numbered behind the last one. */
static inline int64_t vs_nccl_member(const vs_nccl_shape *shape, int i) {
  if (shape->ranks == NULL) return shape->base + (int64_t)i * shape->stride;
  return i < shape->count ? shape->ranks[i] : (int64_t)shape->ranks[shape->count - 1] + i - shape->count + 1;
}

/* One call of ncclCommSplit on a communicator of `parent_count` members, by its member `parent_rank`. */
typedef struct vs_nccl_split {
  int parent_count, parent_rank, color, key;
  const char *name; /* may be NULL */
} vs_nccl_split;

/* Whether the call can be that of a group with these ranks of the parent: this rank stands where the key says, and the color is the
 * lowest rank, the first one, or a hash of them. Then *shape are its members, which borrow `ranks`; *is_hash: the color is a hash. */
bool vs_nccl_is_split_of(const vs_nccl_split *split, const int *ranks, int count, vs_nccl_shape *shape,
                         bool *is_hash);

/* The members of a group, as ranks of its parent, by the arguments alone. false: *shape is a guess. */
bool vs_nccl_recognise(const vs_nccl_split *split, vs_nccl_shape *shape);

#endif
