#include "snapshot/nsys.h"
#include "base/sort.h"
#include "base/text.h"
#include "codec/json_reader.h"
#include "snapshot/account.h"

typedef enum table {
#define VS_NSYS_TABLE(name, text) TABLE_##name,
#include "snapshot/nsys_words.def"
#undef VS_NSYS_TABLE
  TABLE_COUNT,
} table;
static const char *const TABLES[TABLE_COUNT] = {
#define VS_NSYS_TABLE(name, text) text,
#include "snapshot/nsys_words.def"
#undef VS_NSYS_TABLE
};

typedef enum column {
#define VS_NSYS_COLUMN(name, text) COLUMN_##name,
#include "snapshot/nsys_words.def"
#undef VS_NSYS_COLUMN
  COLUMN_COUNT,
} column;
static const char *const COLUMNS[COLUMN_COUNT] = {
#define VS_NSYS_COLUMN(name, text) text,
#include "snapshot/nsys_words.def"
#undef VS_NSYS_COLUMN
};

/* Whose memory a kind of memory is. */
typedef enum owner { OWNER_OTHER, OWNER_GPU, OWNER_UNKNOWN } owner;

/* What a number of an enumeration means, which the file may say itself. */
typedef struct meaning {
  uint8_t what; /* owner, or vs_event_kind */
  int64_t number;
  const char *symbol, *label;
} meaning;
static const meaning KINDS[] = {
#define VS_NSYS_KIND(owner, number, symbol, label) {OWNER_##owner, number, symbol, label},
#include "snapshot/nsys_words.def"
#undef VS_NSYS_KIND
};
static const meaning OPERATIONS[] = {
#define VS_NSYS_OPERATION(event, number, symbol, label) {event, number, symbol, label},
#include "snapshot/nsys_words.def"
#undef VS_NSYS_OPERATION
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS, OPERATION_COUNT = sizeof OPERATIONS / sizeof *OPERATIONS };

enum { MOST_COLUMNS = 32, FOLDED = VS_VALUE_USER, NOTHING = 255 };

/* A process on one of its devices. */
typedef struct unit {
  int64_t process; /* globalPid */
  int32_t device;  /* the process' number */
  int32_t gpu;     /* the machine's number */
  uint64_t events;
  bool is_shown;
} unit;

typedef struct device_row {
  int64_t pid, device, gpu;
} device_row;

typedef struct reader {
  const vs_host *host;
  vs_account account;
  vs_strings names;
  uint32_t word_table, word_row, first_table, first_column; /* string ids in names */
  /* The table whose rows come; NOTHING: one that is not used. */
  uint8_t table;
  uint8_t column_of[MOST_COLUMNS]; /* of its values: COLUMN_..., NOTHING */
  size_t value_count;
  uint32_t has_columns; /* bit COLUMN_... */
  vs_value row[COLUMN_COUNT];
  bool is_export; /* it has a table of Nsight Systems */
  /* What the file says of its enumerations: number -> `what`; empty: nothing. */
  vs_map kinds, operations;
  int64_t clock_ns;
  VS_VEC(device_row) devices;
  vs_map device_by_hash;
  vs_map name_by_process; /* globalPid -> string id in names */
  VS_VEC(unit) units;
  vs_map unit_by_hash;
  VS_VEC(uint32_t) unit_of; /* of each entry of the account */
  vs_map stream_by_number;
  uint64_t events, unknown_kinds;
} reader;

bool vs_nsys_is(vs_str head) { return vs_str_starts(head, VS_STR("[[\"tables\"]")); }

/* ---- values of a row ------------------------------------------------------------------------------------------- */

static bool has_column(const reader *r, column c) { return (r->has_columns >> c & 1) != 0; }

/* False: the row has no whole number there, and *out is 0. */
static bool number_of(const reader *r, column c, int64_t *out) {
  *out = r->row[c].kind == VS_VALUE_INT ? (int64_t)r->row[c].bits : 0;
  return r->row[c].kind == VS_VALUE_INT;
}

static vs_status need_number(const reader *r, column c, int64_t *out, vs_error *error) {
  if (number_of(r, c, out)) return VS_OK;
  return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "a row of %s has no whole number \"%s\"",
                 TABLES[r->table], COLUMNS[c]);
}

static bool is_text(const reader *r, column c, const char *text) {
  return r->row[c].kind == VS_VALUE_STRING &&
         vs_str_equal(vs_strings_at(&r->names, (uint32_t)r->row[c].bits), vs_str_from(text));
}

static vs_status map_set(const vs_host *host, vs_map *map, uint64_t key, uint32_t value) {
  const size_t slot = vs_map_find(map, key);
  if (slot != VS_MAP_NONE) {
    map->slots[slot].value = value;
    return VS_OK;
  }
  VS_TRY(vs_map_reserve(host, map));
  vs_map_add(map, key, value);
  return VS_OK;
}

/* ---- enumerations ---------------------------------------------------------------------------------------------- */

/* A row of an enumeration: what its symbol means, or its label where it has no symbol. */
static vs_status take_meaning(reader *r, vs_map *map, const meaning *all, size_t count, vs_error *error) {
  int64_t number;
  uint8_t what = NOTHING;
  const bool has_symbol = r->row[COLUMN_NAME].kind == VS_VALUE_STRING;
  VS_TRY(need_number(r, COLUMN_ID, &number, error));
  for (size_t i = 0; i < count; i++)
    if (has_symbol ? is_text(r, COLUMN_NAME, all[i].symbol) : is_text(r, COLUMN_LABEL, all[i].label))
      what = all[i].what;
  return map_set(r->host, map, (uint64_t)number, what);
}

/* What a number means, by what the file says, or else by what it meant before files said it; NOTHING: unknown. */
static uint8_t meaning_of(const vs_map *map, const meaning *all, size_t count, int64_t number) {
  const size_t slot = vs_map_find(map, (uint64_t)number);
  if (map->count != 0) return slot == VS_MAP_NONE ? NOTHING : (uint8_t)map->slots[slot].value;
  for (size_t i = 0; i < count; i++)
    if (all[i].number == number) return all[i].what;
  return NOTHING;
}

/* Exports from before there were kinds list the memory of devices only. */
static owner owner_of(const reader *r) {
  int64_t number;
  if (!has_column(r, COLUMN_MEM_KIND)) return OWNER_GPU;
  if (!number_of(r, COLUMN_MEM_KIND, &number)) return OWNER_UNKNOWN;
  const uint8_t what = meaning_of(&r->kinds, KINDS, KIND_COUNT, number);
  return what == NOTHING ? OWNER_UNKNOWN : (owner)what;
}

/* ---- processes and devices ------------------------------------------------------------------------------------- */

static uint64_t hash_pair(int64_t a, int64_t b) {
  return vs_hash_mix(vs_hash_u64((uint64_t)a), (uint64_t)b ^ UINT64_C(0x9fb21c651e98df25));
}

/* The process id of a "globalPid": its bits 24 to 47 (docs.nvidia.com/nsight-systems/UserGuide, "Serialized Process and Thread
 * Identifiers"). */
static int64_t pid_of(int64_t process) { return (int64_t)((uint64_t)process >> 24 & 0xffffff); }

static const device_row *find_device(const reader *r, int64_t pid, int64_t device) {
  const vs_map *map = &r->device_by_hash;
  for (size_t slot = vs_map_find(map, hash_pair(pid, device)); slot != VS_MAP_NONE;
       slot = vs_map_find_next(map, slot)) {
    const device_row *row = &r->devices.data[map->slots[slot].value];
    if (row->pid == pid && row->device == device) return row;
  }
  return NULL;
}

/* Rows without a GPU's number are of no use. */
static vs_status take_device(reader *r) {
  device_row row;
  if (!number_of(r, COLUMN_PID, &row.pid) || !number_of(r, COLUMN_CUDA_ID, &row.device) ||
      !number_of(r, COLUMN_GPU_ID, &row.gpu) || find_device(r, row.pid, row.device) != NULL)
    return VS_OK;
  if (r->devices.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(r->host, &r->devices, 1));
  VS_TRY(vs_map_reserve(r->host, &r->device_by_hash));
  vs_map_add(&r->device_by_hash, hash_pair(row.pid, row.device), (uint32_t)r->devices.count);
  r->devices.data[r->devices.count++] = row;
  return VS_OK;
}

static vs_status take_process(reader *r) {
  int64_t process;
  if (!number_of(r, COLUMN_GLOBAL_PID, &process) || r->row[COLUMN_NAME].kind != VS_VALUE_STRING) return VS_OK;
  return map_set(r->host, &r->name_by_process, (uint64_t)process, (uint32_t)r->row[COLUMN_NAME].bits);
}

static vs_status check_device(int64_t device, vs_error *error) {
  if (device >= 0 && device < VS_MAX_DEVICES) return VS_OK;
  return vs_fail(error, VS_LIMIT, VS_NO_OFFSET, "device %D; 0 to %d are read", device, VS_MAX_DEVICES - 1);
}

/* The unit of an event. */
static vs_status find_unit(reader *r, uint32_t *out, vs_error *error) {
  int64_t process = 0, device = 0;
  if (has_column(r, COLUMN_GLOBAL_PID)) VS_TRY(need_number(r, COLUMN_GLOBAL_PID, &process, error));
  if (has_column(r, COLUMN_DEVICE_ID)) VS_TRY(need_number(r, COLUMN_DEVICE_ID, &device, error));
  VS_TRY(check_device(device, error));
  const uint64_t hash = hash_pair(process, device);
  for (size_t slot = vs_map_find(&r->unit_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&r->unit_by_hash, slot)) {
    *out = r->unit_by_hash.slots[slot].value;
    if (r->units.data[*out].process == process && r->units.data[*out].device == device) return VS_OK;
  }
  if (r->units.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(r->host, &r->units, 1));
  VS_TRY(vs_map_reserve(r->host, &r->unit_by_hash));
  *out = (uint32_t)r->units.count;
  vs_map_add(&r->unit_by_hash, hash, *out);
  r->units.data[r->units.count++] = (unit){.process = process, .device = (int32_t)device};
  return VS_OK;
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

/* The index of the row's stream; without one the default stream's. */
static vs_status find_stream(reader *r, uint32_t *out) {
  vs_snapshot *s = r->account.s;
  int64_t number;
  *out = 0;
  if (!number_of(r, COLUMN_STREAM_ID, &number)) return VS_OK;
  s->lacks &= ~(uint32_t)VS_LACKS_STREAMS;
  if (number == 0) return VS_OK;
  const size_t slot = vs_map_find(&r->stream_by_number, (uint64_t)number);
  if (slot != VS_MAP_NONE) {
    *out = r->stream_by_number.slots[slot].value;
    return VS_OK;
  }
  VS_TRY(vs_vec_reserve(s->host, &s->streams, 1));
  VS_TRY(vs_map_reserve(s->host, &r->stream_by_number));
  *out = (uint32_t)s->streams.count;
  vs_map_add(&r->stream_by_number, (uint64_t)number, *out);
  s->streams.data[s->streams.count++] = (uint64_t)number;
  return VS_OK;
}

static vs_status take_operation(const reader *r, uint8_t *out, vs_error *error) {
  int64_t number;
  VS_TRY(need_number(r, COLUMN_OPERATION_TYPE, &number, error));
  *out = meaning_of(&r->operations, OPERATIONS, OPERATION_COUNT, number);
  if (*out != NOTHING) return VS_OK;
  return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET,
                 "a memory event has the operation %D, which is neither an allocation nor a deallocation",
                 number);
}

static vs_status take_event(reader *r, vs_error *error) {
  vs_account_entry entry = {.stack = VS_LIST_NONE};
  int64_t address, bytes;
  uint32_t at;
  const owner whose = owner_of(r);
  r->events++;
  r->account.s->left_out += whose == OWNER_OTHER;
  r->unknown_kinds += whose == OWNER_UNKNOWN;
  if (whose != OWNER_GPU) return VS_OK;
  VS_TRY(take_operation(r, &entry.kind, error));
  VS_TRY(need_number(r, COLUMN_START, &entry.time_ns, error));
  VS_TRY(need_number(r, COLUMN_ADDRESS, &address, error));
  VS_TRY(need_number(r, COLUMN_BYTES, &bytes, error));
  if (bytes < 0)
    return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "a memory event is about %D bytes", bytes);
  if (address == 0) return VS_OK; /* about no memory */
  VS_TRY(find_unit(r, &at, error));
  entry.address = (uint64_t)address;
  entry.size = (uint64_t)bytes;
  VS_TRY(find_stream(r, &entry.stream));
  VS_TRY(vs_vec_reserve(r->host, &r->unit_of, 1));
  VS_TRY(vs_account_add(&r->account, &entry));
  r->unit_of.data[r->unit_of.count++] = at;
  r->units.data[at].events++;
  return VS_OK;
}

/* ---- the consumer ---------------------------------------------------------------------------------------------- */

static vs_status fold_string(void *ctx, vs_str text, vs_value *out, vs_error *error) {
  reader *r = ctx;
  uint32_t id;
  (void)error;
  VS_TRY(vs_strings_intern(r->host, &r->names, text, &id));
  *out = (vs_value){.bits = id, .kind = VS_VALUE_STRING};
  return VS_OK;
}

static vs_str fold_text(void *ctx, vs_value string) {
  return vs_strings_at(&((reader *)ctx)->names, (uint32_t)string.bits);
}

static vs_status fold_mapping(void *ctx, const vs_value *pairs, size_t count, vs_value *out,
                              vs_error *error) {
  (void)ctx;
  (void)pairs;
  (void)count;
  (void)error;
  *out = (vs_value){.kind = FOLDED};
  return VS_OK;
}

/* Which of `count` words, whose ids follow one another, a value is; NOTHING: none. */
static uint8_t word_of(vs_value value, uint32_t first, size_t count) {
  const uint64_t index = value.bits - first;
  return value.kind == VS_VALUE_STRING && index < count ? (uint8_t)index : NOTHING;
}

/* ["table", name, column ...] */
static vs_status begin_table(reader *r, const vs_value *items, size_t count, vs_error *error) {
  if (count < 2 || count - 2 > MOST_COLUMNS)
    return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "a table of %U columns",
                   (uint64_t)(count < 2 ? 0 : count - 2));
  r->is_export = true;
  r->table = word_of(items[1], r->first_table, TABLE_COUNT);
  r->value_count = count - 2;
  r->has_columns = 0;
  for (size_t i = 0; i < r->value_count; i++) {
    r->column_of[i] = word_of(items[2 + i], r->first_column, COLUMN_COUNT);
    if (r->column_of[i] != NOTHING) r->has_columns |= 1U << r->column_of[i];
  }
  return VS_OK;
}

static vs_status take_row(reader *r, const vs_value *items, size_t count, vs_error *error) {
  if (count != r->value_count + 1)
    return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "a row has %U values for %U columns",
                   (uint64_t)count - 1, (uint64_t)r->value_count);
  memset(r->row, 0, sizeof r->row);
  for (size_t i = 0; i < r->value_count; i++)
    if (r->column_of[i] != NOTHING) r->row[r->column_of[i]] = items[1 + i];
  switch (r->table) {
    case TABLE_KIND: return take_meaning(r, &r->kinds, KINDS, KIND_COUNT, error);
    case TABLE_OPERATION: return take_meaning(r, &r->operations, OPERATIONS, OPERATION_COUNT, error);
    case TABLE_CLOCK: (void)number_of(r, COLUMN_UTC_EPOCH_NS, &r->clock_ns); break;
    case TABLE_DEVICE: return take_device(r);
    case TABLE_PROCESS: return take_process(r);
    case TABLE_EVENT: return take_event(r, error);
    default: break;
  }
  return VS_OK;
}

static vs_status fold_sequence(void *ctx, const vs_value *items, size_t count, bool is_tuple, vs_value *out,
                               vs_error *error) {
  reader *r = ctx;
  (void)is_tuple;
  *out = (vs_value){.kind = FOLDED};
  if (count == 0 || items[0].kind != VS_VALUE_STRING) return VS_OK;
  if (items[0].bits == r->word_row) return take_row(r, items, count, error);
  return items[0].bits == r->word_table ? begin_table(r, items, count, error) : VS_OK;
}

/* ---- which process is shown ------------------------------------------------------------------------------------ */

static bool is_unit_before(const void *ctx, uint32_t a, uint32_t b) {
  const unit *units = ctx;
  if (units[a].gpu != units[b].gpu) return units[a].gpu < units[b].gpu;
  return units[a].process < units[b].process;
}

/* One GPU's units, order[first .. end): shows the process with most events. A process has several where several of its devices
 * are parts of one GPU. */
static vs_status choose(reader *r, const uint32_t *order, size_t first, size_t end) {
  vs_snapshot *s = r->account.s;
  uint64_t processes = 0, most = 0;
  int64_t chosen = 0;
  for (size_t at = first, next; at < end; at = next) {
    uint64_t events = 0;
    const int64_t process = r->units.data[order[at]].process;
    for (next = at; next < end && r->units.data[order[next]].process == process; next++)
      events += r->units.data[order[next]].events;
    if (processes++ == 0 || events > most) chosen = process;
    most = vs_max_u64(most, events);
  }
  for (size_t at = first; at < end; at++)
    r->units.data[order[at]].is_shown = r->units.data[order[at]].process == chosen;
  vs_shown_process shown = {
      .device = r->units.data[order[first]].gpu, .pid = pid_of(chosen), .others = processes - 1};
  const size_t slot = vs_map_find(&r->name_by_process, (uint64_t)chosen);
  const vs_str name =
      slot == VS_MAP_NONE ? VS_STR("") : vs_strings_at(&r->names, r->name_by_process.slots[slot].value);
  VS_TRY(vs_strings_intern(r->host, &s->strings, name, &shown.name));
  VS_TRY(vs_vec_reserve(r->host, &s->shown, 1));
  s->shown.data[s->shown.count++] = shown;
  return VS_OK;
}

/* Finds the GPU of each unit, and the process of each GPU. */
static vs_status choose_all(reader *r, vs_error *error) {
  VS_VEC(uint32_t) order = {0};
  const size_t count = r->units.count;
  for (size_t i = 0; i < count; i++) {
    unit *u = &r->units.data[i];
    const device_row *row = find_device(r, pid_of(u->process), u->device);
    if (row != NULL) VS_TRY(check_device(row->gpu, error));
    u->gpu = row == NULL ? u->device : (int32_t)row->gpu;
  }
  vs_status status = vs_vec_reserve(r->host, &order, count);
  if (status == VS_OK) {
    for (size_t i = 0; i < count; i++) order.data[order.count++] = (uint32_t)i;
    status = vs_sort_rows(r->host, order.data, count, is_unit_before, r->units.data);
  }
  for (size_t first = 0, end; first < count && status == VS_OK; first = end) {
    const int32_t gpu = r->units.data[order.data[first]].gpu;
    for (end = first; end < count && r->units.data[order.data[end]].gpu == gpu;) end++;
    status = choose(r, order.data, first, end);
  }
  vs_vec_free(r->host, &order);
  return status;
}

/* Keeps the entries of the processes that are shown. */
static void keep_shown(reader *r) {
  vs_account *a = &r->account;
  size_t kept = 0;
  for (size_t i = 0; i < a->entries.count; i++) {
    const unit *u = &r->units.data[r->unit_of.data[i]];
    vs_account_entry entry = a->entries.data[i];
    if (!u->is_shown) continue;
    entry.device = u->gpu;
    entry.time_ns = vs_sat_add_i64(entry.time_ns, r->clock_ns);
    a->entries.data[kept++] = entry;
  }
  a->entries.count = kept;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static vs_status intern(reader *r, const char *text, uint32_t *id) {
  return vs_strings_intern(r->host, &r->names, vs_str_from(text), id);
}

/* Words that follow one another have ids that do. */
static vs_status begin(reader *r) {
  uint32_t id;
  VS_TRY(vs_strings_init(r->host, &r->names));
  VS_TRY(vs_account_init(r->host, &r->account));
  r->account.s->lacks |= VS_LACKS_ROUNDING | VS_LACKS_STACKS | VS_LACKS_STREAMS;
  VS_TRY(intern(r, "table", &r->word_table));
  VS_TRY(intern(r, "row", &r->word_row));
  r->first_table = vs_strings_count(&r->names);
  for (int i = 0; i < TABLE_COUNT; i++) VS_TRY(intern(r, TABLES[i], &id));
  r->first_column = vs_strings_count(&r->names);
  for (int i = 0; i < COLUMN_COUNT; i++) VS_TRY(intern(r, COLUMNS[i], &id));
  VS_ASSERT(r->first_column + COLUMN_COUNT == vs_strings_count(&r->names));
  return VS_OK;
}

static vs_status refuse_empty(const reader *r, vs_error *error) {
  if (!r->is_export)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "an SQLite database, but none that Nsight Systems exported");
  if (r->events == 0)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "the export of Nsight Systems has no memory events: record them with "
                   "nsys profile --cuda-memory-usage=true");
  return vs_fail(
      error, VS_UNSUPPORTED, VS_NO_OFFSET,
      "none of the %U memory events of the Nsight Systems export is about memory that is known to be a GPU's",
      r->events);
}

static vs_status finish(reader *r, vs_snapshot **out, vs_error *error) {
  if (r->account.entries.count == 0) return refuse_empty(r, error);
  VS_TRY(choose_all(r, error));
  keep_shown(r);
  r->account.s->unknown_kinds = r->unknown_kinds;
  return vs_account_finish(&r->account, true, out);
}

static void end(reader *r) {
  vs_account_deinit(&r->account);
  vs_strings_deinit(r->host, &r->names);
  vs_map_deinit(r->host, &r->kinds);
  vs_map_deinit(r->host, &r->operations);
  vs_vec_free(r->host, &r->devices);
  vs_map_deinit(r->host, &r->device_by_hash);
  vs_map_deinit(r->host, &r->name_by_process);
  vs_vec_free(r->host, &r->units);
  vs_map_deinit(r->host, &r->unit_by_hash);
  vs_vec_free(r->host, &r->unit_of);
  vs_map_deinit(r->host, &r->stream_by_number);
}

vs_status vs_nsys_read(vs_input *input, vs_snapshot **out, vs_error *error) {
  reader r = {.host = input->host, .account = {.host = input->host}, .table = NOTHING};
  const vs_fold fold = {.ctx = &r,
                        .string = fold_string,
                        .sequence = fold_sequence,
                        .mapping = fold_mapping,
                        .text = fold_text};
  vs_value root;
  vs_status status = begin(&r);
  if (status == VS_OK) status = vs_json_fold(input, &fold, NULL, &root, error);
  if (status == VS_OK) status = finish(&r, out, error);
  end(&r);
  return status;
}
