/* The table of processes, and the details of one. */
#include "base/check.h"
#include "faces/tui/draw.h"
#include "faces/tui/words.h"

typedef enum column {
  DEVICE,
  PID,
  USER,
  KIND,
  MEMORY,
  SHARE,
  ALLOCATED,
  RESERVED,
  LIBRARIES,
  AGE,
  CONTAINER,
  COMMAND,
  COLUMN_COUNT
} column;

static const vs_layout_column columns[COLUMN_COUNT] = {
    [DEVICE] = {"GPU", 4, 4, 2, false},
    [PID] = {"PID", 7, 7, 0, true},
    [USER] = {"User", 5, 5, 3, false},
    [KIND] = {"Type", 5, 5, 5, false},
    [MEMORY] = {"GiB", 6, 7, 0, true},
    [SHARE] = {"%", 4, 4, 6, true},
    [ALLOCATED] = {"Alloc", 6, 7, 2, true},
    [RESERVED] = {"Reserv", 6, 7, 2, true},
    [LIBRARIES] = {"Libs", 5, 6, 2, true},
    [AGE] = {"Age", 6, 6, 7, true},
    [CONTAINER] = {"Container", 12, 12, 4, false},
    [COMMAND] = {"Command", 26, VS_CANVAS_MOST, 1, false},
};

enum { USER_MOST = 12 };

/* The column of users is as wide as the longest, that of pids fits the largest. Containers have a column only if a process
 * is in one, and recordings have theirs only if a process is recorded. */
static void fit(const vs_top_scene *scene, uint32_t room, vs_layout_slot slots[static VS_LAYOUT_COLUMNS]) {
  vs_layout_column wanted[COLUMN_COUNT];
  const vs_top_view *view = scene->view;
  memcpy(wanted, columns, sizeof wanted);
  if (!view->has_containers) wanted[CONTAINER].heading = NULL;
  if (!view->has_recordings)
    wanted[ALLOCATED].heading = wanted[RESERVED].heading = wanted[LIBRARIES].heading = NULL;
  if (scene->sample->devices.count < 2) wanted[DEVICE].rank = 8;
  for (size_t i = 0; i < view->rows.count; i++) {
    const vs_top_process *process = &scene->sample->processes.data[view->rows.data[i]];
    const uint32_t user = vs_canvas_width(vs_str_from(process->user));
    if (user > wanted[USER].least) wanted[USER].least = user < USER_MOST ? user : USER_MOST;
    if (process->pid > 9999999) wanted[PID].least = wanted[PID].most = 10;
  }
  vs_layout_fit(wanted, COLUMN_COUNT, room, slots);
}

/* The column that the rows are sorted by. */
static column sorted_column(vs_top_sort sort) {
  static const column of[VS_TOP_SORT_COUNT] = {
      [VS_TOP_SORT_MEMORY] = MEMORY,   [VS_TOP_SORT_DEVICE] = DEVICE, [VS_TOP_SORT_PID] = PID,
      [VS_TOP_SORT_USER] = USER,       [VS_TOP_SORT_KIND] = KIND,     [VS_TOP_SORT_START] = AGE,
      [VS_TOP_SORT_COMMAND] = COMMAND,
  };
  VS_ASSERT(sort < VS_TOP_SORT_COUNT);
  return of[sort];
}

/* The heading, with an arrow if the rows are sorted by it: down if the largest is first. The column Age is sorted by the
 * start, so its arrow is that of the start. */
static void put_heading(vs_canvas *canvas, const vs_layout_slot *slot, uint32_t y, column c,
                        const vs_top_state *state, bool is_live) {
  char text[VS_TOP_WORD];
  const bool is_sorted = is_live && c == sorted_column(state->sort);
  const bool down = vs_top_is_falling(state);
  const char *arrow = !is_sorted            ? ""
                      : canvas->has_unicode ? (down ? "\xe2\x96\xbe" : "\xe2\x96\xb4")
                      : down                ? "v"
                                            : "^";
  vs_format(text, sizeof text, "%s%s", columns[c].heading, arrow);
  const vs_str heading = vs_str_from(text);
  if (columns[c].is_right) vs_canvas_put_right(canvas, 1 + slot->x, y, slot->columns, VS_INK_BAR, heading);
  else (void)vs_canvas_put(canvas, 1 + slot->x, y, slot->columns, VS_INK_BAR, heading);
}

static void put_left(vs_canvas *canvas, const vs_layout_slot *slot, uint32_t y, vs_ink ink,
                     const char *text) {
  if (slot->columns != 0) (void)vs_canvas_put(canvas, 1 + slot->x, y, slot->columns, ink, vs_str_from(text));
}

static void put_right(vs_canvas *canvas, const vs_layout_slot *slot, uint32_t y, vs_ink ink,
                      const char *text) {
  if (slot->columns != 0) vs_canvas_put_right(canvas, 1 + slot->x, y, slot->columns, ink, vs_str_from(text));
}

static void put_memory(vs_canvas *canvas, const vs_layout_slot *slots, uint32_t y,
                       const vs_top_process *process, const vs_top_device *device) {
  char word[VS_TOP_WORD];
  const vs_metric total = device->memory.total;
  const bool is_known = vs_metric_is_known(process->bytes);
  vs_top_put_gib(word, process->bytes);
  put_right(canvas, &slots[MEMORY], y, is_known ? VS_INK_TITLE : VS_INK_FAINT, word);
  vs_top_put_share(word, process->bytes, total);
  put_right(canvas, &slots[SHARE], y, VS_INK_FAINT, word);
}

static void put_recorded(vs_canvas *canvas, const vs_layout_slot *slot, uint32_t y, vs_metric bytes) {
  char word[VS_TOP_WORD] = "-";
  if (vs_metric_is_known(bytes)) vs_top_put_gib(word, bytes);
  put_right(canvas, slot, y, vs_metric_is_known(bytes) ? VS_INK_PLAIN : VS_INK_FAINT, word);
}

static void put_process(vs_canvas *canvas, const vs_layout_slot *slots, uint32_t y,
                        const vs_top_sample *sample, const vs_top_process *process) {
  VS_ASSERT(process->device < sample->devices.count);
  const vs_top_device *device = &sample->devices.data[process->device];
  char word[VS_TOP_WORD];
  put_left(canvas, &slots[DEVICE], y, VS_INK_PLAIN, device->label);
  vs_format(word, sizeof word, "%U", process->pid);
  put_right(canvas, &slots[PID], y, process->is_visible ? VS_INK_PLAIN : VS_INK_FAINT, word);
  put_left(canvas, &slots[USER], y, VS_INK_PLAIN, process->user[0] != 0 ? process->user : "-");
  put_left(canvas, &slots[KIND], y, VS_INK_PLAIN, process->kind);
  put_memory(canvas, slots, y, process, device);
  put_recorded(canvas, &slots[ALLOCATED], y, process->recorded.allocated);
  put_recorded(canvas, &slots[RESERVED], y, process->recorded.reserved);
  put_recorded(canvas, &slots[LIBRARIES], y, process->recorded.libraries);
  vs_format(word, sizeof word, "%s", "-");
  if (process->start_us != 0 && sample->wall_us > process->start_us)
    vs_top_put_age(word, sample->wall_us - process->start_us);
  put_right(canvas, &slots[AGE], y, VS_INK_PLAIN, word);
  put_left(canvas, &slots[CONTAINER], y, VS_INK_FAINT, process->container);
  if (slots[COMMAND].columns != 0)
    (void)vs_canvas_put(canvas, 1 + slots[COMMAND].x, y, slots[COMMAND].columns,
                        process->is_visible ? VS_INK_PLAIN : VS_INK_FAINT, vs_top_command(process));
}

/* ---- why no process is listed */

static void put_nothing(vs_canvas *canvas, vs_area area, const vs_top_scene *scene) {
  const vs_top_sample *sample = scene->sample;
  char text[VS_TOP_NOTE];
  vs_reason reason = VS_REASON_KNOWN;
  for (size_t i = 0; i < sample->devices.count; i++)
    if (!vs_metric_is_known(sample->devices.data[i].process_count))
      reason = sample->devices.data[i].process_count.reason;
  if (scene->view->left_out != 0) vs_format(text, sizeof text, "%s", "no process is left by the filter");
  else if (reason != VS_REASON_KNOWN)
    vs_format(text, sizeof text, "the processes are unknown: %s", vs_reason_text(reason));
  else if (sample->devices.count != 0 && sample->devices.data[0].may_miss)
    vs_format(text, sizeof text, "%s", "no process is seen from this container");
  else vs_format(text, sizeof text, "%s", "no process holds memory");
  (void)vs_canvas_put(canvas, 1, area.y, area.columns - 2, VS_INK_FAINT, vs_str_from(text));
}

/* ---- how many processes are not shown and why, at the right of the headings: a filter may hide the largest */

static uint32_t put_hidden(vs_canvas *canvas, vs_area area, const vs_top_scene *scene, uint32_t rows,
                           size_t first) {
  char text[VS_TOP_WORD + VS_TOP_TEXT], part[VS_TOP_WORD] = "";
  const vs_top_view *view = scene->view;
  const size_t count = view->rows.count;
  if (count > rows)
    vs_format(part, sizeof part, "%U-%U of %U", (uint64_t)first + 1,
              (uint64_t)(first + rows < count ? first + rows : count), (uint64_t)count);
  const char *filter = scene->state->filter, *mark = filter[0] == 0 ? "" : "/";
  if (view->left_out != 0)
    vs_format(text, sizeof text, "%s%s%U hidden %s%s", part, part[0] == 0 ? "" : ", ",
              (uint64_t)view->left_out, mark, filter);
  else vs_format(text, sizeof text, "%s", part);
  const uint32_t width = vs_canvas_width(vs_str_from(text));
  if (width == 0 || width + 2 > area.columns / 2) return 0;
  vs_canvas_put_right(canvas, area.x, area.y, area.columns - 1, VS_INK_BAR, vs_str_from(text));
  return width + 2;
}

void vs_top_draw_processes(vs_canvas *canvas, vs_area area, const vs_top_scene *scene) {
  if (area.rows < 2 || area.columns < 4) return;
  vs_layout_slot slots[VS_LAYOUT_COLUMNS];
  const vs_top_view *view = scene->view;
  fit(scene, area.columns - 2, slots);
  vs_canvas_ink(canvas, area.x, area.y, area.columns, VS_INK_BAR);
  for (column c = 0; c < COLUMN_COUNT; c++)
    if (slots[c].columns != 0)
      put_heading(canvas, &slots[c], area.y, c, scene->state, scene->history != NULL);
  const uint32_t rows = area.rows - 1;
  VS_ASSERT(rows != 0);
  const size_t first = view->chosen == VS_TOP_NONE ? 0 : view->chosen / rows * rows;
  (void)put_hidden(canvas, area, scene, rows, first);
  for (uint32_t i = 0; i < rows && first + i < view->rows.count; i++) {
    const uint32_t row = view->rows.data[first + i];
    put_process(canvas, slots, area.y + 1 + i, scene->sample, &scene->sample->processes.data[row]);
    if (first + i == view->chosen) vs_canvas_ink(canvas, area.x, area.y + 1 + i, area.columns, VS_INK_CHOSEN);
  }
  if (view->rows.count == 0) put_nothing(canvas, (vs_area){area.x, area.y + 1, area.columns, 1}, scene);
}

/* ---- the details of one */

typedef struct sheet {
  vs_canvas *canvas;
  vs_area area;
} sheet;

static void put_fact(sheet *s, const char *label, vs_str text) {
  enum { LABEL = 11 };
  if (text.size == 0 || s->area.rows == 0 || s->area.columns <= LABEL + 8) return;
  (void)vs_canvas_put(s->canvas, s->area.x, s->area.y, LABEL, VS_INK_FAINT, vs_str_from(label));
  const vs_area room = {s->area.x + LABEL, s->area.y, s->area.columns - LABEL, s->area.rows};
  uint32_t rows = vs_canvas_wrap(s->canvas, room, VS_INK_PLAIN, text);
  if (rows > s->area.rows) rows = s->area.rows;
  s->area.y += rows;
  s->area.rows -= rows;
}

/* What its recording says. */
static void put_recording(sheet *s, const vs_top_recorded *recorded) {
  char text[2 * VS_TOP_WHY], word[VS_TOP_WORD], other[VS_TOP_WORD];
  vs_top_put_gib(word, recorded->allocated);
  vs_top_put_gib(other, recorded->reserved);
  if (vs_metric_is_known(recorded->reserved))
    vs_format(text, sizeof text, "%s GiB allocated, %s GiB reserved", word, other);
  else vs_format(text, sizeof text, "unknown: %s", recorded->pytorch_why);
  put_fact(s, "PyTorch", vs_str_from(text));
  vs_top_put_gib(word, recorded->libraries);
  if (vs_metric_is_known(recorded->libraries))
    vs_format(text, sizeof text, "%s GiB (%U bytes)", word, recorded->libraries.value);
  else vs_format(text, sizeof text, "unknown: %s", recorded->libraries_why);
  put_fact(s, "libraries", vs_str_from(text));
}

void vs_top_draw_details(vs_canvas *canvas, vs_area area, const vs_top_scene *scene) {
  if (scene->view->chosen == VS_TOP_NONE || area.columns < 4) return;
  const vs_top_sample *sample = scene->sample;
  const vs_top_process *process = &sample->processes.data[scene->view->rows.data[scene->view->chosen]];
  const vs_top_device *device = &sample->devices.data[process->device];
  sheet s = {canvas, {2, area.y + 1, area.columns - 4, area.rows < 1 ? 0 : area.rows - 1}};
  char text[160], word[VS_TOP_WORD];
  vs_canvas_clear(canvas, area);
  vs_format(text, sizeof text, "%U", process->pid);
  if (process->inner_pid != 0 && process->inner_pid != process->pid)
    vs_format(text, sizeof text, "%U, inside its container %U", process->pid, process->inner_pid);
  put_fact(&s, "pid", vs_str_from(text));
  put_fact(&s, "user", vs_str_from(process->user));
  vs_format(text, sizeof text, "%s  %S", device->label, vs_str_from(device->info.name));
  put_fact(&s, "GPU", vs_str_from(text));
  vs_top_put_gib(word, process->bytes);
  if (vs_metric_is_known(process->bytes))
    vs_format(text, sizeof text, "%s GiB (%U bytes)", word, process->bytes.value);
  else vs_format(text, sizeof text, "unknown: %s", vs_reason_text(process->bytes.reason));
  put_fact(&s, "memory", vs_str_from(text));
  put_recording(&s, &process->recorded);
  const uint32_t kinds = (uint32_t)strlen(process->kind);
  put_fact(&s, "type", kinds == 0 ? VS_STR("") : vs_str_from(process->kind));
  if (process->start_us != 0 && sample->wall_us > process->start_us) {
    vs_top_put_age(word, sample->wall_us - process->start_us);
    put_fact(&s, "running", vs_str_from(word));
  }
  put_fact(&s, "container", vs_str_from(process->container));
  if (process->is_visible) put_fact(&s, "command", vs_top_command(process));
  else
    put_fact(
        &s, "command",
        VS_STR("not visible here: the driver counts by the host's numbers, and this one belongs to another "
               "container, or to a user whose processes are hidden"));
}
