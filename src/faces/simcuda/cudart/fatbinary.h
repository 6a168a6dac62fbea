/* Fat binaries: the containers in which a compiler leaves kernels for several architectures.
 *
 *   wrapper    magic 0x466243b1, version, address of the container
 *   container  16 bytes: magic 0xba55ed50, version (2), size of this head (2), size of what follows (8)
 *   entries    one behind the other: kind (2; 1 PTX, 2 cubin), version (2), size of this head (4), size of
 *              the code (8), ... at 28 the architecture (4; 86 for 8.6), ... at 40 flags (8); then the code
 *
 * All numbers are little endian. Of the flags two matter: bit 20, code for exactly this architecture ("90a"),
 * and bit 21, for its family ("100f"). The layout is publicly documented by decompressors and disassemblers; the
 * meaning of the two bits was found by comparing libraries with known build options. The code itself, mostly
 * compressed, is never read. */
#ifndef VS_SIMCUDA_FATBINARY_H
#define VS_SIMCUDA_FATBINARY_H

#include "base/check.h"

enum {
  VS_FATBINARY_WRAPPER_MAGIC = 0x466243b1,
  VS_FATBINARY_HEAD_SIZE = 16,
};

typedef enum vs_fatbinary_result {
  VS_FATBINARY_CHOSEN,
  VS_FATBINARY_NOTHING_FITS, /* the container has code, but none for this device */
  VS_FATBINARY_UNREADABLE,   /* no container, or one of an unknown kind: no statement is possible */
} vs_fatbinary_result;

/* The code that a driver would run; architectures are 10 * major + minor. `binary` is the cubin's architecture,
 * or the device's own if PTX is compiled for it. */
typedef struct vs_fatbinary_choice {
  uint32_t ptx, binary;
} vs_fatbinary_choice;

/* The size of a container by its head; 0 if there is no container at `head`, which has at least
 * VS_FATBINARY_HEAD_SIZE readable bytes. */
uint64_t vs_fatbinary_size(const void *head);

/* The cubin that a driver would choose for a device of compute capability major.minor, else the PTX:
 *   cubin  same major and not newer: the newest such; "a" fits only its own capability, "f" counts as no suffix
 *   PTX    not newer: the newest such; "a" and "f" as above */
vs_fatbinary_result vs_fatbinary_choose(const void *data, uint64_t size, uint32_t major, uint32_t minor,
                                        vs_fatbinary_choice *choice);

#endif
