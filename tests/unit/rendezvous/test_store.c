/* The store of a world without peers: each query, the rule of identical ranks, clients that mean no good. It is compiled
 * into this test, which looks inside. */
#include "rendezvous/store.c"
#include "support/random.h"
#include "support/test.h"

enum { MEMORY = 1 << 20 };

static const char *const grammars[] = {
#define VS_STORE_QUERY(name, code, grammar) [code] = (grammar),
#include "rendezvous/queries.def"
#undef VS_STORE_QUERY
};
enum { QUERY_COUNT = sizeof grammars / sizeof *grammars };

typedef struct world {
  fault_host fault;
  vs_store *store;
  vs_store_client *client;
  vs_text request;
  unsigned sentences;
  char last[VS_STORE_SENTENCE];
} world;

static void hear(void *ctx, const char *sentence) {
  world *w = ctx;
  w->sentences++;
  vs_format(w->last, sizeof w->last, "%s", sentence);
}

/* ---- requests, field by field */

static void put_query(world *w, vs_query query) { vs_text_byte(&w->request, (uint8_t)query); }
static void put_u64(world *w, uint64_t number) { vs_text_put(&w->request, &number, sizeof number); }
static void put_u32(world *w, uint32_t number) { vs_text_put(&w->request, &number, sizeof number); }
static void put_bytes(world *w, const char *text) {
  put_u64(w, strlen(text));
  vs_text_cstr(&w->request, text);
}

static vs_status send_to(world *w, vs_store_client *client, vs_error *error) {
  const vs_str request = vs_text_view(&w->request);
  const vs_status status = vs_store_feed(w->store, client, request.data, request.size, error);
  w->request.bytes.count = 0;
  assert_true(vs_store_check(w->store));
  return status;
}

static void send_request(world *w) { expect_ok(send_to(w, w->client, NULL)); }

static vs_store_client *connect(world *w) {
  vs_store_client *client;
  expect_ok(vs_store_connect(w->store, &client));
  put_query(w, VS_QUERY_VALIDATE);
  put_u32(w, VS_STORE_MAGIC);
  expect_ok(send_to(w, client, NULL));
  return client;
}

static void begin(world *w, uint64_t copies) {
  *w = (world){.sentences = 0};
  fault_host_init(&w->fault, FAULT_NEVER);
  const vs_store_settings settings = {.copies = copies, .memory = MEMORY, .ctx = w, .say = hear};
  expect_ok(vs_store_create(&w->fault.host, &settings, &w->store));
  vs_text_init(&w->request, vs_host_default(), NULL);
  w->client = connect(w);
}

static void end(world *w) {
  vs_store_destroy(w->store);
  vs_text_deinit(&w->request);
  fault_host_expect_empty(&w->fault);
}

/* ---- answers: what is expected next, and then nothing */

static void expect_bytes(vs_store_client *client, const void *bytes, size_t size) {
  const vs_str output = vs_store_output(client);
  assert_int_equal(output.size, size);
  if (size != 0) assert_memory_equal(output.data, bytes, size);
  vs_store_sent(client, size);
}
static void expect_nothing(vs_store_client *client) { expect_bytes(client, NULL, 0); }
static void expect_byte(vs_store_client *client, uint8_t byte) { expect_bytes(client, &byte, 1); }
static void expect_number(vs_store_client *client, int64_t number) {
  expect_bytes(client, &number, sizeof number);
}
static void expect_answer(vs_store_client *client, const char *value) {
  char wanted[512];
  const uint64_t size = strlen(value);
  memcpy(wanted, &size, sizeof size);
  memcpy(wanted + sizeof size, value, size);
  expect_bytes(client, wanted, sizeof size + size);
}

static void set(world *w, const char *key, const char *value) {
  put_query(w, VS_QUERY_SET);
  put_bytes(w, key);
  put_bytes(w, value);
  send_request(w);
  expect_nothing(w->client);
}

static int64_t add(world *w, const char *key, int64_t number) {
  put_query(w, VS_QUERY_ADD);
  put_bytes(w, key);
  put_u64(w, (uint64_t)number);
  send_request(w);
  const vs_str output = vs_store_output(w->client);
  assert_int_equal(output.size, sizeof number);
  memcpy(&number, output.data, sizeof number);
  vs_store_sent(w->client, sizeof number);
  return number;
}

static void ask(world *w, vs_store_client *client, vs_query query, const char *key) {
  put_query(w, query);
  if (query == VS_QUERY_CHECK || query == VS_QUERY_WAIT || query == VS_QUERY_MULTI_GET) put_u64(w, 1);
  put_bytes(w, key);
  expect_ok(send_to(w, client, NULL));
}

static void expect_get(world *w, const char *key, const char *value) {
  ask(w, w->client, VS_QUERY_GET, key);
  expect_answer(w->client, value);
}

static void expect_there(world *w, const char *key, bool is_there) {
  ask(w, w->client, VS_QUERY_CHECK, key);
  expect_byte(w->client, is_there ? 0 : 1);
}

static void compare_set(world *w, const char *key, const char *expected, const char *wanted,
                        const char *answer) {
  put_query(w, VS_QUERY_COMPARE_SET);
  put_bytes(w, key);
  put_bytes(w, expected);
  put_bytes(w, wanted);
  send_request(w);
  expect_answer(w->client, answer);
}

/* ---- an ordinary store */

static void test_values(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  set(&w, "/a", "one");
  expect_get(&w, "/a", "one");
  set(&w, "/a", "");
  expect_get(&w, "/a", "");
  expect_there(&w, "/a", true);
  expect_get(&w, "/none", "");
  expect_there(&w, "/none", false);
  ask(&w, w.client, VS_QUERY_DELETE_KEY, "/a");
  expect_number(w.client, 1);
  ask(&w, w.client, VS_QUERY_DELETE_KEY, "/a");
  expect_number(w.client, 0);
  expect_there(&w, "/a", false);
  put_query(&w, VS_QUERY_APPEND);
  put_bytes(&w, "/b");
  put_bytes(&w, "on");
  put_query(&w, VS_QUERY_APPEND);
  put_bytes(&w, "/b");
  put_bytes(&w, "ce");
  send_request(&w);
  expect_get(&w, "/b", "once");
  end(&w);
}

static void test_compare_set(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  compare_set(&w, "/c", "x", "y", "x"); /* there is none: what was expected comes back, nothing is set */
  expect_there(&w, "/c", false);
  compare_set(&w, "/c", "", "1", "1");
  compare_set(&w, "/c", "0", "2", "1");
  compare_set(&w, "/c", "1", "2", "2");
  expect_get(&w, "/c", "2");
  end(&w);
}

static void test_numbers(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  assert_int_equal(add(&w, "/n", 5), 5);
  assert_int_equal(add(&w, "/n", -7), -2);
  expect_get(&w, "/n", "-2");
  put_query(&w, VS_QUERY_GETNUMKEYS);
  send_request(&w);
  expect_number(w.client, 1);
  put_query(&w, VS_QUERY_PING);
  put_u32(&w, 0x01020304);
  send_request(&w);
  expect_bytes(w.client, "\4\3\2\1", 4);
  end(&w);
}

static void test_many_at_once(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  put_query(&w, VS_QUERY_MULTI_SET);
  put_u64(&w, 2);
  put_bytes(&w, "/a");
  put_bytes(&w, "1");
  put_bytes(&w, "/b");
  put_bytes(&w, "");
  put_query(&w, VS_QUERY_MULTI_GET);
  put_u64(&w, 2);
  put_bytes(&w, "/b");
  put_bytes(&w, "/a");
  send_request(&w);
  expect_bytes(w.client, "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0001", 17);
  put_query(&w, VS_QUERY_LIST_KEYS);
  send_request(&w);
  expect_bytes(w.client, "\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0/a\2\0\0\0\0\0\0\0/b", 28);
  end(&w);
}

static void push(world *w, const char *value) {
  put_query(w, VS_QUERY_QUEUE_PUSH);
  put_bytes(w, "/q");
  put_bytes(w, value);
  send_request(w);
  expect_nothing(w->client);
}

static void expect_length(world *w, int64_t length) {
  ask(w, w->client, VS_QUERY_QUEUE_LEN, "/q");
  expect_number(w->client, length);
}

static void test_queues(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  expect_length(&w, 0);
  push(&w, "first");
  push(&w, "next");
  expect_length(&w, 2);
  expect_there(&w, "/q", true);
  ask(&w, w.client, VS_QUERY_QUEUE_POP, "/q");
  expect_bytes(w.client, "\2\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0first", 21);
  /* Used for ever it stays as small as what is in it. */
  for (uint64_t i = 0; i < test_repetitions(5000, 500); i++) {
    push(&w, "x");
    ask(&w, w.client, VS_QUERY_QUEUE_POP, "/q");
    vs_store_sent(w.client, vs_store_output(w.client).size);
  }
  expect_length(&w, 1);
  assert_true(vs_entries_find(&w.store->entries, VS_STR("/q"))->queue.capacity <= 64);
  ask(&w, w.client, VS_QUERY_QUEUE_POP, "/q");
  expect_bytes(w.client, "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0x", 17);
  expect_there(&w, "/q", false);
  ask(&w, w.client, VS_QUERY_QUEUE_POP, "/q");
  expect_number(w.client, 0);
  push(&w, "left behind");
  end(&w);
}

/* A wait is answered when a client sets the last key, or given up. */
static void test_waiting(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  vs_store_client *other = connect(&w);
  put_query(&w, VS_QUERY_WAIT);
  put_u64(&w, 3);
  put_bytes(&w, "/a");
  put_bytes(&w, "/n");
  put_bytes(&w, "/q");
  expect_ok(send_to(&w, other, NULL));
  set(&w, "/a", "");
  (void)add(&w, "/n", 1);
  expect_nothing(other);
  push(&w, "");
  expect_byte(other, 0);
  set(&w, "/a", "again");
  expect_nothing(other);
  ask(&w, other, VS_QUERY_WAIT, "/late");
  put_query(&w, VS_QUERY_CANCEL_WAIT);
  expect_ok(send_to(&w, other, NULL));
  expect_byte(other, 1);
  set(&w, "/late", "1");
  expect_nothing(other);
  vs_store_disconnect(w.store, other);
  end(&w);
}

static void barrier(world *w, vs_store_client *client, int64_t count) {
  put_query(w, VS_QUERY_BARRIER);
  put_bytes(w, "/b");
  put_u64(w, (uint64_t)count);
  expect_ok(send_to(w, client, NULL));
}

static void test_barrier(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  vs_store_client *other = connect(&w);
  barrier(&w, w.client, 2);
  expect_nothing(w.client);
  barrier(&w, other, 2);
  expect_byte(w.client, 0);
  expect_byte(other, 0);
  expect_get(&w, "/b", "2");
  end(&w);
}

/* Only what was set is there, however much it looks like something. */
static void test_ordinary_store_makes_nothing_up(void **state) {
  (void)state;
  world w;
  begin(&w, 1);
  set(&w, "/rank/0", "here");
  (void)add(&w, "/count", 1);
  expect_there(&w, "/rank/1", false);
  expect_there(&w, "/count/last", false);
  expect_there(&w, "/default_pg/0//cuda//0", false);
  ask(&w, w.client, VS_QUERY_WAIT, "/rank/1");
  vs_store_tick(w.store, 1);
  vs_store_tick(w.store, UINT64_C(1000000000));
  assert_int_equal(w.sentences, 0);
  end(&w);
}

/* ---- a world of identical ranks */

static void test_counts_are_full(void **state) {
  (void)state;
  world w;
  begin(&w, 64);
  assert_int_equal(add(&w, "init/", 1), 64);
  assert_int_equal(add(&w, "init/", 0), 64);
  assert_int_equal(add(&w, "init/", 1), 128);
  barrier(&w, w.client, 64);
  expect_byte(w.client, 0);
  barrier(&w, w.client, 128);
  expect_byte(w.client, 0);
  end(&w);
}

static void test_others_said_the_same(void **state) {
  (void)state;
  world w;
  begin(&w, 64);
  expect_there(&w, "/sync/7", false);
  set(&w, "/sync/0", "hello");
  expect_get(&w, "/sync/63", "hello");
  expect_get(&w, "/sync/7", "hello");
  expect_get(&w, "/sync/0", "hello");
  set(&w, "/sync/1", "of its own"); /* what was really set stays, and is the latest */
  expect_get(&w, "/sync/0", "hello");
  expect_get(&w, "/sync/2", "of its own");
  expect_there(&w, "/sync/", false);
  expect_there(&w, "/sync/x", false);
  expect_there(&w, "/sync/1/2", false);
  ask(&w, w.client, VS_QUERY_DELETE_KEY, "/sync/1");
  expect_number(w.client, 1);
  expect_there(&w, "/sync/2", false);
  assert_int_equal(w.sentences, 0);
  end(&w);
}

/* Groups smaller than the world never see their count as it is awaited, so no rank sets the last key. */
static void test_last_of_a_group(void **state) {
  (void)state;
  world w;
  begin(&w, 64);
  expect_there(&w, "/store_based_barrier_key:g:last_worker", false);
  (void)add(&w, "/store_based_barrier_key:g", 1);
  expect_get(&w, "/store_based_barrier_key:g:last_worker", "1");
  (void)add(&w, "/join/num_members", 1);
  expect_there(&w, "/join/last_member", true);
  expect_there(&w, "/join/other", false);
  set(&w, "/plain", "5");
  expect_there(&w, "/plain:last_worker", false); /* no count */
  end(&w);
}

static void test_ids_of_nccl(void **state) {
  (void)state;
  static const char *const ids[] = {"/default_pg/0//cuda//0", "/worker/default_pg/3//cuda//cuda:0//0:3",
                                    "/pg/UniqueNCCLID:7", "/pg/nccl_storekey_2"};
  world w;
  begin(&w, 64);
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    ask(&w, w.client, VS_QUERY_WAIT, ids[i]);
    expect_byte(w.client, 0);
    ask(&w, w.client, VS_QUERY_GET, ids[i]);
    const vs_str output = vs_store_output(w.client);
    assert_int_equal(output.size, sizeof(uint64_t) + 128);
    vs_store_sent(w.client, output.size);
  }
  assert_int_equal(vs_store_inferred(w.store), 4);
  expect_there(&w, "/default_pg/0//cpu//0", false);
  expect_there(&w, "/default_pg/0//cuda//", false);
  expect_there(&w, "/default_pg/0//cuda//dump", false);
  expect_there(&w, "0", false);
  end(&w);
}

static void test_a_wait_for_nobody_is_named(void **state) {
  (void)state;
  world w;
  begin(&w, 64);
  ask(&w, w.client, VS_QUERY_WAIT, "/config\33[31m");
  vs_store_tick(w.store, 1000);
  vs_store_tick(w.store, 1000 + VS_STORE_PATIENCE_US - 1);
  assert_int_equal(w.sentences, 0);
  vs_store_tick(w.store, 1000 + VS_STORE_PATIENCE_US);
  vs_store_tick(w.store, UINT64_MAX);
  assert_int_equal(w.sentences, 1);
  assert_non_null(strstr(w.last, "\"/config\\x1b[31m\", which only another rank would set"));
  expect_nothing(w.client);
  set(&w, "/gloo//cpu//0/0", "address");
  ask(&w, w.client, VS_QUERY_WAIT, "/gloo//cpu//0/1");
  assert_int_equal(w.sentences, 2);
  assert_non_null(strstr(w.last, "gloo"));
  for (unsigned i = 0; i < 100; i++) {
    ask(&w, w.client, VS_QUERY_WAIT, "/config");
    vs_store_tick(w.store, i * 2 * VS_STORE_PATIENCE_US);
    vs_store_tick(w.store, (i * 2 + 1) * VS_STORE_PATIENCE_US);
  }
  assert_int_equal(w.sentences, MOST_SAID);
  end(&w);
}

/* ---- clients that mean no good */

static void forged(world *w, vs_query query, uint64_t size) {
  put_query(w, query);
  put_u64(w, size);
}

/* A fresh client sends what `build` puts, and is refused with a sentence. */
#define REFUSED(w, build, wanted, part)                                 \
  do {                                                                  \
    vs_error error;                                                     \
    vs_store_client *client = connect(w);                               \
    build;                                                              \
    expect_status(send_to((w), client, &error), (wanted));              \
    assert_int_equal(error.status, (wanted));                           \
    if (strstr(error.text, (part)) == NULL) fail_msg("%s", error.text); \
    vs_store_disconnect((w)->store, client);                            \
  } while (0)

static void test_refusals(void **state) {
  (void)state;
  world w;
  begin(&w, 64);
  REFUSED(&w, put_query(&w, 19), VS_UNSUPPORTED, "query 19");
  REFUSED(&w, put_query(&w, 255), VS_UNSUPPORTED, "query 255");
  REFUSED(&w, put_query(&w, VS_QUERY_VALIDATE), VS_UNSUPPORTED, "query 0");
  REFUSED(&w, forged(&w, VS_QUERY_GET, VS_STORE_KEY_MOST + 1), VS_LIMIT, "8193 bytes");
  REFUSED(&w, forged(&w, VS_QUERY_GET, UINT64_MAX), VS_LIMIT, "18446744073709551615 bytes");
  REFUSED(&w, forged(&w, VS_QUERY_WAIT, VS_STORE_COUNT_MOST + 1), VS_LIMIT, "131073 keys");
  REFUSED(&w, forged(&w, VS_QUERY_MULTI_SET, UINT64_C(1) << 63), VS_LIMIT, "keys");
  REFUSED(&w, (put_query(&w, VS_QUERY_SET), put_bytes(&w, "k"), put_u64(&w, VS_STORE_VALUE_MOST + 1)),
          VS_LIMIT, "8388609 bytes");
  set(&w, "/text", "one");
  REFUSED(&w, (put_query(&w, VS_QUERY_ADD), put_bytes(&w, "/text"), put_u64(&w, 1)), VS_BAD_FORMAT,
          "not a number");
  REFUSED(&w, (put_query(&w, VS_QUERY_BARRIER), put_bytes(&w, "/text"), put_u64(&w, 1)), VS_BAD_FORMAT,
          "not a number");
  REFUSED(&w, (put_query(&w, VS_QUERY_ADD), put_bytes(&w, "/n"), put_u64(&w, INT64_MAX)), VS_LIMIT,
          "64 bits");
  expect_get(&w, "/text", "one"); /* the others go on */
  end(&w);
}

static void test_strangers(void **state) {
  (void)state;
  world w;
  begin(&w, 64);
  vs_store_client *client;
  vs_error error;
  expect_ok(vs_store_connect(w.store, &client));
  expect_status(vs_store_feed(w.store, client, "GET / HTTP/1.1\r\n", 16, &error), VS_BAD_FORMAT);
  assert_non_null(strstr(error.text, "does not speak PyTorch's protocol"));
  vs_store_disconnect(w.store, client);
  expect_ok(vs_store_connect(w.store, &client));
  expect_status(vs_store_feed(w.store, client, "\0\1\2\3\4", 5, &error), VS_BAD_FORMAT);
  end(&w);
}

/* The bound holds for the store as a whole; who goes over it is sent away, and the others keep what they have. */
static void test_full(void **state) {
  (void)state;
  world w;
  begin(&w, 64);
  set(&w, "/mine", "kept");
  vs_store_client *greedy = connect(&w);
  vs_status status = VS_OK;
  vs_error error;
  for (unsigned i = 0; status == VS_OK && i < MEMORY; i++) {
    char key[32];
    vs_format(key, sizeof key, "/%u/%u", i, i);
    put_query(&w, VS_QUERY_SET);
    put_bytes(&w, key);
    put_bytes(&w, "................................................................");
    status = send_to(&w, greedy, &error);
    if (i % 512 != 0) continue;
    assert_true(w.fault.live_bytes <= MEMORY + sizeof(vs_store));
  }
  expect_status(status, VS_NO_MEMORY);
  assert_non_null(strstr(error.text, "full"));
  vs_store_disconnect(w.store, greedy);
  end(&w);
}

/* ---- in pieces of any size, the same; and every allocation failing once */

static void put_everything(world *w) {
  put_query(w, VS_QUERY_VALIDATE);
  put_u32(w, VS_STORE_MAGIC);
  for (unsigned query = 1; query < QUERY_COUNT; query++) {
    put_query(w, (vs_query)query);
    for (const char *field = grammars[query]; *field != 0; field++) {
      if (*field == 'k')
        put_bytes(w, query == VS_QUERY_ADD || query == VS_QUERY_BARRIER ? "/count/1" : "/key/12");
      if (*field == 'v') put_bytes(w, "a value");
      if (*field == 'i') put_u64(w, 1);
      if (*field == 'n') put_u32(w, 77);
      if (*field == 'K' || *field == 'P') {
        put_u64(w, 3);
        for (unsigned i = 0; i < 3; i++) {
          put_bytes(w, i == 1 ? "/other" : "/key/12");
          if (*field == 'P') put_bytes(w, "v");
        }
      }
    }
  }
}

static vs_status feed_everything(const vs_host *host, void *ctx) {
  const world *w = ctx;
  const vs_str all = vs_text_view(&w->request);
  const vs_store_settings settings = {.copies = 64, .memory = MEMORY};
  vs_store *store;
  vs_store_client *client;
  VS_TRY(vs_store_create(host, &settings, &store));
  vs_status status = vs_store_connect(store, &client);
  if (status == VS_OK) status = vs_store_feed(store, client, all.data, all.size, NULL);
  assert_true(vs_store_check(store));
  vs_store_destroy(store);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  world w = {.sentences = 0};
  vs_text_init(&w.request, vs_host_default(), NULL);
  put_everything(&w);
  assert_true(fault_prove(feed_everything, &w) > 10);
  vs_text_deinit(&w.request);
}

static void test_pieces(void **state) {
  (void)state;
  world w;
  begin(&w, 64);
  put_everything(&w);
  const vs_str all = vs_text_view(&w.request);
  vs_text answers[2];
  for (unsigned round = 0; round < 2; round++) {
    test_random random = {7};
    const vs_store_settings settings = {.copies = 64, .memory = MEMORY};
    vs_store *store;
    vs_store_client *client;
    expect_ok(vs_store_create(&w.fault.host, &settings, &store));
    expect_ok(vs_store_connect(store, &client));
    for (size_t at = 0, size; at < all.size; at += size) {
      size = round == 0 ? all.size : 1 + (size_t)random_below(&random, 5);
      if (size > all.size - at) size = all.size - at;
      expect_ok(vs_store_feed(store, client, all.data + at, size, NULL));
    }
    vs_text_init(&answers[round], vs_host_default(), NULL);
    vs_text_str(&answers[round], vs_store_output(client));
    vs_store_destroy(store);
  }
  assert_true(answers[0].bytes.count > 100);
  assert_true(vs_str_equal(vs_text_view(&answers[0]), vs_text_view(&answers[1])));
  vs_text_deinit(&answers[0]);
  vs_text_deinit(&answers[1]);
  end(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_compare_set),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_many_at_once),
      cmocka_unit_test(test_queues),
      cmocka_unit_test(test_waiting),
      cmocka_unit_test(test_barrier),
      cmocka_unit_test(test_ordinary_store_makes_nothing_up),
      cmocka_unit_test(test_counts_are_full),
      cmocka_unit_test(test_others_said_the_same),
      cmocka_unit_test(test_last_of_a_group),
      cmocka_unit_test(test_ids_of_nccl),
      cmocka_unit_test(test_a_wait_for_nobody_is_named),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_strangers),
      cmocka_unit_test(test_full),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_pieces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
