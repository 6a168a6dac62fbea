/* The functions that PyTorch calls: what each tells goes to memory.h, and the original is called on.
 *
 * They are called while PyTorch's allocator holds its lock, on threads with and without Python's lock, also while the process
 * ends. So nothing here takes Python's lock, calls PyTorch but for the current stream, or uses the GPU. The recording is opened in
 * `allocate`, before the allocator takes its lock. */
#include "faces/preload/hooks.h"
#include "base/hot.h"
#include "base/text.h"
#include "faces/preload/annotations.h"
#include "faces/preload/driver.h"
#include "faces/preload/driver_memory.h"
#include "faces/preload/memory.h"
#include "faces/preload/nvtx.h"
#include "faces/preload/nvtx_join.h"
#include "faces/preload/python.h"
#include "faces/preload/record_function.h"
#include "faces/preload/recording.h"
#include "os/library.h"
#include "os/modules.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#define REGISTER _ZN3c1012SetAllocatorENS_10DeviceTypeEPNS_9AllocatorEh

typedef void register_function(int8_t type, void *allocator, uint8_t priority);

/* The request that the thread makes. The initial-exec model makes its first use allocate no memory. */
static _Thread_local vs_request request __attribute__((tls_model("initial-exec")));

/* The era of the thread's last report. */
static _Thread_local uint32_t told_era __attribute__((tls_model("initial-exec")));

/* The Python stack: empty if the thread has no frames, none if they cannot be read. */
static vs_context python_stack(vs_record_stacks *stacks) {
  const vs_context stack = vs_python_capture(stacks);
  if (__builtin_expect(stack != VS_CONTEXT_NONE, 1)) return stack;
  return vs_python_state_of() == VS_PYTHON_TRUSTED ? vs_record_intern(stacks, NULL, 0) : VS_CONTEXT_NONE;
}

/* The Python stack, else, where it is wanted, the native one: of the callers of the function where `start` is. */
static vs_context stack_of(vs_record_stacks *stacks, vs_stackwalk_start start) {
  if (!vs_recording_has_native_stacks()) return python_stack(stacks);
  const vs_context stack = vs_python_capture(stacks);
  if (__builtin_expect(stack != VS_CONTEXT_NONE, 1)) return stack;
  if (vs_python_state_of() == VS_PYTHON_UNTRUSTED) vs_pytorch_doubt_add(VS_DOUBT_STACKS);
  return vs_record_capture_from(stacks, start);
}

/* ---- calls that are led here */

/* PyTorch's exceptions pass through, so nothing here is done behind the call that has to be done: a refused request is closed where it
 * is refused. */
static void *allocate(void *result, void *allocator, size_t bytes) {
  const vs_preload_recording *recording = vs_recording_now();
  request = (vs_request){.bytes = bytes, .is_open = true, .stack = VS_CONTEXT_NONE};
  if (recording->recorder != NULL) request.stack = stack_of(recording->stacks, vs_stackwalk_here());
  void *const returned = vs_pytorch_originals()->allocate(result, allocator, bytes);
  request.is_open = false;
  return returned;
}

static int cuda_malloc(void **memory, size_t bytes) {
  const int code = vs_pytorch_originals()->cuda_malloc(memory, bytes);
  request.has_failed |= code != 0;
  if (code != 0) return code;
  request.segment_address = (uint64_t)(uintptr_t)*memory;
  request.segment_bytes = bytes;
  return code;
}

static int cuda_free(void *memory) {
  const int code = vs_pytorch_originals()->cuda_free(memory);
  request.has_freed |= request.is_open;
  if (code == 0) vs_memory_segment_freed((uint64_t)(uintptr_t)memory);
  return code;
}

static vs_usage_function usage;
static vs_refusal_function refusal;
static const vs_pytorch_calls ours = {.usage = usage,
                                      .refusal = refusal,
                                      .allocate = allocate,
                                      .cuda_malloc = cuda_malloc,
                                      .cuda_free = cuda_free};

const vs_pytorch_calls *vs_hooks(void) { return &ours; }

/* ---- calls that the loader binds to this library, or that are led here later */

/* Set when the library is loaded: before the program begins, so the loader binds PyTorch's calls to it. */
static bool is_early;

/* The function that was meant: that of the next library which stands before PyTorch's own, such as the simulated CUDA; else as the
 * library that contains `inside` sees it. Threads that look it up at the same time find the same. */
static void *original_of(void *_Atomic *kept, const char *name, const void *inside) {
  void *original = atomic_load_explicit(kept, memory_order_acquire);
  if (original != NULL) return original;
  original = dlsym(RTLD_NEXT, name);
  if (original == NULL) original = vs_library_symbol_seen_from(inside, name);
  atomic_store_explicit(kept, original, memory_order_release);
  return original;
}

/* A request that did not come through `allocate` has its Python stack, which takes no lock of another library, or none. */
static void take_stack(vs_record_stacks *stacks) {
  if (!request.is_open) request.stack = vs_python_capture(stacks);
}

static void tell(void *block, int64_t bytes, size_t allocated, size_t reserved, c10_device device,
                 bool is_late) {
  vs_report report = {.device = (uint32_t)device.index,
                      .address = (uint64_t)(uintptr_t)block,
                      .bytes = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes,
                      .allocated = allocated,
                      .reserved = reserved,
                      .is_late = is_late};
  const vs_preload_recording *recording = vs_recording_now();
  if (recording->recorder == NULL) return;
  vs_memory_fetch(report.device, report.address);
  report.is_first = told_era != vs_recording_era();
  told_era = vs_recording_era();
  if (bytes < 0) {
    vs_memory_freed(
        &report); /* perhaps while the process ends, when PyTorch has no streams any more and would throw */
    return;
  }
  (void)vs_pytorch_stream(device, &report.stream);
  take_stack(recording->stacks);
  vs_memory_allocated(&report, &request);
}

static void usage(void *block, int64_t bytes, size_t allocated, size_t reserved, c10_device device) {
  static VS_HOT void *_Atomic kept;
  const void *const caller = __builtin_return_address(0);
  vs_usage_function *next = vs_pytorch_originals()->usage;
  if (device.type == C10_CUDA && device.index >= 0 && vs_recording_is_wanted()) {
    const bool is_late = !vs_pytorch_is_attached() && vs_pytorch_attach(caller, NULL, is_early, &ours);
    tell(block, bytes, allocated, reserved, device, is_late);
  }
  if (next == NULL) {
    void *const original = original_of(&kept, VS_C10_TEXT(VS_C10_USAGE), caller);
    memcpy(&next, &original, sizeof next);
  }
  if (next != NULL) next(block, bytes, allocated, reserved, device);
}

static void refusal(int64_t bytes, size_t allocated, size_t reserved, c10_device device) {
  static void *_Atomic kept;
  const void *const caller = __builtin_return_address(0);
  vs_refusal_function *next = vs_pytorch_originals()->refusal;
  if (device.type == C10_CUDA && device.index >= 0 && vs_recording_is_wanted() &&
      vs_recording_now()->recorder != NULL) {
    uint64_t available;
    const vs_report report = {.device = (uint32_t)device.index,
                              .bytes = (uint64_t)bytes,
                              .allocated = allocated,
                              .reserved = reserved};
    (void)vs_pytorch_attach(caller, NULL, is_early, &ours);
    (void)vs_pytorch_driver_free(&available);
    take_stack(vs_recording_now()->stacks);
    vs_memory_refused(&report, available, &request);
    if (vs_recording_is_on_oom()) vs_memory_keep();
  }
  request.is_open = false;
  if (next == NULL) {
    void *const original = original_of(&kept, VS_C10_TEXT(VS_C10_REFUSAL), caller);
    memcpy(&next, &original, sizeof next);
  }
  if (next != NULL) next(bytes, allocated, reserved, device);
}

static void begin(void);

/* libc10_cuda.so registers its allocator when it is loaded, in newer releases: early enough to see the first request. The call may
 * be a jump at the end of an initializer, so its return address is the loader's; the allocator lies in the library. Where a program is
 * linked with PyTorch, that initializer runs before this library's. */
static void register_allocator(int8_t type, void *allocator, uint8_t priority) {
  static void *_Atomic kept;
  void *const original = original_of(&kept, VS_C10_TEXT(REGISTER), allocator);
  register_function *next;
  memcpy(&next, &original, sizeof next);
  if (next != NULL) next(type, allocator, priority);
  begin();
  if (type == C10_CUDA && vs_recording_is_wanted())
    (void)vs_pytorch_attach(allocator, allocator, is_early, &ours);
}

/* PyTorch makes one of its ranges. */
static void make_range(void *range, uint8_t scope) {
  static void *_Atomic kept;
  void *const original = original_of(&kept, VS_C10_TEXT(VS_RANGE_BEGIN), __builtin_return_address(0));
  vs_range_function *next;
  memcpy(&next, &original, sizeof next);
  if (next != NULL) vs_record_function_make(range, scope, next);
}

/* The names that the loader binds. Inside of this library they are not used: another library's may be found for them. */
#define EXPORT(type, name, function) VS_PRELOAD_API __attribute__((alias(#function))) type name
EXPORT(vs_usage_function, VS_C10_USAGE, usage);
EXPORT(vs_refusal_function, VS_C10_REFUSAL, refusal);
EXPORT(register_function, REGISTER, register_allocator);
EXPORT(vs_range_function, VS_RANGE_BEGIN, make_range);

/* ---- the library */

/* Called when Python imports something: PyTorch, or a library with NVTX, may have been loaded since the last time. */
static void look_for_libraries(void) {
  static _Atomic uint64_t version;
  const bool has_all = vs_pytorch_is_attached() && vs_record_function_is_settled() && !vs_nvtx_is_joined();
  if (!vs_recording_is_wanted() || has_all) return;
  const uint64_t now = vs_modules_version();
  if (atomic_exchange(&version, now) == now) return;
  const void *const inside = vs_pytorch_find();
  if (inside != NULL) (void)vs_pytorch_attach(inside, NULL, is_early, &ours);
  vs_record_function_watch(make_range);
  vs_nvtx_look_again();
}

static void opened(vs_recorder *recorder) {
  vs_record_function_watch(make_range);
  vs_annotations_open(recorder);
  vs_driver_memory_open(recorder);
}

static void __attribute__((constructor)) begin(void) {
  static _Atomic bool has_begun;
  if (atomic_exchange(&has_begun, true)) return;
  is_early = !vs_python_is_running();
  vs_recording_prepare(is_early, vs_memory_checkpoint, opened);
  vs_python_on_import(look_for_libraries);
  if (vs_driver_is_simulated()) vs_driver_listen();
  if (!vs_recording_is_wanted()) return;
  vs_python_prepare();
  vs_nvtx_offer();
  if (is_early && !vs_driver_is_simulated()) vs_driver_watch();
}

static __attribute__((destructor)) void end(void) {
  vs_error error;
  char sentence[VS_ERROR_TEXT_SIZE + 64];
  if (vs_memory_end(&error) == VS_OK) return;
  vs_format(sentence, sizeof sentence, "the recording is incomplete: %s", error.text);
  vs_recording_say(sentence);
}
