/* What NVTX 3 is to a tool: functions that do nothing until their first call has looked for one in the file that NVTX_INJECTION64_PATH
 * names. It exports them under NVTX's own names, as libnvToolsExt.so does. TOOL: an own tool instead, which counts. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

typedef void function(void);
typedef struct callbacks {
  size_t size;
  int (*functions)(int module, function ****functions, uint32_t *count);
} callbacks;

#if TOOL

static int pushes;

static int push(const char *name) {
  (void)name;
  return pushes++;
}

int nvtx_pushes(void) { return pushes; }

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t)) {
  function ***functions;
  uint32_t count;
  const callbacks *all = get_table(1);
  all->functions(1, &functions, &count);
  *functions[9] = (function *)push;
  return 1;
}

#else

/* One function: its place in a table, its type, what it returns without a tool, its parameters and arguments. */
#define FUNCTIONS(F)                                                                                                     \
  F(1, 4, uint64_t, nvtxRangeStartEx, 0, (const void *e), (e))                                                           \
  F(1, 5, uint64_t, nvtxRangeStartA, 0, (const char *s), (s))                                                            \
  F(1, 6, uint64_t, nvtxRangeStartW, 0, (const wchar_t *s), (s))                                                         \
  F(1, 8, int, nvtxRangePushEx, -2, (const void *e), (e))                                                                \
  F(1, 9, int, nvtxRangePushA, -2, (const char *s), (s))                                                                 \
  F(1, 10, int, nvtxRangePushW, -2, (const wchar_t *s), (s))                                                             \
  F(1, 11, int, nvtxRangePop, -2, (void), ())                                                                            \
  F(5, 2, uint64_t, nvtxDomainRangeStartEx, 0, (void *d, const void *e), (d, e))                                         \
  F(5, 4, int, nvtxDomainRangePushEx, -2, (void *d, const void *e), (d, e))                                              \
  F(5, 5, int, nvtxDomainRangePop, -2, (void *d), (d))                                                                   \
  F(5, 10, void *, nvtxDomainRegisterStringA, NULL, (void *d, const char *s), (d, s))                                    \
  F(5, 11, void *, nvtxDomainRegisterStringW, NULL, (void *d, const wchar_t *s), (d, s))                                 \
  F(5, 12, void *, nvtxDomainCreateA, NULL, (const char *s), (s))                                                        \
  F(5, 13, void *, nvtxDomainCreateW, NULL, (const wchar_t *s), (s))

/* Of those that return nothing. */
#define ENDS(F)                                  \
  F(1, 7, nvtxRangeEnd, (uint64_t i), (i))       \
  F(5, 3, nvtxDomainRangeEnd, (void *d, uint64_t i), (d, i))

#define POINTER(module, number, type, name, nothing, parameters, arguments) static type(*call_##name) parameters;
FUNCTIONS(POINTER)
#define END_POINTER(module, number, name, parameters, arguments) static void(*call_##name) parameters;
ENDS(END_POINTER)

static function **core[16], **domains[16];

static int functions_of(int module, function ****functions, uint32_t *count) {
  if (module != 1 && module != 5) return 0;
  *functions = module == 1 ? core : domains;
  *count = 16;
  return 1;
}

static const callbacks exported = {sizeof exported, functions_of};
static const void *table(uint32_t id) { return id == 1 ? &exported : NULL; }

static void begin(void) {
  static int has_begun;
  int (*initialize)(const void *(*)(uint32_t));
  const char *path = getenv("NVTX_INJECTION64_PATH");
  if (has_begun++) return;
#define PLACE(module, number, type, name, nothing, parameters, arguments) \
  (module == 1 ? core : domains)[number] = (function **)&call_##name;
  FUNCTIONS(PLACE)
#define END_PLACE(module, number, name, parameters, arguments) \
  (module == 1 ? core : domains)[number] = (function **)&call_##name;
  ENDS(END_PLACE)
  void *tool = path == NULL ? NULL : dlopen(path, RTLD_LAZY);
  *(void **)&initialize = tool == NULL ? NULL : dlsym(tool, "InitializeInjectionNvtx2");
  if (initialize != NULL && !initialize(table)) exit(3);
}

#define DEFINE(module, number, type, name, nothing, parameters, arguments) \
  type name parameters {                                                   \
    begin();                                                               \
    return call_##name == NULL ? (type)nothing : call_##name arguments;    \
  }
FUNCTIONS(DEFINE)
#define END_DEFINE(module, number, name, parameters, arguments) \
  void name parameters {                                        \
    begin();                                                    \
    if (call_##name != NULL) call_##name arguments;             \
  }
ENDS(END_DEFINE)

#endif
