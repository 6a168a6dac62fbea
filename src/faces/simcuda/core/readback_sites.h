/* Where the program reads values that the simulation does not compute: each copy from the device to the
 * host.
 *
 * A place is the Python stack of the reading thread, innermost frame first, and whether the read was large
 * (a checkpoint is not a decision). Each is noted once, and its count when the process ends. There is room
 * for VS_READBACK_SITES of them; reads at further ones count for place 0, as do reads of threads that Python
 * does not know, or that have no Python frames.
 *
 * The interpreter is asked through the functions that every CPython exports, if there is one in the
 * process. Most programs let go of the interpreter's lock while they wait for a copy, so it has to be
 * taken: as PyTorch does when it records who allocates. VRAMSCOPE_SIM_STACKS=0 leaves that out. */
#ifndef VS_SIMCUDA_READBACK_SITES_H
#define VS_SIMCUDA_READBACK_SITES_H

#include <vramscope/base.h>

enum { VS_READBACK_SITES = 1024, VS_READBACK_FRAMES = 32, VS_READBACK_LARGE = 64 << 10 };

/* Before notes are opened: whether the interpreter is asked. */
void vs_readback_sites_open(bool with_stacks);

/* The calling thread copied `bytes` from the device. No lock of ours is held. */
void vs_readback_sites_note(uint64_t bytes);

/* The process ends: notes the counts. */
void vs_readback_sites_end(void);

#endif
