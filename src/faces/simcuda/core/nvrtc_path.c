#include "faces/simcuda/core/process.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static char *_Atomic told; /* set once, and never freed, so readers need no lock */

void vs_simcuda_tell_nvrtc(const char *path) {
  char *before = NULL, *const copy = path == NULL || *path == 0 ? NULL : strdup(path);
  if (copy != NULL && !atomic_compare_exchange_strong(&told, &before, copy)) free(copy);
}

const char *vs_simcuda_told_nvrtc(void) { return atomic_load(&told); }
