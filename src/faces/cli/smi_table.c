/* `vramscope smi` without a query: what a person wants to know of the GPUs, and the same as JSON. */
#include "faces/cli/smi.h"
#include "faces/cli/smi_value.h"
#include "faces/cli/table.h"

enum { LABEL = 8, BAR = 24, FIGURES = 34 }; /* columns: of "]  31.60 GiB of 140.4 GiB, 22.5 %" */

/* ---- pieces of text */

/* The line that is being written, and a comma before all but its first piece. */
typedef struct vs_smi_line {
  vs_smi *smi;
  vs_text text;
} vs_smi_line;

static vs_text *next_piece(vs_smi_line *line) {
  if (line->text.bytes.count != 0) vs_text_cstr(&line->text, ", ");
  return &line->text;
}

static void end_line(vs_smi_line *line, const char *label, vs_style style) {
  vs_screen *screen = &line->smi->cli->screen;
  if (line->text.status != VS_OK && screen->text.status == VS_OK) screen->text.status = line->text.status;
  vs_screen_labelled(screen, label, LABEL, style, vs_text_view(&line->text));
  line->text.bytes.count = 0;
}

static vs_metric ask(const vs_smi *smi, uint32_t unit, vs_metric_id id) {
  return vs_devices_metric(smi->devices, unit, id);
}

static void put_bytes(const vs_smi *smi, vs_text *text, vs_metric bytes) {
  if (vs_metric_is_known(bytes)) vs_text_bytes(text, bytes.value, smi->cli->screen.unit);
  else vs_text_cstr(text, "?");
}

/* ---- a GPU */

static void put_watts(vs_text *text, vs_metric milliwatts) {
  vs_text_u64(text, (milliwatts.value + 500) / 1000);
  vs_text_cstr(text, " W");
}

/* "43 C, 295 W of 700 W, busy 100 %": only what is known. */
static void put_state(vs_smi_line *line, uint32_t unit) {
  const vs_smi *smi = line->smi;
  const vs_metric heat = ask(smi, unit, VS_METRIC_ID_TEMPERATURE),
                  busy = ask(smi, unit, VS_METRIC_ID_UTILIZATION_GPU);
  const vs_metric power = ask(smi, unit, VS_METRIC_ID_POWER_DRAW),
                  limit = ask(smi, unit, VS_METRIC_ID_POWER_LIMIT_ENFORCED);
  if (vs_metric_is_known(heat)) vs_text_format(next_piece(line), "%D C", (int64_t)heat.value);
  if (vs_metric_is_known(power)) put_watts(next_piece(line), power);
  if (vs_metric_is_known(power) && vs_metric_is_known(limit)) {
    vs_text_cstr(&line->text, " of ");
    put_watts(&line->text, limit);
  }
  if (vs_metric_is_known(busy)) vs_text_format(next_piece(line), "busy %U %%", busy.value);
}

static void put_name(vs_smi_line *line, uint32_t unit, const vs_devices_info *info) {
  vs_screen_safe(&line->text, vs_str_from(info->name[0] == 0 ? "GPU" : info->name));
  if (info->is_mig && info->gpu_instance != VS_DEVICES_NONE)
    vs_text_format(next_piece(line), "GI %u CI %u", info->gpu_instance, info->compute_instance);
  if (vs_metric_is_known(info->cuda_index))
    vs_text_format(next_piece(line), "cuda:%U", info->cuda_index.value);
  if (!info->is_mig) put_state(line, unit);
  if (info->is_divided) vs_text_cstr(next_piece(line), "divided (MIG)");
}

static void put_gap(vs_smi_line *line, const char *what, vs_metric metric) {
  if (vs_metric_is_known(metric)) return;
  vs_text_format(next_piece(line), "%s %s", what, vs_reason_text(metric.reason));
}

/* As long as the bar is, there is room for the figures; a bar that says nothing is left out. */
static size_t bar_columns(const vs_screen *screen) {
  enum { LEAST = 8 };
  const size_t room = screen->columns > LABEL + FIGURES ? screen->columns - LABEL - FIGURES : 0;
  return room < LEAST ? 0 : room < BAR ? room : BAR;
}

static void put_bar(vs_screen *screen, const vs_devices_memory *memory) {
  const size_t columns = bar_columns(screen);
  if (columns == 0) return;
  size_t drawn = 0;
  vs_text_byte(&screen->text, '[');
  if (memory->total.value != 0)
    drawn = vs_screen_bar(screen, (double)memory->used.value / (double)memory->total.value, columns);
  vs_screen_spaces(&screen->text, columns - drawn);
  vs_text_cstr(&screen->text, "]  ");
}

/* "[|||   ]  31.60 GiB of 140.4 GiB, 22.5 %". */
static void put_memory(vs_smi_line *line, const vs_devices_memory *memory) {
  const vs_smi *smi = line->smi;
  vs_screen *screen = &smi->cli->screen;
  if (!vs_metric_is_known(memory->total) || !vs_metric_is_known(memory->used)) {
    put_gap(line, vs_metric_is_known(memory->total) ? "memory in use:" : "memory:",
            vs_metric_is_known(memory->total) ? memory->used : memory->total);
    end_line(line, "", VS_STYLE_PLAIN);
    return;
  }
  vs_screen_spaces(&screen->text, LABEL);
  put_bar(screen, memory);
  put_bytes(smi, &screen->text, memory->used);
  vs_text_cstr(&screen->text, " of ");
  put_bytes(smi, &screen->text, memory->total);
  vs_text_cstr(&screen->text, ", ");
  vs_text_percent(&screen->text, memory->used.value, memory->total.value);
  vs_text_byte(&screen->text, '\n');
}

/* What is nothing or not known is left out. */
static void put_part(vs_smi_line *line, const char *name, vs_metric bytes) {
  if (!vs_metric_is_known(bytes) || bytes.value == 0) return;
  vs_text_format(next_piece(line), "%s ", name);
  put_bytes(line->smi, &line->text, bytes);
}

/* What makes up the whole. Compute instances of one GPU instance (MIG) have one memory: only the first says it. */
static void put_parts(vs_smi_line *line, uint32_t unit, const vs_devices_memory *memory) {
  vs_devices_info first;
  if (memory->shared_with != unit &&
      vs_devices_info_of(line->smi->devices, memory->shared_with, &first) == VS_OK) {
    vs_text_format(next_piece(line), "the same memory as %u:%u", first.index, first.mig_index);
  } else {
    put_part(line, "driver", memory->reserved);
    put_part(line, "processes", memory->attributed);
    put_part(line, "other", memory->unattributed);
    put_part(line, memory->is_shared ? "free (shared with the host)" : "free", memory->free);
  }
  if (line->text.bytes.count != 0) end_line(line, "", VS_STYLE_PLAIN);
}

static vs_status put_unit(vs_smi *smi, uint32_t unit) {
  vs_smi_line line = {.smi = smi};
  vs_devices_info info;
  vs_devices_memory memory;
  char label[24];
  VS_TRY(vs_devices_info_of(smi->devices, unit, &info));
  VS_TRY(vs_devices_memory_of(smi->devices, unit, true, &memory));
  vs_scratch_init(&line.text, &smi->cli->screen);
  if (info.is_mig) vs_format(label, sizeof label, "  %u:%u", info.index, info.mig_index);
  else vs_format(label, sizeof label, "GPU %u", info.index);
  put_name(&line, unit, &info);
  end_line(&line, label, VS_STYLE_TITLE);
  put_memory(&line, &memory);
  put_parts(&line, unit, &memory);
  vs_text_deinit(&line.text);
  return VS_OK;
}

/* ---- processes */

static const vs_column columns[] = {
    {"GPU", VS_COLUMN_LEFT},  {"PID", VS_COLUMN_RIGHT},    {"Type", VS_COLUMN_LEFT},
    {"User", VS_COLUMN_LEFT}, {"Memory", VS_COLUMN_RIGHT}, {"Command", VS_COLUMN_NAME},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static void put_command(vs_text *cell, const vs_devices_process *process) {
  if (!process->is_visible) vs_text_cstr(cell, "pid not visible here");
  else vs_screen_safe(cell, vs_str_from(process->command[0] != 0 ? process->command : process->name));
  if (process->container[0] != 0) vs_text_format(cell, " [%s]", process->container);
}

static void put_process(vs_table *table, const vs_smi *smi, const vs_devices_info *info,
                        const vs_devices_process *process) {
  vs_text *cell = vs_table_cell(table);
  vs_text_u64(cell, info->index);
  if (info->is_mig) vs_text_format(cell, ":%u", info->mig_index);
  vs_text_u64(vs_table_cell(table), process->pid);
  vs_text_cstr(vs_table_cell(table), process->kind);
  vs_screen_safe(vs_table_cell(table), vs_str_from(process->user));
  put_bytes(smi, vs_table_cell(table), process->bytes);
  put_command(vs_table_cell(table), process);
}

/* What was found about processes, over all GPUs. */
typedef struct vs_smi_census {
  vs_table table;
  uint64_t count;
  vs_metric unknown; /* the first list that could not be had */
  bool may_miss;
} vs_smi_census;

static vs_status put_processes_of(vs_smi *smi, uint32_t unit, vs_smi_census *census) {
  vs_devices_processes list;
  vs_devices_info info;
  VS_TRY(vs_devices_processes_of(smi->devices, unit, &list));
  census->may_miss = census->may_miss || list.may_miss;
  if (!vs_metric_is_known(list.count) && census->unknown.reason == VS_REASON_NOT_SAMPLED)
    census->unknown = list.count;
  for (size_t i = 0; i < list.count.value; i++, census->count++) {
    VS_TRY(vs_devices_info_of(smi->devices, list.rows[i].unit, &info));
    put_process(&census->table, smi, &info, &list.rows[i]);
  }
  return VS_OK;
}

static vs_status put_processes(vs_smi *smi) {
  vs_screen *screen = &smi->cli->screen;
  vs_smi_census census = {.count = 0};
  vs_status status = VS_OK;
  vs_table_begin(&census.table, screen, 0, columns, COLUMNS);
  for (size_t i = 0; i < smi->units.count && status == VS_OK; i++)
    status = put_processes_of(smi, smi->units.data[i], &census);
  if (census.count != 0) vs_table_put(&census.table); /* else it has no memory */
  if (census.unknown.reason != VS_REASON_NOT_SAMPLED)
    vs_text_format(&screen->text, "Processes: %s.\n", vs_reason_text(census.unknown.reason));
  else if (census.count == 0 && census.may_miss)
    vs_screen_paragraphs(
        screen, 0, VS_STR("No process is listed. In a container that need not mean that there is none."));
  else if (census.count == 0) vs_text_cstr(&screen->text, "No process holds any of it.\n");
  return status;
}

/* ---- all of it */

static void put_driver(vs_smi *smi) {
  vs_smi_line line = {.smi = smi};
  vs_devices_driver driver;
  vs_devices_driver_of(smi->devices, &driver);
  vs_scratch_init(&line.text, &smi->cli->screen);
  vs_text_format(&line.text, "%s", driver.driver_version[0] == 0 ? "version unknown" : driver.driver_version);
  if (vs_metric_is_known(driver.cuda_version))
    vs_text_format(next_piece(&line), "CUDA %U.%U", driver.cuda_version.value / 1000,
                   driver.cuda_version.value % 1000 / 10);
  if (driver.is_simulated) vs_text_cstr(next_piece(&line), "simulated");
  end_line(&line, "Driver", VS_STYLE_TITLE);
  vs_text_deinit(&line.text);
}

/* The MIG devices of a card stand behind it, also where only the card was named. */
static vs_status put_card(vs_smi *smi, uint32_t unit) {
  vs_devices_info info;
  VS_TRY(put_unit(smi, unit));
  for (uint32_t i = unit + 1; i < vs_devices_count(smi->devices); i++) {
    VS_TRY(vs_devices_info_of(smi->devices, i, &info));
    if (!info.is_mig || info.parent != unit) break;
    VS_TRY(put_unit(smi, i));
  }
  return VS_OK;
}

vs_status vs_smi_put_table(vs_smi *smi, bool is_first) {
  vs_text *text = &smi->cli->screen.text;
  if (!is_first) vs_text_byte(text, '\n');
  put_driver(smi);
  for (size_t i = 0; i < smi->units.count; i++) VS_TRY(put_card(smi, smi->units.data[i]));
  vs_text_byte(text, '\n');
  return put_processes(smi);
}

/* ---- as JSON */

/* Members that are null, to be explained behind the others. */
typedef struct vs_smi_gaps {
  struct {
    const char *name;
    vs_metric metric;
  } rows[24];
  size_t count;
} vs_smi_gaps;

static void put_metric(vs_jsonw *w, vs_smi_gaps *gaps, const char *name, vs_metric metric) {
  vs_jsonw_key(w, vs_str_from(name));
  if (vs_metric_is_known(metric)) {
    vs_jsonw_u64(w, metric.value);
    return;
  }
  vs_jsonw_null(w);
  if (gaps->count == sizeof gaps->rows / sizeof gaps->rows[0]) return;
  gaps->rows[gaps->count].name = name;
  gaps->rows[gaps->count++].metric = metric;
}

static void put_gaps(vs_jsonw *w, const vs_smi_gaps *gaps) {
  vs_jsonw_key(w, VS_STR("unknown"));
  vs_jsonw_object_begin(w);
  for (size_t i = 0; i < gaps->count; i++) {
    vs_jsonw_key(w, vs_str_from(gaps->rows[i].name));
    vs_smi_json_reason(w, gaps->rows[i].metric);
  }
  vs_jsonw_object_end(w);
}

static void put_json_memory(vs_jsonw *w, const vs_devices_memory *memory) {
  vs_smi_gaps gaps = {.count = 0};
  vs_jsonw_key(w, VS_STR("memory"));
  vs_jsonw_object_begin(w);
  put_metric(w, &gaps, "total_bytes", memory->total);
  put_metric(w, &gaps, "reserved_bytes", memory->reserved);
  put_metric(w, &gaps, "used_bytes", memory->used);
  put_metric(w, &gaps, "free_bytes", memory->free);
  put_metric(w, &gaps, "attributed_bytes", memory->attributed);
  put_metric(w, &gaps, "unattributed_bytes", memory->unattributed);
  vs_jsonw_member_u64(w, "memory_api", memory->api);
  vs_jsonw_member_bool(w, "is_shared", memory->is_shared);
  vs_jsonw_member_bool(w, "is_approximate", memory->is_approximate);
  put_gaps(w, &gaps);
  vs_jsonw_object_end(w);
}

static void put_instance(vs_jsonw *w, const char *name, uint32_t instance) {
  vs_jsonw_key(w, vs_str_from(name));
  if (instance == VS_DEVICES_NONE) vs_jsonw_null(w);
  else vs_jsonw_u64(w, instance);
}

static void put_optional(vs_jsonw *w, const char *name, const char *text) {
  vs_jsonw_key(w, vs_str_from(name));
  if (text == NULL || *text == 0) vs_jsonw_null(w);
  else vs_jsonw_str(w, vs_str_from(text));
}

static void put_json_process(vs_jsonw *w, const vs_devices_process *process) {
  vs_smi_gaps gaps = {.count = 0};
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "pid", process->pid);
  put_metric(w, &gaps, "used_bytes", process->bytes);
  vs_jsonw_member_str(w, "type", vs_str_from(process->kind));
  put_instance(w, "gpu_instance", process->gpu_instance);
  put_instance(w, "compute_instance", process->compute_instance);
  vs_jsonw_member_bool(w, "is_visible", process->is_visible);
  put_optional(w, "user", process->user);
  put_optional(w, "name", process->name);
  put_optional(w, "command", process->command);
  put_optional(w, "container", process->container);
  vs_jsonw_key(w, VS_STR("start_us"));
  if (process->start_us == 0) vs_jsonw_null(w);
  else vs_jsonw_u64(w, process->start_us);
  put_gaps(w, &gaps);
  vs_jsonw_object_end(w);
}

static void put_json_identity(vs_jsonw *w, const vs_devices_info *info) {
  vs_jsonw_member_u64(w, "index", info->index);
  put_instance(w, "mig_index", info->is_mig ? info->mig_index : VS_DEVICES_NONE);
  put_instance(w, "gpu_instance", info->is_mig ? info->gpu_instance : VS_DEVICES_NONE);
  put_instance(w, "compute_instance", info->is_mig ? info->compute_instance : VS_DEVICES_NONE);
  vs_jsonw_member_str(w, "uuid", vs_str_from(info->uuid));
  vs_jsonw_member_str(w, "name", vs_str_from(info->name));
  vs_jsonw_member_str(w, "bus_id", vs_str_from(info->bus_id));
  put_optional(w, "serial", info->serial);
  vs_jsonw_member_bool(w, "is_mig", info->is_mig);
  vs_jsonw_member_bool(w, "is_divided", info->is_divided);
  vs_jsonw_member_bool(w, "is_simulated", info->is_simulated);
  vs_jsonw_member_bool(w, "is_unified", info->is_unified);
}

static vs_status put_json_unit(vs_smi *smi, vs_jsonw *w, uint32_t unit) {
  vs_smi_gaps gaps = {.count = 0};
  vs_devices_info info;
  vs_devices_memory memory;
  vs_devices_processes list;
  VS_TRY(vs_devices_info_of(smi->devices, unit, &info));
  VS_TRY(vs_devices_memory_of(smi->devices, unit, true, &memory));
  VS_TRY(vs_devices_processes_of(smi->devices, unit, &list));
  vs_jsonw_object_begin(w);
  put_json_identity(w, &info);
  put_metric(w, &gaps, "cuda_index", info.cuda_index);
  put_metric(w, &gaps, "temperature_c", ask(smi, unit, VS_METRIC_ID_TEMPERATURE));
  put_metric(w, &gaps, "power_mw", ask(smi, unit, VS_METRIC_ID_POWER_DRAW));
  put_metric(w, &gaps, "power_limit_mw", ask(smi, unit, VS_METRIC_ID_POWER_LIMIT_ENFORCED));
  put_metric(w, &gaps, "utilization_gpu_percent", ask(smi, unit, VS_METRIC_ID_UTILIZATION_GPU));
  put_metric(w, &gaps, "process_count", list.count);
  put_json_memory(w, &memory);
  vs_jsonw_key(w, VS_STR("processes"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < list.count.value; i++) put_json_process(w, &list.rows[i]);
  vs_jsonw_array_end(w);
  vs_jsonw_member_bool(w, "may_miss_processes", list.may_miss);
  put_gaps(w, &gaps);
  vs_jsonw_object_end(w);
  return VS_OK;
}

vs_status vs_smi_put_json_table(vs_smi *smi) {
  vs_jsonw w;
  vs_devices_info info;
  vs_jsonw_begin(&w, &smi->cli->screen.text, 0);
  vs_jsonw_object_begin(&w);
  vs_jsonw_member_u64(&w, "schema", 1);
  vs_jsonw_member_u64(&w, "time_us", vs_clock_wall_ns() / 1000);
  vs_smi_json_driver(&w, smi);
  vs_jsonw_key(&w, VS_STR("devices"));
  vs_jsonw_array_begin(&w);
  for (size_t i = 0; i < smi->units.count; i++) {
    const uint32_t unit = smi->units.data[i];
    VS_TRY(put_json_unit(smi, &w, unit));
    for (uint32_t mig = unit + 1; mig < vs_devices_count(smi->devices); mig++) {
      VS_TRY(vs_devices_info_of(smi->devices, mig, &info));
      if (!info.is_mig || info.parent != unit) break;
      VS_TRY(put_json_unit(smi, &w, mig));
    }
  }
  vs_jsonw_array_end(&w);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
  vs_text_byte(&smi->cli->screen.text, '\n');
  return VS_OK;
}
