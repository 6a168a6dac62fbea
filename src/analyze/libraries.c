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

/* ---- a moment */

/* The last moment of a file has what came behind its last event, too. */
static bool is_before(const vs_slice *slice, vs_moment moment, int64_t time_us) {
  if (slice->event_count == 0 || moment + 1 >= (vs_moment)slice->event_count) return true;
  const int64_t limit = vs_slice_time(slice, moment < 0 ? 0 : moment);
  return limit != VS_NO_TIME && time_us != VS_NO_TIME && (moment < 0 ? time_us < limit : time_us <= limit);
}

/* By the string of its path: the newest total counts. */
typedef struct total {
  uint64_t bytes;
  uint32_t path;
} total;
typedef VS_VEC(total) totals;

static vs_status set_total(const vs_host *host, totals *all, const vs_library_memory *from) {
  size_t at = 0;
  while (at < all->count && all->data[at].path != from->name) at++;
  if (at == VS_MOST_LIBRARIES) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(host, all, 1));
  all->data[at] = (total){.bytes = from->bytes, .path = from->name};
  all->count += at == all->count;
  return VS_OK;
}

static vs_status collect(const vs_host *host, const vs_slice *slice, vs_moment moment, totals *all,
                         bool *is_complete) {
  const vs_snapshot *s = slice->snapshot;
  for (size_t i = 0; i < s->libraries.count; i++) {
    const vs_library_memory *row = &s->libraries.data[i];
    if (row->device != slice->device || !is_before(slice, moment, row->time_us)) continue;
    if (row->name == VS_STRING_EMPTY) *is_complete = row->bytes != 0;
    else VS_TRY(set_total(host, all, row));
  }
  return VS_OK;
}

/* ---- by name */

static vs_status add_use(const vs_host *host, vs_library_uses *uses, vs_str name, uint64_t bytes) {
  size_t at = 0;
  while (at < uses->list.count && !vs_str_equal(uses->list.data[at].name, name)) at++;
  VS_TRY(vs_vec_reserve(host, &uses->list, 1));
  vs_library_use *use = &uses->list.data[at];
  const uint64_t before = at == uses->list.count ? 0 : use->bytes;
  *use = (vs_library_use){.name = name, .bytes = vs_sat_add_u64(before, bytes)};
  uses->list.count += at == uses->list.count;
  return VS_OK;
}

static bool comes_later(const vs_library_use *a, const vs_library_use *b) {
  return a->bytes != b->bytes ? a->bytes < b->bytes : vs_str_compare(a->name, b->name) > 0;
}

static void sort(vs_library_uses *uses) {
  for (size_t i = 1; i < uses->list.count; i++) {
    vs_library_use *at = &uses->list.data[i];
    const vs_library_use moved = *at;
    for (; at != uses->list.data && comes_later(at - 1, &moved); at--) *at = at[-1];
    *at = moved;
  }
}

vs_status vs_libraries_at(const vs_host *host, const vs_slice *slice, vs_moment moment,
                          vs_library_uses *out) {
  totals all = {0};
  *out = (vs_library_uses){.is_complete = false};
  vs_status status = collect(host, slice, moment, &all, &out->is_complete);
  out->is_complete = out->is_complete && status == VS_OK;
  if (status == VS_LIMIT) status = VS_OK;
  for (size_t i = 0; status == VS_OK && out->is_complete && i < all.count; i++)
    if (all.data[i].bytes != 0)
      status = add_use(host, out, vs_library_name(vs_snapshot_string(slice->snapshot, all.data[i].path)),
                       all.data[i].bytes);
  vs_vec_free(host, &all);
  if (status == VS_OK) sort(out);
  else vs_library_uses_deinit(host, out);
  return status;
}

void vs_library_uses_deinit(const vs_host *host, vs_library_uses *uses) { vs_vec_free(host, &uses->list); }
