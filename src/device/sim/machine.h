/* The machine: its cards, and how much of them each process uses.
 *
 * It is one block of fixed size without pointers, so that several processes can map it. It contains no lock: processes that
 * share it hold one around every call that changes it.
 *
 *   processes[] has the bytes that each process holds of each card, with its contexts. cards[] has the sums over the processes,
 *   so that a query costs nothing.
 *
 *   Each use is divided into accounts: for whom the bytes are. The sums of the accounts at the moment of the card's peak can be asked
 *   for afterwards (vs_sim_machine_at_peak).
 *
 * Invariant (vs_sim_machine_check): card.used_bytes = card.taken_bytes + sum over the processes of their
 * used_bytes <= card.figures.total_bytes; use.context_bytes <= use.used_bytes <= use.peak_bytes; used_bytes is the sum of the accounts, and
 * the accounts at the card's peak sum up to card.peak_bytes unless a process that had a part in it has given its slot to another one; a
 * process that has left holds nothing. Every change writes the process first, then the card: if a process dies in
 * between, vs_sim_machine_repair makes the sums true again. */
#ifndef VS_DEVICE_SIM_MACHINE_H
#define VS_DEVICE_SIM_MACHINE_H

#include "device/sim/error.h"
#include "device/sim/profile.h"

enum {
  VS_SIM_MAX_PROCESSES = 256,
  VS_SIM_NAME_SIZE = 96,
  VS_SIM_KEY_SIZE = 24,
  VS_SIM_MAX_ACCOUNTS = 32,
  VS_SIM_LIBRARY_SIZE = 48,
};

/* The accounts from VS_SIM_FIXED_ACCOUNTS on are libraries of the process (vs_sim_machine_account). */
enum {
#define VS_SIM_ACCOUNT(account, name) VS_SIM_ACCOUNT_##account,
#include "device/sim/accounts.def"
  VS_SIM_FIXED_ACCOUNTS
};

typedef struct vs_sim_card {
  char name
      [VS_SIM_NAME_SIZE]; /* "NVIDIA H100 80GB HBM3 (simulated)", so that it is not mistaken for a real card */
  char key[VS_SIM_KEY_SIZE]; /* of its profile */
  vs_sim_figures figures;
  uint64_t taken_bytes;   /* by an imaginary other process, constant */
  uint64_t context_bytes; /* charged to each process at its first use */
  uint64_t used_bytes;    /* by all processes, plus taken_bytes */
  uint64_t peak_bytes;    /* the maximum of used_bytes - taken_bytes, contexts included */
  uint64_t peak_number;   /* how often peak_bytes rose */
  uint64_t timed_number;  /* the peak that peak_time_us is of */
  uint64_t peak_time_us;  /* of that peak, as vs_sim_machine_time_peaks was told; 0: none was told yet */
  uint64_t largest_refused_bytes;
  uint64_t refused_count;
} vs_sim_card;

/* One process on one card. */
typedef struct vs_sim_use {
  uint64_t used_bytes;    /* with the context */
  uint64_t context_bytes; /* the part of used_bytes for the context */
  uint64_t has_context;   /* 1: the context exists; it may cost 0 bytes */
  uint64_t peak_bytes;    /* the maximum of used_bytes */
  uint64_t largest_refused_bytes;
  uint64_t refused_count;
  /* Those of refused_count that were for the context: the driver's and the libraries' own memory, for which no allocator frees memory
   * and asks again. */
  uint64_t context_refused_count;
  /* What the process's caching allocator reports of itself, while it runs; only the process itself writes it. Peaks never fall.
   * 0 without has_allocator: nothing was reported. */
  uint64_t has_allocator; /* 1: it reports */
  uint64_t allocated_peak_bytes, reserved_peak_bytes;
  uint64_t out_of_memory_count; /* errors that it raised */
  uint64_t account_bytes[VS_SIM_MAX_ACCOUNTS];
  /* account_bytes as they were before the first change after the card's peak number `kept_number`. */
  uint64_t kept_bytes[VS_SIM_MAX_ACCOUNTS];
  uint64_t kept_number;
} vs_sim_use;

typedef enum vs_sim_process_state {
  VS_SIM_PROCESS_FREE = 0,
  VS_SIM_PROCESS_LIVE,
  VS_SIM_PROCESS_LEFT, /* holds nothing; its peaks can be read until its slot is needed */
} vs_sim_process_state;

typedef struct vs_sim_process {
  uint32_t state;
  uint32_t pid;
  uint64_t started;       /* start time of the pid, in any unit: it tells processes with one pid apart */
  uint64_t entered, left; /* numbers of one sequence over all processes; 0: not yet */
  uint64_t steps, reads, kernels; /* counters for watchers; only the process itself writes them */
  char libraries[VS_SIM_MAX_ACCOUNTS]
                [VS_SIM_LIBRARY_SIZE]; /* names of the accounts that are libraries; "": not used */
  vs_sim_use use[VS_SIM_MAX_DEVICES];
} vs_sim_process;

#define VS_SIM_MACHINE_MAGIC \
  UINT64_C(0x33656e2d6d69732d) /* with the version of this layout in the last byte */

typedef struct vs_sim_machine {
  uint64_t magic;
  uint64_t size;     /* of this struct: another build of the library would not agree */
  uint64_t sequence; /* the last number of `entered` or `left` */
  uint32_t card_count;
  uint32_t process_limit; /* slots from this one on were never used */
  vs_sim_card cards[VS_SIM_MAX_DEVICES];
  vs_sim_process processes[VS_SIM_MAX_PROCESSES];
} vs_sim_machine;

/* `block`: sizeof(vs_sim_machine) bytes, aligned for uint64_t, anywhere. A count of 0 is a machine without a
 * card.
 *
 * Fails: VS_BAD_ARGUMENT  too many cards, one of more than 1 TiB, or one whose context and taken memory
 *                         are more than it has */
VS_MUST_CHECK vs_status vs_sim_machine_init(vs_sim_machine *block, const vs_sim_gpu *gpus, uint32_t count);

/* Whether `size` bytes at `block` are a machine of this build, for a process that maps a machine it did not create. */
bool vs_sim_machine_is_ours(const void *block, uint64_t size);

/* Enters a process. *slot belongs to it until it leaves: a slot that was never used, else the one left longest ago.
 * Fails: VS_SIM_DEVICE_UNAVAILABLE  256 processes are live */
VS_MUST_CHECK vs_sim_error vs_sim_machine_enter(vs_sim_machine *machine, uint32_t pid, uint64_t started,
                                                uint32_t *slot);

/* Ends a process and releases all it held. Its peaks can still be read. */
void vs_sim_machine_leave(vs_sim_machine *machine, uint32_t slot);

/* Whether an account is what the driver takes for a process: its context, streams and graphs. The others are libraries, but for the one of which
 * that is not known. */
static inline bool vs_sim_account_is_context(uint32_t account) {
  return account == VS_SIM_ACCOUNT_CONTEXT || account == VS_SIM_ACCOUNT_STREAM ||
         account == VS_SIM_ACCOUNT_GRAPHS;
}

/* The account of a library of a process: the one with that name, which a new name gets. VS_SIM_ACCOUNT_UNKNOWN if there are too many. */
uint32_t vs_sim_machine_account(vs_sim_machine *machine, uint32_t slot, vs_str library);

/* The name of an account; "": it is not used. */
vs_str vs_sim_machine_account_name(const vs_sim_process *process, uint32_t account);

/* What an account held when the card had its peak. */
uint64_t vs_sim_machine_at_peak(const vs_sim_machine *machine, uint32_t slot, uint32_t device,
                                uint32_t account);

/* Whether a card has a peak whose time was not told. */
bool vs_sim_machine_has_new_peak(const vs_sim_machine *machine);
/* The time of those peaks, in microseconds since 1970. */
void vs_sim_machine_time_peaks(vs_sim_machine *machine, uint64_t now_us);

/* Takes `bytes` of a card for an account, without rounding. A failure changes nothing but the counts of refusals.
 * Fails: VS_SIM_OUT_OF_MEMORY (counted), VS_SIM_INVALID_DEVICE */
VS_MUST_CHECK vs_sim_error vs_sim_machine_take(vs_sim_machine *machine, uint32_t slot, uint32_t device,
                                               uint32_t account, uint64_t bytes);

/* Releases bytes taken with vs_sim_machine_take for that account. The caller must not release more than it took; if it does, the rest is
 * ignored. */
void vs_sim_machine_give(vs_sim_machine *machine, uint32_t slot, uint32_t device, uint32_t account,
                         uint64_t bytes);

/* Makes the context of a process on a card; a second call does nothing. context_grow also adds `extra` bytes to it, for an account (larger
 * stacks, loaded code). Fails as take; VS_SIM_OUT_OF_MEMORY is also counted as one of the context. */
VS_MUST_CHECK vs_sim_error vs_sim_machine_context(vs_sim_machine *machine, uint32_t slot, uint32_t device);
VS_MUST_CHECK vs_sim_error vs_sim_machine_context_grow(vs_sim_machine *machine, uint32_t slot,
                                                       uint32_t device, uint32_t account, uint64_t extra);

/* Releases everything that a process holds of one card, with its context (a reset of the device). */
void vs_sim_machine_reset(vs_sim_machine *machine, uint32_t slot, uint32_t device);

static inline uint64_t vs_sim_machine_free_bytes(const vs_sim_machine *machine, uint32_t device) {
  return machine->cards[device].figures.total_bytes - machine->cards[device].used_bytes;
}

/* Ends every process that `is_alive` denies. Returns how many there were. */
uint32_t vs_sim_machine_reap(vs_sim_machine *machine,
                             bool (*is_alive)(void *ctx, uint32_t pid, uint64_t started), void *ctx);

/* Computes all sums again from the processes, after the owner of the lock has died. */
void vs_sim_machine_repair(vs_sim_machine *machine);

/* Executes the invariant. */
bool vs_sim_machine_check(const vs_sim_machine *machine);

#endif
