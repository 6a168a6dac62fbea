/* Snapshots for tests: from bytes, from files, and back to bytes. */
#ifndef VS_TESTS_SNAPSHOTS_H
#define VS_TESTS_SNAPSHOTS_H

#include "snapshot/reader.h"
#include "snapshot/writer.h"
#include "support/test.h"

#define CORPUS "tests/corpus/snapshot/" /* tests run in the root of the repository */

vs_status snapshot_from(const vs_host *host, vs_str bytes, vs_snapshot **out, vs_error *error);

/* The snapshot in `bytes`; the test fails unless it can be read and keeps its invariants. */
vs_snapshot *snapshot_of(vs_str bytes);
#define snapshot_of_json(literal) snapshot_of(VS_STR(literal))

/* Likewise, with the readers of other programs' accounts. */
vs_status account_from(const vs_host *host, vs_str bytes, vs_snapshot **out, vs_error *error);
vs_snapshot *account_of(vs_str bytes);

#define ACCOUNTS "tests/corpus/accounts/"

/* What writing makes of it, into a text that is the caller's to deinit. */
vs_text written(const vs_snapshot *snapshot, vs_file_format format);

void expect_equal_snapshots(const vs_snapshot *a, const vs_snapshot *b, const char *what);

/* The bytes of a file, to be freed with free(); the test fails if there is none. */
vs_str file_bytes(const char *path);

/* Calls `visit` for every file of the corpus, in the order of their names. */
void for_each_corpus_file(void (*visit)(const char *name, vs_str bytes, void *ctx), void *ctx);

#endif
