#include "intake/zlib_load.h"

#if VS_WITH_ZLIB
#include "intake/zlib_api.h"
#include "os/library.h"

struct vs_zlib_loaded {
  const vs_host *host;
  vs_library library;
  vs_zlib_api api;
};

static bool find_functions(vs_zlib_loaded *loaded) {
  bool has_all = true;
#define VS_ZLIB(member, name)                                    \
  vs_library_find(&loaded->library, #name, &loaded->api.member); \
  has_all = has_all && loaded->api.member != NULL;
#include "intake/zlib_api.def"
#undef VS_ZLIB
  return has_all;
}

vs_status vs_zlib_load(const vs_host *host, vs_zlib_loaded **out) {
  static const char *const names[] = {"libz.so.1", NULL};
  vs_error missing; /* not passed on: the caller names the files that cannot be read without zlib */
  *out = NULL;
  vs_zlib_loaded *loaded = vs_host_alloc(host, sizeof *loaded);
  if (loaded == NULL) return VS_NO_MEMORY;
  *loaded = (vs_zlib_loaded){.host = host};
  if (vs_library_open(&loaded->library, names, &missing) != VS_OK || !find_functions(loaded)) {
    vs_zlib_unload(loaded);
    return VS_UNSUPPORTED;
  }
  *out = loaded;
  return VS_OK;
}

void vs_zlib_unload(vs_zlib_loaded *loaded) {
  if (loaded == NULL) return;
  vs_library_close(&loaded->library);
  vs_host_free(loaded->host, loaded, sizeof *loaded);
}

const vs_zlib_api *vs_zlib_loaded_api(const vs_zlib_loaded *loaded) {
  return loaded == NULL ? NULL : &loaded->api;
}

#else

vs_status vs_zlib_load(const vs_host *host, vs_zlib_loaded **out) {
  (void)host;
  *out = NULL;
  return VS_UNSUPPORTED;
}

void vs_zlib_unload(vs_zlib_loaded *loaded) { (void)loaded; }

const vs_zlib_api *vs_zlib_loaded_api(const vs_zlib_loaded *loaded) {
  (void)loaded;
  return NULL;
}

#endif
