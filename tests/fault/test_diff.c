/* Differences and tables of ranks, with each of their requests for memory failing once: the reply is whole or there is none. */
#include "diff/job.h"
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

static void differences(void **state) {
  (void)state;
  for (unsigned by = 0; by < VS_DIFF_BY_COUNT; by++) prove(compare, (vs_diff_options){.by = (vs_diff_by)by});
}

static void tables_of_ranks(void **state) {
  (void)state;
  prove(table, (vs_diff_options){.by = VS_DIFF_BY_line});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(differences), cmocka_unit_test(tables_of_ranks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
