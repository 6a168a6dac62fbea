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
static const char range_name[] = VS_C10_TEXT(VS_RANGE_BEGIN);

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

static vs_lock lock;             /* held while our functions are in the list for the moment */
static bool is_momentary;        /* they are only while a range is made; changes under `lock` */
static uint64_t handle;          /* of those that stay in the list; guarded by `lock` */
static _Atomic bool is_watched;  /* ranges are seen; changes under `lock` */
static _Atomic bool is_unusable; /* they cannot be */

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

static uint64_t add(void) {
  callback ours = {.start = start, .end = end, .probability = 1};
  ours.scopes_and_flags[USER] = true;
  return pytorch.add(ours);
}

static bool is_as_known(void) {
  const uint64_t trial = add();
  const bool is_right = is_called_for(USER) && !is_called_for(OPERATOR);
  pytorch.remove(trial);
  return is_right;
}

/* False: PyTorch makes ranges in another way. */
static bool lead_here(const void *inside, vs_range_function *ours) {
  static const char *const others[] = {"libtorch_python.so", "libtorch_cuda.so"};
  const void *function;
  memcpy(&function, &ours, sizeof function);
  if (vs_library_redirect(inside, range_name, function, NULL) == 0) return false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const void *const other = vs_library_inside(others[i]);
    if (other != NULL) (void)vs_library_redirect(other, range_name, function, NULL);
  }
  return true;
}

static bool begin_to_watch(const void *inside, vs_range_function *ours) {
  if (!look_up(inside) || !is_as_known()) return false;
  is_momentary = is_momentary || lead_here(inside, ours);
  if (!is_momentary) handle = add();
  return true;
}

void vs_record_function_make(void *range, uint8_t scope, vs_range_function *next) {
  if (scope != USER || !atomic_load_explicit(&is_watched, memory_order_relaxed)) {
    next(range, scope);
    return;
  }
  vs_lock_take(&lock);
  const bool is_for_the_moment = is_momentary && is_watched;
  const uint64_t added = is_for_the_moment ? add() : 0;
  next(range, scope);
  if (is_for_the_moment) pytorch.remove(added);
  vs_lock_give(&lock);
}
#else
static bool begin_to_watch(const void *inside, vs_range_function *ours) {
  (void)inside, (void)ours, (void)start, (void)end;
  return false;
}

void vs_record_function_make(void *range, uint8_t scope, vs_range_function *next) { next(range, scope); }
#endif

void vs_record_function_watch(vs_range_function *ours) {
  const void *const inside = vs_record_function_is_settled() ? NULL : vs_library_inside("libtorch_cpu.so");
  if (inside == NULL) return;
  vs_lock_take(&lock);
  if (!vs_record_function_is_settled()) {
    if (begin_to_watch(inside, ours)) atomic_store_explicit(&is_watched, true, memory_order_relaxed);
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
  if (is_watched && !is_momentary) pytorch.remove(handle);
  atomic_store_explicit(&is_watched, false, memory_order_relaxed);
  vs_lock_give(&lock);
}
