#include "analyze/library_course.h"
#include "base/mem.h"

/* A file of a library, by the string of its path. */
typedef struct file {
  uint64_t bytes;
  uint32_t path;
  size_t row;
} file;

typedef struct state {
  const vs_host *host;
  const vs_snapshot *snapshot;
  VS_VEC(file) files;
  vs_library_course *out;
} state;

static vs_status row_of(state *s, vs_str name, size_t *row) {
  vs_library_course *out = s->out;
  for (*row = 0; *row < out->list.count; ++*row)
    if (vs_str_equal(out->list.data[*row].name, name)) return VS_OK;
  VS_TRY(vs_vec_reserve(s->host, &out->list, 1));
  out->list.data[out->list.count++] = (vs_library_row){.name = name};
  return VS_OK;
}

static vs_status file_of(state *s, uint32_t path, file **found) {
  for (size_t i = 0; i < s->files.count; i++)
    if (s->files.data[i].path == path) {
      *found = &s->files.data[i];
      return VS_OK;
    }
  if (s->files.count == VS_MOST_LIBRARIES) return VS_LIMIT;
  file new = {.path = path};
  VS_TRY(row_of(s, vs_library_name(vs_snapshot_string(s->snapshot, path)), &new.row));
  VS_TRY(vs_vec_reserve(s->host, &s->files, 1));
  *found = &s->files.data[s->files.count++];
  **found = new;
  return VS_OK;
}

static void note_peak(vs_library_course *out, int64_t time_us) {
  if (out->end <= out->peak) return;
  out->peak = out->end;
  out->peak_us = time_us;
  for (size_t i = 0; i < out->list.count; i++) out->list.data[i].at_peak = out->list.data[i].now;
}

static vs_status take(state *s, const vs_library_memory *from) {
  file *at;
  vs_library_course *out = s->out;
  VS_TRY(file_of(s, from->name, &at));
  vs_library_row *row = &out->list.data[at->row];
  const uint64_t others = out->end - at->bytes, others_of_row = row->now - at->bytes;
  if (from->bytes > UINT64_MAX - others) return VS_LIMIT; /* a damaged file */
  at->bytes = from->bytes;
  out->end = others + from->bytes;
  row->now = others_of_row + from->bytes;
  if (row->now > row->peak) row->peak = row->now;
  note_peak(out, from->time_us);
  return VS_OK;
}

static vs_status follow(state *s, int32_t device, bool has_pytorch) {
  bool is_told = !has_pytorch, is_missed = false;
  for (size_t i = 0; i < s->snapshot->libraries.count; i++) {
    const vs_library_memory *from = &s->snapshot->libraries.data[i];
    if (from->device != device) continue;
    const bool is_sentence = from->name == VS_STRING_EMPTY;
    const bool is_lost = from->name == VS_STRING_NONE; /* the name of a library, with a frame of the file */
    if (!is_sentence && !is_lost) VS_TRY(take(s, from));
    is_told = is_told || (is_sentence && from->bytes != 0);
    is_missed = is_missed || is_lost || (is_sentence && from->bytes == 0);
  }
  s->out->is_complete = is_told && !is_missed;
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
  state s = {.host = host, .snapshot = snapshot, .out = out};
  vs_status status = follow(&s, device, has_pytorch);
  vs_vec_free(host, &s.files);
  if (status == VS_LIMIT) out->is_complete = false;
  if (status == VS_LIMIT) status = VS_OK;
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
