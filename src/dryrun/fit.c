#include "dryrun/fit.h"
#include "base/sort.h"

const char *vs_fit_word(vs_fit fit) {
  static const char *const words[] = {"yes", "tight", "no", "unknown"};
  return words[fit];
}

/* ---- one card */

static uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* Replaces the contexts in `bytes` by those of a card on which one takes `context_bytes`. */
static uint64_t moved(const vs_fit_need *need, uint64_t bytes, uint64_t context_bytes) {
  const uint64_t there = need->is_context_given ? need->context_bytes : context_bytes;
  return vs_sat_add_u64(minus(bytes, need->contexts * need->context_bytes), need->contexts * there);
}

static int64_t difference(uint64_t a, uint64_t b) {
  const uint64_t distance = a > b ? a - b : b - a;
  const int64_t bounded = distance > INT64_MAX ? INT64_MAX : (int64_t)distance;
  return a >= b ? bounded : -bounded;
}

vs_fit vs_fit_judge(const vs_fit_need *need, uint64_t total_bytes, uint64_t context_bytes,
                    int64_t *headroom) {
  const uint64_t all = moved(need, need->bytes, context_bytes);
  *headroom = difference(total_bytes, all);
  if (need->is_open_ended) {
    const uint64_t least = moved(need, need->least_bytes, context_bytes);
    if (total_bytes >= least) return VS_FIT_UNKNOWN;
    *headroom = difference(total_bytes, least);
    return VS_FIT_NO;
  }
  if (total_bytes >= all) return VS_FIT_YES;
  return total_bytes >= minus(all, need->cached_bytes) ? VS_FIT_TIGHT : VS_FIT_NO;
}

/* ---- the table */

/* Ranks answers from the best to the worst. */
static unsigned badness(vs_fit fit) {
  static const unsigned order[] = {
      [VS_FIT_YES] = 0, [VS_FIT_TIGHT] = 1, [VS_FIT_UNKNOWN] = 2, [VS_FIT_NO] = 3};
  return order[fit];
}

static vs_fit_row judge_all(const vs_sim_profile *profile, const vs_fit_need *needs, size_t count) {
  vs_fit_row row = {.profile = profile,
                    .total_bytes = profile->figures.total_bytes,
                    .fit = VS_FIT_YES,
                    .headroom_bytes = INT64_MAX};
  for (size_t i = 0; i < count; i++) {
    int64_t headroom;
    const vs_fit fit = vs_fit_judge(&needs[i], row.total_bytes, vs_sim_context_bytes(profile), &headroom);
    if (badness(fit) > badness(row.fit)) row.fit = fit;
    if (headroom < row.headroom_bytes) row.headroom_bytes = headroom;
  }
  return row;
}

static bool is_smaller(const void *ctx, uint32_t a, uint32_t b) {
  (void)ctx;
  return vs_sim_profile_at(a)->figures.total_bytes < vs_sim_profile_at(b)->figures.total_bytes;
}

vs_status vs_fit_table_init(vs_fit_table *table, const vs_host *host, const vs_fit_need *needs,
                            size_t count) {
  const uint32_t profiles = vs_sim_profile_count();
  VS_VEC(uint32_t) order = {0};
  VS_ASSERT(count <= VS_SIM_MAX_DEVICES);
  *table = (vs_fit_table){.rows = {0}};
  vs_status status = vs_vec_reserve(host, &order, profiles);
  if (status == VS_OK) status = vs_vec_reserve(host, &table->rows, profiles);
  for (uint32_t i = 0; status == VS_OK && i < profiles; i++) order.data[order.count++] = i;
  if (status == VS_OK) status = vs_sort_rows(host, order.data, order.count, is_smaller, NULL);
  for (size_t i = 0; status == VS_OK && i < order.count; i++)
    table->rows.data[table->rows.count++] = judge_all(vs_sim_profile_at(order.data[i]), needs, count);
  vs_vec_free(host, &order);
  VS_ASSERT(status != VS_OK || table->rows.count == profiles);
  if (status != VS_OK) vs_fit_table_deinit(table, host);
  return status;
}

void vs_fit_table_deinit(vs_fit_table *table, const vs_host *host) { vs_vec_free(host, &table->rows); }

/* ---- the rows to show */

const vs_fit_row *vs_fit_smallest(const vs_fit_table *table) {
  for (size_t i = 0; i < table->rows.count; i++)
    if (table->rows.data[i].fit == VS_FIT_YES) return &table->rows.data[i];
  return NULL;
}

/* Whether a shown row has the same answer for about the same size, so that this one adds nothing. */
static bool is_like_shown(const vs_fit_table *table, const bool *shown, size_t row) {
  for (size_t i = 0; i < table->rows.count; i++) {
    const vs_fit_row *a = &table->rows.data[i], *b = &table->rows.data[row];
    const uint64_t close = b->total_bytes / 16;
    if (shown[i] && a->fit == b->fit && a->total_bytes + close > b->total_bytes &&
        b->total_bytes + close > a->total_bytes)
      return true;
  }
  return false;
}

static size_t show(const vs_fit_table *table, bool *shown, size_t row) {
  if (shown[row] || is_like_shown(table, shown, row)) return 0;
  shown[row] = true;
  return 1;
}

size_t vs_fit_select(const vs_fit_table *table, const vs_sim_profile *own, size_t most, bool *shown) {
  const size_t count = table->rows.count;
  size_t turn = 0, picked = 0; /* turn: the first row whose answer is not "no" */
  for (size_t i = 0; i < count; i++) shown[i] = false;
  for (size_t i = 0; i < count && picked < most; i++) {
    if (table->rows.data[i].profile != own) continue;
    shown[i] = true;
    picked++;
  }
  while (turn < count && table->rows.data[turn].fit == VS_FIT_NO) turn++;
  /* Up to two rows below that one, then the rows from there upwards. */
  size_t below = 0;
  for (size_t i = turn; i > 0 && below < 2 && picked < most; i--) {
    const size_t more = show(table, shown, i - 1);
    below += more;
    picked += more;
  }
  for (size_t i = turn; i < count && picked < most; i++) picked += show(table, shown, i);
  VS_ASSERT(picked <= most && picked <= count);
  return picked;
}
