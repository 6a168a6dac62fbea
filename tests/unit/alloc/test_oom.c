/* The message of an out-of-memory error, by version and by reason. tests/sim/test_settings.py holds the
 * newest form against PyTorch's. */
#include "alloc/alloc.h"
#include "support/test.h"

#define GIB (UINT64_C(1) << 30)
#define ADVICE                                                \
  " If reserved but unallocated memory is large try setting " \
  "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to "      \
  "avoid fragmentation.  See documentation for Memory Management  (https://"

static vs_alloc_oom sample(const char *profile) {
  return (vs_alloc_oom){.rules = vs_alloc_rules_find(vs_str_from(profile)),
                        .requested = 20 * GIB - 7,
                        .driver_size = 20 * GIB,
                        .device_free = 15 * GIB + GIB / 2,
                        .device_total = 16 * GIB,
                        .limit = UINT64_MAX,
                        .allocated = 103 * VS_MIB,
                        .reserved = 120 * VS_MIB};
}

static void expect_message(const vs_alloc_oom *oom, const char *processes, const char *wanted) {
  vs_text out;
  vs_text_init(&out, vs_host_default(), NULL);
  expect_ok(vs_alloc_oom_write(oom, 3, vs_str_from(processes), &out));
  expect_str_at(vs_text_view(&out), vs_str_from(wanted), __FILE__, __LINE__);
  vs_text_deinit(&out);
}

static void test_versions(void **state) {
  (void)state;
  vs_alloc_oom oom = sample("torch-2.15");
  expect_message(
      &oom, "Process 7 has 1.00 GiB memory in use. ",
      "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 3 has a total capacity of 16.00 GiB of which "
      "15.50 "
      "GiB is free. Process 7 has 1.00 GiB memory in use. Of the allocated memory 103.00 MiB is allocated by "
      "PyTorch, and 17.00 MiB is reserved by PyTorch but unallocated." ADVICE
      "docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)");
  oom = sample("torch-2.6");
  oom.is_expandable = oom.has_source = true; /* it does not look why */
  expect_message(
      &oom, "",
      "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 3 has a total capacity of 16.00 GiB of which "
      "15.50 "
      "GiB is free. Of the allocated memory 103.00 MiB is allocated by PyTorch, and 17.00 MiB is reserved by "
      "PyTorch but unallocated." ADVICE "pytorch.org/docs/stable/notes/cuda.html#environment-variables)");
  oom = sample("torch-2.1");
  expect_message(
      &oom, "",
      "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 3 has a total capacty of 16.00 GiB of which "
      "15.50 "
      "GiB is free. Of the allocated memory 103.00 MiB is allocated by PyTorch, and 17.00 MiB is reserved by "
      "PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to "
      "avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF");
  oom = sample("torch-1.13");
  oom.limit = 512;
  expect_message(
      &oom, "not said",
      "CUDA out of memory. Tried to allocate 20.00 GiB (GPU 3; 16.00 GiB total capacity; 103.00 MiB already "
      "allocated; 15.50 GiB free; 512 bytes allowed; 120.00 MiB reserved in total by PyTorch) If reserved "
      "memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See "
      "documentation "
      "for Memory Management and PYTORCH_CUDA_ALLOC_CONF");
}

/* The newest message says why. `tail` follows "unallocated.". */
static void expect_tail(const vs_alloc_oom *oom, const char *tail) {
  vs_text out;
  vs_text_init(&out, vs_host_default(), NULL);
  expect_ok(vs_alloc_oom_write(oom, 0, VS_STR(""), &out));
  const vs_str all = vs_text_view(&out), end = vs_str_from(tail);
  assert_true(all.size > end.size);
  expect_str_at((vs_str){all.data + all.size - end.size, end.size}, end, __FILE__, __LINE__);
  vs_text_deinit(&out);
}

static void test_reasons(void **state) {
  (void)state;
  static const char *const expandable = "is reserved by PyTorch but unallocated. expandable_segments is "
                                        "enabled. If instead the process is running out of "
                                        "virtual address space (VSZ), expandable segments may be "
                                        "over-reserving VA (each segment reserves ~9/8 of device "
                                        "memory, times the number of streams); reduce it via "
                                        "PYTORCH_CUDA_ALLOC_CONF expandable_segments_reserve / "
                                        "expandable_segments_reserve_by_class.";
  vs_alloc_oom oom = sample("torch-2.15");
  oom.is_expandable = true;
  expect_tail(&oom, expandable);
  oom.reserve = GIB; /* too small for what the card has not got anyway */
  expect_tail(&oom, expandable);
  oom.driver_size = 2 * GIB;
  expect_tail(
      &oom,
      "This allocation exceeds the expandable-segment reserve of 1024.00 MiB for this stream, and a single "
      "allocation cannot span expandable segments. Raise PYTORCH_CUDA_ALLOC_CONF "
      "expandable_segments_reserve or expandable_segments_reserve_by_class (or unset it) so that a segment "
      "is at least 2.00 GiB.");
  vs_format(oom.class_name, sizeof oom.class_name, "kv");
  expect_tail(
      &oom,
      "reserve of 1024.00 MiB for stream reserve class 'kv', and a single allocation cannot span expandable "
      "segments. Raise PYTORCH_CUDA_ALLOC_CONF expandable_segments_reserve or "
      "expandable_segments_reserve_by_class (or unset it) so that a segment is at least 2.00 GiB.");
  oom = sample("torch-2.15");
  oom.has_source = true;
  expect_tail(
      &oom,
      "pytorch-cuda-alloc-conf) The custom allocator backing this MemPool returned nullptr. Check preceding "
      "allocator warnings or logs for the underlying cause. This can indicate an allocator-specific error or "
      "memory constraint, even when device-wide free memory is available.");
}

static void test_short_ones(void **state) {
  (void)state;
  vs_alloc_oom oom = sample("torch-2.15");
  oom.is_rejected = true;
  expect_message(&oom, "",
                 "CUDA out of memory. Allocation was preemptively rejected because it would exceed "
                 "per_process_memory_fraction limit. Requested size: 20.00 GiB");
  oom.requested = GIB << 30;
  expect_message(&oom, "", "CUDA out of memory. Tried to allocate more than 1EB memory.");
}

/* Between "allocate " and ". GPU". */
static void expect_size(uint64_t bytes, const char *wanted) {
  vs_text out, sentence;
  vs_text_init(&out, vs_host_default(), NULL);
  vs_text_init(&sentence, vs_host_default(), NULL);
  vs_alloc_oom oom = sample("torch-2.15");
  oom.driver_size = bytes;
  vs_text_format(&sentence, "CUDA out of memory. Tried to allocate %s. GPU 0 ", wanted);
  expect_ok(vs_alloc_oom_write(&oom, 0, VS_STR(""), &out));
  assert_true(out.bytes.count > sentence.bytes.count);
  out.bytes.count = sentence.bytes.count;
  expect_str_at(vs_text_view(&out), vs_text_view(&sentence), __FILE__, __LINE__);
  vs_text_deinit(&out);
  vs_text_deinit(&sentence);
}

static void test_sizes(void **state) {
  (void)state;
  expect_size(0, "0 bytes");
  expect_size(1024, "1024 bytes");
  expect_size(1025, "1.00 KiB");
  expect_size(VS_MIB, "1024.00 KiB");
  expect_size(VS_MIB + 1, "1.00 MiB");
  expect_size(GIB, "1024.00 MiB");
  expect_size(GIB + 1, "1.00 GiB");
  expect_size(1024 + 128, "1.12 KiB");  /* 1.125: to even, as printf */
  expect_size(1024 + 384, "1.38 KiB");  /* 1.375 */
  expect_size(2 * GIB - 1, "2.00 GiB"); /* carries */
  expect_size((GIB << 30) - 1, "1073741824.00 GiB");
}

static void test_private_pools(void **state) {
  (void)state;
  vs_alloc_oom oom = sample("torch-2.15");
  oom.limit = 4 * GIB;
  oom.private_free = 7 * VS_MIB;
  oom.is_over_limit = true;
  vs_text out;
  vs_text_init(&out, vs_host_default(), NULL);
  expect_ok(vs_alloc_oom_write(&oom, 0, VS_STR(""), &out));
  assert_true(vs_str_contains(
      vs_text_view(&out),
      VS_STR("is free. 4.00 GiB allowed; Of the allocated memory 110.00 MiB is allocated by "
             "PyTorch, with 7.00 MiB allocated in private pools (e.g., CUDA Graphs), and 10.00 "
             "MiB is reserved by PyTorch but unallocated. If")));
  vs_text_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_versions),      cmocka_unit_test(test_reasons),
      cmocka_unit_test(test_short_ones),    cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_private_pools),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
