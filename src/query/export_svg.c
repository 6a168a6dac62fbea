/* A still picture as SVG 1.1: the memory of one GPU over the trace, stacked by the user's lines, with a legend. It has no scripts, refers to
 * nothing outside, and its size does not depend on the length of the trace. Its colours are those of the page: in the light theme as
 * attributes, which every reader of SVG knows, and in the dark one as rules that only browsers apply.
 *
 * Lengths are whole pixels. The stack is drawn in a group whose units are columns and quarters of a pixel. */
#include "codec/xml_text.h"
#include "query/export.h"
#include "query/still_picture.h"

enum {
  WIDTH = 880,
  LEFT = 80, /* of the plot */
  COLUMN = 2,
  PLOT_WIDTH = COLUMN * VS_STILL_COLUMNS,
  RIGHT = LEFT + PLOT_WIDTH,
  PLOT_HEIGHT = 256,
  QUARTERS = 4 * PLOT_HEIGHT,
  TITLE = 32, /* baselines of texts */
  SUBTITLE = 54,
  FIGURES = 73,
  LABELS = 100, /* the first row of labels above the plot */
  LABEL_ROW = 17,
  ROW = 20, /* of the legend */
  BYTES_END = LEFT + 112,
  SHARE_END = LEFT + 176,
  NAMES = LEFT + 192,
  LETTER = 7, /* no less than a letter of a label takes, on average */
  TITLE_COLUMNS = 64, /* in large bold letters */
  SUBTITLE_COLUMNS = 100,
  NAME_COLUMNS = 76,
  TICKS = 8, /* at most so many steps of an axis */
};

static const struct {
  const char *light, *dark;
} group_colours[] = {
#define VS_GROUP_COLOUR(light, dark) {light, dark},
#define VS_TOKEN_COLOUR(name, light, dark)
#include "query/page_colours.def"
#undef VS_GROUP_COLOUR
#undef VS_TOKEN_COLOUR
};
_Static_assert(sizeof group_colours / sizeof *group_colours == VS_LEGEND, "a colour for each group");

typedef enum token {
#define VS_GROUP_COLOUR(light, dark)
#define VS_TOKEN_COLOUR(name, light, dark) TOKEN_##name,
#include "query/page_colours.def"
#undef VS_GROUP_COLOUR
#undef VS_TOKEN_COLOUR
} token;

static const struct {
  const char *name, *light, *dark;
} tokens[] = {
#define VS_GROUP_COLOUR(light, dark)
#define VS_TOKEN_COLOUR(name, light, dark) {#name, light, dark},
#include "query/page_colours.def"
#undef VS_GROUP_COLOUR
#undef VS_TOKEN_COLOUR
};

typedef struct drawing {
  vs_call *call;
  vs_text *text;
  const vs_still_picture *still;
  const vs_report *report;
  const vs_oom *failure; /* the last one, which the report is about; NULL: none, or there is a filter */
  uint64_t capacity;     /* 0: unknown, or there is a filter */
  bool is_total;         /* `capacity` is that of the GPU, else what the process could reserve at `failure` */
  bool shows_capacity;   /* it is in the plot */
  bool has_others;       /* the last band is not empty */
  uint64_t top;          /* bytes at the top of the plot; at least 1 */
  int plot;              /* y of the top of the plot */
} drawing;

/* ---- figures --------------------------------------------------------------------------------------------------- */

static bool has_filter(const drawing *d) { return d->call->request->filter.terms.count != 0; }

static uint64_t positive(int64_t bytes) { return bytes > 0 ? (uint64_t)bytes : 0; }

static const vs_recorded_device *recorded_device(const drawing *d) {
  const vs_recording *recording = &d->call->engine->snapshot->recording;
  for (size_t i = 0; i < recording->devices.count; i++)
    if (recording->devices.data[i].device == d->call->device->slice->device)
      return &recording->devices.data[i];
  return NULL;
}

static void find_capacity(drawing *d) {
  const vs_recorded_device *device = recorded_device(d);
  if (has_filter(d)) return;
  d->is_total = device != NULL && device->total_bytes != 0;
  if (d->is_total) d->capacity = device->total_bytes;
  else if (d->failure != NULL && d->still->has_reserved && d->failure->is_free_known)
    d->capacity = vs_sat_add_u64(positive(d->failure->reserved), d->failure->device_free);
}

/* A capacity of more than three times the highest memory is left out: the stack would be too low to read. */
static void find_top(drawing *d) {
  const vs_still_picture *s = d->still;
  uint64_t most = s->most;
  for (uint32_t c = 0; s->has_reserved && c < VS_STILL_COLUMNS; c++)
    most = vs_max_u64(most, positive(s->reserved[c]));
  d->shows_capacity = d->capacity != 0 && d->capacity / 3 <= most;
  if (d->shows_capacity) most = vs_max_u64(most, d->capacity);
  d->top = vs_sat_add_u64(vs_max_u64(most, 1), most / 32);
}

/* The height of so many bytes in quarters of a pixel, rounded. Both are shifted until the product fits. */
static unsigned quarters_of(const drawing *d, uint64_t bytes) {
  uint64_t top = d->top;
  for (; top >> 48 != 0; top >>= 1) bytes >>= 1;
  return (unsigned)vs_min_u64((bytes * QUARTERS + top / 2) / top, QUARTERS);
}

/* ---- elements -------------------------------------------------------------------------------------------------- */

static void put_fill(const drawing *d, const char *attribute, token colour) {
  vs_text_format(d->text, " class=\"%s-%s\" %s=\"%s\"", attribute, tokens[colour].name, attribute,
                 tokens[colour].light);
}

static void text_begin(const drawing *d, int x, int y, int size, token colour, const char *more) {
  vs_text_format(d->text, "<text x=\"%d\" y=\"%d\" font-size=\"%d\"%s", x, y, size, more);
  put_fill(d, "fill", colour);
  vs_text_byte(d->text, '>');
}

static void text_end(const drawing *d) { vs_text_cstr(d->text, "</text>\n"); }

/* Takes the scratch text, as XML of so many columns. */
static void put_scratch(const drawing *d, size_t columns) {
  vs_xml_text(d->text, vs_text_view(&d->call->scratch), columns);
  d->call->scratch.bytes.count = 0;
}

static void put_bytes(const drawing *d, uint64_t bytes) { vs_text_bytes(d->text, bytes, VS_UNIT_BINARY); }

/* "<title>LABEL: 1.50 GiB (1,610,612,736 B)</title>"; the label is the scratch text. */
static void put_tip(const drawing *d, uint64_t bytes) {
  vs_text_cstr(d->text, "<title>");
  put_scratch(d, SIZE_MAX);
  vs_text_cstr(d->text, ": ");
  put_bytes(d, bytes);
  vs_text_cstr(d->text, " (");
  vs_text_bytes(d->text, bytes, VS_UNIT_PLAIN);
  vs_text_cstr(d->text, ")</title>");
}

/* A line of the plot, from the left to the right or from top to bottom. */
static void put_line(const drawing *d, const char *x1, const char *more, token colour) {
  vs_text_format(d->text, "<path d=\"%s\" fill=\"none\"%s", x1, more);
  put_fill(d, "stroke", colour);
  vs_text_cstr(d->text, "/>\n");
}

/* ---- head ------------------------------------------------------------------------------------------------------ */

static void put_style(const drawing *d) {
  vs_text *text = d->text;
  vs_text_cstr(text, "<style type=\"text/css\">\n.code{font-family:ui-monospace,'SF "
                     "Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace}\n"
                     "text{font-variant-numeric:tabular-nums;white-space:pre}\n"
                     "@media (prefers-color-scheme:dark){\n");
  for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
    vs_text_format(text, ".fill-%s{fill:%s}.stroke-%s{stroke:%s}\n", tokens[i].name, tokens[i].dark,
                   tokens[i].name, tokens[i].dark);
  for (uint32_t band = 0; band < d->still->lines; band++)
    vs_text_format(text, ".line-%u{fill:%s}\n", band, group_colours[d->still->colour[band]].dark);
  vs_text_cstr(text, "}\n</style>\n");
}

static vs_str file_name(const vs_call *call) {
  vs_str name = {call->engine->name.data, call->engine->name.count};
  for (size_t i = name.size; i-- > 0;)
    if (name.data[i] == '/') return (vs_str){name.data + i + 1, name.size - i - 1};
  return name;
}

/* "GPU 0", "GPU 0, NVIDIA H200, 139.8 GiB". */
static void put_device(const drawing *d, vs_text *to) {
  const int32_t device = d->call->device->slice->device;
  const vs_recorded_device *recorded = recorded_device(d);
  if (device == VS_DEVICE_HOST) vs_text_cstr(to, "pinned host memory");
  else vs_text_format(to, "GPU %d", device);
  if (recorded == NULL) return;
  if (recorded->name != VS_STRING_NONE) {
    vs_text_cstr(to, ", ");
    vs_text_str(to, vs_snapshot_string(d->call->engine->snapshot, recorded->name));
  }
  if (recorded->total_bytes == 0) return;
  vs_text_cstr(to, ", ");
  vs_text_bytes(to, recorded->total_bytes, VS_UNIT_BINARY);
}

static void put_figures(const drawing *d, vs_text *to) {
  const vs_report *r = d->report;
  vs_text_format(to, "Peak %s", r->allocated.is_exact ? "" : "≈");
  vs_text_bytes(to, positive(r->allocated.peak), VS_UNIT_BINARY);
  vs_text_cstr(to, " allocated, ");
  vs_text_bytes(to, positive(r->curves.curve[VS_CURVE_REQUESTED].peak), VS_UNIT_BINARY);
  vs_text_cstr(to, " requested");
  if (vs_reply_knows_segments(d->call)) {
    vs_text_cstr(to, ", ");
    vs_text_bytes(to, positive(r->curves.curve[VS_CURVE_RESERVED].peak), VS_UNIT_BINARY);
    vs_text_cstr(to, " reserved");
  }
  vs_text_cstr(to, "; ");
  vs_text_counted(to, d->call->device->slice->event_count, "event");
  if (!r->trust.is_complete) vs_text_cstr(to, "; incomplete, see vramscope report");
}

static void put_head(const drawing *d, int height) {
  vs_text *text = d->text;
  vs_text_format(text,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
                 "version=\"1.1\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
                 "font-family=\"system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif\">\n",
                 WIDTH, height, WIDTH, height);
  vs_text_cstr(text, "<title>GPU memory over time: ");
  vs_xml_text(text, file_name(d->call), TITLE_COLUMNS);
  vs_text_cstr(text, "</title>\n");
  put_style(d);
  vs_text_format(text, "<rect x=\".5\" y=\".5\" width=\"%d\" height=\"%d\" rx=\"6\"", WIDTH - 1, height - 1);
  vs_text_format(text, " class=\"fill-canvas stroke-edge\" fill=\"%s\" stroke=\"%s\"/>\n",
                 tokens[TOKEN_canvas].light, tokens[TOKEN_edge].light);
  text_begin(d, 24, TITLE, 17, TOKEN_text, " font-weight=\"600\"");
  vs_xml_text(text, file_name(d->call), TITLE_COLUMNS);
  text_end(d);
  text_begin(d, 24, SUBTITLE, 13, TOKEN_text, "");
  put_device(d, &d->call->scratch);
  put_scratch(d, SUBTITLE_COLUMNS);
  text_end(d);
  text_begin(d, 24, FIGURES, 13, TOKEN_axis, "");
  if (has_filter(d)) {
    const vs_filter *filter = &d->call->request->filter;
    vs_text_cstr(text, "Only what the filter keeps: ");
    vs_xml_text(text, (vs_str){filter->text.data, filter->text.count}, TITLE_COLUMNS);
  } else {
    put_figures(d, &d->call->scratch);
    put_scratch(d, SIZE_MAX);
  }
  text_end(d);
}

/* ---- axes ------------------------------------------------------------------------------------------------------ */

/* value / unit with as many places, at most two, as multiples of `step` need. */
static void put_scaled(vs_text *text, uint64_t value, uint64_t step, uint64_t unit) {
  vs_text_count(text, value / unit);
  if (step % unit == 0) return;
  const uint64_t hundredths = value % unit * 100 / unit;
  vs_text_format(text, ".%u", (unsigned)(hundredths / 10));
  if (step * 10 % unit != 0) vs_text_format(text, "%u", (unsigned)(hundredths % 10));
}

/* The whole pixel nearest to the height of so many bytes. */
static int y_of(const drawing *d, uint64_t bytes) {
  return d->plot + PLOT_HEIGHT - (int)((quarters_of(d, bytes) + 2) / 4);
}

static void ticks_begin(const drawing *d, const char *anchor) {
  vs_text_format(d->text, "<g font-size=\"12\" text-anchor=\"%s\"", anchor);
  put_fill(d, "fill", TOKEN_axis);
  vs_text_cstr(d->text, ">\n");
}

static void put_y_axis(const drawing *d) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  uint64_t step = 1;
  unsigned power = 0;
  while (d->top / step >= TICKS) step *= 2;
  while (power < 6 && d->top >> (10 * (power + 1)) != 0) power++;
  while (power > 0 && step < UINT64_C(1) << (10 * power) && step * 4 < UINT64_C(1) << (10 * power)) power--;
  vs_text_cstr(d->text, "<path d=\"");
  for (uint64_t at = 0, count = 0; at <= d->top && count <= TICKS; at += step, count++)
    vs_text_format(d->text, "M%d %d.5h%d", LEFT - 5, y_of(d, at), PLOT_WIDTH + 5);
  vs_text_byte(d->text, '"');
  put_fill(d, "stroke", TOKEN_grid);
  vs_text_cstr(d->text, "/>\n");
  ticks_begin(d, "end");
  for (uint64_t at = 0, count = 0; at <= d->top && count <= TICKS; at += step, count++) {
    vs_text_format(d->text, "<text x=\"%d\" y=\"%d\">", LEFT - 10, y_of(d, at) + 4);
    if (at == 0) {
      vs_text_byte(d->text, '0');
    } else {
      put_scaled(d->text, at, step, UINT64_C(1) << (10 * power));
      vs_text_format(d->text, " %s", units[power]);
    }
    text_end(d);
  }
  vs_text_cstr(d->text, "</g>\n");
}

/* Steps of time that read well, in microseconds; behind the last one days are doubled. */
static uint64_t time_step(uint64_t least) {
  static const uint64_t seconds[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                     600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
  for (uint64_t step = 1; step < 1000000; step *= 10)
    for (uint64_t factor = 1; factor <= 5; factor += factor == 1 ? 1 : 3)
      if (step * factor >= least) return step * factor;
  for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
    if (seconds[i] * 1000000 >= least) return seconds[i] * 1000000;
  uint64_t step = UINT64_C(86400000000);
  while (step < least && step < UINT64_MAX / 2) step *= 2;
  return step;
}

static uint64_t event_step(uint64_t least) {
  uint64_t step = 1;
  while (step * 10 < least) step *= 10;
  return least <= step ? step : least <= 2 * step ? 2 * step : least <= 5 * step ? 5 * step : 10 * step;
}

/* The unit of a time axis, by its end. */
static uint64_t time_unit(uint64_t end, const char **name) {
  static const struct {
    uint64_t below, unit;
    const char *name;
  } units[] = {{1000, 1, "us"},
               {1000000, 1000, "ms"},
               {UINT64_C(120000000), 1000000, "s"},
               {UINT64_C(7200000000), UINT64_C(60000000), "min"},
               {UINT64_C(172800000000), UINT64_C(3600000000), "h"},
               {UINT64_MAX, UINT64_C(86400000000), "d"}};
  size_t at = 0;
  while (end >= units[at].below && units[at].below != UINT64_MAX) at++;
  *name = units[at].name;
  return units[at].unit;
}

/* Events, or microseconds: places of the axis that are not below 0. */
static void put_x_axis(const drawing *d) {
  const vs_window *window = &d->still->window;
  const bool by_time = window->times != NULL;
  const uint64_t first = by_time ? 0 : 1; /* by events the plot begins at -1, the start */
  const uint64_t end = window->x1 < 0x1p62 ? (uint64_t)window->x1 : UINT64_C(1) << 62;
  const uint64_t least = end / TICKS + 1, step = by_time ? time_step(least) : event_step(least);
  const char *unit_name;
  const uint64_t unit = time_unit(end, &unit_name);
  const int foot = d->plot + PLOT_HEIGHT;
  ticks_begin(d, "middle");
  for (uint64_t at = 0; at < end || at == 0; at += step) {
    const int x = LEFT + (int)((double)(at + first) * (double)PLOT_WIDTH / (double)(end + first));
    vs_text_format(d->text,
                   "<path d=\"M%d.5 %dv5\" class=\"stroke-axis\" stroke=\"%s\"/><text x=\"%d\" y=\"%d\">", x,
                   foot, tokens[TOKEN_axis].light, x, foot + 20);
    if (!by_time) {
      vs_text_count(d->text, at);
    } else if (at == 0) {
      vs_text_byte(d->text, '0');
    } else {
      put_scaled(d->text, at, step, unit);
      vs_text_format(d->text, " %s", unit_name);
    }
    text_end(d);
  }
  vs_text_cstr(d->text, "</g>\n");
  text_begin(d, LEFT - 24, foot + 20, 12, TOKEN_axis, " text-anchor=\"end\"");
  vs_text_cstr(d->text, by_time ? "time" : "event");
  text_end(d);
}

/* ---- the stack ------------------------------------------------------------------------------------------------- */

static void put_band_label(const drawing *d, size_t band) {
  if (band == VS_STILL_LINES) vs_text_cstr(&d->call->scratch, "other lines");
  else vs_put_group_label(d->call, VS_BY_LINE, &d->still->groups.list.data[band]);
}

/* Bytes of a band at the moment. */
static uint64_t bytes_of(const vs_still_picture *s, size_t band) {
  if (band < s->lines) return s->groups.list.data[band].bytes;
  uint64_t rest = s->groups.bytes;
  for (uint32_t i = 0; i < s->lines; i++) rest -= vs_min_u64(rest, s->groups.list.data[i].bytes);
  return rest;
}

/* The outline of a height for each column, above the bottom, in columns and quarters of a pixel. */
static void put_outline(const drawing *d, const unsigned heights[]) {
  unsigned level = 0, run = 0;
  vs_text_format(d->text, "M0 %d", QUARTERS);
  for (uint32_t c = 0; c < VS_STILL_COLUMNS; c++) {
    if (heights[c] != level) {
      if (run != 0) vs_text_format(d->text, "h%u", run);
      vs_text_format(d->text, "v%d", (int)level - (int)heights[c]);
      level = heights[c];
      run = 0;
    }
    run++;
  }
  if (level != 0) vs_text_format(d->text, "h%uv%u", run, level);
  vs_text_byte(d->text, 'z');
}

/* The band that is at a place of the stack, from the bottom. */
static size_t band_at(const vs_still_picture *s, size_t place) {
  return place < s->lines ? s->stacked[place] : VS_STILL_LINES;
}

static void put_band(const drawing *d, size_t place) {
  unsigned heights[VS_STILL_COLUMNS];
  const size_t band = band_at(d->still, place);
  for (uint32_t c = 0; c < VS_STILL_COLUMNS; c++) {
    uint64_t below = 0;
    for (size_t i = 0; i <= place; i++) below += d->still->bytes[band_at(d->still, i)][c];
    heights[c] = quarters_of(d, below);
  }
  vs_text_cstr(d->text, "<path d=\"");
  put_outline(d, heights);
  if (band == VS_STILL_LINES) {
    vs_text_byte(d->text, '"');
    put_fill(d, "fill", TOKEN_others);
    vs_text_byte(d->text, '>');
  } else {
    vs_text_format(d->text, "\" class=\"line-%u\" fill=\"%s\">", (unsigned)band,
                   group_colours[d->still->colour[band]].light);
  }
  put_band_label(d, band);
  put_tip(d, bytes_of(d->still, band));
  vs_text_cstr(d->text, "</path>\n");
}

static unsigned reserved_height(const drawing *d, uint32_t column) {
  return quarters_of(d, positive(d->still->reserved[column]));
}

/* Each band is drawn from the bottom up to its own height, the highest first, so that each has one edge. */
static void put_stack(const drawing *d) {
  vs_text_format(d->text, "<g transform=\"translate(%d %d) scale(%d .25)\">\n", LEFT, d->plot, COLUMN);
  if (d->still->has_reserved) {
    unsigned heights[VS_STILL_COLUMNS];
    for (uint32_t c = 0; c < VS_STILL_COLUMNS; c++) heights[c] = reserved_height(d, c);
    vs_text_cstr(d->text, "<path d=\"");
    put_outline(d, heights);
    vs_text_byte(d->text, '"');
    put_fill(d, "fill", TOKEN_free);
    vs_text_cstr(d->text, "/>\n");
  }
  for (size_t place = (size_t)d->still->lines + d->has_others; place-- > 0;) put_band(d, place);
  vs_text_cstr(d->text, "</g>\n");
}

/* In a group whose units are quarters of a pixel in both directions. */
static void put_reserved(const drawing *d) {
  if (!d->still->has_reserved) return;
  unsigned level = reserved_height(d, 0), run = 0;
  vs_text_format(d->text, "<g transform=\"translate(%d %d) scale(.25)\"><path id=\"reserved\" d=\"M0 %u",
                 LEFT, d->plot, QUARTERS - level);
  for (uint32_t c = 0; c < VS_STILL_COLUMNS; c++, run += 4 * COLUMN) {
    const unsigned height = reserved_height(d, c);
    if (height == level) continue;
    vs_text_format(d->text, "h%uv%d", run, (int)level - (int)height);
    level = height;
    run = 0;
  }
  vs_text_format(d->text, "h%u\" fill=\"none\" stroke-width=\"6\"", run);
  put_fill(d, "stroke", TOKEN_reserved);
  vs_text_cstr(d->text, "/></g>\n");
}

static void put_capacity(const drawing *d) {
  char path[64];
  if (!d->shows_capacity) return;
  const int y = y_of(d, d->capacity);
  vs_format(path, sizeof path, "M%d %d.5h%d", LEFT, y, PLOT_WIDTH);
  put_line(d, path, " id=\"capacity\" stroke-width=\"1.5\" stroke-dasharray=\"7 4\"", TOKEN_text);
}

/* ---- marks ----------------------------------------------------------------------------------------------------- */

static int x_of(uint32_t column) { return LEFT + COLUMN * (int)column + COLUMN / 2; }

/* A text beside a vertical line at x: to the right of it if it fits there, and does not reach `avoid`. */
static void put_beside(const drawing *d, int x, int y, int avoid, token colour, const char *weight) {
  const size_t letters = d->call->scratch.bytes.count;
  const int width = (int)letters * LETTER;
  const bool fits_right = x + 6 + width <= RIGHT + 20 && !(avoid > x && avoid < x + 6 + width);
  const bool fits_left = x - 6 - width >= 24;
  const bool is_right = fits_right || !fits_left;
  vs_text_format(d->text, "<text x=\"%d\" y=\"%d\" font-size=\"12\"%s%s", is_right ? x + 6 : x - 6, y, weight,
                 is_right ? "" : " text-anchor=\"end\"");
  put_fill(d, "fill", colour);
  vs_text_byte(d->text, '>');
  put_scratch(d, SIZE_MAX);
  text_end(d);
}

/* One line for each column with a failed request. The one that has a label reaches up to it. */
static void put_failures(const drawing *d) {
  char path[64];
  if (d->failure == NULL) return;
  const size_t count = d->report->ooms.list.count;
  const uint32_t labelled = vs_still_picture_column(d->still, d->failure->event);
  uint32_t before = VS_STILL_COLUMNS;
  for (size_t i = 0; i < count; i++) {
    const uint32_t column = vs_still_picture_column(d->still, d->report->ooms.list.data[i].event);
    if (column == before || column == labelled) continue;
    vs_format(path, sizeof path, "M%d %dv%d", x_of(column), d->plot, PLOT_HEIGHT);
    put_line(d, path, " class=\"oom\" stroke-opacity=\".6\"", TOKEN_oom);
    before = column;
  }
  vs_format(path, sizeof path, "M%d %dV%d", x_of(labelled), LABELS - 12, d->plot + PLOT_HEIGHT);
  put_line(d, path, " id=\"oom\" stroke-width=\"1.5\"", TOKEN_oom);
  vs_text_cstr(&d->call->scratch, "out of memory: ");
  vs_text_bytes(&d->call->scratch, d->failure->size, VS_UNIT_BINARY);
  vs_text_cstr(&d->call->scratch, " more");
  put_beside(d, x_of(labelled), LABELS, 0, TOKEN_oom, " font-weight=\"600\"");
}

/* "peak", "start", "end"; NULL: it is told by its event. */
static const char *moment_name(const drawing *d) {
  const vs_when_kind kind = d->call->request->at.kind;
  if (kind == VS_WHEN_PEAK) return "peak";
  if (kind == VS_WHEN_END) return "end";
  return d->still->moment < 0 ? "start" : NULL;
}

/* `before` and its name, or "event 1,234". */
static void put_moment(const drawing *d, vs_text *to, const char *before) {
  const char *name = moment_name(d);
  if (name != NULL) {
    vs_text_format(to, "%s%s", before, name);
    return;
  }
  vs_text_cstr(to, "event ");
  vs_text_count(to, (uint64_t)d->still->moment);
}

static void put_mark(const drawing *d) {
  char path[64];
  const vs_still_picture *s = d->still;
  vs_text *scratch = &d->call->scratch;
  const int x = x_of(s->column), row = d->failure == NULL ? LABELS : LABELS + LABEL_ROW;
  const int y = y_of(d, s->groups.bytes);
  vs_format(path, sizeof path, "M%d %dV%d", x, row - 12, y);
  put_line(d, path, " id=\"mark\"", TOKEN_text);
  vs_text_format(d->text, "<circle cx=\"%d\" cy=\"%d\" r=\"3.5\" stroke-width=\"1.5\"", x, y);
  vs_text_format(d->text, " class=\"fill-text stroke-canvas\" fill=\"%s\" stroke=\"%s\"/>\n",
                 tokens[TOKEN_text].light, tokens[TOKEN_canvas].light);
  put_moment(d, scratch, "");
  vs_text_cstr(scratch, ": ");
  vs_text_bytes(scratch, s->groups.bytes, VS_UNIT_BINARY);
  const int avoid = d->failure == NULL ? 0 : x_of(vs_still_picture_column(s, d->failure->event));
  put_beside(d, x, row, avoid, TOKEN_text, " font-weight=\"600\"");
}

/* ---- legend ---------------------------------------------------------------------------------------------------- */

/* Puts the cells of figures of a row, and begins its text. */
static void row_begin(const drawing *d, int y, uint64_t bytes, bool has_share, const char *more) {
  vs_text_format(d->text, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", BYTES_END, y);
  put_bytes(d, bytes);
  text_end(d);
  if (has_share) {
    vs_text_format(d->text, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\"", SHARE_END, y);
    put_fill(d, "fill", TOKEN_axis);
    vs_text_byte(d->text, '>');
    vs_text_percent(&d->call->scratch, bytes, d->still->groups.bytes); /* "<0.1%" */
    put_scratch(d, NAME_COLUMNS);
    text_end(d);
  }
  vs_text_format(d->text, "<text x=\"%d\" y=\"%d\"%s>", NAMES, y, more);
}

static void put_band_row(const drawing *d, size_t band, int y) {
  const uint64_t bytes = bytes_of(d->still, band);
  vs_text_format(d->text, "<g><rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" rx=\"2\"", LEFT, y - 11);
  if (band == VS_STILL_LINES) put_fill(d, "fill", TOKEN_others);
  else
    vs_text_format(d->text, " class=\"line-%u\" fill=\"%s\"", (unsigned)band,
                   group_colours[d->still->colour[band]].light);
  vs_text_cstr(d->text, "/>");
  put_band_label(d, band);
  put_tip(d, bytes);
  row_begin(d, y, bytes, true, band == VS_STILL_LINES ? "" : " class=\"code\"");
  put_band_label(d, band);
  put_scratch(d, NAME_COLUMNS);
  vs_text_cstr(d->text, "</text></g>\n");
}

/* A row for a line of the plot: a piece of it, bytes, and what it is. */
static void line_row_begin(const drawing *d, int y, const char *more, token colour, uint64_t bytes) {
  char path[64];
  vs_format(path, sizeof path, "M%d %d.5h14", LEFT - 1, y - 5);
  put_line(d, path, more, colour);
  row_begin(d, y, bytes, false, "");
}

static int put_line_rows(const drawing *d, int y) {
  vs_text *text = d->text;
  if (d->still->has_reserved) {
    const vs_curve *reserved = &d->report->curves.curve[VS_CURVE_RESERVED];
    line_row_begin(d, y, " stroke-width=\"1.5\"", TOKEN_reserved, positive(reserved->peak));
    vs_text_cstr(text, "reserved, at its own peak");
    text_end(d);
    y += ROW;
  }
  if (d->capacity != 0) {
    line_row_begin(d, y, " stroke-width=\"1.5\" stroke-dasharray=\"4 2\"", TOKEN_text, d->capacity);
    vs_text_cstr(text, d->is_total ? "memory of the GPU" : "the process could reserve");
    if (!d->shows_capacity) vs_text_cstr(text, " (far above the picture)");
    text_end(d);
    y += ROW;
  }
  if (d->failure != NULL) {
    const size_t count = d->report->ooms.list.count;
    line_row_begin(d, y, " stroke-width=\"1.5\"", TOKEN_oom, d->failure->size);
    vs_text_cstr(text, "out of memory: ");
    vs_frames_put_owner(&d->call->engine->frames, &d->call->scratch, d->failure->stack, false, VS_PATH_SHORT);
    put_scratch(d, NAME_COLUMNS / 2);
    if (count > 1) {
      vs_text_cstr(text, " (the last of ");
      vs_text_count(text, count);
      vs_text_byte(text, ')');
    }
    text_end(d);
    y += ROW;
  }
  return y;
}

static int put_legend(const drawing *d) {
  int y = d->plot + PLOT_HEIGHT + 54;
  text_begin(d, BYTES_END, y, 12, TOKEN_axis, " text-anchor=\"end\"");
  vs_text_cstr(d->text, "requested");
  text_end(d);
  text_begin(d, NAMES, y, 12, TOKEN_axis, "");
  vs_text_cstr(d->text, "allocated by, at ");
  put_moment(d, d->text, "the ");
  text_end(d);
  vs_text_cstr(d->text, "<g font-size=\"13\"");
  put_fill(d, "fill", TOKEN_text);
  vs_text_cstr(d->text, ">\n");
  for (size_t band = 0; band < d->still->lines; band++) put_band_row(d, band, y += ROW);
  if (d->has_others) put_band_row(d, VS_STILL_LINES, y += ROW);
  y = put_line_rows(d, y + ROW + 6);
  vs_text_cstr(d->text, "</g>\n");
  return y;
}

static int legend_height(const drawing *d) {
  const int rows = (int)d->still->lines + d->has_others + d->still->has_reserved + (d->capacity != 0) +
                   (d->failure != NULL);
  return 54 + ROW * rows + 6 + 18;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static void draw(drawing *d) {
  d->plot = LABELS + 10 + (d->failure == NULL ? 0 : LABEL_ROW);
  find_capacity(d);
  find_top(d);
  put_head(d, d->plot + PLOT_HEIGHT + legend_height(d));
  put_y_axis(d);
  put_stack(d);
  put_x_axis(d);
  put_reserved(d);
  put_capacity(d);
  put_failures(d);
  put_mark(d);
  const int foot = put_legend(d);
  VS_ASSERT(foot == d->plot + PLOT_HEIGHT + legend_height(d) - 18 + ROW || d->text->status != VS_OK);
  (void)foot;
  vs_text_cstr(d->text, "</svg>\n");
}

static vs_status draw_still(vs_call *call, vs_still_picture *still) {
  vs_report *report;
  VS_TRY(vs_cached_report(call->engine->host, call->device, &report));
  VS_TRY(vs_still_picture_build(call, still));
  drawing d = {.call = call, .text = call->text, .still = still, .report = report};
  const size_t count = report->ooms.list.count;
  if (count != 0 && !has_filter(&d)) d.failure = &report->ooms.list.data[count - 1];
  d.has_others = still->highest[VS_STILL_LINES] != 0;
  draw(&d);
  return VS_OK;
}

vs_status vs_export_svg(vs_call *call) {
  vs_still_picture *still = vs_host_alloc(call->engine->host, sizeof *still);
  if (still == NULL) return VS_NO_MEMORY;
  *still = (vs_still_picture){0};
  const vs_status status = draw_still(call, still);
  vs_still_picture_deinit(call, still);
  vs_host_free(call->engine->host, still, sizeof *still);
  return status;
}
