#include "faces/simcuda/nvrtc/real_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faces/simcuda/core/process.h"
#include "os/modules.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library;

/* The soname to find ("libnvrtc.so.13"), and the folder of the simulated libraries, where it is not. */
typedef struct search {
  const char *name;
  char own[PATH_MAX];
} search;

static bool is_in(const char *folder, const char *path) {
  const char *slash = strrchr(path, '/');
  const size_t size = slash == NULL ? 0 : (size_t)(slash - path);
  return strlen(folder) == size && memcmp(folder, path, size) == 0;
}

/* Loads the file, if it exists and is none of the simulated libraries. */
static bool try_path(const search *s, const char *path) {
  char real[PATH_MAX];
  if (realpath(path, real) == NULL || is_in(s->own, real)) return false;
  library = dlopen(real, RTLD_NOW | RTLD_LOCAL);
  return library != NULL;
}

static bool try_folder(const search *s, const char *folder, size_t size) {
  char path[PATH_MAX];
  if (size == 0 || snprintf(path, sizeof path, "%.*s/%s", (int)size, folder, s->name) >= (int)sizeof path)
    return false;
  return try_path(s, path);
}

static bool try_list(const search *s, const char *folders) {
  while (folders != NULL && *folders != 0) {
    const size_t size = strcspn(folders, ":");
    if (try_folder(s, folders, size)) return true;
    folders += size + (folders[size] == ':');
  }
  return false;
}

static bool try_pattern(const search *s, const char *pattern) {
  glob_t found;
  bool is_loaded = false;
  if (glob(pattern, 0, NULL, &found) != 0) return false;
  for (size_t i = found.gl_pathc; i-- != 0 && !is_loaded;) /* the last match is the newest version */
    is_loaded = try_folder(s, found.gl_pathv[i], strlen(found.gl_pathv[i]));
  globfree(&found);
  return is_loaded;
}

/* A Python environment has NVIDIA's libraries in the same site-packages as the libraries that use them. */
static vs_status try_beside(void *ctx, const vs_module *module) {
  static const char folder[] = "/site-packages/";
  const char *at = strstr(module->path, folder);
  if (at == NULL) return VS_OK;
  char pattern[PATH_MAX];
  const int length = (int)(at - module->path) + (int)sizeof folder - 1;
  if (snprintf(pattern, sizeof pattern, "%.*snvidia/*/lib", length, module->path) >= (int)sizeof pattern)
    return VS_OK;
  return try_pattern(ctx, pattern) ? VS_CANCELLED : VS_OK;
}

static bool try_variable(const search *s, const char *variable) {
  const char *value = getenv(variable);
  char path[PATH_MAX];
  if (value == NULL || snprintf(path, sizeof path, "%s/lib64", value) >= (int)sizeof path) return false;
  return try_folder(s, path, strlen(path));
}

/* The one that the program has opened by its path. */
static bool try_told(const search *s) {
  const char *path = vs_simcuda_told_nvrtc(), *slash = path == NULL ? NULL : strrchr(path, '/');
  return slash != NULL && strncmp(slash + 1, s->name, strlen(s->name)) == 0 && try_path(s, path);
}

static bool try_all(search *s, const char *name) {
  s->name = name;
  return try_told(s) || try_list(s, getenv("LD_LIBRARY_PATH")) ||
         vs_modules_visit(try_beside, s) == VS_CANCELLED || try_variable(s, "CUDA_HOME") ||
         try_variable(s, "CUDA_PATH") || try_pattern(s, "/usr/local/cuda*/lib64") ||
         try_list(s, "/usr/lib/x86_64-linux-gnu:/usr/lib64:/usr/lib");
}

/* The library of the other major version has the same functions. A program that prefers one of them because it is loaded, as ours
 * always is, may have installed the other. */
static void find(void) {
  static const char *const majors[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
  search s;
  Dl_info own;
  if (dladdr((void *)(uintptr_t)&find, &own) == 0 || realpath(own.dli_fname, s.own) == NULL) return;
  char *slash = strrchr(s.own, '/');
  const char *name = strcmp(slash + 1, majors[1]) == 0 ? majors[1] : majors[0];
  *slash = 0;
  if (try_all(&s, name) || try_all(&s, name == majors[0] ? majors[1] : majors[0])) return;
  char what[128];
  snprintf(what, sizeof what, "compiling at run time: no real %s was found that could do it", name);
  vs_simcuda_not_simulated("NVRTC", what);
}

void *vs_nvrtc_real(const char *name) {
  pthread_once(&once, find);
  return library == NULL ? NULL : dlsym(library, name);
}
