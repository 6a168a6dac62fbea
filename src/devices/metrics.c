/* Single figures. A slow one is asked again only when the last answer is old; one for which NVML takes a lock is asked only
 * if the options allow it. */
#include "devices/state.h"

/* Whether *to could be answered without asking NVML. */
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

/* `count` is at most VS_METRIC_ID_COUNT, the size of the arrays. */
static void ask_some(vs_devices *devices, uint32_t unit, const vs_metric_id *ids, size_t count,
                     vs_metric *to) {
  vs_metric_id asked[VS_METRIC_ID_COUNT];
  vs_metric told[VS_METRIC_ID_COUNT];
  size_t places[VS_METRIC_ID_COUNT], number = 0;
  VS_ASSERT(count <= VS_METRIC_ID_COUNT && vs_devices_has(devices, unit));
  for (size_t i = 0; i < count; i++) {
    if (is_spared(devices, unit, ids[i], &to[i])) continue;
    VS_ASSERT(vs_metric_describe(ids[i]) != NULL); /* is_spared answers unknown numbers */
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
