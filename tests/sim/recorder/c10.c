/* As much of PyTorch's libc10.so as the recorder stands before, with what the test asks: how often it was called on. */
#include <stddef.h>
#include <stdint.h>

typedef struct device {
  int8_t type, index;
} device;

int c10_usages, c10_refusals, c10_registered;

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *block, int64_t bytes, size_t allocated, size_t reserved, device d) {
  (void)block, (void)bytes, (void)allocated, (void)reserved, (void)d;
  c10_usages++;
}

void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes, size_t allocated, size_t reserved, device d) {
  (void)bytes, (void)allocated, (void)reserved, (void)d;
  c10_refusals++;
}

void _ZN3c1012SetAllocatorENS_10DeviceTypeEPNS_9AllocatorEh(int8_t type, void *allocator, uint8_t priority) {
  (void)type, (void)allocator, (void)priority;
  c10_registered++;
}

int _ZNK3c109Allocator18is_simple_data_ptrERKNS_7DataPtrE(const void *allocator, const void *pointer) {
  (void)allocator, (void)pointer;
  return 0;
}
