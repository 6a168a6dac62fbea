#include "diff/job_oom.h"
#include "base/check.h"
#include "base/sort.h"
#include "diff/job_oom_lines.h"

/* Microseconds since 1970 are above this, others count from the start of a program and cannot be compared. */
#define FIRST_WALL_CLOCK_US INT64_C(1000000000000000)

vs_status vs_job_oom_init(vs_job_oom *job, const vs_host *host) {
  *job = (vs_job_oom){.is_ordered = false};
  return vs_job_ranks_init(&job->ranks, host);
}

void vs_job_oom_deinit(vs_job_oom *job) {
  vs_vec_free(job->ranks.host, &job->list);
  vs_vec_free(job->ranks.host, &job->failed);
  vs_job_ranks_deinit(&job->ranks);
}

/* ---- adding */

static vs_json failure_in(vs_json oom) { return vs_json_at(vs_reply_at(oom, "ooms"), 0); }

static bool has_failed(vs_json oom) { return vs_json_count(vs_reply_at(oom, "ooms")) != 0; }

int64_t vs_job_oom_moment(vs_json oom) {
  return has_failed(oom) ? vs_reply_i64(failure_in(oom), "event") : -1;
}

/* Without events of requests it is unknown whether one failed. */
static bool has_history(vs_json oom) {
  const vs_json line = vs_json_at(vs_reply_at(oom, "lines"), 0);
  return has_failed(oom) || !vs_str_equal(vs_reply_str(line, "value"), VS_STR("unknown"));
}

/* A failed request without its stack, owners and remedies. */
static void put_failure(vs_jsonw *json, vs_json failure) {
  static const char *const keys[] = {
      "event",           "time_us",     "stream",          "label",        "long_label",
      "requested_bytes", "short_bytes", "cause",           "sentence",     "capacity_bytes",
      "reserved_bytes",  "free_bytes",  "allocated_bytes", "cached_bytes", "cached_usable_bytes",
      "is_exact"};
  vs_jsonw_object_begin(json);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const vs_json value = vs_reply_at(failure, keys[i]);
    if (vs_json_is_absent(value)) continue;
    vs_jsonw_key(json, vs_str_from(keys[i]));
    vs_reply_put(json, value);
  }
  vs_jsonw_object_end(json);
}

static void put_members(vs_jsonw *json, vs_json oom) {
  static const char *const keys[] = {"summary", "events", "failures", "others"};
  vs_jsonw_object_begin(json);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    vs_jsonw_key(json, vs_str_from(keys[i]));
    if (vs_json_is_absent(vs_reply_at(oom, keys[i]))) vs_jsonw_null(json);
    else vs_reply_put(json, vs_reply_at(oom, keys[i]));
  }
  vs_jsonw_key(json, VS_STR("ooms"));
  vs_jsonw_array_begin(json);
  if (has_failed(oom)) put_failure(json, failure_in(oom));
  vs_jsonw_array_end(json);
  vs_jsonw_object_end(json);
}

static vs_status intern_members(vs_job_oom *job, vs_json oom, uint32_t *id) {
  vs_text text;
  vs_jsonw json;
  vs_text_init(&text, job->ranks.host, NULL);
  vs_jsonw_begin(&json, &text, 0);
  put_members(&json, oom);
  vs_jsonw_end(&json);
  vs_status status = text.status;
  if (status == VS_OK)
    status = vs_strings_intern(job->ranks.host, &job->ranks.strings, vs_text_view(&text), id);
  vs_text_deinit(&text);
  return status;
}

static vs_job_oom_rank rank_of(vs_json inventory, vs_json oom) {
  const vs_json failure = failure_in(oom), time = vs_reply_at(failure, "time_us");
  const int64_t time_us = vs_json_i64(time, 0);
  return (vs_job_oom_rank){
      .has_failed = has_failed(oom),
      .has_history = has_history(oom),
      .has_others = vs_json_count(vs_reply_at(oom, "others")) != 0,
      .has_time = time_us >= FIRST_WALL_CLOCK_US,
      .has_short = vs_reply_knows(failure, "short_bytes"),
      .has_capacity = vs_reply_knows(failure, "capacity_bytes"),
      .time_us = time_us,
      .short_by = vs_reply_u64(failure, "short_bytes"),
      .capacity = vs_reply_u64(failure, "capacity_bytes"),
      .bytes = vs_reply_u64(inventory, "bytes"),
  };
}

vs_status vs_job_oom_add(vs_job_oom *job, vs_str name, vs_json inventory, vs_json oom) {
  vs_job_oom_rank rank = rank_of(inventory, oom);
  VS_TRY(intern_members(job, oom, &rank.members));
  VS_TRY(vs_vec_reserve(job->ranks.host, &job->list, 1));
  VS_TRY(vs_vec_reserve(job->ranks.host, &job->failed, 1));
  VS_TRY(vs_job_ranks_add(&job->ranks, name, inventory));
  if (rank.has_failed) job->failed.data[job->failed.count++] = (uint32_t)job->list.count;
  job->list.data[job->list.count++] = rank;
  return VS_OK;
}

vs_status vs_job_oom_add_failed(vs_job_oom *job, vs_str name, vs_str why) {
  VS_TRY(vs_vec_reserve(job->ranks.host, &job->list, 1));
  VS_TRY(vs_job_ranks_add_failed(&job->ranks, name, why));
  job->list.data[job->list.count++] = (vs_job_oom_rank){.members = VS_STRING_NONE};
  return VS_OK;
}

/* ---- which one was the first */

static bool is_before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_job_oom *job = ctx;
  const vs_job_oom_rank *x = &job->list.data[a], *y = &job->list.data[b];
  if (job->is_ordered) return x->time_us < y->time_us;
  return x->short_by > y->short_by;
}

vs_status vs_job_oom_sort(vs_job_oom *job) {
  job->is_ordered = job->failed.count != 0;
  for (size_t i = 0; i < job->failed.count; i++)
    job->is_ordered = job->is_ordered && job->list.data[job->failed.data[i]].has_time;
  return vs_sort_rows(job->ranks.host, job->failed.data, job->failed.count, is_before, job);
}

/* ---- the reply */

typedef struct writing {
  vs_job_oom *job;
  vs_job_options options;
  vs_jsonw *json;
  vs_error *error;
  uint32_t median;
} writing;

static void put_rank_or_null(const writing *w, const char *key, bool is_known, uint32_t rank) {
  if (is_known) vs_jsonw_member_u64(w->json, key, rank);
  else vs_jsonw_member_null(w->json, key);
}

/* What the rank could have reserved above its peak, if it could reserve as much as a rank that ran out of memory. */
static void put_headroom(const writing *w, uint32_t number) {
  const vs_job_oom_rank *rank = &w->job->list.data[number];
  uint64_t capacity;
  if (!rank->has_failed && vs_job_oom_capacity(w->job, &capacity, NULL))
    vs_jsonw_member_i64(w->json, "headroom_bytes",
                        vs_job_change(w->job->ranks.list.data[number].reserved, capacity));
  else vs_jsonw_member_null(w->json, "headroom_bytes");
}

static void put_after(const writing *w, uint32_t number) {
  const vs_job_oom *job = w->job;
  const vs_job_oom_rank *rank = &job->list.data[number];
  if (!rank->has_failed || !job->is_ordered) vs_jsonw_member_null(w->json, "after_us");
  else vs_jsonw_member_i64(w->json, "after_us", rank->time_us - job->list.data[job->failed.data[0]].time_us);
}

static vs_status put_own_members(const writing *w, uint32_t id) {
  vs_json_doc document;
  VS_TRY(
      vs_json_doc_init(&document, w->job->ranks.host, vs_strings_at(&w->job->ranks.strings, id), w->error));
  const vs_json members = vs_json_root(&document);
  for (size_t i = 0; i < vs_json_count(members); i++) {
    vs_jsonw_key(w->json, vs_json_name_at(members, i));
    vs_reply_put(w->json, vs_json_at(members, i));
  }
  vs_json_doc_deinit(&document);
  return VS_OK;
}

static vs_status put_difference(const writing *w, uint32_t number) {
  const vs_job_rank *rank = &w->job->ranks.list.data[number];
  const bool has_rows = !w->options.is_brief || number == vs_job_oom_first(w->job);
  const uint64_t most = !has_rows ? 0 : w->options.top == 0 ? UINT64_MAX : w->options.top;
  VS_TRY(vs_job_ranks_put_difference(w->json, &w->job->ranks, w->median, number, most, w->error));
  vs_jsonw_member_u64(w->json, "more_bytes", rank->more);
  vs_jsonw_member_u64(w->json, "less_bytes", rank->differing - rank->more);
  return VS_OK;
}

static vs_status put_read(const writing *w, uint32_t number) {
  const vs_job_oom_rank *rank = &w->job->list.data[number];
  vs_jsonw_member_null(w->json, "error");
  vs_jsonw_member_str(w->json, "outcome",
                      rank->has_failed    ? VS_STR("oom")
                      : rank->has_history ? VS_STR("none")
                                          : VS_STR("unknown"));
  vs_job_ranks_put_figures(w->json, &w->job->ranks, w->median, number);
  put_headroom(w, number);
  put_after(w, number);
  VS_TRY(put_own_members(w, rank->members));
  vs_jsonw_member_str(w->json, "at", rank->has_failed ? VS_STR("oom") : VS_STR("peak"));
  vs_jsonw_member_u64(w->json, "bytes", rank->bytes);
  return put_difference(w, number);
}

static vs_status put_rank(const writing *w, uint32_t number) {
  const vs_job_rank *rank = &w->job->ranks.list.data[number];
  vs_status status = VS_OK;
  vs_jsonw_object_begin(w->json);
  vs_jsonw_member_str(w->json, "name", vs_strings_at(&w->job->ranks.strings, rank->name));
  if (rank->has_number) vs_jsonw_member_u64(w->json, "rank", rank->number);
  else vs_jsonw_member_null(w->json, "rank");
  vs_jsonw_member_u64(w->json, "same_as", rank->same_as);
  if (vs_job_rank_was_read(rank)) status = put_read(w, number);
  else vs_jsonw_member_str(w->json, "error", vs_strings_at(&w->job->ranks.strings, rank->failure));
  vs_jsonw_object_end(w->json);
  return status;
}

static void put_head(const writing *w) {
  const vs_job_oom *job = w->job;
  uint64_t capacity;
  vs_jsonw_member_u64(w->json, "schema", 1);
  vs_jsonw_member_str(w->json, "method", VS_STR("oom_ranks"));
  put_rank_or_null(w, "first", job->failed.count == 1 || job->is_ordered, vs_job_oom_first(job));
  put_rank_or_null(w, "shown", job->failed.count != 0, vs_job_oom_first(job));
  put_rank_or_null(w, "median", w->median != VS_JOB_NO_RANK, w->median);
  if (vs_job_oom_capacity(job, &capacity, NULL)) vs_jsonw_member_u64(w->json, "capacity_bytes", capacity);
  else vs_jsonw_member_null(w->json, "capacity_bytes");
  vs_jsonw_key(w->json, VS_STR("failed"));
  vs_jsonw_array_begin(w->json);
  for (size_t i = 0; i < job->failed.count; i++) vs_jsonw_u64(w->json, job->failed.data[i]);
  vs_jsonw_array_end(w->json);
}

/* The ranks that did not run out of memory: the highest peak reserved first, then those that were not read. */
static vs_status put_rest(const writing *w) {
  const vs_job_oom *job = w->job;
  VS_VEC(vs_sort_pair) order = {0};
  VS_TRY(vs_vec_reserve(job->ranks.host, &order, job->list.count));
  for (size_t i = 0; i < job->list.count; i++) {
    const vs_job_rank *rank = &job->ranks.list.data[i];
    if (job->list.data[i].has_failed) continue;
    order.data[order.count++] = (vs_sort_pair){
        .key = vs_job_rank_was_read(rank) ? ~rank->reserved : UINT64_MAX, .value = (uint32_t)i};
  }
  const vs_status status = vs_sort_pairs(job->ranks.host, order.data, order.count);
  vs_jsonw_key(w->json, VS_STR("rest"));
  vs_jsonw_array_begin(w->json);
  for (size_t i = 0; i < order.count; i++) vs_jsonw_u64(w->json, order.data[i].value);
  vs_jsonw_array_end(w->json);
  vs_vec_free(job->ranks.host, &order);
  return status;
}

static vs_status put_all(const writing *w, vs_json post_mortem) {
  bool have_numbers;
  vs_jsonw_object_begin(w->json);
  put_head(w);
  VS_TRY(put_rest(w));
  VS_TRY(vs_job_ranks_have_numbers(&w->job->ranks, &have_numbers));
  vs_jsonw_member_bool(w->json, "named_by_rank", have_numbers);
  vs_jsonw_key(w->json, VS_STR("files"));
  vs_jsonw_array_begin(w->json);
  for (size_t i = 0; i < w->job->list.count; i++) VS_TRY(put_rank(w, (uint32_t)i));
  vs_jsonw_array_end(w->json);
  VS_TRY(vs_job_oom_put_lines(w->json, w->job, w->median, w->options.unit));
  vs_jsonw_key(w->json, VS_STR("post_mortem"));
  if (vs_json_is_absent(post_mortem)) vs_jsonw_null(w->json);
  else vs_reply_put(w->json, post_mortem);
  vs_jsonw_object_end(w->json);
  return VS_OK;
}

static vs_status write(vs_job_oom *job, vs_job_options options, vs_json post_mortem, vs_text *reply,
                       vs_error *error) {
  vs_text text;
  vs_jsonw json;
  writing w = {.job = job, .options = options, .json = &json, .error = error};
  VS_TRY(vs_job_ranks_median(&job->ranks, &w.median));
  vs_text_init(&text, job->ranks.host, NULL);
  vs_jsonw_begin(&json, &text, 0);
  vs_status status = put_all(&w, post_mortem);
  if (status == VS_OK) {
    vs_jsonw_end(&json);
    status = text.status;
  }
  if (status == VS_OK) vs_text_str(reply, vs_text_view(&text));
  vs_text_deinit(&text);
  return status == VS_OK ? reply->status : status;
}

vs_status vs_job_oom_put(vs_job_oom *job, vs_job_options options, vs_json post_mortem, vs_text *reply,
                         vs_error *error) {
  vs_error why = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = write(job, options, post_mortem, reply, &why);
  if (status == VS_OK) return VS_OK;
  if (why.status == VS_OK) vs_fail(&why, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  if (error != NULL) *error = why;
  return status;
}
