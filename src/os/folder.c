#include "os/folder.h"
#include "base/text.h"
#include "os/failure.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- removing */

enum { DEEPEST = 32 };

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

/* Empties the folder `fd`, and closes it. Never follows a link. */
static void empty(int fd, unsigned depth) {
  DIR *folder = depth > DEEPEST ? NULL : fdopendir(fd);
  if (folder == NULL) {
    (void)close(fd);
    return;
  }
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (is_dots(entry->d_name) || unlinkat(fd, entry->d_name, 0) == 0) continue;
    const int inner = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner >= 0) empty(inner, depth + 1);
    (void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
  }
  (void)closedir(folder);
}

/* Removes the folder `path`, whose lock `fd` holds. */
static void take_away(int fd, const char *path) {
  const int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again >= 0) empty(again, 0);
  (void)rmdir(path);
}

/* ---- the temporary folder */

static const char *place(void) {
  const char *place = getenv("TMPDIR");
  return place == NULL || *place == 0 ? "/tmp" : place;
}

/* The folder `path` locked by this process: its descriptor, or -1 if there is none, it is another user's, or
 * another process holds the lock. */
static int lock(const char *path) {
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat facts;
  if (fstat(fd, &facts) == 0 && facts.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  (void)close(fd);
  return -1;
}

/* Removes the folders of owners that died. */
static void sweep(const char *prefix) {
  DIR *folder = opendir(place());
  if (folder == NULL) return;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char path[VS_FOLDER_PATH];
    if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
    vs_format(path, sizeof path, "%s/%s", place(), entry->d_name);
    const int fd = lock(path);
    if (fd < 0) continue;
    take_away(fd, path);
    (void)close(fd);
  }
  (void)closedir(folder);
}

/* Another process that removes unlocked folders may remove it between its creation and its locking: then it has no
 * name any more. */
static bool is_still_there(int fd) {
  struct stat facts;
  return fstat(fd, &facts) == 0 && facts.st_nlink != 0;
}

vs_status vs_folder_create(vs_folder *folder, const char *prefix, vs_error *error) {
  enum { ATTEMPTS = 8 };
  sweep(prefix);
  for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
    *folder = (vs_folder){.fd = -1};
    vs_format(folder->path, sizeof folder->path, "%s/%sXXXXXX", place(), prefix);
    if (mkdtemp(folder->path) == NULL) break;
    folder->fd = lock(folder->path);
    if (folder->fd >= 0 && is_still_there(folder->fd)) return VS_OK;
    if (folder->fd >= 0) (void)close(folder->fd);
  }
  const int number = errno;
  *folder = (vs_folder){.fd = -1};
  return vs_os__fail(error, number, "cannot create a temporary folder");
}

vs_status vs_folder_give(const vs_folder *folder, uint32_t user_id, vs_error *error) {
  if (fchown(folder->fd, user_id, (gid_t)-1) == 0) return VS_OK;
  return vs_os__fail(error, errno, folder->path);
}

void vs_folder_leave(vs_folder *folder) {
  if (folder->fd >= 0) (void)close(folder->fd);
  folder->fd = -1;
}

void vs_folder_remove(vs_folder *folder) {
  if (folder->fd < 0) return;
  take_away(folder->fd, folder->path);
  vs_folder_leave(folder);
}

/* ---- listing */

static vs_folder_kind kind_of(int folder, const char *name) {
  struct stat facts;
  if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) return VS_FOLDER_OTHER;
  if (S_ISREG(facts.st_mode)) return VS_FOLDER_FILE;
  if (S_ISLNK(facts.st_mode)) return VS_FOLDER_LINK;
  return S_ISDIR(facts.st_mode) ? VS_FOLDER_FOLDER : VS_FOLDER_OTHER;
}

vs_status vs_folder_each(const char *path, void *ctx,
                         vs_status (*each)(void *ctx, const char *name, vs_folder_kind kind)) {
  DIR *folder = opendir(path);
  if (folder == NULL) return errno == ENOENT || errno == ENOTDIR ? VS_NOT_FOUND : VS_IO;
  vs_status status = VS_OK;
  for (const struct dirent *entry; status == VS_OK && (entry = readdir(folder)) != NULL;)
    if (!is_dots(entry->d_name)) status = each(ctx, entry->d_name, kind_of(dirfd(folder), entry->d_name));
  (void)closedir(folder);
  return status;
}

vs_status vs_folder_link(const char *target, const char *path, vs_error *error) {
  return symlink(target, path) == 0 ? VS_OK : vs_os__fail(error, errno, "cannot create a link");
}
