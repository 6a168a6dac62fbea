/* Protocol buffers' wire format, field by field, from bytes in memory or from a stream of fields.
 *
 *   vs_proto_cursor at = {.rest = message};
 *   vs_proto_field field;
 *   while (vs_proto_next(&at, &field)) ...
 *   if (at.is_broken) ...
 *
 * Groups, which no writer of today makes, count as broken. */
#ifndef VS_CODEC_PROTO_READER_H
#define VS_CODEC_PROTO_READER_H

#include "codec/input.h"

typedef enum vs_proto_wire {
  VS_PROTO_VARINT = 0,
  VS_PROTO_FIXED64 = 1,
  VS_PROTO_BYTES = 2,
  VS_PROTO_FIXED32 = 5
} vs_proto_wire;

typedef struct vs_proto_field {
  uint64_t number;
  vs_proto_wire wire;
  uint64_t value; /* of a number */
  vs_str bytes;   /* of VS_PROTO_BYTES; borrowed */
} vs_proto_field;

typedef struct vs_proto_cursor {
  vs_str rest;
  bool is_broken;
} vs_proto_cursor;

/* The next field; false at the end, or with is_broken. */
bool vs_proto_next(vs_proto_cursor *cursor, vs_proto_field *field);

/* The next number of a packed list, or false. */
bool vs_proto_next_number(vs_proto_cursor *cursor, uint64_t *value);

/* The next field of a stream of fields, whose bytes are brought into the window and taken from it; false at the end. `bytes` is
 * valid until the input is read again.
 * Fails: VS_BAD_FORMAT, VS_TRUNCATED; VS_LIMIT  a field of more than `most` bytes; and what the reader fails with */
VS_MUST_CHECK vs_status vs_proto_input_next(vs_input *input, size_t most, vs_proto_field *field,
                                            bool *is_there, vs_error *error);

#endif
