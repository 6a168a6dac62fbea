/* Lines of the forward pass in answers: one line of a model that allocates in its own pass, in its backward pass, and in a
 * native stack of the backward pass. */
#include "unit/query/questions.h"

#define FRAME(name, file, line) "{\"name\":\"" name "\",\"filename\":\"" file "\",\"line\":" #line "}"
#define FORWARD                                                                           \
  ",\"forward_frames\":[\"  File \\\"/u/train.py\\\", line 3, in main\\n    step()\\n\"," \
  "\"  File \\\"/u/model.py\\\", line 12, in forward\\n    return x @ w\\n\"]"
#define ALLOC(address, size, frames, more)                                                                   \
  "{\"action\":\"alloc\",\"addr\":" #address ",\"size\":" #size ",\"stream\":0,\"frames\":[" frames "]" more \
  "}"

static const char json[] = "{\"segments\":[],\"device_traces\":[[" ALLOC(
    4096, 1000, FRAME("forward", "/u/model.py", 12) "," FRAME("main", "/u/train.py", 3),
    "") "," ALLOC(8192, 200, , FORWARD) "," ALLOC(12288, 30, FRAME("at::empty", "??", 0), FORWARD) "]]}";

static int begin(void **state) {
  (void)state;
  return questions_begin(json);
}

/* The list that a reply has under `key`, until the next question. */
static vs_json ask_list(const char *request, const char *key) { return at(ask(request), key); }

static vs_str text_at(vs_json of, const char *key) {
  return vs_json_str(vs_json_member(of, vs_str_from(key)), VS_STR("(none)"));
}
static uint64_t number_at(vs_json of, const char *key) {
  return vs_json_u64(vs_json_member(of, vs_str_from(key)), 999999);
}

static void expect_member(vs_json of, const char *key, const char *wanted) {
  expect_str_at(text_at(of, key), vs_str_from(wanted), __FILE__, __LINE__);
}

static void the_line_and_its_backward_pass_are_two_groups(void **state) {
  (void)state;
  const vs_json groups =
      ask_list("{\"method\":\"live\",\"params\":{\"at\":\"end\",\"by\":\"line\"}}", "groups");
  assert_int_equal(vs_json_count(groups), 2);
  expect_member(vs_json_at(groups, 0), "label", "model.py:12 forward");
  expect_member(vs_json_at(groups, 0), "filter", "line=\"/u/model.py:12\"");
  assert_int_equal(number_at(vs_json_at(groups, 0), "bytes"), 1000);
  expect_member(vs_json_at(groups, 1), "label", "backward pass of model.py:12 forward");
  expect_member(vs_json_at(groups, 1), "long_label", "backward pass of /u/model.py:12 forward");
  expect_member(vs_json_at(groups, 1), "filter", "line=\"backward pass of /u/model.py:12\"");
  assert_int_equal(number_at(vs_json_at(groups, 1), "bytes"), 230);
}

static void each_filter_keeps_its_own(void **state) {
  (void)state;
  static const struct {
    const char *filter;
    size_t blocks;
  } cases[] = {
      {"line=model.py:12", 1},
      {"line=\\\"backward pass of model.py:12\\\"", 2},
      {"line=\\\"backward pass of train.py:3\\\"", 0},
      {"line=/backward/passes/model.py:12", 0}, /* as long as the words before a line of the forward pass */
      {"model.py", 3},                          /* text is looked for in all frames */
      {"\\\"backward pass\\\"", 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char request[200];
    vs_format(request, sizeof request,
              "{\"method\":\"blocks\",\"params\":{\"at\":\"end\",\"filter\":\"%s\"}}", cases[i].filter);
    if (vs_json_count(ask_list(request, "blocks")) != cases[i].blocks) fail_msg("%s", cases[i].filter);
  }
}

/* The stack of a reply is what was recorded. */
static void stacks_are_those_that_were_recorded(void **state) {
  (void)state;
  static const struct {
    uint64_t bytes;
    size_t frames;
    uint64_t owner; /* 999999: null */
  } cases[] = {{1000, 2, 0}, {200, 0, 999999}, {30, 1, 999999}};
  const vs_json blocks =
      ask_list("{\"method\":\"blocks\",\"params\":{\"at\":\"end\",\"frames\":0}}", "blocks");
  assert_int_equal(vs_json_count(blocks), 3);
  for (size_t i = 0; i < 3; i++) {
    const vs_json block = vs_json_at(blocks, i);
    assert_int_equal(number_at(block, "requested_bytes"), cases[i].bytes);
    assert_int_equal(vs_json_count(vs_json_member(block, VS_STR("stack"))), cases[i].frames);
    assert_int_equal(number_at(block, "owner_frame"), cases[i].owner);
  }
}

/* root > main > forward (1000 of its own) > backward pass (230) */
static void a_tree_has_the_line_once(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t bytes, own;
  } nodes[] = {{"main", 1230, 0}, {"forward", 1230, 1000}, {"backward pass", 230, 230}};
  const vs_json tree = ask_list("{\"method\":\"tree\",\"params\":{\"at\":\"end\"}}", "nodes");
  assert_int_equal(vs_json_count(tree), 4);
  for (size_t i = 0; i < 3; i++) {
    const vs_json node = vs_json_at(tree, i + 1);
    expect_member(node, "name", nodes[i].name);
    assert_int_equal(number_at(node, "parent"), i);
    assert_int_equal(number_at(node, "bytes"), nodes[i].bytes);
    assert_int_equal(number_at(node, "self_bytes"), nodes[i].own);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_line_and_its_backward_pass_are_two_groups, begin, teardown),
      cmocka_unit_test_setup_teardown(each_filter_keeps_its_own, begin, teardown),
      cmocka_unit_test_setup_teardown(stacks_are_those_that_were_recorded, begin, teardown),
      cmocka_unit_test_setup_teardown(a_tree_has_the_line_once, begin, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
