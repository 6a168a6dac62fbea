/* A dry run in which the n-th request for memory fails, n = 0, 1, 2 ...: an error and no reply, or a whole reply. */
#include "codec/json_reply.h"
#include "support/test.h"
#include <stdlib.h>
#include <vramscope/dryrun.h>

static vs_status run(const vs_host *host, void *ctx) {
  const vs_dryrun_plan plan = {.command = (char *[]){"true", NULL},
                               .gpu = "2xL4",
                               .finds_smallest = true,
                               .streams = VS_DRYRUN_STREAMS_NONE,
                               .libraries = ctx};
  vs_text reply;
  vs_dryrun_end end;
  vs_error error;
  vs_text_init(&reply, vs_host_default(), NULL);
  const vs_status status = vs_dryrun_run(host, &plan, NULL, vs_text_writer(&reply), &end, &error);
  if (status == VS_OK) {
    vs_json_doc document;
    expect_ok(vs_json_doc_init(&document, vs_host_default(), vs_text_view(&reply), &error));
    const vs_str verdict = vs_reply_str(vs_json_root(&document), "verdict");
    assert_int_equal(verdict.size, strlen("no_cuda"));
    assert_memory_equal(verdict.data, "no_cuda", verdict.size);
    assert_int_equal(end.exit_code, 0);
    vs_json_doc_deinit(&document);
  } else {
    assert_int_equal(error.status, status);
    assert_int_equal(reply.bytes.count, 0);
  }
  vs_text_deinit(&reply);
  return status;
}

/* A table of runs: all of its rows or none. */
static vs_status run_table(const vs_host *host, void *ctx) {
  const char *const axes[] = {"gpu+env:A=L4+1,T4+", "b=2", NULL};
  const vs_dryrun_plan plan = {.command = (char *[]){"true", "--b=1", NULL}, .libraries = ctx, .vary = axes};
  vs_text reply;
  vs_dryrun_end end;
  vs_error error;
  vs_text_init(&reply, vs_host_default(), NULL);
  const vs_status status = vs_dryrun_run(host, &plan, NULL, vs_text_writer(&reply), &end, &error);
  if (status == VS_OK) {
    vs_json_doc document;
    expect_ok(vs_json_doc_init(&document, vs_host_default(), vs_text_view(&reply), &error));
    const vs_json runs = vs_reply_at(vs_json_root(&document), "runs");
    assert_int_equal(vs_json_count(runs), 2);
    assert_true(vs_reply_knows(vs_json_at(runs, 1), "reply") && end.exit_code == 0);
    vs_json_doc_deinit(&document);
  } else {
    assert_int_equal(error.status, status);
    assert_int_equal(reply.bytes.count, 0);
  }
  vs_text_deinit(&reply);
  return status;
}

/* A search: its answer or none. */
static vs_status search_by(const vs_host *host, const vs_dryrun_plan *plan) {
  vs_text reply;
  vs_dryrun_end end;
  vs_error error;
  vs_text_init(&reply, vs_host_default(), NULL);
  const vs_status status = vs_dryrun_run(host, plan, NULL, vs_text_writer(&reply), &end, &error);
  if (status == VS_OK) {
    vs_json_doc document;
    expect_ok(vs_json_doc_init(&document, vs_host_default(), vs_text_view(&reply), &error));
    const vs_json answer = vs_reply_at(vs_json_root(&document), "answer");
    assert_true(vs_str_equal(vs_reply_str(answer, "end"), VS_STR("no_cuda")));
    assert_int_equal(end.exit_code, VS_DRYRUN_EXIT_FAILED);
    vs_json_doc_deinit(&document);
  } else {
    assert_int_equal(error.status, status);
    assert_int_equal(reply.bytes.count, 0);
  }
  vs_text_deinit(&reply);
  return status;
}

static vs_status run_search(const vs_host *host, void *ctx) {
  return search_by(
      host,
      &(vs_dryrun_plan){.command = (char *[]){"true", NULL}, .libraries = ctx, .find_largest = "b=1..4"});
}

static vs_status run_changes(const vs_host *host, void *ctx) {
  return search_by(
      host, &(vs_dryrun_plan){.command = (char *[]){"true", NULL}, .libraries = ctx, .finds_changes = true});
}

static char *begin(void) {
  char *libraries = getenv("VRAMSCOPE_BUILD"), options[512];
  const char *given = getenv("ASAN_OPTIONS"); /* its library is not the first in a program that gets ours */
  vs_format(options, sizeof options, "%s:verify_asan_link_order=0", given == NULL ? "" : given);
  assert_int_equal(setenv("ASAN_OPTIONS", options, 1), 0);
  assert_non_null(libraries);
  return libraries;
}

static void test_dryrun(void **state) {
  (void)state;
  assert_true(fault_prove(run, begin()) > 10);
}

static void test_table(void **state) {
  (void)state;
  assert_true(fault_prove(run_table, begin()) > 20);
}

static void test_search(void **state) {
  (void)state;
  assert_true(fault_prove(run_search, begin()) > 10);
}

static void test_changes(void **state) {
  (void)state;
  assert_true(fault_prove(run_changes, begin()) > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_dryrun), cmocka_unit_test(test_table),
                                     cmocka_unit_test(test_search), cmocka_unit_test(test_changes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
