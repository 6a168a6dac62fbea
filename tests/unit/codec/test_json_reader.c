/* The JSON reader, seen through a consumer that prints what it is given: "[1 'a' {'k':null}]". Every text is
 * read whole and once more byte by byte. */
#include "codec/json_reader.h"
#include "base/double_text.h"
#include "base/interned_strings.h"
#include "support/test.h"

#include <stdlib.h>

/* ---- the printing consumer: a folded container is the id of its text */

enum { PRINTED = VS_VALUE_USER };

static void print_value(vs_text *text, const vs_strings *strings, vs_value value) {
  switch (value.kind) {
    case VS_VALUE_NONE: vs_text_cstr(text, "null"); break;
    case VS_VALUE_BOOL: vs_text_cstr(text, value.bits ? "true" : "false"); break;
    case VS_VALUE_INT: vs_text_i64(text, (int64_t)value.bits); break;
    case VS_VALUE_UINT: vs_text_format(text, "%Uu", value.bits); break;
    case VS_VALUE_BIG: vs_text_cstr(text, "big"); break;
    case VS_VALUE_REAL: vs_text_f64(text, vs_f64_from_bits(value.bits)); break;
    case VS_VALUE_STRING: vs_text_format(text, "'%S'", vs_strings_at(strings, (uint32_t)value.bits)); break;
    case PRINTED: vs_text_str(text, vs_strings_at(strings, (uint32_t)value.bits)); break;
    default: fail_msg("value of kind %u", value.kind);
  }
}

static vs_status keep(vs_strings *strings, vs_str text, uint32_t kind, vs_value *out) {
  uint32_t id;
  VS_TRY(vs_strings_intern(vs_host_default(), strings, text, &id));
  *out = (vs_value){.kind = kind, .bits = id};
  return VS_OK;
}

static vs_status print_string(void *ctx, vs_str utf8, vs_value *out, vs_error *error) {
  if (vs_str_equal(utf8, VS_STR("refuse"))) return vs_fail(error, VS_REFUSED, 0, "not this word");
  if (vs_str_equal(utf8, VS_STR("refuse silently"))) return VS_UNSUPPORTED;
  return keep(ctx, utf8, VS_VALUE_STRING, out);
}

static vs_status print_items(vs_strings *strings, const vs_value *items, size_t count, const char *form,
                             vs_value *out) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_byte(&text, (uint8_t)form[0]);
  for (size_t i = 0; i < count; i++) {
    if (i > 0) vs_text_byte(&text, (uint8_t)(i % 2 == 1 ? form[1] : ' '));
    print_value(&text, strings, items[i]);
  }
  vs_text_byte(&text, (uint8_t)form[2]);
  const vs_status status = keep(strings, vs_text_view(&text), PRINTED, out);
  vs_text_deinit(&text);
  return status;
}

static vs_status print_sequence(void *ctx, const vs_value *items, size_t count, bool is_tuple, vs_value *out,
                                vs_error *error) {
  (void)error;
  assert_false(is_tuple);
  return print_items(ctx, items, count, "[ ]", out);
}

static vs_status print_mapping(void *ctx, const vs_value *pairs, size_t pair_count, vs_value *out,
                               vs_error *error) {
  (void)error;
  return print_items(ctx, pairs, 2 * pair_count, "{:}", out);
}

/* ---- reading */

/* A reader that gives at most `piece` bytes at a time, each from a block of its own. */
typedef struct dribble {
  vs_str rest;
  size_t piece;
} dribble;

static vs_status read_dribble(void *ctx, void *data, size_t capacity, size_t *count) {
  dribble *d = ctx;
  *count = d->rest.size < d->piece ? d->rest.size : d->piece;
  if (*count > capacity) *count = capacity;
  if (*count == 0) return VS_OK;
  memcpy(data, d->rest.data, *count);
  d->rest = (vs_str){d->rest.data + *count, d->rest.size - *count};
  return VS_OK;
}

static vs_status fold(vs_str json, size_t piece, const vs_json_limits *limits, vs_text *printed,
                      vs_error *error) {
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  vs_strings strings;
  vs_input input;
  vs_value root;
  dribble d = {.rest = json, .piece = piece};
  expect_ok(vs_strings_init(vs_host_default(), &strings));
  expect_ok(vs_input_init(&input, &fault.host, (vs_reader){.ctx = &d, .read = read_dribble}));
  const vs_fold printer = {
      .ctx = &strings, .string = print_string, .sequence = print_sequence, .mapping = print_mapping};
  const vs_status status = vs_json_fold(&input, &printer, limits, &root, error);
  if (status == VS_OK) {
    print_value(printed, &strings, root);
    assert_int_equal(vs_input_offset(&input), json.size);
  }
  vs_input_deinit(&input);
  vs_strings_deinit(vs_host_default(), &strings);
  fault_host_expect_empty(&fault);
  return status;
}

static const size_t pieces[] = {SIZE_MAX, 1, 3};

typedef struct good {
  vs_str json;
  const char *printed;
} good;

static void expect_good(const good *cases, size_t count) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  for (size_t i = 0; i < count; i++) {
    for (size_t p = 0; p < 3; p++) {
      vs_error error;
      expect_ok(fold(cases[i].json, pieces[p], NULL, &text, &error));
      vs_text_byte(&text, 0);
      assert_string_equal(text.bytes.data, cases[i].printed);
      text.bytes.count = 0;
    }
  }
  vs_text_deinit(&text);
}

#define GOOD(json, printed) \
  { VS_STR_INIT(json), printed }
#define VS_STR_INIT(literal) \
  { (literal), sizeof(literal) - 1 }
#define EXPECT_GOOD(cases) expect_good(cases, sizeof(cases) / sizeof *(cases))

static void numbers_and_names(void **state) {
  (void)state;
  static const good cases[] = {
      GOOD("0", "0"),
      GOOD("-0", "0"),
      GOOD("-0.0", "-0.0"),
      GOOD("42", "42"),
      GOOD("9223372036854775807", "9223372036854775807"),
      GOOD("9223372036854775808", "9223372036854775808u"),
      GOOD("18446744073709551615", "18446744073709551615u"),
      GOOD("18446744073709551616", "big"),
      GOOD("99999999999999999999", "big"),
      GOOD("-9223372036854775808", "-9223372036854775808"),
      GOOD("-9223372036854775809", "big"),
      GOOD("123456789012345678901234567890", "big"),
      GOOD("1.0", "1.0"),
      GOOD("1e2", "100.0"),
      GOOD("1E+2", "100.0"),
      GOOD("0.1e-1", "0.01"),
      GOOD("1e400", "inf"),
      GOOD("NaN", "nan"),
      GOOD("Infinity", "inf"),
      GOOD("-Infinity", "-inf"),
      GOOD("true", "true"),
      GOOD("false", "false"),
      GOOD("null", "null"),
      GOOD("\xef\xbb\xbf 1 ", "1"),
      GOOD("\t\r\n 7 \n\0\0\0", "7"),
  };
  EXPECT_GOOD(cases);
}

static void containers(void **state) {
  (void)state;
  static const good cases[] = {
      GOOD("[]", "[]"),
      GOOD("{}", "{}"),
      GOOD("[ ]", "[]"),
      GOOD("{ }", "{}"),
      GOOD("[1]", "[1]"),
      GOOD("[[],{},[[]]]", "[[] {} [[]]]"),
      GOOD("[1,2,[3,4],5]", "[1 2 [3 4] 5]"),
      GOOD("{\"a\":1,\"b\":[true,null]}", "{'a':1 'b':[true null]}"),
      GOOD(" { \"a\" : { \"\" : [ ] } , \"a\" : 2 } ", "{'a':{'':[]} 'a':2}"),
      GOOD("[\"x\",\"\",1.5]", "['x' '' 1.5]"),
  };
  EXPECT_GOOD(cases);
}

static void strings(void **state) {
  (void)state;
  static const good cases[] = {
      GOOD("\"\"", "''"),
      GOOD("\"plain\"", "'plain'"),
      GOOD("\"exactly8\"", "'exactly8'"),
      GOOD("\"/home/user/model.py\"", "'/home/user/model.py'"),
      GOOD("\"\\\"\\\\\\/\"", "'\"\\/'"),
      GOOD("\"\\b\\f\\n\\r\\t\"", "'\\x08\\x0c\\x0a\\x0d\\x09'"), /* %S shows control bytes as \xNN */
      GOOD("\"\\u0041\\u00e9\\u20AC\"", "'A\xc3\xa9\xe2\x82\xac'"),
      GOOD("\"\\u0000\"", "'\\x00'"),
      GOOD("\"\\ud83d\\ude00\"", "'\xf0\x9f\x98\x80'"),
      GOOD("\"\\uDBFF\\uDFFF\"", "'\xf4\x8f\xbf\xbf'"),
      GOOD("\"\\ud83d\"", "'\xed\xa0\xbd'"), /* half a pair */
      GOOD("\"\\ude00x\"", "'\xed\xb8\x80x'"),
      GOOD("\"\\ud83d\\ud83d\\ude00\"", "'\xed\xa0\xbd\xf0\x9f\x98\x80'"),
      GOOD("\"\\ud83d\\n\"", "'\xed\xa0\xbd\\x0a'"),
      GOOD("\"\\ud83d\\ue000\"", "'\xed\xa0\xbd\xee\x80\x80'"),
      GOOD("\"\\ud83d\\u0041\"", "'\xed\xa0\xbd"
                                 "A'"),
      GOOD("\"\xff\xc3\"", "'\xff\xc3'"), /* bytes that are no text stay what they are */
      GOOD("\"\x7f\"", "'\\x7f'"),
      GOOD("\"abc\\\\\"", "'abc\\'"),
  };
  EXPECT_GOOD(cases);
}

typedef struct bad {
  vs_str json;
  vs_status status;
  uint64_t offset;
  const char *text;
} bad;

#define BAD(json, status, offset, text) \
  { VS_STR_INIT(json), VS_##status, offset, text }

static void must_fail(void **state) {
  (void)state;
  static const bad cases[] = {
      BAD("", TRUNCATED, 0, "the text ends where a value should stand"),
      BAD("  \n", TRUNCATED, 3, "the text ends where a value should stand"),
      BAD("\0", BAD_FORMAT, 0, "expected a value, found byte 0x0"),
      BAD("[", TRUNCATED, 1, "the text ends where a value should stand"),
      BAD("[1", TRUNCATED, 2, "the text ends where ',' or ']' after an item should stand"),
      BAD("[1,", TRUNCATED, 3, "the text ends where a value should stand"),
      BAD("{", TRUNCATED, 1, "the text ends where a key or '}' should stand"),
      BAD("{\"a\"", TRUNCATED, 4, "the text ends where ':' after a key should stand"),
      BAD("{\"a\":", TRUNCATED, 5, "the text ends where a value should stand"),
      BAD("{\"a\":1", TRUNCATED, 6, "the text ends where ',' or '}' after a member should stand"),
      BAD("\"abc", TRUNCATED, 4, "the text ends inside a string"),
      BAD("\"abc\\", TRUNCATED, 5, "the text ends inside a string"),
      BAD("\"abc\\\"", TRUNCATED, 6, "the text ends inside a string"),
      BAD("[1,]", BAD_FORMAT, 3, "expected a value, found ']'"),
      BAD("[,1]", BAD_FORMAT, 1, "expected a value, found ','"),
      BAD("[1 2]", BAD_FORMAT, 3, "expected ',' or ']' after an item, found '2'"),
      BAD("[1}", BAD_FORMAT, 2, "expected ',' or ']' after an item, found '}'"),
      BAD("{\"a\":1]", BAD_FORMAT, 6, "expected ',' or '}' after a member, found ']'"),
      BAD("{\"a\":1,}", BAD_FORMAT, 7, "expected a key after ',', found '}'"),
      BAD("{\"a\" 1}", BAD_FORMAT, 5, "expected ':' after a key, found '1'"),
      BAD("{a:1}", BAD_FORMAT, 1, "expected a key or '}', found 'a'"),
      BAD("{1:1}", BAD_FORMAT, 1, "expected a key or '}', found '1'"),
      BAD("{\"a\"::1}", BAD_FORMAT, 5, "expected a value, found ':'"),
      BAD("{,}", BAD_FORMAT, 1, "expected a key or '}', found ','"),
      BAD("]", BAD_FORMAT, 0, "expected a value, found ']'"),
      BAD("1 2", BAD_FORMAT, 2, "expected the end of the text, found '2'"),
      BAD("{} \0 x", BAD_FORMAT, 5, "expected the end of the text, found 'x'"),
      BAD("'a'", BAD_FORMAT, 0, "expected a value, found '''"),
      BAD("/* */1", BAD_FORMAT, 0, "expected a value, found '/'"),
      BAD("\xff", BAD_FORMAT, 0, "expected a value, found byte 0xff"),
      BAD("nul", BAD_FORMAT, 0, "'nul' is no value"),
      BAD("[True]", BAD_FORMAT, 1, "'True' is no value"),
      BAD("[nan]", BAD_FORMAT, 1, "'nan' is no value"),
      BAD("[+1]", BAD_FORMAT, 1, "'+1' is no value"),
      BAD("[01]", BAD_FORMAT, 1, "'01' is no value"),
      BAD("[-]", BAD_FORMAT, 1, "'-' is no value"),
      BAD("[-01]", BAD_FORMAT, 1, "'-01' is no value"),
      BAD("[1.]", BAD_FORMAT, 1, "'1.' is no value"),
      BAD("[.5]", BAD_FORMAT, 1, "'.5' is no value"),
      BAD("[1e]", BAD_FORMAT, 1, "'1e' is no value"),
      BAD("[0x10]", BAD_FORMAT, 1, "'0x10' is no value"),
      BAD("[1true]", BAD_FORMAT, 1, "'1true' is no value"),
      BAD("[\"a\nb\"]", BAD_FORMAT, 3, "a control byte in a string"),
      BAD("\"\x1f\"", BAD_FORMAT, 1, "a control byte in a string"),
      BAD("\"abc\x1f"
          "defghijk\"",
          BAD_FORMAT, 4, "a control byte in a string"),
      BAD("\"0123456789\t\"", BAD_FORMAT, 11, "a control byte in a string"),
      BAD("\"\\x41\"", BAD_FORMAT, 1, "a malformed escape in a string"),
      BAD("\"ab\\u12g4\"", BAD_FORMAT, 3, "a malformed escape in a string"),
      BAD("\"\\n\\u12\"", BAD_FORMAT, 3, "a malformed escape in a string"),
      BAD("\"\\\x01\"", BAD_FORMAT, 1, "a malformed escape in a string"),
      BAD("\xef\xbb\xbf", TRUNCATED, 3, "the text ends where a value should stand"),
      BAD("[\"refuse\"]", REFUSED, 9, "not this word"),
      BAD("{\"refuse silently\":1}", UNSUPPORTED, 18, "not supported"),
  };
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (size_t p = 0; p < 3; p++) {
      vs_error error;
      expect_status(fold(cases[i].json, pieces[p], NULL, &text, &error), cases[i].status);
      expect_status(error.status, cases[i].status);
      assert_string_equal(error.text, cases[i].text);
      assert_int_equal(error.offset, cases[i].offset);
      expect_status(fold(cases[i].json, pieces[p], NULL, &text, NULL), cases[i].status);
    }
  }
  vs_text_deinit(&text);
}

/* `before` + count times `unit` + `after` */
static void repeat(vs_text *json, const char *before, size_t count, const char *unit, const char *after) {
  json->bytes.count = 0;
  vs_text_cstr(json, before);
  for (size_t i = 0; i < count; i++) vs_text_cstr(json, unit);
  vs_text_cstr(json, after);
  assert_int_equal(json->status, VS_OK);
}

static void limits_are_exact(void **state) {
  (void)state;
  const vs_json_limits limits = {.nesting = 5, .string_bytes = 20, .number_bytes = 30};
  vs_text json, printed;
  vs_error error;
  vs_text_init(&json, vs_host_default(), NULL);
  vs_text_init(&printed, vs_host_default(), NULL);
  for (size_t p = 0; p < 3; p++) {
    repeat(&json, "", 5, "[", "]]]]]");
    expect_ok(fold(vs_text_view(&json), pieces[p], &limits, &printed, &error));
    repeat(&json, "", 6, "[", "]]]]]]");
    expect_status(fold(vs_text_view(&json), pieces[p], &limits, &printed, &error), VS_LIMIT);
    assert_int_equal(error.offset, 5);
    assert_string_equal(error.text, "nested deeper than 5 levels");
    repeat(&json, "\"", 20, "x", "\"");
    expect_ok(fold(vs_text_view(&json), pieces[p], &limits, &printed, &error));
    repeat(&json, "[\"", 21, "x", "\"]");
    expect_status(fold(vs_text_view(&json), pieces[p], &limits, &printed, &error), VS_LIMIT);
    assert_int_equal(error.offset, 1);
    repeat(&json, "", 30, "7", "");
    expect_ok(fold(vs_text_view(&json), pieces[p], &limits, &printed, &error));
    repeat(&json, "[", 31, "7", "]");
    expect_status(fold(vs_text_view(&json), pieces[p], &limits, &printed, &error), VS_LIMIT);
    assert_int_equal(error.offset, 1);
  }
  vs_text_deinit(&json);
  vs_text_deinit(&printed);
}

/* An endless string, number or nesting ends at the documented limit, with memory in proportion to it. */
static void default_limits(void **state) {
  (void)state;
  vs_text json, printed;
  vs_error error;
  vs_text_init(&json, vs_host_default(), NULL);
  vs_text_init(&printed, vs_host_default(), NULL);
  repeat(&json, "", 256, "{\"\":", "0");
  for (int i = 0; i < 256; i++) vs_text_byte(&json, '}');
  expect_ok(fold(vs_text_view(&json), SIZE_MAX, NULL, &printed, &error));
  repeat(&json, "", 257, "[", "");
  expect_status(fold(vs_text_view(&json), SIZE_MAX, NULL, &printed, &error), VS_LIMIT);
  repeat(&json, "", 401, "7", "");
  expect_status(fold(vs_text_view(&json), SIZE_MAX, NULL, &printed, &error), VS_LIMIT);
  repeat(&json, "\"", (16 << 20) / 16 + 1, "0123456789abcdef", "\"");
  expect_status(fold(vs_text_view(&json), SIZE_MAX, NULL, &printed, &error), VS_LIMIT);
  vs_text_deinit(&json);
  vs_text_deinit(&printed);
}

/* Escapes at every distance from the edge of the window. */
static void strings_across_windows(void **state) {
  (void)state;
  vs_text json, printed, wanted;
  vs_error error;
  vs_text_init(&json, vs_host_default(), NULL);
  vs_text_init(&printed, vs_host_default(), NULL);
  vs_text_init(&wanted, vs_host_default(), NULL);
  for (size_t length = 0; length < 150; length++) {
    repeat(&json, "[\"", length, "a", "\\ud83d\\ude00z\",1234567890123,\"\\\\\"]");
    repeat(&wanted, "['", length, "a", "\xf0\x9f\x98\x80z' 1234567890123 '\\']");
    for (size_t p = 0; p < 3; p++) {
      printed.bytes.count = 0;
      expect_ok(fold(vs_text_view(&json), pieces[p], NULL, &printed, &error));
      assert_true(vs_str_equal(vs_text_view(&printed), vs_text_view(&wanted)));
    }
  }
  vs_text_deinit(&json);
  vs_text_deinit(&printed);
  vs_text_deinit(&wanted);
}

/* Every beginning of a text is an answer or an error, never more. */
static void every_beginning(void **state) {
  (void)state;
  static const char json[] =
      "\xef\xbb\xbf{\"a\\u00e9\": [1, -2.5e3, true, \"\\ud83d\\ude00\"], \"b\": {\"\": null}} ";
  vs_text printed;
  vs_text_init(&printed, vs_host_default(), NULL);
  for (size_t size = 0; size + 2 < sizeof json; size++) {
    char *exact =
        malloc(size + 1); /* a block of its own, so that a sanitizer sees the first byte read beyond it */
    assert_non_null(exact);
    memcpy(exact, json, size);
    vs_error error;
    const vs_status status = fold((vs_str){exact, size}, SIZE_MAX, NULL, &printed, &error);
    assert_true(status == VS_TRUNCATED || status == VS_BAD_FORMAT);
    assert_true(error.offset <= size);
    free(exact);
  }
  expect_ok(fold(VS_STR(json), SIZE_MAX, NULL, &printed, NULL));
  vs_text_deinit(&printed);
}

static vs_status broken_read(void *ctx, void *data, size_t capacity, size_t *count) {
  (void)ctx;
  (void)data;
  (void)capacity;
  (void)count;
  return VS_TRUNCATED; /* such as a compressed file that was cut off */
}

static void reader_failures_are_reported(void **state) {
  (void)state;
  vs_strings kept = {0};
  vs_input input;
  vs_value root;
  vs_error error;
  const vs_fold printer = {
      .ctx = &kept, .string = print_string, .sequence = print_sequence, .mapping = print_mapping};
  expect_ok(vs_input_init(&input, vs_host_default(), (vs_reader){.ctx = NULL, .read = broken_read}));
  expect_status(vs_json_fold(&input, &printer, NULL, &root, &error), VS_TRUNCATED);
  assert_string_equal(error.text, vs_status_text(VS_TRUNCATED));
  assert_int_equal(error.offset, 0);
  vs_input_deinit(&input);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_and_names),
      cmocka_unit_test(containers),
      cmocka_unit_test(strings),
      cmocka_unit_test(must_fail),
      cmocka_unit_test(limits_are_exact),
      cmocka_unit_test(default_limits),
      cmocka_unit_test(strings_across_windows),
      cmocka_unit_test(every_beginning),
      cmocka_unit_test(reader_failures_are_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
