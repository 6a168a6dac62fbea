/* XXH3, 64 bits, default secret, no seed, as in xxHash 0.8; libraries for it exist in every language. Implemented
 * here because xxHash's header needs a C library, which WebAssembly does not have. */
#ifndef VS_TRACEFILE_CHECKSUM_H
#define VS_TRACEFILE_CHECKSUM_H

#include "base/check.h"

/* `size` is at least 17: XXH3's three variants for shorter inputs are not implemented. */
uint64_t vs_checksum(const void *data, size_t size);

#endif
