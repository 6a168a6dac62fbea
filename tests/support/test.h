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

/* That `misuse` runs into a VS_ASSERT. Skips the test in builds that have none. */
void expect_trap(void (*misuse)(void));

void expect_str_at(vs_str got, vs_str wanted, const char *file, int line);
void expect_text_at(vs_text *text, vs_str wanted, const char *file, int line);

#endif
