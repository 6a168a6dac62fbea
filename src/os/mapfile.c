#include "os/mapfile.h"
#include "base/text.h"
#include "os/failure.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- creating and ending */

/* Only a regular file is replaced; others cannot be mapped. */
static int make_room(const char *path, bool may_replace) {
  struct stat old;
  if (lstat(path, &old) != 0) return errno == ENOENT ? 0 : errno;
  if (S_ISDIR(old.st_mode)) return EISDIR;
  if (!may_replace || !S_ISREG(old.st_mode)) return EEXIST;
  return unlink(path) == 0 ? 0 : errno;
}

vs_status vs_mapfile_create(vs_mapfile *file, const char *path, bool may_replace, vs_error *error) {
  file->fd = -1;
  file->size = 0;
  file->path[0] = 0;
  const size_t length = strlen(path);
  if (length >= sizeof file->path) return vs_os__fail(error, ENAMETOOLONG, "");
  memcpy(file->path, path, length + 1);
  const int number = make_room(path, may_replace);
  if (number != 0) return vs_os__fail(error, number, "");
  file->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file->fd >= 0) return VS_OK;
  if (errno == ENOENT) return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "its folder does not exist");
  return vs_os__fail(error, errno, "");
}

vs_status vs_mapfile_close(vs_mapfile *file, uint64_t size, vs_error *error) {
  if (file->fd < 0) return VS_OK;
  const int fd = file->fd;
  file->fd = -1;
  const int number = ftruncate(fd, (off_t)vs_min_u64(size, file->size)) == 0 ? 0 : errno;
  const int after = close(fd) == 0 || errno == EINTR ? 0 : errno;
  if (number == 0 && after == 0) return VS_OK;
  return vs_os__fail(error, number != 0 ? number : after, "closing failed");
}

void vs_mapfile_abandon(vs_mapfile *file) {
  if (file->fd < 0) return;
  (void)unlink(file->path);
  vs_mapfile_forget(file);
}

void vs_mapfile_forget(vs_mapfile *file) {
  if (file->fd >= 0) (void)close(file->fd);
  file->fd = -1;
}

/* ---- growing */

/* Growing a file beyond the process' limit (ulimit -f) raises a signal that would end the program: it is blocked
 * here, and discarded. */
static int allocate(int fd, uint64_t offset, uint64_t size) {
  sigset_t too_large, before;
  (void)sigemptyset(&too_large);
  (void)sigaddset(&too_large, SIGXFSZ);
  (void)pthread_sigmask(SIG_BLOCK, &too_large, &before);
  int number;
  do number = posix_fallocate(fd, (off_t)offset, (off_t)size);
  while (number == EINTR);
  if (number == EFBIG && !sigismember(&before, SIGXFSZ)) {
    const struct timespec at_once = {0};
    (void)sigtimedwait(&too_large, NULL, &at_once);
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return number;
}

vs_status vs_mapfile_reserve(vs_mapfile *file, uint64_t end, vs_error *error) {
  if (end <= file->size) return VS_OK;
  if (end > INT64_MAX) return vs_os__fail(error, EFBIG, "");
  const int number = allocate(file->fd, file->size, end - file->size);
  if (number != 0) return vs_os__fail(error, number, "");
  file->size = end;
  return VS_OK;
}

/* Makes the pages writable now. Some file systems detect only here that the disk is full: as an error of this call
 * instead of a signal at a store. Needs Linux 5.14; on an older one only posix_fallocate is checked. */
static int touch(void *mapped, size_t size) {
  enum { POPULATE_WRITE = 23 };
  if (madvise(mapped, size, POPULATE_WRITE) == 0 || errno != EFAULT) return 0;
  return ENOSPC;
}

vs_status vs_mapfile_window(vs_mapfile *file, uint64_t offset, size_t size, void **window, vs_error *error) {
  *window = NULL;
  VS_TRY(vs_mapfile_reserve(file, offset + size, error));
  void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file->fd, (off_t)offset);
  if (mapped == MAP_FAILED) return vs_os__fail(error, errno, "the file cannot be mapped");
  (void)madvise(mapped, size, MADV_DONTFORK);
  const int number = touch(mapped, size);
  if (number != 0) {
    (void)munmap(mapped, size);
    return vs_os__fail(error, number, "");
  }
  *window = mapped;
  return VS_OK;
}

void vs_mapfile_release(void *window, size_t size) {
  if (window != NULL) (void)munmap(window, size);
}
