#include "faces/tui/history.h"
#include "base/check.h"

void vs_top_history_deinit(const vs_host *host, vs_top_history *history) {
  for (size_t i = 0; i < history->tracks.count; i++)
    vs_host_free(host, history->tracks.data[i].points, VS_TOP_HISTORY * sizeof(vs_top_point));
  vs_vec_free(host, &history->tracks);
}

static vs_top_track *find(const vs_top_history *history, const char *uuid) {
  for (size_t i = 0; i < history->tracks.count; i++)
    if (vs_str_equal(vs_str_from(history->tracks.data[i].uuid), vs_str_from(uuid)))
      return &history->tracks.data[i];
  return NULL;
}

static vs_top_track *begin(const vs_host *host, vs_top_history *history, const char *uuid) {
  if (vs_vec_reserve(host, &history->tracks, 1) != VS_OK) return NULL;
  vs_top_point *points = vs_host_alloc(host, VS_TOP_HISTORY * sizeof *points);
  if (points == NULL) return NULL;
  vs_top_track *track = &history->tracks.data[history->tracks.count++];
  *track = (vs_top_track){.points = points};
  vs_format(track->uuid, sizeof track->uuid, "%s", uuid);
  return track;
}

void vs_top_history_add(const vs_host *host, vs_top_history *history, const vs_top_sample *sample) {
  for (size_t i = 0; i < sample->devices.count; i++) {
    const vs_top_device *device = &sample->devices.data[i];
    if (!vs_metric_is_known(device->memory.used)) continue;
    vs_top_track *track = find(history, device->info.uuid);
    if (track == NULL) track = begin(host, history, device->info.uuid);
    if (track == NULL) continue;
    track->points[track->next] = (vs_top_point){sample->at_us, device->memory.used.value};
    track->next = (track->next + 1) % VS_TOP_HISTORY;
    if (track->count < VS_TOP_HISTORY) track->count++;
  }
}

/* Point 0 is the newest. */
static vs_top_point point_at(const vs_top_track *track, size_t back) {
  VS_ASSERT(back < track->count && track->next < VS_TOP_HISTORY);
  return track->points[(track->next + VS_TOP_HISTORY - 1 - back) % VS_TOP_HISTORY];
}

const char *vs_top_history_check(const vs_top_history *history) {
  for (size_t i = 0; i < history->tracks.count; i++) {
    const vs_top_track *track = &history->tracks.data[i];
    if (track->points == NULL) return "a track has no points";
    if (find(history, track->uuid) != track) return "two tracks have one UUID";
    if (track->count > VS_TOP_HISTORY || track->next >= VS_TOP_HISTORY) return "a ring is out of its bounds";
    if (track->count < VS_TOP_HISTORY && track->next != track->count) return "a ring has a gap";
    for (size_t back = 1; back < track->count; back++)
      if (point_at(track, back).at_us > point_at(track, back - 1).at_us) return "times decrease";
  }
  return NULL;
}

void vs_top_history_read(const vs_top_history *history, const char *uuid, uint64_t now_us, uint64_t span_us,
                         uint64_t hold_us, uint64_t *values, size_t count) {
  const vs_top_track *track = find(history, uuid);
  const size_t known = track == NULL ? 0 : track->count;
  VS_ASSERT(span_us != 0);
  uint64_t end = (now_us / span_us + 1) * span_us; /* of the span that contains now_us */
  size_t back = 0;
  while (back < known && point_at(track, back).at_us >= end) back++; /* newer than a picture that is paused */
  for (size_t i = count; i-- > 0; end -= end < span_us ? end : span_us) {
    const uint64_t start = end < span_us ? 0 : end - span_us;
    uint64_t most = VS_TOP_GAP;
    for (; back < known && point_at(track, back).at_us >= start; back++) {
      const uint64_t used = point_at(track, back).used;
      if (most == VS_TOP_GAP || used > most) most = used;
    }
    if (most == VS_TOP_GAP && back < known) {
      const vs_top_point before = point_at(track, back);
      VS_ASSERT(before.at_us <= start);
      if (start - before.at_us <= 3 * span_us + hold_us) most = before.used;
    }
    values[i] = most;
  }
}
