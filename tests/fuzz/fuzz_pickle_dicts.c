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
  uint64_t at_once, calls;
  must_be_same(fold_both_ways(vs_host_default(), bytes, UINT64_MAX, &at_once, &calls));
  if (calls != 0) must_be_same(fold_both_ways(vs_host_default(), bytes, size % calls, &at_once, &calls));
  must_be_same(read_both_ways(vs_host_default(), bytes));
  return 0;
}
