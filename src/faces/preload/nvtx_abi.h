/* NVTX 3's interface to tools, as far as it is used here, and what it keeps in each library. Our own declarations of a published interface
 * (NVIDIA/NVTX, c/include/nvtx3: nvtxDetail/nvtxTypes.h, nvtxImpl.h). */
#ifndef VS_PRELOAD_NVTX_ABI_H
#define VS_PRELOAD_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

/* A function of a table; each has a type of its own. */
typedef void nvtx_function(void);

/* The table of that number, NULL if there is none. */
typedef const void *nvtx_get_table(uint32_t table);
enum { NVTX_TABLE_CALLBACKS = 1 };

/* Stores where the functions of a module lie: `count` addresses of pointers to functions, some of them NULL. Returns 0 where it has none. */
typedef struct nvtx_callbacks {
  size_t size; /* of this struct */
  int (*functions)(int module, nvtx_function ****functions, uint32_t *count);
} nvtx_callbacks;

enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_DOMAINS = 5 };

/* The table of the version, by which a tool may also say its own. */
typedef struct nvtx_version {
  size_t size; /* of this struct */
  uint32_t version, reserved;
  void (*set_tool_version)(uint32_t version);
} nvtx_version;

enum { NVTX_VERSION_3 = 3 };

/* Whether NVTX has looked for a tool: not yet, a thread does, it has. */
enum { NVTX_FRESH, NVTX_STARTED, NVTX_COMPLETE };

/* How many entries a module's table has; entry 0 is NULL, the others are the addresses of that module's functions, in their order. */
enum { NVTX_CORE = 16, NVTX_CUDA = 9, NVTX_OPENCL = 15, NVTX_CUDART = 7, NVTX_DOMAINS = 16, NVTX_SYNC = 7 };
enum {
  NVTX_MODULES = 6,
  NVTX_ENTRIES = NVTX_CORE + NVTX_CUDA + NVTX_OPENCL + NVTX_CUDART + NVTX_DOMAINS + NVTX_SYNC,
  NVTX_FUNCTIONS = NVTX_ENTRIES - NVTX_MODULES,
  NVTX_INITIALIZE = NVTX_FUNCTIONS - NVTX_SYNC, /* the last function of the domains: void (const void *) */
  NVTX_CORE_TABLE = 0,
  NVTX_DOMAINS_TABLE = NVTX_CORE + NVTX_CUDA + NVTX_OPENCL + NVTX_CUDART + 4,
};

/* What a library has in its data if NVTX 3 is compiled into it. The layout belongs to version 3: the linker makes one of those that the parts
 * of a program have, which may be compiled with different releases. Before NVTX has looked for a tool, the functions are its own, which
 * look for one; after that those of the tool, or NULL, and a function that is NULL is not called. */
typedef struct nvtx_globals {
  uint32_t state;
  nvtx_callbacks callbacks;
  nvtx_version version;
  nvtx_function *functions[NVTX_FUNCTIONS];
  nvtx_function **tables[NVTX_ENTRIES + NVTX_MODULES]; /* of the modules; behind each is a NULL */
} nvtx_globals;

/* In the module NVTX_MODULE_CORE. A name: bytes, or wide characters. */
enum {
  NVTX_RANGE_START_EVENT = 4, /* uint64_t (const nvtx_event *) */
  NVTX_RANGE_START,           /* uint64_t (const char *) */
  NVTX_RANGE_START_WIDE,      /* uint64_t (const wchar_t *) */
  NVTX_RANGE_END,             /* void (uint64_t) */
  NVTX_RANGE_PUSH_EVENT,      /* int (const nvtx_event *) */
  NVTX_RANGE_PUSH,            /* int (const char *) */
  NVTX_RANGE_PUSH_WIDE,       /* int (const wchar_t *) */
  NVTX_RANGE_POP,             /* int (void) */
};

/* In the module NVTX_MODULE_DOMAINS. A domain: NULL is the one of the functions above. */
enum {
  NVTX_DOMAIN_RANGE_START = 2, /* uint64_t (nvtx_name *, const nvtx_event *) */
  NVTX_DOMAIN_RANGE_END,       /* void (nvtx_name *, uint64_t) */
  NVTX_DOMAIN_RANGE_PUSH,      /* int (nvtx_name *, const nvtx_event *) */
  NVTX_DOMAIN_RANGE_POP,       /* int (nvtx_name *) */
  NVTX_REGISTER_STRING = 10,   /* nvtx_name *(nvtx_name *, const char *) */
  NVTX_REGISTER_STRING_WIDE,   /* nvtx_name *(nvtx_name *, const wchar_t *) */
  NVTX_DOMAIN_CREATE,          /* nvtx_name *(const char *) */
  NVTX_DOMAIN_CREATE_WIDE,     /* nvtx_name *(const wchar_t *) */
};

/* What a push returns where no tool counts the depth. */
enum { NVTX_NO_DEPTH = -2 };

/* A domain or a registered string: a handle, which the tool makes. */
typedef struct nvtx_name nvtx_name;

enum { NVTX_MESSAGE_BYTES = 1, NVTX_MESSAGE_WIDE, NVTX_MESSAGE_REGISTERED };

/* What an event is called, and how it looks. Later versions are longer. */
typedef struct nvtx_event {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  union {
    const char *bytes;
    const wchar_t *wide;
    const nvtx_name *registered;
  } message;
} nvtx_event;

#endif
