/* PyTorch's allocator as two types: TorchStatistics (one for the process, with the cards and the callables that read them)
 * and TorchScope. python/vramscope/scopes.py is the public interface of both.
 *
 * The figures of a card come from the dict that PyTorch makes, or from the allocator's memory (torch_layout.h). The memory
 * is used after it was found to have the dict's numbers and was equal to the dict again in a later state. It is compared
 * again every CHECK_EVERY readings. After one difference that card uses only the dict. */
#include "base/check.h"
#include "faces/python/python.h"
#include "faces/python/torch_peaks.h"

enum {
  CHECK_EVERY = 1024,  /* readings: 15 us in a millisecond and more */
  MOST_SEARCHES = 256, /* without success: it is another allocator */
  MOST_CARDS = 256,
};

typedef enum trust { LOOKING, FOUND, TRUSTED, GIVEN_UP } trust;

typedef struct torch_card {
  vs_peak_card peaks;
  trust trust;
  vs_torch_place place;
  int64_t
      found_at; /* blocks allocated when it was found; it is trusted only after a check in another state */
  uint32_t searches; /* without success */
  uint32_t readings; /* since it was last compared */
  bool has_pools;
} torch_card;

/* The words of the dict, made once. */
typedef struct dict_words {
  PyObject *stat[VS_TORCH_STATS]; /* of its group, so the same three times */
  PyObject *pool[VS_TORCH_POOLS], *metric[VS_TORCH_METRICS];
  PyObject *max_split_size, *private_pools, *retries, *ooms;
} dict_words;

typedef struct torch_statistics {
  PyObject_HEAD PyTypeObject *scope_type;
  PyObject *read, *reset, *reset_with_pools; /* callables of a device number */
  dict_words words;
  torch_card *cards[MOST_CARDS];
} torch_statistics;

typedef struct torch_scope {
  PyObject_HEAD torch_statistics *owner;
  long device;
  bool is_open;
  vs_peak_scope scope;
} torch_scope;

/* ---- the dict */

static const char *const STAT_NAMES[VS_TORCH_STATS] = {
#define VS_TORCH_GROUP(name)  #name, #name, #name,
#define VS_TORCH_SINGLE(name) #name,
#include "faces/python/torch_stats.def"
};

static bool is_single(size_t stat) { return stat >= VS_TORCH_oversize_allocations; }

static int make_words(dict_words *made) {
  static const char *const POOL_NAMES[VS_TORCH_POOLS] = {"all", "small_pool", "large_pool"};
  static const char *const METRIC_NAMES[VS_TORCH_METRICS] = {"current", "peak", "allocated", "freed"};
  bool is_whole = true;
  for (size_t i = 0; i < VS_TORCH_STATS; i++)
    is_whole = is_whole && (made->stat[i] = PyUnicode_InternFromString(STAT_NAMES[i])) != NULL;
  for (size_t i = 0; i < VS_TORCH_POOLS; i++)
    is_whole = is_whole && (made->pool[i] = PyUnicode_InternFromString(POOL_NAMES[i])) != NULL;
  for (size_t i = 0; i < VS_TORCH_METRICS; i++)
    is_whole = is_whole && (made->metric[i] = PyUnicode_InternFromString(METRIC_NAMES[i])) != NULL;
  made->max_split_size = PyUnicode_InternFromString("max_split_size");
  made->private_pools = PyUnicode_InternFromString("reserved_bytes_by_private_pools");
  made->retries = PyUnicode_InternFromString("num_alloc_retries");
  made->ooms = PyUnicode_InternFromString("num_ooms");
  is_whole = is_whole && made->max_split_size != NULL && made->private_pools != NULL;
  return is_whole && made->retries != NULL && made->ooms != NULL ? 0 : -1;
}

static void free_words(dict_words *made) {
  for (size_t i = 0; i < VS_TORCH_STATS; i++) Py_CLEAR(made->stat[i]);
  for (size_t i = 0; i < VS_TORCH_POOLS; i++) Py_CLEAR(made->pool[i]);
  for (size_t i = 0; i < VS_TORCH_METRICS; i++) Py_CLEAR(made->metric[i]);
  Py_CLEAR(made->max_split_size);
  Py_CLEAR(made->private_pools);
  Py_CLEAR(made->retries);
  Py_CLEAR(made->ooms);
}

/* Borrowed; NULL without an error if there is none. */
static PyObject *inner(PyObject *dict, PyObject *key) {
  PyObject *found = dict != NULL && PyDict_Check(dict) ? PyDict_GetItemWithError(dict, key) : NULL;
  if (found == NULL) PyErr_Clear();
  return found;
}

/* The dict of one statistic: current, peak, allocated, freed. Borrowed; NULL if this allocator does not have it. */
static PyObject *dict_of(const dict_words *words, PyObject *dict, size_t stat) {
  VS_ASSERT(stat < VS_TORCH_STATS);
  PyObject *group = inner(dict, words->stat[stat]);
  return is_single(stat) ? group : inner(group, words->pool[stat % VS_TORCH_POOLS]);
}

static int64_t number(PyObject *dict, PyObject *key) {
  PyObject *found = inner(dict, key);
  const int64_t value = found != NULL ? PyLong_AsLongLong(found) : 0;
  if (value == -1 && PyErr_Occurred() != NULL) return PyErr_Clear(), 0;
  return value;
}

/* A number that the dict lacks is 0; cudaMallocAsync's allocator has only a few. */
static void parse(const dict_words *words, PyObject *dict, vs_torch_stats *stats) {
  for (size_t i = 0; i < VS_TORCH_STATS; i++) {
    PyObject *const of = dict_of(words, dict, i), *const *key = words->metric;
    stats->of[i] =
        (vs_torch_stat){number(of, key[0]), number(of, key[1]), number(of, key[2]), number(of, key[3])};
  }
  stats->retries = number(dict, words->retries);
  stats->ooms = number(dict, words->ooms);
  stats->has_oversize = number(dict, words->max_split_size) != -1;
  PyObject *pools = inner(dict, words->private_pools);
  stats->has_pools = pools != NULL && PyDict_Check(pools) && PyDict_Size(pools) > 0;
}

/* ---- readings */

typedef struct reading {
  torch_statistics *owner;
  torch_card *card;
  long device;
} reading;

static bool equal(const vs_torch_stats *a, const vs_torch_stats *b) {
  return a->has_oversize == b->has_oversize && a->retries == b->retries && a->ooms == b->ooms &&
         memcmp(a->of, b->of, sizeof a->of) == 0;
}

static void look_for(reading *of, const vs_torch_stats *dict) {
  torch_card *card = of->card;
  VS_ASSERT(card->trust == LOOKING && of->device >= 0 && of->device < MOST_CARDS);
  if (dict->has_pools || dict->of[VS_TORCH_allocation].allocated == 0) return; /* another time */
  if (vs_torch_place_find(vs_torch_allocator(), (uint32_t)of->device, dict, &card->place)) {
    card->trust = FOUND;
    card->found_at = dict->of[VS_TORCH_allocation].allocated;
  } else if (++card->searches >= MOST_SEARCHES) card->trust = GIVEN_UP;
}

/* Compares the place with the dict, which was made between two readings of the place. If those differ, another thread
 * changed the statistics, and the comparison says nothing. */
static void compare(torch_card *card, const vs_torch_stats *before, const vs_torch_stats *dict) {
  vs_torch_stats after;
  VS_ASSERT(card->trust == FOUND || card->trust == TRUSTED);
  if (!vs_torch_place_read(&card->place, &after)) {
    card->trust = LOOKING;
    return;
  }
  if (!equal(before, &after)) return;
  const bool was_trusted = card->trust == TRUSTED;
  if (!equal(&after, dict))
    card->trust = was_trusted || ++card->searches >= MOST_SEARCHES ? GIVEN_UP : LOOKING;
  else if (was_trusted || dict->of[VS_TORCH_allocation].allocated != card->found_at) card->trust = TRUSTED;
}

static int read_dict(reading *of, vs_torch_stats *stats) {
  torch_card *card = of->card;
  vs_torch_stats before;
  const bool has_place = card->trust == FOUND || card->trust == TRUSTED;
  const bool was_read = has_place && vs_torch_place_read(&card->place, &before);
  PyObject *device = PyLong_FromLong(of->device);
  PyObject *dict = device != NULL ? PyObject_CallFunctionObjArgs(of->owner->read, device, NULL) : NULL;
  Py_XDECREF(device);
  if (dict == NULL) return -1;
  parse(&of->owner->words, dict, stats);
  Py_DECREF(dict);
  card->has_pools = stats->has_pools;
  card->readings = 0;
  VS_ASSERT(has_place || !was_read);
  if (was_read) compare(card, &before, stats);
  else if (has_place) card->trust = LOOKING;
  else if (card->trust == LOOKING) look_for(of, stats);
  return 0;
}

static int read_stats(void *ctx, vs_torch_stats *stats) {
  reading *of = ctx;
  torch_card *card = of->card;
  if (card->trust == TRUSTED && ++card->readings < CHECK_EVERY && vs_torch_place_read(&card->place, stats))
    return 0;
  return read_dict(of, stats);
}

static int reset_peaks(void *ctx) {
  const reading *of = ctx;
  PyObject *device = PyLong_FromLong(of->device);
  PyObject *reset = of->card->has_pools ? of->owner->reset_with_pools : of->owner->reset;
  PyObject *done = device != NULL ? PyObject_CallFunctionObjArgs(reset, device, NULL) : NULL;
  Py_XDECREF(device);
  Py_XDECREF(done);
  return done != NULL ? 0 : -1;
}

static vs_peak_source source_of(reading *of) {
  return (vs_peak_source){.ctx = of, .read = read_stats, .reset = reset_peaks};
}

/* False with an error set. */
static bool open_card(torch_statistics *owner, long device, reading *of) {
  if (device < 0 || device >= MOST_CARDS) {
    PyErr_Format(PyExc_ValueError, "no such device: %ld", device);
    return false;
  }
  torch_card **card = &owner->cards[device];
  if (*card == NULL && (*card = PyMem_Calloc(1, sizeof **card)) == NULL) {
    (void)PyErr_NoMemory();
    return false;
  }
  *of = (reading){.owner = owner, .card = *card, .device = device};
  return true;
}

/* The device number that is `argument`. */
static bool open_argument(PyObject *self, PyObject *argument, reading *of) {
  const long device = PyLong_AsLong(argument);
  if (device == -1 && PyErr_Occurred() != NULL) return false;
  return open_card((torch_statistics *)self, device, of);
}

/* ---- TorchScope */

/* begin(device, has_begun): a scope, open. */
static PyObject *begin(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  reading of;
  if (count != 2) return PyErr_SetString(PyExc_TypeError, "begin(device, has_begun)"), NULL;
  if (!open_argument(self, arguments[0], &of)) return NULL;
  const allocfunc alloc = (allocfunc)PyType_GetSlot(of.owner->scope_type, Py_tp_alloc);
  torch_scope *scope = (torch_scope *)alloc(of.owner->scope_type, 0);
  if (scope == NULL) return NULL;
  scope->owner = (torch_statistics *)Py_NewRef(self);
  scope->device = of.device;
  const vs_peak_source source = source_of(&of);
  if (vs_peak_begin(&of.card->peaks, arguments[1] == Py_True ? &source : NULL, &scope->scope) != 0) {
    Py_DECREF((PyObject *)scope);
    return NULL;
  }
  scope->is_open = true;
  return (PyObject *)scope;
}

static void scope_dealloc(PyObject *self) {
  torch_scope *scope = (torch_scope *)self;
  PyTypeObject *type = Py_TYPE(self);
  if (scope->is_open) vs_peak_drop(&scope->owner->cards[scope->device]->peaks, &scope->scope);
  Py_XDECREF((PyObject *)scope->owner);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

/* A failure becomes a note and raises nothing, because a scope may end while an exception is being raised. */
static PyObject *scope_step(PyObject *self, PyObject *has_begun, bool is_end) {
  torch_scope *scope = (torch_scope *)self;
  if (!scope->is_open) Py_RETURN_NONE;
  VS_ASSERT(scope->owner->cards[scope->device] != NULL); /* a card lives as long as the statistics */
  reading of = {.owner = scope->owner, .card = scope->owner->cards[scope->device], .device = scope->device};
  const vs_peak_source source = source_of(&of), *from = has_begun == Py_True ? &source : NULL;
  const int status = is_end ? vs_peak_end(&of.card->peaks, from, &scope->scope)
                            : vs_peak_read(&of.card->peaks, from, &scope->scope);
  if (status != 0) PyErr_Clear();
  scope->is_open = !is_end;
  Py_RETURN_NONE;
}

static PyObject *scope_read(PyObject *self, PyObject *has_begun) {
  return scope_step(self, has_begun, false);
}
static PyObject *scope_end(PyObject *self, PyObject *has_begun) { return scope_step(self, has_begun, true); }

static PyObject *scope_figures(PyObject *self, void *closure) {
  (void)closure;
  const vs_peak_scope *scope = &((torch_scope *)self)->scope;
  PyObject *figures = PyDict_New();
  static const char *const NAMES[VS_PEAK_KINDS] = {
#define VS_PEAK(name, stat) #name,
      VS_PEAKS(VS_PEAK)
#undef VS_PEAK
  };
  for (size_t i = 0; figures != NULL && i < VS_PEAK_KINDS; i++) {
    const vs_peak_bytes *of = &scope->bytes[i];
    PyObject *four = Py_BuildValue("(LLLL)", (long long)of->start, (long long)of->end, (long long)of->peak,
                                   (long long)of->most);
    if (four == NULL || PyDict_SetItemString(figures, NAMES[i], four) != 0) Py_CLEAR(figures);
    Py_XDECREF(four);
  }
  return figures;
}

static PyObject *scope_events(PyObject *self, void *closure) {
  (void)closure;
  const vs_peak_scope *scope = &((torch_scope *)self)->scope;
  return Py_BuildValue("(LLLL)", (long long)scope->begun[0], (long long)scope->begun[1],
                       (long long)scope->ended[0], (long long)scope->ended[1]);
}

static PyObject *scope_counts(PyObject *self, void *closure) {
  (void)closure;
  const vs_peak_scope *scope = &((torch_scope *)self)->scope;
  return Py_BuildValue("(LLL)", (long long)scope->retries, (long long)scope->ooms,
                       (long long)scope->fragmented);
}

static PyObject *scope_notes(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromUnsignedLong(((torch_scope *)self)->scope.notes);
}

static PyObject *scope_is_open(PyObject *self, void *closure) {
  (void)closure;
  return PyBool_FromLong(((torch_scope *)self)->is_open);
}

static PyTypeObject *make_scope_type(PyObject *module) {
  static PyMethodDef methods[] = {
      {"read", scope_read, METH_O, "read(has_begun): brings the figures up to date."},
      {"end", scope_end, METH_O, "end(has_begun): the same, and ends the scope."},
      {NULL, NULL, 0, NULL},
  };
  static PyGetSetDef attributes[] = {
      {"figures", scope_figures, NULL,
       "{kind: (start, end, peak, most)} in bytes: peak <= the true peak <= most", NULL},
      {"events", scope_events, NULL,
       "blocks (allocated, freed) at its beginning and (allocated, freed) at its end", NULL},
      {"counts", scope_counts, NULL,
       "(cudaMalloc retries, out-of-memory errors) since it began, and the fragmented bytes at its end",
       NULL},
      {"notes", scope_notes, NULL, "bits: why most may be more than peak", NULL},
      {"is_open", scope_is_open, NULL, NULL, NULL},
      {NULL, NULL, NULL, NULL, NULL},
  };
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, scope_dealloc}, {Py_tp_methods, methods}, {Py_tp_getset, attributes}, {0, NULL}};
  static PyType_Spec spec = {
      .name = "vramscope._native.TorchScope",
      .basicsize = sizeof(torch_scope),
      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
      .slots = slots,
  };
  return (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
}

/* ---- the user's own figures */

static int raise_peak(PyObject *dict, PyObject *key, int64_t taken) {
  if (number(dict, key) >= taken) return 0;
  PyObject *value = PyLong_FromLongLong(taken);
  const int status = value != NULL ? PyDict_SetItem(dict, key, value) : -1;
  Py_XDECREF(value);
  return status;
}

/* view(device, dict): the dict as it would be if no scope had reset the peaks. */
static PyObject *view(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  reading of;
  if (count != 2) return PyErr_SetString(PyExc_TypeError, "view(device, dict)"), NULL;
  if (!open_argument(self, arguments[0], &of)) return NULL;
  const dict_words *words = &of.owner->words;
  const vs_peak_card *peaks = &of.card->peaks;
  for (size_t i = 0; peaks->has_taken && i < VS_TORCH_STATS; i++) {
    PyObject *dict = dict_of(words, arguments[1], i);
    if (dict != NULL && PyDict_Check(dict) && raise_peak(dict, words->metric[1], peaks->taken[i]) != 0)
      return NULL;
  }
  return Py_NewRef(arguments[1]);
}

/* The user's own reset, by the callable given: first the peaks that it discards are merged into the open scopes. In one call,
 * so that no scope of another thread begins or ends between the two. */
static PyObject *user_reset(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                            void (*what)(vs_peak_card *, const vs_torch_stats *)) {
  reading of;
  vs_torch_stats now;
  if (count != 2) return PyErr_SetString(PyExc_TypeError, "(device, function)"), NULL;
  if (!open_argument(self, arguments[0], &of) || read_stats(&of, &now) != 0) return NULL;
  vs_peak_seen(&of.card->peaks, &now);
  PyObject *result = PyObject_CallFunctionObjArgs(arguments[1], arguments[0], NULL);
  if (result == NULL) return NULL;
  if (read_stats(&of, &now) != 0) return Py_DECREF(result), NULL;
  what(&of.card->peaks, &now);
  return result;
}

static PyObject *reset(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  return user_reset(self, arguments, count, vs_peak_user_reset);
}

static PyObject *reset_sums(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  return user_reset(self, arguments, count, vs_peak_user_reset_sums);
}

/* ---- TorchStatistics */

/* state(device): (where figures come from, disturbed resets, resets behind our back). */
static PyObject *state(PyObject *self, PyObject *argument) {
  static const char *const SOURCES[] = {
      [LOOKING] = "dict, looking", [FOUND] = "dict, found", [TRUSTED] = "memory", [GIVEN_UP] = "dict"};
  reading of;
  if (!open_argument(self, argument, &of)) return NULL;
  return Py_BuildValue("(sKK)", SOURCES[of.card->trust], (unsigned long long)of.card->peaks.windows,
                       (unsigned long long)of.card->peaks.behinds);
}

/* TorchStatistics(read, reset, reset_with_pools): callables of a device number. */
static PyObject *statistics_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
  static char *names[] = {"read", "reset", "reset_with_pools", NULL};
  PyObject *read, *reset, *reset_with_pools;
  if (!PyArg_ParseTupleAndKeywords(arguments, named, "OOO", names, &read, &reset, &reset_with_pools))
    return NULL;
  PyObject *module = PyType_GetModule(type);
  if (module == NULL) return NULL;
  torch_statistics *made = (torch_statistics *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (made == NULL) return NULL;
  made->read = Py_NewRef(read);
  made->reset = Py_NewRef(reset);
  made->reset_with_pools = Py_NewRef(reset_with_pools);
  made->scope_type = (PyTypeObject *)Py_XNewRef(vs_python_state_of(module)->torch_statistics);
  if (made->scope_type != NULL && make_words(&made->words) == 0) return (PyObject *)made;
  Py_DECREF((PyObject *)made);
  return NULL;
}

static int statistics_traverse(PyObject *self, visitproc visit, void *arg) {
  const torch_statistics *of = (torch_statistics *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(of->scope_type);
  Py_VISIT(of->read);
  Py_VISIT(of->reset);
  Py_VISIT(of->reset_with_pools);
  return 0;
}

static int statistics_clear(PyObject *self) {
  torch_statistics *of = (torch_statistics *)self;
  Py_CLEAR(of->read);
  Py_CLEAR(of->reset);
  Py_CLEAR(of->reset_with_pools);
  return 0;
}

static void statistics_dealloc(PyObject *self) {
  torch_statistics *of = (torch_statistics *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  (void)statistics_clear(self);
  Py_CLEAR(of->scope_type);
  free_words(&of->words);
  for (size_t i = 0; i < MOST_CARDS; i++) PyMem_Free(of->cards[i]);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

static PyObject *make_statistics_type(PyObject *module) {
#define FASTCALL(function) ((PyCFunction)(void (*)(void))(function))
  static PyMethodDef methods[] = {
      {"begin", FASTCALL(begin), METH_FASTCALL, "begin(device, has_begun): a TorchScope, open."},
      {"view", FASTCALL(view), METH_FASTCALL,
       "view(device, dict): the dict as if no scope had reset anything."},
      {"reset", FASTCALL(reset), METH_FASTCALL,
       "reset(device, function): the user resets the peaks by function(device)."},
      {"reset_sums", FASTCALL(reset_sums), METH_FASTCALL,
       "reset_sums(device, function): the same of the sums."},
      {"state", state, METH_O,
       "state(device): (source of figures, disturbed resets, resets behind our back)."},
      {NULL, NULL, 0, NULL},
  };
  static PyType_Slot slots[] = {{Py_tp_new, statistics_new},
                                {Py_tp_dealloc, statistics_dealloc},
                                {Py_tp_traverse, statistics_traverse},
                                {Py_tp_clear, statistics_clear},
                                {Py_tp_methods, methods},
                                {0, NULL}};
  static PyType_Spec spec = {
      .name = "vramscope._native.TorchStatistics",
      .basicsize = sizeof(torch_statistics),
      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
      .slots = slots,
  };
  return PyType_FromModuleAndSpec(module, &spec, NULL);
}

int vs_python_add_torch_statistics(PyObject *module) {
  PyTypeObject *scope_type = make_scope_type(module);
  if (scope_type == NULL) return -1;
  vs_python_state_of(module)->torch_statistics = (PyObject *)scope_type;
  PyObject *type = make_statistics_type(module);
  const int status = type != NULL ? PyModule_AddObjectRef(module, "TorchStatistics", type) : -1;
  Py_XDECREF(type);
  return status;
}
