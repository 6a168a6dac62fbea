/* Reads the same bytes twice: with all that a reader learns and predicts, and opcode by opcode (vs_pickle_options, vs_read_options). */
#ifndef VS_TESTS_BOTH_WAYS_H
#define VS_TESTS_BOTH_WAYS_H

#include "base/text.h"
#include "codec/pickle.h"
#include "snapshot/reader.h"

typedef struct fold_case {
  vs_str pickle;
  size_t step;           /* the bytes of each read at most; 0: all */
  uint64_t failing_byte; /* 1 + the bytes after which the reader fails; 0: it does not */
  uint64_t failing_call; /* 1 + the number of the call at which the consumer fails; 0: it does not */
} fold_case;

typedef struct fold_counts {
  uint64_t at_once; /* dicts that were read at once */
  uint64_t calls;   /* of the consumer */
} fold_counts;

/* Folds a pickle both ways with a consumer that gives every string and container a number of its own and remembers all calls. Returns NULL if
 * calls, root, status, error, facts and the place where reading ended are the same, else what differs. */
const char *fold_both_ways(const vs_host *host, const fold_case *c, fold_counts *counts);

/* Reads a snapshot both ways. Returns NULL if tables, ids, status and error are the same, else what differs. */
const char *read_both_ways(const vs_host *host, vs_str bytes);

#endif
