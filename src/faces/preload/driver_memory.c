#include "faces/preload/driver_memory.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "faces/preload/pytorch.h"
#include "faces/preload/recording.h"
#include "os/clock.h"
#include "os/thread.h"
#include <string.h>

enum { MOST_LIBRARIES = 256, MOST_PATH = 1024 };

typedef struct library {
  char path[MOST_PATH];
  uint64_t bytes[C10_MOST_DEVICES];
  bool has_changed[C10_MOST_DEVICES]; /* the total is not in the recording */
} library;

typedef struct live_row {
  uint64_t key, bytes;
  uint64_t other;                 /* of an allocation: its context; of a mapping: its handle */
  uint32_t library, device, uses; /* uses: handles and mappings */
} live_row;

/* Rows that are not used any more are a list that begins at `unused` and goes on at `bytes`: 1 + row; 0: none. */
typedef struct table {
  vs_map at;
  VS_VEC(live_row) rows;
  uint64_t unused;
} table;

typedef struct card {
  char name[VS_DRIVER_CARD_NAME];
  uint64_t bytes; /* 0: unknown */
  bool has_changed;
} card;

static struct {
  vs_lock lock;
  uint32_t forks, era;
  bool has_failed;                /* not all is seen, or there was no room: nothing is told any more */
  bool is_used[C10_MOST_DEVICES]; /* memory of it was taken */
  bool is_told[C10_MOST_DEVICES], is_told_changed[C10_MOST_DEVICES];
  uint32_t count; /* libraries */
  library *libraries[MOST_LIBRARIES];
  table allocations, handles, mappings;
  card cards[C10_MOST_DEVICES];
  uint64_t primary[C10_MOST_DEVICES]; /* contexts; 0: unknown */
} all;

static _Atomic bool has_missed;

void vs_driver_memory_missed(void) { has_missed = true; }

/* ---- tables */

static live_row *find(table *t, uint64_t key) {
  const size_t slot = vs_map_find(&t->at, key);
  return slot == VS_MAP_NONE ? NULL : &t->rows.data[t->at.slots[slot].value];
}

static void forget(table *t, uint64_t key) {
  const size_t slot = vs_map_find(&t->at, key);
  if (slot == VS_MAP_NONE) return;
  const uint32_t row = t->at.slots[slot].value;
  vs_map_remove(&t->at, slot);
  t->rows.data[row].bytes = t->unused;
  t->unused = (uint64_t)row + 1;
}

static vs_status add(table *t, const live_row *row) {
  const vs_host *host = vs_host_default();
  VS_TRY(vs_map_reserve(host, &t->at));
  size_t at = t->unused - 1;
  if (t->unused == 0) {
    VS_TRY(vs_vec_reserve(host, &t->rows, 1));
    at = t->rows.count++;
  } else {
    t->unused = t->rows.data[at].bytes;
  }
  VS_ASSERT(at < t->rows.count && at < UINT32_MAX);
  t->rows.data[at] = *row;
  vs_map_add(&t->at, row->key, (uint32_t)at);
  return VS_OK;
}

/* ---- entering */

/* What a child of a fork inherited may have been in the middle of a change: it is left. */
static void begin_process(void) {
  all.forks = vs_fork_generation();
  all.has_failed = false;
  all.count = 0;
  memset(all.is_used, 0, sizeof all.is_used);
  memset(all.is_told, 0, sizeof all.is_told);
  memset(all.primary, 0, sizeof all.primary);
  all.allocations = all.handles = all.mappings = (table){.unused = 0};
}

static void mark_all(void) {
  for (uint32_t i = 0; i < all.count; i++)
    for (uint32_t k = 0; k < C10_MOST_DEVICES; k++)
      all.libraries[i]->has_changed[k] = all.libraries[i]->bytes[k] != 0;
  memcpy(all.is_told_changed, all.has_failed ? all.is_used : all.is_told, sizeof all.is_told);
  for (uint32_t k = 0; k < C10_MOST_DEVICES; k++) all.cards[k].has_changed = all.cards[k].bytes != 0;
}

static void enter(void) {
  vs_lock_take(&all.lock);
  if (all.forks != vs_fork_generation()) begin_process();
  const uint32_t era = vs_recording_era();
  if (all.era != era) mark_all();
  all.era = era;
}

static void fail(void) {
  all.has_failed = true;
  memcpy(all.is_told_changed, all.is_used, sizeof all.is_used);
  memset(all.is_told, 0, sizeof all.is_told);
}

/* ---- writing */

static bool put(vs_recorder *recorder, const char *path, uint32_t device, uint64_t bytes) {
  uint32_t name;
  if (vs_record_text_intern(vs_recording_stacks(), vs_str_from(path), &name) != VS_OK) return false;
  vs_record_library(recorder, name, (int32_t)device, bytes, vs_clock_quick_ns());
  return true;
}

static void put_device(vs_recorder *recorder, uint32_t device) {
  card *c = &all.cards[device];
  if (c->has_changed) vs_record_device(recorder, (int32_t)device, vs_str_from(c->name), c->bytes);
  c->has_changed = false;
  for (uint32_t i = 0; i < all.count; i++) {
    library *l = all.libraries[i];
    if (l->has_changed[device]) l->has_changed[device] = !put(recorder, l->path, device, l->bytes[device]);
  }
  if (all.is_told_changed[device])
    all.is_told_changed[device] = !put(recorder, "", device, all.is_told[device]);
}

/* Totals first, so that they are there when they are said to be complete. */
static void put_changes(vs_recorder *recorder) {
  for (uint32_t device = 0; recorder != NULL && device < C10_MOST_DEVICES; device++)
    put_device(recorder, device);
}

static void leave(void) {
  if (has_missed && !all.has_failed) fail();
  put_changes(vs_recording_current());
  vs_lock_give(&all.lock);
}

void vs_driver_memory_open(vs_recorder *recorder) {
  enter();
  mark_all();
  put_changes(recorder);
  vs_lock_give(&all.lock);
}

/* ---- totals */

static library *library_of(const char *path, uint32_t *number) {
  for (*number = 0; *number < all.count; ++*number)
    if (strcmp(all.libraries[*number]->path, path) == 0) return all.libraries[*number];
  if (all.count == MOST_LIBRARIES) return NULL;
  library *new = vs_host_alloc(vs_host_default(), sizeof *new);
  if (new == NULL) return NULL;
  memset(new, 0, sizeof *new);
  vs_format(new->path, sizeof new->path, "%s", path);
  return all.libraries[all.count++] = new;
}

static void take_off(const live_row *row) {
  library *l = all.libraries[row->library];
  VS_ASSERT(l->bytes[row->device] >= row->bytes);
  l->bytes[row->device] -= row->bytes;
  l->has_changed[row->device] = true;
}

static void tell(uint32_t device) {
  if (all.is_told[device] || all.has_failed) return;
  all.is_told[device] = all.is_told_changed[device] = true;
}

/* A row that is live under its key was freed unseen. */
static void take(table *t, const vs_driver_owner *owner, live_row *row) {
  const live_row *old = find(t, row->key);
  if (old != NULL) take_off(old);
  forget(t, row->key);
  row->device = (uint32_t)owner->device;
  all.is_used[row->device] = true;
  if (owner->is_pytorch) {
    tell(row->device);
    return;
  }
  library *l = library_of(owner->path, &row->library);
  if (l == NULL || add(t, row) != VS_OK) {
    fail();
    return;
  }
  l->bytes[row->device] += row->bytes;
  l->has_changed[row->device] = true;
}

void vs_driver_memory_card(int32_t device, const char *name, uint64_t bytes) {
  VS_ASSERT(device >= 0 && device < C10_MOST_DEVICES);
  enter();
  card *c = &all.cards[device];
  if (c->bytes == 0) {
    vs_format(c->name, sizeof c->name, "%s", name);
    c->bytes = bytes;
    c->has_changed = bytes != 0;
  }
  leave();
}

/* ---- memory at an address */

static bool is_device(int32_t device) { return device >= 0 && device < C10_MOST_DEVICES; }

void vs_driver_allocated(const vs_driver_owner *owner, uint64_t address, uint64_t bytes, uint64_t context) {
  if (!is_device(owner->device)) return;
  live_row row = {.key = address, .bytes = bytes, .other = context};
  enter();
  take(&all.allocations, owner, &row);
  leave();
}

void vs_driver_freed(uint64_t address) {
  enter();
  const live_row *row = find(&all.allocations, address);
  if (row != NULL) take_off(row);
  forget(&all.allocations, address);
  leave();
}

static void end_context(uint64_t context) {
  for (size_t i = 0; i < all.allocations.rows.count; i++) {
    const live_row row = all.allocations.rows.data[i];
    if (find(&all.allocations, row.key) != &all.allocations.rows.data[i]) continue; /* not in use */
    if (row.other != context) continue;
    take_off(&row);
    forget(&all.allocations, row.key);
  }
}

void vs_driver_context_ended(uint64_t context) {
  enter();
  end_context(context);
  leave();
}

void vs_driver_primary_context(int32_t device, uint64_t context) {
  if (!is_device(device)) return;
  enter();
  all.primary[device] = context;
  leave();
}

void vs_driver_primary_context_ended(int32_t device) {
  if (!is_device(device)) return;
  enter();
  if (all.primary[device] != 0) end_context(all.primary[device]);
  else fail();
  leave();
}

void vs_driver_library_has(const vs_driver_owner *owner, uint64_t bytes) {
  if (!is_device(owner->device)) return;
  uint32_t number;
  const uint32_t device = (uint32_t)owner->device;
  enter();
  all.is_used[device] = true;
  tell(device);
  library *l = owner->is_pytorch ? NULL : library_of(owner->path, &number);
  if (l != NULL) {
    l->bytes[device] = bytes;
    l->has_changed[device] = true;
  } else if (!owner->is_pytorch) {
    fail();
  }
  leave();
}

/* ---- physical memory */

static void drop_use(uint64_t handle) {
  live_row *row = find(&all.handles, handle);
  if (row == NULL || --row->uses != 0) return;
  take_off(row);
  forget(&all.handles, handle);
}

void vs_driver_created(const vs_driver_owner *owner, uint64_t handle, uint64_t bytes) {
  if (!is_device(owner->device)) return;
  live_row row = {.key = handle, .bytes = bytes, .uses = 1};
  enter();
  take(&all.handles, owner, &row);
  leave();
}

void vs_driver_retained(uint64_t handle) {
  enter();
  live_row *row = find(&all.handles, handle);
  if (row != NULL) row->uses++;
  leave();
}

void vs_driver_released(uint64_t handle) {
  enter();
  drop_use(handle);
  leave();
}

void vs_driver_mapped(uint64_t handle, uint64_t address, uint64_t bytes) {
  enter();
  live_row *row = find(&all.handles, handle);
  const live_row mapping = {.key = address, .bytes = bytes, .other = handle};
  if (row != NULL && find(&all.mappings, address) == NULL) {
    if (add(&all.mappings, &mapping) == VS_OK) row->uses++;
    else fail();
  }
  leave();
}

/* Whole mappings are unmapped, one or several that follow each other. */
void vs_driver_unmapped(uint64_t address, uint64_t bytes) {
  const uint64_t end = address + bytes;
  enter();
  while (address < end) {
    const live_row *row = find(&all.mappings, address);
    if (row == NULL) break;
    const live_row mapping = *row;
    forget(&all.mappings, address);
    drop_use(mapping.other);
    if (mapping.bytes == 0) break;
    address += mapping.bytes;
  }
  leave();
}
