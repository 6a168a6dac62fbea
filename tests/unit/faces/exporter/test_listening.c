/* Where the exporter listens, as it is written on the command line. */
#include "faces/exporter/listening.c"
#include "support/test.h"

static void test_addresses(void **state) {
  static const struct {
    const char *text, *host;
    uint16_t port;
    bool is_loopback;
    const char *shown;
  } cases[] = {{"9836", "127.0.0.1", 9836, true, "127.0.0.1:9836"},
               {"0", "127.0.0.1", 0, true, "127.0.0.1:0"},
               {"localhost:80", "127.0.0.1", 80, true, "127.0.0.1:80"},
               {"127.3.2.1:65535", "127.3.2.1", 65535, true, "127.3.2.1:65535"},
               {"192.0.2.7:9836", "192.0.2.7", 9836, false, "192.0.2.7:9836"},
               {":9836", "", 9836, false, "0.0.0.0:9836"},
               {"0.0.0.0:9836", "0.0.0.0", 9836, false, "0.0.0.0:9836"},
               {"[::1]:9836", "::1", 9836, true, "[::1]:9836"},
               {"[::]:9836", "::", 9836, false, "[::]:9836"},
               {"[::ffff:127.0.0.1]:1", "::ffff:127.0.0.1", 1, false, "[::ffff:127.0.0.1]:1"},
               {"[2001:db8::7]:9836", "2001:db8::7", 9836, false, "[2001:db8::7]:9836"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_listening where;
    vs_error error;
    char shown[96];
    expect_ok(vs_listening_parse(&where, cases[i].text, &error));
    assert_string_equal(where.host, cases[i].host);
    assert_int_equal(where.port, cases[i].port);
    assert_int_equal(where.is_loopback, cases[i].is_loopback);
    vs_listening_text(&where, shown, sizeof shown);
    assert_string_equal(shown, cases[i].shown);
  }
}

static void test_what_is_none(void **state) {
  static const char *const texts[] = {"",
                                      ":",
                                      "65536",
                                      "-1",
                                      "gpu7:9836",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "::1:9836",
                                      "[::1]9836",
                                      "[::1",
                                      "[::1]:",
                                      "[127.0.0.1:9836",
                                      "[gpu7]:9836",
                                      "1.2.3:9836",
                                      "9836 ",
                                      "127.0.0.1:9836:1",
                                      "[::1]:99999",
                                      "*:9836",
                                      "http://127.0.0.1:9836"};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    vs_listening where;
    vs_error error;
    expect_status(vs_listening_parse(&where, texts[i], &error), VS_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "--listen"));
  }
  char longer[200] = "[";
  memset(longer + 1, '1', 150);
  memcpy(longer + 151, "]:1", 4);
  vs_listening where;
  vs_error error;
  expect_status(vs_listening_parse(&where, longer, &error), VS_BAD_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_addresses),
      cmocka_unit_test(test_what_is_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
