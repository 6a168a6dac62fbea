/* torch.cuda.memory_summary(): 75 characters between two bars a line.
 *
 * The figure of all memory chooses the unit of a column, so that the rows of a group can be compared. Numbers are
 * truncated, not rounded. */
#include "alloc/statistics.h"

enum { WIDTH = 75, COLUMNS = 4 };

static void rule(vs_text *out, char c) {
  vs_text_byte(out, '|');
  for (int i = 0; i < WIDTH; i++) vs_text_byte(out, (uint8_t)c);
  vs_text_cstr(out, "|\n");
}

static void spaces(vs_text *out, size_t count) {
  for (size_t i = 0; i < count; i++) vs_text_byte(out, ' ');
}

/* A number at the left or the right of a cell; it may be wider than the cell. */
static void cell(vs_text *out, int64_t number, size_t width, bool is_left) {
  char digits[24];
  vs_format(digits, sizeof digits, "%D", number);
  const size_t size = strlen(digits), pad = size < width ? width - size : 0;
  if (!is_left) spaces(out, pad);
  vs_text_cstr(out, digits);
  if (is_left) spaces(out, pad);
}

static int64_t floor_divide(int64_t number, int64_t by) { return number / by - (number % by < 0); }

/* `whole` chooses the unit. As in PyTorch it is divided as a floating-point number, which matters for figures beyond
 * 2^53. */
static void amount(vs_text *out, int64_t number, int64_t whole, bool is_bytes) {
  static const char *const byte_units[] = {" B  ", " KiB", " MiB", " GiB", " TiB", " PiB"};
  static const char *const count_units[] = {"   ", " K ", " M "};
  const int64_t base = is_bytes ? 1024 : 1000;
  const double enough = is_bytes ? 768 * 1024 : 750 * 1000;
  const size_t last = is_bytes ? 5 : 2;
  double measure = (double)whole;
  size_t unit = 0;
  while (unit < last && !(measure < enough)) {
    number = floor_divide(number, base);
    measure /= (double)base;
    unit++;
  }
  cell(out, number, is_bytes ? 6 : 7, false);
  vs_text_cstr(out, is_bytes ? byte_units[unit] : count_units[unit]);
}

static void row(vs_text *out, const char *name, vs_alloc_stat stat, vs_alloc_stat whole, bool is_bytes) {
  const int64_t numbers[COLUMNS] = {stat.current, stat.peak, stat.allocated, stat.freed};
  const int64_t wholes[COLUMNS] = {whole.current, whole.peak, whole.allocated, whole.freed};
  vs_text_format(out, "| %s", name);
  for (size_t width = strlen(name); width < 21; width++) vs_text_byte(out, ' ');
  for (int i = 0; i < COLUMNS; i++) {
    vs_text_cstr(out, " | ");
    amount(out, numbers[i], wholes[i], is_bytes);
  }
  vs_text_cstr(out, " |\n");
}

static void group(vs_text *out, const vs_alloc_statistics *s, vs_alloc_group which, const char *name,
                  bool is_bytes, bool abbreviated) {
  const vs_alloc_stat whole = vs_alloc_statistics_at(s, which, VS_ALLOC_ALL);
  rule(out, '-');
  row(out, name, whole, whole, is_bytes);
  if (abbreviated) return;
  row(out, "      from large pool", vs_alloc_statistics_at(s, which, VS_ALLOC_LARGE), whole, is_bytes);
  row(out, "      from small pool", vs_alloc_statistics_at(s, which, VS_ALLOC_SMALL), whole, is_bytes);
}

static void head(vs_text *out, const vs_alloc_statistics *s, uint32_t device) {
  rule(out, '=');
  vs_text_cstr(out, "|                  PyTorch CUDA memory summary, device ID ");
  cell(out, device, 17, true);
  vs_text_cstr(out, " |\n");
  rule(out, '-');
  vs_text_cstr(out, "|            CUDA OOMs: ");
  cell(out, s->num_ooms, 12, true);
  vs_text_cstr(out, " |        cudaMalloc retries: ");
  cell(out, s->num_alloc_retries, 8, true);
  vs_text_cstr(out, "  |\n");
  rule(out, '=');
  vs_text_cstr(out, "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n");
}

vs_status vs_alloc_summary_write(const vs_alloc_statistics *statistics, uint32_t device, bool abbreviated,
                                 vs_text *out) {
  static const vs_alloc_group order[] = {
      VS_ALLOC_ALLOCATED_BYTES,      VS_ALLOC_ACTIVE_BYTES, VS_ALLOC_REQUESTED_BYTES, VS_ALLOC_RESERVED_BYTES,
      VS_ALLOC_INACTIVE_SPLIT_BYTES, VS_ALLOC_ALLOCATION,   VS_ALLOC_ACTIVE,          VS_ALLOC_SEGMENT,
      VS_ALLOC_INACTIVE_SPLIT};
  static const struct {
    const char *words;
    bool is_bytes;
  } groups[VS_ALLOC_GROUPS] = {
#define VS_ALLOC_GROUP(name, key, is_bytes_, words_) [VS_ALLOC_##name] = {words_, is_bytes_},
#include "alloc/groups.def"
#undef VS_ALLOC_GROUP
  };
  const vs_alloc_statistics *s = statistics;
  head(out, s, device);
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    group(out, s, order[i], groups[order[i]].words, groups[order[i]].is_bytes, abbreviated);
  rule(out, '-');
  row(out, "Oversize allocations", s->oversize_allocations, s->oversize_allocations, false);
  rule(out, '-');
  row(out, "Oversize GPU segments", s->oversize_segments, s->oversize_segments, false);
  rule(out, '=');
  return out->status;
}
