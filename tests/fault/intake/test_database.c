/* Reading an SQLite database with each allocation failing once: those of ours, and those that SQLite makes for us. */
#include "intake/linked/database.h"
#include "intake/linked/open.h"
#include "support/test.h"
#include <stdlib.h>

#if VS_WITH_SQLITE
#include <sqlite3.h>

#define DATABASE "tests/corpus/database/export"

typedef struct sqlite_memory {
  sqlite3_mem_methods own; /* that were there before */
  int64_t fail_at, requests;
} sqlite_memory;
static sqlite_memory sqlite_is;

static bool fails(void) { return sqlite_is.requests++ == sqlite_is.fail_at; }
static void *failing_malloc(int size) { return fails() ? NULL : sqlite_is.own.xMalloc(size); }
static void *failing_realloc(void *memory, int size) {
  return fails() ? NULL : sqlite_is.own.xRealloc(memory, size);
}

/* SQLite's memory, of which one request fails. It may be set only while SQLite is shut down. */
static void begin_failing(int64_t fail_at) {
  sqlite_is.fail_at = fail_at;
  sqlite_is.requests = 0;
}

static void replace_memory(void) {
  assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_is.own), SQLITE_OK);
  sqlite3_mem_methods failing = sqlite_is.own;
  failing.xMalloc = failing_malloc;
  failing.xRealloc = failing_realloc;
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &failing), SQLITE_OK);
  begin_failing(-1);
  assert_int_equal(sqlite3_initialize(), SQLITE_OK);
}

static void restore_memory(void) {
  assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &sqlite_is.own), SQLITE_OK);
}

static vs_status open_path(const vs_host *host, void *ctx) {
  const vs_intake intake = {.name = VS_STR("a database")};
  vs_engine *engine;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  (void)ctx;
  const vs_status status = vs_intake_open(host, &intake, DATABASE, &engine, &error);
  assert_true((status == VS_OK) == (engine != NULL));
  if (status != VS_OK && status != VS_NO_MEMORY) fail_msg("%s", error.text);
  vs_engine_destroy(engine);
  return status;
}

static vs_status open_bytes(const vs_host *host, void *ctx) {
  vs_infile disk;
  vs_input_file file;
  vs_engine *engine;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_intake intake = {.name = VS_STR("a database"), .input = {.databases = vs_databases_linked()}};
  (void)ctx;
  expect_ok(vs_infile_open(&disk, DATABASE, &error));
  vs_status status = vs_engine_create(host, &engine);
  if (status == VS_OK) {
    status = vs_input_file_over(&file, host, vs_infile_reader(&disk), disk.size, &intake.input, &error);
    if (status == VS_OK) {
      status = vs_intake_load(&intake, &file, engine, &error);
      vs_input_file_close(&file);
    }
    vs_engine_destroy(engine);
  }
  if (status != VS_OK && status != VS_NO_MEMORY) fail_msg("%s", error.text);
  vs_infile_close(&disk);
  return status;
}

static void test_each_of_our_allocations_fails_once(void **state) {
  (void)state;
  assert_true(fault_prove(open_path, NULL) > 20);
  assert_true(fault_prove(open_bytes, NULL) > 20);
}

/* Each failure is told as one, and no memory of SQLite's is left. What SQLite allocates is known only to it: some requests it can do
 * without. */
static void test_each_of_sqlites_allocations_fails_once(void **state) {
  (void)state;
  static vs_status (*const operations[])(const vs_host *, void *) = {open_path, open_bytes};
  replace_memory();
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
    int failures = 0;
    for (int64_t at = 0;; at++) {
      fault_host host;
      fault_host_init(&host, FAULT_NEVER);
      begin_failing(at);
      const vs_status status = operations[i](&host.host, NULL);
      const bool is_through = sqlite_is.requests <= at;
      begin_failing(-1);
      assert_true(status == VS_OK || status == VS_NO_MEMORY);
      fault_host_expect_empty(&host);
      assert_true(sqlite3_memory_used() == 0);
      failures += status == VS_NO_MEMORY;
      if (is_through) break;
    }
    assert_true(failures > 50);
  }
  restore_memory();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_of_our_allocations_fails_once),
      cmocka_unit_test(test_each_of_sqlites_allocations_fails_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_there_is_none(void **state) {
  (void)state;
  assert_null(vs_databases_linked());
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_there_is_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
