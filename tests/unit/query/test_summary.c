/* Questions by method and parameters, and the answers that are structs: each figure is that of the reply. */
#include "codec/json_reply.h"
#include "unit/query/sample.h"
#include <vramscope/summary.h>

static vs_engine *engine;
static vs_error error;
static vs_buffer reply;

static int setup(void **state) {
  (void)state;
  error = (vs_error){.status = VS_OK};
  reply.host = vs_host_default();
  expect_ok(vs_engine_create(NULL, &engine));
  expect_ok(sample_load(engine, sample_json, &error));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  vs_buffer_deinit(&reply);
  vs_engine_destroy(engine);
  return 0;
}

static vs_json follow(vs_json from, const char *path) {
  while (*path != 0) {
    const char *dot = strchr(path, '.');
    const size_t size = dot == NULL ? strlen(path) : (size_t)(dot - path);
    from = vs_json_member(from, (vs_str){path, size});
    path += size + (path[size] == '.');
  }
  return from;
}

/* ---- vs_engine_ask */

static void a_reply_is_that_of_the_request(void **state) {
  (void)state;
  vs_text wanted;
  vs_text_init(&wanted, vs_host_default(), NULL);
  expect_ok(
      sample_request(engine, "{\"method\":\"live\",\"params\":{\"at\":\"end\",\"top\":1}}", &wanted, &error));
  for (int i = 0; i < 2; i++) { /* what was in the buffer goes */
    expect_ok(vs_engine_ask(engine, "live", " {\"at\": \"end\", \"top\": 1} ", &reply, &error));
    assert_true(vs_str_equal((vs_str){reply.data, reply.size}, vs_text_view(&wanted)));
    assert_int_equal(strlen(reply.data), reply.size);
  }
  vs_text_deinit(&wanted);
}

static void expect_refused(const char *method, const char *params, vs_status status, uint64_t offset,
                           const char *says) {
  expect_ok(vs_engine_ask(engine, "info", NULL, &reply, NULL));
  expect_status(vs_engine_ask(engine, method, params, &reply, &error), status);
  expect_status(error.status, status);
  assert_int_equal(error.offset, offset);
  if (strstr(error.text, says) == NULL) fail_msg("wanted \"%s\" in \"%s\"", says, error.text);
  assert_int_equal(reply.size, 0);
  assert_string_equal(reply.data, "");
  expect_status(vs_engine_ask(engine, method, params, &reply, NULL), status);
}

static void a_refusal_leaves_no_reply(void **state) {
  (void)state;
  expect_refused("reprot", NULL, VS_BAD_ARGUMENT, VS_NO_OFFSET, "did you mean 'report'?");
  expect_refused("live", "{\"at\": \"pek\"}", VS_BAD_ARGUMENT, VS_NO_OFFSET, "did you mean 'peak'?");
  expect_refused("live", "{\"at\": ", VS_BAD_ARGUMENT, 7, "the parameters are not JSON");
  expect_refused("live", "[1]", VS_BAD_ARGUMENT, VS_NO_OFFSET, "params");
  expect_refused("live", "{} , \"method\": \"info\"", VS_BAD_ARGUMENT, 3, "the parameters are not JSON");
  expect_refused("blocks", "{\"device\": 7}", VS_NOT_FOUND, VS_NO_OFFSET, "no memory of device 7");
}

/* ---- the structs */

static void expect_bytes(uint64_t got, vs_json from) {
  assert_int_equal(got, vs_json_u64(from, VS_BYTES_UNKNOWN));
}
static void expect_index(int64_t got, vs_json from) { assert_int_equal(got, vs_json_i64(from, -1)); }
static void expect_time(int64_t got, vs_json from) {
  assert_int_equal(got, vs_json_i64(from, VS_TIME_UNKNOWN));
}
static void expect_share(double got, vs_json from) { assert_true(got == vs_json_f64(from, -1)); }
static void expect_same_text(const char *got, vs_json from) {
  if (vs_reply_is_unknown(from)) assert_null(got);
  else assert_true(vs_str_equal(vs_str_from(got), vs_json_str(from, VS_STR("(none)"))));
}

#define EXPECT_BYTES expect_bytes
#define EXPECT_INDEX expect_index
#define EXPECT_TIME  expect_time
#define EXPECT_SHARE expect_share
#define EXPECT_TEXT  expect_same_text

/* Every member of the list is in the reply by its path, and the struct has the same. */
static void every_member_is_that_of_the_reply(void **state) {
  (void)state;
  const vs_summary *whole;
  const vs_summary_owners *owners;
  vs_json_doc report, live;
  vs_buffer other = {.host = vs_host_default()};
  expect_ok(vs_engine_ask(engine, "report", NULL, &reply, &error));
  expect_ok(vs_json_doc_init(&report, vs_host_default(), (vs_str){reply.data, reply.size}, &error));
  expect_ok(vs_engine_ask(engine, "live", NULL, &other, &error));
  expect_ok(vs_json_doc_init(&live, vs_host_default(), (vs_str){other.data, other.size}, &error));
  expect_ok(vs_engine_summarize(engine, NULL, &whole, &error));
  expect_ok(vs_engine_owners(engine, NULL, &owners, &error));
  const vs_summary_device *device = whole->devices[0];
  const vs_summary_peak *peak = device->peak;
  const vs_summary_end *end = device->end;
  const vs_summary_owner *owner = device->owners[0];
  const vs_summary_oom *oom = device->ooms[0];
  const vs_json whole_json = vs_json_root(&report), owners_json = vs_json_root(&live),
                device_json = vs_json_at(vs_reply_at(whole_json, "devices"), 0), peak_json = device_json,
                end_json = device_json, owner_json = vs_json_at(follow(device_json, "peak.owners"), 0),
                oom_json = vs_json_at(vs_reply_at(device_json, "ooms"), 0);
#define VS_TAKE(struct_, member, KIND, path)                                                 \
  if (vs_json_is_absent(follow(struct_##_json, path))) fail_msg("no %s in the reply", path); \
  EXPECT_##KIND(struct_->member, follow(struct_##_json, path));
#include "query/summary.def"
#undef VS_TAKE
  vs_summary_owners_destroy(owners);
  vs_summary_destroy(whole);
  vs_json_doc_deinit(&live);
  vs_json_doc_deinit(&report);
  vs_buffer_deinit(&other);
}

static void the_figures_of_the_sample(void **state) {
  (void)state;
  const vs_summary *summary;
  expect_ok(vs_engine_summarize(engine, "{\"top\": 1}", &summary, &error));
  assert_int_equal(summary->device_count, 2);
  const vs_summary_device *gpu = summary->busiest;
  assert_ptr_equal(gpu, summary->devices[0]);
  assert_int_equal(gpu->device, 0);
  assert_int_equal(gpu->peak->requested_bytes, 1003000);
  assert_int_equal(gpu->peak->event, 4);
  assert_int_equal(gpu->peak->time_us, 3000);
  assert_int_equal(gpu->owner_count, 1);
  assert_int_equal(gpu->all_owners, 2);
  assert_string_equal(gpu->owners[0]->label, "model.py:12 forward");
  assert_int_equal(gpu->owners[0]->bytes, 1001000);
  assert_int_equal(gpu->owners[0]->blocks, 2);
  assert_int_equal(gpu->end->allocated_bytes, 2048 + 1000448);
  assert_int_equal(gpu->end->active_bytes + gpu->end->cached_bytes, gpu->end->reserved_bytes);
  assert_int_equal(gpu->end->releasable_bytes + gpu->end->fragmented_bytes, gpu->end->cached_bytes);
  assert_int_equal(gpu->oom_count, 1);
  assert_int_equal(gpu->ooms[0]->event, 7);
  assert_int_equal(gpu->ooms[0]->requested_bytes, 4194304);
  assert_int_equal(gpu->ooms[0]->device_free_bytes, 100);
  assert_string_equal(gpu->ooms[0]->largest_owner->label, "model.py:12 forward");
  assert_int_equal(summary->devices[1]->peak->time_us, VS_TIME_UNKNOWN);
  assert_int_equal(summary->devices[1]->oom_count, 0);
  assert_int_equal(summary->host->device, -1);
  assert_int_equal(summary->host->end->requested_bytes, 60);
  vs_summary_destroy(summary);
}

static void an_answer_outlives_its_file(void **state) {
  (void)state;
  const vs_summary *summary, *nothing;
  const vs_summary_owners *owners;
  expect_ok(vs_engine_summarize(engine, NULL, &summary, &error));
  expect_ok(vs_engine_owners(engine, "{\"at\": \"end\", \"by\": \"stream\"}", &owners, NULL));
  expect_ok(sample_load(engine, empty_json, &error));
  expect_ok(vs_engine_summarize(engine, NULL, &nothing, &error));
  assert_null(nothing->busiest);
  assert_null(nothing->host);
  assert_int_equal(nothing->device_count, 0);
  assert_string_equal(summary->busiest->owners[0]->label, "model.py:12 forward");
  assert_int_equal(owners->device, 0);
  assert_string_equal(owners->rows[0]->label, "stream 7");
  assert_int_equal(owners->row_count, owners->all_owners);
  vs_summary_destroy(nothing);
  vs_summary_destroy(summary);
  vs_summary_owners_destroy(owners);
  vs_summary_destroy(NULL);
  vs_summary_owners_destroy(NULL);
}

static void without_a_file_there_is_no_answer(void **state) {
  (void)state;
  const vs_summary *summary;
  const vs_summary_owners *owners;
  vs_engine_unload(engine);
  expect_status(vs_engine_summarize(engine, NULL, &summary, &error), VS_NOT_FOUND);
  assert_string_equal(error.text, "no file is loaded");
  assert_null(summary);
  expect_status(vs_engine_owners(engine, NULL, &owners, NULL), VS_NOT_FOUND);
  assert_null(owners);
}

#define ENGINE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      ENGINE_TEST(a_reply_is_that_of_the_request),    ENGINE_TEST(a_refusal_leaves_no_reply),
      ENGINE_TEST(every_member_is_that_of_the_reply), ENGINE_TEST(the_figures_of_the_sample),
      ENGINE_TEST(an_answer_outlives_its_file),       ENGINE_TEST(without_a_file_there_is_no_answer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
