/* The rules of opening a file, with a decompression that the tests make up: a member is 0x1f 0x8b, then bytes that stand for
 * themselves, '*' that stands for a megabyte of 'x', '!' that is damage, and '.' that ends it. */
#include "intake/input_file.h"
#include "support/test.h"
#include <stdlib.h>
#include <string.h>

enum { MANY = 1 << 20 };

typedef struct made_up {
  size_t header, owed; /* bytes of the header still to come, of a '*' still to be stored */
  int members;
} made_up;

static vs_status begin(void *ctx) {
  made_up *m = ctx;
  m->header = 2;
  m->members++;
  return VS_OK;
}

static vs_status unpack(void *ctx, const void *packed, size_t size, void *to, size_t room,
                        vs_unpacked *done) {
  made_up *m = ctx;
  const char *from = packed;
  char *plain = to;
  while (!done->has_ended && done->made < room && (m->owed != 0 || done->taken < size)) {
    if (m->owed != 0) {
      plain[done->made++] = 'x';
      m->owed--;
      continue;
    }
    const char next = from[done->taken++];
    if (m->header != 0) m->header--;
    else if (next == '!') return VS_BAD_FORMAT;
    else if (next == '.') done->has_ended = true;
    else if (next == '*') m->owed = MANY;
    else plain[done->made++] = next;
  }
  return VS_OK;
}

/* A source that gives few bytes at a time. */
typedef struct slow {
  vs_str bytes;
  size_t most;
} slow;

static vs_status read_slow(void *ctx, void *data, size_t capacity, size_t *count) {
  slow *s = ctx;
  *count = s->bytes.size < s->most ? s->bytes.size : s->most;
  if (*count > capacity) *count = capacity;
  memcpy(data, s->bytes.data, *count);
  s->bytes = (vs_str){s->bytes.data + *count, s->bytes.size - *count};
  return VS_OK;
}

typedef struct seen {
  uint64_t bytes_read, bytes, cancel_at;
  size_t calls;
} seen;

static bool reading(void *ctx, uint64_t bytes_read, uint64_t bytes) {
  seen *s = ctx;
  assert_true(bytes_read >= s->bytes_read);
  s->bytes_read = bytes_read;
  s->bytes = bytes;
  s->calls++;
  return bytes_read < s->cancel_at;
}

/* Reads all of `packed`, `most` bytes at a time, into `text`; counts what is not kept beyond its beginning. */
static vs_status read_all(const vs_host *host, vs_str packed, size_t most, seen *watch, char text[64],
                          size_t *size, vs_error *error) {
  made_up codec = {0};
  slow source = {packed, most};
  vs_input_options options = {.inflater = {.ctx = &codec, .begin = begin, .unpack = unpack}};
  if (watch != NULL) options.watch = (vs_input_watch){.ctx = watch, .reading = reading};
  vs_input_file file;
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  *size = 0;
  memset(text, 0, 64);
  VS_TRY(vs_input_file_over(&file, host, (vs_reader){.ctx = &source, .read = read_slow}, packed.size,
                            &options, error));
  const vs_reader reader = vs_input_file_reader(&file);
  vs_status status;
  size_t count;
  char piece[4096];
  while ((status = reader.read(reader.ctx, piece, sizeof piece, &count)) == VS_OK && count != 0) {
    if (*size < 63) memcpy(text + *size, piece, count < 63 - *size ? count : 63 - *size);
    *size += count;
  }
  if (status != VS_OK) *error = file.error;
  else assert_int_equal(file.bytes_read, packed.size);
  vs_input_file_close(&file);
  return status;
}

static const size_t paces[] = {1, 2, 3, 7, 1000};

static void expect_read(vs_str packed, const char *wanted) {
  for (size_t i = 0; i < sizeof paces / sizeof paces[0]; i++) {
    char text[64];
    size_t size;
    vs_error error;
    expect_ok(read_all(vs_host_default(), packed, paces[i], NULL, text, &size, &error));
    assert_string_equal(text, wanted);
    assert_int_equal(size, strlen(wanted));
  }
}

static void expect_refused(vs_str packed, vs_status wanted, const char *says, uint64_t offset) {
  for (size_t i = 0; i < sizeof paces / sizeof paces[0]; i++) {
    char text[64];
    size_t size;
    vs_error error;
    expect_status(read_all(vs_host_default(), packed, paces[i], NULL, text, &size, &error), wanted);
    assert_true(vs_str_contains(vs_str_from(error.text), vs_str_from(says)));
    expect_status(error.status, wanted);
    assert_int_equal(error.offset, offset);
  }
}

#define GZ "\x1f\x8b"

static void bytes_come_as_they_are(void **state) {
  (void)state;
  expect_read(VS_STR("abc"), "abc");
  expect_read(VS_STR(GZ "abc."), "abc");
  expect_read(VS_STR(GZ "ab." GZ "c."), "abc");
  expect_read(VS_STR(GZ "ab." GZ "." GZ "c."), "abc");
}

/* Behind the head of 512 bytes, too, where the source's pace is that of the decompression. */
static void members_begin_anywhere(void **state) {
  (void)state;
  char packed[695], text[64];
  memset(packed, 'a', sizeof packed);
  memcpy(packed, GZ, 2);
  memcpy(packed + 690, "." GZ "c.", 5);
  for (size_t i = 0; i < sizeof paces / sizeof paces[0]; i++) {
    size_t size;
    vs_error error;
    expect_ok(
        read_all(vs_host_default(), (vs_str){packed, sizeof packed}, paces[i], NULL, text, &size, &error));
    assert_int_equal(size, 688 + 1);
  }
}

static void what_follows_the_last_member_is_ignored(void **state) {
  (void)state;
  char text[64];
  size_t size;
  vs_error error;
  made_up codec = {0};
  slow source = {VS_STR(GZ "abc.garbage"), 100};
  const vs_input_options options = {.inflater = {.ctx = &codec, .begin = begin, .unpack = unpack}};
  vs_input_file file;
  expect_ok(vs_input_file_over(&file, vs_host_default(), (vs_reader){&source, read_slow}, VS_NO_SIZE,
                               &options, &error));
  const vs_reader reader = vs_input_file_reader(&file);
  expect_ok(reader.read(reader.ctx, text, sizeof text, &size));
  assert_int_equal(size, 3);
  expect_ok(reader.read(reader.ctx, text, sizeof text, &size));
  assert_int_equal(size, 0);
  assert_int_equal(codec.members, 1);
  vs_input_file_close(&file);
}

static void what_cannot_be_read_is_refused_with_its_place(void **state) {
  (void)state;
  expect_refused(VS_STR(""), VS_TRUNCATED, "empty", VS_NO_OFFSET);
  expect_refused(VS_STR(GZ "."), VS_TRUNCATED, "empty", VS_NO_OFFSET);
  expect_refused(VS_STR(GZ GZ "abc.."), VS_UNSUPPORTED, "compressed twice", VS_NO_OFFSET);
  expect_refused(VS_STR(GZ "BZh9."), VS_UNSUPPORTED, "bzip2", VS_NO_OFFSET);
  expect_refused(VS_STR("BZh9"), VS_UNSUPPORTED, "bzip2", VS_NO_OFFSET);
  expect_refused(VS_STR(GZ "abc"), VS_BAD_FORMAT, "truncated", 5);
  expect_refused(VS_STR(GZ "abc." GZ), VS_BAD_FORMAT, "truncated", 8);
  expect_refused(VS_STR(GZ "abc!d."), VS_BAD_FORMAT, "damaged", 6);
}

/* To 32 MiB any stream may grow; from there on 256 bytes for each one read. */
static void a_stream_that_grows_too_far_is_refused(void **state) {
  (void)state;
  char text[64], packed[200] = GZ;
  size_t size;
  vs_error error;
  memset(packed + 2, '*', 32);
  memcpy(packed + 34, ".", 1);
  expect_ok(read_all(vs_host_default(), (vs_str){packed, 35}, 100, NULL, text, &size, &error));
  assert_int_equal(size, 32 * MANY);
  memset(packed + 2, '*', 34);
  const vs_str bomb = {packed, 36};
  expect_status(read_all(vs_host_default(), bomb, 100, NULL, text, &size, &error), VS_LIMIT);
  assert_true(vs_str_contains(vs_str_from(error.text), VS_STR("256-fold")));
  assert_true(size >= 32 * (size_t)MANY && size <= 33 * (size_t)MANY);
}

static void gzip_without_decompression_is_refused(void **state) {
  (void)state;
  vs_input_file file;
  vs_error error;
  vs_memory_reader memory;
  const vs_reader reader = vs_reader_from_bytes(&memory, GZ "abc.", 6);
  const vs_input_options options = {0};
  expect_status(vs_input_file_over(&file, vs_host_default(), reader, 6, &options, &error), VS_UNSUPPORTED);
  assert_true(vs_str_contains(vs_str_from(error.text), VS_STR("gzip -d")));
}

/* Progress counts the bytes of the file as they are stored. */
static void progress_is_told_and_may_cancel(void **state) {
  (void)state;
  char text[64];
  size_t size;
  vs_error error;
  seen watch = {.cancel_at = UINT64_MAX};
  expect_ok(read_all(vs_host_default(), VS_STR(GZ "ab*."), 1, &watch, text, &size, &error));
  assert_int_equal(size, 2 + MANY);
  assert_int_equal(watch.bytes_read, 6);
  assert_int_equal(watch.bytes, 6);
  assert_true(watch.calls >= 6);
  for (uint64_t at = 1; at <= 6; at++) {
    watch = (seen){.cancel_at = at};
    expect_status(read_all(vs_host_default(), VS_STR(GZ "ab*."), 1, &watch, text, &size, &error),
                  VS_CANCELLED);
  }
}

static void a_file_that_is_not_there_cannot_be_read(void **state) {
  (void)state;
  vs_input_file file;
  vs_error error;
  const vs_input_options options = {0};
  expect_status(vs_input_file_open(&file, vs_host_default(), "/nowhere/at/all", &options, &error), VS_IO);
  expect_status(error.status, VS_IO);
  assert_true(error.text[0] != 0);
}

static vs_status read_members(const vs_host *host, void *ctx) {
  char text[64];
  size_t size;
  vs_error error;
  (void)ctx;
  const vs_status status = read_all(host, VS_STR(GZ "ab." GZ "c."), 100, NULL, text, &size, &error);
  expect_status(error.status, status);
  return status;
}

static void want_of_memory_is_told(void **state) {
  (void)state;
  assert_true(fault_prove(read_members, NULL) != 0);
}

/* ---- databases, with a library that the tests make up: its text is "rows" and what it was opened from */

typedef struct database {
  vs_memory_reader text;
  char bytes[64];
} database;
static database the_database;
static int opened, closed;

static vs_status open_database(const vs_host *host, const char *path, vs_reader bytes, vs_error *error,
                               void **out) {
  char head[64];
  size_t count = 0;
  (void)host;
  if (path == NULL) expect_ok(bytes.read(bytes.ctx, head, sizeof head, &count));
  if (path == NULL && memcmp(head, "SQLite format 3", 16) != 0)
    return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET, "the head is missing");
  if (path == NULL && count > 16 && head[16] == '!')
    return VS_NO_MEMORY; /* without a sentence: the caller has one */
  vs_format(the_database.bytes, sizeof the_database.bytes, "rows of %s", path == NULL ? "bytes" : "a path");
  opened++;
  *out = &the_database;
  return VS_OK;
}

static vs_reader read_database(void *ctx) {
  database *d = ctx;
  return vs_reader_from_bytes(&d->text, d->bytes, strlen(d->bytes));
}

static void close_database(void *ctx) { closed += ctx == &the_database; }

static const vs_database_library databases = {open_database, read_database, close_database};

/* Opens what is in memory as a database; its text, or the status of the failure. */
static vs_status read_tables(vs_str stored, seen *watch, char text[64], vs_error *error) {
  vs_memory_reader memory;
  vs_input_file file;
  made_up codec = {0};
  const vs_input_options options = {.inflater = {.ctx = &codec, .begin = begin, .unpack = unpack},
                                    .watch = {.ctx = watch, .reading = reading},
                                    .databases = &databases};
  size_t count;
  memset(text, 0, 64);
  VS_TRY(vs_input_file_over(&file, vs_host_default(), vs_reader_from_bytes(&memory, stored.data, stored.size),
                            stored.size, &options, error));
  const vs_reader reader = vs_input_file_reader(&file);
  const vs_status status = reader.read(reader.ctx, text, 63, &count);
  vs_input_file_close(&file);
  return status;
}

static void a_database_is_the_text_of_its_tables(void **state) {
  (void)state;
  char text[64];
  vs_error error;
  seen watch = {.cancel_at = 1000};
  opened = closed = 0;
  expect_ok(read_tables(VS_STR("SQLite format 3\0 and pages"), &watch, text, &error));
  assert_string_equal(text, "rows of bytes");
  expect_ok(read_tables(VS_STR("\x1f\x8bSQLite format 3\0 and pages."), &watch, text, &error));
  assert_string_equal(text, "rows of bytes");
  assert_int_equal(opened, 2);
  assert_int_equal(closed, 2);
}

static void a_database_that_cannot_be_opened_is_told(void **state) {
  (void)state;
  char text[64];
  vs_error error;
  seen watch = {.cancel_at = 1000};
  opened = closed = 0;
  expect_status(read_tables(VS_STR("SQLite format 3\0!"), &watch, text, &error), VS_NO_MEMORY);
  assert_string_equal(error.text, vs_status_text(VS_NO_MEMORY));
  vs_memory_reader memory;
  vs_input_file file;
  const vs_input_options none = {.watch = {.reading = NULL}};
  const vs_str stored = VS_STR("SQLite format 3\0 and pages");
  expect_status(vs_input_file_over(&file, vs_host_default(),
                                   vs_reader_from_bytes(&memory, stored.data, stored.size), stored.size,
                                   &none, &error),
                VS_UNSUPPORTED);
  assert_non_null(strstr(error.text, "SQLite database"));
  assert_int_equal(opened + closed, 0);
}

/* The head was read before the watcher cancels: it is asked again with each piece of text. */
static void reading_a_database_may_be_cancelled(void **state) {
  (void)state;
  char text[64];
  vs_error error;
  vs_memory_reader memory;
  vs_input_file file;
  seen watch = {.cancel_at = 1000};
  const vs_input_options options = {.watch = {.ctx = &watch, .reading = reading}, .databases = &databases};
  const vs_str stored = VS_STR("SQLite format 3\0 and pages");
  size_t count;
  expect_ok(vs_input_file_over(&file, vs_host_default(),
                               vs_reader_from_bytes(&memory, stored.data, stored.size), stored.size, &options,
                               &error));
  watch.cancel_at = 0;
  const vs_reader reader = vs_input_file_reader(&file);
  expect_status(reader.read(reader.ctx, text, sizeof text, &count), VS_CANCELLED);
  vs_input_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_come_as_they_are),
      cmocka_unit_test(members_begin_anywhere),
      cmocka_unit_test(what_follows_the_last_member_is_ignored),
      cmocka_unit_test(what_cannot_be_read_is_refused_with_its_place),
      cmocka_unit_test(a_stream_that_grows_too_far_is_refused),
      cmocka_unit_test(gzip_without_decompression_is_refused),
      cmocka_unit_test(progress_is_told_and_may_cancel),
      cmocka_unit_test(a_file_that_is_not_there_cannot_be_read),
      cmocka_unit_test(want_of_memory_is_told),
      cmocka_unit_test(a_database_is_the_text_of_its_tables),
      cmocka_unit_test(a_database_that_cannot_be_opened_is_told),
      cmocka_unit_test(reading_a_database_may_be_cancelled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
