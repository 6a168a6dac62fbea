/* The Python stack of a thread: taken for each allocation while a history or a recording needs stacks.
 *
 * Called by PyTorch on any thread, with or without the interpreter's lock; a thread that runs no Python has no frames. An
 * exception that is being raised is kept.
 *
 * Programs allocate at the same places again and again. So a stack is first taken as a code object and an instruction for
 * each call, which is cheap, and looked up in a table of known stacks; names and lines are read only of new ones. */
#include "faces/python/live.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/mem.h"
#include "torch/where.h"
#include <dlfcn.h>

enum { MOST = 128 }; /* as vs_live_stack keeps */

typedef struct place {
  PyObject *code; /* a strong reference */
  int at;         /* instruction */
} place;

/* ---- known stacks: a table with one entry for each hash; a new stack replaces the entry with the same hash. Guarded by the
 * interpreter's lock. There is one in the process, as there is one allocator. */

enum { KNOWN = 4096 };

typedef struct known {
  place *places;
  size_t count;
  vs_stack stack;
} known;

static known table[KNOWN];

static known *place_of(const place *places, size_t count) {
  VS_ASSERT(count != 0 && count <= MOST);
  uint64_t hash = count;
  for (size_t i = 0; i < count; i++)
    hash = vs_hash_u64(hash ^ (uint64_t)(uintptr_t)places[i].code ^ ((uint64_t)(unsigned)places[i].at << 48));
  return &table[hash % KNOWN];
}

static bool is_same(const known *entry, const place *places, size_t count) {
  if (entry->places == NULL || entry->count != count) return false;
  for (size_t i = 0; i < count; i++)
    if (entry->places[i].code != places[i].code || entry->places[i].at != places[i].at) return false;
  return true;
}

static void let_go(const place *places, size_t count) {
  for (size_t i = 0; i < count; i++) Py_DECREF(places[i].code);
}

/* Takes over the references of `places`. */
static void remember(known *entry, const place *places, size_t count, vs_stack stack) {
  const known old = *entry;
  VS_ASSERT(!is_same(entry, places, count));
  place *kept = vs_host_alloc(vs_host_default(), count * sizeof *kept);
  *entry = (known){kept, count, stack};
  if (kept != NULL) memcpy(kept, places, count * sizeof *kept);
  else let_go(places, count);
  if (old.places == NULL) return;
  let_go(old.places, old.count);
  vs_host_free(vs_host_default(), old.places, old.count * sizeof *old.places);
}

/* ---- walking. Functions outside of the limited API are looked up once; there is a slower way without them. */

typedef struct walker {
  bool is_sought;
  PyObject *(*back)(PyObject *frame);
  int (*instruction)(PyObject *frame);
} walker;
static walker walk;

static void seek(void) {
  void *back = dlsym(RTLD_DEFAULT, "PyFrame_GetBack"), *instruction = dlsym(RTLD_DEFAULT, "PyFrame_GetLasti");
  memcpy(&walk.back, &back, sizeof back);
  memcpy(&walk.instruction, &instruction, sizeof instruction);
  walk.is_sought = true;
}

static PyObject *back_of(PyObject *frame) {
  VS_ASSERT(walk.is_sought);
  PyObject *back = walk.back != NULL ? walk.back(frame) : PyObject_GetAttrString(frame, "f_back");
  if (back == Py_None) Py_CLEAR(back);
  return back;
}

typedef struct frames {
  place places[MOST];
  PyObject *frames[MOST]; /* strong references */
  size_t count;
} frames;

static void collect(frames *all) {
  PyObject *frame = (PyObject *)PyEval_GetFrame();
  all->count = 0;
  for (Py_XINCREF(frame); frame != NULL && all->count < MOST; frame = back_of(frame)) {
    all->frames[all->count] = frame;
    all->places[all->count++] =
        (place){.code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame),
                .at = walk.instruction != NULL ? walk.instruction(frame)
                                               : PyFrame_GetLineNumber((PyFrameObject *)frame)};
  }
  Py_XDECREF(frame);
}

/* ---- a new one */

/* A text attribute of a code object, as UTF-8 that lives as long as *owner. "" if it is not a text. */
static const char *text_of(PyObject *code, const char *name, PyObject **owner) {
  *owner = PyObject_GetAttrString(code, name);
  const char *text = *owner == NULL ? NULL : PyUnicode_AsUTF8AndSize(*owner, NULL);
  return text == NULL ? "" : text;
}

static vs_stack name_it(vs_live *live, const frames *all) {
  vs_live_frame rows[MOST];
  PyObject *owners[2 * MOST];
  vs_stack stack = VS_STACK_NONE;
  VS_ASSERT(all->count <= MOST);
  for (size_t i = 0; i < all->count; i++) {
    rows[i].function = text_of(all->places[i].code, "co_name", &owners[2 * i]);
    rows[i].file = text_of(all->places[i].code, "co_filename", &owners[2 * i + 1]);
    rows[i].line = PyFrame_GetLineNumber((PyFrameObject *)all->frames[i]);
  }
  if (vs_live_stack(live, rows, all->count, &stack) != VS_OK) stack = VS_STACK_NONE;
  for (size_t i = 0; i < 2 * all->count; i++) Py_XDECREF(owners[i]);
  return stack;
}

static vs_stack look_up(vs_live *live, const frames *all) {
  known *entry = place_of(all->places, all->count);
  if (is_same(entry, all->places, all->count)) {
    let_go(all->places, all->count);
    return entry->stack;
  }
  const vs_stack stack = name_it(live, all);
  remember(entry, all->places, all->count, stack);
  return stack;
}

/* PyErr_Fetch is deprecated since 3.12; what replaces it is not in the limited API of 3.11. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static vs_stack ask(vs_live *live, bool is_none_known) {
  if (!Py_IsInitialized()) return VS_STACK_NONE;
  frames all;
  PyObject *type, *value, *trace;
  vs_stack stack = VS_STACK_NONE;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyErr_Fetch(&type, &value, &trace);
  if (!walk.is_sought) seek();
  collect(&all);
  if (all.count != 0) stack = look_up(live, &all);
  else if (is_none_known && vs_live_stack(live, NULL, 0, &stack) != VS_OK) stack = VS_STACK_NONE;
  for (size_t i = 0; i < all.count; i++) Py_DECREF(all.frames[i]);
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
  return stack;
}

vs_stack vs_python__where(vs_live *live) { return ask(live, true); }

vs_stack vs_python__where_or_native(vs_live *live) { return ask(live, false); }
