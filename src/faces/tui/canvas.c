#include "faces/tui/canvas.h"
#include "base/check.h"
#include "base/glyph.h"
#include "base/utf8.h"

vs_status vs_canvas_reset(const vs_host *host, vs_canvas *canvas, uint32_t columns, uint32_t rows) {
  if (columns > VS_CANVAS_MOST) columns = VS_CANVAS_MOST;
  if (rows > VS_CANVAS_MOST) rows = VS_CANVAS_MOST;
  const size_t count = (size_t)columns * rows;
  canvas->cells.count = 0;
  canvas->columns = canvas->rows = 0;
  VS_TRY(vs_vec_reserve(host, &canvas->cells, count));
  canvas->cells.count = count;
  canvas->columns = columns;
  canvas->rows = rows;
  vs_canvas_clear(canvas, (vs_area){0, 0, columns, rows});
  VS_ASSERT(vs_canvas_check(canvas) == NULL);
  return VS_OK;
}

const char *vs_canvas_check(const vs_canvas *canvas) {
  if (canvas->columns > VS_CANVAS_MOST || canvas->rows > VS_CANVAS_MOST)
    return "it is larger than its bounds";
  if (canvas->cells.count != (size_t)canvas->columns * canvas->rows)
    return "there is not one cell for each place";
  for (size_t i = 0; i < canvas->cells.count; i++) {
    if (canvas->cells.data[i].ink >= VS_INK_COUNT) return "a cell has no such ink";
    if (!canvas->has_unicode && canvas->cells.data[i].glyph > 0x7e) return "a cell is not ASCII";
  }
  return NULL;
}

void vs_canvas_deinit(const vs_host *host, vs_canvas *canvas) {
  vs_vec_free(host, &canvas->cells);
  canvas->columns = canvas->rows = 0;
}

static vs_canvas_cell *cell_at(const vs_canvas *canvas, uint32_t x, uint32_t y) {
  if (x >= canvas->columns || y >= canvas->rows) return NULL;
  VS_ASSERT((size_t)y * canvas->columns + x < canvas->cells.count);
  return &canvas->cells.data[(size_t)y * canvas->columns + x];
}

void vs_canvas_glyph(vs_canvas *canvas, uint32_t x, uint32_t y, vs_ink ink, uint32_t glyph) {
  VS_ASSERT(ink < VS_INK_COUNT);
  vs_canvas_cell *cell = cell_at(canvas, x, y);
  if (cell == NULL) return;
  *cell = (vs_canvas_cell){glyph > 0x7e && !canvas->has_unicode ? '?' : glyph, (uint8_t)ink};
}

/* ---- text: it is made safe, and combining marks, which have no column of their own, are left out */

static uint32_t safe_point(const char *piece, size_t size, size_t *at, uint32_t *columns) {
  const size_t length = vs_utf8_length((vs_str){piece + *at, size - *at});
  const uint32_t point = vs_glyph_decode(piece + *at, length == 0 ? 1 : length);
  *at += length == 0 ? 1 : length;
  *columns = (uint32_t)vs_glyph_columns(point);
  VS_ASSERT(*at <= size && *columns <= 2);
  return point;
}

uint32_t vs_canvas_width(vs_str text) {
  uint32_t width = 0, columns;
  char piece[VS_GLYPH_PIECE];
  for (size_t at = 0; at < text.size;) {
    const size_t size = vs_glyph_safe_piece(piece, text, &at);
    for (size_t i = 0; i < size; width += columns) (void)safe_point(piece, size, &i, &columns);
  }
  return width;
}

static uint32_t put_points(vs_canvas *canvas, uint32_t x, uint32_t y, uint32_t room, vs_ink ink,
                           vs_str text) {
  uint32_t used = 0, columns;
  char piece[VS_GLYPH_PIECE];
  for (size_t at = 0; at < text.size;) {
    const size_t size = vs_glyph_safe_piece(piece, text, &at);
    for (size_t i = 0; i < size;) {
      const uint32_t point = safe_point(piece, size, &i, &columns);
      if (columns == 0) continue;
      if (used + columns > room) return used;
      vs_canvas_glyph(canvas, x + used, y, ink, point);
      if (columns == 2) vs_canvas_glyph(canvas, x + used + 1, y, ink, canvas->has_unicode ? 0 : ' ');
      used += columns;
      VS_ASSERT(used <= room);
    }
  }
  return used;
}

uint32_t vs_canvas_put(vs_canvas *canvas, uint32_t x, uint32_t y, uint32_t columns, vs_ink ink, vs_str text) {
  if (x >= canvas->columns) return 0;
  if (columns > canvas->columns - x) columns = canvas->columns - x;
  if (vs_canvas_width(text) <= columns) return put_points(canvas, x, y, columns, ink, text);
  const vs_str dots = canvas->has_unicode ? VS_STR("\xe2\x80\xa6") : VS_STR("..");
  const uint32_t mark = canvas->has_unicode ? 1 : 2;
  if (columns <= mark) return put_points(canvas, x, y, columns, ink, text);
  const uint32_t used = put_points(canvas, x, y, columns - mark, ink, text);
  return used + put_points(canvas, x + used, y, mark, ink, dots);
}

void vs_canvas_put_right(vs_canvas *canvas, uint32_t x, uint32_t y, uint32_t columns, vs_ink ink,
                         vs_str text) {
  const uint32_t width = vs_canvas_width(text);
  const uint32_t blanks = width < columns ? columns - width : 0;
  (void)vs_canvas_put(canvas, x + blanks, y, columns - blanks, ink, text);
}

/* The end of the line that begins at `at`: the last space that fits, or the last character of a word that is longer than
 * a line. It is always behind `at`, so that wrapping ends. */
static size_t end_of_line(vs_str text, size_t at, uint32_t columns) {
  size_t end = at, space = at;
  uint32_t width = 0;
  while (end < text.size) {
    size_t next = end;
    char piece[VS_GLYPH_PIECE];
    const size_t size = vs_glyph_safe_piece(piece, text, &next);
    width += vs_canvas_width((vs_str){piece, size});
    if (text.data[end] == ' ') space = end;
    if (width > columns && end > at) return space > at ? space : end;
    end = next;
  }
  return end;
}

uint32_t vs_canvas_wrap(vs_canvas *canvas, vs_area area, vs_ink ink, vs_str text) {
  uint32_t row = 0;
  if (area.columns == 0) return 0;
  for (size_t at = 0; at < text.size; row++) {
    const size_t end = end_of_line(text, at, area.columns);
    VS_ASSERT(end > at && end <= text.size);
    if (canvas != NULL && row < area.rows)
      (void)vs_canvas_put(canvas, area.x, area.y + row, area.columns, ink,
                          (vs_str){text.data + at, end - at});
    at = end;
    while (at < text.size && text.data[at] == ' ') at++;
  }
  return row;
}

void vs_canvas_ink(vs_canvas *canvas, uint32_t x, uint32_t y, uint32_t columns, vs_ink ink) {
  for (uint32_t i = 0; i < columns; i++) {
    vs_canvas_cell *cell = cell_at(canvas, x + i, y);
    if (cell != NULL) cell->ink = (uint8_t)ink;
  }
}

void vs_canvas_clear(vs_canvas *canvas, vs_area area) {
  for (uint32_t y = area.y; y < area.y + area.rows; y++)
    for (uint32_t x = area.x; x < area.x + area.columns; x++)
      vs_canvas_glyph(canvas, x, y, VS_INK_PLAIN, ' ');
}

/* ---- as text */

static const char *escape_of(vs_ink ink) {
  static const char *const escapes[VS_INK_COUNT] = {
      [VS_INK_PLAIN] = "\x1b[0m",     [VS_INK_TITLE] = "\x1b[0;1m",      [VS_INK_FAINT] = "\x1b[0;2m",
      [VS_INK_LIGHT] = "\x1b[0;32m",  [VS_INK_MODERATE] = "\x1b[0;33m",  [VS_INK_HEAVY] = "\x1b[0;1;31m",
      [VS_INK_ACCENT] = "\x1b[0;36m", [VS_INK_TROUBLE] = "\x1b[0;1;31m", [VS_INK_BAR] = "\x1b[0;1m",
      [VS_INK_CHOSEN] = "\x1b[0m",
  };
  VS_ASSERT(ink < VS_INK_COUNT);
  return escapes[ink];
}

static bool is_blank(const vs_canvas_cell *cell) { return cell->glyph == ' '; }

static void write_row(const vs_canvas *canvas, uint32_t y, vs_text *text, bool has_colour) {
  uint32_t end = canvas->columns;
  while (end > 0 && is_blank(cell_at(canvas, end - 1, y))) end--;
  vs_ink ink = VS_INK_PLAIN;
  for (uint32_t x = 0; x < end; x++) {
    const vs_canvas_cell *cell = cell_at(canvas, x, y);
    if (cell->glyph == 0) continue;
    if (has_colour && (vs_ink)cell->ink != ink && !is_blank(cell)) {
      ink = (vs_ink)cell->ink;
      vs_text_cstr(text, escape_of(ink));
    }
    vs_text_code_point(text, cell->glyph);
  }
  if (ink != VS_INK_PLAIN) vs_text_cstr(text, escape_of(VS_INK_PLAIN));
  vs_text_byte(text, '\n');
}

void vs_canvas_write(const vs_canvas *canvas, vs_text *text, bool has_colour) {
  for (uint32_t y = 0; y < canvas->rows; y++) write_row(canvas, y, text, has_colour);
}
