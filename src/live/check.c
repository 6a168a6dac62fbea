/* The invariants of a whole vs_live, executed. Tests call it between operations. */
#include "live/state.h"

/* ---- one card: its lock is held */

static bool agrees(const vs_live_device *device, vs_scope_kind kind, vs_alloc_group group) {
  const vs_alloc_stat stat =
      vs_alloc_statistics_at(vs_alloc_statistics_of(device->alloc), group, VS_ALLOC_ALL);
  return device->scopes.now[kind] == stat.current;
}

/* The driver's pool of backend:cudaMallocAsync is not counted by `alloc`. */
static const char *check_figures(const vs_live_device *device) {
  if (device->async != NULL || !vs_scopes_are_open(&device->scopes)) return NULL;
  if (!agrees(device, VS_SCOPE_ALLOCATED, VS_ALLOC_ALLOCATED_BYTES) ||
      !agrees(device, VS_SCOPE_REQUESTED, VS_ALLOC_REQUESTED_BYTES) ||
      !agrees(device, VS_SCOPE_ACTIVE, VS_ALLOC_ACTIVE_BYTES) ||
      !agrees(device, VS_SCOPE_RESERVED, VS_ALLOC_RESERVED_BYTES))
    return "the scopes of a card and its allocator count differently";
  return NULL;
}

static const char *check_listeners(const vs_live_device *device) {
  const vs_live *live = device->live;
  if (((device->watch & VS_WATCH_SCOPES) != 0) != vs_scopes_are_open(&device->scopes))
    return "a card listens for scopes that are not open, or does not for open ones";
  if (((device->watch & VS_WATCH_RECORDING) != 0) != (live->recorder != NULL))
    return "a card listens for a recording that is not on, or does not for one that is";
  if (device->is_held) return "a card holds an event back between two calls";
  return NULL;
}

static const char *check_device(const vs_live *live, uint32_t index) {
  vs_live_device *device = live->devices[index];
  if (device->live != live || device->index != index) return "a card has a wrong number";
  for (const vs_scope *scope = device->scopes.first; scope != NULL; scope = scope->next)
    if (scope->device != device) return "a scope belongs to another card";
  const char *broken = vs_alloc_check(device->alloc);
  if (broken == NULL) broken = vs_history_check(&device->history);
  if (broken == NULL) broken = vs_scopes_check(&device->scopes);
  if (broken == NULL) broken = check_figures(device);
  return broken == NULL ? check_listeners(device) : broken;
}

/* ---- what all cards share */

static const char *check_annotations(const vs_live *live) {
  const vs_live_annotations *kept = &live->annotations;
  const uint64_t count = kept->entries.count;
  if (count > kept->capacity) return "there are more annotations than their capacity";
  if (kept->first != 0 && count != kept->capacity)
    return "a ring of annotations that is not full begins in the middle";
  if (kept->first >= (count == 0 ? 1 : count)) return "the annotations begin behind the last one";
  for (uint64_t i = 0; i < count; i++)
    if (kept->entries.data[i].device >= live->machine.count) return "an annotation belongs to no card";
  if (kept->is_recorded != (live->recorder != NULL)) return "annotations are recorded without a recording";
  return NULL;
}

static const char *check_observers(const vs_live_observers *observers) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < VS_LIVE_OBSERVERS; i++) {
    const vs_live_observer *place = &observers->places[i];
    if (place->call != NULL) count++;
    if (place->id == 0 && (place->call != NULL || place->running != 0))
      return "an observer without a number is called";
    if (place->id != 0 && place->call == NULL && place->running == 0)
      return "a place without an observer is not free";
    if (place->id > observers->last_id) return "an observer's number was never given";
    for (uint32_t other = 0; other < i; other++)
      if (place->id != 0 && observers->places[other].id == place->id)
        return "two observers have the same number";
  }
  return count == atomic_load(&observers->count) ? NULL : "the number of observers is wrong";
}

static const char *check_all(const vs_live *live) {
  const char *broken = check_annotations(live);
  for (uint32_t i = 0; i < live->machine.count && broken == NULL; i++) broken = check_device(live, i);
  if (atomic_load(&live->stacks_wanted) != (live->history_stacks | live->recording_stacks))
    return "stacks are taken that neither history nor the recording needs, or are not taken";
  return broken;
}

const char *vs_live_check(vs_live *live) {
  vs_live_lock_all(live);
  vs_live_lock_take(&live->annotations.lock);
  const char *broken = check_all(live);
  vs_live_lock_give(&live->annotations.lock);
  vs_live_unlock_all(live);
  vs_live_lock_take(&live->observers.lock);
  if (broken == NULL) broken = check_observers(&live->observers);
  vs_live_lock_give(&live->observers.lock);
  return broken;
}
