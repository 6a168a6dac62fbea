/* The contents of the backend's descriptors, and what follows from the operations of a graph. Contents are
 * guarded by the lock of backend.c, which calls these functions while it holds it. */
#ifndef VS_SIMCUDA_CUDNN_GRAPH_H
#define VS_SIMCUDA_CUDNN_GRAPH_H

#include "faces/simcuda/cudnn/objects.h"

typedef struct content content;

typedef struct attribute {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t count;
  void *values;       /* NULL for descriptors */
  content **contents; /* for descriptors; each is counted */
} attribute;

struct content {
  size_t references;
  cudnnBackendDescriptorType_t kind;
  bool is_final;
  size_t count;
  attribute *attributes;
};

/* The attribute of this name; NULL if it is not set. */
attribute *vs_cudnn_attribute(const content *of, cudnnBackendAttributeName_t name);
/* The first content of an attribute; NULL if it is not set, or `of` is NULL. */
content *vs_cudnn_content(const content *of, cudnnBackendAttributeName_t name);

/* Engines that can run a graph, the fastest first. A convolution of float32 has two on cards with TF32: 0 uses
 * it, 1 does not. */
int64_t vs_cudnn_engine_count(const content *graph);
bool vs_cudnn_uses_tf32(const content *engine);

/* The workspace of a plan or of an engine's configuration. */
uint64_t vs_cudnn_plan_workspace(const content *of);
/* Notes a plan's workspace where it is a guess. */
void vs_cudnn_note_workspace(const content *plan);

#endif
