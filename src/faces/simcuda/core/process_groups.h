/* The process groups of the program, as its framework names them.
 *
 * A rank that splits a communicator passes NCCL a color, a key and the name of the new one. NCCL's ranks ask each other which of them
 * passed the same color; here no other rank has to exist. So the hook in a Python program (vramscope_groups.py), which sees PyTorch give
 * each group its name, tells the ranks of that name, and ncclCommSplit asks for them by the name in its configuration.
 *
 * The groups are a list of entries, the newest first. An entry is never changed and never freed, so readers need no lock. A name that
 * is told again stands before its older entry. A group that no split asks for has no effect and stays: 4 bytes for each rank, as
 * much as PyTorch itself keeps of it. */
#ifndef VS_SIMCUDA_PROCESS_GROUPS_H
#define VS_SIMCUDA_PROCESS_GROUPS_H

#include "faces/simcuda/core/process.h"

typedef struct vs_process_group {
  const struct vs_process_group *older;
  const char *name; /* not empty */
  int count;        /* 1 or more */
  int ranks[];      /* in the order of the group: numbers in the communicator that it is split from */
} vs_process_group;

/* Adds a group; copies both. Python calls it by name, from any thread. false, without effect: there is no name, no rank or a
 * negative one, or the host is out of memory. */
VS_SIMCUDA_API bool vs_simcuda_tell_group(const char *name, const int *ranks, int count);

/* The newest group of that name, or the newest of all if the name is empty; NULL if there is none. Valid as long as the process. */
VS_SIMCUDA_API const vs_process_group *vs_simcuda_find_group(const char *name);

#endif
