#include "codec/records.h"
#include "base/double_text.h"

enum { MOST_ROWS = 64 * 1024, MOST_TEXT = 8 * 1024 * 1024 };

void vs_records_init(vs_records *records, const vs_host *host, const vs_record_type *type) {
  VS_ASSERT(type->field_count >= 1 && type->field_count <= VS_RECORDS_MOST_FIELDS);
  *records = (vs_records){.host = host, .type = type, .status = VS_OK};
  for (size_t i = 0; i < type->field_count; i++) vs_text_init(&records->columns[i].text, host, NULL);
}

void vs_records_deinit(vs_records *records) {
  for (size_t i = 0; i < records->type->field_count; i++) {
    vs_vec_free(records->host, &records->columns[i].values);
    vs_vec_free(records->host, &records->columns[i].known);
    vs_text_deinit(&records->columns[i].text);
  }
}

/* ---- values */

static vs_status put(vs_records *records, vs_record_column *column, bool is_known, uint64_t value) {
  VS_TRY(vs_vec_reserve(records->host, &column->values, 1));
  VS_TRY(vs_vec_reserve(records->host, &column->known, 1));
  column->values.data[column->values.count++] = value;
  column->known.data[column->known.count++] = is_known;
  column->nulls += !is_known;
  return VS_OK;
}

/* The column of the next field; NULL after a failure. */
static vs_record_column *take(vs_records *records, vs_field_type type, bool is_any) {
  VS_ASSERT(records->next < records->type->field_count);
  VS_ASSERT(is_any || records->type->fields[records->next].type == type);
  vs_record_column *column = &records->columns[records->next++];
  return records->status == VS_OK ? column : NULL;
}

static void put_number(vs_records *records, vs_field_type type, bool is_known, uint64_t value) {
  vs_record_column *column = take(records, type, false);
  if (column != NULL) records->status = put(records, column, is_known, is_known ? value : 0);
}

void vs_records_null(vs_records *records) {
  vs_record_column *column = take(records, VS_FIELD_I64, true);
  if (column != NULL) records->status = put(records, column, false, column->text.bytes.count);
}

void vs_records_i64(vs_records *records, int64_t value) {
  put_number(records, VS_FIELD_I64, true, (uint64_t)value);
}

void vs_records_u64(vs_records *records, uint64_t value) {
  VS_ASSERT(records->next < records->type->field_count);
  if (records->type->fields[records->next].type == VS_FIELD_U64)
    put_number(records, VS_FIELD_U64, true, value);
  else put_number(records, VS_FIELD_I64, value <= INT64_MAX, value);
}

void vs_records_f64(vs_records *records, double value) {
  put_number(records, VS_FIELD_F64, vs_f64_is_finite(value), vs_f64_to_bits(value));
}

void vs_records_bool(vs_records *records, bool value) { put_number(records, VS_FIELD_BOOL, true, value); }

void vs_records_str(vs_records *records, vs_str value) {
  vs_record_column *column = take(records, VS_FIELD_TEXT, false);
  if (column == NULL) return;
  vs_text_clean(&column->text, value);
  records->status = column->text.status;
  if (records->status == VS_OK) records->status = put(records, column, true, column->text.bytes.count);
}

/* ---- rows */

void vs_records_row_end(vs_records *records) {
  VS_ASSERT(records->next == records->type->field_count);
  records->next = 0;
  if (records->status == VS_OK) records->count++;
}

bool vs_records_is_full(const vs_records *records) {
  size_t bytes = 0;
  for (size_t i = 0; i < records->type->field_count; i++) bytes += records->columns[i].text.bytes.count;
  return records->count >= MOST_ROWS || bytes >= MOST_TEXT;
}

void vs_records_clear(vs_records *records) {
  VS_ASSERT(records->next == 0);
  for (size_t i = 0; i < records->type->field_count; i++) {
    vs_record_column *column = &records->columns[i];
    column->values.count = column->known.count = column->text.bytes.count = column->nulls = 0;
  }
  records->count = 0;
}
