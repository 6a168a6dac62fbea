/* Every method, with each of its requests for memory failing once: the reply is whole or there is none, and nothing stays
 * behind. */
#include "query/request.h"
#include "unit/query/sample.h"
#include <vramscope/summary.h>

/* Loads the sample and asks. `ctx` is the request. */
static vs_status load_and_ask(const vs_host *host, void *ctx) {
  vs_engine *engine;
  vs_error error = {.status = VS_OK};
  vs_text reply;
  vs_text_init(&reply, vs_host_default(), NULL);
  vs_status status = vs_engine_create(host, &engine);
  if (status == VS_OK) {
    status = sample_load(engine, sample_json, &error);
    if (status == VS_OK) status = sample_request(engine, ctx, &reply, &error);
    expect_status(error.status, status);
    vs_engine_destroy(engine);
  }
  vs_text_deinit(&reply);
  return status;
}

static void every_method(void **state) {
  (void)state;
  for (int i = 0; i < VS_METHOD_COUNT; i++) {
    char request[80];
    if (i == VS_METHOD_export || i == VS_METHOD_whatif || i == VS_METHOD_oom ||
        i == VS_METHOD_whatif_snapshot)
      continue; /* below, with what they need and without a search */
    vs_format(request, sizeof request, "{\"method\":\"%s\"}", vs_methods[i].name);
    (void)fault_prove(load_and_ask, request);
  }
}

static void every_format(void **state) {
  (void)state;
  const char *formats[] = {
#define VS_EXPORT(name, extension, opens_in, sentence) #name,
#include "query/exports.def"
#undef VS_EXPORT
  };
  for (size_t i = 0; i < VS_EXPORT_COUNT; i++) {
    char request[80];
    vs_format(request, sizeof request, "{\"method\":\"export\",\"params\":{\"format\":\"%s\"}}", formats[i]);
    (void)fault_prove(load_and_ask, request);
  }
}

static void filters_groups_and_the_rest(void **state) {
  (void)state;
  char *requests[] = {
      "{\"method\":\"live\",\"params\":{\"by\":\"annotation\",\"filter\":\"train.py size>1\"}}",
      "{\"method\":\"blocks\",\"params\":{\"filter\":\"\\\"load; all\\\" pool=none\"}}",
      "{\"method\":\"events\",\"params\":{\"filter\":\"forward action!=oom\"}}",
      "{\"method\":\"export\",\"params\":{\"format\":\"csv\",\"what\":\"live\",\"filter\":\"train\"}}",
      "{\"method\":\"timeline\",\"params\":{\"axis\":\"time\",\"points\":3}}",
      "{\"method\":\"picture\",\"params\":{\"axis\":\"time\",\"filter\":\"size>1\",\"mark\":\"train.py\","
      "\"by\":\"pool\"}}",
      "{\"method\":\"picture\",\"params\":{\"what\":\"segments\",\"filter\":\"size>5000\",\"by\":"
      "\"annotation\"}}",
      "{\"method\":\"groups\",\"params\":{\"by\":\"lifetime\",\"filter\":\"annotation=x line=y:1\"}}",
      "{\"method\":\"allocations\",\"params\":{\"sort\":\"lifetime\",\"at\":4,\"filter\":\"data.py\"}}",
      "{\"method\":\"events\",\"params\":{\"folded\":true,\"filter\":\"size>1\"}}",
      "{\"method\":\"live\",\"params\":{\"measure\":\"average\",\"since\":2,\"at\":6,\"by\":\"stack\"}}",
      "{\"method\":\"tree\",\"params\":{\"measure\":\"grown\",\"since\":2,\"at\":6}}",
      "{\"method\":\"whatif\",\"params\":{\"set\":[\"\",\"expandable_segments:True\"],\"cards\":\"24GiB\","
      "\"without\":"
      "\"data.py\",\"scale\":[\"train.py=0.5\"],\"free_early\":\"size>1\"}}",
      "{\"method\":\"whatif\",\"params\":{\"steps\":2}}",
      "{\"method\":\"whatif\",\"params\":{\"checkpoint\":[\"model.py:12\",\"load; all\"]}}",
      "{\"method\":\"course\",\"params\":{\"settings\":\"expandable_segments:True\",\"axis\":\"time\"}}",
      "{\"method\":\"map\",\"params\":{\"settings\":\"expandable_segments:True\",\"at\":4}}",
      "{\"method\":\"whatif\",\"params\":{\"set\":\"\",\"free\":\"size>1\",\"empty_cache\":true}}",
      "{\"method\":\"whatif_snapshot\",\"params\":{\"set\":\"expandable_segments:True\",\"scale\":\"train.py="
      "2\"}}",
      "{\"method\":\"whatif_snapshot\",\"params\":{\"set\":\"\",\"format\":\"vram\"}}",
      "{\"method\":\"oom\",\"params\":{\"remedies\":false}}",
      "{\"method\":\"settings\",\"params\":{\"settings\":\"expandable_segments:True,max_split_size_mb:64\"}}",
  };
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
    (void)fault_prove(load_and_ask, requests[i]);
}

/* An engine that ran out of memory once is as good as before. */
static vs_status ask_again_and_again(const vs_host *host, void *ctx) {
  vs_engine *engine = ctx;
  vs_text reply;
  (void)host;
  vs_text_init(&reply, vs_host_default(), NULL);
  const char *requests[] = {"{\"method\":\"live\"}", "{\"method\":\"report\"}", "{\"method\":\"events\"}",
                            "{\"method\":\"picture\",\"params\":{\"filter\":\"size>1\"}}",
                            "{\"method\":\"map\"}"};
  vs_status status = VS_OK;
  for (size_t i = 0; i < sizeof requests / sizeof *requests && status == VS_OK; i++)
    status = sample_request(engine, requests[i], &reply, NULL);
  vs_text_deinit(&reply);
  return status;
}

static void a_failure_does_not_harm_the_engine(void **state) {
  (void)state;
  fault_host fault;
  vs_engine *engine;
  vs_error error;
  fault_host_init(&fault, FAULT_NEVER);
  expect_ok(vs_engine_create(&fault.host, &engine));
  expect_ok(sample_load(engine, sample_json, &error));
  vs_status status = VS_NO_MEMORY;
  for (uint64_t n = 0; status != VS_OK; n++) {
    fault.fail_at = fault.requests + n;
    status = ask_again_and_again(&fault.host, engine);
    if (status != VS_OK) expect_status(status, VS_NO_MEMORY);
    fault.fail_at = FAULT_NEVER;
    expect_ok(ask_again_and_again(&fault.host, engine));
    expect_ok(sample_load(engine, sample_json, &error)); /* forgets what it kept */
  }
  vs_engine_destroy(engine);
  fault_host_expect_empty(&fault);
}

/* Answers as structs, all of whose memory is the engine's host's. */
static vs_status load_and_summarize(const vs_host *host, void *ctx) {
  vs_engine *engine;
  vs_error error = {.status = VS_OK};
  const vs_summary *summary = NULL;
  const vs_summary_owners *owners = NULL;
  (void)ctx;
  vs_status status = vs_engine_create(host, &engine);
  if (status != VS_OK) return status;
  status = sample_load(engine, sample_json, &error);
  if (status == VS_OK) status = vs_engine_summarize(engine, "{\"top\": 2}", &summary, &error);
  if (status == VS_OK) status = vs_engine_owners(engine, NULL, &owners, &error);
  expect_status(error.status, status);
  assert_true(status != VS_OK || (summary->device_count == 2 && owners->row_count != 0));
  vs_summary_owners_destroy(owners);
  vs_summary_destroy(summary);
  vs_engine_destroy(engine);
  return status;
}

static void answers_as_structs(void **state) {
  (void)state;
  assert_true(fault_prove(load_and_summarize, NULL) > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method),
      cmocka_unit_test(every_format),
      cmocka_unit_test(filters_groups_and_the_rest),
      cmocka_unit_test(answers_as_structs),
      cmocka_unit_test(a_failure_does_not_harm_the_engine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
