#include "analyze/libraries.h"
#include "base/map.h"
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
typedef struct totals {
  vs_map row_of;
  VS_VEC(vs_library_use) rows;
} totals;

static vs_status set_total(const vs_host *host, totals *all, const vs_snapshot *s,
                           const vs_library_memory *from) {
  const size_t slot = vs_map_find(&all->row_of, from->name);
  if (slot != VS_MAP_NONE) {
    all->rows.data[all->row_of.slots[slot].value].bytes = from->bytes;
    return VS_OK;
  }
  if (all->rows.count == VS_MOST_LIBRARIES) return VS_LIMIT;
  VS_TRY(vs_map_reserve(host, &all->row_of));
  VS_TRY(vs_vec_reserve(host, &all->rows, 1));
  vs_map_add(&all->row_of, from->name, (uint32_t)all->rows.count);
  all->rows.data[all->rows.count++] =
      (vs_library_use){.name = vs_library_name(vs_snapshot_string(s, from->name)), .bytes = from->bytes};
  return VS_OK;
}

static vs_status collect(const vs_host *host, const vs_slice *slice, vs_moment moment, totals *all,
                         bool *is_complete) {
  const vs_snapshot *s = slice->snapshot;
  for (size_t i = 0; i < s->libraries.count; i++) {
    const vs_library_memory *row = &s->libraries.data[i];
    if (row->device != slice->device || !is_before(slice, moment, row->time_us)) continue;
    if (row->name == VS_STRING_EMPTY) *is_complete = row->bytes != 0;
    else VS_TRY(set_total(host, all, s, row));
  }
  return VS_OK;
}

/* ---- by name */

static vs_status add_use(const vs_host *host, vs_library_uses *uses, const vs_library_use *use) {
  for (size_t i = 0; i < uses->list.count; i++) {
    if (!vs_str_equal(uses->list.data[i].name, use->name)) continue;
    uses->list.data[i].bytes = vs_sat_add_u64(uses->list.data[i].bytes, use->bytes);
    return VS_OK;
  }
  VS_TRY(vs_vec_reserve(host, &uses->list, 1));
  uses->list.data[uses->list.count++] = *use;
  return VS_OK;
}

static bool comes_first(const vs_library_use *a, const vs_library_use *b) {
  return a->bytes != b->bytes ? a->bytes > b->bytes : vs_str_compare(a->name, b->name) < 0;
}

static void sort(vs_library_uses *uses) {
  for (size_t i = 1; i < uses->list.count; i++)
    for (size_t k = i; k != 0 && comes_first(&uses->list.data[k], &uses->list.data[k - 1]); k--) {
      const vs_library_use before = uses->list.data[k - 1];
      uses->list.data[k - 1] = uses->list.data[k];
      uses->list.data[k] = before;
    }
}

vs_status vs_libraries_at(const vs_host *host, const vs_slice *slice, vs_moment moment,
                          vs_library_uses *out) {
  totals all = {0};
  *out = (vs_library_uses){.is_complete = false};
  vs_status status = collect(host, slice, moment, &all, &out->is_complete);
  if (status == VS_LIMIT) out->is_complete = false;
  if (status == VS_LIMIT) status = VS_OK;
  for (size_t i = 0; status == VS_OK && out->is_complete && i < all.rows.count; i++)
    if (all.rows.data[i].bytes != 0) status = add_use(host, out, &all.rows.data[i]);
  vs_map_deinit(host, &all.row_of);
  vs_vec_free(host, &all.rows);
  if (status == VS_OK) sort(out);
  else vs_library_uses_deinit(host, out);
  return status;
}

void vs_library_uses_deinit(const vs_host *host, vs_library_uses *uses) { vs_vec_free(host, &uses->list); }
