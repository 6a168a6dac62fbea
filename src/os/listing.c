#include "os/listing.h"
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel writes it. */
typedef struct entry {
  uint64_t inode;
  int64_t next;
  uint16_t size; /* with the name */
  uint8_t kind;
  char name[];
} entry;

void vs_listing_begin(vs_listing *listing, int fd) {
  listing->fd = fd;
  listing->size = listing->at = 0;
  if (lseek(fd, 0, SEEK_SET) < 0) listing->fd = -1;
}

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

/* NULL: there are no more. */
static const entry *next(vs_listing *l) {
  if (l->at >= l->size) {
    const long got = syscall(SYS_getdents64, l->fd, l->piece, sizeof l->piece);
    l->size = got > 0 ? (size_t)got : 0;
    l->at = 0;
    if (got <= 0) return NULL;
  }
  const entry *found = (const entry *)(const void *)(l->piece + l->at);
  l->at += found->size;
  return found;
}

const char *vs_listing_next(vs_listing *listing) {
  const entry *found;
  do found = next(listing);
  while (found != NULL && is_dots(found->name));
  return found == NULL ? NULL : found->name;
}
