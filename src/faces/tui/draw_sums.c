/* How a device's memory is divided: rows that add up, also as they are printed. */
#include "base/check.h"
#include "faces/tui/draw.h"
#include "faces/tui/words.h"

/* Figures in hundredths of a GiB. Each is rounded by itself, except for reserved and unattributed, which are printed as the
 * difference of the rounded ones. So the printed rows add up, and those two are off by at most a hundredth. */
typedef struct terms {
  char total[VS_TOP_WORD], used[VS_TOP_WORD], free[VS_TOP_WORD], reserved[VS_TOP_WORD],
      attributed[VS_TOP_WORD], unattributed[VS_TOP_WORD];
} terms;

static void put_rest(char to[static VS_TOP_WORD], vs_metric metric, vs_metric whole, vs_metric part,
                     vs_metric other) {
  vs_top_put_gib(to, metric);
  if (!vs_metric_is_known(metric) || !vs_metric_is_known(whole) || !vs_metric_is_known(part)) return;
  const uint64_t parts = vs_top_hundredths(part.value) + vs_top_hundredths(other.value);
  const uint64_t all = vs_top_hundredths(whole.value);
  if (parts <= all) vs_top_put_hundredths(to, all - parts);
}

static terms terms_of(const vs_devices_memory *memory) {
  terms t;
  vs_top_put_gib(t.total, memory->total);
  vs_top_put_gib(t.used, memory->used);
  vs_top_put_gib(t.free, memory->free);
  vs_top_put_gib(t.attributed, memory->attributed);
  put_rest(t.reserved, memory->reserved, memory->total, memory->used, memory->free);
  put_rest(t.unattributed, memory->unattributed, memory->used, memory->attributed, (vs_metric){0});
  if (memory->api == 1) vs_format(t.reserved, sizeof t.reserved, "%s", "in used");
  return t;
}

/* ---- one row for each term */

enum { VALUE = 8, PERCENT = 5 };

static void put_row(vs_canvas *canvas, vs_area area, uint32_t row, const char *label, const char *value,
                    vs_metric part, vs_metric whole, vs_ink ink) {
  char percent[VS_TOP_WORD] = "";
  if (row >= area.rows) return;
  VS_ASSERT(area.columns >= VALUE + PERCENT);
  if (vs_metric_is_known(part)) vs_top_put_share(percent, part, whole);
  const uint32_t words = area.columns - VALUE - PERCENT;
  (void)vs_canvas_put(canvas, area.x, area.y + row, words, ink, vs_str_from(label));
  vs_canvas_put_right(canvas, area.x + words, area.y + row, VALUE,
                      value[0] >= '0' && value[0] <= '9' ? ink : VS_INK_FAINT, vs_str_from(value));
  vs_canvas_put_right(canvas, area.x + words + VALUE, area.y + row, PERCENT, VS_INK_FAINT,
                      vs_str_from(percent));
}

void vs_top_draw_sums(vs_canvas *canvas, vs_area area, const vs_top_device *device) {
  const vs_devices_memory *m = &device->memory;
  const terms t = terms_of(m);
  char title[VS_TOP_WORD], processes[VS_TOP_WORD];
  const vs_metric count = device->process_count;
  area.columns -= 1;
  vs_format(title, sizeof title, "GPU %s holds", device->label);
  (void)vs_canvas_put(canvas, area.x, area.y, area.columns, VS_INK_TITLE, vs_str_from(title));
  vs_canvas_put_right(canvas, area.x, area.y, area.columns - PERCENT, VS_INK_FAINT, VS_STR("GiB"));
  if (!vs_metric_is_known(count)) vs_format(processes, sizeof processes, "%s", "  processes");
  else vs_format(processes, sizeof processes, "  %U process%s", count.value, count.value == 1 ? "" : "es");
  const vs_ink used = vs_metric_is_known(m->used) && vs_metric_is_known(m->total)
                          ? vs_top_ink_of_memory(m->used.value, m->total.value)
                          : VS_INK_PLAIN;
  put_row(canvas, area, 1, "used", t.used, m->used, m->total, used);
  put_row(canvas, area, 2, processes, t.attributed, m->attributed, m->total, VS_INK_PLAIN);
  put_row(canvas, area, 3, "  unattributed", t.unattributed, m->unattributed, m->total, VS_INK_PLAIN);
  put_row(canvas, area, 4, m->is_shared ? "free, with host" : "free", t.free, m->free, m->total,
          VS_INK_TITLE);
  put_row(canvas, area, 5, "reserved", t.reserved, m->reserved, m->total, VS_INK_PLAIN);
  put_row(canvas, area, 6, "total", t.total, m->total, m->total, VS_INK_PLAIN);
}

/* ---- in one or two lines */

enum { UNIT_FROM = 66 }; /* columns from which the unit fits beside any figures */

void vs_top_draw_sum_lines(vs_canvas *canvas, vs_area area, const vs_top_device *device) {
  const terms t = terms_of(&device->memory);
  char first[256], second[256];
  const uint32_t room = area.columns > 2 ? area.columns - 2 : 0;
  if (!vs_metric_is_known(device->memory.used) && !vs_metric_is_known(device->memory.total))
    return; /* a note says why */
  const char *unit = area.columns >= UNIT_FROM ? " GiB" : "";
  vs_format(first, sizeof first, "GPU %s: used %s%s = processes %s + unattributed %s", device->label, t.used,
            unit, t.attributed, t.unattributed);
  vs_format(second, sizeof second, "total %s%s = used + free %s + reserved %s", t.total, unit, t.free,
            t.reserved);
  const uint32_t width = vs_canvas_put(canvas, 1, area.y, room, VS_INK_PLAIN, vs_str_from(first));
  if (area.rows >= 2) {
    const uint32_t indent = 7;
    (void)vs_canvas_put(canvas, indent, area.y + 1, room < indent ? 0 : room - indent + 1, VS_INK_PLAIN,
                        vs_str_from(second));
  } else if (room > width + 3) {
    (void)vs_canvas_put(canvas, 1 + width + 3, area.y, room - width - 3, VS_INK_PLAIN, vs_str_from(second));
  }
}
