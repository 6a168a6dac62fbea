/* Annotations: kept in one ring for all cards, as PyTorch does, and told to the recorder. */
#include "live/why.h"

void vs_live_notes_deinit(vs_live *live) { vs_vec_free(live->host, &live->notes.entries); }

static vs_live_note *note_at(const vs_live_notes *notes, uint64_t i) {
  const uint64_t at = notes->first + i, count = notes->entries.count;
  return &notes->entries.data[at < count ? at : at - count];
}

/* In order, the oldest first, and at most `capacity` of them. */
static vs_status straighten(vs_live *live, uint64_t capacity) {
  vs_live_notes *notes = &live->notes;
  const uint64_t count = notes->entries.count, dropped = count > capacity ? count - capacity : 0;
  if (notes->first == 0 && dropped == 0) return VS_OK;
  vs_live_note *straight = vs_host_alloc(live->host, (size_t)(count - dropped) * sizeof *straight);
  if (straight == NULL) return VS_NO_MEMORY;
  for (uint64_t i = dropped; i < count; i++) straight[i - dropped] = *note_at(notes, i);
  vs_vec_free(live->host, &notes->entries);
  notes->entries.data = straight;
  notes->entries.count = notes->entries.capacity = (size_t)(count - dropped);
  notes->first = 0;
  return VS_OK;
}

vs_status vs_live_notes_keep(vs_live *live, const vs_history_options *options) {
  vs_live_notes *notes = &live->notes;
  const uint64_t most = options->max_entries == 0 ? 1 : options->max_entries;
  const uint64_t capacity = options->enabled == VS_HISTORY_EVENTS ? most : 1;
  vs_status status = VS_OK;
  vs_live_lock_take(&notes->lock);
  if (options->enabled == VS_HISTORY_OFF || options->clear) {
    vs_vec_free(live->host, &notes->entries);
    notes->first = 0;
  }
  status = straighten(live, capacity);
  if (status == VS_OK) {
    notes->capacity = capacity;
    notes->is_kept = options->enabled != VS_HISTORY_OFF;
  }
  vs_live_lock_give(&notes->lock);
  return status;
}

static vs_status keep(vs_live *live, const vs_live_note *note) {
  vs_live_notes *notes = &live->notes;
  if (notes->entries.count < notes->capacity) {
    VS_TRY(vs_vec_reserve(live->host, &notes->entries, 1));
    notes->entries.data[notes->entries.count++] = *note;
    return VS_OK;
  }
  notes->entries.data[notes->first] = *note;
  notes->first = notes->first + 1 == notes->entries.count ? 0 : notes->first + 1;
  return VS_OK;
}

static vs_status add(vs_live *live, uint32_t device, const char *name, bool is_start) {
  vs_live_notes *notes = &live->notes;
  vs_live_note note = {.time_ns = vs_live_now(live), .device = device, .is_start = is_start};
  if (vs_live_at(live, device) == NULL) return vs_live_no_device(live, device);
  vs_status status = vs_record_text_intern(live->stacks, vs_str_from(name), &note.name);
  if (status != VS_OK) return vs_live_plainly(live, status);
  vs_live_lock_take(&notes->lock);
  if (notes->is_kept) status = keep(live, &note);
  if (notes->is_recorded)
    vs_record_annotation(live->recorder, note.name, is_start, (int32_t)device, note.time_ns);
  vs_live_lock_give(&notes->lock);
  return vs_live_plainly(live, status);
}

vs_status vs_live_annotation_begin(vs_live *live, uint32_t device, const char *name) {
  return add(live, device, name, true);
}

vs_status vs_live_annotation_end(vs_live *live, uint32_t device, const char *name) {
  return add(live, device, name, false);
}
