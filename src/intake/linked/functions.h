/* The functions of one module, by address, as its symbol tables name them. elfutils answers such a question by a walk over the whole
 * table, which for a library of PyTorch has several hundred thousand rows.
 *
 * Invariant (with VS_WITH_LIBDW): rows are sorted by `start`, and for equal starts the preferred name comes last; rows[i].reach is the
 * largest `end` of rows[0 .. i]. */
#ifndef VS_INTAKE_LINKED_FUNCTIONS_H
#define VS_INTAKE_LINKED_FUNCTIONS_H

#include "base/vec.h"
#include <elfutils/libdwfl.h>

typedef struct vs_function {
  uint64_t start, end; /* addresses of the module; equal: the table does not say where it ends */
  uint64_t reach;
  const char *name; /* the module's */
  uint32_t section; /* where it lies, for one without an end */
} vs_function;

typedef struct vs_functions {
  const vs_host *host;
  bool is_read;
  VS_VEC(vs_function) rows;
} vs_functions;

/* Reads the tables of an open module. The functions are valid as long as the module is. vs_functions_deinit accepts zeroes, and is called
 * after a failure, too. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_functions_read(vs_functions *functions, const vs_host *host, Dwfl_Module *module);
void vs_functions_deinit(vs_functions *functions);

/* The name of the function that contains the address; NULL: none does. If none with an end does, the one without an end that begins
 * nearest below it in the section of that number. Of several names for one place: a global before a weak before a local one, then the
 * first of the table. */
const char *vs_functions_at(const vs_functions *functions, uint64_t address, uint32_t section);

#endif
