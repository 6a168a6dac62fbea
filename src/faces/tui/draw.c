#include "faces/tui/draw.h"
#include "base/check.h"
#include "faces/tui/words.h"

enum { NOTE_ROWS = 2 };

static bool is_text(const vs_top_scene *scene) { return scene->history == NULL; }

/* ---- the first line: parts from the left while they fit, the time at the right */

static uint32_t put_part(vs_canvas *canvas, uint32_t x, uint32_t end, vs_ink ink, const char *text) {
  const uint32_t width = vs_canvas_width(vs_str_from(text));
  if (width == 0 || x + width > end) return x;
  return x + vs_canvas_put(canvas, x, 0, width, ink, vs_str_from(text)) + 2;
}

static void put_seconds(char to[static VS_TOP_WORD], uint64_t us) {
  const uint64_t tenths = us / 100000;
  if (us % 1000000 == 0) vs_format(to, VS_TOP_WORD, "every %U s", us / 1000000);
  else vs_format(to, VS_TOP_WORD, "every %U.%U s", tenths / 10, tenths % 10);
}

static void draw_header(vs_canvas *canvas, vs_area area, const vs_top_scene *scene) {
  if (area.rows == 0) return;
  const vs_top_sample *sample = scene->sample;
  const vs_ink ink = VS_INK_PLAIN;
  char text[160];
  const uint32_t room = area.columns > 10 ? area.columns - 10 : area.columns;
  uint32_t x = put_part(canvas, 1, room, VS_INK_TITLE, "vramscope top");
  if (x == 1) return; /* not even the name fits */
  if (scene->state->is_paused) x = put_part(canvas, x, room, VS_INK_TROUBLE, " PAUSED ");
  x = put_part(canvas, x, room, ink, sample->host);
  vs_format(text, sizeof text, "driver %s", sample->driver.driver_version);
  if (sample->driver.driver_version[0] != 0) x = put_part(canvas, x, room, ink, text);
  if (vs_metric_is_known(sample->driver.cuda_version)) {
    char version[VS_TOP_WORD];
    vs_top_put_cuda(version, sample->driver.cuda_version);
    vs_format(text, sizeof text, "CUDA %s", version);
    x = put_part(canvas, x, room, ink, text);
  }
  if (sample->driver.is_simulated) x = put_part(canvas, x, room, ink, "simulated");
  put_seconds(text, scene->state->interval_us);
  if (!is_text(scene)) (void)put_part(canvas, x, room, ink, text);
  if (area.columns > 10)
    vs_canvas_put_right(canvas, area.columns - 9, area.y, 8, ink, vs_str_from(sample->clock));
}

/* ---- the last line */

static void put_keys(vs_canvas *canvas, vs_area area) {
  static const char *const keys[][2] = {{"q", "quit"},  {"?", "help"},     {"Tab", "GPU"},
                                        {"s", "sort"},  {"/", "filter"},   {"p", "pause"},
                                        {"g", "graph"}, {"r", "reverse"},  {"o", "one GPU"},
                                        {"+-", "zoom"}, {"d", "interval"}, {"Enter", "details"}};
  uint32_t x = 1;
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    const uint32_t key = (uint32_t)strlen(keys[i][0]), word = (uint32_t)strlen(keys[i][1]);
    if (x + key + 1 + word >= area.columns) return;
    (void)vs_canvas_put(canvas, x, area.y, key, VS_INK_TITLE, vs_str_from(keys[i][0]));
    (void)vs_canvas_put(canvas, x + key + 1, area.y, word, VS_INK_FAINT, vs_str_from(keys[i][1]));
    x += key + word + 3;
  }
}

static void draw_footer(vs_canvas *canvas, vs_area area, const vs_top_scene *scene) {
  if (area.rows == 0) return;
  const vs_top_state *state = scene->state;
  char text[256];
  if (state->complaint[0] != 0) {
    (void)vs_canvas_put(canvas, 1, area.y, area.columns - 1, VS_INK_TROUBLE, vs_str_from(state->complaint));
  } else if (state->editing == VS_TOP_EDIT_FILTER) {
    vs_format(text, sizeof text, "Filter: %s_   (Enter keeps it, Esc clears it)", state->typed);
    (void)vs_canvas_put(canvas, 1, area.y, area.columns - 1, VS_INK_TITLE, vs_str_from(text));
  } else if (state->editing == VS_TOP_EDIT_INTERVAL) {
    vs_format(text, sizeof text, "Seconds between two looks: %s_   (Enter, or Esc)", state->typed);
    (void)vs_canvas_put(canvas, 1, area.y, area.columns - 1, VS_INK_TITLE, vs_str_from(text));
  } else if (state->has_help || state->has_details) {
    (void)vs_canvas_put(canvas, 1, area.y, area.columns - 1, VS_INK_FAINT, VS_STR("any key goes back"));
  } else {
    put_keys(canvas, area);
  }
}

/* ---- notes: trouble with the driver, else the notes of the devices */

static void put_trouble(char to[static VS_TOP_NOTE], const vs_top_scene *scene) {
  to[0] = 0;
  if (scene->sample->trouble[0] != 0)
    vs_format(to, VS_TOP_NOTE, "The driver is gone, trying again: %s", scene->sample->trouble);
  else if (scene->silent_us != 0)
    vs_format(to, VS_TOP_NOTE, "The driver has not answered for %U s: the figures are old",
              scene->silent_us / 1000000);
}

static const vs_top_device *device_at(const vs_top_scene *scene, size_t i) {
  VS_ASSERT(i < scene->sample->devices.count);
  return &scene->sample->devices.data[i];
}

/* The rows that the notes take. */
static uint32_t note_rows(const vs_top_scene *scene, uint32_t columns) {
  char note[VS_TOP_NOTE];
  const vs_area area = {1, 0, columns > 2 ? columns - 2 : 1, 0};
  put_trouble(note, scene);
  uint32_t rows = vs_canvas_wrap(NULL, area, VS_INK_PLAIN, vs_str_from(note));
  const size_t count = scene->sample->devices.count;
  const bool has_trouble = rows != 0;
  for (size_t i = 0; i < count && !has_trouble; i++) {
    if (!is_text(scene) && i != scene->view->device) continue;
    vs_top_note(note, device_at(scene, i));
    rows += vs_canvas_wrap(NULL, area, VS_INK_PLAIN, vs_str_from(note));
  }
  return is_text(scene) || rows < NOTE_ROWS ? rows : NOTE_ROWS;
}

static void draw_notes(vs_canvas *canvas, vs_area area, const vs_top_scene *scene) {
  char note[VS_TOP_NOTE];
  area.x = 1;
  area.columns = area.columns > 2 ? area.columns - 2 : 1;
  put_trouble(note, scene);
  if (note[0] != 0) {
    (void)vs_canvas_wrap(canvas, area, VS_INK_TROUBLE, vs_str_from(note));
    return;
  }
  for (size_t i = 0; i < scene->sample->devices.count; i++) {
    if (!is_text(scene) && i != scene->view->device) continue;
    vs_top_note(note, device_at(scene, i));
    const uint32_t rows = vs_canvas_wrap(canvas, area, VS_INK_FAINT, vs_str_from(note));
    area.y += rows;
    area.rows -= rows < area.rows ? rows : area.rows;
  }
}

/* ---- the whole */

static void draw_graphs(vs_canvas *canvas, const vs_layout *layout, const vs_top_scene *scene) {
  if (layout->graph_count == 0) return;
  const size_t count = scene->sample->devices.count, selected = scene->view->device;
  const size_t first = layout->graph_count >= count ? 0 : selected - selected % layout->graph_count;
  for (size_t i = 0; i < layout->graph_count && first + i < count; i++)
    vs_top_draw_graph(canvas, layout->graphs[i], scene, device_at(scene, first + i));
}

static void draw_sums(vs_canvas *canvas, const vs_layout *layout, const vs_top_scene *scene) {
  if (layout->sums.rows == 0 || scene->sample->devices.count == 0) return;
  if (layout->is_panel) {
    vs_top_draw_sums(canvas, layout->sums, device_at(scene, scene->view->device));
  } else if (!is_text(scene)) {
    vs_top_draw_sum_lines(canvas, layout->sums, device_at(scene, scene->view->device));
  } else {
    const uint32_t lines = layout->columns >= VS_LAYOUT_ONE_LINE ? 1 : 2;
    for (uint32_t i = 0; i < scene->sample->devices.count; i++)
      vs_top_draw_sum_lines(canvas, (vs_area){0, layout->sums.y + i * lines, layout->columns, lines},
                            device_at(scene, i));
  }
}

vs_status vs_top_draw(const vs_host *host, vs_canvas *canvas, const vs_top_scene *scene, uint32_t columns,
                      uint32_t rows, uint32_t *page) {
  const vs_layout_wish wish = {.columns = columns,
                               .rows = rows,
                               .devices = (uint32_t)scene->sample->devices.count,
                               .processes = (uint32_t)scene->view->rows.count,
                               .notes = note_rows(scene, columns),
                               .has_graph = scene->state->has_graph && !is_text(scene),
                               .has_footer = !is_text(scene)};
  VS_ASSERT(vs_top_sample_check(scene->sample) == NULL);
  VS_ASSERT(vs_top_view_check(scene->view, scene->sample) == NULL);
  const vs_layout layout = vs_layout_of(&wish);
  VS_TRY(vs_canvas_reset(host, canvas, layout.columns, layout.rows));
  draw_header(canvas, layout.header, scene);
  vs_top_draw_devices(canvas, layout.devices, scene);
  draw_notes(canvas, layout.notes, scene);
  draw_sums(canvas, &layout, scene);
  draw_graphs(canvas, &layout, scene);
  vs_top_draw_processes(canvas, layout.processes, scene);
  VS_ASSERT(layout.header.rows + layout.footer.rows <= layout.rows);
  const uint32_t below = layout.header.rows;
  const vs_area inside = {0, below, layout.columns, layout.rows - below - layout.footer.rows};
  if (scene->state->has_help) vs_top_draw_help(canvas, inside);
  else if (scene->state->has_details) vs_top_draw_details(canvas, inside, scene);
  draw_footer(canvas, layout.footer, scene);
  VS_ASSERT(vs_canvas_check(canvas) == NULL);
  *page = layout.processes.rows > 1 ? layout.processes.rows - 1 : 0;
  return VS_OK;
}
