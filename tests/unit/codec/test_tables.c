/* Typed rows, and their writers. `unit.codec.tables FOLDER` writes the sample in each format, in three batches, for readers that are not ours
 * (tests/cli/test_merge.py). */
#include "codec/arrow_writer.h"
#include "codec/parquet_writer.h"
#include "codec/sql_writer.h"
#include "support/test.h"
#if !VS_FREESTANDING
#include <stdio.h>
#endif

static const vs_field fields[] = {{"n", VS_FIELD_I64},       {"part", VS_FIELD_F64},
                                  {"is_odd", VS_FIELD_BOOL}, {"name", VS_FIELD_TEXT},
                                  {"never", VS_FIELD_TEXT},  {"address", VS_FIELD_U64}};
static const vs_record_type type = {"sample", fields, 6};
enum { ROWS = 1000 };

/* Row i: i - 500, i / 8, whether it is odd, one of 37 names, nothing, 2^64 - 1 - i. Every seventh row is unknown but for its number. */
static void put_row(vs_records *records, int i) {
  char name[32];
  const bool is_known = i % 7 != 6;
  vs_records_i64(records, i - 500);
  if (is_known) vs_records_f64(records, i / 8.0);
  else vs_records_null(records);
  if (is_known) vs_records_bool(records, i % 2 != 0);
  else vs_records_null(records);
  vs_format(name, sizeof name, i % 37 == 0 ? "" : "größe'\n%d", i % 37);
  if (is_known) vs_records_str(records, vs_str_from(name));
  else vs_records_null(records);
  vs_records_null(records);
  if (is_known) vs_records_u64(records, UINT64_MAX - (uint64_t)i);
  else vs_records_null(records);
  vs_records_row_end(records);
}

typedef struct sample {
  vs_text text;
  vs_records records;
  vs_arrow arrow;
  vs_parquet parquet;
  char format; /* 's', 'a' or 'p' */
} sample;

static void put_batch(sample *s) {
  if (s->format == 's') vs_sql_records(&s->text, &s->records);
  if (s->format == 'a') vs_arrow_records(&s->arrow, &s->records);
  if (s->format == 'p') vs_parquet_records(&s->parquet, &s->records);
  vs_records_clear(&s->records);
}

static void write_sample(sample *s, const vs_host *host, const vs_writer *writer, char format) {
  s->format = format;
  vs_text_init(&s->text, host, writer);
  vs_records_init(&s->records, host, &type);
  if (format == 's') vs_sql_table(&s->text, &type);
  if (format == 'a') vs_arrow_begin(&s->arrow, &s->text, &type);
  if (format == 'p') vs_parquet_begin(&s->parquet, &s->text, &type);
  for (int i = 0; i < ROWS; i++) {
    put_row(&s->records, i);
    if (i == 0 || i == 640) put_batch(s);
  }
  put_batch(s);
  put_batch(s); /* an empty one is nothing */
  if (format == 'a') vs_arrow_end(&s->arrow);
  if (format == 'p') vs_parquet_end(&s->parquet);
}

static void end_sample(sample *s) {
  if (s->format == 'a') vs_arrow_deinit(&s->arrow);
  if (s->format == 'p') vs_parquet_deinit(&s->parquet);
  vs_records_deinit(&s->records);
  vs_text_deinit(&s->text);
}

/* ---- rows */

static void rows_by_columns(void **state) {
  (void)state;
  vs_records records;
  vs_records_init(&records, vs_host_default(), &type);
  for (int i = 0; i < 8; i++) put_row(&records, i);
  assert_int_equal(records.status, VS_OK);
  assert_int_equal(records.count, 8);
  for (size_t i = 0; i < type.field_count; i++) {
    assert_int_equal(records.columns[i].values.count, 8);
    assert_int_equal(records.columns[i].known.count, 8);
  }
  assert_int_equal(records.columns[0].nulls, 0);
  assert_int_equal(records.columns[3].nulls, 1);
  assert_int_equal(records.columns[4].nulls, 8);
  expect_str(vs_record_str(&records.columns[3], 1), "größe'\n1");
  expect_str(vs_record_str(&records.columns[3], 6), "");
  expect_str(vs_record_str(&records.columns[3], 7), "größe'\n7");
  assert_false(vs_records_is_full(&records));
  vs_records_clear(&records);
  assert_int_equal(records.count, 0);
  vs_records_deinit(&records);
}

static void what_does_not_fit_is_unknown(void **state) {
  (void)state;
  vs_records records;
  vs_records_init(&records, vs_host_default(), &type);
  vs_records_u64(&records, UINT64_C(1) << 63);
  vs_records_f64(&records, 1e308 * 10);
  vs_records_bool(&records, true);
  vs_records_str(&records, VS_STR("\xff"
                                  "a\xed\xa0\x80"));
  vs_records_str(&records, VS_STR("a\0b"));
  vs_records_u64(&records, UINT64_C(1) << 63);
  vs_records_row_end(&records);
  assert_int_equal(records.columns[0].known.data[0], 0);
  assert_int_equal(records.columns[1].known.data[0], 0);
  expect_str(vs_record_str(&records.columns[3], 0), "\xef\xbf\xbd"
                                                    "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  expect_str(vs_record_str(&records.columns[4], 0), "a\0b");
  assert_true(records.columns[5].known.data[0] == 1 && records.columns[5].values.data[0] == UINT64_C(1)
                                                                                                << 63);
  vs_records_deinit(&records);
}

static void rows_fill_up(void **state) {
  (void)state;
  static char name[1024 * 1024];
  vs_records records;
  size_t rows = 0;
  memset(name, 'x', sizeof name);
  vs_records_init(&records, vs_host_default(), &type);
  for (; !vs_records_is_full(&records); rows++) {
    for (size_t i = 0; i < 3; i++) vs_records_null(&records);
    vs_records_str(&records, (vs_str){name, sizeof name});
    for (size_t i = 0; i < 2; i++) vs_records_null(&records);
    vs_records_row_end(&records);
  }
  assert_int_equal(rows, 8);
  vs_records_deinit(&records);
}

/* ---- SQL */

static void sql(void **state) {
  (void)state;
  vs_text text;
  vs_records records;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_records_init(&records, vs_host_default(), &type);
  vs_sql_table(&text, &type);
  expect_text(
      &text,
      "CREATE TABLE sample(n INTEGER,part REAL,is_odd INTEGER,name TEXT,never TEXT,address INTEGER);\n");
  vs_sql_records(&text, &records);
  expect_text(&text, "");
  put_row(&records, 5);
  put_row(&records, 6);
  vs_sql_records(&text, &records);
  expect_text(&text,
              "INSERT INTO sample "
              "VALUES(-495,0.625,1,'größe'''||char(10)||'5',NULL,-6),(-494,NULL,NULL,NULL,NULL,NULL);\n");
  vs_records_deinit(&records);
  vs_text_deinit(&text);
}

static void many_rows_are_several_statements(void **state) {
  (void)state;
  sample s;
  size_t statements = 0;
  write_sample(&s, vs_host_default(), NULL, 's');
  for (size_t i = 0; i < s.text.bytes.count; i++) statements += s.text.bytes.data[i] == '\n';
  assert_int_equal(statements, 1 + 1 + 4 + 2); /* the table; 1 row; 640 rows; 359 rows */
  end_sample(&s);
}

/* ---- the frames of the binary formats; their contents are judged by other readers */

static void frames(void **state) {
  (void)state;
  sample s;
  for (const char *format = "ap"; *format != 0; format++) {
    write_sample(&s, vs_host_default(), NULL, *format);
    const vs_str bytes = vs_text_view(&s.text);
    const vs_str magic = *format == 'a' ? VS_STR("ARROW1") : VS_STR("PAR1");
    assert_int_equal(s.text.status, VS_OK);
    assert_true(vs_str_starts(bytes, magic) && vs_str_ends(bytes, magic));
    assert_true(*format == 'a' ? s.arrow.blocks.count == 3 : s.parquet.rows.count == 3);
    for (size_t i = 0; *format == 'a' && i < 3; i++) assert_int_equal(s.arrow.blocks.data[i].at % 8, 0);
    end_sample(&s);
  }
}

static int test_all(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_by_columns),
      cmocka_unit_test(what_does_not_fit_is_unknown),
      cmocka_unit_test(rows_fill_up),
      cmocka_unit_test(sql),
      cmocka_unit_test(many_rows_are_several_statements),
      cmocka_unit_test(frames),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#if VS_FREESTANDING
int main(void) { return test_all(); }
#else

/* ---- the sample as files */

static vs_status write_file(void *ctx, const void *data, size_t size) {
  return fwrite(data, 1, size, ctx) == size ? VS_OK : VS_IO;
}

static int write_files(const char *folder) {
  static const char *const names[] = {"sample.sql", "arrow.arrow", "parquet.parquet"};
  for (size_t i = 0; i < 3; i++) {
    char path[512];
    sample s;
    vs_format(path, sizeof path, "%s/%s", folder, names[i]);
    FILE *file = fopen(path, "wb");
    if (file == NULL) return 1;
    const vs_writer writer = {.ctx = file, .write = write_file};
    write_sample(&s, vs_host_default(), &writer, names[i][0]);
    const bool is_written = vs_text_finish(&s.text) == VS_OK;
    end_sample(&s);
    if (fclose(file) != 0 || !is_written) return 1;
  }
  return 0;
}

int main(int argc, char **argv) { return argc > 1 ? write_files(argv[1]) : test_all(); }
#endif
