/* The closed pickle machine: reads protocols 0 to 5, folds plain data (fold.h), and cannot run code.
 *
 * An opcode that names, calls or loads a class is refused with VS_REFUSED, its name, the class and its offset.
 *
 * Bounds, all documented to users in docs/formats/snapshot.md
 *   string, long integer or text line   VS_PICKLE_MAX_TEXT bytes
 *   marks open at once                  VS_PICKLE_MAX_MARKS
 *   memo index                          below VS_PICKLE_MEMO_AHEAD + the number of bytes read so far
 *   memory                              the budget of the input's host
 *
 * pickle_machine.h explains the stack and the open containers. */
#ifndef VS_CODEC_PICKLE_H
#define VS_CODEC_PICKLE_H

#include "codec/fold.h"
#include "codec/input.h"

enum {
  VS_PICKLE_MAX_TEXT = 16 * 1024 * 1024,
  VS_PICKLE_MAX_MARKS = 1024,
  VS_PICKLE_MEMO_AHEAD = 256, /* a writer may reserve low indices for later */
};

typedef struct vs_pickle_info {
  uint32_t protocol;      /* of the PROTO opcode; 0 without one */
  uint64_t size;          /* bytes up to and including STOP */
  uint64_t lists;         /* lists of memo references */
  uint64_t lists_known;   /* those of them whose body was predicted */
  uint64_t dicts_at_once; /* dicts that were read at once (pickle_dicts.c) */
} vs_pickle_info;

typedef struct vs_pickle_options {
  /* Executes every opcode by itself. Dicts of plain values are then not read at once (pickle_dicts.c), which gives the same calls of the
   * fold, the same values and the same failures, but more slowly. For tests that compare both. */
  bool each_opcode;
} vs_pickle_options;

/* Folds the pickle at the position of `input` and leaves the input after its STOP. On a failure `error` (never NULL)
 * has the sentence and the offset. `options` may be NULL. */
VS_MUST_CHECK vs_status vs_pickle_fold(vs_input *input, const vs_fold *fold, const vs_pickle_options *options,
                                       vs_value *root, vs_pickle_info *info, vs_error *error);

#endif
