#include "device/sim/profile.h"
#include "base/double_text.h"

/* ---- the table ----------------------------------------------------------------------------------------- */

#define MIB(n) (UINT64_C(n) << 20)

/* The limits that follow from the compute capability. From 8.0 on CUDA reserves 1 KiB of each block's shared memory, so a kernel
 * can opt in to 1 KiB less than an SM has. */
#define LIMITS(threads, blocks, shared, reserved)                                                      \
  .threads_per_sm = (threads), .blocks_per_sm = (blocks), .shared_per_sm = (shared),                   \
  .shared_per_block = 49152, .shared_optin = (shared) - (reserved), .shared_reserved = (reserved),     \
  .registers_per_sm = 65536, .registers_per_block = 65536, .threads_per_block = 1024, .warp_size = 32, \
  .constant_bytes = 65536
#define LIMITS_7_0  LIMITS(2048, 32, 98304, 0)
#define LIMITS_7_5  LIMITS(1024, 16, 65536, 0)
#define LIMITS_8_0  LIMITS(2048, 32, 167936, 1024)
#define LIMITS_8_6  LIMITS(1536, 16, 102400, 1024)
#define LIMITS_8_9  LIMITS(1536, 24, 102400, 1024)
#define LIMITS_9_0  LIMITS(2048, 32, 233472, 1024)
#define LIMITS_10_0 LIMITS(2048, 32, 233472, 1024)
#define LIMITS_10_3 LIMITS(2048, 32, 233472, 1024)
#define LIMITS_12_0 LIMITS(1536, 24, 102400, 1024)

static const vs_sim_profile profiles[] = {
#define VS_SIM_GPU(key_, aliases_, name_, architecture_, major, minor, sms, total, nvml, l2, core, memory, \
                   bus, pci, driver_, confidence_)                                                         \
  {.key = (key_),                                                                                          \
   .aliases = (aliases_),                                                                                  \
   .name = (name_),                                                                                        \
   .architecture = (architecture_),                                                                        \
   .driver = (driver_),                                                                                    \
   .confidence = (confidence_),                                                                            \
   .figures = {.total_bytes = (total),                                                                     \
               .nvml_total_bytes = MIB(nvml),                                                              \
               .l2_bytes = (l2),                                                                           \
               .compute_major = (major),                                                                   \
               .compute_minor = (minor),                                                                   \
               .sm_count = (sms),                                                                          \
               .core_khz = (core)*1000,                                                                    \
               .memory_khz = (memory)*1000,                                                                \
               .bus_bits = (bus),                                                                          \
               .pci_device = (pci),                                                                        \
               LIMITS_##major##_##minor}},
#include "device/sim/gpus.def"
};

enum { PROFILE_COUNT = sizeof profiles / sizeof *profiles };

uint32_t vs_sim_profile_count(void) { return PROFILE_COUNT; }

const vs_sim_profile *vs_sim_profile_at(uint32_t index) {
  VS_ASSERT(index < PROFILE_COUNT);
  return &profiles[index];
}

static const struct {
  const char *key;
  uint64_t bytes;
} measured_contexts[] = {
#define VS_SIM_CONTEXT(key_, bytes_) {.key = (key_), .bytes = (bytes_)},
#include "device/sim/gpus.def"
};

uint64_t vs_sim_context_bytes(const vs_sim_profile *profile) {
  for (size_t i = 0; i < sizeof measured_contexts / sizeof *measured_contexts; i++)
    if (vs_str_equal(vs_str_from(measured_contexts[i].key), vs_str_from(profile->key)))
      return measured_contexts[i].bytes;
  return VS_SIM_CONTEXT_BYTES_PER_THREAD * profile->figures.sm_count * profile->figures.threads_per_sm +
         VS_SIM_CONTEXT_BYTES_BASE;
}

/* ---- names --------------------------------------------------------------------------------------------- */

enum { LONGEST_NAME = 80 };

/* A name in comparable form: small letters and digits only, without the vendor and the word GB, which users often omit. */
typedef struct plain {
  char text[LONGEST_NAME];
  uint32_t size;
} plain;

static void drop_front(plain *name, vs_str word) {
  if (name->size <= word.size || memcmp(name->text, word.data, word.size) != 0) return;
  name->size -= (uint32_t)word.size;
  memmove(name->text, name->text + word.size, name->size);
}

static void drop_end(plain *name, vs_str word) {
  if (name->size <= word.size) return;
  if (memcmp(name->text + name->size - word.size, word.data, word.size) == 0)
    name->size -= (uint32_t)word.size;
}

/* False if the text is empty, or too long for the name of any card. */
static bool make_plain(vs_str text, plain *out) {
  out->size = 0;
  for (size_t i = 0; i < text.size; i++) {
    char c = text.data[i];
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9')) continue;
    if (out->size == LONGEST_NAME) return false;
    out->text[out->size++] = c;
  }
  drop_end(out, VS_STR("simulated"));
  drop_end(out, VS_STR("gb"));
  drop_front(out, VS_STR("nvidia"));
  drop_front(out, VS_STR("tesla"));
  drop_front(out, VS_STR("geforce"));
  return out->size > 0;
}

static bool is_same(const plain *a, vs_str text) {
  plain b;
  return make_plain(text, &b) && a->size == b.size && memcmp(a->text, b.text, a->size) == 0;
}

/* Removes the next word from `rest`; false at the end. */
static bool next_word(vs_str *rest, vs_str *word) {
  while (rest->size > 0 && rest->data[0] == ' ') rest->data++, rest->size--;
  size_t size = 0;
  while (size < rest->size && rest->data[size] != ' ') size++;
  *word = (vs_str){rest->data, size};
  *rest = (vs_str){rest->data + size, rest->size - size};
  return size > 0;
}

static bool is_called(const vs_sim_profile *profile, const plain *name) {
  vs_str rest = vs_str_from(profile->aliases), word;
  if (is_same(name, vs_str_from(profile->key)) || is_same(name, vs_str_from(profile->name))) return true;
  while (next_word(&rest, &word))
    if (is_same(name, word)) return true;
  return false;
}

const vs_sim_profile *vs_sim_profile_find(vs_str text) {
  plain name;
  if (!make_plain(text, &name)) return NULL;
  for (uint32_t i = 0; i < PROFILE_COUNT; i++)
    if (is_called(&profiles[i], &name)) return &profiles[i];
  return NULL;
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* The edit distance: letters to insert, remove or change to make `b` out of `a`. */
static uint32_t edits(const plain *a, const plain *b) {
  uint32_t row[LONGEST_NAME + 1];
  VS_ASSERT(a->size <= LONGEST_NAME && b->size <= LONGEST_NAME);
  for (uint32_t j = 0; j <= b->size; j++) row[j] = j;
  for (uint32_t i = 0; i < a->size; i++) {
    uint32_t diagonal = row[0];
    row[0] = i + 1;
    for (uint32_t j = 0; j < b->size; j++) {
      const uint32_t changed = diagonal + (a->text[i] != b->text[j]);
      diagonal = row[j + 1];
      row[j + 1] = smaller(changed, smaller(row[j], row[j + 1]) + 1);
    }
  }
  return row[b->size];
}

static bool begins_with(const plain *name, const plain *beginning) {
  return name->size >= beginning->size && memcmp(name->text, beginning->text, beginning->size) == 0;
}

/* The least edit distance between `typed` and a name of the card. If `typed` is the beginning of a name, it counts as 1. */
static uint32_t slips_to(const vs_sim_profile *profile, const plain *typed) {
  uint32_t least = UINT32_MAX;
  plain name;
  vs_str rest = vs_str_from(profile->aliases), word = vs_str_from(profile->key);
  do {
    if (!make_plain(word, &name)) continue;
    least = smaller(least, typed->size >= 2 && begins_with(&name, typed) ? 1 : edits(typed, &name));
  } while (next_word(&rest, &word));
  if (!make_plain(vs_str_from(profile->name), &name)) return least;
  return smaller(least, edits(typed, &name));
}

/* The key of the card that was probably meant; NULL if no name is similar enough. */
static const char *nearest(vs_str text) {
  plain typed;
  const char *best = NULL;
  if (!make_plain(text, &typed)) return NULL;
  uint32_t least = (typed.size < 4 ? 1 : typed.size < 8 ? 2 : 3) + 1;
  for (uint32_t i = 0; i < PROFILE_COUNT; i++) {
    const uint32_t slips = slips_to(&profiles[i], &typed);
    if (slips >= least) continue;
    least = slips;
    best = profiles[i].key;
  }
  return best;
}

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
    return vs_fail(error, VS_BAD_ARGUMENT, p.offset, "'%S' is no size: write it like 20GiB or 512MiB",
                   for_message(p.text));
  *bytes -= *bytes % TOTAL_UNIT;
  if (*bytes < LEAST_TOTAL || *bytes > VS_SIM_MOST_TOTAL)
    return vs_fail(error, VS_BAD_ARGUMENT, p.offset, "a card of %S: sizes go from 64 MiB to 1 TiB",
                   for_message(p.text));
  return VS_OK;
}

/* Few cards have a size near the boundary, so similar sizes select the same card. */
static const vs_sim_profile *of_size(uint64_t bytes) {
  return vs_sim_profile_find(
      vs_str_from(bytes <= VS_SIM_SMALL_CARD ? VS_SIM_SMALL_CARD_KEY : VS_SIM_CARD_KEY));
}

static vs_status unknown(piece p, vs_error *error) {
  const char *meant = nearest(p.text);
  if (p.text.size == 0) return vs_fail(error, VS_BAD_ARGUMENT, p.offset, "the name of a card is missing");
  if (meant == NULL)
    return vs_fail(error, VS_BAD_ARGUMENT, p.offset, "there is no card '%S'; a size does as well, like 24GiB",
                   for_message(p.text));
  return vs_fail(error, VS_BAD_ARGUMENT, p.offset, "there is no card '%S'; did you mean %s?",
                 for_message(p.text), meant);
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
    return VS_OK;
  }
  out->profile = vs_sim_profile_find(name.text);
  return out->profile == NULL ? unknown(name, error) : VS_OK;
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
    return vs_fail(error, VS_BAD_ARGUMENT, p->offset, "'%S' is no number of cards",
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
    if (times > capacity - *count) return vs_fail(error, VS_LIMIT, offset, "more than %u cards", capacity);
    VS_ASSERT(gpu.profile != NULL);
    while (times-- > 0) out[(*count)++] = gpu;
    from = to + 1;
  }
  return VS_OK;
}
