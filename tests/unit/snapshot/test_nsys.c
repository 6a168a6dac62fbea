/* What the tables of an Nsight Systems export become. */
#include "snapshot/nsys.h"
#include "support/snapshots.h"

#include <stdlib.h>

#define BASE  UINT64_C(0x7f0000000000)
#define PAGE  (UINT64_C(1) << 21)
#define MIB   (UINT64_C(1) << 20)
#define CLOCK INT64_C(1700000000000000)
#define EVENTS                                                                                      \
  "[[\"tables\"],[\"table\",\"CUDA_GPU_MEMORY_USAGE_EVENTS\",\"start\",\"globalPid\",\"deviceId\"," \
  "\"address\","                                                                                    \
  "\"bytes\",\"memKind\",\"memoryOperationType\"],"

static vs_snapshot *read_file(const char *path) {
  const vs_str bytes = file_bytes(path);
  vs_snapshot *s = account_of(bytes);
  free((void *)(uintptr_t)bytes.data);
  return s;
}

static void expect_event(const vs_snapshot *s, uint32_t row, vs_event_kind kind, uint64_t address,
                         uint64_t size, uint64_t stream, int64_t time_us) {
  assert_int_equal(vs_events_kind(&s->events, row), kind);
  assert_true(vs_events_address(&s->events, row) == address);
  assert_true(vs_events_size(&s->events, row) == size);
  assert_int_equal(s->streams.data[vs_events_stream(&s->events, row)], stream);
  assert_true(vs_events_time_us(&s->events, row) == time_us);
}

static void expect_trace(const vs_snapshot *s, int32_t device, uint32_t first, uint32_t count) {
  const vs_trace *trace = vs_snapshot_trace(s, device);
  assert_non_null(trace);
  assert_int_equal(trace->first, first);
  assert_int_equal(trace->count, count);
}

static void expect_refused(vs_str text, vs_status wanted, const char *part) {
  vs_snapshot *s;
  vs_error error;
  expect_status(account_from(vs_host_default(), text, &s, &error), wanted);
  assert_null(s);
  if (strstr(error.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, error.text);
}

static void expect_file_refused(const char *path, vs_status wanted, const char *part) {
  const vs_str bytes = file_bytes(path);
  expect_refused(bytes, wanted, part);
  free((void *)(uintptr_t)bytes.data);
}

/* GPU 0 is device 1 of process 4711 and device 0 of process 4712, which has more events on it; GPU 2 is device 0 of 4711. */
static void rows_become_events(void **state) {
  (void)state;
  vs_snapshot *s = read_file(ACCOUNTS "nsys");
  assert_int_equal(s->format, VS_FORMAT_NSYS);
  assert_int_equal(s->lacks, VS_LACKS_SEGMENTS | VS_LACKS_ROUNDING | VS_LACKS_STACKS);
  assert_int_equal(s->left_out, 1);
  assert_int_equal(s->unknown_kinds, 1);
  assert_int_equal(s->events.count, 7);
  expect_trace(s, 0, 0, 2);
  expect_trace(s, 1, 2, 0);
  expect_trace(s, 2, 2, 5);
  expect_event(s, 0, VS_EVENT_ALLOC, BASE, 256, 0, CLOCK + 5);
  expect_event(s, 1, VS_EVENT_ALLOC, BASE + 512, 256, 0, CLOCK + 5);
  expect_event(s, 2, VS_EVENT_ALLOC, BASE, MIB, 0, CLOCK + 1);
  expect_event(s, 3, VS_EVENT_ALLOC, BASE + PAGE, 3 * MIB, 13, CLOCK + 2);
  expect_event(s, 4, VS_EVENT_ALLOC, BASE + 5 * PAGE, 16, 0, CLOCK + 2);
  expect_event(s, 5, VS_EVENT_FREE_REQUESTED, BASE, MIB, 0, CLOCK + 3);
  expect_event(s, 6, VS_EVENT_FREE_REQUESTED, BASE + 7 * PAGE, 8192, 0, CLOCK + 4);
  assert_int_equal(s->blocks.count, 4);
  vs_snapshot_destroy(s);
}

static void one_process_of_each_gpu_is_shown(void **state) {
  (void)state;
  vs_snapshot *s = read_file(ACCOUNTS "nsys");
  assert_int_equal(s->shown.count, 2);
  const vs_shown_process *first = &s->shown.data[0], *second = &s->shown.data[1];
  assert_int_equal(first->device, 0);
  assert_int_equal(first->pid, 4712);
  assert_int_equal(first->others, 1);
  assert_true(vs_str_equal(vs_snapshot_string(s, first->name), VS_STR("worker")));
  assert_int_equal(second->device, 2);
  assert_int_equal(second->pid, 4711);
  assert_int_equal(second->others, 0);
  assert_true(vs_str_equal(vs_snapshot_string(s, second->name), VS_STR("python3")));
  vs_snapshot_destroy(s);
}

/* No kinds, no processes, no enumerations; without times, the order is that of the rows. */
static void old_exports_have_fewer_columns(void **state) {
  (void)state;
  vs_snapshot *s = read_file(ACCOUNTS "nsys-old");
  assert_int_equal(s->lacks, VS_LACKS_SEGMENTS | VS_LACKS_ROUNDING | VS_LACKS_STACKS | VS_LACKS_STREAMS);
  assert_int_equal(s->events.count, 3);
  expect_event(s, 0, VS_EVENT_ALLOC, 4096, 512, 0, 0);
  expect_event(s, 1, VS_EVENT_ALLOC, 8192, 100, 0, 0);
  expect_event(s, 2, VS_EVENT_FREE_REQUESTED, 4096, 512, 0, 0);
  assert_int_equal(s->blocks.count, 1);
  vs_snapshot_destroy(s);
}

/* The file's own enumerations count, by symbol or label, and not the numbers that we know. */
static void the_file_says_what_its_numbers_mean(void **state) {
  (void)state;
  vs_snapshot *s = read_file(ACCOUNTS "nsys-numbers");
  assert_int_equal(s->left_out, 1);
  assert_int_equal(s->unknown_kinds, 1);
  assert_int_equal(s->events.count, 3);
  expect_event(s, 0, VS_EVENT_ALLOC, 4096, 100, 0, 0);
  expect_event(s, 2, VS_EVENT_FREE_REQUESTED, 4096, 100, 0, 0);
  vs_snapshot_destroy(s);
}

/* Two devices of a process that are parts of one GPU: its addresses are unique, so both are shown. */
static void parts_of_a_gpu_are_one(void **state) {
  (void)state;
  vs_snapshot *s = account_of(VS_STR("[[\"tables\"],"
                                     "[\"table\",\"TARGET_INFO_CUDA_DEVICE\",\"pid\",\"cudaId\",\"gpuId\"],"
                                     "[\"row\",1,0,0],[\"row\",1,1,0],[\"row\",1,2,null],"
                                     "[\"table\",\"CUDA_GPU_MEMORY_USAGE_EVENTS\",\"start\",\"globalPid\","
                                     "\"deviceId\",\"address\",\"bytes\",\"memoryOperationType\"],"
                                     "[\"row\",1,16777216,0,4096,1,0],[\"row\",2,16777216,1,8192,2,0],"
                                     "[\"row\",3,16777216,2,12288,4,0]]"));
  assert_int_equal(s->shown.count, 2);
  assert_int_equal(s->shown.data[0].others, 0);
  expect_trace(s, 0, 0, 2);
  expect_trace(s, 2, 2, 1);
  vs_snapshot_destroy(s);
}

static void mistakes_have_a_sentence(void **state) {
  (void)state;
  expect_file_refused(ACCOUNTS "nsys-other", VS_UNSUPPORTED, "none that Nsight Systems exported");
  expect_file_refused(ACCOUNTS "nsys-no-memory", VS_UNSUPPORTED, "--cuda-memory-usage=true");
  expect_file_refused(ACCOUNTS "nsys-host-only", VS_UNSUPPORTED, "none of the 2 memory events");
  expect_file_refused(ACCOUNTS "nsys-negative", VS_BAD_FORMAT, "about -1 bytes");
  expect_file_refused(ACCOUNTS "nsys-operation", VS_BAD_FORMAT, "the operation 2");
  expect_file_refused(ACCOUNTS "nsys-text", VS_BAD_FORMAT, "no whole number \"address\"");
  expect_file_refused(ACCOUNTS "nsys-device", VS_LIMIT, "device 4096");
  expect_file_refused(ACCOUNTS "nsys-count", VS_BAD_FORMAT, "4 values for 8 columns");
  expect_file_refused(ACCOUNTS "nsys-cut", VS_TRUNCATED, "the text ends");
  expect_refused(VS_STR(EVENTS "[\"row\",1,7,0,4096,1,2,null]]"), VS_BAD_FORMAT, "memoryOperationType");
  expect_refused(VS_STR(EVENTS "[\"row\",1,7,0,4096,1,2.5,0]]"), VS_UNSUPPORTED, "none of the 1 memory events");
  expect_refused(VS_STR(EVENTS "[\"row\",1,7,-1,4096,1,2,0]]"), VS_LIMIT, "device -1");
  expect_refused(VS_STR("[[\"tables\"],[\"row\",1]]"), VS_BAD_FORMAT, "1 values for 0 columns");
  expect_refused(VS_STR("[[\"tables\"],[\"table\"]]"), VS_BAD_FORMAT, "a table of 0 columns");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_become_events),
      cmocka_unit_test(one_process_of_each_gpu_is_shown),
      cmocka_unit_test(old_exports_have_fewer_columns),
      cmocka_unit_test(the_file_says_what_its_numbers_mean),
      cmocka_unit_test(parts_of_a_gpu_are_one),
      cmocka_unit_test(mistakes_have_a_sentence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
