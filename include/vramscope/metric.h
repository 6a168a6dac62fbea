/* vramscope metric: one figure of a card, or the reason why it is unknown.
 *
 * "Not supported", "not permitted", "lost" and "not sampled" are different answers, and none of them is 0. So a figure is never a
 * bare number. metrics.def lists the figures of a card. */
#ifndef VRAMSCOPE_METRIC_H
#define VRAMSCOPE_METRIC_H

#include <vramscope/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vs_reason {
#define VS_REASON(name, number, text) VS_REASON_##name = (number),
#include <vramscope/reasons.def>
#undef VS_REASON
} vs_reason;

/* Invariant: value is 0 unless reason is VS_REASON_KNOWN. A metric of zeros means VS_REASON_NOT_SAMPLED. */
typedef struct vs_metric {
  vs_reason reason;
  int32_t code; /* the driver's number for the reason (NVML's return code), 0 if it gave none */
  uint64_t value;
} vs_metric;

__attribute__((unused)) static inline bool vs_metric_is_known(vs_metric metric) {
  return metric.reason == VS_REASON_KNOWN;
}

/* The name of a reason ("NO_PERMISSION") and its sentence ("not permitted to this user"); "?" for an invalid value. */
VS_API const char *vs_reason_name(vs_reason reason);
VS_API const char *vs_reason_text(vs_reason reason);

/* The unit of a metric's number. */
typedef enum vs_metric_unit {
  VS_METRIC_BYTES,
  VS_METRIC_BYTES_PER_SECOND,
  VS_METRIC_PERCENT,
  VS_METRIC_CELSIUS, /* signed: read it as an int64_t */
  VS_METRIC_MILLIWATTS,
  VS_METRIC_MILLIJOULES,
  VS_METRIC_MHZ,
  VS_METRIC_COUNT,
  VS_METRIC_MASK, /* bits */
  VS_METRIC_ENUM, /* one of a few numbers, which metrics.def lists */
  VS_METRIC_MICROSECONDS,
} vs_metric_unit;

/* The cost of reading a figure, so that a program that samples often can omit the expensive ones. */
typedef enum vs_metric_cost {
  VS_METRIC_CHEAP, /* microseconds */
  VS_METRIC_SLOW,  /* a tenth of a millisecond or more: read it about once per second */
  VS_METRIC_LOCKS, /* milliseconds in which the driver blocks other programs, or samples: read it only on request */
} vs_metric_cost;

/* The numbers of a card. New ones are added at the end of their list, so that the values of existing ones stay. */
typedef enum vs_metric_id {
#define VS_METRIC(name, unit, cost, text) VS_METRIC_ID_##name,
#define VS_METRIC_TEXT(name, cost, text)
#include <vramscope/metrics.def>
#undef VS_METRIC
#undef VS_METRIC_TEXT
  VS_METRIC_ID_COUNT
} vs_metric_id;

/* The texts of a card. */
typedef enum vs_metric_text_id {
#define VS_METRIC(name, unit, cost, text)
#define VS_METRIC_TEXT(name, cost, text) VS_METRIC_TEXT_ID_##name,
#include <vramscope/metrics.def>
#undef VS_METRIC
#undef VS_METRIC_TEXT
  VS_METRIC_TEXT_ID_COUNT
} vs_metric_text_id;

enum { VS_METRIC_TEXT_SIZE = 96 }; /* holds each text with its NUL */

typedef struct vs_metric_description {
  const char *name; /* "MEMORY_TOTAL" */
  const char *text; /* its meaning, one line */
  vs_metric_unit unit;
  vs_metric_cost cost;
} vs_metric_description;

/* NULL for an invalid number. Texts have no unit. */
VS_API const vs_metric_description *vs_metric_describe(vs_metric_id id);
VS_API const vs_metric_description *vs_metric_describe_text(vs_metric_text_id id);

#ifdef __cplusplus
}
#endif
#endif
