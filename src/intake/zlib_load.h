/* zlib for a program that does not link it: libz.so.1, loaded while the program runs. */
#ifndef VS_INTAKE_ZLIB_LOAD_H
#define VS_INTAKE_ZLIB_LOAD_H

#include "intake/zlib_codec.h"

typedef struct vs_zlib_loaded vs_zlib_loaded;

/* Owner: the caller, vs_zlib_unload, which accepts NULL.
 * Fails: VS_UNSUPPORTED  there is no libz.so.1, or it lacks a function, or this build had no zlib.h; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_zlib_load(const vs_host *host, vs_zlib_loaded **out);
void vs_zlib_unload(vs_zlib_loaded *loaded);

/* Valid until it is unloaded. NULL for NULL. */
const vs_zlib_api *vs_zlib_loaded_api(const vs_zlib_loaded *loaded);

#endif
