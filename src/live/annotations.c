/* Annotations: kept in one ring for all cards, as PyTorch does, and passed to the recorder. */
#include "live/error_text.h"

void vs_live_annotations_deinit(vs_live *live) { vs_vec_free(live->host, &live->annotations.entries); }

static vs_live_annotation *annotation_at(const vs_live_annotations *annotations, uint64_t i) {
  const uint64_t at = annotations->first + i, count = annotations->entries.count;
  VS_ASSERT(i < count && annotations->first < count);
  return &annotations->entries.data[at < count ? at : at - count];
}

/* Moves the ring's oldest entry to index 0, and keeps the newest `capacity` entries. Fails: VS_NO_MEMORY */
static vs_status straighten(vs_live *live, uint64_t capacity) {
  vs_live_annotations *annotations = &live->annotations;
  const uint64_t count = annotations->entries.count, dropped = count > capacity ? count - capacity : 0;
  if (annotations->first == 0 && dropped == 0) return VS_OK;
  vs_live_annotation *straight = vs_host_alloc(live->host, (size_t)(count - dropped) * sizeof *straight);
  if (straight == NULL) return VS_NO_MEMORY;
  for (uint64_t i = dropped; i < count; i++) straight[i - dropped] = *annotation_at(annotations, i);
  vs_vec_free(live->host, &annotations->entries);
  annotations->entries.data = straight;
  annotations->entries.count = annotations->entries.capacity = (size_t)(count - dropped);
  annotations->first = 0;
  return VS_OK;
}

vs_status vs_live_annotations_keep(vs_live *live, const vs_history_options *options) {
  vs_live_annotations *annotations = &live->annotations;
  const uint64_t most = options->max_entries == 0 ? 1 : options->max_entries;
  const uint64_t capacity = options->enabled == VS_HISTORY_EVENTS ? most : 1;
  vs_status status = VS_OK;
  vs_live_lock_take(&annotations->lock);
  if (options->enabled == VS_HISTORY_OFF || options->clear) {
    vs_vec_free(live->host, &annotations->entries);
    annotations->first = 0;
  }
  status = straighten(live, capacity);
  if (status == VS_OK) {
    annotations->capacity = capacity;
    annotations->is_kept = options->enabled != VS_HISTORY_OFF;
  }
  vs_live_lock_give(&annotations->lock);
  return status;
}

static vs_status keep(vs_live *live, const vs_live_annotation *annotation) {
  vs_live_annotations *annotations = &live->annotations;
  if (annotations->entries.count < annotations->capacity) {
    VS_TRY(vs_vec_reserve(live->host, &annotations->entries, 1));
    annotations->entries.data[annotations->entries.count++] = *annotation;
    return VS_OK;
  }
  VS_ASSERT(annotations->entries.count == annotations->capacity &&
            annotations->first < annotations->capacity);
  annotations->entries.data[annotations->first] = *annotation;
  annotations->first = annotations->first + 1 == annotations->entries.count ? 0 : annotations->first + 1;
  return VS_OK;
}

static vs_status add(vs_live *live, uint32_t device, const char *name, bool is_start) {
  vs_live_annotations *annotations = &live->annotations;
  vs_live_annotation annotation = {.time_ns = vs_live_now(live), .device = device, .is_start = is_start};
  if (vs_live_at(live, device) == NULL) return vs_live_no_device(live, device);
  vs_status status = vs_record_text_intern(live->stacks, vs_str_from(name), &annotation.name);
  if (status != VS_OK) return vs_live_result(live, status);
  vs_live_lock_take(&annotations->lock);
  if (annotations->is_kept) status = keep(live, &annotation);
  VS_ASSERT(!annotations->is_recorded || live->recorder != NULL);
  if (annotations->is_recorded)
    vs_record_annotation(live->recorder, annotation.name, is_start, (int32_t)device, annotation.time_ns);
  vs_live_lock_give(&annotations->lock);
  return vs_live_result(live, status);
}

vs_status vs_live_annotation_begin(vs_live *live, uint32_t device, const char *name) {
  return add(live, device, name, true);
}

vs_status vs_live_annotation_end(vs_live *live, uint32_t device, const char *name) {
  return add(live, device, name, false);
}
