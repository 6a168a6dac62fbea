/* What code is loaded in this process: programs and libraries, with what it takes to find their symbols
 * later, elsewhere. */
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

/* All modules; *module is borrowed for the call. Stops at a failure of `visit` and returns it. Called
 * where the program may be in the middle of a malloc: so takes no memory. */
VS_MUST_CHECK vs_status vs_modules_visit(vs_status (*visit)(void *ctx, const vs_module *module), void *ctx);

/* A number that changes whenever modules come or go. */
uint64_t vs_modules_version(void);

#endif
