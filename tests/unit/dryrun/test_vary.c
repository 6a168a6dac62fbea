/* The axes of --vary, and the runs that they make. */
#include "dryrun/vary_run.h"
#include "support/test.h"

enum { WORDS = 32 };

/* A plan with one axis or two on a command whose words are separated by spaces. */
typedef struct sample {
  char text[256];
  char *words[WORDS];
  const char *axes[3];
  vs_dryrun_plan plan;
} sample;

static void prepare(sample *s, const char *command, const char *axis, const char *other) {
  size_t count = 0;
  vs_format(s->text, sizeof s->text, "%s", command);
  for (char *at = s->text; *at != 0; at++)
    if (at == s->text || at[-1] == 0) {
      assert_true(count + 1 < WORDS);
      s->words[count++] = at;
      while (at[1] != 0 && at[1] != ' ') at++;
      if (at[1] == ' ') *++at = 0;
    }
  s->words[count] = NULL;
  s->axes[0] = axis;
  s->axes[1] = other;
  s->axes[2] = NULL;
  s->plan.command = s->words;
  s->plan.vary = s->axes;
}

static void add_word(void *ctx, vs_str word) {
  vs_text *text = ctx;
  if (text->bytes.count != 0) vs_text_byte(text, ' ');
  vs_text_str(text, word);
}

/* The command line that makes run `number` alone; without "vramscope dryrun" in it. */
static void put_run(vs_text *text, const vs_vary *vary, uint32_t number) {
  vs_vary_run run;
  vs_text scratch;
  vs_text_init(&scratch, vs_host_default(), NULL);
  expect_ok(vs_vary_run_init(&run, vary, number));
  assert_null(run.plan.vary);
  vs_vary_run_alone(&run, &scratch, text, add_word);
  vs_text_deinit(&scratch);
  vs_vary_run_deinit(&run);
}

/* All runs, separated by " | ". */
static void expect_runs(const char *command, const char *axis, const char *other, const char *wanted) {
  sample s = {.plan = {0}};
  vs_vary vary;
  vs_error error = {.text = ""};
  vs_text text;
  prepare(&s, command, axis, other);
  vs_text_init(&text, vs_host_default(), NULL);
  const vs_status status = vs_vary_init(&vary, vs_host_default(), &s.plan, &error);
  if (status != VS_OK) fail_msg("%s: %s", axis, error.text);
  assert_true(vs_vary_check(&vary));
  for (uint32_t i = 0; i < vary.run_count; i++) {
    if (i != 0) vs_text_cstr(&text, " |");
    put_run(&text, &vary, i);
  }
  vs_text_byte(&text, 0);
  assert_string_equal(text.bytes.data, wanted);
  vs_text_deinit(&text);
  vs_vary_deinit(&vary);
}

static void expect_refused(const char *command, const char *axis, const char *other, const char *words) {
  sample s = {.plan = {.conf = "a:1"}};
  vs_vary vary;
  vs_error error = {.text = ""};
  prepare(&s, command, axis, other);
  expect_status(vs_vary_init(&vary, vs_host_default(), &s.plan, &error), VS_BAD_ARGUMENT);
  if (strstr(error.text, words) == NULL) fail_msg("%s: \"%s\" does not say \"%s\"", axis, error.text, words);
  assert_memory_equal(error.text, "--vary", 6);
  vs_vary_deinit(&vary);
}

#define RUN "vramscope dryrun "

static void test_words_of_the_command(void **state) {
  (void)state;
  expect_runs("p --n 1 x", "n=2,3", NULL, RUN "-- p --n 2 x | " RUN "-- p --n 3 x");
  expect_runs("p --n=1 x", "n=2,3", NULL, RUN "-- p --n=2 x | " RUN "-- p --n=3 x");
  expect_runs("p n=1 x", "n=2", NULL, RUN "-- p n=2 x");
  expect_runs("p ++a.n=1 +b=2", "a.n=2", "b=3", RUN "-- p ++a.n=2 +b=3");
  expect_runs("p +++n=1", "n=2", NULL, RUN "-- p +++n=1 --n 2");
  expect_runs("p --a_b 1", "a-b=2", NULL, RUN "-- p --a_b 2");
  expect_runs("p --a-b=1", "a_b=2", NULL, RUN "-- p --a-b=2");
  expect_runs("p --n -1 x", "n=-2", NULL, RUN "-- p --n -2 x");
  expect_runs("p --n -.5", "n=-2", NULL, RUN "-- p --n -2");
  expect_runs("p --n -", "n=f", NULL, RUN "-- p --n f");
  expect_runs("p -n 1 x", "-n=2", NULL, RUN "-- p -n 2 x");
  expect_runs("p -n=1 x", "-n=2", NULL, RUN "-- p -n=2 x");
  expect_runs("p --n=a=b", "n=c", NULL, RUN "-- p --n=c");
  expect_runs("n --n 1", "n=2", NULL, RUN "-- n --n 2"); /* the program's own name is no argument */
  expect_runs("n=1 --n 1", "n=2", NULL, RUN "-- n=1 --n 2");
}

static void test_words_that_are_added(void **state) {
  (void)state;
  expect_runs("p x", "n=2", NULL, RUN "-- p x --n 2");
  expect_runs("p x", "--rank=2", NULL, RUN "-- p x --rank 2");
  expect_runs("p x", "-n=2", NULL, RUN "-- p x -n 2");
  expect_runs("p x", "a_b=2", "c=3", RUN "-- p x --a_b 2 --c 3");
  expect_runs("p", "n=2", NULL, RUN "-- p --n 2");
  expect_runs("bash run.sh", "n=2", NULL, RUN "-- bash run.sh --n 2"); /* the script gets it */
}

static void test_words_that_are_left_away(void **state) {
  (void)state;
  expect_runs("p --n 1 x", "n=,2", NULL, RUN "-- p x | " RUN "-- p --n 2 x");
  expect_runs("p --n=1 x", "n=", NULL, RUN "-- p x");
  expect_runs("p n=1 x", "n=", NULL, RUN "-- p x");
  expect_runs("p x", "n=,2", NULL, RUN "-- p x | " RUN "-- p x --n 2");
  expect_runs("p x", "gpu=,L4", NULL, RUN "-- p x | " RUN "--gpu L4 -- p x");
}

static void test_flags(void **state) {
  (void)state;
  expect_runs("p --c x", "flag:c=off,on", NULL, RUN "-- p x | " RUN "-- p --c x");
  expect_runs("p x", "flag:c=off,on", NULL, RUN "-- p x | " RUN "-- p x --c");
  expect_runs("p --c 1", "flag:c=off", NULL, RUN "-- p 1");
  expect_runs("p --d_e", "flag:d-e=on", NULL, RUN "-- p --d_e");
  expect_refused("p --c=1", "flag:c=on", NULL, "so it is no flag");
  expect_refused("p", "flag:c=1", NULL, "\"on\" or \"off\", not \"1\"");
  expect_refused("p", "flag:c=", NULL, "\"on\" or \"off\", not \"\"");
}

static void test_placeholders(void **state) {
  (void)state;
  expect_runs("p --n {n} x", "n=2,3", NULL, RUN "-- p --n 2 x | " RUN "-- p --n 3 x");
  expect_runs("p{n} a{n}b{n} {n} {m} {", "n=2", NULL, RUN "-- p2 a2b2 2 {m} {");
  expect_runs("p {n} {m}{n}", "n=2,3", "m={n}",
              RUN "-- p 2 {n}2 | " RUN "-- p 3 {n}3"); /* a value is a value */
  expect_runs("p --n={n}", "{n}=2", NULL, RUN "-- p --n=2");
  expect_runs("p --n {n}", "--n=2", NULL, RUN "-- p --n 2"); /* the option's value */
  expect_runs("p x{n}y {n} z", "n=", NULL, RUN "-- p xy  z");
  expect_runs("p {n_m}", "n-m=2", NULL, RUN "-- p {n_m} --n-m 2"); /* exactly the name */
  expect_runs("p {world}", "{world}+dryrun:world=2+2", NULL, RUN "--world 2 -- p 2");
  expect_runs("sh -c run${n}", "n=2", NULL, RUN "-- sh -c run$2");
  expect_runs("p {}", "n=2", NULL, RUN "-- p {} --n 2");
  expect_refused(
      "p {world}", "world=2", NULL,
      "dryrun has an option \"world\", and the command has {world}: write dryrun:world or {world}");
  expect_refused("p n", "{n}=2", NULL, "the command has no \"{n}\"");
  expect_refused("p {n}", "n=2", "{n}=3", "are the same part");
  expect_refused("p --k a{n}", "n=2", "k=3", "are the same part");
  expect_refused("p --k a{n}", "k=2", "n=3", "are the same part");
  expect_refused("p k={n}", "n=2", "k=3", "are the same part");
}

/* Values that are found on the way. */
static void test_open_axis(void **state) {
  (void)state;
  sample s = {.plan = {0}};
  vs_vary vary;
  vs_error error = {.text = ""};
  vs_text text;
  prepare(&s, "p --n 1 x", "unused", NULL);
  vs_text_init(&text, vs_host_default(), NULL);
  expect_ok(vs_vary_init_open(&vary, vs_host_default(), &s.plan, "--find-largest", "n=1..8", &error));
  assert_int_equal(vary.run_count, 0);
  static const char *const values[] = {"4", "8", "1,2"};
  for (uint32_t i = 0; i < 3; i++) {
    expect_ok(vs_vary_append(&vary, values[i], &error));
    assert_int_equal(vary.run_count, i + 1);
    for (uint32_t k = 0; k <= i; k++) assert_string_equal(vs_vary_value(&vary, k, 0), values[k]);
  }
  put_run(&text, &vary, 2);
  assert_true(vs_str_equal(vs_text_view(&text), VS_STR(RUN "-- p --n 1,2 x")));
  vs_text_deinit(&text);
  vs_vary_deinit(&vary);
  static const char *const refused[][2] = {
      {"n+m=1..2", "takes one name"}, {"flag:c=1", "a flag has no numbers"}, {"=1", "a name is missing"}};
  for (size_t i = 0; i < 3; i++) {
    expect_status(
        vs_vary_init_open(&vary, vs_host_default(), &s.plan, "--find-largest", refused[i][0], &error),
        VS_BAD_ARGUMENT);
    assert_memory_equal(error.text, "--find-largest ", 15);
    if (strstr(error.text, refused[i][1]) == NULL) fail_msg("%s", error.text);
    vs_vary_deinit(&vary);
  }
}

static void test_options_of_dryrun(void **state) {
  (void)state;
  expect_runs("p", "gpu=H100,2xL4", "context=1GiB",
              RUN "--gpu H100 --context 1GiB -- p | " RUN "--gpu 2xL4 --context 1GiB -- p");
  expect_runs("p", "world=4", "rank=0,3", RUN "--world 4 --rank 0 -- p | " RUN "--world 4 --rank 3 -- p");
  expect_runs("p", "ranks=,4", "events=at-sync",
              RUN "--events at-sync -- p | " RUN "--events at-sync --ranks 4 -- p");
  expect_runs("p", "conf=a:1\\,b:2,", "values=keep",
              RUN "--conf a:1,b:2 --values keep -- p | " RUN "--values keep -- p");
  expect_runs("p --gpu 1", "dryrun:gpu=L4", NULL, RUN "--gpu L4 -- p --gpu 1");
  expect_runs("p --gpu 1", "--gpu=2", NULL, RUN "-- p --gpu 2");
  expect_runs("p", "until=ready,30", NULL, RUN "--until ready -- p | " RUN "--until 30 -- p");
  expect_refused("p", "world=many", NULL, "takes a number, not \"many\"");
  expect_refused("p", "world=-1", NULL, "takes a number");
  expect_refused("p", "dryrun:snapshot=x", NULL, "these can: gpu, ");
  expect_refused("p", "conf=b:2", NULL, "--conf is given, too");
  expect_refused("p --gpu 1", "gpu=L4", NULL, "dryrun:gpu or, for the program's, --gpu");
  expect_refused("p gpu=1", "gpu=L4", NULL, "dryrun:gpu");
}

static void test_environment(void **state) {
  (void)state;
  expect_runs("p", "env:A=1,", NULL, "env A=1 " RUN "-- p | env -u A " RUN "-- p");
  expect_runs("p", "env:A=x=y", "env:b_2=", "env -u b_2 A=x=y " RUN "-- p");
  expect_refused("p", "env:=1", NULL, "no name of a variable");
  expect_refused("p", "env:2A=1", NULL, "no name of a variable");
  expect_refused("p", "env:A-B=1", NULL, "no name of a variable");
  expect_refused("p", "env:LD_PRELOAD=x", NULL, "dryrun sets LD_PRELOAD itself");
  expect_refused("p", "env:VRAMSCOPE_SIM_GPU=x", NULL, "itself");
  expect_refused("p", "env:PYTORCH_CUDA_ALLOC_CONF=x", NULL, "use conf=");
}

static void test_combinations(void **state) {
  (void)state;
  expect_runs("p", "a=1,2", "b=3,4",
              RUN "-- p --a 1 --b 3 | " RUN "-- p --a 1 --b 4 | " RUN "-- p --a 2 --b 3 | " RUN
                  "-- p --a 2 --b 4");
  expect_runs("p", "gpu+tp=H100+1,2xH100+2", "b=5",
              RUN "--gpu H100 -- p --tp 1 --b 5 | " RUN "--gpu 2xH100 -- p --tp 2 --b 5");
  expect_runs("p", "a+b=+,1+", NULL, RUN "-- p | " RUN "-- p --a 1");
  expect_runs("p", "a+b+c=1+2+3", NULL, RUN "-- p --a 1 --b 2 --c 3");
  expect_runs("p", "a=1+2", NULL, RUN "-- p --a 1+2"); /* one name: a plus is a plus */
  expect_refused("p", "a+b=1", NULL, "value 1 does not have one part for each of the 2 names");
  expect_refused("p", "a+b=1+2,1+2+3", NULL, "value 2 does not");
  expect_refused("p", "a+=1+2", NULL, "a name is missing");
  expect_refused("p", "+a=1+2", NULL, "a name is missing");
}

static void test_escapes(void **state) {
  (void)state;
  expect_runs("p", "a=1\\,2,3", NULL, RUN "-- p --a 1,2 | " RUN "-- p --a 3");
  expect_runs("p", "a+b=1\\+2+3", NULL, RUN "-- p --a 1+2 --b 3");
  expect_runs("p", "a=1\\\\,2", NULL, RUN "-- p --a 1\\ | " RUN "-- p --a 2");
  expect_runs("p", "a=\\n\\", NULL, RUN "-- p --a \\n\\");
  expect_runs("p", "a={\"x\":1\\,\"y\":2}", NULL, RUN "-- p --a {\"x\":1,\"y\":2}");
}

static void test_what_is_refused(void **state) {
  (void)state;
  expect_refused("p", "batch", NULL, "takes NAME=VALUE,VALUE,...");
  expect_refused("p", "", NULL, "takes NAME=VALUE,VALUE,...");
  expect_refused("p", "=1", NULL, "a name is missing");
  expect_refused("p", "--=1", NULL, "a name is missing");
  expect_refused("p", "-=1", NULL, "a name is missing");
  expect_refused("p", "---n=1", NULL, "a name is missing");
  expect_refused("p", "flag:=on", NULL, "a name is missing");
  expect_refused("p --n 1 --n 2", "n=3", NULL, "the command has \"n\" 2 times");
  expect_refused("p --n 1 n=2", "n=3", NULL, "2 times");
  expect_refused("p --n", "n=3", NULL, "\"--n\" has no value in the command: flag:n=off,on");
  expect_refused("p --n --m", "n=3", NULL, "has no value");
  expect_refused("p", "n=1", "n=2", "are the same part");
  expect_refused("p", "n_m=1", "--n-m=2", "are the same part");
  expect_refused("p --n a=1", "n=2", "a=3", "are the same part"); /* a=1 is the value of --n */
  expect_refused("p", "env:A=1", "env:A=2", "are the same part");
  expect_refused("p", "gpu=L4", "dryrun:gpu=T4", "are the same part");
  expect_refused("sh -c true", "n=1", NULL, "write {n} in the script, or use env:n and $n in it");
  expect_refused("/bin/bash -ec true", "flag:n=on", NULL, "use env:n");
  expect_refused("p", "a+b+c+d+e+f+g+h+i=1", NULL, "at most 8 names");
  expect_refused("p", "a=1,2,3,4,5,6,7,8", "b=1,2,3,4,5,6,7,8,9",
                 "these are 72 runs, and a table has at most 64");
}

static void test_the_most_runs(void **state) {
  (void)state;
  sample s = {.plan = {0}};
  vs_vary vary;
  vs_error error;
  prepare(&s, "p", "a=1,2,3,4,5,6,7,8", "b=1,2,3,4,5,6,7,8");
  expect_ok(vs_vary_init(&vary, vs_host_default(), &s.plan, &error));
  assert_int_equal(vary.run_count, VS_VARY_RUNS);
  assert_string_equal(vs_vary_value(&vary, 63, 0), "8");
  assert_string_equal(vs_vary_value(&vary, 62, 1), "7");
  assert_string_equal(vs_vary_value(&vary, 8, 0), "2");
  vs_vary_deinit(&vary);
}

/* Texts of the characters that mean something: refused with a sentence, or runs that are whole. */
static void test_anything(void **state) {
  (void)state;
  static const char *const pieces[] = {"a",   "b",    "=",     ",",       "+",   "\\",   "-",
                                       "--",  "env:", "flag:", "dryrun:", "gpu", "rank", "on",
                                       "off", "1",    "_",     "{",       "}",   "{a}"};
  static const char *const commands[] = {
      "p", "p --a 1 b=2", "p --a --b=1 -b", "p a=1 +b=2 --gpu 3", "sh -c x{b}", "p --a {a} {b}{a}"};
  uint32_t seed = 1;
  for (uint64_t i = 0; i < test_repetitions(200000, 2000); i++) {
    char axes[2][64];
    for (size_t k = 0; k < 2; k++) {
      vs_text text;
      vs_text_init(&text, vs_host_default(), NULL);
      for (size_t n = 0; n < 8; n++) {
        seed = seed * 1664525 + 1013904223;
        vs_text_cstr(&text,
                     n == 1 && seed >> 31 ? "=" : pieces[(seed >> 16) % (sizeof pieces / sizeof *pieces)]);
      }
      vs_format(axes[k], sizeof axes[k], "%S", vs_text_view(&text));
      vs_text_deinit(&text);
    }
    sample s = {.plan = {0}};
    vs_vary vary;
    vs_error error = {.text = ""};
    prepare(&s, commands[(seed >> 20) % 6], axes[0], seed >> 31 ? axes[1] : NULL);
    const vs_status status = vs_vary_init(&vary, vs_host_default(), &s.plan, &error);
    if (status == VS_OK) {
      assert_true(vs_vary_check(&vary));
      for (uint32_t n = 0; n < vary.run_count; n++) {
        vs_text text;
        vs_text_init(&text, vs_host_default(), NULL);
        put_run(&text, &vary, n);
        vs_text_deinit(&text);
      }
    } else {
      expect_status(status, VS_BAD_ARGUMENT);
      assert_memory_equal(error.text, "--vary", 6);
    }
    vs_vary_deinit(&vary);
  }
}

/* With each request for memory failing once. */
static vs_status use(const vs_host *host, void *ctx) {
  const sample *s = ctx;
  vs_vary vary;
  vs_error error;
  vs_status status = vs_vary_init(&vary, host, &s->plan, &error);
  for (uint32_t i = 0; status == VS_OK && i < vary.run_count; i++) {
    vs_vary_run run;
    status = vs_vary_run_init(&run, &vary, i);
    vs_vary_run_deinit(&run);
  }
  vs_vary_deinit(&vary);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  sample s = {.plan = {0}};
  prepare(&s, "p --n=1 m=2 --k 3 {o}", "n+env:A+gpu=1+2+L4,3++T4", "m+k+added+o=1+2+3+4");
  assert_true(fault_prove(use, &s) > 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_words_of_the_command),
      cmocka_unit_test(test_words_that_are_added),
      cmocka_unit_test(test_words_that_are_left_away),
      cmocka_unit_test(test_flags),
      cmocka_unit_test(test_placeholders),
      cmocka_unit_test(test_open_axis),
      cmocka_unit_test(test_options_of_dryrun),
      cmocka_unit_test(test_environment),
      cmocka_unit_test(test_combinations),
      cmocka_unit_test(test_escapes),
      cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_the_most_runs),
      cmocka_unit_test(test_anything),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
