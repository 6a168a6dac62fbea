#include "diff/job_diff.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/sort.h"
#include "diff/job_diff_lines.h"
#include "diff/rank_names.h"

vs_status vs_job_diff_init(vs_job_diff *job, const vs_host *host, vs_job_diff_options options) {
  *job = (vs_job_diff){.host = host, .options = options};
  VS_TRY(vs_strings_init(host, &job->strings));
  vs_text_init(&job->text, host, NULL);
  vs_jsonw_begin(&job->json, &job->text, 0);
  vs_jsonw_object_begin(&job->json);
  vs_jsonw_member_u64(&job->json, "schema", 1);
  vs_jsonw_member_str(&job->json, "method", VS_STR("diff_ranks"));
  vs_jsonw_member_str(&job->json, "by", vs_str_from(vs_diff_by_names[options.by]));
  vs_jsonw_key(&job->json, VS_STR("pairs"));
  vs_jsonw_array_begin(&job->json);
  return VS_OK;
}

void vs_job_diff_deinit(vs_job_diff *job) {
  vs_text_deinit(&job->text);
  vs_map_deinit(job->host, &job->by_changes);
  for (size_t side = 0; side < 2; side++) vs_vec_free(job->host, &job->alone[side]);
  vs_vec_free(job->host, &job->groups);
  vs_vec_free(job->host, &job->list);
  vs_strings_deinit(job->host, &job->strings);
}

/* ---- what changed, in a form that is equal for pairs that changed alike */

typedef struct changes {
  const vs_comparison *c;
  vs_text rows;
  VS_VEC(size_t) ends;
  VS_VEC(vs_sort_pair) order; /* by the hash of the row */
} changes;

/* The owner and by how much it changed. */
static vs_status put_change(changes *all, const vs_diff_row *row) {
  const unsigned side = row->parts[1].count != 0 ? 1 : 0;
  vs_status status = VS_OK;
  vs_part_name name;
  vs_jsonw json;
  vs_part_name_init(&name, all->c, row, side);
  vs_jsonw_begin(&json, &all->rows, 0);
  vs_jsonw_array_begin(&json);
  vs_jsonw_str(&json, vs_text_view(&name.owner));
  vs_jsonw_str(&json, vs_text_view(&name.file));
  vs_jsonw_str(&json, name.function);
  vs_jsonw_i64(&json, name.line);
  vs_jsonw_i64(&json, vs_diff_row_change(row));
  vs_jsonw_array_end(&json);
  vs_jsonw_end(&json);
  vs_part_name_deinit(&name, &status);
  return status == VS_OK ? all->rows.status : status;
}

static vs_str row_at(const changes *all, size_t i) {
  const size_t start = i == 0 ? 0 : all->ends.data[i - 1];
  return (vs_str){all->rows.bytes.data + start, all->ends.data[i] - start};
}

/* The rows in the order of their hashes: that of the comparison also depends on what they had before. */
static vs_status collect(changes *all) {
  const vs_host *host = all->c->host;
  for (size_t i = 0; i < all->c->rows.list.count; i++) {
    if (vs_diff_row_is_same(&all->c->rows.list.data[i])) continue;
    VS_TRY(put_change(all, &all->c->rows.list.data[i]));
    VS_TRY(vs_vec_reserve(host, &all->ends, 1));
    VS_TRY(vs_vec_reserve(host, &all->order, 1));
    all->ends.data[all->ends.count++] = all->rows.bytes.count;
    const vs_str row = row_at(all, all->ends.count - 1);
    all->order.data[all->order.count++] =
        (vs_sort_pair){.key = vs_hash_bytes(row.data, row.size), .value = (uint32_t)all->ends.count - 1};
  }
  return vs_sort_pairs(host, all->order.data, all->order.count);
}

static vs_status intern_rows(vs_job_diff *job, const changes *all, uint32_t *id) {
  vs_text text;
  vs_text_init(&text, job->host, NULL);
  for (size_t i = 0; i < all->order.count; i++) vs_text_str(&text, row_at(all, all->order.data[i].value));
  vs_status status = text.status;
  if (status == VS_OK) status = vs_strings_intern(job->host, &job->strings, vs_text_view(&text), id);
  vs_text_deinit(&text);
  return status;
}

static vs_status intern_changes(vs_job_diff *job, const vs_comparison *c, uint32_t *id) {
  changes all = {.c = c};
  vs_text_init(&all.rows, job->host, NULL);
  vs_status status = collect(&all);
  if (status == VS_OK) status = intern_rows(job, &all, id);
  vs_vec_free(job->host, &all.order);
  vs_vec_free(job->host, &all.ends);
  vs_text_deinit(&all.rows);
  return status;
}

/* ---- groups */

static vs_status intern_summary(vs_job_diff *job, const vs_comparison *c, uint32_t *id) {
  vs_text text;
  vs_text_init(&text, job->host, NULL);
  vs_job_diff_put_summary(&text, c);
  vs_status status = text.status;
  if (status == VS_OK) status = vs_strings_intern(job->host, &job->strings, vs_text_view(&text), id);
  vs_text_deinit(&text);
  return status;
}

/* The group of a comparison; a new one has no pairs yet. */
static vs_status find_group(vs_job_diff *job, const vs_comparison *c, uint32_t *group) {
  uint32_t key, summary;
  VS_TRY(intern_changes(job, c, &key));
  const size_t slot = vs_map_find(&job->by_changes, key);
  if (slot != VS_MAP_NONE) {
    *group = job->by_changes.slots[slot].value;
    return VS_OK;
  }
  VS_TRY(intern_summary(job, c, &summary));
  VS_TRY(vs_vec_reserve(job->host, &job->groups, 1));
  VS_TRY(vs_map_reserve(job->host, &job->by_changes));
  *group = (uint32_t)job->groups.count;
  vs_map_add(&job->by_changes, key, *group);
  job->groups.data[job->groups.count++] =
      (vs_rank_group){.changes = key, .summary = summary, .first = (uint32_t)job->list.count};
  return VS_OK;
}

/* ---- adding */

static vs_status init_pair(vs_job_diff *job, vs_str name, vs_rank_pair *pair) {
  *pair = (vs_rank_pair){.was_compared = false};
  pair->has_number = vs_rank_number(name, &pair->number);
  VS_TRY(vs_strings_intern(job->host, &job->strings, name, &pair->name));
  return vs_vec_reserve(job->host, &job->list, 1);
}

static void begin_pair(vs_jsonw *json, const vs_rank_pair *pair, vs_str before_name, vs_str after_name) {
  vs_jsonw_object_begin(json);
  if (pair->has_number) vs_jsonw_member_u64(json, "rank", pair->number);
  else vs_jsonw_member_null(json, "rank");
  vs_jsonw_key(json, VS_STR("files"));
  vs_jsonw_array_begin(json);
  vs_jsonw_str(json, before_name);
  vs_jsonw_str(json, after_name);
  vs_jsonw_array_end(json);
}

static void put_delta(vs_jsonw *json, const char *key, const uint64_t figures[2]) {
  const vs_diff_row row = {.parts = {{.bytes = figures[0]}, {.bytes = figures[1]}}};
  vs_jsonw_member_i64(json, key, vs_diff_row_change(&row));
}

static void take_figures(vs_rank_pair *pair, const vs_comparison *c) {
  uint64_t more, less;
  pair->was_compared = pair->is_complete = pair->knows_reserved = true;
  for (size_t side = 0; side < 2; side++) {
    const vs_json json = c->sides[side].json;
    pair->allocated[side] = vs_reply_u64(json, "peak_allocated_bytes");
    pair->reserved[side] = vs_reply_u64(json, "peak_reserved_bytes");
    pair->knows_reserved = pair->knows_reserved && vs_reply_knows(json, "peak_reserved_bytes");
    pair->ooms[side] = vs_reply_u64(json, "ooms");
    pair->is_complete = pair->is_complete && vs_reply_bool(json, "complete");
  }
  vs_comparison_changes(c, &more, &less);
  pair->differing = vs_sat_add_u64(more, less);
}

static uint64_t changed_rows(const vs_comparison *c) {
  uint64_t count = 0;
  for (size_t i = 0; i < c->rows.list.count; i++) count += !vs_diff_row_is_same(&c->rows.list.data[i]);
  return count;
}

static void put_pair(vs_job_diff *job, const vs_rank_pair *pair, const vs_comparison *c) {
  vs_jsonw *json = &job->json;
  const uint64_t bytes[2] = {c->sides[0].bytes, c->sides[1].bytes};
  vs_jsonw_member_null(json, "error");
  vs_jsonw_member_u64(json, "same_as", job->groups.data[pair->group].first);
  vs_comparison_put_side(json, &c->sides[0], "a");
  vs_comparison_put_side(json, &c->sides[1], "b");
  put_delta(json, "peak_allocated_delta_bytes", pair->allocated);
  if (pair->knows_reserved) put_delta(json, "peak_reserved_delta_bytes", pair->reserved);
  else vs_jsonw_member_null(json, "peak_reserved_delta_bytes");
  put_delta(json, "delta_bytes", bytes);
  vs_jsonw_member_u64(json, "differing_bytes", pair->differing);
  vs_jsonw_member_u64(json, "changed_rows", changed_rows(c));
  vs_comparison_put_changed(json, c, job->options.most);
}

static vs_status add(vs_job_diff *job, vs_rank_pair *pair, vs_str before_name, vs_str after_name,
                     const vs_comparison *c) {
  VS_TRY(find_group(job, c, &pair->group));
  take_figures(pair, c);
  begin_pair(&job->json, pair, before_name, after_name);
  put_pair(job, pair, c);
  vs_jsonw_object_end(&job->json);
  job->groups.data[pair->group].count++;
  job->list.data[job->list.count++] = *pair;
  return job->text.status;
}

vs_status vs_job_diff_add(vs_job_diff *job, vs_str before_name, vs_str after_name, vs_json before,
                          vs_json after, vs_error *error) {
  const vs_diff_options options = {.by = job->options.by,
                                   .unit = job->options.unit,
                                   .is_same_program = vs_str_equal(before_name, after_name)};
  vs_rank_pair pair;
  vs_comparison c;
  VS_TRY(init_pair(job, before_name, &pair));
  VS_TRY(vs_comparison_init(&c, job->host, options, before, after, error));
  const vs_status status = add(job, &pair, before_name, after_name, &c);
  vs_comparison_deinit(&c);
  return status;
}

vs_status vs_job_diff_add_failed(vs_job_diff *job, vs_str before_name, vs_str after_name, vs_str why) {
  vs_rank_pair pair;
  VS_TRY(init_pair(job, before_name, &pair));
  begin_pair(&job->json, &pair, before_name, after_name);
  vs_jsonw_member_str(&job->json, "error", why);
  vs_jsonw_object_end(&job->json);
  job->list.data[job->list.count++] = pair;
  return job->text.status;
}

vs_status vs_job_diff_add_alone(vs_job_diff *job, unsigned side, vs_str name) {
  uint32_t id;
  VS_ASSERT(side < 2);
  VS_TRY(vs_strings_intern(job->host, &job->strings, name, &id));
  VS_TRY(vs_vec_reserve(job->host, &job->alone[side], 1));
  job->alone[side].data[job->alone[side].count++] = id;
  return VS_OK;
}

/* ---- the reply */

/* The groups, that with most pairs first; of equal ones that with the first pair. */
static vs_status order_groups(const vs_job_diff *job, uint32_t *order) {
  VS_VEC(vs_sort_pair) pairs = {0};
  VS_TRY(vs_vec_reserve(job->host, &pairs, job->groups.count));
  for (size_t i = 0; i < job->groups.count; i++)
    pairs.data[pairs.count++] = (vs_sort_pair){.key = ~job->groups.data[i].count, .value = (uint32_t)i};
  const vs_status status = vs_sort_pairs(job->host, pairs.data, pairs.count);
  for (size_t i = 0; i < pairs.count; i++) order[i] = pairs.data[i].value;
  vs_vec_free(job->host, &pairs);
  return status;
}

static void put_groups(vs_job_diff *job, const uint32_t *order) {
  vs_jsonw_key(&job->json, VS_STR("groups"));
  vs_jsonw_array_begin(&job->json);
  for (size_t i = 0; i < job->groups.count; i++) {
    vs_jsonw_array_begin(&job->json);
    for (size_t k = job->groups.data[order[i]].first; k < job->list.count; k++)
      if (job->list.data[k].was_compared && job->list.data[k].group == order[i]) vs_jsonw_u64(&job->json, k);
    vs_jsonw_array_end(&job->json);
  }
  vs_jsonw_array_end(&job->json);
}

/* The pair that changed most, the first of equal ones; null if none changed. */
static void put_most(vs_job_diff *job) {
  size_t most = job->list.count;
  for (size_t i = 0; i < job->list.count; i++) {
    const vs_rank_pair *pair = &job->list.data[i];
    if (!pair->was_compared || job->groups.data[pair->group].summary == VS_STRING_EMPTY) continue;
    if (most == job->list.count || pair->differing > job->list.data[most].differing) most = i;
  }
  if (most == job->list.count) vs_jsonw_member_null(&job->json, "most");
  else vs_jsonw_member_u64(&job->json, "most", most);
}

static void put_alone(vs_job_diff *job) {
  static const char *const keys[2] = {"only_a", "only_b"};
  for (size_t side = 0; side < 2; side++) {
    vs_jsonw_key(&job->json, vs_str_from(keys[side]));
    vs_jsonw_array_begin(&job->json);
    for (size_t i = 0; i < job->alone[side].count; i++)
      vs_jsonw_str(&job->json, vs_strings_at(&job->strings, job->alone[side].data[i]));
    vs_jsonw_array_end(&job->json);
  }
}

static vs_status put_rest(vs_job_diff *job, uint32_t *order) {
  bool have_numbers;
  vs_jsonw_array_end(&job->json);
  VS_TRY(order_groups(job, order));
  VS_TRY(vs_job_diff_have_numbers(job, &have_numbers));
  vs_jsonw_member_bool(&job->json, "named_by_rank", have_numbers);
  put_groups(job, order);
  put_most(job);
  put_alone(job);
  VS_TRY(vs_job_diff_put_lines(&job->json, job, order));
  vs_jsonw_object_end(&job->json);
  vs_jsonw_end(&job->json);
  return job->text.status;
}

vs_status vs_job_diff_put(vs_job_diff *job, vs_text *reply) {
  VS_VEC(uint32_t) order = {0};
  VS_TRY(vs_vec_reserve(job->host, &order, job->groups.count));
  const vs_status status = put_rest(job, order.data);
  vs_vec_free(job->host, &order);
  if (status != VS_OK) return status;
  vs_text_str(reply, vs_text_view(&job->text));
  return reply->status;
}
