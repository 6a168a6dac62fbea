#include "base/human.h"
#include "support/test.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

static void bytes(void **state) {
  (void)state;
  static const struct {
    uint64_t bytes;
    vs_unit unit;
    const char *text;
  } cases[] = {
      {0, VS_UNIT_BINARY, "0 B"},
      {512, VS_UNIT_BINARY, "512 B"},
      {1023, VS_UNIT_BINARY, "1,023 B"},
      {1024, VS_UNIT_BINARY, "1.00 KiB"},
      {1536 * MIB, VS_UNIT_BINARY, "1.50 GiB"},
      {20 * MIB, VS_UNIT_BINARY, "20.00 MiB"},
      {100 * MIB - 1, VS_UNIT_BINARY, "100.0 MiB"},
      {100 * MIB, VS_UNIT_BINARY, "100.0 MiB"},
      {999 * MIB + 1004 * KIB, VS_UNIT_BINARY, "1000 MiB"},
      {1023 * MIB, VS_UNIT_BINARY, "1023 MiB"},
      {1023 * MIB + 511 * KIB, VS_UNIT_BINARY, "1023 MiB"},
      {1023 * MIB + 512 * KIB, VS_UNIT_BINARY, "1.00 GiB"}, /* never "1024 MiB" */
      {GIB - 1, VS_UNIT_BINARY, "1.00 GiB"},
      {GIB + 5368710, VS_UNIT_BINARY, "1.01 GiB"}, /* 1.005 rounds up */
      {GIB + 5368709, VS_UNIT_BINARY, "1.00 GiB"},
      {80 * GIB, VS_UNIT_BINARY, "80.00 GiB"},
      {1024 * GIB - 1, VS_UNIT_BINARY, "1.00 TiB"},
      {UINT64_MAX, VS_UNIT_BINARY, "16.00 EiB"},
      {999, VS_UNIT_SI, "999 B"},
      {1000, VS_UNIT_SI, "1.00 kB"},
      {1536 * MIB, VS_UNIT_SI, "1.61 GB"},
      {999949, VS_UNIT_SI, "999.9 kB"},
      {999950, VS_UNIT_SI, "1.00 MB"},
      {UINT64_MAX, VS_UNIT_SI, "18.45 EB"},
      {1536 * MIB, VS_UNIT_PLAIN, "1,610,612,736 B"},
      {7, VS_UNIT_PLAIN, "7 B"},
  };
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_text_bytes(&text, cases[i].bytes, cases[i].unit);
    vs_text_byte(&text, 0);
    assert_string_equal(text.bytes.data, cases[i].text);
    text.bytes.count = 0;
  }
  vs_text_deinit(&text);
}

static void bytes_up(void **state) {
  (void)state;
  static const struct {
    uint64_t bytes;
    vs_unit unit;
    const char *text;
  } cases[] = {
      {0, VS_UNIT_BINARY, "0 B"},
      {1023, VS_UNIT_BINARY, "1,023 B"},
      {1024, VS_UNIT_BINARY, "1.00 KiB"},
      {1536 * MIB, VS_UNIT_BINARY, "1.50 GiB"},
      {1536 * MIB + 1, VS_UNIT_BINARY, "1.51 GiB"},
      {100 * MIB + 1, VS_UNIT_BINARY, "100.1 MiB"},
      {1023 * MIB, VS_UNIT_BINARY, "1023 MiB"},
      {1023 * MIB + 1, VS_UNIT_BINARY, "1.00 GiB"},
      {UINT64_MAX, VS_UNIT_BINARY, "16.00 EiB"},
      {1500 * MIB, VS_UNIT_SI, "1.58 GB"}, /* 1.5729 */
      {1536 * MIB, VS_UNIT_PLAIN, "1,610,612,736 B"},
  };
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_text_bytes_up(&text, cases[i].bytes, cases[i].unit);
    vs_text_byte(&text, 0);
    assert_string_equal(text.bytes.data, cases[i].text);
    text.bytes.count = 0;
  }
  vs_text_deinit(&text);
}

static void changes(void **state) {
  (void)state;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_bytes_change(&text, 0, VS_UNIT_BINARY);
  expect_text(&text, "0 B");
  vs_text_bytes_change(&text, (int64_t)(1536 * MIB), VS_UNIT_BINARY);
  expect_text(&text, "+1.50 GiB");
  vs_text_bytes_change(&text, -(int64_t)(20 * MIB), VS_UNIT_BINARY);
  expect_text(&text, "-20.00 MiB");
  vs_text_bytes_change(&text, INT64_MIN, VS_UNIT_PLAIN);
  expect_text(&text, "-9,223,372,036,854,775,808 B");
  vs_text_deinit(&text);
}

static void counts(void **state) {
  (void)state;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_count(&text, 0);
  expect_text(&text, "0");
  vs_text_count(&text, 999);
  expect_text(&text, "999");
  vs_text_count(&text, 1000);
  expect_text(&text, "1,000");
  vs_text_count(&text, 1000007);
  expect_text(&text, "1,000,007");
  vs_text_count(&text, UINT64_MAX);
  expect_text(&text, "18,446,744,073,709,551,615");
  vs_text_deinit(&text);
}

static void counted_nouns(void **state) {
  (void)state;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_counted(&text, 1, "block");
  expect_text(&text, "1 block");
  vs_text_counted(&text, 12000, "block");
  expect_text(&text, "12,000 blocks");
  vs_text_counted(&text, 1, "entry");
  expect_text(&text, "1 entry");
  vs_text_counted(&text, 2, "entry");
  expect_text(&text, "2 entries");
  vs_text_counted(&text, 0, "key");
  expect_text(&text, "0 keys");
  vs_text_deinit(&text);
}

static void durations(void **state) {
  (void)state;
  static const struct {
    uint64_t microseconds;
    const char *text;
  } cases[] = {
      {0, "0 us"},
      {999, "999 us"},
      {1000, "1.0 ms"},
      {8500, "8.5 ms"},
      {9949, "9.9 ms"},
      {9950, "10 ms"},
      {85000, "85 ms"},
      {999499, "999 ms"},
      {999500, "1.00 s"},
      {1240000, "1.24 s"},
      {9994999, "9.99 s"},
      {9995000, "10.0 s"},
      {42500000, "42.5 s"},
      {59949999, "59.9 s"},
      {59950000, "1 min 00 s"},
      {125000000, "2 min 05 s"},
      {UINT64_C(3599499999), "59 min 59 s"},
      {UINT64_C(3599500000), "1 h 00 min"},
      {UINT64_C(11520000000), "3 h 12 min"},
      {UINT64_C(86369999999), "23 h 59 min"},
      {UINT64_C(86370000000), "1 d 00 h"},
      {UINT64_C(183600000000), "2 d 03 h"},
      {UINT64_MAX, "213503982 d 08 h"},
  };
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_text_duration(&text, cases[i].microseconds);
    vs_text_byte(&text, 0);
    assert_string_equal(text.bytes.data, cases[i].text);
    text.bytes.count = 0;
  }
  vs_text_deinit(&text);
}

static void shares(void **state) {
  (void)state;
  static const struct {
    uint64_t part, whole;
    const char *text;
  } cases[] = {
      {0, 7, "0.0%"},
      {123, 1000, "12.3%"},
      {1235, 10000, "12.4%"},
      {1, 1, "100.0%"},
      {3, 2, "150.0%"},
      {1, 2001, "<0.1%"},
      {1, 2000, "0.1%"},
      {2000, 2001, ">99.9%"},
      {999, 1000, "99.9%"},
      {0, 0, "-%"},
      {5, 0, "-%"},
      {UINT64_MAX / 2, UINT64_MAX, "50.0%"},
      {UINT64_MAX - 1, UINT64_MAX, ">99.9%"},
      {1, UINT64_MAX, "<0.1%"},
  };
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_text_percent(&text, cases[i].part, cases[i].whole);
    vs_text_byte(&text, 0);
    assert_string_equal(text.bytes.data, cases[i].text);
    text.bytes.count = 0;
  }
  vs_text_percent(&text, UINT64_MAX, 1);
  assert_int_equal(text.status, VS_OK);
  vs_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes),  cmocka_unit_test(bytes_up),      cmocka_unit_test(changes),
      cmocka_unit_test(counts), cmocka_unit_test(counted_nouns), cmocka_unit_test(durations),
      cmocka_unit_test(shares),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
