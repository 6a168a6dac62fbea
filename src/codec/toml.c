#include "codec/toml.h"
#include "base/utf8.h"
#include "codec/toml_scalars.h"
#include "codec/toml_tree.h"

typedef struct reading {
  const vs_host *host;
  vs_str text;
  size_t at;
  vs_toml_tree tree;
  uint32_t table;     /* of the section that is read */
  uint32_t section;   /* its number, from 1 on; inline tables have numbers of their own */
  uint32_t sections;  /* how many numbers were given */
  vs_text key, value; /* decoded, of the key or string that is read */
  vs_error *error;
} reading;

/* ---- characters */

static char peek(const reading *r) { return r->at < r->text.size ? r->text.data[r->at] : 0; }

static bool is_at_end(const reading *r) { return r->at == r->text.size; }

static vs_str rest(const reading *r) { return (vs_str){r->text.data + r->at, r->text.size - r->at}; }

static bool skips(reading *r, const char *word) {
  const vs_str with = vs_str_from(word);
  if (!vs_str_starts(rest(r), with)) return false;
  r->at += with.size;
  return true;
}

static vs_status fail(const reading *r, vs_status status, size_t at, const char *what) {
  uint64_t line = 1;
  for (size_t i = 0; i < at; i++) line += r->text.data[i] == '\n';
  return vs_fail(r->error, status, at, "line %U: %s", line, what);
}

static vs_status wrong(const reading *r, const char *what) { return fail(r, VS_BAD_FORMAT, r->at, what); }

static bool is_control(char c) { return ((uint8_t)c < ' ' && c != '\t') || c == 0x7f; }

static void skip_blanks(reading *r) {
  while (peek(r) == ' ' || peek(r) == '\t') r->at++;
}

static vs_status skip_comment(reading *r) {
  if (peek(r) != '#') return VS_OK;
  while (!is_at_end(r) && peek(r) != '\n') {
    const bool ends = peek(r) == '\r' && r->at + 1 < r->text.size && r->text.data[r->at + 1] == '\n';
    if (ends) return VS_OK;
    if (is_control(peek(r))) return wrong(r, "a comment has a control character");
    r->at++;
  }
  return VS_OK;
}

static bool skips_line_end(reading *r) { return skips(r, "\n") || skips(r, "\r\n"); }

/* Blanks, comments and line ends. */
static vs_status skip_lines(reading *r) {
  do {
    skip_blanks(r);
    VS_TRY(skip_comment(r));
  } while (skips_line_end(r));
  return VS_OK;
}

/* ---- strings */

static vs_status take_code_point(reading *r, vs_text *out, size_t digits) {
  uint32_t point = 0;
  for (size_t i = 0; i < digits; i++, r->at++) {
    const char c = peek(r), lower = c >= 'A' && c <= 'F' ? (char)(c + 32) : c;
    const bool is_number = c >= '0' && c <= '9';
    if (!is_number && (lower < 'a' || lower > 'f'))
      return wrong(r, "an escape has too few hexadecimal digits");
    point = point << 4 | (uint32_t)(is_number ? c - '0' : lower - 'a' + 10);
  }
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return wrong(r, "an escape is no character");
  vs_text_code_point(out, point);
  return VS_OK;
}

/* Behind a backslash. */
static vs_status take_escape(reading *r, vs_text *out) {
  static const char names[] = "btnfr\"\\", means[] = "\b\t\n\f\r\"\\";
  const char c = peek(r);
  for (size_t i = 0; i + 1 < sizeof names; i++) {
    if (c != names[i]) continue;
    vs_text_byte(out, (uint8_t)means[i]);
    r->at++;
    return VS_OK;
  }
  if (skips(r, "u")) return take_code_point(r, out, 4);
  if (skips(r, "U")) return take_code_point(r, out, 8);
  return wrong(r, "a string has an unknown escape (in '...' a backslash means itself)");
}

/* A backslash at the end of a line: the blanks and line ends behind it are left out. False if it is no such one. */
static bool skips_folded_line(reading *r) {
  const size_t begin = r->at;
  skip_blanks(r);
  if (!skips_line_end(r)) {
    r->at = begin;
    return false;
  }
  do skip_blanks(r);
  while (skips_line_end(r));
  return true;
}

static vs_status take_character(reading *r, vs_text *out, bool is_long) {
  if (is_long && skips(r, "\r\n")) {
    vs_text_byte(out, '\n');
    return VS_OK;
  }
  if (is_at_end(r)) return wrong(r, "a string does not end");
  if (peek(r) == '\n' && !is_long) return wrong(r, "a string does not end on its line");
  if (is_control(peek(r)) && peek(r) != '\n') return wrong(r, "a string has a control character");
  vs_text_byte(out, (uint8_t)r->text.data[r->at++]);
  return VS_OK;
}

/* Three quotes end it; one or two before them belong to it. */
static bool takes_long_end(reading *r, vs_text *out, char quote) {
  size_t count = 0;
  while (count < 5 && r->at + count < r->text.size && r->text.data[r->at + count] == quote) count++;
  if (count < 3) return false;
  for (size_t i = 3; i < count; i++) vs_text_byte(out, (uint8_t)quote);
  r->at += count;
  return true;
}

static vs_status take_string(reading *r, vs_text *out) {
  const char quote = r->text.data[r->at];
  const bool is_long = skips(r, quote == '"' ? "\"\"\"" : "'''"), has_escapes = quote == '"';
  if (is_long) (void)skips_line_end(r);
  else r->at++;
  for (;;) {
    if (is_long ? takes_long_end(r, out, quote) : peek(r) == quote) break;
    if (!has_escapes || !skips(r, "\\")) VS_TRY(take_character(r, out, is_long));
    else if (!is_long || !skips_folded_line(r)) VS_TRY(take_escape(r, out));
  }
  if (!is_long) r->at++;
  return out->status;
}

/* ---- keys */

static bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* One part of a key, into r->key. */
static vs_status take_key(reading *r) {
  r->key.bytes.count = 0;
  if (peek(r) == '"' || peek(r) == '\'') {
    if (vs_str_starts(rest(r), VS_STR("\"\"\"")) || vs_str_starts(rest(r), VS_STR("'''")))
      return wrong(r, "a key is no string of several lines");
    return take_string(r, &r->key);
  }
  if (!is_bare(peek(r))) return wrong(r, "a key is expected");
  while (is_bare(peek(r))) vs_text_byte(&r->key, (uint8_t)r->text.data[r->at++]);
  return r->key.status;
}

/* Whether another part follows behind a dot; then it stands at it. */
static bool has_dot(reading *r) {
  skip_blanks(r);
  if (!skips(r, ".")) return false;
  skip_blanks(r);
  return true;
}

static vs_str key_of(const reading *r) { return vs_text_view(&r->key); }

static vs_status add(reading *r, uint32_t parent, vs_str key, vs_toml_kind kind, uint32_t *node) {
  const vs_status status = vs_toml_add(&r->tree, parent, key, kind, node);
  return status == VS_LIMIT ? fail(r, VS_LIMIT, r->at, "tables and arrays are nested too deep") : status;
}

static vs_toml_node *node_at(reading *r, uint32_t node) { return &r->tree.nodes.data[node]; }

/* The table that a dotted key leads to below `*table`, which is made if there is none. Keys of a section may add to tables that
 * keys of the same section, or only headers of tables in them, have made. */
static vs_status enter_by_key(reading *r, uint32_t *table) {
  const uint32_t found = vs_toml_find(&r->tree, *table, key_of(r));
  if (found == VS_TOML_NONE) {
    VS_TRY(add(r, *table, key_of(r), VS_TOML_TABLE, table));
  } else {
    const vs_toml_node *node = node_at(r, found);
    const bool is_foreign = node->section != 0 && node->section != r->section;
    if (node->kind != VS_TOML_TABLE || node->is_closed || node->is_explicit || is_foreign)
      return wrong(r, "a key adds to a value or table that is complete");
    *table = found;
  }
  node_at(r, *table)->section = r->section;
  return VS_OK;
}

/* The table that a part of a header leads to; of [[tables]] it is the last one. */
static vs_status enter_by_header(reading *r, uint32_t *table) {
  const uint32_t found = vs_toml_find(&r->tree, *table, key_of(r));
  if (found == VS_TOML_NONE) return add(r, *table, key_of(r), VS_TOML_TABLE, table);
  const vs_toml_node *node = node_at(r, found);
  if (node->kind == VS_TOML_TABLES) {
    *table = node->last;
    return VS_OK;
  }
  if (node->kind != VS_TOML_TABLE || node->is_closed)
    return wrong(r, "a header adds to a value that is complete");
  *table = found;
  return VS_OK;
}

/* ---- values */

static vs_status take_value(reading *r, uint32_t parent, vs_str key);

/* Key, equals sign and value, into a table. */
static vs_status take_pair(reading *r, uint32_t table) {
  VS_TRY(take_key(r));
  while (has_dot(r)) {
    VS_TRY(enter_by_key(r, &table));
    VS_TRY(take_key(r));
  }
  if (!skips(r, "=")) return wrong(r, "a key has no value: \"=\" is expected");
  skip_blanks(r);
  if (vs_toml_find(&r->tree, table, key_of(r)) != VS_TOML_NONE) return wrong(r, "a key is given twice");
  return take_value(r, table, key_of(r));
}

static vs_status take_items(reading *r, uint32_t array) {
  VS_TRY(skip_lines(r));
  while (!skips(r, "]")) {
    VS_TRY(take_value(r, array, VS_STR("")));
    VS_TRY(skip_lines(r));
    if (skips(r, ",")) VS_TRY(skip_lines(r));
    else if (peek(r) != ']') return wrong(r, "an array has no \",\" or \"]\" behind a value");
  }
  return VS_OK;
}

static vs_status take_members(reading *r, uint32_t table) {
  const uint32_t around = r->section;
  r->section = ++r->sections;
  skip_blanks(r);
  if (!skips(r, "}")) {
    do {
      skip_blanks(r);
      VS_TRY(take_pair(r, table));
      skip_blanks(r);
    } while (skips(r, ","));
    if (!skips(r, "}")) return wrong(r, "an inline table has no \",\" or \"}\" behind a value");
  }
  node_at(r, table)->is_closed = true;
  r->section = around;
  return VS_OK;
}

static vs_status take_scalar(reading *r, uint32_t parent, vs_str key) {
  static const vs_toml_kind kinds[] = {[VS_TOML_IS_BOOL] = VS_TOML_BOOL,
                                       [VS_TOML_IS_INTEGER] = VS_TOML_INTEGER,
                                       [VS_TOML_IS_REAL] = VS_TOML_REAL,
                                       [VS_TOML_IS_TIME] = VS_TOML_STRING};
  const vs_toml_scalar scalar = vs_toml_scalar_at(rest(r));
  uint32_t node;
  if (scalar.kind == VS_TOML_IS_NONE) return wrong(r, "a value is expected");
  if (scalar.kind == VS_TOML_IS_NOT_JSON) return wrong(r, "infinite numbers and nan are not accepted");
  if (scalar.kind == VS_TOML_IS_TOO_LARGE) return wrong(r, "an integer has more than 64 bits");
  VS_TRY(add(r, parent, key, kinds[scalar.kind], &node));
  node_at(r, node)->integer = scalar.integer;
  node_at(r, node)->real = scalar.real;
  const vs_str text = {r->text.data + r->at, scalar.size};
  r->at += scalar.size;
  return scalar.kind == VS_TOML_IS_TIME ? vs_toml_set_text(&r->tree, node, text) : VS_OK;
}

/* `key`: empty for an item of an array. Recursion ends at VS_TOML_DEPTH. */
static vs_status take_value(reading *r, uint32_t parent, vs_str key) {
  uint32_t node;
  if (peek(r) == '"' || peek(r) == '\'') {
    VS_TRY(add(r, parent, key, VS_TOML_STRING, &node));
    r->value.bytes.count = 0;
    VS_TRY(take_string(r, &r->value));
    return vs_toml_set_text(&r->tree, node, vs_text_view(&r->value));
  }
  if (skips(r, "[")) {
    VS_TRY(add(r, parent, key, VS_TOML_ARRAY, &node));
    return take_items(r, node);
  }
  if (skips(r, "{")) {
    VS_TRY(add(r, parent, key, VS_TOML_TABLE, &node));
    return take_members(r, node);
  }
  return take_scalar(r, parent, key);
}

/* ---- headers */

/* The table of the last part of [a.b]. */
static vs_status open_table(reading *r, uint32_t parent) {
  const uint32_t found = vs_toml_find(&r->tree, parent, key_of(r));
  r->table = found;
  if (found == VS_TOML_NONE) {
    VS_TRY(add(r, parent, key_of(r), VS_TOML_TABLE, &r->table));
  } else {
    const vs_toml_node *node = node_at(r, found);
    if (node->kind != VS_TOML_TABLE || node->is_explicit || node->is_closed || node->section != 0)
      return wrong(r, "a table is given twice");
  }
  node_at(r, r->table)->is_explicit = true;
  return VS_OK;
}

/* One more table of the last part of [[a.b]]. */
static vs_status open_tables(reading *r, uint32_t parent) {
  uint32_t tables = vs_toml_find(&r->tree, parent, key_of(r));
  if (tables == VS_TOML_NONE) VS_TRY(add(r, parent, key_of(r), VS_TOML_TABLES, &tables));
  else if (node_at(r, tables)->kind != VS_TOML_TABLES)
    return wrong(r, "an array of tables is something else before");
  VS_TRY(add(r, tables, VS_STR(""), VS_TOML_TABLE, &r->table));
  node_at(r, r->table)->is_explicit = true;
  return VS_OK;
}

static vs_status take_header(reading *r) {
  const bool are_many = skips(r, "[[");
  uint32_t table = VS_TOML_ROOT;
  if (!are_many) r->at++;
  r->section = ++r->sections;
  skip_blanks(r);
  VS_TRY(take_key(r));
  while (has_dot(r)) {
    VS_TRY(enter_by_header(r, &table));
    VS_TRY(take_key(r));
  }
  if (!skips(r, are_many ? "]]" : "]")) return wrong(r, "a header does not end");
  return are_many ? open_tables(r, table) : open_table(r, table);
}

/* ---- the document */

static vs_status take_line(reading *r) {
  VS_TRY(peek(r) == '[' ? take_header(r) : take_pair(r, r->table));
  skip_blanks(r);
  VS_TRY(skip_comment(r));
  return is_at_end(r) || skips_line_end(r) ? VS_OK : wrong(r, "the end of the line is expected");
}

/* All characters are well-formed, and none is an encoded surrogate. */
static vs_status check_characters(const reading *r) {
  size_t good = vs_utf8_valid(r->text);
  for (size_t i = 0; i + 1 < good; i++)
    if ((uint8_t)r->text.data[i] == 0xed && (uint8_t)r->text.data[i + 1] >= 0xa0) good = i;
  return good == r->text.size ? VS_OK : fail(r, VS_BAD_FORMAT, good, "the text is not UTF-8");
}

static vs_status read(reading *r) {
  VS_TRY(check_characters(r));
  VS_TRY(vs_toml_tree_init(&r->tree, r->host));
  for (;;) {
    VS_TRY(skip_lines(r));
    if (is_at_end(r)) return VS_OK;
    VS_TRY(take_line(r));
  }
}

static vs_status write(const reading *r, vs_text *json) {
  vs_text text;
  vs_jsonw w;
  vs_text_init(&text, r->host, NULL);
  vs_jsonw_begin(&w, &text, 0);
  vs_toml_put(&r->tree, &w);
  vs_jsonw_end(&w);
  const vs_status status = text.status;
  if (status == VS_OK) vs_text_str(json, vs_text_view(&text));
  vs_text_deinit(&text);
  return status == VS_OK ? json->status : status;
}

vs_status vs_toml_to_json(const vs_host *host, vs_str toml, vs_text *json, vs_error *error) {
  vs_error why = {.status = VS_OK, .offset = VS_NO_OFFSET};
  reading r = {
      .host = host, .text = toml, .section = 1, .sections = 1, .error = &why, .tree = {.host = host}};
  if (toml.size == 0) r.text = VS_STR(""); /* its address may be NULL, to which nothing may be added */
  vs_text_init(&r.key, host, NULL);
  vs_text_init(&r.value, host, NULL);
  vs_status status = read(&r);
  if (status == VS_OK) status = write(&r, json);
  vs_toml_tree_deinit(&r.tree);
  vs_text_deinit(&r.key);
  vs_text_deinit(&r.value);
  if (status == VS_OK) return VS_OK;
  if (why.status == VS_OK) vs_fail(&why, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  if (error != NULL) *error = why;
  return status;
}
