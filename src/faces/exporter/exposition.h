/* Metrics as text, in the two formats that Prometheus and its relatives read: OpenMetrics 1.0, and the older text format (0.0.4), which
 * node_exporter's textfile collector takes. https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md,
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 *
 *   vs_exposition_family(e, &family);                              once, then all of its samples
 *   vs_exposition_begin(e, &family);                               a sample
 *   vs_exposition_label(e, "gpu", VS_STR("0"));
 *   vs_exposition_value(e, (vs_decimal){.digits = 61234, .places = 2});     612.34
 *   ...
 *   vs_exposition_end(e);
 *
 * A label's value may be any bytes: what is not UTF-8 becomes U+FFFD, and what would end the label is escaped. */
#ifndef VS_EXPORTER_EXPOSITION_H
#define VS_EXPORTER_EXPOSITION_H

#include "base/text.h"

typedef enum vs_exposition_format { VS_EXPOSITION_OPENMETRICS, VS_EXPOSITION_TEXT } vs_exposition_format;

typedef enum vs_family_type {
  VS_FAMILY_GAUGE,
  VS_FAMILY_COUNTER, /* only grows, or begins again at 0; its samples end with _total */
  VS_FAMILY_INFO,    /* always 1, for its labels; its samples end with _info */
} vs_family_type;

/* Texts are constant. */
typedef struct vs_family {
  const char *name; /* without _total and _info, with the unit */
  vs_family_type type;
  const char *unit; /* "bytes", "" for none; the end of the name */
  const char *help;
} vs_family;

/* digits / 10^places, exactly. */
typedef struct vs_decimal {
  int64_t digits;
  uint32_t places; /* at most 9 */
} vs_decimal;

typedef struct vs_exposition {
  vs_text *text;
  vs_exposition_format format;
  bool has_labels; /* of the sample that is being written */
} vs_exposition;

/* The value of the Content-Type header. */
const char *vs_exposition_type(vs_exposition_format format);

void vs_exposition_family(vs_exposition *e, const vs_family *family);
void vs_exposition_begin(vs_exposition *e, const vs_family *family);
void vs_exposition_label(vs_exposition *e, const char *name, vs_str value);
void vs_exposition_value(vs_exposition *e, vs_decimal value);
void vs_exposition_end(vs_exposition *e);

#endif
