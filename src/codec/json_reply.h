/* Shorthands for reading a reply. Its keys are those of docs/formats/query.md. */
#ifndef VS_CODEC_JSON_REPLY_H
#define VS_CODEC_JSON_REPLY_H

#include "base/text.h"
#include "codec/json_doc.h"
#include "codec/json_writer.h"

static inline vs_json vs_reply_at(vs_json object, const char *name) {
  return vs_json_member(object, vs_str_from(name));
}
static inline uint64_t vs_reply_u64(vs_json object, const char *name) {
  return vs_json_u64(vs_reply_at(object, name), 0);
}
static inline int64_t vs_reply_i64(vs_json object, const char *name) {
  return vs_json_i64(vs_reply_at(object, name), 0);
}
static inline double vs_reply_f64(vs_json object, const char *name) {
  return vs_json_f64(vs_reply_at(object, name), 0);
}
static inline bool vs_reply_bool(vs_json object, const char *name) {
  return vs_json_bool(vs_reply_at(object, name), false);
}
static inline vs_str vs_reply_str(vs_json object, const char *name) {
  return vs_json_str(vs_reply_at(object, name), VS_STR(""));
}

/* Absent or null. */
static inline bool vs_reply_is_unknown(vs_json json) {
  return vs_json_is_absent(json) || vs_json_kind(json) == VS_VALUE_NONE;
}

static inline bool vs_reply_knows(vs_json object, const char *name) {
  return !vs_reply_is_unknown(vs_reply_at(object, name));
}

/* Writes a value as it is. */
void vs_reply_put(vs_jsonw *w, vs_json value);

/* Appends the entry of a list of inventories within steps (check/facts.h): `reply` is that of the method "inventory", empty if it failed
 * with `why`. */
void vs_reply_put_range(vs_text *text, vs_str steps, vs_str reply, const vs_error *why);

#endif
