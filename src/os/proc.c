#include "os/proc.h"
#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 4096, PIECE = 4096 };

static int open_at(const char *root, uint64_t pid, const char *name) {
  char path[PATH];
  if (strlen(root) + strlen(name) + 24 > sizeof path) return -1;
  if (pid == 0) vs_format(path, sizeof path, "%s/%s", root, name);
  else vs_format(path, sizeof path, "%s/%U/%s", root, pid, name);
  int fd;
  do fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  while (fd < 0 && errno == EINTR);
  return fd;
}

/* Files of /proc have no size, and reads return parts of them. */
static size_t read_some(int fd, char *to, size_t capacity) {
  size_t size = 0;
  while (size < capacity) {
    const ssize_t got = read(fd, to + size, capacity - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += (size_t)got;
  }
  return size;
}

/* pid 0: a file of the machine. Truncated if it does not fit. */
static size_t read_text(const char *root, uint64_t pid, const char *name, char *to, size_t capacity) {
  size_t size = 0;
  const int fd = open_at(root, pid, name);
  if (fd >= 0) {
    size = read_some(fd, to, capacity - 1);
    (void)close(fd);
  }
  to[size] = 0;
  return size;
}

size_t vs_proc_text(const char *root, const char *name, char *to, size_t capacity) {
  return read_text(root, 0, name, to, capacity);
}

/* ---- numbers in texts */

/* The number at the beginning of `text`, after blanks; 0 if there is none. Moves past it. */
static uint64_t number_at(const char **text) {
  const char *at = *text;
  uint64_t number = 0;
  while (*at == ' ' || *at == '\t') at++;
  for (; *at >= '0' && *at <= '9'; at++) number = number * 10 + (uint64_t)(*at - '0');
  *text = at;
  return number;
}

/* The position after "\nKEY:" in a text of such lines, NULL if it is missing. */
static const char *value_of(const char *text, const char *key) {
  const size_t size = strlen(key);
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, key, size) == 0 && line[size] == ':') return line + size + 1;
  }
  return NULL;
}

/* ---- one process */

/* Seconds since 1970 at which the machine started. */
static uint64_t boot_seconds(const char *root) {
  /* The line follows one for each processor, and one of all interrupts, which may be long. */
  char piece[PIECE];
  const int fd = open_at(root, 0, "stat");
  if (fd < 0) return 0;
  uint64_t seconds = 0;
  size_t kept = 0;
  for (;;) {
    const size_t size = kept + read_some(fd, piece + kept, sizeof piece - 1 - kept);
    piece[size] = 0;
    const char *line = strstr(piece, "btime ");
    if (line != NULL && strchr(line, '\n') != NULL) {
      line += 6;
      seconds = number_at(&line);
    }
    if (seconds != 0 || size < sizeof piece - 1) break;
    kept = 64; /* the line may continue in the next part */
    memmove(piece, piece + size - kept, kept);
  }
  (void)close(fd);
  return seconds;
}

/* The field of that number in /proc/PID/stat; NULL if there are fewer. The second, the name, may contain any characters, brackets and
 * blanks too, so fields are counted after the last bracket. */
static const char *field_of(const char *stat, uint32_t number) {
  const char *at = strrchr(stat, ')');
  for (uint32_t field = 2; field < number && at != NULL; field++) at = strchr(at + 1, ' ');
  return at;
}

/* The 22nd field, in ticks since the machine started. */
static uint64_t start_of(const char *root, const char *stat) {
  const char *at = field_of(stat, 22);
  if (at == NULL) return 0;
  const uint64_t ticks = number_at(&at), boot = boot_seconds(root);
  const long per_second = sysconf(_SC_CLK_TCK);
  if (boot == 0 || per_second <= 0) return 0;
  const uint64_t rate = (uint64_t)per_second;
  return (boot + ticks / rate) * 1000000 + ticks % rate * 1000000 / rate;
}

/* The kernel writes a backslash of a name as two, and a line feed as \n. */
static void read_name(vs_proc *proc, const char *name) {
  size_t size = 0;
  while (*name == ' ' || *name == '\t') name++;
  for (; *name != '\n' && *name != 0 && size < sizeof proc->name - 1; name++) {
    const bool is_escaped = name[0] == '\\' && (name[1] == '\\' || name[1] == 'n');
    if (is_escaped) name++;
    proc->name[size++] = is_escaped && *name == 'n' ? '\n' : *name;
  }
  proc->name[size] = 0;
}

static void read_status(vs_proc *proc, const char *status) {
  const char *name = value_of(status, "Name"), *user = value_of(status, "Uid"),
             *numbers = value_of(status, "NSpid");
  if (name != NULL) read_name(proc, name);
  if (user != NULL) proc->user_id = (uint32_t)number_at(&user);
  if (numbers == NULL) return;
  for (const char *before = NULL; numbers != before && *numbers != '\n' && *numbers != 0;) {
    before = numbers;
    const uint64_t number = number_at(&numbers);
    if (number != 0) proc->inner_pid = number;
  }
}

/* ---- families */

/* The parent, and the ticks of the fields 14 to 17. */
static bool read_member(const char *root, uint64_t pid, vs_proc_member *member, int64_t *parent) {
  char text[PIECE];
  if (read_text(root, pid, "stat", text, sizeof text) == 0) return false;
  const char *at = field_of(text, 4);
  const long per_second = sysconf(_SC_CLK_TCK);
  if (at == NULL || field_of(text, 17) == NULL || per_second <= 0) return false;
  *parent = (int64_t)number_at(&at);
  at = field_of(text, 14);
  uint64_t ticks = 0;
  for (int i = 0; i < 4; i++) ticks += number_at(&at);
  *member = (vs_proc_member){.pid = (int64_t)pid, .cpu_us = ticks * (1000000 / (uint64_t)per_second)};
  return true;
}

static bool has_pid(const int64_t *pids, size_t count, int64_t pid) {
  for (size_t i = 0; i < count; i++)
    if (pids[i] == pid) return true;
  return false;
}

static bool has_member(const vs_proc_member *members, size_t count, int64_t pid) {
  for (size_t i = 0; i < count; i++)
    if (members[i].pid == pid) return true;
  return false;
}

/* Adds those whose parent is a member. A parent may be listed behind its child, so the caller repeats this. */
static size_t add_children(DIR *folder, const char *root, const int64_t *roots, size_t root_count,
                           vs_proc_member *members, size_t count, size_t capacity) {
  rewinddir(folder);
  for (const struct dirent *entry = readdir(folder); entry != NULL && count < capacity;
       entry = readdir(folder)) {
    const char *name = entry->d_name;
    const int64_t pid = (int64_t)number_at(&name);
    vs_proc_member member;
    int64_t parent;
    if (pid == 0 || *name != 0 || has_member(members, count, pid)) continue;
    if (!read_member(root, (uint64_t)pid, &member, &parent)) continue;
    if (has_pid(roots, root_count, pid) || has_member(members, count, parent)) members[count++] = member;
  }
  return count;
}

size_t vs_proc_family(const char *root, const int64_t *roots, size_t count, vs_proc_member *members,
                      size_t capacity) {
  size_t found = 0, before;
  DIR *folder = opendir(root);
  if (folder == NULL) return 0;
  do {
    before = found;
    found = add_children(folder, root, roots, count, members, found, capacity);
  } while (found != before && found < capacity);
  (void)closedir(folder);
  VS_ASSERT(found <= capacity);
  return found;
}

/* ---- containers: their names in the path of the control group */

static bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/* The last run of exactly 64 digits in the line: the id of a container of docker, containerd, CRI-O or podman. */
static const char *id_in(const char *line, const char *end) {
  const char *found = NULL;
  for (const char *at = line; at < end;) {
    const char *begin = at;
    while (at < end && is_hex(*at)) at++;
    if (at - begin == 64) found = begin;
    if (at < end && at == begin) at++;
  }
  return found;
}

static void container_of(vs_proc *proc, const char *groups) {
  static const char *const lxc[] = {"/lxc.payload.", "/lxc/"};
  for (const char *line = groups; *line != 0;) {
    const char *end = line + strcspn(line, "\n"), *id = id_in(line, end);
    if (id != NULL) {
      vs_format(proc->container, 13, "%s", id); /* as short as docker shows it */
      return;
    }
    for (size_t i = 0; i < sizeof lxc / sizeof *lxc; i++) {
      const char *at = strstr(line, lxc[i]);
      if (at == NULL || at >= end || proc->container[0] != 0) continue;
      at += strlen(lxc[i]);
      size_t size = strcspn(at, "/\n");
      if (size >= sizeof proc->container) size = sizeof proc->container - 1;
      memcpy(proc->container, at, size);
      proc->container[size] = 0;
    }
    line = *end == 0 ? end : end + 1;
  }
}

/* "…/kubepods/burstable/pod8f6c…-…/…", or by systemd "…/kubepods-burstable-pod8f6c…_….slice/…": a UUID, of a static pod 32 digits. Returns its
 * length, 0: there is none at `at`. */
static size_t pod_at(const char *at) {
  enum { UUID = 36, DIGITS = 32 };
  size_t size = 0;
  while (is_hex(at[size]) || at[size] == '-' || at[size] == '_') size++;
  return size == UUID || size == DIGITS ? size : 0;
}

void vs_proc_pod(const char *root, uint64_t pid, char *to, size_t capacity) {
  static const char mark[] = "pod";
  char text[PIECE];
  to[0] = 0;
  if (pid == 0 || read_text(root, pid, "cgroup", text, sizeof text) == 0) return;
  for (const char *at = strstr(text, mark); at != NULL && to[0] == 0; at = strstr(at, mark)) {
    at += strlen(mark);
    const size_t size = pod_at(at);
    if (size == 0 || size >= capacity) continue;
    for (size_t i = 0; i < size; i++) to[i] = at[i] == '_' ? '-' : at[i];
    to[size] = 0;
  }
}

vs_status vs_proc_read(const char *root, uint64_t pid, vs_proc *proc) {
  char text[PIECE];
  *proc = (vs_proc){.user_id = VS_PROC_NO_USER};
  if (pid == 0 || read_text(root, pid, "status", text, sizeof text) == 0) return VS_NOT_FOUND;
  read_status(proc, text);
  if (read_text(root, pid, "stat", text, sizeof text) != 0) proc->start_us = start_of(root, text);
  if (read_text(root, pid, "cgroup", text, sizeof text) != 0) container_of(proc, text);
  return VS_OK;
}

size_t vs_proc_command(const char *root, uint64_t pid, char *to, size_t capacity, size_t *program) {
  size_t size = pid == 0 ? 0 : read_text(root, pid, "cmdline", to, capacity);
  while (size != 0 && (to[size - 1] == 0 || to[size - 1] == ' ')) size--; /* arguments end with a 0 each */
  to[size] = 0;
  if (program != NULL) *program = strlen(to);
  for (size_t i = 0; i < size; i++)
    if (to[i] == 0) to[i] = ' ';
  return size;
}

bool vs_proc_program(const char *root, uint64_t pid, char *to, size_t capacity) {
  char link[PATH];
  vs_format(link, sizeof link, "%s/%U/exe", root, pid);
  const ssize_t size = pid == 0 ? -1 : readlink(link, to, capacity);
  const bool is_whole = size > 0 && (size_t)size < capacity;
  to[is_whole ? size : 0] = 0;
  return is_whole;
}

bool vs_proc_has_mapped(const char *root, uint64_t pid, const char *const *parts) {
  enum { KEPT = 512 }; /* one of `parts` may be split between two reads */
  char piece[4 * PIECE + 1];
  const int fd = pid == 0 ? -1 : open_at(root, pid, "maps");
  if (fd < 0) return false;
  bool found = false;
  for (size_t kept = 0; !found;) {
    const size_t got = read_some(fd, piece + kept, sizeof piece - 1 - kept), size = kept + got;
    piece[size] = 0;
    for (const char *const *part = parts; *part != NULL && !found; part++)
      found = strstr(piece, *part) != NULL;
    if (got == 0 || size < KEPT) break;
    kept = KEPT;
    memmove(piece, piece + size - kept, kept);
  }
  (void)close(fd);
  return found;
}

/* Reads entries of a file that end with `end`, one after the other. An entry that does not fit is cut. */
typedef struct entries {
  int fd;
  char end;
  char piece[PIECE];
  size_t at, size;
} entries;

/* The next entry without its end; false: there is none. *fits: it was not cut. */
static bool next_entry(entries *e, char *to, size_t capacity, bool *fits) {
  size_t count = 0;
  for (bool has_any = false;; has_any = true) {
    if (e->at == e->size) {
      e->at = 0;
      e->size = read_some(e->fd, e->piece, sizeof e->piece);
      if (e->size == 0 && !has_any) return false;
    }
    if (e->size == 0 || e->piece[e->at] == e->end) break;
    if (count < capacity - 1) to[count] = e->piece[e->at];
    count++;
    e->at++;
  }
  if (e->size != 0) e->at++;
  *fits = count < capacity;
  to[*fits ? count : capacity - 1] = 0;
  return true;
}

static vs_status copy_text(char *to, size_t capacity, const char *text) {
  if (strlen(text) >= capacity) return VS_LIMIT;
  memcpy(to, text, strlen(text) + 1);
  return VS_OK;
}

enum { ENTRY = 1 << 15 }; /* a path of 4 KiB, or a long variable */

vs_status vs_proc_mapped_file(const char *root, uint64_t pid, const char *ending, char *to, size_t capacity) {
  char line[ENTRY];
  bool fits;
  entries e = {.fd = pid == 0 ? -1 : open_at(root, pid, "maps"), .end = '\n'};
  if (e.fd < 0) return VS_IO;
  vs_status status = VS_NOT_FOUND;
  while (status == VS_NOT_FOUND && next_entry(&e, line, sizeof line, &fits)) {
    const char *path = strchr(line, '/');
    if (fits && path != NULL && vs_str_ends(vs_str_from(path), vs_str_from(ending)))
      status = copy_text(to, capacity, path);
  }
  (void)close(e.fd);
  return status;
}

/* Whether the file that `number` names in the folder of a process' files is the memory of that name. */
static bool is_shared_memory(int folder, const char *number, const char *name) {
  char wanted[PATH], target[PATH];
  const ssize_t size = readlinkat(folder, number, target, sizeof target - 1);
  if (size < 0) return false;
  target[size] = 0;
  vs_format(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
  return strcmp(target, wanted) == 0;
}

vs_status vs_proc_read_shared(const char *root, uint64_t pid, const char *name, uint32_t skip, void *to,
                              size_t size) {
  const int fd = pid == 0 ? -1 : open_at(root, pid, "fd");
  DIR *const folder = fd < 0 ? NULL : fdopendir(fd);
  vs_status status = VS_NOT_FOUND;
  if (folder == NULL) {
    if (fd >= 0) (void)close(fd);
    return VS_IO;
  }
  for (struct dirent *entry; status == VS_NOT_FOUND && (entry = readdir(folder)) != NULL;) {
    if (!is_shared_memory(fd, entry->d_name, name) || skip-- != 0) continue;
    const int file = openat(fd, entry->d_name, O_RDONLY | O_CLOEXEC);
    const bool is_read = file >= 0 && pread(file, to, size, 0) == (ssize_t)size;
    if (file >= 0) (void)close(file);
    if (!is_read) break;
    status = VS_OK;
  }
  (void)closedir(folder);
  return status;
}

vs_status vs_proc_variable(const char *root, uint64_t pid, const char *name, char *to, size_t capacity) {
  char entry[ENTRY];
  bool fits;
  const size_t size = strlen(name);
  entries e = {.fd = pid == 0 ? -1 : open_at(root, pid, "environ"), .end = 0};
  if (e.fd < 0) return VS_IO;
  vs_status status = VS_NOT_FOUND;
  while (status == VS_NOT_FOUND && next_entry(&e, entry, sizeof entry, &fits))
    if (strncmp(entry, name, size) == 0 && entry[size] == '=')
      status = fits ? copy_text(to, capacity, entry + size + 1) : VS_LIMIT;
  (void)close(e.fd);
  return status;
}

/* ---- the machine */

vs_proc_view vs_proc_view_of(const char *root) {
  /* The first pid namespace of a kernel has this number, fixed in its sources (proc_ns.h: PROC_PID_INIT_INO). */
  static const char first[] = "pid:[4026531836]";
  char path[PATH], to[64];
  if (strlen(root) + 16 > sizeof path) return VS_PROC_UNKNOWN;
  vs_format(path, sizeof path, "%s/self/ns/pid", root);
  const ssize_t size = readlink(path, to, sizeof to);
  if (size < 5 || memcmp(to, first, 5) != 0) return VS_PROC_UNKNOWN;
  return (size_t)size == sizeof first - 1 && memcmp(to, first, (size_t)size) == 0 ? VS_PROC_WHOLE
                                                                                  : VS_PROC_OWN;
}

bool vs_proc_memory(const char *root, uint64_t *total_bytes, uint64_t *available_bytes) {
  char text[PIECE];
  *total_bytes = *available_bytes = 0;
  if (read_text(root, 0, "meminfo", text, sizeof text) == 0) return false;
  const char *total = value_of(text, "MemTotal"), *available = value_of(text, "MemAvailable");
  if (total == NULL || available == NULL) return false;
  *total_bytes = number_at(&total) * 1024; /* the kernel writes "kB" and means KiB */
  *available_bytes = number_at(&available) * 1024;
  return true;
}

void vs_proc_user(uint32_t user_id, char *name, size_t capacity) {
  struct passwd entry, *found = NULL;
  char texts[PIECE];
  if (getpwuid_r((uid_t)user_id, &entry, texts, sizeof texts, &found) == 0 && found != NULL)
    vs_format(name, capacity, "%s", entry.pw_name);
  else vs_format(name, capacity, "%u", user_id);
}

static bool mounts_of(const char *root, const char *pid, char name[64]) {
  char path[PATH];
  if (strlen(root) + strlen(pid) + 24 > sizeof path) return false;
  vs_format(path, sizeof path, "%s/%s/ns/mnt", root, pid);
  const ssize_t size = readlink(path, name, 63);
  name[size < 0 ? 0 : size] = 0;
  return size > 0;
}

bool vs_proc_shares_paths(const char *root, uint64_t pid) {
  char number[24], its[64], ours[64];
  vs_format(number, sizeof number, "%U", pid);
  return !mounts_of(root, number, its) || !mounts_of(root, "self", ours) || strcmp(its, ours) == 0;
}
