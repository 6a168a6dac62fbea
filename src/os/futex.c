#include "os/futex.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(_Atomic uint32_t) == sizeof(uint32_t), "a futex is a plain word");

void vs_futex_wait(_Atomic uint32_t *word, uint32_t expected) {
  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void vs_futex_wait_for(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns) {
  const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                                   .tv_nsec = (long)(timeout_ns % 1000000000)};
  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &timeout, NULL, 0);
}

void vs_futex_wake(_Atomic uint32_t *word) {
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
