/* The closed pickle machine: reads protocols 0 to 5, folds plain data (fold.h), can run nothing.
 *
 * An opcode that names, calls or loads a class is refused with VS_REFUSED, its name, what it asked for and its offset.
 *
 * Bounds, all documented to users in docs/formats/snapshot.md
 *   string, long integer or text line   VS_PICKLE_MAX_TEXT bytes
 *   marks open at once                  VS_PICKLE_MAX_MARKS
 *   memo index                          below VS_PICKLE_MEMO_AHEAD + the number of bytes read so far
 *   memory                              the budget of the input's host
 *
 * How it works: pickle.c explains the stack, containers that are still open, and why a memo can hold one of those. */
#ifndef VS_CODEC_PICKLE_H
#define VS_CODEC_PICKLE_H

#include "codec/fold.h"
#include "codec/input.h"

enum {
  VS_PICKLE_MAX_TEXT = 16 * 1024 * 1024,
  VS_PICKLE_MAX_MARKS = 1024,
  VS_PICKLE_MEMO_AHEAD = 256, /* writers may keep low numbers for later */
};

typedef struct vs_pickle_info {
  uint32_t protocol;    /* of the PROTO opcode, 0 where there is none */
  uint64_t size;        /* bytes up to and with STOP */
  uint64_t lists;       /* lists of memo references met ... */
  uint64_t lists_known; /* ... of which the body was the one that was predicted */
} vs_pickle_info;

/* Folds the pickle at the front of `input` and leaves the input behind its STOP. On failure `error` (never NULL) says
 * what and where. */
VS_MUST_CHECK vs_status vs_pickle_fold(vs_input *input, const vs_fold *fold, vs_value *root,
                                       vs_pickle_info *info, vs_error *error);

#endif
