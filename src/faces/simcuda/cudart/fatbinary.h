/* Fat binaries: the containers in which a compiler leaves kernels for several architectures.
 *
 *   wrapper    magic 0x466243b1, version, address of the container
 *   container  16 bytes: magic 0xba55ed50, version (2), size of this head (2), size of what follows (8)
 *   entries    one behind the other: kind (2; 1 PTX, 2 cubin), version (2), size of this head (4), size of
 *              the code (8), ... at 28 the architecture (4; 86 for 8.6), ... at 40 flags (8); then the code
 *
 * All numbers are little endian. Of the flags two matter: bit 20, code for exactly this architecture ("90a"),
 * and bit 21, for its family ("100f"). The layout is described in public places (decompressors,
 * disassemblers); the meaning of the two bits is read off libraries whose build options are known. The code
 * itself, mostly compressed, is never looked at. */
#ifndef VS_SIMCUDA_FATBINARY_H
#define VS_SIMCUDA_FATBINARY_H

#include "base/check.h"

enum {
  VS_FATBINARY_WRAPPER_MAGIC = 0x466243b1,
  VS_FATBINARY_HEAD_SIZE = 16,
};

typedef enum vs_fatbinary_result {
  VS_FATBINARY_CHOSEN,
  VS_FATBINARY_NOTHING_FITS, /* it has code, but none for this device */
  VS_FATBINARY_UNREADABLE,   /* no container, or one of another kind: nothing can be said */
} vs_fatbinary_result;

/* What a driver would run: architectures as 10 * major + minor. `binary` is the cubin's, or the device's own
 * where PTX is compiled for it. */
typedef struct vs_fatbinary_choice {
  uint32_t ptx, binary;
} vs_fatbinary_choice;

/* The size of a container by its head; 0 if there is none at `head`, of which VS_FATBINARY_HEAD_SIZE bytes
 * can be read. */
uint64_t vs_fatbinary_size(const void *head);

/* The cubin that a driver would choose for a device of compute capability major.minor, else the PTX:
 *   cubin  same major and not newer: the newest such; "a" fits its own capability only, "f" is like none
 *   PTX    not newer: the newest such; "a" and "f" as above */
vs_fatbinary_result vs_fatbinary_choose(const void *data, uint64_t size, uint32_t major, uint32_t minor,
                                        vs_fatbinary_choice *choice);

#endif
