/* Any bytes as a pickle and as a snapshot, each both ways: dicts read at once, and opcode by opcode. All that can be seen is the same. */
#include "fuzz.h"
#include "support/both_ways.h"

#include <stdio.h>
#include <stdlib.h>

static void must_be_same(const char *difference) {
  if (difference == NULL) return;
  fprintf(stderr, "fuzz_pickle_dicts: different in: %s\n", difference);
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const vs_str bytes = {(const char *)data, size};
  fold_case c = {.pickle = bytes};
  fold_counts counts;
  must_be_same(fold_both_ways(vs_host_default(), &c, &counts));
  c.failing_call = counts.calls == 0 ? 0 : 1 + size % counts.calls;
  c.failing_byte = size == 0 ? 0 : 1 + data[size / 2] * size / 256;
  c.step = size / 3;
  must_be_same(fold_both_ways(vs_host_default(), &c, &counts));
  must_be_same(read_both_ways(vs_host_default(), bytes));
  return 0;
}
