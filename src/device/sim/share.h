/* The file that processes on one simulated machine share: who made it (dryrun) maps it, its children find it by
 * VRAMSCOPE_SIM_NODE. The first page is the lock's, the node begins at the second. Readers that only watch need no lock:
 * every figure of the node is a 64-bit word of its own. */
#ifndef VS_SIM_SHARE_H
#define VS_SIM_SHARE_H

#include "device/sim/machine.h"

enum { VS_SHARE_MACHINE_OFFSET = 4096 };
#define VS_SHARE_SIZE (VS_SHARE_MACHINE_OFFSET + sizeof(vs_sim_machine))

#endif
