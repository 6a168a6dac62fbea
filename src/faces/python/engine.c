/* The engine as two types: Engine, which loads a file and answers requests, and Reply, the bytes of an answer. A reply stays
 * where the library wrote it; arrays use that memory without a copy (buffer protocol).
 *
 * Loading and answering run without the interpreter's lock, so other Python threads go on. Each Engine has a lock of its
 * own, so that one thread at a time uses it. A callback that uses the engine that called it would wait for itself, so it
 * gets a RuntimeError.
 *
 * docs/formats/query.md describes requests and replies; this file does not interpret them. */
#include "faces/python/python.h"
#include "base/check.h"
#include "base/text.h"
#include "intake/load.h"
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
  if (self == NULL) return NULL; /* tp_alloc sets the members to 0 */
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

/* A load in progress. It runs without the interpreter's lock; `thread` is the state to take it again. An error that a
 * callback raises stays set, ends the load, and is raised by it. */
typedef struct load_call {
  PyThreadState *thread;                    /* NULL while the interpreter's lock is held */
  PyObject *readinto, *progress, *inflater; /* borrowed, NULL: none */
  PyObject *total;                          /* borrowed: the total for the progress, an int or None */
  uint64_t next_call;                       /* of the progress, in bytes read */
  bool has_raised;
} load_call;

/* Takes the interpreter's lock. Returns false if a callback has raised: then no more callbacks are called. */
static bool take(load_call *call) {
  VS_ASSERT(call->thread != NULL);
  if (call->has_raised) return false;
  PyEval_RestoreThread(call->thread);
  call->thread = NULL;
  return true;
}

static vs_status give(load_call *call) {
  VS_ASSERT(call->thread == NULL && !call->has_raised);
  call->has_raised = PyErr_Occurred() != NULL;
  call->thread = PyEval_SaveThread();
  return call->has_raised ? VS_CANCELLED : VS_OK;
}

/* Calls a function with a view of memory that is valid only during the call. The view is released after it, so that a
 * function that kept it gets a ValueError when it uses it. */
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
  if (!take(call)) return VS_CANCELLED;
  PyObject *answer = call_with_view(call->readinto, data, capacity, PyBUF_WRITE, NULL);
  const size_t got = answer == NULL || answer == Py_None ? 0 : PyLong_AsSize_t(answer);
  if (PyErr_Occurred() == NULL && got > capacity)
    PyErr_SetString(PyExc_ValueError, "readinto says that it wrote more than there was room for");
  Py_XDECREF(answer);
  VS_TRY(give(call));
  *count = got;
  return VS_OK;
}

static bool report_progress(void *ctx, uint64_t bytes, uint64_t total) {
  load_call *call = ctx;
  (void)total;
  if (bytes < call->next_call) return !call->has_raised;
  call->next_call = bytes + (call->progress == NULL ? SIGNAL_STEP : PROGRESS_STEP);
  if (!take(call)) return false;
  bool goes_on = PyErr_CheckSignals() == 0; /* Ctrl-C */
  if (goes_on && call->progress != NULL) {
    PyObject *answer = PyObject_CallFunction(call->progress, "KO", (unsigned long long)bytes, call->total);
    goes_on = answer != NULL && answer != Py_False;
    Py_XDECREF(answer);
  }
  return give(call) == VS_OK && goes_on;
}

/* ---- decompression: a Python object as a vs_inflater. It uses Python's zlib, so that the extension links none. */

static vs_status begin_member(void *ctx) {
  load_call *call = ctx;
  if (!take(call)) return VS_CANCELLED;
  Py_XDECREF(PyObject_CallMethod(call->inflater, "begin", NULL));
  return give(call);
}

/* inflater.METHOD(packed, room): a new reference; NULL: an error is set. */
static PyObject *inflate(load_call *call, const char *method, const void *packed, size_t size, size_t room) {
  PyObject *function = PyObject_GetAttrString(call->inflater, method), *most = PyLong_FromSize_t(room);
  PyObject *answer = NULL;
  if (function != NULL && most != NULL)
    answer = call_with_view(function, (void *)(uintptr_t)packed, size, PyBUF_READ, most);
  Py_XDECREF(most);
  Py_XDECREF(function);
  return answer;
}

/* inflater.unpack(packed, room) -> (bytes, taken, has_ended), or None: damaged. */
static vs_status unpack(void *ctx, const void *packed, size_t size, void *to, size_t room,
                        vs_unpacked *done) {
  load_call *call = ctx;
  if (!take(call)) return VS_CANCELLED;
  PyObject *answer = inflate(call, "unpack", packed, size, room);
  const char *plain = NULL;
  Py_ssize_t made = 0, taken = 0;
  int has_ended = 0;
  const bool is_damaged = answer == Py_None;
  if (answer != NULL && !is_damaged && !PyTuple_Check(answer))
    PyErr_SetString(PyExc_TypeError, "unpack returns a tuple, or None");
  else if (answer != NULL && !is_damaged &&
           PyArg_ParseTuple(answer, "y#np", &plain, &made, &taken, &has_ended) != 0 &&
           ((size_t)made > room || taken < 0 || (size_t)taken > size))
    PyErr_SetString(PyExc_ValueError, "unpack says that it took or made more than there was");
  if (PyErr_Occurred() == NULL && plain != NULL) {
    memcpy(to, plain, (size_t)made);
    *done = (vs_unpacked){.taken = (size_t)taken, .made = (size_t)made, .has_ended = has_ended != 0};
  }
  Py_XDECREF(answer);
  VS_TRY(give(call));
  return is_damaged ? VS_BAD_FORMAT : VS_OK;
}

/* inflater.frame(packed, size) -> bytes, all `size` of them, or None: damaged. */
static vs_status inflate_frame(void *ctx, const void *from, size_t from_size, void *to, size_t to_size) {
  load_call *call = ctx;
  if (!take(call)) return VS_CANCELLED;
  PyObject *plain = inflate(call, "frame", from, from_size, to_size);
  char *bytes = NULL;
  Py_ssize_t count = 0;
  bool is_good = plain != NULL && plain != Py_None && PyBytes_AsStringAndSize(plain, &bytes, &count) == 0;
  is_good = is_good && (size_t)count == to_size;
  if (is_good) memcpy(to, bytes, to_size);
  Py_XDECREF(plain);
  VS_TRY(give(call));
  return is_good ? VS_OK : VS_BAD_FORMAT;
}

static vs_inflater inflater_of(load_call *call) {
  if (call->inflater == NULL) return (vs_inflater){0};
  return (vs_inflater){.ctx = call, .begin = begin_member, .unpack = unpack, .frame = inflate_frame};
}

/* ---- the load */

/* Where the bytes come from: one of three. */
typedef struct load_source {
  Py_buffer view; /* obj is NULL: none */
  vs_memory_reader memory;
  vs_infile file;
  vs_reader reader;
  uint64_t bytes; /* VS_NO_SIZE: unknown */
} load_source;

static bool open_source(load_source *source, PyObject *from, load_call *call) {
  source->bytes = call->total == Py_None ? VS_NO_SIZE : PyLong_AsUnsignedLongLong(call->total);
  if (PyErr_Occurred() != NULL) return false;
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

static vs_status read_source(engine_object *self, const load_source *from, vs_str name, load_call *call,
                             vs_error *error) {
  const vs_intake intake = {
      .name = name,
      .input = {.inflater = inflater_of(call), .watch = {.ctx = call, .reading = report_progress}}};
  vs_input_file file;
  VS_TRY(vs_input_file_over(&file, vs_host_default(), from->reader, from->bytes, &intake.input, error));
  const vs_status status = vs_intake_load(&intake, &file, self->engine, error);
  vs_input_file_close(&file);
  return status;
}

static vs_status run_load(engine_object *self, load_source *from, vs_str name, load_call *call,
                          vs_error *error) {
  VS_ASSERT(call->thread == NULL && from->reader.read != NULL);
  call->thread = PyEval_SaveThread();
  const vs_status status = read_source(self, from, name, call, error);
  PyEval_RestoreThread(call->thread);
  if (status != VS_OK && from->file.error.text[0] != 0) *error = from->file.error; /* the deeper cause */
  return status;
}

static const char load_doc[] =
    "load(source, name, disk_bytes, progress, inflater): reads a snapshot, which replaces the one before.\n\n"
    "source: a file descriptor at the first byte, bytes or another buffer, or readinto(view) -> count.\n"
    "name: bytes, as replies quote it. disk_bytes: an int, or None: what was read.\n"
    "progress(bytes_read, disk_bytes): False cancels. inflater: has begin(), unpack(packed, room) -> "
    "(bytes,\n"
    "taken, has_ended) for gzip, and frame(packed, size) -> bytes: raw deflate, for compacted recordings.";

static PyObject *load(PyObject *object, PyObject *arguments) {
  engine_object *self = (engine_object *)object;
  PyObject *from, *disk_bytes, *progress, *inflater;
  const char *name;
  Py_ssize_t name_size;
  if (PyArg_ParseTuple(arguments, "Oy#OOO:load", &from, &name, &name_size, &disk_bytes, &progress,
                       &inflater) == 0)
    return NULL;
  load_call call = {
      .progress = none_to_null(progress), .inflater = none_to_null(inflater), .total = disk_bytes};
  load_source source = {.view = {.obj = NULL}};
  if (!open_source(&source, from, &call) || !vs_python_lock_enter(&self->lock)) {
    PyBuffer_Release(&source.view);
    return NULL;
  }
  vs_error error = {.offset = VS_NO_OFFSET};
  const vs_status status = run_load(self, &source, (vs_str){name, (size_t)name_size}, &call, &error);
  vs_python_lock_leave(&self->lock);
  PyBuffer_Release(&source.view);
  if (PyErr_Occurred() != NULL) return NULL; /* a callback's */
  return status == VS_OK ? Py_NewRef(Py_None) : vs_python_raise(status, &error);
}

/* ---- requests ----------------------------------------------------------------------------------------------------- */

PyObject *vs_python_reply(const vs_python_state *state) {
  PyTypeObject *type = (PyTypeObject *)state->engine;
  reply_object *reply = (reply_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (reply != NULL) vs_text_init(&reply->bytes, vs_host_default(), NULL);
  return (PyObject *)reply;
}

vs_text *vs_python_reply_text(PyObject *reply) { return &((reply_object *)reply)->bytes; }

static PyObject *request(PyObject *object, PyObject *argument) {
  engine_object *self = (engine_object *)object;
  char *asked;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(argument, &asked, &size) != 0) return NULL;
  const vs_python_state *state = PyType_GetModuleState(Py_TYPE(object));
  PyObject *reply = state == NULL ? NULL : vs_python_reply(state);
  if (reply == NULL || !vs_python_lock_enter(&self->lock)) {
    Py_XDECREF(reply);
    return NULL;
  }
  vs_error error = {.offset = VS_NO_OFFSET};
  const vs_writer writer = vs_text_writer(vs_python_reply_text(reply));
  PyThreadState *thread = PyEval_SaveThread();
  const vs_status status = vs_engine_request(self->engine, (vs_str){asked, (size_t)size}, writer, &error);
  PyEval_RestoreThread(thread);
  vs_python_lock_leave(&self->lock);
  if (status == VS_OK) return reply;
  Py_DECREF(reply);
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
