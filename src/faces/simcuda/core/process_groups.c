#include "faces/simcuda/core/process_groups.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Reachable from here, so leak checkers do not report them. */
static const vs_process_group *_Atomic newest;

/* The entry and its name, in one allocation. */
static vs_process_group *copied(const char *name, const int *ranks, int count) {
  const size_t ranks_size = (size_t)count * sizeof *ranks, name_size = strlen(name) + 1;
  vs_process_group *group = (vs_process_group *)malloc(sizeof *group + ranks_size + name_size);
  if (group == NULL) return NULL;
  char *text = (char *)group->ranks + ranks_size;
  memcpy(group->ranks, ranks, ranks_size);
  memcpy(text, name, name_size);
  group->name = text;
  group->count = count;
  return group;
}

bool vs_simcuda_tell_group(const char *name, const int *ranks, int count) {
  if (name == NULL || *name == 0 || ranks == NULL || count < 1) return false;
  for (int i = 0; i < count; i++)
    if (ranks[i] < 0) return false;
  vs_process_group *group = copied(name, ranks, count);
  if (group == NULL) return false;
  group->older = atomic_load_explicit(&newest, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&newest, &group->older, group, memory_order_release,
                                                memory_order_relaxed))
    continue;
  return true;
}

const vs_process_group *vs_simcuda_find_group(const char *name) {
  const vs_process_group *group = atomic_load_explicit(&newest, memory_order_acquire);
  if (name == NULL || *name == 0) return group;
  while (group != NULL && strcmp(group->name, name) != 0) group = group->older;
  return group;
}
