#include "codec/csv_writer.h"
#include "base/double_text.h"

void vs_csv_begin(vs_csv *csv, vs_text *text) { *csv = (vs_csv){.text = text}; }

static void begin_field(vs_csv *csv) {
  if (csv->in_row) vs_text_byte(csv->text, ',');
  csv->in_row = true;
}

static bool needs_quotes(vs_str value) {
  for (size_t i = 0; i < value.size; i++) {
    const char c = value.data[i];
    if (c == ',' || c == '"' || c == '\r' || c == '\n') return true;
  }
  return value.size == 0;
}

void vs_csv_str(vs_csv *csv, vs_str value) {
  begin_field(csv);
  if (!needs_quotes(value)) {
    vs_text_str(csv->text, value);
    return;
  }
  vs_text_byte(csv->text, '"');
  for (size_t i = 0; i < value.size; i++) {
    if (value.data[i] == '"') vs_text_byte(csv->text, '"');
    vs_text_byte(csv->text, (uint8_t)value.data[i]);
  }
  vs_text_byte(csv->text, '"');
}

void vs_csv_u64(vs_csv *csv, uint64_t value) {
  begin_field(csv);
  vs_text_u64(csv->text, value);
}

void vs_csv_i64(vs_csv *csv, int64_t value) {
  begin_field(csv);
  vs_text_i64(csv->text, value);
}

void vs_csv_f64(vs_csv *csv, double value) {
  begin_field(csv);
  if (vs_f64_is_finite(value)) vs_text_f64(csv->text, value);
}

void vs_csv_unknown(vs_csv *csv) { begin_field(csv); }

void vs_csv_row_end(vs_csv *csv) {
  VS_ASSERT(csv->in_row);
  vs_text_cstr(csv->text, "\r\n");
  csv->in_row = false;
}

/* ---- typed rows */

void vs_csv_names(vs_csv *csv, const vs_record_type *type) {
  for (size_t i = 0; i < type->field_count; i++) vs_csv_str(csv, vs_str_from(type->fields[i].name));
  vs_csv_row_end(csv);
}

static void put_value(vs_csv *csv, vs_field_type type, const vs_record_column *column, size_t row) {
  const uint64_t value = column->values.data[row];
  if (!column->known.data[row]) {
    vs_csv_unknown(csv);
    return;
  }
  switch (type) {
    case VS_FIELD_I64: vs_csv_i64(csv, (int64_t)value); break;
    case VS_FIELD_U64:
    case VS_FIELD_BOOL: vs_csv_u64(csv, value); break;
    case VS_FIELD_F64: vs_csv_f64(csv, vs_f64_from_bits(value)); break;
    case VS_FIELD_TEXT: vs_csv_str(csv, vs_record_str(column, row)); break;
  }
}

void vs_csv_records(vs_csv *csv, const vs_records *records) {
  const vs_record_type *type = records->type;
  if (csv->text->status == VS_OK) csv->text->status = records->status;
  for (size_t row = 0; row < records->count; row++) {
    for (size_t i = 0; i < type->field_count; i++)
      put_value(csv, type->fields[i].type, &records->columns[i], row);
    vs_csv_row_end(csv);
  }
}
