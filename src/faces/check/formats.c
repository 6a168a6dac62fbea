#include "faces/check/formats.h"
#include "base/hash.h"

static bool has_verdict(vs_json json, const char *word) {
  return vs_str_equal(vs_reply_str(json, "verdict"), vs_str_from(word));
}

/* "max-allocated", of a named budget "optimizer: max". */
static void put_name(vs_text *text, vs_json check, void (*put)(vs_text *text, vs_str part)) {
  if (vs_reply_knows(check, "budget")) {
    put(text, vs_reply_str(check, "budget"));
    put(text, VS_STR(": "));
  }
  put(text, vs_reply_str(check, "key"));
}

static vs_str below(vs_str path, vs_str folder) {
  if (folder.size == 0 || !vs_str_starts(path, folder)) return path;
  return (vs_str){path.data + folder.size, path.size - folder.size};
}

bool vs_check_are_same_places(vs_json check, vs_json other) {
  const vs_json a = vs_reply_at(check, "places"), b = vs_reply_at(other, "places");
  if (vs_json_count(a) != vs_json_count(b)) return false;
  for (size_t i = 0; i < vs_json_count(a); i++) {
    const vs_json p = vs_json_at(a, i), q = vs_json_at(b, i);
    const bool is_same = vs_str_equal(vs_reply_str(p, "owner"), vs_reply_str(q, "owner")) &&
                         vs_reply_u64(p, "bytes") == vs_reply_u64(q, "bytes");
    if (!is_same) return false;
  }
  return true;
}

/* ---- JUnit */

/* U+FFFE or U+FFFF. */
static bool is_no_character(vs_str part, size_t at) {
  return part.size - at >= 3 && memcmp(part.data + at, "\xef\xbf", 2) == 0 &&
         (uint8_t)part.data[at + 2] >= 0xbe;
}

/* XML 1.0 has no other control characters, and no way to write them. */
static void put_xml(vs_text *text, vs_str part) {
  for (size_t i = 0; i < part.size; i++) {
    const uint8_t c = (uint8_t)part.data[i];
    const bool is_none = is_no_character(part, i);
    if (is_none) i += 2;
    if (c == '&') vs_text_cstr(text, "&amp;");
    else if (c == '<') vs_text_cstr(text, "&lt;");
    else if (c == '>') vs_text_cstr(text, "&gt;");
    else if (c == '"') vs_text_cstr(text, "&quot;");
    else vs_text_byte(text, is_none || (c < ' ' && c != '\n' && c != '\t') ? '?' : c);
  }
}

static void put_xml_place(vs_text *text, vs_json place) {
  put_xml(text, vs_reply_str(place, "owner"));
  vs_text_cstr(text, ": ");
  vs_text_count(text, vs_reply_u64(place, "bytes"));
  vs_text_cstr(text, " bytes\n");
}

static void put_case(vs_text *text, vs_json reply, vs_json check) {
  const vs_json places = vs_reply_at(check, "places");
  vs_text_cstr(text, "    <testcase classname=\"");
  put_xml(text, vs_reply_str(reply, "name"));
  vs_text_cstr(text, "\" name=\"");
  put_name(text, check, put_xml);
  if (has_verdict(check, "holds")) {
    vs_text_cstr(text, "\"/>\n");
    return;
  }
  const char *element = has_verdict(check, "broken") ? "failure" : "error";
  vs_text_format(text, "\">\n      <%s type=\"%S\" message=\"", element, vs_reply_str(check, "verdict"));
  put_xml(text, vs_reply_str(check, "sentence"));
  vs_text_cstr(text, "\">");
  for (size_t i = 0; i < vs_json_count(places); i++) put_xml_place(text, vs_json_at(places, i));
  vs_text_format(text, "</%s>\n    </testcase>\n", element);
}

void vs_check_put_junit(vs_text *text, vs_json reply) {
  const vs_json checks = vs_reply_at(reply, "checks");
  vs_text_cstr(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
  vs_text_format(
      text,
      "  <testsuite name=\"vramscope check\" tests=\"%U\" failures=\"%U\" errors=\"%U\" skipped=\"0\">\n",
      (uint64_t)vs_json_count(checks), vs_reply_u64(reply, "broken"), vs_reply_u64(reply, "unknown"));
  for (size_t i = 0; i < vs_json_count(checks); i++) put_case(text, reply, vs_json_at(checks, i));
  vs_text_cstr(text, "  </testsuite>\n</testsuites>\n");
}

/* ---- GitLab */

static void put_plain(vs_text *text, vs_str part) { vs_text_str(text, part); }

/* The same for the same check of the same file, whatever the sizes are. */
static uint64_t fingerprint(vs_text *scratch, vs_json check, vs_str path) {
  scratch->bytes.count = 0;
  put_name(scratch, check, put_plain);
  vs_text_byte(scratch, 0);
  vs_text_str(scratch, path);
  return vs_hash_bytes(scratch->bytes.data, scratch->bytes.count);
}

static void put_issue(vs_jsonw *w, vs_json check, vs_str folder) {
  const vs_json place = vs_json_at(vs_reply_at(check, "places"), 0);
  const vs_str path = below(vs_reply_str(place, "path"), folder);
  vs_text scratch;
  vs_text_init(&scratch, w->text->host, NULL);
  vs_jsonw_object_begin(w);
  put_name(&scratch, check, put_plain);
  vs_text_cstr(&scratch, ": ");
  vs_text_str(&scratch, vs_reply_str(check, "sentence"));
  vs_jsonw_member_str(w, "description", vs_text_view(&scratch));
  vs_jsonw_member_str(w, "check_name", vs_reply_str(check, "key"));
  const uint64_t hash = fingerprint(&scratch, check, path);
  scratch.bytes.count = 0;
  vs_text_hex(&scratch, hash);
  vs_jsonw_member_str(w, "fingerprint", vs_text_view(&scratch));
  vs_jsonw_member_str(w, "severity", has_verdict(check, "broken") ? VS_STR("major") : VS_STR("minor"));
  vs_jsonw_key(w, VS_STR("location"));
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "path", path.size == 0 ? VS_STR("vramscope.toml") : path);
  vs_jsonw_key(w, VS_STR("lines"));
  vs_jsonw_object_begin(w);
  const int64_t line = vs_json_i64(vs_reply_at(place, "line"), 1);
  vs_jsonw_member_i64(w, "begin", line < 1 ? 1 : line);
  vs_jsonw_object_end(w);
  vs_jsonw_object_end(w);
  vs_jsonw_object_end(w);
  if (w->text->status == VS_OK) w->text->status = scratch.status;
  vs_text_deinit(&scratch);
}

void vs_check_put_code_quality(vs_text *text, vs_json reply, vs_str folder) {
  const vs_json checks = vs_reply_at(reply, "checks");
  vs_jsonw w;
  vs_jsonw_begin(&w, text, 2);
  vs_jsonw_array_begin(&w);
  for (size_t i = 0; i < vs_json_count(checks); i++)
    if (!has_verdict(vs_json_at(checks, i), "holds")) put_issue(&w, vs_json_at(checks, i), folder);
  vs_jsonw_array_end(&w);
  vs_jsonw_end(&w);
}

/* ---- GitHub */

static void put_escaped(vs_text *text, vs_str part, bool is_property) {
  for (size_t i = 0; i < part.size; i++) {
    const char c = part.data[i];
    if (c == '%') vs_text_cstr(text, "%25");
    else if (c == '\r') vs_text_cstr(text, "%0D");
    else if (c == '\n') vs_text_cstr(text, "%0A");
    else if (is_property && c == ':') vs_text_cstr(text, "%3A");
    else if (is_property && c == ',') vs_text_cstr(text, "%2C");
    else vs_text_byte(text, (uint8_t)c);
  }
}

static void put_data(vs_text *text, vs_str part) { put_escaped(text, part, false); }
static void put_property(vs_text *text, vs_str part) { put_escaped(text, part, true); }

/* `place`: absent if the check has none. */
static void put_annotation(vs_text *text, vs_json check, vs_json place, vs_str folder) {
  const vs_str path = below(vs_reply_str(place, "path"), folder);
  vs_text_cstr(text, has_verdict(check, "broken") ? "::error " : "::warning ");
  if (path.size != 0) {
    vs_text_cstr(text, "file=");
    put_property(text, path);
    if (vs_reply_knows(place, "line")) vs_text_format(text, ",line=%D", vs_reply_i64(place, "line"));
    vs_text_byte(text, ',');
  }
  vs_text_cstr(text, "title=GPU memory%3A ");
  put_name(text, check, put_property);
  vs_text_cstr(text, "::");
  put_data(text, vs_reply_str(check, "sentence"));
  if (!vs_json_is_absent(place)) {
    vs_text_cstr(text, "; ");
    put_data(text, vs_reply_str(place, "owner"));
    vs_text_cstr(text, ": ");
    vs_text_bytes(text, vs_reply_u64(place, "bytes"), VS_UNIT_BINARY);
    if (vs_str_equal(vs_reply_str(check, "places_are"), VS_STR("more"))) vs_text_cstr(text, " more");
  }
  vs_text_byte(text, '\n');
}

static bool is_user_place(vs_json place, vs_str folder) {
  const vs_str path = vs_reply_str(place, "path");
  return path.size != 0 && (folder.size == 0 || vs_str_starts(path, folder) || path.data[0] != '/');
}

void vs_check_put_annotations(vs_text *text, vs_json reply, vs_str folder) {
  const vs_json checks = vs_reply_at(reply, "checks");
  vs_json before = {.value.kind = VS_JSON_ABSENT}; /* whose owners have been named */
  for (size_t i = 0; i < vs_json_count(checks); i++) {
    const vs_json check = vs_json_at(checks, i), places = vs_reply_at(check, "places");
    size_t put = 0;
    if (has_verdict(check, "holds")) continue;
    if (vs_json_count(places) != 0 && vs_check_are_same_places(check, before)) continue;
    before = check;
    for (size_t p = 0; p < vs_json_count(places); p++) {
      if (!is_user_place(vs_json_at(places, p), folder)) continue;
      put_annotation(text, check, vs_json_at(places, p), folder);
      put++;
    }
    if (put == 0) put_annotation(text, check, vs_json_at(places, vs_json_count(places)), folder);
  }
}
