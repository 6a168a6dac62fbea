/* What follows from the operations of a graph: its engines and the workspace of a plan. Convolutions and
 * attention have one; other graphs have none here. */
#include "faces/simcuda/cudnn/graph.h"
#include "faces/simcuda/cudnn/convolution_workspace.h"

attribute *vs_cudnn_attribute(const content *of, cudnnBackendAttributeName_t name) {
  for (size_t i = 0; i < of->count; i++)
    if (of->attributes[i].name == name) return &of->attributes[i];
  return NULL;
}

content *vs_cudnn_content(const content *of, cudnnBackendAttributeName_t name) {
  const attribute *found = of != NULL ? vs_cudnn_attribute(of, name) : NULL;
  return found != NULL && found->contents != NULL && found->count > 0 ? found->contents[0] : NULL;
}

static const attribute *operations_of(const content *graph) {
  const attribute *found = graph != NULL ? vs_cudnn_attribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS) : NULL;
  return found != NULL && found->contents != NULL ? found : NULL;
}

/* The number of operations of a kind; `first` is the first of them, unless it is NULL. */
static int64_t count_of(const content *graph, int kind, const content **first) {
  const attribute *operations = operations_of(graph);
  int64_t count = 0;
  for (int64_t i = 0; operations != NULL && i < operations->count; i++)
    if ((int)operations->contents[i]->kind == kind && count++ == 0 && first != NULL)
      *first = operations->contents[i];
  return count;
}

static const content *engine_of(const content *plan_or_configuration) {
  const content *configuration =
      vs_cudnn_content(plan_or_configuration, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  return vs_cudnn_content(configuration != NULL ? configuration : plan_or_configuration,
                          CUDNN_ATTR_ENGINECFG_ENGINE);
}

/* ---- tensors */

typedef struct shape {
  cudnnDataType_t type;
  int64_t count;
  int64_t dims[CUDNN_MOST_DIMS], strides[CUDNN_MOST_DIMS];
} shape;

/* Up to `most` numbers of an attribute; how many there are. */
static int64_t numbers_of(const content *of, cudnnBackendAttributeName_t name, int64_t most, int64_t *to) {
  const attribute *found = of != NULL ? vs_cudnn_attribute(of, name) : NULL;
  if (found == NULL || found->values == NULL || found->type != CUDNN_TYPE_INT64 || found->count > most)
    return 0;
  memcpy(to, found->values, (size_t)found->count * sizeof *to);
  return found->count;
}

static bool dims_are_usable(const shape *t) {
  for (int64_t i = 0; i < t->count; i++)
    if (t->dims[i] < 1 || t->dims[i] > INT32_MAX) return false;
  return true;
}

/* The tensor that an operation names; false if there is none, or not of `dims` dimensions (0: any). */
static bool get_tensor(const content *operation, cudnnBackendAttributeName_t name, int64_t dims, shape *to) {
  const content *of = vs_cudnn_content(operation, name);
  *to = (shape){0};
  if (of == NULL) return false;
  const attribute *type = vs_cudnn_attribute(of, CUDNN_ATTR_TENSOR_DATA_TYPE);
  if (type == NULL || type->values == NULL || type->count < 1 || type->type != CUDNN_TYPE_DATA_TYPE)
    return false;
  int32_t value;
  memcpy(&value, type->values, sizeof value);
  to->type = (cudnnDataType_t)value;
  to->count = numbers_of(of, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_MOST_DIMS, to->dims);
  return numbers_of(of, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_MOST_DIMS, to->strides) == to->count &&
         to->count > 2 && (dims == 0 || to->count == dims) && dims_are_usable(to);
}

static uint64_t volume(const shape *t) {
  uint64_t values = 1;
  for (int64_t i = 2; i < t->count; i++) values *= (uint64_t)t->dims[i];
  return values;
}

/* A tensor of one channel or of 1 x 1 images is both. */
static bool is_channels_first(const shape *t) {
  return t->dims[1] > 1 && volume(t) > 1 && t->strides[1] != 1;
}

/* ---- the card */

static const vs_sim_figures *card(void) { return vs_simcuda_figures(vs_simcuda_this_thread()->device); }
static uint32_t generation(void) {
  const vs_sim_figures *figures = card();
  return figures != NULL ? figures->compute_major : 0;
}

/* ---- convolutions */

static const struct {
  int kind;
  vs_cudnn_pass pass;
  int convolution, w, x, y; /* attributes */
} passes[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, VS_CUDNN_FORWARD,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, VS_CUDNN_DATA_GRADIENT,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, VS_CUDNN_FILTER_GRADIENT,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

/* The first convolution of a graph, and its row of `passes`; NULL if there is none. */
static const content *convolution_of(const content *graph, size_t *row) {
  const content *found = NULL;
  for (*row = 0; *row < sizeof passes / sizeof *passes; ++*row)
    if (count_of(graph, passes[*row].kind, &found) > 0) return found;
  return NULL;
}

static bool get_tensors(const content *operation, size_t row, shape *x, shape *w, shape *y) {
  return get_tensor(operation, (cudnnBackendAttributeName_t)passes[row].x, 0, x) &&
         get_tensor(operation, (cudnnBackendAttributeName_t)passes[row].w, x->count, w) &&
         get_tensor(operation, (cudnnBackendAttributeName_t)passes[row].y, x->count, y);
}

/* Whether an attribute of the convolution has a number above `bound`. */
static bool exceeds(const content *of, cudnnBackendAttributeName_t name, int64_t bound) {
  int64_t numbers[CUDNN_MOST_DIMS];
  const int64_t count = numbers_of(of, name, CUDNN_MOST_DIMS, numbers);
  for (int64_t i = 0; i < count; i++)
    if (numbers[i] > bound) return true;
  return false;
}

/* The numbers that the rule knows; false for others, such as double or int8. */
static bool get_numbers(cudnnDataType_t type, bool may_use_tf32, vs_cudnn_numbers *to) {
  switch ((int)type) {
    case CUDNN_DATA_FLOAT:
      *to = may_use_tf32 && generation() >= 8 ? VS_CUDNN_TF32 : VS_CUDNN_FLOAT32;
      return true;
    case CUDNN_DATA_HALF: *to = VS_CUDNN_FLOAT16; return true;
    case CUDNN_DATA_BFLOAT16: *to = VS_CUDNN_BFLOAT16; return true;
    default: return false;
  }
}

static void add_window(vs_cudnn_convolution *to, const content *of, const shape *x, const shape *w) {
  to->is_3d = x->count == 5;
  to->is_strided = exceeds(of, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1);
  to->is_padded = exceeds(of, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0) ||
                  exceeds(of, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0);
  to->is_three_by_three = x->count == 4 && w->dims[2] == 3 && w->dims[3] == 3 && !to->is_strided &&
                          !exceeds(of, CUDNN_ATTR_CONVOLUTION_DILATIONS, 1);
  to->window = volume(w);
}

/* false if the graph's convolution has sizes or types that the rule does not know. */
static bool get_convolution(const content *graph, bool may_use_tf32, vs_cudnn_convolution *to) {
  size_t row;
  shape x, w, y;
  const content *operation = convolution_of(graph, &row);
  const vs_sim_figures *figures = card();
  if (operation == NULL || figures == NULL || !get_tensors(operation, row, &x, &w, &y)) return false;
  if (x.dims[1] % w.dims[1] != 0) return false;
  *to = (vs_cudnn_convolution){.pass = passes[row].pass, .processors = figures->sm_count};
  if (!get_numbers(x.type, may_use_tf32, &to->numbers)) return false;
  to->is_channels_last = !is_channels_first(&x) && !is_channels_first(&y) && !is_channels_first(&w);
  to->batch = (uint64_t)x.dims[0], to->in = (uint64_t)x.dims[1], to->out = (uint64_t)y.dims[1];
  to->groups = (uint64_t)(x.dims[1] / w.dims[1]);
  to->in_volume = volume(&x), to->out_volume = volume(&y);
  to->height = (uint64_t)x.dims[x.count - 2], to->width = (uint64_t)x.dims[x.count - 1];
  add_window(to, vs_cudnn_content(operation, (cudnnBackendAttributeName_t)passes[row].convolution), &x, &w);
  return to->processors > 0;
}

static int64_t index_of(const content *engine) {
  int64_t index = 0;
  return numbers_of(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 1, &index) == 1 ? index : 0;
}

static bool has_tf32(const content *graph) {
  vs_cudnn_convolution of;
  return get_convolution(graph, true, &of) && of.numbers == VS_CUDNN_TF32;
}

int64_t vs_cudnn_engine_count(const content *graph) { return graph != NULL && has_tf32(graph) ? 2 : 1; }

bool vs_cudnn_uses_tf32(const content *engine) {
  const content *graph = vs_cudnn_content(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  return graph != NULL && index_of(engine) == 0 && has_tf32(graph);
}

static bool convolves(const content *graph) {
  size_t row;
  return convolution_of(graph, &row) != NULL;
}

/* ---- attention, as an operation of its own or as the products and reductions that it consists of
 *
 * Measured on an H100 (driver 580, cuDNN 9.19). What the program itself takes from the workspace for tensors
 * between two operations is not the plan's. */

enum {
  SCALARS = 256, /* of every plan, the offsets of dropout among them */
  ALIGNED = 128, /* instead, where the keys are split */
  KEY_TILE = 128
};

static uint64_t tensor_bytes(const shape *t) {
  uint64_t bytes = vs_cudnn_size_of(t->type);
  for (int64_t i = 0; i < t->count; i++) bytes *= (uint64_t)t->dims[i];
  return bytes;
}

/* One query for each head, as in decoding: the keys are split so that each multiprocessor has two parts. A part
 * has a result in float32, its largest number and its sum. The number of parts rests on one measured shape. */
static uint64_t decoding_bytes(const shape *queries, int64_t keys) {
  const vs_sim_figures *figures = card();
  const uint64_t heads = (uint64_t)queries->dims[0] * (uint64_t)queries->dims[1];
  uint64_t parts = figures != NULL ? (uint64_t)figures->sm_count * 2 / heads : 1;
  const uint64_t most = ((uint64_t)keys + KEY_TILE - 1) / KEY_TILE;
  if (parts > most) parts = most;
  if (parts < 2) return SCALARS;
  return parts * heads * ((uint64_t)queries->dims[3] * 4 + 8) + ALIGNED;
}

/* Gradients of keys and values that heads share: one for each head, in the type of the result, before they are
 * added. */
static uint64_t shared_head_bytes(const content *graph) {
  const attribute *operations = operations_of(graph);
  uint64_t bytes = 0;
  shape from, to;
  for (int64_t i = 0; operations != NULL && i < operations->count; i++)
    if (operations->contents[i]->kind == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR &&
        get_tensor(operations->contents[i], CUDNN_ATTR_OPERATION_REDUCTION_XDESC, 4, &from) &&
        get_tensor(operations->contents[i], CUDNN_ATTR_OPERATION_REDUCTION_YDESC, 4, &to) &&
        from.dims[1] != to.dims[1] && from.dims[3] == to.dims[3])
      bytes += tensor_bytes(&from);
  return bytes;
}

/* Whether the scores are masked by position: by a selection, which has a third operand, or by an operation of
 * its own. Of one query a causal mask leaves one key, so nothing is split. */
static bool masks_by_position(const content *graph) {
  enum { BAND_MASK = 44 };
  const attribute *operations = operations_of(graph);
  if (count_of(graph, BAND_MASK, NULL) > 0) return true;
  for (int64_t i = 0; operations != NULL && i < operations->count; i++)
    if (vs_cudnn_attribute(operations->contents[i], CUDNN_ATTR_OPERATION_POINTWISE_TDESC) != NULL)
      return true;
  return false;
}

/* Attention as an operation of its own has what is done to the scores as a graph in an attribute. */
static bool is_causal(const content *graph) {
  enum { SCORE_GRAPH = 2811 };
  const content *first = NULL;
  if (count_of(graph, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, &first) == 0)
    return masks_by_position(graph);
  return masks_by_position(vs_cudnn_content(first, (cudnnBackendAttributeName_t)SCORE_GRAPH));
}

/* The queries and the number of keys of a forward pass. */
static bool get_queries(const content *graph, shape *queries, int64_t *keys) {
  const content *first = NULL;
  shape k;
  if (count_of(graph, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, &first) > 0) {
    if (!get_tensor(first, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, 4, queries) ||
        !get_tensor(first, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, 4, &k))
      return false;
    *keys = k.dims[2];
    return true;
  }
  if (count_of(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, &first) != 2 ||
      !get_tensor(first, CUDNN_ATTR_OPERATION_MATMUL_ADESC, 4, queries) ||
      !get_tensor(first, CUDNN_ATTR_OPERATION_MATMUL_BDESC, 4, &k))
    return false;
  *keys = k.dims[3];
  return true;
}

/* The same two gradients, of an operation of its own. */
static uint64_t backward_bytes(const content *operation) {
  shape q, k;
  if (!get_tensor(operation, CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, 4, &q) ||
      !get_tensor(operation, CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, 4, &k) || q.dims[1] == k.dims[1])
    return SCALARS;
  k.dims[1] = q.dims[1];
  return SCALARS + 2 * tensor_bytes(&k);
}

/* 0 for a graph that is no attention. */
static uint64_t attention_bytes(const content *graph) {
  enum { PRODUCTS_BACKWARD = 5 };
  const content *first = NULL;
  shape queries;
  int64_t keys;
  if (get_queries(graph, &queries, &keys))
    return queries.dims[2] > 1 ? SCALARS : is_causal(graph) ? 0 : decoding_bytes(&queries, keys);
  if (count_of(graph, CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, &first) > 0) return backward_bytes(first);
  return count_of(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, NULL) == PRODUCTS_BACKWARD
             ? SCALARS + shared_head_bytes(graph)
             : 0;
}

/* ---- plans */

static uint64_t convolution_bytes(const content *graph, const content *engine) {
  vs_cudnn_convolution of;
  uint64_t bytes = 0;
  const vs_cudnn_workspaces configured = vs_cudnn_configured_workspaces(&bytes);
  if (configured == VS_CUDNN_EQUAL) return bytes;
  if (!get_convolution(graph, index_of(engine) == 0, &of)) return 0;
  return configured == VS_CUDNN_MOST ? vs_cudnn_convolution_most(&of) : vs_cudnn_convolution_workspace(&of);
}

uint64_t vs_cudnn_plan_workspace(const content *of) {
  const content *engine = engine_of(of);
  const content *graph = vs_cudnn_content(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  if (graph == NULL) return 0; /* a plan that was made from text */
  return convolves(graph) ? convolution_bytes(graph, engine) : attention_bytes(graph);
}

void vs_cudnn_note_workspace(const content *plan) {
  const content *graph = vs_cudnn_content(engine_of(plan), CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  vs_cudnn_convolution of;
  shape queries;
  int64_t keys;
  if (graph == NULL) return;
  if (convolves(graph))
    vs_cudnn_note_convolution(vs_cudnn_plan_workspace(plan), get_convolution(graph, true, &of)
                                                                 ? vs_cudnn_convolution_most(&of)
                                                                 : UINT64_MAX);
  else if (get_queries(graph, &queries, &keys) && queries.dims[2] == 1)
    vs_simcuda_guess(
        "cudnn_attention", vs_cudnn_plan_workspace(plan),
        "cuDNN splits the keys of a single query; in how many parts was measured for one shape only");
}
