#include "os/environ.h"
#include "base/text.h"
#include "os/listing.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 4096 }; /* of a text */

/* Whether the file contains the text, which may lie across two pieces that are read. */
static bool contains(int fd, vs_str text) {
  char piece[4 * LONGEST];
  size_t kept = 0;
  for (ssize_t got; (got = read(fd, piece + kept, sizeof piece - kept)) > 0;) {
    const size_t size = kept + (size_t)got;
    if (memmem(piece, size, text.data, text.size) != NULL) return true;
    kept = size < text.size - 1 ? size : text.size - 1;
    memmove(piece, piece + size - kept, kept);
  }
  return false;
}

static bool has(const char *proc, int64_t pid, vs_str text) {
  char path[LONGEST];
  vs_format(path, sizeof path, "%s/%D/environ", proc, pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false; /* it has ended, or is another user's */
  const bool is_there = contains(fd, text);
  (void)close(fd);
  return is_there;
}

/* 0: the entry of a folder is no process. */
static int64_t pid_of(const char *name) {
  uint64_t pid;
  return vs_parse_u64(vs_str_from(name), &pid) && pid <= INT32_MAX ? (int64_t)pid : 0;
}

size_t vs_environ_signal(const char *proc, const char *text, int number) {
  size_t count = 0;
  vs_listing listing;
  const vs_str wanted = vs_str_from(text);
  const int folder = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || wanted.size == 0 || wanted.size > LONGEST) return 0;
  vs_listing_begin(&listing, folder);
  for (const char *name; (name = vs_listing_next(&listing)) != NULL;) {
    const int64_t pid = pid_of(name);
    if (pid == 0 || pid == getpid() || !has(proc, pid, wanted)) continue;
    if (number != 0) (void)kill((pid_t)pid, number);
    count++;
  }
  (void)close(folder);
  return count;
}
