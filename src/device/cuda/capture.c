/* Graph capture: whether a stream takes part in one, and the dependencies of its nodes. */
#include "device/cuda/device_internal.h"

/* The answer of both versions of the call. The driver owns the array, until the next call. */
typedef struct answer {
  CUstreamCaptureStatus status;
  CUgraph graph;
  const CUgraphNode *nodes;
  size_t count;
} answer;

static CUresult ask(vs_cuda_device *device, CUstream stream, answer *to) {
  cuuint64_t id = 0;
  const CUgraphEdgeData *edges = NULL;
  *to = (answer){.status = CU_STREAM_CAPTURE_STATUS_NONE};
  return device->cuda->api.capture_info_v3 != NULL
             ? VS_CUDA__CALL(device, capture_info_v3, stream, &to->status, &id, &to->graph, &to->nodes,
                             &edges, &to->count)
             : VS_CUDA__CALL(device, capture_info_v2, stream, &to->status, &id, &to->graph, &to->nodes,
                             &to->count);
}

vs_device_result vs_cuda__capture_info(void *ctx, uint64_t stream, vs_device_capture *capture) {
  vs_cuda_device *device = ctx;
  answer is;
  *capture = (vs_device_capture){0};
  if (device->cuda->api.capture_info_v3 == NULL && device->cuda->api.capture_info_v2 == NULL)
    return vs_cuda__missing(device);
  CUresult error = ask(device, vs_cuda__handle(stream), &is);
  if (error == CUDA_SUCCESS && is.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    error = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (error != CUDA_SUCCESS) return vs_cuda__answer(device, error, VS_DEVICE_NO_HOST_MEMORY);
  if (is.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return VS_DEVICE_OK;
  device->nodes.count = 0;
  if (vs_vec_reserve(device->host, &device->nodes, is.count) != VS_OK) return VS_DEVICE_NO_HOST_MEMORY;
  for (size_t i = 0; i < is.count; i++)
    device->nodes.data[device->nodes.count++] = vs_cuda__number(is.nodes[i]);
  *capture = (vs_device_capture){true, vs_cuda__number(is.graph), device->nodes.data, device->nodes.count};
  return VS_DEVICE_OK;
}

/* The driver writes handles directly into the array of numbers, so both must have the same size. */
_Static_assert(sizeof(CUgraphNode) == sizeof(uint64_t), "a handle is a number of 64 bits");

static CUresult needs_of(vs_cuda_device *device, CUgraphNode node, uint64_t *into, CUgraphEdgeData *edges,
                         size_t *count) {
  CUgraphNode *nodes = (CUgraphNode *)(void *)into;
  return device->cuda->api.node_needs_v2 != NULL
             ? VS_CUDA__CALL(device, node_needs_v2, node, nodes, edges, count)
             : VS_CUDA__CALL(device, node_needs, node, nodes, count);
}

vs_device_result vs_cuda__needs(void *ctx, uint64_t graph, uint64_t number, const uint64_t **nodes,
                                uint64_t *count) {
  vs_cuda_device *device = ctx;
  const CUgraphNode node = vs_cuda__handle(number);
  size_t room = 0;
  (void)graph; /* the node's handle is enough */
  *nodes = NULL;
  *count = 0;
  if (device->cuda->api.node_needs_v2 == NULL && device->cuda->api.node_needs == NULL)
    return vs_cuda__missing(device);
  CUresult error = needs_of(device, node, NULL, NULL, &room);
  if (error != CUDA_SUCCESS) return vs_cuda__answer(device, error, VS_DEVICE_NO_HOST_MEMORY);
  device->needed.count = device->edges.count = 0;
  if (vs_vec_reserve(device->host, &device->needed, room) != VS_OK ||
      vs_vec_reserve(device->host, &device->edges, room) != VS_OK)
    return VS_DEVICE_NO_HOST_MEMORY;
  VS_ASSERT(device->needed.capacity >= room && device->edges.capacity >= room);
  if (room > 0) error = needs_of(device, node, device->needed.data, device->edges.data, &room);
  if (error != CUDA_SUCCESS) return vs_cuda__answer(device, error, VS_DEVICE_NO_HOST_MEMORY);
  device->needed.count = room;
  *nodes = device->needed.data;
  *count = room;
  return VS_DEVICE_OK;
}
