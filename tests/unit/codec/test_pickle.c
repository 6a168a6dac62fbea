/* The pickle machine: what it refuses, with which words and where; its bounds; its work when the input comes in drops and
 * when memory runs out. That it reads what CPython reads is shown by tests/oracle/test_pickle_machine.py. */
#include "codec/pickle.h"
#include "support/test.h"

/* ---- a consumer that counts, and hands out a number for each container */

enum { COUNTED = VS_VALUE_USER };

typedef struct counts {
  uint64_t strings, sequences, tuples, mappings, items;
} counts;

static vs_status count_string(void *ctx, vs_str utf8, vs_value *out, vs_error *error) {
  (void)error;
  ((counts *)ctx)->strings++;
  *out = (vs_value){.bits = utf8.size, .kind = VS_VALUE_STRING};
  return VS_OK;
}

static void no_open_values(const vs_value *items, size_t count) {
  for (size_t i = 0; i < count; i++) assert_true(items[i].kind < VS_VALUE_READER || items[i].kind == COUNTED);
}

static vs_status count_sequence(void *ctx, const vs_value *items, size_t count, bool is_tuple, vs_value *out,
                                vs_error *error) {
  counts *c = ctx;
  (void)error;
  no_open_values(items, count);
  c->sequences += !is_tuple;
  c->tuples += is_tuple;
  c->items += count;
  *out = (vs_value){.bits = count, .kind = COUNTED};
  return VS_OK;
}

static vs_status count_mapping(void *ctx, const vs_value *pairs, size_t count, vs_value *out,
                               vs_error *error) {
  counts *c = ctx;
  (void)error;
  no_open_values(pairs, 2 * count);
  c->mappings++;
  c->items += count;
  *out = (vs_value){.bits = count, .kind = COUNTED};
  return VS_OK;
}

static vs_str text_of(void *ctx, vs_value string) {
  (void)ctx;
  return string.bits == 2 ? VS_STR("os") : VS_STR("sys\ntem");
}

/* ---- reading bytes, all at once or one at a time */

static vs_status read_one(void *ctx, void *data, size_t capacity, size_t *count) {
  vs_memory_reader *state = ctx;
  *count = state->rest.size != 0 && capacity != 0;
  if (*count == 0) return VS_OK;
  *(char *)data = *state->rest.data++;
  state->rest.size--;
  return VS_OK;
}

typedef struct outcome {
  vs_status status;
  vs_error error;
  vs_value root;
  vs_pickle_info info;
  counts counts;
} outcome;

static vs_status fold(const vs_host *host, vs_str pickle, bool in_drops, outcome *o) {
  *o = (outcome){0};
  const vs_fold consumer = {&o->counts, count_string, count_sequence, count_mapping, text_of};
  vs_memory_reader state;
  vs_reader reader = vs_reader_from_bytes(&state, pickle.data, pickle.size);
  if (in_drops) reader.read = read_one;
  vs_input input;
  o->status = vs_input_init(&input, host, reader);
  if (o->status == VS_OK) o->status = vs_pickle_fold(&input, &consumer, NULL, &o->root, &o->info, &o->error);
  vs_input_deinit(&input);
  return o->status;
}

/* Folds both ways, which must agree, and without a leak. */
static outcome fold_both(vs_str pickle) {
  outcome whole, drops;
  fault_host fault;
  fault_host_init(&fault, FAULT_NEVER);
  (void)fold(&fault.host, pickle, false, &whole);
  (void)fold(&fault.host, pickle, true, &drops);
  fault_host_expect_empty(&fault);
  assert_int_equal(whole.status, drops.status);
  assert_int_equal(whole.error.offset, drops.error.offset);
  assert_string_equal(whole.error.text, drops.error.text);
  assert_int_equal(whole.counts.items, drops.counts.items);
  return whole;
}

#define FOLD(literal) fold_both(VS_STR(literal))

static void expect_failure(vs_str pickle, vs_status status, uint64_t offset, const char *words) {
  const outcome o = fold_both(pickle);
  expect_status(o.status, status);
  if (strstr(o.error.text, words) == NULL) fail_msg("'%s' does not say '%s'", o.error.text, words);
  assert_int_equal(o.error.offset, offset);
}

#define FAILS(literal, status, offset, words) expect_failure(VS_STR(literal), (status), (offset), (words))

/* ---- the tests */

static void reads_plain_data(void **state) {
  (void)state;
  outcome o = FOLD("\x80\x04}\x94(\x8c\x01"
                   "a\x94]\x94(K\x01K\x02K\x03"
                   "e\x8c\x01"
                   "b\x94K\x04K\x05\x86\x94u.");
  expect_ok(o.status);
  assert_int_equal(o.info.protocol, 4);
  assert_int_equal(o.counts.mappings, 1);
  assert_int_equal(o.counts.sequences, 1);
  assert_int_equal(o.counts.tuples, 1);
  assert_int_equal(o.counts.items, 2 + 3 + 2);
  assert_int_equal(o.root.bits, 2);
  o = FOLD("(lp0\nI1\na.\0\0\0");
  expect_ok(o.status);
  assert_int_equal(o.info.protocol, 0);
  assert_int_equal(o.info.size, 10);
}

static void refuses_what_is_not_plain_data(void **state) {
  (void)state;
  FAILS("\x80\x02"
        "cos\nsystem\nU\x02ls\x85R.",
        VS_REFUSED, 2, "GLOBAL asks for os.system");
  FAILS("\x80\x04\x8c\x02os\x8c\x06system\x93.", VS_REFUSED, 14, "STACK_GLOBAL asks for os.sys\\x0atem");
  FAILS("\x80\x04\x93.", VS_REFUSED, 2, "STACK_GLOBAL asks for ?.?");
  FAILS("(ios\nsystem\n.", VS_REFUSED, 1, "INST asks for os.system");
  FAILS("NNR.", VS_REFUSED, 2, "REDUCE");
  FAILS("Nb.", VS_REFUSED, 1, "BUILD");
  FAILS("(No.", VS_REFUSED, 2, "OBJ");
  FAILS("NN\x81.", VS_REFUSED, 2, "NEWOBJ");
  FAILS("NNN\x92.", VS_REFUSED, 3, "NEWOBJ_EX");
  FAILS("Pabc\x01\n.", VS_REFUSED, 0, "PERSID asks for the outside object 'abc\\x01'");
  FAILS("NQ.", VS_REFUSED, 1, "BINPERSID");
  FAILS("\x82\x07.", VS_REFUSED, 0, "EXT1 asks for the registered class 7");
  FAILS("\x83\x07\x01.", VS_REFUSED, 0, "EXT2 asks for the registered class 263");
  FAILS("\x84\x07\0\0\0.", VS_REFUSED, 0, "EXT4 asks for the registered class 7");
  FAILS("\x97.", VS_REFUSED, 0, "NEXT_BUFFER");
}

static void refuses_what_contains_itself(void **state) {
  (void)state;
  FAILS("]\x94h\0a.", VS_REFUSED, 4, "a list contains itself");
  FAILS("}\x94(\x8c\x01"
        "ah\0u.",
        VS_REFUSED, 8, "a dict contains itself");
  FAILS("]\x94(]\x94h\0"
        "ae.",
        VS_REFUSED, 8, "a list contains itself");
  expect_ok(FOLD("](]\x94h\0e.").status); /* the same list twice, next to each other */
  expect_ok(FOLD("](]\x94]h\0"
                 "ae.")
                .status);
}

static void tells_where_it_is_broken(void **state) {
  (void)state;
  FAILS("", VS_TRUNCATED, 0, "truncated");
  FAILS("\x80", VS_TRUNCATED, 0, "truncated");
  FAILS("]K", VS_TRUNCATED, 1, "truncated");
  FAILS("X\x05\0\0\0abc", VS_TRUNCATED, 0, "truncated");
  FAILS("\x80\x09.", VS_UNSUPPORTED, 0, "protocol 9");
  FAILS("]\xff", VS_BAD_FORMAT, 1, "0xff");
  FAILS(".", VS_BAD_FORMAT, 0, "STOP finds too few values");
  FAILS("NN.", VS_BAD_FORMAT, 2, "more than one value");
  FAILS("(N.", VS_BAD_FORMAT, 2, "open MARK");
  FAILS("Na.", VS_BAD_FORMAT, 1, "no list");
  FAILS("NNa.", VS_BAD_FORMAT, 2, "no list");
  FAILS("]NNs.", VS_BAD_FORMAT, 3, "no dict");
  FAILS("}(Nu.", VS_BAD_FORMAT, 3, "a key without a value");
  FAILS("Ne.", VS_BAD_FORMAT, 1, "APPENDS without a MARK");
  FAILS("](Na.", VS_BAD_FORMAT, 3, "no list"); /* the mark fences the list off */
  FAILS("\x80\x04\x95\x05\0\0\0\0\0\0\0N.", VS_TRUNCATED, 12, "FRAME goes on to byte 16");
  FAILS("\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", VS_LIMIT, 0, "FRAME of");
  FAILS("h\x03.", VS_BAD_FORMAT, 0, "memo entry 3");
  FAILS("I1x\n.", VS_BAD_FORMAT, 0, "a number that is none");
  FAILS("Fabc\n.", VS_BAD_FORMAT, 0, "a float that is none");
  FAILS("Sabc\n.", VS_BAD_FORMAT, 0, "quotes");
  FAILS("Va\\u12\n.", VS_BAD_FORMAT, 0, "escape");
}

static void keeps_its_bounds(void **state) {
  (void)state;
  FAILS("X\xff\xff\xff\xff"
        "abc.",
        VS_LIMIT, 0, "BINUNICODE of 4294967295 bytes");
  FAILS("\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", VS_LIMIT, 0, "BINUNICODE8");
  FAILS("\x8b\xff\xff\xff\xff.", VS_LIMIT, 0, "LONG4");
  FAILS("Nr\xff\xff\xff\xff.", VS_LIMIT, 1, "memo index 4294967295");
  char marks[VS_PICKLE_MAX_MARKS + 2];
  memset(marks, '(', sizeof marks);
  expect_failure((vs_str){marks, sizeof marks}, VS_LIMIT, VS_PICKLE_MAX_MARKS, "1024 levels");
}

static void integers_are_exact(void **state) {
  (void)state;
  static const struct {
    vs_str pickle;
    uint32_t kind;
    uint64_t bits;
  } cases[] = {
      {VS_STR("K\xff."), VS_VALUE_INT, 255},
      {VS_STR("M\xff\xff."), VS_VALUE_INT, 65535},
      {VS_STR("J\xff\xff\xff\xff."), VS_VALUE_INT, UINT64_MAX},
      {VS_STR("\x8a\0."), VS_VALUE_INT, 0},
      {VS_STR("\x8a\x01\x80."), VS_VALUE_INT, (uint64_t)-128},
      {VS_STR("\x8a\x08\0\0\0\0\0\0\0\x80."), VS_VALUE_INT, UINT64_C(1) << 63},
      {VS_STR("\x8a\x09\0\0\0\0\0\0\0\x80\0."), VS_VALUE_UINT, UINT64_C(1) << 63},
      {VS_STR("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0."), VS_VALUE_UINT, UINT64_MAX},
      {VS_STR("\x8a\x09\0\0\0\0\0\0\0\0\x01."), VS_VALUE_BIG, 0},
      {VS_STR("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff."), VS_VALUE_BIG, 0},
      {VS_STR("\x8a\x0a\x05\0\0\0\0\0\0\0\0\0."), VS_VALUE_INT, 5},
      {VS_STR("L-9223372036854775808L\n."), VS_VALUE_INT, UINT64_C(1) << 63},
      {VS_STR("L18446744073709551615L\n."), VS_VALUE_UINT, UINT64_MAX},
      {VS_STR("L18446744073709551616L\n."), VS_VALUE_BIG, 0},
      {VS_STR("I00\n."), VS_VALUE_BOOL, 0},
      {VS_STR("I01\n."), VS_VALUE_BOOL, 1},
      {VS_STR("I1\n."), VS_VALUE_INT, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const outcome o = fold_both(cases[i].pickle);
    expect_ok(o.status);
    assert_int_equal(o.root.kind, cases[i].kind);
    assert_int_equal(o.root.bits, cases[i].bits);
  }
}

/* Four lists of references: two bodies, each twice, so the second round is predicted. */
#define REPEATED                       \
  "\x80\x04](}\x94}\x94]\x94(h\0h\x01" \
  "e]\x94(h\x01h\0"                    \
  "e]\x94(h\0h\x01"                    \
  "e]\x94(h\x01h\0"                    \
  "ee."

static void a_memo_entry_means_what_was_put_last(void **state) {
  (void)state;
  const outcome o = FOLD("(]q\x01]q\x01(K\x01"
                         "et0h\x01."); /* two lists, both open, under one index */
  expect_ok(o.status);
  assert_int_equal(o.root.bits, 1);
}

static void repeated_lists_are_folded_once(void **state) {
  (void)state;
  outcome o;
  expect_ok(fold(vs_host_default(), VS_STR(REPEATED), false, &o));
  assert_int_equal(o.counts.sequences, 2 + 1);
  assert_int_equal(o.info.lists, 4);
  assert_int_equal(o.info.lists_known,
                   1); /* which body follows the second one is known only after the third list */
  /* Once a memo entry was overwritten, what was learnt is not used, and nothing more is learnt. */
  expect_ok(fold(vs_host_default(),
                 VS_STR("](}q\x01]q\x02(h\x01h\x01"
                        "eNq\x01]q\x03(h\x01h\x01"
                        "ee.\0\0\0"),
                 false, &o));
  assert_int_equal(o.info.lists, 1);
  assert_int_equal(o.counts.sequences, 2 + 1);
}

static vs_status fold_repeated(const vs_host *host, void *ctx) {
  (void)ctx;
  outcome o;
  return fold(host, VS_STR(REPEATED), true, &o);
}

static vs_status fold_scalars(const vs_host *host, void *ctx) {
  (void)ctx;
  outcome o;
  return fold(host, VS_STR("(Va\\u20ac\nS'x'\nI-1\nq\x01L5L\nd."), true, &o);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  assert_true(fault_prove(fold_repeated, NULL) > 5);
  assert_true(fault_prove(fold_scalars, NULL) > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_plain_data),
      cmocka_unit_test(refuses_what_is_not_plain_data),
      cmocka_unit_test(refuses_what_contains_itself),
      cmocka_unit_test(tells_where_it_is_broken),
      cmocka_unit_test(keeps_its_bounds),
      cmocka_unit_test(integers_are_exact),
      cmocka_unit_test(a_memo_entry_means_what_was_put_last),
      cmocka_unit_test(repeated_lists_are_folded_once),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
