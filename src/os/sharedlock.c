#include "os/sharedlock.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

#define MAGIC UINT64_C(0x316b636f6c2d7376) /* "vs-lock1" */

typedef struct shared_lock {
  uint64_t magic;
  uint64_t size; /* of this struct: another C library's mutex would not fit */
  pthread_mutex_t mutex;
} shared_lock;

_Static_assert(sizeof(shared_lock) <= VS_SHAREDLOCK_SIZE, "a lock fits into its page");

vs_status vs_sharedlock_init(void *place) {
  shared_lock *lock = place;
  memset(lock, 0, sizeof *lock);
  pthread_mutexattr_t how;
  if (pthread_mutexattr_init(&how) != 0) return VS_UNSUPPORTED;
  const bool made = pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED) == 0 &&
                    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST) == 0 &&
                    pthread_mutexattr_settype(&how, PTHREAD_MUTEX_ERRORCHECK) == 0 &&
                    pthread_mutex_init(&lock->mutex, &how) == 0;
  (void)pthread_mutexattr_destroy(&how);
  if (!made) return VS_UNSUPPORTED;
  lock->size = sizeof *lock;
  lock->magic = MAGIC;
  return VS_OK;
}

bool vs_sharedlock_is_ours(const void *place) {
  const shared_lock *lock = place;
  return lock->magic == MAGIC && lock->size == sizeof *lock;
}

vs_sharedlock_answer vs_sharedlock_take(void *place) {
  shared_lock *lock = place;
  const int number = pthread_mutex_lock(&lock->mutex);
  if (number == 0) return VS_SHAREDLOCK_HELD;
  return number == EOWNERDEAD ? VS_SHAREDLOCK_LEFT : VS_SHAREDLOCK_BROKEN;
}

void vs_sharedlock_mended(void *place) { (void)pthread_mutex_consistent(&((shared_lock *)place)->mutex); }

void vs_sharedlock_give(void *place) { (void)pthread_mutex_unlock(&((shared_lock *)place)->mutex); }
