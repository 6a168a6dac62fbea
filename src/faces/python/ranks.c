/* The files of a job's ranks as tables (ranks/tables.h): three Arrow IPC files in memory. Files are read on threads of their own, which do not know
 * Python; this thread takes the interpreter's lock between two files, and each second, for signals and the progress callback. */
#include "codec/arrow_writer.h"
#include "faces/python/python.h"
#include "intake/path.h"
#include "intake/zlib_load.h"
#include "ranks/tables.h"
#include <stdatomic.h>

/* Invariant: `thread` is NULL while the interpreter's lock is held. An error that a callback raises stays set. */
typedef struct merge_call {
  PyThreadState *thread;
  PyObject *progress;   /* borrowed; NULL: none */
  size_t told;          /* files that `progress` was told of */
  _Atomic bool is_over; /* threads that read a file should give up */
  vs_zlib_loaded *zlib; /* NULL: there is none */
  vs_arrow of[VS_JOB_TABLES];
  vs_text failures; /* file, sentence, ...; each ends in 0 */
} merge_call;

/* ---- the files */

static bool reading(void *ctx, uint64_t bytes_read, uint64_t bytes) {
  const merge_call *call = ctx;
  (void)bytes_read, (void)bytes;
  return !atomic_load(&call->is_over);
}

static vs_status open_file(void *ctx, const char *path, vs_engine **engine, vs_error *error) {
  merge_call *call = ctx;
  const vs_intake intake = {.name = vs_str_from(path), .input = {.watch = {.ctx = call, .reading = reading}}};
  VS_TRY(vs_engine_create(vs_host_default(), engine));
  const vs_status status =
      vs_intake_load_path(vs_host_default(), &intake, vs_zlib_loaded_api(call->zlib), path, *engine, error);
  if (status == VS_OK) return VS_OK;
  vs_engine_destroy(*engine);
  *engine = NULL;
  return status;
}

static bool tell(merge_call *call, size_t number, size_t count) {
  if (PyErr_CheckSignals() != 0) return false; /* Ctrl-C */
  if (call->progress == NULL || call->told > number) return true;
  call->told = number + 1;
  PyObject *answer = PyObject_CallFunction(call->progress, "nn", (Py_ssize_t)number, (Py_ssize_t)count);
  const bool goes_on = answer != NULL && answer != Py_False;
  Py_XDECREF(answer);
  return goes_on;
}

static vs_status wait_for(void *ctx, size_t number, size_t count, const char *path) {
  merge_call *call = ctx;
  (void)path;
  PyEval_RestoreThread(call->thread);
  const bool goes_on = tell(call, number, count);
  call->thread = PyEval_SaveThread();
  if (goes_on) return VS_OK;
  atomic_store(&call->is_over, true);
  return VS_CANCELLED;
}

/* ---- the rows */

static void keep_failure(void *ctx, const char *name, const char *why) {
  merge_call *call = ctx;
  vs_text_cstr(&call->failures, name);
  vs_text_byte(&call->failures, 0);
  vs_text_cstr(&call->failures, why);
  vs_text_byte(&call->failures, 0);
}

static vs_status put(void *ctx, const vs_records *records) {
  merge_call *call = ctx;
  size_t table = 0;
  while (&vs_job_table_types[table] != records->type) table++;
  VS_TRY(call->failures.status);
  vs_arrow_records(&call->of[table], records);
  return call->of[table].text->status;
}

/* {file: sentence}; a file that was named twice is there once. */
static PyObject *failures_dict(const merge_call *call) {
  PyObject *dict = PyDict_New();
  const char *at = call->failures.bytes.data;
  const char *const end = at + call->failures.bytes.count;
  while (dict != NULL && at != end) {
    const vs_str file = vs_str_from(at), sentence = vs_str_from(at + file.size + 1);
    PyObject *key = vs_python_text(file), *value = vs_python_text(sentence);
    if (key == NULL || value == NULL || PyDict_SetItem(dict, key, value) != 0) Py_CLEAR(dict);
    Py_XDECREF(key);
    Py_XDECREF(value);
    at = sentence.data + sentence.size + 1;
  }
  return dict;
}

/* ---- the call */

static vs_status read_tables(merge_call *call, const vs_rank_files *files, const char *device,
                             vs_rank_tables_result *result) {
  const vs_rank_face face = {.ctx = call, .open = open_file, .wait = wait_for};
  const vs_rank_tables_options options = {.device = device, .ctx = call, .put = put, .fail = keep_failure};
  VS_TRY(vs_rank_tables_read(files, &face, &options, result));
  for (size_t i = 0; i < VS_JOB_TABLES; i++) {
    vs_arrow_end(&call->of[i]);
    VS_TRY(call->of[i].text->status);
  }
  return VS_OK;
}

static vs_status list_and_read(merge_call *call, const char *const *paths, size_t count, const char *device,
                               vs_rank_tables_result *result, vs_error *error) {
  vs_rank_files files;
  vs_error cause = {.status = VS_OK, .offset = VS_NO_OFFSET};
  call->thread = PyEval_SaveThread();
  vs_status status = vs_rank_files_list(&files, vs_host_default(), paths, count, &cause);
  if (status != VS_OK && status != VS_NO_MEMORY)
    vs_fail(error, status, VS_NO_OFFSET, "%s: %s", files.failed, cause.text);
  const vs_status loaded = vs_zlib_load(vs_host_default(), &call->zlib);
  if (status == VS_OK && loaded != VS_UNSUPPORTED)
    status = loaded; /* without it a file that needs it fails */
  if (status == VS_OK) status = read_tables(call, &files, device, result);
  vs_zlib_unload(call->zlib);
  vs_rank_files_deinit(&files);
  PyEval_RestoreThread(call->thread);
  call->thread = NULL;
  return status;
}

/* The tables and what is known of them, or NULL with an error set. `replies`: of the tables, borrowed. */
static PyObject *run(merge_call *call, PyObject *const *replies, const char *const *paths, size_t count,
                     const char *device) {
  vs_rank_tables_result result = {0};
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_text_init(&call->failures, vs_host_default(), NULL);
  for (size_t i = 0; i < VS_JOB_TABLES; i++)
    vs_arrow_begin(&call->of[i], vs_python_reply_text(replies[i]), &vs_job_table_types[i]);
  const vs_status status = list_and_read(call, paths, count, device, &result, &error);
  for (size_t i = 0; i < VS_JOB_TABLES; i++) vs_arrow_deinit(&call->of[i]);
  PyObject *made = NULL, *failures = NULL;
  const unsigned long long files = result.read + result.not_read;
  if (PyErr_Occurred() == NULL && status != VS_OK) (void)vs_python_raise(status, &error);
  if (PyErr_Occurred() == NULL) failures = failures_dict(call);
  if (failures != NULL)
    made = Py_BuildValue("{sOsOsO}KO", vs_job_table_types[0].name, replies[0], vs_job_table_types[1].name,
                         replies[1], vs_job_table_types[2].name, replies[2], files, failures);
  Py_XDECREF(failures);
  vs_text_deinit(&call->failures);
  return made;
}

static PyObject *run_with_replies(const vs_python_state *state, PyObject *progress, const char *const *paths,
                                  size_t count, const char *device) {
  PyObject *replies[VS_JOB_TABLES] = {NULL}, *made = NULL;
  merge_call *call = PyMem_Calloc(1, sizeof *call); /* large for a stack */
  bool is_ready = call != NULL;
  if (!is_ready) (void)PyErr_NoMemory();
  for (size_t i = 0; i < VS_JOB_TABLES && is_ready; i++)
    is_ready = (replies[i] = vs_python_reply(state)) != NULL;
  if (is_ready) {
    call->progress = progress == Py_None ? NULL : progress;
    made = run(call, replies, paths, count, device);
  }
  for (size_t i = 0; i < VS_JOB_TABLES; i++) Py_XDECREF(replies[i]);
  PyMem_Free(call);
  return made;
}

static PyObject *merge(PyObject *module, PyObject *arguments) {
  PyObject *list, *progress;
  const char *device;
  if (PyArg_ParseTuple(arguments, "O!zO:merge", &PyTuple_Type, &list, &device, &progress) == 0) return NULL;
  const Py_ssize_t count = PyTuple_Size(list);
  const char **paths = PyMem_Calloc((size_t)count + 1, sizeof *paths);
  if (paths == NULL) return PyErr_NoMemory();
  Py_ssize_t taken = 0;
  while (taken < count && (paths[taken] = PyBytes_AsString(PyTuple_GetItem(list, taken))) != NULL) taken++;
  PyObject *made = NULL;
  if (taken == count)
    made = run_with_replies(vs_python_state_of(module), progress, paths, (size_t)count, device);
  PyMem_Free(paths);
  return made;
}

int vs_python_add_ranks(PyObject *module) {
  static PyMethodDef functions[] = {
      {"merge", merge, METH_VARARGS,
       "merge(paths, device, progress) -> ({table: Reply}, files, {file: why it could not be read}).\n\n"
       "paths: a tuple of bytes, files and folders of them, which stays as it is. device: a number as text, "
       "\"host\", or None.\n"
       "progress(files_read, files): False cancels."},
      {NULL, NULL, 0, NULL},
  };
  return PyModule_AddFunctions(module, functions);
}
