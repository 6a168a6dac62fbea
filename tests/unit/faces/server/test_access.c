/* Who the server lets in, and what its addresses mean. The file belongs to the program, not to the library,
 * so it is compiled into this test. */
#include "faces/server/access.c"
#include "support/test.h"

static vs_access with_token(void) {
  static const uint8_t random[VS_TOKEN_BYTES] = {0x00, 0x01, 0x0f, 0x10, 0xff, 0xa5, 0x5a, 0x80,
                                                 0x7f, 0xc3, 0x3c, 0x99, 0x66, 0xde, 0xad, 0x42};
  vs_access access = {.port = 8123, .file_count = 3};
  vs_access_set_token(&access, random);
  return access;
}

static vs_place place(const vs_access *access, const char *path) {
  size_t file;
  return vs_access_place(access, vs_str_from(path), &file);
}

static void test_token(void **state) {
  (void)state;
  const vs_access access = with_token();
  assert_string_equal(access.token, "00010f10ffa55a807fc33c9966dead42");
}

static void test_places(void **state) {
  (void)state;
  const vs_access access = with_token();
  size_t file = 9;
  assert_int_equal(place(&access, "/00010f10ffa55a807fc33c9966dead42"), VS_PLACE_DOOR);
  assert_int_equal(place(&access, "/00010f10ffa55a807fc33c9966dead42/"), VS_PLACE_PAGE);
  assert_int_equal(vs_access_place(&access, VS_STR("/00010f10ffa55a807fc33c9966dead42/api/2"), &file),
                   VS_PLACE_FILE);
  assert_int_equal(file, 2);
  static const char *const nothing[] = {"x",      "api",     "api/", "api/3",   "api/-1",
                                        "api/0x", "api/0/",  "/",    "api/0?x", "api/99999999999999999999",
                                        "API/0",  "../api/0"};
  for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
    char path[120];
    vs_format(path, sizeof path, "/00010f10ffa55a807fc33c9966dead42/%s", nothing[i]);
    assert_int_equal(place(&access, path), VS_PLACE_NOTHING);
  }
}

static void test_closed(void **state) {
  (void)state;
  const vs_access access = with_token();
  static const char *const paths[] = {"",
                                      "/",
                                      "//",
                                      "/api/0",
                                      "*",
                                      "00010f10ffa55a807fc33c9966dead42/",
                                      "/00010f10ffa55a807fc33c9966dead4",
                                      "/00010f10ffa55a807fc33c9966dead4/",
                                      "/00010f10ffa55a807fc33c9966dead422/",
                                      "/00010F10FFA55A807FC33C9966DEAD42/",
                                      "//00010f10ffa55a807fc33c9966dead42/"};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
    assert_int_equal(place(&access, paths[i]), VS_PLACE_CLOSED);
  for (size_t at = 1; at <= VS_TOKEN_TEXT; at++) { /* any single letter decides */
    char path[] = "/00010f10ffa55a807fc33c9966dead42/api/0";
    path[at] = path[at] == '0' ? '1' : '0';
    assert_int_equal(place(&access, path), VS_PLACE_CLOSED);
  }
}

static void test_without_token(void **state) {
  (void)state;
  const vs_access access = {.port = 1, .file_count = 1};
  assert_int_equal(place(&access, "/"), VS_PLACE_PAGE);
  assert_int_equal(place(&access, "/api/0"), VS_PLACE_FILE);
  assert_int_equal(place(&access, "/api/1"), VS_PLACE_NOTHING);
  assert_int_equal(place(&access, ""), VS_PLACE_CLOSED);
}

static void test_hosts(void **state) {
  (void)state;
  const vs_access access = with_token();
  assert_true(vs_access_host(&access, VS_STR("127.0.0.1:8123")));
  assert_true(vs_access_host(&access, VS_STR("localhost:8123")));
  static const char *const foreign[] = {"",
                                        "127.0.0.1",
                                        "localhost",
                                        "127.0.0.1:8124",
                                        "127.0.0.1:81230",
                                        "127.0.0.1:08123",
                                        "127.0.0.1:",
                                        "evil.example",
                                        "evil.example:8123",
                                        "localhost.evil.example:8123",
                                        "127.0.0.1:8123 ",
                                        "127.0.0.1:8123.evil.example",
                                        "[::1]:8123",
                                        "0.0.0.0:8123"};
  for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
    assert_false(vs_access_host(&access, vs_str_from(foreign[i])));
  const vs_access usual = {.port = 80};
  assert_true(vs_access_host(&usual, VS_STR("localhost")));
  assert_true(vs_access_host(&usual, VS_STR("127.0.0.1:80")));
}

static void test_origins(void **state) {
  (void)state;
  const vs_access access = with_token();
  assert_true(vs_access_origin(&access, VS_STR("http://127.0.0.1:8123")));
  assert_true(vs_access_origin(&access, VS_STR("http://localhost:8123")));
  static const char *const foreign[] = {"",
                                        "null",
                                        "http://",
                                        "https://127.0.0.1:8123",
                                        "127.0.0.1:8123",
                                        "http://127.0.0.1:8123/",
                                        "http://evil.example",
                                        "file://",
                                        "HTTP://127.0.0.1:8123"};
  for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
    assert_false(vs_access_origin(&access, vs_str_from(foreign[i])));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_token),         cmocka_unit_test(test_places), cmocka_unit_test(test_closed),
      cmocka_unit_test(test_without_token), cmocka_unit_test(test_hosts),  cmocka_unit_test(test_origins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
