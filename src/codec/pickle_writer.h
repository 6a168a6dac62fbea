/* Writes a pickle of protocol 4 into a vs_text, with opcodes that PyTorch's own viewer knows: no class, no frame, no
 * bytes; at most VS_PICKLEW_BATCH items in one APPENDS or SETITEMS.
 *
 *   vs_picklew w;
 *   vs_picklew_begin(&w, text);
 *   vs_picklew_dict_begin(&w);
 *   vs_picklew_shared_str(&w, VS_STR("segments"), true, &memo.segments);    key
 *   vs_picklew_list_begin(&w);                                              and value
 *   ...
 *   vs_picklew_list_end(&w);
 *   vs_picklew_dict_end(&w);
 *   vs_picklew_end(&w);
 *
 * In a dict keys and values alternate. Python requires UTF-8: invalid bytes are written as lone surrogates, Python's
 * form of them (PEP 383). Failures are kept in the text; misuse traps in the hostile build.
 *
 * The memo. A reference to one of its first 256 entries takes two bytes, to any other five. So the first
 * VS_PICKLEW_OFTEN are reserved for values that are used very often, such as the keys of a million dicts. Therefore
 * entries are numbered with BINPUT and not with MEMOIZE, which counts by itself (in PyTorch's page separately from
 * BINPUT).
 *
 * Invariant: levels[depth-1].batched is the number of values since the MARK that is open, 0 if none is. */
#ifndef VS_CODEC_PICKLE_WRITER_H
#define VS_CODEC_PICKLE_WRITER_H

#include "base/text.h"

enum { VS_PICKLEW_DEPTH = 32, VS_PICKLEW_BATCH = 1000, VS_PICKLEW_OFTEN = 64 };

typedef struct vs_picklew_level {
  uint32_t batched;
  bool is_dict;
} vs_picklew_level;

typedef struct vs_picklew {
  vs_text *text;
  uint32_t often;  /* entries of the memo below VS_PICKLEW_OFTEN: 0 .. often - 1 */
  uint32_t seldom; /* and the others: VS_PICKLEW_OFTEN .. seldom - 1 */
  uint32_t depth;
  vs_picklew_level levels[VS_PICKLEW_DEPTH];
} vs_picklew;

void vs_picklew_begin(vs_picklew *w, vs_text *text);
void vs_picklew_end(vs_picklew *w);

void vs_picklew_dict_begin(vs_picklew *w);
void vs_picklew_dict_end(vs_picklew *w);
void vs_picklew_list_begin(vs_picklew *w);
void vs_picklew_list_end(vs_picklew *w);

void vs_picklew_none(vs_picklew *w);
void vs_picklew_bool(vs_picklew *w, bool value);
void vs_picklew_i64(vs_picklew *w, int64_t value);
void vs_picklew_u64(vs_picklew *w, uint64_t value);
void vs_picklew_f64(vs_picklew *w, double value);
void vs_picklew_str(vs_picklew *w, vs_str value);            /* VS_LIMIT from 4 GiB on */
void vs_picklew_pair(vs_picklew *w, uint64_t a, uint64_t b); /* the tuple (a, b) */

/* Puts the value that was just completed (a scalar, or the container that dict_end or list_end closed) into the
 * memo; _get then writes it as a value, any number of times. */
uint32_t vs_picklew_memoize(vs_picklew *w, bool often);
void vs_picklew_get(vs_picklew *w, uint32_t index);

/* A repeated string: written and memoized the first time, a reference afterwards. *memo belongs to the caller, one
 * for each string of this pickle, and begins as 0. */
void vs_picklew_shared_str(vs_picklew *w, vs_str value, bool often, uint32_t *memo);

#endif
