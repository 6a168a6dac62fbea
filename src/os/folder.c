#include "os/folder.h"
#include "base/text.h"
#include "os/environ.h"
#include "os/failure.h"
#include "os/listing.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- removing */

enum { DEEPEST = 32 };

static void empty(int fd, unsigned depth);

/* Removes what is called `name` in the folder `fd`, with all that is in it. Whether it is gone. */
static bool remove_entry(int fd, const char *name, unsigned depth) {
  if (unlinkat(fd, name, 0) == 0) return true;
  const int inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (inner >= 0) {
    if (depth < DEEPEST) empty(inner, depth + 1);
    (void)close(inner);
  }
  return unlinkat(fd, name, AT_REMOVEDIR) == 0;
}

/* Empties the folder `fd`. Never follows a link. System calls only, because a keeper calls it. Where entries go while they are listed, others may
 * be left out, so it is listed again, at most ROUNDS times, because another process may be filling it. */
static void empty(int fd, unsigned depth) {
  enum { ROUNDS = 16 };
  bool is_less = true;
  for (unsigned round = 0; round < ROUNDS && is_less; round++) {
    vs_listing listing;
    is_less = false;
    vs_listing_begin(&listing, fd);
    for (const char *name; (name = vs_listing_next(&listing)) != NULL;)
      if (remove_entry(fd, name, depth)) is_less = true;
  }
}

/* Removes the folder `path`, whose lock `fd` holds. Whether it is gone. */
static bool take_away(int fd, const char *path) {
  const int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again >= 0) {
    empty(again, 0);
    (void)close(again);
  }
  return rmdir(path) == 0 || errno == ENOENT;
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

/* Removes the folders of owners that died. What users have beside them under a name of their own stays. */
static void sweep(const char *prefix) {
  DIR *folder = opendir(place());
  if (folder == NULL) return;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char path[VS_FOLDER_PATH];
    const size_t length = strlen(prefix);
    if (strncmp(entry->d_name, prefix, length) != 0 || !vs_keeper_is_name(entry->d_name + length)) continue;
    vs_format(path, sizeof path, "%s/%s", place(), entry->d_name);
    const int fd = lock(path);
    if (fd < 0) continue;
    (void)take_away(fd, path);
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

/* In the keeper. A folder that is locked is another owner's, or a process that the owner was starting has inherited the lock. */
static bool clear(const char *path, unsigned naps) {
  (void)naps;
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return true;
  (void)close(fd);
  const int locked = lock(path);
  if (locked < 0) return false;
  const bool is_gone = take_away(locked, path);
  (void)close(locked);
  return is_gone;
}

/* Those that run on after the signal that they got when their parent died: processes that these have started. */
static bool clear_with_processes(const char *path, unsigned naps) {
  enum {
    TERMINATED = VS_KEEPER_NAPS_A_SECOND,
    KILLED = 5 * VS_KEEPER_NAPS_A_SECOND,
    LEFT_ALONE = KILLED + VS_KEEPER_NAPS_A_SECOND
  };
  const int number = naps == TERMINATED ? SIGTERM : naps >= KILLED ? SIGKILL : 0;
  if (vs_environ_signal("/proc", path, number) != 0 && naps < LEFT_ALONE) return false;
  return clear(path, naps);
}

/* The errno of a failure. EAGAIN: another process was at it, or has the name. */
static int create(vs_folder *folder, const char *prefix, vs_keeper_clear *clears) {
  char name[VS_KEEPER_NAME + 1];
  vs_keeper_name(name);
  vs_format(folder->path, sizeof folder->path, "%s/%s%s", place(), prefix, name);
  vs_keeper_start(&folder->keeper, folder->path, clears);
  if (mkdir(folder->path, 0700) != 0) return errno == EEXIST ? EAGAIN : errno;
  folder->fd = lock(folder->path);
  return folder->fd >= 0 && is_still_there(folder->fd) ? 0 : EAGAIN;
}

static vs_status create_kept(vs_folder *folder, const char *prefix, vs_keeper_clear *clears,
                             vs_error *error) {
  enum { ATTEMPTS = 8 };
  int number = EAGAIN;
  sweep(prefix);
  for (unsigned attempt = 0; attempt < ATTEMPTS && number == EAGAIN; attempt++) {
    *folder = (vs_folder){.fd = -1};
    number = create(folder, prefix, clears);
    if (number == 0) return VS_OK;
    vs_folder_leave(folder);
  }
  *folder = (vs_folder){.fd = -1};
  return vs_os__fail(error, number, "cannot create a temporary folder");
}

vs_status vs_folder_create(vs_folder *folder, const char *prefix, vs_error *error) {
  return create_kept(folder, prefix, clear, error);
}

vs_status vs_folder_create_for_processes(vs_folder *folder, const char *prefix, vs_error *error) {
  return create_kept(folder, prefix, clear_with_processes, error);
}

vs_status vs_folder_give(const vs_folder *folder, uint32_t user_id, vs_error *error) {
  if (fchown(folder->fd, user_id, (gid_t)-1) == 0) return VS_OK;
  return vs_os__fail(error, errno, folder->path);
}

void vs_folder_leave(vs_folder *folder) {
  if (folder->fd >= 0) (void)close(folder->fd);
  folder->fd = -1;
  vs_keeper_end(&folder->keeper);
}

void vs_folder_remove(vs_folder *folder) {
  if (folder->fd < 0) return;
  (void)take_away(folder->fd, folder->path);
  vs_folder_leave(folder);
}

/* ---- listing */

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

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
