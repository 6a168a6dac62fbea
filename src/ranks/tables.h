/* The files of a job's ranks as tables (diff/job_tables.h), in batches. Each file is forgotten once its rows are there, so the memory is that of a
 * few files and of a batch of each table. */
#ifndef VS_RANKS_TABLES_H
#define VS_RANKS_TABLES_H

#include "diff/job_tables.h"
#include "ranks/reading.h"

typedef struct vs_rank_tables_options {
  const char *device; /* as vs_rank_ask */
  void *ctx;
  /* Takes a batch of rows, on the caller's thread; at the end one of each table, which may be empty. A failure ends the reading. */
  vs_status (*put)(void *ctx, const vs_records *records);
  /* A file that cannot be read, also on the caller's thread; NULL: not of interest. */
  void (*fail)(void *ctx, const char *name, const char *why);
} vs_rank_tables_options;

/* How many files have their rows, of how many of these some figure may be inexact, and how many have only one row with the reason why they could
 * not be read. */
typedef struct vs_rank_tables_result {
  uint64_t read, incomplete, not_read;
} vs_rank_tables_result;

/* Fails: as `face` and `put`; VS_NO_MEMORY, VS_LIMIT. Then `result` has how far it came. */
VS_MUST_CHECK vs_status vs_rank_tables_read(const vs_rank_files *files, const vs_rank_face *face,
                                            const vs_rank_tables_options *options,
                                            vs_rank_tables_result *result);

#endif
