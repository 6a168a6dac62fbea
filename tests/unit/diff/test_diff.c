/* Differences of inventories made at random, and of inventories that are wrong. */
#include "unit/diff/sample.h"

enum { ROUNDS = 400 };

/* ---- properties */

typedef struct sums {
  int64_t delta;
  uint64_t before, after, before_count, after_count, smaller, same;
} sums;

static sums add_up(vs_json rows) {
  sums s = {0};
  bool is_same_seen = false;
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i), before = vs_reply_at(row, "before"),
                  after = vs_reply_at(row, "after");
    const uint64_t a = vs_reply_u64(before, "bytes"), b = vs_reply_u64(after, "bytes");
    const bool is_same = vs_str_equal(vs_reply_str(row, "status"), VS_STR("same"));
    assert_true(is_same || !is_same_seen);
    is_same_seen |= is_same;
    assert_true(vs_reply_i64(row, "delta_bytes") == (int64_t)b - (int64_t)a);
    assert_true(vs_reply_str(row, "owner").size != 0);
    s.delta += vs_reply_i64(row, "delta_bytes");
    s.before += a;
    s.after += b;
    s.before_count += vs_reply_u64(before, "count");
    s.after_count += vs_reply_u64(after, "count");
    s.smaller += a < b ? a : b;
    s.same += is_same;
  }
  return s;
}

/* Of the two inventories, which have so many bytes. */
static void check(vs_str a, vs_str b, uint64_t bytes_a, uint64_t bytes_b, vs_diff_options options,
                  sums *out) {
  vs_text reply;
  vs_json_doc document;
  vs_error error = {.text = ""};
  vs_text_init(&reply, vs_host_default(), NULL);
  if (sample_diff(vs_host_default(), a, b, options, &reply, &error) != VS_OK) fail_msg("%s", error.text);
  expect_ok(vs_json_doc_init(&document, vs_host_default(), vs_text_view(&reply), &error));
  const vs_json root = vs_json_root(&document);
  *out = add_up(vs_reply_at(root, "rows"));
  assert_true(out->before == bytes_a && out->after == bytes_b);
  assert_true(out->delta == (int64_t)bytes_b - (int64_t)bytes_a &&
              out->delta == vs_reply_i64(root, "delta_bytes"));
  assert_true(out->smaller == vs_reply_u64(root, "matched_bytes"));
  assert_true(out->before_count == vs_reply_u64(vs_reply_at(root, "a"), "count"));
  assert_true(out->after_count == vs_reply_u64(vs_reply_at(root, "b"), "count"));
  if (vs_str_equal(a, b)) assert_true(out->same == vs_json_count(vs_reply_at(root, "rows")));
  vs_json_doc_deinit(&document);
  vs_text_deinit(&reply);
}

static void rows_add_up_both_ways(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < ROUNDS; seed++) {
    vs_text texts[2];
    uint64_t bytes[2];
    for (size_t i = 0; i < 2; i++) {
      vs_text_init(&texts[i], vs_host_default(), NULL);
      sample_put_inventory(&texts[i], 2 * seed + i, &bytes[i]);
      expect_ok(texts[i].status);
    }
    const vs_str a = vs_text_view(&texts[0]), b = vs_text_view(&texts[1]);
    for (unsigned by = 0; by < VS_DIFF_BY_COUNT; by++)
      for (unsigned exact = 0; exact < 2; exact++) {
        const vs_diff_options options = {.by = (vs_diff_by)by, .is_same_program = exact != 0};
        sums there, back, none;
        check(a, b, bytes[0], bytes[1], options, &there);
        check(b, a, bytes[1], bytes[0], options, &back);
        check(a, a, bytes[0], bytes[0], options, &none);
        assert_true(there.smaller == back.smaller && there.same == back.same && none.smaller == bytes[0]);
      }
    for (size_t i = 0; i < 2; i++) vs_text_deinit(&texts[i]);
  }
}

/* ---- what is no inventory */

#define FINE "{\"frames\":[],\"stacks\":[]}"

static void expect_refused(const char *inventory, const char *sentence) {
  vs_text reply;
  vs_error error = {.text = ""};
  vs_text_init(&reply, vs_host_default(), NULL);
  const vs_diff_options options = {.by = VS_DIFF_BY_line};
  expect_status(sample_diff(vs_host_default(), vs_str_from(inventory), VS_STR(FINE), options, &reply, &error),
                VS_BAD_FORMAT);
  assert_string_equal(error.text, sentence);
  expect_status(sample_diff(vs_host_default(), VS_STR(FINE), vs_str_from(inventory), options, &reply, &error),
                VS_BAD_FORMAT);
  assert_true(reply.bytes.count == 0);
  vs_text_deinit(&reply);
}

static void what_is_no_inventory_is_refused(void **state) {
  (void)state;
  expect_refused("[]", "not an inventory of vramscope: it has no frames and stacks");
  expect_refused("{\"frames\":[]}", "not an inventory of vramscope: it has no frames and stacks");
  expect_refused("{\"frames\":[],\"stacks\":{}}",
                 "not an inventory of vramscope: it has no frames and stacks");
  expect_refused("{\"frames\":[7],\"stacks\":[]}", "not an inventory of vramscope: no frame is 0");
  expect_refused("{\"frames\":[],\"stacks\":[{}]}", "not an inventory of vramscope: no frames in stack 0");
  expect_refused("{\"frames\":[],\"stacks\":[{\"frames\":[0],\"sizes\":[[1,1]]}]}",
                 "not an inventory of vramscope: a frame that is not listed in stack 0");
  expect_refused("{\"frames\":[{}],\"stacks\":[{\"frames\":[-1],\"sizes\":[[1,1]]}]}",
                 "not an inventory of vramscope: a frame that is not listed in stack 0");
  expect_refused("{\"frames\":[],\"stacks\":[{\"frames\":[],\"sizes\":[]}]}",
                 "not an inventory of vramscope: no sizes in stack 0");
  expect_refused("{\"frames\":[],\"stacks\":[{\"frames\":[],\"sizes\":[[1]]}]}",
                 "not an inventory of vramscope: no size and number in stack 0");
  expect_refused("{\"frames\":[],\"stacks\":[{\"frames\":[],\"sizes\":[[-1,1]]}]}",
                 "not an inventory of vramscope: no size and number in stack 0");
  expect_refused("{\"frames\":[{}],\"stacks\":[{\"frames\":[],\"sizes\":[[1,1]],\"owner_frame\":1}]}",
                 "not an inventory of vramscope: an owner that is not listed in stack 0");
}

/* Sums beyond 64 bits are the largest number, and changes beyond 63 bits the largest change. */
static void huge_sizes_do_not_wrap(void **state) {
  (void)state;
  const char *huge =
      "{\"frames\":[],\"stacks\":[{\"frames\":[],\"label\":\"x\",\"sizes\":[[18446744073709551615,3],[7,"
      "18446744073709551615]]}]}";
  vs_text reply;
  vs_json_doc document;
  vs_error error;
  for (unsigned by = 0; by < VS_DIFF_BY_COUNT; by++) {
    vs_text_init(&reply, vs_host_default(), NULL);
    const vs_diff_options options = {.by = (vs_diff_by)by};
    expect_ok(sample_diff(vs_host_default(), VS_STR(FINE), vs_str_from(huge), options, &reply, &error));
    expect_ok(vs_json_doc_init(&document, vs_host_default(), vs_text_view(&reply), &error));
    const vs_json root = vs_json_root(&document);
    assert_true(vs_reply_u64(vs_reply_at(root, "b"), "bytes") == UINT64_MAX);
    assert_true(vs_reply_i64(root, "delta_bytes") == INT64_MAX);
    vs_json_doc_deinit(&document);
    vs_text_deinit(&reply);
  }
}

/* ---- the inventory in a document */

static void expect_found(const char *text, const int64_t *device, int64_t wanted) {
  vs_json_doc document;
  vs_error error;
  expect_ok(vs_json_doc_init(&document, vs_host_default(), vs_str_from(text), &error));
  const vs_json found = vs_inventory_in(vs_json_root(&document), device);
  if (wanted < 0) assert_true(vs_json_is_absent(found));
  else assert_true(vs_reply_i64(found, "device") == wanted);
  vs_json_doc_deinit(&document);
}

static void the_gpu_with_the_highest_peak_reserved_is_the_default(void **state) {
  (void)state;
  const char *dry_run = "{\"inventories\":[{\"device\":0,\"peak_reserved_bytes\":5},{\"device\":1,"
                        "\"peak_reserved_bytes\":9},{\"device\":2,\"peak_reserved_bytes\":9}]}";
  const int64_t two = 2, three = 3;
  expect_found(dry_run, NULL, 1);
  expect_found(dry_run, &two, 2);
  expect_found(dry_run, &three, -1);
  expect_found("{\"inventories\":[]}", NULL, -1);
  expect_found("{\"device\":3}", NULL, 3);
  expect_found("{\"device\":3}", &three, 3);
  expect_found("{\"device\":3}", &two, -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_add_up_both_ways),
      cmocka_unit_test(what_is_no_inventory_is_refused),
      cmocka_unit_test(huge_sizes_do_not_wrap),
      cmocka_unit_test(the_gpu_with_the_highest_peak_reserved_is_the_default),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
