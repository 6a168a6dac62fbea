/* Every file of the corpus: what should be read is, the rest is refused; what was read comes back from both writers. */
#include "support/snapshots.h"

#include <stdlib.h>

static void reads_or_fails(const char *name, vs_str bytes, void *ctx) {
  size_t *files = ctx;
  vs_snapshot *snapshot;
  vs_error error;
  const bool is_bad = vs_str_starts(vs_str_from(name), VS_STR("bad-"));
  const vs_status status = snapshot_from(vs_host_default(), bytes, &snapshot, &error);
  if (is_bad != (status != VS_OK)) fail_msg("%s: %s", name, status == VS_OK ? "was read" : error.text);
  if (is_bad) {
    assert_null(snapshot);
    expect_status(error.status, status);
    assert_true(error.text[0] != 0);
  } else {
    const char *broken = vs_snapshot_check(snapshot);
    if (broken != NULL) fail_msg("%s: %s", name, broken);
    vs_snapshot_destroy(snapshot);
  }
  ++*files;
}

static void every_file_reads_or_fails(void **state) {
  (void)state;
  size_t files = 0;
  for_each_corpus_file(reads_or_fails, &files);
  assert_true(files > 50);
}

/* Written, read and written again. A pickle has the same bytes the second time; JSON may lose half a surrogate pair. */
static void check_round_trip(const char *name, const vs_snapshot *snapshot, vs_file_format format) {
  vs_text once = written(snapshot, format);
  vs_snapshot *again = snapshot_of(vs_text_view(&once));
  expect_equal_snapshots(snapshot, again, name);
  assert_int_equal(again->format, format);
  assert_int_equal(again->bytes, once.bytes.count);
  vs_text twice = written(again, format);
  if (format == VS_FORMAT_PICKLE) assert_true(vs_str_equal(vs_text_view(&once), vs_text_view(&twice)));
  vs_text_deinit(&twice);
  vs_text_deinit(&once);
  vs_snapshot_destroy(again);
}

static void comes_back(const char *name, vs_str bytes, void *ctx) {
  (void)ctx;
  if (vs_str_starts(vs_str_from(name), VS_STR("bad-"))) return;
  vs_snapshot *snapshot = snapshot_of(bytes);
  check_round_trip(name, snapshot, VS_FORMAT_PICKLE);
  check_round_trip(name, snapshot, VS_FORMAT_JSON);
  vs_snapshot_destroy(snapshot);
}

static void every_file_comes_back(void **state) {
  (void)state;
  for_each_corpus_file(comes_back, NULL);
}

/* "2.15-cpp" and the like hold what "2.15" holds, by another writer. */
static void is_the_same(const char *name, vs_str bytes, void *ctx) {
  if (!vs_str_starts(vs_str_from(name), VS_STR("2.15-")) ||
      vs_str_equal(vs_str_from(name), VS_STR("2.15-stackless")))
    return;
  vs_snapshot *snapshot = snapshot_of(bytes);
  expect_equal_snapshots(ctx, snapshot, name);
  vs_snapshot_destroy(snapshot);
}

static void every_writer_says_the_same(void **state) {
  (void)state;
  const vs_str bytes = file_bytes(CORPUS "2.15");
  vs_snapshot *snapshot = snapshot_of(bytes);
  for_each_corpus_file(is_the_same, snapshot);
  vs_snapshot_destroy(snapshot);
  free((void *)(uintptr_t)bytes.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_file_reads_or_fails),
      cmocka_unit_test(every_file_comes_back),
      cmocka_unit_test(every_writer_says_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
