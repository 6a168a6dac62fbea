#include "analyze/libraries.h"
#include "base/text.h"
#include "base/mem.h"

/* ---- names */

static const struct known {
  const char *file, *name;
} known[] = {
#define VS_LIBRARY(file, name) {file, name},
#include "analyze/libraries.def"
};

static vs_str behind(vs_str path, size_t at) { return (vs_str){path.data + at, path.size - at}; }

static vs_str file_of(vs_str path) {
  size_t at = path.size;
  while (at != 0 && path.data[at - 1] != '/') at--;
  return behind(path, at);
}

static vs_str in_packages(vs_str path) {
  static const char folder[] = "/site-packages/";
  enum { SIZE = sizeof folder - 1 };
  for (size_t at = path.size; at >= SIZE; at--)
    if (memcmp(path.data + at - SIZE, folder, SIZE) == 0) return behind(path, at);
  return file_of(path);
}

vs_str vs_library_name(vs_str path) {
  const vs_str file = file_of(path);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (vs_str_starts(file, vs_str_from(known[i].file))) return vs_str_from(known[i].name);
  return in_packages(path);
}

/* ---- row by row */

static vs_status use_of(const vs_host *host, vs_library_fold *fold, vs_str name, size_t *use) {
  for (*use = 0; *use < fold->uses.count; ++*use)
    if (vs_str_equal(fold->uses.data[*use].name, name)) return VS_OK;
  VS_TRY(vs_vec_reserve(host, &fold->uses, 1));
  fold->uses.data[fold->uses.count++] = (vs_library_use){.name = name};
  return VS_OK;
}

static vs_status file_at(const vs_host *host, const vs_snapshot *snapshot, uint32_t path,
                         vs_library_fold *fold, vs_library_file **found) {
  for (size_t i = 0; i < fold->files.count; i++)
    if (fold->files.data[i].path == path) {
      *found = &fold->files.data[i];
      return VS_OK;
    }
  if (fold->files.count == VS_MOST_LIBRARIES) return VS_LIMIT;
  vs_library_file new = {.path = path};
  VS_TRY(use_of(host, fold, vs_library_name(vs_snapshot_string(snapshot, path)), &new.use));
  VS_TRY(vs_vec_reserve(host, &fold->files, 1));
  *found = &fold->files.data[fold->files.count++];
  **found = new;
  return VS_OK;
}

/* The new total of a file takes the place of its last one. */
static vs_status take_total(const vs_host *host, const vs_snapshot *snapshot, const vs_library_memory *row,
                            vs_library_fold *fold, size_t *use) {
  vs_library_file *file;
  VS_TRY(file_at(host, snapshot, row->name, fold, &file));
  const uint64_t others = fold->sum - file->bytes;
  if (row->bytes > UINT64_MAX - others) return VS_LIMIT; /* a damaged file */
  fold->sum = others + row->bytes;
  *use = file->use;
  const uint64_t others_of_use = fold->uses.data[file->use].bytes - file->bytes;
  fold->uses.data[file->use].bytes = others_of_use + row->bytes;
  file->bytes = row->bytes;
  return VS_OK;
}

vs_status vs_library_fold_row(const vs_host *host, const vs_snapshot *snapshot, const vs_library_memory *row,
                              vs_library_fold *fold, size_t *use) {
  vs_status status = VS_OK;
  *use = SIZE_MAX;
  if (row->name == VS_STRING_EMPTY && row->bytes != 0) fold->is_told = true;
  else if (row->name == VS_STRING_EMPTY || row->name == VS_STRING_NONE) fold->is_missed = true;
  else status = take_total(host, snapshot, row, fold, use);
  fold->is_missed = fold->is_missed || status == VS_LIMIT;
  return status == VS_LIMIT ? VS_OK : status;
}

vs_status vs_library_fold_device(const vs_host *host, const vs_snapshot *snapshot, int32_t device,
                                 vs_library_fold *fold) {
  size_t use;
  for (size_t i = 0; i < snapshot->libraries.count; i++)
    if (snapshot->libraries.data[i].device == device)
      VS_TRY(vs_library_fold_row(host, snapshot, &snapshot->libraries.data[i], fold, &use));
  return VS_OK;
}

void vs_library_fold_deinit(const vs_host *host, vs_library_fold *fold) {
  vs_vec_free(host, &fold->files);
  vs_vec_free(host, &fold->uses);
}

/* ---- a moment */

/* The last moment of a file has what came behind its last event, too. */
static bool is_before(const vs_slice *slice, vs_moment moment, int64_t time_us) {
  if (slice->event_count == 0 || moment + 1 >= (vs_moment)slice->event_count) return true;
  const int64_t limit = vs_slice_time(slice, moment < 0 ? 0 : moment);
  return limit != VS_NO_TIME && time_us != VS_NO_TIME && (moment < 0 ? time_us < limit : time_us <= limit);
}

static vs_status fold_until(const vs_host *host, const vs_slice *slice, vs_moment moment,
                            vs_library_fold *fold) {
  const vs_snapshot *s = slice->snapshot;
  size_t use;
  for (size_t i = 0; i < s->libraries.count; i++) {
    const vs_library_memory *row = &s->libraries.data[i];
    if (row->device == slice->device && is_before(slice, moment, row->time_us))
      VS_TRY(vs_library_fold_row(host, s, row, fold, &use));
  }
  return VS_OK;
}

static bool comes_later(const vs_library_use *a, const vs_library_use *b) {
  return a->bytes != b->bytes ? a->bytes < b->bytes : vs_str_compare(a->name, b->name) > 0;
}

static vs_status list(const vs_host *host, const vs_library_fold *fold, vs_library_uses *out) {
  VS_TRY(vs_vec_reserve(host, &out->list, fold->uses.count));
  for (size_t i = 0; i < fold->uses.count; i++) {
    const vs_library_use added = fold->uses.data[i];
    if (added.bytes == 0) continue;
    size_t at = out->list.count++;
    for (; at != 0 && comes_later(&out->list.data[at - 1], &added); at--)
      out->list.data[at] = out->list.data[at - 1];
    out->list.data[at] = added;
  }
  return VS_OK;
}

vs_status vs_libraries_at(const vs_host *host, const vs_slice *slice, vs_moment moment,
                          vs_library_uses *out) {
  vs_library_fold fold = {.is_told = false};
  *out = (vs_library_uses){.is_complete = false};
  vs_status status = fold_until(host, slice, moment, &fold);
  out->is_complete = status == VS_OK && vs_library_fold_is_complete(&fold);
  if (out->is_complete) status = list(host, &fold, out);
  vs_library_fold_deinit(host, &fold);
  return status;
}

void vs_library_uses_deinit(const vs_host *host, vs_library_uses *uses) { vs_vec_free(host, &uses->list); }
