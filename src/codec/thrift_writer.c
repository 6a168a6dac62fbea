#include "codec/thrift_writer.h"
#include "codec/proto_writer.h"

static void put_signed(vs_thrift *thrift, int64_t value) {
  vs_proto_varint(thrift->text, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void begin_field(vs_thrift *thrift, uint8_t field, vs_thrift_type type) {
  uint8_t *last = &thrift->last[thrift->depth];
  VS_ASSERT(field > *last && field - *last < 16);
  vs_text_byte(thrift->text, (uint8_t)((unsigned)(field - *last) << 4 | (unsigned)type));
  *last = field;
}

static void put_str(vs_thrift *thrift, vs_str value) {
  vs_proto_varint(thrift->text, value.size);
  vs_text_str(thrift->text, value);
}

void vs_thrift_i32(vs_thrift *thrift, uint8_t field, int32_t value) {
  begin_field(thrift, field, VS_THRIFT_I32);
  put_signed(thrift, value);
}

void vs_thrift_i64(vs_thrift *thrift, uint8_t field, int64_t value) {
  begin_field(thrift, field, VS_THRIFT_I64);
  put_signed(thrift, value);
}

void vs_thrift_str(vs_thrift *thrift, uint8_t field, vs_str value) {
  begin_field(thrift, field, VS_THRIFT_BINARY);
  put_str(thrift, value);
}

void vs_thrift_struct(vs_thrift *thrift, uint8_t field) {
  begin_field(thrift, field, VS_THRIFT_STRUCT);
  vs_thrift_item_begin(thrift);
}

void vs_thrift_struct_end(vs_thrift *thrift) { vs_thrift_item_end(thrift); }

void vs_thrift_list(vs_thrift *thrift, uint8_t field, vs_thrift_type items, size_t count) {
  begin_field(thrift, field, VS_THRIFT_LIST);
  vs_text_byte(thrift->text, (uint8_t)((count < 15 ? count : 15) << 4 | (unsigned)items));
  if (count >= 15) vs_proto_varint(thrift->text, count);
}

void vs_thrift_item_i32(vs_thrift *thrift, int32_t value) { put_signed(thrift, value); }
void vs_thrift_item_str(vs_thrift *thrift, vs_str value) { put_str(thrift, value); }

void vs_thrift_item_begin(vs_thrift *thrift) {
  VS_ASSERT(thrift->depth + 1 < VS_THRIFT_DEPTH);
  thrift->last[++thrift->depth] = 0;
}

void vs_thrift_item_end(vs_thrift *thrift) {
  VS_ASSERT(thrift->depth != 0);
  thrift->depth--;
  vs_text_byte(thrift->text, 0);
}

void vs_thrift_end(vs_thrift *thrift) {
  VS_ASSERT(thrift->depth == 0);
  vs_text_byte(thrift->text, 0);
}
