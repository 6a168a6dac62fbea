/* Reads the same bytes twice: with all that a reader learns and predicts, and opcode by opcode (vs_pickle_options, vs_read_options). */
#ifndef VS_TESTS_BOTH_WAYS_H
#define VS_TESTS_BOTH_WAYS_H

#include "codec/pickle.h"
#include "snapshot/reader.h"

/* Folds a pickle both ways with a consumer that gives every string and container a number of its own and remembers all calls. Returns NULL if
 * calls, root, status, error, facts and the place where reading ended are the same, else what differs. The consumer's call number `failing`
 * fails (UINT64_MAX: none does). *at_once is the number of dicts that were read at once, *calls that of calls. */
const char *fold_both_ways(const vs_host *host, vs_str pickle, uint64_t failing, uint64_t *at_once,
                           uint64_t *calls);

/* Reads a snapshot both ways. Returns NULL if tables, ids, status and error are the same, else what differs. */
const char *read_both_ways(const vs_host *host, vs_str bytes);

#endif
