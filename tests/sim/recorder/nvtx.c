/* What NVTX 3 is to a tool: functions that do nothing until their first call has looked for one in the file that NVTX_INJECTION64_PATH
 * names, and what it keeps in its data. It exports them under NVTX's own names, as libnvToolsExt.so does. STUCK: a thread looks for a tool and
 * never ends. HEADER: NVIDIA's own, of a toolkit, instead. TOOL: an own tool instead, which counts. */
#if HEADER
#define NVTX_EXPORT_API
#include <nvtx3/nvToolsExt.h>
#else
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#ifndef STUCK
#define STUCK 0
#endif

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

static int functions_of(int module, function ****functions, uint32_t *count);
static void told_version(uint32_t version) { (void)version; }
static void begin(void);

#define DECLARE(module, number, type, name, nothing, parameters, arguments) static type first_##name parameters;
FUNCTIONS(DECLARE)
#define DECLARE_END(module, number, name, parameters, arguments) static void first_##name parameters;
ENDS(DECLARE_END)

/* Where the function of a module is among all. */
#define PLACE(module, number) ((module) == 1 ? (number)-1 : 42 + (number))
#define A(i)  &nvtx.functions[i]
#define A2(i) A(i), A((i) + 1)
#define A6(i) A2(i), A2((i) + 2), A2((i) + 4)

static struct globals {
  volatile uint32_t state;
  callbacks callbacks;
  struct {
    size_t size;
    uint32_t version, reserved;
    void (*told)(uint32_t version);
  } version;
  function *functions[64];
  function **tables[76];
} nvtx = {
    .state = STUCK,
    .callbacks = {sizeof(callbacks), functions_of},
    .version = {24, 3, 0, told_version},
    .functions =
        {
            [0 ... 63] = begin,
#define FIRST(module, number, type, name, nothing, parameters, arguments) \
  [PLACE(module, number)] = (function *)first_##name,
            FUNCTIONS(FIRST)
#define FIRST_END(module, number, name, parameters, arguments) \
  [PLACE(module, number)] = (function *)first_##name,
            ENDS(FIRST_END)
        },
    .tables = {NULL, A6(0),  A6(6),  A2(12), A(14),  NULL,   NULL, A6(15), A2(21), NULL, NULL,   A6(23), A6(29),
               A2(35), NULL, NULL, A6(37), NULL, NULL, A6(43), A6(49), A2(55), A(57), NULL, NULL, A6(58), NULL},
};

static int functions_of(int module, function ****functions, uint32_t *count) {
  if (module != 1 && module != 5) return 0;
  *functions = nvtx.tables + (module == 1 ? 0 : 51);
  *count = 16;
  return 1;
}

static const void *table(uint32_t id) { return id == 1 ? &nvtx.callbacks : NULL; }

static void begin(void) {
  static function *first[64];
  int (*initialize)(const void *(*)(uint32_t));
  const char *path = getenv("NVTX_INJECTION64_PATH");
  if (!__sync_bool_compare_and_swap(&nvtx.state, 0, 1)) {
    while (nvtx.state != 2) continue;
    return;
  }
  memcpy(first, nvtx.functions, sizeof first);
  void *tool = path == NULL ? NULL : dlopen(path, RTLD_LAZY);
  *(void **)&initialize = tool == NULL ? NULL : dlsym(tool, "InitializeInjectionNvtx2");
  if (initialize != NULL && !initialize(table)) exit(3);
  for (size_t i = 0; i < 64; i++)
    if (nvtx.functions[i] == first[i]) nvtx.functions[i] = NULL;
  nvtx.state = 2;
}

#define DEFINE(module, number, type, name, nothing, parameters, arguments)         \
  type name parameters {                                                           \
    type(*call) parameters = (type(*) parameters)nvtx.functions[PLACE(module, number)]; \
    return call == NULL ? (type)nothing : call arguments;                          \
  }                                                                                \
  static type first_##name parameters {                                            \
    begin();                                                                       \
    return name arguments;                                                         \
  }
FUNCTIONS(DEFINE)
#define END_DEFINE(module, number, name, parameters, arguments)                    \
  void name parameters {                                                           \
    void(*call) parameters = (void(*) parameters)nvtx.functions[PLACE(module, number)]; \
    if (call != NULL) call arguments;                                              \
  }                                                                                \
  static void first_##name parameters {                                            \
    begin();                                                                       \
    name arguments;                                                                \
  }
ENDS(END_DEFINE)

/* How many functions a tool has. */
int nvtx_functions(void) {
  int count = 0;
  for (size_t i = 0; i < 64; i++) count += nvtx.functions[i] != NULL;
  return count;
}

#endif
#endif
