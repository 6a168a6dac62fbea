/* Arrow's C data interface over a file of arrow_writer.h: types, values, who releases what and when; damaged files. What readers that are not ours make of
 * it: tests/python/test_table.py. */
#include "codec/arrow_c.h"
#include "codec/arrow_writer.h"
#include "support/test.h"

static const vs_field fields[] = {{"n", VS_FIELD_I64},
                                  {"address", VS_FIELD_U64},
                                  {"part", VS_FIELD_F64},
                                  {"is_odd", VS_FIELD_BOOL},
                                  {"name", VS_FIELD_TEXT}};
static const vs_record_type type = {"sample", fields, 5};
enum { COLUMNS = 5, FIRST = 3, SECOND = 20 };

/* Row i: i, 2^64 - 1 - i, i / 2, whether it is odd, "row i"; every third row is unknown but for its number. */
static void put_rows(vs_records *records, int from, int count) {
  for (int i = from; i < from + count; i++) {
    char name[16];
    vs_records_i64(records, i);
    vs_format(name, sizeof name, "row %d", i);
    if (i % 3 == 2) {
      for (int k = 1; k < COLUMNS; k++) vs_records_null(records);
    } else {
      vs_records_u64(records, UINT64_MAX - (uint64_t)i);
      vs_records_f64(records, i / 2.0);
      vs_records_bool(records, i % 2 != 0);
      vs_records_str(records, vs_str_from(name));
    }
    vs_records_row_end(records);
  }
}

static void write_file(vs_text *text) {
  vs_arrow arrow;
  vs_records records;
  vs_text_init(text, vs_host_default(), NULL);
  vs_records_init(&records, vs_host_default(), &type);
  vs_arrow_begin(&arrow, text, &type);
  put_rows(&records, 0, FIRST);
  vs_arrow_records(&arrow, &records);
  vs_records_clear(&records);
  put_rows(&records, FIRST, SECOND);
  vs_arrow_records(&arrow, &records);
  vs_arrow_end(&arrow);
  vs_arrow_deinit(&arrow);
  vs_records_deinit(&records);
  assert_int_equal(text->status, VS_OK);
}

static void count_drop(void *owner) { ++*(int *)owner; }

static vs_status open_stream(vs_str file, int *drops, struct ArrowArrayStream *stream) {
  *drops = 0;
  const vs_arrow_bytes bytes = {.file = file, .owner = drops, .drop = count_drop};
  return vs_arrow_stream(vs_host_default(), &bytes, stream);
}

/* ---- what is in it */

static bool bit(const void *bits, int64_t row) {
  return (((const uint8_t *)bits)[row / 8] >> (row % 8) & 1) != 0;
}

static void expect_batch(const struct ArrowArray *batch, int from) {
  const struct ArrowArray *const *column = (const struct ArrowArray *const *)batch->children;
  assert_int_equal(batch->n_children, COLUMNS);
  assert_int_equal(batch->n_buffers, 1);
  assert_null(batch->buffers[0]);
  assert_int_equal(column[0]->null_count, 0);
  assert_null(column[0]->buffers[0]);
  for (int64_t i = 0; i < batch->length; i++) {
    const int64_t n = from + i;
    assert_int_equal(((const int64_t *)column[0]->buffers[1])[i], n);
    assert_int_equal(bit(column[1]->buffers[0], i), n % 3 != 2);
    if (n % 3 == 2) continue;
    char name[16];
    vs_format(name, sizeof name, "row %D", n);
    const int32_t *ends = column[4]->buffers[1];
    assert_true(((const uint64_t *)column[1]->buffers[1])[i] == UINT64_MAX - (uint64_t)n);
    assert_true(((const double *)column[2]->buffers[1])[i] == (double)n / 2);
    assert_int_equal(bit(column[3]->buffers[1], i), n % 2 != 0);
    const vs_str text = {(const char *)column[4]->buffers[2] + ends[i], (size_t)(ends[i + 1] - ends[i])};
    expect_str_at(text, vs_str_from(name), __FILE__, __LINE__);
  }
}

static void test_schema_and_rows(void **state) {
  static const char *const formats[] = {"l", "L", "g", "b", "u"};
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct ArrowArray batch;
  vs_text file;
  int drops;
  (void)state;
  write_file(&file);
  assert_int_equal(open_stream(vs_text_view(&file), &drops, &stream), VS_OK);
  assert_int_equal(stream.get_schema(&stream, &schema), 0);
  assert_string_equal(schema.format, "+s");
  assert_int_equal(schema.n_children, COLUMNS);
  for (size_t i = 0; i < COLUMNS; i++) {
    assert_string_equal(schema.children[i]->format, formats[i]);
    assert_string_equal(schema.children[i]->name, fields[i].name);
    assert_int_equal(schema.children[i]->flags, ARROW_FLAG_NULLABLE);
  }
  schema.release(&schema);
  assert_null(schema.release);
  for (int from = 0, rows = FIRST; rows != 0; from += rows, rows = from == FIRST ? SECOND : 0) {
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    assert_int_equal(batch.length, rows);
    expect_batch(&batch, from);
    batch.release(&batch);
    assert_null(batch.release);
  }
  assert_int_equal(stream.get_next(&stream, &batch), 0);
  assert_null(batch.release); /* the end */
  assert_null(stream.get_last_error(&stream));
  stream.release(&stream);
  assert_null(stream.release);
  assert_int_equal(drops, 1);
  vs_text_deinit(&file);
}

/* ---- who keeps the bytes */

/* A consumer moves a child out of its batch, and releases it after everything else. */
static void test_a_child_outlives_the_rest(void **state) {
  struct ArrowArrayStream stream;
  struct ArrowSchema schema, field;
  struct ArrowArray batch, column;
  vs_text file;
  int drops;
  (void)state;
  write_file(&file);
  assert_int_equal(open_stream(vs_text_view(&file), &drops, &stream), VS_OK);
  assert_int_equal(stream.get_schema(&stream, &schema), 0);
  assert_int_equal(stream.get_next(&stream, &batch), 0);
  field = *schema.children[4];
  schema.children[4]->release = NULL;
  column = *batch.children[0];
  batch.children[0]->release = NULL;
  stream.release(&stream);
  schema.release(&schema);
  batch.release(&batch);
  assert_int_equal(drops, 0);
  assert_string_equal(field.name, "name");
  assert_int_equal(((const int64_t *)column.buffers[1])[2], 2);
  column.release(&column);
  assert_int_equal(drops, 0);
  field.release(&field);
  assert_int_equal(drops, 1);
  vs_text_deinit(&file);
}

/* ---- damaged files */

/* Reads all that can be read. */
static void read_through(vs_str file) {
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct ArrowArray batch;
  int drops;
  if (open_stream(file, &drops, &stream) == VS_OK) {
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    schema.release(&schema);
    for (int i = 0; i < 100; i++) {
      const int code = stream.get_next(&stream, &batch);
      if (code != 0) assert_non_null(stream.get_last_error(&stream));
      if (batch.release == NULL) break;
      batch.release(&batch);
    }
    stream.release(&stream);
  }
  assert_int_equal(drops, 1);
}

static void test_damaged(void **state) {
  static const uint8_t values[] = {0, 1, 7, 0x7f, 0x80, 0xff};
  vs_text file;
  (void)state;
  write_file(&file);
  for (size_t i = 0; i < file.bytes.count; i++) {
    const char byte = file.bytes.data[i];
    for (size_t k = 0; k < sizeof values; k++) {
      file.bytes.data[i] = (char)values[k];
      read_through(vs_text_view(&file));
    }
    file.bytes.data[i] = byte;
    read_through((vs_str){file.bytes.data, i});
  }
  vs_text_deinit(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_schema_and_rows),
                                     cmocka_unit_test(test_a_child_outlives_the_rest),
                                     cmocka_unit_test(test_damaged)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
