#include "codec/sql_writer.h"
#include "base/double_text.h"

enum { ROWS_IN_STATEMENT = 200 };

void vs_sql_str(vs_text *text, vs_str value) {
  vs_text_byte(text, '\'');
  while (value.size != 0) {
    size_t plain = 0;
    while (plain < value.size && value.data[plain] != '\'' && (uint8_t)value.data[plain] >= 0x20) plain++;
    vs_text_clean(text, (vs_str){value.data, plain});
    if (plain == value.size) break;
    if (value.data[plain] == '\'') vs_text_cstr(text, "''");
    else vs_text_format(text, "'||char(%u)||'", (unsigned)(uint8_t)value.data[plain]);
    value = (vs_str){value.data + plain + 1, value.size - plain - 1};
  }
  vs_text_byte(text, '\'');
}

void vs_sql_table(vs_text *text, const vs_record_type *type) {
  static const char *const types[] = {[VS_FIELD_I64] = "INTEGER",
                                      [VS_FIELD_U64] = "INTEGER",
                                      [VS_FIELD_F64] = "REAL",
                                      [VS_FIELD_BOOL] = "INTEGER",
                                      [VS_FIELD_TEXT] = "TEXT"};
  vs_text_format(text, "CREATE TABLE %s(", type->name);
  for (size_t i = 0; i < type->field_count; i++)
    vs_text_format(text, "%s%s %s", i == 0 ? "" : ",", type->fields[i].name, types[type->fields[i].type]);
  vs_text_cstr(text, ");\n");
}

static void put_value(vs_text *text, vs_field_type type, const vs_record_column *column, size_t row) {
  const uint64_t value = column->values.data[row];
  if (!column->known.data[row]) {
    vs_text_cstr(text, "NULL");
    return;
  }
  switch (type) {
    case VS_FIELD_I64:
    case VS_FIELD_U64: /* SQLite's integers are signed: one of 2^63 or more is negative */
    case VS_FIELD_BOOL: vs_text_i64(text, (int64_t)value); break;
    case VS_FIELD_F64: vs_text_f64(text, vs_f64_from_bits(value)); break;
    case VS_FIELD_TEXT: vs_sql_str(text, vs_record_str(column, row)); break;
  }
}

void vs_sql_records(vs_text *text, const vs_records *records) {
  const vs_record_type *type = records->type;
  if (text->status == VS_OK) text->status = records->status;
  for (size_t row = 0; row < records->count; row++) {
    if (row % ROWS_IN_STATEMENT != 0) vs_text_cstr(text, ",(");
    else vs_text_format(text, "%sINSERT INTO %s VALUES(", row == 0 ? "" : ";\n", type->name);
    for (size_t i = 0; i < type->field_count; i++) {
      if (i != 0) vs_text_byte(text, ',');
      put_value(text, type->fields[i].type, &records->columns[i], row);
    }
    vs_text_byte(text, ')');
  }
  if (records->count != 0) vs_text_cstr(text, ";\n");
}
