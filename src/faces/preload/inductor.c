#include "faces/preload/inductor.h"
#include "base/host.h"
#include "base/text.h"
#include "faces/preload/generated.h"
#include "os/library.h"

/* ---- what is called of Python */

typedef struct python_object python_object;

static struct {
  /* What these return is borrowed. */
  python_object *(*system)(const char *name);
  python_object *(*item_named)(python_object *dictionary, const char *name);
  python_object *(*names)(python_object *module);
  int (*next)(python_object *dictionary, ptrdiff_t *at, python_object **key, python_object **value);
  python_object *(*item)(python_object *tuple, ptrdiff_t at);
  const char *(*text)(python_object *text, ptrdiff_t *size);
  /* What these return is the caller's. */
  python_object *(*attribute)(python_object *object, const char *name);
  python_object *(*part)(python_object *sequence, ptrdiff_t at);
  ptrdiff_t (*size)(python_object *dictionary);
  ptrdiff_t (*count)(python_object *tuple);
  ptrdiff_t (*length)(python_object *sequence);
  long long (*number)(python_object *number);
  void (*take)(python_object *object), (*give)(python_object *object); /* NULL: does nothing */
  void (*set_aside)(python_object **type, python_object **value, python_object **traceback);
  void (*put_back)(python_object *type, python_object *value, python_object *traceback);
  void (*clear)(void);
  int (*is_locked)(void); /* by the calling thread */
} api;

static bool find_api(void) {
  const char *(*version)(void) = NULL;
  const struct {
    const char *name;
    void *function;
  } functions[] = {{"PySys_GetObject", &api.system},   {"PyDict_GetItemString", &api.item_named},
                   {"PyModule_GetDict", &api.names},   {"PyDict_Next", &api.next},
                   {"PyDict_Size", &api.size},         {"PyTuple_GetItem", &api.item},
                   {"PyTuple_Size", &api.count},       {"PyObject_GetAttrString", &api.attribute},
                   {"PySequence_GetItem", &api.part},  {"PySequence_Size", &api.length},
                   {"PyLong_AsLongLong", &api.number}, {"PyUnicode_AsUTF8AndSize", &api.text},
                   {"Py_IncRef", &api.take},           {"Py_DecRef", &api.give},
                   {"PyErr_Fetch", &api.set_aside},    {"PyErr_Restore", &api.put_back},
                   {"PyErr_Clear", &api.clear},        {"PyGILState_Check", &api.is_locked},
                   {"Py_GetVersion", &version}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (vs_library_loaded_symbol(NULL, functions[i].name) == NULL) return false;
    vs_library_loaded_function(NULL, functions[i].name, functions[i].function);
  }
  /* Without Python's lock a dictionary may change while it is read; stacks of such a build are not read either. */
  return !vs_str_contains(vs_str_from(version()), VS_STR("free-threading"));
}

static bool has_api(void) {
  static bool is_looked_up, is_found;
  if (!is_looked_up) is_found = find_api();
  is_looked_up = true;
  return is_found;
}

/* ---- one map */

enum { MOST_LINES = 1 << 20 };

/* Empty for what is no text. Borrowed from the object. */
static vs_str text_of(python_object *object) {
  ptrdiff_t size = 0;
  const char *text = object == NULL ? NULL : api.text(object, &size);
  return text == NULL ? VS_STR("") : (vs_str){text, (size_t)size};
}

/* False: they are no lines in their order. */
static bool read_lines(python_object *firsts, python_object *stacks, size_t count, vs_generated_line *lines) {
  for (size_t i = 0; i < count; i++) {
    python_object *const first = api.item(firsts, (ptrdiff_t)i);
    lines[i] = (vs_generated_line){.first = first == NULL ? -1 : (int64_t)api.number(first),
                                   .stack = text_of(api.item(stacks, (ptrdiff_t)i))};
    if (lines[i].first < (i == 0 ? 0 : lines[i - 1].first)) return false;
  }
  return true;
}

/* The tuples keep what they contain alive. */
static bool add_lines(vs_str path, python_object *firsts, python_object *stacks) {
  const ptrdiff_t count = api.count(firsts);
  if (count <= 0 || count > MOST_LINES || api.count(stacks) != count) return false;
  const size_t size = (size_t)count * sizeof(vs_generated_line);
  vs_generated_line *lines = vs_host_alloc(vs_host_default(), size);
  if (lines == NULL) return false;
  const bool is_added =
      read_lines(firsts, stacks, (size_t)count, lines) && vs_generated_add(path, lines, (size_t)count);
  vs_host_free(vs_host_default(), lines, size);
  return is_added;
}

static bool add_parts(vs_str path, python_object *map) {
  python_object *const firsts = api.part(map, 0), *const stacks = api.part(map, 1);
  const bool is_added = firsts != NULL && stacks != NULL && add_lines(path, firsts, stacks);
  api.give(firsts);
  api.give(stacks);
  return is_added;
}

/* Most files are those of kernels, whose maps are empty. */
static bool add_map(python_object *key, python_object *map) {
  if (api.length(map) == 0) return false;
  const vs_str path = text_of(key);
  const bool is_added = path.size != 0 && vs_generated_find(path) == NULL && add_parts(path, map);
  api.clear();
  return is_added;
}

/* ---- all maps */

/* PyTorch's dictionary, of which we hold a reference, with the number of its maps that were looked at. Guarded by Python's lock. */
static python_object *maps;
static ptrdiff_t known;
static bool is_learning; /* reading may run the garbage collector, and so code that Python reports of */

/* Another interpreter of the process has modules of its own: it does not find the first one's, whose objects it may not use. */
static python_object *find_maps(void) {
  python_object *const modules = api.system("modules");
  python_object *const module = modules == NULL ? NULL : api.item_named(modules, "torch._inductor.codecache");
  python_object *const names = module == NULL ? NULL : api.names(module);
  python_object *const cache = names == NULL ? NULL : api.item_named(names, "PyCodeCache");
  return cache == NULL ? NULL : api.attribute(cache, "linemaps");
}

static bool add_all(void) {
  python_object *key, *map;
  bool is_added = false;
  known = api.size(maps);
  for (ptrdiff_t at = 0; api.next(maps, &at, &key, &map) != 0;) {
    api.take(key);
    api.take(map);
    is_added |= add_map(key, map);
    api.give(key);
    api.give(map);
  }
  return is_added;
}

/* A dictionary that takes the place of the one before is read as a new one. */
static bool look_again(void) {
  python_object *const found = find_maps();
  if (found == NULL || api.size(found) < 0) {
    api.give(found);
    return false;
  }
  python_object *const before = maps;
  if (found != before) known = 0;
  maps = found;
  api.give(before);
  return api.size(maps) != known && add_all();
}

static bool look(void) {
  python_object *type, *value, *traceback;
  if (is_learning || !has_api() || api.is_locked() == 0) return false;
  is_learning = true;
  api.set_aside(&type, &value, &traceback);
  const bool is_added = look_again();
  api.put_back(type, value, traceback);
  is_learning = false;
  return is_added;
}

bool vs_inductor_hear(bool is_run) {
  const bool is_due = is_run || (maps != NULL && api.size(maps) != known);
  return is_due && look();
}

bool vs_inductor_learn(void) { return look(); }
