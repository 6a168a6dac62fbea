#include "query/advice.h"
#include "support/snapshots.h"

/* The advice against a fragmented cache, for a file. */
static const char *advice(const char *json) {
  vs_snapshot *s = snapshot_of(vs_str_from(json));
  const char *words = vs_advice_for_oom(s, VS_OOM_FRAGMENTED);
  vs_snapshot_destroy(s);
  return words;
}

static void what_is_on_already_is_not_advised(void **state) {
  (void)state;
  const char *setting = "expandable_segments:True";
  assert_non_null(strstr(advice("{\"segments\":[]}"), setting));
  assert_non_null(
      strstr(advice("{\"segments\":[],\"allocator_settings\":{\"expandable_segments\":false}}"), setting));
  assert_null(
      strstr(advice("{\"segments\":[],\"allocator_settings\":{\"expandable_segments\":true}}"), setting));
  assert_null(
      strstr(advice("{\"segments\":[{\"device\":0,\"address\":0,\"total_size\":512,\"is_expandable\":true,"
                    "\"blocks\":[{\"size\":512,\"state\":\"inactive\"}]}]}"),
             setting));
}

static void every_verdict_has_words(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of(VS_STR("[]"));
  for (int i = 0; i < VS_OOM_VERDICTS; i++) {
    assert_non_null(vs_explain_oom((vs_oom_verdict)i));
    assert_int_equal(vs_advice_for_oom(s, (vs_oom_verdict)i) == NULL, i == VS_OOM_UNKNOWN);
  }
  vs_snapshot_destroy(s);
}

static void holes_are_told_by_what_can_be_done_with_them(void **state) {
  (void)state;
  const struct {
    vs_holes holes;
    const char *part; /* of the sentence */
  } cases[] = {
      {{.reserved = 0}, "nothing is reserved"},
      {{.reserved = 100, .active = 100}, "nothing is cached"},
      {{.reserved = 100, .active = 95, .free = 5, .pinned = 5}, "hardly matters"},
      {{.reserved = 100, .active = 50, .free = 50, .releasable = 50}, "is releasable"},
      {{.reserved = 100, .free = 50, .pinned = 50, .unusable = 20, .is_unusable_known = true},
       "smaller than any request"},
      {{.reserved = 100, .free = 50, .pinned = 5, .releasable = 45}, "nearly all"},
      {{.reserved = 100, .free = 50, .pinned = 6, .releasable = 44}, "some of the cached"},
      {{.reserved = 100, .free = 50, .pinned = 40, .releasable = 10}, "most of the cached"},
      {{.reserved = 100, .free = 50, .pinned = 20, .releasable = 30}, "some of the cached"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_non_null(strstr(vs_explain_fragmentation(&cases[i].holes), cases[i].part));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_on_already_is_not_advised),
      cmocka_unit_test(every_verdict_has_words),
      cmocka_unit_test(holes_are_told_by_what_can_be_done_with_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
