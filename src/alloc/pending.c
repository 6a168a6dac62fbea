/* Freed blocks that other streams may still use. Such a block gets an event on each recorded stream and waits in the
 * queues of these streams; it is free when all of its events are complete. During a capture events cannot be queried, so
 * blocks are deferred until it ends. */
#include "alloc/pending.h"
#include "alloc/cache.h"
#include "alloc/capture_reuse.h"

static uint64_t stream_key(const vs_alloc *alloc, uint64_t stream) {
  return alloc->hooks.stream_hash != NULL ? alloc->hooks.stream_hash(alloc->hooks.ctx, stream) : stream;
}

bool vs_alloc_is_captured(const vs_alloc *alloc, uint64_t stream) {
  vs_device_capture capture;
  return alloc->device.ops->capture_info(alloc->device.ctx, stream, &capture) != VS_DEVICE_OK ||
         capture.is_active;
}

bool vs_alloc_is_caller_capturing(const vs_alloc *alloc, const vs_alloc_block *block) {
  if (alloc->captures == 0) return false;
  if (alloc->hooks.current_stream != NULL)
    return vs_alloc_is_captured(alloc, alloc->hooks.current_stream(alloc->hooks.ctx));
  return block == NULL || vs_alloc_is_captured(alloc, block->lane->stream);
}

vs_status vs_alloc_record_stream(vs_alloc *alloc, uint64_t address, uint64_t stream) {
  vs_alloc_block *block = vs_alloc_table_find(&alloc->blocks.allocated, address);
  if (block == NULL) return VS_NOT_FOUND;
  if (stream == block->lane->stream) return VS_OK;
  const bool is_capturing = vs_alloc_is_caller_capturing(alloc, block);
  vs_alloc_use **last = &block->uses;
  for (; *last != NULL; last = &(*last)->next) {
    if ((*last)->stream != stream) continue;
    (*last)->is_from_capture |= is_capturing;
    return VS_OK;
  }
  VS_TRY(
      vs_vec_reserve(alloc->host, &alloc->deferred, alloc->recorded + 1)); /* so that deferring cannot fail */
  vs_alloc_use *use = vs_host_alloc(alloc->host, sizeof *use);
  if (use == NULL) return VS_NO_MEMORY;
  alloc->recorded += block->uses == NULL;
  *use = (vs_alloc_use){.stream = stream, .block = block, .is_from_capture = is_capturing};
  *last = use;
  return VS_OK;
}

/* ---- events ------------------------------------------------------------------------------------------------ */

static vs_status event_take(vs_alloc *alloc, uint64_t *event) {
  VS_TRY(vs_vec_reserve(alloc->host, &alloc->spare_events, 1)); /* so that keeping it later seldom fails */
  if (alloc->spare_events.count > 0) {
    *event = alloc->spare_events.data[--alloc->spare_events.count];
    return VS_OK;
  }
  return vs_device_status(alloc->device.ops->event_create(alloc->device.ctx, event));
}

static void event_give(vs_alloc *alloc, uint64_t event) {
  if (vs_vec_reserve(alloc->host, &alloc->spare_events, 1) == VS_OK)
    alloc->spare_events.data[alloc->spare_events.count++] = event;
  else (void)alloc->device.ops->event_destroy(alloc->device.ctx, event);
}

static vs_status queue_of(vs_alloc *alloc, uint64_t stream, vs_alloc_queue **out) {
  const uint64_t key = stream_key(alloc, stream);
  *out = vs_alloc_hash_order_find(&alloc->queues, key);
  if (*out != NULL) return VS_OK;
  vs_alloc_queue *queue = vs_host_alloc(alloc->host, sizeof *queue);
  if (queue == NULL) return VS_NO_MEMORY;
  *queue = (vs_alloc_queue){.stream = stream};
  const vs_status status = vs_alloc_hash_order_add(alloc->host, &alloc->queues, key, queue);
  if (status != VS_OK) vs_host_free(alloc->host, queue, sizeof *queue);
  else *out = queue;
  return status;
}

static void queue_drop(vs_alloc *alloc, vs_alloc_queue *queue) {
  VS_ASSERT(queue->first == NULL && queue->last == NULL);
  vs_alloc_hash_order_remove(&alloc->queues, stream_key(alloc, queue->stream));
  vs_host_free(alloc->host, queue, sizeof *queue);
}

/* Records an event on the use's stream, and puts the use into the stream's queue. */
static vs_status use_enqueue(vs_alloc *alloc, vs_alloc_use *use) {
  vs_alloc_queue *queue;
  VS_ASSERT(use->event == 0 && use->block->place == VS_PLACE_PENDING);
  VS_TRY(event_take(alloc, &use->event));
  vs_status status = queue_of(alloc, use->stream, &queue);
  if (status == VS_OK)
    status = vs_device_status(alloc->device.ops->event_record(alloc->device.ctx, use->event, use->stream));
  if (status != VS_OK) {
    event_give(alloc, use->event);
    use->event = 0;
    if (queue != NULL && queue->first == NULL) queue_drop(alloc, queue);
    return status;
  }
  use->next = NULL;
  if (queue->last != NULL) queue->last->next = use;
  else queue->first = use;
  queue->last = use;
  use->block->event_count++;
  alloc->pending++;
  alloc->waiting++;
  return VS_OK;
}

/* Makes events of all recorded streams of the block, in the order of PyTorch's set. On a failure the remaining uses stay
 * with the block. */
static vs_status events_insert(vs_alloc *alloc, vs_alloc_block *block) {
  if (block->uses != NULL && block->uses->next == NULL) {
    vs_alloc_use *use = block->uses;
    VS_TRY(use_enqueue(alloc, use));
    block->uses = NULL;
    return VS_OK;
  }
  vs_alloc_hash_order set = {0};
  vs_status status = VS_OK;
  for (vs_alloc_use *use = block->uses; use != NULL && status == VS_OK; use = use->next)
    status = vs_alloc_hash_order_add(alloc->host, &set, stream_key(alloc, use->stream), use);
  for (uint32_t at = vs_alloc_hash_order_next(&set, 0); at != UINT32_MAX && status == VS_OK;
       at = vs_alloc_hash_order_next(&set, at + 1)) {
    vs_alloc_use *use = set.slots[at].value, **link = &block->uses;
    while (*link != use) link = &(*link)->next;
    vs_alloc_use *next = use->next;
    status = use_enqueue(alloc, use);
    if (status == VS_OK) *link = next;
  }
  vs_alloc_hash_order_deinit(alloc->host, &set);
  return status;
}

/* The event of a use that left its queue is complete. */
static void use_finish(vs_alloc *alloc, vs_alloc_use *use, vs_context context) {
  vs_alloc_block *block = use->block;
  VS_ASSERT(block->event_count > 0 && alloc->pending > 0 && alloc->waiting >= alloc->pending);
  event_give(alloc, use->event);
  vs_host_free(alloc->host, use, sizeof *use);
  alloc->pending--;
  alloc->waiting--;
  if (--block->event_count == 0 && block->uses == NULL) vs_alloc_pending_end(alloc, block, context);
}

/* ---- deferral ------------------------------------------------------------------------------------------------- */

static vs_status defer(vs_alloc *alloc, vs_alloc_block *block, bool is_capturing) {
  VS_ASSERT(alloc->deferred.count < alloc->deferred.capacity);
  vs_alloc_deferred *deferred = &alloc->deferred.data[alloc->deferred.count++];
  *deferred = (vs_alloc_deferred){.block = block};
  alloc->waiting++;
  if (!alloc->settings.capture_reuse || !is_capturing) return VS_OK;
  const vs_status status = vs_alloc_capture_reuse_mark(alloc, deferred);
  if (status != VS_OK) deferred->markers.count = 0; /* without markers it waits for the capture's end */
  return status;
}

/* Stream uses recorded during a capture are complete once it ends, so only earlier uses need an event. */
static void forget_captured_uses(vs_alloc *alloc, vs_alloc_block *block) {
  for (vs_alloc_use **link = &block->uses; *link != NULL;) {
    vs_alloc_use *use = *link;
    if (!use->is_from_capture) {
      link = &use->next;
      continue;
    }
    *link = use->next;
    vs_host_free(alloc->host, use, sizeof *use);
  }
}

/* An event that is recorded on a captured stream can never be queried, so the block has to wait for that capture's end.
 * (PyTorch records it, and fails.) */
static bool waits_for_capture(const vs_alloc *alloc, const vs_alloc_block *block) {
  if (alloc->captures == 0) return false;
  for (const vs_alloc_use *use = block->uses; use != NULL; use = use->next)
    if (!use->is_from_capture && vs_alloc_is_captured(alloc, use->stream)) return true;
  return false;
}

vs_status vs_alloc_deferred_finish(vs_alloc *alloc, const vs_pool_id *only, vs_context context) {
  for (size_t at = 0; at < alloc->deferred.count;) {
    vs_alloc_deferred *deferred = &alloc->deferred.data[at];
    vs_alloc_block *block = deferred->block;
    if ((only != NULL && !vs_pool_id_equal(vs_alloc_pool_id(block->lane->pool), *only)) ||
        waits_for_capture(alloc, block)) {
      at++;
      continue;
    }
    VS_ASSERT(block->place == VS_PLACE_PENDING);
    forget_captured_uses(alloc, block);
    VS_TRY(events_insert(alloc, block));
    vs_vec_free(alloc->host, &deferred->markers);
    alloc->deferred.count--;
    alloc->waiting--;
    memmove(deferred, deferred + 1, (alloc->deferred.count - at) * sizeof *deferred);
    if (block->event_count == 0) vs_alloc_pending_end(alloc, block, context);
  }
  return VS_OK;
}

/* ---- the interface --------------------------------------------------------------------------------------------- */

vs_status vs_alloc_pending_add(vs_alloc *alloc, vs_alloc_block *block) {
  VS_ASSERT(block->place == VS_PLACE_ALLOCATED && block->uses != NULL && alloc->recorded > 0);
  vs_alloc_pending_begin(alloc, block);
  alloc->recorded--;
  if (vs_alloc_is_caller_capturing(alloc, block)) return defer(alloc, block, true);
  if (waits_for_capture(alloc, block)) return defer(alloc, block, false);
  const vs_status status = events_insert(alloc, block);
  if (status != VS_OK) VS_TRY(defer(alloc, block, false)); /* for the next try */
  return status;
}

vs_status vs_alloc_pending_poll(vs_alloc *alloc, vs_context context) {
  if (alloc->deferred.count > 0) VS_TRY(vs_alloc_deferred_finish(alloc, NULL, context));
  uint32_t at = vs_alloc_hash_order_next(&alloc->queues, 0);
  while (at != UINT32_MAX) {
    vs_alloc_queue *queue = alloc->queues.slots[at].value;
    while (queue->first != NULL) {
      vs_alloc_use *use = queue->first;
      const vs_device_result result = alloc->device.ops->event_query(alloc->device.ctx, use->event);
      if (result == VS_DEVICE_NOT_READY) break;
      VS_TRY(vs_device_status(result));
      queue->first = use->next;
      if (queue->first == NULL) queue->last = NULL;
      use_finish(alloc, use, context);
    }
    if (queue->first == NULL) {
      queue_drop(alloc, queue);
      at = vs_alloc_hash_order_next(&alloc->queues, at);
    } else {
      at = vs_alloc_hash_order_next(&alloc->queues, at + 1);
    }
  }
  return VS_OK;
}

/* Waits for the events of one queue, all or those of one private pool. */
static vs_status queue_wait(vs_alloc *alloc, vs_alloc_queue *queue, const vs_alloc_owner *only,
                            vs_context context) {
  vs_alloc_use **link = &queue->first, *before = NULL;
  while (*link != NULL) {
    vs_alloc_use *use = *link;
    if (only != NULL && use->block->lane->pool->owner != only) {
      before = use;
      link = &use->next;
      continue;
    }
    VS_TRY(vs_device_status(alloc->device.ops->event_synchronize(alloc->device.ctx, use->event)));
    *link = use->next;
    if (queue->last == use) queue->last = before;
    use_finish(alloc, use, context);
  }
  return VS_OK;
}

vs_status vs_alloc_pending_wait(vs_alloc *alloc, const vs_alloc_owner *only, vs_context context) {
  alloc->statistics.num_sync_all_streams++;
  VS_TRY(vs_alloc_deferred_finish(alloc, NULL, context));
  uint32_t at = vs_alloc_hash_order_next(&alloc->queues, 0);
  while (at != UINT32_MAX) {
    vs_alloc_queue *queue = alloc->queues.slots[at].value;
    VS_TRY(queue_wait(alloc, queue, only, context));
    if (queue->first == NULL) {
      queue_drop(alloc, queue);
      at = vs_alloc_hash_order_next(&alloc->queues, at);
    } else {
      at = vs_alloc_hash_order_next(&alloc->queues, at + 1);
    }
  }
  return VS_OK;
}

static void uses_deinit(vs_alloc *alloc, vs_alloc_use *use) {
  vs_alloc_use *next;
  for (; use != NULL; use = next) {
    next = use->next;
    if (use->event != 0) (void)alloc->device.ops->event_destroy(alloc->device.ctx, use->event);
    vs_host_free(alloc->host, use, sizeof *use);
  }
}

void vs_alloc_pending_deinit(vs_alloc *alloc) {
  for (uint32_t at = vs_alloc_hash_order_next(&alloc->queues, 0); at != UINT32_MAX;
       at = vs_alloc_hash_order_next(&alloc->queues, at + 1)) {
    vs_alloc_queue *queue = alloc->queues.slots[at].value;
    uses_deinit(alloc, queue->first);
    vs_host_free(alloc->host, queue, sizeof *queue);
  }
  vs_alloc_hash_order_deinit(alloc->host, &alloc->queues);
  for (size_t i = 0; i < alloc->deferred.count; i++) {
    uses_deinit(alloc, alloc->deferred.data[i].block->uses);
    vs_vec_free(alloc->host, &alloc->deferred.data[i].markers);
  }
  vs_vec_free(alloc->host, &alloc->deferred);
  for (const vs_alloc_block *block = NULL;
       (block = vs_alloc_table_next(&alloc->blocks.allocated, block)) != NULL;)
    uses_deinit(alloc, block->uses);
  for (size_t i = 0; i < alloc->spare_events.count; i++)
    (void)alloc->device.ops->event_destroy(alloc->device.ctx, alloc->spare_events.data[i]);
  vs_vec_free(alloc->host, &alloc->spare_events);
}
