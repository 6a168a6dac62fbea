/* The Arrow PyCapsule interface (arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html) over the bytes of an Arrow IPC file, which stay
 * where they are: a Reply, or any other object with a buffer. They are kept until the last array that points into them is released. */
#include "codec/arrow_c.h"
#include "faces/python/python.h"

/* A consumer may release an array in any thread, with or without the interpreter's lock. After the interpreter has ended its objects cannot be
 * used any more, so the buffer is left as it is: the process ends. */
static void drop_view(void *owner) {
  Py_buffer *view = owner;
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyBuffer_Release(view);
  PyMem_Free(view);
  PyGILState_Release(state);
}

/* Sets a Python error after a failure. */
static bool open_stream(PyObject *bytes, struct ArrowArrayStream *stream) {
  Py_buffer *view = PyMem_Calloc(1, sizeof *view);
  if (view == NULL) {
    PyErr_NoMemory();
    return false;
  }
  if (PyObject_GetBuffer(bytes, view, PyBUF_SIMPLE) != 0) {
    PyMem_Free(view);
    return false;
  }
  const vs_arrow_bytes file = {.file = {view->buf, (size_t)view->len}, .owner = view, .drop = drop_view};
  const vs_status status = vs_arrow_stream(vs_host_default(), &file, stream);
  if (status == VS_OK) return true;
  vs_python_raise(status, NULL);
  return false;
}

/* ---- capsules: a consumer that takes what is in one sets its `release` to NULL */

static const char stream_name[] = "arrow_array_stream", schema_name[] = "arrow_schema";

static void free_stream(PyObject *capsule) {
  struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, stream_name);
  if (stream->release != NULL) stream->release(stream);
  PyMem_Free(stream);
}

static void free_schema(PyObject *capsule) {
  struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, schema_name);
  if (schema->release != NULL) schema->release(schema);
  PyMem_Free(schema);
}

static PyObject *make_stream(PyObject *module, PyObject *bytes) {
  struct ArrowArrayStream *stream = PyMem_Calloc(1, sizeof *stream);
  (void)module;
  if (stream == NULL) return PyErr_NoMemory();
  if (!open_stream(bytes, stream)) {
    PyMem_Free(stream);
    return NULL;
  }
  PyObject *capsule = PyCapsule_New(stream, stream_name, free_stream);
  if (capsule != NULL) return capsule;
  stream->release(stream);
  PyMem_Free(stream);
  return NULL;
}

static PyObject *make_schema(PyObject *module, PyObject *bytes) {
  struct ArrowArrayStream stream;
  struct ArrowSchema *schema = PyMem_Calloc(1, sizeof *schema);
  (void)module;
  if (schema == NULL) return PyErr_NoMemory();
  if (!open_stream(bytes, &stream)) {
    PyMem_Free(schema);
    return NULL;
  }
  PyObject *capsule = NULL;
  if (stream.get_schema(&stream, schema) != 0) PyErr_NoMemory();
  else capsule = PyCapsule_New(schema, schema_name, free_schema);
  stream.release(&stream);
  if (capsule != NULL) return capsule;
  if (schema->release != NULL) schema->release(schema);
  PyMem_Free(schema);
  return NULL;
}

int vs_python_add_arrow(PyObject *module) {
  static PyMethodDef functions[] = {
      {"arrow_stream", make_stream, METH_O,
       "arrow_stream(file): the rows of an Arrow IPC file in memory, as a capsule."},
      {"arrow_schema", make_schema, METH_O, "arrow_schema(file): its schema, as a capsule."},
      {NULL, NULL, 0, NULL},
  };
  return PyModule_AddFunctions(module, functions);
}
