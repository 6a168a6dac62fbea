/* Which file, function and line of one side is which of the other, although files moved, functions were renamed and lines shifted.
 *
 * Files are paired by their names (files.h), then by the end of their paths, then by the functions in them; functions of paired files
 * by their names, then by their callers and callees; lines of paired functions by align.h. What has a partner gets one number on
 * both sides, and everything else one of its own, so that stacks of the two sides can be compared number by number. */
#ifndef VS_DIFF_PAIRING_H
#define VS_DIFF_PAIRING_H

#include "diff/side.h"

/* The numbers of a side's frames. */
typedef struct vs_paired {
  VS_VEC(uint32_t) files, functions, places; /* by frame */
} vs_paired;

/* Invariant: all numbers of `files` are below file_count, and so on; frames with one place have one function, and those with one
 * function one file. */
typedef struct vs_pairing {
  vs_paired sides[2];
  uint32_t file_count, function_count, place_count;
} vs_pairing;

/* is_same_program: both sides are of one run, so that equal names and numbers are the same, and nothing else is.
 * Fails: VS_NO_MEMORY, VS_LIMIT. On failure there is nothing to deinit. */
VS_MUST_CHECK vs_status vs_pairing_build(const vs_host *host, const vs_side *a, const vs_side *b,
                                         bool is_same_program, vs_pairing *out);
void vs_pairing_deinit(const vs_host *host, vs_pairing *pairing);

/* Executes the invariant; NULL if it holds, else the sentence that does not. */
const char *vs_pairing_check(const vs_pairing *pairing);

#endif
