#include "faces/preload/own_figures.h"
#include "base/host.h"
#include "os/process.h"
#include "os/shared.h"
#include "os/thread.h"

/* The figures of one process of a line of forks. */
typedef struct own {
  vs_shared shared;
  uint32_t forks; /* the generation of the process that they are about */
} own;

/* Written by any device where there is no memory for the figures. */
static vs_figures_device unread;

/* Changes by one exchange, so that no lock can be held while the process forks. */
static own *_Atomic now;

static own *current(void) {
  own *const found = atomic_load_explicit(&now, memory_order_acquire);
  return found != NULL && found->forks == vs_fork_generation() ? found : NULL;
}

static own *make(void) {
  vs_error ignored;
  own *const made = vs_host_alloc(vs_host_default(), sizeof *made);
  own *before = atomic_load(&now);
  if (made == NULL) return NULL;
  made->forks = vs_fork_generation();
  if (vs_shared_create(&made->shared, VS_FIGURES_NAME, sizeof(vs_figures), &ignored) != VS_OK) {
    vs_host_free(vs_host_default(), made, sizeof *made);
    return NULL;
  }
  vs_figures *const figures = made->shared.memory;
  figures->version = VS_FIGURES_VERSION;
  figures->devices = VS_FIGURES_DEVICES;
  figures->pid = vs_process_id();
  figures->magic = VS_FIGURES_MAGIC;
  if (current() == NULL && atomic_compare_exchange_strong(&now, &before, made)) return made;
  vs_shared_close(&made->shared); /* another thread was first */
  vs_host_free(vs_host_default(), made, sizeof *made);
  return current();
}

vs_figures_device *vs_own_figures_begin(uint32_t device, uint32_t era) {
  own *const found = current();
  own *const o = found != NULL ? found : make();
  if (o == NULL || device >= VS_FIGURES_DEVICES) return &unread;
  vs_figures *const figures = o->shared.memory;
  vs_figures_clear(&figures->device[device]);
  vs_figures_set(&figures->era, era);
  return &figures->device[device];
}

void vs_own_figures_end(void) {
  own *const o = current();
  if (o != NULL) vs_figures_set(&((vs_figures *)o->shared.memory)->era, 0);
}
