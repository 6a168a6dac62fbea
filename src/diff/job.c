#include "diff/job.h"
#include "diff/sentence.h"

vs_status vs_job_init(vs_job *job, const vs_host *host) {
  *job = (vs_job){.growth = {0}};
  return vs_job_ranks_init(&job->ranks, host);
}

void vs_job_deinit(vs_job *job) {
  vs_vec_free(job->ranks.host, &job->growth);
  vs_job_ranks_deinit(&job->ranks);
}

/* ---- adding */

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
  VS_TRY(vs_vec_reserve(job->ranks.host, &job->growth, 1));
  VS_TRY(vs_job_ranks_add(&job->ranks, name, inventory));
  job->growth.data[job->growth.count++] = growth_of(report, device);
  return VS_OK;
}

vs_status vs_job_add_failed(vs_job *job, vs_str name, vs_str why) {
  VS_TRY(vs_vec_reserve(job->ranks.host, &job->growth, 1));
  VS_TRY(vs_job_ranks_add_failed(&job->ranks, name, why));
  job->growth.data[job->growth.count++] = 0;
  return VS_OK;
}

/* ---- the reply */

typedef struct writing {
  vs_job *job;
  vs_job_options options;
  vs_jsonw *json;
  vs_error *error;
  uint32_t median;
} writing;

static const vs_job_rank *rank_at(const writing *w, uint32_t number) {
  return &w->job->ranks.list.data[number];
}

static vs_str string_at(const writing *w, uint32_t id) { return vs_strings_at(&w->job->ranks.strings, id); }

static vs_status put_read(const writing *w, uint32_t number) {
  vs_jsonw_member_null(w->json, "error");
  vs_job_ranks_put_figures(w->json, &w->job->ranks, w->median, number);
  vs_jsonw_member_u64(w->json, "ooms", rank_at(w, number)->ooms);
  vs_jsonw_member_u64(w->json, "growth_bytes_per_step", w->job->growth.data[number]);
  return vs_job_ranks_put_difference(w->json, &w->job->ranks, w->median, number,
                                     w->options.top == 0 ? UINT64_MAX : w->options.top, w->error);
}

static vs_status put_rank(const writing *w, uint32_t number) {
  const vs_job_rank *rank = rank_at(w, number);
  vs_status status = VS_OK;
  vs_jsonw_object_begin(w->json);
  vs_jsonw_member_str(w->json, "name", string_at(w, rank->name));
  vs_jsonw_member_u64(w->json, "same_as", rank->same_as);
  if (vs_job_rank_was_read(rank)) status = put_read(w, number);
  else vs_jsonw_member_str(w->json, "error", string_at(w, rank->failure));
  vs_jsonw_object_end(w->json);
  return status;
}

/* ---- sentences */

static uint64_t count_of(const writing *w, bool (*has)(const vs_job_rank *rank)) {
  return vs_job_ranks_count(&w->job->ranks, has);
}

static bool differs(const vs_job_rank *rank) { return rank->differing != 0; }
static bool ran_out(const vs_job_rank *rank) { return rank->ooms != 0; }

static void put_ranks_line(const writing *w, vs_text *text) {
  const uint64_t read = count_of(w, vs_job_rank_was_read), odd = count_of(w, differs);
  const vs_job_rank *median = rank_at(w, w->median);
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
  vs_sentence_put(w->json, text, "ranks", "Ranks", 0, odd == 0 ? "good" : "warning");
}

static void put_lines(const writing *w) {
  vs_text text;
  vs_text_init(&text, w->job->ranks.host, NULL);
  vs_jsonw_key(w->json, VS_STR("lines"));
  vs_jsonw_array_begin(w->json);
  if (w->median != VS_JOB_NO_RANK) put_ranks_line(w, &text);
  vs_job_ranks_put_counted(w->json, &text, &w->job->ranks, ran_out, "ran out of memory", "oom",
                           "Out of memory", "bad");
  vs_job_ranks_put_doubts(w->json, &text, &w->job->ranks);
  vs_jsonw_array_end(w->json);
  if (w->json->text->status == VS_OK) w->json->text->status = text.status;
  vs_text_deinit(&text);
}

static vs_status put_all(const writing *w) {
  vs_jsonw_object_begin(w->json);
  vs_jsonw_member_u64(w->json, "schema", 1);
  vs_jsonw_member_str(w->json, "method", VS_STR("ranks"));
  if (w->median == VS_JOB_NO_RANK) vs_jsonw_member_null(w->json, "median");
  else vs_jsonw_member_u64(w->json, "median", w->median);
  vs_jsonw_key(w->json, VS_STR("files"));
  vs_jsonw_array_begin(w->json);
  for (size_t i = 0; i < w->job->ranks.list.count; i++) VS_TRY(put_rank(w, (uint32_t)i));
  vs_jsonw_array_end(w->json);
  VS_TRY(vs_job_ranks_put_odd(w->json, &w->job->ranks));
  put_lines(w);
  vs_jsonw_object_end(w->json);
  return VS_OK;
}

static vs_status write(vs_job *job, vs_job_options options, vs_text *reply, vs_error *error) {
  vs_text text;
  vs_jsonw json;
  writing w = {.job = job, .options = options, .json = &json, .error = error};
  VS_TRY(vs_job_ranks_median(&job->ranks, &w.median));
  vs_text_init(&text, job->ranks.host, NULL);
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
