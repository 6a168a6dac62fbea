/* What every C test begins with: cmocka, and expectations in the words of this project. */
#ifndef VS_TESTS_TEST_H
#define VS_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "support/fault_host.h"

/* The status of `call`; its name is printed where it differs. */
#define expect_status(call, wanted) \
  _assert_string_equal(vs_status_name(call), vs_status_name(wanted), __FILE__, __LINE__)
#define expect_ok(call) expect_status(call, VS_OK)

/* A vs_str against a literal, which may hold zero bytes. */
#define expect_str(got, wanted) expect_str_at((got), VS_STR(wanted), __FILE__, __LINE__)

/* What a vs_text holds, which is emptied for the next case. */
#define expect_text(text, wanted) expect_text_at((text), VS_STR(wanted), __FILE__, __LINE__)

/* How often to repeat what differs in numbers alone: `all` times, and `few` times under memcheck (the ring valgrind). There a repetition
 * takes 20 to 50 times as long, and memcheck judges the code that it runs through; the other rings prove the numbers. */
uint64_t test_repetitions(uint64_t all, uint64_t few);

/* Skips a test of native stacks, and says why, where they are not walked (os/stackwalk.h). */
void need_native_stacks(bool are_walked);

/* That `misuse` runs into a VS_ASSERT. Skips the test in builds that have none. */
void expect_trap(void (*misuse)(void));

void expect_str_at(vs_str got, vs_str wanted, const char *file, int line);
void expect_text_at(vs_text *text, vs_str wanted, const char *file, int line);

#endif
