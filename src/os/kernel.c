#include "os/kernel.h"
#include "base/check.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/memfd.h>
#include <linux/random.h>
#include <sys/syscall.h>
#include <unistd.h>

bool vs_kernel_random(void *bytes, size_t size, bool may_wait) {
  enum { NEVER_PARTLY = 256 };
  VS_ASSERT(size <= NEVER_PARTLY);
  return syscall(SYS_getrandom, bytes, size, may_wait ? 0 : GRND_NONBLOCK) == (long)size;
}

int vs_kernel_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC); }

int vs_kernel_rename_new(const char *from, const char *to) {
  return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
}
