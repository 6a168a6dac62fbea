#include "os/loader.h"
#include <pthread.h>

/* Visits read it, a fork writes it. Readers come first, so that a visit within another one does not wait for a fork that waits for both. */
static pthread_rwlock_t forks = PTHREAD_RWLOCK_INITIALIZER;

static void begin_fork(void) { (void)pthread_rwlock_wrlock(&forks); }
static void end_fork(void) { (void)pthread_rwlock_unlock(&forks); }

/* In the child its owner has another thread id, by which an unlock would not know it. */
static void renew(void) { forks = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER; }

static void watch_forks(void) { (void)pthread_atfork(begin_fork, end_fork, renew); }

int vs_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *ctx), void *ctx) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, watch_forks);
  /* Refused to the thread that is forking, which calls this in what other libraries do before and after a fork. It holds the lock itself. */
  const int refused = pthread_rwlock_rdlock(&forks);
  const int result = dl_iterate_phdr(visit, ctx);
  if (refused == 0) (void)pthread_rwlock_unlock(&forks);
  return result;
}
