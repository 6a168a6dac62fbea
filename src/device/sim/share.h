/* The file that the processes on one simulated machine map. dryrun creates it, its children find it by VRAMSCOPE_SIM_NODE. The
 * lock is in the first page, the machine begins at the second one. Readers that only watch need no lock: every figure of the
 * machine is a 64-bit word. */
#ifndef VS_SIM_SHARE_H
#define VS_SIM_SHARE_H

#include "device/sim/machine.h"

enum { VS_SHARE_MACHINE_OFFSET = 4096 };
#define VS_SHARE_SIZE (VS_SHARE_MACHINE_OFFSET + sizeof(vs_sim_machine))

#endif
