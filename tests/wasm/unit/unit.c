/* What the unit tests stand on in WebAssembly: cmocka's assertions, and the dozen functions of a C library that tests use.
 *
 * A failed assertion cannot jump out of C here. It calls the import `fail`, which throws: the whole program ends. So a
 * program runs one test in its life; the host asks by the import `selected` which one, and starts it anew for the next. */
#include "support/snapshots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define vs_heap_init  unit_heap_init /* tests may have the heap itself in them */
#define vs_heap_host  unit_heap_host
#define vs_heap_check unit_heap_check
#include "faces/web/heap.c"

#define IMPORT(name) __attribute__((import_module("unit"), import_name(#name)))

/* `arguments` is what a va_list points to: the host formats. */
IMPORT(fail)
_Noreturn void unit_host_fail(const char *file, int line, const char *format, const void *arguments);
IMPORT(skip) _Noreturn void unit_host_skip(void);
IMPORT(say) void unit_host_say(const char *format, const void *arguments);
/* Takes the name of the test of this number, and says whether it is the one to run. */
IMPORT(selected) int unit_host_selected(int number, const char *name);

/* ---- cmocka ---------------------------------------------------------------------------------------------------- */

int unit_run_group(const struct CMUnitTest *tests, size_t count, int (*setup)(void **state),
                   int (*teardown)(void **state)) {
  static int number; /* a program may have several groups */
  for (size_t i = 0; i < count; i++) {
    if (!unit_host_selected(number++, tests[i].name)) continue;
    void *group_state = NULL, *state = tests[i].initial_state;
    if (setup != NULL) assert_int_equal(setup(&group_state), 0);
    if (state == NULL) state = group_state;
    if (tests[i].setup_func != NULL) assert_int_equal(tests[i].setup_func(&state), 0);
    tests[i].test_func(&state);
    if (tests[i].teardown_func != NULL) assert_int_equal(tests[i].teardown_func(&state), 0);
    if (teardown != NULL) assert_int_equal(teardown(&group_state), 0);
  }
  return 0;
}

void unit_fail(const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  unit_host_fail(file, line, format, (const void *)arguments);
}

void unit_skip(void) { unit_host_skip(); }

void unit_equal(uint64_t a, uint64_t b, int wanted, const char *what, const char *file, int line) {
  if ((a == b) != wanted) unit_fail(file, line, "%s: %lld and %lld", what, (long long)a, (long long)b);
}

void unit_equal_text(const char *a, const char *b, int wanted, const char *file, int line) {
  if ((strcmp(a, b) == 0) != wanted) unit_fail(file, line, "\"%s\" and \"%s\"", a, b);
}

void unit_equal_bytes(const void *a, const void *b, size_t size, const char *what, const char *file,
                      int line) {
  if (memcmp(a, b, size) != 0) unit_fail(file, line, "%s", what);
}

/* ---- support/test.h -------------------------------------------------------------------------------------------- */

void expect_str_at(vs_str got, vs_str wanted, const char *file, int line) {
  if (vs_str_equal(got, wanted)) return;
  unit_fail(file, line, "\"%.*s\" and \"%.*s\"", (int)got.size, got.data, (int)wanted.size, wanted.data);
}

void expect_text_at(vs_text *text, vs_str wanted, const char *file, int line) {
  unit_equal_text(vs_status_name(text->status), vs_status_name(VS_OK), 1, file, line);
  expect_str_at(vs_text_view(text), wanted, file, line);
  text->bytes.count = 0;
}

uint64_t test_repetitions(uint64_t all, uint64_t few) {
  (void)few;
  return all;
}

void expect_trap(void (*misuse)(void)) { /* no VS_ASSERT here */
  (void)misuse;
  skip();
}

/* ---- support/snapshots.h: there are no files ------------------------------------------------------------------- */

vs_str file_bytes(const char *path) {
  (void)path;
  unit_host_skip();
}

void for_each_corpus_file(void (*visit)(const char *name, vs_str bytes, void *ctx), void *ctx) {
  (void)visit;
  (void)ctx;
  unit_host_skip();
}

/* ---- a C library ----------------------------------------------------------------------------------------------- */

static bool grow_memory(void *ctx, size_t bytes) {
  (void)ctx;
  return __builtin_wasm_memory_grow(0, bytes / VS_HEAP_PAGE) != SIZE_MAX;
}

const vs_host *vs_host_default(void) {
  static vs_heap heap;
  static vs_host host;
  if (host.resize == NULL) {
    vs_heap_init(&heap, (void *)(__builtin_wasm_memory_size(0) * VS_HEAP_PAGE), grow_memory, NULL);
    host = vs_heap_host(&heap);
  }
  return &host;
}

enum { FRONT = 16 }; /* in front of a block: its size */

void *malloc(size_t size) { return realloc(NULL, size); }

void *calloc(size_t count, size_t size) {
  void *memory = malloc(count * size);
  if (memory != NULL) memset(memory, 0, count * size);
  return memory;
}

void *realloc(void *old, size_t size) {
  char *block = old == NULL ? NULL : (char *)old - FRONT;
  size_t old_size = 0;
  if (block != NULL) memcpy(&old_size, block, sizeof old_size);
  if (size > SIZE_MAX - FRONT) return NULL;
  const size_t new_size = size + FRONT;
  block = vs_host_default()->resize(vs_host_default()->ctx, block, old_size, new_size);
  if (block == NULL) return NULL;
  memcpy(block, &new_size, sizeof new_size);
  return block + FRONT;
}

void *aligned_alloc(size_t alignment, size_t size) { /* never given back */
  char *memory = malloc(size + alignment);
  return memory == NULL ? NULL : memory + (alignment - (uintptr_t)memory % alignment);
}

void free(void *memory) {
  if (memory == NULL) return;
  char *block = (char *)memory - FRONT;
  size_t size;
  memcpy(&size, block, sizeof size);
  vs_host_free(vs_host_default(), block, size);
}

void abort(void) { __builtin_trap(); }

int fprintf(FILE *file, const char *format, ...) {
  (void)file;
  va_list arguments;
  va_start(arguments, format);
  unit_host_say(format, (const void *)arguments);
  va_end(arguments);
  return 0;
}

int strncmp(const char *a, const char *b, size_t most) {
  for (size_t i = 0; i < most; i++) {
    if (a[i] != b[i]) return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
    if (a[i] == 0) return 0;
  }
  return 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }

char *strchr(const char *text, int c) {
  for (; *text != (char)c; text++)
    if (*text == 0) return NULL;
  return (char *)(uintptr_t)text;
}

char *strrchr(const char *text, int c) {
  const char *last = NULL;
  for (; text != NULL && (text = strchr(text, c)) != NULL; text = *text == 0 ? NULL : text + 1) last = text;
  return (char *)(uintptr_t)last;
}

char *strstr(const char *text, const char *part) {
  const size_t size = strlen(part);
  for (;; text++) {
    if (strncmp(text, part, size) == 0) return (char *)(uintptr_t)text;
    if (*text == 0) return NULL;
  }
}
