/* Writes the protocol buffer wire format into a vs_text, as far as pprof profiles and Perfetto traces need it.
 *
 * The length of a nested message precedes it, so it is built first, in its own vs_text without a writer.
 * vs_proto_message appends it and leaves that text empty for the next one. */
#ifndef VS_CODEC_PROTO_WRITER_H
#define VS_CODEC_PROTO_WRITER_H

#include "base/text.h"

/* A varint without a tag, such as an item of a packed field, which is built like a message. */
void vs_proto_varint(vs_text *text, uint64_t value);

/* One field each; `field` is its number in the .proto file. Zero is written like any other value. */
void vs_proto_u64(vs_text *text, uint32_t field, uint64_t value);
void vs_proto_i64(vs_text *text, uint32_t field,
                  int64_t value); /* int32, int64, enum: negatives take ten bytes */
void vs_proto_bool(vs_text *text, uint32_t field, bool value);
void vs_proto_f64(vs_text *text, uint32_t field, double value);
void vs_proto_str(vs_text *text, uint32_t field, vs_str value); /* string, bytes */

/* Takes the bytes of `message` over as one field, its failure too, and empties it. */
void vs_proto_message(vs_text *text, uint32_t field, vs_text *message);

#endif
