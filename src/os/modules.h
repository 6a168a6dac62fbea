/* The programs and libraries that are loaded in this process, with what is needed to look up their symbols later or
 * on another machine. */
#ifndef VS_OS_MODULES_H
#define VS_OS_MODULES_H

#include <vramscope/base.h>

enum { VS_BUILD_ID_MOST = 32 };

/* An address `pc` of the module is `pc - base` in its file's own numbering (that of its symbol table). */
typedef struct vs_module {
  const char *path; /* of the file; "" where it has none (code of the kernel's) */
  uint64_t base;
  uint64_t start, end;    /* addresses of its code: [start, end) */
  uint32_t build_id_size; /* 0: it has none */
  uint8_t build_id[VS_BUILD_ID_MOST];
} vs_module;

/* All modules; *module is borrowed for the call. Stops at a failure of `visit` and returns it. Takes pages of memory and no malloc,
 * because the program may be in the middle of one; `visit` is called without the loader's lock, so it may do anything.
 * Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_modules_visit(vs_status (*visit)(void *ctx, const vs_module *module), void *ctx);

/* A number that changes whenever a module is loaded or unloaded. */
uint64_t vs_modules_version(void);

#endif
