/* Writes tables as SQL text for SQLite, one statement on each line: control bytes inside text are written as char(n), so a reader may
 * cut at line feeds. */
#ifndef VS_CODEC_SQL_WRITER_H
#define VS_CODEC_SQL_WRITER_H

#include "codec/records.h"

/* A text as a value: U+FFFD for each invalid byte. */
void vs_sql_str(vs_text *text, vs_str value);

/* CREATE TABLE. A truth value is an INTEGER, 0 or 1. */
void vs_sql_table(vs_text *text, const vs_record_type *type);
/* INSERT of all rows; nothing if there are none. */
void vs_sql_records(vs_text *text, const vs_records *records);

#endif
