/* The lines of Python where the program reads values that the simulation does not compute: each copy from the
 * device to the host.
 *
 * A site is the Python stack of the reading thread, innermost frame first, and whether the read was large: a large read is a
 * checkpoint, which rarely decides a branch. A site is noted at its first read, and its count when the process ends. There are at
 * most VS_READBACK_SITES of them. Reads at further sites count for site 0, as do reads of threads that Python does not know or that
 * have no Python frames.
 *
 * Some reads are given a value: those with a frame at a place of the configuration (device/sim/values.h), of which the innermost
 * decides, and those that the hook in the program names by vs_simcuda_give.
 *
 * A program that waits for a value, such as the end of a sequence, reads for ever. Two sentences on standard error say so, each
 * once, and a note with the first of them:
 *   VS_READBACK_REPEATS  so many times one thread read the same value at one site, without values of the hook, and between two of these reads the process always did the
 *                        same (vs_readback_state): as many kernels, the same writes, no other memory, no optimizer step
 *   VS_READBACK_MANY     so many reads of one site
 *
 * The interpreter is called through functions that every CPython exports, if the process has one. Most programs
 * release the interpreter's lock while they wait for a copy, so it is taken here, as PyTorch does when it
 * records the stack of an allocation. VRAMSCOPE_SIM_STACKS=0 switches the stacks off. */
#ifndef VS_SIMCUDA_READBACK_SITES_H
#define VS_SIMCUDA_READBACK_SITES_H

#include "device/sim/values.h"

enum {
  VS_READBACK_SITES = 1024,
  VS_READBACK_FRAMES = 64,
  VS_READBACK_LARGE = 64 << 10,
  VS_READBACK_REPEATS = 500,
  VS_READBACK_MANY = 10000,
};

/* What the process had done when it read. Sums, so that what happened between two reads is their difference. */
typedef struct vs_readback_state {
  uint64_t kernels, written, steps;
  uint64_t memory; /* bytes used now, and the allocator's peak */
  uint64_t value;  /* a hash of what was read */
  uint64_t thread; /* number of the reading thread: a loop is in one */
  bool is_zero;    /* a short read, all zeros */
} vs_readback_state;

/* The value that a read is given instead of its own. */
typedef struct vs_readback_override {
  bool is_there;
  uint32_t place; /* of the configuration; VS_GIVEN_MOST: the hook's */
  vs_given_value value;
} vs_readback_override;

/* Called before the notes are opened. `values` has to outlive the process's use of CUDA; `with_stacks`: whether Python stacks
 * are read. */
void vs_readback_sites_open(const vs_given_values *values, bool with_stacks);

/* The calling thread copied `bytes` from the device. `state` NULL: unknown. The caller holds none of our locks. */
vs_readback_override vs_readback_sites_note(uint64_t bytes, const vs_readback_state *state);

/* The value of this place did not fit a read of so many bytes. */
void vs_readback_sites_misfit(uint32_t place, uint64_t bytes);

/* At the end of the process: notes the counts. */
void vs_readback_sites_end(void);

#endif
