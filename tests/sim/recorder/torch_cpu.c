/* Another PyTorch's libtorch_cpu.so. NONE: it has no list of functions that a range calls; KNOWN: it has one, with room for one, but makes its
 * ranges without the constructor that the recorder leads to itself; else its list is not as the recorder knows it. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if !NONE

typedef struct callback {
  void *(*start)(void *result, const void *range);
  void (*end)(const void *range, void *result);
  double probability;
  bool scopes_and_flags[104];
} callback;
typedef struct step_callbacks {
  uint64_t words[13];
} step_callbacks;

static callback added;
static bool is_there;

uint64_t _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(callback given) {
  added = given;
  is_there = true;
  return 7;
}

void _ZN2at14removeCallbackEm(uint64_t handle) {
  is_there = false;
  if (handle == 7) puts("removed");
}

step_callbacks _ZN2at16getStepCallbacksENS_11RecordScopeE(uint8_t scope) {
  step_callbacks all = {{0, UINT64_C(4) << 32 | 1}};
#if KNOWN
  all.words[1] -= !is_there || !added.scopes_and_flags[scope];
  memcpy(&all.words[2], &added, 2 * sizeof all.words[0]);
#else
  (void)scope; /* one that is not the recorder's */
#endif
  return all;
}

const char *_ZNK2at14RecordFunction4nameEv(const void *range) {
  return range;
}

void test_range(const char *name) {
  void *result = NULL;
  if (!is_there) return;
  (void)added.start(&result, name);
  added.end(name, &result);
}

#else
int nothing;
#endif
