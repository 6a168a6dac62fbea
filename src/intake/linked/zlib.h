/* The zlib that the program links. */
#ifndef VS_INTAKE_LINKED_ZLIB_H
#define VS_INTAKE_LINKED_ZLIB_H

#include "intake/zlib_codec.h"

/* NULL in a build without zlib. */
const vs_zlib_api *vs_zlib_linked(void);

/* The version of zlib, NULL in a build without it. */
const char *vs_zlib_version(void);

#endif
