/* Another PyTorch's libtorch_cpu.so: its list of functions is not as the recorder knows it. NONE: it does not have one. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if !NONE

typedef struct callback {
  uint64_t words[16];
} callback;
typedef struct step_callbacks {
  uint64_t words[13];
} step_callbacks;

uint64_t _ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(callback given) {
  (void)given;
  return 7;
}

void _ZN2at14removeCallbackEm(uint64_t handle) {
  if (handle == 7) puts("removed");
}

step_callbacks _ZN2at16getStepCallbacksENS_11RecordScopeE(uint8_t scope) {
  (void)scope;
  return (step_callbacks){{0, UINT64_C(4) << 32 | 1}}; /* one that is not the recorder's */
}

const char *_ZNK2at14RecordFunction4nameEv(const void *range) {
  (void)range;
  return NULL;
}

#else
int nothing;
#endif
