/* XXH3, 64 bits, default secret, no seed: as xxHash 0.8 has it, and as every language can compute it. Our
 * own lines, because its header wants a C library that WebAssembly does not have. */
#ifndef VS_TRACEFILE_CHECKSUM_H
#define VS_TRACEFILE_CHECKSUM_H

#include "base/check.h"

/* Of 17 bytes or more: shorter ones, which XXH3 has three more ways for, do not occur. */
uint64_t vs_checksum(const void *data, size_t size);

#endif
