/* Blocks that were freed in a graph capture and that the same graph may reuse (graph_capture_record_stream_reuse).
 *
 * When a block with recorded streams is freed during a capture, its *markers* are stored: the nodes on which the
 * next work of each of its streams would depend. A stream may reuse the block once its own next work depends on
 * every marker, directly or indirectly, because then every use of the block precedes that work in the graph. */
#include "alloc/capture_reuse.h"
#include "alloc/cache.h"

#include "base/map.h"

static vs_status mark_one(vs_alloc *alloc, vs_alloc_deferred *deferred, uint64_t stream, bool *is_captured) {
  vs_device_capture capture;
  const vs_device *device = &alloc->device;
  VS_TRY(vs_device_status(device->ops->capture_info(device->ctx, stream, &capture)));
  *is_captured = capture.is_active;
  if (!capture.is_active) return VS_OK;
  VS_TRY(vs_vec_reserve(alloc->host, &deferred->markers, capture.node_count));
  VS_ASSERT(deferred->block->place == VS_PLACE_PENDING);
  for (uint64_t i = 0; i < capture.node_count; i++)
    deferred->markers.data[deferred->markers.count++] = capture.nodes[i];
  return VS_OK;
}

vs_status vs_alloc_capture_reuse_mark(vs_alloc *alloc, vs_alloc_deferred *deferred) {
  const vs_alloc_block *block = deferred->block;
  bool is_captured;
  VS_TRY(mark_one(alloc, deferred, block->lane->stream, &is_captured));
  for (const vs_alloc_use *use = block->uses; use != NULL && is_captured; use = use->next)
    VS_TRY(mark_one(alloc, deferred, use->stream, &is_captured));
  if (!is_captured) deferred->markers.count = 0;
  return VS_OK;
}

/* ---- the ancestors of nodes ------------------------------------------------------------------- */

typedef struct node_set {
  VS_VEC(uint64_t) nodes; /* in the order of the walk */
  vs_map seen;
} node_set;

static void set_deinit(vs_alloc *alloc, node_set *set) {
  vs_vec_free(alloc->host, &set->nodes);
  vs_map_deinit(alloc->host, &set->seen);
}

static vs_status set_add(vs_alloc *alloc, node_set *set, uint64_t node) {
  if (vs_map_find(&set->seen, node) != VS_MAP_NONE) return VS_OK;
  VS_TRY(vs_map_reserve(alloc->host, &set->seen));
  VS_TRY(vs_vec_reserve(alloc->host, &set->nodes, 1));
  vs_map_add(&set->seen, node, 0);
  set->nodes.data[set->nodes.count++] = node;
  return VS_OK;
}

/* Adds all nodes on which nodes of the set depend, directly or indirectly. */
static vs_status add_ancestors(vs_alloc *alloc, uint64_t graph, node_set *set) {
  const vs_device *device = &alloc->device;
  for (size_t i = 0; i < set->nodes.count; i++) {
    const uint64_t *nodes;
    uint64_t count;
    VS_TRY(vs_device_status(device->ops->needs(device->ctx, graph, set->nodes.data[i], &nodes, &count)));
    for (uint64_t n = 0; n < count; n++) VS_TRY(set_add(alloc, set, nodes[n]));
  }
  return VS_OK;
}

static bool holds_all(const node_set *set, const vs_alloc_deferred *deferred) {
  for (size_t m = 0; m < deferred->markers.count; m++)
    if (vs_map_find(&set->seen, deferred->markers.data[m]) == VS_MAP_NONE) return false;
  return deferred->markers.count > 0;
}

/* Sets is_before[i] if all markers of deferred block i precede the next work of the capturing stream. */
static vs_status find_reusable(vs_alloc *alloc, const vs_device_capture *capture, bool *is_before) {
  node_set set = {0};
  vs_status status = VS_OK;
  for (uint64_t i = 0; i < capture->node_count && status == VS_OK; i++)
    status = set_add(alloc, &set, capture->nodes[i]);
  if (status == VS_OK) status = add_ancestors(alloc, capture->graph, &set);
  for (size_t i = 0; i < alloc->deferred.count; i++) is_before[i] = holds_all(&set, &alloc->deferred.data[i]);
  set_deinit(alloc, &set);
  return status;
}

static void uses_forget(vs_alloc *alloc, vs_alloc_block *block) {
  while (block->uses != NULL) {
    vs_alloc_use *use = block->uses;
    block->uses = use->next;
    vs_host_free(alloc->host, use, sizeof *use);
  }
}

vs_status vs_alloc_capture_reuse_free(vs_alloc *alloc, uint64_t stream, vs_context context) {
  vs_device_capture capture;
  VS_TRY(vs_device_status(alloc->device.ops->capture_info(alloc->device.ctx, stream, &capture)));
  if (!capture.is_active || capture.node_count == 0 || alloc->deferred.count == 0) return VS_OK;
  const size_t before = alloc->deferred.count;
  bool *is_before = vs_host_alloc(alloc->host, before * sizeof *is_before);
  if (is_before == NULL) return VS_NO_MEMORY;
  const vs_status status = find_reusable(alloc, &capture, is_before);
  size_t kept = 0;
  for (size_t i = 0; i < before && status == VS_OK; i++) {
    vs_alloc_deferred *deferred = &alloc->deferred.data[i];
    if (!is_before[i] || deferred->block->lane->stream != stream) {
      alloc->deferred.data[kept++] = *deferred;
      continue;
    }
    uses_forget(alloc, deferred->block);
    vs_vec_free(alloc->host, &deferred->markers);
    vs_alloc_pending_end(alloc, deferred->block, context);
  }
  if (status == VS_OK) {
    VS_ASSERT(alloc->deferred.count == before && alloc->waiting >= before - kept);
    alloc->waiting -= before - kept;
    alloc->deferred.count = kept;
  }
  vs_host_free(alloc->host, is_before, before * sizeof *is_before);
  return status;
}
