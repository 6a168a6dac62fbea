#include "os/outfile.h"
#include "base/text.h"
#include "os/failure.h"
#include "os/kernel.h"
#include "os/process.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- creating */

/* Everything but the contents of the buffer, which are large. */
static void init(vs_outfile *file, int fd) {
  file->fd = fd;
  file->is_ours = false;
  file->may_replace = false;
  file->written = 0;
  file->error = (vs_error){.status = VS_OK};
  file->used = 0;
  file->path[0] = 0;
  file->temporary[0] = 0;
  file->keeper = (vs_keeper){.pid = 0};
}

static vs_status set_path(vs_outfile *file, const char *path, vs_error *error) {
  const size_t size = strlen(path) + 1;
  if (size > sizeof file->path) return vs_os__fail(error, ENAMETOOLONG, "");
  memcpy(file->path, path, size);
  return VS_OK;
}

static size_t folder_size(const vs_outfile *file) {
  const char *slash = strrchr(file->path, '/');
  return slash == NULL ? 0 : (size_t)(slash - file->path) + 1;
}

/* In the keeper. */
static bool clear(const char *path, unsigned naps) {
  (void)naps;
  (void)unlink(path);
  return true;
}

/* A hidden name in the folder of the new file, which is not there yet, and is kept from now on. 0, or an errno. */
static int choose_temporary(vs_outfile *file) {
  const size_t folder = folder_size(file);
  char name[VS_KEEPER_NAME + 1], hidden[48];
  vs_keeper_name(name);
  vs_format(hidden, sizeof hidden, ".vramscope-%s.tmp", name);
  if (folder + sizeof hidden > sizeof file->temporary) return ENAMETOOLONG;
  memcpy(file->temporary, file->path, folder);
  memcpy(file->temporary + folder, hidden, sizeof hidden);
  vs_keeper_start(&file->keeper, file->temporary, clear);
  return 0;
}

static void forget_temporary(vs_outfile *file) {
  vs_process_guard(NULL);
  vs_keeper_end(&file->keeper);
  file->temporary[0] = 0;
}

static vs_status open_temporary(vs_outfile *file, vs_error *error) {
  int number = choose_temporary(file);
  if (number == 0) {
    file->fd = vs_process_create_guarded(file->temporary);
    if (file->fd >= 0) return VS_OK;
    number = errno;
  }
  forget_temporary(file);
  if (number == ENOENT) return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "its folder does not exist");
  return vs_os__fail(error, number, "");
}

/* By which a file without a name is given one. */
static void name_of_descriptor(char *path, size_t capacity, int fd) {
  vs_format(path, capacity, "/proc/self/fd/%D", (int64_t)fd);
}

/* A file without a name, where it can be given one later: the file system has such files, and /proc is there. */
static bool open_nameless(vs_outfile *file) {
  char folder[VS_OUTFILE_PATH], name[40];
  const size_t size = folder_size(file);
  memcpy(folder, file->path, size);
  memcpy(folder + size, ".", sizeof ".");
  const int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0666); /* read only where it is copied */
  if (fd < 0) return false;
  name_of_descriptor(name, sizeof name, fd);
  if (access(name, F_OK) == 0) {
    file->fd = fd;
    return true;
  }
  (void)close(fd);
  return false;
}

static vs_status open_new(vs_outfile *file, vs_error *error) {
  return open_nameless(file) ? VS_OK : open_temporary(file, error);
}

/* An existing target: a device or pipe is written to directly, a regular file is replaced if that is allowed. */
static vs_status create_over(vs_outfile *file, const struct stat *old, vs_error *error) {
  if (S_ISDIR(old->st_mode)) return vs_os__fail(error, EISDIR, "");
  if (!S_ISREG(old->st_mode)) {
    file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file->fd < 0) return vs_os__fail(error, errno, "");
    file->path[0] = 0;
    return VS_OK;
  }
  if (!file->may_replace) return vs_os__fail(error, EEXIST, "");
  char *target = realpath(file->path, NULL);
  if (target == NULL) return vs_os__fail(error, errno, "");
  vs_status status = set_path(file, target, error);
  free(target);
  if (status == VS_OK) status = open_temporary(file, error);
  if (status == VS_OK)
    (void)fchmod(file->fd, old->st_mode & 0777); /* not an error if the permissions cannot be kept */
  return status;
}

vs_status vs_outfile_expect(const char *path, bool may_replace, vs_error *error) {
  struct stat there;
  char folder[VS_OUTFILE_PATH] = ".";
  if (stat(path, &there) == 0) {
    if (S_ISDIR(there.st_mode)) return vs_os__fail(error, EISDIR, "");
    return S_ISREG(there.st_mode) && !may_replace ? vs_os__fail(error, EEXIST, "") : VS_OK;
  }
  if (errno != ENOENT) return vs_os__fail(error, errno, "");
  const char *name = strrchr(path, '/');
  if (name != NULL) {
    const size_t length = (size_t)(name - path) + 1;
    if (length >= sizeof folder) return vs_os__fail(error, ENAMETOOLONG, "");
    memcpy(folder, path, length);
    folder[length] = 0;
  }
  return access(folder, W_OK | X_OK) == 0 ? VS_OK : vs_os__fail(error, errno, "");
}

vs_status vs_outfile_create(vs_outfile *file, const char *path, bool may_replace, vs_error *error) {
  init(file, -1);
  file->is_ours = true;
  file->may_replace = may_replace;
  VS_TRY(set_path(file, path, error));
  struct stat old;
  if (stat(path, &old) == 0) return create_over(file, &old, error);
  if (errno != ENOENT) return vs_os__fail(error, errno, "");
  return open_new(file, error);
}

vs_status vs_outfile_name(vs_outfile *file, vs_error *error) {
  if (file->temporary[0] != 0) return VS_OK;
  (void)close(file->fd);
  file->fd = -1;
  return open_temporary(file, error);
}

vs_status vs_outfile_log(vs_outfile *file, const char *path, vs_error *error) {
  init(file, open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666));
  file->is_ours = true;
  if (file->fd >= 0) return VS_OK;
  if (errno == ENOENT) return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "its folder does not exist");
  return vs_os__fail(error, errno, "");
}

void vs_outfile_stdout(vs_outfile *file) { init(file, STDOUT_FILENO); }

/* ---- writing */

static vs_status fail_write(vs_outfile *file, int number) {
  if (number == EPIPE) return vs_fail(&file->error, VS_CANCELLED, VS_NO_OFFSET, "the reader closed the pipe");
  return vs_os__fail(&file->error, number, "writing failed");
}

static vs_status write_all(vs_outfile *file, const uint8_t *data, size_t size) {
  while (size != 0) {
    const ssize_t put = write(file->fd, data, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return fail_write(file, put < 0 ? errno : EIO);
    data += put;
    size -= (size_t)put;
  }
  return VS_OK;
}

static vs_status flush(vs_outfile *file) {
  if (file->error.status != VS_OK) return file->error.status;
  const size_t size = file->used;
  file->used = 0;
  return write_all(file, file->buffer, size);
}

static vs_status write_outfile(void *ctx, const void *data, size_t size) {
  vs_outfile *file = ctx;
  if (file->error.status != VS_OK) return file->error.status;
  file->written += size;
  if (size > sizeof file->buffer - file->used) VS_TRY(flush(file));
  if (size >= sizeof file->buffer) return write_all(file, data, size);
  if (size != 0) memcpy(file->buffer + file->used, data, size);
  file->used += size;
  return VS_OK;
}

vs_status vs_outfile_flush(vs_outfile *file) { return flush(file); }

vs_writer vs_outfile_writer(vs_outfile *file) { return (vs_writer){.ctx = file, .write = write_outfile}; }

/* ---- ending */

/* Renames the temporary file. Without `may_replace` this fails if another file was created there meanwhile; on a
 * file system that cannot check this, only the check at the beginning counts. */
static int rename_temporary(const vs_outfile *file) {
  if (file->may_replace) return rename(file->temporary, file->path) == 0 ? 0 : errno;
  const int number = vs_kernel_rename_new(file->temporary, file->path);
  if (number != EINVAL && number != ENOSYS) return number;
  if (access(file->path, F_OK) == 0) return EEXIST;
  return rename(file->temporary, file->path) == 0 ? 0 : errno;
}

static vs_status close_outfile(vs_outfile *file) {
  if (!file->is_ours || file->fd < 0) return VS_OK;
  const int fd = file->fd;
  file->fd = -1;
  return close(fd) == 0 || errno == EINTR ? VS_OK : fail_write(file, errno);
}

/* Where a file without a name cannot be given one after all, a file with one gets its bytes. An errno, or 0. */
static int copy_to_temporary(vs_outfile *file) {
  enum { PIECE = 1 << 30 };
  const int from = file->fd;
  vs_error ignored;
  off_t at = 0;
  ssize_t put;
  if (open_temporary(file, &ignored) != VS_OK) {
    file->fd = from;
    return EPERM;
  }
  do put = sendfile(file->fd, from, &at, PIECE);
  while (put > 0 || (put < 0 && errno == EINTR));
  const int number = put < 0 ? errno : 0;
  (void)close(from);
  return number;
}

/* Gives the file without a name that of `path`, or a temporary one where it shall replace another file. An errno, or 0. */
static int link_nameless(vs_outfile *file) {
  char name[40];
  name_of_descriptor(name, sizeof name, file->fd);
  if (close(fcntl(file->fd, F_DUPFD_CLOEXEC, 0)) != 0)
    return errno; /* what a close says of the writes, before it appears */
  if (linkat(AT_FDCWD, name, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0) return 0;
  if (errno == EEXIST && !file->may_replace) return EEXIST;
  return copy_to_temporary(file);
}

static vs_status finish(vs_outfile *file) {
  VS_TRY(flush(file));
  int number = 0;
  if (file->is_ours && file->path[0] != 0 && file->temporary[0] == 0) number = link_nameless(file);
  VS_TRY(close_outfile(file));
  if (number == 0 && file->temporary[0] != 0) number = rename_temporary(file);
  if (number != 0) return vs_os__fail(&file->error, number, "");
  if (file->temporary[0] != 0) forget_temporary(file);
  return VS_OK;
}

vs_status vs_outfile_finish(vs_outfile *file, vs_error *error) {
  const vs_status status = finish(file);
  if (status != VS_OK && error != NULL) *error = file->error;
  vs_outfile_abandon(file);
  return status;
}

void vs_outfile_abandon(vs_outfile *file) {
  if (file->is_ours && file->fd >= 0) (void)close(file->fd);
  if (file->is_ours) file->fd = -1;
  file->used = 0;
  if (file->temporary[0] == 0) return;
  (void)unlink(file->temporary);
  forget_temporary(file);
}
