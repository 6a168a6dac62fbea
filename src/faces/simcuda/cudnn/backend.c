/* The backend interface: operations, graphs of them, engines and plans are all descriptors, which hold
 * attributes.
 *
 *   descriptor   the program's pointer; a query that fills it replaces its content
 *   content      kind, whether it is final, attributes. Counted: a content that is an attribute of another stays
 *                alive when the program destroys its descriptor
 *   attribute    name, type, values as they were set; contents in place of descriptors
 *
 * graph.c reads from the operations how many engines a graph has, and the workspace of its plans. */
#include "faces/simcuda/cudnn/graph.h"

#define TAG_BACKEND VS_TAG('d', 'b', 'a', 'k')

typedef struct backend {
  vs_object object;
  content *content;
} backend;

static vs_shelf descriptors = VS_SHELF(TAG_BACKEND, backend);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all contents */

/* ---- contents */

static content *new_content(cudnnBackendDescriptorType_t kind) {
  content *made = calloc(1, sizeof *made);
  if (made != NULL) made->references = 1, made->kind = kind;
  return made;
}

static void release(content *of);

static void clear_attribute(attribute *of) {
  for (int64_t i = 0; of->contents != NULL && i < of->count; i++) release(of->contents[i]);
  free(of->contents);
  free(of->values);
  of->contents = NULL, of->values = NULL;
}

/* The recursion is as deep as the program's graph: a plan, a configuration, an engine, a graph, an operation, a
 * tensor. */
static void release(content *of) { // NOLINT(misc-no-recursion)
  if (of == NULL || --of->references != 0) return;
  for (size_t i = 0; i < of->count; i++) clear_attribute(&of->attributes[i]);
  free(of->attributes);
  free(of);
}

/* The attribute of this name, added if absent; NULL if out of memory. */
static attribute *find_or_add(content *of, cudnnBackendAttributeName_t name) {
  attribute *found = vs_cudnn_attribute(of, name);
  if (found != NULL) return found;
  attribute *grown = realloc(of->attributes, (of->count + 1) * sizeof *grown);
  if (grown == NULL) return NULL;
  of->attributes = grown;
  grown[of->count] = (attribute){.name = name};
  return &grown[of->count++];
}

static bool add_content(content *to, cudnnBackendAttributeName_t name, content *value) {
  attribute *made = find_or_add(to, name);
  content **values = calloc(1, sizeof(content *));
  if (made == NULL || values == NULL) {
    free((void *)values);
    return false;
  }
  clear_attribute(made);
  value->references++;
  values[0] = value;
  made->type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  made->count = 1;
  made->contents = values;
  return true;
}

static content *content_of(cudnnBackendDescriptor_t descriptor) {
  return vs_object_is(descriptor, TAG_BACKEND) ? ((backend *)descriptor)->content : NULL;
}

/* ---- descriptors */

cudnnStatus_t sim_cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                               cudnnBackendDescriptor_t *descriptor) {
  enum { LAST_KIND = 60 }; /* a few more than 9.26 has */
  if (descriptor == NULL) return FAIL(BAD_PARAM_NULL_POINTER);
  if ((unsigned)type > LAST_KIND) return FAIL(NOT_SUPPORTED);
  backend *made = vs_shelf_take(&descriptors);
  if (made == NULL) return FAIL(INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
  made->content = new_content(type);
  if (made->content == NULL) {
    (void)vs_shelf_put_back(&descriptors, made);
    return FAIL(INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
  }
  *descriptor = made;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  if (!vs_object_is(descriptor, TAG_BACKEND)) return FAIL(BAD_PARAM);
  pthread_mutex_lock(&lock);
  release(((backend *)descriptor)->content);
  ((backend *)descriptor)->content = NULL;
  pthread_mutex_unlock(&lock);
  (void)vs_shelf_put_back(&descriptors, descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor) {
  return content_of(descriptor) != NULL ? CUDNN_STATUS_SUCCESS : FAIL(BAD_PARAM);
}

/* ---- setting */

static size_t size_of_type(cudnnBackendAttributeType_t type) {
  switch ((int)type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR: return 1;
    case CUDNN_TYPE_FRACTION: return 16;
    default: return 4; /* enumerations, float, int32 */
  }
}

/* The contents of `count` descriptors; each must be final. */
static cudnnStatus_t set_contents(attribute *of, int64_t count, const void *values) {
  content **contents = calloc((size_t)count + 1, sizeof(content *));
  if (contents == NULL) return FAIL(INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
  for (int64_t i = 0; i < count; i++) {
    content *each = content_of(((const cudnnBackendDescriptor_t *)values)[i]);
    if (each == NULL || !each->is_final) {
      free((void *)contents);
      return each == NULL ? FAIL(BAD_PARAM) : FAIL(BAD_PARAM_NOT_FINALIZED);
    }
    contents[i] = each;
  }
  clear_attribute(of);
  for (int64_t i = 0; i < count; i++) contents[i]->references++;
  of->contents = contents;
  of->count = count;
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_values(attribute *of, int64_t count, const void *values, size_t size) {
  void *copy = malloc(size != 0 ? size : 1);
  if (copy == NULL) return FAIL(INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
  if (size != 0) memcpy(copy, values, size);
  clear_attribute(of);
  of->values = copy;
  of->count = count;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                           cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                           int64_t count, const void *values) {
  enum { MOST = 1 << 20 };
  content *of = content_of(descriptor);
  if (of == NULL || count < 0 || count > MOST || (count > 0 && values == NULL)) return FAIL(BAD_PARAM);
  if (of->is_final) return FAIL(NOT_INITIALIZED); /* as documented: a final descriptor cannot be changed */
  pthread_mutex_lock(&lock);
  attribute *to = find_or_add(of, name);
  cudnnStatus_t status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  if (to != NULL) {
    status = type == CUDNN_TYPE_BACKEND_DESCRIPTOR
                 ? set_contents(to, count, values)
                 : set_values(to, count, values, (size_t)count * size_of_type(type));
    if (status == CUDNN_STATUS_SUCCESS) to->type = type;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

/* ---- finalizing */

/* The attributes that must be set before a descriptor of a kind becomes final; a plan may also come from its text. */
static const struct {
  int kind;
  int name;
} needs[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE},
    {CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_OPERATION_GRAPH},
    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE},
};

static bool is_complete(const content *of) {
  for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
    if (needs[i].kind == (int)of->kind &&
        vs_cudnn_attribute(of, (cudnnBackendAttributeName_t)needs[i].name) == NULL)
      return false;
  if (of->kind != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) return true;
  return vs_cudnn_attribute(of, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) != NULL ||
         vs_cudnn_attribute(of, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) != NULL;
}

/* Tensors have as many strides as dimensions. */
static bool agrees(const content *of) {
  if (of->kind != CUDNN_BACKEND_TENSOR_DESCRIPTOR) return true;
  return vs_cudnn_attribute(of, CUDNN_ATTR_TENSOR_DIMENSIONS)->count ==
         vs_cudnn_attribute(of, CUDNN_ATTR_TENSOR_STRIDES)->count;
}

cudnnStatus_t sim_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  content *of = content_of(descriptor);
  if (of == NULL) return FAIL(BAD_PARAM);
  pthread_mutex_lock(&lock);
  const bool is_ready = is_complete(of) && agrees(of);
  if (is_ready) of->is_final = true;
  if (is_ready && of->kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) vs_cudnn_note_workspace(of);
  pthread_mutex_unlock(&lock);
  return is_ready ? CUDNN_STATUS_SUCCESS : FAIL(BAD_PARAM);
}

/* ---- reading */

static bool add_number(content *to, cudnnBackendAttributeName_t name, int64_t number) {
  attribute *made = find_or_add(to, name);
  if (made == NULL || set_values(made, 1, &number, sizeof number) != CUDNN_STATUS_SUCCESS) return false;
  made->type = CUDNN_TYPE_INT64;
  return true;
}

/* A result of a heuristic: a configuration of an engine for its graph. */
static content *make_configuration(const content *heuristic, int64_t index) {
  content *graph = vs_cudnn_content(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  content *engine = new_content(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  content *made = new_content(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  const bool is_made = graph != NULL && engine != NULL && made != NULL &&
                       add_content(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph) &&
                       add_number(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index) &&
                       add_content(made, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (is_made) engine->is_final = made->is_final = true;
  release(engine); /* the configuration holds it */
  if (is_made) return made;
  release(made);
  return NULL;
}

/* Replaces the content of a program's descriptor. */
static cudnnStatus_t fill(cudnnBackendDescriptor_t target, content *with) {
  content *old = content_of(target);
  if (old == NULL || old->kind != with->kind) return FAIL(BAD_PARAM_DESCRIPTOR_TYPE);
  with->references++;
  ((backend *)target)->content = with;
  release(old);
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get_result(const content *heuristic, int64_t index, cudnnBackendDescriptor_t to) {
  content *made = make_configuration(heuristic, index);
  if (made == NULL) return FAIL(INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
  const cudnnStatus_t status = fill(to, made);
  release(made);
  return status;
}

/* One configuration for each engine of the graph, the best first. */
static cudnnStatus_t get_results(const content *heuristic, int64_t wanted, int64_t *count, void *values) {
  const content *graph = vs_cudnn_content(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const int64_t engines = vs_cudnn_engine_count(graph), given = wanted < engines ? wanted : engines;
  if (count != NULL) *count = wanted > 0 && values != NULL ? given : engines;
  for (int64_t i = 0; i < given && values != NULL; i++) {
    const cudnnStatus_t status = get_result(heuristic, i, ((cudnnBackendDescriptor_t *)values)[i]);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return CUDNN_STATUS_SUCCESS;
}

/* Reads attributes that were set. */
static cudnnStatus_t get_set(const attribute *of, cudnnBackendAttributeType_t type, int64_t wanted,
                             int64_t *count, void *values) {
  if (of->type != type) return FAIL(BAD_PARAM_ATTRIBUTE_TYPE);
  if (count != NULL) *count = of->count;
  const int64_t given = wanted < of->count ? wanted : of->count;
  if (given <= 0 || values == NULL) return CUDNN_STATUS_SUCCESS;
  if (of->contents == NULL) {
    memcpy(values, of->values, (size_t)given * size_of_type(type));
    return CUDNN_STATUS_SUCCESS;
  }
  for (int64_t i = 0; i < given; i++) {
    const cudnnStatus_t status = fill(((cudnnBackendDescriptor_t *)values)[i], of->contents[i]);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return CUDNN_STATUS_SUCCESS;
}

/* Attributes that are empty lists here: notes, knobs, layouts, intermediate results. */
static bool is_empty_list(cudnnBackendAttributeName_t name) {
  switch ((int)name) {
    case CUDNN_ATTR_ENGINE_KNOB_INFO:
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
    case CUDNN_ATTR_ENGINE_LAYOUT_INFO:
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
    case CUDNN_ATTR_ENGINECFG_INTERMEDIATE_INFO:
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
    case CUDNN_ATTR_EXECUTION_PLAN_COMPUTED_INTERMEDIATE_UIDS:
    case CUDNN_ATTR_EXECUTION_PLAN_RUN_ONLY_INTERMEDIATE_UIDS: return true;
    default: return false;
  }
}

/* Reads attributes that the program did not set: sizes, counts and notes that the library computes, else one
 * zero. */
static cudnnStatus_t get_own(const content *of, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t wanted, int64_t *count, void *values) {
  static const char text[] = "{\"simulated\":true}";
  if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) {
    if (count != NULL) *count = (int64_t)sizeof text;
    const size_t given = wanted < (int64_t)sizeof text ? (size_t)(wanted > 0 ? wanted : 0) : sizeof text;
    if (values != NULL && given != 0) memcpy(values, text, given);
    return CUDNN_STATUS_SUCCESS;
  }
  const bool has_note = name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && vs_cudnn_uses_tf32(of);
  const bool is_empty = (is_empty_list(name) && !has_note) || type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
  if (count != NULL) *count = is_empty ? 0 : 1;
  if (is_empty || wanted <= 0 || values == NULL) return CUDNN_STATUS_SUCCESS;
  memset(values, 0, size_of_type(type)); /* as a note: CUDNN_NUMERICAL_NOTE_TENSOR_CORE */
  int64_t number = 0;
  if (name == CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT) number = vs_cudnn_engine_count(of);
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE || name == CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE)
    number = (int64_t)vs_cudnn_plan_workspace(of);
  if (type == CUDNN_TYPE_INT64) memcpy(values, &number, sizeof number);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                           cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                           int64_t wanted, int64_t *count, void *values) {
  const content *of = content_of(descriptor);
  if (of == NULL) return FAIL(BAD_PARAM);
  if (!of->is_final) return FAIL(BAD_PARAM_NOT_FINALIZED);
  pthread_mutex_lock(&lock);
  const attribute *found = vs_cudnn_attribute(of, name);
  cudnnStatus_t status;
  if (found != NULL) status = get_set(found, type, wanted, count, values);
  else if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) status = get_results(of, wanted, count, values);
  else status = get_own(of, name, type, wanted, count, values);
  pthread_mutex_unlock(&lock);
  return status;
}

/* ---- work */

cudnnStatus_t sim_cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                      cudnnBackendDescriptor_t variant_pack) {
  const content *of = content_of(plan), *pack = content_of(variant_pack);
  if (!IS_HANDLE(handle) || of == NULL || pack == NULL) return FAIL(BAD_PARAM);
  if (of->kind != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      pack->kind != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return FAIL(BAD_PARAM_DESCRIPTOR_TYPE);
  if (!of->is_final || !pack->is_final) return FAIL(BAD_PARAM_NOT_FINALIZED);
  return vs_cudnn_work(handle);
}
