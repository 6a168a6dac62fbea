#include "codec/proto_writer.h"
#include "base/double_text.h"

/* The encoding of the value after a tag. */
enum wire { VARINT = 0, EIGHT_BYTES = 1, LENGTH_FIRST = 2 };

void vs_proto_varint(vs_text *text, uint64_t value) {
  uint8_t out[10];
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) out[size++] = (uint8_t)(value | 0x80);
  out[size++] = (uint8_t)value;
  vs_text_put(text, out, size);
}

static void put_tag(vs_text *text, uint32_t field, enum wire wire) {
  VS_ASSERT(field != 0);
  vs_proto_varint(text, (uint64_t)field << 3 | wire);
}

void vs_proto_u64(vs_text *text, uint32_t field, uint64_t value) {
  put_tag(text, field, VARINT);
  vs_proto_varint(text, value);
}

void vs_proto_i64(vs_text *text, uint32_t field, int64_t value) {
  vs_proto_u64(text, field, (uint64_t)value);
}

void vs_proto_bool(vs_text *text, uint32_t field, bool value) { vs_proto_u64(text, field, value); }

void vs_proto_f64(vs_text *text, uint32_t field, double value) {
  uint8_t out[8];
  uint64_t bits = vs_f64_to_bits(value);
  put_tag(text, field, EIGHT_BYTES);
  for (size_t i = 0; i < sizeof out; i++, bits >>= 8) out[i] = (uint8_t)bits;
  vs_text_put(text, out, sizeof out);
}

void vs_proto_str(vs_text *text, uint32_t field, vs_str value) {
  put_tag(text, field, LENGTH_FIRST);
  vs_proto_varint(text, value.size);
  vs_text_str(text, value);
}

void vs_proto_message(vs_text *text, uint32_t field, vs_text *message) {
  VS_ASSERT(message->writer == NULL);
  if (text->status == VS_OK) text->status = message->status;
  vs_proto_str(text, field, vs_text_view(message));
  message->bytes.count = 0;
}
