#include "intake/linked/zlib.h"

#if VS_WITH_ZLIB
#include "intake/zlib_api.h"

static const vs_zlib_api api = {
#define VS_ZLIB(member, name) .member = name,
#include "intake/zlib_api.def"
#undef VS_ZLIB
};

const vs_zlib_api *vs_zlib_linked(void) { return &api; }
const char *vs_zlib_version(void) { return zlibVersion(); }

#else

const vs_zlib_api *vs_zlib_linked(void) { return NULL; }
const char *vs_zlib_version(void) { return NULL; }

#endif
