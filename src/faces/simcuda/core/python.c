#include "faces/simcuda/core/python.h"

#include "faces/simcuda/core/notes.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

/* The functions of CPython that are used: name here, result, name there, arguments. Functions of the second list
 * exist only in some versions. */
#define PYTHON_NEEDED(X)                                                 \
  X(is_initialized, int, "Py_IsInitialized", (void))                     \
  X(this_thread, void *, "PyGILState_GetThisThreadState", (void))        \
  X(ensure, int, "PyGILState_Ensure", (void))                            \
  X(release, void, "PyGILState_Release", (int))                          \
  X(fetch, void, "PyErr_Fetch", (void **, void **, void **))             \
  X(restore, void, "PyErr_Restore", (void *, void *, void *))            \
  X(clear, void, "PyErr_Clear", (void))                                  \
  X(frame, void *, "PyEval_GetFrame", (void))                            \
  X(back, void *, "PyFrame_GetBack", (void *))                           \
  X(code, void *, "PyFrame_GetCode", (void *))                           \
  X(line, int, "PyFrame_GetLineNumber", (void *))                        \
  X(attribute, void *, "PyObject_GetAttrString", (void *, const char *)) \
  X(utf8, const char *, "PyUnicode_AsUTF8", (void *))                    \
  X(keep, void, "Py_IncRef", (void *))                                   \
  X(drop, void, "Py_DecRef", (void *))
#define PYTHON_OPTIONAL(X)                                        \
  X(is_finalizing, int, "Py_IsFinalizing", (void))   /* 3.13 */   \
  X(was_finalizing, int, "_Py_IsFinalizing", (void)) /* before */ \
  X(offset, int, "PyFrame_GetLasti", (void *))       /* 3.11 */   \
  X(line_of_offset, int, "PyCode_Addr2Line", (void *, int))

static struct python {
#define X(name, result, text, arguments) result(*name) arguments;
  PYTHON_NEEDED(X)
  PYTHON_OPTIONAL(X)
#undef X
} python;

static bool look_up(void) {
  /* dlsym returns a pointer to an object; POSIX provides for copying its bytes into a function pointer. */
#define X(name, result, text, arguments)               \
  {                                                    \
    void *const symbol = dlsym(RTLD_DEFAULT, text);    \
    memcpy(&python.name, &symbol, sizeof python.name); \
  }
  PYTHON_NEEDED(X)
  PYTHON_OPTIONAL(X)
#undef X
#define X(name, result, text, arguments) &&python.name != NULL
  return true PYTHON_NEEDED(X);
#undef X
}

/* A program may load an interpreter later, so a failed look-up is repeated, but only at every 256th call. */
static bool is_there(void) {
  enum { UNKNOWN, THERE, PATIENCE = 256 };
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static atomic_int found;
  static atomic_uint asked;
  if (atomic_load_explicit(&found, memory_order_acquire) == THERE) return true;
  if (atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed) % PATIENCE != 0) return false;
  if (pthread_mutex_trylock(&lock) != 0) return false;
  const bool there = atomic_load(&found) == THERE || look_up();
  if (there) atomic_store_explicit(&found, THERE, memory_order_release);
  (void)pthread_mutex_unlock(&lock);
  return there;
}

static bool is_ending(void) {
  if (python.is_finalizing != NULL) return python.is_finalizing() != 0;
  return python.was_finalizing != NULL && python.was_finalizing() != 0;
}

bool vs_python_enter(vs_python_visit *visit) {
  if (!is_there() || !python.is_initialized() || python.this_thread() == NULL || is_ending()) return false;
  visit->lock = python.ensure();
  python.fetch(&visit->exception[0], &visit->exception[1], &visit->exception[2]);
  return true;
}

void vs_python_leave(vs_python_visit *visit) {
  VS_ASSERT(python.restore != NULL && python.release != NULL); /* vs_python_enter returned true */
  python.restore(visit->exception[0], visit->exception[1], visit->exception[2]);
  python.release(visit->lock);
}

/* Reading the offset of an instruction costs nothing; versions before 3.11 have only the line. */
static bool has_offsets(void) { return python.offset != NULL && python.line_of_offset != NULL; }

size_t vs_python_stack(vs_python_frame *frames, size_t capacity) {
  size_t count = 0;
  void *frame = python.frame();
  if (frame != NULL) python.keep(frame);
  while (frame != NULL && count < capacity) {
    frames[count++] =
        (vs_python_frame){python.code(frame), has_offsets() ? python.offset(frame) : python.line(frame)};
    void *outer = python.back(frame);
    python.drop(frame);
    frame = outer;
  }
  if (frame != NULL) python.drop(frame);
  VS_ASSERT(count <= capacity);
  return count;
}

void vs_python_release(vs_python_frame *frames, size_t count) {
  for (size_t i = 0; i < count; i++) python.drop(frames[i].code);
}

/* The text of an attribute, and the object that has to be dropped after its use; "?" if it is not text, NULL if there is no such
 * attribute. */
static const char *attribute_text(void *code, const char *attribute, void **value) {
  *value = python.attribute(code, attribute);
  const char *utf8 = *value == NULL ? NULL : python.utf8(*value);
  if (utf8 == NULL) python.clear();
  return *value != NULL && utf8 == NULL ? "?" : utf8;
}

static bool copy_attribute(void *code, const char *attribute, char *to, size_t capacity) {
  void *value;
  const char *text = attribute_text(code, attribute, &value);
  vs_format(to, capacity, "%s", text == NULL ? "" : text);
  if (value != NULL) python.drop(value);
  return text != NULL;
}

int vs_python_line(const vs_python_frame *frame) {
  return has_offsets() ? python.line_of_offset(frame->code, frame->at) : frame->at;
}

void vs_python_place_of(const vs_python_frame *frame, vs_python_place *place) {
  place->line = vs_python_line(frame);
  (void)copy_attribute(frame->code, "co_filename", place->file, sizeof place->file);
  if (!copy_attribute(frame->code, "co_qualname", place->name, sizeof place->name))
    (void)copy_attribute(frame->code, "co_name", place->name, sizeof place->name);
}

/* Appends a text attribute of a code object as a JSON member; "?" if it is not text. false if there is no such
 * attribute. */
static bool put_attribute(vs_text *text, void *code, const char *member, const char *attribute) {
  void *value;
  const char *utf8 = attribute_text(code, attribute, &value);
  if (value != NULL) {
    vs_text_format(text, "\"%s\":", member);
    vs_note_quoted(text, vs_str_from(utf8));
    vs_text_byte(text, ',');
    python.drop(value);
  }
  return value != NULL;
}

void vs_python_put_frames(vs_text *text, const vs_python_frame *frames, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const vs_python_frame f = frames[i];
    vs_text_cstr(text, i == 0 ? "{" : ",{");
    if (!put_attribute(text, f.code, "name", "co_qualname"))
      (void)put_attribute(text, f.code, "name", "co_name");
    (void)put_attribute(text, f.code, "file", "co_filename");
    vs_text_format(text, "\"line\":%d}", vs_python_line(&f));
  }
}
