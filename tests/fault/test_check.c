/* A check, with each of its requests for memory failing once: the reply and the baseline are whole, or there is neither. */
#include "check/check.h"
#include "unit/diff/sample.h"

typedef struct documents {
  vs_json_doc inventory, report, ranges, settings, old;
} documents;

static vs_status check(const vs_host *host, void *ctx) {
  const documents *d = ctx;
  const vs_check_run run = {.name = VS_STR("train.py"),
                            .dryrun.value.kind = VS_JSON_ABSENT,
                            .inventory = vs_json_root(&d->inventory),
                            .report = vs_json_root(&d->report),
                            .ranges = vs_json_root(&d->ranges)};
  vs_text reply, baseline;
  vs_error error = {.status = VS_OK};
  vs_text_init(&reply, vs_host_default(), NULL);
  vs_text_init(&baseline, vs_host_default(), NULL);
  const vs_status status =
      vs_check_put(host, &run, vs_json_root(&d->settings), vs_json_root(&d->old),
                   (vs_check_options){.unit = VS_UNIT_BINARY}, &reply, &baseline, &error);
  if (status != VS_OK)
    assert_true(reply.bytes.count == 0 && baseline.bytes.count == 0 && error.status == status);
  else assert_true(vs_str_contains(vs_text_view(&reply), VS_STR("\"verdict\":\"broken\"")));
  vs_text_deinit(&reply);
  vs_text_deinit(&baseline);
  return status;
}

static void read_json(vs_json_doc *document, vs_str json) {
  vs_error error;
  expect_ok(vs_json_doc_init(document, vs_host_default(), json, &error));
}

static void checks(void **state) {
  (void)state;
  documents d;
  vs_text text, ranges;
  uint64_t bytes;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_init(&ranges, vs_host_default(), NULL);
  sample_put_inventory(&text, 11, &bytes);
  read_json(&d.inventory, vs_text_view(&text));
  vs_text_byte(&ranges, '[');
  vs_reply_put_range(&ranges, VS_STR("2-"), vs_text_view(&text), NULL);
  vs_text_byte(&ranges, ']');
  read_json(&d.ranges, vs_text_view(&ranges));
  vs_text_deinit(&ranges);
  vs_text_deinit(&text);
  read_json(&d.report,
            VS_STR("{\"devices\": [{\"device\": 0, \"steps\": {}, \"growth\": [{\"kind\": \"allocated\", "
                   "\"bytes_per_step\": 5, \"stack\": [{\"file\": \"a.py\", \"line\": 3}], "
                   "\"owner_frame\": 0, \"label\": \"a.py:3\"}]}]}"));
  read_json(
      &d.settings,
      VS_STR("{\"max-growth\": 0, \"max-retries\": 0, \"tolerance\": \"2%\", \"budgets\": "
             "{\"all\": {\"owner\": \"*\", \"max\": 1}, \"more\": {\"owner\": \"*\", \"max\": \"+1%\"}, "
             "\"late\": {\"steps\": \"2-\", \"owner\": \"*\", \"max\": 1, \"max-reserved\": 0}}}"));
  read_json(
      &d.old,
      VS_STR("{\"peak_allocated_bytes\": 1, \"budgets\": {\"more\": 1}, \"owners\": [{\"owner\": \"b\", "
             "\"sizes\": [[1, 1]]}, {\"owner\": \"c.py:1 f\", \"file\": \"c.py\", \"line\": 1, "
             "\"function\": \"f\", \"kind\": \"user\", \"sizes\": [[512, 3]]}]}"));
  assert_true(fault_prove(check, &d) > 20);
  vs_json_doc_deinit(&d.old);
  vs_json_doc_deinit(&d.settings);
  vs_json_doc_deinit(&d.ranges);
  vs_json_doc_deinit(&d.report);
  vs_json_doc_deinit(&d.inventory);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(checks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
