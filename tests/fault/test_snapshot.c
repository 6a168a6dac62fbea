/* Reading and writing snapshots when memory fails, and when the file is damaged. */
#include "support/snapshots.h"

#include <stdlib.h>

/* ---- memory fails ---------------------------------------------------------------------------------------------- */

typedef vs_status snapshot_reader(const vs_host *host, vs_str bytes, vs_snapshot **out, vs_error *error);

static vs_status prove(snapshot_reader *reader, const vs_host *host, const vs_str *bytes) {
  vs_snapshot *s;
  vs_error error;
  const vs_status status = reader(host, *bytes, &s, &error);
  if (status != VS_OK) {
    assert_null(s);
    expect_status(error.status, status);
    assert_string_equal(error.text, vs_status_text(status));
    return status;
  }
  assert_null(vs_snapshot_check(s));
  vs_snapshot_destroy(s);
  return VS_OK;
}

static vs_status read_file(const vs_host *host, void *ctx) { return prove(snapshot_from, host, ctx); }
static vs_status read_account(const vs_host *host, void *ctx) { return prove(account_from, host, ctx); }

static void reading(void **state) {
  static const char *const paths[] = {CORPUS "2.15",
                                      CORPUS "2.15-cpp",
                                      CORPUS "1.13-cpp",
                                      CORPUS "2.15-json",
                                      CORPUS "1.12-c-0",
                                      CORPUS "rows-in-unknown-key",
                                      "tests/corpus/tracefile/losses",
                                      "tests/corpus/tracefile/losses-stopped"};
  (void)state;
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    vs_str bytes = file_bytes(paths[i]);
    assert_true(fault_prove(read_file, &bytes) > 10);
    free((void *)(uintptr_t)bytes.data);
  }
}

static void reading_accounts(void **state) {
  static const char *const paths[] = {ACCOUNTS "kineto", ACCOUNTS "rmm", ACCOUNTS "pprof", ACCOUNTS "nsys"};
  (void)state;
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    vs_str bytes = file_bytes(paths[i]);
    assert_true(fault_prove(read_account, &bytes) > 10);
    free((void *)(uintptr_t)bytes.data);
  }
}

static vs_status drop(void *ctx, const void *data, size_t size) {
  (void)ctx;
  (void)data;
  (void)size;
  return VS_OK;
}

/* Writing takes its memory from the host of the snapshot. */
static vs_status write_as(vs_snapshot *s, const vs_host *host, vs_file_format format) {
  const vs_host *own = s->host;
  vs_error error;
  s->host = host;
  const vs_status status = vs_snapshot_write(s, format, &(vs_writer){.write = drop}, &error);
  s->host = own;
  if (status != VS_OK) assert_string_equal(error.text, vs_status_text(status));
  return status;
}

static vs_status write_pickle(const vs_host *host, void *ctx) {
  return write_as(ctx, host, VS_FORMAT_PICKLE);
}
static vs_status write_json(const vs_host *host, void *ctx) { return write_as(ctx, host, VS_FORMAT_JSON); }

static void writing(void **state) {
  (void)state;
  const vs_str bytes = file_bytes(CORPUS "2.15");
  vs_snapshot *s = snapshot_of(bytes);
  assert_true(fault_prove(write_pickle, s) >= 2);
  assert_true(fault_prove(write_json, s) >= 1);
  vs_snapshot_destroy(s);
  free((void *)(uintptr_t)bytes.data);
}

/* ---- the file is damaged --------------------------------------------------------------------------------------- */

/* Any answer is good if it is one, with nothing left behind. */
static void expect_clean(vs_str bytes, const char *path, size_t at) {
  fault_host fault;
  vs_snapshot *s;
  vs_error error;
  fault_host_init(&fault, FAULT_NEVER);
  const vs_status status = snapshot_from(&fault.host, bytes, &s, &error);
  const char *broken = status == VS_OK ? vs_snapshot_check(s) : NULL;
  if (broken != NULL) fail_msg("%s, byte %zu: %s", path, at, broken);
  vs_snapshot_destroy(s);
  fault_host_expect_empty(&fault);
  switch (status) {
    case VS_OK: return;
    case VS_BAD_FORMAT:
    case VS_TRUNCATED:
    case VS_REFUSED:
    case VS_LIMIT:
    case VS_UNSUPPORTED:
      expect_status(error.status, status);
      assert_true(error.text[0] != 0);
      assert_true(error.offset <= bytes.size ||
                  error.offset == VS_NO_OFFSET); /* none: of the file as a whole */
      return;
    default: fail_msg("%s, byte %zu: %s", path, at, vs_status_name(status));
  }
}

/* Calls `damage` for every byte of some files of all writers; it may change what it is given. */
static void for_each_byte(void (*damage)(char *bytes, size_t size, size_t at, const char *path)) {
  static const char *const paths[] = {CORPUS "2.15",     CORPUS "2.15-cpp",  CORPUS "2.0",
                                      CORPUS "1.12-c-0", CORPUS "fx-frames", CORPUS "1.13-cpp-json"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    const vs_str whole = file_bytes(paths[i]);
    for (size_t at = 0; at < whole.size; at++) {
      char *bytes = malloc(whole.size); /* a block of its own, so that a sanitizer sees its end */
      assert_non_null(bytes);
      memcpy(bytes, whole.data, whole.size);
      damage(bytes, whole.size, at, paths[i]);
      free(bytes);
    }
    free((void *)(uintptr_t)whole.data);
  }
}

static void cut_at(char *bytes, size_t size, size_t at, const char *path) {
  char *cut = malloc(at == 0 ? 1 : at);
  (void)size;
  assert_non_null(cut);
  memcpy(cut, bytes, at);
  expect_clean((vs_str){cut, at}, path, at);
  free(cut);
}

static void cut(void **state) {
  (void)state;
  for_each_byte(cut_at);
}

static void flip_at(char *bytes, size_t size, size_t at, const char *path) {
  static const unsigned char flips[] = {0xff, 0x01};
  for (size_t i = 0; i < sizeof flips; i++) {
    bytes[at] = (char)(bytes[at] ^ flips[i]);
    expect_clean((vs_str){bytes, size}, path, at);
    bytes[at] = (char)(bytes[at] ^ flips[i]);
  }
}

static void flipped(void **state) {
  (void)state;
  for_each_byte(flip_at);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reading), cmocka_unit_test(reading_accounts), cmocka_unit_test(writing),
      cmocka_unit_test(cut),     cmocka_unit_test(flipped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
