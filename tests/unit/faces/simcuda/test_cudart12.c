/* The runtime face of CUDA 12, where it differs from that of 13: older layouts, and older forms beside the
 * newer ones. */
#define VS_CUDART 12
#include "unit/faces/simcuda/cudart_all.h"

/* The oldest form writes what a program of CUDA 11 has room for, and not a byte more. */
static void see_properties(void) {
  struct cudaDeviceProp all, old;
  const size_t old_size = 728;
  memset(&old, 0xee, sizeof old);
  GOOD(sim_cudaGetDeviceProperties_v2(&all, 0));
  GOOD(sim_cudaGetDeviceProperties(&old, 0));
  CHECK(sizeof all == 1032);
  CHECK(memcmp(&all, &old, old_size) == 0);
  for (size_t i = old_size; i < sizeof old; i++) CHECK(((const unsigned char *)&old)[i] == 0xee);
  CHECK(all.clockRate == 1980000 && all.memoryClockRate == 2619000 && all.memoryBusWidth == 5120);
  CHECK(all.computeMode == 0 && all.singleToDoublePrecisionPerfRatio == 2 && all.deviceOverlap == 1);
  CHECK(all.multiProcessorCount == 132 && all.major == 9 && all.reserved[62] == 0);
  CHECK(all.sharedMemPerBlockOptin == 232448 && all.clusterLaunch == 1);
  for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
    int value = 0, low = 0;
    GOOD(sim_cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)properties[i].attribute, 0));
    memcpy(&low, (const char *)&all + properties[i].offset, sizeof low);
    CHECK(low == value);
  }
}

static void ask_versions(void) {
  int version = 0;
  GOOD(sim_cudaRuntimeGetVersion(&version));
  CHECK(version == 12080);
  GOOD(sim_cudaDriverGetVersion(&version));
  CHECK(version == 13020); /* a newer driver serves an older runtime */
  GOOD(sim_cudaThreadSynchronize());
  GOOD(sim_cudaThreadExit());
}

static void capture(void) {
  cudaStream_t stream = NULL;
  cudaGraph_t graph = NULL, seen = NULL;
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long first = 0, second = 0, third = 0;
  const cudaGraphNode_t *nodes = NULL;
  const cudaGraphEdgeData *data = (const cudaGraphEdgeData *)&nodes;
  size_t count = 9;
  void *device = NULL;
  GOOD(sim_cudaMalloc(&device, 4096));
  GOOD(sim_cudaStreamCreate(&stream));
  GOOD(sim_cudaStreamGetCaptureInfo(stream, &status, &first));
  CHECK(status == cudaStreamCaptureStatusNone);
  GOOD(sim_cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  GOOD(sim_cudaMemsetAsync(device, 0, 16, stream));
  GOOD(sim_cudaStreamGetCaptureInfo(stream, &status, &first));
  GOOD(sim_cudaStreamGetCaptureInfo_v2(stream, &status, &second, &seen, &nodes, &count));
  CHECK(count == 1 && nodes[0] != NULL);
  GOOD(sim_cudaStreamGetCaptureInfo_v3(stream, &status, &third, &seen, &nodes, &data, &count));
  CHECK(first != 0 && first == second && second == third);
  CHECK(count == 1 && data[0].from_port == 0 && data[0].to_port == 0 && data[0].type == 0);
  CHECK(status == cudaStreamCaptureStatusActive);
  GOOD(sim_cudaStreamUpdateCaptureDependencies(stream, NULL, 0, cudaStreamSetCaptureDependencies));
  GOOD(sim_cudaStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, NULL, &count));
  CHECK(count == 0);
  GOOD(sim_cudaStreamEndCapture(stream, &graph));
  CHECK(graph == seen);
}

static void build_graph(void) {
  cudaGraph_t graph = NULL;
  cudaGraphNode_t first = NULL, second = NULL, from[2], to[2];
  cudaGraphEdgeData data[2];
  struct cudaGraphNodeParams any = {.type = cudaGraphNodeTypeEmpty};
  size_t count = 2;
  memset(data, 0xff, sizeof data);
  GOOD(sim_cudaGraphCreate(&graph, 0));
  GOOD(sim_cudaGraphAddNode(&first, graph, NULL, 0, &any));
  GOOD(sim_cudaGraphAddNode_v2(&second, graph, NULL, NULL, 0, &any));
  GOOD(sim_cudaGraphAddDependencies(graph, &first, &second, 1));
  GOOD(sim_cudaGraphGetEdges(graph, from, to, &count));
  CHECK(count == 1 && from[0] == first && to[0] == second);
  count = 2;
  GOOD(sim_cudaGraphGetEdges_v2(graph, from, to, data, &count));
  CHECK(count == 1 && data[0].type == 0 && data[0].from_port == 0);
  GOOD(sim_cudaGraphRemoveDependencies_v2(graph, &first, &second, NULL, 1));
  GOOD(sim_cudaGraphNodeGetDependentNodes(first, NULL, &count));
  CHECK(count == 0);
}

static void advise_managed(void) {
  void *managed = NULL;
  GOOD(sim_cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
  GOOD(sim_cudaMemAdvise(managed, 4096, cudaMemAdviseSetPreferredLocation, 0));
  GOOD(sim_cudaMemAdvise(managed, 4096, cudaMemAdviseSetAccessedBy, cudaCpuDeviceId));
  FAILS(sim_cudaMemAdvise(managed, 4096, cudaMemAdviseSetAccessedBy, 3), cudaErrorInvalidDevice);
  GOOD(sim_cudaMemPrefetchAsync(managed, 4096, 0, NULL));
  GOOD(sim_cudaMemPrefetchAsync(managed, 4096, cudaCpuDeviceId, NULL));
  FAILS(sim_cudaMemPrefetchAsync(managed, 4096, 3, NULL), cudaErrorInvalidDevice);
  struct cudaPointerAttributes what[2];
  memset(what, 0xee, sizeof what);
  GOOD(sim_cudaPointerGetAttributes(&what[0], managed));
  CHECK(sizeof what[0] == 24 && ((const unsigned char *)&what[1])[0] == 0xee);
}

static void test_older_forms(void **state) {
  (void)state;
  expect_apart(see_properties, WITH("VRAMSCOPE_SIM_GPU=H100"), "");
  expect_apart(ask_versions, WITH_NOTHING, "");
  expect_apart(capture, WITH_NOTHING, "");
  expect_apart(build_graph, WITH_NOTHING, "");
}

static void test_managed_memory(void **state) {
  (void)state;
  SKIP_MANAGED_MEMORY();
  expect_apart(advise_managed, WITH_NOTHING, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_older_forms),
                                     cmocka_unit_test(test_managed_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
