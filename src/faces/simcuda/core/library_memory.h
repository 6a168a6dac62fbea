/* Tells the recorder what libraries have of the GPUs (device/sim/library_memory.h).
 *
 * A change is seen under the simulation's lock and told after it, so that no other call of CUDA waits for the listener. The lock of this file
 * keeps the order: who has it reads all accounts anew, so what is told last is the newest. */
#ifndef VS_SIMCUDA_LIBRARY_MEMORY_H
#define VS_SIMCUDA_LIBRARY_MEMORY_H

#include "device/sim/library_memory.h"
#include "device/sim/machine.h"

/* What this process has of a device. */
typedef struct vs_library_accounts {
  const vs_sim_card *card;
  const vs_sim_process *process; /* names the accounts */
  uint64_t bytes[VS_SIM_MAX_ACCOUNTS];
  bool is_used;
} vs_library_accounts;

/* Reads them, under the simulation's lock, which the caller of these functions does not hold. False: no such device, or no simulation. */
typedef bool vs_library_reader(uint32_t device, vs_library_accounts *accounts);

/* As vs_sim_listen. */
void vs_library_memory_listen(vs_sim_library_listener *listener, vs_library_reader *read);

/* An account has changed; under the simulation's lock. */
void vs_library_memory_changed(void);

/* Tells what has changed; a few instructions if nothing has. */
void vs_library_memory_tell(vs_library_reader *read);

/* Called in a forked child, where the listener of the parent is not told. */
void vs_library_memory_forked(void);

#endif
