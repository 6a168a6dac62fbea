/* What the files of the core share. */
#ifndef VS_SIMCUDA_PROCESS_INTERNAL_H
#define VS_SIMCUDA_PROCESS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "faces/simcuda/core/readback_values.h"
#include "faces/simcuda/core/machine.h"
#include "faces/simcuda/core/process.h"

/* One visible device, by figures that stay where they are even when the shared machine is unmapped. */
typedef struct vs_visible_device {
  vs_sim_card card;
  vs_sim_gpu gpu;
  uint32_t number; /* of the card */
  atomic_bool is_used;
} vs_visible_device;

/* The one world of a process. `lock` guards sim and contents; the rest is written before the world is
 * ready and never after, but for what is atomic. */
typedef struct vs_simcuda_process {
  pthread_mutex_t lock;
  vs_configuration configuration;
  vs_machine machine;
  uint32_t device_count;
  vs_visible_device devices[VS_SIM_MAX_DEVICES];
  vs_sim sim;
  vs_readback readback;
  vs_sim_process *process; /* this process in the machine, for the counts that watchers see */
} vs_simcuda_process;

extern vs_simcuda_process vs_this_process;

/* Locks a world that has begun. */
static inline void vs_simcuda_lock_begun(void) { (void)pthread_mutex_lock(&vs_this_process.lock); }

/* What vs_simcuda_lock's NULL means. */
vs_sim_error vs_simcuda_why_not(void);

/* Reads the configuration and opens the machine where that has not been done, and says whether it can be
 * used. */
bool vs_simcuda_has_machine(void);

/* Makes the context of a device, under the lock. */
vs_sim_error vs_simcuda_use_locked(uint32_t device);

/* Adds to a count in the machine that others may read at any time and only this process writes; under the
 * lock. */
static inline void vs_count(uint64_t *count, uint64_t more) {
  __atomic_store_n(count, *count + more, __ATOMIC_RELAXED);
}

/* The library of the first face that was called, "" where none was. */
const char *vs_first_face(void);
/* A name that is not simulated was called for the first time; and what vs_simcuda_guess does. */
void vs_refused_note(const vs_face_call *call);
void vs_guess_note(const char *what, uint64_t bytes, const char *why);
/* The process ends: notes the guesses whose sums have changed. */
void vs_guesses_end(void);

/* A child after a fork: each file that has a lock of its own makes it anew. */
void vs_notes_forked(void);
void vs_readback_sites_forked(void);
void vs_refused_forked(void);

#endif
