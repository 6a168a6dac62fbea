/* Any bytes at the store: two clients, whose turns the input decides.
 *
 * Input: bytes of the first client; a byte 0xff followed by a length (one byte) hands the next so many bytes to the other
 * one. With its first bit the first byte chooses between an ordinary store and a world. */
#include "rendezvous/store.h"
#include "counting_fold.h"
#include "fuzz.h"

enum { MEMORY = 4 * 1024 * 1024, ANSWERS_MOST = 1024 * 1024 };

static void feed(vs_store *store, vs_store_client *clients[2], size_t which, const uint8_t *data,
                 size_t size) {
  if (clients[which] == NULL) return;
  vs_error error;
  const vs_status status = vs_store_feed(store, clients[which], data, size, &error);
  must(vs_store_check(store));
  const vs_str output = vs_store_output(clients[which]);
  if (status == VS_OK && output.size < ANSWERS_MOST) return;
  must(status == VS_OK || (error.status == status && error.text[0] != 0));
  vs_store_disconnect(store, clients[which]);
  clients[which] = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  vs_budget budget;
  vs_budget_init(&budget, vs_host_default(), UINT64_MAX);
  const vs_store_settings settings = {.copies = data[0] & 1 ? 64 : 1, .memory = MEMORY};
  vs_store *store;
  vs_store_client *clients[2];
  must(vs_store_create(&budget.host, &settings, &store) == VS_OK);
  must(vs_store_connect(store, &clients[0]) == VS_OK && vs_store_connect(store, &clients[1]) == VS_OK);
  for (size_t at = 1; at < size;) {
    const bool is_other = data[at] == 0xff && at + 1 < size;
    size_t count = is_other ? data[at + 1] : 1;
    if (is_other) at += 2;
    else
      while (at + count < size && data[at + count] != 0xff) count++;
    if (count > size - at) count = size - at;
    feed(store, clients, is_other, data + at, count);
    vs_store_tick(store, at * VS_STORE_PATIENCE_US);
    at += count;
  }
  vs_store_destroy(store);
  must(budget.used == 0);
  return 0;
}
