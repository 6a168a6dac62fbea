/* The simulated machine with its cards that this process uses, alone or shared with other processes,
 * and its lock.
 *
 * It is opened before the simulation begins: NVML asks about cards in processes that never use CUDA. A
 * process enters the machine when its simulation begins and leaves when it ends. The others free the memory of
 * a process that was killed.
 *
 * The lock is in the memory's first page (os/sharedlock.h), also if the machine is not shared. It is taken
 * inside the simulation's lock, never outside it. */
#ifndef VS_SIMCUDA_MACHINE_H
#define VS_SIMCUDA_MACHINE_H

#include "device/sim/share.h"
#include "faces/simcuda/core/configuration.h"

typedef struct vs_machine {
  uint8_t *memory; /* VS_SHARE_SIZE bytes: the lock's page, and the machine */
  vs_sim_machine *sim_machine;
  bool is_shared;
  uint32_t slot; /* of this process; VS_MACHINE_NO_SLOT before it enters and after it leaves */
} vs_machine;

#define VS_MACHINE_NO_SLOT UINT32_MAX

/* Opens the machine of a configuration. Its mapping is never unmapped. false: `problem` is a sentence. */
bool vs_machine_open(vs_machine *machine, const vs_configuration *configuration,
                     char problem[static VS_CONFIGURATION_PROBLEM]);

/* Called in a forked child. The lock of a machine that is not shared is initialised again: another thread of the
 * parent may have held it, and does not exist here. */
void vs_machine_forked(vs_machine *machine);

/* Also repairs the machine if the process that last held the lock died. */
void vs_machine_lock(vs_machine *machine);
void vs_machine_unlock(vs_machine *machine);

/* Removes killed processes; returns whether there were any. Under the lock. */
bool vs_machine_reap(vs_machine *machine);

/* Both take the lock. enter fails: VS_SIM_OUT_OF_MEMORY  too many processes */
vs_sim_error vs_machine_enter(vs_machine *machine);
void vs_machine_leave(vs_machine *machine);

static inline vs_sim_process *vs_machine_process(const vs_machine *machine) {
  return &machine->sim_machine->processes[machine->slot];
}

/* When a process started, in ticks since the host booted; 0 if it does not exist or is a zombie. `pid` 0:
 * this process. */
uint64_t vs_process_started(uint32_t pid);

#endif
