/* The engine as two types: Engine, which loads a file and answers requests, and Reply, the bytes of an answer, which lie
 * where the library wrote them: whoever wants them as an array looks at them there (buffer protocol).
 *
 * Loading and answering run without the interpreter's lock, so other Python threads go on. One engine is one thread's at a
 * time: each Engine has a lock of its own, and who comes second waits. A callback that asks the very engine which called it
 * would wait for itself, and gets a RuntimeError.
 *
 * What a request may be and what comes back is written in docs/formats/query.md; nothing of it is known here. */
#include "faces/python/python.h"
#include "base/text.h"
#include "os/infile.h"
#include <vramscope/query.h>

/* ---- replies ------------------------------------------------------------------------------------------------------ */

typedef struct reply_object {
  PyObject_HEAD;
  vs_text bytes;
} reply_object;

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
  reply_object *reply = (reply_object *)self;
  static char nothing;
  void *data = reply->bytes.bytes.count == 0 ? &nothing : reply->bytes.bytes.data;
  return PyBuffer_FillInfo(view, self, data, (Py_ssize_t)reply->bytes.bytes.count, 1, flags);
}

static Py_ssize_t reply_size(PyObject *self) { return (Py_ssize_t)((reply_object *)self)->bytes.bytes.count; }

static void free_reply(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  vs_text_deinit(&((reply_object *)self)->bytes);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyType_Slot reply_slots[] = {
    {Py_tp_doc, "The bytes of a reply, where the library wrote them: memoryview(reply), bytes(reply)."},
    {Py_tp_dealloc, free_reply},
    {Py_sq_length, reply_size},
    {Py_bf_getbuffer, get_buffer},
    {0, NULL},
};

static PyType_Spec reply_spec = {
    .name = "vramscope._native.Reply",
    .basicsize = sizeof(reply_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = reply_slots,
};

/* ---- engines ------------------------------------------------------------------------------------------------------ */

typedef struct engine_object {
  PyObject_HEAD;
  vs_engine *engine;
  vs_python_lock lock;
} engine_object;

static PyObject *new_engine(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {NULL};
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, ":Engine", names) == 0) return NULL;
  engine_object *self = (engine_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) return NULL; /* all zero otherwise */
  const bool has_lock = vs_python_lock_init(&self->lock);
  const vs_status status = has_lock ? vs_engine_create(vs_host_default(), &self->engine) : VS_NO_MEMORY;
  if (status == VS_OK) return (PyObject *)self;
  Py_DECREF(self);
  return has_lock ? vs_python_raise(status, NULL) : NULL;
}

static void free_engine(PyObject *object) {
  engine_object *self = (engine_object *)object;
  PyTypeObject *type = Py_TYPE(object);
  vs_engine_destroy(self->engine);
  vs_python_lock_deinit(&self->lock);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/* ---- loading ------------------------------------------------------------------------------------------------------ */

enum { PROGRESS_STEP = 1 << 20, SIGNAL_STEP = 16 << 20 }; /* bytes between two calls back into Python */

/* A load under way. It runs without the interpreter's lock: `thread` is what takes that again. An error that a callback
 * raises stays set, ends the load, and is what the load raises. */
typedef struct load_call {
  PyThreadState *thread;
  PyObject *readinto, *progress, *inflate; /* borrowed, NULL: none */
  uint64_t next_call;                      /* of the progress, in bytes read */
  bool has_raised;
} load_call;

static void take(load_call *call) { PyEval_RestoreThread(call->thread); }

static vs_status give(load_call *call) {
  call->has_raised = PyErr_Occurred() != NULL;
  call->thread = PyEval_SaveThread();
  return call->has_raised ? VS_CANCELLED : VS_OK;
}

/* Who keeps the view of memory that is about to go gets a ValueError from it: it is released. */
static PyObject *call_with_view(PyObject *function, void *data, size_t size, int flags, PyObject *more) {
  PyObject *view = PyMemoryView_FromMemory(data, (Py_ssize_t)size, flags), *result = NULL;
  if (view == NULL) return NULL;
  result = PyObject_CallFunctionObjArgs(function, view, more, NULL);
  PyObject *released = result == NULL ? NULL : PyObject_CallMethod(view, "release", NULL);
  if (released == NULL) Py_CLEAR(result);
  Py_XDECREF(released);
  Py_DECREF(view);
  return result;
}

static vs_status read_more(void *ctx, void *data, size_t capacity, size_t *count) {
  load_call *call = ctx;
  *count = 0;
  if (call->has_raised) return VS_CANCELLED;
  take(call);
  PyObject *answer = call_with_view(call->readinto, data, capacity, PyBUF_WRITE, NULL);
  const size_t got = answer == NULL || answer == Py_None ? 0 : PyLong_AsSize_t(answer);
  if (PyErr_Occurred() == NULL && got > capacity)
    PyErr_SetString(PyExc_ValueError, "readinto says that it wrote more than there was room for");
  Py_XDECREF(answer);
  VS_TRY(give(call));
  *count = got;
  return VS_OK;
}

static bool report_progress(void *ctx, uint64_t bytes) {
  load_call *call = ctx;
  if (call->has_raised) return false;
  if (bytes < call->next_call) return true;
  call->next_call = bytes + (call->progress == NULL ? SIGNAL_STEP : PROGRESS_STEP);
  take(call);
  bool goes_on = PyErr_CheckSignals() == 0; /* Ctrl-C */
  if (goes_on && call->progress != NULL) {
    PyObject *answer = PyObject_CallFunction(call->progress, "K", (unsigned long long)bytes);
    goes_on = answer != NULL && answer != Py_False;
    Py_XDECREF(answer);
  }
  return give(call) == VS_OK && goes_on;
}

/* inflate(packed, size) -> bytes, all `size` of them, or None: a damaged recording. */
static vs_status inflate_frame(void *ctx, const void *from, size_t from_size, void *to, size_t to_size) {
  load_call *call = ctx;
  if (call->has_raised) return VS_CANCELLED;
  take(call);
  PyObject *size = PyLong_FromSize_t(to_size), *plain = NULL;
  if (size != NULL)
    plain = call_with_view(call->inflate, (void *)(uintptr_t)from, from_size, PyBUF_READ, size);
  char *bytes = NULL;
  Py_ssize_t count = 0;
  bool is_good = plain != NULL && plain != Py_None && PyBytes_AsStringAndSize(plain, &bytes, &count) == 0;
  is_good = is_good && (size_t)count == to_size;
  if (is_good) memcpy(to, bytes, to_size);
  Py_XDECREF(size);
  Py_XDECREF(plain);
  VS_TRY(give(call));
  return is_good ? VS_OK : VS_BAD_FORMAT;
}

/* Where the bytes come from: one of three. */
typedef struct load_source {
  Py_buffer view; /* obj is NULL: none */
  vs_memory_reader memory;
  vs_infile file;
  vs_reader reader;
} load_source;

static bool open_source(load_source *source, PyObject *from, load_call *call) {
  if (PyLong_Check(from)) {
    source->file = (vs_infile){.fd = (int)PyLong_AsLong(from)};
    source->reader = vs_infile_reader(&source->file);
  } else if (PyCallable_Check(from)) {
    call->readinto = from;
    source->reader = (vs_reader){.ctx = call, .read = read_more};
  } else {
    if (PyObject_GetBuffer(from, &source->view, PyBUF_SIMPLE) != 0) return false;
    source->reader = vs_reader_from_bytes(&source->memory, source->view.buf, (size_t)source->view.len);
  }
  return PyErr_Occurred() == NULL;
}

static PyObject *none_to_null(PyObject *object) { return object == Py_None ? NULL : object; }

static vs_status run_load(engine_object *self, load_source *from, const vs_source *source, load_call *call,
                          vs_error *error) {
  const vs_load_options options = {
      .progress = report_progress,
      .progress_ctx = call,
      .inflate = call->inflate == NULL ? NULL : inflate_frame,
      .inflate_ctx = call,
  };
  call->thread = PyEval_SaveThread();
  const vs_status status = vs_engine_load(self->engine, from->reader, source, &options, error);
  PyEval_RestoreThread(call->thread);
  if (status != VS_OK && from->file.error.text[0] != 0) *error = from->file.error; /* the deeper cause */
  return status;
}

static const char load_doc[] =
    "load(source, name, disk_bytes, is_compressed, progress, inflate): reads a snapshot, which replaces the\n"
    "one before.\n\n"
    "source: a file descriptor at the first byte, bytes or another buffer, or readinto(view) -> count.\n"
    "name: bytes, as replies quote it. disk_bytes: an int, or None: what was read.\n"
    "progress(bytes_read): False cancels. inflate(packed, size) -> bytes: raw deflate, for compacted "
    "recordings.";

static PyObject *load(PyObject *object, PyObject *arguments) {
  engine_object *self = (engine_object *)object;
  PyObject *from, *disk_bytes, *progress, *inflate;
  const char *name;
  Py_ssize_t name_size;
  int is_compressed;
  if (PyArg_ParseTuple(arguments, "Oy#OpOO:load", &from, &name, &name_size, &disk_bytes, &is_compressed,
                       &progress, &inflate) == 0)
    return NULL;
  vs_source source = {
      .name = {name, (size_t)name_size}, .bytes = VS_BYTES_UNKNOWN, .is_compressed = is_compressed != 0};
  if (disk_bytes != Py_None) source.bytes = PyLong_AsUnsignedLongLong(disk_bytes);
  load_call call = {.progress = none_to_null(progress), .inflate = none_to_null(inflate)};
  load_source reader = {.view = {.obj = NULL}};
  if (PyErr_Occurred() != NULL || !open_source(&reader, from, &call) || !vs_python_lock_enter(&self->lock)) {
    PyBuffer_Release(&reader.view);
    return NULL;
  }
  vs_error error = {.offset = VS_NO_OFFSET};
  const vs_status status = run_load(self, &reader, &source, &call, &error);
  vs_python_lock_leave(&self->lock);
  PyBuffer_Release(&reader.view);
  if (PyErr_Occurred() != NULL) return NULL; /* a callback's */
  return status == VS_OK ? Py_NewRef(Py_None) : vs_python_raise(status, &error);
}

/* ---- requests ----------------------------------------------------------------------------------------------------- */

static vs_status collect(void *ctx, const void *data, size_t size) {
  vs_text *text = ctx;
  vs_text_put(text, data, size);
  return text->status;
}

static reply_object *new_reply(PyTypeObject *engine_type) {
  const vs_python_state *state = PyType_GetModuleState(engine_type);
  if (state == NULL) return NULL;
  PyTypeObject *type = (PyTypeObject *)state->engine;
  reply_object *reply = (reply_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (reply != NULL) vs_text_init(&reply->bytes, vs_host_default(), NULL);
  return reply;
}

static PyObject *request(PyObject *object, PyObject *argument) {
  engine_object *self = (engine_object *)object;
  char *asked;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(argument, &asked, &size) != 0) return NULL;
  reply_object *reply = new_reply(Py_TYPE(object));
  if (reply == NULL || !vs_python_lock_enter(&self->lock)) {
    Py_XDECREF((PyObject *)reply);
    return NULL;
  }
  vs_error error = {.offset = VS_NO_OFFSET};
  const vs_writer writer = {.ctx = &reply->bytes, .write = collect};
  PyThreadState *thread = PyEval_SaveThread();
  const vs_status status = vs_engine_request(self->engine, (vs_str){asked, (size_t)size}, writer, &error);
  PyEval_RestoreThread(thread);
  vs_python_lock_leave(&self->lock);
  if (status == VS_OK) return (PyObject *)reply;
  Py_DECREF((PyObject *)reply);
  return vs_python_raise(status, &error);
}

static PyMethodDef engine_methods[] = {
    {"load", load, METH_VARARGS, load_doc},
    {"request", request, METH_O,
     "request(bytes) -> Reply: the JSON of docs/formats/query.md, and its answer."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot engine_slots[] = {
    {Py_tp_doc, "What answers questions about a snapshot; without one it only lists its methods."},
    {Py_tp_new, new_engine},
    {Py_tp_dealloc, free_engine},
    {Py_tp_methods, engine_methods},
    {0, NULL},
};

static PyType_Spec engine_spec = {
    .name = "vramscope._native.Engine",
    .basicsize = sizeof(engine_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = engine_slots,
};

/* ---- the part ----------------------------------------------------------------------------------------------------- */

int vs_python_add_engine(PyObject *module) {
  PyObject *reply = PyType_FromModuleAndSpec(module, &reply_spec, NULL);
  PyObject *engine = PyType_FromModuleAndSpec(module, &engine_spec, NULL);
  vs_python_state_of(module)->engine = reply; /* an Engine finds the type of its replies there */
  const bool is_done = reply != NULL && engine != NULL &&
                       PyModule_AddObjectRef(module, "Reply", reply) == 0 &&
                       PyModule_AddObjectRef(module, "Engine", engine) == 0;
  Py_XDECREF(engine);
  return is_done ? 0 : -1;
}
