/* The cuDNN face: the packing of recurrent weights, descriptors of the backend, and the configured workspace. */
#include "faces/simcuda/cudnn/backend.c"
#include "faces/simcuda/cudnn/compute.c"
#include "faces/simcuda/cudnn/convolution_workspace.c"
#include "faces/simcuda/cudnn/descriptors.c"
#include "faces/simcuda/cudnn/graph.c"
#include "faces/simcuda/cudnn/library.c"
#include "faces/simcuda/cudnn/rnn.c"
#include "faces/simcuda/cudnn/pooling_convolution.c"
#include "unit/faces/simcuda/apart.h"

#define GOOD(call)          CHECK((call) == CUDNN_STATUS_SUCCESS)
#define FAILS(call, wanted) CHECK((call) == CUDNN_STATUS_##wanted)

static cudnnHandle_t new_handle(void) {
  cudnnHandle_t handle = NULL;
  GOOD(sim_cudnnCreate(&handle));
  return handle;
}

/* ---- recurrent weights: every value of the space belongs to exactly one part */

enum { SPACE = 1 << 16, MOST_LINEARS = 9 };

static void mark(uint8_t *marks, const void *weights, const void *at, cudnnTensorDescriptor_t part,
                 size_t size) {
  cudnnDataType_t type;
  int count = 0, dims[3] = {0}, strides[3] = {0};
  GOOD(sim_cudnnGetTensorNdDescriptor(part, 3, &type, &count, dims, strides));
  if (at == NULL) {
    CHECK(count == 0);
    return;
  }
  CHECK(count == 3 && dims[0] == 1 && type == CUDNN_DATA_FLOAT);
  const size_t from = (size_t)((uintptr_t)at - (uintptr_t)weights) / 4, values = (size_t)(dims[1] * dims[2]);
  CHECK((from + values) * 4 <= size);
  for (size_t i = from; i < from + values; i++) CHECK(marks[i]++ == 0);
}

static void packing_of(cudnnRNNMode_t mode, cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                       int projected, cudnnRNNInputMode_t input_mode) {
  static uint8_t marks[SPACE];
  const cudnnHandle_t handle = new_handle();
  const int gates = mode == CUDNN_LSTM ? 4 : mode == CUDNN_GRU ? 3 : 1, layers = 3;
  cudnnRNNDescriptor_t rnn;
  cudnnTensorDescriptor_t matrix, vector;
  GOOD(sim_cudnnCreateRNNDescriptor(&rnn));
  GOOD(sim_cudnnCreateTensorDescriptor(&matrix));
  GOOD(sim_cudnnCreateTensorDescriptor(&vector));
  GOOD(sim_cudnnSetRNNDescriptor_v8(rnn, CUDNN_RNN_ALGO_STANDARD, mode, bias, direction, input_mode,
                                    CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, 5, 7, projected,
                                    layers, NULL, 0));
  size_t size = 0;
  GOOD(sim_cudnnGetRNNWeightSpaceSize(handle, rnn, &size));
  CHECK(size % 4 == 0 && size / 4 < SPACE);
  memset(marks, 0, sizeof marks);
  const void *weights = (const void *)(uintptr_t)0x200000000000;
  const int pseudo = layers * (direction == CUDNN_BIDIRECTIONAL ? 2 : 1);
  for (int layer = 0; layer < pseudo; layer++)
    for (int linear = 0; linear < 2 * gates + (projected != 7 && projected != 0); linear++) {
      void *matrix_at = NULL, *vector_at = NULL;
      GOOD(sim_cudnnGetRNNWeightParams(handle, rnn, layer, size, weights, linear, matrix, &matrix_at, vector,
                                       &vector_at));
      mark(marks, weights, matrix_at, matrix, size);
      mark(marks, weights, vector_at, vector, size);
      /* Either pair may not be wanted. */
      GOOD(sim_cudnnGetRNNWeightParams(handle, rnn, layer, size, weights, linear, NULL, NULL, NULL, NULL));
    }
  for (size_t i = 0; i < SPACE; i++) CHECK(marks[i] == (i < size / 4));
  FAILS(sim_cudnnGetRNNWeightParams(handle, rnn, pseudo, size, weights, 0, matrix, NULL, NULL, NULL),
        BAD_PARAM);
  FAILS(sim_cudnnGetRNNWeightParams(handle, rnn, 0, size - 1, weights, 0, matrix, NULL, NULL, NULL),
        BAD_PARAM);
}

static void packing(void) {
  for (int mode = CUDNN_RNN_RELU; mode <= CUDNN_GRU; mode++)
    for (int bias = CUDNN_RNN_NO_BIAS; bias <= CUDNN_RNN_SINGLE_REC_BIAS; bias++)
      for (int direction = 0; direction < 2; direction++)
        for (int skips = 0; skips < 2; skips++) {
          packing_of((cudnnRNNMode_t)mode, (cudnnRNNBiasMode_t)bias, (cudnnDirectionMode_t)direction, 0,
                     (cudnnRNNInputMode_t)skips);
          if (mode == CUDNN_LSTM)
            packing_of(CUDNN_LSTM, (cudnnRNNBiasMode_t)bias, (cudnnDirectionMode_t)direction, 4,
                       (cudnnRNNInputMode_t)skips);
        }
}
static void test_packing(void **state) {
  (void)state;
  expect_apart(packing, WITH_NOTHING, "");
}

/* A well-known size: one layer of LSTM, 10 in, 20 out, two biases: 4 x 20 x (10 + 20 + 2) values. */
static void known_size(void) {
  cudnnRNNDescriptor_t rnn;
  cudnnRNNDataDescriptor_t data;
  const cudnnHandle_t handle = new_handle();
  size_t size = 0, workspace = 0, reserve = 0;
  GOOD(sim_cudnnCreateRNNDescriptor(&rnn));
  GOOD(sim_cudnnSetRNNDescriptor_v8(rnn, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
                                    CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_HALF,
                                    CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, 10, 20, 20, 1, NULL, 0));
  GOOD(sim_cudnnGetRNNWeightSpaceSize(handle, rnn, &size));
  CHECK(size == 2 * 4 * 20 * (10 + 20 + 2));
  GOOD(sim_cudnnCreateRNNDataDescriptor(&data));
  GOOD(sim_cudnnSetRNNDataDescriptor(data, CUDNN_DATA_HALF, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, 3, 2, 10,
                                     (const int[]){3, 1}, NULL));
  FAILS(sim_cudnnSetRNNDataDescriptor(data, CUDNN_DATA_HALF, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, 3, 2, 10,
                                      (const int[]){3, 4}, NULL),
        BAD_PARAM);
  GOOD(sim_cudnnGetRNNTempSpaceSizes(handle, rnn, CUDNN_FWD_MODE_TRAINING, data, &workspace, &reserve));
  CHECK(workspace > 0 && reserve > 0);
  GOOD(sim_cudnnGetRNNTempSpaceSizes(handle, rnn, CUDNN_FWD_MODE_INFERENCE, data, &workspace, NULL));
}
static void test_known_size(void **state) {
  (void)state;
  expect_apart(known_size, WITH_NOTHING, "");
}

/* ---- backend */

static cudnnBackendDescriptor_t made(int kind) {
  cudnnBackendDescriptor_t descriptor = NULL;
  GOOD(sim_cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)kind, &descriptor));
  return descriptor;
}

static void set_one(cudnnBackendDescriptor_t of, int name, cudnnBackendAttributeType_t type,
                    const void *value) {
  GOOD(sim_cudnnBackendSetAttribute(of, (cudnnBackendAttributeName_t)name, type, 1, value));
}

/* A graph of one operation; the operation is destroyed before the graph is used. */
static cudnnBackendDescriptor_t graph_of(int operation_kind) {
  const cudnnBackendDescriptor_t operation = made(operation_kind);
  GOOD(sim_cudnnBackendFinalize(operation));
  const cudnnBackendDescriptor_t graph = made(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  FAILS(sim_cudnnBackendFinalize(graph), BAD_PARAM);
  set_one(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, &operation);
  GOOD(sim_cudnnBackendDestroyDescriptor(operation));
  FAILS(sim_cudnnBackendDestroyDescriptor(operation), BAD_PARAM);
  GOOD(sim_cudnnBackendFinalize(graph));
  return graph;
}

static int64_t plan_workspace(int operation_kind) {
  const cudnnBackendDescriptor_t graph = graph_of(operation_kind);
  const cudnnBackendDescriptor_t heuristic = made(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  const int32_t mode = 0;
  set_one(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, (cudnnBackendAttributeType_t)8, &mode);
  set_one(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, &graph);
  int64_t count = 0;
  FAILS(sim_cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                     0, &count, NULL),
        BAD_PARAM_NOT_FINALIZED);
  GOOD(sim_cudnnBackendFinalize(heuristic));
  GOOD(sim_cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                    0, &count, NULL));
  CHECK(count == 1);
  cudnnBackendDescriptor_t configuration = made(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  GOOD(sim_cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                    1, NULL, &configuration));
  GOOD(sim_cudnnBackendDestroyDescriptor(heuristic));
  GOOD(sim_cudnnBackendDestroyDescriptor(graph));
  const cudnnBackendDescriptor_t plan = made(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  FAILS(sim_cudnnBackendFinalize(plan), BAD_PARAM);
  set_one(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, &configuration);
  GOOD(sim_cudnnBackendFinalize(plan));
  int64_t bytes = -1;
  GOOD(sim_cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                    &count, &bytes));
  GOOD(sim_cudnnBackendDestroyDescriptor(plan));
  GOOD(sim_cudnnBackendDestroyDescriptor(configuration));
  return bytes;
}

static void plans_without(void) {
  CHECK(plan_workspace(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) == 0);
}
static void plans_with(void) {
  enum { OPERATION_MATMUL = 19 };
  CHECK(plan_workspace(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) == INT64_C(3) << 20);
  CHECK(plan_workspace(OPERATION_MATMUL) == 0);
}
static void test_plans(void **state) {
  (void)state;
  expect_apart(plans_without, WITH("VRAMSCOPE_SIM_CUDNN_WORKSPACE="), "");
  expect_apart(plans_with, WITH("VRAMSCOPE_SIM_CUDNN_WORKSPACE=3MiB"), "");
  expect_apart(
      plans_without, WITH("VRAMSCOPE_SIM_CUDNN_WORKSPACE=much"),
      "vramscope: VRAMSCOPE_SIM_CUDNN_WORKSPACE is neither a size such as 128MiB nor \"most\": "
      "convolutions get no workspace\n");
}

/* Layers of ResNet-50 whose workspaces were measured on an H100. */
static uint64_t bytes_of_layer(vs_cudnn_pass pass, vs_cudnn_numbers numbers, bool last) {
  return vs_cudnn_convolution_workspace(&(vs_cudnn_convolution){.pass = pass,
                                                                .numbers = numbers,
                                                                .is_channels_last = last,
                                                                .is_padded = true,
                                                                .is_three_by_three = true,
                                                                .batch = 32,
                                                                .in = 256,
                                                                .out = 256,
                                                                .groups = 1,
                                                                .in_volume = 14 * 14,
                                                                .out_volume = 14 * 14,
                                                                .window = 9,
                                                                .height = 14,
                                                                .width = 14,
                                                                .processors = 132});
}
static void test_measured_layer(void **state) {
  (void)state;
  assert_int_equal(bytes_of_layer(VS_CUDNN_FORWARD, VS_CUDNN_TF32, false), 15204368);
  assert_int_equal(bytes_of_layer(VS_CUDNN_FILTER_GRADIENT, VS_CUDNN_TF32, false), 22282847);
  assert_int_equal(bytes_of_layer(VS_CUDNN_FILTER_GRADIENT, VS_CUDNN_FLOAT32, false), 47185920);
  assert_int_equal(bytes_of_layer(VS_CUDNN_DATA_GRADIENT, VS_CUDNN_BFLOAT16, false), 7602192);
  assert_int_equal(bytes_of_layer(VS_CUDNN_DATA_GRADIENT, VS_CUDNN_BFLOAT16, true), 0);
}

/* No size makes the rule divide by zero. */
static void test_all_layers_have_a_size(void **state) {
  (void)state;
  static const uint64_t sizes[] = {1, 2, 3, 4, 5, 8, 63, 64, 320, 2047};
  enum { COUNT = sizeof sizes / sizeof *sizes };
  for (uint32_t i = 0; i < COUNT * COUNT * COUNT * 3 * 4 * 8; i++) {
    uint32_t n = i;
    vs_cudnn_convolution of = {.groups = 1, .width = 9, .height = 9};
    of.in = sizes[n % COUNT], n /= COUNT, of.out = sizes[n % COUNT], n /= COUNT;
    of.batch = of.in_volume = of.out_volume = sizes[n % COUNT], n /= COUNT;
    of.pass = (vs_cudnn_pass)(n % 3), n /= 3, of.numbers = (vs_cudnn_numbers)(n % 4), n /= 4;
    of.is_channels_last = n & 1, of.is_3d = n & 2, of.window = n & 4 ? 9 : 1, of.processors = n & 4 ? 1 : 132;
    assert_true(vs_cudnn_convolution_workspace(&of) < UINT64_C(1) << 50);
  }
}

/* What was set is given back; with another type it is refused; a final descriptor cannot be changed. */
static void attributes(void) {
  const cudnnBackendDescriptor_t tensor = made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const int64_t dims[] = {2, 3, 4}, strides[] = {12, 4, 1}, id = 77;
  const int32_t type = CUDNN_DATA_HALF;
  set_one(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type);
  set_one(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &id);
  GOOD(sim_cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3, dims));
  GOOD(sim_cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 2, strides));
  FAILS(sim_cudnnBackendFinalize(tensor), BAD_PARAM); /* a stride is missing */
  GOOD(sim_cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 3, strides));
  GOOD(sim_cudnnBackendFinalize(tensor));
  FAILS(sim_cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id),
        NOT_INITIALIZED);
  int64_t got[3] = {0}, count = 0;
  GOOD(sim_cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3, &count, got));
  CHECK(count == 3 && memcmp(got, dims, sizeof dims) == 0);
  FAILS(sim_cudnnBackendGetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_DATA_TYPE, 3, &count,
                                     got),
        BAD_PARAM_ATTRIBUTE_TYPE);
  char text[128] = "";
  sim_cudnnGetLastErrorString(text, sizeof text);
  CHECK(strstr(text, "BAD_PARAM_ATTRIBUTE_TYPE") != NULL);
}
static void test_attributes(void **state) {
  (void)state;
  expect_apart(attributes, WITH_NOTHING, "");
}

static void windows(void) {
  cudnnTensorDescriptor_t x;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t convolution;
  GOOD(sim_cudnnCreateTensorDescriptor(&x));
  GOOD(sim_cudnnCreateFilterDescriptor(&w));
  GOOD(sim_cudnnCreateConvolutionDescriptor(&convolution));
  GOOD(sim_cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 2, 6, 9, 10));
  GOOD(sim_cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 4, 3, 3, 3));
  GOOD(sim_cudnnSetConvolution2dDescriptor(convolution, 1, 0, 2, 1, 1, 2, CUDNN_CROSS_CORRELATION,
                                           CUDNN_DATA_FLOAT));
  int n, c, h, width;
  FAILS(sim_cudnnGetConvolution2dForwardOutputDim(convolution, x, w, &n, &c, &h, &width),
        BAD_PARAM); /* 6 is not 3 */
  GOOD(sim_cudnnSetConvolutionGroupCount(convolution, 2));
  GOOD(sim_cudnnGetConvolution2dForwardOutputDim(convolution, x, w, &n, &c, &h, &width));
  CHECK(n == 2 && c == 4 && h == 5 && width == 6);
  size_t size = 0;
  GOOD(sim_cudnnGetTensorSizeInBytes(x, &size));
  CHECK(size == 4 * 2 * 6 * 9 * 10);
  GOOD(sim_cudnnDestroyTensorDescriptor(x));
  FAILS(sim_cudnnGetTensorSizeInBytes(x, &size), BAD_PARAM);
}
static void test_windows(void **state) {
  (void)state;
  expect_apart(windows, WITH_NOTHING, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_packing),
                                     cmocka_unit_test(test_known_size),
                                     cmocka_unit_test(test_plans),
                                     cmocka_unit_test(test_attributes),
                                     cmocka_unit_test(test_windows),
                                     cmocka_unit_test(test_measured_layer),
                                     cmocka_unit_test(test_all_layers_have_a_size)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
