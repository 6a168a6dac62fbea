#include "ranks/files.h"
#include "base/sort.h"
#include "diff/rank_names.h"
#include "os/folder.h"

/* ---- which files */

static vs_status add_file(vs_rank_files *files, const char *folder, const char *name) {
  VS_TRY(vs_vec_reserve(files->host, &files->starts, 1));
  files->starts.data[files->starts.count++] = files->names.bytes.count;
  if (folder != NULL)
    vs_text_format(&files->names, "%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/");
  vs_text_cstr(&files->names, name);
  vs_text_byte(&files->names, 0);
  return files->names.status;
}

const char *vs_rank_files_at(const vs_rank_files *files, size_t number) {
  return files->names.bytes.data + files->starts.data[files->order.data[number]];
}

static bool ends_in(vs_str text, const char *end) {
  const vs_str with = vs_str_from(end);
  return text.size >= with.size && memcmp(text.data + text.size - with.size, with.data, with.size) == 0;
}

/* Snapshots and recordings, by their names; other files of a folder are not looked at. */
static bool is_snapshot(const char *name) {
  static const char *const ends[] = {".pickle", ".pkl", ".vram", ".pickle.gz", ".pkl.gz", ".vram.gz"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (ends_in(vs_str_from(name), ends[i])) return true;
  return false;
}

static vs_status take_entry(void *ctx, const char *name, vs_folder_kind kind) {
  vs_rank_files *files = ctx;
  if (kind == VS_FOLDER_FOLDER || name[0] == '.' || !is_snapshot(name)) return VS_OK;
  return add_file(files, files->folder, name);
}

static bool name_before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_rank_files *files = ctx;
  const char *names = files->names.bytes.data;
  return vs_rank_names_compare(vs_str_from(names + files->starts.data[a]),
                               vs_str_from(names + files->starts.data[b])) < 0;
}

static vs_status stop(void *ctx, const char *name, vs_folder_kind kind) {
  (void)ctx, (void)name, (void)kind;
  return VS_CANCELLED;
}

bool vs_rank_files_is_folder(const char *path) {
  const vs_status status = vs_folder_each(path, NULL, stop);
  return status == VS_OK || status == VS_CANCELLED;
}

/* The files of a folder, behind those that are listed. */
static vs_status list_folder(vs_rank_files *files, const char *path, vs_error *error) {
  const size_t before = files->starts.count;
  files->folder = path;
  const vs_status status = vs_folder_each(path, files, take_entry);
  if (status == VS_NO_MEMORY) return status;
  if (status != VS_OK) return vs_fail(error, VS_IO, VS_NO_OFFSET, "the folder cannot be read");
  const size_t count = files->starts.count - before;
  if (count == 0)
    return vs_fail(
        error, VS_IO, VS_NO_OFFSET,
        "the folder has no snapshots (.pickle, .pkl, .vram, or with .gz); folders in it are not searched");
  VS_TRY(vs_vec_reserve(files->host, &files->order, count));
  for (size_t i = 0; i < count; i++) files->order.data[before + i] = (uint32_t)(before + i);
  files->order.count += count;
  return vs_sort_rows(files->host, files->order.data + before, count, name_before, files);
}

static vs_status list_file(vs_rank_files *files, const char *path) {
  VS_TRY(vs_vec_reserve(files->host, &files->order, 1));
  files->order.data[files->order.count] = (uint32_t)files->order.count;
  files->order.count++;
  return add_file(files, NULL, path);
}

vs_status vs_rank_files_list(vs_rank_files *files, const vs_host *host, const char *const *paths,
                             size_t count, vs_error *error) {
  *files = (vs_rank_files){.host = host};
  vs_text_init(&files->names, host, NULL);
  vs_status status = VS_OK;
  for (size_t i = 0; i < count && status == VS_OK; i++) {
    files->failed = paths[i];
    status =
        vs_rank_files_is_folder(paths[i]) ? list_folder(files, paths[i], error) : list_file(files, paths[i]);
  }
  return status;
}

void vs_rank_files_deinit(vs_rank_files *files) {
  vs_vec_free(files->host, &files->order);
  vs_vec_free(files->host, &files->starts);
  vs_text_deinit(&files->names);
}
