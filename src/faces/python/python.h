/* What the parts of vramscope._native share: CPython's limited API of 3.11, and conversions of texts and errors.
 *
 * The module has no mutable global. A part keeps a reference that it needs later (a type, an imported function) in its one
 * pointer of vs_python_state, which the module visits and clears; several references go into a tuple or a dict. Types
 * are heap types, made from the module (PyType_FromModuleAndSpec), so that a method finds its module
 * (PyType_GetModuleState). */
#ifndef VS_PYTHON_PYTHON_H
#define VS_PYTHON_PYTHON_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000 /* one extension for 3.11 and all that follow */
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/text.h"

/* One pointer for each part, of that part's name: a strong reference, or NULL. */
typedef struct vs_python_state {
#define VS_PART(name) PyObject *name;
#include "faces/python/parts.def"
} vs_python_state;

static inline vs_python_state *vs_python_state_of(PyObject *module) { return PyModule_GetState(module); }

/* vs_python_add_engine, ...: 0, or -1 with a Python error set. */
#define VS_PART(name) int vs_python_add_##name(PyObject *module);
#include "faces/python/parts.def"

/* Text of the library. Bytes that are not UTF-8 become lone surrogates, as in Python's file names.
 * A new reference, or NULL with an error set. */
PyObject *vs_python_text(vs_str text);

/* Raises what the status stands for (python/vramscope/errors.py): the class by the status, its sentence, the offset. The
 * sentence is `error`'s where it has one, else the status's own. `error` may be NULL. Returns NULL, for `return`. */
PyObject *vs_python_raise(vs_status status, const vs_error *error);

/* engine.c: a new Reply without bytes, and the text in memory that its maker fills before it hands the Reply out.
 * A new reference, or NULL with an error set. */
PyObject *vs_python_reply(const vs_python_state *state);
vs_text *vs_python_reply_text(PyObject *reply);

/* A lock for an object of the library that one thread at a time may use. A second thread waits without the interpreter's
 * lock. A thread that has it already, in a callback, would wait for itself, so it gets a RuntimeError. */
typedef struct vs_python_lock {
  PyThread_type_lock lock; /* NULL: not made */
  unsigned long owner; /* the thread that has it; 0: none. Changes only with the interpreter's lock held. */
} vs_python_lock;

bool vs_python_lock_init(vs_python_lock *lock); /* false, with MemoryError */
void vs_python_lock_deinit(vs_python_lock *lock);
bool vs_python_lock_enter(vs_python_lock *lock); /* false, with an error set */
void vs_python_lock_leave(vs_python_lock *lock);

#endif
