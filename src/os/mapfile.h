/* A file that grows and is written through mapped memory: stored bytes belong to the kernel, and survive the process.
 *
 * The blocks of the disk are allocated before a window is mapped, so that a full disk is an error of
 * vs_mapfile_window and not a signal during a store.
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

/* Creates the file at `path`; with `may_replace` an existing regular file is replaced by a new one (processes that
 * have the old one open keep it). Fails with a sentence: VS_IO, VS_NOT_FOUND (its folder does not exist) */
VS_MUST_CHECK vs_status vs_mapfile_create(vs_mapfile *file, const char *path, bool may_replace,
                                          vs_error *error);

/* Maps the bytes [offset, offset + size) of the file for writing; the file grows if need be, with zeros. Both are
 * multiples of the page size. The pages are present, so that no store causes a page fault. Children of a fork do not
 * have the mapping. Fails with a sentence: VS_IO (no space left, too large, ...), VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_mapfile_window(vs_mapfile *file, uint64_t offset, size_t size, void **window,
                                          vs_error *error);
void vs_mapfile_release(void *window, size_t size); /* does nothing for NULL */

/* Allocates the blocks of the disk up to the offset `end`, as vs_mapfile_window does. Fails with a sentence: VS_IO */
VS_MUST_CHECK vs_status vs_mapfile_reserve(vs_mapfile *file, uint64_t end, vs_error *error);

/* Truncates the file to `size` bytes and closes it. Windows stay valid until released, except after `size`. Fails
 * with a sentence: VS_IO */
VS_MUST_CHECK vs_status vs_mapfile_close(vs_mapfile *file, uint64_t size, vs_error *error);

/* Closes and deletes it. */
void vs_mapfile_abandon(vs_mapfile *file);

/* In a child of a fork: closes the parent's file without changing it. */
void vs_mapfile_forget(vs_mapfile *file);

#endif
