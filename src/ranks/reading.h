/* Reading the files of ranks: some threads open and ask them, and the caller's thread takes the replies, in the order of the files. */
#ifndef VS_RANKS_READING_H
#define VS_RANKS_READING_H

#include "codec/json_doc.h"
#include "ranks/files.h"
#include <vramscope/query.h>

/* What was asked about a file. */
enum { VS_RANK_MOST_REPLIES = 3 };
typedef struct vs_rank_replies {
  vs_json_doc of[VS_RANK_MOST_REPLIES];
  size_t count;
} vs_rank_replies;

static inline vs_json vs_rank_reply(const vs_rank_replies *replies, size_t number) {
  return vs_json_root(&replies->of[number]);
}

/* How a face opens files, and what it does meanwhile. */
typedef struct vs_rank_face {
  void *ctx;
  /* Loads a file into a new engine; *engine is NULL after a failure. On any thread, also several files at once. */
  vs_status (*open)(void *ctx, const char *path, vs_engine **engine, vs_error *error);
  /* On the caller's thread, before file `number` of `count` is taken, and each second while it is waited for. A failure ends the reading:
   * `open`, which may go on on another thread, should then fail soon. */
  vs_status (*wait)(void *ctx, size_t number, size_t count, const char *path);
} vs_rank_face;

/* What is done with each file. A failure of `ask` or `take`, or of opening the file, other than VS_NO_MEMORY is passed to `fail` as a
 * sentence, and the next file is read. */
typedef struct vs_rank_reader {
  void *ctx;
  /* Asks the engine that has the file. On any thread, also about several files at once, so it changes nothing of `ctx`. */
  vs_status (*ask)(const void *ctx, size_t number, const char *name, vs_engine *engine,
                   vs_rank_replies *replies, vs_error *error);
  /* On the caller's thread, in the order of the files. May keep the engine: it sets *engine to NULL then. */
  vs_status (*take)(void *ctx, size_t number, const char *name, const vs_rank_replies *replies,
                    vs_engine **engine, vs_error *error);
  /* Likewise. `was_asked`: the file itself could be read. */
  vs_status (*fail)(void *ctx, size_t number, const char *name, bool was_asked, const char *why);
} vs_rank_reader;

/* Opens and asks the files on as many threads as there are processors, 8 at most, each at most one file ahead, and calls the other functions on
 * this thread. Fails: as `wait` and `fail`; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_rank_files_read(const vs_rank_files *files, const vs_rank_face *face,
                                           const vs_rank_reader *reader);

/* Adds the reply of an engine to a method about `device`: a number, "host", or NULL for the file's default. `more`: further parameters as JSON,
 * each with a comma behind it. */
VS_MUST_CHECK vs_status vs_rank_ask(const vs_host *host, const char *device, vs_engine *engine,
                                    const char *method, const char *more, vs_rank_replies *replies,
                                    vs_error *error);

/* Fails with a sentence where the file is a recording of a program without PyTorch (VS_NOT_FOUND): it has nothing that an answer about
 * PyTorch's memory could show, and zeros would read as if that was known. */
VS_MUST_CHECK vs_status vs_engine_need_pytorch(const vs_host *host, vs_engine *engine, vs_error *error);

#endif
