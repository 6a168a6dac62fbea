/* The functions that PyTorch calls: allocate, free, and the others except for pools. */
#include "base/sized.h"
#include "live/lock.h"
#include "os/library.h"
#include "os/process.h"
#include "torch/state.h"
#include "torch/throw.h"

vs_torch__state vs_torch__the;

/* ---- opening */

/* c10::cuda::getCurrentCUDAStream and CUDAStream::stream. A CUDAStream has two words and is trivially copyable, so the ABI
 * returns it in registers. */
typedef struct cuda_stream {
  uint64_t words[2];
} cuda_stream;

static struct {
  cuda_stream (*current)(int8_t device);
  void *(*handle)(const cuda_stream *stream);
} streams;

static uint64_t current_stream(void *ctx, uint32_t device) {
  (void)ctx;
  const cuda_stream stream = streams.current((int8_t)device);
  return (uint64_t)(uintptr_t)streams.handle(&stream);
}

static bool find_streams(void) {
  vs_library_loaded_function("libc10_cuda.so", "_ZN3c104cuda20getCurrentCUDAStreamEa", &streams.current);
  vs_library_loaded_function("libc10_cuda.so", "_ZNK3c104cuda10CUDAStream6streamEv", &streams.handle);
  return streams.current != NULL && streams.handle != NULL;
}

/* Taken while the allocator is opened: two threads may make the first request at the same time. */
static vs_live_lock opening;

/* Called with `opening` taken. */
static vs_status open_it(vs_live_options wanted, bool is_global, vs_error *error) {
  vs_live *live = NULL;
  if (vs_torch_live() != NULL)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "the allocator is open already: a process has one");
  if (is_global) VS_TRY(vs_torch__throw_prepare(error));
  if (find_streams()) wanted.current_stream = current_stream;
  VS_TRY(vs_live_open(&wanted, &live, error));
  VS_ASSERT(live != NULL);
  vs_torch__the.host = wanted.host == NULL ? vs_host_default() : wanted.host;
  atomic_store_explicit(&vs_torch__the.live, live, memory_order_release);
  return VS_OK;
}

vs_status vs_torch_open_sized(const vs_live_options *options, size_t size, bool is_global, vs_error *error) {
  vs_live_options wanted;
  VS_TRY(vs_sized_take(&wanted, sizeof wanted, options, size, error));
  vs_live_lock_take(&opening);
  const vs_status status = open_it(wanted, is_global, error);
  vs_live_lock_give(&opening);
  return status;
}

/* Opens the allocator in a program that only gave PyTorch its name. */
static vs_live *open_at_first_use(void) {
  vs_error error = {.text = ""};
  vs_status status = VS_OK;
  vs_live_lock_take(&opening);
  if (vs_torch_live() == NULL) {
    const char *gpus = vs_process_variable("VRAMSCOPE_GPU");
    status = open_it((vs_live_options){.gpus = gpus == NULL ? "cuda" : gpus}, true, &error);
  }
  vs_live_lock_give(&opening);
  VS_ASSERT(status != VS_OK || vs_torch_live() != NULL);
  if (status == VS_OK) return vs_torch_live();
  const char *text = error.text[0] == 0 ? vs_status_text(status) : error.text;
  vs_torch__throw_error(text, strlen(text));
}

vs_live *vs_torch_live(void) { return atomic_load_explicit(&vs_torch__the.live, memory_order_acquire); }

void vs_torch_where_set(vs_torch_asker asker, vs_torch_where where, bool on_free) {
  VS_ASSERT((unsigned)asker < VS_TORCH_ASKERS);
  atomic_store_explicit(&vs_torch__the.where_freed[asker], on_free ? where : NULL, memory_order_release);
  atomic_store_explicit(&vs_torch__the.where[asker], where, memory_order_release);
}

static vs_torch_where first_of(_Atomic(vs_torch_where) askers[VS_TORCH_ASKERS]) {
  for (int i = 0; i < VS_TORCH_ASKERS; i++) {
    const vs_torch_where where = atomic_load_explicit(&askers[i], memory_order_acquire);
    if (where != NULL) return where;
  }
  return NULL;
}

uint64_t vs_torch_strange_frees(void) {
  return atomic_load_explicit(&vs_torch__the.strange_frees, memory_order_relaxed);
}

/* ---- failing */

/* A sentence on the stack: an exception that passes a frame of C frees nothing. */
enum { TEXT_SIZE = 4096 };
typedef struct sentence {
  size_t size;
  char text[TEXT_SIZE];
} sentence;

static vs_status append(void *ctx, const void *data, size_t size) {
  sentence *s = ctx;
  VS_ASSERT(s->size <= sizeof s->text);
  const size_t room = sizeof s->text - s->size;
  if (size > room) size = room;
  memcpy(s->text + s->size, data, size);
  s->size += size;
  return VS_OK;
}

_Noreturn static void throw_failure(vs_live *live, vs_status status, size_t size, int device) {
  VS_ASSERT(status != VS_OK);
  sentence s = {.size = 0};
  if (status == VS_DEVICE_MEMORY && vs_live_oom_write(live, (vs_writer){&s, append}) == VS_OK && s.size != 0)
    vs_torch__throw_memory(s.text, s.size);
  vs_format(s.text, sizeof s.text, "%s: %U bytes on device %d (vramscope)",
            status == VS_DEVICE_MEMORY ? "CUDA out of memory"
            : status == VS_NO_MEMORY   ? "the host has no memory to keep account of an allocation"
            : status == VS_DEVICE      ? "the CUDA driver failed in an allocation"
                                       : vs_status_text(status),
            (uint64_t)size, device);
  if (status == VS_DEVICE_MEMORY) vs_torch__throw_memory(s.text, strlen(s.text));
  vs_torch__throw_error(s.text, strlen(s.text));
}

/* ---- allocate and free */

static vs_status allocate(vs_live *live, size_t size, int device, void *stream, uint64_t *address) {
  const vs_torch_where where = first_of(vs_torch__the.where);
  const uint64_t number = (uint64_t)(uintptr_t)stream;
  *address = 0;
  if (device < 0) return VS_BAD_ARGUMENT;
  if (where == NULL) return vs_live_malloc(live, (uint32_t)device, size, number, address);
  const vs_stack before = vs_live_stack_set(live, where(live));
  const vs_status status = vs_live_malloc(live, (uint32_t)device, size, number, address);
  (void)vs_live_stack_set(live, before);
  return status;
}

void *vs_torch_alloc(size_t size, int device, void *stream) {
  vs_live *live = vs_torch_live();
  uint64_t address;
  if (live == NULL) live = open_at_first_use();
  const vs_status status = allocate(live, size, device, stream, &address);
  if (status != VS_OK) throw_failure(live, status, size, device);
  return vs_torch__pointer(address);
}

/* PyTorch's own allocator calls this for a torch.cuda.MemPool. After NULL it frees cached memory and tries again, or raises. */
void *vs_torch_segment_alloc(size_t size, int device, void *stream) {
  vs_live *live = vs_torch_live();
  uint64_t address;
  if (live == NULL || allocate(live, size, device, stream, &address) != VS_OK) return NULL;
  return vs_torch__pointer(address);
}

/* Called by destructors of tensors, so it must not throw. */
void vs_torch_free(void *pointer, size_t size, int device, void *stream) {
  vs_live *live = vs_torch_live();
  (void)size;
  (void)stream;
  if (live == NULL || device < 0) return;
  const vs_torch_where where = first_of(vs_torch__the.where_freed);
  const vs_stack before = where == NULL ? VS_STACK_NONE : vs_live_stack_set(live, where(live));
  const vs_status status = vs_live_free(live, (uint32_t)device, vs_torch__number(pointer));
  if (where != NULL) (void)vs_live_stack_set(live, before);
  if (status == VS_NOT_FOUND)
    atomic_fetch_add_explicit(&vs_torch__the.strange_frees, 1, memory_order_relaxed);
}

/* ---- the others */

void vs_torch_init(int device_count) { (void)device_count; }

/* torch.cuda.empty_cache. Memory that the driver fails to take stays cached. */
void vs_torch_reset(void) {
  vs_live *live = vs_torch_live();
  if (live == NULL) return;
  const vs_torch_where where = first_of(vs_torch__the.where_freed);
  const vs_stack before = where == NULL ? VS_STACK_NONE : vs_live_stack_set(live, where(live));
  const vs_status status = vs_live_empty_cache(live);
  if (where != NULL) (void)vs_live_stack_set(live, before);
  if (status != VS_OK) {
    static const char text[] = "the CUDA driver failed to release cached memory (vramscope)";
    vs_torch__throw_error(text, sizeof text - 1);
  }
}

void vs_torch_memory_fraction(double fraction, int device) {
  vs_live *live = vs_torch_live();
  if (live != NULL && device >= 0 && vs_live_fraction_set(live, (uint32_t)device, fraction) == VS_OK) return;
  static const char text[] = "a fraction is a number from 0 to 1 (vramscope)";
  vs_torch__throw_error(text, sizeof text - 1);
}

/* PyTorch passes only the address, so every card is tried. No two cards have the same addresses. */
void *vs_torch_base_alloc(void *pointer, size_t *size) {
  vs_live *live = vs_torch_live();
  uint64_t base = vs_torch__number(pointer), bytes = 0;
  for (uint32_t i = 0; live != NULL && i < vs_live_device_count(live); i++)
    if (vs_live_base(live, i, vs_torch__number(pointer), &base, &bytes) == VS_OK) break;
  if (size != NULL) *size = bytes;
  return vs_torch__pointer(base);
}

/* An address that is not ours, such as memory of another process, is ignored, as PyTorch's own allocator does. */
void vs_torch_record_stream(void *pointer, void *stream) {
  vs_live *live = vs_torch_live();
  vs_status status = VS_NOT_FOUND;
  for (uint32_t i = 0; live != NULL && i < vs_live_device_count(live) && status == VS_NOT_FOUND; i++)
    status = vs_live_record_stream(live, i, vs_torch__number(pointer), vs_torch__number(stream));
  if (status == VS_OK || status == VS_NOT_FOUND) return;
  static const char text[] = "the host has no memory to remember who uses a block (vramscope)";
  vs_torch__throw_error(text, sizeof text - 1); /* without the record the block would be reused too early */
}
