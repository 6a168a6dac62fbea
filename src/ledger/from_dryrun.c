/* The ledger of a dry run, from its reply. */
#include "codec/json_reply.h"
#include "ledger/ledger.h"

static const char source[] = "dry run";

/* ---- reading what may come from anywhere ----------------------------------------------------------------- */

typedef struct reading {
  vs_ledger *ledger;
  vs_json reply, processes;
  uint64_t device; /* that is read */
  vs_error *error;
} reading;

static bool is_bytes(vs_json value) { return vs_json_u64(value, 0) == vs_json_u64(value, 1); }

static vs_status take(const reading *r, vs_json object, const char *key, uint64_t *value) {
  const vs_json found = vs_reply_at(object, key);
  *value = vs_json_u64(found, 0);
  if (is_bytes(found)) return VS_OK;
  return vs_fail(r->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "GPU %U: \"%s\" %s", r->device, key,
                 vs_json_is_absent(found) ? "is missing" : "is not a number of bytes");
}

static vs_status refuse(const reading *r, const char *sentence) {
  return vs_fail(r->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "GPU %U: %s", r->device, sentence);
}

/* The rows of a "ledger", each with bytes. */
static vs_status sum_of(const reading *r, vs_json rows, uint64_t *sum) {
  *sum = 0;
  if (vs_json_kind(rows) != VS_JSON_ARRAY) return refuse(r, "\"ledger\" is missing or is no list");
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    uint64_t bytes;
    VS_TRY(take(r, vs_json_at(rows, i), "bytes", &bytes));
    if (bytes > UINT64_MAX - *sum)
      return refuse(r, "the bytes of a \"ledger\" are more than 64 bits can count");
    *sum += bytes;
  }
  return VS_OK;
}

/* ---- a process ------------------------------------------------------------------------------------------ */

static vs_ledger_kind kind_of(vs_json row) {
  const vs_str word = vs_reply_str(row, "kind");
  static const vs_ledger_kind kinds[] = {VS_LEDGER_PYTORCH, VS_LEDGER_CONTEXT, VS_LEDGER_UNEXPLAINED};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (vs_str_equal(word, vs_str_from(vs_ledger_kind_name(kinds[i])))) return kinds[i];
  return VS_LEDGER_LIBRARY;
}

static vs_status add_pytorch(const reading *r, uint32_t process, vs_json use, uint64_t bytes) {
  const vs_json division = vs_reply_at(use, "reserved");
  const vs_ledger_figure reserved = vs_ledger_known(bytes, source);
  vs_str why = vs_reply_str(use, "reserved_why");
  if (!vs_reply_is_unknown(division)) {
    VS_TRY(vs_ledger_check_division(division, r->error));
    if (vs_reply_u64(division, "reserved_bytes") != bytes)
      return refuse(r, "\"reserved\" is not about the bytes that PyTorch's allocator has in the \"ledger\"");
  } else if (why.size == 0) {
    why = VS_STR("the reply does not have it");
  }
  vs_ledger_add_pytorch(r->ledger, process, &reserved, division, why);
  return VS_OK;
}

/* PyTorch's row, or all others. What is not known is what is left. */
static vs_status add_owners(const reading *r, uint32_t process, vs_json use, bool of_pytorch) {
  const vs_json rows = vs_reply_at(use, "ledger");
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    const vs_ledger_kind kind = kind_of(row);
    const uint64_t bytes = vs_reply_u64(row, "bytes");
    if (kind == VS_LEDGER_UNEXPLAINED || (kind == VS_LEDGER_PYTORCH) != of_pytorch) continue;
    if (of_pytorch) VS_TRY(add_pytorch(r, process, use, bytes));
    else
      (void)vs_ledger_add(r->ledger, process,
                          &(vs_ledger_entry){.kind = kind,
                                             .name = vs_reply_str(row, "owner"),
                                             .figure = vs_ledger_known(bytes, source)});
  }
  return VS_OK;
}

static void put_name(char *name, size_t size, vs_json process) {
  const vs_json rank = vs_reply_at(process, "rank");
  const vs_str program = vs_reply_str(process, "program");
  const char *gap = program.size == 0 ? "" : " ";
  if (vs_reply_is_unknown(rank))
    vs_format(name, size, "process %U%s%S", vs_reply_u64(process, "pid"), gap, program);
  else
    vs_format(name, size, "rank %U, process %U%s%S", vs_json_u64(rank, 0), vs_reply_u64(process, "pid"), gap,
              program);
}

static vs_status add_process(const reading *r, uint32_t used, vs_json process, vs_json use) {
  char name[200];
  uint64_t bytes;
  VS_TRY(sum_of(r, vs_reply_at(use, "ledger"), &bytes));
  if (bytes == 0) return VS_OK; /* it had nothing of the card at its peak */
  put_name(name, sizeof name, process);
  const uint32_t row = vs_ledger_add(r->ledger, used,
                                     &(vs_ledger_entry){.kind = VS_LEDGER_PROCESS,
                                                        .name = vs_str_from(name),
                                                        .figure = vs_ledger_known(bytes, source),
                                                        .has_number = true,
                                                        .number = vs_reply_u64(process, "pid")});
  VS_TRY(add_owners(r, row, use, true));
  return add_owners(r, row, use, false);
}

static vs_status add_processes(const reading *r, uint32_t used) {
  for (size_t p = 0; p < vs_json_count(r->processes); p++) {
    const vs_json process = vs_json_at(r->processes, p), uses = vs_reply_at(process, "devices");
    for (size_t i = 0; i < vs_json_count(uses); i++) {
      const vs_json use = vs_json_at(uses, i);
      if (vs_json_u64(vs_reply_at(use, "device"), UINT64_MAX) == r->device)
        VS_TRY(add_process(r, used, process, use));
    }
  }
  return VS_OK;
}

/* ---- a card --------------------------------------------------------------------------------------------- */

typedef struct figures {
  uint64_t total, nvml_total, taken,
      peak; /* bytes; `total` is CUDA's, nvml_total has the driver's own part, too */
} figures;

static vs_status read_figures(const reading *r, vs_json card, figures *f) {
  uint64_t sum;
  VS_TRY(take(r, card, "total_bytes", &f->total));
  VS_TRY(take(r, card, "taken_bytes", &f->taken));
  VS_TRY(take(r, card, "driver_peak_bytes", &f->peak));
  VS_TRY(take(r, card, "nvml_total_bytes", &f->nvml_total));
  VS_TRY(sum_of(r, vs_reply_at(card, "ledger"), &sum));
  if (sum != f->peak) return refuse(r, "the rows of \"ledger\" do not sum up to \"driver_peak_bytes\"");
  if (f->nvml_total < f->total || f->peak > f->total || f->taken > f->total - f->peak)
    return refuse(r, "\"total_bytes\" is less than its parts, or more than \"nvml_total_bytes\"");
  return VS_OK;
}

static void add(const reading *r, uint32_t parent, vs_ledger_kind kind, const char *name, uint64_t bytes) {
  (void)vs_ledger_add(
      r->ledger, parent,
      &(vs_ledger_entry){.kind = kind, .name = vs_str_from(name), .figure = vs_ledger_known(bytes, source)});
}

static vs_status add_card(const reading *r, vs_json card) {
  figures f;
  VS_TRY(read_figures(r, card, &f));
  const uint32_t row =
      vs_ledger_add(r->ledger, VS_LEDGER_NONE,
                    &(vs_ledger_entry){.kind = VS_LEDGER_CARD,
                                       .name = vs_reply_str(card, "name"),
                                       .figure = vs_ledger_known(f.nvml_total, source),
                                       .has_number = true,
                                       .number = r->device,
                                       .moment = VS_STR("at the GPU's peak in the dry run")});
  const uint32_t used =
      vs_ledger_add(r->ledger, row,
                    &(vs_ledger_entry){.kind = VS_LEDGER_USED,
                                       .name = VS_STR("used"),
                                       .figure = vs_ledger_known(f.peak + f.taken, source)});
  if (f.taken != 0) add(r, used, VS_LEDGER_OTHER_PROCESSES, "other processes, as simulated", f.taken);
  VS_TRY(add_processes(r, used));
  add(r, row, VS_LEDGER_RESERVE, "driver's own reserve", f.nvml_total - f.total);
  add(r, row, VS_LEDGER_FREE, "free", f.total - f.peak - f.taken);
  return r->ledger->status;
}

vs_status vs_ledger_add_dryrun(vs_ledger *ledger, vs_json reply, uint64_t device, vs_error *error) {
  const size_t before = ledger->rows.count;
  const vs_json cards = vs_reply_at(reply, "devices");
  reading r = {
      .ledger = ledger, .reply = reply, .processes = vs_reply_at(reply, "processes"), .error = error};
  if (vs_json_kind(cards) != VS_JSON_ARRAY || vs_json_kind(r.processes) != VS_JSON_ARRAY)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "the dry run has no \"devices\" or no \"processes\"");
  for (size_t i = 0; i < vs_json_count(cards); i++) {
    const vs_json card = vs_json_at(cards, i);
    r.device = i;
    VS_TRY(take(&r, card, "device", &r.device));
    const bool is_wanted = device == VS_LEDGER_ALL || device == r.device;
    if (is_wanted && vs_reply_bool(card, "used")) VS_TRY(add_card(&r, card));
  }
  if (device != VS_LEDGER_ALL && ledger->rows.count == before && ledger->status == VS_OK)
    return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "the dry run did not use GPU %U", device);
  return ledger->status;
}
