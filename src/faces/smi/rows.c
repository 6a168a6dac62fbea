/* The answer to a query: a line for each GPU or process, as CSV or JSON. */
#include "base/check.h"
#include "base/sort.h"
#include "devices/json.h"
#include "faces/smi/smi.h"
#include "faces/smi/value.h"
#include "os/clock.h"

/* The subject of a line, and the figures of it. */
typedef struct vs_smi_row {
  vs_smi *smi;
  vs_text *csv; /* the lines go to csv or to w; the other one is NULL */
  vs_jsonw *w;
  uint32_t unit;
  uint32_t card; /* the card of a MIG device, else the unit itself */
  uint64_t wall_ns;
  const vs_devices_process *process;     /* NULL unless the line is about a process that runs */
  const vs_devices_account *account;     /* NULL unless it is about one in the driver's account */
  vs_metric numbers[VS_METRIC_ID_COUNT]; /* those that the query needs, of one instant */
  char text[1024];                       /* of the latest cell that is one */
} vs_smi_row;

/* ---- cells */

static vs_smi_cell text_or_unknown(const char *text) {
  return text == NULL || *text == 0 ? vs_smi_cell_unknown(VS_REASON_NOT_VISIBLE) : vs_smi_cell_text(text);
}

static vs_smi_cell cell_of_metric(vs_metric metric) {
  return (vs_smi_cell){.metric = metric, .text = {"", 0}};
}

static vs_smi_cell cell_of_instance(uint32_t instance) {
  return instance == VS_DEVICES_NONE ? vs_smi_cell_unknown(VS_REASON_NOT_SUPPORTED)
                                     : vs_smi_cell_number(instance);
}

static uint64_t card_count(const vs_smi *smi) {
  uint64_t cards = 0;
  vs_devices_info info;
  for (uint32_t unit = 0; unit < vs_devices_count(smi->devices); unit++)
    cards += vs_devices_info_of(smi->devices, unit, &info) == VS_OK && !info.is_mig;
  return cards;
}

static vs_smi_cell cell_of_driver(vs_smi_row *row, bool of_kernel) {
  vs_devices_driver driver;
  vs_devices_driver_of(row->smi->devices, &driver);
  vs_format(row->text, sizeof row->text, "%s", of_kernel ? driver.kernel_version : driver.driver_version);
  return text_or_unknown(row->text);
}

static vs_smi_cell cell_from_here(vs_smi_row *row, vs_smi_here what) {
  vs_devices_info info;
  if (vs_devices_info_of(row->smi->devices, row->unit, &info) != VS_OK)
    return vs_smi_cell_unknown(VS_REASON_NOT_FOUND);
  switch (what) {
    case VS_SMI_TIMESTAMP: vs_smi_time(row->text, row->wall_ns); return vs_smi_cell_text(row->text);
    case VS_SMI_DRIVER_VERSION: return cell_of_driver(row, false);
    case VS_SMI_KERNEL_VERSION: return cell_of_driver(row, true);
    case VS_SMI_DEVICE_COUNT: return vs_smi_cell_number(card_count(row->smi));
    case VS_SMI_INDEX: return vs_smi_cell_number(info.index);
    case VS_SMI_PCI_DOMAIN: return vs_smi_cell_number(info.pci_domain);
    case VS_SMI_PCI_BUS: return vs_smi_cell_number(info.pci_bus);
    case VS_SMI_PCI_DEVICE: return vs_smi_cell_number(info.pci_device);
  }
  return vs_smi_cell_unknown(VS_REASON_NOT_SAMPLED);
}

/* The program as it was started; a kernel thread has only a name. */
static vs_smi_cell cell_of_program(const vs_devices_process *process) {
  if (!process->is_visible) return vs_smi_cell_unknown(VS_REASON_NOT_FOUND);
  return text_or_unknown(process->program[0] != 0 ? process->program : process->name);
}

static vs_smi_cell cell_from_process(vs_smi_row *row, vs_smi_app what) {
  const vs_devices_process *process = row->process;
  VS_ASSERT(row->smi->query == VS_SMI_QUERY_APPS);
  switch (what) {
    case VS_SMI_APP_PID: return vs_smi_cell_number(process->pid);
    case VS_SMI_APP_NAME: return cell_of_program(process);
    case VS_SMI_APP_USED: return cell_of_metric(process->bytes);
    case VS_SMI_APP_USER: return text_or_unknown(process->user);
    case VS_SMI_APP_COMMAND: return text_or_unknown(process->command);
    case VS_SMI_APP_GI: return cell_of_instance(process->gpu_instance);
    case VS_SMI_APP_CI: return cell_of_instance(process->compute_instance);
    case VS_SMI_APP_TYPE: return text_or_unknown(process->kind);
    case VS_SMI_APP_CONTAINER: return text_or_unknown(process->container);
    case VS_SMI_APP_START_TIME:
      if (process->start_us == 0) return vs_smi_cell_unknown(VS_REASON_NOT_VISIBLE);
      vs_smi_time(row->text, process->start_us * 1000);
      return vs_smi_cell_text(row->text);
    default: return vs_smi_cell_unknown(VS_REASON_NOT_SAMPLED);
  }
}

static vs_smi_cell cell_from_account(const vs_smi_row *row, vs_smi_app what) {
  const vs_devices_account *account = row->account;
  VS_ASSERT(row->smi->query == VS_SMI_QUERY_ACCOUNTED);
  vs_metric time = account->time_us;
  time.value /= 1000;
  switch (what) {
    case VS_SMI_APP_PID: return vs_smi_cell_number(account->pid);
    case VS_SMI_APP_GPU_UTILIZATION: return cell_of_metric(account->gpu_utilization);
    case VS_SMI_APP_MEMORY_UTILIZATION: return cell_of_metric(account->memory_utilization);
    case VS_SMI_APP_MOST_USED: return cell_of_metric(account->peak_bytes);
    case VS_SMI_APP_TIME: return cell_of_metric(time);
    default: return vs_smi_cell_unknown(VS_REASON_NOT_SAMPLED);
  }
}

/* Asks for each number once, in one call, so that figures of one line are of one instant. */
static void ask_numbers(vs_smi_row *row) {
  const vs_smi *smi = row->smi;
  bool is_asked[VS_METRIC_ID_COUNT] = {[VS_METRIC_ID_MEMORY_API] = row->w != NULL};
  vs_metric_id ids[VS_METRIC_ID_COUNT];
  vs_metric values[VS_METRIC_ID_COUNT];
  size_t count = 0;
  for (size_t i = 0; i < smi->fields.count; i++)
    if (smi->fields.data[i]->source == VS_SMI_FROM_NUMBER) is_asked[smi->fields.data[i]->number] = true;
  for (unsigned id = 0; id < VS_METRIC_ID_COUNT; id++)
    if (is_asked[id]) ids[count++] = (vs_metric_id)id;
  VS_ASSERT(count <= VS_METRIC_ID_COUNT);
  if (count != 0) vs_devices_metrics(smi->devices, row->unit, ids, count, values);
  for (size_t i = 0; i < count; i++) row->numbers[ids[i]] = values[i];
}

/* nvidia-smi names the card of a process also if it runs on a MIG device of it. */
static vs_smi_cell cell_from_words(vs_smi_row *row, vs_metric_text_id id) {
  _Static_assert(sizeof row->text >= VS_METRIC_TEXT_SIZE, "a text has room");
  const uint32_t unit = row->smi->query == VS_SMI_QUERY_GPU ? row->unit : row->card;
  const vs_metric known = vs_devices_text(row->smi->devices, unit, id, row->text);
  return (vs_smi_cell){.metric = known, .text = vs_str_from(row->text)};
}

static vs_smi_cell cell_of(vs_smi_row *row, const vs_smi_field *field) {
  switch (field->source) {
    case VS_SMI_FROM_NUMBER: return cell_of_metric(row->numbers[field->number]);
    case VS_SMI_FROM_WORDS: return cell_from_words(row, (vs_metric_text_id)field->number);
    case VS_SMI_FROM_HERE: return cell_from_here(row, (vs_smi_here)field->number);
    case VS_SMI_FROM_APP:
      VS_ASSERT((row->process != NULL) != (row->account != NULL));
      return row->process != NULL ? cell_from_process(row, (vs_smi_app)field->number)
                                  : cell_from_account(row, (vs_smi_app)field->number);
    case VS_SMI_FROM_NOTHING: break;
    case VS_SMI_FROM_GONE: return vs_smi_cell_unknown(VS_REASON_DEPRECATED);
  }
  return vs_smi_cell_unknown(VS_REASON_NOT_SAMPLED);
}

/* ---- lines of CSV */

static void put_headings(const vs_smi *smi, vs_text *text) {
  for (size_t i = 0; i < smi->fields.count; i++) {
    if (i != 0) vs_text_cstr(text, ", ");
    vs_smi_put_heading(text, smi->fields.data[i]);
  }
  vs_text_byte(text, '\n');
}

static void put_csv(vs_smi_row *row) {
  const vs_smi *smi = row->smi;
  vs_text *text = row->csv;
  for (size_t i = 0; i < smi->fields.count; i++) {
    const vs_smi_cell cell = cell_of(row, smi->fields.data[i]);
    if (i != 0) vs_text_cstr(text, ", ");
    vs_smi_put_value(text, smi->fields.data[i], &cell, smi->has_units);
  }
  vs_text_byte(text, '\n');
}

/* ---- lines of JSON. A field that the query names twice is one member. */

static bool is_repeated(const vs_smi *smi, size_t field) {
  for (size_t i = 0; i < field; i++)
    if (smi->fields.data[i] == smi->fields.data[field]) return true;
  return false;
}

typedef struct vs_smi_gap {
  const vs_smi_field *field;
  vs_metric metric;
} vs_smi_gap;

static vs_status put_values(vs_jsonw *w, vs_smi_row *row) {
  const vs_smi *smi = row->smi;
  VS_VEC(vs_smi_gap) gaps = {0};
  VS_TRY(vs_vec_reserve(smi->host, &gaps, smi->fields.count));
  vs_jsonw_key(w, VS_STR("values"));
  vs_jsonw_object_begin(w);
  for (size_t i = 0; i < smi->fields.count; i++) {
    if (is_repeated(smi, i)) continue;
    const vs_smi_field *field = smi->fields.data[i];
    const vs_smi_cell cell = cell_of(row, field);
    vs_smi_json_key(w, field);
    vs_smi_json_value(w, field, &cell);
    if (!vs_metric_is_known(cell.metric)) gaps.data[gaps.count++] = (vs_smi_gap){field, cell.metric};
  }
  VS_ASSERT(gaps.count <= smi->fields.count);
  vs_jsonw_object_end(w);
  vs_jsonw_key(w, VS_STR("unknown"));
  vs_jsonw_object_begin(w);
  for (size_t i = 0; i < gaps.count; i++) {
    vs_smi_json_key(w, gaps.data[i].field);
    vs_smi_json_reason(w, gaps.data[i].metric);
  }
  vs_jsonw_object_end(w);
  vs_vec_free(smi->host, &gaps);
  return VS_OK;
}

static vs_status put_json(vs_smi_row *row) {
  vs_jsonw *w = row->w;
  vs_devices_info info;
  VS_TRY(vs_devices_info_of(row->smi->devices, row->unit, &info));
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "gpu", info.index);
  vs_jsonw_member_str(w, "gpu_uuid", vs_str_from(info.uuid));
  vs_jsonw_member_bool(w, "is_simulated", info.is_simulated);
  vs_jsonw_member_u64(w, "memory_api", row->numbers[VS_METRIC_ID_MEMORY_API].value);
  if (row->process != NULL) vs_jsonw_member_bool(w, "is_visible", row->process->is_visible);
  VS_TRY(put_values(w, row));
  vs_jsonw_object_end(w);
  return VS_OK;
}

static void put_json_fields(vs_jsonw *w, const vs_smi *smi) {
  vs_jsonw_key(w, VS_STR("fields"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < smi->fields.count; i++) {
    if (is_repeated(smi, i)) continue;
    vs_jsonw_object_begin(w);
    vs_jsonw_member_str(w, "name", vs_str_from(smi->fields.data[i]->name));
    vs_jsonw_key(w, VS_STR("unit"));
    vs_smi_json_unit(w, smi->fields.data[i]);
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
}

/* ---- the lines: GPUs, processes, accounts */

static vs_status put_row(vs_smi_row *row) {
  VS_ASSERT((row->w != NULL) != (row->csv != NULL));
  if (row->w != NULL) return put_json(row);
  put_csv(row);
  return VS_OK;
}

/* The processes that compute, ordered by pid. */
static vs_status put_processes(vs_smi_row *row) {
  vs_devices_processes list;
  VS_VEC(vs_sort_pair) order = {0};
  const vs_host *host = row->smi->host;
  VS_TRY(vs_devices_processes_of(row->smi->devices, row->unit, &list));
  VS_TRY(vs_vec_reserve(host, &order, list.count.value));
  for (uint32_t i = 0; i < list.count.value; i++)
    if ((list.rows[i].kinds & (VS_DEVICES_COMPUTE | VS_DEVICES_MPS)) != 0)
      order.data[order.count++] = (vs_sort_pair){.key = list.rows[i].pid, .value = i};
  vs_status status = vs_sort_pairs(host, order.data, order.count);
  for (size_t i = 0; i < order.count && status == VS_OK; i++) {
    row->process = &list.rows[order.data[i].value];
    status = put_row(row);
  }
  vs_vec_free(host, &order);
  return status;
}

static vs_status put_accounts(vs_smi_row *row) {
  vs_devices_accounts list;
  VS_TRY(vs_devices_accounts_of(row->smi->devices, row->unit, &list));
  for (size_t i = 0; i < list.count.value; i++) {
    row->account = &list.rows[i];
    VS_TRY(put_row(row));
  }
  return VS_OK;
}

static vs_status put_unit(vs_smi *smi, vs_text *csv, vs_jsonw *w, uint32_t unit) {
  vs_smi_row row = {
      .smi = smi, .csv = csv, .w = w, .unit = unit, .card = unit, .wall_ns = vs_clock_wall_ns()};
  vs_devices_info info;
  VS_TRY(vs_devices_info_of(smi->devices, unit, &info));
  if (info.is_mig) row.card = info.parent;
  VS_ASSERT(row.card < vs_devices_count(smi->devices));
  ask_numbers(&row);
  switch (smi->query) {
    case VS_SMI_QUERY_APPS: return put_processes(&row);
    case VS_SMI_QUERY_ACCOUNTED: return put_accounts(&row);
    default: return put_row(&row);
  }
}

vs_status vs_smi_put_csv(vs_smi *smi, vs_text *text, bool is_first) {
  if (is_first && smi->has_header) put_headings(smi, text);
  for (size_t i = 0; i < smi->units.count; i++) VS_TRY(put_unit(smi, text, NULL, smi->units.data[i]));
  return VS_OK;
}

vs_status vs_smi_put_reply(vs_smi *smi, vs_text *text) {
  static const char *const names[VS_SMI_QUERY_COUNT] = {"gpu", "compute-apps", "accounted-apps"};
  VS_ASSERT(smi->query < VS_SMI_QUERY_COUNT);
  vs_jsonw w;
  vs_smi_json_begin(&w, text, smi->devices, names[smi->query]);
  put_json_fields(&w, smi);
  vs_jsonw_key(&w, VS_STR("rows"));
  vs_jsonw_array_begin(&w);
  for (size_t i = 0; i < smi->units.count; i++) VS_TRY(put_unit(smi, NULL, &w, smi->units.data[i]));
  vs_jsonw_array_end(&w);
  vs_smi_json_end(&w);
  return text->status;
}
