/* The bytes of a user's file, for every face: its kind is recognized by content, gzip is decompressed, an SQLite database becomes the
 * text of its tables (database.h), and bytes are counted.
 *
 * Refused by content, with advice: other compressions, zip archives, web pages, pointers to large files (codec/foreign.h), an
 * empty file, a gzip stream inside another one, and what gzip.h refuses. */
#ifndef VS_INTAKE_INPUT_FILE_H
#define VS_INTAKE_INPUT_FILE_H

#include "codec/foreign.h"
#include "intake/database.h"
#include "intake/gzip.h"
#include "os/infile.h"

/* The beginning of a stream, read ahead to recognize its kind. Invariant: at <= count; bytes[at..count) comes before the rest
 * in `reader`. */
typedef struct vs_head {
  vs_reader reader; /* the rest */
  uint8_t bytes[VS_FOREIGN_HEAD];
  size_t count, at;
} vs_head;

/* Called after each read, on the thread that reads. `bytes_read` counts bytes as they are stored, compressed or not, of
 * `bytes` in total (VS_NO_SIZE: unknown, as with a pipe). If it returns false the read fails with VS_CANCELLED. `reading`
 * NULL: no calls. */
typedef struct vs_input_watch {
  void *ctx;
  bool (*reading)(void *ctx, uint64_t bytes_read, uint64_t bytes);
} vs_input_watch;

typedef struct vs_input_file {
  vs_infile disk;      /* opened by vs_input_file_open; otherwise fd is -1 */
  vs_reader source;    /* the bytes as they are stored */
  uint64_t bytes;      /* of the source, VS_NO_SIZE: unknown */
  uint64_t bytes_read; /* from the source */
  vs_inflater inflater;
  vs_input_watch watch;
  bool is_compressed;
  vs_head raw, plain; /* before and after decompression; `plain` only with is_compressed */
  vs_gzip *gzip;      /* NULL if nothing is decompressed */
  const vs_database_library *databases;
  void *database; /* NULL if it is none */
  vs_error
      error; /* the cause of a failed read; status VS_OK: none failed, or only `source` knows the cause */
} vs_input_file;

/* How the bytes are read; all members may be zero. */
typedef struct vs_input_options {
  vs_inflater inflater;
  vs_input_watch watch;
  const vs_database_library *databases; /* NULL: SQLite databases are refused */
} vs_input_options;

/* Opens `path` ("-": standard input) and examines its beginning. Owner: the caller, vs_input_file_close, if this
 * returns VS_OK.
 * Fails: VS_IO  there is no such file, or it cannot be opened; VS_BAD_ARGUMENT  standard input is a terminal; VS_UNSUPPORTED  a
 *        file of another kind; VS_TRUNCATED  empty; ...; with a sentence in `error` */
VS_MUST_CHECK vs_status vs_input_file_open(vs_input_file *file, const vs_host *host, const char *path,
                                           const vs_input_options *options, vs_error *error);

/* The same over any reader, which outlives the file; `bytes`: how many it has, or VS_NO_SIZE. */
VS_MUST_CHECK vs_status vs_input_file_over(vs_input_file *file, const vs_host *host, vs_reader source,
                                           uint64_t bytes, const vs_input_options *options, vs_error *error);

void vs_input_file_close(vs_input_file *file);

/* Reads the decompressed content, of a database the text of its tables. Valid as long as the file, which must not move. */
vs_reader vs_input_file_reader(vs_input_file *file);

#endif
