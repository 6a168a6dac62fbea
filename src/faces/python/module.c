/* The module vramscope._native: its parts, and what they share. */
#include "faces/python/python.h"
#include "base/human.h"

/* ---- what the parts share -------------------------------------------------------------------------------------- */

PyObject *vs_python_text(vs_str text) {
  return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.size, "surrogateescape");
}

/* errors.py has the classes. It is pure Python and small, and most programs never get here. */
static PyObject *make_error(vs_status status, vs_str sentence, uint64_t offset) {
  PyObject *errors = PyImport_ImportModule("vramscope.errors");
  if (errors == NULL) return NULL;
  PyObject *text = vs_python_text(sentence);
  PyObject *where = offset == VS_NO_OFFSET ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(offset);
  PyObject *made = NULL;
  if (text != NULL && where != NULL)
    made = PyObject_CallMethod(errors, "from_status", "sOO", vs_status_name(status), text, where);
  Py_XDECREF(text);
  Py_XDECREF(where);
  Py_DECREF(errors);
  return made;
}

PyObject *vs_python_raise(vs_status status, const vs_error *error) {
  const bool has_text = error != NULL && error->text[0] != 0;
  const vs_str sentence = vs_str_from(has_text ? error->text : vs_status_text(status));
  PyObject *made = make_error(status, sentence, has_text ? error->offset : VS_NO_OFFSET);
  if (made == NULL) return NULL;
  PyErr_SetObject((PyObject *)Py_TYPE(made), made);
  Py_DECREF(made);
  return NULL;
}

bool vs_python_lock_init(vs_python_lock *lock) {
  *lock = (vs_python_lock){.lock = PyThread_allocate_lock()};
  if (lock->lock == NULL) (void)PyErr_NoMemory();
  return lock->lock != NULL;
}

void vs_python_lock_deinit(vs_python_lock *lock) {
  if (lock->lock != NULL) PyThread_free_lock(lock->lock);
}

bool vs_python_lock_enter(vs_python_lock *lock) {
  if (lock->owner == PyThread_get_thread_ident()) {
    PyErr_SetString(PyExc_RuntimeError, "a callback may not use the object that is calling it");
    return false;
  }
  if (PyThread_acquire_lock(lock->lock, NOWAIT_LOCK) == 0) {
    PyThreadState *thread = PyEval_SaveThread();
    (void)PyThread_acquire_lock(lock->lock, WAIT_LOCK);
    PyEval_RestoreThread(thread);
  }
  lock->owner = PyThread_get_thread_ident();
  return true;
}

void vs_python_lock_leave(vs_python_lock *lock) {
  lock->owner = 0;
  PyThread_release_lock(lock->lock);
}

/* Sizes as every face writes them: "1.50 GiB". */
static PyObject *bytes_text(PyObject *module, PyObject *argument) {
  (void)module;
  const unsigned long long bytes = PyLong_AsUnsignedLongLong(argument);
  if (bytes == (unsigned long long)-1 && PyErr_Occurred() != NULL) return NULL;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_bytes(&text, bytes, VS_UNIT_BINARY);
  PyObject *made = text.status == VS_OK ? vs_python_text(vs_text_view(&text)) : PyErr_NoMemory();
  vs_text_deinit(&text);
  return made;
}

/* ---- the module ------------------------------------------------------------------------------------------------ */

static int add_parts(PyObject *module) {
  if (PyModule_AddStringConstant(module, "version", vs_version_text()) != 0) return -1;
#define VS_PART(name) \
  if (vs_python_add_##name(module) != 0) return -1;
#include "faces/python/parts.def"
  return 0;
}

static int visit_state(PyObject *module, visitproc visit, void *arg) {
  vs_python_state *state = vs_python_state_of(module);
  if (state == NULL) return 0;
#define VS_PART(name) Py_VISIT(state->name);
#include "faces/python/parts.def"
  return 0;
}

static int clear_state(PyObject *module) {
  vs_python_state *state = vs_python_state_of(module);
  if (state == NULL) return 0;
#define VS_PART(name) Py_CLEAR(state->name);
#include "faces/python/parts.def"
  return 0;
}

static void free_state(void *module) { (void)clear_state(module); }

PyMODINIT_FUNC PyInit__native(void); /* Python looks it up by this name */

PyMODINIT_FUNC PyInit__native(void) {
  static PyMethodDef functions[] = {
      {"bytes_text", bytes_text, METH_O, "bytes_text(bytes): a size as people read it, \"1.50 GiB\"."},
      {NULL, NULL, 0, NULL},
  };
  static PyModuleDef_Slot slots[] = {{Py_mod_exec, add_parts}, {0, NULL}};
  static PyModuleDef definition = {
      .m_base = PyModuleDef_HEAD_INIT,
      .m_name = "vramscope._native",
      .m_doc = "The parts of vramscope that are written in C. Private: use the functions of vramscope.",
      .m_size = sizeof(vs_python_state),
      .m_methods = functions,
      .m_slots = slots,
      .m_traverse = visit_state,
      .m_clear = clear_state,
      .m_free = free_state,
  };
  return PyModuleDef_Init(&definition);
}
