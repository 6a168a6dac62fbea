#include "faces/terminal/screen.h"
#include "base/glyph.h"
#include "base/utf8.h"

void vs_screen_safe(vs_text *text, vs_str s) {
  char piece[VS_GLYPH_PIECE];
  for (size_t at = 0; at < s.size;) {
    const size_t size = vs_glyph_safe_piece(piece, s, &at);
    vs_text_put(text, piece, size);
  }
}

/* ---- widths. The text is safe, so it is valid UTF-8; a byte that is not counts as one column. */

static size_t step(vs_str s, size_t at, size_t *columns) {
  const size_t length = vs_utf8_length((vs_str){s.data + at, s.size - at});
  *columns = length == 0 ? 1 : vs_glyph_columns(vs_glyph_decode(s.data + at, length));
  return length == 0 ? 1 : length;
}

size_t vs_screen_width(vs_str s) {
  size_t width = 0, columns;
  for (size_t at = 0; at < s.size; width += columns) at += step(s, at, &columns);
  return width;
}

static const vs_str dots = {"...", 3};

void vs_screen_fit_end(vs_text *text, vs_str s, size_t columns) {
  size_t width = vs_screen_width(s), at = 0, first;
  if (width > columns) {
    if (columns >= dots.size) vs_text_str(text, dots);
    const size_t room = columns >= dots.size ? columns - dots.size : columns;
    for (; width > room; width -= first) at += step(s, at, &first);
  }
  vs_text_put(text, s.data + at, s.size - at);
}

void vs_screen_fit_start(vs_text *text, vs_str s, size_t columns) {
  if (vs_screen_width(s) <= columns) {
    vs_text_str(text, s);
    return;
  }
  const size_t room = columns >= dots.size ? columns - dots.size : columns;
  size_t at = 0, width = 0, next;
  for (size_t length = step(s, at, &next); width + next <= room; length = step(s, at, &next)) {
    at += length;
    width += next;
  }
  vs_text_put(text, s.data, at);
  if (columns >= dots.size) vs_text_str(text, dots);
}

void vs_screen_spaces(vs_text *text, size_t count) {
  for (size_t i = 0; i < count; i++) vs_text_byte(text, ' ');
}

/* ---- styles: bold, and three of the colours that every terminal has */

void vs_screen_style(vs_screen *screen, vs_style style) {
  static const char *const codes[] = {
      [VS_STYLE_PLAIN] = "\x1b[0m", [VS_STYLE_TITLE] = "\x1b[1m",  [VS_STYLE_FAINT] = "\x1b[2m",
      [VS_STYLE_GOOD] = "\x1b[32m", [VS_STYLE_BAD] = "\x1b[1;31m", [VS_STYLE_BAR] = "\x1b[36m",
  };
  if (screen->has_colour) vs_text_cstr(&screen->text, codes[style]);
}

void vs_screen_styled(vs_screen *screen, vs_style style, vs_str safe) {
  if (style != VS_STYLE_PLAIN) vs_screen_style(screen, style);
  vs_text_str(&screen->text, safe);
  if (style != VS_STYLE_PLAIN) vs_screen_style(screen, VS_STYLE_PLAIN);
}

size_t vs_screen_bar(vs_screen *screen, double share, size_t columns) {
  if (!(share > 0) || columns == 0) return 0;
  if (share > 1) share = 1;
  size_t eighths = (size_t)(share * 8 * (double)columns + 0.5);
  if (eighths == 0) eighths = 1;
  size_t whole = eighths / 8, drawn = whole;
  vs_screen_style(screen, VS_STYLE_BAR);
  if (screen->has_unicode) {
    for (size_t i = 0; i < whole; i++) vs_text_code_point(&screen->text, 0x2588);
    if (eighths % 8 != 0) vs_text_code_point(&screen->text, (uint32_t)(0x2590 - eighths % 8));
    drawn += eighths % 8 != 0;
  } else {
    drawn = whole = eighths < 4 ? 1 : (eighths + 4) / 8;
    for (size_t i = 0; i < whole; i++) vs_text_byte(&screen->text, '#');
  }
  vs_screen_style(screen, VS_STYLE_PLAIN);
  return drawn;
}

/* ---- paragraphs */

static bool is_unit(vs_str word) {
  static const char *const units[] = {"B",  "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "kB", "MB", "GB",
                                      "TB", "PB",  "EB",  "us",  "ms",  "s",   "min", "h",  "d",  "%"};
  while (word.size != 0 && vs_str_contains(VS_STR(".,;:)"), (vs_str){word.data + word.size - 1, 1}))
    word.size--;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (vs_str_equal(word, vs_str_from(units[i]))) return true;
  return false;
}

static size_t end_of_word(vs_str text, size_t at) {
  while (at < text.size && text.data[at] != ' ') at++;
  return at;
}

/* The end of the next piece that is not broken: a word, or a number with its unit. */
static size_t end_of_piece(vs_str text, size_t at) {
  const size_t end = end_of_word(text, at);
  const bool is_number = end > at && text.data[end - 1] >= '0' && text.data[end - 1] <= '9';
  if (!is_number || end == text.size) return end;
  const size_t next = end_of_word(text, end + 1);
  return is_unit((vs_str){text.data + end + 1, next - end - 1}) ? next : end;
}

/* Puts `paragraph` piece by piece; `at` is the current column, and further lines begin at `indent`. */
static void wrap(vs_screen *screen, size_t at, size_t indent, vs_str paragraph) {
  bool first = true;
  for (size_t i = 0; i < paragraph.size;) {
    const size_t end = end_of_piece(paragraph, i);
    const vs_str piece = {paragraph.data + i, end - i};
    const size_t width = vs_screen_width(piece);
    if (!first && at + 1 + width > screen->columns) {
      vs_text_byte(&screen->text, '\n');
      vs_screen_spaces(&screen->text, indent);
      at = indent;
      first = true;
    }
    if (!first) vs_text_byte(&screen->text, ' ');
    vs_text_str(&screen->text, piece);
    at += width + !first;
    first = false;
    i = end;
    while (i < paragraph.size && paragraph.data[i] == ' ') i++;
  }
  vs_text_byte(&screen->text, '\n');
}

void vs_screen_labelled(vs_screen *screen, const char *label, size_t label_columns, vs_style mark,
                        vs_str text) {
  vs_screen_styled(screen, mark, vs_str_from(label));
  const size_t width = strlen(label);
  vs_screen_spaces(&screen->text, width < label_columns ? label_columns - width : 1);
  wrap(screen, label_columns, label_columns, text);
}

void vs_screen_end_line(vs_screen *screen, vs_text *line, const char *label, size_t label_columns,
                        vs_style mark) {
  if (line->status != VS_OK && screen->text.status == VS_OK) screen->text.status = line->status;
  vs_screen_labelled(screen, label, label_columns, mark, vs_text_view(line));
  line->bytes.count = 0;
}

void vs_screen_paragraphs(vs_screen *screen, size_t indent, vs_str text) {
  for (size_t at = 0; at < text.size;) {
    size_t end = at;
    while (end < text.size && text.data[end] != '\n') end++;
    if (end == at) {
      vs_text_byte(&screen->text, '\n');
    } else {
      vs_screen_spaces(&screen->text, indent);
      wrap(screen, indent, indent, (vs_str){text.data + at, end - at});
    }
    at = end + 1;
  }
}
