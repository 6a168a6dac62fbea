/* The lines of Python where the program reads values that the simulation does not compute: each copy from the
 * device to the host.
 *
 * A site is the Python stack of the reading thread, innermost frame first, and whether the read was large checkpoint, unlike a small read, rarely decides a branch)
(a large read is a checkpoint, not a value that the program branches on)
 * checkpoint, unlike a small read, rarely decides a branch). A site is noted at its first read, and its count
 * when the process ends. There are at most VS_READBACK_SITES of them. Reads at further sites count for site 0,
 * as do reads of threads that Python does not know or that have no Python frames.
 *
 * The interpreter is called through functions that every CPython exports, if the process has one. Most programs
 * release the interpreter's lock while they wait for a copy, so it is taken here, as PyTorch does when it
 * records the stack of an allocation. VRAMSCOPE_SIM_STACKS=0 switches the stacks off. */
#ifndef VS_SIMCUDA_READBACK_SITES_H
#define VS_SIMCUDA_READBACK_SITES_H

#include <vramscope/base.h>

enum { VS_READBACK_SITES = 1024, VS_READBACK_FRAMES = 32, VS_READBACK_LARGE = 64 << 10 };

/* Called before the notes are opened: whether Python stacks are read. */
void vs_readback_sites_open(bool with_stacks);

/* The calling thread copied `bytes` from the device. The caller holds none of our locks. */
void vs_readback_sites_note(uint64_t bytes);

/* At the end of the process: notes the counts. */
void vs_readback_sites_end(void);

#endif
