/* Paths: the frames of a thread from the innermost to the outermost, as they lie in memory, and the stacks that were made of them. A
 * program allocates on the same paths again and again, so most stacks are found by one comparison, without a look at each frame's words.
 *
 * A path is all that decides what its stack is, as long as no code object is made: the frames' instructions and owners. An instruction lies
 * in the memory of its code object, so it tells which one that is. An entry holds for one epoch (python.c). The table is of all threads, and has no lock: an entry is read and written under its own
 * sequence number, which is odd while it is written; a thread that finds it odd does not use the entry. */
#ifndef VS_PRELOAD_PYTHON_PATHS_H
#define VS_PRELOAD_PYTHON_PATHS_H

#include "record/stacks.h"

typedef struct vs_python_path {
  uint64_t hash; /* of all steps */
  uint32_t count;
  /* Addresses of instructions. Bits 56 to 63, which those do not need, are the frame's owner. */
  uint64_t steps[VS_RECORD_DEPTH_MOST];
} vs_python_path;

/* Adds a frame. False: the path is full, and has no entry. */
static inline bool vs_python_path_add(vs_python_path *path, uint64_t instruction, uint8_t owner) {
  if (path->count == VS_RECORD_DEPTH_MOST) return false;
  const uint64_t step = instruction ^ (uint64_t)owner << 56;
  path->steps[path->count++] = step;
  path->hash = (path->hash << 5 | path->hash >> 59) ^ step;
  return true;
}

/* The stack that was made of the path in this epoch. False: none is known. */
bool vs_python_path_find(const vs_python_path *path, uint32_t epoch, vs_context *stack);

/* Keeps it, in the place of another path. */
void vs_python_path_keep(const vs_python_path *path, uint32_t epoch, vs_context stack);

#endif
