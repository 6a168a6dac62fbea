/* What the unit tests use of cmocka, for WebAssembly: see ../unit.c. */
#ifndef VS_WASM_CMOCKA_H
#define VS_WASM_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
  const char *name;
  void (*test_func)(void **state);
  int (*setup_func)(void **state);
  int (*teardown_func)(void **state);
  void *initial_state;
};

#define cmocka_unit_test(f) \
  { #f, f, NULL, NULL, NULL }
#define cmocka_unit_test_setup(f, setup) \
  { #f, f, setup, NULL, NULL }
#define cmocka_unit_test_teardown(f, teardown) \
  { #f, f, NULL, teardown, NULL }
#define cmocka_unit_test_setup_teardown(f, setup, teardown) \
  { #f, f, setup, teardown, NULL }
#define cmocka_unit_test_prestate(f, state) \
  { #f, f, NULL, NULL, state }
#define cmocka_unit_test_prestate_setup_teardown(f, s, t, state) \
  { #f, f, s, t, state }
#define cmocka_run_group_tests(tests, setup, teardown) \
  unit_run_group(tests, sizeof(tests) / sizeof(tests)[0], setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
  cmocka_run_group_tests(tests, setup, teardown)

int unit_main(void); /* what a test calls main */

int unit_run_group(const struct CMUnitTest *tests, size_t count, int (*setup)(void **state),
                   int (*teardown)(void **state));

/* The failure of an assertion, in the words of printf. It ends the program. */
_Noreturn void unit_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void unit_skip(void);
void unit_equal(uint64_t a, uint64_t b, int wanted, const char *what, const char *file, int line);
void unit_equal_text(const char *a, const char *b, int wanted, const char *file, int line);
void unit_equal_bytes(const void *a, const void *b, size_t size, const char *what, const char *file,
                      int line);

#define unit_number(value)                     ((uint64_t)(value))
#define unit_true(condition, what, file, line) ((condition) ? (void)0 : unit_fail(file, line, "%s", what))

#define assert_true(c)     unit_true(c, #c, __FILE__, __LINE__)
#define assert_false(c)    unit_true(!(c), "not: " #c, __FILE__, __LINE__)
#define assert_null(p)     unit_true((p) == NULL, #p " is NULL", __FILE__, __LINE__)
#define assert_non_null(p) unit_true((p) != NULL, #p " is not NULL", __FILE__, __LINE__)
#define assert_ptr_equal(a, b) \
  unit_true((const void *)(a) == (const void *)(b), #a " is " #b, __FILE__, __LINE__)
#define assert_ptr_not_equal(a, b) \
  unit_true((const void *)(a) != (const void *)(b), #a " is not " #b, __FILE__, __LINE__)
#define assert_int_equal(a, b) unit_equal(unit_number(a), unit_number(b), 1, #a " is " #b, __FILE__, __LINE__)
#define assert_int_not_equal(a, b) \
  unit_equal(unit_number(a), unit_number(b), 0, #a " is not " #b, __FILE__, __LINE__)
#define assert_in_range(v, low, high) \
  unit_true(unit_number(v) >= unit_number(low) && unit_number(v) <= unit_number(high), #v, __FILE__, __LINE__)
#define assert_string_equal(a, b)              unit_equal_text(a, b, 1, __FILE__, __LINE__)
#define assert_string_not_equal(a, b)          unit_equal_text(a, b, 0, __FILE__, __LINE__)
#define _assert_string_equal(a, b, file, line) unit_equal_text(a, b, 1, file, line)
#define _assert_int_equal(a, b, file, line)    unit_equal(a, b, 1, "values", file, line)
#define _assert_true(value, what, file, line)  unit_true(value, what, file, line)
#define assert_memory_equal(a, b, size)        unit_equal_bytes(a, b, size, #a " is " #b, __FILE__, __LINE__)
#define fail_msg(...)                          unit_fail(__FILE__, __LINE__, __VA_ARGS__)
#define fail()                                 unit_fail(__FILE__, __LINE__, "failed")
#define _fail(file, line)                      unit_fail(file, line, "failed")
#define skip()                                 unit_skip()
#define print_error(...)                       fprintf(stderr, __VA_ARGS__)
#define cast_to_largest_integral_type(value)   unit_number(value)

#endif
