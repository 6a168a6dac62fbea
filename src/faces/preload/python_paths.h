/* Paths: the frames of a thread from the innermost to the outermost, as they lie in memory, and the stacks that were made of them. A
 * program allocates on the same paths again and again, so most stacks are found by one look into a table, without one at each frame's words.
 *
 * A path is all that decides what its stack is, as long as no code object is made: the frames' instructions and owners. An instruction lies
 * in the memory of its code object, so it tells which one that is. Paths are told apart by their number of frames and a hash of 64 bits, as
 * stacks are (record/stacks.h). An entry holds for one epoch (python.c). The table is of all threads, and has no lock: an entry is read and
 * written under its own sequence number, which is odd while it is written; a thread that finds it odd does not use the entry. */
#ifndef VS_PRELOAD_PYTHON_PATHS_H
#define VS_PRELOAD_PYTHON_PATHS_H

#include "record/stacks.h"

typedef struct vs_python_path {
  uint64_t hash; /* of all frames */
  uint32_t count;
} vs_python_path;

/* Adds a frame. Bits 56 to 63, which addresses of instructions do not need, are the frame's owner. The hash of paths that differ in one frame
 * is never the same: each step of it can be undone. It takes no longer than finding the next frame. */
static inline void vs_python_path_add(vs_python_path *path, uint64_t instruction, uint8_t owner) {
  const uint64_t step = instruction ^ (uint64_t)owner << 56;
  path->hash = ((path->hash << 29 | path->hash >> 35) ^ step) * UINT64_C(0x9ddfea08eb382d69);
  path->count++;
}

/* The stack that was made of the path in this epoch. False: none is known. */
bool vs_python_path_find(vs_python_path path, uint32_t epoch, vs_context *stack);

/* Keeps it, in the place of another path. */
void vs_python_path_keep(vs_python_path path, uint32_t epoch, vs_context stack);

#endif
