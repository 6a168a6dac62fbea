/* The machine that this process runs on, with its cards: alone or shared with other processes,
 * and its lock.
 *
 * It is there before the world is: NVML asks about cards in processes that never use CUDA. A process
 * enters the machine when its world begins and leaves when it ends; what a process that was killed left
 * behind is reaped by the others.
 *
 * The lock is that of the memory's first page (os/sharedlock.h) for a machine of our own, too. It nests in
 * the world's lock. */
#ifndef VS_SIMCUDA_MACHINE_H
#define VS_SIMCUDA_MACHINE_H

#include "device/sim/share.h"
#include "faces/simcuda/core/configuration.h"

typedef struct vs_machine {
  uint8_t *memory; /* VS_SHARE_SIZE bytes: the page of the lock, then the machine */
  vs_sim_machine *sim_machine;
  bool is_shared;
  uint32_t slot; /* of this process; VS_MACHINE_NO_SLOT before it entered and after it left */
} vs_machine;

#define VS_MACHINE_NO_SLOT UINT32_MAX

/* The machine of a configuration. What it maps stays for ever. false: `problem` is a sentence. */
bool vs_machine_open(vs_machine *machine, const vs_configuration *configuration,
                     char problem[static VS_CONFIGURATION_PROBLEM]);

/* For a child after a fork: nobody here holds the lock of a machine of its own, whoever held it in the
 * parent. */
void vs_machine_forked(vs_machine *machine);

/* Repairs the machine where its last owner died. */
void vs_machine_lock(vs_machine *machine);
void vs_machine_unlock(vs_machine *machine);

/* Under the lock: lets processes leave that are not there any more. Whether there were some. */
bool vs_machine_reap(vs_machine *machine);

/* Take the lock themselves. enter fails: VS_SIM_OUT_OF_MEMORY  too many processes */
vs_sim_error vs_machine_enter(vs_machine *machine);
void vs_machine_leave(vs_machine *machine);

static inline vs_sim_process *vs_machine_process(const vs_machine *machine) {
  return &machine->sim_machine->processes[machine->slot];
}

/* When a process began, in ticks since the machine did; 0: it is not there, or a corpse. `pid` 0: this
 * one. */
uint64_t vs_process_started(uint32_t pid);

#endif
