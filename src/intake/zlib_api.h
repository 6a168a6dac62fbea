/* zlib as a table of functions. A program that links zlib fills it with these (linked/zlib.h); the library, which does not,
 * takes them from the libz.so.1 that it finds while the program runs (zlib_load.h). */
#ifndef VS_INTAKE_ZLIB_API_H
#define VS_INTAKE_ZLIB_API_H

#include <zlib.h>

/* No member is NULL. */
struct vs_zlib_api {
#define VS_ZLIB(member, name) __typeof__(name) *(member);
#include "intake/zlib_api.def"
#undef VS_ZLIB
};

#endif
