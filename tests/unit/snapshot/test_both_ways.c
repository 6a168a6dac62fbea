/* Every file of the corpus is read as a whole and opcode by opcode, with the same tables, ids and errors. Generated and real snapshots:
 * tests/oracle/test_both_ways.py. */
#include "support/both_ways.h"
#include "support/snapshots.h"

static void is_the_same(const char *name, vs_str bytes, void *ctx) {
  const char *difference = read_both_ways(vs_host_default(), bytes);
  if (difference != NULL) fail_msg("%s: different in: %s", name, difference);
  ++*(size_t *)ctx;
}

static void files_of_the_corpus(void **state) {
  (void)state;
  size_t files = 0;
  for_each_corpus_file(is_the_same, &files);
  assert_true(files > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_of_the_corpus),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
