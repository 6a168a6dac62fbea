/* The newest samples of a Collector (python/vramscope/_collector.py) in a ring of bounded size, and as a table: the type Samples. */
#include "codec/arrow_writer.h"
#include "faces/python/python.h"

#define VS_SAMPLE(column, TYPE, sentence)
#define VS_FIGURE(column, sentence) FIGURE_##column,
enum {
#include "faces/python/samples.def"
  FIGURES
};

#define VS_SAMPLE(column, TYPE, sentence) {#column, VS_FIELD_##TYPE},
static const vs_field fields[] = {
#include "faces/python/samples.def"
};

static const vs_record_type samples_type = {"samples", fields, sizeof fields / sizeof *fields};

/* The tags of samples that follow each other, kept as long as one of them is. */
typedef struct tags {
  size_t samples, size; /* how many have them; bytes of the text */
  char text[];
} tags;

typedef struct sample {
  int64_t time_us;
  tags *tags; /* NULL: none was open */
} sample;

typedef struct figures {
  int64_t values[FIGURES];
  uint32_t known; /* bits */
} figures;

typedef struct device_name {
  int64_t index, mig_index; /* mig_index -1: a whole GPU */
  vs_text uuid;
} device_name;

/* Invariant: sample n of `taken`, from 0 on, is in place n % most while n + most >= taken; its figures are `device_count` rows from that place times
 * device_count on. `taken` changes with both, so all three hold when the lock is given back. */
typedef struct samples_object {
  PyObject_HEAD;
  vs_python_lock lock;
  device_name *devices;
  size_t device_count;
  uint64_t most, taken;
  VS_VEC(sample) samples;
  VS_VEC(figures) rows;
} samples_object;

/* ---- made and freed */

static bool take_device(device_name *name, PyObject *from) {
  PyObject *mig;
  const char *uuid;
  Py_ssize_t size;
  long long index;
  if (PyArg_ParseTuple(from, "LOs#", &index, &mig, &uuid, &size) == 0) return false;
  name->index = index;
  name->mig_index = mig == Py_None ? -1 : PyLong_AsLongLong(mig);
  if (PyErr_Occurred() != NULL) return false;
  vs_text_str(&name->uuid, (vs_str){uuid, (size_t)size});
  if (name->uuid.status != VS_OK) (void)PyErr_NoMemory();
  return name->uuid.status == VS_OK;
}

static bool take_devices(samples_object *self, PyObject *list) {
  const size_t count = (size_t)PyTuple_Size(list);
  self->devices = PyMem_Calloc(count + 1, sizeof *self->devices);
  if (self->devices == NULL) {
    (void)PyErr_NoMemory();
    return false;
  }
  for (; self->device_count < count; self->device_count++) {
    vs_text_init(&self->devices[self->device_count].uuid, vs_host_default(), NULL);
    PyObject *item = PyTuple_GetItem(list, (Py_ssize_t)self->device_count);
    if (!PyTuple_Check(item)) PyErr_SetString(PyExc_TypeError, "a device is (index, MIG index, UUID)");
    else if (take_device(&self->devices[self->device_count], item)) continue;
    vs_text_deinit(&self->devices[self->device_count].uuid);
    return false;
  }
  return true;
}

static PyObject *new_samples(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"devices", "most", NULL};
  PyObject *list;
  long long most;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O!L:Samples", names, &PyTuple_Type, &list, &most) ==
      0)
    return NULL;
  if (most < 1) {
    PyErr_SetString(PyExc_ValueError, "most is 1 or more");
    return NULL;
  }
  samples_object *self = (samples_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (self == NULL) return NULL; /* tp_alloc sets the members to 0 */
  self->most = (uint64_t)most;
  if (vs_python_lock_init(&self->lock) && take_devices(self, list)) return (PyObject *)self;
  Py_DECREF(self);
  return NULL;
}

static void drop_tags(tags *of) {
  if (of != NULL && --of->samples == 0) vs_host_free(vs_host_default(), of, sizeof *of + of->size);
}

static void free_samples(PyObject *object) {
  samples_object *self = (samples_object *)object;
  PyTypeObject *type = Py_TYPE(object);
  for (size_t i = 0; i < self->samples.count; i++) drop_tags(self->samples.data[i].tags);
  vs_vec_free(vs_host_default(), &self->samples);
  vs_vec_free(vs_host_default(), &self->rows);
  for (size_t i = 0; i < self->device_count; i++) vs_text_deinit(&self->devices[i].uuid);
  PyMem_Free(self->devices);
  vs_python_lock_deinit(&self->lock);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/* ---- a sample */

/* Unknown: None, or a number that does not fit. */
static bool take_figures(figures *row, PyObject *from) {
  for (Py_ssize_t i = 0; i < FIGURES; i++) {
    PyObject *item = PyTuple_GetItem(from, i);
    if (item == NULL) return false;
    if (item == Py_None) continue;
    int overflow;
    row->values[i] = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (PyErr_Occurred() != NULL) return false;
    if (overflow == 0) row->known |= 1U << i;
  }
  return true;
}

static figures *take_rows(const samples_object *self, PyObject *list) {
  if ((size_t)PyTuple_Size(list) != self->device_count) {
    PyErr_SetString(PyExc_ValueError, "a sample has the figures of each device");
    return NULL;
  }
  figures *rows = PyMem_Calloc(self->device_count + 1, sizeof *rows);
  if (rows == NULL) (void)PyErr_NoMemory();
  for (size_t i = 0; rows != NULL && i < self->device_count; i++) {
    PyObject *item = PyTuple_GetItem(list, (Py_ssize_t)i);
    const bool is_tuple = PyTuple_Check(item) != 0;
    if (!is_tuple) PyErr_SetString(PyExc_TypeError, "the figures of a device are a tuple");
    if (is_tuple && take_figures(&rows[i], item)) continue;
    PyMem_Free(rows);
    rows = NULL;
  }
  return rows;
}

/* Those of the sample before, if they are the same. */
static vs_status make_tags(const samples_object *self, vs_str text, tags **out) {
  const size_t before = (size_t)((self->taken + self->most - 1) % self->most);
  tags *last = self->taken == 0 ? NULL : self->samples.data[before].tags;
  if (last == NULL || !vs_str_equal((vs_str){last->text, last->size}, text)) {
    last = vs_host_alloc(vs_host_default(), sizeof *last + text.size);
    if (last == NULL) return VS_NO_MEMORY;
    last->samples = 0;
    last->size = text.size;
    memcpy(last->text, text.data, text.size);
  }
  last->samples++;
  *out = last;
  return VS_OK;
}

/* `text.data` NULL: no tag was open. Changes nothing after a failure. */
static vs_status put_sample(samples_object *self, int64_t time_us, vs_str text, const figures *rows) {
  const size_t place = (size_t)(self->taken % self->most);
  sample made = {.time_us = time_us};
  if (place == self->samples.count) {
    VS_TRY(vs_vec_reserve(vs_host_default(), &self->samples, 1));
    VS_TRY(vs_vec_reserve(vs_host_default(), &self->rows, self->device_count));
  }
  if (text.data != NULL) VS_TRY(make_tags(self, text, &made.tags));
  if (place == self->samples.count) {
    self->samples.data[self->samples.count++] = (sample){0};
    self->rows.count += self->device_count;
  }
  drop_tags(self->samples.data[place].tags);
  self->samples.data[place] = made;
  if (self->device_count != 0)
    memcpy(&self->rows.data[place * self->device_count], rows, self->device_count * sizeof *rows);
  self->taken++;
  return VS_OK;
}

static PyObject *add(PyObject *object, PyObject *arguments) {
  samples_object *self = (samples_object *)object;
  PyObject *list;
  const char *text;
  Py_ssize_t size;
  long long time_us;
  if (PyArg_ParseTuple(arguments, "Lz#O!:add", &time_us, &text, &size, &PyTuple_Type, &list) == 0)
    return NULL;
  figures *rows = take_rows(self, list);
  if (rows == NULL || !vs_python_lock_enter(&self->lock)) {
    PyMem_Free(rows);
    return NULL;
  }
  const vs_status status = put_sample(self, time_us, (vs_str){text, (size_t)size}, rows);
  vs_python_lock_leave(&self->lock);
  PyMem_Free(rows);
  return status == VS_OK ? Py_NewRef(Py_None) : vs_python_raise(status, NULL);
}

/* ---- the table */

static void put_row(vs_records *records, const sample *of, const device_name *device, const figures *row) {
  vs_records_i64(records, of->time_us);
  if (of->tags == NULL) vs_records_null(records);
  else vs_records_str(records, (vs_str){of->tags->text, of->tags->size});
  vs_records_i64(records, device->index);
  if (device->mig_index < 0) vs_records_null(records);
  else vs_records_i64(records, device->mig_index);
  vs_records_str(records, vs_text_view(&device->uuid));
  for (size_t i = 0; i < FIGURES; i++) {
    if ((row->known & 1U << i) == 0) vs_records_null(records);
    else vs_records_i64(records, row->values[i]);
  }
  vs_records_row_end(records);
}

/* From the oldest to the newest. */
static vs_status put_rows(const samples_object *self, vs_records *records, vs_arrow *arrow) {
  const size_t count = self->samples.count,
               first = count < self->most ? 0 : (size_t)(self->taken % self->most);
  for (size_t n = 0; n < count; n++) {
    const size_t place = (first + n) % count;
    for (size_t i = 0; i < self->device_count; i++)
      put_row(records, &self->samples.data[place], &self->devices[i],
              &self->rows.data[place * self->device_count + i]);
    VS_TRY(records->status);
    if (n + 1 != count && !vs_records_is_full(records)) continue;
    vs_arrow_records(arrow, records);
    vs_records_clear(records);
  }
  return VS_OK;
}

static vs_status put_table(const samples_object *self, vs_text *text) {
  vs_records records;
  vs_arrow arrow;
  vs_records_init(&records, vs_host_default(), &samples_type);
  vs_arrow_begin(&arrow, text, &samples_type);
  const vs_status status = put_rows(self, &records, &arrow);
  vs_arrow_end(&arrow);
  vs_arrow_deinit(&arrow);
  vs_records_deinit(&records);
  return status == VS_OK ? text->status : status;
}

/* Adding waits meanwhile. */
static PyObject *table(PyObject *object, PyObject *unused) {
  samples_object *self = (samples_object *)object;
  const vs_python_state *state = PyType_GetModuleState(Py_TYPE(object));
  PyObject *reply = state == NULL ? NULL : vs_python_reply(state);
  (void)unused;
  if (reply == NULL || !vs_python_lock_enter(&self->lock)) {
    Py_XDECREF(reply);
    return NULL;
  }
  PyThreadState *thread = PyEval_SaveThread();
  const vs_status status = put_table(self, vs_python_reply_text(reply));
  PyEval_RestoreThread(thread);
  vs_python_lock_leave(&self->lock);
  if (status == VS_OK) return reply;
  Py_DECREF(reply);
  return vs_python_raise(status, NULL);
}

static PyObject *counts(PyObject *object, PyObject *unused) {
  samples_object *self = (samples_object *)object;
  (void)unused;
  if (!vs_python_lock_enter(&self->lock)) return NULL;
  const unsigned long long kept = self->samples.count, taken = self->taken;
  vs_python_lock_leave(&self->lock);
  return Py_BuildValue("KK", kept, taken - kept);
}

/* ---- the part */

static PyMethodDef methods[] = {
    {"add", add, METH_VARARGS,
     "add(time_us, tags, figures): a sample; of each device a tuple of SAMPLE_FIGURES, None: unknown."},
    {"table", table, METH_NOARGS, "table() -> Reply: the samples that are kept, an Arrow IPC file."},
    {"counts", counts, METH_NOARGS, "counts() -> (kept, dropped)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Samples(devices, most): the newest `most` samples of devices, a tuple of (index, MIG index "
                "or None, UUID)."},
    {Py_tp_new, new_samples},
    {Py_tp_dealloc, free_samples},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "vramscope._native.Samples",
    .basicsize = sizeof(samples_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

static PyObject *figure_names(void) {
  return Py_BuildValue("("
#define VS_SAMPLE(column, TYPE, sentence)
#define VS_FIGURE(column, sentence) "s"
#include "faces/python/samples.def"
                       ")"
#define VS_SAMPLE(column, TYPE, sentence)
#define VS_FIGURE(column, sentence) , #column
#include "faces/python/samples.def"
  );
}

int vs_python_add_samples(PyObject *module) {
  PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL), *names = figure_names();
  const bool is_done = type != NULL && names != NULL && PyModule_AddObjectRef(module, "Samples", type) == 0 &&
                       PyModule_AddObjectRef(module, "SAMPLE_FIGURES", names) == 0;
  Py_XDECREF(type);
  Py_XDECREF(names);
  return is_done ? 0 : -1;
}
