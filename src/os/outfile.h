/* A file or standard output as a buffered vs_writer.
 *
 * A file appears whole or not at all: bytes go to a temporary file in the same folder, which vs_outfile_finish renames. An
 * existing file is replaced only when that is asked for, and keeps its permissions and the symbolic link that leads to
 * it. What is no regular file (a pipe, /dev/null) is written to directly.
 *
 *   vs_outfile file;
 *   VS_TRY(vs_outfile_create(&file, path, false, error));
 *   ...                                       write through vs_outfile_writer(&file)
 *   status = vs_outfile_finish(&file, error);  or vs_outfile_abandon(&file): nothing is left behind
 *
 * A pipe whose reader has gone is no error worth words: writes then fail with VS_CANCELLED. That needs SIGPIPE ignored
 * (vs_process_prepare). */
#ifndef VS_OS_OUTFILE_H
#define VS_OS_OUTFILE_H

#include <vramscope/base.h>

enum { VS_OUTFILE_BUFFER = 64 * 1024, VS_OUTFILE_PATH = 4096 };

typedef struct vs_outfile {
  int fd;
  bool is_ours;                    /* to be closed here; standard output is not */
  bool may_replace;                /* an existing file at `path` */
  uint64_t written;                /* bytes taken, those in the buffer included */
  vs_error error;                  /* of the first write that failed; later ones fail the same */
  size_t used;                     /* bytes in the buffer */
  char path[VS_OUTFILE_PATH];      /* what the file will be called; "" where nothing is renamed */
  char temporary[VS_OUTFILE_PATH]; /* what it is called until then */
  uint8_t buffer[VS_OUTFILE_BUFFER];
} vs_outfile;

/* Begins a file. Fails with a sentence in `error`: VS_IO (it exists and `may_replace` is false, no permission, ...),
 * VS_NOT_FOUND (its folder does not exist). */
VS_MUST_CHECK vs_status vs_outfile_create(vs_outfile *file, const char *path, bool may_replace,
                                          vs_error *error);

/* A file that grows before the eyes of who reads along: bytes go to it as they are flushed, and what was in it is gone at
 * once. Fails as vs_outfile_create does. */
VS_MUST_CHECK vs_status vs_outfile_log(vs_outfile *file, const char *path, vs_error *error);

void vs_outfile_stdout(vs_outfile *file);

/* Valid as long as the file, which must not move. */
vs_writer vs_outfile_writer(vs_outfile *file);

/* Writes what is buffered, for somebody who reads along. */
VS_MUST_CHECK vs_status vs_outfile_flush(vs_outfile *file);

/* Writes what is buffered, closes and renames. After a failure there is nothing left to abandon. */
VS_MUST_CHECK vs_status vs_outfile_finish(vs_outfile *file, vs_error *error);

/* Forgets everything. Fine after a finish, too. */
void vs_outfile_abandon(vs_outfile *file);

#endif
