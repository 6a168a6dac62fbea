#include "snapshot/pprof.h"
#include "base/text.h"
#include "codec/proto_reader.h"
#include "snapshot/account.h"

/* Numbers of fields in profile.proto. */
enum {
  PROFILE_SAMPLE_TYPE = 1,
  PROFILE_SAMPLE = 2,
  PROFILE_LOCATION = 4,
  PROFILE_FUNCTION = 5,
  PROFILE_STRING = 6
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILE = 4 };

enum { MOST_TYPES = 8, FIRST_ADDRESS = 4096 };

/* Until all fields are read, strings are indices into the file's table, and locations and functions are their ids. */
typedef struct label {
  uint64_t key, text;
} label;

typedef struct sample {
  size_t first_location, first_label;
  uint32_t locations, labels;
  uint64_t values[MOST_TYPES];
} sample;

typedef struct line {
  uint64_t function;
  int64_t line;
} line;

typedef struct location {
  size_t first_line;
  uint32_t lines;
} location;

typedef struct function {
  uint64_t name, file;
} function;

typedef struct reader {
  vs_input *input;
  const vs_host *host;
  vs_account account;
  uint64_t types[MOST_TYPES]; /* the names of the values of a sample */
  uint32_t type_count;
  VS_VEC(sample) samples;
  VS_VEC(uint64_t) sample_locations; /* ids */
  VS_VEC(label) labels;
  VS_VEC(location) locations;
  VS_VEC(line) lines;
  VS_VEC(function) functions;
  VS_VEC(uint32_t) strings; /* the file's table: string ids of the snapshot */
  VS_VEC(uint32_t) frames;  /* of one stack */
  vs_map location_by_id, function_by_id;
  uint64_t next_address;
} reader;

static bool is_small_number(uint8_t byte) { return byte < 0x80; }

bool vs_pprof_is(vs_str head) {
  const uint8_t *p = (const uint8_t *)head.data;
  return head.size >= 7 && p[0] == 0x0a && p[1] == 4 && p[2] == 0x08 && is_small_number(p[3]) &&
         p[4] == 0x10 && is_small_number(p[5]) && (p[6] == 0x0a || p[6] == 0x12);
}

static vs_status broken(const reader *r, vs_error *error, const char *what) {
  return vs_fail(error, VS_BAD_FORMAT, vs_input_offset(r->input),
                 "a malformed %s in the profile in front of this byte", what);
}

/* ---- fields ---------------------------------------------------------------------------------------------------- */

static vs_status take_type(reader *r, vs_str message, vs_error *error) {
  vs_proto_cursor at = {.rest = message};
  vs_proto_field field;
  if (r->type_count == MOST_TYPES)
    return vs_fail(error, VS_LIMIT, vs_input_offset(r->input), "more than %d values a sample", MOST_TYPES);
  uint64_t type = 0;
  while (vs_proto_next(&at, &field))
    if (field.number == VALUE_TYPE_TYPE) type = field.value;
  if (at.is_broken) return broken(r, error, "type of a sample");
  r->types[r->type_count++] = type;
  return VS_OK;
}

/* A field of numbers: one, or a packed list. */
static bool next_of(const vs_proto_field *field, vs_proto_cursor *packed, bool *is_first, uint64_t *value) {
  if (field->wire == VS_PROTO_BYTES) {
    if (*is_first) packed->rest = field->bytes;
    *is_first = false;
    return vs_proto_next_number(packed, value);
  }
  *value = field->value;
  const bool is_there = *is_first;
  *is_first = false;
  return is_there;
}

static vs_status take_label(reader *r, vs_str message, sample *s, vs_error *error) {
  vs_proto_cursor at = {.rest = message};
  vs_proto_field field;
  label one = {0};
  while (vs_proto_next(&at, &field)) {
    if (field.number == LABEL_KEY) one.key = field.value;
    if (field.number == LABEL_STR) one.text = field.value;
  }
  if (at.is_broken) return broken(r, error, "label");
  VS_TRY(vs_vec_reserve(r->host, &r->labels, 1));
  r->labels.data[r->labels.count++] = one;
  s->labels++;
  return VS_OK;
}

static vs_status take_numbers(reader *r, const vs_proto_field *field, sample *s, uint32_t *values,
                              vs_error *error) {
  vs_proto_cursor packed = {.is_broken = false};
  bool is_first = true;
  for (uint64_t value; next_of(field, &packed, &is_first, &value);) {
    if (field->number == SAMPLE_VALUE) {
      if (*values < MOST_TYPES) s->values[*values] = value;
      ++*values;
      continue;
    }
    VS_TRY(vs_vec_reserve(r->host, &r->sample_locations, 1));
    r->sample_locations.data[r->sample_locations.count++] = value;
    s->locations++;
  }
  return packed.is_broken ? broken(r, error, "sample") : VS_OK;
}

static vs_status take_sample(reader *r, vs_str message, vs_error *error) {
  vs_proto_cursor at = {.rest = message};
  vs_proto_field field;
  sample s = {.first_location = r->sample_locations.count, .first_label = r->labels.count};
  uint32_t values = 0;
  while (vs_proto_next(&at, &field)) {
    if (field.number == SAMPLE_LOCATION || field.number == SAMPLE_VALUE)
      VS_TRY(take_numbers(r, &field, &s, &values, error));
    else if (field.number == SAMPLE_LABEL) VS_TRY(take_label(r, field.bytes, &s, error));
  }
  if (at.is_broken) return broken(r, error, "sample");
  VS_TRY(vs_vec_reserve(r->host, &r->samples, 1));
  r->samples.data[r->samples.count++] = s;
  return VS_OK;
}

static vs_status take_line(reader *r, vs_str message, location *to, vs_error *error) {
  vs_proto_cursor at = {.rest = message};
  vs_proto_field field;
  line one = {0};
  while (vs_proto_next(&at, &field)) {
    if (field.number == LINE_FUNCTION) one.function = field.value;
    if (field.number == LINE_LINE) one.line = (int64_t)field.value;
  }
  if (at.is_broken) return broken(r, error, "line");
  VS_TRY(vs_vec_reserve(r->host, &r->lines, 1));
  r->lines.data[r->lines.count++] = one;
  to->lines++;
  return VS_OK;
}

/* Gives an id to the next row of a table. */
static vs_status name_row(reader *r, vs_map *by_id, uint64_t id, size_t row) {
  if (row >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_map_reserve(r->host, by_id));
  if (vs_map_find(by_id, id) == VS_MAP_NONE) vs_map_add(by_id, id, (uint32_t)row);
  return VS_OK;
}

static vs_status take_location(reader *r, vs_str message, vs_error *error) {
  vs_proto_cursor at = {.rest = message};
  vs_proto_field field;
  location one = {.first_line = r->lines.count};
  uint64_t id = 0;
  while (vs_proto_next(&at, &field)) {
    if (field.number == LOCATION_ID) id = field.value;
    if (field.number == LOCATION_LINE) VS_TRY(take_line(r, field.bytes, &one, error));
  }
  if (at.is_broken) return broken(r, error, "location");
  VS_TRY(name_row(r, &r->location_by_id, id, r->locations.count));
  VS_TRY(vs_vec_reserve(r->host, &r->locations, 1));
  r->locations.data[r->locations.count++] = one;
  return VS_OK;
}

static vs_status take_function(reader *r, vs_str message, vs_error *error) {
  vs_proto_cursor at = {.rest = message};
  vs_proto_field field;
  function one = {0};
  uint64_t id = 0;
  while (vs_proto_next(&at, &field)) {
    if (field.number == FUNCTION_ID) id = field.value;
    if (field.number == FUNCTION_NAME) one.name = field.value;
    if (field.number == FUNCTION_FILE) one.file = field.value;
  }
  if (at.is_broken) return broken(r, error, "function");
  VS_TRY(name_row(r, &r->function_by_id, id, r->functions.count));
  VS_TRY(vs_vec_reserve(r->host, &r->functions, 1));
  r->functions.data[r->functions.count++] = one;
  return VS_OK;
}

static vs_status take_string(reader *r, vs_str text) {
  VS_TRY(vs_vec_reserve(r->host, &r->strings, 1));
  VS_TRY(vs_strings_intern(r->host, &r->account.s->strings, text, &r->strings.data[r->strings.count]));
  r->strings.count++;
  return VS_OK;
}

static vs_status take_field(reader *r, const vs_proto_field *field, vs_error *error) {
  if (field->wire != VS_PROTO_BYTES) return VS_OK;
  switch (field->number) {
    case PROFILE_SAMPLE_TYPE: return take_type(r, field->bytes, error);
    case PROFILE_SAMPLE: return take_sample(r, field->bytes, error);
    case PROFILE_LOCATION: return take_location(r, field->bytes, error);
    case PROFILE_FUNCTION: return take_function(r, field->bytes, error);
    case PROFILE_STRING: return take_string(r, field->bytes);
    default: return VS_OK;
  }
}

/* ---- what the indices mean ------------------------------------------------------------------------------------- */

static uint32_t string_of(const reader *r, uint64_t index) {
  return index < r->strings.count ? r->strings.data[index] : VS_STRING_EMPTY;
}

static vs_str text_of(const reader *r, uint64_t index) {
  return vs_snapshot_string(r->account.s, string_of(r, index));
}

/* The value of a sample that has a name; MOST_TYPES if there is none. */
static uint32_t find_type(const reader *r, vs_str name) {
  for (uint32_t i = 0; i < r->type_count; i++)
    if (vs_str_equal(text_of(r, r->types[i]), name)) return i;
  return MOST_TYPES;
}

static vs_str label_of(const reader *r, const sample *s, vs_str key) {
  for (uint32_t i = 0; i < s->labels; i++) {
    const label *one = &r->labels.data[s->first_label + i];
    if (vs_str_equal(text_of(r, one->key), key)) return text_of(r, one->text);
  }
  return VS_STR("");
}

/* The number of "cuda:0"; false: it is the CPU, or has no number. */
static bool parse_device(vs_str text, int32_t *out) {
  size_t digits = text.size;
  uint64_t number;
  while (digits > 0 && text.data[digits - 1] >= '0' && text.data[digits - 1] <= '9') digits--;
  if (vs_str_starts(text, VS_STR("cpu")) || vs_str_contains(text, VS_STR("CPU"))) return false;
  if (!vs_parse_u64((vs_str){text.data + digits, text.size - digits}, &number) || number >= VS_MAX_DEVICES)
    return false;
  *out = (int32_t)number;
  return true;
}

static vs_status add_frame(reader *r, const line *at) {
  const size_t slot = vs_map_find(&r->function_by_id, at->function);
  const function *f = slot == VS_MAP_NONE ? NULL : &r->functions.data[r->function_by_id.slots[slot].value];
  const uint32_t name = f == NULL ? VS_STRING_EMPTY : string_of(r, f->name);
  const uint32_t file = f == NULL ? VS_STRING_EMPTY : string_of(r, f->file);
  VS_TRY(vs_vec_reserve(r->host, &r->frames, 1));
  VS_TRY(vs_stacks_frame(r->host, &r->account.s->stacks, name, file, at->line, NULL,
                         &r->frames.data[r->frames.count]));
  r->frames.count++;
  return VS_OK;
}

static vs_status stack_of(reader *r, const sample *s, uint32_t *stack) {
  r->frames.count = 0;
  for (uint32_t i = 0; i < s->locations && r->frames.count < VS_PPROF_MOST_FRAMES; i++) {
    const size_t slot = vs_map_find(&r->location_by_id, r->sample_locations.data[s->first_location + i]);
    if (slot == VS_MAP_NONE) continue;
    const location *at = &r->locations.data[r->location_by_id.slots[slot].value];
    for (uint32_t k = 0; k < at->lines && r->frames.count < VS_PPROF_MOST_FRAMES; k++)
      VS_TRY(add_frame(r, &r->lines.data[at->first_line + k]));
  }
  *stack = VS_LIST_NONE;
  if (r->frames.count == 0) return VS_OK;
  return vs_lists_intern(r->host, &r->account.s->stacks.lists, r->frames.data, r->frames.count, stack);
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

/* The buffers of a sample, all of one size; what does not divide evenly belongs to the last one. */
static vs_status add_buffers(reader *r, const sample *s, int32_t device, uint64_t count, uint64_t bytes) {
  vs_account_entry entry = {.device = device, .kind = VS_EVENT_ALLOC};
  VS_TRY(stack_of(r, s, &entry.stack));
  VS_TRY(vs_account_reserve_blocks(&r->account, count));
  for (uint64_t i = 0; i < count; i++) {
    entry.size = bytes / count + (i + 1 == count ? bytes % count : 0);
    entry.address = r->next_address;
    if (!vs_add_u64(r->next_address, vs_max_u64(entry.size, 1), &r->next_address)) return VS_LIMIT;
    VS_TRY(vs_account_block(&r->account, &entry, 0));
  }
  return VS_OK;
}

static vs_status add_blocks(reader *r, vs_error *error) {
  const uint32_t count_at = find_type(r, VS_STR("allocations")), bytes_at = find_type(r, VS_STR("space"));
  if (count_at == MOST_TYPES || bytes_at == MOST_TYPES)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "it is a pprof profile of something else: JAX's device memory profile has \"allocations\" "
                   "and \"space\"");
  for (size_t i = 0; i < r->samples.count; i++) {
    const sample *s = &r->samples.data[i];
    const uint64_t count = s->values[count_at], bytes = s->values[bytes_at];
    int32_t device;
    if (!parse_device(label_of(r, s, VS_STR("device")), &device)) r->account.s->left_out++;
    else VS_TRY(add_buffers(r, s, device, count, bytes));
  }
  if (r->account.s->blocks.count == 0 && r->account.s->left_out != 0)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "all %U entries of the profile are of memory that is not a GPU's", r->account.s->left_out);
  return VS_OK;
}

static vs_status read_fields(reader *r, vs_error *error) {
  vs_proto_field field;
  bool is_there;
  for (;;) {
    VS_TRY(vs_proto_input_next(r->input, VS_PPROF_MOST_FIELD, &field, &is_there, error));
    if (!is_there) return VS_OK;
    VS_TRY(take_field(r, &field, error));
  }
}

static void end(reader *r) {
  vs_account_deinit(&r->account);
  vs_vec_free(r->host, &r->samples);
  vs_vec_free(r->host, &r->sample_locations);
  vs_vec_free(r->host, &r->labels);
  vs_vec_free(r->host, &r->locations);
  vs_vec_free(r->host, &r->lines);
  vs_vec_free(r->host, &r->functions);
  vs_vec_free(r->host, &r->strings);
  vs_vec_free(r->host, &r->frames);
  vs_map_deinit(r->host, &r->location_by_id);
  vs_map_deinit(r->host, &r->function_by_id);
}

vs_status vs_pprof_read(vs_input *input, vs_snapshot **out, vs_error *error) {
  reader r = {.input = input, .host = input->host, .next_address = FIRST_ADDRESS};
  vs_status status = vs_account_init(input->host, &r.account);
  if (status == VS_OK) {
    r.account.s->lacks |= VS_LACKS_ROUNDING | VS_LACKS_STREAMS | VS_LACKS_ADDRESSES;
    status = read_fields(&r, error);
  }
  if (status == VS_OK) status = add_blocks(&r, error);
  if (status == VS_OK) status = vs_account_finish(&r.account, false, out);
  end(&r);
  return status;
}
