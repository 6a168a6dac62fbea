#include <vramscope/metric.h>

#include "device/telemetry.h"

#include <stddef.h>

const char *vs_reason_name(vs_reason reason) {
  switch (reason) {
#define VS_REASON(name, number, text) \
  case VS_REASON_##name:              \
    return #name;
#include <vramscope/reasons.def>
#undef VS_REASON
  }
  return "?";
}

const char *vs_reason_text(vs_reason reason) {
  switch (reason) {
#define VS_REASON(name, number, text) \
  case VS_REASON_##name:              \
    return text;
#include <vramscope/reasons.def>
#undef VS_REASON
  }
  return "?";
}

static const vs_metric_description numbers[VS_METRIC_ID_COUNT] = {
#define VS_METRIC(name, unit, cost, text) {#name, text, VS_METRIC_##unit, VS_METRIC_##cost},
#define VS_METRIC_TEXT(name, cost, text)
#include <vramscope/metrics.def>
#undef VS_METRIC
#undef VS_METRIC_TEXT
};

static const vs_metric_description texts[VS_METRIC_TEXT_ID_COUNT] = {
#define VS_METRIC(name, unit, cost, text)
#define VS_METRIC_TEXT(name, cost, text) {#name, text, VS_METRIC_ENUM, VS_METRIC_##cost},
#include <vramscope/metrics.def>
#undef VS_METRIC
#undef VS_METRIC_TEXT
};

const vs_metric_description *vs_metric_describe(vs_metric_id id) {
  return (unsigned)id < VS_METRIC_ID_COUNT ? &numbers[id] : NULL;
}

const vs_metric_description *vs_metric_describe_text(vs_metric_text_id id) {
  return (unsigned)id < VS_METRIC_TEXT_ID_COUNT ? &texts[id] : NULL;
}

const char *vs_process_kind_text(uint32_t kinds) {
  if (kinds & VS_PROCESS_MPS) return "M";
  if ((kinds & VS_PROCESS_ALL) == (VS_PROCESS_COMPUTE | VS_PROCESS_GRAPHICS)) return "C+G";
  if (kinds & VS_PROCESS_GRAPHICS) return "G";
  return kinds & VS_PROCESS_COMPUTE ? "C" : "?";
}
