/* memory_summary: the units, and the frame around them. tests/sim/test_settings.py holds it against
 * PyTorch's. */
#include "alloc/statistics.h"
#include "support/test.h"

static void set(vs_alloc_statistics *s, vs_alloc_group group, vs_alloc_part part, int64_t current,
                int64_t peak, int64_t allocated) {
  vs_alloc_figures *f = &s->part[part];
  f->current[group] = current;
  f->peak[group] = peak;
  f->allocated[group] = allocated;
}

static void test_abbreviated(void **state) {
  (void)state;
  vs_alloc_statistics s = {.num_ooms = 12, .num_alloc_retries = 3};
  vs_text out;
  vs_text_init(&out, vs_host_default(), NULL);
  set(&s, VS_ALLOC_ALLOCATED_BYTES, VS_ALLOC_ALL, 1024, 3 << 20, 0);
  set(&s, VS_ALLOC_ALLOCATED_BYTES, VS_ALLOC_SMALL, 1024, 2048, 1 << 20);
  set(&s, VS_ALLOC_ALLOCATED_BYTES, VS_ALLOC_LARGE, 0, 3 << 20, 3 << 20);
  set(&s, VS_ALLOC_SEGMENT, VS_ALLOC_ALL, 749999, 750000, 0);
  set(&s, VS_ALLOC_SEGMENT, VS_ALLOC_SMALL, 749999, 750000, INT64_C(800000000));
  set(&s, VS_ALLOC_INACTIVE_SPLIT_BYTES, VS_ALLOC_ALL, -1, (768 << 10) - 1, 0);
  set(&s, VS_ALLOC_INACTIVE_SPLIT_BYTES, VS_ALLOC_SMALL, -1, 0, 768 << 10);
  expect_ok(vs_alloc_summary_write(&s, 7, true, &out));
  expect_text(&out, "|===========================================================================|\n"
                    "|                  PyTorch CUDA memory summary, device ID 7                 |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "|            CUDA OOMs: 12           |        cudaMalloc retries: 3         |\n"
                    "|===========================================================================|\n"
                    "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "| Allocated memory      |   1024 B   |   3072 KiB |   4096 KiB |   4095 KiB |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "| Active memory         |      0 B   |      0 B   |      0 B   |      0 B   |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "| Requested memory      |      0 B   |      0 B   |      0 B   |      0 B   |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "| GPU reserved memory   |      0 B   |      0 B   |      0 B   |      0 B   |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "| Non-releasable memory |     -1 B   | 786431 B   |    768 KiB |    768 KiB |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "| Allocations           |       0    |       0    |       0    |       0    |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "| Active allocs         |       0    |       0    |       0    |       0    |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "| GPU reserved segments |  749999    |     750 K  |     800 M  |     799 M  |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "| Non-releasable allocs |       0    |       0    |       0    |       0    |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "| Oversize allocations  |       0    |       0    |       0    |       0    |\n"
                    "|---------------------------------------------------------------------------|\n"
                    "| Oversize GPU segments |       0    |       0    |       0    |       0    |\n"
                    "|===========================================================================|\n");
  vs_text_deinit(&out);
}

/* The parts are shown in the unit of the whole, rounded down, also below zero. */
static void test_parts(void **state) {
  (void)state;
  vs_alloc_statistics s = {0};
  vs_text out;
  vs_text_init(&out, vs_host_default(), NULL);
  set(&s, VS_ALLOC_ALLOCATED_BYTES, VS_ALLOC_ALL, 1 << 20, INT64_C(768) << 40, 0);
  set(&s, VS_ALLOC_ALLOCATED_BYTES, VS_ALLOC_SMALL, -1, 0, 0);
  set(&s, VS_ALLOC_ALLOCATED_BYTES, VS_ALLOC_LARGE, (1 << 20) + 1, INT64_C(767) << 40, 0);
  expect_ok(vs_alloc_summary_write(&s, 0, false, &out));
  assert_true(vs_str_contains(
      vs_text_view(&out),
      VS_STR("| Allocated memory      |   1024 KiB |    768 TiB |      0 B   | -1048576 B   |\n"
             "|       from large pool |   1024 KiB |    767 TiB |      0 B   | -1048577 B   |\n"
             "|       from small pool |     -1 KiB |      0 TiB |      0 B   |      1 B   |\n")));
  vs_text_deinit(&out);
}

static vs_status write_summary(const vs_host *host, void *ctx) {
  vs_text out;
  vs_text_init(&out, host, NULL);
  const vs_status status = vs_alloc_summary_write(ctx, 0, false, &out);
  vs_text_deinit(&out);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  vs_alloc_statistics s = {0};
  assert_true(fault_prove(write_summary, &s) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_abbreviated),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
