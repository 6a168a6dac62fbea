/* How full a device was: filled dots under the curve, eight in a cell (braille), or three heights of ASCII.
 *
 *   GPU 0 used, GiB                peak 91.20
 *   140 |      .:#
 *       |  .:####
 *     0 +-75 s ago----------------- now
 *
 * The scale always goes from 0 to the device's total, so the distance from the top edge is the free memory. */
#include "base/check.h"
#include "faces/tui/draw.h"
#include "faces/tui/words.h"

enum { AXIS = 6, DOTS_DOWN = 4, DOTS_ACROSS = 2, HEIGHTS = 3, MOST_VALUES = DOTS_ACROSS * VS_CANVAS_MOST };

typedef struct graph {
  vs_canvas *canvas;
  vs_area body; /* of the dots */
  uint64_t top; /* bytes at the upper edge */
  uint64_t span_us;
  size_t count;
  uint64_t values[MOST_VALUES]; /* bytes, VS_TOP_GAP */
} graph;

/* How many of `steps` are below the curve; a value that is not 0 is at least one. */
static uint64_t height_of(uint64_t value, uint64_t top, uint64_t steps) {
  if (value == VS_TOP_GAP || value == 0) return 0;
  if (value >= top) return steps;
  const uint64_t kib = top / 1024 + 1, height = (value / 1024 * steps + kib / 2) / kib;
  VS_ASSERT(height <= steps);
  return height == 0 ? 1 : height;
}

static uint32_t braille(const graph *g, uint32_t column, uint32_t row) {
  static const uint8_t left[] = {0x40, 0x04, 0x02, 0x01},
                       right[] = {0x80, 0x20, 0x10, 0x08}; /* from the lowest */
  VS_ASSERT(row < g->body.rows && column * DOTS_ACROSS + 1 < g->count);
  const uint64_t floor = (uint64_t)(g->body.rows - 1 - row) * DOTS_DOWN;
  uint32_t bits = 0;
  for (uint32_t side = 0; side < DOTS_ACROSS; side++) {
    const uint64_t height =
        height_of(g->values[column * DOTS_ACROSS + side], g->top, (uint64_t)g->body.rows * DOTS_DOWN);
    for (uint32_t dot = 0; dot < DOTS_DOWN && floor + dot < height; dot++)
      bits |= side == 0 ? left[dot] : right[dot];
  }
  return bits == 0 ? ' ' : 0x2800 + bits;
}

static uint32_t ascii(const graph *g, uint32_t column, uint32_t row) {
  VS_ASSERT(row < g->body.rows && column < g->count);
  const uint64_t floor = (uint64_t)(g->body.rows - 1 - row) * HEIGHTS;
  const uint64_t height = height_of(g->values[column], g->top, (uint64_t)g->body.rows * HEIGHTS);
  if (height <= floor) return ' ';
  return height - floor >= HEIGHTS ? '#' : height - floor == 2 ? ':' : '.';
}

static uint64_t value_of_column(const graph *g, uint32_t column) {
  const uint32_t across = g->canvas->has_unicode ? DOTS_ACROSS : 1;
  uint64_t most = VS_TOP_GAP;
  for (uint32_t i = 0; i < across; i++) {
    const uint64_t value = g->values[column * across + i];
    if (value != VS_TOP_GAP && (most == VS_TOP_GAP || value > most)) most = value;
  }
  return most;
}

static void draw_dots(const graph *g) {
  for (uint32_t x = 0; x < g->body.columns; x++) {
    const uint64_t value = value_of_column(g, x);
    if (value == VS_TOP_GAP) continue;
    const vs_ink ink = vs_top_ink_of_memory(value, g->top);
    for (uint32_t y = 0; y < g->body.rows; y++) {
      const uint32_t glyph = g->canvas->has_unicode ? braille(g, x, y) : ascii(g, x, y);
      if (glyph != ' ') vs_canvas_glyph(g->canvas, g->body.x + x, g->body.y + y, ink, glyph);
    }
  }
}

/* ---- axes and title */

static void put_level(const graph *g, uint32_t y, uint64_t bytes) {
  char word[VS_TOP_WORD];
  const uint64_t tenths = vs_top_hundredths(bytes) / 10;
  if (bytes == 0 || tenths >= 100) vs_format(word, sizeof word, "%U", (tenths + 5) / 10);
  else vs_format(word, sizeof word, "%U.%U", tenths / 10, tenths % 10);
  vs_canvas_put_right(g->canvas, g->body.x - AXIS, y, AXIS - 2, VS_INK_FAINT, vs_str_from(word));
}

static void put_ago(char to[static VS_TOP_WORD], uint64_t us) {
  const uint64_t s = us / 1000000;
  if (s < 120) vs_format(to, VS_TOP_WORD, "%U s ago", s);
  else if (s < 7200) vs_format(to, VS_TOP_WORD, "%U min ago", s / 60);
  else
    vs_format(to, VS_TOP_WORD, "%U h %u%u min ago", s / 3600, (unsigned)(s / 60 % 60 / 10),
              (unsigned)(s / 60 % 10));
}

static void draw_axes(const graph *g) {
  const bool u = g->canvas->has_unicode;
  const uint32_t x = g->body.x - 1, y = g->body.y + g->body.rows;
  for (uint32_t i = 0; i < g->body.rows; i++)
    vs_canvas_glyph(g->canvas, x, g->body.y + i, VS_INK_FAINT, u ? (i == 0 ? 0x2524 : 0x2502) : '|');
  put_level(g, g->body.y, g->top);
  if (g->body.rows >= 8) put_level(g, g->body.y + g->body.rows / 2, g->top / 2); /* within half a row */
  vs_canvas_glyph(g->canvas, x, y, VS_INK_FAINT, u ? 0x2514 : '+');
  for (uint32_t i = 0; i < g->body.columns; i++)
    vs_canvas_glyph(g->canvas, g->body.x + i, y, VS_INK_FAINT, u ? 0x2500 : '-');
  put_level(g, y, 0);
  char word[VS_TOP_WORD], ago[VS_TOP_WORD];
  put_ago(word, g->count * g->span_us);
  vs_format(ago, sizeof ago, " %s ", word);
  (void)vs_canvas_put(g->canvas, g->body.x + 1, y, g->body.columns - 1, VS_INK_FAINT, vs_str_from(ago));
  vs_canvas_put_right(g->canvas, g->body.x, y, g->body.columns - 1, VS_INK_FAINT, VS_STR(" now "));
}

static void draw_title(const graph *g, vs_area area, const vs_top_device *device) {
  char text[160], word[VS_TOP_WORD];
  uint64_t peak = 0;
  size_t at = g->count;
  for (size_t i = 0; i < g->count; i++)
    if (g->values[i] != VS_TOP_GAP && (at == g->count || g->values[i] >= peak)) peak = g->values[at = i];
  vs_format(text, sizeof text, "GPU %s used, GiB", device->label);
  area.x++;
  area.columns--;
  const uint32_t used =
      vs_canvas_put(g->canvas, area.x, area.y, area.columns, VS_INK_TITLE, vs_str_from(text));
  if (at == g->count) return;
  vs_top_put_hundredths(word, vs_top_hundredths(peak));
  vs_format(text, sizeof text, "peak %s", word);
  if (area.columns >= used + 2 + vs_canvas_width(vs_str_from(text)))
    vs_canvas_put_right(g->canvas, area.x + used, area.y, area.columns - used, VS_INK_FAINT,
                        vs_str_from(text));
}

void vs_top_draw_graph(vs_canvas *canvas, vs_area area, const vs_top_scene *scene,
                       const vs_top_device *device) {
  if (area.rows < 3 || area.columns <= AXIS + 8) return;
  graph g;
  const uint32_t across = canvas->has_unicode ? DOTS_ACROSS : 1;
  g.canvas = canvas;
  g.body = (vs_area){area.x + AXIS, area.y + 1, area.columns - AXIS, area.rows - 2};
  g.count = (size_t)g.body.columns * across;
  VS_ASSERT(g.count <= MOST_VALUES);
  g.span_us = scene->state->interval_us * vs_top_zoom_steps(scene->state->zoom);
  g.top = vs_metric_is_known(device->memory.total) ? device->memory.total.value : device->info.total_bytes;
  vs_top_history_read(scene->history, device->info.uuid, scene->now_us, g.span_us, scene->hold_us, g.values,
                      g.count);
  draw_title(&g, area, device);
  if (g.top == 0) { /* the total is unknown, so there is no scale */
    (void)vs_canvas_put(canvas, area.x + 1, area.y + 2, area.columns - 1, VS_INK_FAINT,
                        vs_str_from(vs_reason_text(device->memory.total.reason)));
    return;
  }
  draw_axes(&g);
  draw_dots(&g);
}
