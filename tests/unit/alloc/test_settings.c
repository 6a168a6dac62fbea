/* Settings strings: what they set, what they reset, and where each mistake is found. */
#include "alloc/settings.h"
#include "support/test.h"

static vs_alloc_settings settings;
static vs_error error;

static int begin(void **state) {
  (void)state;
  vs_alloc_settings_init(&settings);
  error = (vs_error){.offset = VS_NO_OFFSET};
  return 0;
}

static void parse(const char *text) {
  expect_ok(vs_alloc_settings_parse(&settings, vs_str_from(text), &error));
}

/* The settings stay as they were. */
static void expect_refused(const char *text, uint64_t offset, const char *sentence) {
  const vs_alloc_settings before = settings;
  expect_status(vs_alloc_settings_parse(&settings, vs_str_from(text), &error), VS_BAD_FORMAT);
  assert_string_equal(error.text, sentence);
  assert_int_equal(error.offset, offset);
  assert_memory_equal(&settings, &before, sizeof before);
}

static void test_values(void **state) {
  (void)state;
  parse("max_split_size_mb:128, garbage_collection_threshold : .75 ,expandable_segments:True,"
        "per_process_memory_fraction:0.5,release_lock_on_hipmalloc:True,pinned_num_register_threads:8,"
        "pinned_max_cached_size_mb:0,pinned_reserve_segment_size_mb:3,throw_on_cudamalloc_oom:True,"
        "graph_capture_record_stream_reuse:True,max_non_split_rounding_mb:20,backend:cudaMallocAsync");
  assert_int_equal(settings.max_split_size, 128 * VS_MIB);
  assert_true(settings.garbage_collection_threshold == 0.75);
  assert_true(settings.expandable_segments && settings.release_lock && settings.reject_over_limit);
  assert_true(settings.capture_reuse);
  assert_true(settings.memory_fraction == 0.5);
  assert_int_equal(settings.pinned_register_threads, 8);
  assert_int_equal(settings.pinned_max_cached_size, 0);
  assert_int_equal(settings.pinned_max_round_threshold, UINT64_MAX);
  assert_int_equal(settings.pinned_reserve_segment_size, 3 * VS_MIB);
  assert_int_equal(settings.max_non_split_rounding, 20 * VS_MIB);
  assert_int_equal(settings.backend, VS_ALLOC_ASYNC);
}

/* Three settings go back to their defaults with every string, one to the size of a large segment; the others
 * stay. */
static void test_resets(void **state) {
  (void)state;
  parse("max_split_size_mb:64,roundup_power2_divisions:8,garbage_collection_threshold:0.5,expandable_"
        "segments:True,"
        "max_non_split_rounding_mb:40,large_segment_size_mb:32,per_process_memory_fraction:0.5");
  parse("pinned_num_register_threads:2");
  assert_int_equal(settings.max_split_size, UINT64_MAX);
  assert_int_equal(settings.roundup_divisions[3], 0);
  assert_true(settings.garbage_collection_threshold == 0);
  assert_true(settings.expandable_segments);
  assert_true(settings.memory_fraction == 0.5);
  assert_int_equal(settings.max_non_split_rounding, 32 * VS_MIB);
  assert_int_equal(settings.large_segment_size, 32 * VS_MIB);
  expect_str(((vs_str){settings.text, settings.text_size}), "pinned_num_register_threads:2");
  parse("");
  assert_int_equal(settings.text_size, 0);
}

static void test_one_by_call(void **state) {
  (void)state;
  parse("max_split_size_mb:64,garbage_collection_threshold:0.5");
  expect_ok(vs_alloc_settings_set(&settings, VS_STR("expandable_segments"), VS_STR("True"), &error));
  expect_ok(
      vs_alloc_settings_set(&settings, VS_STR("roundup_power2_divisions"), VS_STR("[1:2,>:4]"), &error));
  assert_int_equal(settings.max_split_size, 64 * VS_MIB);
  assert_true(settings.expandable_segments);
  assert_int_equal(settings.roundup_divisions[15], 4);
  expect_status(vs_alloc_settings_set(&settings, VS_STR("max_split_size_mb"), VS_STR("64,x:1"), &error),
                VS_BAD_FORMAT);
  assert_int_equal(error.offset, 2);
  expect_status(vs_alloc_settings_set(&settings, VS_STR("max_spli_size_mb"), VS_STR("64"), &error),
                VS_BAD_FORMAT);
  assert_int_equal(error.offset, VS_NO_OFFSET);
  assert_string_equal(error.text,
                      "there is no setting 'max_spli_size_mb': did you mean 'max_split_size_mb'?");
  expect_status(vs_alloc_settings_set(&settings, VS_STR("backend"), VS_STR(""), NULL), VS_BAD_FORMAT);
}

/* The large segment bounds two others, wherever in the string it stands. */
static void test_large_segment_counts_first(void **state) {
  (void)state;
  parse("max_split_size_mb:15,large_segment_size_mb:12");
  assert_int_equal(settings.max_split_size, 15 * VS_MIB);
  expect_refused("max_split_size_mb:25,large_segment_size_mb:40", 18,
                 "max_split_size_mb: 25 is too small, 40 is the least with this large_segment_size_mb");
  expect_refused("large_segment_size_mb:10", 22, "large_segment_size_mb: 10 is too small, 11 is the least");
}

static void expect_divisions(const char *text, const char *wanted) {
  vs_text out;
  vs_text_init(&out, vs_host_default(), NULL);
  parse(text);
  for (int i = 0; i < VS_ALLOC_DIVISIONS; i++)
    vs_text_format(&out, "%s%U", i == 0 ? "" : " ", settings.roundup_divisions[i]);
  expect_str_at(vs_text_view(&out), vs_str_from(wanted), __FILE__, __LINE__);
  vs_text_deinit(&out);
}

static void test_divisions(void **state) {
  (void)state;
  expect_divisions("roundup_power2_divisions:8", "8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8");
  expect_divisions("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "1 1 1 1 1 1 1 1 1 2 4 8 8 8 8 8");
  expect_divisions("roundup_power2_divisions:[64:8,256:4]",
                   "8 8 8 8 8 8 8 0 4 0 0 0 0 0 0 0"); /* a gap is none */
  expect_divisions("roundup_power2_divisions:[1024:4,256:2,>:8]", "4 4 4 4 4 4 4 4 2 8 8 8 8 8 8 8");
  expect_divisions("roundup_power2_divisions:[>:8,256:2]", "2 2 2 2 2 2 2 2 2 8 8 8 8 8 8 8");
  expect_divisions("roundup_power2_divisions:[65536:4]", "4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4");
  expect_divisions("profile:torch-2.6,roundup_power2_divisions:[256:2,>:8]",
                   "2 2 2 2 2 2 2 2 8 8 8 8 8 8 8 8");
}

static void test_reserves(void **state) {
  (void)state;
  parse("expandable_segments_reserve:40G,expandable_segments_reserve_by_class:[kv:0.5, weights : 8g]");
  assert_true(settings.reserve.is_set && !settings.reserve.is_fraction && settings.reserve.value == 40);
  assert_int_equal(settings.class_count, 2);
  assert_string_equal(settings.classes[1].name, "weights");
  assert_true(!settings.classes[1].reserve.is_fraction && settings.classes[0].reserve.is_fraction);
  parse("expandable_segments_reserve_by_class:[a:1]"); /* a list takes the place of the one before */
  assert_int_equal(settings.class_count, 1);
  expect_status(vs_alloc_settings_parse(&settings,
                                        VS_STR("expandable_segments_reserve_by_class:"
                                               "[a_name_that_is_just_one_too_long:1]"),
                                        &error),
                VS_LIMIT);
  expect_refused(
      "expandable_segments_reserve:16GiB", 28,
      "expandable_segments_reserve: expected a fraction of the GPU's memory such as 0.5, or GiB such as 40G, "
      "not '16GiB'");
  expect_refused("expandable_segments_reserve_by_class:[a:1,a:2]", 42,
                 "expandable_segments_reserve_by_class: class 'a' is named twice");
}

static void test_mistakes(void **state) {
  (void)state;
  parse("max_split_size_mb:99");
  expect_refused("max_split_sise_mb:128", 0,
                 "there is no setting 'max_split_sise_mb': did you mean 'max_split_size_mb'?");
  expect_refused("backend:native,foo:1", 15, "there is no setting 'foo'");
  expect_refused("expandable_segments:true", 20,
                 "expandable_segments: expected True or False, not 'true': did you mean 'True'?");
  expect_refused(
      "backend:cudamallocasync", 8,
      "backend: expected native or cudaMallocAsync, not 'cudamallocasync': did you mean 'cudaMallocAsync'?");
  expect_refused("max_split_size_mb=128", 17, "expected ':' behind 'max_split_size_mb', not '='");
  expect_refused("max_split_size_mb", 17, "expected ':' behind 'max_split_size_mb', not the end");
  expect_refused("max_split_size_mb:", 18,
                 "max_split_size_mb: expected a whole number of MiB, not below a large segment, not the end");
  expect_refused("max_split_size_mb:128,", 22, "expected the name of a setting behind ',', not the end");
  expect_refused(",max_split_size_mb:128", 0, "expected the name of a setting, not ','");
  expect_refused("max_split_size_mb:128 backend:native", 22, "expected ',' behind '128', not 'backend'");
  expect_refused("max_split_size_mb:1 2 8", 20, "expected ',' behind '1', not '2'");
  expect_refused("max_split_size_mb:30abc", 18,
                 "max_split_size_mb: expected a whole number of MiB, not below a large segment, not '30abc'");
  expect_refused("max_split_size_mb:99999999999999", 18,
                 "max_split_size_mb: 99999999999999 is too large, 17592186044415 is the most");
  expect_refused("max_split_size_mb:99999999999999999999999", 18,
                 "max_split_size_mb: 99999999999999999999999 is too large, 17592186044415 is the most");
  expect_refused("garbage_collection_threshold:1.0", 29,
                 "garbage_collection_threshold: expected a number above 0 and below 1, not '1.0'");
  expect_refused("per_process_memory_fraction:nan", 28,
                 "per_process_memory_fraction: expected a number from 0 to 1, not 'nan'");
  expect_refused("pinned_num_register_threads:256", 28,
                 "pinned_num_register_threads: expected a power of two up to 128, not '256'");
  expect_refused("pinned_reserve_segment_size_mb:0", 31,
                 "pinned_reserve_segment_size_mb: 0 is too small, 1 is the least");
  expect_refused("roundup_power2_divisions:[256:2", 25, "roundup_power2_divisions: '[' is never closed");
  expect_refused("roundup_power2_divisions:[256:2,512]", 35, "expected ':' behind '512', not ']'");
  expect_refused("roundup_power2_divisions:[]", 26,
                 "roundup_power2_divisions: expected an item such as 256:4, not ']'");
  expect_refused("roundup_power2_divisions:[255:2]", 26,
                 "roundup_power2_divisions: sizes are powers of two in MiB, or '>', not '255'");
  expect_refused("roundup_power2_divisions:3", 25,
                 "roundup_power2_divisions: the number of divisions has to be a power of two, not '3'");
  expect_refused("expandable_segments:[True:1]", 20, "expandable_segments: expected True or False, not '['");
  expect_refused("expandable_segments:True]", 24, "expected ',' behind 'True', not ']'");
  expect_refused("a\x01\xff:1", 0, "there is no setting 'a\\x01\xff'");
}

static void test_profiles(void **state) {
  (void)state;
  uint32_t count;
  const vs_alloc_rules *rules = vs_alloc_rules_list(&count);
  assert_int_equal(count, 6);
  for (uint32_t i = 0; i < count; i++)
    assert_ptr_equal(vs_alloc_rules_newer(&rules[i]), i == 0 ? NULL : &rules[i - 1]);
  assert_ptr_equal(vs_alloc_rules_default(), &rules[0]);
  assert_string_equal(rules[0].name, "torch-2.15");
  assert_null(vs_alloc_rules_find(VS_STR("torch-9")));
  parse("roundup_bypass_threshold_mb:64,roundup_power2_divisions:4,profile:torch-1.13");
  assert_ptr_equal(settings.rules, vs_alloc_rules_find(VS_STR("torch-1.13")));
  assert_int_equal(settings.roundup_bypass, 64 * VS_MIB);
  expect_refused("expandable_segments:True", 0,
                 "expandable_segments: torch-1.13 does not know it, torch-2.1 does");
  expect_refused("roundup_power2_divisions:[1:2]", 25,
                 "roundup_power2_divisions: torch-1.13 takes one number, not a list");
  expect_refused("max_split_size_mb:20", 18,
                 "max_split_size_mb: 20 is too small, 21 is the least with this large_segment_size_mb");
  expect_refused("profile:torch-2.5", 8,
                 "profile: expected a version of PyTorch that vramscope knows, not 'torch-2.5': did you mean "
                 "'torch-2.15'?");
  parse("profile:torch-2.1");
  expect_refused("roundup_power2_divisions:[1:0]", 28,
                 "roundup_power2_divisions: the number of divisions has to be a power of two, not '0'");
  expect_refused("profile:torch-2.4,max_non_split_rounding_mb:40", 18,
                 "max_non_split_rounding_mb: torch-2.4 does not know it, torch-2.6 does");
  expect_refused(
      "profile:torch-2.6,per_process_memory_fraction:0.5", 18,
      "per_process_memory_fraction: torch-2.6 does not know it, torch-2.11 does; there the function is "
      "torch.cuda.set_per_process_memory_fraction()");
  parse("profile:torch-2.11,max_split_size_mb:20,large_segment_size_mb:20,per_process_memory_fraction:0.5");
  expect_refused("throw_on_cudamalloc_oom:True", 0,
                 "throw_on_cudamalloc_oom: torch-2.11 does not know it, torch-2.15 does");
  parse("profile:torch-2.6,max_non_split_rounding_mb:40");
  parse("expandable_segments:True"); /* the other stays */
  assert_int_equal(settings.max_non_split_rounding, 40 * VS_MIB);
  parse("profile:torch-2.15,roundup_power2_divisions:[1:0]");
  assert_int_equal(settings.max_non_split_rounding, 20 * VS_MIB);
  expect_refused("roundup_bypass_threshold_mb:1", 0,
                 "roundup_bypass_threshold_mb: torch-2.15 does not know it, torch-1.13 does");
}

static void test_variables(void **state) {
  (void)state;
  const char *values[VS_ALLOC_VARIABLES] = {NULL, "", NULL, "backend:native"};
  assert_string_equal(vs_alloc_variables[vs_alloc_variable_choose(values)],
                      "PYTORCH_CUDA_ALLOC_CONF"); /* set, empty */
  values[0] = "x";
  assert_string_equal(vs_alloc_variables[vs_alloc_variable_choose(values)], "VRAMSCOPE_ALLOC_CONF");
  values[0] = values[1] = NULL;
  assert_string_equal(vs_alloc_variables[vs_alloc_variable_choose(values)], "PYTORCH_ALLOC_CONF");
  values[3] = NULL;
  assert_int_equal(vs_alloc_variable_choose(values), VS_ALLOC_VARIABLES);
}

/* What the report says can be said to the parser, and gives the same settings. */
static void test_report_reads_back(void **state) {
  (void)state;
  parse("max_split_size_mb:64,roundup_power2_divisions:[256:2,>:8],garbage_collection_threshold:0.1,"
        "expandable_segments_reserve:2.5G,expandable_segments_reserve_by_class:[a:0.5,b:3G],"
        "pinned_max_cached_size_mb:7,backend:cudaMallocAsync,large_segment_size_mb:40");
  vs_alloc_settings again;
  vs_alloc_settings_init(&again);
  uint32_t count;
  const vs_alloc_setting *list = vs_alloc_setting_list(&count);
  for (uint32_t i = 0; i < count; i++) {
    vs_text text;
    vs_text_init(&text, vs_host_default(), NULL);
    vs_alloc_setting_write(&settings, &list[i], &text);
    const vs_str value = vs_text_view(&text);
    if (!vs_str_equal(value, VS_STR("none")) && !vs_str_equal(value, VS_STR("unlimited")) &&
        list[i].until >= settings.rules->version && !vs_str_equal(vs_str_from(list[i].fallback), value))
      expect_ok(vs_alloc_settings_set(&again, vs_str_from(list[i].key), value, &error));
    vs_text_deinit(&text);
  }
  memcpy(again.text, settings.text, sizeof again.text);
  again.text_size = settings.text_size;
  assert_memory_equal(&again, &settings, sizeof again);
}

static void test_report(void **state) {
  (void)state;
  vs_text out;
  vs_text_init(&out, vs_host_default(), NULL);
  parse("profile:torch-1.13,max_split_size_mb:64,garbage_collection_threshold:0.8");
  expect_ok(vs_alloc_settings_write(&settings, &out));
  expect_text(&out, "profile                               torch-1.13  (default: torch-2.15)\n"
                    "max_split_size_mb                     64  (default: unlimited)\n"
                    "roundup_power2_divisions              none\n"
                    "roundup_bypass_threshold_mb           unlimited\n"
                    "garbage_collection_threshold          0.8  (default: off)\n");
  vs_text_deinit(&out);
}

static void expect_warning(const char *text, const char *sentence) {
  vs_text out;
  vs_text_init(&out, vs_host_default(), NULL);
  vs_alloc_settings_init(&settings);
  parse(text);
  expect_ok(vs_alloc_settings_warn(&settings, &out));
  if (*sentence == 0) assert_int_equal(out.bytes.count, 0);
  else assert_true(vs_str_contains(vs_text_view(&out), vs_str_from(sentence)));
  vs_text_deinit(&out);
}

static void test_warnings(void **state) {
  (void)state;
  expect_warning("", "");
  expect_warning("max_split_size_mb:64,max_non_split_rounding_mb:30,roundup_power2_divisions:4", "");
  expect_warning("garbage_collection_threshold:0.5,per_process_memory_fraction:0.9", "");
  expect_warning("garbage_collection_threshold:0.5", "does nothing without a memory limit");
  expect_warning("garbage_collection_threshold:0.5,expandable_segments:True", "frees no expandable segments");
  expect_warning("max_split_size_mb:64,expandable_segments:True", "pytorch#193400");
  expect_warning("max_non_split_rounding_mb:30", "does nothing without max_split_size_mb");
  expect_warning("large_segment_size_mb:40", "");
  expect_warning("roundup_power2_divisions:1", "of 0 and 1 have no effect");
  expect_warning("expandable_segments_reserve:0.5", "do nothing without expandable_segments");
  expect_warning("expandable_segments:True,large_segment_size_mb:11", "not a multiple of 2 MiB");
  expect_warning("per_process_memory_fraction:0", "refuses every allocation");
  expect_warning("pinned_num_register_threads:4", "without pinned_use_cuda_host_register");
  expect_warning(
      "backend:cudaMallocAsync,max_split_size_mb:64,expandable_segments:True",
      "backend:cudaMallocAsync ignores max_split_size_mb, expandable_segments: the driver's pool decides\n");
  expect_warning("backend:cudaMallocAsync,pinned_use_cuda_host_register:True", "");
}

/* A report needs memory, and says when there is none. */
static vs_status write_report(const vs_host *host, void *ctx) {
  vs_text out;
  vs_text_init(&out, host, NULL);
  vs_status status = vs_alloc_settings_write(ctx, &out);
  if (status == VS_OK) status = vs_alloc_settings_warn(ctx, &out);
  vs_text_deinit(&out);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  parse("max_split_size_mb:64,backend:cudaMallocAsync");
  assert_true(fault_prove(write_report, &settings) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_values, begin),
      cmocka_unit_test_setup(test_resets, begin),
      cmocka_unit_test_setup(test_one_by_call, begin),
      cmocka_unit_test_setup(test_large_segment_counts_first, begin),
      cmocka_unit_test_setup(test_divisions, begin),
      cmocka_unit_test_setup(test_reserves, begin),
      cmocka_unit_test_setup(test_mistakes, begin),
      cmocka_unit_test_setup(test_profiles, begin),
      cmocka_unit_test_setup(test_variables, begin),
      cmocka_unit_test_setup(test_report_reads_back, begin),
      cmocka_unit_test_setup(test_report, begin),
      cmocka_unit_test_setup(test_warnings, begin),
      cmocka_unit_test_setup(test_no_memory, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
