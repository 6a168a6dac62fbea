#include "support/fork_host.h"

#include <pthread.h>

static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;

static void begin(void) { (void)pthread_mutex_lock(&calls); }
static void end(void) { (void)pthread_mutex_unlock(&calls); }

static void *resize(void *ctx, void *old, size_t old_size, size_t new_size) {
  const vs_host *all = vs_host_default();
  (void)ctx;
  begin();
  void *memory = all->resize(all->ctx, old, old_size, new_size);
  end();
  return memory;
}

static void watch_forks(void) { (void)pthread_atfork(begin, end, end); }

const vs_host *fork_host(void) {
  static const vs_host host = {.resize = resize};
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, watch_forks);
  return &host;
}
