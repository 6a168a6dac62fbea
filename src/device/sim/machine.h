/* The machine's cards, and who uses how much of them.
 *
 * One block of bytes without pointers, of fixed size, so that it can lie in memory that several processes
 * share. There is no lock inside: whoever shares it holds one around every call that changes it.
 *
 *   processes[] are the truth: what each process holds of each card, its contexts among it. The sums in
 *   cards[] are kept beside them, so that a question costs nothing.
 *
 * Invariant (vs_sim_machine_check): card.used_bytes = card.taken_bytes + sum over the processes of their
 * used_bytes <= card.figures.total_bytes; use.context_bytes <= use.used_bytes <= use.peak_bytes; a process
 * that has left holds nothing. Every change writes the process first, then the card: after a process has
 * died inside of one, vs_sim_machine_repair makes the sums true again. */
#ifndef VS_DEVICE_SIM_MACHINE_H
#define VS_DEVICE_SIM_MACHINE_H

#include "device/sim/error.h"
#include "device/sim/profile.h"

enum {
  VS_SIM_MAX_PROCESSES = 256,
  VS_SIM_NAME_SIZE = 96,
  VS_SIM_KEY_SIZE = 24,
};

typedef struct vs_sim_card {
  char name[VS_SIM_NAME_SIZE]; /* "NVIDIA H100 80GB HBM3 (simulated)": it never passes for a real one */
  char key[VS_SIM_KEY_SIZE];   /* of its profile */
  vs_sim_figures figures;
  uint64_t taken_bytes;   /* by "another process", from the beginning to the end */
  uint64_t context_bytes; /* what the first use costs each process */
  uint64_t used_bytes;    /* by all processes and "another one" */
  uint64_t peak_bytes;    /* the highest that used_bytes - taken_bytes was, contexts included */
  uint64_t largest_refused_bytes;
  uint64_t refused_count;
} vs_sim_card;

/* One process on one card. */
typedef struct vs_sim_use {
  uint64_t used_bytes;    /* with the context */
  uint64_t context_bytes; /* of it for the context */
  uint64_t has_context;   /* 1: the card was used; its context may well cost nothing */
  uint64_t peak_bytes;    /* the highest used_bytes was */
  uint64_t largest_refused_bytes;
  uint64_t refused_count;
} vs_sim_use;

typedef enum vs_sim_process_state {
  VS_SIM_PROCESS_FREE = 0,
  VS_SIM_PROCESS_LIVE,
  VS_SIM_PROCESS_LEFT, /* holds nothing; what it held at most stays to be read until its slot is needed */
} vs_sim_process_state;

typedef struct vs_sim_process {
  uint32_t state;
  uint32_t pid;
  uint64_t started;               /* of the pid, in any unit that differs between two processes of one pid */
  uint64_t entered, left;         /* numbers of one sequence: who came and went before whom; 0: not yet */
  uint64_t steps, reads, kernels; /* for those who watch; the process writes them itself */
  vs_sim_use use[VS_SIM_MAX_DEVICES];
} vs_sim_process;

#define VS_SIM_MACHINE_MAGIC \
  UINT64_C(0x31656e2d6d69732d) /* with the version of this layout in the last byte */

typedef struct vs_sim_machine {
  uint64_t magic;
  uint64_t size;     /* of this struct: another build of the library would not agree */
  uint64_t sequence; /* of comings and goings */
  uint32_t card_count;
  uint32_t process_limit; /* slots from here on were never used: nobody has to look at them */
  vs_sim_card cards[VS_SIM_MAX_DEVICES];
  vs_sim_process processes[VS_SIM_MAX_PROCESSES];
} vs_sim_machine;

/* `block`: sizeof(vs_sim_machine) bytes, aligned for uint64_t, anywhere. A count of 0 is a machine without a
 * card.
 *
 * Fails: VS_BAD_ARGUMENT  too many cards, one of more than 1 TiB, or one whose context and taken memory
 *                         are more than it has */
VS_MUST_CHECK vs_status vs_sim_machine_init(vs_sim_machine *block, const vs_sim_gpu *gpus, uint32_t count);

/* Whether `size` bytes at `block` are a machine of this build: for those who are handed one. */
bool vs_sim_machine_is_ours(const void *block, uint64_t size);

/* A process comes: *slot is its own until it leaves. Takes a slot never used, then the one left longest ago.
 * Fails: VS_SIM_DEVICE_UNAVAILABLE  256 processes are there */
VS_MUST_CHECK vs_sim_error vs_sim_machine_enter(vs_sim_machine *machine, uint32_t pid, uint64_t started,
                                                uint32_t *slot);

/* A process goes: all it held comes back. Peaks stay to be read. */
void vs_sim_machine_leave(vs_sim_machine *machine, uint32_t slot);

/* Takes `bytes` of a card, or all of it stays as it was. No rounding here.
 * Fails: VS_SIM_OUT_OF_MEMORY (and remembers the request), VS_SIM_INVALID_DEVICE */
VS_MUST_CHECK vs_sim_error vs_sim_machine_take(vs_sim_machine *machine, uint32_t slot, uint32_t device,
                                               uint64_t bytes);

/* Of what it took, not of its context. More than that is an error of the caller: it gives back what there
 * is. */
void vs_sim_machine_give(vs_sim_machine *machine, uint32_t slot, uint32_t device, uint64_t bytes);

/* The context of a process on a card: made at first use, a second time changes nothing. `extra` more bytes
 * go with it (larger stacks, loaded code). Fails as take. */
VS_MUST_CHECK vs_sim_error vs_sim_machine_context(vs_sim_machine *machine, uint32_t slot, uint32_t device);
VS_MUST_CHECK vs_sim_error vs_sim_machine_context_grow(vs_sim_machine *machine, uint32_t slot,
                                                       uint32_t device, uint64_t extra);

/* Gives back all that a process holds of one card, its context too (a reset of the device). */
void vs_sim_machine_reset(vs_sim_machine *machine, uint32_t slot, uint32_t device);

static inline uint64_t vs_sim_machine_free_bytes(const vs_sim_machine *machine, uint32_t device) {
  return machine->cards[device].figures.total_bytes - machine->cards[device].used_bytes;
}

/* Asks `is_alive` about every process and lets those leave that are not. Returns how many that were. */
uint32_t vs_sim_machine_reap(vs_sim_machine *machine,
                             bool (*is_alive)(void *ctx, uint32_t pid, uint64_t started), void *ctx);

/* Computes all sums again from what the processes hold. For a lock whose owner died. */
void vs_sim_machine_repair(vs_sim_machine *machine);

/* Executes the invariant. */
bool vs_sim_machine_check(const vs_sim_machine *machine);

#endif
