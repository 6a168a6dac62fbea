#include "faces/simcuda/core/library_memory.h"
#include "base/text.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static vs_sim_library_listener *listener;            /* guarded by `lock`, as is: */
static vs_library_accounts told[VS_SIM_MAX_DEVICES]; /* to this listener */
static atomic_bool has_listener, is_behind;          /* is_behind: there may be something to tell */

void vs_library_memory_forked(void) {
  (void)pthread_mutex_init(&lock, NULL);
  atomic_store(&has_listener, false);
  atomic_store(&is_behind, false);
}

void vs_library_memory_changed(void) {
  if (atomic_load_explicit(&has_listener, memory_order_relaxed))
    atomic_store_explicit(&is_behind, true, memory_order_relaxed);
}

static void tell(uint32_t device, const vs_sim_card *card, const char *library, uint64_t bytes) {
  listener(&(vs_sim_library_memory){.library = library,
                                    .bytes = bytes,
                                    .card = card->name,
                                    .card_bytes = card->figures.total_bytes,
                                    .device = (int32_t)device});
}

static void tell_account(uint32_t device, const vs_library_accounts *now, uint32_t account) {
  char name[VS_SIM_LIBRARY_SIZE + 1];
  vs_format(name, sizeof name, "%S", vs_sim_machine_account_name(now->process, account));
  tell(device, now->card, account == VS_SIM_ACCOUNT_UNKNOWN ? NULL : name, now->bytes[account]);
}

/* The code of kernels is loaded by the driver for the context; on a real GPU a recording does not
 * have it either. */
static bool is_told_about(uint32_t account) {
  return !vs_sim_account_is_context(account) && account != VS_SIM_ACCOUNT_KERNELS;
}

static bool tell_device(uint32_t device, vs_library_reader *read) {
  vs_library_accounts now;
  if (device >= VS_SIM_MAX_DEVICES || !read(device, &now)) return false;
  const vs_library_accounts before = told[device];
  told[device] = now;
  if (now.is_used && !before.is_used) tell(device, now.card, "", 0);
  for (uint32_t i = 0; i < VS_SIM_MAX_ACCOUNTS; i++)
    if (now.bytes[i] != before.bytes[i] && is_told_about(i)) tell_account(device, &now, i);
  return true;
}

static void catch_up(vs_library_reader *read) {
  while (listener != NULL && atomic_exchange(&is_behind, false))
    for (uint32_t device = 0; tell_device(device, read);) device++;
}

void vs_library_memory_tell(vs_library_reader *read) {
  if (!atomic_load_explicit(&is_behind, memory_order_relaxed)) return;
  (void)pthread_mutex_lock(&lock);
  catch_up(read);
  (void)pthread_mutex_unlock(&lock);
}

void vs_library_memory_listen(vs_sim_library_listener *new_listener, vs_library_reader *read) {
  (void)pthread_mutex_lock(&lock);
  listener = new_listener;
  memset(told, 0, sizeof told);
  atomic_store(&has_listener, listener != NULL);
  atomic_store(&is_behind, listener != NULL);
  catch_up(read);
  (void)pthread_mutex_unlock(&lock);
}
