/* A file or a pipe as a vs_reader.
 *
 *   vs_infile file;
 *   VS_TRY(vs_infile_open(&file, path, error));
 *   const vs_reader reader = vs_infile_reader(&file);
 *   ...                                   after a VS_IO of the reader, file.error tells why
 *   vs_infile_close(&file);
 *
 * Nothing is buffered here: parsers have their own window (codec/input.h). */
#ifndef VS_OS_INFILE_H
#define VS_OS_INFILE_H

#include "base/text.h"

#define VS_NO_SIZE UINT64_MAX

typedef struct vs_infile {
  int fd;
  bool is_ours;   /* opened here and to be closed here; standard input is not */
  uint64_t size;  /* in bytes; VS_NO_SIZE for a pipe or a terminal */
  vs_error error; /* of the last read that failed */
} vs_infile;

/* Opens the file called `path`. A folder is refused here, with a sentence, instead of at the first read.
 * Fails: VS_NOT_FOUND  no such file; VS_IO  it cannot be opened; `error` says why. */
VS_MUST_CHECK vs_status vs_infile_open(vs_infile *file, const char *path, vs_error *error);

/* Standard input. Fails: VS_IO  it is closed. */
VS_MUST_CHECK vs_status vs_infile_stdin(vs_infile *file, vs_error *error);

/* Whether there is a file of that name that reads as bytes: no folder, pipe or device. */
bool vs_infile_is_regular(const char *path);

void vs_infile_close(vs_infile *file);

/* Valid as long as the file, which must not move. */
vs_reader vs_infile_reader(vs_infile *file);

/* Appends the bytes of the file called `path`, the first `most` of them if it has more.
 * Fails: as vs_infile_open, and VS_IO  after which the text has what was read before it; VS_NO_MEMORY  without a sentence */
VS_MUST_CHECK vs_status vs_infile_text(const char *path, size_t most, vs_text *text, vs_error *error);

#endif
