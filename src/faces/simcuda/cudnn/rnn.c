/* Recurrent networks. The weights of a network are in one space:
 *
 *   for each pseudo-layer (layer, and in it each direction)
 *       the input matrices of all gates, the recurrent matrices of all gates, the projection where there is one
 *   for each pseudo-layer
 *       the input biases, the recurrent biases
 *
 * without gaps. An input matrix is hidden x input, where the input of later layers is the output of all directions
 * of the layer before; a recurrent matrix is hidden x output; the projection is projected x hidden; output is
 * `projected`, or hidden if the network has no projection. Matrix `linear` of 0 .. gates - 1 is an input
 * matrix, of gates .. 2 gates - 1 a recurrent one, 2 gates the projection. */
#include "faces/simcuda/cudnn/objects.h"

#define ANSWER(to, value)              \
  do {                                 \
    if ((to) != NULL) *(to) = (value); \
  } while (0)

static int64_t gates_of(const struct cudnnRNNStruct *rnn) {
  return rnn->mode == CUDNN_LSTM ? 4 : rnn->mode == CUDNN_GRU ? 3 : 1;
}
static int64_t directions_of(const struct cudnnRNNStruct *rnn) {
  return rnn->direction == CUDNN_BIDIRECTIONAL ? 2 : 1;
}
static bool projects(const struct cudnnRNNStruct *rnn) {
  return rnn->projected != 0 && rnn->projected != rnn->hidden;
}
static int64_t output_of(const struct cudnnRNNStruct *rnn) {
  return projects(rnn) ? rnn->projected : rnn->hidden;
}

/* Columns of the input matrices of a layer; 0 if it has none. */
static int64_t input_of(const struct cudnnRNNStruct *rnn, int64_t layer) {
  if (layer > 0) return output_of(rnn) * directions_of(rnn);
  return rnn->input_mode == CUDNN_SKIP_INPUT ? 0 : rnn->input;
}

/* Values in the matrices of one pseudo-layer, and in its biases. */
static int64_t matrix_values(const struct cudnnRNNStruct *rnn, int64_t layer) {
  const int64_t projection = projects(rnn) ? (int64_t)rnn->projected * rnn->hidden : 0;
  return gates_of(rnn) * rnn->hidden * (input_of(rnn, layer) + output_of(rnn)) + projection;
}

static int64_t bias_values(const struct cudnnRNNStruct *rnn) {
  const int64_t sets = rnn->bias == CUDNN_RNN_NO_BIAS ? 0 : rnn->bias == CUDNN_RNN_DOUBLE_BIAS ? 2 : 1;
  return sets * gates_of(rnn) * rnn->hidden;
}

/* The number of values in all matrices before a pseudo-layer; for the number of pseudo-layers, in all
 * matrices. */
static int64_t matrices_before(const struct cudnnRNNStruct *rnn, int64_t pseudo_layer) {
  int64_t values = 0;
  for (int64_t i = 0; i < pseudo_layer; i++) values += matrix_values(rnn, i / directions_of(rnn));
  return values;
}

static int64_t pseudo_layers(const struct cudnnRNNStruct *rnn) { return rnn->layers * directions_of(rnn); }

size_t vs_cudnn_rnn_weight_size(cudnnRNNDescriptor_t rnn) {
  const int64_t count = pseudo_layers(rnn);
  return (size_t)(matrices_before(rnn, count) + count * bias_values(rnn)) * vs_cudnn_size_of(rnn->type);
}

/* ---- descriptors */

cudnnStatus_t sim_cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algorithm,
                                           cudnnRNNMode_t mode, cudnnRNNBiasMode_t bias,
                                           cudnnDirectionMode_t direction, cudnnRNNInputMode_t input_mode,
                                           cudnnDataType_t type, cudnnDataType_t precision,
                                           cudnnMathType_t math, int32_t input, int32_t hidden,
                                           int32_t projected, int32_t layers,
                                           cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  if (!IS(RNN, rnn) || (unsigned)mode > CUDNN_GRU || (unsigned)bias > CUDNN_RNN_SINGLE_REC_BIAS ||
      vs_cudnn_size_of(type) == 0 || input < 0 || hidden <= 0 || projected < 0 || projected > hidden ||
      layers <= 0)
    return FAIL(BAD_PARAM);
  if (projected != 0 && projected != hidden && mode != CUDNN_LSTM) return FAIL(NOT_SUPPORTED);
  rnn->algorithm = algorithm, rnn->mode = mode, rnn->bias = bias, rnn->direction = direction;
  rnn->input_mode = input_mode, rnn->type = type, rnn->precision = precision, rnn->math = math;
  rnn->input = input, rnn->hidden = hidden, rnn->projected = projected, rnn->layers = layers;
  rnn->dropout = dropout, rnn->flags = flags;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t *algorithm,
                                           cudnnRNNMode_t *mode, cudnnRNNBiasMode_t *bias,
                                           cudnnDirectionMode_t *direction, cudnnRNNInputMode_t *input_mode,
                                           cudnnDataType_t *type, cudnnDataType_t *precision,
                                           cudnnMathType_t *math, int32_t *input, int32_t *hidden,
                                           int32_t *projected, int32_t *layers,
                                           cudnnDropoutDescriptor_t *dropout, uint32_t *flags) {
  if (!IS(RNN, rnn)) return FAIL(BAD_PARAM);
  ANSWER(algorithm, rnn->algorithm);
  ANSWER(mode, rnn->mode);
  ANSWER(bias, rnn->bias);
  ANSWER(direction, rnn->direction);
  ANSWER(input_mode, rnn->input_mode);
  ANSWER(type, rnn->type);
  ANSWER(precision, rnn->precision);
  ANSWER(math, rnn->math);
  ANSWER(input, rnn->input);
  ANSWER(hidden, rnn->hidden);
  ANSWER(projected, rnn->projected);
  ANSWER(layers, rnn->layers);
  ANSWER(dropout, rnn->dropout);
  ANSWER(flags, rnn->flags);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnRNNSetClip_v8(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t mode,
                                     cudnnNanPropagation_t nan, double low, double high) {
  if (!IS(RNN, rnn)) return FAIL(BAD_PARAM);
  rnn->clip = mode, rnn->clip_nan = nan, rnn->clip_low = low, rnn->clip_high = high;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnRNNSetClip_v9(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t mode, double low,
                                     double high) {
  return sim_cudnnRNNSetClip_v8(rnn, mode, CUDNN_NOT_PROPAGATE_NAN, low, high);
}

cudnnStatus_t sim_cudnnRNNGetClip_v8(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t *mode,
                                     cudnnNanPropagation_t *nan, double *low, double *high) {
  if (!IS(RNN, rnn)) return FAIL(BAD_PARAM);
  ANSWER(mode, rnn->clip);
  ANSWER(nan, rnn->clip_nan);
  ANSWER(low, rnn->clip_low);
  ANSWER(high, rnn->clip_high);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnRNNGetClip_v9(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t *mode, double *low,
                                     double *high) {
  return sim_cudnnRNNGetClip_v8(rnn, mode, NULL, low, high);
}

cudnnStatus_t sim_cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int batch) {
  return IS_HANDLE(handle) && IS(RNN, rnn) && batch > 0 ? CUDNN_STATUS_SUCCESS : FAIL(BAD_PARAM);
}

/* ---- data */

cudnnStatus_t sim_cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t type,
                                            cudnnRNNDataLayout_t layout, int longest, int batch, int vector,
                                            const int lengths[], void *padding) {
  (void)padding;
  if (!IS(RNNData, data) || vs_cudnn_size_of(type) == 0 || longest <= 0 || batch <= 0 || vector <= 0 ||
      lengths == NULL)
    return FAIL(BAD_PARAM);
  int64_t steps = 0;
  for (int i = 0; i < batch; i++) {
    if (lengths[i] < 0 || lengths[i] > longest) return FAIL(BAD_PARAM);
    steps += lengths[i];
  }
  data->type = type, data->layout = layout;
  data->longest = longest, data->batch = batch, data->vector = vector, data->steps = steps;
  return CUDNN_STATUS_SUCCESS;
}

/* The lengths are not stored, so a query returns the longest for each. */
cudnnStatus_t sim_cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t *type,
                                            cudnnRNNDataLayout_t *layout, int *longest, int *batch,
                                            int *vector, int wanted, int lengths[], void *padding) {
  if (!IS(RNNData, data)) return FAIL(BAD_PARAM);
  ANSWER(type, data->type);
  ANSWER(layout, data->layout);
  ANSWER(longest, data->longest);
  ANSWER(batch, data->batch);
  ANSWER(vector, data->vector);
  for (int i = 0; i < wanted && i < data->batch && lengths != NULL; i++) lengths[i] = data->longest;
  if (padding != NULL) memset(padding, 0, vs_cudnn_size_of(data->type));
  return CUDNN_STATUS_SUCCESS;
}

/* ---- sizes and weights */

cudnnStatus_t sim_cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, size_t *size) {
  if (!IS_HANDLE(handle) || !IS(RNN, rnn) || size == NULL) return FAIL(BAD_PARAM);
  *size = vs_cudnn_rnn_weight_size(rnn);
  return CUDNN_STATUS_SUCCESS;
}

/* The sizes of the temporary spaces are not documented. They are fits to 450 networks that were measured on an
 * H100 (driver 580, cuDNN 9.19; tests/gpu/measured): the reserve is exact there, the workspace within 0.2% for
 * most. One step is the batch times hidden values, a sequence is all steps. */
typedef struct temporary {
  uint64_t layers, directions, gates;
  uint64_t step, sequence, input, matrices; /* bytes */
  bool drops, repeats;
} temporary;

/* Kernels for small layers, and in float16 for a single layer of a large batch, take four more sequences for each
 * gate. Where they begin is unknown: hidden sizes of 64 and 300 and batches of 7 and 32 were measured. */
static bool repeats(const struct cudnnRNNStruct *rnn, int batch) {
  enum { SMALL = 64, LARGE_BATCH = 16 };
  const bool is_single = pseudo_layers(rnn) == 1 && rnn->mode != CUDNN_GRU && batch >= LARGE_BATCH;
  if (rnn->type == CUDNN_DATA_HALF) return rnn->hidden <= SMALL || is_single;
  return rnn->type == CUDNN_DATA_FLOAT && rnn->hidden <= SMALL;
}

static temporary temporary_of(const struct cudnnRNNStruct *rnn, const struct cudnnRNNDataStruct *x) {
  const uint64_t size = vs_cudnn_size_of(rnn->type), batch = (uint64_t)x->batch, steps = (uint64_t)x->longest;
  return (temporary){.layers = (uint64_t)rnn->layers,
                     .directions = (uint64_t)directions_of(rnn),
                     .gates = (uint64_t)gates_of(rnn),
                     .step = batch * (uint64_t)rnn->hidden * size,
                     .sequence = steps * batch * (uint64_t)rnn->hidden * size,
                     .input = steps * batch * (uint64_t)x->vector * size,
                     .matrices = (uint64_t)matrices_before(rnn, pseudo_layers(rnn)) * size,
                     .drops = rnn->layers > 1 && rnn->dropout != NULL && rnn->dropout->dropout > 0,
                     .repeats = repeats(rnn, x->batch)};
}

static uint64_t aligned(uint64_t bytes) { return (bytes + 31) / 32 * 32; }

/* Gates, and what else a step needs, of every layer and direction; the outputs of all layers but the last; a bit
 * for each value that dropout may drop, twice where both directions read it. */
static uint64_t reserve_of(const temporary *t, cudnnDataType_t type) {
  enum { HEAD = 256, OF_LSTM = 5, OF_GRU = 6 };
  const uint64_t saved = t->gates == 4 ? OF_LSTM : t->gates == 3 ? OF_GRU : 1, between = t->layers - 1;
  const uint64_t bits = aligned((t->sequence / vs_cudnn_size_of(type) + 7) / 8);
  return aligned(t->directions * t->layers * saved * t->sequence) +
         aligned(between * t->directions * t->sequence) + HEAD +
         (t->drops ? between * t->directions * t->directions * bits : 0);
}

/* What training needs beyond inference, because the backward pass has the same workspace. */
static uint64_t more_for_training(const temporary *t) {
  const bool is_one_way = t->directions == 1;
  if (t->gates == 4) return is_one_way && t->drops ? t->sequence : 0;
  if (t->gates == 3)
    return is_one_way == (t->layers == 1) ? t->input : is_one_way && t->drops ? t->sequence : 0;
  if (is_one_way) return 2 * t->sequence + (t->layers == 1 ? t->input + 2 * t->step : 0);
  return t->sequence * (t->layers == 1 ? 5 : 9) / 2;
}

/* Layers and directions run at the same time, each with a workspace for its products of matrices; copies of all
 * matrices; the gates and the result of one layer. Two directions have four sequences more. */
static uint64_t workspace_of(const temporary *t, uint64_t batch) {
  enum { PRODUCT = 8 << 20, HEAD = 256, ENDS_LSTM = 10, ENDS_GRU = 5, ENDS_PLAIN = 3 };
  const uint64_t both = t->directions == 2 ? 4 : 0;
  const uint64_t ends = t->gates == 4 ? ENDS_LSTM : t->gates == 3 ? ENDS_GRU : ENDS_PLAIN;
  return t->layers * t->directions * PRODUCT + t->matrices + HEAD + aligned(batch * 8) + t->input +
         (t->directions * (t->gates + 1) + both + (t->repeats ? 4 * t->gates : 0)) * t->sequence +
         t->layers * (t->directions * ends + both) * t->step;
}

cudnnStatus_t sim_cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                            cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
                                            size_t *workspace, size_t *reserve) {
  if (!IS_HANDLE(handle) || !IS(RNN, rnn) || !IS(RNNData, x)) return FAIL(BAD_PARAM);
  const temporary t = temporary_of(rnn, x);
  const bool is_training = mode == CUDNN_FWD_MODE_TRAINING;
  const uint64_t work = workspace_of(&t, (uint64_t)x->batch) + (is_training ? more_for_training(&t) : 0);
  const uint64_t kept = is_training ? reserve_of(&t, rnn->type) : 0;
  ANSWER(workspace, work);
  ANSWER(reserve, kept);
  vs_simcuda_guess("cudnn_rnn", work + kept,
                   "cuDNN does not document the workspace and reserve of recurrent networks; both follow a "
                   "rule measured on an "
                   "H100 with cuDNN 9.19: there the reserve is exact, the workspace mostly within 1%");
  return CUDNN_STATUS_SUCCESS;
}

/* A part of the weights as a tensor {1, rows, cols}, and its address; neither is written if there is no such
 * part. */
static void answer_part(cudnnTensorDescriptor_t tensor, void **at, const struct cudnnRNNStruct *rnn,
                        const void *weights, int64_t offset, int64_t rows, int64_t cols) {
  const bool is_there = rows > 0 && cols > 0;
  if (tensor != NULL) {
    tensor->type = rnn->type;
    tensor->count = is_there ? 3 : 0;
    const int dims[] = {1, (int)rows, (int)cols}, strides[] = {(int)(rows * cols), (int)cols, 1};
    memcpy(tensor->dims, dims, sizeof dims);
    memcpy(tensor->strides, strides, sizeof strides);
  }
  const uintptr_t place = (uintptr_t)weights + (uintptr_t)offset * vs_cudnn_size_of(rnn->type);
  if (at != NULL)
    *at = is_there ? (void *)place : NULL; // NOLINT(performance-no-int-to-ptr): an address of the device
}

cudnnStatus_t sim_cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                          int32_t pseudo_layer, size_t size, const void *weights,
                                          int32_t linear, cudnnTensorDescriptor_t matrix, void **matrix_at,
                                          cudnnTensorDescriptor_t bias, void **bias_at) {
  if (!IS_HANDLE(handle) || !IS(RNN, rnn) || (matrix != NULL && !IS(Tensor, matrix)) ||
      (bias != NULL && !IS(Tensor, bias)))
    return FAIL(BAD_PARAM);
  const int64_t gates = gates_of(rnn), hidden = rnn->hidden;
  if (pseudo_layer < 0 || pseudo_layer >= pseudo_layers(rnn) || linear < 0 || linear > 2 * gates ||
      (linear == 2 * gates && !projects(rnn)) || size < vs_cudnn_rnn_weight_size(rnn))
    return FAIL(BAD_PARAM);

  const int64_t input = input_of(rnn, pseudo_layer / directions_of(rnn)), output = output_of(rnn);
  const bool is_input = linear < gates, is_projection = linear == 2 * gates;
  int64_t rows = hidden, cols = is_input ? input : output;
  int64_t offset = matrices_before(rnn, pseudo_layer);
  if (is_input) offset += linear * hidden * input;
  else offset += gates * hidden * input + (linear - gates) * hidden * output;
  if (is_projection) rows = rnn->projected, cols = hidden;
  answer_part(matrix, matrix_at, rnn, weights, offset, rows, cols);

  const bool has_bias = !is_projection && (rnn->bias == CUDNN_RNN_DOUBLE_BIAS ||
                                           (rnn->bias == CUDNN_RNN_SINGLE_INP_BIAS && is_input) ||
                                           (rnn->bias == CUDNN_RNN_SINGLE_REC_BIAS && !is_input));
  const int64_t which = rnn->bias == CUDNN_RNN_SINGLE_REC_BIAS ? linear - gates : linear;
  const int64_t bias_offset =
      matrices_before(rnn, pseudo_layers(rnn)) + pseudo_layer * bias_values(rnn) + which * hidden;
  answer_part(bias, bias_at, rnn, weights, bias_offset, has_bias ? hidden : 0, 1);
  return CUDNN_STATUS_SUCCESS;
}
