/* The lists of metrics and reasons, as all their readers see them. */
#include "device/telemetry.h"
#include "support/test.h"

static void a_metric_of_zeros_was_not_asked_for(void **state) {
  (void)state;
  const vs_metric metric = {0};
  assert_false(vs_metric_is_known(metric));
  assert_string_equal(vs_reason_name(metric.reason), "NOT_SAMPLED");
}

static void reasons_have_names_and_sentences(void **state) {
  (void)state;
  assert_string_equal(vs_reason_name(VS_REASON_NO_PERMISSION), "NO_PERMISSION");
  assert_string_equal(vs_reason_text(VS_REASON_LOST), "the GPU is lost");
  assert_string_equal(vs_reason_name((vs_reason)77), "?");
  assert_string_equal(vs_reason_text((vs_reason)77), "?");
  assert_int_equal(VS_REASON_KNOWN, 1); /* a number that programs have compiled in */
}

static void metrics_describe_themselves(void **state) {
  (void)state;
  const vs_metric_description *used = vs_metric_describe(VS_METRIC_ID_MEMORY_USED);
  assert_string_equal(used->name, "MEMORY_USED");
  assert_int_equal(used->unit, VS_METRIC_BYTES);
  assert_int_equal(used->cost, VS_METRIC_CHEAP);
  assert_int_equal(vs_metric_describe(VS_METRIC_ID_PCIE_SENT)->cost, VS_METRIC_LOCKS);
  assert_string_equal(vs_metric_describe(VS_METRIC_ID_ECC_UNCORRECTED_AGGREGATE_SRAM)->text,
                      "uncorrected errors of SRAM, in the life of the GPU");
  assert_string_equal(vs_metric_describe_text(VS_METRIC_TEXT_ID_UUID)->name, "UUID");
  assert_null(vs_metric_describe(VS_METRIC_ID_COUNT));
  assert_null(vs_metric_describe_text((vs_metric_text_id)-1));
  for (unsigned i = 0; i < VS_METRIC_ID_COUNT; i++) {
    assert_non_null(vs_metric_describe((vs_metric_id)i)->name);
    assert_true(strlen(vs_metric_describe((vs_metric_id)i)->text) > 5);
  }
}

static void kinds_are_named_as_the_vendor_does(void **state) {
  (void)state;
  assert_string_equal(vs_process_kind_text(VS_PROCESS_COMPUTE), "C");
  assert_string_equal(vs_process_kind_text(VS_PROCESS_GRAPHICS), "G");
  assert_string_equal(vs_process_kind_text(VS_PROCESS_COMPUTE | VS_PROCESS_GRAPHICS), "C+G");
  assert_string_equal(vs_process_kind_text(VS_PROCESS_MPS), "M");
  assert_string_equal(vs_process_kind_text(VS_PROCESS_MPS | VS_PROCESS_COMPUTE), "M");
  assert_string_equal(vs_process_kind_text(0), "?");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_metric_of_zeros_was_not_asked_for),
      cmocka_unit_test(reasons_have_names_and_sentences),
      cmocka_unit_test(metrics_describe_themselves),
      cmocka_unit_test(kinds_are_named_as_the_vendor_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
