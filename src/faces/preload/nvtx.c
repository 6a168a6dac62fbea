#include "faces/preload/nvtx.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/text.h"
#include "base/utf8.h"
#include "faces/preload/annotations.h"
#include "os/library.h"
#include "os/thread.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* ---- names */

/* Annotations cut what is longer than their names; a character more is kept here, so that they see where one ends. */
enum { MOST_BYTES = VS_ANNOTATIONS_NAME + 4 };

/* A name in wide characters becomes bytes. */
typedef struct wide_name {
  char bytes[MOST_BYTES + 4];
} wide_name;

static vs_str from_bytes(const char *name) { return vs_str_from(name == NULL ? "" : name); }

static vs_str from_wide(const wchar_t *name, wide_name *space) {
  size_t size = 0;
  for (; name != NULL && *name != 0 && size < MOST_BYTES; name++)
    size += vs_utf8_encode(&space->bytes[size], (uint32_t)*name <= 0x10FFFF ? (uint32_t)*name : 0xFFFD);
  return (vs_str){space->bytes, size};
}

/* ---- handles: equal names have the same one, and it stays until the process ends */

struct nvtx_name {
  nvtx_name *next; /* of the same bucket */
  size_t size;
  char bytes[];
};

enum { BUCKETS = 1024, MOST_NAMES = 65536 };

static vs_lock lock; /* of adding */
static nvtx_name *_Atomic buckets[BUCKETS];
static uint32_t name_count;

static nvtx_name *find_name(uint64_t bucket, vs_str name) {
  nvtx_name *at = atomic_load_explicit(&buckets[bucket], memory_order_acquire);
  while (at != NULL && !vs_str_equal((vs_str){at->bytes, at->size}, name)) at = at->next;
  return at;
}

static nvtx_name *add_name(uint64_t bucket, vs_str name) {
  if (name_count == MOST_NAMES) return NULL;
  nvtx_name *new = vs_host_alloc(vs_host_default(), sizeof *new + name.size);
  if (new == NULL) return NULL;
  *new = (nvtx_name){.next = atomic_load_explicit(&buckets[bucket], memory_order_relaxed), .size = name.size};
  memcpy(new->bytes, name.data, name.size);
  name_count++;
  atomic_store_explicit(&buckets[bucket], new, memory_order_release);
  return new;
}

/* NULL where there is no room, which to NVTX is the domain without a name, or no string. */
static nvtx_name *handle_of(vs_str name) {
  if (name.size > MOST_BYTES) name.size = MOST_BYTES;
  const uint64_t bucket = vs_hash_bytes(name.data, name.size) % BUCKETS;
  nvtx_name *known = find_name(bucket, name);
  if (known != NULL) return known;
  vs_lock_take(&lock);
  known = find_name(bucket, name);
  if (known == NULL) known = add_name(bucket, name);
  vs_lock_give(&lock);
  return known;
}

static vs_str name_of(const nvtx_name *handle) {
  return handle == NULL ? VS_STR("") : (vs_str){handle->bytes, handle->size};
}

static nvtx_name *create(const char *name) { return handle_of(from_bytes(name)); }

static nvtx_name *create_wide(const wchar_t *name) {
  wide_name space;
  return handle_of(from_wide(name, &space));
}

static nvtx_name *register_string(nvtx_name *domain, const char *string) {
  (void)domain;
  return create(string);
}

static nvtx_name *register_wide(nvtx_name *domain, const wchar_t *string) {
  (void)domain;
  return create_wide(string);
}

/* ---- ranges */

static vs_str message_of(const nvtx_event *event, wide_name *space) {
  if (event == NULL || event->size < sizeof *event) return VS_STR("");
  switch (event->message_type) {
    case NVTX_MESSAGE_BYTES: return from_bytes(event->message.bytes);
    case NVTX_MESSAGE_WIDE: return from_wide(event->message.wide, space);
    case NVTX_MESSAGE_REGISTERED: return name_of(event->message.registered);
    default: return VS_STR("");
  }
}

static int push_name(const nvtx_name *domain, vs_str name) {
  vs_annotations_begin(&(vs_range_key){VS_RANGE_PUSHED, (uint64_t)(uintptr_t)domain}, name_of(domain), name);
  return NVTX_NO_DEPTH;
}

static uint64_t start_name(const nvtx_name *domain, vs_str name) {
  static _Atomic uint64_t last;
  const uint64_t number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
  vs_annotations_begin(&(vs_range_key){VS_RANGE_STARTED, number}, name_of(domain), name);
  return number;
}

static int push_event_in(nvtx_name *domain, const nvtx_event *event) {
  wide_name space;
  return push_name(domain, message_of(event, &space));
}
static int push_event(const nvtx_event *event) { return push_event_in(NULL, event); }
static int push(const char *name) { return push_name(NULL, from_bytes(name)); }
static int push_wide(const wchar_t *name) {
  wide_name space;
  return push_name(NULL, from_wide(name, &space));
}

static int pop_in(nvtx_name *domain) {
  vs_annotations_end(&(vs_range_key){VS_RANGE_PUSHED, (uint64_t)(uintptr_t)domain});
  return NVTX_NO_DEPTH;
}
static int pop(void) { return pop_in(NULL); }

static uint64_t start_event_in(nvtx_name *domain, const nvtx_event *event) {
  wide_name space;
  return start_name(domain, message_of(event, &space));
}
static uint64_t start_event(const nvtx_event *event) { return start_event_in(NULL, event); }
static uint64_t start(const char *name) { return start_name(NULL, from_bytes(name)); }
static uint64_t start_wide(const wchar_t *name) {
  wide_name space;
  return start_name(NULL, from_wide(name, &space));
}

static void end(uint64_t number) { vs_annotations_end(&(vs_range_key){VS_RANGE_STARTED, number}); }
static void end_in(nvtx_name *domain, uint64_t number) {
  (void)domain;
  end(number);
}

/* ---- NVTX's tables */

typedef struct table_entry {
  int module;
  uint32_t number;
  nvtx_function *function;
} table_entry;

#define ENTRY(module, number, function) \
  { (module), (number), (nvtx_function *)(function) }
static const table_entry entries[] = {
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_START_EVENT, start_event),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_START, start),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_START_WIDE, start_wide),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_END, end),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_PUSH_EVENT, push_event),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_PUSH, push),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_PUSH_WIDE, push_wide),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_POP, pop),
    ENTRY(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_RANGE_START, start_event_in),
    ENTRY(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_RANGE_END, end_in),
    ENTRY(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_RANGE_PUSH, push_event_in),
    ENTRY(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_RANGE_POP, pop_in),
    ENTRY(NVTX_MODULE_DOMAINS, NVTX_REGISTER_STRING, register_string),
    ENTRY(NVTX_MODULE_DOMAINS, NVTX_REGISTER_STRING_WIDE, register_wide),
    ENTRY(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_CREATE, create),
    ENTRY(NVTX_MODULE_DOMAINS, NVTX_DOMAIN_CREATE_WIDE, create_wide),
};

enum { ENTRIES = sizeof entries / sizeof *entries };

/* `functions`: a module's table, of `count` entries. Other threads may call them meanwhile. */
static void fill_table(int module, nvtx_function ***functions, uint32_t count) {
  for (size_t i = 0; i < ENTRIES; i++) {
    const table_entry *entry = &entries[i];
    const bool has_it = entry->module == module && entry->number < count && functions[entry->number] != NULL;
    if (has_it) __atomic_store_n(functions[entry->number], entry->function, __ATOMIC_RELEASE);
  }
}

static void clear_table(int module, nvtx_function ***functions) {
  for (size_t i = 0; i < ENTRIES; i++) {
    nvtx_function *ours = entries[i].function;
    if (entries[i].module == module)
      (void)__atomic_compare_exchange_n(functions[entries[i].number], &ours, NULL, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED);
  }
}

static bool fill(const nvtx_callbacks *callbacks, int module) {
  nvtx_function ***functions = NULL;
  uint32_t count = 0;
  if (callbacks->functions(module, &functions, &count) == 0 || functions == NULL) return false;
  fill_table(module, functions, count);
  return true;
}

int InitializeInjectionNvtx2(nvtx_get_table *get_table) {
  const nvtx_callbacks *callbacks = get_table == NULL ? NULL : get_table(NVTX_TABLE_CALLBACKS);
  if (callbacks == NULL || callbacks->size < sizeof *callbacks || !fill(callbacks, NVTX_MODULE_CORE))
    return 0;
  (void)fill(callbacks, NVTX_MODULE_DOMAINS); /* NVTX 1 has none */
  return 1;
}

/* ---- NVTX that has looked for a tool already */

static bool is_ours(nvtx_function *function) {
  for (size_t i = 0; i < ENTRIES; i++)
    if (entries[i].function == function) return true;
  return false;
}

bool vs_nvtx_fill(nvtx_globals *globals) {
  for (size_t i = 0; i < NVTX_FUNCTIONS; i++) {
    nvtx_function *const function = __atomic_load_n(&globals->functions[i], __ATOMIC_ACQUIRE);
    if (function != NULL && !is_ours(function)) return false;
  }
  fill_table(NVTX_MODULE_CORE, globals->tables + NVTX_CORE_TABLE, NVTX_CORE);
  fill_table(NVTX_MODULE_DOMAINS, globals->tables + NVTX_DOMAINS_TABLE, NVTX_DOMAINS);
  return true;
}

void vs_nvtx_clear(nvtx_globals *globals) {
  clear_table(NVTX_MODULE_CORE, globals->tables + NVTX_CORE_TABLE);
  clear_table(NVTX_MODULE_DOMAINS, globals->tables + NVTX_DOMAINS_TABLE);
}

/* ---- where NVTX looks for a tool */

static const char variable[] = "NVTX_INJECTION64_PATH";

void vs_nvtx_offer(void) {
  vs_library_place here;
  if (vs_library_place_of(&lock, &here) && here.path[0] == '/') (void)setenv(variable, here.path, 0);
}

bool vs_nvtx_is_promised(void) {
  vs_library_place here;
  const char *const path = getenv(variable);
  return path != NULL && !(vs_library_place_of(&lock, &here) && strcmp(path, here.path) == 0);
}
