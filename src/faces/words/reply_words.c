#include "faces/words/reply_words.h"

void vs_words_bytes(const vs_screen *screen, vs_text *text, vs_json bytes) {
  if (vs_reply_is_unknown(bytes)) vs_text_cstr(text, "-");
  else vs_text_bytes(text, vs_json_u64(bytes, 0), screen->unit);
}

void vs_words_label(vs_text *text, vs_json row) { vs_screen_safe(text, vs_reply_str(row, "label")); }

static void label_cell(vs_table *table, const char *indent, vs_json row) {
  vs_text *text = vs_table_cell(table);
  vs_text_cstr(text, indent);
  vs_words_label(text, row);
  text = vs_table_wide(table);
  vs_text_cstr(text, indent);
  vs_screen_safe(text, vs_reply_str(row, "long_label"));
}

void vs_words_label_cell(vs_table *table, vs_json row) { label_cell(table, "", row); }

void vs_words_frame(vs_text *text, vs_json frame, bool whole_path) {
  const vs_str place = vs_reply_str(frame, "place"), name = vs_reply_str(frame, "name");
  const bool is_backward = vs_str_equal(vs_reply_str(frame, "kind"), VS_STR("backward"));
  const vs_json line = vs_reply_at(frame, "line");
  if (whole_path && !is_backward && !vs_reply_is_unknown(line)) {
    vs_screen_safe(text, vs_reply_str(frame, "file"));
    vs_text_format(text, ":%D", vs_json_i64(line, 0));
  } else {
    vs_screen_safe(text, place);
  }
  if (place.size != 0 && name.size != 0) vs_text_cstr(text, is_backward ? ", " : " ");
  vs_screen_safe(text, name);
}

void vs_words_frame_cell(vs_table *table, const char *indent, vs_json frame) {
  for (int whole = 0; whole <= 1; whole++) {
    vs_text *text = whole ? vs_table_wide(table) : vs_table_cell(table);
    vs_text_cstr(text, indent);
    vs_words_frame(text, frame, whole != 0);
  }
}

void vs_words_time_since(vs_text *text, vs_json time_us, vs_json first_time_us) {
  if (vs_reply_is_unknown(time_us) || vs_reply_is_unknown(first_time_us)) return;
  const int64_t time = vs_json_i64(time_us, 0), first = vs_json_i64(first_time_us, 0);
  if (time >= first) vs_text_duration(text, (uint64_t)time - (uint64_t)first);
}

static bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (uint8_t)c >= 0x80 ||
         vs_str_contains(VS_STR("_-./,:=+@%"), (vs_str){&c, 1});
}

void vs_words_shell(vs_text *text, vs_str word) {
  bool plain = word.size != 0;
  for (size_t i = 0; i < word.size; i++) plain = plain && is_plain(word.data[i]);
  if (plain) {
    vs_screen_safe(text, word);
    return;
  }
  vs_text_byte(text, '\'');
  for (size_t i = 0; i < word.size;) {
    size_t size = 0;
    while (i + size < word.size && word.data[i + size] != '\'') size++;
    vs_screen_safe(text, (vs_str){word.data + i, size});
    i += size;
    if (i < word.size) vs_text_cstr(text, "'\\''"), i++;
  }
  vs_text_byte(text, '\'');
}

void vs_words_part(const vs_screen *screen, vs_text *text, vs_json part) {
  const uint64_t count = vs_reply_u64(part, "count");
  const bool has_each = vs_reply_knows(part, "each_bytes");
  if (count == 0) {
    vs_text_byte(text, '-');
  } else if (count > 1 && has_each) {
    vs_text_count(text, count);
    vs_text_cstr(text, screen->has_unicode ? " × " : " x ");
    vs_text_bytes(text, vs_reply_u64(part, "each_bytes"), screen->unit);
  } else {
    vs_text_bytes(text, vs_reply_u64(part, "bytes"), screen->unit);
    if (count > 1) vs_text_format(text, " in %U", count);
  }
}

/* ---- the engine's lines */

enum { LABEL = 15 };

void vs_words_labelled(vs_screen *screen, const char *label, vs_style style, vs_str text) {
  vs_text safe;
  vs_scratch_init(&safe, screen);
  vs_screen_safe(&safe, text);
  vs_screen_labelled(screen, label, LABEL, style, vs_text_view(&safe));
  if (screen->text.status == VS_OK) screen->text.status = safe.status;
  vs_text_deinit(&safe);
}

void vs_words_paragraphs(vs_screen *screen, vs_str text) {
  vs_text safe;
  vs_scratch_init(&safe, screen);
  vs_screen_safe(&safe, text);
  vs_screen_paragraphs(screen, 0, vs_text_view(&safe));
  if (screen->text.status == VS_OK) screen->text.status = safe.status;
  vs_text_deinit(&safe);
}

static vs_style style_of(vs_json line) {
  const vs_str tone = vs_reply_str(line, "tone");
  return vs_str_equal(tone, VS_STR("bad"))    ? VS_STYLE_BAD
         : vs_str_equal(tone, VS_STR("good")) ? VS_STYLE_GOOD
                                              : VS_STYLE_TITLE;
}

static void put_rows(vs_screen *screen, vs_json rows) {
  static const vs_column columns[] = {{NULL, VS_COLUMN_RIGHT},
                                      {NULL, VS_COLUMN_RIGHT},
                                      {NULL, VS_COLUMN_BAR},
                                      {NULL, VS_COLUMN_NAME},
                                      {NULL, VS_COLUMN_LEFT}};
  vs_table table;
  if (vs_json_count(rows) == 0) return;
  const bool shows_blocks = !vs_reply_is_unknown(vs_reply_at(vs_json_at(rows, 0), "blocks"));
  vs_table_begin(&table, screen, 4, columns, shows_blocks ? 5 : 4);
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    vs_text_str(vs_table_cell(&table), vs_reply_str(row, "size"));
    vs_text_str(vs_table_cell(&table), vs_reply_str(row, "percent"));
    vs_table_bar(&table, vs_reply_f64(row, "share"));
    label_cell(&table, vs_reply_u64(row, "depth") == 0 ? "" : "  ", row);
    if (shows_blocks) vs_text_str(vs_table_cell(&table), vs_reply_str(row, "blocks"));
  }
  vs_table_put(&table);
}

void vs_words_lines(vs_screen *screen, vs_json lines) {
  for (size_t i = 0; i < vs_json_count(lines); i++) {
    const vs_json line = vs_json_at(lines, i);
    char label[32];
    if (vs_reply_bool(line, "detail")) continue;
    vs_format(label, sizeof label, "%s%S", vs_reply_u64(line, "depth") == 0 ? "" : "  ",
              vs_reply_str(line, "label"));
    vs_words_labelled(screen, label, style_of(line), vs_reply_str(line, "text"));
    put_rows(screen, vs_reply_at(line, "rows"));
  }
}

/* ---- changes that were applied from outside */

static void put_outcome(vs_screen *screen, vs_json change, vs_json outcome) {
  const vs_json applied = vs_reply_at(outcome, "applied");
  const bool is_known = vs_json_kind(applied) == VS_VALUE_BOOL, is_applied = vs_json_bool(applied, false);
  const uint64_t processes = vs_reply_u64(outcome, "processes");
  vs_text line;
  vs_scratch_init(&line, screen);
  vs_text_str(&line, vs_reply_str(change, "title"));
  vs_text_cstr(&line, ": ");
  vs_text_str(&line, vs_reply_str(outcome, "text"));
  if (processes > 1) vs_text_format(&line, " (%U processes)", processes);
  vs_words_labelled(screen,
                    is_applied ? "Changed"
                    : is_known ? "Not changed"
                               : "Changed?",
                    is_applied ? VS_STYLE_TITLE : VS_STYLE_BAD, vs_text_view(&line));
  if (screen->text.status == VS_OK) screen->text.status = line.status;
  vs_text_deinit(&line);
}

void vs_words_changes(vs_screen *screen, vs_json changes) {
  for (size_t i = 0; i < vs_json_count(changes); i++) {
    const vs_json change = vs_json_at(changes, i), outcomes = vs_reply_at(change, "outcomes");
    for (size_t k = 0; k < vs_json_count(outcomes); k++) put_outcome(screen, change, vs_json_at(outcomes, k));
  }
}
