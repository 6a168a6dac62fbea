/* Differences and tables of ranks, with each of their requests for memory failing once: the reply is whole or there is none. */
#include "diff/job_diff.h"
#include "diff/job_oom.h"
#include "diff/job_tables.h"
#include "diff/rank_names.h"
#include "unit/diff/sample.h"

typedef struct two {
  vs_text texts[2];
  vs_diff_options options;
} two;

static vs_status compare(const vs_host *host, void *ctx) {
  const two *t = ctx;
  vs_text reply;
  vs_error error = {.status = VS_OK};
  vs_text_init(&reply, vs_host_default(), NULL);
  const vs_status status =
      sample_diff(host, vs_text_view(&t->texts[0]), vs_text_view(&t->texts[1]), t->options, &reply, &error);
  if (status != VS_OK) assert_true(reply.bytes.count == 0 && error.status == status);
  vs_text_deinit(&reply);
  return status;
}

static vs_status table(const vs_host *host, void *ctx) {
  const two *t = ctx;
  vs_job job;
  vs_json_doc documents[2];
  vs_text reply;
  vs_error error = {.status = VS_OK};
  vs_text_init(&reply, vs_host_default(), NULL);
  for (size_t i = 0; i < 2; i++)
    expect_ok(vs_json_doc_init(&documents[i], vs_host_default(), vs_text_view(&t->texts[i]), &error));
  vs_status status = vs_job_init(&job, host);
  if (status == VS_OK) {
    for (size_t i = 0; i < 3 && status == VS_OK; i++)
      status = vs_job_add(&job, VS_STR("rank"), vs_json_root(&documents[i % 2]), vs_json_root(&documents[0]));
    if (status == VS_OK) status = vs_job_add_failed(&job, VS_STR("lost"), VS_STR("no such file"));
    if (status == VS_OK) status = vs_job_put(&job, (vs_job_options){.top = 2}, &reply, &error);
    assert_true(status == VS_OK || reply.bytes.count == 0);
    vs_job_deinit(&job);
  }
  for (size_t i = 0; i < 2; i++) vs_json_doc_deinit(&documents[i]);
  vs_text_deinit(&reply);
  return status;
}

/* What "oom" says of a rank whose request failed. */
static const char failed_reply[] =
    "{\"summary\":\"failed\",\"events\":9,\"failures\":1,\"others\":[],\"lines\":[],\"ooms\":[{\"event\":8,"
    "\"time_us\":%U,"
    "\"label\":\"train.py:3 "
    "step\",\"requested_bytes\":512,\"short_bytes\":7,\"cause\":\"full\",\"capacity_bytes\":99}]}";

static vs_status add_failed_rank(vs_job_oom *job, vs_json inventory, uint64_t number) {
  vs_text text;
  vs_json_doc document;
  vs_error error;
  char name[20];
  vs_format(name, sizeof name, "rank%U", number);
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_format(&text, failed_reply, UINT64_C(1700000000000000) - number);
  expect_ok(vs_json_doc_init(&document, vs_host_default(), vs_text_view(&text), &error));
  const vs_status status = vs_job_oom_add(job, vs_str_from(name), inventory, vs_json_root(&document));
  vs_json_doc_deinit(&document);
  vs_text_deinit(&text);
  return status;
}

static vs_status fill(vs_job_oom *job, const vs_json_doc documents[2]) {
  for (uint64_t i = 0; i < 3; i++) VS_TRY(add_failed_rank(job, vs_json_root(&documents[i % 2]), i));
  VS_TRY(vs_job_oom_add(job, VS_STR("rank3"), vs_json_root(&documents[0]), vs_json_root(&documents[0])));
  VS_TRY(vs_job_oom_add_failed(job, VS_STR("rank4"), VS_STR("no such file")));
  return vs_job_oom_sort(job);
}

static vs_status out_of_memory(const vs_host *host, void *ctx) {
  const two *t = ctx;
  vs_job_oom job;
  vs_json_doc documents[2];
  vs_text reply;
  vs_error error = {.status = VS_OK};
  vs_text_init(&reply, vs_host_default(), NULL);
  for (size_t i = 0; i < 2; i++)
    expect_ok(vs_json_doc_init(&documents[i], vs_host_default(), vs_text_view(&t->texts[i]), &error));
  vs_status status = vs_job_oom_init(&job, host);
  if (status == VS_OK) {
    status = fill(&job, documents);
    if (status == VS_OK) {
      assert_true(vs_job_oom_first(&job) == 2);
      status = vs_job_oom_put(&job, (vs_job_options){.top = 0}, vs_json_root(&documents[0]), &reply, &error);
    }
    assert_true(status == VS_OK || reply.bytes.count == 0);
    vs_job_oom_deinit(&job);
  }
  for (size_t i = 0; i < 2; i++) vs_json_doc_deinit(&documents[i]);
  vs_text_deinit(&reply);
  return status;
}

static vs_status fill_pairs(vs_job_diff *job, const vs_json_doc documents[2], vs_error *error) {
  const vs_json a = vs_json_root(&documents[0]), b = vs_json_root(&documents[1]);
  VS_TRY(vs_job_diff_add(job, VS_STR("a/rank0"), VS_STR("b/rank0"), a, b, error));
  VS_TRY(vs_job_diff_add(job, VS_STR("a/rank1"), VS_STR("b/rank1"), a, b, error));
  VS_TRY(vs_job_diff_add(job, VS_STR("a/rank2"), VS_STR("b/rank2"), a, a, error));
  VS_TRY(vs_job_diff_add_failed(job, VS_STR("a/rank3"), VS_STR("b/rank3"), VS_STR("no such file")));
  VS_TRY(vs_job_diff_add_alone(job, 0, VS_STR("a/rank4")));
  return vs_job_diff_add_alone(job, 1, VS_STR("b/rank5"));
}

static vs_status before_and_after(const vs_host *host, void *ctx) {
  const two *t = ctx;
  vs_job_diff job;
  vs_json_doc documents[2];
  vs_text reply;
  vs_error error = {.status = VS_OK};
  vs_text_init(&reply, vs_host_default(), NULL);
  for (size_t i = 0; i < 2; i++)
    expect_ok(vs_json_doc_init(&documents[i], vs_host_default(), vs_text_view(&t->texts[i]), &error));
  vs_status status = vs_job_diff_init(&job, host, (vs_job_diff_options){.by = t->options.by, .most = 2});
  if (status == VS_OK) {
    status = fill_pairs(&job, documents, &error);
    if (status == VS_OK) status = vs_job_diff_put(&job, &reply);
    assert_true(status == VS_OK || reply.bytes.count == 0);
    vs_job_diff_deinit(&job);
  }
  for (size_t i = 0; i < 2; i++) vs_json_doc_deinit(&documents[i]);
  vs_text_deinit(&reply);
  return status;
}

static vs_status pairs(const vs_host *host, void *ctx) {
  const vs_str a[] = {VS_STR("rank0"), VS_STR("rank1"), VS_STR("memory")},
               b[] = {VS_STR("memory"), VS_STR("rank1")};
  uint32_t mates[3];
  (void)ctx;
  VS_TRY(vs_rank_names_pair(host, a, 3, b, 2, mates));
  assert_true(mates[0] == VS_RANK_ALONE && mates[1] == 1 && mates[2] == 0);
  return VS_OK;
}

static void prove(vs_status (*operation)(const vs_host *host, void *ctx), vs_diff_options options) {
  two t = {.options = options};
  uint64_t bytes;
  for (size_t i = 0; i < 2; i++) {
    vs_text_init(&t.texts[i], vs_host_default(), NULL);
    sample_put_inventory(&t.texts[i], 11 + i, &bytes);
    assert_true(bytes != 0);
  }
  assert_true(fault_prove(operation, &t) > 10);
  for (size_t i = 0; i < 2; i++) vs_text_deinit(&t.texts[i]);
}

/* ---- the rows of merge */

static const char merged_report[] = "{\"devices\": [{\"device\": 0, \"steps\": {\"count\": 2}, \"peak\": "
                                    "{\"owners\": [{\"label\": \"a.py:1 f\", \"long_label\": "
                                    "\"/a.py:1 f\", \"bytes\": 7, \"count\": 1}]}, \"growth\": [{\"label\": "
                                    "\"b.py:2 g\", \"long_label\": \"/b.py:2 g\", "
                                    "\"bytes_per_step\": 3}]}]}";
static const char merged_inventory[] =
    "{\"device\": 0, \"peak_allocated_bytes\": 512, \"requests_hash\": \"00ff\"}";
static const char merged_steps[] = "{\"steps\": [{\"step\": 1, \"first_time_us\": null}, {\"step\": 2}]}";

static vs_status merge_rows(const vs_host *host, void *ctx) {
  const vs_json_doc *documents = ctx;
  const vs_job_replies replies = {.inventory = vs_json_root(&documents[0]),
                                  .report = vs_json_root(&documents[1]),
                                  .steps = vs_json_root(&documents[2])};
  vs_job_tables tables;
  vs_job_tables_init(&tables, host);
  vs_status status = VS_OK;
  for (size_t i = 0; i < 20 && status == VS_OK; i++)
    status = vs_job_tables_add(&tables, VS_STR("rank3"), &replies);
  if (status == VS_OK) status = vs_job_tables_add_failed(&tables, VS_STR("lost"), VS_STR("no such file"));
  if (status == VS_OK) {
    assert_int_equal(tables.of[VS_JOB_RANKS].count, 21);
    assert_int_equal(tables.of[VS_JOB_OWNERS].count, 40);
    assert_int_equal(tables.of[VS_JOB_STEPS].count, 40);
  }
  vs_job_tables_deinit(&tables);
  return status;
}

static void rows_of_merge(void **state) {
  (void)state;
  const char *const texts[] = {merged_inventory, merged_report, merged_steps};
  vs_json_doc documents[3];
  vs_error error;
  for (size_t i = 0; i < 3; i++)
    expect_ok(vs_json_doc_init(&documents[i], vs_host_default(), vs_str_from(texts[i]), &error));
  assert_true(fault_prove(merge_rows, documents) > 20);
  for (size_t i = 0; i < 3; i++) vs_json_doc_deinit(&documents[i]);
}

static void differences(void **state) {
  (void)state;
  for (unsigned by = 0; by < VS_DIFF_BY_COUNT; by++) prove(compare, (vs_diff_options){.by = (vs_diff_by)by});
}

static void tables_of_ranks(void **state) {
  (void)state;
  prove(table, (vs_diff_options){.by = VS_DIFF_BY_line});
}

static void ranks_out_of_memory(void **state) {
  (void)state;
  prove(out_of_memory, (vs_diff_options){.by = VS_DIFF_BY_line});
}

static void ranks_before_and_after(void **state) {
  (void)state;
  for (unsigned by = 0; by < VS_DIFF_BY_COUNT; by++)
    prove(before_and_after, (vs_diff_options){.by = (vs_diff_by)by});
}

static void pairs_of_ranks(void **state) {
  (void)state;
  assert_true(fault_prove(pairs, NULL) > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(differences),         cmocka_unit_test(tables_of_ranks),
      cmocka_unit_test(ranks_out_of_memory), cmocka_unit_test(ranks_before_and_after),
      cmocka_unit_test(pairs_of_ranks),      cmocka_unit_test(rows_of_merge)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
