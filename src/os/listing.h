/* The names in a folder, listed by system calls only, so also in a fork of a process with threads (private). */
#ifndef VS_OS_LISTING_H
#define VS_OS_LISTING_H

#include <vramscope/base.h>

enum { VS_LISTING_PIECE = 4096 };

/* `piece` has `size` bytes of entries as the kernel lists them, the next one at `at`. */
typedef struct vs_listing {
  int fd;
  size_t size, at;
  _Alignas(8) char piece[VS_LISTING_PIECE];
} vs_listing;

/* `fd` is an open folder, which stays open. */
void vs_listing_begin(vs_listing *listing, int fd);

/* The next name but for "." and "..", valid until the next call; NULL: there are no more. */
const char *vs_listing_next(vs_listing *listing);

#endif
