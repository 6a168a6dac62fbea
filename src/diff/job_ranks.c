#include "diff/job_ranks.h"
#include "base/check.h"
#include "base/sort.h"
#include "diff/rank_names.h"
#include "diff/sentence.h"

vs_status vs_job_ranks_init(vs_job_ranks *ranks, const vs_host *host) {
  *ranks = (vs_job_ranks){.host = host};
  return vs_strings_init(host, &ranks->strings);
}

void vs_job_ranks_deinit(vs_job_ranks *ranks) {
  vs_strings_deinit(ranks->host, &ranks->strings);
  vs_vec_free(ranks->host, &ranks->list);
  vs_map_deinit(ranks->host, &ranks->by_shape);
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static vs_status add(vs_job_ranks *ranks, vs_str name, vs_job_rank rank) {
  VS_TRY(vs_strings_intern(ranks->host, &ranks->strings, name, &rank.name));
  rank.has_number = vs_rank_number(name, &rank.number);
  VS_TRY(vs_vec_reserve(ranks->host, &ranks->list, 1));
  ranks->list.data[ranks->list.count++] = rank;
  return VS_OK;
}

vs_status vs_job_ranks_add_failed(vs_job_ranks *ranks, vs_str name, vs_str why) {
  vs_job_rank rank = {.shape = VS_STRING_NONE, .same_as = (uint32_t)ranks->list.count, .device = -1};
  VS_TRY(vs_strings_intern(ranks->host, &ranks->strings, why, &rank.failure));
  return add(ranks, name, rank);
}

/* What ranks may have in common: of each stack what vs_side reads. */
static void put_shape(vs_jsonw *json, vs_json inventory) {
  static const char *const keys[] = {"label",      "long_label", "operation", "owner_frame",
                                     "is_forward", "frames",     "sizes"};
  const vs_json stacks = vs_reply_at(inventory, "stacks");
  vs_jsonw_object_begin(json);
  vs_jsonw_key(json, VS_STR("frames"));
  vs_reply_put(json, vs_reply_at(inventory, "frames"));
  vs_jsonw_key(json, VS_STR("stacks"));
  vs_jsonw_array_begin(json);
  for (size_t i = 0; i < vs_json_count(stacks); i++) {
    vs_jsonw_object_begin(json);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
      vs_jsonw_key(json, vs_str_from(keys[k]));
      vs_reply_put(json, vs_reply_at(vs_json_at(stacks, i), keys[k]));
    }
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
}

static vs_status shape_of(vs_job_ranks *ranks, vs_json inventory, uint32_t *shape) {
  vs_text text;
  vs_jsonw json;
  vs_text_init(&text, ranks->host, NULL);
  vs_jsonw_begin(&json, &text, 0);
  put_shape(&json, inventory);
  vs_jsonw_end(&json);
  vs_status status = text.status;
  if (status == VS_OK) status = vs_strings_intern(ranks->host, &ranks->strings, vs_text_view(&text), shape);
  vs_text_deinit(&text);
  return status;
}

static vs_status find_same(vs_job_ranks *ranks, uint32_t shape, uint32_t *same_as) {
  const size_t slot = vs_map_find(&ranks->by_shape, shape);
  *same_as = (uint32_t)ranks->list.count;
  if (slot != VS_MAP_NONE) {
    *same_as = ranks->by_shape.slots[slot].value;
    return VS_OK;
  }
  VS_TRY(vs_map_reserve(ranks->host, &ranks->by_shape));
  vs_map_add(&ranks->by_shape, shape, *same_as);
  return VS_OK;
}

vs_status vs_job_ranks_add(vs_job_ranks *ranks, vs_str name, vs_json inventory) {
  vs_job_rank rank = {.device = vs_json_i64(vs_reply_at(inventory, "device"), -1),
                      .allocated = vs_reply_u64(inventory, "peak_allocated_bytes"),
                      .requested = vs_reply_u64(inventory, "peak_requested_bytes"),
                      .reserved = vs_reply_u64(inventory, "peak_reserved_bytes"),
                      .knows_reserved = vs_reply_knows(inventory, "peak_reserved_bytes"),
                      .ooms = vs_reply_u64(inventory, "ooms"),
                      .is_complete = vs_reply_bool(inventory, "complete")};
  VS_TRY(shape_of(ranks, inventory, &rank.shape));
  VS_TRY(find_same(ranks, rank.shape, &rank.same_as));
  return add(ranks, name, rank);
}

/* ---- questions about all of them --------------------------------------------------------------------------------- */

uint64_t vs_job_ranks_count(const vs_job_ranks *ranks, bool (*has)(const vs_job_rank *rank)) {
  uint64_t count = 0;
  for (size_t i = 0; i < ranks->list.count; i++) count += has(&ranks->list.data[i]);
  return count;
}

vs_status vs_job_ranks_have_numbers(const vs_job_ranks *ranks, bool *have) {
  VS_VEC(vs_sort_pair) numbers = {0};
  bool all = true, differ = true;
  VS_TRY(vs_vec_reserve(ranks->host, &numbers, ranks->list.count));
  for (size_t i = 0; i < ranks->list.count; i++) {
    all = all && ranks->list.data[i].has_number;
    numbers.data[numbers.count++] = (vs_sort_pair){.key = ranks->list.data[i].number, .value = (uint32_t)i};
  }
  const vs_status status = vs_rank_numbers_differ(ranks->host, numbers.data, numbers.count, &differ);
  *have = all && differ;
  vs_vec_free(ranks->host, &numbers);
  return status;
}

vs_status vs_job_ranks_median(const vs_job_ranks *ranks, uint32_t *median) {
  VS_VEC(vs_sort_pair) order = {0};
  *median = VS_JOB_NO_RANK;
  VS_TRY(vs_vec_reserve(ranks->host, &order, ranks->list.count));
  for (size_t i = 0; i < ranks->list.count; i++)
    if (vs_job_rank_was_read(&ranks->list.data[i]))
      order.data[order.count++] = (vs_sort_pair){.key = ranks->list.data[i].allocated, .value = (uint32_t)i};
  const vs_status status = vs_sort_pairs(ranks->host, order.data, order.count);
  if (status == VS_OK && order.count != 0) {
    const uint64_t middle = order.data[(order.count - 1) / 2].key;
    size_t first = 0;
    while (order.data[first].key != middle) first++;
    *median = order.data[first].value;
  }
  vs_vec_free(ranks->host, &order);
  return status;
}

/* ---- comparing with the median rank ------------------------------------------------------------------------------ */

/* A comparison of two shapes, with the documents that its texts are in. */
typedef struct difference {
  vs_json_doc documents[2];
  vs_comparison comparison;
} difference;

static void difference_deinit(difference *d) {
  vs_comparison_deinit(&d->comparison);
  for (size_t i = 0; i < 2; i++) vs_json_doc_deinit(&d->documents[i]);
}

static vs_status compare_documents(difference *d, const vs_host *host, vs_error *error) {
  const vs_diff_options options = {.by = VS_DIFF_BY_line, .is_same_program = true};
  return vs_comparison_init(&d->comparison, host, options, vs_json_root(&d->documents[0]),
                            vs_json_root(&d->documents[1]), error);
}

/* The shapes are copied by the documents. */
static vs_status compare(const vs_job_ranks *ranks, uint32_t median, uint32_t rank, difference *d,
                         vs_error *error) {
  const vs_host *host = ranks->host;
  const vs_str before = vs_strings_at(&ranks->strings, ranks->list.data[median].shape),
               after = vs_strings_at(&ranks->strings, ranks->list.data[rank].shape);
  VS_TRY(vs_json_doc_init(&d->documents[0], host, before, error));
  vs_status status = vs_json_doc_init(&d->documents[1], host, after, error);
  if (status == VS_OK) {
    status = compare_documents(d, host, error);
    if (status != VS_OK) vs_json_doc_deinit(&d->documents[1]);
  }
  if (status != VS_OK) vs_json_doc_deinit(&d->documents[0]);
  return status;
}

/* ---- members of a reply ------------------------------------------------------------------------------------------ */

int64_t vs_job_change(uint64_t before, uint64_t after) {
  if (after >= before) return (int64_t)vs_min_u64(after - before, INT64_MAX);
  return -(int64_t)vs_min_u64(before - after, INT64_MAX);
}

void vs_job_ranks_put_figures(vs_jsonw *json, const vs_job_ranks *ranks, uint32_t median, uint32_t rank) {
  const vs_job_rank *of = &ranks->list.data[rank];
  VS_ASSERT(vs_job_rank_was_read(of) && median != VS_JOB_NO_RANK);
  if (of->device < 0) vs_jsonw_member_null(json, "device");
  else vs_jsonw_member_i64(json, "device", of->device);
  vs_jsonw_member_u64(json, "peak_allocated_bytes", of->allocated);
  vs_jsonw_member_u64(json, "peak_requested_bytes", of->requested);
  if (of->knows_reserved) vs_jsonw_member_u64(json, "peak_reserved_bytes", of->reserved);
  else vs_jsonw_member_null(json, "peak_reserved_bytes");
  vs_jsonw_member_bool(json, "complete", of->is_complete);
  vs_jsonw_member_i64(json, "delta_bytes", vs_job_change(ranks->list.data[median].allocated, of->allocated));
}

static void put_no_difference(vs_jsonw *json) {
  vs_jsonw_member_u64(json, "differing_bytes", 0);
  vs_jsonw_key(json, VS_STR("rows"));
  vs_jsonw_array_begin(json);
  vs_jsonw_array_end(json);
}

/* Which line has most of what the rank has more. */
static vs_status take_more(vs_job_ranks *ranks, vs_job_rank *of, const vs_comparison *c) {
  const vs_diff_row *most = NULL;
  vs_part_name name;
  for (size_t i = 0; i < c->rows.list.count; i++) {
    const vs_diff_row *row = &c->rows.list.data[i];
    if (vs_diff_row_change(row) <= 0) continue;
    of->more_rows++;
    if (most == NULL) most = row; /* the rows are in the order of their changes */
  }
  if (most == NULL) return VS_OK;
  vs_part_name_init(&name, c, most, 1);
  vs_status status = name.owner.status;
  if (status == VS_OK)
    status = vs_strings_intern(ranks->host, &ranks->strings, vs_text_view(&name.owner), &of->most);
  vs_part_name_deinit(&name, &status);
  return status;
}

static vs_status put_compared(vs_jsonw *json, vs_job_ranks *ranks, vs_job_rank *of, const vs_comparison *c,
                              uint64_t most) {
  uint64_t less;
  of->more_rows = 0;
  VS_TRY(take_more(ranks, of, c));
  vs_comparison_changes(c, &of->more, &less);
  of->differing = vs_sat_add_u64(of->more, less);
  vs_jsonw_member_u64(json, "differing_bytes", of->differing);
  vs_comparison_put_changed(json, c, most);
  return VS_OK;
}

vs_status vs_job_ranks_put_difference(vs_jsonw *json, vs_job_ranks *ranks, uint32_t median, uint32_t rank,
                                      uint64_t most, vs_error *error) {
  vs_job_rank *of = &ranks->list.data[rank];
  difference d;
  if (of->shape == ranks->list.data[median].shape) {
    put_no_difference(json);
    return VS_OK;
  }
  VS_TRY(compare(ranks, median, rank, &d, error));
  const vs_status status = put_compared(json, ranks, of, &d.comparison, most);
  difference_deinit(&d);
  return status;
}

vs_status vs_job_ranks_put_odd(vs_jsonw *json, const vs_job_ranks *ranks) {
  VS_VEC(vs_sort_pair) order = {0};
  VS_TRY(vs_vec_reserve(ranks->host, &order, ranks->list.count));
  for (size_t i = 0; i < ranks->list.count; i++)
    if (ranks->list.data[i].differing != 0)
      order.data[order.count++] = (vs_sort_pair){.key = ~ranks->list.data[i].differing, .value = (uint32_t)i};
  const vs_status status = vs_sort_pairs(ranks->host, order.data, order.count);
  vs_jsonw_key(json, VS_STR("odd"));
  vs_jsonw_array_begin(json);
  for (size_t i = 0; status == VS_OK && i < order.count; i++) vs_jsonw_u64(json, order.data[i].value);
  vs_jsonw_array_end(json);
  vs_vec_free(ranks->host, &order);
  return status;
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

void vs_job_ranks_put_counted(vs_jsonw *json, vs_text *text, const vs_job_ranks *ranks,
                              bool (*has)(const vs_job_rank *rank), const char *what, const char *about,
                              const char *label, const char *tone) {
  const uint64_t count = vs_job_ranks_count(ranks, has);
  if (count == 0) return;
  vs_text_format(text, "%U of %U %s", count, (uint64_t)ranks->list.count, what);
  vs_sentence_put(json, text, about, label, 0, tone);
}

void vs_job_ranks_put_doubts(vs_jsonw *json, vs_text *text, const vs_job_ranks *ranks) {
  vs_job_ranks_put_counted(
      json, text, ranks, vs_job_rank_is_incomplete,
      "are not complete: what was allocated before the recording began or was lost may be missing", "trust",
      "Incomplete", "warning");
  vs_job_ranks_put_counted(json, text, ranks, vs_job_rank_was_not_read, "could not be read", "failed",
                           "Failed", "bad");
}
