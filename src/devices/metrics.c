/* Figures one by one, politely: a slow one is asked again when its answer is old, one that takes locks where it is
 * allowed. */
#include "devices/state.h"

/* The answer that stands without asking NVML, into *to; false: it has to be asked. */
static bool is_spared(vs_devices *devices, uint32_t unit, vs_metric_id id, vs_metric *to) {
  const vs_metric_description *about = vs_metric_describe(id);
  if (about == NULL) {
    *to = vs_metric_unknown(VS_REASON_NOT_FOUND);
    return true;
  }
  if (about->cost == VS_METRIC_CHEAP || (about->cost == VS_METRIC_LOCKS && devices->options.with_locks))
    return false;
  *to = vs_metric_unknown(VS_REASON_NOT_SAMPLED);
  if (about->cost == VS_METRIC_SLOW) {
    const vs_answer *answer = vs_devices__answer(devices, unit, id);
    if (!answer->is_there || vs_devices__now(devices) - answer->asked_us >= devices->options.slow_us)
      return false;
    *to = answer->metric;
  }
  devices->spared++;
  return true;
}

/* At most as many as there are kinds, so that there is room for what has to be asked. */
static void ask_some(vs_devices *devices, uint32_t unit, const vs_metric_id *ids, size_t count,
                     vs_metric *to) {
  vs_metric_id asked[VS_METRIC_ID_COUNT];
  vs_metric told[VS_METRIC_ID_COUNT];
  size_t places[VS_METRIC_ID_COUNT], number = 0;
  for (size_t i = 0; i < count; i++) {
    if (is_spared(devices, unit, ids[i], &to[i])) continue;
    places[number] = i;
    asked[number++] = ids[i];
  }
  if (number == 0) return;
  devices->telemetry.ops->metrics(devices->telemetry.ctx, unit, asked, number, told);
  for (size_t i = 0; i < number; i++) {
    to[places[i]] = told[i];
    *vs_devices__answer(devices, unit, asked[i]) =
        (vs_answer){.metric = told[i], .asked_us = vs_devices__now(devices), .is_there = true};
  }
}

void vs_devices_metrics(vs_devices *devices, uint32_t unit, const vs_metric_id *ids, size_t count,
                        vs_metric *to) {
  for (size_t i = 0; i < count; i++) to[i] = vs_metric_unknown(VS_REASON_NOT_FOUND);
  if (!vs_devices_has(devices, unit)) return;
  for (size_t i = 0; i < count; i += VS_METRIC_ID_COUNT)
    ask_some(devices, unit, ids + i, count - i < VS_METRIC_ID_COUNT ? count - i : VS_METRIC_ID_COUNT, to + i);
}

vs_metric vs_devices_metric(vs_devices *devices, uint32_t unit, vs_metric_id id) {
  vs_metric told;
  vs_devices_metrics(devices, unit, &id, 1, &told);
  return told;
}

vs_metric vs_devices_text(vs_devices *devices, uint32_t unit, vs_metric_text_id id, char *to) {
  to[0] = 0;
  if (!vs_devices_has(devices, unit) || vs_metric_describe_text(id) == NULL)
    return vs_metric_unknown(VS_REASON_NOT_FOUND);
  return devices->telemetry.ops->text(devices->telemetry.ctx, unit, id, to);
}
