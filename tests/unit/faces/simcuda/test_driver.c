/* The driver face: devices, contexts, memory, copies. What streams and code do is in test_driver_work.c. */
#include "unit/faces/simcuda/driver_loaded.h"

#include <fcntl.h>
#include <pthread.h>

static char *const two_cards[] = {"VRAMSCOPE_SIM_GPU=H100,RTX4090", NULL};

/* ---- devices */

static void see_devices(void) {
  int count = 0, value = 0;
  char text[96];
  size_t total = 0;
  CUdevice device = -1;
  CUuuid uuid;
  FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount, &count);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuInit, 1);
  GOOD(cuInit, 0);
  GOOD(cuDeviceGetCount, &count);
  CHECK(count == 2);
  GOOD(cuDriverGetVersion, &value);
  CHECK(value == 13020);
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet, &device, 2);
  GOOD(cuDeviceGet, &device, 1);
  GOOD(cuDeviceGetName, text, sizeof text, device);
  CHECK(strcmp(text, "NVIDIA GeForce RTX 4090 (simulated)") == 0);
  GOOD(cuDeviceGetName, text, 7, device);
  CHECK(strcmp(text, "NVIDIA") == 0);
  GOOD(cuDeviceTotalMem_v2, &total, device);
  CHECK(total == UINT64_C(25386352640));
  const struct {
    int number, value;
  } attributes[] = {{1, 1024},  {8, 49152},  {10, 32}, {16, 128},    {36, 10501000}, {38, 75497472},
                    {39, 1536}, {75, 8},     {76, 9},  {81, 102400}, {97, 101376},   {102, 1},
                    {106, 24},  {111, 1024}, {120, 0}, {132, 0},     {33, 2}};
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    GOOD(cuDeviceGetAttribute, &value, (CUdevice_attribute)attributes[i].number, device);
    if (value != attributes[i].value) fprintf(stderr, "attribute %d: %d\n", attributes[i].number, value);
    CHECK(value == attributes[i].value);
  }
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute, &value, (CUdevice_attribute)148, device);
  GOOD(cuDeviceGetUuid_v2, &uuid, device);
  CHECK(strcmp(uuid.bytes, "simulated") == 0 && uuid.bytes[15] == 1);
  GOOD(cuDeviceGetPCIBusId, text, sizeof text, device);
  CHECK(strcmp(text, "0000:02:00.0") == 0);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetPCIBusId, text, 12, device);
  GOOD(cuDeviceGetByPCIBusId, &device, "01:00.0");
  CHECK(device == 0);
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId, &device, "0000:07:00.0");
  GOOD(cuDeviceCanAccessPeer, &value, 0, 1);
  CHECK(value == 1);
}

static void see_what_is_visible(void) {
  int count = 0;
  char text[96];
  GOOD(cuInit, 0);
  GOOD(cuDeviceGetCount, &count);
  CHECK(count == 1);
  GOOD(cuDeviceGetPCIBusId, text, sizeof text, 0);
  CHECK(strcmp(text, "0000:02:00.0") == 0); /* the second card, as NVML counts */
}

static void see_none(void) {
  int count = 7;
  FAILS(CUDA_ERROR_NO_DEVICE, cuInit, 0);
  FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount, &count);
}

static void test_devices(void **state) {
  (void)state;
  expect_apart(see_devices, two_cards, "");
  expect_apart(see_what_is_visible, WITH("VRAMSCOPE_SIM_GPU=H100,RTX4090", "CUDA_VISIBLE_DEVICES=1"), "");
  expect_apart(see_none, WITH("CUDA_VISIBLE_DEVICES="), "");
}

/* ---- contexts */

static void *without_context(void *ctx) {
  CUdeviceptr address = 0;
  CUcontext current = ctx;
  GOOD(cuCtxGetCurrent, &current);
  CHECK(current == NULL);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2, &address, 1);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2, &current);
  GOOD(cuCtxSetCurrent, ctx);
  GOOD(cuMemAlloc_v2, &address, 1);
  return NULL;
}

static void stack_contexts(void) {
  CUcontext primary = NULL, own = NULL, current = NULL;
  CUdevice device = -1;
  unsigned int flags = 9;
  int active = 9;
  GOOD(cuInit, 0);
  GOOD(cuDevicePrimaryCtxGetState, 1, &flags, &active);
  CHECK(flags == 0 && active == 0);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2, 1);
  GOOD(cuDevicePrimaryCtxRetain, &primary, 1);
  GOOD(cuDevicePrimaryCtxGetState, 1, &flags, &active);
  CHECK(active == 1);
  GOOD(cuCtxGetCurrent, &current);
  CHECK(current == NULL);
  GOOD(cuCtxCreate_v2, &own, 3, 0);
  GOOD(cuCtxPushCurrent_v2, primary);
  GOOD(cuCtxGetDevice, &device);
  CHECK(device == 1);
  GOOD(cuCtxPopCurrent_v2, &current);
  CHECK(current == primary);
  GOOD(cuCtxGetFlags, &flags);
  CHECK(flags == 3);
  GOOD(cuCtxGetDevice, &device);
  CHECK(device == 0);
  GOOD(cuCtxSetCurrent, primary); /* in place of the top */
  GOOD(cuCtxSetCurrent, NULL);    /* pops */
  GOOD(cuCtxGetCurrent, &current);
  CHECK(current == NULL);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2, (CUcontext)(uintptr_t)0x1234);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2, primary);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, without_context, own) == 0 && pthread_join(thread, NULL) == 0);
  GOOD(cuCtxSetCurrent, own);
  GOOD(cuCtxPushCurrent_v2, own);
  GOOD(cuCtxDestroy_v2, own); /* leaves the top, and is a ruin below */
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2, own);
}

/* What was allocated while a context of the program's own was current goes with it, and nothing else. */
static void contexts_own_memory(void) {
  CUcontext first = begin_driver(), second = NULL;
  CUdeviceptr kept = 0, freed = 0, gone = 0;
  const uint64_t before = free_bytes();
  GOOD(cuMemAlloc_v2, &kept, 4 * MIB);
  GOOD(cuCtxCreate_v2, &second, 0, 0);
  CHECK(second != first && free_bytes() == before - 4 * MIB);
  GOOD(cuMemAlloc_v2, &gone, 6 * MIB);
  GOOD(cuMemAlloc_v2, &freed, 2 * MIB);
  GOOD(cuMemFree_v2, freed);
  for (int i = 0; i < 1000; i++) { /* the list of what it owns does not grow for ever, and forgets nothing */
    GOOD(cuMemAlloc_v2, &freed, 2 * MIB);
    GOOD(cuMemFree_v2, freed);
  }
  GOOD(cuCtxDestroy_v2, second);
  CHECK(free_bytes() == before - 4 * MIB);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, gone);
  GOOD(cuMemFree_v2, kept);
  CHECK(free_bytes() == before);
}

/* Larger stacks cost memory for every thread that can be resident: 2,048 on each of 132 multiprocessors. */
static void limits_cost(void) {
  begin_driver();
  size_t value = 0;
  const uint64_t before = free_bytes();
  GOOD(cuCtxGetLimit, &value, CU_LIMIT_STACK_SIZE);
  CHECK(value == 1024);
  GOOD(cuCtxSetLimit, CU_LIMIT_STACK_SIZE, 2040);
  GOOD(cuCtxGetLimit, &value, CU_LIMIT_STACK_SIZE);
  CHECK(value == 2048);
  CHECK(before - free_bytes() == UINT64_C(1024) * 132 * 2048);
  GOOD(cuCtxSetLimit, CU_LIMIT_STACK_SIZE, 512);
  CHECK(before - free_bytes() == UINT64_C(1024) * 132 * 2048); /* it is kept */
  FAILS(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxSetLimit, (CUlimit)77, 1);
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuCtxSetLimit, CU_LIMIT_MALLOC_HEAP_SIZE, UINT64_C(1) << 40);
}

static void test_contexts(void **state) {
  (void)state;
  expect_apart(stack_contexts, two_cards, "");
  expect_apart(contexts_own_memory, WITH_NOTHING, "");
  expect_apart(limits_cost, WITH_NOTHING, "");
}

/* ---- memory */

static void allocate(void) {
  begin_driver();
  CUdeviceptr a = 0, b = 0, base = 0;
  size_t size = 0, pitch = 0;
  const uint64_t before = free_bytes();
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2, &a, 0);
  GOOD(cuMemAlloc_v2, &a, 3 * MIB);
  CHECK(a == UINT64_C(0x200000000000) && free_bytes() == before - 4 * MIB);
  GOOD(cuMemGetAddressRange_v2, &base, &size, a + 100);
  CHECK(base == a && size == 3 * MIB);
  FAILS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2, &base, &size, a + 64 * MIB);
  GOOD(cuMemAllocPitch_v2, &b, &pitch, 1000, 3, 4);
  CHECK(pitch == 1024);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2, &b, &pitch, 1000, 3, 5);
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2, &base, UINT64_C(1) << 40);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, a + 512);
  GOOD(cuMemFree_v2, a);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, a);
  GOOD(cuMemFree_v2, b);
  GOOD(cuMemFree_v2, 0);
  CHECK(free_bytes() == before);
}

static void describe_addresses(void) {
  begin_driver();
  CUdeviceptr device = 0, mapped = 0;
  void *pinned = NULL;
  static char registered[8192];
  unsigned int word = 99;
  uint64_t number = 99;
  GOOD(cuMemAlloc_v2, &device, 1000);
  GOOD(cuPointerGetAttribute, &word, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 999);
  CHECK(word == CU_MEMORYTYPE_DEVICE);
  GOOD(cuPointerGetAttribute, &number, CU_POINTER_ATTRIBUTE_RANGE_SIZE, device + 999);
  CHECK(number == 1000);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &number, CU_POINTER_ATTRIBUTE_HOST_POINTER, device);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &word, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        device + 1000);
  GOOD(cuMemHostAlloc, &pinned, 100, 2);
  *(volatile char *)pinned = 3;
  GOOD(cuMemHostGetFlags, &word, pinned);
  CHECK(word == 2);
  GOOD(cuMemHostGetDevicePointer_v2, &mapped, pinned, 0);
  CHECK(mapped == (uintptr_t)pinned);
  GOOD(cuPointerGetAttribute, &word, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, mapped);
  CHECK(word == CU_MEMORYTYPE_HOST);
  GOOD(cuMemFreeHost, pinned);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost, pinned);
  GOOD(cuMemHostRegister_v2, registered, sizeof registered, 0);
  FAILS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2, registered + 1, 1, 0);
  GOOD(cuMemHostUnregister, registered);
  FAILS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister, registered);
  /* Many at once: nothing is known of an address of the program's own, and that is no error. */
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  int ordinal = 99;
  void *answers[] = {&word, &ordinal};
  GOOD(cuPointerGetAttributes, 2, asked, answers, (uintptr_t)registered);
  CHECK(word == 0 && ordinal == -2);
}

static void describe_managed(void) {
  begin_driver();
  CUdeviceptr managed = 0;
  unsigned int word = 99;
  GOOD(cuMemAllocManaged, &managed, 100, 1);
  *(volatile char *)(uintptr_t)managed = 3; /* it has real pages */
  GOOD(cuPointerGetAttribute, &word, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed);
  CHECK(word == 1);
  GOOD(cuMemFree_v2, managed);
}

static void share_memory(void) {
  begin_driver();
  CUdeviceptr address = 0, opened = 0;
  CUipcMemHandle handle;
  GOOD(cuMemAlloc_v2, &address, 4 * MIB);
  GOOD(cuIpcGetMemHandle, &handle, address);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle_v2, &opened, handle, 1); /* our own */
  memset(&handle, 0, sizeof handle);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle_v2, &opened, handle, 1);
}

static void test_memory(void **state) {
  (void)state;
  expect_apart(allocate, WITH_NOTHING, "");
  expect_apart(describe_addresses, WITH_NOTHING, "");
  expect_apart(share_memory, WITH_NOTHING, "");
}

static void test_managed_memory(void **state) {
  (void)state;
  SKIP_MANAGED_MEMORY();
  expect_apart(describe_managed, WITH_NOTHING, "");
}

/* ---- virtual memory by hand */

static const CUmemAllocationProp on_device_0 = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                .requestedHandleTypes =
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};

static void map_memory(void) {
  GOOD(cuInit, 0); /* none of these needs a context */
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle physical = 0, again = 0;
  CUmemAllocationProp properties;
  const CUmemAccessDesc access = {.location = on_device_0.location,
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  unsigned long long flags = 99;
  size_t granularity = 0;
  GOOD(cuMemGetAllocationGranularity, &granularity, &on_device_0, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  CHECK(granularity == 2 * MIB);
  GOOD(cuMemAddressReserve, &address, 64 * MIB, 0, 0, 0);
  CHECK(address == UINT64_C(0x300000000000));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemCreate, &physical, 3 * MIB, &on_device_0, 0);
  GOOD(cuMemCreate, &physical, 20 * MIB, &on_device_0, 0);
  GOOD(cuMemGetAllocationPropertiesFromHandle, &properties, physical);
  CHECK(memcmp(&properties, &on_device_0, sizeof properties) == 0);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemMap, address + 50 * MIB, 20 * MIB, 0, physical, 0);
  GOOD(cuMemMap, address, 20 * MIB, 0, physical, 0);
  GOOD(cuMemGetAccess, &flags, &access.location, address);
  CHECK(flags == 0);
  GOOD(cuMemSetAccess, address, 20 * MIB, &access, 1);
  GOOD(cuMemGetAccess, &flags, &access.location, address);
  CHECK(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  GOOD(cuMemRetainAllocationHandle, &again, (void *)(uintptr_t)(address + MIB));
  CHECK(again == physical);
  GOOD(cuMemRelease, again);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree, address, 64 * MIB); /* something is mapped */
  GOOD(cuMemUnmap, address, 20 * MIB);
  GOOD(cuMemAddressFree, address, 64 * MIB);
  GOOD(cuMemRelease, physical);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemRelease, physical);
}

static void export_memory(void) {
  GOOD(cuInit, 0);
  CUmemGenericAllocationHandle physical = 0, imported = 0;
  CUmemAllocationProp properties = on_device_0;
  int file = -1;
  GOOD(cuMemCreate, &physical, 2 * MIB, &on_device_0, 0);
  GOOD(cuMemExportToShareableHandle, &file, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  CHECK(file >= 0 && (fcntl(file, F_GETFD) & FD_CLOEXEC) != 0);
  GOOD(cuMemImportFromShareableHandle, &imported, (void *)(intptr_t)file,
       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CHECK(imported == physical); /* in the process that made it: one more reference */
  GOOD(cuMemRelease, imported);
  GOOD(cuMemRelease, physical);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuMemImportFromShareableHandle, &imported, (void *)(intptr_t)file,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR); /* gone since */
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemImportFromShareableHandle, &imported, (void *)(intptr_t)-1,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  GOOD(cuMemCreate, &physical, 2 * MIB, &properties, 0);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle, &file, physical,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0); /* it was not made for that */
  properties.requestedHandleTypes = (CUmemAllocationHandleType)8;
  FAILS(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate, &physical, 2 * MIB, &properties, 0);
}

static void test_virtual_memory(void **state) {
  (void)state;
  expect_apart(map_memory, WITH_NOTHING, "");
  expect_apart(
      export_memory, WITH_NOTHING,
      "vramscope: cuMemCreate with fabric handles, or those of Windows (CUDA driver) is not simulated\n");
}

/* ---- copies */

static void copy_there_and_back(void) {
  begin_driver();
  CUdeviceptr a = 0, b = 0;
  char text[64] = "what is only moved through the device arrives", back[64] = "";
  uint32_t words[4];
  GOOD(cuMemAlloc_v2, &a, 4096);
  GOOD(cuMemAlloc_v2, &b, 4096);
  GOOD(cuMemcpyHtoD_v2, a, text, sizeof text);
  GOOD(cuMemcpyDtoD_v2, b + 100, a, sizeof text);
  GOOD(cuMemcpyDtoH_v2, back, b + 100, sizeof back);
  CHECK(memcmp(text, back, sizeof text) == 0);
  memset(back, 0, sizeof back);
  GOOD(cuMemcpy, (uintptr_t)back, a, sizeof back); /* by the addresses */
  CHECK(memcmp(text, back, sizeof text) == 0);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, a + 4090, text, 10); /* over the end */
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, a + 1024 * MIB, text, 1);
  GOOD(cuMemsetD32_v2, a + 4, UINT32_C(0xa1b2c3d4), 2);
  GOOD(cuMemsetD16_v2, a + 12, 7, 1);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2, a + 5, 1, 1);
  GOOD(cuMemcpyDtoH_v2, words, a, sizeof words);
  CHECK(words[1] == UINT32_C(0xa1b2c3d4) && words[2] == words[1] && (words[3] & 0xffff) == 7);
  GOOD(cuStreamWriteValue32_v2, NULL, a + 8, 42, 0);
  GOOD(cuMemcpyDtoH_v2, words, a, sizeof words);
  CHECK(words[2] == 42);
}

/* A box of 4 x 3 bytes out of rows of 10, into an array, out again at a pitch of 16. */
static void copy_boxes(void) {
  begin_driver();
  char rows[3][10], back[3][16];
  CUarray array = NULL;
  for (int y = 0; y < 3; y++)
    for (int x = 0; x < 10; x++) rows[y][x] = (char)(y * 10 + x);
  memset(back, 99, sizeof back);
  const CUDA_ARRAY_DESCRIPTOR descriptor = {
      .Width = 8, .Height = 5, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
  const uint64_t before = free_bytes();
  GOOD(cuArrayCreate_v2, &array, &descriptor);
  CHECK(free_bytes() < before);
  CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                      .srcHost = rows,
                      .srcPitch = 10,
                      .srcXInBytes = 3,
                      .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                      .dstArray = array,
                      .dstXInBytes = 1,
                      .dstY = 2,
                      .WidthInBytes = 4,
                      .Height = 3};
  GOOD(cuMemcpy2D_v2, &in);
  GOOD(cuMemcpyAtoH_v2, back, array, 2 * 512 + 1, 4); /* rows lie 512 bytes apart */
  CHECK(memcmp(back, &rows[0][3], 4) == 0);
  memset(back, 99, sizeof back);
  const CUDA_MEMCPY2D out = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                             .srcArray = array,
                             .srcXInBytes = 1,
                             .srcY = 2,
                             .dstMemoryType = CU_MEMORYTYPE_HOST,
                             .dstHost = back,
                             .dstPitch = 16,
                             .WidthInBytes = 4,
                             .Height = 3};
  GOOD(cuMemcpy2D_v2, &out);
  for (int y = 0; y < 3; y++)
    for (int x = 0; x < 16; x++) CHECK(back[y][x] == (x < 4 ? rows[y][3 + x] : 99));
  in.dstY = 3;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &in); /* over the array's last row */
  GOOD(cuArrayDestroy, array);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy, array);
  CHECK(free_bytes() == before);
}

static void copy_layers(void) {
  begin_driver();
  CUdeviceptr address = 0;
  char in[2][3][4], back[2][2][4];
  for (size_t i = 0; i < sizeof in; i++) ((char *)in)[i] = (char)i;
  GOOD(cuMemAlloc_v2, &address, 4096);
  CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                     .srcHost = in,
                     .srcPitch = 4,
                     .srcHeight = 3,
                     .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                     .dstDevice = address,
                     .dstPitch = 8,
                     .dstHeight = 5,
                     .WidthInBytes = 4,
                     .Height = 2,
                     .Depth = 2};
  GOOD(cuMemcpy3D_v2, &c);
  const CUDA_MEMCPY3D out = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                             .srcDevice = address,
                             .srcPitch = 8,
                             .srcHeight = 5,
                             .dstMemoryType = CU_MEMORYTYPE_HOST,
                             .dstHost = back,
                             .dstPitch = 4,
                             .dstHeight = 2,
                             .WidthInBytes = 4,
                             .Height = 2,
                             .Depth = 2};
  GOOD(cuMemcpy3D_v2, &out);
  for (int z = 0; z < 2; z++)
    for (int y = 0; y < 2; y++) CHECK(memcmp(back[z][y], in[z][y], 4) == 0);
}

static void test_copies(void **state) {
  (void)state;
  expect_apart(copy_there_and_back, WITH_NOTHING, "");
  expect_apart(copy_boxes, WITH_NOTHING, "");
  expect_apart(copy_layers, WITH_NOTHING, "");
}

/* ---- entry points, and what is refused */

typedef CUresult (*memory_function)(CUdeviceptr *, size_t);

static void find_functions(void) {
  void *found = NULL;
  CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)9;
  GOOD(cuGetProcAddress_v2, "cuMemAlloc", &found, 12000, 0, &status);
  CHECK(found == driver_function("cuMemAlloc_v2") && status == CU_GET_PROC_ADDRESS_SUCCESS);
  GOOD(cuGetProcAddress_v2, "cuMemAlloc", &found, 3010, 0, &status);
  CHECK(found == driver_function("cuMemAlloc"));
  GOOD(cuGetProcAddress_v2, "cuStreamGetCaptureInfo", &found, 12000, 2, &status);
  CHECK(found == driver_function("cuStreamGetCaptureInfo_v2_ptsz"));
  GOOD(cuGetProcAddress_v2, "cuStreamGetCaptureInfo", &found, 12030, 1, &status);
  CHECK(found == driver_function("cuStreamGetCaptureInfo_v3"));
  GOOD(cuGetProcAddress_v2, "cuLogsRegisterCallback", &found, 12000, 0, &status);
  CHECK(found == NULL && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  GOOD(cuGetProcAddress_v2, "cuNobodyKnows", &found, 13000, 0, &status);
  CHECK(found == NULL && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  FAILS(CUDA_ERROR_NOT_FOUND, cuGetProcAddress_v2, "cuNobodyKnows", &found, 13000, 0, NULL);
  GOOD(cuGetProcAddress, "cuGetProcAddress", &found, 12000, 0);
  CHECK(found == driver_function("cuGetProcAddress_v2"));
  GOOD(cuInit, 0);
  GOOD(cuGetProcAddress, "cuMemAlloc", &found, 12000, 0);
  CUdeviceptr address = 0;
  CHECK(((memory_function)found)(&address, 1) == CUDA_ERROR_INVALID_CONTEXT); /* it is that function */
}

/* The names of torch 2.15's initialisation, at the versions that it asks for. */
static void find_what_torch_wants(void) {
  static const struct {
    int version;
    const char *names;
  } wanted[] = {
      {12000, "cuCtxGetCurrent cuDeviceGet cuDeviceGetAttribute cuGetErrorString cuMemAddressFree "
              "cuMemAddressReserve "
              "cuMemCreate cuMemExportToShareableHandle cuMemGetAddressRange cuMemGetAllocationGranularity "
              "cuMemGetAllocationPropertiesFromHandle cuMemImportFromShareableHandle cuMemMap cuMemRelease "
              "cuMemRetainAllocationHandle cuMemSetAccess cuMemUnmap cuMemsetD32Async cuStreamWriteValue32 "
              "cuTensorMapEncodeTiled"},
      {12030, "cuMulticastAddDevice cuMulticastBindMem cuMulticastCreate cuMulticastUnbind"},
      {12080, "cuCtxFromGreenCtx cuCtxGetCurrent cuCtxPopCurrent cuCtxPushCurrent cuCtxSetCurrent "
              "cuDevResourceGenerateDesc cuDevSmResourceSplitByCount cuDeviceGetDevResource cuGreenCtxCreate "
              "cuGreenCtxDestroy cuGreenCtxStreamCreate"},
      {12090, "cuLogsRegisterCallback cuLogsUnregisterCallback"},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    char names[1024];
    strcpy(names, wanted[i].names);
    for (char *rest = NULL, *name = strtok_r(names, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
      void *found = NULL;
      GOOD(cuGetProcAddress_v2, name, &found, wanted[i].version, 0, NULL);
      CHECK(found != NULL);
    }
  }
}

/* A name that is not simulated says so once; private tables are never had. */
static void be_refused(void) {
  const void *table = &table;
  CUuuid id = {"whatever it may"};
  CUresult (*refused)(void) = (CUresult(*)(void))driver_function("cuGreenCtxCreate");
  CHECK(refused() == CUDA_ERROR_NOT_SUPPORTED && refused() == CUDA_ERROR_NOT_SUPPORTED);
  FAILS(CUDA_ERROR_NOT_SUPPORTED, cuGetExportTable, &table, &id);
  CHECK(table == NULL);
}

static void see_words(void) {
  const char *text = NULL;
  GOOD(cuGetErrorName, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, &text);
  CHECK(strcmp(text, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED") == 0);
  GOOD(cuGetErrorString, CUDA_ERROR_OUT_OF_MEMORY, &text);
  CHECK(strcmp(text, "out of memory") == 0);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGetErrorString, (CUresult)12345, &text);
  CHECK(text == NULL);
}

static void test_entry_points(void **state) {
  (void)state;
  expect_apart(find_functions, WITH_NOTHING, "");
  expect_apart(find_what_torch_wants, WITH_NOTHING, "");
  expect_apart(see_words, WITH_NOTHING, "");
}

static void test_refusals(void **state) {
  (void)state;
  apart result;
  run_apart(be_refused, WITH_NOTHING, &result);
  assert_true(WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0);
  static const char first[] = "vramscope: cuGreenCtxCreate (CUDA driver) is not simulated\nvramscope: ";
  assert_int_equal(strncmp(result.errors, first, sizeof first - 1), 0);
  assert_non_null(strstr(result.errors, " contains NVIDIA's own CUDA runtime"));
  assert_non_null(strstr(result.errors, "-cudart shared"));
  assert_non_null(strstr(result.errors, "vramscope doctor"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_devices),        cmocka_unit_test(test_contexts),
      cmocka_unit_test(test_memory),         cmocka_unit_test(test_managed_memory),
      cmocka_unit_test(test_virtual_memory), cmocka_unit_test(test_copies),
      cmocka_unit_test(test_entry_points),   cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
