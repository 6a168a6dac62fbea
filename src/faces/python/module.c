/* The module vramscope._native, made of its parts. */
#include "faces/python/python.h"
#include "base/human.h"
#include "changes/changes.h"

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

/* ---- a list of changes, read and checked */

static PyObject *put_changes(const vs_changes *changes) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_changes_put(&text, changes);
  PyObject *made = text.status == VS_OK ? vs_python_text(vs_text_view(&text)) : PyErr_NoMemory();
  vs_text_deinit(&text);
  return made;
}

static PyObject *read_changes(PyObject *module, PyObject *arguments) {
  const char *data;
  Py_ssize_t size;
  vs_changes changes;
  vs_error error = {.text = ""};
  (void)module;
  if (PyArg_ParseTuple(arguments, "y#:read_changes", &data, &size) == 0) return NULL;
  const vs_status status = vs_changes_read(&changes, vs_host_default(), (vs_str){data, (size_t)size}, &error);
  if (status != VS_OK) return vs_python_raise(status, &error);
  PyObject *made = put_changes(&changes);
  vs_changes_deinit(&changes);
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
      {"read_changes", read_changes, METH_VARARGS,
       "read_changes(data): the bytes of a fit.json, checked, with nothing left out, as JSON."},
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
