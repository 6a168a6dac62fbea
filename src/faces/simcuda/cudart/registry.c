#include "faces/simcuda/cudart/registry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "faces/simcuda/abi/cudart.h"
#include "faces/simcuda/cudart/runtime.h"
#include "os/pages.h"

/* Chunk i has FIRST_CHUNK << i entries, so even large programs need few chunks. */
enum { FIRST_CHUNK = 1024, CHUNKS = 20 };

static struct {
  pthread_mutex_t lock;
  vs_rt_symbol *chunks[CHUNKS];
  unsigned chunk_count;
  size_t used;        /* entries used in the last chunk */
  vs_rt_symbol *free; /* entries of unregistered modules, linked by `next` */
  vs_map by_host;     /* from a host address to an entry's number */
  vs_rt_module *libraries;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t chunk_size(unsigned chunk) {
  VS_ASSERT(chunk < CHUNKS);
  return (size_t)FIRST_CHUNK << chunk;
}

/* For assertions: a thread holds the lock. */
static bool is_locked(void) {
  if (pthread_mutex_trylock(&table.lock) != 0) return true;
  pthread_mutex_unlock(&table.lock);
  return false;
}

/* ---- entries, under the lock */

static vs_rt_symbol *new_entry(void) {
  VS_ASSERT(is_locked());
  vs_rt_symbol *entry = table.free;
  if (entry != NULL) {
    VS_ASSERT(entry->module == NULL);
    table.free = entry->next;
    return entry;
  }
  if (table.chunk_count == 0 || table.used == chunk_size(table.chunk_count - 1)) {
    if (table.chunk_count == CHUNKS) return NULL;
    vs_rt_symbol *chunk = calloc(chunk_size(table.chunk_count), sizeof *chunk);
    if (chunk == NULL) return NULL;
    table.chunks[table.chunk_count++] = chunk;
    table.used = 0;
  }
  entry = &table.chunks[table.chunk_count - 1][table.used];
  entry->number = (uint32_t)(chunk_size(table.chunk_count - 1) - FIRST_CHUNK + table.used++);
  VS_ASSERT(table.used <= chunk_size(table.chunk_count - 1));
  return entry;
}

static vs_rt_symbol *entry_at(uint32_t number) {
  unsigned chunk = 0;
  for (; number >= chunk_size(chunk); chunk++) number -= (uint32_t)chunk_size(chunk);
  VS_ASSERT(chunk < table.chunk_count);
  return &table.chunks[chunk][number];
}

static void release(vs_rt_symbol *entry) {
  VS_ASSERT(is_locked() && entry_at(entry->number) == entry);
  *entry = (vs_rt_symbol){.next = table.free, .number = entry->number};
  table.free = entry;
}

static bool is_entry(const void *handle) {
  const uintptr_t at = (uintptr_t)handle;
  for (unsigned i = 0; i < table.chunk_count; i++) {
    const uintptr_t first = (uintptr_t)table.chunks[i];
    if (at >= first && at < first + chunk_size(i) * sizeof(vs_rt_symbol))
      return (at - first) % sizeof(vs_rt_symbol) == 0 && ((const vs_rt_symbol *)handle)->module != NULL;
  }
  return false;
}

static vs_rt_symbol *find_host(const void *host) {
  VS_ASSERT(is_locked());
  const size_t slot = vs_map_find(&table.by_host, (uintptr_t)host);
  return slot == VS_MAP_NONE ? NULL : entry_at(table.by_host.slots[slot].value);
}

static void forget_host(const void *host) {
  const size_t slot = vs_map_find(&table.by_host, (uintptr_t)host);
  if (slot != VS_MAP_NONE) vs_map_remove(&table.by_host, slot);
}

/* The last registration of a host address replaces earlier ones. */
static bool remember_host(vs_rt_symbol *entry) {
  forget_host(entry->host);
  if (vs_map_reserve(vs_host_default(), &table.by_host) != VS_OK) return false;
  vs_map_add(&table.by_host, (uintptr_t)entry->host, entry->number);
  VS_ASSERT(find_host(entry->host) == entry);
  return true;
}

static vs_rt_symbol *add_entry(vs_rt_module *module, const void *host, const char *name,
                               vs_rt_symbol_kind kind) {
  vs_rt_symbol *entry = new_entry();
  if (entry == NULL) return NULL;
  *entry = (vs_rt_symbol){
      .host = host, .name = name, .module = module, .number = entry->number, .kind = (uint8_t)kind};
  if (host != NULL && !remember_host(entry)) {
    release(entry);
    return NULL;
  }
  VS_ASSERT(entry_at(entry->number) == entry && is_entry(entry));
  entry->next = module->symbols;
  module->symbols = entry;
  return entry;
}

static void drop(vs_rt_symbol *entry) {
  if (entry->host != NULL && find_host(entry->host) == entry) forget_host(entry->host);
  if (entry->host == NULL) /* an entry of a library: its name is our copy */
    vs_host_free(vs_host_default(), (char *)(uintptr_t)entry->name, strlen(entry->name) + 1);
  free(entry->address);
  free(entry->settings);
  release(entry);
}

static void drop_all(vs_rt_module *module) {
  while (module->symbols != NULL) {
    vs_rt_symbol *entry = module->symbols;
    VS_ASSERT(entry->module == module);
    module->symbols = entry->next;
    drop(entry);
  }
}

/* ---- look-ups */

static vs_rt_symbol *find_kernel(const void *function) {
  vs_rt_symbol *entry = find_host(function);
  if (entry == NULL && is_entry(function)) entry = (vs_rt_symbol *)(uintptr_t)function;
  return entry != NULL && entry->kind == VS_RT_KERNEL ? entry : NULL;
}

vs_rt_symbol *vs_rt_kernel(const void *function) {
  pthread_mutex_lock(&table.lock);
  vs_rt_symbol *entry = find_kernel(function);
  pthread_mutex_unlock(&table.lock);
  return entry;
}

vs_rt_symbol *vs_rt_variable(const void *host) {
  pthread_mutex_lock(&table.lock);
  vs_rt_symbol *entry = find_host(host);
  pthread_mutex_unlock(&table.lock);
  return entry != NULL && entry->kind != VS_RT_KERNEL ? entry : NULL;
}

/* Under the lock. Unreadable code counts as made for the device. */
static const struct vs_rt_chosen *choose_code(vs_rt_module *module, uint32_t device,
                                              const vs_sim_figures *figures) {
  VS_ASSERT(is_locked() && device < VS_SIM_MAX_DEVICES);
  struct vs_rt_chosen *chosen = &module->chosen[device];
  if (chosen->is_known) return chosen;
  const uint32_t own = 10 * figures->compute_major + figures->compute_minor;
  chosen->result = VS_FATBINARY_UNREADABLE;
  if (module->image != NULL) {
    const uint64_t size = vs_fatbinary_size(module->image);
    chosen->result = vs_fatbinary_choose(module->image, size, figures->compute_major, figures->compute_minor,
                                         &chosen->choice);
    vs_pages_release_file(module->image, size);
  }
  if (chosen->result == VS_FATBINARY_UNREADABLE)
    chosen->choice = (vs_fatbinary_choice){.ptx = own, .binary = own};
  chosen->is_known = true;
  return chosen;
}

vs_sim_error vs_rt_kernel_for(const void *function, uint32_t device, vs_rt_symbol **kernel,
                              vs_fatbinary_choice *choice) {
  const vs_sim_figures *figures = vs_simcuda_figures(device);
  if (figures == NULL) return VS_SIM_INVALID_DEVICE;
  vs_sim_error error = VS_SIM_OK;
  pthread_mutex_lock(&table.lock);
  *kernel = find_kernel(function);
  if (*kernel == NULL) {
    error = (vs_sim_error)VS_RT_INVALID_DEVICE_FUNCTION;
  } else {
    const struct vs_rt_chosen *chosen = choose_code((*kernel)->module, device, figures);
    if (chosen->result == VS_FATBINARY_NOTHING_FITS) error = (vs_sim_error)VS_RT_NO_KERNEL_IMAGE;
    if (choice != NULL) *choice = chosen->choice;
  }
  pthread_mutex_unlock(&table.lock);
  return error;
}

/* A managed variable is shared by all devices; its address is stored under device 0. */
static vs_sim_error place_variable(vs_rt_symbol *variable, uint32_t device, uint64_t *address) {
  if (variable->kind == VS_RT_MANAGED) {
    void *memory = NULL;
    VS_SIM_TRY(vs_simcuda_managed_alloc(variable->size, &memory));
    *address = (uintptr_t)memory;
    return VS_SIM_OK;
  }
  VS_SIM_TRY(vs_simcuda_use(device));
  vs_simcuda_charge(VS_SIM_ACCOUNT_KERNELS);
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return VS_SIM_NOT_INITIALIZED;
  const vs_sim_error error = vs_sim_alloc(sim, device, variable->size, address);
  vs_simcuda_unlock();
  return error;
}

vs_sim_error vs_rt_variable_address(vs_rt_symbol *variable, uint32_t device, uint64_t *address) {
  vs_sim_error error = VS_SIM_OK;
  const uint32_t row = variable->kind == VS_RT_MANAGED ? 0 : device;
  VS_ASSERT(variable->kind != VS_RT_KERNEL && row < VS_SIM_MAX_DEVICES);
  pthread_mutex_lock(&table.lock);
  if (variable->address == NULL) variable->address = calloc(VS_SIM_MAX_DEVICES, sizeof *variable->address);
  if (variable->address == NULL) error = VS_SIM_OUT_OF_MEMORY;
  else if (variable->address[row] == 0) error = place_variable(variable, device, &variable->address[row]);
  if (error == VS_SIM_OK) *address = variable->address[row];
  pthread_mutex_unlock(&table.lock);
  return error;
}

void vs_rt_forget_addresses(uint32_t device) {
  VS_ASSERT(device < VS_SIM_MAX_DEVICES);
  pthread_mutex_lock(&table.lock);
  for (unsigned chunk = 0; chunk < table.chunk_count; chunk++)
    for (size_t i = 0; i < chunk_size(chunk); i++) {
      const vs_rt_symbol *entry = &table.chunks[chunk][i];
      if (entry->address != NULL && entry->kind == VS_RT_VARIABLE) entry->address[device] = 0;
    }
  pthread_mutex_unlock(&table.lock);
}

vs_rt_settings *vs_rt_settings_of(vs_rt_symbol *kernel) {
  pthread_mutex_lock(&table.lock);
  if (kernel->settings == NULL) {
    kernel->settings = malloc(sizeof *kernel->settings);
    if (kernel->settings != NULL) *kernel->settings = (vs_rt_settings){.dynamic_shared = -1, .carveout = -1};
  }
  vs_rt_settings *settings = kernel->settings;
  pthread_mutex_unlock(&table.lock);
  return settings;
}

/* ---- libraries loaded at run time */

vs_rt_module *vs_rt_library_load(void) {
  vs_rt_module *library = calloc(1, sizeof *library);
  if (library == NULL) return NULL;
  pthread_mutex_lock(&table.lock);
  library->next_library = table.libraries;
  table.libraries = library;
  pthread_mutex_unlock(&table.lock);
  return library;
}

vs_rt_module *vs_rt_library_find(const void *handle) {
  pthread_mutex_lock(&table.lock);
  vs_rt_module *library = table.libraries;
  while (library != NULL && library != handle) library = library->next_library;
  pthread_mutex_unlock(&table.lock);
  return library;
}

/* Under the lock. Copies the caller's name into the entry. */
static vs_rt_symbol *add_named(vs_rt_module *library, const char *name, vs_rt_symbol_kind kind) {
  const vs_host *host = vs_host_default();
  const size_t size = strlen(name) + 1;
  char *copy = vs_host_alloc(host, size);
  if (copy == NULL) return NULL;
  memcpy(copy, name, size);
  vs_rt_symbol *entry = add_entry(library, NULL, copy, kind);
  if (entry == NULL) vs_host_free(host, copy, size);
  return entry;
}

vs_rt_symbol *vs_rt_library_symbol(vs_rt_module *library, const char *name, vs_rt_symbol_kind kind) {
  pthread_mutex_lock(&table.lock);
  vs_rt_symbol *entry = library->symbols;
  while (entry != NULL && (entry->kind != kind || strcmp(entry->name, name) != 0)) entry = entry->next;
  if (entry == NULL) entry = add_named(library, name, kind);
  pthread_mutex_unlock(&table.lock);
  return entry;
}

void vs_rt_library_unload(vs_rt_module *library) {
  pthread_mutex_lock(&table.lock);
  vs_rt_module **link = &table.libraries;
  while (*link != NULL && *link != library) link = &(*link)->next_library;
  if (*link != NULL) *link = library->next_library;
  drop_all(library);
  pthread_mutex_unlock(&table.lock);
  free(library);
}

/* ---- registration, which compiled programs call before main */

/* The wrapper around a container that a program passes. */
typedef struct wrapper {
  int magic, version;
  const void *data;
  const void *more;
} wrapper;

void **sim___cudaRegisterFatBinary(void *fat_binary) {
  vs_rt_module *module = calloc(1, sizeof *module);
  const wrapper *around = fat_binary;
  if (module != NULL && around != NULL && around->magic == VS_FATBINARY_WRAPPER_MAGIC)
    module->image = around->data;
  return (void **)module;
}

void sim___cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

void sim___cudaUnregisterFatBinary(void **handle) {
  vs_rt_module *module = (vs_rt_module *)handle;
  if (module == NULL) return;
  pthread_mutex_lock(&table.lock);
  drop_all(module);
  pthread_mutex_unlock(&table.lock);
  free(module);
}

static void register_symbol(void **handle, const void *host, const char *name, vs_rt_symbol_kind kind,
                            uint64_t size) {
  if (handle == NULL || host == NULL) return;
  pthread_mutex_lock(&table.lock);
  vs_rt_symbol *entry = add_entry((vs_rt_module *)handle, host, name, kind);
  if (entry != NULL) entry->size = size;
  pthread_mutex_unlock(&table.lock);
}

enum { MANY_KERNELS = 5000 };
static _Atomic uint32_t kernel_count; /* registered so far; libraries that were unloaded count, too */

bool vs_rt_has_many_kernels(void) {
  return atomic_load_explicit(&kernel_count, memory_order_relaxed) >= MANY_KERNELS;
}

void sim___cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                int thread_limit, uint3 *thread, uint3 *block, dim3 *block_size,
                                dim3 *grid_size, int *warp_size) {
  (void)device, (void)thread_limit, (void)thread, (void)block, (void)block_size, (void)grid_size,
      (void)warp_size;
  atomic_fetch_add_explicit(&kernel_count, 1, memory_order_relaxed);
  register_symbol(handle, host, name, VS_RT_KERNEL, 0);
}

void sim___cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                           size_t size, int constant, int global) {
  (void)device, (void)external, (void)constant, (void)global;
  register_symbol(handle, host, name, VS_RT_VARIABLE, size);
}

/* The program reads the variable through the pointer at `host`, which __cudaInitModule sets. */
void sim___cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external,
                                  size_t size, int constant, int global) {
  (void)device, (void)external, (void)constant, (void)global;
  register_symbol(handle, host, name, VS_RT_MANAGED, size);
}

/* A host variable that kernels access by its address: no entry is needed. */
void sim___cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size) {
  (void)handle, (void)name, (void)host, (void)size;
}

/* Called before a managed variable is used: allocates its memory. */
char sim___cudaInitModule(void **handle) {
  vs_rt_module *module = (vs_rt_module *)handle;
  if (module == NULL) return 0;
  for (vs_rt_symbol *entry = module->symbols; entry != NULL; entry = entry->next) {
    uint64_t address;
    if (entry->kind != VS_RT_MANAGED) continue;
    if (vs_rt_variable_address(entry, vs_simcuda_this_thread()->device, &address) != VS_SIM_OK) return 0;
    *(void **)(uintptr_t)entry->host = (void *)(uintptr_t)address;
  }
  return 1;
}
