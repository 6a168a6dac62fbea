/* Writes JSON into a vs_text, with commas, indentation and escapes; failures are kept in the text.
 *
 *   vs_jsonw w;
 *   vs_jsonw_begin(&w, text, 0);
 *   vs_jsonw_object_begin(&w);
 *   vs_jsonw_member_u64(&w, "bytes", 512);
 *   vs_jsonw_key(&w, VS_STR("blocks"));
 *   vs_jsonw_array_begin(&w);
 *   ...
 *   vs_jsonw_array_end(&w);
 *   vs_jsonw_object_end(&w);
 *   vs_jsonw_end(&w);
 *
 * Strings: well-formed UTF-8 is written unchanged. An encoded surrogate becomes its \u escape, and any other invalid
 * byte the escape \udcXX, Python's form of such bytes (PEP 383), so that json.loads gives the same str as
 * pickle.load. Numbers that are not finite become null, because JSON has none and browsers refuse them.
 *
 * Misuse (a value without key, an end that does not match, nesting beyond VS_JSONW_DEPTH) traps in the hostile
 * build. */
#ifndef VS_CODEC_JSON_WRITER_H
#define VS_CODEC_JSON_WRITER_H

#include "base/text.h"

enum { VS_JSONW_DEPTH = 64 };

typedef struct vs_jsonw {
  vs_text *text;
  uint32_t indent;  /* spaces for each level, 0: all on one line */
  uint32_t depth;   /* open containers, at most VS_JSONW_DEPTH */
  uint64_t objects; /* bit i: the container opened at depth i is an object */
  bool has_items;   /* the innermost container, or the text itself, has an item */
  bool has_key;     /* a key was written, and its value was not */
} vs_jsonw;

void vs_jsonw_begin(vs_jsonw *w, vs_text *text, uint32_t indent);
/* Ends the text, which is one value with everything closed. With indentation a line feed follows it. */
void vs_jsonw_end(vs_jsonw *w);

void vs_jsonw_object_begin(vs_jsonw *w);
void vs_jsonw_object_end(vs_jsonw *w);
void vs_jsonw_array_begin(vs_jsonw *w);
void vs_jsonw_array_end(vs_jsonw *w);
void vs_jsonw_key(vs_jsonw *w, vs_str key);

void vs_jsonw_u64(vs_jsonw *w, uint64_t value);
void vs_jsonw_i64(vs_jsonw *w, int64_t value);
void vs_jsonw_f64(vs_jsonw *w, double value);
void vs_jsonw_bool(vs_jsonw *w, bool value);
void vs_jsonw_null(vs_jsonw *w);
void vs_jsonw_str(vs_jsonw *w, vs_str value);

/* A key and its value. */
static inline void vs_jsonw_member_u64(vs_jsonw *w, const char *key, uint64_t value) {
  vs_jsonw_key(w, vs_str_from(key));
  vs_jsonw_u64(w, value);
}
static inline void vs_jsonw_member_i64(vs_jsonw *w, const char *key, int64_t value) {
  vs_jsonw_key(w, vs_str_from(key));
  vs_jsonw_i64(w, value);
}
static inline void vs_jsonw_member_f64(vs_jsonw *w, const char *key, double value) {
  vs_jsonw_key(w, vs_str_from(key));
  vs_jsonw_f64(w, value);
}
static inline void vs_jsonw_member_bool(vs_jsonw *w, const char *key, bool value) {
  vs_jsonw_key(w, vs_str_from(key));
  vs_jsonw_bool(w, value);
}
static inline void vs_jsonw_member_null(vs_jsonw *w, const char *key) {
  vs_jsonw_key(w, vs_str_from(key));
  vs_jsonw_null(w);
}
static inline void vs_jsonw_member_str(vs_jsonw *w, const char *key, vs_str value) {
  vs_jsonw_key(w, vs_str_from(key));
  vs_jsonw_str(w, value);
}

#endif
