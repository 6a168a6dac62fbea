/* vramscope's allocator under PyTorch as Python functions: opening, figures, history, snapshots. The public names and
 * objects are python/vramscope/torch.py's.
 *
 * No Python object is made while a card's lock is held: making one may run the garbage collector, which frees tensors,
 * which takes that lock. So figures are copied first. The interpreter's lock is released where a call may wait for a
 * card. */
#include "faces/python/live.h"
#include "base/check.h"
#include "base/text.h"

/* ---- helpers */

vs_live *vs_python__live(void) {
  vs_live *live = vs_torch_live();
  if (live == NULL)
    (void)vs_python_raise(VS_NOT_FOUND, &(vs_error){.text = "vramscope's allocator is not in use"});
  return live;
}

static PyObject *none_or_raise(vs_status status, const vs_error *error) {
  if (status != VS_OK) return vs_python_raise(status, error);
  Py_RETURN_NONE;
}

static bool read_device(PyObject *argument, uint32_t *device) {
  const unsigned long number = PyLong_AsUnsignedLong(argument);
  if (number == (unsigned long)-1 && PyErr_Occurred() != NULL) return false;
  *device = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
  return true;
}

/* A vs_text as bytes or as str; the vs_text is freed. NULL with an error set. */
static PyObject *give_bytes(vs_text *text) {
  const vs_str s = vs_text_view(text);
  PyObject *made =
      text->status == VS_OK ? PyBytes_FromStringAndSize(s.data, (Py_ssize_t)s.size) : PyErr_NoMemory();
  vs_text_deinit(text);
  return made;
}

static PyObject *give_text(vs_text *text) {
  PyObject *made = text->status == VS_OK ? vs_python_text(vs_text_view(text)) : PyErr_NoMemory();
  vs_text_deinit(text);
  return made;
}

/* ---- opening */

static PyObject *live_open(PyObject *module, PyObject *arguments) {
  vs_live_options options = {.processes = vs_python__processes};
  vs_error error = {.text = ""};
  int is_global, replace, drop;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "zzzppp", &options.gpus, &options.settings, &options.recording, &replace,
                        &drop, &is_global))
    return NULL;
  options.replace_recording = replace != 0;
  options.recording_drops = drop != 0;
  const vs_status status = vs_torch_open(&options, is_global != 0, &error);
  if (status == VS_OK && options.recording != NULL)
    vs_torch_where_set(VS_TORCH_RECORDING, vs_python__where_or_native, false);
  return none_or_raise(status, &error);
}

static PyObject *live_is_open(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return PyBool_FromLong(vs_torch_live() != NULL);
}

static PyObject *live_devices(PyObject *module, PyObject *unused) {
  vs_live *live = vs_python__live();
  (void)module;
  (void)unused;
  PyObject *list = live == NULL ? NULL : PyList_New(0);
  for (uint32_t i = 0; list != NULL && i < vs_live_device_count(live); i++) {
    vs_live_device_info info;
    const vs_status status = vs_live_device_of(live, i, &info);
    PyObject *row = status != VS_OK ? vs_python_raise(status, NULL)
                                    : Py_BuildValue("(sKO)", info.name, (unsigned long long)info.total_bytes,
                                                    info.is_simulated ? Py_True : Py_False);
    if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

/* ---- figures: copied under the card's lock, converted after it is released */

typedef struct figure {
  char key[120];
  int64_t value;
} figure;

typedef struct figures {
  VS_VEC(figure) rows;
} figures;

static vs_status keep_figure(void *ctx, vs_str key, int64_t value) {
  figures *all = ctx;
  VS_TRY(vs_vec_reserve(vs_host_default(), &all->rows, 1));
  figure *row = &all->rows.data[all->rows.count++];
  VS_ASSERT(key.size < sizeof row->key); /* a longer key would be cut */
  row->value = value;
  vs_format(row->key, sizeof row->key, "%S", key);
  return VS_OK;
}

static PyObject *give_figures(figures *all, vs_status status) {
  PyObject *dict = status == VS_OK ? PyDict_New() : vs_python_raise(status, NULL);
  for (size_t i = 0; dict != NULL && i < all->rows.count; i++) {
    PyObject *value = PyLong_FromLongLong(all->rows.data[i].value);
    if (value == NULL || PyDict_SetItemString(dict, all->rows.data[i].key, value) != 0) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  vs_vec_free(vs_host_default(), &all->rows);
  return dict;
}

typedef vs_status (*figures_of)(vs_live *live, uint32_t device, vs_live_visit visit, void *ctx);

static PyObject *figures_by(figures_of tell, PyObject *argument) {
  vs_live *live = vs_python__live();
  figures all = {0};
  uint32_t device;
  if (live == NULL || !read_device(argument, &device)) return NULL;
  return give_figures(&all, tell(live, device, keep_figure, &all));
}

static PyObject *live_statistics(PyObject *module, PyObject *argument) {
  (void)module;
  return figures_by(vs_live_statistics, argument);
}

static PyObject *live_extras(PyObject *module, PyObject *argument) {
  (void)module;
  return figures_by(vs_live_extras, argument);
}

static PyObject *live_room(PyObject *module, PyObject *argument) {
  vs_live *live = vs_python__live();
  vs_live_room room;
  uint32_t device;
  (void)module;
  if (live == NULL || !read_device(argument, &device)) return NULL;
  const vs_status status = vs_live_room_of(live, device, &room);
  if (status != VS_OK) return vs_python_raise(status, NULL);
  return Py_BuildValue("(KKKKKK)", (unsigned long long)room.total, (unsigned long long)room.free,
                       (unsigned long long)room.reserved, (unsigned long long)room.allocated,
                       (unsigned long long)room.cached, (unsigned long long)room.waiting);
}

static PyObject *live_summary(PyObject *module, PyObject *arguments) {
  vs_live *live = vs_python__live();
  unsigned device;
  int abbreviated;
  vs_text text;
  (void)module;
  if (live == NULL || !PyArg_ParseTuple(arguments, "Ip", &device, &abbreviated)) return NULL;
  vs_text_init(&text, vs_host_default(), NULL);
  const vs_status status = vs_live_summary_write(live, device, abbreviated != 0, vs_text_writer(&text));
  if (status == VS_OK) return give_text(&text);
  vs_text_deinit(&text);
  return vs_python_raise(status, NULL);
}

static PyObject *live_reset_peak(PyObject *module, PyObject *argument) {
  vs_live *live = vs_python__live();
  uint32_t device;
  (void)module;
  if (live == NULL || !read_device(argument, &device)) return NULL;
  return none_or_raise(vs_live_reset_peak(live, device), NULL);
}

static PyObject *live_reset_totals(PyObject *module, PyObject *argument) {
  vs_live *live = vs_python__live();
  uint32_t device;
  (void)module;
  if (live == NULL || !read_device(argument, &device)) return NULL;
  return none_or_raise(vs_live_reset_totals(live, device), NULL);
}

/* ---- the cache, limits, settings */

static PyObject *live_empty_cache(PyObject *module, PyObject *unused) {
  vs_live *live = vs_python__live();
  vs_status status = VS_OK;
  (void)module;
  (void)unused;
  if (live == NULL) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = vs_live_empty_cache(live);
  Py_END_ALLOW_THREADS;
  return none_or_raise(status, NULL);
}

static PyObject *live_fraction(PyObject *module, PyObject *argument) {
  vs_live *live = vs_python__live();
  uint32_t device;
  double fraction;
  (void)module;
  if (live == NULL || !read_device(argument, &device)) return NULL;
  const vs_status status = vs_live_fraction(live, device, &fraction);
  return status == VS_OK ? PyFloat_FromDouble(fraction) : vs_python_raise(status, NULL);
}

static PyObject *live_settings_apply(PyObject *module, PyObject *arguments) {
  vs_live *live = vs_python__live();
  const char *text;
  vs_error error = {.text = ""};
  (void)module;
  if (live == NULL || !PyArg_ParseTuple(arguments, "s", &text)) return NULL;
  return none_or_raise(vs_live_settings_apply(live, text, &error), &error);
}

static PyObject *live_settings(PyObject *module, PyObject *unused) {
  vs_live *live = vs_python__live();
  vs_text text;
  (void)module;
  (void)unused;
  if (live == NULL) return NULL;
  vs_text_init(&text, vs_host_default(), NULL);
  const vs_status status = vs_live_settings_write(live, vs_text_writer(&text));
  if (status == VS_OK) return give_text(&text);
  vs_text_deinit(&text);
  return vs_python_raise(status, NULL);
}

/* ---- history, snapshots, recording */

static PyObject *live_history(PyObject *module, PyObject *arguments) {
  vs_live *live = vs_python__live();
  int enabled, context, is_native, clear;
  unsigned long long max_entries;
  vs_history_options options = {0};
  vs_error error = {.text = ""};
  (void)module;
  if (live == NULL || !PyArg_ParseTuple(arguments, "iipKpz", &enabled, &context, &is_native, &max_entries,
                                        &clear, &options.skip_actions))
    return NULL;
  options.enabled = (vs_history_enabled)enabled;
  options.context = (vs_history_context)context;
  options.stacks = is_native ? VS_HISTORY_STACKS_NATIVE : VS_HISTORY_STACKS_GIVEN;
  options.max_entries = max_entries;
  options.clear = clear != 0;
  const vs_status status = vs_live_history(live, &options, &error);
  if (status != VS_OK) return vs_python_raise(status, &error);
  const bool is_wanted = enabled != VS_HISTORY_OFF && context != VS_HISTORY_CONTEXT_NEVER;
  const vs_torch_where where = is_native ? vs_python__where_or_native : vs_python__where;
  vs_torch_where_set(VS_TORCH_HISTORY, is_wanted ? where : NULL, context == VS_HISTORY_CONTEXT_ALL);
  Py_RETURN_NONE;
}

static PyObject *live_history_info(PyObject *module, PyObject *argument) {
  vs_live *live = vs_python__live();
  vs_history_info info;
  uint32_t device;
  (void)module;
  if (live == NULL || !read_device(argument, &device)) return NULL;
  const vs_status status = vs_live_history_info(live, device, &info);
  if (status != VS_OK) return vs_python_raise(status, NULL);
  return Py_BuildValue("(KKK)", (unsigned long long)info.entries, (unsigned long long)info.overwritten,
                       (unsigned long long)info.lost);
}

static PyObject *live_snapshot(PyObject *module, PyObject *arguments) {
  vs_live *live = vs_python__live();
  int is_json, with_history;
  vs_text text;
  vs_error error = {.text = ""};
  vs_status status = VS_OK;
  (void)module;
  if (live == NULL || !PyArg_ParseTuple(arguments, "pp", &is_json, &with_history)) return NULL;
  vs_text_init(&text, vs_host_default(), NULL);
  Py_BEGIN_ALLOW_THREADS;
  status = vs_live_snapshot_write(live, is_json ? VS_LIVE_JSON : VS_LIVE_PICKLE, with_history != 0,
                                  vs_text_writer(&text), &error);
  Py_END_ALLOW_THREADS;
  if (status == VS_OK) return give_bytes(&text);
  vs_text_deinit(&text);
  return vs_python_raise(status, &error);
}

static PyObject *live_recording_start(PyObject *module, PyObject *arguments) {
  vs_live *live = vs_python__live();
  vs_recording_options options = {.stacks = VS_HISTORY_STACKS_NATIVE};
  int replace, drop;
  vs_error error = {.text = ""};
  (void)module;
  if (live == NULL || !PyArg_ParseTuple(arguments, "spp", &options.path, &replace, &drop)) return NULL;
  options.may_replace = replace != 0;
  options.drops = drop != 0;
  const vs_status status = vs_live_recording_begin(live, &options, &error);
  if (status == VS_OK) vs_torch_where_set(VS_TORCH_RECORDING, vs_python__where_or_native, false);
  return none_or_raise(status, &error);
}

static PyObject *live_recording_stop(PyObject *module, PyObject *unused) {
  vs_live *live = vs_python__live();
  vs_error error = {.text = ""};
  vs_status status = VS_OK;
  (void)module;
  (void)unused;
  if (live == NULL) return NULL;
  vs_torch_where_set(VS_TORCH_RECORDING, NULL, false);
  Py_BEGIN_ALLOW_THREADS;
  status = vs_live_recording_stop(live, &error);
  Py_END_ALLOW_THREADS;
  return none_or_raise(status, &error);
}

static PyObject *live_metadata(PyObject *module, PyObject *arguments) {
  vs_live *live = vs_python__live();
  const char *text;
  (void)module;
  if (live == NULL || !PyArg_ParseTuple(arguments, "s", &text)) return NULL;
  return none_or_raise(vs_live_metadata_set(live, text), NULL);
}

static PyObject *live_annotation(PyObject *module, PyObject *arguments) {
  vs_live *live = vs_python__live();
  unsigned device;
  const char *name;
  int is_start;
  (void)module;
  if (live == NULL || !PyArg_ParseTuple(arguments, "Isp", &device, &name, &is_start)) return NULL;
  return none_or_raise(is_start ? vs_live_annotation_begin(live, device, name)
                                : vs_live_annotation_end(live, device, name),
                       NULL);
}

/* Called when the interpreter exits: from then on no allocation asks Python for its stack. */
static PyObject *live_leave(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  for (int i = 0; i < VS_TORCH_ASKERS; i++) vs_torch_where_set((vs_torch_asker)i, NULL, false);
  Py_RETURN_NONE;
}

/* ---- running out */

/* Observers are never removed, as in PyTorch; each owns a reference to its callable. */
static void tell(void *ctx, const vs_live_oom *oom) {
  PyObject *observer = ctx;
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  const uint64_t limit = oom->limit == UINT64_MAX ? oom->device_total : oom->limit;
  PyObject *result =
      PyObject_CallFunction(observer, "IKKK", oom->device, (unsigned long long)oom->driver_size,
                            (unsigned long long)limit, (unsigned long long)oom->device_free);
  if (result == NULL) PyErr_WriteUnraisable(observer);
  Py_XDECREF(result);
  PyGILState_Release(state);
}

static PyObject *live_observe_oom(PyObject *module, PyObject *arguments) {
  vs_live *live = vs_python__live();
  PyObject *observer;
  int on_rejection;
  uint32_t id;
  (void)module;
  if (live == NULL || !PyArg_ParseTuple(arguments, "Op", &observer, &on_rejection)) return NULL;
  Py_INCREF(observer);
  const vs_status status =
      vs_live_observe_oom(live, on_rejection ? VS_LIVE_ON_REJECTION : VS_LIVE_ON_OOM, tell, observer, &id);
  if (status == VS_OK) return PyLong_FromUnsignedLong(id);
  Py_DECREF(observer);
  return vs_python_raise(status, NULL);
}

static PyObject *live_oom_text(PyObject *module, PyObject *unused) {
  vs_live *live = vs_python__live();
  vs_text text;
  (void)module;
  (void)unused;
  if (live == NULL) return NULL;
  vs_text_init(&text, vs_host_default(), NULL);
  const vs_status status = vs_live_oom_write(live, vs_text_writer(&text));
  if (status == VS_OK) return give_text(&text);
  vs_text_deinit(&text);
  if (status == VS_NOT_FOUND) Py_RETURN_NONE;
  return vs_python_raise(status, NULL);
}

/* ---- scopes */

typedef struct scope_object {
  PyObject_HEAD;
  vs_scope *scope; /* NULL: it has ended */
  vs_scope_figures figures;
} scope_object;

static PyObject *give_bytes_of(const vs_scope_bytes *b) {
  return Py_BuildValue("(KKK)", (unsigned long long)b->start, (unsigned long long)b->end,
                       (unsigned long long)b->peak);
}

static PyObject *give_scope(const vs_scope_figures *f) {
  return Py_BuildValue("{sNsNsNsNsLsLsKsK}", "allocated", give_bytes_of(&f->allocated), "requested",
                       give_bytes_of(&f->requested), "active", give_bytes_of(&f->active), "reserved",
                       give_bytes_of(&f->reserved), "thread_used", (long long)f->thread_used, "thread_peak",
                       (long long)f->thread_peak, "allocations", (unsigned long long)f->allocations, "frees",
                       (unsigned long long)f->frees);
}

static PyObject *scope_read(PyObject *self, PyObject *unused) {
  scope_object *scope = (scope_object *)self;
  (void)unused;
  if (scope->scope != NULL) vs_live_scope_read(scope->scope, &scope->figures);
  return give_scope(&scope->figures);
}

static PyObject *scope_end(PyObject *self, PyObject *unused) {
  scope_object *scope = (scope_object *)self;
  (void)unused;
  vs_live_scope_end(scope->scope, scope->scope == NULL ? NULL : &scope->figures);
  scope->scope = NULL;
  return give_scope(&scope->figures);
}

static void free_scope(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  vs_live_scope_end(((scope_object *)self)->scope, NULL);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyMethodDef scope_methods[] = {
    {"read", scope_read, METH_NOARGS, "read(): {kind: (start, end, peak), ...} in bytes until now."},
    {"end", scope_end, METH_NOARGS, "end(): the figures; the scope ends, and keeps them."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot scope_slots[] = {
    {Py_tp_doc, "A scope of vramscope's own allocator."},
    {Py_tp_dealloc, free_scope},
    {Py_tp_methods, scope_methods},
    {0, NULL},
};

static PyType_Spec scope_spec = {
    .name = "vramscope._native.LiveScope",
    .basicsize = sizeof(scope_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = scope_slots,
};

static PyObject *live_scope_begin(PyObject *module, PyObject *argument) {
  vs_live *live = vs_python__live();
  PyTypeObject *type = (PyTypeObject *)vs_python_state_of(module)->live;
  uint32_t device;
  if (live == NULL || !read_device(argument, &device)) return NULL;
  scope_object *scope = (scope_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (scope == NULL) return NULL;
  const vs_status status = vs_live_scope_begin(live, device, &scope->scope);
  VS_ASSERT((status == VS_OK) == (scope->scope != NULL));
  if (status == VS_OK) return (PyObject *)scope;
  Py_DECREF(scope);
  return vs_python_raise(status, NULL);
}

/* ---- the part */

static PyMethodDef functions[] = {
    {"live_open", live_open, METH_VARARGS,
     "live_open(gpus, settings, recording, replace, drop_events, is_global): the process' one allocator."},
    {"live_is_open", live_is_open, METH_NOARGS, "live_is_open(): whether there is one."},
    {"live_devices", live_devices, METH_NOARGS, "live_devices(): [(name, total bytes, is simulated), ...]."},
    {"live_statistics", live_statistics, METH_O,
     "live_statistics(device): {\"allocated_bytes.all.peak\": ...}."},
    {"live_extras", live_extras, METH_O, "live_extras(device): what PyTorch does not count."},
    {"live_room", live_room, METH_O,
     "live_room(device): (total, free, reserved, allocated, cached, waiting)."},
    {"live_summary", live_summary, METH_VARARGS, "live_summary(device, abbreviated): the table."},
    {"live_reset_peak", live_reset_peak, METH_O, "live_reset_peak(device)"},
    {"live_reset_totals", live_reset_totals, METH_O, "live_reset_totals(device)"},
    {"live_empty_cache", live_empty_cache, METH_NOARGS, "live_empty_cache(): of every card."},
    {"live_fraction", live_fraction, METH_O, "live_fraction(device): 0 to 1."},
    {"live_settings_apply", live_settings_apply, METH_VARARGS, "live_settings_apply(text)"},
    {"live_settings", live_settings, METH_NOARGS, "live_settings(): those in effect, a line each."},
    {"live_history", live_history, METH_VARARGS,
     "live_history(enabled, context, is_native, max_entries, clear, skip_actions): numbers as in live.h."},
    {"live_history_info", live_history_info, METH_O,
     "live_history_info(device): (entries, overwritten, lost)."},
    {"live_snapshot", live_snapshot, METH_VARARGS,
     "live_snapshot(is_json, with_history): bytes of the file."},
    {"live_recording_start", live_recording_start, METH_VARARGS,
     "live_recording_start(path, replace, drop_events)"},
    {"live_recording_stop", live_recording_stop, METH_NOARGS, "live_recording_stop()"},
    {"live_metadata", live_metadata, METH_VARARGS,
     "live_metadata(text): of this thread's events from now on."},
    {"live_annotation", live_annotation, METH_VARARGS, "live_annotation(device, name, is_start)"},
    {"live_leave", live_leave, METH_NOARGS, "live_leave(): the interpreter ends."},
    {"live_observe_oom", live_observe_oom, METH_VARARGS,
     "live_observe_oom(callable, on_rejection): called as f(device, size, limit, free); a number."},
    {"live_oom_text", live_oom_text, METH_NOARGS, "live_oom_text(): of this thread's last failure, or None."},
    {"live_scope_begin", live_scope_begin, METH_O, "live_scope_begin(device): a LiveScope."},
    {NULL, NULL, 0, NULL},
};

int vs_python_add_live(PyObject *module) {
  vs_python_state *state = vs_python_state_of(module);
  state->live = PyType_FromModuleAndSpec(module, &scope_spec, NULL);
  if (state->live == NULL) return -1;
  return PyModule_AddFunctions(module, functions);
}
