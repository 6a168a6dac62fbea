#include "diff/rank_names.h"
#include "base/interned_strings.h"
#include "base/path.h"

/* ---- the order of names */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* How many digits `text` has at `at`. */
static size_t digits_at(vs_str text, size_t at) {
  size_t size = 0;
  while (at + size < text.size && is_digit(text.data[at + size])) size++;
  return size;
}

static size_t behind_zeros(vs_str text, size_t at) {
  while (text.data[at] == '0' && digits_at(text, at) > 1) at++;
  return at;
}

int vs_rank_names_compare(vs_str a, vs_str b) {
  size_t i = 0, k = 0;
  while (i < a.size && k < b.size) {
    if (!is_digit(a.data[i]) || !is_digit(b.data[k])) {
      if (a.data[i] != b.data[k]) return (uint8_t)a.data[i] < (uint8_t)b.data[k] ? -1 : 1;
      i++, k++;
      continue;
    }
    i = behind_zeros(a, i), k = behind_zeros(b, k);
    const size_t x = digits_at(a, i), y = digits_at(b, k);
    if (x != y) return x < y ? -1 : 1;
    const int order = memcmp(a.data + i, b.data + k, x);
    if (order != 0) return order;
    i += x, k += y;
  }
  return (a.size - i > b.size - k) - (a.size - i < b.size - k);
}

/* ---- the number of a rank */

static bool is_separator(char c) { return c == '_' || c == '-' || c == '.' || c == '=' || c == ' '; }

/* Whether `word`, in small letters, stands at `at`, in letters of any size. */
static bool is_word_at(vs_str text, size_t at, vs_str word) {
  if (at + word.size > text.size) return false;
  for (size_t i = 0; i < word.size; i++) {
    const char c = text.data[at + i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != word.data[i]) return false;
  }
  return true;
}

/* Whether "local" stands before `at`, perhaps with a separator. */
static bool is_local(vs_str text, size_t at) {
  const vs_str local = VS_STR("local");
  if (at != 0 && is_separator(text.data[at - 1])) at--;
  return at >= local.size && is_word_at(text, at - local.size, local);
}

/* The number behind "rank". */
static bool number_of_rank(vs_str name, uint64_t *number) {
  const vs_str word = VS_STR("rank");
  bool is_found = false, is_found_local = false;
  for (size_t i = 0; i < name.size; i++) {
    if (!is_word_at(name, i, word)) continue;
    size_t at = i + word.size;
    if (at < name.size && is_separator(name.data[at])) at++;
    uint64_t value;
    if (!vs_parse_u64((vs_str){name.data + at, digits_at(name, at)}, &value)) continue;
    const bool is_of_node = is_local(name, i);
    if (is_of_node && is_found && !is_found_local) continue;
    *number = value;
    is_found_local = is_of_node;
    is_found = true;
  }
  return is_found;
}

static bool last_number(vs_str name, uint64_t *number) {
  size_t end = name.size;
  while (end != 0 && !is_digit(name.data[end - 1])) end--;
  size_t start = end;
  while (start != 0 && is_digit(name.data[start - 1])) start--;
  return vs_parse_u64((vs_str){name.data + start, end - start}, number);
}

static bool has_digit(vs_str name) {
  for (size_t i = 0; i < name.size; i++)
    if (is_digit(name.data[i])) return true;
  return false;
}

bool vs_rank_number(vs_str path, uint64_t *number) {
  vs_str name = vs_path_base(path);
  if (has_digit(name)) return number_of_rank(name, number) || last_number(name, number);
  while (name.size < path.size) {
    path.size -= name.size + 1;
    name = vs_path_base(path);
    if (number_of_rank(name, number)) return true;
  }
  return false;
}

vs_status vs_rank_numbers_differ(const vs_host *host, vs_sort_pair *numbers, size_t count, bool *differ) {
  *differ = true;
  VS_TRY(vs_sort_pairs(host, numbers, count));
  for (size_t i = 1; i < count; i++) *differ = *differ && numbers[i - 1].key != numbers[i].key;
  return VS_OK;
}

/* ---- pairs */

/* The files of a side by a key that files of both sides may have: their numbers, or the ids of their names. */
typedef VS_VEC(vs_sort_pair) keys;

static vs_status number_side(const vs_host *host, const vs_str *names, size_t count, keys *out) {
  VS_TRY(vs_vec_reserve(host, out, count));
  for (size_t i = 0; i < count; i++) {
    uint64_t number;
    if (vs_rank_number(names[i], &number))
      out->data[out->count++] = (vs_sort_pair){.key = number, .value = (uint32_t)i};
  }
  return vs_sort_pairs(host, out->data, out->count);
}

static vs_status name_side(const vs_host *host, vs_strings *strings, const vs_str *names, size_t count,
                           keys *out) {
  VS_TRY(vs_vec_reserve(host, out, count));
  for (size_t i = 0; i < count; i++) {
    uint32_t id;
    VS_TRY(vs_strings_intern(host, strings, vs_path_base(names[i]), &id));
    out->data[out->count++] = (vs_sort_pair){.key = id, .value = (uint32_t)i};
  }
  return vs_sort_pairs(host, out->data, out->count);
}

/* How many files from `at` on have the key of the first of them. */
static size_t equals_at(const keys *side, size_t at) {
  size_t count = 1;
  while (at + count < side->count && side->data[at + count].key == side->data[at].key) count++;
  return count;
}

/* Pairs files whose key exactly one file of each side has. `is_taken`: of the files of `b`, those that have a mate. */
static void pair_by(const keys *a, const keys *b, uint32_t *mates, bool *is_taken) {
  for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
    const size_t x = equals_at(a, i), y = equals_at(b, k);
    const uint64_t first = a->data[i].key, second = b->data[k].key;
    const uint32_t one = a->data[i].value, other = b->data[k].value;
    if (first == second && x == 1 && y == 1 && mates[one] == VS_RANK_ALONE && !is_taken[other]) {
      mates[one] = other;
      is_taken[other] = true;
    }
    if (first <= second) i += x;
    if (second <= first) k += y;
  }
}

static vs_status pair_sides(const vs_host *host, const vs_str *a, size_t count_a, const vs_str *b,
                            size_t count_b, keys sides[4], vs_strings *strings, bool *is_taken,
                            uint32_t *mates) {
  VS_TRY(number_side(host, a, count_a, &sides[0]));
  VS_TRY(number_side(host, b, count_b, &sides[1]));
  pair_by(&sides[0], &sides[1], mates, is_taken);
  VS_TRY(name_side(host, strings, a, count_a, &sides[2]));
  VS_TRY(name_side(host, strings, b, count_b, &sides[3]));
  pair_by(&sides[2], &sides[3], mates, is_taken);
  return VS_OK;
}

vs_status vs_rank_names_pair(const vs_host *host, const vs_str *a, size_t count_a, const vs_str *b,
                             size_t count_b, uint32_t *mates) {
  keys sides[4] = {{0}};
  VS_VEC(bool) taken = {0};
  vs_strings strings;
  for (size_t i = 0; i < count_a; i++) mates[i] = VS_RANK_ALONE;
  vs_status status = vs_strings_init(host, &strings);
  if (status == VS_OK) status = vs_vec_reserve(host, &taken, count_b);
  for (size_t i = 0; i < count_b && status == VS_OK; i++) taken.data[i] = false;
  if (status == VS_OK) status = pair_sides(host, a, count_a, b, count_b, sides, &strings, taken.data, mates);
  for (size_t i = 0; i < 4; i++) vs_vec_free(host, &sides[i]);
  vs_vec_free(host, &taken);
  vs_strings_deinit(host, &strings);
  return status;
}
