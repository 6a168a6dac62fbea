/* Which other programs' accounts of GPU memory are read, and their readers as one table for vs_read_options.
 *
 * Each reader fills the columns of model.h as far as its format goes and says what it lacks (vs_snapshot.lacks). All input is
 * streamed: a reader keeps its columns and what it needs to order them, never the file. */
#ifndef VS_SNAPSHOT_ACCOUNTS_H
#define VS_SNAPSHOT_ACCOUNTS_H

#include "snapshot/reader.h"

extern const vs_account_readers vs_accounts;

#endif
