#include "faces/torch/library.h"
#include <dlfcn.h>
#include <string.h>

void *vs_torch__find(const char *library, const char *symbol) {
  if (library == NULL) return dlsym(RTLD_DEFAULT, symbol);
  void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle == NULL ? NULL : dlsym(handle, symbol); /* the handle is kept: so is the library */
}

void vs_torch__find_function(const char *library, const char *symbol, void *function) {
  void *address = vs_torch__find(library, symbol);
  memcpy(function, &address, sizeof address);
}
