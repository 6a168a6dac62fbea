/* The help, and the notes about a device. */
#include "faces/tui/draw.h"
#include "faces/tui/words.h"

/* ---- help: the keys in one or two columns, then what the figures mean */

typedef struct key_help {
  const char *key, *what;
} key_help;

static const key_help keys[] = {
    {"q", "quit"},
    {"Up Down j k", "choose a process"},
    {"Enter", "details of that process"},
    {"Tab, 0-9", "the GPU to look at"},
    {"o", "only its processes"},
    {"s S", "sort by the next column"},
    {"r", "reverse the order"},
    {"/", "filter by any text"},
    {"Esc", "clear filter and choice"},
    {"p, space", "pause, resume"},
    {"g", "graphs on and off"},
    {"+ -", "zoom the graphs"},
    {"d", "refresh interval"},
    {"? h", "this help"},
};

static const char *const meanings[] = {
    "top only reads: no key ends, stops or changes a process.",
    "used = processes + unattributed (contexts, other containers, memory that the driver assigns to no "
    "process). "
    "total = used + free + reserved; reserved is the driver's own. 1 GiB is 1024 MiB.",
    "A process's memory is what it reserved from the driver, including what PyTorch keeps cached; vramscope "
    "report "
    "tells them apart in a snapshot.",
    "Managed memory (cudaMallocManaged) is not counted in the memory of a process.",
};

void vs_top_draw_help(vs_canvas *canvas, vs_area area) {
  enum {
    COUNT = sizeof keys / sizeof keys[0],
    KEY = 12,
    COLUMN = 40,
    MEANINGS = sizeof meanings / sizeof meanings[0]
  };
  if (area.columns < 4 || area.rows == 0) return;
  vs_canvas_clear(canvas, area);
  const uint32_t across = area.columns >= 2 * COLUMN ? 2 : 1;
  const uint32_t room = (area.columns - 2) / across, down = (COUNT + across - 1) / across;
  vs_area rest = {2, area.y, area.columns - 4, area.rows};
  rest.y += vs_canvas_wrap(canvas, rest, VS_INK_TITLE, vs_str_from(meanings[0]));
  rest.y += area.rows > down + MEANINGS;
  for (uint32_t i = 0; i < COUNT; i++) {
    const uint32_t x = 2 + i / down * room, y = rest.y + i % down;
    if (y >= area.y + area.rows) continue;
    (void)vs_canvas_put(canvas, x, y, KEY, VS_INK_TITLE, vs_str_from(keys[i].key));
    if (room > KEY + 3)
      (void)vs_canvas_put(canvas, x + KEY + 1, y, room - KEY - 3, VS_INK_PLAIN, vs_str_from(keys[i].what));
  }
  rest.y += down + 1;
  for (uint32_t i = 1; i < MEANINGS && rest.y < area.y + area.rows; i++) {
    rest.rows = area.y + area.rows - rest.y;
    rest.y += vs_canvas_wrap(canvas, rest, VS_INK_PLAIN, vs_str_from(meanings[i]));
  }
}

/* ---- notes */

typedef struct note {
  char *to;
  bool has_parts;
} note;

static void say(note *n, const char *text) {
  char before[VS_TOP_NOTE];
  vs_format(before, sizeof before, "%s", n->to);
  vs_format(n->to, VS_TOP_NOTE, "%s%s%s", before, n->has_parts ? "; " : " ", text);
  n->has_parts = true;
}

/* "temperature, power: not permitted to this user": figures with the same reason are named together. */
static void say_unknown(note *n, const vs_top_device *device) {
  const struct {
    const char *name;
    vs_metric metric;
  } all[] = {{"memory", device->memory.used},      {"memory", device->memory.total},
             {"processes", device->process_count}, {"utilisation", device->utilization},
             {"temperature", device->temperature}, {"power", device->power}};
  enum { COUNT = sizeof all / sizeof all[0] };
  bool done[COUNT] = {false};
  const bool is_divided = (device->info.is_mig || device->info.is_divided) &&
                          vs_metric_is_known(device->memory.used) &&
                          device->utilization.reason == VS_REASON_NOT_SUPPORTED;
  for (size_t i = 0; i < COUNT; i++) {
    char names[VS_TOP_NOTE] = "", longer[VS_TOP_NOTE];
    const vs_reason reason = all[i].metric.reason;
    if (done[i] || reason == VS_REASON_KNOWN || reason == VS_REASON_NOT_SAMPLED) continue;
    if (is_divided && all[i].metric.reason == device->utilization.reason)
      continue; /* no driver has these figures for MIG devices */
    const char *last = "";
    for (size_t k = i; k < COUNT; k++) {
      if (done[k] || all[k].metric.reason != reason) continue;
      done[k] = true;
      if (strcmp(last, all[k].name) == 0) continue;
      vs_format(longer, sizeof longer, "%s%s%s", names, names[0] == 0 ? "" : ", ", all[k].name);
      memcpy(names, longer, sizeof names);
      last = all[k].name;
    }
    vs_format(longer, sizeof longer, "%s: %s", names, vs_reason_text(reason));
    say(n, longer);
  }
}

/* The bits of CLOCK_REASONS that are shown. */
enum { SLOW_HARDWARE = 8, SLOW_HEAT = 32 | 64, SLOW_BRAKE = 128 };

void vs_top_note(char to[static VS_TOP_NOTE], const vs_top_device *device) {
  note n = {.to = to};
  const vs_devices_memory *memory = &device->memory;
  const uint64_t clocks = vs_metric_is_known(device->clock_reasons) ? device->clock_reasons.value : 0;
  vs_format(to, VS_TOP_NOTE, "GPU %s:", device->label);
  if (vs_metric_is_known(device->recovery_action) && device->recovery_action.value != 0)
    say(&n, device->recovery_action.value == 1 ? "the driver wants this GPU to be reset"
                                               : "the driver wants a restart");
  if ((clocks & SLOW_HEAT) != 0) say(&n, "slowed down by heat");
  if ((clocks & SLOW_BRAKE) != 0) say(&n, "slowed down by the power supply");
  else if ((clocks & (SLOW_HARDWARE | SLOW_HEAT)) == SLOW_HARDWARE) say(&n, "slowed down by the hardware");
  if (memory->is_shared) say(&n, "its memory is the machine's: free is shared with all programs");
  if (memory->is_approximate) say(&n, "its memory is managed by the system: approximate");
  if (memory->api == 1) say(&n, "this driver counts its own reserve as used");
  if (device->is_sharing) say(&n, "its memory is that of its GPU instance, shared with others");
  if (device->may_miss) say(&n, "processes outside of this container may be missing");
  if (vs_metric_is_known(device->process_count) && device->process_count.value != 0 &&
      memory->attributed.reason == VS_REASON_NOT_VISIBLE)
    say(&n, "memory of single processes is not told here");
  say_unknown(&n, device);
  if (!n.has_parts) to[0] = 0;
}
