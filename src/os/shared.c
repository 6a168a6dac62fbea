#include "os/shared.h"
#include "base/text.h"
#include "os/failure.h"
#include "os/kernel.h"
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

vs_status vs_shared_create(vs_shared *shared, const char *name, size_t size, vs_error *error) {
  *shared = (vs_shared){.fd = vs_kernel_memory_file(name), .size = size};
  if (shared->fd < 0) return vs_os__fail(error, errno, "no shared memory");
  if (ftruncate(shared->fd, (off_t)size) == 0)
    shared->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, shared->fd, 0);
  const int number = errno;
  if (shared->memory == NULL || shared->memory == MAP_FAILED) {
    shared->memory = NULL;
    vs_shared_close(shared);
    return vs_os__fail(error, number, "no shared memory");
  }
  vs_format(shared->path, sizeof shared->path, "/proc/%U/fd/%d", (uint64_t)getpid(), shared->fd);
  return VS_OK;
}

void vs_shared_close(vs_shared *shared) {
  if (shared->memory != NULL) (void)munmap(shared->memory, shared->size);
  if (shared->fd >= 0) (void)close(shared->fd);
  *shared = (vs_shared){.fd = -1};
}
