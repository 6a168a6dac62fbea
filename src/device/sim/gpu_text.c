#include "device/sim/profile_names.h"
#include "base/double_text.h"

/* ---- sizes --------------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* The bytes of a unit, in any case of letters; 0 for an unknown unit. */
static uint64_t unit_bytes(vs_str unit) {
  static const struct {
    char letter;
    uint64_t binary, decimal;
  } units[] = {{'k', UINT64_C(1) << 10, 1000},
               {'m', UINT64_C(1) << 20, 1000 * 1000},
               {'g', UINT64_C(1) << 30, 1000 * 1000 * 1000},
               {'t', UINT64_C(1) << 40, UINT64_C(1000) * 1000 * 1000 * 1000}};
  if (unit.size == 1 && small(unit.data[0]) == 'b') return 1;
  if (unit.size == 0 || unit.size > 3) return 0;
  const bool is_binary = unit.size == 1 || (unit.size == 3 && small(unit.data[1]) == 'i');
  if (unit.size > 1 && small(unit.data[unit.size - 1]) != 'b') return 0;
  if (unit.size == 3 && !is_binary) return 0;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (small(unit.data[0]) == units[i].letter) return is_binary ? units[i].binary : units[i].decimal;
  return 0;
}

bool vs_sim_size_parse(vs_str text, uint64_t *bytes) {
  size_t digits = 0;
  if (text.size == 0) return false;
  while (digits < text.size && (is_digit(text.data[digits]) || text.data[digits] == '.')) digits++;
  const vs_str number = {text.data, digits};
  vs_str unit = {text.data + digits, text.size - digits};
  while (unit.size > 0 && unit.data[0] == ' ') unit.data++, unit.size--;
  const uint64_t factor = unit_bytes(unit);
  if (factor == 0) return false;
  if (vs_parse_u64(number, bytes)) return !__builtin_mul_overflow(*bytes, factor, bytes);
  double real;
  if (!vs_parse_f64(number, &real)) return false;
  real *= (double)factor;
  if (!(real < 18e18)) return false;
  *bytes = (uint64_t)(real + 0.5);
  return true;
}

/* ---- cards and lists of cards -------------------------------------------------------------------------- */

#define LEAST_TOTAL (UINT64_C(64) << 20)
#define TOTAL_UNIT  (UINT64_C(64) << 10) /* totals of real drivers are multiples of it */

enum { MOST_IN_MESSAGE = 48 };

/* A part of the parsed text, with its offset for messages. */
typedef struct piece {
  vs_str text;
  uint64_t offset;
} piece;

static piece part_of(piece whole, size_t from, size_t to) {
  VS_ASSERT(from <= to && to <= whole.text.size);
  return (piece){{whole.text.data + from, to - from}, whole.offset + from};
}

static piece trimmed(piece p) {
  size_t from = 0, to = p.text.size;
  while (from < to && p.text.data[from] == ' ') from++;
  while (to > from && p.text.data[to - 1] == ' ') to--;
  return part_of(p, from, to);
}

/* The index of the first `c`, or the size. */
static size_t place_of(vs_str text, char c) {
  size_t i = 0;
  while (i < text.size && text.data[i] != c) i++;
  return i;
}

static vs_str for_message(vs_str text) {
  return (vs_str){text.data, text.size > MOST_IN_MESSAGE ? MOST_IN_MESSAGE : text.size};
}

/* A size with a unit, or a plain number of bytes, as in reports, that is large enough for a card. */
static bool is_total(vs_str text, uint64_t *bytes) {
  return vs_sim_size_parse(text, bytes) || (vs_parse_u64(text, bytes) && *bytes >= LEAST_TOTAL);
}

static vs_status read_total(piece p, uint64_t *bytes, vs_error *error) {
  if (!is_total(p.text, bytes))
    return vs_fail(error, VS_BAD_ARGUMENT, p.offset, "'%S' is not a size: write it like 20GiB or 512MiB",
                   for_message(p.text));
  *bytes -= *bytes % TOTAL_UNIT;
  if (*bytes < LEAST_TOTAL || *bytes > VS_SIM_MOST_TOTAL)
    return vs_fail(error, VS_BAD_ARGUMENT, p.offset, "a GPU of %S: sizes go from 64 MiB to 1 TiB",
                   for_message(p.text));
  return VS_OK;
}

/* Few cards have a size near the boundary, so similar sizes select the same card. */
static const vs_sim_profile *of_size(uint64_t bytes) {
  return vs_sim_profile_keyed(
      vs_str_from(bytes <= VS_SIM_SMALL_CARD ? VS_SIM_SMALL_CARD_KEY : VS_SIM_CARD_KEY));
}

/* NAME, SIZE or NAME:SIZE. */
static vs_status read_gpu(piece p, vs_sim_gpu *out, vs_error *error) {
  *out = (vs_sim_gpu){0};
  p = trimmed(p);
  const size_t colon = place_of(p.text, ':');
  const piece name = trimmed(part_of(p, 0, colon));
  uint64_t ignored;
  if (colon < p.text.size) {
    VS_TRY(read_total(trimmed(part_of(p, colon + 1, p.text.size)), &out->total_bytes, error));
  } else if (is_total(name.text, &ignored)) {
    VS_TRY(read_total(name, &out->total_bytes, error));
    out->profile = of_size(out->total_bytes);
    out->is_only_size = true;
    return VS_OK;
  }
  out->profile = vs_sim_profile_find(name.text);
  return out->profile == NULL ? vs_sim_profile_unknown(name.text, name.offset, error) : VS_OK;
}

/* The whole text. An empty text gets a valid address, because offsets are added to it. */
static piece whole_of(vs_str text) { return (piece){text.size == 0 ? VS_STR("") : text, 0}; }

vs_status vs_sim_gpu_parse(vs_str text, vs_sim_gpu *out, vs_error *error) {
  return read_gpu(whole_of(text), out, error);
}

/* Removes a factor such as "8 x" in front of a card from p; *times is 8. Without a factor it is 1. */
static vs_status read_times(piece *p, uint64_t *times, vs_error *error) {
  *times = 1;
  size_t digits = 0;
  while (digits < p->text.size && is_digit(p->text.data[digits])) digits++;
  size_t x = digits;
  while (x < p->text.size && p->text.data[x] == ' ') x++;
  if (digits == 0 || x == p->text.size || small(p->text.data[x]) != 'x') return VS_OK;
  if (!vs_parse_u64((vs_str){p->text.data, digits}, times) || *times == 0)
    return vs_fail(error, VS_BAD_ARGUMENT, p->offset, "'%S' is not a number of GPUs",
                   for_message((vs_str){p->text.data, digits}));
  *p = part_of(*p, x + 1, p->text.size);
  return VS_OK;
}

vs_status vs_sim_gpus_parse(vs_str text, vs_sim_gpu *out, uint32_t capacity, uint32_t *count,
                            vs_error *error) {
  const piece whole = whole_of(text);
  *count = 0;
  for (size_t from = 0; from <= text.size;) {
    const size_t to = from + place_of(part_of(whole, from, text.size).text, ',');
    piece item = trimmed(part_of(whole, from, to));
    const uint64_t offset = item.offset;
    uint64_t times;
    vs_sim_gpu gpu;
    VS_TRY(read_times(&item, &times, error));
    VS_TRY(read_gpu(item, &gpu, error));
    if (times > capacity - *count) return vs_fail(error, VS_LIMIT, offset, "more than %u GPUs", capacity);
    VS_ASSERT(gpu.profile != NULL);
    while (times-- > 0) out[(*count)++] = gpu;
    from = to + 1;
  }
  return VS_OK;
}
