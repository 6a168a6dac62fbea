#include "os/library.h"
#include "base/text.h"
#include <dlfcn.h>
#include <link.h>

/* Whether the loader's message means that the file itself is missing. If a library that it needs is missing, the
 * message begins with that library's name. */
static bool says_not_there(vs_str sentence, vs_str name) {
  return vs_str_starts(sentence, name) && vs_str_contains(sentence, VS_STR("No such file"));
}

static const char *path_of(void *handle, const char *name) {
  const struct link_map *map = NULL;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != 0 ? map->l_name : name;
}

vs_status vs_library_open(vs_library *library, const char *const *names, vs_error *error) {
  vs_status status = VS_NOT_FOUND;
  *library = (vs_library){0};
  for (const char *const *name = names; *name != NULL; name++) {
    library->handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    if (library->handle != NULL) {
      library->name = *name;
      library->path = path_of(library->handle, *name);
      return VS_OK;
    }
    const char *why = dlerror();
    const vs_str sentence = vs_str_from(why == NULL ? "it cannot be loaded" : why);
    const bool is_there = !says_not_there(sentence, vs_str_from(*name));
    if (name == names || (is_there && status == VS_NOT_FOUND)) {
      status = is_there ? VS_IO : VS_NOT_FOUND;
      (void)vs_fail(error, status, VS_NO_OFFSET, "%S", sentence);
    }
  }
  return status;
}

void vs_library_close(vs_library *library) {
  if (library->handle != NULL) (void)dlclose(library->handle);
  *library = (vs_library){0};
}

void vs_library_find(const vs_library *library, const char *name, void *function) {
  void *address = dlsym(library->handle, name);
  memcpy(function, &address, sizeof address); /* POSIX: a function's address fits; ISO C has no cast for it */
}

void *vs_library_loaded_symbol(const char *library, const char *name) {
  if (library == NULL) return dlsym(RTLD_DEFAULT, name);
  void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle == NULL ? NULL
                        : dlsym(handle, name); /* the handle is not closed, so the library stays loaded */
}

void vs_library_loaded_function(const char *library, const char *name, void *function) {
  void *address = vs_library_loaded_symbol(library, name);
  memcpy(function, &address, sizeof address);
}

bool vs_library_place_of(const void *inside, vs_library_place *place) {
  Dl_info info;
  *place = (vs_library_place){0};
  if (dladdr(inside, &info) == 0 || info.dli_fbase == NULL) return false;
  *place = (vs_library_place){.path = info.dli_fname, .base = info.dli_fbase};
  if (info.dli_saddr == inside) place->symbol = info.dli_sname;
  return true;
}

void *vs_library_symbol_seen_from(const void *inside, const char *name) {
  vs_library_place place;
  if (!vs_library_place_of(inside, &place)) return NULL;
  void *handle = dlopen(place.path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return NULL;
  void *found = dlsym(handle, name);
  (void)dlclose(handle); /* its user keeps it loaded */
  return found;
}

void *vs_library_hold(const char *name) { return dlopen(*name == 0 ? NULL : name, RTLD_LAZY | RTLD_NOLOAD); }

void vs_library_release(void *held) {
  if (held != NULL) (void)dlclose(held);
}
