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
