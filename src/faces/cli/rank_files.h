/* The files of ranks that a command line names, in the order in which they are shown, and reading them (rank_reading.c).
 *
 *   vs_rank_files files;
 *   code = vs_rank_files_list(cli, cli->line->arguments, cli->line->argument_count, &files);
 *   ...                                   VS_EXIT_OK:
 *   status = vs_rank_files_read(&files, &reader);
 *   vs_rank_files_deinit(&files);         always */
#ifndef VS_CLI_RANK_FILES_H
#define VS_CLI_RANK_FILES_H

#include "codec/json_doc.h"
#include "faces/cli/cli.h"

typedef struct vs_rank_files {
  const vs_cli *cli;
  vs_text names; /* each ends in 0 */
  VS_VEC(size_t) starts;
  VS_VEC(uint32_t) order;
  const char *folder; /* being listed */
} vs_rank_files;

/* Whether the name is that of a folder. */
bool vs_rank_files_is_folder(const char *path);

/* Whether the arguments are several files, or a folder of them. */
bool vs_rank_files_are_several(const vs_cli *cli);

/* Files in the order of `paths`, those of a folder (snapshots and recordings, by their names) in the order of their names
 * (diff/rank_names.h). On failure a sentence was printed. */
VS_MUST_CHECK vs_exit vs_rank_files_list(const vs_cli *cli, const char *const *paths, size_t count,
                                         vs_rank_files *files);
void vs_rank_files_deinit(vs_rank_files *files);

static inline size_t vs_rank_files_count(const vs_rank_files *files) { return files->order.count; }
const char *vs_rank_files_at(const vs_rank_files *files, size_t number);

/* To leave files out: moves one to an earlier place, and cuts the list to `count`. */
static inline void vs_rank_files_move(vs_rank_files *files, size_t from, size_t to) {
  files->order.data[to] = files->order.data[from];
}
static inline void vs_rank_files_cut(vs_rank_files *files, size_t count) { files->order.count = count; }

/* What was asked about a file. */
enum { VS_RANK_MOST_REPLIES = 3 };
typedef struct vs_rank_replies {
  vs_json_doc of[VS_RANK_MOST_REPLIES];
  size_t count;
} vs_rank_replies;

static inline vs_json vs_rank_reply(const vs_rank_replies *replies, size_t number) {
  return vs_json_root(&replies->of[number]);
}

/* What is done with each file. A failure of `ask` or `take`, or of reading the file, other than VS_NO_MEMORY is passed to `fail` as a
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

/* Opens and asks the files on as many threads as there are processors, each at most one ahead, and calls the other functions of `reader` on this
 * thread; the line at the bottom of the terminal shows for which file. Fails as `fail`; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_rank_files_read(const vs_rank_files *files, const vs_rank_reader *reader);

/* Adds the reply of an engine to a method about the device of --device. `more`: further parameters as JSON, each with a comma behind it. */
VS_MUST_CHECK vs_status vs_rank_ask(const vs_cli *cli, vs_engine *engine, const char *method,
                                    const char *more, vs_rank_replies *replies, vs_error *error);

#endif
