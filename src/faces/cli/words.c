#include "faces/cli/words.h"
#include "base/check.h"
#include "faces/server/server.h"

void vs_words_bytes(const vs_screen *screen, vs_text *text, vs_json bytes) {
  if (vs_reply_is_unknown(bytes)) vs_text_cstr(text, "-");
  else vs_text_bytes(text, vs_json_u64(bytes, 0), screen->unit);
}

void vs_words_label(vs_text *text, vs_json row) { vs_screen_safe(text, vs_reply_str(row, "label")); }

void vs_words_label_cell(vs_table *table, vs_json row) {
  vs_words_label(vs_table_cell(table), row);
  vs_screen_safe(vs_table_wide(table), vs_reply_str(row, "long_label"));
}

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

void vs_words_file(vs_screen *screen, vs_str name, vs_str rest) {
  enum { NAME_LEAST = 24 };
  vs_text line, safe;
  vs_scratch_init(&line, screen);
  vs_scratch_init(&safe, screen);
  vs_screen_safe(&safe, vs_client_shown_name(name));
  const size_t taken = vs_screen_width(rest);
  vs_screen_fit_end(&line, vs_text_view(&safe),
                    taken + NAME_LEAST < screen->columns ? screen->columns - taken : NAME_LEAST);
  vs_text_str(&line, rest);
  vs_screen_paragraphs(screen, 0, vs_text_view(&line));
  vs_text_deinit(&safe);
  vs_text_deinit(&line);
}

void vs_words_title(vs_cli *cli, vs_json reply, vs_str where, vs_str what) {
  VS_ASSERT(cli->line->arguments[0] != NULL);
  vs_text title;
  vs_scratch_init(&title, &cli->screen);
  const vs_json device = vs_reply_at(reply, "device");
  vs_text_cstr(&title, ", ");
  if (vs_json_i64(device, 0) < 0) vs_text_cstr(&title, "pinned host memory, ");
  else if (!vs_reply_is_unknown(device)) vs_text_format(&title, "GPU %D, ", vs_json_i64(device, 0));
  vs_text_str(&title, where);
  vs_words_file(&cli->screen, vs_str_from(cli->line->arguments[0]), vs_text_view(&title));
  vs_screen_paragraphs(&cli->screen, 0, what);
  vs_text_byte(&cli->screen.text, '\n');
  vs_text_deinit(&title);
}

void vs_words_live_title(vs_cli *cli, vs_json reply, const char *usual) {
  vs_text where, what;
  vs_scratch_init(&where, &cli->screen);
  vs_scratch_init(&what, &cli->screen);
  vs_words_moment(cli, &where, usual, vs_json_i64(vs_reply_at(vs_reply_at(reply, "at"), "event"), -1));
  vs_text_bytes(&what, vs_reply_u64(reply, "bytes"), cli->screen.unit);
  vs_text_cstr(&what, " requested in ");
  vs_words_count(&what, vs_reply_u64(reply, "count"), "block");
  if (vs_cli_has(cli, VS_OPTION_FILTER)) vs_text_cstr(&what, " that match the filter");
  vs_words_title(cli, reply, vs_text_view(&where), vs_text_view(&what));
  vs_text_deinit(&what);
  vs_text_deinit(&where);
}

const char *vs_words_at(const vs_cli *cli, const char *usual) {
  const char *at = cli->line->values[VS_OPTION_AT];
  return at == NULL ? usual : at;
}

void vs_words_moment(const vs_cli *cli, vs_text *text, const char *usual, int64_t event) {
  const vs_str asked = vs_str_from(vs_words_at(cli, usual));
  const bool is_end = vs_str_equal(asked, VS_STR("end")), is_start = vs_str_equal(asked, VS_STR("start"));
  uint64_t number;
  if (is_end || is_start) {
    vs_text_format(text, "at the %s", is_end ? "end" : "start");
    return;
  }
  if (vs_parse_u64(asked, &number)) {
    vs_text_cstr(text, "at event ");
    vs_text_count(text, number);
    return;
  }
  if (vs_str_equal(asked, VS_STR("peak"))) vs_text_cstr(text, "at the peak");
  else if (vs_str_equal(asked, VS_STR("oom"))) vs_text_cstr(text, "at the first out-of-memory error");
  else vs_text_format(text, "at %S", asked);
  if (event < 0) return;
  vs_text_cstr(text, " (event ");
  vs_text_count(text, (uint64_t)event);
  vs_text_byte(text, ')');
}

uint64_t vs_words_top(const vs_cli *cli, uint64_t usual) {
  const char *top = cli->line->values[VS_OPTION_TOP];
  uint64_t number = usual;
  if (top != NULL) (void)vs_parse_u64(vs_str_from(top), &number);
  return number == 0 ? UINT64_MAX : number;
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

static const char next_label[] = "Next: ", next_margin[] = "      ";

static void put_next(vs_cli *cli, const char *label, vs_str line, const char *purpose) {
  if (vs_cli_has(cli, VS_OPTION_QUIET)) return;
  vs_screen_styled(&cli->screen, label == next_label ? VS_STYLE_TITLE : VS_STYLE_PLAIN, vs_str_from(label));
  vs_text_str(&cli->screen.text, line);
  const size_t width = strlen(label) + vs_screen_width(line);
  if (width + strlen("  # ") + strlen(purpose) <= cli->screen.columns) {
    vs_screen_style(&cli->screen, VS_STYLE_FAINT);
    vs_text_format(&cli->screen.text, "  # %s", purpose);
    vs_screen_style(&cli->screen, VS_STYLE_PLAIN);
  }
  vs_text_byte(&cli->screen.text, '\n');
}

void vs_words_next_line(vs_cli *cli, vs_str line, const char *purpose) {
  put_next(cli, next_label, line, purpose);
}

void vs_words_next_below(vs_cli *cli, vs_str line, const char *purpose) {
  put_next(cli, next_margin, line, purpose);
}

void vs_words_next_view(vs_cli *cli) {
  const char *name = cli->line->arguments[0];
  VS_ASSERT(name != NULL);
  if (vs_server_version() == NULL || vs_str_equal(vs_str_from(name), VS_STR("-"))) return;
  vs_text line;
  vs_scratch_init(&line, &cli->screen);
  vs_text_cstr(&line, "vramscope view ");
  vs_words_shell(&line, vs_str_from(name));
  put_next(cli, next_margin, vs_text_view(&line), "explore it in the browser");
  vs_text_deinit(&line);
}

void vs_words_next(vs_cli *cli, const vs_next *next) {
  VS_ASSERT(cli->line->arguments[0] != NULL && (next->option == NULL || next->value != NULL));
  const char *device = next->device != NULL ? next->device : cli->line->values[VS_OPTION_DEVICE];
  vs_text line;
  vs_scratch_init(&line, &cli->screen);
  vs_text_format(&line, "vramscope %s", next->command);
  if (device != NULL) vs_text_format(&line, " --device %s", device);
  if (next->option != NULL) vs_text_format(&line, " --%s %s", next->option, next->value);
  vs_text_byte(&line, ' ');
  vs_words_shell(&line, vs_str_from(cli->line->arguments[0]));
  vs_words_next_line(cli, vs_text_view(&line), next->purpose);
  vs_text_deinit(&line);
}

/* ---- the engine's lines ------------------------------------------------------------------------------------------------- */

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
    vs_words_label_cell(&table, row);
    if (shows_blocks) vs_text_str(vs_table_cell(&table), vs_reply_str(row, "blocks"));
  }
  vs_table_put(&table);
}

void vs_words_lines(vs_cli *cli, vs_json lines) {
  for (size_t i = 0; i < vs_json_count(lines); i++) {
    const vs_json line = vs_json_at(lines, i);
    char label[32];
    if (vs_reply_bool(line, "detail")) continue;
    vs_format(label, sizeof label, "%s%S", vs_reply_u64(line, "depth") == 0 ? "" : "  ",
              vs_reply_str(line, "label"));
    vs_words_labelled(&cli->screen, label, style_of(line), vs_reply_str(line, "text"));
    put_rows(&cli->screen, vs_reply_at(line, "rows"));
  }
}
