/* Rules for functions that were written for it: each says in its table what compilers say now and then. */
#include "os/unwind.h"
#include "support/test.h"

#if defined(__x86_64__)

/* Labels stand where the table has just changed; code between them does not matter, because it is never run. */
__asm__(".text\n"
        ".type made_plain, @function\n"
        "made_plain:\n"
        ".cfi_startproc\n"
        "made_plain_0: nop\n" /* CFA = sp + 8 */
        ".cfi_def_cfa_offset 24\n"
        "made_plain_1: nop\n" /* CFA = sp + 24 */
        ".cfi_offset %rbp, -16\n"
        "made_plain_2: nop\n" /* rbp saved */
        ".cfi_remember_state\n"
        ".cfi_restore %rbp\n"
        ".cfi_def_cfa_offset 8\n"
        "made_plain_3: nop\n" /* as at the beginning */
        ".cfi_restore_state\n"
        "made_plain_4: nop\n" /* as before */
        ".cfi_def_cfa %rbp, 16\n"
        "made_plain_5: nop\n"
        ".cfi_undefined %rbp\n"
        "made_plain_6: nop\n"
        ".cfi_register %rbp, %r12\n"
        "made_plain_7: nop\n"
        ".cfi_def_cfa %r10, 0\n"
        "made_plain_8: nop\n" /* from another register: no rule */
        ".cfi_endproc\n"
        "made_plain_end: nop\n" /* and here is no table at all */
        ".size made_plain, .-made_plain\n"

        ".type made_aligned, @function\n"
        "made_aligned:\n"
        ".cfi_startproc\n"
        ".cfi_escape 0x0f,3,0x76,0x78,6\n" /* CFA = *(rbp - 8) */
        ".cfi_escape 0x10,6,2,0x76,0\n"    /* rbp saved at rbp */
        "made_aligned_0: nop\n"
        ".cfi_escape 0x0f,3,0x77,0x78,6\n" /* CFA = *(rsp - 8): no compiler emits it */
        "made_aligned_1: nop\n"
        ".cfi_endproc\n"

        ".type made_strange, @function\n"
        "made_strange:\n"
        ".cfi_startproc\n"
        "made_strange_0: nop\n"
        ".cfi_def_cfa_offset 20\n" /* no whole words */
        "made_strange_1: nop\n"
        ".cfi_def_cfa_offset 8388608\n" /* too far */
        "made_strange_2: nop\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rip, -16\n" /* the return address is elsewhere */
        "made_strange_3: nop\n"
        ".cfi_offset %rip, -8\n"
        "made_strange_4: nop\n"
        ".cfi_undefined %rip\n" /* the outermost function */
        "made_strange_5: nop\n"
        ".cfi_restore %rip\n"
        "made_strange_6: nop\n" /* as all functions have it */
        ".cfi_endproc\n"

        ".type made_signal, @function\n"
        "made_signal:\n"
        ".cfi_startproc\n"
        ".cfi_signal_frame\n"
        "made_signal_0: nop\n"
        ".cfi_endproc\n"

        ".type made_far, @function\n"
        "made_far:\n"
        ".cfi_startproc\n"
        ".cfi_def_cfa_offset 16\n"
        ".fill 300, 1, 0x90\n" /* further than an advance of one byte */
        "made_far_before: nop\n"
        ".cfi_def_cfa_offset 32\n"
        "made_far_0: nop\n"
        ".fill 70000, 1, 0x90\n" /* than one of two */
        ".cfi_def_cfa_offset 48\n"
        "made_far_1: nop\n"
        ".cfi_endproc\n");

#define PLACE(name) extern const char name[]
PLACE(made_plain_0);
PLACE(made_plain_1);
PLACE(made_plain_2);
PLACE(made_plain_3);
PLACE(made_plain_4);
PLACE(made_plain_5);
PLACE(made_plain_6);
PLACE(made_plain_7);
PLACE(made_plain_8);
PLACE(made_plain_end);
PLACE(made_aligned_0);
PLACE(made_aligned_1);
PLACE(made_strange_0);
PLACE(made_strange_1);
PLACE(made_strange_2);
PLACE(made_strange_3);
PLACE(made_strange_4);
PLACE(made_strange_5);
PLACE(made_strange_6);
PLACE(made_signal_0);
PLACE(made_far_before);
PLACE(made_far_0);
PLACE(made_far_1);

static void expect_rule_at(const char *place, vs_unwind_kind kind, uint32_t cfa, uint32_t fp, int line) {
  const vs_unwind_rule rule = vs_unwind_find((uint64_t)(uintptr_t)place);
  _assert_int_equal(rule.kind, kind, __FILE__, line);
  if (kind == VS_UNWIND_END || kind == VS_UNWIND_GUESS) return;
  _assert_int_equal(rule.cfa, cfa, __FILE__, line);
  _assert_int_equal(rule.fp, fp, __FILE__, line);
}
#define expect_rule(place, kind, cfa, fp) expect_rule_at(place, VS_UNWIND_##kind, cfa, fp, __LINE__)

static void test_plain_functions(void **state) {
  (void)state;
  expect_rule(made_plain_0, SP, 1, VS_UNWIND_SAME_FP);
  expect_rule(made_plain_1, SP, 3, VS_UNWIND_SAME_FP);
  expect_rule(made_plain_2, SP, 3, 2);
  expect_rule(made_plain_3, SP, 1, VS_UNWIND_SAME_FP);
  expect_rule(made_plain_4, SP, 3, 2);
  expect_rule(made_plain_5, FP, 2, 2);
  expect_rule(made_plain_6, FP, 2, VS_UNWIND_LOST_FP);
  expect_rule(made_plain_7, FP, 2, VS_UNWIND_LOST_FP);
  expect_rule(made_plain_8, END, 0, 0);
  expect_rule(made_far_0, SP, 4, VS_UNWIND_SAME_FP);
  expect_rule(made_far_before, SP, 2, VS_UNWIND_SAME_FP);
  expect_rule(made_far_1, SP, 6, VS_UNWIND_SAME_FP);
}

static void test_aligned_functions(void **state) {
  (void)state;
  expect_rule(made_aligned_0, AT_FP, 1, VS_UNWIND_FP_AT_FP);
  expect_rule(made_aligned_1, END, 0, 0);
}

static void test_where_a_walk_ends(void **state) {
  (void)state;
  expect_rule(made_strange_0, SP, 1, VS_UNWIND_SAME_FP);
  expect_rule(made_strange_1, END, 0, 0);
  expect_rule(made_strange_2, END, 0, 0);
  expect_rule(made_strange_3, END, 0, 0);
  expect_rule(made_strange_4, SP, 2, VS_UNWIND_SAME_FP);
  expect_rule(made_strange_5, END, 0, 0);
  expect_rule(made_strange_6, SP, 2, VS_UNWIND_SAME_FP);
  expect_rule(made_signal_0, END, 0, 0);
}

/* No table: between functions, in data, nowhere. */
static void test_where_it_guesses(void **state) {
  (void)state;
  static char data[16];
  expect_rule(made_plain_end, GUESS, 0, 0);
  expect_rule(data, GUESS, 0, 0);
  assert_int_equal(vs_unwind_find(0).kind, VS_UNWIND_GUESS);
  assert_int_equal(vs_unwind_find(UINT64_MAX).kind, VS_UNWIND_GUESS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plain_functions),
      cmocka_unit_test(test_aligned_functions),
      cmocka_unit_test(test_where_a_walk_ends),
      cmocka_unit_test(test_where_it_guesses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
int main(void) { return 77; } /* skipped: the tables above are those of another machine */
#endif
