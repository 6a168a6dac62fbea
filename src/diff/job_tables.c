#include "diff/job_tables.h"
#include "base/interned_strings.h"
#include "codec/json_reply.h"
#include "diff/rank_names.h"

/* ---- the columns */

#define FIELD(column, TYPE, sentence) {#column, VS_FIELD_##TYPE},

#define VS_RANKS FIELD
static const vs_field ranks[] = {
#include "diff/job_tables.def"
};

#define VS_OWNERS FIELD
static const vs_field owners[] = {
#include "diff/job_tables.def"
};

#define VS_STEPS FIELD
static const vs_field steps[] = {
#include "diff/job_tables.def"
};

#define COUNT(fields) (sizeof(fields) / sizeof *(fields))

const vs_record_type vs_job_table_types[VS_JOB_TABLES] = {
    [VS_JOB_RANKS] = {"ranks", ranks, COUNT(ranks)},
    [VS_JOB_OWNERS] = {"owners", owners, COUNT(owners)},
    [VS_JOB_STEPS] = {"steps", steps, COUNT(steps)},
};

void vs_job_tables_init(vs_job_tables *tables, const vs_host *host) {
  tables->host = host;
  for (size_t i = 0; i < VS_JOB_TABLES; i++) vs_records_init(&tables->of[i], host, &vs_job_table_types[i]);
}

void vs_job_tables_deinit(vs_job_tables *tables) {
  for (size_t i = 0; i < VS_JOB_TABLES; i++) vs_records_deinit(&tables->of[i]);
}

static vs_status status_of(const vs_job_tables *tables) {
  vs_status status = VS_OK;
  for (size_t i = 0; i < VS_JOB_TABLES && status == VS_OK; i++) status = tables->of[i].status;
  return status;
}

/* ---- values of replies, unknown where they are null or absent */

static void put_i64(vs_records *records, vs_json object, const char *key) {
  const vs_json value = vs_reply_at(object, key);
  const int64_t number = vs_json_i64(value, -1);
  if (vs_reply_is_unknown(value) || (number == -1 && vs_json_i64(value, 0) == 0)) vs_records_null(records);
  else vs_records_i64(records, number);
}

static void put_str(vs_records *records, vs_json object, const char *key) {
  if (vs_reply_knows(object, key)) vs_records_str(records, vs_reply_str(object, key));
  else vs_records_null(records);
}

static void put_bool(vs_records *records, vs_json object, const char *key) {
  if (vs_reply_knows(object, key)) vs_records_bool(records, vs_reply_bool(object, key));
  else vs_records_null(records);
}

static void put_name(vs_records *records, vs_str name) {
  uint64_t number;
  if (vs_rank_number(name, &number)) vs_records_u64(records, number);
  else vs_records_null(records);
  vs_records_str(records, name);
}

/* ---- ranks */

/* The device of a report that the inventory is of. */
static vs_json device_of(const vs_job_replies *replies) {
  const vs_json devices = vs_reply_at(replies->report, "devices"),
                host = vs_reply_at(replies->report, "host");
  const int64_t device = vs_json_i64(vs_reply_at(replies->inventory, "device"), -1);
  for (size_t i = 0; i < vs_json_count(devices); i++)
    if (vs_reply_i64(vs_json_at(devices, i), "device") == device) return vs_json_at(devices, i);
  return host;
}

/* The entry of that device in "gpus" of a recording; absent if there is none. */
static vs_json gpu_of(vs_json recording, int64_t device) {
  const vs_json gpus = vs_reply_at(recording, "gpus");
  size_t at = 0;
  while (at < vs_json_count(gpus) && vs_reply_i64(vs_json_at(gpus, at), "device") != device) at++;
  return vs_json_at(gpus, at);
}

static void put_growth(vs_records *records, vs_json device) {
  const vs_json most = vs_json_at(vs_reply_at(device, "growth"), 0);
  if (!vs_reply_knows(device, "steps")) vs_records_null(records);
  else vs_records_u64(records, vs_reply_u64(most, "bytes_per_step"));
}

/* Lines of sentences: the findings of "trust", which say what may be inexact and what is not known, such as owners; then names that were lost with
 * damaged parts of a recording. */
static void put_findings(vs_records *records, vs_json device, vs_json recording) {
  const vs_json findings = vs_reply_at(vs_reply_at(device, "trust"), "findings");
  const uint64_t lost = vs_reply_u64(recording, "lost_names");
  vs_text lines;
  vs_text_init(&lines, records->host, NULL);
  for (size_t i = 0; i < vs_json_count(findings); i++) {
    if (i != 0) vs_text_byte(&lines, '\n');
    vs_text_str(&lines, vs_reply_str(vs_json_at(findings, i), "sentence"));
  }
  if (lost != 0)
    vs_text_format(&lines,
                   "%s%U reference%s to names in damaged parts cannot be resolved: owners may be unknown",
                   vs_json_count(findings) == 0 ? "" : "\n", lost, lost == 1 ? "" : "s");
  if (lines.status != VS_OK && records->status == VS_OK) records->status = lines.status;
  if (vs_text_view(&lines).size == 0) vs_records_null(records);
  else vs_records_str(records, vs_text_view(&lines));
  vs_text_deinit(&lines);
}

static void add_rank(vs_records *records, vs_str name, const vs_job_replies *replies, vs_json device) {
  const vs_json inventory = replies->inventory, end = vs_reply_at(device, "end"),
                trace = vs_reply_at(device, "trace"),
                recording = vs_reply_at(vs_reply_at(replies->report, "file"), "recording"),
                gpu = gpu_of(recording, vs_json_i64(vs_reply_at(inventory, "device"), -1));
  put_name(records, name);
  vs_records_null(records); /* error */
  put_str(records, recording, "host");
  put_i64(records, recording, "pid");
  put_i64(records, inventory, "device");
  put_str(records, gpu, "name");
  put_i64(records, gpu, "total_bytes");
  put_i64(records, inventory, "peak_allocated_bytes");
  put_bool(records, inventory, "allocated_is_exact");
  put_i64(records, inventory, "peak_requested_bytes");
  put_i64(records, inventory, "peak_reserved_bytes");
  put_i64(records, end, "allocated_bytes");
  put_i64(records, end, "reserved_bytes");
  put_i64(records, inventory, "ooms");
  put_i64(records, vs_reply_at(device, "steps"), "count");
  put_growth(records, device);
  put_bool(records, inventory, "complete");
  put_i64(records, trace, "events");
  put_i64(records, trace, "first_time_us");
  put_i64(records, trace, "last_time_us");
  put_str(records, inventory, "requests_hash");
  put_findings(records, device, recording);
  vs_records_row_end(records);
}

/* ---- owners: those of the peak, each with its growth; then those that grow without a block at the peak */

typedef struct growing {
  vs_json line; /* the first one of the owner */
  uint64_t bytes_per_step;
  bool is_put;
} growing;

/* Invariant: by_path[i] is the owner whose long label is string VS_STRING_EMPTY + i of `paths`. */
typedef struct growths {
  vs_strings paths;
  VS_VEC(growing) by_path;
} growths;

static vs_status collect_growths(const vs_host *host, vs_json lines, growths *out) {
  for (size_t i = 0; i < vs_json_count(lines); i++) {
    const vs_json line = vs_json_at(lines, i);
    uint32_t id;
    VS_TRY(vs_strings_intern(host, &out->paths, vs_reply_str(line, "long_label"), &id));
    VS_TRY(vs_vec_reserve(host, &out->by_path, id));
    for (; out->by_path.count < id; out->by_path.count++)
      out->by_path.data[out->by_path.count] = (growing){.line = line};
    growing *at = &out->by_path.data[id - VS_STRING_EMPTY];
    at->bytes_per_step = vs_sat_add_u64(at->bytes_per_step, vs_reply_u64(line, "bytes_per_step"));
  }
  return VS_OK;
}

/* NULL if it does not grow. */
static growing *find_growth(const growths *all, vs_str path) {
  const uint32_t id = vs_strings_find(&all->paths, path);
  return id == VS_STRING_NONE || id > all->by_path.count ? NULL : &all->by_path.data[id - VS_STRING_EMPTY];
}

static void add_owner(vs_records *records, vs_str name, vs_json owner, bool is_at_peak, bool knows_steps,
                      uint64_t growth) {
  put_name(records, name);
  put_str(records, owner, "label");
  put_str(records, owner, "long_label");
  vs_records_u64(records, is_at_peak ? vs_reply_u64(owner, "bytes") : 0);
  vs_records_u64(records, is_at_peak ? vs_reply_u64(owner, "count") : 0);
  if (knows_steps) vs_records_u64(records, growth);
  else vs_records_null(records);
  vs_records_row_end(records);
}

static vs_status add_owners(vs_job_tables *tables, vs_str name, vs_json device, growths *all) {
  const vs_json list = vs_reply_at(vs_reply_at(device, "peak"), "owners");
  const bool knows_steps = vs_reply_knows(device, "steps");
  vs_records *records = &tables->of[VS_JOB_OWNERS];
  VS_TRY(collect_growths(tables->host, vs_reply_at(device, "growth"), all));
  for (size_t i = 0; i < vs_json_count(list); i++) {
    const vs_json owner = vs_json_at(list, i);
    growing *growth = find_growth(all, vs_reply_str(owner, "long_label"));
    add_owner(records, name, owner, true, knows_steps, growth == NULL ? 0 : growth->bytes_per_step);
    if (growth != NULL) growth->is_put = true;
  }
  for (size_t i = 0; i < all->by_path.count; i++) {
    const growing *growth = &all->by_path.data[i];
    if (growth->bytes_per_step != 0 && !growth->is_put)
      add_owner(records, name, growth->line, false, knows_steps, growth->bytes_per_step);
  }
  return VS_OK;
}

static vs_status put_owners(vs_job_tables *tables, vs_str name, vs_json device) {
  growths all = {.by_path = {0}};
  VS_TRY(vs_strings_init(tables->host, &all.paths));
  const vs_status status = add_owners(tables, name, device, &all);
  vs_vec_free(tables->host, &all.by_path);
  vs_strings_deinit(tables->host, &all.paths);
  return status;
}

/* ---- steps */

static void add_step(vs_records *records, vs_str name, vs_json step) {
  static const char *const keys[] = {
      "step",         "first_event",          "last_event",           "first_time_us",
      "last_time_us", "peak_allocated_bytes", "peak_requested_bytes", "peak_reserved_bytes"};
  put_name(records, name);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) put_i64(records, step, keys[i]);
  vs_records_row_end(records);
}

/* ---- a file */

vs_status vs_job_tables_add(vs_job_tables *tables, vs_str name, const vs_job_replies *replies) {
  const vs_json device = device_of(replies), list = vs_reply_at(replies->steps, "steps");
  add_rank(&tables->of[VS_JOB_RANKS], name, replies, device);
  VS_TRY(put_owners(tables, name, device));
  for (size_t i = 0; i < vs_json_count(list); i++)
    add_step(&tables->of[VS_JOB_STEPS], name, vs_json_at(list, i));
  return status_of(tables);
}

vs_status vs_job_tables_add_failed(vs_job_tables *tables, vs_str name, vs_str why) {
  vs_records *records = &tables->of[VS_JOB_RANKS];
  put_name(records, name);
  vs_records_str(records, why);
  while (records->next != records->type->field_count) vs_records_null(records);
  vs_records_row_end(records);
  return status_of(tables);
}
