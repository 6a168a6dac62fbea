/* Memory that other processes of the same user can map while this one lives. It is not a file of a file system, so
 * nothing is left when this process ends. */
#ifndef VS_OS_SHARED_H
#define VS_OS_SHARED_H

#include <vramscope/base.h>

typedef struct vs_shared {
  int fd;
  void *memory; /* zeroed at first */
  size_t size;
  char path[64]; /* by which others open it: /proc/PID/fd/N */
} vs_shared;

/* `name` is what /proc calls the memory: "/memfd:NAME (deleted)". */
VS_MUST_CHECK vs_status vs_shared_create(vs_shared *shared, const char *name, size_t size, vs_error *error);
void vs_shared_close(vs_shared *shared);

#endif
