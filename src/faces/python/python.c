#include "faces/python/python.h"
#include "base/check.h"
#include "base/text.h"

PyObject *vs_python_text(vs_str text) {
  return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.size, "surrogateescape");
}

/* errors.py has the classes. It is imported only when an error is raised. */
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
  VS_ASSERT(status != VS_OK);
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
  VS_ASSERT(lock->owner == 0);
  lock->owner = PyThread_get_thread_ident();
  return true;
}

void vs_python_lock_leave(vs_python_lock *lock) {
  VS_ASSERT(lock->owner == PyThread_get_thread_ident());
  lock->owner = 0;
  PyThread_release_lock(lock->lock);
}
