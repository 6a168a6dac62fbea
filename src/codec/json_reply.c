#include "codec/json_reply.h"

void vs_reply_put(vs_jsonw *w, vs_json value) {
  const bool is_object = vs_json_kind(value) == VS_JSON_OBJECT;
  switch (vs_json_kind(value)) {
    case VS_JSON_OBJECT:
    case VS_JSON_ARRAY:
      if (is_object) vs_jsonw_object_begin(w);
      else vs_jsonw_array_begin(w);
      for (size_t i = 0; i < vs_json_count(value); i++) {
        if (is_object) vs_jsonw_key(w, vs_json_name_at(value, i));
        vs_reply_put(w, vs_json_at(value, i));
      }
      if (is_object) vs_jsonw_object_end(w);
      else vs_jsonw_array_end(w);
      break;
    case VS_VALUE_BOOL: vs_jsonw_bool(w, vs_json_bool(value, false)); break;
    case VS_VALUE_INT:
      if (vs_json_i64(value, 0) < 0) vs_jsonw_i64(w, vs_json_i64(value, 0));
      else vs_jsonw_u64(w, vs_json_u64(value, 0));
      break;
    case VS_VALUE_UINT: vs_jsonw_u64(w, vs_json_u64(value, 0)); break;
    case VS_VALUE_REAL: vs_jsonw_f64(w, vs_json_f64(value, 0)); break;
    case VS_VALUE_NONE:
    case VS_JSON_ABSENT: vs_jsonw_null(w); break;
    default: vs_jsonw_str(w, vs_json_str(value, VS_STR(""))); break;
  }
}

void vs_reply_put_range(vs_text *text, vs_str steps, vs_str reply, const vs_error *why) {
  vs_jsonw w;
  vs_text_cstr(text, "{\"inventory\":");
  if (reply.size == 0) vs_text_cstr(text, "null");
  else vs_text_str(text, reply);
  vs_text_cstr(text, ",\"steps\":");
  vs_jsonw_begin(&w, text, 0);
  vs_jsonw_str(&w, steps);
  vs_jsonw_end(&w);
  vs_text_cstr(text, ",\"why\":");
  vs_jsonw_begin(&w, text, 0);
  if (reply.size == 0) vs_jsonw_str(&w, vs_str_from(why->text));
  else vs_jsonw_null(&w);
  vs_jsonw_end(&w);
  vs_text_byte(text, '}');
}
