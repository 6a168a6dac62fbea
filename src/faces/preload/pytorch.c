#include "faces/preload/pytorch.h"
#include "base/check.h"
#include "base/hot.h"
#include "os/library.h"
#include "os/pages.h"
#include "os/thread.h"
#include <stdatomic.h>
#include <string.h>

/* Names of PyTorch's functions, as its compiler writes them. */
static const char allocator_name[] = "_ZN3c104cuda20CUDACachingAllocator9allocatorE";
static const char simple_name[] = "_ZNK3c109Allocator18is_simple_data_ptrERKNS_7DataPtrE";
static const char current_stream_name[] = "_ZN3c104cuda20getCurrentCUDAStreamEa";
static const char stream_handle_name[] = "_ZNK3c104cuda10CUDAStream6streamEv";

/* c10::cuda::CUDAStream: returned in two registers. */
typedef struct cuda_stream {
  c10_device device;
  int64_t id;
} cuda_stream;

static struct {
  vs_pytorch_calls originals;
  cuda_stream (*current_stream)(int8_t device);
  uint64_t (*stream_handle)(const cuda_stream *stream);
  int (*mem_get_info)(size_t *free, size_t *total);
  int (*get_device)(int *device);
} pytorch VS_HOT;

static VS_HOT _Atomic bool is_known;    /* `pytorch` is complete */
static VS_HOT _Atomic bool is_attached; /* the calls are led here, or about to be */
static VS_HOT _Atomic uint32_t doubts;

/* Where calls were led here from; changes under `lock`. */
static vs_lock lock;
static struct {
  vs_library_slots usage, refusal, cuda_malloc, cuda_free;
  const void ***object; /* NULL: its table is its own */
  const void **copy;    /* of its table */
  const void **table;   /* its own */
} changed;

/* ---- the virtual table
 *
 *   table[-2]  offset to the top      table[0], [1]  destructors     table[3]  is_simple_data_ptr
 *   table[-1]  type information       table[2]       allocate        table[4 ...] of the class itself
 *
 * The object gets a copy of its table with another entry 2. How long the table is cannot be told, so all that is loaded behind it
 * is copied, up to a bound; what follows the table is never used. */

enum { DELETE, DESTROY, ALLOCATE, IS_SIMPLE, BEFORE = 2, COPIED = 512 };

static bool lies_in(const void *address, const void *base) {
  vs_library_place place;
  return vs_library_place_of(address, &place) && place.base == base;
}

static bool is_plausible(const void *const *table, const void *base) {
  vs_library_place simple;
  return lies_in(table - BEFORE, base) && lies_in(table[DELETE], base) && lies_in(table[DESTROY], base) &&
         lies_in(table[ALLOCATE], base) && vs_library_place_of(table[IS_SIMPLE], &simple) &&
         simple.symbol != NULL && strcmp(simple.symbol, simple_name) == 0;
}

/* A copy that was made before is used again. */
static bool copy_table(const void **table) {
  if (changed.copy != NULL && changed.table == table) return true;
  const size_t words = vs_min_u64(vs_library_bytes_from(table) / sizeof *table, COPIED);
  void *pages = NULL;
  if (words <= IS_SIMPLE || vs_pages_map((words + BEFORE) * sizeof *table, VS_PAGES_READY, &pages) != VS_OK)
    return false;
  memcpy(pages, table - BEFORE, (words + BEFORE) * sizeof *table);
  changed.copy = (const void **)pages + BEFORE;
  changed.table = table;
  return true;
}

/* The hidden argument for the result is where x86-64 has it; other machines pass it in another way. */
static bool redirect_allocate(void *object, const void *base, vs_allocate_function *ours) {
#if defined(__x86_64__)
  const void ***const at = object;
  if (changed.object != NULL) return true;
  if (object == NULL || !lies_in(object, base) || !lies_in(*at, base) || !is_plausible(*at, base) ||
      !copy_table(*at))
    return false;
  memcpy(&pytorch.originals.allocate, &changed.table[ALLOCATE], sizeof pytorch.originals.allocate);
  memcpy(&changed.copy[ALLOCATE], &ours, sizeof ours);
  __atomic_store_n(at, changed.copy, __ATOMIC_RELEASE);
  changed.object = at;
  return true;
#else
  (void)object, (void)base, (void)ours;
  return false;
#endif
}

static void restore_allocate(void) {
  if (changed.object == NULL || __atomic_load_n(changed.object, __ATOMIC_ACQUIRE) != changed.copy) return;
  __atomic_store_n(changed.object, changed.table, __ATOMIC_RELEASE);
  changed.object = NULL;
}

/* ---- the linkage table */

/* `ours` is a pointer to the function. A call that could not be led back is led here still. */
static bool redirect(const void *inside, const char *name, const void *ours, vs_library_slots *slots) {
  const void *function;
  memcpy(&function, ours, sizeof function);
  return slots->count != 0 || vs_library_redirect(inside, name, function, slots) != 0;
}

/* What a call would have reached: what the table contained, or would have, if the loader had looked it up. NULL: hooks.c finds it. */
static const void *original_of(const char *name, const void *base, const vs_library_slots *slots) {
  vs_library_place place, here;
  const void *before = slots->count == 0 ? NULL : slots->slots[0].before;
  if (before != NULL && lies_in(before, base)) before = vs_library_loaded_symbol(NULL, name);
  const bool is_other = before != NULL && vs_library_place_of(before, &place) &&
                        vs_library_place_of(&pytorch, &here) && place.base != here.base;
  return is_other ? before : NULL;
}

static void redirect_reports(const void *inside, const void *base, const vs_pytorch_calls *ours) {
  static const char usage[] = VS_C10_TEXT(VS_C10_USAGE), refusal[] = VS_C10_TEXT(VS_C10_REFUSAL);
  const void *original;
  (void)redirect(inside, refusal, &ours->refusal, &changed.refusal);
  original = original_of(refusal, base, &changed.refusal);
  memcpy(&pytorch.originals.refusal, &original, sizeof original);
  (void)redirect(inside, usage, &ours->usage, &changed.usage);
  original = original_of(usage, base, &changed.usage);
  memcpy(&pytorch.originals.usage, &original, sizeof original);
}

static bool redirect_segments(const void *inside, const vs_pytorch_calls *ours) {
  void *const allocate = vs_library_symbol_seen_from(inside, "cudaMalloc"), *const release =
                                                                                vs_library_symbol_seen_from(
                                                                                    inside, "cudaFree");
  if (allocate == NULL || release == NULL) return false;
  memcpy(&pytorch.originals.cuda_malloc, &allocate, sizeof allocate);
  memcpy(&pytorch.originals.cuda_free, &release, sizeof release);
  return redirect(inside, "cudaFree", &ours->cuda_free, &changed.cuda_free) &&
         redirect(inside, "cudaMalloc", &ours->cuda_malloc, &changed.cuda_malloc);
}

/* ---- attaching */

static void look_up(const void *inside) {
  void *const stream = vs_library_symbol_seen_from(inside, current_stream_name),
              *const handle = vs_library_symbol_seen_from(inside, stream_handle_name),
              *const info = vs_library_symbol_seen_from(inside, "cudaMemGetInfo"),
              *const device = vs_library_symbol_seen_from(inside, "cudaGetDevice");
  memcpy(&pytorch.current_stream, &stream, sizeof stream);
  memcpy(&pytorch.stream_handle, &handle, sizeof handle);
  memcpy(&pytorch.mem_get_info, &info, sizeof info);
  memcpy(&pytorch.get_device, &device, sizeof device);
  if (stream == NULL || handle == NULL) vs_pytorch_doubt_add(VS_DOUBT_STREAMS);
}

static void *find_allocator(const void *inside) {
  void **const variable = vs_library_symbol_seen_from(inside, allocator_name);
  return variable == NULL ? NULL : __atomic_load_n(variable, __ATOMIC_ACQUIRE);
}

const void *vs_pytorch_find(void) { return vs_library_inside("libc10_cuda.so"); }

static void attach(const void *inside, void *allocator, const void *base, const vs_pytorch_calls *ours) {
  atomic_fetch_and(&doubts, VS_DOUBT_ANNOTATIONS);
  look_up(inside);
  if (!redirect_segments(inside, ours)) vs_pytorch_doubt_add(VS_DOUBT_SEGMENTS);
  if (allocator == NULL) allocator = find_allocator(inside);
  atomic_store_explicit(&is_known, true, memory_order_release);
  if (!redirect_allocate(allocator, base, ours->allocate)) vs_pytorch_doubt_add(VS_DOUBT_REQUESTS);
}

bool vs_pytorch_attach(const void *inside, void *allocator, bool is_bound, const vs_pytorch_calls *ours) {
  vs_library_place library;
  if (atomic_load_explicit(&is_attached, memory_order_relaxed) || !vs_library_place_of(inside, &library) ||
      atomic_exchange(&is_attached, true))
    return false;
  vs_lock_take(&lock);
  attach(inside, allocator, library.base, ours);
  if (!is_bound) redirect_reports(inside, library.base, ours);
  vs_lock_give(&lock);
  return true;
}

bool vs_pytorch_is_attached(void) { return atomic_load_explicit(&is_attached, memory_order_relaxed); }

bool vs_pytorch_is_led_here(void) { return changed.usage.count != 0 && changed.refusal.count != 0; }

void vs_pytorch_detach(void) {
  vs_lock_take(&lock);
  (void)vs_library_restore(&changed.usage);
  (void)vs_library_restore(&changed.refusal);
  (void)vs_library_restore(&changed.cuda_malloc);
  (void)vs_library_restore(&changed.cuda_free);
  restore_allocate();
  atomic_store(&is_attached, false);
  vs_lock_give(&lock);
}

const vs_pytorch_calls *vs_pytorch_originals(void) { return &pytorch.originals; }

uint32_t vs_pytorch_doubts(void) { return atomic_load_explicit(&doubts, memory_order_relaxed); }

void vs_pytorch_doubt_add(vs_pytorch_doubt doubt) {
  if ((vs_pytorch_doubts() & doubt) == 0) atomic_fetch_or_explicit(&doubts, doubt, memory_order_relaxed);
}

/* ---- questions */

/* The handle of the stream that the thread asked about last: a thread changes its stream rarely. */
static _Thread_local struct {
  cuda_stream stream;
  uint64_t handle;
  bool is_set;
} last __attribute__((tls_model("initial-exec")));

bool vs_pytorch_stream(c10_device device, uint64_t *stream) {
  *stream = 0;
  if (!atomic_load_explicit(&is_known, memory_order_acquire) || (vs_pytorch_doubts() & VS_DOUBT_STREAMS) != 0)
    return false;
  const cuda_stream now = pytorch.current_stream(device.index);
  if (now.device.type != device.type || now.device.index != device.index) {
    vs_pytorch_doubt_add(VS_DOUBT_STREAMS);
    return false;
  }
  if (!last.is_set || last.stream.id != now.id || last.stream.device.index != now.device.index) {
    last.handle = pytorch.stream_handle(&now);
    last.stream = now;
    last.is_set = true;
  }
  *stream = last.handle;
  return true;
}

int32_t vs_pytorch_current_device(void) {
  int device = 0;
  const bool is_told = atomic_load_explicit(&is_known, memory_order_acquire) && pytorch.get_device != NULL &&
                       pytorch.get_device(&device) == 0;
  return is_told && device >= 0 && device < C10_MOST_DEVICES ? device : 0;
}

bool vs_pytorch_driver_free(uint64_t *bytes) {
  size_t available = 0, total = 0;
  *bytes = 0;
  if (!atomic_load_explicit(&is_known, memory_order_acquire) || pytorch.mem_get_info == NULL ||
      pytorch.mem_get_info(&available, &total) != 0)
    return false;
  *bytes = available;
  return true;
}
