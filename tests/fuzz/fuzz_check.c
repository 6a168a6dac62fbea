/* Any bytes as the documents of a check: a reply that is JSON, or a refusal with a sentence. Bytes 0 separate the run (the reply of a dry run, or an
 * inventory that is also taken for a report; its "step_ranges" are those of the run), the settings and the baseline; those that are missing are absent. */
#include <stdio.h>
#include <stdlib.h>

#include "base/host.h"
#include "check/check.h"
#include "fuzz.h"

enum { MEMORY = 64 * 1024 * 1024, RUN = 0, SETTINGS, OLD, PARTS };

static void must(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "fuzz_check: %s\n", what);
  abort();
}

static void check_json(const vs_text *text, const char *method) {
  vs_json_doc document;
  vs_error error;
  must(vs_json_doc_init(&document, vs_host_default(), vs_text_view(text), &error) == VS_OK, "it is JSON");
  must(vs_str_equal(vs_reply_str(vs_json_root(&document), "method"), vs_str_from(method)), "of that method");
  vs_json_doc_deinit(&document);
}

static void check(const vs_host *host, const vs_check_run *run, vs_json settings, vs_json old) {
  vs_text reply, baseline;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_text_init(&reply, vs_host_default(), NULL);
  vs_text_init(&baseline, vs_host_default(), NULL);
  const vs_check_options options = {.unit = VS_UNIT_BINARY};
  const vs_status status = vs_check_put(host, run, settings, old, options, &reply, &baseline, &error);
  if (status == VS_OK) check_json(&reply, "check");
  else
    must(error.status == status && error.text[0] != 0 && reply.bytes.count == 0, "a sentence, and no reply");
  if (baseline.bytes.count != 0) check_json(&baseline, "baseline");
  vs_text_deinit(&reply);
  vs_text_deinit(&baseline);
}

/* Both readings of the run, with and without the baseline. */
static void check_all(const vs_host *host, const vs_json parts[PARTS]) {
  const vs_json absent = {.value.kind = VS_JSON_ABSENT}, ranges = vs_reply_at(parts[RUN], "step_ranges");
  const vs_check_run dryrun = {
      .name = VS_STR("a b"), .dryrun = parts[RUN], .inventory = absent, .report = absent, .ranges = ranges};
  const vs_check_run file = {
      .name = VS_STR("a"), .dryrun = absent, .inventory = parts[RUN], .report = parts[RUN], .ranges = ranges};
  check(host, &file, parts[SETTINGS], parts[OLD]);
  check(host, &file, parts[SETTINGS], absent);
  if (!vs_json_is_absent(parts[RUN])) check(host, &dryrun, parts[SETTINGS], parts[OLD]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  vs_budget budget;
  vs_json_doc documents[PARTS];
  vs_json parts[PARTS];
  bool is_there[PARTS];
  vs_error error;
  vs_budget_init(&budget, vs_host_default(), MEMORY);
  for (size_t i = 0, at = 0; i < PARTS; i++) {
    size_t end = at;
    while (end < size && data[end] != 0) end++;
    is_there[i] = at < size && vs_json_doc_init(&documents[i], &budget.host,
                                                (vs_str){(const char *)data + at, end - at}, &error) == VS_OK;
    parts[i] = is_there[i] ? vs_json_root(&documents[i]) : (vs_json){.value.kind = VS_JSON_ABSENT};
    at = end < size ? end + 1 : size;
  }
  check_all(&budget.host, parts);
  for (size_t i = 0; i < PARTS; i++)
    if (is_there[i]) vs_json_doc_deinit(&documents[i]);
  must(budget.used == 0, "nothing stays behind");
  return 0;
}
