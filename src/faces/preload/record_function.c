#include "faces/preload/record_function.h"
#include "base/text.h"
#include "faces/preload/annotations.h"
#include "faces/preload/pytorch.h"
#include "os/library.h"
#include "os/thread.h"
#include <stdatomic.h>
#include <string.h>

/* Names of PyTorch's functions, as its compiler writes them. */
static const char add_name[] = "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE";
static const char remove_name[] = "_ZN2at14removeCallbackEm";
static const char step_name[] = "_ZN2at16getStepCallbacksENS_11RecordScopeE";
static const char text_name[] = "_ZNK2at14RecordFunction4nameEv";

/* at::RecordScope */
enum { OPERATOR = 0, USER = 7 };

/* The start returns an object that has a destructor, so the address of the result comes first, and is returned. */
typedef void *start_function(void *result, const void *range);
typedef void end_function(const void *range, void *result);

/* at::RecordFunctionCallback, passed by value on the stack. Behind the scopes are flags for what a callback wants to see; all that follows
 * is zero, so it may be shorter. */
typedef struct callback {
  start_function *start;
  end_function *end;
  double probability;
  bool scopes_and_flags[104];
} callback;

/* at::StepCallbacks: the functions that are called for a scope, in a vector whose words are the address of its pairs, their number and
 * room, and inside of it the pairs, if there are no more than four. */
enum { COUNT = 1, FIRST_PAIR = 2, MOST_PAIRS = 4 };
typedef struct step_callbacks {
  uint64_t words[128]; /* more than it has */
} step_callbacks;

static struct {
  uint64_t (*add)(callback ours);
  void (*remove)(uint64_t handle);
  step_callbacks (*step)(uint8_t scope);
  const char *(*name)(const void *range);
} pytorch;

static vs_lock lock;
static uint64_t handle;          /* guarded by `lock` */
static _Atomic bool is_watched;  /* PyTorch calls us; changes under `lock` */
static _Atomic bool is_unusable; /* it cannot */

/* ---- what PyTorch calls */

static vs_range_key key_of(const void *range) {
  return (vs_range_key){VS_RANGE_FUNCTION, (uint64_t)(uintptr_t)range};
}

/* A release that returned something else than an address, such as a length, is not one that we know. */
static bool name_of(const void *range, vs_str *name) {
  enum { LEAST_ADDRESS = 65536 };
  const char *text = pytorch.name(range);
  *name = VS_STR("");
  if (text == NULL) return true;
  if ((uintptr_t)text < LEAST_ADDRESS) return false;
  *name = vs_str_from(text);
  return true;
}

static void *start(void *result, const void *range) {
  const vs_range_key key = key_of(range);
  vs_str name;
  memset(result, 0, sizeof(void *)); /* an empty pointer */
  if (name_of(range, &name)) vs_annotations_begin(&key, VS_STR(""), name);
  else vs_pytorch_doubt_add(VS_DOUBT_ANNOTATIONS);
  return result;
}

static void end(const void *range, void *result) {
  const vs_range_key key = key_of(range);
  (void)result;
  vs_annotations_end(&key);
}

/* ---- registering: the hidden argument for the result is where x86-64 has it */

#if defined(__x86_64__)
static bool look_up(const void *inside) {
  void *const add = vs_library_symbol_seen_from(inside, add_name),
              *const remove = vs_library_symbol_seen_from(inside, remove_name),
              *const step = vs_library_symbol_seen_from(inside, step_name),
              *const name = vs_library_symbol_seen_from(inside, text_name);
  memcpy(&pytorch.add, &add, sizeof add);
  memcpy(&pytorch.remove, &remove, sizeof remove);
  memcpy(&pytorch.step, &step, sizeof step);
  memcpy(&pytorch.name, &name, sizeof name);
  return add != NULL && remove != NULL && step != NULL && name != NULL;
}

static bool is_called_for(uint8_t scope) {
  const step_callbacks all = pytorch.step(scope);
  const uint32_t count = (uint32_t)all.words[COUNT];
  const callback ours = {.start = start, .end = end};
  for (size_t i = 0; i < count && count <= MOST_PAIRS; i++)
    if (memcmp(&all.words[FIRST_PAIR + 2 * i], &ours, sizeof ours.start + sizeof ours.end) == 0) return true;
  return false;
}

static bool add(const void *inside) {
  callback ours = {.start = start, .end = end, .probability = 1};
  if (!look_up(inside)) return false;
  ours.scopes_and_flags[USER] = true;
  handle = pytorch.add(ours);
  if (is_called_for(USER) && !is_called_for(OPERATOR)) return true;
  pytorch.remove(handle);
  return false;
}
#else
static bool add(const void *inside) {
  (void)inside, (void)start, (void)end;
  return false;
}
#endif

void vs_record_function_watch(void) {
  const void *const inside = vs_record_function_is_settled() ? NULL : vs_library_inside("libtorch_cpu.so");
  if (inside == NULL) return;
  vs_lock_take(&lock);
  if (!vs_record_function_is_settled()) {
    if (add(inside)) atomic_store_explicit(&is_watched, true, memory_order_relaxed);
    else atomic_store_explicit(&is_unusable, true, memory_order_relaxed);
    if (is_unusable) vs_pytorch_doubt_add(VS_DOUBT_ANNOTATIONS);
  }
  vs_lock_give(&lock);
}

bool vs_record_function_is_settled(void) {
  return atomic_load_explicit(&is_watched, memory_order_relaxed) ||
         atomic_load_explicit(&is_unusable, memory_order_relaxed);
}

void vs_record_function_leave(void) {
  vs_lock_take(&lock);
  if (atomic_load_explicit(&is_watched, memory_order_relaxed)) pytorch.remove(handle);
  atomic_store_explicit(&is_watched, false, memory_order_relaxed);
  vs_lock_give(&lock);
}
