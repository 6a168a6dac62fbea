#include "diff/job.h"
#include "base/check.h"
#include "base/sort.h"
#include "diff/comparison.h"
#include "diff/files.h"

vs_status vs_job_init(vs_job *job, const vs_host *host) {
  *job = (vs_job){.host = host};
  return vs_strings_init(host, &job->strings);
}

void vs_job_deinit(vs_job *job) {
  vs_strings_deinit(job->host, &job->strings);
  vs_vec_free(job->host, &job->list);
  vs_map_deinit(job->host, &job->by_shape);
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static vs_status add(vs_job *job, vs_str name, vs_job_rank rank) {
  VS_TRY(vs_strings_intern(job->host, &job->strings, name, &rank.name));
  VS_TRY(vs_vec_reserve(job->host, &job->list, 1));
  job->list.data[job->list.count++] = rank;
  return VS_OK;
}

vs_status vs_job_add_failed(vs_job *job, vs_str name, vs_str why) {
  vs_job_rank rank = {.shape = VS_STRING_NONE, .same_as = (uint32_t)job->list.count, .device = -1};
  VS_TRY(vs_strings_intern(job->host, &job->strings, why, &rank.failure));
  return add(job, name, rank);
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

static vs_status shape_of(vs_job *job, vs_json inventory, uint32_t *shape) {
  vs_text text;
  vs_jsonw json;
  vs_text_init(&text, job->host, NULL);
  vs_jsonw_begin(&json, &text, 0);
  put_shape(&json, inventory);
  vs_jsonw_end(&json);
  vs_status status = text.status;
  if (status == VS_OK) status = vs_strings_intern(job->host, &job->strings, vs_text_view(&text), shape);
  vs_text_deinit(&text);
  return status;
}

static vs_status find_same(vs_job *job, uint32_t shape, uint32_t *same_as) {
  const size_t slot = vs_map_find(&job->by_shape, shape);
  *same_as = (uint32_t)job->list.count;
  if (slot != VS_MAP_NONE) {
    *same_as = job->by_shape.slots[slot].value;
    return VS_OK;
  }
  VS_TRY(vs_map_reserve(job->host, &job->by_shape));
  vs_map_add(&job->by_shape, shape, *same_as);
  return VS_OK;
}

/* Of the device that the inventory is of. */
static uint64_t growth_of(vs_json report, int64_t device) {
  const vs_json devices = vs_reply_at(report, "devices");
  for (size_t i = 0; i < vs_json_count(devices); i++)
    if (vs_reply_i64(vs_json_at(devices, i), "device") == device)
      return vs_reply_u64(vs_json_at(vs_reply_at(vs_json_at(devices, i), "growth"), 0), "bytes_per_step");
  return 0;
}

vs_status vs_job_add(vs_job *job, vs_str name, vs_json inventory, vs_json report) {
  const int64_t device = vs_json_i64(vs_reply_at(inventory, "device"), -1);
  vs_job_rank rank = {.device = device,
                      .allocated = vs_reply_u64(inventory, "peak_allocated_bytes"),
                      .requested = vs_reply_u64(inventory, "peak_requested_bytes"),
                      .reserved = vs_reply_u64(inventory, "peak_reserved_bytes"),
                      .ooms = vs_reply_u64(inventory, "ooms"),
                      .growth = growth_of(report, device),
                      .is_complete = vs_reply_bool(inventory, "complete")};
  VS_TRY(shape_of(job, inventory, &rank.shape));
  VS_TRY(find_same(job, rank.shape, &rank.same_as));
  return add(job, name, rank);
}

/* ---- the median rank --------------------------------------------------------------------------------------------- */

enum { NO_RANK = UINT32_MAX };

/* NO_RANK if none was read. Of an even number the lower one, of equal ones the first. */
static vs_status find_median(const vs_job *job, uint32_t *median) {
  VS_VEC(vs_sort_pair) order = {0};
  *median = NO_RANK;
  VS_TRY(vs_vec_reserve(job->host, &order, job->list.count));
  for (size_t i = 0; i < job->list.count; i++)
    if (job->list.data[i].shape != VS_STRING_NONE)
      order.data[order.count++] = (vs_sort_pair){.key = job->list.data[i].allocated, .value = (uint32_t)i};
  const vs_status status = vs_sort_pairs(job->host, order.data, order.count);
  if (status == VS_OK && order.count != 0) {
    const uint64_t middle = order.data[(order.count - 1) / 2].key;
    size_t first = 0;
    while (order.data[first].key != middle) first++;
    *median = order.data[first].value;
  }
  vs_vec_free(job->host, &order);
  return status;
}

/* ---- comparing with it ------------------------------------------------------------------------------------------- */

/* A comparison of two shapes, with the documents that its texts are in. */
typedef struct compared {
  vs_json_doc documents[2];
  vs_comparison comparison;
  size_t documents_open, sides_open;
  bool has_pairing, has_rows;
} compared;

static void compared_deinit(compared *c) {
  const vs_host *host = c->comparison.host;
  if (c->has_rows) vs_diff_rows_deinit(host, &c->comparison.rows);
  if (c->has_pairing) vs_pairing_deinit(host, &c->comparison.pairing);
  for (size_t i = 0; i < c->sides_open; i++) vs_side_deinit(host, &c->comparison.sides[i]);
  for (size_t i = 0; i < c->documents_open; i++) vs_json_doc_deinit(&c->documents[i]);
}

static vs_status open_side(compared *c, vs_str shape, vs_error *error) {
  const size_t side = c->sides_open;
  vs_json_doc *document = &c->documents[side];
  vs_side *to = &c->comparison.sides[side];
  VS_TRY(vs_json_doc_init(document, c->comparison.host, shape, error));
  c->documents_open++;
  VS_TRY(vs_side_init(to, c->comparison.host, vs_json_root(document), error));
  c->sides_open++;
  c->comparison.roots[side] = vs_files_root(to);
  return VS_OK;
}

static vs_status compare(compared *c, vs_error *error) {
  vs_comparison *comparison = &c->comparison;
  const vs_host *host = comparison->host;
  (void)error;
  VS_TRY(vs_pairing_build(host, &comparison->sides[0], &comparison->sides[1], true, &comparison->pairing));
  c->has_pairing = true;
  VS_TRY(vs_diff_rows_build(host, comparison->sides, &comparison->pairing, comparison->options.by,
                            &comparison->rows));
  c->has_rows = true;
  return VS_OK;
}

/* The shapes are copied by the documents, so the strings may grow. After a failure, too, compared_deinit is needed. */
static vs_status compare_shapes(const vs_job *job, uint32_t median, uint32_t rank, vs_unit unit, compared *c,
                                vs_error *error) {
  *c = (compared){.comparison = {.host = job->host,
                                 .options = {.by = VS_DIFF_BY_line, .unit = unit, .is_same_program = true}}};
  VS_TRY(open_side(c, vs_strings_at(&job->strings, job->list.data[median].shape), error));
  VS_TRY(open_side(c, vs_strings_at(&job->strings, job->list.data[rank].shape), error));
  return compare(c, error);
}

/* How much of the rows is not the same: the change, or where it is 0 although sizes differ, nothing. */
static uint64_t differing_bytes(const vs_diff_rows *rows) {
  uint64_t sum = 0;
  for (size_t i = 0; i < rows->list.count; i++) {
    const int64_t change = vs_diff_row_change(&rows->list.data[i]);
    sum = vs_sat_add_u64(sum, change < 0 ? (uint64_t)-change : (uint64_t)change);
  }
  return sum;
}

/* ---- the reply --------------------------------------------------------------------------------------------------- */

typedef struct writing {
  vs_job *job;
  vs_job_options options;
  vs_jsonw *json;
  vs_error *error;
  uint32_t median;
} writing;

static vs_str string_at(const writing *w, uint32_t id) { return vs_strings_at(&w->job->strings, id); }

static void put_rows(const writing *w, const vs_comparison *c) {
  vs_jsonw_key(w->json, VS_STR("rows"));
  vs_jsonw_array_begin(w->json);
  for (size_t i = 0; i < c->rows.list.count && (w->options.top == 0 || i < w->options.top); i++)
    if (!vs_diff_row_is_same(&c->rows.list.data[i])) vs_comparison_put_row(w->json, c, &c->rows.list.data[i]);
  vs_jsonw_array_end(w->json);
}

static void put_no_rows(const writing *w) {
  vs_jsonw_key(w->json, VS_STR("rows"));
  vs_jsonw_array_begin(w->json);
  vs_jsonw_array_end(w->json);
}

static void put_figures(const writing *w, const vs_job_rank *rank) {
  const vs_job_rank *median = &w->job->list.data[w->median];
  vs_jsonw_member_u64(w->json, "peak_allocated_bytes", rank->allocated);
  vs_jsonw_member_u64(w->json, "peak_requested_bytes", rank->requested);
  vs_jsonw_member_u64(w->json, "peak_reserved_bytes", rank->reserved);
  vs_jsonw_member_u64(w->json, "ooms", rank->ooms);
  vs_jsonw_member_u64(w->json, "growth_bytes_per_step", rank->growth);
  vs_jsonw_member_bool(w->json, "complete", rank->is_complete);
  const uint64_t more = rank->allocated - vs_min_u64(rank->allocated, median->allocated),
                 less = median->allocated - vs_min_u64(rank->allocated, median->allocated);
  vs_jsonw_member_i64(w->json, "delta_bytes",
                      more != 0 ? (int64_t)vs_min_u64(more, INT64_MAX)
                                : -(int64_t)vs_min_u64(less, INT64_MAX));
}

static vs_status put_difference(const writing *w, vs_job_rank *rank, uint32_t number) {
  const bool is_like_median = rank->shape == w->job->list.data[w->median].shape;
  compared c;
  if (is_like_median) {
    vs_jsonw_member_u64(w->json, "differing_bytes", 0);
    put_no_rows(w);
    return VS_OK;
  }
  const vs_status status = compare_shapes(w->job, w->median, number, w->options.unit, &c, w->error);
  if (status == VS_OK) {
    rank->differing = differing_bytes(&c.comparison.rows);
    vs_jsonw_member_u64(w->json, "differing_bytes", rank->differing);
    put_rows(w, &c.comparison);
  }
  compared_deinit(&c);
  return status;
}

static vs_status put_rank(const writing *w, uint32_t number) {
  vs_job_rank *rank = &w->job->list.data[number];
  vs_status status = VS_OK;
  vs_jsonw_object_begin(w->json);
  vs_jsonw_member_str(w->json, "name", string_at(w, rank->name));
  vs_jsonw_member_u64(w->json, "same_as", rank->same_as);
  if (rank->shape == VS_STRING_NONE) {
    vs_jsonw_member_str(w->json, "error", string_at(w, rank->failure));
  } else {
    vs_jsonw_member_null(w->json, "error");
    if (rank->device < 0) vs_jsonw_member_null(w->json, "device");
    else vs_jsonw_member_i64(w->json, "device", rank->device);
    put_figures(w, rank);
    status = put_difference(w, rank, number);
  }
  vs_jsonw_object_end(w->json);
  return status;
}

/* The ranks that differ from the median one, the most first. */
static vs_status put_odd(const writing *w) {
  VS_VEC(vs_sort_pair) order = {0};
  VS_TRY(vs_vec_reserve(w->job->host, &order, w->job->list.count));
  for (size_t i = 0; i < w->job->list.count; i++)
    if (w->job->list.data[i].differing != 0)
      order.data[order.count++] =
          (vs_sort_pair){.key = ~w->job->list.data[i].differing, .value = (uint32_t)i};
  const vs_status status = vs_sort_pairs(w->job->host, order.data, order.count);
  vs_jsonw_key(w->json, VS_STR("odd"));
  vs_jsonw_array_begin(w->json);
  for (size_t i = 0; status == VS_OK && i < order.count; i++) vs_jsonw_u64(w->json, order.data[i].value);
  vs_jsonw_array_end(w->json);
  vs_vec_free(w->job->host, &order);
  return status;
}

/* ---- sentences */

static void put_line(const writing *w, vs_text *text, const char *about, const char *label,
                     const char *tone) {
  vs_jsonw_object_begin(w->json);
  vs_jsonw_member_str(w->json, "about", vs_str_from(about));
  vs_jsonw_member_str(w->json, "label", vs_str_from(label));
  vs_jsonw_member_u64(w->json, "depth", 0);
  vs_jsonw_member_str(w->json, "tone", vs_str_from(tone));
  vs_jsonw_member_str(w->json, "text", vs_text_view(text));
  vs_jsonw_object_end(w->json);
  text->bytes.count = 0;
}

/* How many of the files have a property. */
static uint64_t count_of(const writing *w, bool (*has)(const vs_job_rank *rank)) {
  uint64_t count = 0;
  for (size_t i = 0; i < w->job->list.count; i++) count += has(&w->job->list.data[i]);
  return count;
}

static bool was_read(const vs_job_rank *rank) { return rank->shape != VS_STRING_NONE; }
static bool was_not_read(const vs_job_rank *rank) { return !was_read(rank); }
static bool differs(const vs_job_rank *rank) { return rank->differing != 0; }
static bool ran_out(const vs_job_rank *rank) { return rank->ooms != 0; }
static bool is_not_complete(const vs_job_rank *rank) { return was_read(rank) && !rank->is_complete; }

static void put_ranks_line(const writing *w, vs_text *text) {
  const uint64_t read = count_of(w, was_read), odd = count_of(w, differs);
  const vs_job_rank *median = &w->job->list.data[w->median];
  if (odd == 0) {
    vs_text_format(text, "all %U have the same memory at their peaks: ", read);
    vs_text_bytes(text, median->requested, w->options.unit);
    vs_text_cstr(text, " requested");
  } else {
    vs_text_format(text, "%U of %U have other memory at their peaks than the median rank, %S: ", odd, read,
                   string_at(w, median->name));
    vs_text_bytes(text, median->allocated, w->options.unit);
    vs_text_cstr(text, " allocated");
  }
  put_line(w, text, "ranks", "Ranks", odd == 0 ? "good" : "warning");
}

static void put_counted_line(const writing *w, vs_text *text, bool (*has)(const vs_job_rank *rank),
                             const char *what, const char *about, const char *label, const char *tone) {
  const uint64_t count = count_of(w, has);
  if (count == 0) return;
  vs_text_format(text, "%U of %U %s", count, (uint64_t)w->job->list.count, what);
  put_line(w, text, about, label, tone);
}

static void put_lines(const writing *w) {
  vs_text text;
  vs_text_init(&text, w->job->host, NULL);
  vs_jsonw_key(w->json, VS_STR("lines"));
  vs_jsonw_array_begin(w->json);
  if (w->median != NO_RANK) put_ranks_line(w, &text);
  put_counted_line(w, &text, ran_out, "ran out of memory", "oom", "Out of memory", "bad");
  put_counted_line(
      w, &text, is_not_complete,
      "are not complete: what was allocated before the recording began or was lost may be missing", "trust",
      "Incomplete", "warning");
  put_counted_line(w, &text, was_not_read, "could not be read", "failed", "Failed", "bad");
  vs_jsonw_array_end(w->json);
  if (w->json->text->status == VS_OK) w->json->text->status = text.status;
  vs_text_deinit(&text);
}

static vs_status put_all(const writing *w) {
  vs_jsonw_object_begin(w->json);
  vs_jsonw_member_u64(w->json, "schema", 1);
  vs_jsonw_member_str(w->json, "method", VS_STR("ranks"));
  if (w->median == NO_RANK) vs_jsonw_member_null(w->json, "median");
  else vs_jsonw_member_u64(w->json, "median", w->median);
  vs_jsonw_key(w->json, VS_STR("files"));
  vs_jsonw_array_begin(w->json);
  for (size_t i = 0; i < w->job->list.count; i++) VS_TRY(put_rank(w, (uint32_t)i));
  vs_jsonw_array_end(w->json);
  VS_TRY(put_odd(w));
  put_lines(w);
  vs_jsonw_object_end(w->json);
  return VS_OK;
}

static vs_status write(vs_job *job, vs_job_options options, vs_text *reply, vs_error *error) {
  vs_text text;
  vs_jsonw json;
  writing w = {.job = job, .options = options, .json = &json, .error = error};
  VS_TRY(find_median(job, &w.median));
  vs_text_init(&text, job->host, NULL);
  vs_jsonw_begin(&json, &text, 0);
  vs_status status = put_all(&w);
  if (status == VS_OK) {
    vs_jsonw_end(&json);
    status = text.status;
  }
  if (status == VS_OK) vs_text_str(reply, vs_text_view(&text));
  vs_text_deinit(&text);
  return status == VS_OK ? reply->status : status;
}

vs_status vs_job_put(vs_job *job, vs_job_options options, vs_text *reply, vs_error *error) {
  vs_error why = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = write(job, options, reply, &why);
  if (status == VS_OK) return VS_OK;
  if (why.status == VS_OK) vs_fail(&why, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  if (error != NULL) *error = why;
  return status;
}
