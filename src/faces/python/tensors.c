/* What a walk over all objects of a program does most often, for python/vramscope/_tensors.py, which knows
 * what a tensor is and gives the means to read one:
 *
 *   instances      the objects of some class among many: gc.get_objects() gives some hundred thousand, of a
 *                  few thousand types. Asking each with isinstance() would run the code of those that answer
 *                  for themselves (lazy proxies with a __class__ of their own), and take most of the time.
 *   share_memory   tensors' kinds, and which tensor each byte of their storages is counted at. */
#include <stdlib.h>

#include "base/check.h"
#include "base/map.h"
#include "base/vec.h"
#include "faces/python/python.h"

/* ---- instances ---------------------------------------------------------------------------------- */

/* A cache of answers for types, used for one walk. Types live as long as their objects, which are in the list, so an address
 * identifies a type. A type whose entry was overwritten is tested again. */
enum { SEEN = 256 };

typedef struct seen_types {
  PyTypeObject *type[SEEN];
  bool is_wanted[SEEN];
} seen_types;

static bool type_matches(PyTypeObject *type, PyObject *wanted) {
  if (!PyTuple_Check(wanted)) return PyType_IsSubtype(type, (PyTypeObject *)wanted) != 0;
  for (Py_ssize_t i = 0; i < PyTuple_Size(wanted); i++)
    if (PyType_IsSubtype(type, (PyTypeObject *)PyTuple_GetItem(wanted, i)) != 0) return true;
  return false;
}

static bool is_wanted(seen_types *seen, PyTypeObject *type, PyObject *wanted) {
  const size_t place = ((uintptr_t)type >> 4) % SEEN;
  if (seen->type[place] != type) {
    seen->type[place] = type;
    seen->is_wanted[place] = type_matches(type, wanted);
  }
  return seen->is_wanted[place];
}

static bool are_types(PyObject *wanted) {
  if (!PyTuple_Check(wanted)) return PyType_Check(wanted) != 0;
  for (Py_ssize_t i = 0; i < PyTuple_Size(wanted); i++)
    if (!PyType_Check(PyTuple_GetItem(wanted, i))) return false;
  return true;
}

/* No Python code runs during the loop, so the list does not change. */
static PyObject *instances(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *objects = NULL;
  PyObject *wanted = NULL;
  if (!PyArg_ParseTuple(args, "OO:instances", &objects, &wanted)) return NULL;
  if (!PyList_Check(objects) || !are_types(wanted)) {
    PyErr_SetString(PyExc_TypeError, "instances() takes a list and a class or a tuple of classes");
    return NULL;
  }
  PyObject *found = PyList_New(0);
  if (found == NULL) return NULL;
  seen_types seen = {.type = {NULL}};
  for (Py_ssize_t i = 0; i < PyList_Size(objects); i++) {
    PyObject *object = PyList_GetItem(objects, i);
    if (!is_wanted(&seen, Py_TYPE(object), wanted)) continue;
    if (PyList_Append(found, object) != 0) {
      Py_DECREF(found);
      return NULL;
    }
  }
  return found;
}

/* ---- share_memory ------------------------------------------------------------------------------- */

/* How to read a tensor; borrowed from the arguments. */
typedef struct means {
  PyObject *plain; /* set of the classes whose tensors have one storage and nothing else, by the following */
  PyObject *storage; /* methods and attributes of PyTorch's own class, which no subclass can override */
  PyObject *shape;
  PyObject *dtype;
  PyObject *nbytes;
  PyObject *data_ptr;
  PyObject *is_lazy_copy; /* or None. Reading the address of such a tensor would make the copy */
  PyObject *slow;         /* slow(tensor) -> (kind, pieces): any other tensor */
  PyObject *prefers; /* prefers(tensor, other) -> bool: which of two that share memory it is counted at */
} means;

/* A range of memory and the tensor that it is counted at. One claim for each address. */
typedef struct claim {
  uint64_t address, size;
  Py_ssize_t owner;
} claim;

typedef struct reading {
  means how;
  PyObject *tensors;                /* our own copy of the list, so that no other code changes it */
  PyObject *places;                 /* dict: kind -> its place in kinds */
  PyObject *kinds, *which, *shares; /* the result: three lists */
  VS_VEC(claim) claims;
  vs_map by_address; /* -> its place in claims */
} reading;

/* An attribute of a C class: the class' own reading of it. */
static PyObject *get(PyObject *attribute, PyObject *tensor) {
  const descrgetfunc read = (descrgetfunc)PyType_GetSlot(Py_TYPE(attribute), Py_tp_descr_get);
  if (read != NULL) return read(attribute, tensor, (PyObject *)Py_TYPE(tensor));
  PyErr_SetString(PyExc_TypeError, "this is no attribute of a class");
  return NULL;
}

static int claim_memory(reading *all, Py_ssize_t owner, uint64_t address, uint64_t size) {
  const vs_host *host = vs_host_default();
  const size_t slot = vs_map_find(&all->by_address, address);
  if (slot == VS_MAP_NONE) {
    if (vs_vec_reserve(host, &all->claims, 1) != VS_OK || vs_map_reserve(host, &all->by_address) != VS_OK) {
      PyErr_NoMemory();
      return -1;
    }
    vs_map_add(&all->by_address, address, (uint32_t)all->claims.count);
    all->claims.data[all->claims.count++] = (claim){.address = address, .size = size, .owner = owner};
    return 0;
  }
  VS_ASSERT(all->by_address.slots[slot].value < all->claims.count);
  claim *known = &all->claims.data[all->by_address.slots[slot].value];
  VS_ASSERT(known->address == address);
  if (size > known->size) known->size = size;
  if (known->owner == owner) return 0;
  PyObject *prefers = PyObject_CallFunctionObjArgs(all->how.prefers, PyList_GetItem(all->tensors, owner),
                                                   PyList_GetItem(all->tensors, known->owner), NULL);
  if (prefers == NULL) return -1;
  if (PyObject_IsTrue(prefers) == 1) known->owner = owner;
  Py_DECREF(prefers);
  return 0;
}

/* Takes the kind: its place is noted for the next tensor. */
static int note_kind(reading *all, PyObject *kind) {
  if (kind == NULL) return -1;
  PyObject *place = PyDict_GetItemWithError(all->places, kind);
  int status = 0;
  if (place != NULL) {
    status = PyList_Append(all->which, place);
  } else if (PyErr_Occurred() != NULL) {
    status = -1;
  } else {
    place = PyLong_FromSsize_t(PyList_Size(all->kinds));
    if (place == NULL || PyDict_SetItem(all->places, kind, place) != 0 ||
        PyList_Append(all->kinds, kind) != 0 || PyList_Append(all->which, place) != 0)
      status = -1;
    Py_XDECREF(place);
  }
  Py_DECREF(kind);
  return status;
}

/* (class, size, dtype) with PyTorch's own class of sizes, which is a tuple and equal to one. */
static PyObject *plain_kind(const means *how, PyObject *tensor) {
  PyObject *shape = get(how->shape, tensor);
  if (shape == NULL) return NULL;
  PyObject *dtype = get(how->dtype, tensor);
  PyObject *kind = dtype == NULL ? NULL : PyTuple_Pack(3, (PyObject *)Py_TYPE(tensor), shape, dtype);
  Py_XDECREF(dtype);
  Py_DECREF(shape);
  return kind;
}

static bool call_for_number(PyObject *method, PyObject *self, uint64_t *number) {
  PyObject *value = PyObject_CallFunctionObjArgs(method, self, NULL);
  if (value == NULL) return false;
  *number = PyLong_AsUnsignedLongLong(value);
  Py_DECREF(value);
  return PyErr_Occurred() == NULL;
}

static bool is_lazy_copy(const means *how, PyObject *tensor) {
  if (how->is_lazy_copy == Py_None) return false;
  PyObject *answer = PyObject_CallFunctionObjArgs(how->is_lazy_copy, tensor, NULL);
  const bool is = answer == NULL || answer == Py_True;
  Py_XDECREF(answer);
  return is;
}

static bool read_storage(const means *how, PyObject *tensor, uint64_t *address, uint64_t *size) {
  PyObject *storage = PyObject_CallFunctionObjArgs(how->storage, tensor, NULL);
  if (storage == NULL) return false;
  const bool is_read = call_for_number(how->nbytes, storage, size) &&
                       (*size == 0 || (call_for_number(how->data_ptr, storage, address) && *address != 0));
  Py_DECREF(storage);
  return is_read;
}

/* NULL without an error set if the tensor has to be read by `slow`. */
static PyObject *read_plain(const means *how, PyObject *tensor, uint64_t *address, uint64_t *size) {
  PyObject *kind = NULL;
  if (PySet_Contains(how->plain, (PyObject *)Py_TYPE(tensor)) == 1 && !is_lazy_copy(how, tensor) &&
      read_storage(how, tensor, address, size))
    kind = plain_kind(how, tensor);
  if (kind == NULL) PyErr_Clear();
  return kind;
}

static int claim_pieces(reading *all, Py_ssize_t owner, PyObject *pieces) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(pieces); i++) {
    unsigned long long address = 0;
    unsigned long long size = 0;
    int device = 0;
    if (!PyArg_ParseTuple(PyTuple_GetItem(pieces, i), "KKi", &address, &size, &device)) return -1;
    if (claim_memory(all, owner, address, size) != 0) return -1;
  }
  return 0;
}

static int read_slowly(reading *all, Py_ssize_t index, PyObject *tensor) {
  PyObject *answer = PyObject_CallFunctionObjArgs(all->how.slow, tensor, NULL);
  if (answer == NULL) return -1;
  PyObject *kind = NULL;
  PyObject *pieces = NULL;
  int status = -1;
  if (PyArg_ParseTuple(answer, "OO!", &kind, &PyTuple_Type, &pieces) && note_kind(all, Py_NewRef(kind)) == 0)
    status = claim_pieces(all, index, pieces);
  Py_DECREF(answer);
  return status;
}

static int read_tensor(reading *all, Py_ssize_t index) {
  VS_ASSERT(PyList_Size(all->which) == index); /* one kind for each tensor before this one */
  PyObject *tensor = PyList_GetItem(all->tensors, index);
  uint64_t address = 0;
  uint64_t size = 0;
  PyObject *kind = read_plain(&all->how, tensor, &address, &size);
  if (kind == NULL) return read_slowly(all, index, tensor);
  if (note_kind(all, kind) != 0) return -1;
  return size == 0 ? 0 : claim_memory(all, index, address, size);
}

static int by_address(const void *left, const void *right) {
  const claim *a = left;
  const claim *b = right;
  return (a->address > b->address) - (a->address < b->address);
}

/* Counts each byte once: two storages may overlap. */
static int add_up(reading *all) {
  if (all->claims.count == 0) return 0;
  uint64_t *shares = calloc((size_t)PyList_Size(all->tensors), sizeof *shares);
  if (shares == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  qsort(all->claims.data, all->claims.count, sizeof *all->claims.data, by_address);
  uint64_t end = 0;
  for (size_t i = 0; i < all->claims.count; i++) {
    const claim *each = &all->claims.data[i];
    const uint64_t begin = each->address > end ? each->address : end;
    VS_ASSERT(each->owner >= 0 && each->owner < PyList_Size(all->tensors));
    VS_ASSERT(i == 0 || all->claims.data[i - 1].address < each->address); /* one claim for each address */
    if (each->address + each->size <= begin) continue;
    end = each->address + each->size;
    shares[each->owner] += end - begin;
  }
  int status = 0;
  VS_ASSERT(PyList_Size(all->shares) == PyList_Size(all->tensors));
  for (Py_ssize_t i = 0; i < PyList_Size(all->tensors) && status == 0; i++) {
    if (shares[i] == 0) continue;
    PyObject *share = PyLong_FromUnsignedLongLong(shares[i]);
    status = share == NULL ? -1 : PyList_SetItem(all->shares, i, share);
  }
  free(shares);
  return status;
}

static int fill_with_zeros(PyObject *list, Py_ssize_t count) {
  PyObject *zero = PyLong_FromLong(0);
  if (zero == NULL) return -1;
  int status = 0;
  for (Py_ssize_t i = 0; i < count && status == 0; i++) status = PyList_Append(list, zero);
  Py_DECREF(zero);
  return status;
}

static int read_all(reading *all) {
  if (all->places == NULL || all->kinds == NULL || all->which == NULL || all->shares == NULL) return -1;
  const Py_ssize_t count = PyList_Size(all->tensors);
  if (fill_with_zeros(all->shares, count) != 0) return -1;
  for (Py_ssize_t i = 0; i < count; i++)
    if (read_tensor(all, i) != 0) return -1;
  return add_up(all);
}

static PyObject *share_memory(PyObject *module, PyObject *args) {
  (void)module;
  reading all = {.tensors = NULL};
  PyObject *tensors = NULL;
  means *how = &all.how;
  if (!PyArg_ParseTuple(args, "O!(O!OOOOOOOO):share_memory", &PyList_Type, &tensors, &PySet_Type, &how->plain,
                        &how->storage, &how->shape, &how->dtype, &how->nbytes, &how->data_ptr,
                        &how->is_lazy_copy, &how->slow, &how->prefers))
    return NULL;
  all.tensors = PyList_GetSlice(tensors, 0, PyList_Size(tensors));
  if (all.tensors == NULL) return NULL;
  all.places = PyDict_New();
  all.kinds = PyList_New(0);
  all.which = PyList_New(0);
  all.shares = PyList_New(0);
  PyObject *result = NULL;
  if (read_all(&all) == 0) result = PyTuple_Pack(3, all.kinds, all.which, all.shares);
  vs_vec_free(vs_host_default(), &all.claims);
  vs_map_deinit(vs_host_default(), &all.by_address);
  Py_XDECREF(all.places);
  Py_XDECREF(all.kinds);
  Py_XDECREF(all.which);
  Py_XDECREF(all.shares);
  Py_DECREF(all.tensors);
  return result;
}

int vs_python_add_tensors(PyObject *module) {
  static PyMethodDef functions[] = {
      {"instances", instances, METH_VARARGS,
       "instances(objects, classes): those objects of a list whose own type is the class, one of the\n"
       "tuple of classes, or derived from it, in order. Runs nothing of theirs: __class__ and\n"
       "__instancecheck__ have no say."},
      {"share_memory", share_memory, METH_VARARGS,
       "share_memory(tensors, means) -> (kinds, which, shares): the kinds that there are, and for each\n"
       "tensor the place of its kind among them and the bytes counted at it. Each byte of their storages\n"
       "counts at one of them. See struct means in tensors.c; the one caller is vramscope._tensors."},
      {NULL, NULL, 0, NULL},
  };
  return PyModule_AddFunctions(module, functions);
}
