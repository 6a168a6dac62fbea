/* The runtime face of CUDA 13, through its functions: what they check, what they write, what stays as last
 * error. */
#define VS_CUDART 13
#include "unit/faces/simcuda/cudart_all.h"
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static const dim3 one = {1, 1, 1};

/* ---- devices */

static void see_devices(void) {
  int count = -1, device = -1, value = -1;
  struct cudaDeviceProp all;
  memset(&all, 0xff, sizeof all);
  GOOD(sim_cudaGetDeviceCount(&count));
  CHECK(count == 2);
  GOOD(sim_cudaGetDevice(&device));
  CHECK(device == 0);
  GOOD(sim_cudaGetDeviceProperties(&all, 1));
  CHECK(strstr(all.name, "RTX 4090 (simulated)") != NULL);
  CHECK(all.major == 8 && all.minor == 9 && all.multiProcessorCount == 128 && all.warpSize == 32);
  CHECK(all.totalGlobalMem == UINT64_C(25386352640));
  CHECK(all.sharedMemPerBlock == 49152 && all.sharedMemPerBlockOptin == 101376 &&
        all.regsPerMultiprocessor == 65536);
  CHECK(all.sharedMemPerMultiprocessor == 102400 && all.maxThreadsPerMultiProcessor == 1536);
  CHECK(all.reserved[0] == 0 && all.reserved[55] == 0);
  GOOD(sim_cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)75, 0));
  CHECK(value == 9);
  FAILS(sim_cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0), cudaErrorInvalidValue);
  FAILS(sim_cudaDeviceGetAttribute(NULL, (enum cudaDeviceAttr)75, 0), cudaErrorInvalidValue);
  FAILS(sim_cudaGetDeviceProperties(&all, 2), cudaErrorInvalidDevice);
  FAILS(sim_cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);
  FAILS(sim_cudaSetDevice(-1), cudaErrorInvalidDevice);
  FAILS(sim_cudaGetDeviceCount(NULL), cudaErrorInvalidValue);
  CHECK(!vs_simcuda_is_used(0) && !vs_simcuda_is_used(1)); /* nothing of that makes a context */
  GOOD(sim_cudaSetDevice(1));
  GOOD(sim_cudaGetDevice(&device));
  CHECK(device == 1 && vs_simcuda_is_used(1) && !vs_simcuda_is_used(0));
}

/* Every member of the properties that an attribute speaks of is that attribute, whatever its place in the
 * struct. */
static void see_properties(void) {
  struct cudaDeviceProp all;
  GOOD(sim_cudaGetDeviceProperties(&all, 0));
  for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
    int value = 0, low = 0;
    GOOD(sim_cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)properties[i].attribute, 0));
    memcpy(&low, (const char *)&all + properties[i].offset, sizeof low);
    CHECK(low == value);
    for (size_t k = 0; k < i; k++)
      CHECK(properties[k].offset != properties[i].offset &&
            properties[k].attribute != properties[i].attribute);
  }
}

static void see_bus(void) {
  char text[32] = "";
  int device = -1;
  GOOD(sim_cudaDeviceGetPCIBusId(text, sizeof text, 1));
  CHECK(strcmp(text, "0000:02:00.0") == 0);
  GOOD(sim_cudaDeviceGetByPCIBusId(&device, text));
  CHECK(device == 1);
  GOOD(sim_cudaDeviceGetByPCIBusId(&device, "01:00.0"));
  CHECK(device == 0);
  FAILS(sim_cudaDeviceGetByPCIBusId(&device, "0000:7f:00.0"), cudaErrorInvalidDevice);
  FAILS(sim_cudaDeviceGetByPCIBusId(&device, "bus"), cudaErrorInvalidValue);
  FAILS(sim_cudaDeviceGetPCIBusId(text, 4, 0), cudaErrorInvalidValue);
}

static void see_no_device(void) {
  int count = -1;
  void *memory = NULL;
  FAILS(sim_cudaGetDeviceCount(&count), cudaErrorNoDevice);
  CHECK(count == 0);
  FAILS(sim_cudaMalloc(&memory, 1), cudaErrorNoDevice);
}

static void test_devices(void **state) {
  (void)state;
  expect_apart(see_devices, WITH("VRAMSCOPE_SIM_GPU=H100,RTX4090"), "");
  expect_apart(see_properties, WITH("VRAMSCOPE_SIM_GPU=A100"), "");
  expect_apart(see_bus, WITH("VRAMSCOPE_SIM_GPU=H100,H100"), "");
  expect_apart(see_no_device, WITH("CUDA_VISIBLE_DEVICES="), "");
}

static void have_peers(void) {
  int can = -1;
  GOOD(sim_cudaDeviceCanAccessPeer(&can, 0, 1));
  CHECK(can == 1);
  GOOD(sim_cudaDeviceCanAccessPeer(&can, 1, 1));
  CHECK(can == 0);
  FAILS(sim_cudaDeviceCanAccessPeer(&can, 0, 2), cudaErrorInvalidDevice);
  GOOD(sim_cudaDeviceEnablePeerAccess(1, 0));
  FAILS(sim_cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  FAILS(sim_cudaDeviceEnablePeerAccess(-1, 0), cudaErrorInvalidDevice);
  GOOD(sim_cudaDeviceDisablePeerAccess(1));
  FAILS(sim_cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
}

static void test_peers(void **state) {
  (void)state;
  expect_apart(have_peers, WITH("VRAMSCOPE_SIM_GPU=H100,H100"), "");
}

/* ---- errors */

static void keep_errors(void) {
  CHECK(sim_cudaGetLastError() == cudaSuccess);
  FAILS(sim_cudaMalloc(NULL, 1), cudaErrorInvalidValue);
  GOOD(sim_cudaFree(NULL)); /* a success does not clear it */
  CHECK(sim_cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(sim_cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(sim_cudaGetLastError() == cudaSuccess);
  cudaEvent_t event;
  GOOD(sim_cudaEventCreate(&event));
  GOOD(sim_cudaEventRecord(event, NULL));
  FAILS(sim_cudaEventQuery(event), cudaErrorNotReady);
  CHECK(sim_cudaGetLastError() == cudaSuccess); /* an answer, not a failure */
  FAILS(sim_cudaStreamQuery(NULL), cudaErrorNotReady);
  CHECK(sim_cudaGetLastError() == cudaSuccess);
}

static void *fail_elsewhere(void *nothing) {
  FAILS(sim_cudaMalloc(NULL, 1), cudaErrorInvalidValue);
  return nothing;
}

static void keep_errors_apart(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, fail_elsewhere, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(sim_cudaGetLastError() == cudaSuccess); /* it was another thread's */
}

static void test_last_error(void **state) {
  (void)state;
  expect_apart(keep_errors, WITH("VRAMSCOPE_SIM_EVENTS=at-sync"), "");
  expect_apart(keep_errors_apart, WITH_NOTHING, "");
}

static void test_error_names(void **state) {
  (void)state;
  assert_string_equal(sim_cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  assert_string_equal(sim_cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  assert_string_equal(sim_cudaGetErrorName((cudaError_t)4711), "unrecognized error code");
  for (int number = 0; number <= 10000; number++)
    assert_non_null(sim_cudaGetErrorString((cudaError_t)number));
}

static void be_a_child(void) {
  GOOD(sim_cudaFree(NULL));
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    int count;
    FAILS(sim_cudaGetDeviceCount(&count), cudaErrorInitializationError);
    FAILS(sim_cudaDeviceSynchronize(), cudaErrorInitializationError);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  GOOD(sim_cudaDeviceSynchronize());
}

static void test_fork(void **state) {
  (void)state;
  expect_apart(be_a_child, WITH_NOTHING, "");
}

/* ---- memory */

static void allocate(void) {
  void *a = NULL, *b = NULL;
  size_t before = 0, after = 0, total = 0;
  GOOD(sim_cudaMemGetInfo(&before, &total));
  GOOD(sim_cudaMalloc(&a, 20 * MIB));
  CHECK((uintptr_t)a == VS_SIM_WINDOW_BASE);
  GOOD(sim_cudaMemGetInfo(&after, &total));
  CHECK(before - after == 20 * MIB && total == 16 * GIB);
  GOOD(sim_cudaMalloc(&b, 0));
  CHECK(b == NULL);
  FAILS(sim_cudaFree((char *)a + 256), cudaErrorInvalidValue);
  GOOD(sim_cudaFree(a));
  FAILS(sim_cudaFree(a), cudaErrorInvalidValue);
  a = &before;
  FAILS(sim_cudaMalloc(&a, 17 * GIB), cudaErrorMemoryAllocation);
  CHECK(a == &before); /* a failure writes nothing */
  FAILS(sim_cudaMemGetInfo(NULL, &total), cudaErrorInvalidValue);
  size_t pitch = 0;
  GOOD(sim_cudaMallocPitch(&a, &pitch, 1000, 3));
  CHECK(pitch == 1024);
  FAILS(sim_cudaMallocPitch(&a, &pitch, SIZE_MAX, 2), cudaErrorMemoryAllocation);
  struct cudaPitchedPtr box;
  GOOD(sim_cudaMalloc3D(&box, (struct cudaExtent){100, 4, 2}));
  CHECK(box.pitch == 512 && box.xsize == 100 && box.ysize == 4 && box.ptr != NULL);
  FAILS(sim_cudaMalloc3D(&box, (struct cudaExtent){100, SIZE_MAX, 2}), cudaErrorMemoryAllocation);
}

static void know_addresses(void) {
  struct cudaPointerAttributes what;
  void *device = NULL, *host = NULL, *managed = NULL;
  char own[64];
  GOOD(sim_cudaSetDevice(1));
  GOOD(sim_cudaMalloc(&device, 4096));
  GOOD(sim_cudaHostAlloc(&host, 4096, cudaHostAllocPortable));
  GOOD(sim_cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
  GOOD(sim_cudaPointerGetAttributes(&what, (char *)device + 100));
  CHECK(what.type == cudaMemoryTypeDevice && what.device == 1 && what.hostPointer == NULL);
  CHECK(what.devicePointer == (char *)device + 100);
  GOOD(sim_cudaPointerGetAttributes(&what, host));
  CHECK(what.type == cudaMemoryTypeHost && what.hostPointer == host && what.devicePointer == host);
  GOOD(sim_cudaPointerGetAttributes(&what, managed));
  CHECK(what.type == cudaMemoryTypeManaged && what.hostPointer == managed && what.devicePointer == managed);
  GOOD(sim_cudaPointerGetAttributes(&what, own));
  CHECK(what.type == cudaMemoryTypeUnregistered && what.device == cudaInvalidDeviceId &&
        what.devicePointer == NULL);
  memset(managed, 1, 4096); /* real pages */
  memset(host, 1, 4096);
  unsigned flags = 77;
  GOOD(sim_cudaHostGetFlags(&flags, host));
  CHECK(flags == cudaHostAllocPortable);
  FAILS(sim_cudaHostGetFlags(&flags, own), cudaErrorInvalidValue);
  void *alias = NULL;
  GOOD(sim_cudaHostGetDevicePointer(&alias, host, 0));
  CHECK(alias == host);
  FAILS(sim_cudaHostGetDevicePointer(&alias, device, 0), cudaErrorInvalidValue);
  FAILS(sim_cudaHostUnregister(host), cudaErrorHostMemoryNotRegistered); /* allocated, not registered */
  GOOD(sim_cudaHostRegister(own, sizeof own, 0));
  FAILS(sim_cudaHostRegister(own, sizeof own, 0), cudaErrorHostMemoryAlreadyRegistered);
  FAILS(sim_cudaFreeHost(own), cudaErrorInvalidValue); /* registered, not allocated */
  GOOD(sim_cudaHostUnregister(own));
  GOOD(sim_cudaFreeHost(host));
  GOOD(sim_cudaFreeHost(NULL));
  GOOD(sim_cudaFree(managed));
}

static void advise_managed(void) {
  const struct cudaMemLocation here = {cudaMemLocationTypeDevice, 0},
                               nowhere = {cudaMemLocationTypeDevice, 9};
  void *managed = NULL, *device = NULL;
  GOOD(sim_cudaMallocManaged(&managed, MIB, cudaMemAttachHost));
  GOOD(sim_cudaMalloc(&device, MIB));
  GOOD(sim_cudaMemAdvise(managed, MIB, cudaMemAdviseSetPreferredLocation, here));
  FAILS(sim_cudaMemAdvise(managed, MIB + 1, cudaMemAdviseSetReadMostly, here), cudaErrorInvalidValue);
  FAILS(sim_cudaMemAdvise(managed, MIB, cudaMemAdviseSetAccessedBy, nowhere), cudaErrorInvalidDevice);
  FAILS(sim_cudaMemAdvise(device, MIB, cudaMemAdviseSetReadMostly, here), cudaErrorInvalidValue);
  GOOD(sim_cudaMemPrefetchAsync(managed, MIB, here, 0, NULL));
  FAILS(sim_cudaMemPrefetchAsync(managed, MIB, here, 1, NULL), cudaErrorInvalidValue);
  FAILS(sim_cudaMallocManaged(&managed, 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
  FAILS(sim_cudaMallocManaged(&managed, 1, 7), cudaErrorInvalidValue);
}

static void start_again(void) {
  void *memory = NULL;
  size_t before = 0, after = 0, total = 0;
  GOOD(sim_cudaMemGetInfo(&before, &total));
  GOOD(sim_cudaMalloc(&memory, GIB));
  GOOD(sim_cudaDeviceReset());
  CHECK(!vs_simcuda_is_used(0));
  GOOD(sim_cudaMemGetInfo(&after, &total));
  CHECK(before == after);
  FAILS(sim_cudaFree(memory), cudaErrorInvalidValue);
}

static void test_memory(void **state) {
  (void)state;
  expect_apart(allocate, WITH("VRAMSCOPE_SIM_GPU=16GiB"), "");
  expect_apart(start_again, WITH_NOTHING, "");
}

static void use_pools(void) {
  cudaMemPool_t first = NULL, mine = NULL;
  void *a = NULL, *b = NULL;
  uint64_t bytes = 1, threshold = 64 * MIB;
  int follows = 0;
  GOOD(sim_cudaDeviceGetDefaultMemPool(&first, 0));
  FAILS(sim_cudaDeviceGetDefaultMemPool(&first, 5), cudaErrorInvalidDevice);
  GOOD(sim_cudaMallocAsync(&a, 5 * MIB, NULL));
  GOOD(sim_cudaMemPoolGetAttribute(first, cudaMemPoolAttrUsedMemCurrent, &bytes));
  CHECK(bytes == 5 * MIB);
  GOOD(sim_cudaMemPoolGetAttribute(first, cudaMemPoolReuseFollowEventDependencies, &follows));
  CHECK(follows == 1);
  GOOD(sim_cudaMemPoolSetAttribute(first, cudaMemPoolAttrReleaseThreshold, &threshold));
  GOOD(sim_cudaFreeAsync(a, NULL));
  FAILS(sim_cudaFreeAsync(a, NULL), cudaErrorInvalidValue);
  GOOD(sim_cudaDeviceSynchronize());
  GOOD(sim_cudaMemPoolGetAttribute(first, cudaMemPoolAttrReservedMemCurrent, &bytes));
  CHECK(bytes == 32 * MIB); /* below the threshold it keeps what it has */
  GOOD(sim_cudaMemPoolTrimTo(first, 0));
  GOOD(sim_cudaMemPoolGetAttribute(first, cudaMemPoolAttrReservedMemCurrent, &bytes));
  CHECK(bytes == 0);
  const struct cudaMemPoolProps wanted = {.allocType = cudaMemAllocationTypePinned,
                                          .location = {cudaMemLocationTypeDevice, 0}};
  GOOD(sim_cudaMemPoolCreate(&mine, &wanted));
  FAILS(sim_cudaMallocFromPoolAsync(&b, 512, NULL, NULL), cudaErrorInvalidValue);
  GOOD(sim_cudaMallocFromPoolAsync(&b, 512, mine, NULL));
  GOOD(sim_cudaFree(b)); /* a plain free is enough */
  GOOD(sim_cudaMemPoolDestroy(mine));
  FAILS(sim_cudaMemPoolDestroy(first), cudaErrorInvalidValue);
  GOOD(sim_cudaMalloc(&a, 512));
  GOOD(sim_cudaFreeAsync(a, NULL)); /* and the other way round */
}

static void want_a_host_pool(void) {
  cudaMemPool_t pool = NULL;
  const struct cudaMemPoolProps wanted = {.allocType = cudaMemAllocationTypePinned,
                                          .location = {cudaMemLocationTypeHost, 0}};
  FAILS(sim_cudaMemPoolCreate(&pool, &wanted), cudaErrorNotSupported);
}

static void test_pools(void **state) {
  (void)state;
  expect_apart(use_pools, WITH_NOTHING, "");
  apart result;
  run_apart(want_a_host_pool, WITH_NOTHING, &result);
  assert_int_equal(result.status, 0);
  assert_non_null(strstr(result.errors, "a memory pool of the host, or of managed memory"));
}

/* ---- copies */

static void copy_all_ways(void) {
  char out[64] = "", *device = NULL, *host = NULL;
  const char text[] = "what was written";
  GOOD(sim_cudaMalloc((void **)&device, 4096));
  GOOD(sim_cudaMallocHost((void **)&host, 4096));
  GOOD(sim_cudaMemcpy(device, text, sizeof text, cudaMemcpyHostToDevice));
  GOOD(sim_cudaMemcpy(out, device, sizeof text, cudaMemcpyDefault));
  CHECK(memcmp(out, text, sizeof text) == 0);
  GOOD(sim_cudaMemcpyAsync(device + 1024, device, sizeof text, cudaMemcpyDeviceToDevice, NULL));
  GOOD(sim_cudaMemcpyAsync(host, device + 1024, sizeof text, cudaMemcpyDeviceToHost, NULL));
  GOOD(sim_cudaStreamSynchronize(NULL));
  CHECK(memcmp(host, text, sizeof text) == 0);
  GOOD(sim_cudaMemset(device, 7, 16));
  GOOD(sim_cudaMemcpy_ptds(out, device, 16, cudaMemcpyDeviceToHost));
  CHECK(out[0] == 7 && out[15] == 7);
  FAILS(sim_cudaMemcpy(device, text, 1, (enum cudaMemcpyKind)5), cudaErrorInvalidMemcpyDirection);
  FAILS(sim_cudaMemcpy(device + 4090, text, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  FAILS(sim_cudaMemcpyAsync(out, device, 1, cudaMemcpyDefault, (cudaStream_t)(uintptr_t)0x50000000),
        cudaErrorInvalidResourceHandle);
  FAILS(sim_cudaMemcpyPeer(device, 0, device, 3, 1), cudaErrorInvalidDevice);
  GOOD(sim_cudaMemcpyPeer(device + 64, 0, device, 0, 16));
}

static void copy_rows_of_many_kinds(void) {
  char in[6][8], out[6][8], *device = NULL;
  size_t pitch = 0;
  memset(in, 0, sizeof in);
  for (int row = 0; row < 6; row++) (void)snprintf(in[row], 8, "row %c", "012345"[row]);
  GOOD(sim_cudaMallocPitch((void **)&device, &pitch, 8, 6));
  GOOD(sim_cudaMemcpy2D(device, pitch, in, 8, 8, 6, cudaMemcpyHostToDevice));
  memset(out, 1, sizeof out);
  GOOD(sim_cudaMemcpy2D(out, 8, device, pitch, 8, 6, cudaMemcpyDeviceToHost));
  CHECK(memcmp(in, out, sizeof in) == 0);
  FAILS(sim_cudaMemcpy2D(device, 4, in, 8, 8, 6, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);

  cudaArray_t array = NULL;
  const struct cudaChannelFormatDesc bytes =
      sim_cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
  GOOD(sim_cudaMalloc3DArray(&array, &bytes, (struct cudaExtent){8, 3, 2}, 0));
  struct cudaMemcpy3DParms copy = {
      .srcPtr = {in, 8, 8, 3}, .dstArray = array, .extent = {8, 3, 2}, .kind = cudaMemcpyHostToDevice};
  GOOD(sim_cudaMemcpy3D(&copy));
  memset(out, 1, sizeof out);
  GOOD(sim_cudaMemcpy2DFromArray(out, 8, array, 0, 1, 8, 2, cudaMemcpyDeviceToHost));
  CHECK(memcmp(in[1], out[0], 16) == 0);
  copy = (struct cudaMemcpy3DParms){.srcArray = array,
                                    .srcPos = {2, 1, 1},
                                    .dstPtr = {out, 8, 8, 1},
                                    .extent = {3, 1, 1},
                                    .kind = cudaMemcpyDeviceToHost};
  GOOD(sim_cudaMemcpy3D(&copy));
  CHECK(memcmp(out, in[4] + 2, 3) == 0);
  copy.srcPtr.ptr = in; /* two sources */
  FAILS(sim_cudaMemcpy3D(&copy), cudaErrorInvalidValue);
  struct cudaChannelFormatDesc format;
  struct cudaExtent extent;
  unsigned flags = 1;
  GOOD(sim_cudaArrayGetInfo(&format, &extent, &flags, array));
  CHECK(format.x == 8 && extent.depth == 2 && flags == 0);
  GOOD(sim_cudaFreeArray(array));
  FAILS(sim_cudaFreeArray(array), cudaErrorInvalidResourceHandle);
  FAILS(sim_cudaMemcpy2DFromArray(out, 8, array, 0, 0, 8, 1, cudaMemcpyDeviceToHost),
        cudaErrorInvalidResourceHandle);
  FAILS(sim_cudaMallocArray(&array, &bytes, 0, 0, 0), cudaErrorInvalidValue);
  GOOD(sim_cudaMallocArray(&array, &bytes, 8, 0, 0)); /* one dimension, at the place that is free again */
}

static void copy_to_variables(void) {
  test_binary binary;
  test_binary_init(&binary, test_architectures);
  void **handle = test_register(&binary);
  char out[16] = "", *device = NULL;
  size_t size = 0;
  GOOD(sim_cudaGetSymbolSize(&size, &test_variable));
  CHECK(size == 256);
  GOOD(sim_cudaMemcpyToSymbol(&test_variable, "constant", 9, 16, cudaMemcpyHostToDevice));
  GOOD(sim_cudaMemcpyFromSymbol(out, &test_variable, 9, 16, cudaMemcpyDeviceToHost));
  CHECK(strcmp(out, "constant") == 0);
  GOOD(sim_cudaGetSymbolAddress((void **)&device, &test_variable));
  GOOD(sim_cudaMemcpy(out, device + 16, 4, cudaMemcpyDeviceToHost));
  CHECK(memcmp(out, "cons", 4) == 0);
  FAILS(sim_cudaMemcpyToSymbol(&test_variable, "x", 2, 255, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  FAILS(sim_cudaMemcpyToSymbol(&test_kernels, "x", 1, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
  FAILS(sim_cudaMemcpyToSymbol(&test_variable, "x", 1, 0, cudaMemcpyDeviceToHost),
        cudaErrorInvalidMemcpyDirection);
  FAILS(sim_cudaGetSymbolAddress((void **)&device, out), cudaErrorInvalidSymbol);
  GOOD(sim_cudaDeviceReset());
  char *again = NULL;
  GOOD(sim_cudaMalloc((void **)&again, 2 * MIB)); /* takes the place */
  GOOD(sim_cudaGetSymbolAddress((void **)&device, &test_variable));
  CHECK(device != again);
  sim___cudaUnregisterFatBinary(handle);
  FAILS(sim_cudaGetSymbolSize(&size, &test_variable), cudaErrorInvalidSymbol);
}

static void test_copies(void **state) {
  (void)state;
  expect_apart(copy_all_ways, WITH("VRAMSCOPE_SIM_VALUES=keep"), "");
  expect_apart(copy_rows_of_many_kinds, WITH("VRAMSCOPE_SIM_VALUES=keep"), "");
  expect_apart(copy_to_variables, WITH("VRAMSCOPE_SIM_VALUES=keep"), "");
}

/* ---- kernels */

static void launch_rightly(void) {
  test_binary binary;
  test_binary_init(&binary, test_architectures);
  (void)test_register(&binary);
  const void *kernel = &test_kernels[3];
  cudaKernel_t handle = NULL;
  const dim3 large = {1024, 2, 1};
  GOOD(sim_cudaLaunchKernel(kernel, one, one, NULL, 0, NULL));
  GOOD(sim___cudaGetKernel(&handle, kernel));
  GOOD(sim___cudaLaunchKernel(handle, one, one, NULL, 0, NULL));
  GOOD(sim_cudaLaunchKernel(handle, one, one, NULL, 0, NULL)); /* a handle is enough */
  FAILS(sim_cudaLaunchKernel(&kernel, one, one, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
  FAILS(sim_cudaLaunchKernel((const char *)handle + 1, one, one, NULL, 0, NULL),
        cudaErrorInvalidDeviceFunction);
  FAILS(sim_cudaLaunchKernel(kernel, (dim3){0, 1, 1}, one, NULL, 0, NULL), cudaErrorInvalidConfiguration);
  FAILS(sim_cudaLaunchKernel(kernel, one, large, NULL, 0, NULL), cudaErrorInvalidConfiguration);
  FAILS(sim_cudaLaunchKernel(kernel, one, one, NULL, 64 * 1024, NULL), cudaErrorInvalidValue);
  GOOD(sim_cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  GOOD(sim_cudaLaunchKernel(kernel, one, one, NULL, 64 * 1024, NULL));
  FAILS(sim_cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449),
        cudaErrorInvalidValue);
  FAILS(sim_cudaFuncSetAttribute(kernel, (enum cudaFuncAttribute)99, 1), cudaErrorInvalidValue);
  const cudaLaunchConfig_t config = {.gridDim = one, .blockDim = one};
  GOOD(sim_cudaLaunchKernelExC(&config, kernel, NULL));
  FAILS(sim_cudaLaunchKernelExC(NULL, kernel, NULL), cudaErrorInvalidValue);
  FAILS(sim_cudaLaunchKernel(kernel, one, one, NULL, 0, (cudaStream_t)(uintptr_t)12345),
        cudaErrorInvalidResourceHandle);
}

static void configure_launches(void) {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = NULL;
  CHECK(sim___cudaPushCallConfiguration((dim3){1, 2, 3}, (dim3){4, 5, 6}, 7, cudaStreamPerThread) == 0);
  CHECK(sim___cudaPushCallConfiguration(one, one, 0, NULL) == 0);
  GOOD(sim___cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  CHECK(grid.x == 1 && shared == 0 && stream == NULL);
  GOOD(sim___cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  CHECK(grid.z == 3 && block.x == 4 && block.z == 6 && shared == 7 && stream == cudaStreamPerThread);
  FAILS(sim___cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaErrorMissingConfiguration);
  for (size_t i = 0; i < MOST_CONFIGURATIONS; i++)
    CHECK(sim___cudaPushCallConfiguration(one, one, 0, NULL) == 0);
  CHECK(sim___cudaPushCallConfiguration(one, one, 0, NULL) != 0);
}

/* Two cards, one program: each gets the code that its driver would choose. */
static void know_code(void) {
  static const unsigned later[] = {100, 120, 0};
  test_binary binary, other;
  struct cudaFuncAttributes what;
  test_binary_init(&binary, test_architectures);
  (void)test_register(&binary);
  memset(&what, 0xff, sizeof what);
  GOOD(sim_cudaFuncGetAttributes(&what, &test_kernels[0]));
  CHECK(what.ptxVersion == 90 && what.binaryVersion == 90 && what.maxThreadsPerBlock == 1024);
  CHECK(what.maxDynamicSharedSizeBytes == 49152 && what.reserved[15] == 0 &&
        what.preferredShmemCarveout == -1);
  GOOD(sim_cudaSetDevice(1));
  GOOD(sim_cudaFuncGetAttributes(&what, &test_kernels[0]));
  CHECK(what.ptxVersion == 86 && what.binaryVersion == 86);
  FAILS(sim_cudaFuncGetAttributes(&what, &what), cudaErrorInvalidDeviceFunction);
  FAILS(sim_cudaFuncGetAttributes(NULL, &test_kernels[0]), cudaErrorInvalidValue);
  test_binary_init(&other, later);
  (void)test_register(&other); /* the last registration counts */
  FAILS(sim_cudaLaunchKernel(&test_kernels[0], one, one, NULL, 0, NULL), cudaErrorNoKernelImageForDevice);
}

/* The same container twice: once where it cannot be written, as compilers lay it down, and once where it can. */
#define CODE (UINT64_C(1) << 18)
#define CONTAINER                                                                        \
  {                                                                                      \
    0x50, 0xed, 0x55, 0xba, 1, 0, VS_FATBINARY_HEAD_SIZE, 0, 0xf0, 0xff,                 \
        3, [16] = KIND_CUBIN, [20] = 64, [24] = 0xb0, 0xff, 3, [44] = 90, [CODE / 2] = 1 \
  }
static const uint8_t code_of_file[CODE] = CONTAINER;
static uint8_t code_in_memory[CODE] = CONTAINER;

/* Whether the process has a page there; an access would read it again. */
static bool has_page(const uint8_t *address) {
  uint64_t entry = 0;
  const uint64_t number = (uintptr_t)address / (uint64_t)sysconf(_SC_PAGESIZE);
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0 && pread(file, &entry, sizeof entry, (off_t)(number * sizeof entry)) == sizeof entry);
  (void)close(file);
  return entry >> 63 != 0;
}

static void release_code(void) {
  const uint8_t *containers[] = {code_of_file, code_in_memory};
  code_in_memory[CODE / 2] = 2; /* if its pages were released, it would be 1 again */
  for (size_t i = 0; i < 2; i++) {
    test_binary binary = {.wrapper = {VS_FATBINARY_WRAPPER_MAGIC, 1, containers[i], NULL}};
    struct cudaFuncAttributes what;
    CHECK(vs_fatbinary_size(containers[i]) == CODE);
    CHECK(*(const volatile uint8_t *)&containers[i][CODE / 2] == i + 1 && has_page(&containers[i][CODE / 2]));
    void **handle = test_register(&binary);
    GOOD(sim_cudaFuncGetAttributes(&what, &test_kernels[0]));
    CHECK(what.binaryVersion == 90);
    CHECK(has_page(&containers[i][CODE / 2]) == (i == 1)); /* first: asking for its value reads it */
    CHECK(*(const volatile uint8_t *)&containers[i][CODE / 2] == i + 1);
    sim___cudaUnregisterFatBinary(handle);
  }
}

static void know_occupancy(void) {
  test_binary binary;
  int blocks = -1;
  size_t bytes = 0;
  test_binary_init(&binary, test_architectures);
  (void)test_register(&binary);
  const void *kernel = &test_kernels[0];
  GOOD(sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
  CHECK(blocks == 6); /* 1,536 threads */
  GOOD(sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 0));
  CHECK(blocks == 24);
  GOOD(sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 47 * 1024));
  CHECK(blocks == 2); /* of 100 KiB, with the KiB that each block costs */
  GOOD(sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 90 * 1024));
  CHECK(blocks == 0);
  GOOD(sim_cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 90 * 1024));
  GOOD(sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 90 * 1024));
  CHECK(blocks == 1);
  GOOD(sim_cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 2, 64));
  CHECK(bytes == 49 * 1024);
  FAILS(sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 0, 0), cudaErrorInvalidValue);
  FAILS(sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, kernel, 32, 0), cudaErrorInvalidValue);
}

/* As many as a large program has, of which half go away again, as at the end of a library. */
static void register_many(void) {
  enum { MODULES = 64, EACH = 512 };
  char *hosts = malloc((size_t)MODULES * EACH);
  void **handles[MODULES];
  test_binary binary;
  test_binary_init(&binary, test_architectures);
  CHECK(hosts != NULL);
  for (size_t m = 0; m < MODULES; m++) {
    handles[m] = sim___cudaRegisterFatBinary(&binary.wrapper);
    for (size_t i = 0; i < EACH; i++)
      sim___cudaRegisterFunction(handles[m], &hosts[m * EACH + i], NULL, "k", -1, NULL, NULL, NULL, NULL,
                                 NULL);
  }
  cudaKernel_t kept = NULL, gone = NULL;
  GOOD(sim___cudaGetKernel(&kept, &hosts[EACH]));
  GOOD(sim___cudaGetKernel(&gone, &hosts[0]));
  for (size_t m = 0; m < MODULES; m += 2) sim___cudaUnregisterFatBinary(handles[m]);
  for (size_t i = 0; i < (size_t)MODULES * EACH; i++)
    CHECK((vs_rt_kernel(&hosts[i]) != NULL) == (i / EACH % 2 == 1));
  GOOD(sim___cudaLaunchKernel(kept, one, one, NULL, 0, NULL));
  FAILS(sim___cudaLaunchKernel(gone, one, one, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
  free(hosts);
}

static void load_libraries(void) {
  cudaLibrary_t library = NULL;
  cudaKernel_t kernel = NULL, again = NULL;
  GOOD(sim_cudaLibraryLoadData(&library, "code", NULL, NULL, 0, NULL, NULL, 0));
  GOOD(sim_cudaLibraryGetKernel(&kernel, library, "some_kernel"));
  GOOD(sim_cudaLibraryGetKernel(&again, library, "some_kernel"));
  CHECK(kernel == again);
  const char *name = NULL;
  GOOD(sim_cudaFuncGetName(&name, kernel));
  CHECK(strcmp(name, "some_kernel") == 0);
  GOOD(sim_cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536, 0));
  GOOD(sim_cudaLaunchKernel(kernel, one, one, NULL, 65536, NULL));
  GOOD(sim_cudaLibraryUnload(library));
  FAILS(sim_cudaLaunchKernel(kernel, one, one, NULL, 0, NULL), cudaErrorInvalidDeviceFunction);
  FAILS(sim_cudaLibraryUnload(library), cudaErrorInvalidResourceHandle);
  FAILS(sim_cudaLibraryLoadFromFile(&library, "/nowhere/at/all", NULL, NULL, 0, NULL, NULL, 0),
        cudaErrorFileNotFound);
}

/* A managed variable: the program's pointer to it is filled when its module is initialized. */
static void have_managed_variable(void) {
  test_binary binary;
  test_binary_init(&binary, test_architectures);
  void **handle = sim___cudaRegisterFatBinary(&binary.wrapper);
  int *pointer = NULL;
  sim___cudaRegisterManagedVar(handle, (void **)&pointer, NULL, "managed", 0, sizeof(int), 0, 0);
  CHECK(sim___cudaInitModule(handle) != 0);
  CHECK(pointer != NULL);
  *pointer = 5;
  CHECK(sim___cudaInitModule(handle) != 0 && *pointer == 5);
}

static void test_kernels_and_code(void **state) {
  (void)state;
  expect_apart(launch_rightly, WITH_NOTHING, "");
  expect_apart(configure_launches, WITH_NOTHING, "");
  expect_apart(know_code, WITH("VRAMSCOPE_SIM_GPU=H100,RTX4090"), "");
  if (access("/proc/self/pagemap", R_OK) == 0) expect_apart(release_code, WITH("VRAMSCOPE_SIM_GPU=H100"), "");
  else
    print_message("not tested: which pages of a fat binary are released, since this kernel has no "
                  "/proc/self/pagemap\n");
  expect_apart(know_occupancy, WITH("VRAMSCOPE_SIM_GPU=RTX4090"), "");
  expect_apart(register_many, WITH_NOTHING, "");
  expect_apart(load_libraries, WITH_NOTHING, "");
}

static void test_managed_memory(void **state) {
  (void)state;
  SKIP_MANAGED_MEMORY();
  expect_apart(know_addresses, WITH("VRAMSCOPE_SIM_GPU=H100,H100"), "");
  expect_apart(advise_managed, WITH_NOTHING, "");
  expect_apart(have_managed_variable, WITH_NOTHING, "");
}

/* ---- streams, host functions, graphs */

static void use_streams(void) {
  cudaStream_t first = NULL, second = NULL;
  unsigned flags = 0;
  int priority = 9, device = -1;
  unsigned long long id = 0;
  GOOD(sim_cudaStreamCreateWithPriority(&first, cudaStreamNonBlocking, -3));
  CHECK((uintptr_t)first == VS_SIM_STREAM_BASE);
  GOOD(sim_cudaStreamGetPriority(first, &priority));
  GOOD(sim_cudaStreamGetFlags(first, &flags));
  GOOD(sim_cudaStreamGetDevice(first, &device));
  GOOD(sim_cudaStreamGetId(first, &id));
  CHECK(priority == -3 && flags == cudaStreamNonBlocking && device == 0 && id != 0);
  FAILS(sim_cudaStreamGetFlags(first, NULL), cudaErrorInvalidValue);
  FAILS(sim_cudaStreamGetFlags((cudaStream_t)(uintptr_t)99, &flags), cudaErrorInvalidResourceHandle);
  FAILS(sim_cudaStreamCreateWithFlags(&second, 8), cudaErrorInvalidValue);
  cudaEvent_t start = NULL, end = NULL;
  float milliseconds = -1;
  GOOD(sim_cudaEventCreate(&start));
  GOOD(sim_cudaEventCreateWithFlags(&end, 0));
  GOOD(sim_cudaEventRecord(start, first));
  GOOD(sim_cudaEventRecord(end, first));
  GOOD(sim_cudaEventSynchronize(end));
  GOOD(sim_cudaEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds > 0);
  GOOD(sim_cudaStreamWaitEvent(NULL, end, 0));
  GOOD(sim_cudaEventDestroy(start));
  FAILS(sim_cudaEventRecord(start, first), cudaErrorInvalidResourceHandle);
  GOOD(sim_cudaStreamDestroy(first));
  FAILS(sim_cudaStreamSynchronize(first), cudaErrorInvalidResourceHandle);
  cudaStreamAttrValue value = {.pad = {0}};
  GOOD(sim_cudaStreamGetAttribute(NULL, cudaLaunchAttributeSynchronizationPolicy, &value));
  CHECK(value.syncPolicy == cudaSyncPolicyAuto);
  FAILS(sim_cudaStreamGetAttribute(NULL, cudaLaunchAttributeCooperative, &value), cudaErrorInvalidValue);
}

/* The program's functions wait for a lock that the launching thread holds, as they may. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int calls;
static pthread_t caller;

static void count_call(void *by) {
  pthread_mutex_lock(&gate);
  calls += *(const int *)by;
  caller = pthread_self();
  pthread_mutex_unlock(&gate);
}

static void count_stream_call(cudaStream_t stream, cudaError_t error, void *by) {
  if (stream == cudaStreamPerThread && error == cudaSuccess) count_call(by);
}

static void call_back(void) {
  static int one_call = 1, ten_calls = 10;
  pthread_mutex_lock(&gate);
  GOOD(sim_cudaLaunchHostFunc(NULL, count_call, &one_call));
  GOOD(sim_cudaStreamAddCallback(cudaStreamPerThread, count_stream_call, &ten_calls, 0));
  FAILS(sim_cudaStreamQuery(NULL), cudaErrorNotReady); /* events are complete at once, functions are not */
  CHECK(calls == 0);
  pthread_mutex_unlock(&gate);
  GOOD(sim_cudaDeviceSynchronize());
  CHECK(calls == 11 && !pthread_equal(caller, pthread_self()));
  GOOD(sim_cudaStreamQuery(NULL));
  FAILS(sim_cudaLaunchHostFunc(NULL, NULL, NULL), cudaErrorInvalidValue);
}

static void count_slowly(void *by) {
  usleep(20000);
  count_call(by);
}

/* Freeing memory waits for all work of the device, a synchronous copy for that of its stream. */
static void wait_implicitly(void) {
  static int one_call = 1;
  void *memory = NULL, *host = NULL;
  char byte = 0;
  GOOD(sim_cudaMalloc(&memory, MIB));
  GOOD(sim_cudaMallocHost(&host, 4096));
  GOOD(sim_cudaLaunchHostFunc(NULL, count_slowly, &one_call));
  GOOD(sim_cudaMemcpy(memory, &byte, 1, cudaMemcpyHostToDevice));
  CHECK(calls == 1);
  GOOD(sim_cudaLaunchHostFunc(NULL, count_slowly, &one_call));
  GOOD(sim_cudaFree(memory));
  CHECK(calls == 2);
  GOOD(sim_cudaLaunchHostFunc(NULL, count_slowly, &one_call));
  GOOD(sim_cudaFreeHost(host));
  CHECK(calls == 3);
}

static void capture(void) {
  static int one_call = 1;
  test_binary binary;
  cudaStream_t stream = NULL;
  cudaGraph_t graph = NULL, seen = NULL;
  cudaGraphExec_t exec = NULL;
  enum cudaStreamCaptureStatus status;
  const cudaGraphNode_t *dependencies = NULL;
  unsigned long long id = 0;
  size_t count = 0;
  char *device = NULL;
  void *late = NULL;
  test_binary_init(&binary, test_architectures);
  (void)test_register(&binary);
  GOOD(sim_cudaMalloc((void **)&device, 4096));
  GOOD(sim_cudaStreamCreate(&stream));
  GOOD(sim_cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  GOOD(sim_cudaLaunchKernel(&test_kernels[0], one, one, NULL, 0, stream));
  GOOD(sim_cudaMemsetAsync(device, 0, 512, stream));
  GOOD(sim_cudaMemcpyAsync(device + 512, device, 512, cudaMemcpyDeviceToDevice, stream));
  GOOD(sim_cudaLaunchHostFunc(stream, count_call, &one_call));
  GOOD(sim_cudaStreamGetCaptureInfo(stream, &status, &id, &seen, &dependencies, NULL, &count));
  CHECK(status == cudaStreamCaptureStatusActive && id != 0 && count == 1 && dependencies != NULL);
  GOOD(sim_cudaStreamEndCapture(stream, &graph));
  CHECK(graph == seen);
  GOOD(sim_cudaGraphGetNodes(graph, NULL, &count));
  CHECK(count == 4);
  enum cudaGraphNodeType type;
  GOOD(sim_cudaGraphNodeGetType(dependencies[0], &type));
  CHECK(type == cudaGraphNodeTypeHost && calls == 0);
  GOOD(sim_cudaGraphInstantiate(&exec, graph, 0));
  GOOD(sim_cudaGraphLaunch(exec, stream));
  GOOD(sim_cudaStreamSynchronize(stream));
  CHECK(calls == 1);
  GOOD(sim_cudaGraphExecDestroy(exec));
  GOOD(sim_cudaGraphDestroy(graph));
  FAILS(sim_cudaGraphDestroy(graph), cudaErrorInvalidResourceHandle);

  GOOD(sim_cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)); /* an allocation ends it */
  FAILS(sim_cudaMalloc(&late, 4096), cudaErrorStreamCaptureUnsupported);
  FAILS(sim_cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  CHECK(graph == NULL);
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  GOOD(sim_cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  GOOD(sim_cudaThreadExchangeStreamCaptureMode(&mode)); /* unless the thread says that it knows */
  CHECK(mode == cudaStreamCaptureModeGlobal);
  GOOD(sim_cudaMalloc(&late, 4096));
  GOOD(sim_cudaThreadExchangeStreamCaptureMode(&mode));
  FAILS(sim_cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  FAILS(sim_cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
}

static void build_graph(void) {
  static int one_call = 1;
  cudaGraph_t graph = NULL, clone = NULL;
  cudaGraphNode_t first = NULL, second = NULL, third = NULL, memory = NULL, list[4];
  cudaGraphExec_t exec = NULL;
  size_t count = 4;
  struct cudaHostNodeParams host = {.fn = count_call, .userData = &one_call}, back;
  GOOD(sim_cudaGraphCreate(&graph, 0));
  GOOD(sim_cudaGraphAddEmptyNode(&first, graph, NULL, 0));
  GOOD(sim_cudaGraphAddHostNode(&second, graph, &first, 1, &host));
  GOOD(sim_cudaGraphHostNodeGetParams(second, &back));
  CHECK(back.fn == count_call && back.userData == &one_call);
  FAILS(sim_cudaGraphHostNodeGetParams(first, &back), cudaErrorInvalidValue);
  struct cudaGraphNodeParams any = {.type = cudaGraphNodeTypeHost};
  any.host.fn = count_call;
  any.host.userData = &one_call;
  GOOD(sim_cudaGraphAddNode(&third, graph, NULL, NULL, 0, &any));
  GOOD(sim_cudaGraphAddDependencies(graph, &second, &third, NULL, 1));
  GOOD(sim_cudaGraphNodeGetDependencies(third, list, NULL, &count));
  CHECK(count == 1 && list[0] == second);
  GOOD(sim_cudaGraphClone(&clone, graph));
  GOOD(sim_cudaGraphInstantiate(&exec, clone, 0));
  GOOD(sim_cudaGraphLaunch(exec, NULL));
  GOOD(sim_cudaDeviceSynchronize());
  CHECK(calls == 2);
  cudaGraphExecUpdateResultInfo info;
  GOOD(sim_cudaGraphExecUpdate(exec, graph, &info));
  CHECK(info.result == cudaGraphExecUpdateSuccess);
  GOOD(sim_cudaGraphDestroyNode(third));
  FAILS(sim_cudaGraphExecUpdate(exec, graph, &info), cudaErrorGraphExecUpdateFailure);
  CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
  struct cudaMemAllocNodeParams wanted = {
      .poolProps = {.allocType = cudaMemAllocationTypePinned, .location = {cudaMemLocationTypeDevice, 0}},
      .bytesize = MIB};
  GOOD(sim_cudaGraphAddMemAllocNode(&memory, graph, NULL, 0, &wanted));
  CHECK(wanted.dptr != NULL);
  GOOD(sim_cudaGraphAddMemFreeNode(&third, graph, &memory, 1, wanted.dptr));
  void *freed = NULL;
  GOOD(sim_cudaGraphMemFreeNodeGetParams(third, &freed));
  CHECK(freed == wanted.dptr);
  FAILS(sim_cudaGraphAddMemFreeNode(&third, graph, &memory, 1, &graph), cudaErrorInvalidValue);
}

static void keep_objects(void) {
  static int one_call = 1;
  cudaUserObject_t object = NULL;
  cudaGraph_t graph = NULL;
  GOOD(sim_cudaUserObjectCreate(&object, &one_call, count_call, 1, 1));
  GOOD(sim_cudaGraphCreate(&graph, 0));
  GOOD(sim_cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  CHECK(calls == 0);
  GOOD(sim_cudaGraphDestroy(graph));
  GOOD(sim_cudaDeviceSynchronize());
  CHECK(calls == 1);
  FAILS(sim_cudaUserObjectRelease(object, 1), cudaErrorInvalidResourceHandle);
}

static void draw_graph(void) {
  cudaGraph_t graph = NULL;
  cudaGraphNode_t first = NULL, second = NULL;
  char path[] = "/tmp/vramscope-XXXXXX", text[512] = "";
  const int fd = mkstemp(path);
  CHECK(fd >= 0);
  GOOD(sim_cudaGraphCreate(&graph, 0));
  GOOD(sim_cudaGraphAddEmptyNode(&first, graph, NULL, 0));
  GOOD(sim_cudaGraphAddEmptyNode(&second, graph, &first, 1));
  GOOD(sim_cudaGraphDebugDotPrint(graph, path, 0));
  CHECK(read(fd, text, sizeof text - 1) > 0);
  CHECK(unlink(path) == 0 && close(fd) == 0);
  CHECK(strncmp(text, "digraph", 7) == 0 && strstr(text, "->") != NULL);
  FAILS(sim_cudaGraphDebugDotPrint(graph, "/nowhere/at/all", 0), cudaErrorInvalidValue);
}

static void want_condition(void) {
  cudaGraph_t graph = NULL;
  cudaGraphNode_t node = NULL;
  struct cudaGraphNodeParams any = {.type = cudaGraphNodeTypeConditional};
  GOOD(sim_cudaGraphCreate(&graph, 0));
  FAILS(sim_cudaGraphAddNode(&node, graph, NULL, NULL, 0, &any), cudaErrorNotSupported);
}

static void test_streams_and_graphs(void **state) {
  (void)state;
  expect_apart(use_streams, WITH_NOTHING, "");
  expect_apart(call_back, WITH_NOTHING, "");
  expect_apart(wait_implicitly, WITH_NOTHING, "");
  expect_apart(capture, WITH_NOTHING, "");
  expect_apart(build_graph, WITH_NOTHING, "");
  expect_apart(keep_objects, WITH_NOTHING, "");
  expect_apart(draw_graph, WITH_NOTHING, "");
  apart result;
  run_apart(want_condition, WITH_NOTHING, &result);
  assert_int_equal(result.status, 0);
  assert_non_null(strstr(result.errors, "a conditional node of a graph"));
}

/* ---- between processes */

static void share(void) {
  cudaIpcMemHandle_t handle;
  cudaIpcEventHandle_t event_handle;
  void *memory = NULL, *opened = NULL;
  cudaEvent_t event = NULL, plain = NULL, other = NULL;
  GOOD(sim_cudaMalloc(&memory, 4 * MIB));
  GOOD(sim_cudaIpcGetMemHandle(&handle, memory));
  FAILS(sim_cudaIpcGetMemHandle(&handle, &handle), cudaErrorInvalidValue);
  FAILS(sim_cudaIpcOpenMemHandle(&opened, handle, 1), cudaErrorDeviceUninitialized); /* its own */
  FAILS(sim_cudaIpcOpenMemHandle(NULL, handle, 1), cudaErrorInvalidValue);
  memset(&handle, 0, sizeof handle);
  FAILS(sim_cudaIpcOpenMemHandle(&opened, handle, 1), cudaErrorInvalidValue);
  GOOD(sim_cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
  GOOD(sim_cudaEventCreate(&plain));
  GOOD(sim_cudaIpcGetEventHandle(&event_handle, event));
  FAILS(sim_cudaIpcGetEventHandle(&event_handle, plain), cudaErrorInvalidResourceHandle);
  GOOD(sim_cudaIpcOpenEventHandle(&other, event_handle));
  GOOD(sim_cudaEventQuery(other));
  memset(&event_handle, 0, sizeof event_handle);
  FAILS(sim_cudaIpcOpenEventHandle(&other, event_handle), cudaErrorInvalidResourceHandle);
}

static void test_sharing(void **state) {
  (void)state;
  expect_apart(share, WITH_NOTHING, "");
}

/* ---- versions, limits */

static void ask_versions(void) {
  int version = 0;
  size_t value = 0;
  GOOD(sim_cudaRuntimeGetVersion(&version));
  CHECK(version == 13020);
  GOOD(sim_cudaDriverGetVersion(&version));
  CHECK(version == 13020);
  GOOD(sim_cudaDeviceGetLimit(&value, cudaLimitStackSize));
  CHECK(value == 1024);
  FAILS(sim_cudaDeviceGetLimit(&value, (enum cudaLimit)77), cudaErrorUnsupportedLimit);
  FAILS(sim_cudaDeviceGetLimit(NULL, cudaLimitStackSize), cudaErrorInvalidValue);
}

static void test_versions(void **state) {
  (void)state;
  expect_apart(ask_versions, WITH_NOTHING, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_devices),
      cmocka_unit_test(test_peers),
      cmocka_unit_test(test_last_error),
      cmocka_unit_test(test_error_names),
      cmocka_unit_test(test_fork),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_pools),
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_kernels_and_code),
      cmocka_unit_test(test_managed_memory),
      cmocka_unit_test(test_streams_and_graphs),
      cmocka_unit_test(test_sharing),
      cmocka_unit_test(test_versions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
