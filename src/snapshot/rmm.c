#include "snapshot/rmm.h"
#include "base/text.h"
#include "snapshot/account.h"

#define HEADER VS_STR("Thread,Time,Action,Pointer,Size,Stream")

enum { FIELDS = 6, TIME = 1, ACTION, POINTER, SIZE, STREAM };
#define DAY_NS (INT64_C(86400) * 1000000000)

typedef struct reader {
  vs_input *input;
  vs_account account;
  vs_map stream_by_handle;
  int64_t day_ns;  /* the beginning of the day of the entry before */
  int64_t last_ns; /* its time */
} reader;

bool vs_rmm_is(vs_str head) { return vs_str_starts(head, HEADER); }

/* ---- fields ---------------------------------------------------------------------------------------------------- */

/* The fields of a line; false: it has another number of them. */
static bool split(vs_str line, vs_str fields[FIELDS]) {
  size_t count = 0, first = 0;
  for (size_t i = 0; i <= line.size; i++) {
    if (i < line.size && line.data[i] != ',') continue;
    if (count == FIELDS) return false;
    fields[count++] = (vs_str){line.data + first, i - first};
    first = i + 1;
  }
  return count == FIELDS;
}

/* "0x7f00", "(nil)", or a number. */
static bool parse_pointer(vs_str text, uint64_t *out) {
  *out = 0;
  if (vs_str_equal(text, VS_STR("(nil)"))) return true;
  if (!vs_str_starts(text, VS_STR("0x"))) return vs_parse_u64(text, out);
  if (text.size == 2 || text.size > 18) return false;
  for (size_t i = 2; i < text.size; i++) {
    const unsigned digit = (unsigned)text.data[i] - '0', letter = ((unsigned)text.data[i] | 0x20) - 'a';
    if (digit > 9 && letter > 5) return false;
    *out = *out << 4 | (digit <= 9 ? digit : letter + 10);
  }
  return true;
}

/* `size` digits at `at`, and what stands behind them. */
static bool digits(vs_str text, size_t at, size_t size, char end, uint64_t *out) {
  if (at + size > text.size || (end != 0 && (at + size == text.size || text.data[at + size] != end)))
    return false;
  return vs_parse_u64((vs_str){text.data + at, size}, out);
}

/* "12:00:01.000042", as nanoseconds since midnight. */
static bool parse_time(vs_str text, int64_t *out) {
  uint64_t hours, minutes, seconds, micros;
  const bool is_time = text.size == 15 && digits(text, 0, 2, ':', &hours) &&
                       digits(text, 3, 2, ':', &minutes) && digits(text, 6, 2, 0, &seconds) &&
                       (text.data[8] == '.' || text.data[8] == ':') && digits(text, 9, 6, 0, &micros);
  if (!is_time || hours > 23 || minutes > 59 || seconds > 60) return false;
  *out = (int64_t)(((hours * 60 + minutes) * 60 + seconds) * 1000000 + micros) * 1000;
  return true;
}

static bool parse_action(vs_str text, uint8_t *out) {
  if (vs_str_equal(text, VS_STR("allocate"))) *out = VS_EVENT_ALLOC;
  else if (vs_str_equal(text, VS_STR("free"))) *out = VS_EVENT_FREE_REQUESTED;
  else if (vs_str_equal(text, VS_STR("allocate failure"))) *out = VS_EVENT_OOM;
  else return false;
  return true;
}

/* ---- entries --------------------------------------------------------------------------------------------------- */

static int64_t continue_time(reader *r, int64_t of_day) {
  if (r->last_ns != VS_NO_TIME && r->day_ns + of_day < r->last_ns - DAY_NS / 2) r->day_ns += DAY_NS;
  const int64_t time = r->day_ns + of_day;
  if (r->last_ns == VS_NO_TIME || time > r->last_ns) r->last_ns = time;
  return r->last_ns;
}

/* The index of a stream; of one that is not a number the default stream's. */
static vs_status take_stream(reader *r, vs_str text, uint32_t *out) {
  vs_snapshot *s = r->account.s;
  uint64_t handle;
  *out = 0;
  if (!parse_pointer(text, &handle)) s->lacks |= VS_LACKS_STREAMS;
  else if (handle != 0) {
    const size_t slot = vs_map_find(&r->stream_by_handle, handle);
    if (slot != VS_MAP_NONE) {
      *out = r->stream_by_handle.slots[slot].value;
      return VS_OK;
    }
    VS_TRY(vs_vec_reserve(s->host, &s->streams, 1));
    VS_TRY(vs_map_reserve(s->host, &r->stream_by_handle));
    *out = (uint32_t)s->streams.count;
    vs_map_add(&r->stream_by_handle, handle, *out);
    s->streams.data[s->streams.count++] = handle;
  }
  return VS_OK;
}

static vs_status wrong(const reader *r, vs_str line, vs_error *error, const char *what) {
  return vs_fail(error, VS_BAD_FORMAT, vs_input_offset(r->input), "a line of the RMM log has %s: %S", what,
                 (vs_str){line.data, line.size < 80 ? line.size : 80});
}

static vs_status take_line(reader *r, vs_str line, vs_error *error) {
  vs_str fields[FIELDS];
  vs_account_entry entry = {.stack = VS_LIST_NONE};
  if (line.size == 0) return VS_OK;
  if (!split(line, fields)) return wrong(r, line, error, "not six fields");
  if (!parse_time(fields[TIME], &entry.time_ns)) return wrong(r, line, error, "a malformed time");
  if (!parse_action(fields[ACTION], &entry.kind)) return wrong(r, line, error, "an unknown action");
  if (!parse_pointer(fields[POINTER], &entry.address)) return wrong(r, line, error, "a malformed pointer");
  if (!vs_parse_u64(fields[SIZE], &entry.size)) return wrong(r, line, error, "a malformed size");
  entry.time_ns = continue_time(r, entry.time_ns);
  if (entry.kind != VS_EVENT_OOM && entry.address == 0) return VS_OK;
  VS_TRY(take_stream(r, fields[STREAM], &entry.stream));
  return vs_account_add(&r->account, &entry);
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

/* Brings the next line into the window; *size is without its end, *taken with it. A line without an end is the last one. */
static vs_status find_line(vs_input *input, size_t *size, size_t *taken, vs_error *error) {
  for (size_t at = 0;; at++) {
    if (at > VS_RMM_MOST_LINE)
      return vs_fail(error, VS_LIMIT, vs_input_offset(input), "a line of more than %d bytes",
                     VS_RMM_MOST_LINE);
    const vs_status status = vs_input_need(input, at + 1);
    const bool is_end = vs_input_ended(input, status);
    if (status != VS_OK && !is_end) return status;
    if (!is_end && input->data[input->pos + at] != '\n') continue;
    *size = at;
    *taken = at + !is_end;
    if (*size > 0 && input->data[input->pos + *size - 1] == '\r') --*size;
    return VS_OK;
  }
}

/* Whether a line without an end lost some of its fields, because the process was killed while it wrote. */
static bool is_cut(vs_str line) {
  size_t commas = 0;
  for (size_t i = 0; i < line.size; i++) commas += line.data[i] == ',';
  return commas < FIELDS - 1;
}

static vs_status read_lines(reader *r, vs_error *error) {
  bool is_first = true;
  for (size_t size = 0, taken = 0;; r->input->pos += taken) {
    VS_TRY(find_line(r->input, &size, &taken, error));
    const vs_str line = {(const char *)r->input->data + r->input->pos, size};
    if (taken == 0) return VS_OK;
    if (is_first) VS_ASSERT(vs_rmm_is(line));
    else if (r->input->data[r->input->pos + taken - 1] == '\n' || !is_cut(line))
      VS_TRY(take_line(r, line, error));
    is_first = false;
  }
}

vs_status vs_rmm_read(vs_input *input, vs_snapshot **out, vs_error *error) {
  reader r = {.input = input, .last_ns = VS_NO_TIME};
  vs_status status = vs_account_init(input->host, &r.account);
  if (status == VS_OK) {
    r.account.s->lacks |= VS_LACKS_ROUNDING | VS_LACKS_STACKS;
    status = read_lines(&r, error);
  }
  if (status == VS_OK) status = vs_account_finish(&r.account, false, out);
  vs_map_deinit(input->host, &r.stream_by_handle);
  vs_account_deinit(&r.account);
  return status;
}
