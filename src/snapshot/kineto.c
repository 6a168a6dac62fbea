#include "snapshot/kineto.h"
#include "base/double_text.h"
#include "base/text.h"
#include "codec/json_reader.h"
#include "snapshot/kineto_internal.h"

enum { VS_KINETO_TOP = 1, VS_KINETO_EVENT = 2, VS_KINETO_ARGS = 4 };

typedef enum key {
#define VS_KINETO_KEY(name, text, where) KEY_##name,
#include "snapshot/kineto_keys.def"
#undef VS_KINETO_KEY
  KEY_COUNT,
} key;

static const struct {
  const char *text;
  uint8_t where;
} KEYS[KEY_COUNT] = {
#define VS_KINETO_KEY(name, text, where) [KEY_##name] = {text, where},
#include "snapshot/kineto_keys.def"
#undef VS_KINETO_KEY
};

/* Strings whose ids are known, after those of the keys. */
typedef enum word {
  WORD_COMPLETE,
  WORD_INSTANT,
  WORD_OLD_INSTANT,
  WORD_CPU_OP,
  WORD_ANNOTATION,
  WORD_PYTHON,
  WORD_MEMORY,
  WORD_OOM,
  WORD_COUNT,
} word;
static const char *const WORDS[WORD_COUNT] = {
    "X", "i", "I", "cpu_op", "user_annotation", "python_function", "[memory]", "[OutOfMemory]"};

enum { DEVICE_TYPE_CUDA = 1 };

/* The kinds of folded values: the args that were folded last (bits: their number), and anything else. */
enum { FOLDED_ARGS = VS_VALUE_USER, FOLDED_OTHER };

/* The known keys of one mapping; `kind` is VS_VALUE_NONE where a key is absent. */
typedef struct fields {
  vs_value value[KEY_COUNT];
  uint8_t where; /* VS_KINETO_...: to which mappings its keys belong */
} fields;

typedef struct reader {
  vs_kineto k;
  uint32_t first_key, first_word; /* string ids in names */
  fields args;                    /* an event is folded right after its args */
  uint64_t args_number;
  int64_t base_ns;
  uint64_t memory_events;
  bool is_there[VS_MAX_DEVICES];
  VS_VEC(int64_t) first_ns; /* by device: the time of the event that account.stated is of */
} reader;

/* ---- values ---------------------------------------------------------------------------------------------------- */

static bool is_word(const reader *r, vs_value value, word w) {
  return value.kind == VS_VALUE_STRING && value.bits == r->first_word + (uint64_t)w;
}

/* A whole number. Some tools write them as floats. */
static bool whole(vs_value value, int64_t *out) {
  if (value.kind == VS_VALUE_INT) *out = (int64_t)value.bits;
  if (value.kind != VS_VALUE_REAL) return value.kind == VS_VALUE_INT;
  const double real = vs_f64_from_bits(value.bits);
  if (!(real > -9e15 && real < 9e15)) return false;
  *out = (int64_t)real;
  return (double)*out == real;
}

/* Microseconds with a fraction, as nanoseconds. */
static bool nanoseconds(vs_value value, int64_t *out) {
  if (value.kind == VS_VALUE_INT) return !__builtin_mul_overflow((int64_t)value.bits, 1000, out);
  if (value.kind != VS_VALUE_REAL) return false;
  const double ns = vs_f64_from_bits(value.bits) * 1000;
  if (!(ns > -9e18 && ns < 9e18)) return false;
  *out = (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
  return true;
}

static vs_status wrong(vs_error *error, key which, const char *wanted) {
  return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "\"%s\" of a memory event is not %s", KEYS[which].text,
                 wanted);
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

static bool is_thread(const vs_kineto_thread *a, const vs_kineto_thread *b) {
  return a->pid == b->pid && a->tid == b->tid && a->pid_kind == b->pid_kind && a->tid_kind == b->tid_kind;
}

static vs_status thread_of(vs_kineto *k, const fields *f, uint32_t *out) {
  const vs_kineto_thread thread = {.pid = f->value[KEY_PID].bits,
                                   .tid = f->value[KEY_TID].bits,
                                   .pid_kind = f->value[KEY_PID].kind,
                                   .tid_kind = f->value[KEY_TID].kind};
  const uint64_t hash = vs_hash_mix(vs_hash_u64(thread.pid), thread.tid ^ UINT64_C(0x9fb21c651e98df25));
  for (size_t slot = vs_map_find(&k->thread_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&k->thread_by_hash, slot)) {
    *out = k->thread_by_hash.slots[slot].value;
    if (is_thread(&k->threads.data[*out], &thread)) return VS_OK;
  }
  if (k->threads.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(k->host, &k->threads, 1));
  VS_TRY(vs_map_reserve(k->host, &k->thread_by_hash));
  *out = (uint32_t)k->threads.count;
  vs_map_add(&k->thread_by_hash, hash, *out);
  k->threads.data[k->threads.count++] = thread;
  return VS_OK;
}

/* ---- spans ----------------------------------------------------------------------------------------------------- */

static vs_status add_span(reader *r, const fields *f, vs_span_kind kind) {
  vs_kineto *k = &r->k;
  vs_kineto_span span = {.name = (uint32_t)f->value[KEY_NAME].bits, .kind = (uint8_t)kind};
  int64_t duration = 0;
  if (f->value[KEY_NAME].kind != VS_VALUE_STRING || !nanoseconds(f->value[KEY_TS], &span.start_ns))
    return VS_OK; /* it only names frames */
  if (!nanoseconds(f->value[KEY_DUR], &duration) || duration < 0) duration = 0;
  span.end_ns = vs_sat_add_i64(span.start_ns, duration);
  VS_TRY(thread_of(k, f, &span.thread));
  if (k->spans.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(k->host, &k->spans, 1));
  k->spans.data[k->spans.count++] = span;
  return VS_OK;
}

/* ---- memory events --------------------------------------------------------------------------------------------- */

/* Keeps what was allocated before the earliest event of a device: its total, less what the event itself did. */
static vs_status note_total(reader *r, const vs_account_entry *entry, int64_t bytes) {
  vs_account *account = &r->k.account;
  int64_t total, before;
  while (r->first_ns.count <= (size_t)entry->device) {
    VS_TRY(vs_vec_reserve(r->k.host, &r->first_ns, 1));
    VS_TRY(vs_vec_reserve(r->k.host, &account->stated, 1));
    r->first_ns.data[r->first_ns.count++] = INT64_MAX;
    account->stated.data[account->stated.count++] = 0;
  }
  if (entry->time_ns >= r->first_ns.data[entry->device]) return VS_OK;
  r->first_ns.data[entry->device] = entry->time_ns;
  const bool is_known = whole(r->args.value[KEY_TOTAL_ALLOCATED], &total) &&
                        !__builtin_sub_overflow(total, bytes, &before) && before > 0;
  account->stated.data[entry->device] = is_known ? (uint64_t)before : 0;
  return VS_OK;
}

/* The device of the args; false: it is not a GPU's. */
static vs_status take_device(const reader *r, int32_t *out, bool *is_gpu, vs_error *error) {
  int64_t type, device;
  if (!whole(r->args.value[KEY_DEVICE_TYPE], &type)) return wrong(error, KEY_DEVICE_TYPE, "a number");
  *is_gpu = type == DEVICE_TYPE_CUDA;
  if (!*is_gpu) return VS_OK;
  if (!whole(r->args.value[KEY_DEVICE_ID], &device)) return wrong(error, KEY_DEVICE_ID, "a number");
  if (device < 0 || device >= VS_MAX_DEVICES)
    return vs_fail(error, VS_LIMIT, VS_NO_OFFSET, "device %D; 0 to %d are read", device, VS_MAX_DEVICES - 1);
  *out = (int32_t)device;
  return VS_OK;
}

static vs_status add_memory(reader *r, const fields *f, bool has_failed, vs_error *error) {
  vs_kineto *k = &r->k;
  vs_account_entry entry = {.kind = VS_EVENT_OOM};
  const vs_value *args = r->args.value;
  int64_t bytes;
  uint32_t thread;
  bool is_gpu = false;
  r->memory_events++;
  VS_TRY(take_device(r, &entry.device, &is_gpu, error));
  if (!is_gpu) {
    k->account.s->left_out++;
    return VS_OK;
  }
  if (!whole(args[KEY_BYTES], &bytes)) return wrong(error, KEY_BYTES, "a number of bytes");
  if (!nanoseconds(f->value[KEY_TS], &entry.time_ns)) return wrong(error, KEY_TS, "a time");
  entry.size = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
  if (!has_failed) {
    entry.kind = bytes < 0 ? VS_EVENT_FREE_REQUESTED : VS_EVENT_ALLOC;
    if (args[KEY_ADDR].kind != VS_VALUE_INT && args[KEY_ADDR].kind != VS_VALUE_UINT)
      return wrong(error, KEY_ADDR, "an address of 64 bits");
    entry.address = args[KEY_ADDR].bits;
    VS_TRY(note_total(r, &entry, bytes));
  }
  VS_TRY(thread_of(k, f, &thread));
  VS_TRY(vs_vec_reserve(k->host, &k->thread_of, 1));
  VS_TRY(vs_account_add(&k->account, &entry));
  k->thread_of.data[k->thread_of.count++] = thread;
  r->is_there[entry.device] = true;
  return VS_OK;
}

/* ---- the consumer ---------------------------------------------------------------------------------------------- */

static vs_status fold_string(void *ctx, vs_str text, vs_value *out, vs_error *error) {
  vs_kineto *k = &((reader *)ctx)->k;
  uint32_t id;
  (void)error;
  VS_TRY(vs_strings_intern(k->host, &k->names, text, &id));
  *out = (vs_value){.bits = id, .kind = VS_VALUE_STRING};
  return VS_OK;
}

static vs_str fold_text(void *ctx, vs_value string) {
  return vs_strings_at(&((reader *)ctx)->k.names, (uint32_t)string.bits);
}

static vs_status fold_sequence(void *ctx, const vs_value *items, size_t count, bool is_tuple, vs_value *out,
                               vs_error *error) {
  (void)ctx;
  (void)items;
  (void)count;
  (void)is_tuple;
  (void)error;
  *out = (vs_value){.kind = FOLDED_OTHER};
  return VS_OK;
}

static void sort_out(const reader *r, const vs_value *pairs, size_t count, fields *f) {
  *f = (fields){.where = 0};
  for (size_t i = 0; i < count; i++) {
    const uint64_t index = pairs[2 * i].bits - r->first_key;
    if (pairs[2 * i].kind != VS_VALUE_STRING || index >= KEY_COUNT) continue;
    f->value[index] = pairs[2 * i + 1]; /* the last one of a repeated key, as in Python */
    f->where |= KEYS[index].where;
  }
}

static vs_status take_event(reader *r, const fields *f, vs_error *error) {
  const vs_value phase = f->value[KEY_PH], name = f->value[KEY_NAME], cat = f->value[KEY_CAT];
  const vs_value args = f->value[KEY_ARGS];
  if (is_word(r, phase, WORD_COMPLETE)) {
    if (is_word(r, cat, WORD_CPU_OP)) return add_span(r, f, VS_SPAN_OP);
    if (is_word(r, cat, WORD_ANNOTATION)) return add_span(r, f, VS_SPAN_ANNOTATION);
    if (is_word(r, cat, WORD_PYTHON)) return add_span(r, f, VS_SPAN_PYTHON);
    return VS_OK;
  }
  if (!is_word(r, phase, WORD_INSTANT) && !is_word(r, phase, WORD_OLD_INSTANT)) return VS_OK;
  const bool has_failed = is_word(r, name, WORD_OOM);
  if (!has_failed && !is_word(r, name, WORD_MEMORY)) return VS_OK;
  if (args.kind != FOLDED_ARGS || args.bits != r->args_number)
    return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "a memory event has no \"Bytes\" and \"Device Type\"");
  return add_memory(r, f, has_failed, error);
}

static vs_status fold_mapping(void *ctx, const vs_value *pairs, size_t count, vs_value *out,
                              vs_error *error) {
  reader *r = ctx;
  fields f;
  *out = (vs_value){.kind = FOLDED_OTHER};
  sort_out(r, pairs, count, &f);
  if (f.value[KEY_PH].kind == VS_VALUE_STRING) return take_event(r, &f, error);
  if ((f.where & VS_KINETO_TOP) != 0) {
    if (f.value[KEY_BASE_TIME].kind == VS_VALUE_INT) r->base_ns = (int64_t)f.value[KEY_BASE_TIME].bits;
  } else if ((f.where & VS_KINETO_ARGS) != 0) {
    r->args = f;
    *out = (vs_value){.bits = ++r->args_number, .kind = FOLDED_ARGS};
  }
  return VS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

static vs_status intern_next(vs_kineto *k, const char *text, uint32_t expected) {
  uint32_t id;
  VS_TRY(vs_strings_intern(k->host, &k->names, vs_str_from(text), &id));
  VS_ASSERT(id == expected);
  (void)expected;
  return VS_OK;
}

static vs_status begin(reader *r) {
  VS_TRY(vs_strings_init(r->k.host, &r->k.names));
  VS_TRY(vs_account_init(r->k.host, &r->k.account));
  r->k.account.s->lacks |= VS_LACKS_ROUNDING | VS_LACKS_STREAMS;
  r->first_key = vs_strings_count(&r->k.names);
  for (uint32_t i = 0; i < KEY_COUNT; i++) VS_TRY(intern_next(&r->k, KEYS[i].text, r->first_key + i));
  r->first_word = vs_strings_count(&r->k.names);
  for (uint32_t i = 0; i < WORD_COUNT; i++) VS_TRY(intern_next(&r->k, WORDS[i], r->first_word + i));
  return VS_OK;
}

static vs_status refuse_empty(const reader *r, vs_error *error) {
  if (r->memory_events == 0)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "the profiler trace has no memory events: record it with "
                   "torch.profiler.profile(profile_memory=True)");
  return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                 "all %U memory events of the profiler trace are of memory that is not a GPU's",
                 r->memory_events);
}

static vs_status finish(reader *r, vs_snapshot **out, vs_error *error) {
  vs_kineto *k = &r->k;
  if (k->account.entries.count == 0) return refuse_empty(r, error);
  VS_TRY(vs_kineto_stacks(k));
  for (size_t i = 0; i < k->account.entries.count; i++)
    k->account.entries.data[i].time_ns = vs_sat_add_i64(k->account.entries.data[i].time_ns, r->base_ns);
  for (size_t i = 0; i < k->spans.count; i++) {
    vs_kineto_span *span = &k->spans.data[i];
    span->start_ns = vs_sat_add_i64(span->start_ns, r->base_ns);
    span->end_ns = vs_sat_add_i64(span->end_ns, r->base_ns);
  }
  VS_TRY(vs_kineto_annotate(k, r->is_there));
  return vs_account_finish(&k->account, true, out);
}

static void end(reader *r) {
  vs_kineto *k = &r->k;
  vs_account_deinit(&k->account);
  vs_strings_deinit(k->host, &k->names);
  vs_vec_free(k->host, &k->thread_of);
  vs_vec_free(k->host, &k->spans);
  vs_vec_free(k->host, &k->threads);
  vs_vec_free(k->host, &k->frame_of);
  vs_map_deinit(k->host, &k->thread_by_hash);
  vs_vec_free(k->host, &r->first_ns);
}

vs_status vs_kineto_read(vs_input *input, vs_snapshot **out, vs_error *error) {
  reader r = {.k = {.host = input->host, .account = {.host = input->host}}};
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

/* ---- recognizing ----------------------------------------------------------------------------------------------- */

static vs_str behind(vs_str text, size_t size) { return (vs_str){text.data + size, text.size - size}; }

/* Takes a byte that may have white space in front of it. */
static bool take_byte(vs_str *text, char byte) {
  size_t at = 0;
  while (at < text->size && (text->data[at] == ' ' || (text->data[at] >= '\t' && text->data[at] <= '\r')))
    at++;
  if (at == text->size || text->data[at] != byte) return false;
  *text = behind(*text, at + 1);
  return true;
}

bool vs_kineto_is(vs_str head) {
  static const char *const top[] = {"schemaVersion",   "traceEvents", "deviceProperties",
                                    "displayTimeUnit", "otherData",   "baseTimeNanoseconds",
                                    "distributedInfo", "traceName",   "systemTraceEvents"};
  static const char *const event[] = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args"};
  if (vs_str_starts(head, VS_STR("\xef\xbb\xbf"))) head = behind(head, 3);
  const bool is_list = take_byte(&head, '[');
  if (!take_byte(&head, '{') || !take_byte(&head, '"')) return false;
  const char *const *keys = is_list ? event : top;
  const size_t count = is_list ? sizeof event / sizeof *event : sizeof top / sizeof *top;
  for (size_t i = 0; i < count; i++) {
    const size_t size = strlen(keys[i]);
    if (vs_str_starts(head, vs_str_from(keys[i])) && head.size > size && head.data[size] == '"') return true;
  }
  return false;
}
