#include "check/facts.h"
#include "diff/side.h"

const vs_fact_kind vs_fact_kinds[VS_FACT_COUNT] = {
#define VS_FACT(id, key_, what_, is_bytes_) [VS_FACT_##id] = {key_, what_, is_bytes_},
#include "check/facts.def"
#undef VS_FACT
};

static vs_fact known(uint64_t value) { return (vs_fact){.is_known = true, .value = value}; }
static vs_fact unknown(const char *why) { return (vs_fact){.why = why}; }

static void raise_to(vs_fact *fact, uint64_t value) { *fact = known(vs_max_u64(fact->value, value)); }

/* The growth of the line that grows most and keeps what it grew by. */
static uint64_t growth_of(vs_json device) {
  const vs_json rows = vs_reply_at(device, "growth");
  uint64_t most = 0;
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    if (!vs_str_equal(vs_reply_str(row, "kind"), VS_STR("freed")))
      most = vs_max_u64(most, vs_reply_u64(row, "bytes_per_step"));
  }
  return most;
}

/* `devices`: the reports of all GPUs of the run. */
static vs_fact growth_in(vs_json devices) {
  uint64_t most = 0;
  if (vs_json_count(devices) == 0) return unknown("PyTorch's history was not recorded");
  for (size_t i = 0; i < vs_json_count(devices); i++) {
    const vs_json device = vs_json_at(devices, i);
    if (!vs_reply_knows(device, "steps")) return unknown("no training steps were recognized");
    most = vs_max_u64(most, growth_of(device));
  }
  return known(most);
}

/* ---- a dry run */

static bool has_verdict(vs_json dryrun, const char *word) {
  return vs_str_equal(vs_reply_str(dryrun, "verdict"), vs_str_from(word));
}

static void put_end(vs_text *text, vs_json dryrun) {
  if (vs_reply_bool(dryrun, "interrupted")) {
    vs_text_cstr(text, "the run was interrupted");
  } else if (has_verdict(dryrun, "does_not_fit")) {
    vs_text_cstr(text, "the program ran out of memory");
  } else if (vs_reply_knows(dryrun, "signal")) {
    vs_text_format(text, "the program was ended by signal %D", vs_reply_i64(dryrun, "signal"));
  } else if (vs_reply_i64(dryrun, "exit_code") != 0) {
    vs_text_format(text, "the program failed with exit status %D", vs_reply_i64(dryrun, "exit_code"));
  }
}

static void put_processes(vs_text *text, vs_json dryrun) {
  const vs_json processes = vs_reply_at(dryrun, "processes");
  for (size_t i = 0; i < vs_json_count(processes) && text->bytes.count == 0; i++) {
    const vs_json process = vs_json_at(processes, i);
    if (vs_json_count(vs_reply_at(process, "devices")) != 0 && !vs_reply_bool(process, "complete"))
      vs_text_cstr(text, "the figures of a process are incomplete");
  }
}

static void take_torch(vs_facts *facts, vs_json torch) {
  raise_to(&facts->list[VS_FACT_ALLOCATED], vs_reply_u64(torch, "peak_allocated_bytes"));
  raise_to(&facts->list[VS_FACT_RESERVED], vs_reply_u64(torch, "peak_reserved_bytes"));
  facts->list[VS_FACT_OOMS] = known(facts->list[VS_FACT_OOMS].value + vs_reply_u64(torch, "ooms"));
  facts->list[VS_FACT_RETRIES] = known(facts->list[VS_FACT_RETRIES].value + vs_reply_u64(torch, "retries"));
}

static void take_dryrun(vs_facts *facts, vs_json dryrun) {
  const vs_json devices = vs_reply_at(dryrun, "devices");
  const char *why = has_verdict(dryrun, "no_cuda")
                        ? "the program did not use the GPU"
                        : "PyTorch's figures are unknown: the program did not use it, or "
                          "ended before they were written";
  for (size_t i = 0; i < VS_FACT_COUNT; i++) facts->list[i] = unknown(why);
  for (size_t i = 0; i < vs_json_count(devices); i++) {
    const vs_json device = vs_json_at(devices, i);
    if (!vs_reply_bool(device, "used")) continue;
    raise_to(&facts->list[VS_FACT_DRIVER], vs_reply_u64(device, "driver_peak_bytes"));
    if (vs_reply_knows(device, "torch")) take_torch(facts, vs_reply_at(device, "torch"));
  }
  if (has_verdict(dryrun, "does_not_fit")) raise_to(&facts->list[VS_FACT_OOMS], 1);
  if (!has_verdict(dryrun, "no_cuda")) facts->list[VS_FACT_GROWTH] = growth_in(vs_reply_at(dryrun, "report"));
  put_end(&facts->incomplete, dryrun);
  put_processes(&facts->incomplete, dryrun);
  facts->inventory = vs_inventory_in(dryrun, NULL);
  facts->no_inventory = has_verdict(dryrun, "no_cuda") ? why : "PyTorch's history was not recorded";
}

/* ---- a file */

/* The first finding that makes figures inexact, or all of them in one. */
static void put_trust(vs_text *text, vs_json device) {
  const vs_json findings = vs_reply_at(vs_reply_at(device, "trust"), "findings");
  for (size_t i = 0; i < vs_json_count(findings); i++) {
    const vs_str sentence = vs_reply_str(vs_json_at(findings, i), "sentence");
    if (sentence.size == 0) continue;
    vs_text_str(text, sentence);
    return;
  }
  vs_text_cstr(text, "the recording began late, or events were lost");
}

static vs_json report_of(vs_json report, int64_t device) {
  const vs_json devices = vs_reply_at(report, "devices");
  size_t i = 0;
  while (i < vs_json_count(devices) && vs_reply_i64(vs_json_at(devices, i), "device") != device) i++;
  return vs_json_at(devices, i);
}

static vs_fact figure_of(vs_json inventory, const char *key, const char *why) {
  const vs_json value = vs_reply_at(inventory, key);
  return vs_reply_is_unknown(value) ? unknown(why) : known(vs_json_u64(value, 0));
}

static void take_file(vs_facts *facts, const vs_check_run *run) {
  const vs_json inventory = run->inventory;
  const vs_json device = report_of(run->report, vs_reply_i64(inventory, "device"));
  facts->inventory = inventory;
  facts->list[VS_FACT_ALLOCATED] = figure_of(inventory, "peak_allocated_bytes", "the file does not have it");
  facts->list[VS_FACT_RESERVED] = figure_of(inventory, "peak_reserved_bytes", "the file does not have it");
  facts->list[VS_FACT_OOMS] = figure_of(inventory, "ooms", "the file does not have them");
  facts->list[VS_FACT_DRIVER] =
      figure_of(inventory, "peak_driver_bytes", "a snapshot does not have it; a dry run does");
  facts->list[VS_FACT_RETRIES] = unknown("a snapshot does not have them; a dry run does");
  if (vs_json_is_absent(device)) facts->list[VS_FACT_GROWTH] = unknown("the file has no history");
  else if (!vs_reply_knows(device, "steps"))
    facts->list[VS_FACT_GROWTH] = unknown("no training steps were recognized");
  else facts->list[VS_FACT_GROWTH] = known(growth_of(device));
  if (!vs_reply_bool(inventory, "complete")) put_trust(&facts->incomplete, device);
}

vs_status vs_facts_init(vs_facts *facts, const vs_host *host, const vs_check_run *run) {
  *facts = (vs_facts){.no_inventory = ""};
  facts->inventory = (vs_json){.value.kind = VS_JSON_ABSENT};
  vs_text_init(&facts->incomplete, host, NULL);
  if (vs_json_is_absent(run->dryrun)) take_file(facts, run);
  else take_dryrun(facts, run->dryrun);
  return facts->incomplete.status;
}

void vs_facts_deinit(vs_facts *facts) { vs_text_deinit(&facts->incomplete); }
