#include "codec/proto_reader.h"
#include "base/text.h"

enum { MOST_VARINT = 10 };

/* Reads a varint from at most `size` bytes; the number of its bytes, 0: it is incomplete, or longer than 64 bits. */
static size_t varint(const uint8_t *bytes, size_t size, uint64_t *value) {
  *value = 0;
  for (size_t i = 0; i < size && i < MOST_VARINT; i++) {
    if (i == MOST_VARINT - 1 && bytes[i] > 1) return 0;
    *value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
    if (bytes[i] < 0x80) return i + 1;
  }
  return 0;
}

static void take(vs_proto_cursor *cursor, size_t size) {
  VS_ASSERT(size <= cursor->rest.size);
  cursor->rest = (vs_str){cursor->rest.data + size, cursor->rest.size - size};
}

bool vs_proto_next_number(vs_proto_cursor *cursor, uint64_t *value) {
  if (cursor->rest.size == 0 || cursor->is_broken) return false;
  const size_t size = varint((const uint8_t *)cursor->rest.data, cursor->rest.size, value);
  cursor->is_broken = size == 0;
  take(cursor, size);
  return size != 0;
}

static bool take_fixed(vs_proto_cursor *cursor, size_t size, uint64_t *value) {
  cursor->is_broken = cursor->rest.size < size;
  if (cursor->is_broken) return false;
  *value = 0;
  for (size_t i = size; i-- > 0;) *value = *value << 8 | (uint8_t)cursor->rest.data[i];
  take(cursor, size);
  return true;
}

bool vs_proto_next(vs_proto_cursor *cursor, vs_proto_field *field) {
  uint64_t key;
  if (!vs_proto_next_number(cursor, &key)) return false;
  *field = (vs_proto_field){.number = key >> 3, .wire = (vs_proto_wire)(key & 7)};
  switch (field->wire) {
    case VS_PROTO_VARINT:
      if (cursor->rest.size == 0) cursor->is_broken = true;
      return vs_proto_next_number(cursor, &field->value);
    case VS_PROTO_FIXED64: return take_fixed(cursor, 8, &field->value);
    case VS_PROTO_FIXED32: return take_fixed(cursor, 4, &field->value);
    case VS_PROTO_BYTES:
      if (!vs_proto_next_number(cursor, &field->value) || field->value > cursor->rest.size) break;
      field->bytes = (vs_str){cursor->rest.data, (size_t)field->value};
      take(cursor, field->bytes.size);
      return true;
  }
  cursor->is_broken = true;
  return false;
}

/* ---- a stream -------------------------------------------------------------------------------------------------- */

/* The varint `at` bytes behind the position; *size is the number of its bytes. */
static vs_status input_varint(vs_input *input, size_t at, uint64_t *value, size_t *size, vs_error *error) {
  for (size_t count = 1; count <= MOST_VARINT; count++) {
    const vs_status status = vs_input_need(input, at + count);
    if (vs_input_ended(input, status))
      return vs_fail(error, VS_TRUNCATED, vs_input_offset(input),
                     "truncated: the field that begins here is incomplete");
    VS_TRY(status);
    *size = varint(input->data + input->pos + at, count, value);
    if (*size != 0) return VS_OK;
  }
  return vs_fail(error, VS_BAD_FORMAT, vs_input_offset(input), "a number of more than 64 bits");
}

static vs_status size_of(vs_input *input, vs_proto_field *field, size_t *head, size_t most, vs_error *error) {
  size_t size = 0;
  switch (field->wire) {
    case VS_PROTO_VARINT:
      VS_TRY(input_varint(input, *head, &field->value, &size, error));
      field->bytes.size = size;
      return VS_OK;
    case VS_PROTO_FIXED64: field->bytes.size = 8; return VS_OK;
    case VS_PROTO_FIXED32: field->bytes.size = 4; return VS_OK;
    case VS_PROTO_BYTES:
      VS_TRY(input_varint(input, *head, &field->value, &size, error));
      *head += size;
      if (field->value > most)
        return vs_fail(error, VS_LIMIT, vs_input_offset(input), "a field of %U bytes; at most %U are read",
                       field->value, (uint64_t)most);
      field->bytes.size = (size_t)field->value;
      return VS_OK;
  }
  return vs_fail(error, VS_BAD_FORMAT, vs_input_offset(input), "a field of an unknown kind");
}

vs_status vs_proto_input_next(vs_input *input, size_t most, vs_proto_field *field, bool *is_there,
                              vs_error *error) {
  uint64_t key;
  size_t head;
  vs_status status = vs_input_need(input, 1);
  *is_there = status == VS_OK;
  if (vs_input_ended(input, status)) return VS_OK;
  VS_TRY(status);
  VS_TRY(input_varint(input, 0, &key, &head, error));
  *field = (vs_proto_field){.number = key >> 3, .wire = (vs_proto_wire)(key & 7)};
  VS_TRY(size_of(input, field, &head, most, error));
  status = vs_input_need(input, head + field->bytes.size);
  if (vs_input_ended(input, status))
    return vs_fail(error, VS_TRUNCATED, vs_input_offset(input),
                   "truncated: the field that begins here is incomplete");
  VS_TRY(status);
  field->bytes.data = (const char *)input->data + input->pos + head;
  input->pos += head + field->bytes.size;
  return VS_OK;
}
