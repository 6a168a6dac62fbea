#include "support/both_ways.h"

#include "base/hash.h"
#include "support/snapshot_equal.h"

/* ---- pickles --------------------------------------------------------------------------------------------------- */

enum { LOGGED = VS_VALUE_USER };

/* All calls so far as a hash, which also has their order. */
typedef struct call_log {
  uint64_t hash, calls, failing;
} call_log;

static void note(call_log *log, uint64_t word) {
  log->hash = vs_hash_mix(log->hash ^ word, UINT64_C(0x8bb84b93962eacc9));
}

/* A value that no other call has. Every fifth container is too wide to be packed into the memo. */
static vs_status answer(call_log *log, uint32_t kind, vs_value *out, vs_error *error) {
  const uint64_t number = log->calls++;
  if (number == log->failing) return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "call %U", number);
  *out =
      (vs_value){.bits = number | (kind == LOGGED && number % 5 == 4 ? UINT64_C(3) << 60 : 0), .kind = kind};
  return VS_OK;
}

static void note_values(call_log *log, const vs_value *values, size_t count) {
  note(log, count);
  for (size_t i = 0; i < count; i++) {
    note(log, values[i].bits);
    note(log, values[i].kind);
  }
}

static vs_status log_string(void *ctx, vs_str utf8, vs_value *out, vs_error *error) {
  note(ctx, 1);
  note(ctx, vs_hash_bytes(utf8.data, utf8.size));
  return answer(ctx, VS_VALUE_STRING, out, error);
}

static vs_status log_sequence(void *ctx, const vs_value *items, size_t count, bool is_tuple, vs_value *out,
                              vs_error *error) {
  note(ctx, is_tuple ? 2 : 3);
  note_values(ctx, items, count);
  return answer(ctx, LOGGED, out, error);
}

static vs_status log_mapping(void *ctx, const vs_value *pairs, size_t count, vs_value *out, vs_error *error) {
  note(ctx, 4);
  note_values(ctx, pairs, 2 * count);
  return answer(ctx, LOGGED, out, error);
}

static vs_str text_of(void *ctx, vs_value string) {
  (void)ctx;
  return string.bits % 2 == 0 ? VS_STR("even") : VS_STR("odd");
}

typedef struct folded {
  vs_status status;
  call_log log;
  vs_value root;
  vs_pickle_info info;
  vs_error error;
  uint64_t end;
} folded;

typedef struct case_reader {
  const fold_case *c;
  size_t pos;
} case_reader;

static vs_status read_case(void *ctx, void *data, size_t capacity, size_t *count) {
  case_reader *r = ctx;
  size_t size = r->c->pickle.size - r->pos;
  if (r->c->failing_byte != 0 && r->pos + 1 >= r->c->failing_byte) return VS_IO;
  if (r->c->failing_byte != 0 && size > r->c->failing_byte - 1 - r->pos)
    size = (size_t)r->c->failing_byte - 1 - r->pos;
  if (size > capacity) size = capacity;
  if (r->c->step != 0 && size > r->c->step) size = r->c->step;
  if (size != 0) memcpy(data, r->c->pickle.data + r->pos, size);
  r->pos += size;
  *count = size;
  return VS_OK;
}

static void fold_once(const vs_host *host, const fold_case *c, bool each_opcode, folded *f) {
  case_reader reader = {.c = c};
  vs_input input;
  *f = (folded){.log.failing = c->failing_call - 1};
  const vs_fold fold = {&f->log, log_string, log_sequence, log_mapping, text_of};
  const vs_pickle_options options = {.each_opcode = each_opcode};
  f->status = vs_input_init(&input, host, (vs_reader){&reader, read_case});
  if (f->status != VS_OK) return;
  f->status = vs_pickle_fold(&input, &fold, &options, &f->root, &f->info, &f->error);
  f->end = vs_input_offset(&input);
  vs_input_deinit(&input);
}

static const char *compare_errors(const vs_error *a, const vs_error *b) {
  if (a->status != b->status) return "status of the error";
  if (a->offset != b->offset) return "offset of the error";
  return vs_str_equal(vs_str_from(a->text), vs_str_from(b->text)) ? NULL : "text of the error";
}

const char *fold_both_ways(const vs_host *host, const fold_case *c, fold_counts *counts) {
  folded a, b;
  fold_once(host, c, false, &a);
  fold_once(host, c, true, &b);
  *counts = (fold_counts){.at_once = a.info.dicts_at_once, .calls = a.log.calls};
  if (b.info.dicts_at_once != 0) return "a dict was read at once, opcode by opcode";
  if (a.status != b.status) return "status";
  if (a.status != VS_OK) {
    const char *difference = compare_errors(&a.error, &b.error);
    if (difference != NULL) return difference;
  }
  if (a.log.calls != b.log.calls) return "number of calls";
  if (a.log.hash != b.log.hash) return "calls";
  if (a.end != b.end) return "where reading ended";
  if (a.status == VS_OK && (a.root.bits != b.root.bits || a.root.kind != b.root.kind)) return "root";
  if (a.info.protocol != b.info.protocol || a.info.size != b.info.size) return "protocol or size";
  return a.info.lists != b.info.lists || a.info.lists_known != b.info.lists_known ? "lists" : NULL;
}

/* ---- snapshots ------------------------------------------------------------------------------------------------- */

static vs_status read_once(const vs_host *host, vs_str bytes, bool each_opcode, vs_snapshot **out,
                           vs_error *error) {
  vs_memory_reader reader;
  const vs_read_options options = {.each_opcode = each_opcode};
  return vs_snapshot_read(host, vs_reader_from_bytes(&reader, bytes.data, bytes.size), &options, out, error);
}

static const char *compare_events(const vs_events *a, const vs_events *b) {
  if (a->count != b->count) return "number of events";
#define VS_EVENT_COLUMN(type, name, absent)                                              \
  if ((a->name == NULL) != (b->name == NULL)) return "whether there is a column " #name; \
  if (a->name != NULL && memcmp(a->name, b->name, a->count * sizeof(type)) != 0) return "events: " #name;
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN
  return NULL;
}

static const char *compare_unknown(const vs_snapshot *a, const vs_snapshot *b) {
  if (a->unknown_key_count != b->unknown_key_count || a->unknown_keys.count != b->unknown_keys.count)
    return "number of unknown keys";
  for (size_t i = 0; i < a->unknown_keys.count; i++) {
    const vs_unknown_key *x = &a->unknown_keys.data[i], *y = &b->unknown_keys.data[i];
    if (x->key != y->key || x->count != y->count ||
        !vs_str_equal(vs_str_from(x->where), vs_str_from(y->where)))
      return "an unknown key";
  }
  return NULL;
}

/* Ids and all: the strings, the streams and the pools have the same places in their tables. */
static const char *compare(const vs_snapshot *a, const vs_snapshot *b) {
  const char *difference = NULL;
  if (!vs_snapshot_equal(a, b, &difference)) return difference;
  if ((difference = compare_events(&a->events, &b->events)) != NULL) return difference;
  if (vs_strings_count(&a->strings) != vs_strings_count(&b->strings)) return "number of strings";
  for (uint32_t i = 0; i < vs_strings_count(&a->strings); i++)
    if (!vs_str_equal(vs_snapshot_string(a, i), vs_snapshot_string(b, i))) return "a string's id";
  if (vs_lists_count(&a->stacks.lists) != vs_lists_count(&b->stacks.lists)) return "number of stacks";
  if (a->bytes != b->bytes || a->trailing_bytes != b->trailing_bytes) return "bytes";
  if (a->format != b->format || a->pickle_protocol != b->pickle_protocol) return "format";
  return compare_unknown(a, b);
}

const char *read_both_ways(const vs_host *host, vs_str bytes) {
  vs_snapshot *a, *b;
  vs_error a_error, b_error;
  const vs_status a_status = read_once(host, bytes, false, &a, &a_error);
  const vs_status b_status = read_once(host, bytes, true, &b, &b_error);
  const char *difference = a_status != b_status ? "status" : NULL;
  if (difference == NULL) difference = a_status == VS_OK ? compare(a, b) : compare_errors(&a_error, &b_error);
  vs_snapshot_destroy(a);
  vs_snapshot_destroy(b);
  return difference;
}
