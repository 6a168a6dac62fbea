#include "diff/pairing.h"
#include "base/path.h"
#include "base/sort.h"
#include "diff/align.h"
#include "diff/places.h"

/* Two with less in common are not taken for the same. */
enum { SIMILAR_ENOUGH = VS_SIMILARITY_MOST / 2 };
/* Above so many candidates only equal names are paired. */
#define MOST_CANDIDATES (UINT64_C(1) << 20)

typedef VS_VEC(uint32_t) numbers;

/* mates: by file, function and place of a: that of b, VS_PLACES_NONE; taken: by those of b. */
typedef struct matching {
  const vs_host *host;
  bool is_same_program;
  vs_strings strings;
  vs_places a, b;
  numbers files, functions, places;
  numbers taken_files, taken_functions;
  vs_features calls_a, calls_b; /* of places; empty until functions are paired */
} matching;

static vs_status fill(const vs_host *host, numbers *list, size_t count, uint32_t value) {
  VS_TRY(vs_vec_reserve(host, list, count));
  for (size_t i = 0; i < count; i++) list->data[i] = value;
  list->count = count;
  return VS_OK;
}

static void mate(numbers *mates, numbers *taken, uint32_t a, uint32_t b) {
  VS_ASSERT(mates->data[a] == VS_PLACES_NONE && taken->data[b] == VS_PLACES_NONE);
  mates->data[a] = b;
  taken->data[b] = a;
}

/* ---- the best pairs first ---------------------------------------------------------------------------------------- */

/* How well two fit together; 0: not at all. */
typedef uint32_t (*fits)(const matching *m, uint32_t a, uint32_t b);

typedef struct candidates {
  VS_VEC(vs_sort_pair) order; /* key: the complement of the points */
  numbers a, b;
} candidates;

static vs_status add_candidate(const vs_host *host, candidates *all, uint32_t points, uint32_t a,
                               uint32_t b) {
  VS_TRY(vs_vec_reserve(host, &all->order, 1));
  VS_TRY(vs_vec_reserve(host, &all->a, 1));
  VS_TRY(vs_vec_reserve(host, &all->b, 1));
  all->order.data[all->order.count++] =
      (vs_sort_pair){.key = ~(uint64_t)points, .value = (uint32_t)all->a.count};
  all->a.data[all->a.count++] = a;
  all->b.data[all->b.count++] = b;
  return VS_OK;
}

static vs_status take_best(const vs_host *host, const candidates *all, numbers *mates, numbers *taken) {
  VS_TRY(vs_sort_pairs(host, all->order.data, all->order.count));
  for (size_t i = 0; i < all->order.count; i++) {
    const uint32_t at = all->order.data[i].value, a = all->a.data[at], b = all->b.data[at];
    if (mates->data[a] == VS_PLACES_NONE && taken->data[b] == VS_PLACES_NONE) mate(mates, taken, a, b);
  }
  return VS_OK;
}

/* Pairs those of two lists that have no mate yet. */
static vs_status pair_lists(const matching *m, const numbers *of_a, const numbers *of_b, fits fit,
                            numbers *mates, numbers *taken) {
  candidates all = {0};
  vs_status status = VS_OK;
  if ((uint64_t)of_a->count * of_b->count > MOST_CANDIDATES) return VS_OK;
  for (size_t i = 0; i < of_a->count && status == VS_OK; i++)
    for (size_t k = 0; k < of_b->count && status == VS_OK; k++) {
      const uint32_t points = fit(m, of_a->data[i], of_b->data[k]);
      if (points != 0) status = add_candidate(m->host, &all, points, of_a->data[i], of_b->data[k]);
    }
  if (status == VS_OK) status = take_best(m->host, &all, mates, taken);
  vs_vec_free(m->host, &all.order);
  vs_vec_free(m->host, &all.a);
  vs_vec_free(m->host, &all.b);
  return status;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static vs_str file_name(const matching *m, const vs_places *p, uint32_t file) {
  return vs_strings_at(&m->strings, p->files.data[file].name);
}

/* The number of folders at the end of both paths that are equal, and 1 for the name itself; 0 if the names differ. */
static uint32_t common_end(const matching *m, uint32_t a, uint32_t b) {
  const vs_str x = file_name(m, &m->a, a), y = file_name(m, &m->b, b);
  const vs_str base = vs_path_base(x);
  uint32_t parts = 1;
  if (base.size == 0 || !vs_str_equal(base, vs_path_base(y))) return 0;
  for (size_t i = base.size + 1; i <= x.size && i <= y.size; i++) {
    const char c = x.data[x.size - i];
    if (c != y.data[y.size - i]) break;
    if (c == '/') parts++;
  }
  return parts;
}

static uint32_t common_functions(const matching *m, uint32_t a, uint32_t b) {
  const uint32_t similarity = vs_features_similarity(&m->a.names, a, &m->b.names, b);
  return similarity < SIMILAR_ENOUGH ? 0 : similarity;
}

static vs_status collect_files(const matching *m, const vs_places *p, const numbers *paired, numbers *out) {
  for (size_t i = 0; i < p->files.count; i++) {
    if (paired->data[i] != VS_PLACES_NONE || !p->files.data[i].is_user) continue;
    VS_TRY(vs_vec_reserve(m->host, out, 1));
    out->data[out->count++] = (uint32_t)i;
  }
  return VS_OK;
}

static vs_status pair_files_by(matching *m, fits fit) {
  numbers of_a = {0}, of_b = {0};
  vs_status status = collect_files(m, &m->a, &m->files, &of_a);
  if (status == VS_OK) status = collect_files(m, &m->b, &m->taken_files, &of_b);
  if (status == VS_OK) status = pair_lists(m, &of_a, &of_b, fit, &m->files, &m->taken_files);
  vs_vec_free(m->host, &of_a);
  vs_vec_free(m->host, &of_b);
  return status;
}

static vs_status pair_files(matching *m) {
  for (uint32_t i = 0; i < m->a.files.count; i++) {
    const uint32_t other = vs_places_find_file(&m->b, m->a.files.data[i].name);
    if (other != VS_PLACES_NONE) mate(&m->files, &m->taken_files, i, other);
  }
  if (m->is_same_program) return VS_OK;
  VS_TRY(pair_files_by(m, common_end));
  return pair_files_by(m, common_functions);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static uint32_t common_kin(const matching *m, uint32_t a, uint32_t b) {
  const uint32_t similarity = vs_features_similarity(&m->a.kin, a, &m->b.kin, b);
  return similarity < SIMILAR_ENOUGH ? 0 : similarity;
}

/* (file, function) of the functions without a mate, sorted by file. */
typedef VS_VEC(vs_sort_pair) by_file;

static vs_status collect_functions(const matching *m, const vs_places *p, const numbers *paired,
                                   by_file *out) {
  for (size_t i = 0; i < p->functions.count; i++) {
    if (paired->data[i] != VS_PLACES_NONE) continue;
    VS_TRY(vs_vec_reserve(m->host, out, 1));
    out->data[out->count++] = (vs_sort_pair){.key = p->functions.data[i].file, .value = (uint32_t)i};
  }
  return vs_sort_pairs(m->host, out->data, out->count);
}

static vs_status take_file(const vs_host *host, const by_file *all, uint32_t file, numbers *out) {
  size_t low = 0, high = all->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (all->data[middle].key < file) low = middle + 1;
    else high = middle;
  }
  out->count = 0;
  for (; low < all->count && all->data[low].key == file; low++) {
    VS_TRY(vs_vec_reserve(host, out, 1));
    out->data[out->count++] = all->data[low].value;
  }
  return VS_OK;
}

/* C++ functions without a file keep their names. */
static bool may_be_renamed(const matching *m, uint32_t file) {
  return m->files.data[file] != VS_PLACES_NONE && m->a.files.data[file].name != VS_STRING_EMPTY;
}

static vs_status pair_renamed(matching *m, const by_file *of_a, const by_file *of_b) {
  numbers list_a = {0}, list_b = {0};
  vs_status status = VS_OK;
  for (uint32_t file = 0; file < m->a.files.count && status == VS_OK; file++) {
    if (!may_be_renamed(m, file)) continue;
    status = take_file(m->host, of_a, file, &list_a);
    if (status == VS_OK) status = take_file(m->host, of_b, m->files.data[file], &list_b);
    if (status == VS_OK)
      status = pair_lists(m, &list_a, &list_b, common_kin, &m->functions, &m->taken_functions);
  }
  vs_vec_free(m->host, &list_a);
  vs_vec_free(m->host, &list_b);
  return status;
}

static vs_status pair_functions(matching *m) {
  by_file of_a = {0}, of_b = {0};
  for (uint32_t i = 0; i < m->a.functions.count; i++) {
    const uint32_t file = m->files.data[m->a.functions.data[i].file];
    const uint32_t other = file == VS_PLACES_NONE
                               ? VS_PLACES_NONE
                               : vs_places_find_function(&m->b, file, m->a.functions.data[i].name);
    if (other != VS_PLACES_NONE) mate(&m->functions, &m->taken_functions, i, other);
  }
  if (m->is_same_program) return VS_OK;
  vs_status status = collect_functions(m, &m->a, &m->functions, &of_a);
  if (status == VS_OK) status = collect_functions(m, &m->b, &m->taken_functions, &of_b);
  if (status == VS_OK) status = pair_renamed(m, &of_a, &of_b);
  vs_vec_free(m->host, &of_a);
  vs_vec_free(m->host, &of_b);
  return status;
}

/* The number of a's i-th: that of its mate, or one behind all of b. */
static uint32_t number_of(const numbers *mates, uint32_t i, size_t count_of_b) {
  return mates->data[i] != VS_PLACES_NONE ? mates->data[i] : (uint32_t)count_of_b + i;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* The lines of one function. */
typedef struct line_list {
  VS_VEC(int64_t) lines;
  numbers places;
} line_list;

static void line_list_deinit(const vs_host *host, line_list *list) {
  vs_vec_free(host, &list->lines);
  vs_vec_free(host, &list->places);
}

static vs_status take_lines(const vs_host *host, const vs_places *p, uint32_t function, size_t from,
                            line_list *out) {
  out->lines.count = out->places.count = 0;
  for (size_t i = from; i < p->order.count; i++) {
    const uint32_t place = p->order.data[i];
    if (p->places.data[place].function != function) break;
    VS_TRY(vs_vec_reserve(host, &out->lines, 1));
    VS_TRY(vs_vec_reserve(host, &out->places, 1));
    out->lines.data[out->lines.count++] = p->places.data[place].line;
    out->places.data[out->places.count++] = place;
  }
  return VS_OK;
}

static vs_status pair_lines(matching *m, const line_list *a, const line_list *b) {
  const vs_align_side side_a = {.lines = a->lines.data,
                                .subjects = a->places.data,
                                .count = (uint32_t)a->places.count,
                                .features = &m->calls_a},
                      side_b = {.lines = b->lines.data,
                                .subjects = b->places.data,
                                .count = (uint32_t)b->places.count,
                                .features = &m->calls_b};
  numbers found = {0};
  VS_TRY(fill(m->host, &found, a->places.count, VS_ALIGN_NONE));
  vs_status status = VS_OK;
  if (m->is_same_program) vs_align_equal(&side_a, &side_b, found.data);
  else status = vs_align_lines(m->host, &side_a, &side_b, found.data);
  for (size_t i = 0; i < found.count && status == VS_OK; i++)
    if (found.data[i] != VS_ALIGN_NONE) m->places.data[a->places.data[i]] = b->places.data[found.data[i]];
  vs_vec_free(m->host, &found);
  return status;
}

/* starts[i]: where the lines of function i begin in `order`. */
static vs_status find_starts(const vs_host *host, const vs_places *p, numbers *starts) {
  VS_TRY(fill(host, starts, p->functions.count, 0));
  for (size_t i = p->order.count; i-- > 0;)
    starts->data[p->places.data[p->order.data[i]].function] = (uint32_t)i;
  return VS_OK;
}

/* The numbers that the functions have on both sides. */
static vs_status number_functions(const matching *m, bool is_a, numbers *out) {
  const size_t count = is_a ? m->a.functions.count : m->b.functions.count;
  VS_TRY(fill(m->host, out, count, 0));
  for (size_t i = 0; i < count; i++)
    out->data[i] = is_a ? number_of(&m->functions, (uint32_t)i, m->b.functions.count) : (uint32_t)i;
  return VS_OK;
}

static vs_status find_calls(matching *m, const vs_side *a, const vs_side *b) {
  numbers of_a = {0}, of_b = {0};
  vs_status status = number_functions(m, true, &of_a);
  if (status == VS_OK) status = number_functions(m, false, &of_b);
  if (status == VS_OK) status = vs_places_calls(m->host, a, &m->a, of_a.data, &m->calls_a);
  if (status == VS_OK) status = vs_places_calls(m->host, b, &m->b, of_b.data, &m->calls_b);
  vs_vec_free(m->host, &of_a);
  vs_vec_free(m->host, &of_b);
  return status;
}

static vs_status pair_places(matching *m) {
  line_list of_a = {0}, of_b = {0};
  numbers starts_a = {0}, starts_b = {0};
  vs_status status = find_starts(m->host, &m->a, &starts_a);
  if (status == VS_OK) status = find_starts(m->host, &m->b, &starts_b);
  for (uint32_t i = 0; i < m->a.functions.count && status == VS_OK; i++) {
    const uint32_t other = m->functions.data[i];
    if (other == VS_PLACES_NONE) continue;
    status = take_lines(m->host, &m->a, i, starts_a.data[i], &of_a);
    if (status == VS_OK) status = take_lines(m->host, &m->b, other, starts_b.data[other], &of_b);
    if (status == VS_OK) status = pair_lines(m, &of_a, &of_b);
  }
  line_list_deinit(m->host, &of_a);
  line_list_deinit(m->host, &of_b);
  vs_vec_free(m->host, &starts_a);
  vs_vec_free(m->host, &starts_b);
  return status;
}

/* ---- one number for both ----------------------------------------------------------------------------------------- */

static vs_status give_numbers(const matching *m, const vs_places *p, bool is_a, vs_paired *out) {
  const size_t count = p->place_of.count;
  VS_TRY(vs_vec_reserve(m->host, &out->files, count));
  VS_TRY(vs_vec_reserve(m->host, &out->functions, count));
  VS_TRY(vs_vec_reserve(m->host, &out->places, count));
  for (size_t i = 0; i < count; i++) {
    const uint32_t place = p->place_of.data[i], function = p->places.data[place].function,
                   file = p->functions.data[function].file;
    out->files.data[i] = is_a ? number_of(&m->files, file, m->b.files.count) : file;
    out->functions.data[i] = is_a ? number_of(&m->functions, function, m->b.functions.count) : function;
    out->places.data[i] = is_a ? number_of(&m->places, place, m->b.places.count) : place;
  }
  out->files.count = out->functions.count = out->places.count = count;
  return VS_OK;
}

static vs_status pair(matching *m, const vs_side *a, const vs_side *b, vs_pairing *out) {
  VS_TRY(fill(m->host, &m->files, m->a.files.count, VS_PLACES_NONE));
  VS_TRY(fill(m->host, &m->functions, m->a.functions.count, VS_PLACES_NONE));
  VS_TRY(fill(m->host, &m->places, m->a.places.count, VS_PLACES_NONE));
  VS_TRY(fill(m->host, &m->taken_files, m->b.files.count, VS_PLACES_NONE));
  VS_TRY(fill(m->host, &m->taken_functions, m->b.functions.count, VS_PLACES_NONE));
  VS_TRY(pair_files(m));
  VS_TRY(pair_functions(m));
  VS_TRY(find_calls(m, a, b));
  VS_TRY(pair_places(m));
  out->file_count = (uint32_t)(m->a.files.count + m->b.files.count);
  out->function_count = (uint32_t)(m->a.functions.count + m->b.functions.count);
  out->place_count = (uint32_t)(m->a.places.count + m->b.places.count);
  VS_TRY(give_numbers(m, &m->a, true, &out->sides[0]));
  return give_numbers(m, &m->b, false, &out->sides[1]);
}

static void matching_deinit(matching *m) {
  vs_strings_deinit(m->host, &m->strings);
  vs_places_deinit(m->host, &m->a);
  vs_places_deinit(m->host, &m->b);
  vs_features_deinit(m->host, &m->calls_a);
  vs_features_deinit(m->host, &m->calls_b);
  vs_vec_free(m->host, &m->files);
  vs_vec_free(m->host, &m->functions);
  vs_vec_free(m->host, &m->places);
  vs_vec_free(m->host, &m->taken_files);
  vs_vec_free(m->host, &m->taken_functions);
}

vs_status vs_pairing_build(const vs_host *host, const vs_side *a, const vs_side *b, bool is_same_program,
                           vs_pairing *out) {
  matching m = {.host = host, .is_same_program = is_same_program};
  *out = (vs_pairing){0};
  VS_TRY(vs_strings_init(host, &m.strings));
  vs_status status = vs_places_build(host, a, &m.strings, &m.a);
  if (status == VS_OK) status = vs_places_build(host, b, &m.strings, &m.b);
  if (status == VS_OK) status = pair(&m, a, b, out);
  matching_deinit(&m);
  if (status != VS_OK) vs_pairing_deinit(host, out);
  VS_ASSERT(status != VS_OK || vs_pairing_check(out) == NULL);
  return status;
}

void vs_pairing_deinit(const vs_host *host, vs_pairing *pairing) {
  for (size_t i = 0; i < 2; i++) {
    vs_vec_free(host, &pairing->sides[i].files);
    vs_vec_free(host, &pairing->sides[i].functions);
    vs_vec_free(host, &pairing->sides[i].places);
  }
}

const char *vs_pairing_check(const vs_pairing *pairing) {
  for (size_t side = 0; side < 2; side++) {
    const vs_paired *p = &pairing->sides[side];
    if (p->functions.count != p->files.count || p->places.count != p->files.count)
      return "the tables have different lengths";
    for (size_t i = 0; i < p->files.count; i++)
      if (p->files.data[i] >= pairing->file_count || p->functions.data[i] >= pairing->function_count ||
          p->places.data[i] >= pairing->place_count)
        return "a number is above the last";
  }
  return NULL;
}
