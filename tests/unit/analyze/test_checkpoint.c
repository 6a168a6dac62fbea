/* Checkpoints of small programs (played.h): the calls that are found, and the requests that come out. These are letters again; a
 * block that is computed again beside its original is a number. */
#include "unit/analyze/played.h"

#define MIB PLAYED_MIB

typedef struct tried {
  played p;
  vs_checkpoint checkpoint;
  vs_edited edited;
} tried;

static vs_status checkpoint(tried *t, const char *function, vs_error *error) {
  const vs_str text = vs_str_from(function);
  return vs_checkpoint_build(t->p.m.host, &t->p.plan, &t->p.frames, &text, 1, error, &t->checkpoint);
}

static void stop(tried *t) {
  vs_edited_deinit(t->p.m.host, &t->edited);
  vs_checkpoint_deinit(t->p.m.host, &t->checkpoint);
  played_end(&t->p);
}

static char letter_of(const played *p, uint32_t lifetime) {
  const size_t rows = p->lifetimes.rows.count;
  if (lifetime >= rows) return (char)('0' + (lifetime - rows));
  return (char)((p->lifetimes.rows.data[lifetime].address - PLAYED_BASE) / (256 * MIB));
}

static void expect_requests(const tried *t, const char *expected) {
  char text[512] = "";
  size_t size = 0;
  uint32_t event = 0;
  for (size_t i = 0; i < t->edited.requests.count; i++) {
    const vs_replay_request *r = &t->edited.requests.data[i];
    assert_true(r->event >= event);
    event = r->event;
    if (size != 0) text[size++] = ' ';
    if (r->kind == VS_REPLAY_FREE) text[size++] = '-';
    text[size++] = r->kind == VS_REPLAY_FAIL ? '!' : letter_of(&t->p, r->lifetime);
  }
  assert_string_equal(text, expected);
}

/* Applies the checkpoint after `others`. */
static void apply(tried *t, const vs_edit *others, size_t count) {
  vs_edit edits[4];
  for (size_t i = 0; i < count; i++) edits[i] = others[i];
  edits[count] =
      (vs_edit){.kind = VS_EDIT_CHECKPOINT, .rows = t->checkpoint.saved.data, .checkpoint = &t->checkpoint};
  expect_ok(vs_edits_apply(t->p.m.host, &t->p.plan, edits, count + 1, &t->edited));
}

/* The whole: the calls, those that are computed again, the saved blocks, and the requests. */
static void expect(const char *program, const char *function, uint64_t calls, uint64_t recomputed,
                   uint64_t blocks, const char *requests) {
  tried t = {0};
  vs_error error = {0};
  play(&t.p, program);
  expect_ok(checkpoint(&t, function, &error));
  apply(&t, NULL, 0);
  const vs_checkpointed *sum = &t.checkpoint.functions.data[0];
  assert_int_equal(sum->calls, calls);
  assert_int_equal(sum->recomputed, recomputed);
  assert_int_equal(sum->blocks, blocks);
  assert_int_equal(t.edited.allocs, blocks);
  expect_requests(&t, requests);
  vs_replay_options options;
  vs_replay replay;
  vs_replay_options_init(&options, t.p.m.snapshot);
  options.settings.rules = vs_alloc_rules_default();
  options.follows = false;
  options.requests = &t.edited.requests;
  options.copies = t.edited.copies;
  expect_ok(vs_replay_run(t.p.m.host, &t.p.plan, &options, &replay));
  assert_false(replay.is_cut);
  vs_replay_deinit(t.p.m.host, &replay);
  stop(&t);
}

static void expect_error(const char *program, const char *function, vs_status status, const char *part) {
  tried t = {0};
  vs_error error = {0};
  play(&t.p, program);
  assert_int_equal(checkpoint(&t, function, &error), status);
  if (strstr(error.text, part) == NULL) fail_msg("'%s' is not in '%s'", part, error.text);
  stop(&t);
}

/* ---- what is saved --------------------------------------------------------------------------------------- */

/* Two calls: t is temporary, a is saved, r is the result, which the second call or the loss saves. */
#define TWO_CALLS "t@10 a@11 -t r@12 u@10 b@11 -u s@12 l@o "

static void test_saved_blocks_come_again(void **state) {
  (void)state;
  expect(TWO_CALLS "g@B -l -s h@B -b -g i@B -r j@B -a -h -i -j", "model.py:11", 2, 2, 2,
         "t a -t r -a u b -u s -b l g -l -s 0 b -0 h -b -g i -r 0 a -0 j -a -h -i -j");
}

/* Gradients that are freed right behind the last block of the code behind the call are gone when it is computed again. */
static void test_the_place_where_the_backward_pass_of_a_call_begins(void **state) {
  (void)state;
  expect(TWO_CALLS "g@B -l -s -g h@B -b i@B -r -h j@B -a -i -j", "model.py:11", 2, 2, 2,
         "t a -t r -a u b -u s -b l g -l -s -g 0 b -0 h -b i -r -h 0 a -0 j -a -i -j");
}

/* Nothing behind the call saves a block: it is computed again before the first allocation of the backward pass. */
static void test_the_backward_pass_begins_with_the_call(void **state) {
  (void)state;
  expect("a@10 r@11 x@o -r g@B h@B -a -g -h", "model.py:11", 1, 1, 1, "a r -a x -r a g h -a -g -h");
  expect("a@10 b@10 r@11 x@o -r g@B h@B -b -a -g -h", "model.py:11", 1, 1, 2,
         "a b r -a -b x -r a b g h -b -a -g -h");
}

/* What is freed within the call, or never, or not by the backward pass, is not saved. */
static void test_what_is_not_saved(void **state) {
  (void)state;
  expect("c@10 a@10 r@11 x@o g@B -x -r h@B -a -g -h", "model.py:11", 1, 1, 1,
         "c a r -a x g -x -r a h -a -g -h"); /* c is a cache */
  expect("d@10 a@10 r@11 x@o g@B -x -r h@B -a -g -h y@o -d", "model.py:11", 1, 1, 1,
         "d a r -a x g -x -r 0 a -0 h -a -g -h y -d"); /* the program holds d: the copy is dropped */
}

/* The operation that makes the result saves it: g, of its size, is allocated right before it is freed. */
static void test_a_saved_result_is_computed_again(void **state) {
  (void)state;
  expect("a@10=20 r@11=21 x@o=5 f@B=6 -x g@B=21 -f -r h@B=20 -a -g -h", "model.py:11", 1, 1, 1,
         "a r -a x f -x -r a r g -f -r h -a -g -h");
  expect("a@10=20 r@11=21 x@o=5 f@B=6 -x g@B=22 -f -r h@B=20 -a -g -h", "model.py:11", 1, 1, 1,
         "a r -a x f -x g -f -r a h -a -g -h"); /* of another size: the code behind the call saves it */
}

/* A norm that is written out behind the call allocates more of them before it frees its input, which is the result. */
static void test_a_result_that_a_norm_saves(void **state) {
  (void)state;
  expect("a@10=20 r@11=21 x@o=5 f@B=6 -x g@B=21 k@B=21 -f -r h@B=20 -a -g -h -k", "model.py:11", 1, 1, 1,
         "a r -a x f -x g -r a r k -f -r h -a -g -h -k");
  expect("a@10=20 r@11=21 x@o=5 f@B=6 -x g@B=21 j@B=21 k@B=21 -f -r h@B=20 -a -g -h -j -k", "model.py:11", 1,
         1, 1, "a r -a x f -x g j k -f -r a h -a -g -h -j -k");
}

/* It does in all calls or in none: another one frees the result together with what is behind the call. */
static void test_a_result_that_is_not_saved_in_another_call(void **state) {
  (void)state;
  expect(
      "a@10=20 r@11=21 y@o=4 b@10=20 s@11=21 x@o=5 f@B=6 -s -x g@B=20 -b k@B=21 -f -r h@B=20 -a -g -h -k -y",
      "model.py:11", 2, 2, 2, "a r -a y b s -b x f -s -x b g -b k -f -r a h -a -g -h -k -y");
}

/* The code behind the call keeps nothing of the result, which is the argument of the next call: a checkpoint keeps that. */
static void test_a_held_result_and_an_argument(void **state) {
  (void)state;
  expect("a@10 r@11 b@10 s@11 -r l@o g@B -l -s h@B -b -g i@B -a -h -i", "model.py:11", 2, 2, 2,
         "a r -a b s -b l g -l -s b h -b -r -g a i -a -h -i");
}

/* The caller keeps the argument, the newest block of the result's size, longer than the call; so does a checkpoint. */
static void test_an_argument_that_the_caller_holds(void **state) {
  (void)state;
  expect("w@o=21 x@o=21 y@o=9 a@10=20 r@11=21 l@o=3 -w -x g@B=4 -l -r h@B=20 -a -g -h", "model.py:11", 1, 1,
         1, "w x y a r -a l -w g -l -r a h -a -x -g -h");
  expect("w@o=21 x@o=21 a@10=20 r@11=21 l@o=3 -w g@B=4 -l -r h@B=20 -a k@B=21 -x -g -h -k", "model.py:11", 1,
         1, 1, "w x a r -a l -w g -l -r a h -a k -x -g -h -k"); /* the call's code saves it */
}

/* ---- calls ----------------------------------------------------------------------------------------------- */

static void expect_told(const char *program, const char *function, uint64_t calls, vs_calls_told by,
                        uint64_t count) {
  tried t = {0};
  vs_error error = {0};
  play(&t.p, program);
  expect_ok(checkpoint(&t, function, &error));
  assert_int_equal(t.checkpoint.functions.data[0].calls, calls);
  for (int i = 0; i < VS_CALLS_TOLDS; i++) assert_int_equal(t.checkpoint.told[i], i == (int)by ? count : 0);
  stop(&t);
}

static void test_calls_are_told_apart(void **state) {
  (void)state;
  expect_told("a@10 b@11 c@10 d@11 e@10 f@11", "model.py:10", 3, VS_CALLS_LINES, 2);
  expect_told("a@10 b@11 o@o c@10 d@11", "model.py:10", 2, VS_CALLS_LINES, 0);
  expect_told("a@10 b@11 c@10p d@11p", "model.py:forward", 2, VS_CALLS_LINES, 0); /* from another place */
  /* one line: two layers of one kind in each call, which sizes show */
  expect_told("a@2010=4 b@2110=4 c@2010=1 d@2010=4 e@2110=4 f@2010=1 g@2010=4 h@2110=4 i@2010=1",
              "model.py:10", 3, VS_CALLS_SIZES, 2);
  /* sizes that change from call to call: stacks repeat */
  expect_told("a@2010=4 b@2110=4 c@2010=5 d@2110=5 e@2010=6 f@2110=6", "model.py:10", 3, VS_CALLS_STACKS, 2);
  /* what is made only once comes with the first call: counted from the end */
  expect_told("x@2010=9 a@2010=4 b@2110=4 c@2010=1 d@2010=4 e@2110=4 f@2010=1 g@2010=4 h@2110=4 i@2010=1 "
              "j@2010=4 k@2110=4 l@2010=1",
              "model.py:10", 4, VS_CALLS_SIZES, 3);
  expect_told("a@2010=1 b@2110=2 c@2010=3 d@2210=4", "model.py:10", 1, VS_CALLS_RUNS, 1);
}

/* The forward of another class in the same file is another function: it was called from elsewhere. */
static void test_functions_of_a_line(void **state) {
  (void)state;
  expect_told("a@3110 b@3210 c@11 d@3110 e@3210 f@11", "model.py:31", 2, VS_CALLS_LINES, 0);
  expect_told("a@3110 b@3210 c@11 d@3110 e@3210 f@11", "model.py:11", 2, VS_CALLS_LINES, 1);
  expect_told("a@3110 b@3210 c@11 d@3110 e@3210 f@11", "model.py:forward", 2, VS_CALLS_LINES,
              1); /* the outermost */
  expect_told("a@2010 b@11 c@2010 d@11", "inner", 2, VS_CALLS_LINES, 0);
  expect_told("a@2010 b@11 c@2010 d@11", "user/model.py:inner", 2, VS_CALLS_LINES, 0);
}

/* What the backward pass calls is no call of the program, though it is Python. */
static void test_the_backward_pass_in_python(void **state) {
  (void)state;
  expect("a@10 b@10 r@11 x@o -r g@P -b h@P -a -g -h", "model.py:10", 1, 1, 2,
         "a b r -a -b x -r a b g -b h -a -g -h");
  expect("a@10 b@10 r@11 x@o -r g@10P -b h@10P -a -g -h", "model.py:10", 1, 1, 2,
         "a b r -a -b x -r a b g -b h -a -g -h");
}

static void test_several_functions(void **state) {
  (void)state;
  tried t = {0};
  vs_error error = {0};
  const vs_str functions[] = {VS_STR("inner"), VS_STR("model.py:30")};
  play(&t.p, "a@2010 b@2110 c@10 d@30p e@31p x@o g@B -x -e h@B -d -c i@B -b -a -g -h -i");
  expect_ok(vs_checkpoint_build(t.p.m.host, &t.p.plan, &t.p.frames, functions, 2, &error, &t.checkpoint));
  assert_int_equal(t.checkpoint.functions.data[0].calls, 1);
  assert_int_equal(t.checkpoint.functions.data[0].blocks, 1);
  assert_int_equal(t.checkpoint.functions.data[0].bytes, 10 * MIB);
  assert_int_equal(t.checkpoint.functions.data[1].calls, 1);
  assert_int_equal(t.checkpoint.functions.data[1].most_bytes, 13 * MIB);
  stop(&t);
}

static void test_errors(void **state) {
  (void)state;
  expect_error("a@10 b@o", "forwrd", VS_NOT_FOUND, "did you mean 'forward'?");
  expect_error("a@10 b@o", "modle.py:10", VS_NOT_FOUND, "did you mean 'model.py'?");
  expect_error("a@10 b@o", "model.py:17", VS_NOT_FOUND, "no Python function 'model.py:17'");
  expect_error("a@10 b@o", "train.py:forward", VS_NOT_FOUND, "no Python function");
  expect_error("a@10 b@o", "", VS_NOT_FOUND, "no Python function");
  expect_error("a@B b@B", "forward", VS_NOT_FOUND, "no Python stacks");
}

/* ---- recordings that end early --------------------------------------------------------------------------- */

#define COMPLETE       "t@10 a@11 -t r@12 x@o g@B -x -r h@B -a -g -h "
#define COMPLETE_AGAIN "t a -t r -a x g -x -r 0 a -0 h -a -g -h "

static void test_a_call_without_a_backward_pass(void **state) {
  (void)state;
  expect(COMPLETE "y@o u@10 b@11 -u s@12 z@o", "model.py:11", 2, 1, 2, COMPLETE_AGAIN "y u b -u s -b z");
  expect(COMPLETE "y@o u@10 b@11 -u s@12", "model.py:11", 2, 1, 1,
         COMPLETE_AGAIN "y u b -u s");                                   /* it may not have ended */
  expect("u@10 b@11 -u s@12 z@o", "model.py:11", 1, 0, 0, "u b -u s z"); /* nothing shows what is saved */
}

static void test_a_failed_request(void **state) {
  (void)state;
  /* in the forward pass, behind the call; what the program frees then was saved */
  expect(COMPLETE "y@o u@10 b@11 -u s@12 !@o -b -s", "model.py:11", 2, 1, 2,
         COMPLETE_AGAIN "y u b -u s -b ! -b -s");
  /* within the call */
  expect(COMPLETE "y@o u@10 b@11 -u !@12 -b", "model.py:11", 2, 1, 1, COMPLETE_AGAIN "y u b -u ! -b");
  /* in the backward pass, before that of the call: it may have begun */
  expect(COMPLETE "y@o u@10 b@11 -u s@12 z@o k@B -z !@B -b -s -k", "model.py:11", 2, 2, 2,
         COMPLETE_AGAIN "y u b -u s -b z k -z 0 b -0 ! -b -s -k");
  /* in the backward pass of the call, which has freed one of two blocks */
  expect("t@10 a@11 b@11 -t r@12 x@o g@B -x -r h@B -b -a -g -h u@10 c@11 d@11 -u s@12 z@o k@B -z -s l@B -d "
         "!@B -c -k -l",
         "model.py:11", 2, 2, 4,
         "t a b -t r -a -b x g -x -r 0 a b -0 h -b -a -g -h u c d -u s -c -d z k -z -s 0 c d -0 l -d ! -c -k "
         "-l");
}

/* A failure that the program survived is none of these. */
static void test_a_failed_request_that_was_survived(void **state) {
  (void)state;
  expect("!@o " COMPLETE, "model.py:11", 1, 1, 1, "! t a -t r -a x g -x -r 0 a -0 h -a -g -h");
}

/* ---- with other edits ------------------------------------------------------------------------------------ */

static void test_other_edits(void **state) {
  (void)state;
  const uint64_t temporary = 1, saved = 2;
  const struct {
    vs_edit edit;
    const char *requests;
  } cases[] = {
      {{.kind = VS_EDIT_WITHOUT, .rows = &temporary}, "a r -a x g -x -r a h -a -g -h"},
      {{.kind = VS_EDIT_WITHOUT, .rows = &saved}, "t -t r x g -x -r 0 -0 h -g -h"},
      {{.kind = VS_EDIT_FREE_EARLY, .rows = &temporary}, "t -t a r -a x g -x -r 0 -0 a h -a -g -h"},
      {{.kind = VS_EDIT_FREE_EARLY, .rows = &saved}, "t a -a -t r x g -x -r 0 a -a -0 h -g -h"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tried t = {0};
    vs_error error = {0};
    play(&t.p, COMPLETE);
    expect_ok(checkpoint(&t, "model.py:11", &error));
    apply(&t, &cases[i].edit, 1);
    expect_requests(&t, cases[i].requests);
    stop(&t);
  }
}

static void test_scaled(void **state) {
  (void)state;
  tried t = {0};
  vs_error error = {0};
  const uint64_t both = 3;
  play(&t.p, COMPLETE);
  expect_ok(checkpoint(&t, "model.py:11", &error));
  apply(&t, &(vs_edit){.kind = VS_EDIT_SCALE, .rows = &both, .factor = 2}, 1);
  uint64_t doubled = 0;
  for (size_t i = 0; i < t.edited.requests.count; i++) {
    const uint64_t size = t.edited.requests.data[i].size;
    doubled += size == 20 * MIB || size == 22 * MIB;
  }
  assert_int_equal(doubled, 4); /* both, twice */
  stop(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_saved_blocks_come_again),
      cmocka_unit_test(test_the_place_where_the_backward_pass_of_a_call_begins),
      cmocka_unit_test(test_the_backward_pass_begins_with_the_call),
      cmocka_unit_test(test_what_is_not_saved),
      cmocka_unit_test(test_a_saved_result_is_computed_again),
      cmocka_unit_test(test_a_result_that_is_not_saved_in_another_call),
      cmocka_unit_test(test_a_result_that_a_norm_saves),
      cmocka_unit_test(test_an_argument_that_the_caller_holds),
      cmocka_unit_test(test_a_held_result_and_an_argument),
      cmocka_unit_test(test_calls_are_told_apart),
      cmocka_unit_test(test_functions_of_a_line),
      cmocka_unit_test(test_the_backward_pass_in_python),
      cmocka_unit_test(test_several_functions),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_a_call_without_a_backward_pass),
      cmocka_unit_test(test_a_failed_request),
      cmocka_unit_test(test_a_failed_request_that_was_survived),
      cmocka_unit_test(test_other_edits),
      cmocka_unit_test(test_scaled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
