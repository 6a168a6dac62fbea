#include "faces/preload/driver_lookup.h"
#include "faces/preload/driver_memory.h"
#include "os/library.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

typedef vs_driver_function function;

static const struct call {
  const char *name, *symbol;
  int version;
  vs_driver_stream stream;
} calls[VS_DRIVER_CALLS] = {
#define VS_DRIVER_CALL(name, symbol, version, stream, ours) {#name, #symbol, version, stream},
#include "faces/preload/driver_calls.def"
};

static function *const *_Atomic ours;
static function *_Atomic originals[VS_DRIVER_CALLS]; /* as they were found first */

/* ---- what ours ask the driver themselves */

static CUresult (*_Atomic context_device)(CUdevice *device);
static CUresult (*_Atomic context_current)(CUcontext *context);
static CUresult (*_Atomic primary_state)(CUdevice device, unsigned int *flags, int *is_active);
static CUresult (*_Atomic card_name)(char *name, int size, CUdevice device);
static CUresult (*_Atomic card_bytes)(size_t *bytes, CUdevice device);

CUdevice vs_driver_current_device(void) {
  CUdevice device = -1;
  CUresult (*const ask)(CUdevice *) = atomic_load_explicit(&context_device, memory_order_acquire);
  return ask != NULL && ask(&device) == CUDA_SUCCESS ? device : -1;
}

uint64_t vs_driver_current_context(void) {
  CUcontext context = NULL;
  CUresult (*const ask)(CUcontext *) = atomic_load_explicit(&context_current, memory_order_acquire);
  return ask != NULL && ask(&context) == CUDA_SUCCESS ? (uint64_t)(uintptr_t)context : 0;
}

bool vs_driver_card(CUdevice device, char *name, int size, uint64_t *bytes) {
  size_t total = 0;
  CUresult (*const ask_name)(char *, int, CUdevice) = atomic_load_explicit(&card_name, memory_order_acquire);
  CUresult (*const ask_bytes)(size_t *, CUdevice) = atomic_load_explicit(&card_bytes, memory_order_acquire);
  const bool is_known = ask_name != NULL && ask_bytes != NULL &&
                        ask_name(name, size, device) == CUDA_SUCCESS &&
                        ask_bytes(&total, device) == CUDA_SUCCESS;
  *bytes = total;
  return is_known;
}

bool vs_driver_has_primary_context(CUdevice device) {
  unsigned int flags;
  int is_active;
  CUresult (*const ask)(CUdevice, unsigned int *, int *) =
      atomic_load_explicit(&primary_state, memory_order_acquire);
  return ask == NULL || ask(device, &flags, &is_active) != CUDA_SUCCESS || is_active != 0;
}

/* ---- the next `dlsym`: the C library's, or that of another library that stands before it */

typedef void *symbol_function(void *handle, const char *name);

static symbol_function *next_dlsym(void) {
  static symbol_function *_Atomic kept;
  static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
  symbol_function *next = atomic_load_explicit(&kept, memory_order_acquire);
  for (size_t i = 0; next == NULL && i < sizeof versions / sizeof *versions; i++) {
    void *const found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    memcpy(&next, &found, sizeof next);
  }
  atomic_store_explicit(&kept, next, memory_order_release);
  return next;
}

static function *to_function(const void *address) {
  function *as_function;
  memcpy(&as_function, &address, sizeof as_function);
  return as_function;
}

/* Of the driver that `handle` stands for. */
static void find_questions(void *handle) {
  function *const device = to_function(next_dlsym()(handle, "cuCtxGetDevice"));
  function *const context = to_function(next_dlsym()(handle, "cuCtxGetCurrent"));
  function *const state = to_function(next_dlsym()(handle, "cuDevicePrimaryCtxGetState"));
  function *const name = to_function(next_dlsym()(handle, "cuDeviceGetName"));
  function *const total = to_function(next_dlsym()(handle, "cuDeviceTotalMem_v2"));
  if (name != NULL) atomic_store(&card_name, (CUresult(*)(char *, int, CUdevice))name);
  if (total != NULL) atomic_store(&card_bytes, (CUresult(*)(size_t *, CUdevice))total);
  if (device != NULL) atomic_store(&context_device, (CUresult(*)(CUdevice *))device);
  if (context != NULL) atomic_store(&context_current, (CUresult(*)(CUcontext *))context);
  if (state != NULL) atomic_store(&primary_state, (CUresult(*)(CUdevice, unsigned int *, int *))state);
}

/* A library that is linked with the driver calls ours without having asked for it; its driver may be loaded for it alone. */
function *vs_driver_original(vs_driver_call call) {
  function *original = atomic_load_explicit(&originals[call], memory_order_acquire);
  if (original != NULL) return original;
  void *handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (handle == NULL) return NULL;
  find_questions(handle);
  original = to_function(next_dlsym()(handle, calls[call].symbol));
  (void)dlclose(handle); /* its user keeps it loaded */
  function *before = NULL;
  return atomic_compare_exchange_strong(&originals[call], &before, original) ? original : before;
}

/* ---- ours for the driver's */

/* Not if the driver's function is another one than ours calls on: its calls are missed. */
static void replace(uint32_t call, void **address) {
  function *const *const table = atomic_load_explicit(&ours, memory_order_acquire);
  function *before = NULL, *const theirs = to_function(*address);
  if (table == NULL || theirs == NULL || theirs == table[call]) return;
  if (atomic_compare_exchange_strong(&originals[call], &before, theirs) || before == theirs)
    memcpy(address, &table[call], sizeof *address);
  else vs_driver_memory_missed();
}

static bool is_meant(const struct call *call, const char *name, int version, cuuint64_t flags) {
  enum { PER_THREAD = 2 }; /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
  const vs_driver_stream stream = (flags & PER_THREAD) != 0 ? VS_STREAM_PER_THREAD : VS_STREAM_SHARED;
  return version >= call->version && (call->stream == VS_STREAM_ANY || call->stream == stream) &&
         strcmp(name, call->name) == 0;
}

void vs_driver_replace_answer(const char *name, void **address, int version, cuuint64_t flags) {
  if (address == NULL || name == NULL) return;
  for (uint32_t i = 0; i < VS_DRIVER_CALLS; i++) {
    if (!is_meant(&calls[i], name, version, flags)) continue;
    replace(i, address);
    return;
  }
}

void vs_driver_lookup_begin(function *const table[VS_DRIVER_CALLS]) {
  atomic_store_explicit(&ours, table, memory_order_release);
}

/* ---- dlsym */

#if defined(__x86_64__)

/* What a program gets that asks a library for one of the driver's names. */
static void *driver_symbol(void *handle, const char *name) {
  void *address = next_dlsym()(handle, name);
  if (address == NULL) return NULL;
  find_questions(handle);
  for (uint32_t i = 0; i < VS_DRIVER_CALLS; i++)
    if (strcmp(name, calls[i].symbol) == 0) replace(i, &address);
  return address;
}

static bool is_seen(const char *name) {
  if (name == NULL || strncmp(name, "cu", 2) != 0) return false;
  for (uint32_t i = 0; i < VS_DRIVER_CALLS; i++)
    if (strcmp(name, calls[i].symbol) == 0) return true;
  return false;
}

/* Which function answers: `dlsym` jumps there, with its own arguments and return address, by which the C library finds the library that
 * asks for what comes behind it (RTLD_NEXT). */
symbol_function *vs_driver_dlsym_for(void *handle, const char *name);
__attribute__((used)) symbol_function *vs_driver_dlsym_for(void *handle, const char *name) {
  const bool has_ours = atomic_load_explicit(&ours, memory_order_acquire) != NULL;
  return has_ours && handle != RTLD_NEXT && is_seen(name) ? driver_symbol : next_dlsym();
}

__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "  .cfi_startproc\n"
        "  pushq %rdi\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  pushq %rsi\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  subq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  call vs_driver_dlsym_for\n"
        "  addq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %rsi\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %rdi\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  jmp *%rax\n"
        "  .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");

#endif
