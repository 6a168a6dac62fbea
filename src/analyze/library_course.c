#include "analyze/library_course.h"
#include "base/mem.h"

static void note_peak(vs_library_course *out, int64_t time_us) {
  if (out->end <= out->peak) return;
  out->peak = out->end;
  out->peak_us = time_us;
  for (size_t i = 0; i < out->list.count; i++) out->list.data[i].at_peak = out->list.data[i].now;
}

/* The rows of the course stand as the uses of the fold. */
static vs_status follow(const vs_host *host, const vs_library_fold *fold, size_t use, int64_t time_us,
                        vs_library_course *out) {
  if (use == out->list.count) {
    VS_TRY(vs_vec_reserve(host, &out->list, 1));
    out->list.data[out->list.count++] = (vs_library_row){.name = fold->uses.data[use].name};
  }
  vs_library_row *row = &out->list.data[use];
  row->now = fold->uses.data[use].bytes;
  if (row->now > row->peak) row->peak = row->now;
  out->end = fold->sum;
  note_peak(out, time_us);
  return VS_OK;
}

static vs_status follow_all(const vs_host *host, const vs_snapshot *snapshot, int32_t device,
                            vs_library_fold *fold, vs_library_course *out) {
  for (size_t i = 0; i < snapshot->libraries.count && !fold->is_missed; i++) {
    const vs_library_memory *row = &snapshot->libraries.data[i];
    size_t use;
    if (row->device != device) continue;
    VS_TRY(vs_library_fold_row(host, snapshot, row, fold, &use));
    if (use != SIZE_MAX) VS_TRY(follow(host, fold, use, row->time_us, out));
  }
  out->is_complete = vs_library_fold_is_complete(fold);
  return VS_OK;
}

static bool comes_later(const vs_library_row *a, const vs_library_row *b) {
  if (a->at_peak != b->at_peak) return a->at_peak < b->at_peak;
  return a->peak != b->peak ? a->peak < b->peak : vs_str_compare(a->name, b->name) > 0;
}

static void sort(vs_library_course *out) {
  for (size_t i = 1; i < out->list.count; i++) {
    vs_library_row *at = &out->list.data[i];
    const vs_library_row moved = *at;
    for (; at != out->list.data && comes_later(at - 1, &moved); at--) *at = at[-1];
    *at = moved;
  }
}

static void leave_out_empty(vs_library_course *out) {
  size_t kept = 0;
  for (size_t i = 0; i < out->list.count; i++)
    if (out->list.data[i].peak != 0) out->list.data[kept++] = out->list.data[i];
  out->list.count = kept;
}

vs_status vs_library_course_build(const vs_host *host, const vs_snapshot *snapshot, int32_t device,
                                  bool has_pytorch, vs_library_course *out) {
  *out = (vs_library_course){.peak_us = VS_NO_TIME};
  vs_library_fold fold = {.is_told = !has_pytorch};
  const vs_status status = follow_all(host, snapshot, device, &fold, out);
  vs_library_fold_deinit(host, &fold);
  if (status != VS_OK || !out->is_complete) {
    vs_library_course_deinit(host, out);
    return status;
  }
  leave_out_empty(out);
  sort(out);
  return VS_OK;
}

void vs_library_course_deinit(const vs_host *host, vs_library_course *course) {
  vs_vec_free(host, &course->list);
  *course = (vs_library_course){.peak_us = VS_NO_TIME};
}

vs_status vs_library_devices_list(const vs_host *host, const vs_snapshot *snapshot, vs_library_devices *out) {
  *out = (vs_library_devices){0};
  for (size_t i = 0; i < snapshot->libraries.count; i++) {
    const int32_t device = snapshot->libraries.data[i].device;
    size_t at = 0;
    while (at < out->count && out->data[at] < device) at++;
    if (at < out->count && out->data[at] == device) continue;
    if (vs_vec_reserve(host, out, 1) != VS_OK) {
      vs_vec_free(host, out);
      return VS_NO_MEMORY;
    }
    for (size_t k = out->count++; k > at; k--) out->data[k] = out->data[k - 1];
    out->data[at] = device;
  }
  return VS_OK;
}
