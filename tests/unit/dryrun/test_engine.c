/* What smaller types would give an engine for inference: arithmetic on the figures of its runs. */
#include "dryrun/engine.h"
#include "support/test.h"

static void expect(const vs_engine_figures *parts, uint64_t tokens, const char *wanted) {
  vs_text text;
  vs_jsonw w;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_jsonw_begin(&w, &text, 0);
  vs_engine_put_estimates(&w, parts, tokens);
  vs_jsonw_end(&w);
  expect_str_at(vs_text_view(&text), vs_str_from(wanted), __FILE__, __LINE__);
  vs_text_deinit(&text);
}

#define WEIGHTS(tokens) "{\"what\":\"weights of 8 bits\",\"freed_bytes\":1000,\"tokens\":" tokens "}"
#define CACHE(tokens) \
  "{\"what\":\"a KV cache with half the bytes of each value\",\"freed_bytes\":0,\"tokens\":" tokens "}"

static void test_estimates(void **state) {
  (void)state;
  /* 2 bytes for each of 1,000 parameters; a token takes 4 bytes of the cache */
  const vs_engine_figures parts = {
      .is_there = true, .tokens = 500, .cache_bytes = 2000, .weight_bytes = 2000, .parameters = 1000};
  expect(&parts, 300, "[" WEIGHTS("550") "," CACHE("600") "]");
  expect(&parts, 0, "[" WEIGHTS("null") "]"); /* it does not start */
  vs_engine_figures other = parts;
  other.weight_bytes = 1999; /* some have less already */
  expect(&other, 300, "[" CACHE("600") "]");
  other = parts;
  other.parameters = 0;
  expect(&other, 300, "[" CACHE("600") "]");
}

static void test_nothing_is_known(void **state) {
  (void)state;
  const vs_engine_figures none = {.is_there = false},
                          no_history = {.is_there = true, .tokens = 5, .parameters = 3};
  expect(&none, 0, "[]");
  expect(&no_history, 5, "[]");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_estimates),
                                     cmocka_unit_test(test_nothing_is_known)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
