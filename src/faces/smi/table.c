#include "faces/smi/table.h"
#include "base/check.h"
#include "devices/json.h"
#include "codec/json_reply.h"
#include "faces/terminal/table.h"

enum { LABEL = 8, BAR = 24, FIGURES = 34 }; /* columns: of "]  31.60 GiB of 140.4 GiB, 22.5%" */

/* ---- pieces of text */

/* The line that is being written, and a comma before all but its first piece. */
typedef struct vs_smi_line {
  vs_screen *screen;
  vs_text text;
} vs_smi_line;

static vs_text *next_piece(vs_smi_line *line) {
  if (line->text.bytes.count != 0) vs_text_cstr(&line->text, ", ");
  return &line->text;
}

static void end_line(vs_smi_line *line, const char *label, vs_style style) {
  vs_screen_end_line(line->screen, &line->text, label, LABEL, style);
}

/* Why a member is unknown. */
static const char *reason_of(vs_json object, const char *key) {
  const vs_json why = vs_reply_at(vs_reply_at(object, "unknown"), key);
  return vs_reason_text(vs_devices_reason_named(vs_reply_str(why, "reason")));
}

static void put_bytes(const vs_screen *screen, vs_text *text, vs_json bytes) {
  if (vs_reply_is_unknown(bytes)) vs_text_cstr(text, "?");
  else vs_text_bytes(text, vs_json_u64(bytes, 0), screen->unit);
}

/* "0", of a MIG device "0:2". */
static void put_label(vs_text *text, vs_json device, vs_json mig_index) {
  vs_text_u64(text, vs_reply_u64(device, "index"));
  if (!vs_reply_is_unknown(mig_index)) vs_text_format(text, ":%U", vs_json_u64(mig_index, 0));
}

/* ---- a GPU */

static void put_watts(vs_text *text, uint64_t milliwatts) {
  vs_text_format(text, "%U W", (milliwatts + 500) / 1000);
}

/* "43 C, 295 W of 700 W, busy 100%"; unknown figures are left out. */
static void put_state(vs_smi_line *line, vs_json device) {
  const bool has_power = vs_reply_knows(device, "power_mw");
  if (vs_reply_knows(device, "temperature_c"))
    vs_text_format(next_piece(line), "%D C", vs_reply_i64(device, "temperature_c"));
  if (has_power) put_watts(next_piece(line), vs_reply_u64(device, "power_mw"));
  if (has_power && vs_reply_knows(device, "power_limit_mw")) {
    vs_text_cstr(&line->text, " of ");
    put_watts(&line->text, vs_reply_u64(device, "power_limit_mw"));
  }
  if (vs_reply_knows(device, "utilization_gpu_percent"))
    vs_text_format(next_piece(line), "busy %U%%", vs_reply_u64(device, "utilization_gpu_percent"));
}

static void put_name(vs_smi_line *line, vs_json device) {
  const vs_str name = vs_reply_str(device, "name");
  vs_screen_safe(&line->text, name.size == 0 ? VS_STR("GPU") : name);
  if (vs_reply_knows(device, "gpu_instance"))
    vs_text_format(next_piece(line), "GI %U CI %U", vs_reply_u64(device, "gpu_instance"),
                   vs_reply_u64(device, "compute_instance"));
  if (vs_reply_knows(device, "cuda_index"))
    vs_text_format(next_piece(line), "cuda:%U", vs_reply_u64(device, "cuda_index"));
  if (!vs_reply_bool(device, "is_mig")) put_state(line, device);
  if (vs_reply_bool(device, "is_divided")) vs_text_cstr(next_piece(line), "divided (MIG)");
}

/* The columns of the bar that leave room for the figures; 0 if they would be too few to read. */
static size_t bar_columns(const vs_screen *screen) {
  enum { LEAST = 8 };
  const size_t room = screen->columns > LABEL + FIGURES ? screen->columns - LABEL - FIGURES : 0;
  return room < LEAST ? 0 : room < BAR ? room : BAR;
}

static void put_bar(vs_screen *screen, uint64_t used, uint64_t total) {
  const size_t columns = bar_columns(screen);
  if (columns == 0) return;
  size_t drawn = 0;
  vs_text_byte(&screen->text, '[');
  if (total != 0) drawn = vs_screen_bar(screen, (double)used / (double)total, columns);
  VS_ASSERT(drawn <= columns);
  vs_screen_spaces(&screen->text, columns - drawn);
  vs_text_cstr(&screen->text, "]  ");
}

/* "[|||   ]  31.60 GiB of 140.4 GiB, 22.5%". */
static void put_memory(vs_smi_line *line, vs_json memory) {
  vs_screen *screen = line->screen;
  const uint64_t used = vs_reply_u64(memory, "used_bytes"), total = vs_reply_u64(memory, "total_bytes");
  const bool has_total = vs_reply_knows(memory, "total_bytes");
  if (!has_total || !vs_reply_knows(memory, "used_bytes")) {
    vs_text_format(&line->text, "%s %s", has_total ? "memory used:" : "memory:",
                   reason_of(memory, has_total ? "used_bytes" : "total_bytes"));
    end_line(line, "", VS_STYLE_PLAIN);
    return;
  }
  vs_screen_spaces(&screen->text, LABEL);
  put_bar(screen, used, total);
  vs_text_bytes(&screen->text, used, screen->unit);
  vs_text_cstr(&screen->text, " of ");
  vs_text_bytes(&screen->text, total, screen->unit);
  vs_text_cstr(&screen->text, ", ");
  vs_text_percent(&screen->text, used, total);
  vs_text_byte(&screen->text, '\n');
}

/* Leaves out a part that is 0 or unknown. */
static void put_part(vs_smi_line *line, const char *name, vs_json bytes) {
  if (vs_json_u64(bytes, 0) == 0) return;
  vs_text_format(next_piece(line), "%s ", name);
  put_bytes(line->screen, &line->text, bytes);
}

/* The parts of the memory. Compute instances of one GPU instance (MIG) share one memory, so only the first lists them. */
static void put_parts(vs_smi_line *line, vs_json device, vs_json memory) {
  if (vs_reply_knows(memory, "shared_with_mig_index")) {
    vs_text_cstr(next_piece(line), "the same memory as ");
    put_label(&line->text, device, vs_reply_at(memory, "shared_with_mig_index"));
  } else {
    put_part(line, "driver", vs_reply_at(memory, "reserved_bytes"));
    put_part(line, "processes", vs_reply_at(memory, "attributed_bytes"));
    put_part(line, "other", vs_reply_at(memory, "unattributed_bytes"));
    put_part(line, vs_reply_bool(memory, "is_shared") ? "free (shared with the host)" : "free",
             vs_reply_at(memory, "free_bytes"));
  }
  if (line->text.bytes.count != 0) end_line(line, "", VS_STYLE_PLAIN);
}

static void put_device(vs_smi_line *line, vs_json device) {
  char label[32];
  const uint64_t index = vs_reply_u64(device, "index");
  if (!vs_reply_bool(device, "is_mig")) vs_format(label, sizeof label, "GPU %U", index);
  else vs_format(label, sizeof label, "  %U:%U", index, vs_reply_u64(device, "mig_index"));
  put_name(line, device);
  end_line(line, label, VS_STYLE_TITLE);
  put_memory(line, vs_reply_at(device, "memory"));
  put_parts(line, device, vs_reply_at(device, "memory"));
}

/* ---- processes */

static const vs_column columns[] = {
    {"GPU", VS_COLUMN_LEFT},  {"PID", VS_COLUMN_RIGHT},    {"Type", VS_COLUMN_LEFT},
    {"User", VS_COLUMN_LEFT}, {"Memory", VS_COLUMN_RIGHT}, {"Command", VS_COLUMN_NAME},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static void put_command(vs_text *cell, vs_json process) {
  const bool has_command = vs_reply_knows(process, "command");
  if (!vs_reply_bool(process, "is_visible")) vs_text_cstr(cell, "pid not visible here");
  else vs_screen_safe(cell, vs_reply_str(process, has_command ? "command" : "name"));
  if (vs_reply_knows(process, "container")) vs_text_format(cell, " [%S]", vs_reply_str(process, "container"));
}

static void put_process(vs_table *table, vs_json device, vs_json process) {
  put_label(vs_table_cell(table), device, vs_reply_at(process, "mig_index"));
  vs_text_u64(vs_table_cell(table), vs_reply_u64(process, "pid"));
  vs_text_str(vs_table_cell(table), vs_reply_str(process, "type"));
  vs_screen_safe(vs_table_cell(table), vs_reply_str(process, "user"));
  put_bytes(table->screen, vs_table_cell(table), vs_reply_at(process, "used_bytes"));
  put_command(vs_table_cell(table), process);
}

/* Whether an earlier row lists the processes of this device: a card lists those of its MIG devices, which follow it. */
static bool is_listed(vs_json devices, size_t at) {
  const vs_json device = vs_json_at(devices, at);
  for (size_t i = 0; i < at; i++) {
    const vs_json other = vs_json_at(devices, i);
    if (vs_reply_bool(device, "is_mig") && !vs_reply_bool(other, "is_mig") &&
        vs_reply_u64(device, "index") == vs_reply_u64(other, "index"))
      return true;
  }
  return false;
}

static void put_processes(vs_screen *screen, vs_json devices) {
  vs_table table;
  size_t count = 0;
  bool may_miss = false;
  const char *unknown = NULL; /* why the first unknown list is unknown */
  vs_table_begin(&table, screen, 0, columns, COLUMNS);
  for (size_t i = 0; i < vs_json_count(devices); i++) {
    const vs_json device = vs_json_at(devices, i), list = vs_reply_at(device, "processes");
    if (is_listed(devices, i)) continue;
    may_miss = may_miss || vs_reply_bool(device, "may_miss_processes");
    if (unknown == NULL && !vs_reply_knows(device, "process_count"))
      unknown = reason_of(device, "process_count");
    for (size_t k = 0; k < vs_json_count(list); k++, count++)
      put_process(&table, device, vs_json_at(list, k));
  }
  if (count != 0) vs_table_put(&table); /* else it has no memory */
  if (unknown != NULL) vs_text_format(&screen->text, "Processes: %s.\n", unknown);
  else if (count == 0 && may_miss)
    vs_screen_paragraphs(
        screen, 0, VS_STR("No process is listed. In a container that need not mean that there is none."));
  else if (count == 0) vs_text_cstr(&screen->text, "No process holds any of it.\n");
}

/* ---- all of it */

static void put_driver(vs_smi_line *line, vs_json driver) {
  const uint64_t cuda = vs_reply_u64(driver, "cuda_version");
  if (vs_reply_knows(driver, "version")) vs_text_str(&line->text, vs_reply_str(driver, "version"));
  else vs_text_cstr(&line->text, "version unknown");
  if (vs_reply_knows(driver, "cuda_version"))
    vs_text_format(next_piece(line), "CUDA %U.%U", cuda / 1000, cuda % 1000 / 10);
  if (vs_reply_bool(driver, "is_simulated")) vs_text_cstr(next_piece(line), "simulated");
  end_line(line, "Driver", VS_STYLE_TITLE);
}

void vs_smi_table_put(vs_screen *screen, vs_json overview) {
  const vs_json devices = vs_reply_at(overview, "devices");
  vs_smi_line line = {.screen = screen};
  vs_scratch_init(&line.text, screen);
  put_driver(&line, vs_reply_at(overview, "driver"));
  for (size_t i = 0; i < vs_json_count(devices); i++) put_device(&line, vs_json_at(devices, i));
  vs_text_deinit(&line.text);
  vs_text_byte(&screen->text, '\n');
  put_processes(screen, devices);
}
