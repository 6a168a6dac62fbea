#include "torch/throw.h"
#include "base/text.h"
#include "os/library.h"
#include "os/process.h"
#include <stdlib.h>

/* ---- types of C++ in the ABI of Linux */

/* c10::SourceLocation, passed by value. */
typedef struct location {
  const char *function, *file;
  uint32_t line;
} location;

/* std::string, made and destroyed by libstdc++, so that its members need not be known here. It is passed by hidden reference and
 * the caller destroys it. */
typedef union string {
  char room[32];
  void *alignment;
} string;

/* libstdc++ has two classes of that name. PyTorch's wheels before 2.7 use the old one, which `Ss` is in the names of functions. */
static const struct string_class {
  const char *construct, *destroy;  /* symbols of libstdc++ */
  const char *memory_error, *error; /* constructors of c10's exceptions that take it */
} string_classes[] = {
    {"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1EPKcmRKS3_",
     "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEED1Ev",
     "_ZN3c1016OutOfMemoryErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
     "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"},
    {"_ZNSsC1EPKcmRKSaIcE", "_ZNSsD1Ev", "_ZN3c1016OutOfMemoryErrorC1ENS_14SourceLocationESs",
     "_ZN3c105ErrorC1ENS_14SourceLocationESs"},
};

/* A virtual table begins with two words about the class. The next one is the complete-object destructor, the first virtual
 * function of every exception, which does not free the memory. */
enum { VTABLE_DESTRUCTOR = 2 };

/* Both classes have between 100 and 200 bytes; the rest is reserve for later versions. */
enum { EXCEPTION_ROOM = 1024 };

typedef struct exception_class {
  void (*construct)(void *object, location at, string *text);
  void *type;
  void **table;
} exception_class;

static struct {
  void *(*allocate_exception)(size_t size);
  void (*throw)(void *object, void *type, void (*destructor)(void *object));
  /* The last one is the allocator, which has no members. */
  void (*make_string)(string *to, const char *text, size_t size, const char *allocator);
  void (*destroy_string)(string *s);
  exception_class memory, error; /* c10::OutOfMemoryError, c10::Error */
} cxx;

/* ---- finding the symbols */

static const char runtime[] = "libstdc++.so.6", c10[] = "libc10.so", c10_cuda[] = "libc10_cuda.so";

static vs_status missing(const char *library, const char *symbol, vs_error *error) {
  return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                 "running out of memory could not be raised: %s has no %s (is PyTorch imported?)", library,
                 symbol);
}

static vs_status find_runtime(const struct string_class *strings, vs_error *error) {
  const struct {
    const char *symbol;
    void *function;
  } needed[] = {{"__cxa_allocate_exception", &cxx.allocate_exception},
                {"__cxa_throw", &cxx.throw},
                {strings->construct, &cxx.make_string},
                {strings->destroy, &cxx.destroy_string}};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    void *address = vs_library_loaded_symbol(NULL, needed[i].symbol);
    if (address == NULL) address = vs_library_loaded_symbol(runtime, needed[i].symbol);
    if (address == NULL) return missing(runtime, needed[i].symbol, error);
    memcpy(needed[i].function, &address, sizeof address);
  }
  return VS_OK;
}

/* The description of a class without a function of its own outside its header, as OutOfMemoryError before 2.15, is in each
 * library that uses it instead of in libc10.so. C++ compares such descriptions by name, so any of them can be used. */
static void *find_description(const char *symbol) {
  void *in_c10 = vs_library_loaded_symbol(c10, symbol);
  return in_c10 != NULL ? in_c10 : vs_library_loaded_symbol(c10_cuda, symbol);
}

static vs_status find_class(exception_class *class, const char *constructor, const char *type,
                            const char *table, vs_error *error) {
  vs_library_loaded_function(c10, constructor, &class->construct);
  class->type = find_description(type);
  class->table = find_description(table);
  if (class->construct == NULL) return missing(c10, constructor, error);
  if (class->type == NULL) return missing(c10, type, error);
  return class->table == NULL ? missing(c10, table, error) : VS_OK;
}

vs_status vs_torch__throw_prepare(vs_error *error) {
  const struct string_class *strings = &string_classes[0];
  if (vs_library_loaded_symbol(c10, strings->error) == NULL &&
      vs_library_loaded_symbol(c10, string_classes[1].error) != NULL)
    strings = &string_classes[1];
  VS_TRY(find_runtime(strings, error));
  VS_TRY(find_class(&cxx.error, strings->error, "_ZTIN3c105ErrorE", "_ZTVN3c105ErrorE", error));
  /* Before 2.15 the derived class inherits the constructor without exporting it. The base's constructor does the same, if the
   * pointer to the virtual table is replaced afterwards. */
  const char *constructor =
      vs_library_loaded_symbol(c10, strings->memory_error) != NULL ? strings->memory_error : strings->error;
  return find_class(&cxx.memory, constructor, "_ZTIN3c1016OutOfMemoryErrorE", "_ZTVN3c1016OutOfMemoryErrorE",
                    error);
}

/* ---- throwing */

_Noreturn static void give_up(const char *text, size_t size) {
  vs_stderr_put("vramscope: ", 11);
  vs_stderr_put(text, size);
  vs_stderr_put("\n", 1);
  abort(); /* PyTorch would use a null pointer as a tensor's memory */
}

_Noreturn static void throw(const exception_class *class, const char *text, size_t size) {
  string what;
  /* vs_torch__throw_prepare was not called, or did not find everything. */
  if (class->construct == NULL || class->type == NULL || class->table == NULL) give_up(text, size);
  VS_ASSERT(cxx.allocate_exception != NULL && cxx.throw != NULL && cxx.make_string != NULL &&
            cxx.destroy_string != NULL);
  cxx.make_string(&what, text, size, ""); /* if this fails it throws, which is an exception too */
  void *exception = cxx.allocate_exception(EXCEPTION_ROOM);
  class->construct(exception, (location){"malloc", "vramscope", 0}, &what);
  cxx.destroy_string(&what);
  /* The class's own virtual table, in case the constructor was the base's. */
  void *table = &class->table[VTABLE_DESTRUCTOR];
  memcpy(exception, &table, sizeof table);
  void (*destructor)(void *object);
  memcpy(&destructor, table, sizeof destructor);
  cxx.throw(exception, class->type, destructor);
  give_up(text, size); /* cxx.throw does not return */
}

_Noreturn void vs_torch__throw_memory(const char *text, size_t size) { throw(&cxx.memory, text, size); }
_Noreturn void vs_torch__throw_error(const char *text, size_t size) { throw(&cxx.error, text, size); }
