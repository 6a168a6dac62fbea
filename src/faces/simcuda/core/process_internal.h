/* The state that the files of the core share, and the functions that only they call. */
#ifndef VS_SIMCUDA_PROCESS_INTERNAL_H
#define VS_SIMCUDA_PROCESS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "faces/simcuda/core/stored_values.h"
#include "faces/simcuda/core/machine.h"
#include "faces/simcuda/core/process.h"

/* One visible device. The figures are copies, which stay valid when the shared machine is unmapped. */
typedef struct vs_visible_device {
  vs_sim_card card;
  vs_sim_gpu gpu;
  uint32_t number; /* of the card in the machine */
  atomic_bool is_used;
} vs_visible_device;

/* The simulation of this process. `lock` guards sim and stored. The other fields are written before the state
 * becomes READY and never after, except the atomic ones. */
typedef struct vs_simcuda_process {
  pthread_mutex_t lock;
  vs_configuration configuration;
  vs_machine machine;
  uint32_t device_count;
  vs_visible_device devices[VS_SIM_MAX_DEVICES];
  vs_sim sim;
  vs_stored_values stored;
  vs_sim_process *process; /* this process in the machine; watchers read its counts */
} vs_simcuda_process;

extern vs_simcuda_process vs_this_process;

/* Locks a simulation that has begun. */
static inline void vs_simcuda_lock_begun(void) { (void)pthread_mutex_lock(&vs_this_process.lock); }

/* For assertions: a thread holds the lock. (That it is the caller cannot be seen.) */
static inline bool vs_simcuda_is_locked(void) {
  if (pthread_mutex_trylock(&vs_this_process.lock) != 0) return true;
  (void)pthread_mutex_unlock(&vs_this_process.lock);
  return false;
}

/* The error for which vs_simcuda_lock returned NULL. */
vs_sim_error vs_simcuda_why_not(void);

/* Reads the configuration and opens the machine on the first call; returns whether the machine can be used. */
bool vs_simcuda_has_machine(void);

/* Makes the context of a device. Under the lock. */
vs_sim_error vs_simcuda_use_locked(uint32_t device);

/* Adds to a count in the machine that other processes may read at any time and only this process writes. Under the
 * lock. */
static inline void vs_count(uint64_t *count, uint64_t more) {
  __atomic_store_n(count, *count + more, __ATOMIC_RELAXED);
}

/* The library of the first face that was called; "" if there was no call. */
const char *vs_first_face(void);
/* The first call of a name that is not simulated. */
void vs_refused_note(const vs_face_call *call);
/* vs_simcuda_guess_below, once the notes are open. */
void vs_guess_note(const char *what, uint64_t bytes, uint64_t most, const char *why);
/* At the end of the process: notes the guesses whose sums have changed. */
void vs_guesses_end(void);

/* Called in a forked child: each file initialises its own lock again, since another thread of the parent may
 * have held it. */
void vs_notes_forked(void);
void vs_readback_sites_forked(void);
void vs_refused_forked(void);

#endif
