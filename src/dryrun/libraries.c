#include "dryrun/libraries.h"
#include "base/sort.h"
#include "base/interned_strings.h"
#include "os/modules.h"
#include "os/process.h"

/* The path from the installed folder of programs to that of libraries. */
#ifndef VS_LIBRARIES_FROM_PROGRAMS
#define VS_LIBRARIES_FROM_PROGRAMS "../lib"
#endif

static const char core_name[] = "libvramscope-sim.so";

/* ---- finding */

static bool is_library(const char *name) {
  return vs_str_starts(vs_str_from(name), VS_STR("lib")) && vs_str_contains(vs_str_from(name), VS_STR(".so"));
}

static vs_status count_library(void *ctx, const char *name, vs_folder_kind kind) {
  vs_simulated *simulated = ctx;
  if (kind != VS_FOLDER_FILE || !is_library(name)) return VS_OK;
  if (vs_str_equal(vs_str_from(name), vs_str_from(core_name))) simulated->has_core = true;
  else simulated->face_count++;
  return VS_OK;
}

static vs_status see_hook(void *ctx, const char *name, vs_folder_kind kind) {
  (void)kind;
  *(bool *)ctx = *(bool *)ctx || vs_str_equal(vs_str_from(name), VS_STR("sitecustomize.py"));
  return VS_OK;
}

static void find_libraries(vs_simulated *simulated, const char *folder) {
  simulated->has_core = false;
  simulated->face_count = 0;
  if (vs_folder_each(folder, simulated, count_library) == VS_OK && simulated->has_core)
    vs_format(simulated->libraries, sizeof simulated->libraries, "%s", folder);
}

static void find_python(vs_simulated *simulated, const char *folder) {
  bool is_there = false;
  if (vs_folder_each(folder, &is_there, see_hook) == VS_OK && is_there)
    vs_format(simulated->python, sizeof simulated->python, "%s", folder);
}

/* Looks below `base` for those of the two folders that are not found yet. */
static void find_below(vs_simulated *simulated, const char *base, const char *libraries, const char *python) {
  char path[VS_FOLDER_PATH];
  vs_format(path, sizeof path, "%s/%s", base, libraries);
  if (!simulated->has_core) find_libraries(simulated, path);
  vs_format(path, sizeof path, "%s/%s", base, python);
  if (simulated->python[0] == 0) find_python(simulated, path);
}

/* Stores the path of the library or program that contains this code. */
static vs_status see_module(void *ctx, const vs_module *module) {
  const uint64_t here = (uint64_t)(uintptr_t)&find_below;
  if (module->start <= here && here < module->end) vs_format(ctx, VS_FOLDER_PATH, "%s", module->path);
  return VS_OK;
}

static void own_folder(char folder[VS_FOLDER_PATH]) {
  folder[0] = 0;
  if (vs_modules_visit(see_module, folder) != VS_OK) folder[0] = 0;
  char *slash = strrchr(folder, '/');
  *(slash == NULL ? folder : slash) = 0;
}

void vs_simulated_find(vs_simulated *simulated, const char *folder) {
  char base[VS_FOLDER_PATH];
  *simulated = (vs_simulated){.face_count = 0};
  if (folder != NULL) {
    find_below(simulated, folder, "simcuda", "dryrun");
    return;
  }
  vs_process_folder(base, sizeof base);
  if (base[0] != 0) {
    find_below(simulated, base, "simcuda", "dryrun");
    find_below(simulated, base, VS_LIBRARIES_FROM_PROGRAMS "/vramscope/simcuda",
               VS_LIBRARIES_FROM_PROGRAMS "/vramscope/dryrun");
  }
  own_folder(base);
  if (base[0] == 0) return;
  find_below(simulated, base, "simcuda", "dryrun");
  find_below(simulated, base, "vramscope/simcuda", "vramscope/dryrun");
}

/* ---- the recorder */

static const char recorder_name[] = "libvramscope-record.so";

static vs_status see_recorder(void *ctx, const char *name, vs_folder_kind kind) {
  (void)kind;
  *(bool *)ctx = *(bool *)ctx || vs_str_equal(vs_str_from(name), vs_str_from(recorder_name));
  return VS_OK;
}

static bool has_recorder(char folder[VS_FOLDER_PATH], const char *base, const char *below) {
  bool is_there = false;
  vs_format(folder, VS_FOLDER_PATH, "%s/%s", base, below);
  if (base[0] != 0 && vs_folder_each(folder, &is_there, see_recorder) == VS_OK && is_there) return true;
  folder[0] = 0;
  return false;
}

void vs_recorder_find(char folder[VS_FOLDER_PATH]) {
  char base[VS_FOLDER_PATH];
  vs_process_folder(base, sizeof base);
  if (has_recorder(folder, base, "preload") ||
      has_recorder(folder, base, VS_LIBRARIES_FROM_PROGRAMS "/vramscope/preload"))
    return;
  own_folder(base);
  if (!has_recorder(folder, base, "preload")) (void)has_recorder(folder, base, "vramscope/preload");
}

void vs_recorder_path(char *path, size_t capacity, const char *folder) {
  vs_format(path, capacity, "%s/%s", folder, recorder_name);
}

/* ---- LD_PRELOAD */

bool vs_simulated_is_plain(const char *path) {
  for (; *path != 0; path++)
    if (*path == ' ' || *path == ':' || (*path >= '\t' && *path <= '\r')) return false;
  return true;
}

typedef struct listing {
  const vs_host *host;
  vs_strings names;
  VS_VEC(uint32_t) rows;
} listing;

static vs_status list_library(void *ctx, const char *name, vs_folder_kind kind) {
  listing *list = ctx;
  const bool is_core = vs_str_equal(vs_str_from(name), vs_str_from(core_name));
  if (kind != VS_FOLDER_FILE || is_core || !is_library(name)) return VS_OK;
  uint32_t id;
  VS_TRY(vs_strings_intern(list->host, &list->names, vs_str_from(name), &id));
  VS_ASSERT(id != VS_STRING_EMPTY);
  VS_TRY(vs_vec_reserve(list->host, &list->rows, 1));
  list->rows.data[list->rows.count++] = id;
  return VS_OK;
}

static bool is_before(const void *ctx, uint32_t a, uint32_t b) {
  const listing *list = ctx;
  return vs_str_compare(vs_strings_at(&list->names, a), vs_strings_at(&list->names, b)) < 0;
}

static vs_status put_preload(listing *list, const char *folder, const char *before, vs_text *text) {
  VS_ASSERT(vs_simulated_is_plain(folder));
  vs_text_format(text, "%s/%s", folder, core_name);
  VS_TRY(vs_folder_each(folder, list, list_library));
  VS_TRY(vs_sort_rows(list->host, list->rows.data, list->rows.count, is_before, list));
  for (size_t i = 0; i < list->rows.count; i++) {
    vs_text_format(text, ":%s/", folder);
    vs_text_str(text, vs_strings_at(&list->names, list->rows.data[i]));
  }
  if (before != NULL && *before != 0) vs_text_format(text, ":%s", before);
  vs_text_byte(text, 0); /* the C library takes it */
  return text->status;
}

vs_status vs_simulated_preload(const vs_host *host, const char *folder, const char *before, vs_text *text) {
  listing list = {.host = host};
  VS_TRY(vs_strings_init(host, &list.names));
  const vs_status status = put_preload(&list, folder, before, text);
  vs_vec_free(host, &list.rows);
  vs_strings_deinit(host, &list.names);
  return status;
}
