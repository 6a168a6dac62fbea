/* One value of a query, as CSV writes it (nvidia-smi's way, byte for byte) and as JSON does. */
#ifndef VS_SMI_VALUE_H
#define VS_SMI_VALUE_H

#include "codec/json_writer.h"
#include "faces/smi/fields.h"
#include <vramscope/devices.h>

/* The value is `text` (borrowed) if the form of the field is a text, else the number of `metric`. */
typedef struct vs_smi_cell {
  vs_metric metric;
  vs_str text;
} vs_smi_cell;

static inline vs_smi_cell vs_smi_cell_unknown(vs_reason reason) {
  return (vs_smi_cell){.metric = {.reason = reason}, .text = {"", 0}};
}
static inline vs_smi_cell vs_smi_cell_number(uint64_t value) {
  return (vs_smi_cell){.metric = {.reason = VS_REASON_KNOWN, .value = value}, .text = {"", 0}};
}
static inline vs_smi_cell vs_smi_cell_text(const char *text) {
  return (vs_smi_cell){.metric = {.reason = VS_REASON_KNOWN}, .text = vs_str_from(text)};
}

/* ---- CSV */

/* "memory.used [MiB]": with the unit also if the values have none. */
void vs_smi_put_heading(vs_text *text, const vs_smi_field *field);
/* "512 MiB", "[N/A]". Nothing is quoted; what would end a cell or a line is a ?. */
void vs_smi_put_value(vs_text *text, const vs_smi_field *field, const vs_smi_cell *cell, bool has_unit);

/* What stands where there is no value: "[N/A]". */
const char *vs_smi_token(vs_metric metric);

enum { VS_SMI_TIME_SIZE = 32 };
/* "2026/07/03 22:10:46.109". */
void vs_smi_time(char to[static VS_SMI_TIME_SIZE], uint64_t wall_ns);

/* ---- JSON */

/* How every document begins, to its "driver" (`query` NULL: it answers none), and how it ends, with a line feed. */
void vs_smi_json_begin(vs_jsonw *w, vs_text *text, const vs_devices *devices, const char *query);
void vs_smi_json_end(vs_jsonw *w);

/* "memory.used_bytes": the name, with _bytes if the value is bytes. */
void vs_smi_json_key(vs_jsonw *w, const vs_smi_field *field);
/* The unit: "bytes", "W", "C"; null for a value that is not a number. */
void vs_smi_json_unit(vs_jsonw *w, const vs_smi_field *field);
/* A number, a boolean or a string; null for an unknown value. */
void vs_smi_json_value(vs_jsonw *w, const vs_smi_field *field, const vs_smi_cell *cell);
/* {"reason": "no_permission", "code": 4} */
void vs_smi_json_reason(vs_jsonw *w, vs_metric metric);

#endif
