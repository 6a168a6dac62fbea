#include "rendezvous/store.h"
#include "rendezvous/peers.h"
#include "rendezvous/scan.h"

/* ---- data */

typedef struct vs_wait {
  vs_bytes keys; /* as in the query: size, bytes, ... */
  size_t at;     /* offset of the first missing key */
  int64_t count; /* of a barrier: the value that its one key has to reach */
  bool is_on, is_barrier, is_said;
  bool is_timed; /* since_us is set */
  uint64_t since_us;
} vs_wait;

struct vs_store_client {
  vs_store_client *next, **link;
  vs_bytes in; /* the bytes from `done` on are not parsed yet */
  size_t done;
  vs_scan scan;
  bool is_valid; /* it has sent the magic number */
  vs_bytes out;
  size_t sent;
  vs_wait wait;
};

struct vs_store {
  const vs_host *parent;
  vs_budget budget;
  vs_store_settings settings;
  vs_entries entries;
  vs_store_client *clients;
  uint64_t requests, inferred, said;
  bool is_gloo_said;
};

enum { MOST_SAID = 20, SHOWN_OF_KEY = 60, NUMBER_SIZE = 24 };

static const vs_host *host_of(vs_store *store) { return &store->budget.host; }

/* ---- answers */

static vs_status answer_byte(vs_store *store, vs_store_client *client, uint8_t byte) {
  return vs_bytes_append(host_of(store), &client->out, &byte, sizeof byte);
}

static vs_status answer_number(vs_store *store, vs_store_client *client, int64_t number) {
  return vs_bytes_append(host_of(store), &client->out, &number, sizeof number);
}

static vs_status answer_value(vs_store *store, vs_store_client *client, vs_str value) {
  const uint64_t size = value.size;
  VS_TRY(vs_vec_reserve(host_of(store), &client->out, sizeof size + value.size));
  VS_TRY(vs_bytes_append(host_of(store), &client->out, &size, sizeof size));
  return vs_bytes_append(host_of(store), &client->out, value.data, value.size);
}

/* ---- keys */

/* Finds a key by the rules of store.h; false if it is missing. `value` may be NULL. */
static bool resolve(vs_store *store, vs_str key, vs_str *value) {
  vs_str found = {NULL, 0};
  const vs_entry *entry = vs_entries_find(&store->entries, key);
  bool is_there = entry != NULL;
  if (entry != NULL && entry->has_value) found = vs_bytes_view(&entry->value);
  else if (entry == NULL)
    is_there = store->settings.copies != 1 && vs_peers_value(&store->entries, key, &found);
  if (value != NULL) *value = is_there ? found : (vs_str){NULL, 0};
  return is_there;
}

/* ---- reading the fields of a complete query */

typedef struct vs_call {
  vs_store *store;
  vs_store_client *client;
  const uint8_t *at;
  vs_error *error;
} vs_call;

static void take(vs_call *call, void *to, size_t size) {
  memcpy(to, call->at, size);
  call->at += size;
}

static uint64_t take_u64(vs_call *call) {
  uint64_t number;
  take(call, &number, sizeof number);
  return number;
}

static vs_str take_bytes(vs_call *call) {
  const size_t size = (size_t)take_u64(call);
  VS_ASSERT(size <= VS_STORE_VALUE_MOST); /* vs_scan_query has checked it */
  const vs_str bytes = {(const char *)call->at, size};
  call->at += size;
  return bytes;
}

/* ---- waiting */

static bool count_of(const vs_entry *entry, int64_t *count) {
  *count = 0;
  return !entry->has_value || vs_parse_i64(vs_bytes_view(&entry->value), count);
}

static bool is_reached(vs_store *store, vs_str key, int64_t wanted) {
  const vs_entry *entry = vs_entries_find(&store->entries, key);
  int64_t count;
  return entry != NULL && count_of(entry, &count) && count >= wanted;
}

static vs_str awaited(const vs_wait *wait, size_t *next) {
  uint64_t size;
  VS_ASSERT(wait->at + sizeof size <= wait->keys.count);
  memcpy(&size, wait->keys.data + wait->at, sizeof size);
  *next = wait->at + sizeof size + (size_t)size;
  return (vs_str){(const char *)wait->keys.data + wait->at + sizeof size, (size_t)size};
}

static void say(vs_store *store, const char *sentence) {
  if (store->settings.say == NULL || store->said == MOST_SAID) return;
  store->settings.say(store->settings.ctx, sentence);
  store->said++;
}

/* Counts an inferred answer. With gloo a collective connects to the address of its peer, so an inferred address is enough to
 * make a group but not to run a collective; the user is told once. */
static void note_inferred(vs_store *store, vs_str key) {
  store->inferred++;
  if (store->is_gloo_said || !vs_peers_is_numbered(key, VS_STR("cpu/"))) return;
  store->is_gloo_said = true;
  say(store, "a gloo process group calls another rank, and none runs: its collectives wait for their timeout "
             "(those of "
             "nccl do not)");
}

/* Answers a client's wait once all its keys are set. */
static vs_status advance(vs_store *store, vs_store_client *client) {
  vs_wait *wait = &client->wait;
  if (!wait->is_on) return VS_OK;
  while (wait->at < wait->keys.count) {
    size_t next;
    const vs_str key = awaited(wait, &next);
    if (wait->is_barrier ? !is_reached(store, key, wait->count) : !resolve(store, key, NULL)) return VS_OK;
    if (vs_entries_find(&store->entries, key) == NULL) note_inferred(store, key);
    wait->at = next;
  }
  wait->is_on = false;
  return answer_byte(store, client, 0);
}

/* Called after every change. If there is no memory for an answer, the waiting client keeps waiting and the client whose query
 * made the change gets the error. */
static vs_status wake(vs_store *store) {
  vs_status status = VS_OK;
  for (vs_store_client *client = store->clients; client != NULL && status == VS_OK; client = client->next)
    status = advance(store, client);
  return status;
}

static vs_status begin_wait(vs_call *call, const uint8_t *keys, const uint8_t *end, bool is_barrier,
                            int64_t count) {
  vs_wait *wait = &call->client->wait;
  VS_TRY(
      vs_bytes_assign(host_of(call->store), &wait->keys, (vs_str){(const char *)keys, (size_t)(end - keys)}));
  wait->at = 0;
  wait->is_on = true;
  wait->is_barrier = is_barrier;
  wait->count = count;
  wait->is_said = wait->is_timed = false;
  return advance(call->store, call->client);
}

static void name_wait(vs_store *store, const vs_wait *wait) {
  char sentence[VS_STORE_SENTENCE];
  size_t next;
  vs_str key = awaited(wait, &next);
  if (key.size > SHOWN_OF_KEY) key.size = SHOWN_OF_KEY;
  vs_text text; /* %S escapes the key, which comes from the client */
  vs_text_init(&text, host_of(store), NULL);
  vs_text_format(&text, "%S%c", key, 0);
  vs_format(
      sentence, sizeof sentence,
      "the program waits for the key \"%s\", which only another rank would set, and none runs: the wait ends "
      "with its own timeout",
      text.status == VS_OK ? text.bytes.data : "?");
  vs_text_deinit(&text);
  say(store, sentence);
}

void vs_store_tick(vs_store *store, uint64_t now_us) {
  if (store->settings.copies == 1) return;
  for (vs_store_client *client = store->clients; client != NULL; client = client->next) {
    vs_wait *wait = &client->wait;
    if (!wait->is_on || wait->is_said) continue;
    if (!wait->is_timed) wait->since_us = now_us;
    wait->is_timed = true;
    if (now_us - wait->since_us < VS_STORE_PATIENCE_US) continue;
    name_wait(store, wait);
    wait->is_said = true;
  }
}

/* ---- the queries, each named as in the list */

static vs_status do_VALIDATE(vs_call *call) {
  uint32_t magic;
  take(call, &magic, sizeof magic);
  if (magic != VS_STORE_MAGIC)
    return vs_fail(call->error, VS_BAD_FORMAT, VS_NO_OFFSET,
                   "a client of the store does not speak PyTorch's protocol");
  call->client->is_valid = true;
  return VS_OK;
}

static vs_status do_PING(vs_call *call) {
  uint32_t nonce;
  take(call, &nonce, sizeof nonce);
  return vs_bytes_append(host_of(call->store), &call->client->out, &nonce, sizeof nonce);
}

static vs_status do_SET(vs_call *call) {
  const vs_str key = take_bytes(call);
  VS_TRY(vs_entries_put(&call->store->entries, key, take_bytes(call), false));
  return wake(call->store);
}

static vs_status do_COMPARE_SET(vs_call *call) {
  const vs_str key = take_bytes(call), expected = take_bytes(call), wanted = take_bytes(call);
  const vs_entry *entry = vs_entries_find(&call->store->entries, key);
  const bool has_value = entry != NULL && entry->has_value;
  vs_str now = has_value ? vs_bytes_view(&entry->value) : (vs_str){NULL, 0};
  if (vs_str_equal(now, expected)) {
    VS_TRY(vs_entries_put(&call->store->entries, key, wanted, false));
    now = wanted;
  } else if (!has_value) {
    now = expected; /* as PyTorch's store does */
  }
  VS_TRY(answer_value(call->store, call->client, now));
  return wake(call->store);
}

static vs_status do_GET(vs_call *call) {
  vs_str value;
  (void)resolve(call->store, take_bytes(call), &value);
  return answer_value(call->store, call->client, value);
}

/* Adds `by` * `times` to the number under `key`. */
static vs_status count_up(vs_call *call, vs_str key, int64_t by, uint64_t times, int64_t *sum) {
  const vs_entry *entry = vs_entries_find(&call->store->entries, key);
  *sum = 0;
  if (entry != NULL && !count_of(entry, sum))
    return vs_fail(call->error, VS_BAD_FORMAT, VS_NO_OFFSET,
                   "a client of the store adds to a value that is not a number");
  if (__builtin_mul_overflow(by, (int64_t)times, &by) || __builtin_add_overflow(*sum, by, sum))
    return vs_fail(call->error, VS_LIMIT, VS_NO_OFFSET, "a client of the store adds beyond 64 bits");
  char digits[NUMBER_SIZE];
  vs_format(digits, sizeof digits, "%D", *sum);
  return vs_entries_put(&call->store->entries, key, vs_str_from(digits), true);
}

static vs_status do_ADD(vs_call *call) {
  const vs_str key = take_bytes(call);
  int64_t sum;
  VS_TRY(count_up(call, key, (int64_t)take_u64(call), call->store->settings.copies, &sum));
  VS_TRY(answer_number(call->store, call->client, sum));
  return wake(call->store);
}

static vs_status do_BARRIER(vs_call *call) {
  const uint8_t *begin = call->at;
  const vs_str key = take_bytes(call);
  const uint8_t *end = call->at;
  const int64_t wanted = (int64_t)take_u64(call);
  int64_t sum;
  VS_TRY(count_up(call, key, 1, call->store->settings.copies, &sum));
  VS_TRY(wake(call->store));
  return begin_wait(call, begin, end, true, wanted);
}

static vs_status do_CHECK(vs_call *call) {
  bool all = true;
  for (uint64_t left = take_u64(call); left != 0; left--)
    if (!resolve(call->store, take_bytes(call), NULL)) all = false;
  return answer_byte(call->store, call->client, all ? 0 : 1);
}

static vs_status do_WAIT(vs_call *call) {
  uint64_t left = take_u64(call);
  const uint8_t *begin = call->at;
  while (left-- != 0) (void)take_bytes(call);
  return begin_wait(call, begin, call->at, false, 0);
}

static vs_status do_CANCEL_WAIT(vs_call *call) {
  call->client->wait.is_on = false;
  return answer_byte(call->store, call->client, 1);
}

static vs_status do_GETNUMKEYS(vs_call *call) {
  return answer_number(call->store, call->client, (int64_t)call->store->entries.key_count);
}

static vs_status do_DELETE_KEY(vs_call *call) {
  vs_entry *entry = vs_entries_find(&call->store->entries, take_bytes(call));
  const bool has_value = entry != NULL && entry->has_value;
  if (has_value) vs_entries_delete_value(&call->store->entries, entry);
  return answer_number(call->store, call->client, has_value ? 1 : 0);
}

static vs_status do_APPEND(vs_call *call) {
  const vs_str key = take_bytes(call), more = take_bytes(call);
  vs_entry *entry = vs_entries_find(&call->store->entries, key);
  if (entry == NULL || !entry->has_value) {
    VS_TRY(vs_entries_put(&call->store->entries, key, more, false));
  } else {
    if (more.size > VS_STORE_VALUE_MOST - entry->value.count)
      return vs_fail(call->error, VS_LIMIT, VS_NO_OFFSET,
                     "a value of the store would be larger than %d bytes", VS_STORE_VALUE_MOST);
    VS_TRY(vs_bytes_append(host_of(call->store), &entry->value, more.data, more.size));
    entry->is_count = false;
  }
  return wake(call->store);
}

static vs_status do_MULTI_GET(vs_call *call) {
  for (uint64_t left = take_u64(call); left != 0; left--) VS_TRY(do_GET(call));
  return VS_OK;
}

static vs_status do_MULTI_SET(vs_call *call) {
  for (uint64_t left = take_u64(call); left != 0; left--) {
    const vs_str key = take_bytes(call);
    VS_TRY(vs_entries_put(&call->store->entries, key, take_bytes(call), false));
  }
  return wake(call->store);
}

/* Moves the queue to the front before its memory would grow, so that the space of popped values is used again. */
static void compact_queue(vs_entry *entry) {
  if (entry->queue_head == 0 || entry->queue.count < entry->queue.capacity) return;
  const size_t left = entry->queue.count - entry->queue_head;
  memmove(entry->queue.data, entry->queue.data + entry->queue_head, left * sizeof *entry->queue.data);
  entry->queue.count = left;
  entry->queue_head = 0;
}

static vs_status do_QUEUE_PUSH(vs_call *call) {
  vs_store *store = call->store;
  const vs_str key = take_bytes(call), text = take_bytes(call);
  vs_entry *entry;
  VS_TRY(vs_entries_obtain(&store->entries, key, &entry));
  vs_bytes value = {0};
  compact_queue(entry);
  vs_status status = vs_vec_reserve(host_of(store), &entry->queue, 1);
  if (status == VS_OK) status = vs_bytes_append(host_of(store), &value, text.data, text.size);
  if (status == VS_OK) entry->queue.data[entry->queue.count++] = value;
  vs_entries_tidy(&store->entries, entry);
  VS_TRY(status);
  return wake(store);
}

static vs_status do_QUEUE_POP(vs_call *call) {
  vs_store *store = call->store;
  vs_entry *entry = vs_entries_find(&store->entries, take_bytes(call));
  const size_t length = vs_entry_queued(entry);
  VS_TRY(answer_number(store, call->client, (int64_t)length));
  if (length == 0) return VS_OK;
  vs_bytes *value = &entry->queue.data[entry->queue_head];
  VS_TRY(answer_value(store, call->client, vs_bytes_view(value)));
  vs_vec_free(host_of(store), value);
  entry->queue_head++;
  if (vs_entry_queued(entry) == 0) entry->queue_head = entry->queue.count = 0;
  vs_entries_tidy(&store->entries, entry);
  return VS_OK;
}

static vs_status do_QUEUE_LEN(vs_call *call) {
  const vs_entry *entry = vs_entries_find(&call->store->entries, take_bytes(call));
  return answer_number(call->store, call->client, (int64_t)vs_entry_queued(entry));
}

static vs_status do_LIST_KEYS(vs_call *call) {
  vs_store *store = call->store;
  VS_TRY(answer_number(store, call->client, (int64_t)store->entries.key_count));
  for (size_t i = 0; i < store->entries.all.count; i++) {
    const vs_entry *entry = &store->entries.all.data[i];
    if (entry->is_used && entry->has_value)
      VS_TRY(answer_value(store, call->client, vs_bytes_view(&entry->key)));
  }
  return VS_OK;
}

static vs_status perform(vs_call *call, vs_query query) {
  switch (query) {
#define VS_STORE_QUERY(name, code, grammar) \
  case VS_QUERY_##name:                     \
    return do_##name(call);
#include "rendezvous/queries.def"
#undef VS_STORE_QUERY
  }
  return VS_BAD_FORMAT;
}

static vs_status perform_all(vs_store *store, vs_store_client *client, vs_error *error) {
  for (;;) {
    bool is_whole;
    const uint8_t *query = client->done == client->in.count ? NULL : client->in.data + client->done;
    VS_TRY(vs_scan_query(&client->scan, query, client->in.count - client->done, client->is_valid, &is_whole,
                         error));
    if (!is_whole) return VS_OK;
    vs_call call = {.store = store, .client = client, .at = query + 1, .error = error};
    client->done += client->scan.at;
    VS_ASSERT(client->done <= client->in.count);
    client->scan = (vs_scan){.field = NULL};
    store->requests++;
    VS_TRY(perform(&call, (vs_query)*query));
    VS_ASSERT(call.at == client->in.data + client->done); /* each query reads all its fields */
  }
}

/* ---- clients and the store */

vs_status vs_store_feed(vs_store *store, vs_store_client *client, const void *bytes, size_t size,
                        vs_error *error) {
  vs_error own;
  if (error == NULL) error = &own;
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = vs_bytes_append(host_of(store), &client->in, bytes, size);
  if (status == VS_OK) status = perform_all(store, client, error);
  const size_t rest = client->in.count - client->done;
  if (client->done != 0 && rest != 0) memmove(client->in.data, client->in.data + client->done, rest);
  client->in.count = rest;
  client->done = 0;
  if (rest == 0 && client->in.capacity > VS_STORE_KEY_MOST) vs_vec_free(host_of(store), &client->in);
  if (status == VS_OK || error->status != VS_OK) return status;
  return vs_fail(error, status, VS_NO_OFFSET,
                 status == VS_NO_MEMORY ? "the store is full"
                                        : "the store has too many keys, or keys with colliding hashes");
}

vs_str vs_store_output(const vs_store_client *client) {
  const vs_str all = vs_bytes_view(&client->out);
  VS_ASSERT(client->sent <= all.size);
  return (vs_str){all.size == 0 ? NULL : all.data + client->sent, all.size - client->sent};
}

void vs_store_sent(vs_store_client *client, size_t count) {
  VS_ASSERT(count <= client->out.count - client->sent);
  client->sent += count;
  if (client->sent == client->out.count) client->sent = client->out.count = 0;
}

vs_status vs_store_connect(vs_store *store, vs_store_client **out) {
  vs_store_client *client = vs_host_alloc(host_of(store), sizeof *client);
  *out = client;
  if (client == NULL) return VS_NO_MEMORY;
  *client = (vs_store_client){.next = store->clients, .link = &store->clients};
  if (client->next != NULL) client->next->link = &client->next;
  store->clients = client;
  return VS_OK;
}

void vs_store_disconnect(vs_store *store, vs_store_client *client) {
  const vs_host *host = host_of(store);
  VS_ASSERT(*client->link == client);
  *client->link = client->next;
  if (client->next != NULL) client->next->link = client->link;
  vs_vec_free(host, &client->in);
  vs_vec_free(host, &client->out);
  vs_vec_free(host, &client->wait.keys);
  vs_host_free(host, client, sizeof *client);
}

vs_status vs_store_create(const vs_host *host, const vs_store_settings *settings, vs_store **out) {
  VS_ASSERT(settings->copies >= 1);
  vs_store *store = vs_host_alloc(host, sizeof *store);
  *out = store;
  if (store == NULL) return VS_NO_MEMORY;
  *store = (vs_store){.parent = host, .settings = *settings};
  vs_budget_init(&store->budget, host, settings->memory);
  store->entries.host = host_of(store);
  return VS_OK;
}

void vs_store_destroy(vs_store *store) {
  while (store->clients != NULL) vs_store_disconnect(store, store->clients);
  vs_entries_deinit(&store->entries);
  VS_ASSERT(store->budget.used == 0);
  vs_host_free(store->parent, store, sizeof *store);
}

uint64_t vs_store_requests(const vs_store *store) { return store->requests; }
uint64_t vs_store_inferred(const vs_store *store) { return store->inferred; }

static bool check_client(const vs_store_client *client) {
  const vs_wait *wait = &client->wait;
  if (client->next != NULL && client->next->link != &client->next) return false;
  if (*client->link != client || client->done > client->in.count || client->sent > client->out.count)
    return false;
  return !wait->is_on || wait->at < wait->keys.count;
}

bool vs_store_check(const vs_store *store) {
  for (const vs_store_client *client = store->clients; client != NULL; client = client->next)
    if (!check_client(client)) return false;
  return vs_entries_check(&store->entries);
}
