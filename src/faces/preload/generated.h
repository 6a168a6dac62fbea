/* Code that TorchInductor has generated, and the lines of the program that it was made from. A file of it has a map: from a line of the file on,
 * up to the next one in the map, the code was made from what one stack of the program did. PyTorch's own history puts the frames of that stack
 * behind a frame of the file, and so do stacks of recordings.
 *
 * The table is read by all threads without a lock. A file is complete before it can be found, and stays until the process ends. */
#ifndef VS_PRELOAD_GENERATED_H
#define VS_PRELOAD_GENERATED_H

#include "record/stacks.h"

typedef struct vs_generated_line {
  int64_t first; /* the lines of a file are sorted by it */
  vs_str stack;  /* as Python writes a traceback; empty: nothing is known of where the line is from */
} vs_generated_line;

typedef struct vs_generated_file vs_generated_file;

/* Adds a file, with copies of its texts; a file that is known remains as it is. False: it was not added, because it is known, or there is no
 * room for it. */
bool vs_generated_add(vs_str path, const vs_generated_line *lines, size_t count);

/* NULL: the file was not generated, or is not known. Costs nothing while no file is known. */
const vs_generated_file *vs_generated_find(vs_str path);

/* The frames behind a frame in this line of the file, innermost first: at most `most`, of which the number is returned. Their texts stay valid
 * until the process ends. */
uint32_t vs_generated_frames(const vs_generated_file *file, int64_t line, vs_record_frame *frames,
                             uint32_t most);

#endif
