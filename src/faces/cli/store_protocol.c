#include "faces/cli/store_protocol.h"

/* ---- data */

typedef VS_VEC(uint8_t) vs_bytes;

/* A key: a value, a queue, or both under one name, as in the store this one speaks for. */
typedef struct vs_entry {
  vs_bytes key, value;
  VS_VEC(vs_bytes) queue;
  size_t queue_head; /* values before it were popped */
  uint64_t likeness; /* hash of the key with its digits alike */
  bool is_used, has_value;
  bool is_count; /* the value was made by ADD or BARRIER */
} vs_entry;

typedef enum vs_query {
#define VS_STORE_QUERY(name, code, grammar) VS_QUERY_##name = (code),
#include "faces/cli/store_queries.def"
#undef VS_STORE_QUERY
} vs_query;

static const char *const grammars[] = {
#define VS_STORE_QUERY(name, code, grammar) [code] = (grammar),
#include "faces/cli/store_queries.def"
#undef VS_STORE_QUERY
};
enum { QUERY_COUNT = sizeof grammars / sizeof *grammars };

/* How far the first query in the buffer was found to be whole, so that no byte is looked at twice while more come.
 * Invariant: `at` <= bytes there; `field` points into the query's grammar, `items` fields are still to come of a list. */
typedef struct vs_scan {
  const char *field; /* NULL: not begun */
  size_t at;
  uint64_t items;
  bool is_list; /* its count was read */
} vs_scan;

typedef struct vs_wait {
  vs_bytes keys; /* as in the query: size, bytes, ... */
  size_t at;     /* the first key that is not there */
  int64_t count; /* of a barrier: what the value of its one key has to reach */
  bool is_on, is_barrier, is_said;
  bool is_timed; /* since_us is set */
  uint64_t since_us;
} vs_wait;

struct vs_store_client {
  vs_store_client *next, **link;
  vs_bytes in; /* from `done` on: not understood yet */
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
  VS_VEC(vs_entry) entries;
  VS_VEC(uint32_t) unused; /* places in entries */
  vs_map by_key;           /* hash of the key -> place */
  vs_map by_likeness;      /* likeness -> place of the latest */
  vs_store_client *clients;
  uint64_t key_count; /* entries with a value */
  uint64_t requests, made_up, said;
  bool is_gloo_said;
};

enum { MOST_SAID = 20, SUFFIX_MOST = 64, SHOWN_OF_KEY = 60, NUMBER_SIZE = 24 };

static const vs_host *host_of(vs_store *store) { return &store->budget.host; }

/* ---- bytes */

static vs_str view(const vs_bytes *bytes) { return (vs_str){(const char *)bytes->data, bytes->count}; }

static vs_status append(vs_store *store, vs_bytes *bytes, const void *data, size_t size) {
  VS_TRY(vs_vec_reserve(host_of(store), bytes, size));
  if (size != 0) memcpy(bytes->data + bytes->count, data, size);
  bytes->count += size;
  return VS_OK;
}

static vs_status assign(vs_store *store, vs_bytes *bytes, vs_str text) {
  VS_TRY(vs_vec_reserve(host_of(store), bytes, text.size > bytes->count ? text.size - bytes->count : 0));
  bytes->count = 0;
  return append(store, bytes, text.data, text.size);
}

static vs_status answer_byte(vs_store *store, vs_store_client *client, uint8_t byte) {
  return append(store, &client->out, &byte, sizeof byte);
}

static vs_status answer_number(vs_store *store, vs_store_client *client, int64_t number) {
  return append(store, &client->out, &number, sizeof number);
}

static vs_status answer_value(vs_store *store, vs_store_client *client, vs_str value) {
  const uint64_t size = value.size;
  VS_TRY(vs_vec_reserve(host_of(store), &client->out, sizeof size + value.size));
  VS_TRY(append(store, &client->out, &size, sizeof size));
  return append(store, &client->out, value.data, value.size);
}

/* ---- entries */

static uint64_t hash_of(vs_str key) { return vs_hash_bytes(key.data, key.size); }

/* Equal for keys that differ in their digits alone: every run of them counts as one '#'. */
static uint64_t likeness_of(vs_str key) {
  uint64_t hash = 1;
  bool in_digits = false;
  for (size_t i = 0; i < key.size; i++) {
    const uint8_t byte = (uint8_t)key.data[i];
    const bool is_digit = byte >= '0' && byte <= '9';
    if (!is_digit || !in_digits)
      hash = vs_hash_mix(hash ^ (is_digit ? '#' : byte), UINT64_C(0x8bb84b93962eacc9));
    in_digits = is_digit;
  }
  return hash;
}

static bool alike(vs_str a, vs_str b) {
  size_t i = 0, k = 0;
  while (i < a.size && k < b.size) {
    const bool digit = a.data[i] >= '0' && a.data[i] <= '9';
    if (digit != (b.data[k] >= '0' && b.data[k] <= '9')) return false;
    if (!digit && a.data[i] != b.data[k]) return false;
    if (!digit) {
      i++, k++;
      continue;
    }
    while (i < a.size && a.data[i] >= '0' && a.data[i] <= '9') i++;
    while (k < b.size && b.data[k] >= '0' && b.data[k] <= '9') k++;
  }
  return i == a.size && k == b.size;
}

static size_t slot_of(const vs_store *store, vs_str key) {
  size_t slot = vs_map_find(&store->by_key, hash_of(key));
  while (slot != VS_MAP_NONE) {
    const vs_entry *entry = &store->entries.data[store->by_key.slots[slot].value];
    if (vs_str_equal(view(&entry->key), key)) return slot;
    slot = vs_map_find_next(&store->by_key, slot);
  }
  return VS_MAP_NONE;
}

static vs_entry *find(const vs_store *store, vs_str key) {
  const size_t slot = slot_of(store, key);
  return slot == VS_MAP_NONE ? NULL : &store->entries.data[store->by_key.slots[slot].value];
}

static vs_status new_place(vs_store *store, uint32_t *place) {
  if (store->unused.count != 0) {
    *place = store->unused.data[--store->unused.count];
    return VS_OK;
  }
  if (store->entries.count == UINT32_MAX) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(host_of(store), &store->entries, 1));
  /* So that giving a place back cannot fail. */
  VS_TRY(vs_vec_reserve(host_of(store), &store->unused, store->entries.count + 1 - store->unused.count));
  *place = (uint32_t)store->entries.count++;
  store->entries.data[*place] = (vs_entry){.is_used = false};
  return VS_OK;
}

/* The entry of a key, made where there is none. */
static vs_status obtain(vs_store *store, vs_str key, vs_entry **out) {
  *out = find(store, key);
  if (*out != NULL) return VS_OK;
  VS_TRY(vs_map_reserve(host_of(store), &store->by_key));
  uint32_t place;
  VS_TRY(new_place(store, &place));
  vs_entry *entry = &store->entries.data[place];
  const vs_status status = append(store, &entry->key, key.data, key.size);
  if (status != VS_OK) {
    store->unused.data[store->unused.count++] = place;
    return status;
  }
  entry->is_used = true;
  entry->likeness = likeness_of(key);
  vs_map_add(&store->by_key, hash_of(key), place);
  *out = entry;
  return VS_OK;
}

static void forget_likeness(vs_store *store, const vs_entry *entry) {
  const size_t slot = vs_map_find(&store->by_likeness, entry->likeness);
  if (slot != VS_MAP_NONE && &store->entries.data[store->by_likeness.slots[slot].value] == entry)
    vs_map_remove(&store->by_likeness, slot);
}

static vs_status note_likeness(vs_store *store, const vs_entry *entry) {
  const uint32_t place = (uint32_t)(entry - store->entries.data);
  const size_t slot = vs_map_find(&store->by_likeness, entry->likeness);
  if (slot != VS_MAP_NONE) {
    store->by_likeness.slots[slot].value = place;
    return VS_OK;
  }
  VS_TRY(vs_map_reserve(host_of(store), &store->by_likeness));
  vs_map_add(&store->by_likeness, entry->likeness, place);
  return VS_OK;
}

static bool queue_is_empty(const vs_entry *entry) { return entry->queue_head == entry->queue.count; }

static void release(vs_store *store, vs_entry *entry) {
  const vs_host *host = host_of(store);
  vs_vec_free(host, &entry->key);
  vs_vec_free(host, &entry->value);
  for (size_t i = entry->queue_head; i < entry->queue.count; i++) vs_vec_free(host, &entry->queue.data[i]);
  vs_vec_free(host, &entry->queue);
  *entry = (vs_entry){.is_used = false};
}

/* An entry that holds nothing any more goes. */
static void tidy(vs_store *store, vs_entry *entry) {
  if (entry->has_value || !queue_is_empty(entry)) return;
  vs_map_remove(&store->by_key, slot_of(store, view(&entry->key)));
  store->unused.data[store->unused.count++] = (uint32_t)(entry - store->entries.data);
  release(store, entry);
}

static vs_status put_value(vs_store *store, vs_str key, vs_str value, bool is_count) {
  vs_entry *entry;
  VS_TRY(obtain(store, key, &entry));
  vs_status status = assign(store, &entry->value, value);
  if (status == VS_OK) status = note_likeness(store, entry);
  if (status == VS_OK) {
    store->key_count += !entry->has_value;
    entry->has_value = true;
    entry->is_count = is_count;
  }
  tidy(store, entry);
  return status;
}

/* ---- what ranks that do not run would have said: the rules 3 to 5 of the header */

static const char made_up_id[128] = "an NCCL id of a rank that does not run";

static bool ends_with(vs_str text, vs_str end) {
  return text.size >= end.size && memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
}

static bool is_count(const vs_store *store, vs_str key) {
  const vs_entry *entry = find(store, key);
  return entry != NULL && entry->has_value && entry->is_count;
}

/* "barrier:last_worker" beside the count "barrier", "x/last_member" beside the count "x/num_members". */
static bool follows_a_count(const vs_store *store, vs_str key) {
  static const char last[] = "/last_member", members[] = "/num_members";
  if (ends_with(key, VS_STR("/last_member"))) {
    char sibling[VS_STORE_KEY_MOST];
    const size_t stem = key.size - (sizeof last - 1), size = stem + sizeof members - 1;
    memcpy(sibling, key.data, stem);
    memcpy(sibling + stem, members, sizeof members - 1);
    if (is_count(store, (vs_str){sibling, size})) return true;
  }
  for (size_t i = 1; i <= SUFFIX_MOST && i < key.size; i++) {
    const char byte = key.data[key.size - i];
    if ((byte == ':' || byte == '/' || byte == '_' || byte == '.') &&
        is_count(store, (vs_str){key.data, key.size - i}))
      return true;
  }
  return false;
}

/* Behind the last slash. */
static vs_str name_in(vs_str key) {
  size_t begin = key.size;
  while (begin > 0 && key.data[begin - 1] != '/') begin--;
  return (vs_str){key.data + begin, key.size - begin};
}

/* Whether a process group's backend for `device` numbers things by this key: "default_pg/0//cuda//0", "...cuda//0:3". */
static bool is_numbered(vs_str key, vs_str device) {
  const vs_str name = name_in(key);
  if (name.size == 0 || !vs_str_contains((vs_str){key.data, key.size - name.size}, device)) return false;
  for (size_t i = 0; i < name.size; i++)
    if ((name.data[i] < '0' || name.data[i] > '9') && name.data[i] != ':') return false;
  return true;
}

/* Where ProcessGroupNCCL puts and seeks its ids; also ".../UniqueNCCLID:1" and "nccl_storekey_2". */
static bool is_nccl_key(vs_str key) {
  const vs_str name = name_in(key);
  return vs_str_contains(name, VS_STR("UniqueNCCLID")) || vs_str_starts(name, VS_STR("nccl_storekey")) ||
         is_numbered(key, VS_STR("cuda/"));
}

static bool make_up(const vs_store *store, vs_str key, vs_str *value) {
  if (store->settings.copies == 1) return false;
  const size_t slot = vs_map_find(&store->by_likeness, likeness_of(key));
  if (slot != VS_MAP_NONE) {
    const vs_entry *entry = &store->entries.data[store->by_likeness.slots[slot].value];
    *value = view(&entry->value);
    if (alike(view(&entry->key), key)) return true;
  }
  if (follows_a_count(store, key)) {
    *value = VS_STR("1");
    return true;
  }
  *value = (vs_str){made_up_id, sizeof made_up_id};
  return is_nccl_key(key);
}

/* false: the key is not there. `value` is NULL where only that matters. */
static bool resolve(vs_store *store, vs_str key, vs_str *value) {
  vs_str found = {NULL, 0};
  const vs_entry *entry = find(store, key);
  bool is_there = entry != NULL;
  if (entry != NULL && entry->has_value) found = view(&entry->value);
  else if (entry == NULL) is_there = make_up(store, key, &found);
  if (value != NULL) *value = is_there ? found : (vs_str){NULL, 0};
  return is_there;
}

/* ---- reading fields of a query that is known to be whole */

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
  const vs_str bytes = {(const char *)call->at, size};
  call->at += size;
  return bytes;
}

/* ---- waiting */

static bool count_of(const vs_entry *entry, int64_t *count) {
  *count = 0;
  return !entry->has_value || vs_parse_i64(view(&entry->value), count);
}

static bool is_reached(vs_store *store, vs_str key, int64_t wanted) {
  const vs_entry *entry = find(store, key);
  int64_t count;
  return entry != NULL && count_of(entry, &count) && count >= wanted;
}

static vs_str awaited(const vs_wait *wait, size_t *next) {
  uint64_t size;
  memcpy(&size, wait->keys.data + wait->at, sizeof size);
  *next = wait->at + sizeof size + (size_t)size;
  return (vs_str){(const char *)wait->keys.data + wait->at + sizeof size, (size_t)size};
}

static void say(vs_store *store, const char *sentence) {
  if (store->settings.say == NULL || store->said == MOST_SAID) return;
  store->settings.say(store->settings.ctx, sentence);
  store->said++;
}

/* Gloo really sends: an address makes a group, not a peer. It asks for one at the first collective. */
static void note_made_up(vs_store *store, vs_str key) {
  store->made_up++;
  if (store->is_gloo_said || !is_numbered(key, VS_STR("cpu/"))) return;
  store->is_gloo_said = true;
  say(store,
      "a gloo process group calls another rank, and none runs: its collectives wait until their time is over "
      "(those of nccl do not)");
}

/* Answers a wait when its last key is there. */
static vs_status advance(vs_store *store, vs_store_client *client) {
  vs_wait *wait = &client->wait;
  if (!wait->is_on) return VS_OK;
  while (wait->at < wait->keys.count) {
    size_t next;
    const vs_str key = awaited(wait, &next);
    if (wait->is_barrier ? !is_reached(store, key, wait->count) : !resolve(store, key, NULL)) return VS_OK;
    if (find(store, key) == NULL) note_made_up(store, key);
    wait->at = next;
  }
  wait->is_on = false;
  return answer_byte(store, client, 0);
}

/* After every change. A client whose answer finds no memory is left waiting: it is the one that asks that is told. */
static vs_status wake(vs_store *store) {
  vs_status status = VS_OK;
  for (vs_store_client *client = store->clients; client != NULL && status == VS_OK; client = client->next)
    status = advance(store, client);
  return status;
}

static vs_status begin_wait(vs_call *call, const uint8_t *keys, const uint8_t *end, bool is_barrier,
                            int64_t count) {
  vs_wait *wait = &call->client->wait;
  VS_TRY(assign(call->store, &wait->keys, (vs_str){(const char *)keys, (size_t)(end - keys)}));
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
  vs_text text; /* the key is a stranger's: escaped */
  vs_text_init(&text, host_of(store), NULL);
  vs_text_format(&text, "%S%c", key, 0);
  vs_format(
      sentence, sizeof sentence,
      "the program waits for the key \"%s\", which only another rank would set, and none runs: the wait ends "
      "when its own time is over",
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
                   "a client of the store is no client of PyTorch's");
  call->client->is_valid = true;
  return VS_OK;
}

static vs_status do_PING(vs_call *call) {
  uint32_t nonce;
  take(call, &nonce, sizeof nonce);
  return append(call->store, &call->client->out, &nonce, sizeof nonce);
}

static vs_status do_SET(vs_call *call) {
  const vs_str key = take_bytes(call);
  VS_TRY(put_value(call->store, key, take_bytes(call), false));
  return wake(call->store);
}

static vs_status do_COMPARE_SET(vs_call *call) {
  const vs_str key = take_bytes(call), expected = take_bytes(call), wanted = take_bytes(call);
  const vs_entry *entry = find(call->store, key);
  const bool has_value = entry != NULL && entry->has_value;
  vs_str now = has_value ? view(&entry->value) : (vs_str){NULL, 0};
  if (vs_str_equal(now, expected)) {
    VS_TRY(put_value(call->store, key, wanted, false));
    now = wanted;
  } else if (!has_value) {
    now = expected; /* so does PyTorch's */
  }
  VS_TRY(answer_value(call->store, call->client, now));
  return wake(call->store);
}

static vs_status do_GET(vs_call *call) {
  vs_str value;
  (void)resolve(call->store, take_bytes(call), &value);
  return answer_value(call->store, call->client, value);
}

/* Adds `by`, `times` times, to the number under `key`. */
static vs_status count_up(vs_call *call, vs_str key, int64_t by, uint64_t times, int64_t *sum) {
  const vs_entry *entry = find(call->store, key);
  *sum = 0;
  if (entry != NULL && !count_of(entry, sum))
    return vs_fail(call->error, VS_BAD_FORMAT, VS_NO_OFFSET,
                   "a client of the store adds to what is no number");
  if (__builtin_mul_overflow(by, (int64_t)times, &by) || __builtin_add_overflow(*sum, by, sum))
    return vs_fail(call->error, VS_LIMIT, VS_NO_OFFSET, "a client of the store adds beyond 64 bits");
  char digits[NUMBER_SIZE];
  vs_format(digits, sizeof digits, "%D", *sum);
  return put_value(call->store, key, vs_str_from(digits), true);
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
  return answer_number(call->store, call->client, (int64_t)call->store->key_count);
}

static vs_status do_DELETE_KEY(vs_call *call) {
  vs_entry *entry = find(call->store, take_bytes(call));
  const bool has_value = entry != NULL && entry->has_value;
  if (has_value) {
    forget_likeness(call->store, entry);
    entry->has_value = false;
    entry->value.count = 0;
    call->store->key_count--;
    tidy(call->store, entry);
  }
  return answer_number(call->store, call->client, has_value ? 1 : 0);
}

static vs_status do_APPEND(vs_call *call) {
  const vs_str key = take_bytes(call), more = take_bytes(call);
  vs_entry *entry = find(call->store, key);
  if (entry == NULL || !entry->has_value) {
    VS_TRY(put_value(call->store, key, more, false));
  } else {
    if (more.size > VS_STORE_VALUE_MOST - entry->value.count)
      return vs_fail(call->error, VS_LIMIT, VS_NO_OFFSET,
                     "a value of the store would be larger than %d bytes", VS_STORE_VALUE_MOST);
    VS_TRY(append(call->store, &entry->value, more.data, more.size));
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
    VS_TRY(put_value(call->store, key, take_bytes(call), false));
  }
  return wake(call->store);
}

/* Places of popped values are used again before the list grows. */
static void close_ranks(vs_entry *entry) {
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
  VS_TRY(obtain(store, key, &entry));
  vs_bytes value = {0};
  close_ranks(entry);
  vs_status status = vs_vec_reserve(host_of(store), &entry->queue, 1);
  if (status == VS_OK) status = append(store, &value, text.data, text.size);
  if (status == VS_OK) entry->queue.data[entry->queue.count++] = value;
  tidy(store, entry);
  VS_TRY(status);
  return wake(store);
}

static vs_status do_QUEUE_POP(vs_call *call) {
  vs_store *store = call->store;
  vs_entry *entry = find(store, take_bytes(call));
  const size_t length = entry == NULL ? 0 : entry->queue.count - entry->queue_head;
  VS_TRY(answer_number(store, call->client, (int64_t)length));
  if (length == 0) return VS_OK;
  vs_bytes *value = &entry->queue.data[entry->queue_head];
  VS_TRY(answer_value(store, call->client, view(value)));
  vs_vec_free(host_of(store), value);
  entry->queue_head++;
  if (queue_is_empty(entry)) entry->queue_head = entry->queue.count = 0;
  tidy(store, entry);
  return VS_OK;
}

static vs_status do_QUEUE_LEN(vs_call *call) {
  const vs_entry *entry = find(call->store, take_bytes(call));
  return answer_number(call->store, call->client,
                       entry == NULL ? 0 : (int64_t)(entry->queue.count - entry->queue_head));
}

static vs_status do_LIST_KEYS(vs_call *call) {
  vs_store *store = call->store;
  VS_TRY(answer_number(store, call->client, (int64_t)store->key_count));
  for (size_t i = 0; i < store->entries.count; i++)
    if (store->entries.data[i].is_used && store->entries.data[i].has_value)
      VS_TRY(answer_value(store, call->client, view(&store->entries.data[i].key)));
  return VS_OK;
}

static vs_status perform(vs_call *call, vs_query query) {
  switch (query) {
#define VS_STORE_QUERY(name, code, grammar) \
  case VS_QUERY_##name:                     \
    return do_##name(call);
#include "faces/cli/store_queries.def"
#undef VS_STORE_QUERY
  }
  return VS_BAD_FORMAT;
}

/* ---- from bytes to queries */

static size_t ahead(const vs_store_client *client) {
  return client->in.count - client->done - client->scan.at;
}

static uint64_t peek_u64(const vs_store_client *client) {
  uint64_t number;
  memcpy(&number, client->in.data + client->done + client->scan.at, sizeof number);
  return number;
}

/* Steps over `size` bytes where they are there. */
static bool skip(vs_store_client *client, size_t size) {
  if (ahead(client) < size) return false;
  client->scan.at += size;
  return true;
}

static vs_status skip_sized(vs_store_client *client, uint64_t most, bool *is_whole, vs_error *error) {
  *is_whole = false;
  if (ahead(client) < sizeof(uint64_t)) return VS_OK;
  const uint64_t size = peek_u64(client);
  if (size > most)
    return vs_fail(error, VS_LIMIT, VS_NO_OFFSET,
                   "a client of the store sends a field of %U bytes, of at most %U", size, most);
  *is_whole = skip(client, sizeof size + (size_t)size);
  return VS_OK;
}

/* K and P: the count once, then item by item. */
static vs_status skip_list(vs_store_client *client, bool has_values, bool *is_whole, vs_error *error) {
  vs_scan *scan = &client->scan;
  *is_whole = false;
  if (!scan->is_list) {
    if (ahead(client) < sizeof(uint64_t)) return VS_OK;
    scan->items = peek_u64(client);
    if (scan->items > VS_STORE_COUNT_MOST)
      return vs_fail(error, VS_LIMIT, VS_NO_OFFSET,
                     "a client of the store names %U keys at once, of at most %d", scan->items,
                     VS_STORE_COUNT_MOST);
    if (has_values) scan->items *= 2;
    scan->is_list = skip(client, sizeof(uint64_t));
  }
  while (scan->items != 0) {
    const bool is_value = has_values && scan->items % 2 == 1;
    bool is_item;
    VS_TRY(skip_sized(client, is_value ? VS_STORE_VALUE_MOST : VS_STORE_KEY_MOST, &is_item, error));
    if (!is_item) return VS_OK;
    scan->items--;
  }
  scan->is_list = false;
  *is_whole = true;
  return VS_OK;
}

static vs_status skip_field(vs_store_client *client, char field, bool *is_whole, vs_error *error) {
  switch (field) {
    case 'k': return skip_sized(client, VS_STORE_KEY_MOST, is_whole, error);
    case 'v': return skip_sized(client, VS_STORE_VALUE_MOST, is_whole, error);
    case 'K': return skip_list(client, false, is_whole, error);
    case 'P': return skip_list(client, true, is_whole, error);
    default: *is_whole = skip(client, field == 'i' ? sizeof(int64_t) : sizeof(uint32_t)); return VS_OK;
  }
}

static vs_status begin_query(vs_store_client *client, vs_error *error) {
  const uint8_t code = client->in.data[client->done];
  if (!client->is_valid && code != VS_QUERY_VALIDATE)
    return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "a client of the store is no client of PyTorch's");
  if (code >= QUERY_COUNT || (client->is_valid && code == VS_QUERY_VALIDATE))
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "the store does not know the query %u that a client sends", (unsigned)code);
  client->scan = (vs_scan){.field = grammars[code], .at = 1};
  return VS_OK;
}

/* Finds out whether the first query in the buffer is whole, going on where it stopped the last time. */
static vs_status scan_query(vs_store_client *client, bool *is_whole, vs_error *error) {
  *is_whole = false;
  if (client->done == client->in.count) return VS_OK;
  if (client->scan.field == NULL) VS_TRY(begin_query(client, error));
  while (*client->scan.field != 0) {
    bool is_field;
    VS_TRY(skip_field(client, *client->scan.field, &is_field, error));
    if (!is_field && ahead(client) + client->scan.at > VS_STORE_QUERY_MOST)
      return vs_fail(error, VS_LIMIT, VS_NO_OFFSET, "a query to the store is larger than %d bytes",
                     VS_STORE_QUERY_MOST);
    if (!is_field) return VS_OK;
    client->scan.field++;
  }
  *is_whole = true;
  return VS_OK;
}

static vs_status perform_all(vs_store *store, vs_store_client *client, vs_error *error) {
  for (;;) {
    bool is_whole;
    VS_TRY(scan_query(client, &is_whole, error));
    if (!is_whole) return VS_OK;
    const uint8_t *query = client->in.data + client->done;
    vs_call call = {.store = store, .client = client, .at = query + 1, .error = error};
    client->done += client->scan.at;
    client->scan = (vs_scan){.field = NULL};
    store->requests++;
    VS_TRY(perform(&call, (vs_query)*query));
  }
}

/* ---- clients and the store */

vs_status vs_store_feed(vs_store *store, vs_store_client *client, const void *bytes, size_t size,
                        vs_error *error) {
  vs_error own;
  if (error == NULL) error = &own;
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = append(store, &client->in, bytes, size);
  if (status == VS_OK) status = perform_all(store, client, error);
  const size_t rest = client->in.count - client->done;
  if (client->done != 0 && rest != 0) memmove(client->in.data, client->in.data + client->done, rest);
  client->in.count = rest;
  client->done = 0;
  if (rest == 0 && client->in.capacity > VS_STORE_KEY_MOST) vs_vec_free(host_of(store), &client->in);
  if (status == VS_OK || error->status != VS_OK) return status;
  return vs_fail(error, status, VS_NO_OFFSET,
                 status == VS_NO_MEMORY ? "the store is full" : "the keys of the store are made to meet");
}

vs_str vs_store_output(const vs_store_client *client) {
  const vs_str all = view(&client->out);
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
  *client->link = client->next;
  if (client->next != NULL) client->next->link = client->link;
  vs_vec_free(host, &client->in);
  vs_vec_free(host, &client->out);
  vs_vec_free(host, &client->wait.keys);
  vs_host_free(host, client, sizeof *client);
}

vs_status vs_store_create(const vs_host *host, const vs_store_settings *settings, vs_store **out) {
  vs_store *store = vs_host_alloc(host, sizeof *store);
  *out = store;
  if (store == NULL) return VS_NO_MEMORY;
  *store = (vs_store){.parent = host, .settings = *settings};
  vs_budget_init(&store->budget, host, settings->memory);
  return VS_OK;
}

void vs_store_destroy(vs_store *store) {
  const vs_host *host = host_of(store);
  while (store->clients != NULL) vs_store_disconnect(store, store->clients);
  for (size_t i = 0; i < store->entries.count; i++) release(store, &store->entries.data[i]);
  vs_vec_free(host, &store->entries);
  vs_vec_free(host, &store->unused);
  vs_map_deinit(host, &store->by_key);
  vs_map_deinit(host, &store->by_likeness);
  VS_ASSERT(store->budget.used == 0);
  vs_host_free(store->parent, store, sizeof *store);
}

uint64_t vs_store_requests(const vs_store *store) { return store->requests; }
uint64_t vs_store_made_up(const vs_store *store) { return store->made_up; }

bool vs_store_check(const vs_store *store) {
  uint64_t used = 0, with_value = 0;
  for (size_t i = 0; i < store->entries.count; i++) {
    const vs_entry *entry = &store->entries.data[i];
    if (!entry->is_used) continue;
    used++;
    with_value += entry->has_value;
    if (find(store, view(&entry->key)) != entry) return false;
    if (!entry->has_value && queue_is_empty(entry)) return false;
    if (entry->likeness != likeness_of(view(&entry->key))) return false;
  }
  for (size_t i = 0; i < store->by_likeness.capacity; i++) {
    const vs_map_slot *slot = &store->by_likeness.slots[i];
    if (!slot->used) continue;
    const vs_entry *entry = &store->entries.data[slot->value];
    if (!entry->is_used || !entry->has_value || entry->likeness != slot->key) return false;
  }
  return used == store->by_key.count && used + store->unused.count == store->entries.count &&
         with_value == store->key_count && store->by_likeness.count <= used;
}
