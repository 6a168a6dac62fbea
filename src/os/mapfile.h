/* A file that grows, and is written through memory: what was stored there is the kernel's, and survives
 * the process.
 *
 * The disk is asked for its blocks before anything is mapped, so that a full one is an error of
 * vs_mapfile_window and never a signal in the middle of a store.
 *
 * Invariant: every window lies within [0, size), and the blocks of [0, size) are on the disk. */
#ifndef VS_OS_MAPFILE_H
#define VS_OS_MAPFILE_H

#include <vramscope/base.h>

enum { VS_MAPFILE_PATH = 4096 };

typedef struct vs_mapfile {
  int fd;
  uint64_t size; /* bytes of the file that are backed by the disk */
  char path[VS_MAPFILE_PATH];
} vs_mapfile;

/* Creates the file at `path`; with `may_replace` an old regular file there is replaced (by another file:
 * who has the old one open keeps it). Fails with a sentence: VS_IO, VS_NOT_FOUND (its folder does not
 * exist) */
VS_MUST_CHECK vs_status vs_mapfile_create(vs_mapfile *file, const char *path, bool may_replace,
                                          vs_error *error);

/* The bytes [offset, offset + size) of the file, to be stored into; the file grows if need be, with zeros.
 * Both are multiples of the page size. The memory is ready: no store into it waits for a page. Children of
 * a fork do not have it. Fails with a sentence: VS_IO (no space left, too large, ...), VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_mapfile_window(vs_mapfile *file, uint64_t offset, size_t size, void **window,
                                          vs_error *error);
void vs_mapfile_release(void *window, size_t size); /* NULL is nothing */

/* Cuts the file to `size` bytes, which are to stay, and closes it. Windows may live on until released, but
 * for what lies behind `size`. Fails with a sentence: VS_IO */
VS_MUST_CHECK vs_status vs_mapfile_close(vs_mapfile *file, uint64_t size, vs_error *error);

/* Closes and deletes it. */
void vs_mapfile_abandon(vs_mapfile *file);

/* In a child of a fork: forgets the parent's file, which stays as it is. */
void vs_mapfile_forget(vs_mapfile *file);

#endif
