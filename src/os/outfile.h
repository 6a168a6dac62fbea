/* A file or standard output as a buffered vs_writer.
 *
 * A file appears complete or not at all: bytes go to a file in the same folder that has no name, which vs_outfile_finish gives it. So nothing stays of
 * a process that is killed. Where an existing file is replaced, or the file system has no such files, it has a temporary name, and a keeper
 * (keeper.h) removes that after a kill. An existing file is replaced only with `may_replace`, and keeps its permissions and a symbolic link to
 * it. A pipe or device is written to directly.
 *
 *   vs_outfile file;
 *   VS_TRY(vs_outfile_create(&file, path, false, error));
 *   ...                                       write through vs_outfile_writer(&file)
 *   status = vs_outfile_finish(&file, error);  or vs_outfile_abandon(&file): nothing is left behind
 *
 * Writes to a pipe whose reader was closed fail with VS_CANCELLED, without a sentence. That needs SIGPIPE ignored
 * (vs_process_prepare). */
#ifndef VS_OS_OUTFILE_H
#define VS_OS_OUTFILE_H

#include "os/keeper.h"

enum { VS_OUTFILE_BUFFER = 64 * 1024, VS_OUTFILE_PATH = 4096 };

typedef struct vs_outfile {
  int fd;
  bool is_ours;                    /* to be closed here; standard output is not */
  bool may_replace;                /* an existing file at `path` */
  uint64_t written;                /* bytes taken, those in the buffer included */
  vs_error error;                  /* of the first write that failed; later ones fail the same */
  size_t used;                     /* bytes in the buffer */
  char path[VS_OUTFILE_PATH];      /* what the file will be called; "" where it has its name */
  char temporary[VS_OUTFILE_PATH]; /* what it is called until then; "" where it has no name */
  vs_keeper keeper;                /* of the temporary name */
  uint8_t buffer[VS_OUTFILE_BUFFER];
} vs_outfile;

/* Begins a file. Fails with a sentence in `error`: VS_IO (it exists and `may_replace` is false, no permission, ...),
 * VS_NOT_FOUND (its folder does not exist). */
VS_MUST_CHECK vs_status vs_outfile_create(vs_outfile *file, const char *path, bool may_replace,
                                          vs_error *error);

/* Whether vs_outfile_create would find an old file or no folder there now: asked before long work whose result goes to that file in the end. Nothing is
 * opened or written. Fails as vs_outfile_create does. */
VS_MUST_CHECK vs_status vs_outfile_expect(const char *path, bool may_replace, vs_error *error);

/* Gives a file, in which nothing was written yet, its temporary name, for others that open it by its name. Its `path` is not "". */
VS_MUST_CHECK vs_status vs_outfile_name(vs_outfile *file, vs_error *error);

/* Begins a file that other processes read while it grows: an existing file is truncated at once, and bytes are
 * visible when they are flushed. Fails as vs_outfile_create does. */
VS_MUST_CHECK vs_status vs_outfile_log(vs_outfile *file, const char *path, vs_error *error);

void vs_outfile_stdout(vs_outfile *file);

/* Valid as long as the file, which must not move. */
vs_writer vs_outfile_writer(vs_outfile *file);

/* Writes the buffer, so that other processes can read it. */
VS_MUST_CHECK vs_status vs_outfile_flush(vs_outfile *file);

/* Writes the buffer, and gives the file its name. After a failure abandon is not needed. */
VS_MUST_CHECK vs_status vs_outfile_finish(vs_outfile *file, vs_error *error);

/* Nothing stays of the file. Does nothing after a finish. */
void vs_outfile_abandon(vs_outfile *file);

#endif
