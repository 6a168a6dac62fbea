/* Names places in programs and libraries: function, file and line from symbol tables and debug information, if this machine
 * has the same files as the one on which the recording was made.
 *
 * A recording is not trusted: a file is used only if its build id is the recorded one, and nothing is downloaded. */
#ifndef VS_INTAKE_LINKED_SYMBOLS_H
#define VS_INTAKE_LINKED_SYMBOLS_H

#include "base/text.h"

typedef struct vs_symbols vs_symbols;

/* The version of elfutils, NULL in a build without it. */
const char *vs_symbols_version(void);

/* Owner: the caller, vs_symbols_destroy, which accepts NULL. Fails: VS_UNSUPPORTED  this build has no
 * elfutils; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_symbols_create(const vs_host *host, vs_symbols **out);
void vs_symbols_destroy(vs_symbols *symbols);

/* The name function of vs_load_options; with `symbols` NULL it finds no names. */
size_t vs_symbols_name(void *symbols, vs_str path, vs_str build_id, uint64_t offset, vs_place_name *names);

#endif
