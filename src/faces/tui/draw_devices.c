/* The table of devices: one row each, with a bar for how full it is. */
#include "base/check.h"
#include "faces/tui/draw.h"
#include "faces/tui/words.h"

typedef enum column {
  LABEL,
  NAME,
  BAR,
  USED,
  TOTAL,
  FREE,
  FULL,
  BUSY,
  TEMPERATURE,
  POWER,
  CUDA,
  BUS,
  COLUMN_COUNT
} column;

static const vs_layout_column columns[COLUMN_COUNT] = {
    [LABEL] = {"GPU", 3, 3, 0, false},        [NAME] = {"Name", 4, 4, 6, false},
    [BAR] = {"Memory, GiB", 8, 44, 5, false}, [USED] = {"Used", 6, 7, 0, true},
    [TOTAL] = {"Total", 6, 7, 1, true},       [FREE] = {"Free", 6, 7, 2, true},
    [FULL] = {"Full", 4, 4, 7, true},         [BUSY] = {"Util", 6, 6, 3, true},
    [TEMPERATURE] = {"Temp", 6, 6, 8, true},  [POWER] = {"Power", 8, 9, 9, true},
    [CUDA] = {"CUDA", 7, 7, 10, false},       [BUS] = {"PCI", 16, 16, 11, false},
};

enum { NAME_MOST = 28 };

/* The columns of labels and names are as wide as the longest of them. */
static void fit(const vs_top_sample *sample, uint32_t room, vs_layout_slot slots[static VS_LAYOUT_COLUMNS]) {
  vs_layout_column wanted[COLUMN_COUNT];
  memcpy(wanted, columns, sizeof wanted);
  for (size_t i = 0; i < sample->devices.count; i++) {
    const vs_top_device *device = &sample->devices.data[i];
    const uint32_t label = vs_canvas_width(vs_str_from(device->label));
    uint32_t name = vs_canvas_width(vs_top_short_name(&device->info));
    if (name > NAME_MOST) name = NAME_MOST;
    if (label > wanted[LABEL].least) wanted[LABEL].least = label;
    if (name > wanted[NAME].least) wanted[NAME].least = name;
  }
  if (wanted[NAME].least > room / 5 &&
      wanted[NAME].least > 12) { /* cut names, so that the bar stays readable */
    wanted[NAME].most = wanted[NAME].least;
    wanted[NAME].least = room / 5 > 12 ? room / 5 : 12;
  }
  vs_layout_fit(wanted, COLUMN_COUNT, room, slots);
}

/* ---- a bar: a heavy line for used memory and a thin line for the rest, to half a column; # and - without Unicode */

static void put_bar(vs_canvas *canvas, uint32_t x, uint32_t y, uint32_t room,
                    const vs_devices_memory *memory) {
  if (!vs_metric_is_known(memory->used) || !vs_metric_is_known(memory->total) || memory->total.value == 0) {
    const vs_metric why = vs_metric_is_known(memory->used) ? memory->total : memory->used;
    (void)vs_canvas_put(canvas, x, y, room, VS_INK_FAINT, vs_str_from(vs_reason_text(why.reason)));
    return;
  }
  const uint64_t used = memory->used.value, total = memory->total.value;
  const vs_ink ink = vs_top_ink_of_memory(used, total);
  uint64_t halves =
      used >= total ? 2 * (uint64_t)room : (used / 1024 * 2 * room + total / 2048) / (total / 1024 + 1);
  if (halves == 0 && used != 0) halves = 1;
  VS_ASSERT(halves <= 2 * (uint64_t)room);
  for (uint32_t i = 0; i < room; i++) {
    const bool is_full = 2 * (uint64_t)i + 1 < halves, is_half = 2 * (uint64_t)i + 1 == halves;
    if (canvas->has_unicode)
      vs_canvas_glyph(canvas, x + i, y, is_full || is_half ? ink : VS_INK_FAINT,
                      is_full   ? 0x2501
                      : is_half ? 0x2578
                                : 0x2500);
    else
      vs_canvas_glyph(canvas, x + i, y, is_full || is_half ? ink : VS_INK_FAINT,
                      is_full || is_half ? '#' : '-');
  }
}

/* ---- cells */

static void put_word(vs_canvas *canvas, const vs_layout_slot *slot, uint32_t y, vs_ink ink,
                     const char *word) {
  if (slot->columns != 0) vs_canvas_put_right(canvas, 1 + slot->x, y, slot->columns, ink, vs_str_from(word));
}

static vs_ink ink_of(vs_metric metric) { return vs_metric_is_known(metric) ? VS_INK_PLAIN : VS_INK_FAINT; }

static void put_memory(vs_canvas *canvas, const vs_layout_slot *slots, uint32_t y,
                       const vs_devices_memory *memory) {
  char word[VS_TOP_WORD];
  const bool is_known = vs_metric_is_known(memory->used) && vs_metric_is_known(memory->total);
  const vs_ink ink = is_known ? vs_top_ink_of_memory(memory->used.value, memory->total.value) : VS_INK_FAINT;
  vs_top_put_gib(word, memory->used);
  put_word(canvas, &slots[USED], y, ink, word);
  vs_top_put_gib(word, memory->total);
  put_word(canvas, &slots[TOTAL], y, ink_of(memory->total), word);
  vs_top_put_gib(word, memory->free);
  put_word(canvas, &slots[FREE], y, vs_metric_is_known(memory->free) ? VS_INK_TITLE : VS_INK_FAINT, word);
  vs_top_put_share(word, memory->used, memory->total);
  put_word(canvas, &slots[FULL], y, ink, word);
  if (slots[BAR].columns != 0) put_bar(canvas, 1 + slots[BAR].x, y, slots[BAR].columns, memory);
}

static void put_identity(vs_canvas *canvas, const vs_layout_slot *slots, uint32_t y,
                         const vs_top_device *device) {
  const vs_devices_info *info = &device->info;
  char word[VS_TOP_WORD];
  (void)vs_canvas_put(canvas, 1 + slots[LABEL].x, y, slots[LABEL].columns, VS_INK_TITLE,
                      vs_str_from(device->label));
  if (slots[NAME].columns != 0)
    (void)vs_canvas_put(canvas, 1 + slots[NAME].x, y, slots[NAME].columns, VS_INK_PLAIN,
                        vs_top_short_name(info));
  if (vs_metric_is_known(info->cuda_index)) vs_format(word, sizeof word, "cuda:%U", info->cuda_index.value);
  else vs_format(word, sizeof word, "%s", "-");
  if (slots[CUDA].columns != 0)
    (void)vs_canvas_put(canvas, 1 + slots[CUDA].x, y, slots[CUDA].columns, ink_of(info->cuda_index),
                        vs_str_from(word));
  if (slots[BUS].columns != 0 && !info->is_mig)
    (void)vs_canvas_put(canvas, 1 + slots[BUS].x, y, slots[BUS].columns, VS_INK_FAINT,
                        vs_str_from(info->bus_id));
}

static void put_device(vs_canvas *canvas, const vs_layout_slot *slots, uint32_t y,
                       const vs_top_device *device) {
  char word[VS_TOP_WORD];
  put_identity(canvas, slots, y, device);
  put_memory(canvas, slots, y, &device->memory);
  vs_top_put_percent(word, device->utilization);
  put_word(canvas, &slots[BUSY], y, vs_top_ink_of_utilization(device->utilization), word);
  vs_top_put_celsius(word, device->temperature, canvas->has_unicode);
  put_word(canvas, &slots[TEMPERATURE], y, ink_of(device->temperature), word);
  vs_top_put_power(word, device->power, device->power_limit);
  put_word(canvas, &slots[POWER], y, ink_of(device->power), word);
}

static void put_headings(vs_canvas *canvas, const vs_layout_slot *slots, vs_area area) {
  vs_canvas_ink(canvas, area.x, area.y, area.columns, VS_INK_BAR);
  for (size_t i = 0; i < COLUMN_COUNT; i++) {
    vs_str heading = vs_str_from(columns[i].heading);
    if (slots[i].columns == 0) continue;
    if (i == BAR && slots[i].columns < heading.size) heading = VS_STR("GiB");
    if (columns[i].is_right)
      vs_canvas_put_right(canvas, 1 + slots[i].x, area.y, slots[i].columns, VS_INK_BAR, heading);
    else (void)vs_canvas_put(canvas, 1 + slots[i].x, area.y, slots[i].columns, VS_INK_BAR, heading);
  }
}

void vs_top_draw_devices(vs_canvas *canvas, vs_area area, const vs_top_scene *scene) {
  vs_layout_slot slots[VS_LAYOUT_COLUMNS];
  const size_t count = scene->sample->devices.count;
  if (area.rows == 0 || area.columns < 2) return;
  fit(scene->sample, area.columns - 2, slots);
  const bool has_headings = area.rows > count || area.rows > 2;
  if (has_headings) put_headings(canvas, slots, area);
  const uint32_t rows = area.rows - has_headings, y = area.y + has_headings;
  const size_t selected = scene->view->device;
  const size_t first = count <= rows || selected < rows ? 0 : selected - rows + 1;
  VS_ASSERT(rows == 0 || count == 0 ||
            (first <= selected && selected < first + rows)); /* it is on the screen */
  for (uint32_t i = 0; i < rows && first + i < count; i++) {
    put_device(canvas, slots, y + i, &scene->sample->devices.data[first + i]);
    if (first + i == selected && count > 1 && scene->history != NULL)
      vs_canvas_glyph(canvas, 0, y + i, VS_INK_ACCENT, canvas->has_unicode ? 0x25b8 : '>');
  }
}
