/* The cards of this machine as one type, Devices: <vramscope/devices.h> with dicts in place of structs.
 *
 * An unknown figure is None, and `reasons` of the same dict says why, by the figure's name: {"reserved": None,
 * "reasons": {"reserved": "NO_FUNCTION"}}. NVML's calls may take milliseconds, so they run without the interpreter's lock. */
#include "faces/python/python.h"
#include "base/check.h"
#include "base/text.h"
#include <vramscope/devices.h>

typedef struct devices_object {
  PyObject_HEAD;
  vs_devices *devices; /* NULL after close */
  vs_python_lock lock;
} devices_object;

/* ---- a call of the library ---------------------------------------------------------------------------------------- */

/* One use of the object, from enter to finish. */
typedef struct use {
  devices_object *self;
  PyThreadState *thread; /* NULL while the interpreter's lock is held */
} use;

static bool enter(use *call, PyObject *object) {
  *call = (use){.self = (devices_object *)object};
  if (!vs_python_lock_enter(&call->self->lock)) return false;
  if (call->self->devices != NULL) return true;
  vs_python_lock_leave(&call->self->lock);
  PyErr_SetString(PyExc_ValueError, "these devices were closed");
  return false;
}

static void let_others(use *call) {
  VS_ASSERT(call->thread == NULL);
  call->thread = PyEval_SaveThread();
}

static void resume(use *call) {
  VS_ASSERT(call->thread != NULL);
  PyEval_RestoreThread(call->thread);
  call->thread = NULL;
}

/* The end of each method: returns `result`, or raises the error of the status. */
static PyObject *finish(use *call, vs_status status, const vs_error *error, PyObject *result) {
  VS_ASSERT(call->thread == NULL);
  vs_python_lock_leave(&call->self->lock);
  if (status == VS_OK) return result;
  Py_XDECREF(result);
  return vs_python_raise(status, error);
}

/* ---- dicts: after a failure nothing more is added, as in a vs_text ---------------------------------------------- */

typedef struct record {
  PyObject *dict, *reasons; /* NULL after a failure; reasons: NULL until one is needed */
} record;

/* Takes `value`, which may be NULL. */
static void put(record *to, const char *name, PyObject *value) {
  if (to->dict != NULL && (value == NULL || PyDict_SetItemString(to->dict, name, value) != 0))
    Py_CLEAR(to->dict);
  Py_XDECREF(value);
}

static void put_text(record *to, const char *name, const char *text) {
  put(to, name, vs_python_text(vs_str_from(text)));
}
static void put_flag(record *to, const char *name, bool value) { put(to, name, PyBool_FromLong(value)); }
static void put_u64(record *to, const char *name, uint64_t value) {
  put(to, name, PyLong_FromUnsignedLongLong(value));
}

/* A number, or None for VS_DEVICES_NONE. */
static void put_number(record *to, const char *name, uint32_t value) {
  put(to, name, value == VS_DEVICES_NONE ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(value));
}

/* A number, or None for the 0 that means unknown. */
static void put_known(record *to, const char *name, uint64_t value) {
  put(to, name, value == 0 ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(value));
}

static PyObject *metric_value(vs_metric metric, bool is_signed) {
  if (!vs_metric_is_known(metric)) return Py_NewRef(Py_None);
  return is_signed ? PyLong_FromLongLong((long long)metric.value) : PyLong_FromUnsignedLongLong(metric.value);
}

static void put_metric(record *to, const char *name, vs_metric metric) {
  put(to, name, metric_value(metric, false));
  if (to->dict == NULL || vs_metric_is_known(metric)) return;
  record reasons = {.dict = to->reasons};
  put_text(&reasons, name, vs_reason_name(metric.reason));
  to->reasons = reasons.dict;
  if (to->reasons == NULL) Py_CLEAR(to->dict);
}

static record begin_record(void) {
  record made = {.dict = PyDict_New(), .reasons = PyDict_New()};
  if (made.reasons == NULL) Py_CLEAR(made.dict);
  return made;
}

static PyObject *end_record(record *made) {
  put(made, "reasons", made->reasons);
  return made->dict;
}

/* Takes both; NULL where one of them is. */
static PyObject *append(PyObject *list, PyObject *item) {
  if (list != NULL && (item == NULL || PyList_Append(list, item) != 0)) Py_CLEAR(list);
  Py_XDECREF(item);
  return list;
}

/* ---- open, close -------------------------------------------------------------------------------------------------- */

static PyObject *raise_failure(vs_status status, const vs_devices_failure *failure) {
  vs_error error = {.status = status, .offset = VS_NO_OFFSET};
  vs_format(error.text, sizeof error.text, "%s", failure->text);
  (void)vs_python_raise(status, &error);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject *code = PyLong_FromLong(failure->code);
  if (value != NULL && code != NULL) (void)PyObject_SetAttrString(value, "code", code);
  Py_XDECREF(code);
  PyErr_Restore(type, value, trace);
  return NULL;
}

static PyObject *new_devices(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"nvml", "may_ask_cuda", "with_locks", NULL};
  const char *nvml = NULL;
  int may_ask_cuda = 0, with_locks = 0;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|z$pp:Devices", names, &nvml, &may_ask_cuda,
                                  &with_locks) == 0)
    return NULL;
  devices_object *self = (devices_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL || !vs_python_lock_init(&self->lock)) {
    Py_XDECREF((PyObject *)self);
    return NULL;
  }
  const vs_devices_options options = {
      .nvml = nvml, .may_ask_cuda = may_ask_cuda != 0, .with_locks = with_locks != 0};
  vs_devices_failure failure = {.status = VS_OK};
  PyThreadState *thread = PyEval_SaveThread();
  const vs_status status = vs_devices_open(&options, &self->devices, &failure);
  PyEval_RestoreThread(thread);
  if (status == VS_OK) return (PyObject *)self;
  self->devices = NULL;
  Py_DECREF((PyObject *)self);
  return raise_failure(status, &failure);
}

static void free_devices(PyObject *object) {
  devices_object *self = (devices_object *)object;
  PyTypeObject *type = Py_TYPE(object);
  vs_devices_close(self->devices);
  vs_python_lock_deinit(&self->lock);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyObject *close_devices(PyObject *object, PyObject *unused) {
  (void)unused;
  use call = {.self = (devices_object *)object};
  if (!vs_python_lock_enter(&call.self->lock)) return NULL;
  vs_devices_close(call.self->devices);
  call.self->devices = NULL;
  return finish(&call, VS_OK, NULL, Py_NewRef(Py_None));
}

static PyObject *refresh(PyObject *object, PyObject *unused) {
  (void)unused;
  use call;
  vs_devices_failure failure = {.status = VS_OK};
  if (!enter(&call, object)) return NULL;
  let_others(&call);
  const vs_status status = vs_devices_refresh(call.self->devices, &failure);
  resume(&call);
  vs_python_lock_leave(&call.self->lock);
  return status == VS_OK ? Py_NewRef(Py_None) : raise_failure(status, &failure);
}

static PyObject *is_stale(PyObject *object, PyObject *unused) {
  (void)unused;
  use call;
  if (!enter(&call, object)) return NULL;
  return finish(&call, VS_OK, NULL, PyBool_FromLong(vs_devices_is_stale(call.self->devices)));
}

static PyObject *driver(PyObject *object, PyObject *unused) {
  (void)unused;
  use call;
  vs_devices_driver found;
  if (!enter(&call, object)) return NULL;
  vs_devices_driver_of(call.self->devices, &found);
  record made = begin_record();
  put_text(&made, "library", found.library);
  put_text(&made, "library_version", found.library_version);
  put_text(&made, "driver_version", found.driver_version);
  put_text(&made, "kernel_version", found.kernel_version);
  put_metric(&made, "cuda_version", found.cuda_version);
  put_flag(&made, "versions_differ", found.versions_differ);
  put_flag(&made, "is_simulated", found.is_simulated);
  put_flag(&made, "is_wsl", found.is_wsl);
  put_metric(&made, "is_pid_hidden", found.is_pid_hidden);
  return finish(&call, VS_OK, NULL, end_record(&made));
}

/* ---- units -------------------------------------------------------------------------------------------------------- */

static PyObject *count(PyObject *object, PyObject *unused) {
  (void)unused;
  use call;
  if (!enter(&call, object)) return NULL;
  return finish(&call, VS_OK, NULL, PyLong_FromUnsignedLong(vs_devices_count(call.self->devices)));
}

static PyObject *info(PyObject *object, PyObject *arguments) {
  use call;
  unsigned int unit;
  vs_devices_info found;
  if (PyArg_ParseTuple(arguments, "I:info", &unit) == 0 || !enter(&call, object)) return NULL;
  const vs_status status = vs_devices_info_of(call.self->devices, unit, &found);
  if (status != VS_OK) return finish(&call, status, NULL, NULL);
  record made = begin_record();
  put_text(&made, "name", found.name);
  put_text(&made, "uuid", found.uuid);
  put_text(&made, "bus_id", found.bus_id);
  put_text(&made, "serial", found.serial);
  put_number(&made, "index", found.index);
  put_flag(&made, "is_mig", found.is_mig);
  put_number(&made, "parent", found.parent);
  put_number(&made, "mig_index", found.mig_index);
  put_number(&made, "gpu_instance", found.gpu_instance);
  put_number(&made, "compute_instance", found.compute_instance);
  put_flag(&made, "is_divided", found.is_divided);
  put_flag(&made, "is_simulated", found.is_simulated);
  put_flag(&made, "is_unified", found.is_unified);
  put_metric(&made, "cuda_index", found.cuda_index);
  put_known(&made, "total_bytes", found.total_bytes);
  return finish(&call, VS_OK, NULL, end_record(&made));
}

static PyObject *ask_cuda(PyObject *object, PyObject *unused) {
  (void)unused;
  use call;
  vs_error error = {.offset = VS_NO_OFFSET};
  if (!enter(&call, object)) return NULL;
  let_others(&call);
  const vs_status status = vs_devices_ask_cuda(call.self->devices, &error);
  resume(&call);
  return finish(&call, status, &error, Py_NewRef(Py_None));
}

/* The grammar may name a unit more than once, so their count is the most that is stored. */
static PyObject *select_units(PyObject *object, PyObject *arguments) {
  use call;
  const char *text;
  if (PyArg_ParseTuple(arguments, "z:select", &text) == 0 || !enter(&call, object)) return NULL;
  const size_t room = vs_devices_count(call.self->devices);
  uint32_t *units = PyMem_Calloc(room + 1, sizeof *units);
  vs_error error = {.offset = VS_NO_OFFSET};
  size_t found = 0;
  vs_status status = VS_NO_MEMORY;
  if (units != NULL) {
    let_others(&call);
    status = vs_devices_select(call.self->devices, text, units, room, &found, &error);
    resume(&call);
  }
  PyObject *list = PyList_New(0);
  for (size_t i = 0; status == VS_OK && i < found && i < room; i++)
    list = append(list, PyLong_FromUnsignedLong(units[i]));
  PyMem_Free(units);
  return finish(&call, status, &error, list);
}

static PyObject *with_uuid(PyObject *object, PyObject *arguments) {
  use call;
  const char *uuid;
  if (PyArg_ParseTuple(arguments, "s:with_uuid", &uuid) == 0 || !enter(&call, object)) return NULL;
  const uint32_t unit = vs_devices_with_uuid(call.self->devices, uuid);
  return finish(&call, VS_OK, NULL,
                unit == VS_DEVICES_NONE ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(unit));
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static PyObject *memory(PyObject *object, PyObject *arguments) {
  use call;
  unsigned int unit;
  int with_processes = 0;
  vs_devices_memory found;
  if (PyArg_ParseTuple(arguments, "I|p:memory", &unit, &with_processes) == 0 || !enter(&call, object))
    return NULL;
  let_others(&call);
  const vs_status status = vs_devices_memory_of(call.self->devices, unit, with_processes != 0, &found);
  resume(&call);
  if (status != VS_OK) return finish(&call, status, NULL, NULL);
  record made = begin_record();
  put_metric(&made, "total", found.total);
  put_metric(&made, "reserved", found.reserved);
  put_metric(&made, "used", found.used);
  put_metric(&made, "free", found.free);
  put_metric(&made, "attributed", found.attributed);
  put_metric(&made, "unattributed", found.unattributed);
  put_u64(&made, "api", found.api);
  put_flag(&made, "is_shared", found.is_shared);
  put_flag(&made, "is_approximate", found.is_approximate);
  put_number(&made, "shared_with", found.shared_with);
  return finish(&call, VS_OK, NULL, end_record(&made));
}

/* Takes ten microseconds, so the interpreter's lock is kept. */
static PyObject *used_fast(PyObject *object, PyObject *argument) {
  use call;
  const unsigned long unit = PyLong_AsUnsignedLong(argument);
  if (PyErr_Occurred() != NULL || !enter(&call, object)) return NULL;
  const uint32_t asked = unit > UINT32_MAX ? UINT32_MAX : (uint32_t)unit;
  return finish(&call, VS_OK, NULL, metric_value(vs_devices_used_fast(call.self->devices, asked), false));
}

static PyObject *most_free(PyObject *object, PyObject *arguments) {
  use call;
  int cuda_only = 0;
  uint32_t unit = VS_DEVICES_NONE;
  uint64_t bytes = 0;
  if (PyArg_ParseTuple(arguments, "|p:most_free", &cuda_only) == 0 || !enter(&call, object)) return NULL;
  let_others(&call);
  const vs_status status = vs_devices_most_free(call.self->devices, cuda_only != 0, &unit, &bytes);
  resume(&call);
  if (status != VS_OK || unit != VS_DEVICES_NONE)
    return finish(&call, status, NULL, Py_BuildValue("IK", unit, (unsigned long long)bytes));
  return finish(&call, VS_OK, NULL, Py_BuildValue("OI", Py_None, 0));
}

/* pick(count, free_bytes, among) -> [unit]. */
static PyObject *pick(PyObject *object, PyObject *arguments) {
  enum { MOST = 512 };
  use call;
  uint32_t units[MOST];
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  unsigned int count;
  unsigned long long bytes;
  vs_devices_wish wish = {.count = 1};
  if (PyArg_ParseTuple(arguments, "IKz:pick", &count, &bytes, &wish.among) == 0 || !enter(&call, object))
    return NULL;
  wish.count = count;
  wish.free_bytes = bytes;
  let_others(&call);
  const vs_status status = vs_devices_pick(call.self->devices, &wish, units, &error);
  resume(&call);
  PyObject *list = status == VS_OK ? PyList_New(0) : NULL;
  for (unsigned int i = 0; list != NULL && i < count; i++) {
    PyObject *unit = PyLong_FromUnsignedLong(units[i]);
    if (unit == NULL || PyList_Append(list, unit) != 0) Py_CLEAR(list);
    Py_XDECREF(unit);
  }
  return finish(&call, status, &error, list);
}

/* ---- processes ---------------------------------------------------------------------------------------------------- */

static PyObject *process_dict(const vs_devices_process *row) {
  record made = begin_record();
  put_u64(&made, "pid", row->pid);
  put_number(&made, "unit", row->unit);
  put_metric(&made, "bytes", row->bytes);
  put_metric(&made, "protected_bytes", row->protected_bytes);
  put_text(&made, "kind", row->kind);
  put_number(&made, "gpu_instance", row->gpu_instance);
  put_number(&made, "compute_instance", row->compute_instance);
  put_flag(&made, "is_visible", row->is_visible);
  put_flag(&made, "is_self", row->is_self);
  put_known(&made, "inner_pid", row->inner_pid);
  put_known(&made, "start_us", row->start_us);
  put_number(&made, "user_id", row->user_id);
  put_text(&made, "user", row->user);
  put_text(&made, "name", row->name);
  put_text(&made, "command", row->command);
  put_text(&made, "container", row->container);
  return end_record(&made);
}

static PyObject *processes(PyObject *object, PyObject *arguments) {
  use call;
  unsigned int unit;
  vs_devices_processes found;
  if (PyArg_ParseTuple(arguments, "I:processes", &unit) == 0 || !enter(&call, object)) return NULL;
  let_others(&call);
  const vs_status status = vs_devices_processes_of(call.self->devices, unit, &found);
  resume(&call);
  if (status != VS_OK) return finish(&call, status, NULL, NULL);
  PyObject *rows = PyList_New(0);
  for (uint64_t i = 0; i < found.count.value; i++) rows = append(rows, process_dict(&found.rows[i]));
  record made = begin_record();
  put_metric(&made, "count", found.count);
  put(&made, "rows", rows);
  put_flag(&made, "may_miss", found.may_miss);
  return finish(&call, VS_OK, NULL, end_record(&made));
}

static PyObject *account_dict(const vs_devices_account *row) {
  record made = begin_record();
  put_u64(&made, "pid", row->pid);
  put_flag(&made, "is_running", row->is_running);
  put_metric(&made, "peak_bytes", row->peak_bytes);
  put_metric(&made, "gpu_utilization", row->gpu_utilization);
  put_metric(&made, "memory_utilization", row->memory_utilization);
  put_metric(&made, "time_us", row->time_us);
  put_metric(&made, "start_us", row->start_us);
  return end_record(&made);
}

static PyObject *accounts(PyObject *object, PyObject *arguments) {
  use call;
  unsigned int unit;
  vs_devices_accounts found;
  if (PyArg_ParseTuple(arguments, "I:accounts", &unit) == 0 || !enter(&call, object)) return NULL;
  let_others(&call);
  const vs_status status = vs_devices_accounts_of(call.self->devices, unit, &found);
  resume(&call);
  if (status != VS_OK) return finish(&call, status, NULL, NULL);
  PyObject *rows = PyList_New(0);
  for (uint64_t i = 0; i < found.count.value; i++) rows = append(rows, account_dict(&found.rows[i]));
  record made = begin_record();
  put_metric(&made, "count", found.count);
  put(&made, "rows", rows);
  return finish(&call, VS_OK, NULL, end_record(&made));
}

/* ---- everything else: (value, reason) by the name in <vramscope/metrics.def> --------------------------------------- */

static PyObject *unknown_name(const char *what, const char *name) {
  vs_error error = {.offset = VS_NO_OFFSET};
  vs_format(error.text, sizeof error.text, "there is no %s %s: vramscope.devices.METRICS has them all", what,
            name);
  return vs_python_raise(VS_BAD_ARGUMENT, &error);
}

static PyObject *metric(PyObject *object, PyObject *arguments) {
  use call;
  unsigned int unit, id = 0;
  const char *name;
  if (PyArg_ParseTuple(arguments, "Is:metric", &unit, &name) == 0) return NULL;
  while (id < VS_METRIC_ID_COUNT && strcmp(vs_metric_describe((vs_metric_id)id)->name, name) != 0) id++;
  if (id == VS_METRIC_ID_COUNT) return unknown_name("metric", name);
  if (!enter(&call, object)) return NULL;
  let_others(&call);
  const vs_metric found = vs_devices_metric(call.self->devices, unit, (vs_metric_id)id);
  resume(&call);
  const bool is_signed = vs_metric_describe((vs_metric_id)id)->unit == VS_METRIC_CELSIUS;
  PyObject *value = metric_value(found, is_signed);
  return finish(&call, VS_OK, NULL,
                value == NULL ? NULL : Py_BuildValue("Ns", value, vs_reason_name(found.reason)));
}

static PyObject *text(PyObject *object, PyObject *arguments) {
  use call;
  unsigned int unit, id = 0;
  const char *name;
  if (PyArg_ParseTuple(arguments, "Is:text", &unit, &name) == 0) return NULL;
  while (id < VS_METRIC_TEXT_ID_COUNT &&
         strcmp(vs_metric_describe_text((vs_metric_text_id)id)->name, name) != 0)
    id++;
  if (id == VS_METRIC_TEXT_ID_COUNT) return unknown_name("text", name);
  if (!enter(&call, object)) return NULL;
  char found[VS_METRIC_TEXT_SIZE];
  let_others(&call);
  const vs_metric length = vs_devices_text(call.self->devices, unit, (vs_metric_text_id)id, found);
  resume(&call);
  PyObject *value = vs_metric_is_known(length) ? vs_python_text(vs_str_from(found)) : Py_NewRef(Py_None);
  return finish(&call, VS_OK, NULL,
                value == NULL ? NULL : Py_BuildValue("Ns", value, vs_reason_name(length.reason)));
}

/* ---- costs -------------------------------------------------------------------------------------------------------- */

static PyObject *preload(PyObject *object, PyObject *arguments) {
  use call;
  unsigned int cuda_index;
  vs_devices_preload_cost cost;
  vs_error error = {.offset = VS_NO_OFFSET};
  if (PyArg_ParseTuple(arguments, "I:preload", &cuda_index) == 0 || !enter(&call, object)) return NULL;
  let_others(&call);
  const vs_status status = vs_devices_preload(call.self->devices, cuda_index, &cost, &error);
  resume(&call);
  if (status != VS_OK) return finish(&call, status, &error, NULL);
  record made = begin_record();
  put_known(&made, "bytes", cost.bytes);
  put_u64(&made, "us", cost.us);
  put_flag(&made, "was_there", cost.was_there);
  return finish(&call, VS_OK, NULL, end_record(&made));
}

static PyObject *cost_dict(const vs_devices_cost *row) {
  record made = begin_record();
  put_text(&made, "function", row->function);
  put_flag(&made, "is_missing", row->is_missing);
  put_u64(&made, "calls", row->calls);
  put_u64(&made, "total_ns", row->total_ns);
  put_u64(&made, "most_ns", row->most_ns);
  return end_record(&made);
}

static PyObject *costs(PyObject *object, PyObject *unused) {
  (void)unused;
  use call;
  if (!enter(&call, object)) return NULL;
  const size_t room = vs_devices_costs(call.self->devices, NULL, 0);
  vs_devices_cost *rows = PyMem_Calloc(room + 1, sizeof *rows);
  PyObject *list = rows == NULL ? PyErr_NoMemory() : PyList_New(0);
  const size_t found = rows == NULL ? 0 : vs_devices_costs(call.self->devices, rows, room);
  for (size_t i = 0; i < found && i < room; i++) list = append(list, cost_dict(&rows[i]));
  PyMem_Free(rows);
  return finish(&call, VS_OK, NULL, list);
}

static PyObject *spared(PyObject *object, PyObject *unused) {
  (void)unused;
  use call;
  if (!enter(&call, object)) return NULL;
  return finish(&call, VS_OK, NULL, PyLong_FromUnsignedLongLong(vs_devices_spared(call.self->devices)));
}

/* ---- the part ----------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"close", close_devices, METH_NOARGS, "close(): gives NVML back."},
    {"refresh", refresh, METH_NOARGS, "refresh(): opens NVML anew and lists the units again."},
    {"is_stale", is_stale, METH_NOARGS, "is_stale() -> bool: NVML has lost the driver or a card."},
    {"driver", driver, METH_NOARGS, "driver() -> dict: versions, and what kind of system this is."},
    {"count", count, METH_NOARGS, "count() -> int: units, whole cards and MIG devices."},
    {"info", info, METH_VARARGS, "info(unit) -> dict: its names and numbers."},
    {"ask_cuda", ask_cuda, METH_NOARGS, "ask_cuda(): takes CUDA's numbers from CUDA's driver; no context."},
    {"select", select_units, METH_VARARGS, "select(text) -> list of units."},
    {"with_uuid", with_uuid, METH_VARARGS, "with_uuid(uuid) -> unit or None."},
    {"memory", memory, METH_VARARGS, "memory(unit, with_processes=False) -> dict of bytes."},
    {"used_fast", used_fast, METH_O, "used_fast(unit) -> bytes or None, in one call of NVML."},
    {"pick", pick, METH_VARARGS, "pick(count, free_bytes, among) -> [unit]."},
    {"most_free", most_free, METH_VARARGS, "most_free(cuda_only=False) -> (unit, bytes), (None, 0)."},
    {"processes", processes, METH_VARARGS, "processes(unit) -> dict with rows."},
    {"accounts", accounts, METH_VARARGS, "accounts(unit) -> dict with rows."},
    {"metric", metric, METH_VARARGS, "metric(unit, name) -> (value or None, reason)."},
    {"text", text, METH_VARARGS, "text(unit, name) -> (text or None, reason)."},
    {"preload", preload, METH_VARARGS,
     "preload(cuda_index) -> dict: makes CUDA's context, and what it cost."},
    {"costs", costs, METH_NOARGS, "costs() -> list of dicts: what each call of NVML cost so far."},
    {"spared", spared, METH_NOARGS, "spared() -> int: questions answered without asking NVML."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Devices(nvml=None, *, may_ask_cuda=False, with_locks=False): the cards of this machine."},
    {Py_tp_new, new_devices},
    {Py_tp_dealloc, free_devices},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "vramscope._native.Devices",
    .basicsize = sizeof(devices_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* {name: (unit, what asking costs, meaning)}; of texts the unit is "TEXT". */
static PyObject *list_metrics(void) {
  static const char *const units[] = {
      [VS_METRIC_BYTES] = "BYTES",
      [VS_METRIC_BYTES_PER_SECOND] = "BYTES_PER_SECOND",
      [VS_METRIC_PERCENT] = "PERCENT",
      [VS_METRIC_CELSIUS] = "CELSIUS",
      [VS_METRIC_MILLIWATTS] = "MILLIWATTS",
      [VS_METRIC_MILLIJOULES] = "MILLIJOULES",
      [VS_METRIC_MHZ] = "MHZ",
      [VS_METRIC_COUNT] = "COUNT",
      [VS_METRIC_MASK] = "MASK",
      [VS_METRIC_ENUM] = "ENUM",
      [VS_METRIC_MICROSECONDS] = "MICROSECONDS",
  };
  static const char *const asking[] = {
      [VS_METRIC_CHEAP] = "CHEAP", [VS_METRIC_SLOW] = "SLOW", [VS_METRIC_LOCKS] = "LOCKS"};
  record made = {.dict = PyDict_New()};
  for (unsigned id = 0; id < VS_METRIC_ID_COUNT; id++) {
    const vs_metric_description *row = vs_metric_describe((vs_metric_id)id);
    VS_ASSERT(row->unit < sizeof units / sizeof *units && units[row->unit] != NULL);
    VS_ASSERT(row->cost < sizeof asking / sizeof *asking);
    put(&made, row->name, Py_BuildValue("sss", units[row->unit], asking[row->cost], row->text));
  }
  for (unsigned id = 0; id < VS_METRIC_TEXT_ID_COUNT; id++) {
    const vs_metric_description *row = vs_metric_describe_text((vs_metric_text_id)id);
    put(&made, row->name, Py_BuildValue("sss", "TEXT", asking[row->cost], row->text));
  }
  return made.dict;
}

static int add_new(PyObject *module, const char *name, PyObject *value) {
  const int result = value == NULL ? -1 : PyModule_AddObjectRef(module, name, value);
  Py_XDECREF(value);
  return result;
}

int vs_python_add_devices(PyObject *module) {
  if (add_new(module, "METRICS", list_metrics()) != 0) return -1;
  return add_new(module, "Devices", PyType_FromModuleAndSpec(module, &spec, NULL));
}
