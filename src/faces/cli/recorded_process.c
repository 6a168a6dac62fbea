#include "faces/cli/recorded_process.h"
#include "codec/json_reply.h"
#include "faces/cli/client.h"
#include "ledger/ledger.h"
#include "os/proc.h"

enum { PATH = VS_RECORDED_PATH, VARIABLE = 4096 };

static const char proc_root[] = "/proc";

vs_status vs_recorded_process_find(uint64_t pid, char path[VS_RECORDED_PATH], vs_error *why) {
  char mapped[PATH];
  const vs_status status = vs_proc_mapped_file(proc_root, pid, ".vram", mapped, sizeof mapped);
  if (status == VS_NOT_FOUND)
    return vs_fail(why, status, VS_NO_OFFSET, "the process is not recorded (vramscope attach %U)", pid);
  if (status == VS_IO)
    return vs_fail(why, status, VS_NO_OFFSET,
                   "whether the process is recorded can only be seen by its user or root");
  if (status != VS_OK) return vs_fail(why, status, VS_NO_OFFSET, "the path of its recording is too long");
  if (vs_proc_shares_paths(proc_root, pid)) vs_format(path, PATH, "%s", mapped);
  else vs_format(path, PATH, "/proc/%U/root%s", pid, mapped);
  return VS_OK;
}

/* ---- the machine, as the process sees it */

/* A variable that decides CUDA's numbers in the process, of which this process may have another value. */
static const char *variable_of(uint64_t pid, const char *name, const char *usual, char to[VARIABLE]) {
  const vs_status status = vs_proc_variable(proc_root, pid, name, to, VARIABLE);
  return status == VS_OK ? to : status == VS_NOT_FOUND ? usual : NULL;
}

/* CUDA shows all cards if the variable is not set, which is the same as naming them all. */
static const char all_cards[] =
    "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31";

vs_status vs_recorded_process_open_devices(const vs_host *host, uint64_t pid, vs_devices **devices,
                                           vs_devices_failure *failure) {
  char visible[VARIABLE], order[VARIABLE];
  const vs_devices_options options = {.host = host,
                                      .visible = variable_of(pid, "CUDA_VISIBLE_DEVICES", all_cards, visible),
                                      .order = variable_of(pid, "CUDA_DEVICE_ORDER", "", order)};
  return vs_devices_open(&options, devices, failure);
}

static vs_metric number_among(vs_devices *devices, const char *uuid) {
  for (uint32_t i = 0; i < vs_devices_count(devices); i++) {
    vs_devices_info info;
    if (vs_devices_info_of(devices, i, &info) == VS_OK &&
        vs_str_equal(vs_str_from(info.uuid), vs_str_from(uuid)))
      return info.cuda_index;
  }
  return (vs_metric){.reason = VS_REASON_NOT_VISIBLE};
}

vs_metric vs_recorded_process_number(const vs_host *host, uint64_t pid, const char *uuid) {
  vs_devices *devices;
  vs_devices_failure failure;
  if (vs_recorded_process_open_devices(host, pid, &devices, &failure) != VS_OK)
    return (vs_metric){.reason = VS_REASON_NO_DRIVER};
  const vs_metric number = number_among(devices, uuid);
  vs_devices_close(devices);
  return number;
}

static vs_status ask(vs_client *client, const char *method, int64_t device, vs_json_doc *reply,
                     vs_error *why) {
  vs_text bytes;
  vs_text_init(&bytes, client->host, NULL);
  vs_client_begin(client, method);
  if (device >= 0) vs_client_param_i64(client, "device", device);
  vs_status status = vs_client_try(client, &bytes, why);
  if (status == VS_OK) status = vs_json_doc_init(reply, client->host, vs_text_view(&bytes), why);
  vs_text_deinit(&bytes);
  return status;
}

/* ---- which GPU of the recording it is */

typedef struct numbers {
  vs_json pytorch, libraries; /* "devices" of the replies of "info" and "libraries" */
} numbers;

static bool has_number(vs_json devices, int64_t number) {
  for (size_t i = 0; i < vs_json_count(devices); i++)
    if (vs_reply_i64(vs_json_at(devices, i), "device") == number) return true;
  return false;
}

/* The only GPU of which the recording has memory; below 0: it has none, or several. */
static int64_t only_number(const numbers *n) {
  int64_t only = -1;
  const vs_json lists[] = {n->pytorch, n->libraries};
  for (size_t k = 0; k < 2; k++)
    for (size_t i = 0; i < vs_json_count(lists[k]); i++) {
      const int64_t number = vs_reply_i64(vs_json_at(lists[k], i), "device");
      if (only >= 0 && only != number) return -1;
      only = number;
    }
  return only;
}

/* The only one of the recording if the process has memory on one card only, else by the number that the card has in the process.
 * Below 0: unknown, `why` is filled. */
static int64_t number_of(const numbers *n, uint32_t cards, vs_metric cuda, vs_error *why) {
  const int64_t only = only_number(n);
  if (cards == 1 && only >= 0) return only;
  if (!vs_metric_is_known(cuda)) {
    vs_fail(why, VS_NOT_FOUND, VS_NO_OFFSET, "which number this GPU has in the process: %s",
            vs_reason_text(cuda.reason));
    return -1;
  }
  const int64_t number = (int64_t)cuda.value;
  if (has_number(n->pytorch, number) || has_number(n->libraries, number)) return number;
  vs_fail(why, VS_NOT_FOUND, VS_NO_OFFSET, "the recording has no memory of this GPU");
  return -1;
}

/* ---- reading */

/* What all lines that still hold what each step added have gained, a step. */
static uint64_t growth_of(vs_json growth) {
  uint64_t sum = 0;
  for (size_t i = 0; i < vs_json_count(growth); i++) {
    const vs_json line = vs_json_at(growth, i);
    if (vs_str_equal(vs_reply_str(line, "kind"), VS_STR("allocated")))
      sum = vs_sat_add_u64(sum, vs_reply_u64(line, "bytes_per_step"));
  }
  return sum;
}

/* Steps that a pattern makes may be layers, so they tell nothing. The growth stays unknown then, as where the report fails. */
static void read_growth(vs_client *client, int64_t device, vs_recorded_process *out) {
  enum { FEWEST_STEPS = 3 };
  vs_json_doc report;
  vs_error ignored;
  if (ask(client, "report", device, &report, &ignored) != VS_OK) return;
  const vs_json of_device = vs_json_at(vs_reply_at(vs_json_root(&report), "devices"), 0);
  const vs_json steps = vs_reply_at(of_device, "steps");
  const bool is_guessed = vs_str_equal(vs_reply_str(steps, "source"), VS_STR("pattern"));
  if (vs_reply_u64(steps, "count") >= FEWEST_STEPS && !is_guessed)
    out->growth_per_step =
        (vs_metric){.reason = VS_REASON_KNOWN, .value = growth_of(vs_reply_at(of_device, "growth"))};
  vs_json_doc_deinit(&report);
}

static vs_status read_pytorch(vs_client *client, int64_t device, bool has_growth, vs_recorded_process *out) {
  VS_TRY(ask(client, "reserved", device, &out->reply, &out->why));
  out->has_pytorch = true;
  if (has_growth) read_growth(client, device, out);
  out->device = vs_json_root(&out->reply);
  const vs_status status = vs_ledger_check_division(out->device, &out->why);
  if (status != VS_OK) vs_json_doc_deinit(&out->reply);
  return status;
}

/* Takes over the reply. */
static vs_status take_libraries(vs_json_doc *libraries, int64_t device, vs_recorded_process *out) {
  out->reply = *libraries;
  *libraries = (vs_json_doc){.host = libraries->host, .root = {.kind = VS_JSON_ABSENT}};
  const vs_json devices = vs_reply_at(vs_json_root(&out->reply), "devices");
  for (size_t i = 0; i < vs_json_count(devices); i++)
    if (vs_reply_i64(vs_json_at(devices, i), "device") == device) out->device = vs_json_at(devices, i);
  return VS_OK;
}

static vs_status read(vs_client *client, uint32_t cards, vs_metric cuda, bool has_growth,
                      vs_recorded_process *out) {
  vs_json_doc info, libraries;
  VS_TRY(ask(client, "info", -1, &info, &out->why));
  vs_status status = ask(client, "libraries", -1, &libraries, &out->why);
  if (status == VS_OK) {
    const numbers n = {.pytorch = vs_reply_at(vs_json_root(&info), "devices"),
                       .libraries = vs_reply_at(vs_json_root(&libraries), "devices")};
    const int64_t device = number_of(&n, cards, cuda, &out->why);
    if (device < 0) status = VS_NOT_FOUND;
    else if (has_number(n.pytorch, device)) status = read_pytorch(client, device, has_growth, out);
    else status = take_libraries(&libraries, device, out);
    vs_json_doc_deinit(&libraries);
  }
  vs_json_doc_deinit(&info);
  return status;
}

void vs_recorded_process_read(vs_recorded_process *out, const vs_host *host, uint64_t pid, uint32_t cards,
                              vs_metric cuda, bool has_growth) {
  char path[PATH];
  vs_engine *engine;
  vs_client client;
  *out = (vs_recorded_process){.is_known = false, .growth_per_step = {.reason = VS_REASON_NOT_SAMPLED}};
  if (vs_recorded_process_find(pid, path, &out->why) != VS_OK) return;
  const vs_intake intake = {.name = vs_str_from(path)};
  if (vs_intake_open(host, &intake, path, &engine, &out->why) != VS_OK) return;
  vs_client_open_engine(&client, host, path, engine);
  out->is_known = read(&client, cards, cuda, has_growth, out) == VS_OK;
  vs_client_close(&client);
}

void vs_recorded_process_deinit(vs_recorded_process *process) {
  if (process->is_known) vs_json_doc_deinit(&process->reply);
  process->is_known = false;
}
