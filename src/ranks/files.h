/* The files of the ranks of a job, in the order in which they are shown.
 *
 *   vs_rank_files files;
 *   status = vs_rank_files_list(&files, host, paths, count, &error);
 *   ...                                   VS_OK: vs_rank_files_read (reading.h)
 *   vs_rank_files_deinit(&files);         always */
#ifndef VS_RANKS_FILES_H
#define VS_RANKS_FILES_H

#include "base/text.h"
#include "base/vec.h"

typedef struct vs_rank_files {
  const vs_host *host;
  vs_text names; /* each ends in 0 */
  VS_VEC(size_t) starts;
  VS_VEC(uint32_t) order;
  const char *folder; /* being listed */
  const char *failed; /* of `paths`, after a failure: what `error` is about */
} vs_rank_files;

/* Whether the name is that of a folder. */
bool vs_rank_files_is_folder(const char *path);

/* Files in the order of `paths`, those of a folder (snapshots and recordings, by their names) in the order of their names
 * (diff/rank_names.h). Whether a file exists is seen when it is read.
 * Fails: VS_IO  a folder has no such files, or cannot be read; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_rank_files_list(vs_rank_files *files, const vs_host *host,
                                           const char *const *paths, size_t count, vs_error *error);
void vs_rank_files_deinit(vs_rank_files *files);

static inline size_t vs_rank_files_count(const vs_rank_files *files) { return files->order.count; }
const char *vs_rank_files_at(const vs_rank_files *files, size_t number);

/* To leave files out: moves one to an earlier place, and cuts the list to `count`. */
static inline void vs_rank_files_move(vs_rank_files *files, size_t from, size_t to) {
  files->order.data[to] = files->order.data[from];
}
static inline void vs_rank_files_cut(vs_rank_files *files, size_t count) { files->order.count = count; }

#endif
