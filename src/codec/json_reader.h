/* JSON (RFC 8259) from a stream into a fold, without building a tree and without recursion.
 *
 * Accepted beyond the RFC: a UTF-8 byte order mark, NaN, Infinity and -Infinity (Python's json writes them), strings
 * that are not valid UTF-8 (their bytes are passed on unchanged), zero bytes after the end. Nothing else: no
 * comments, no comma before a closing bracket, no control byte in a string.
 *
 * Integers without fraction and exponent stay integers (INT, UINT, BIG; -0 is 0), every other number is a correctly
 * rounded REAL. A \u escape of half a surrogate pair becomes its three bytes, as CPython pickles it. All of several
 * equal keys of an object are passed on. */
#ifndef VS_CODEC_JSON_READER_H
#define VS_CODEC_JSON_READER_H

#include "codec/fold.h"
#include "codec/input.h"

typedef struct vs_json_limits {
  uint32_t nesting;      /* open arrays and objects */
  uint32_t string_bytes; /* of one string, with its escapes */
  uint32_t number_bytes; /* of one number */
} vs_json_limits;

#define VS_JSON_LIMITS ((vs_json_limits){.nesting = 256, .string_bytes = 16u << 20, .number_bytes = 400})

/* Reads one text to its end and stores the consumer's value of the outermost container. `limits` NULL means
 * VS_JSON_LIMITS; `error` may be NULL. The items of open containers are allocated from input->host.
 *
 * Fails, with the offset of the wrong byte (for a failure of the consumer: the end of what it was given):
 *   VS_BAD_FORMAT  not JSON            VS_TRUNCATED  the text is incomplete
 *   VS_LIMIT       over `limits`       VS_NO_MEMORY  and failures of reader and consumer */
VS_MUST_CHECK vs_status vs_json_fold(vs_input *input, const vs_fold *fold, const vs_json_limits *limits,
                                     vs_value *root, vs_error *error);

#endif
