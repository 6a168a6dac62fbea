/* The result of a dry run, combined (gather.h) from the machine (the driver's view), the notes of the simulated libraries,
 * and the figures of PyTorch's allocator (python/vramscope_dryrun).
 *
 * Invariant (vs_result_check, once sums.h has completed it): no two processes have one pid, no two doubts the same kind,
 * texts and line; cards[c] is the sum over the processes' use[c]; `main` is a process, or SIZE_MAX if there is none. */
#ifndef VS_DRYRUN_RESULT_H
#define VS_DRYRUN_RESULT_H

#include "base/interned_strings.h"
#include "codec/json_doc.h"
#include "device/sim/machine.h"

enum { VS_NO_CHILD = UINT32_MAX };

/* The allocator's figures on one card. For several processes: the largest sum over those that ran at the same time. */
typedef struct vs_torch_figures {
  bool is_known;
  /* false: a process ended before its statistics were written. What the allocator reported while it ran is known: allocated,
   * reserved, errors. */
  bool has_statistics;
  uint64_t peak_allocated_bytes, peak_reserved_bytes;
  uint64_t ooms;
  uint64_t peak_requested_bytes, retries; /* 0 without has_statistics */
} vs_torch_figures;

/* Libraries that allocate within a pool of their own, and say at the end of the program what they used of it. */
typedef enum vs_pool_owner { VS_POOL_JAX, VS_POOL_TENSORFLOW, VS_POOL_OWNERS } vs_pool_owner;

/* The figures of such a library's allocator on one card: peaks of JAX's `memory_stats()`, of TensorFlow's `get_memory_info()`. For several
 * processes the largest of each. */
typedef struct vs_pool_figures {
  bool is_known;
  uint64_t peak_in_use_bytes; /* of arrays and of what programs need while they run */
  uint64_t
      peak_pool_bytes; /* what it took from the driver; by default all of its limit, at once, before it is needed */
  uint64_t
      limit_bytes; /* the most that it takes: by default three quarters of the card (JAX), nearly all of it (TensorFlow) */
  uint64_t ooms; /* errors that ended the program */
} vs_pool_figures;

/* Whether the pool has the size of the limit from the beginning on, so that it says nothing of what is needed. */
static inline bool vs_pool_is_preallocated(const vs_pool_figures *pool) {
  return pool->is_known && pool->limit_bytes != 0 &&
         pool->peak_pool_bytes >= pool->limit_bytes - pool->limit_bytes / 64;
}

/* One process on one card. */
typedef struct vs_result_use {
  bool is_used;
  uint64_t driver_peak_bytes; /* with its context */
  uint64_t refused_count, largest_refused_bytes;
  uint64_t context_refused_count; /* those for the driver's and the libraries' own memory */
  vs_torch_figures torch;
  vs_pool_figures pools[VS_POOL_OWNERS];
} vs_result_use;

typedef enum vs_process_end { VS_PROCESS_ENDED, VS_PROCESS_KILLED, VS_PROCESS_RUNS } vs_process_end;

typedef struct vs_result_process {
  uint64_t pid;
  uint32_t child;   /* number in the launch; VS_NO_CHILD: a process that one of them started */
  uint32_t program; /* string; its name, empty if unknown */
  vs_process_end end;
  bool used_cuda;                  /* it used the simulated CUDA */
  bool has_stats;                  /* it wrote its allocator's figures, at least when it began */
  bool is_complete;                /* it wrote them when it ended, too */
  bool has_snapshot;               /* PyTorch's history */
  bool has_recording;              /* the recorder's, up to the end however it came */
  bool is_recorded;                /* that is its history, and PyTorch has none */
  bool lacks_pool[VS_POOL_OWNERS]; /* it imported the library, and did not write at its end what that used */
  uint64_t steps, reads, kernels;
  uint64_t began_us, ended_us; /* of its use of CUDA; 0 and UINT64_MAX if unknown */
  vs_json_doc stats;
  vs_result_use use[VS_SIM_MAX_DEVICES];
} vs_result_process;

/* Whether its history is known: PyTorch's, or if it was ended before it wrote that, or has none, the recorder's. What a process that ended by
 * itself did not write, it did not have. */
static inline bool vs_result_has_history(const vs_result_process *process) {
  return process->has_snapshot ||
         (process->has_recording && process->has_stats && (process->is_recorded || !process->is_complete));
}

/* What the simulation could not determine. */
typedef enum vs_doubt_kind {
  VS_DOUBT_CANNOT_RUN, /* a library that needs a genuine driver */
  VS_DOUBT_READ,
  VS_DOUBT_GUESS,
  VS_DOUBT_REFUSED,
  VS_DOUBT_HISTORY,
  VS_DOUBT_ASSUMED,     /* the hook in the program decided what the program would have computed */
  VS_DOUBT_NOT_RECORDED /* the hook in the program failed at something */
} vs_doubt_kind;

typedef struct vs_doubt {
  vs_doubt_kind kind;
  /* Strings. CANNOT_RUN: the file and the sentence. READ: the place and its file. GUESS: its key and the sentence. REFUSED: the name
   * that is not simulated and its library. ASSUMED: the sentence and the place, empty if it has none. NOT_RECORDED: what is missing
   * and why. */
  uint32_t what, detail;
  int64_t line;     /* READ; below 0: unknown */
  uint64_t count;   /* of reads or processes */
  uint64_t bytes;   /* READ: the largest one; GUESS: the sum */
  uint64_t most;    /* GUESS: the bound of that sum; UINT64_MAX: none is known */
  uint32_t give;    /* READ: a string, what --values may say of it: "train.py:88=true" */
  uint64_t repeats; /* READ: so often it read the same and nothing changed in between; 0: that was not seen */
  uint64_t times;   /* ASSUMED: calls; 0: unknown */
} vs_doubt;

/* The KV cache of an engine for inference, as its own configuration has it, which the hook tells. Of several engines that of one with
 * the fewest blocks. */
typedef struct vs_kv_cache {
  uint64_t engines;    /* 0: none told; then nothing else is known */
  uint32_t engine;     /* string: "vLLM" */
  uint64_t blocks;     /* of tokens */
  uint64_t for_one;    /* blocks that one request of max_tokens takes, at least 1 */
  uint64_t max_tokens; /* of a request, prompt and answer: max_model_len */
} vs_kv_cache;

/* What a place of --values was given. */
typedef struct vs_place_use {
  uint32_t text; /* string, as in the plan: "train.py:88=true" */
  uint64_t reads, misfits;
} vs_place_use;

typedef struct vs_result_card {
  const vs_sim_card *card; /* of the machine */
  bool is_used;
  uint64_t driver_peak_bytes;
  uint32_t contexts; /* the largest number of processes that had a context at the same time */
  uint64_t refused_count;
  vs_torch_figures torch;
  vs_pool_figures pools[VS_POOL_OWNERS];
} vs_result_card;

/* A request for memory whose failure reached the program. */
typedef struct vs_result_oom {
  bool is_there;
  uint32_t card;
  uint64_t asked_bytes;
  uint64_t free_bytes; /* of the card; with is_pool of the limit of that pool */
  bool is_pool;        /* the allocator of `pool` refused it, within its limit */
  vs_pool_owner pool;
  bool has_torch;
  uint64_t allocated_bytes, reserved_bytes; /* at that moment; only with has_torch */
} vs_result_oom;

typedef struct vs_result {
  const vs_host *host;
  const vs_sim_machine *machine; /* borrowed */
  vs_strings strings;
  VS_VEC(vs_result_process) processes; /* those that used CUDA */
  VS_VEC(vs_doubt) doubts;
  VS_VEC(vs_place_use) place_uses; /* those of which a process noted a read; sums over the processes */
  vs_kv_cache kv_cache;
  vs_result_card cards[VS_SIM_MAX_DEVICES];
  uint32_t card_count;
  uint64_t steps; /* of the process that made most steps */
  uint64_t ooms;  /* out-of-memory errors of PyTorch and of pools */
  /* Requests that the driver refused, each of which is an error in the program: those for its own memory and that of libraries, and in
   * processes without PyTorch and pools all others. */
  uint64_t refused;
  vs_result_oom oom; /* the last one; one that PyTorch raised if there is such a one */
  size_t
      main; /* the process to report on: one with an out-of-memory error, else the one with the highest peak; SIZE_MAX: none */
} vs_result;

/* An empty result for this machine, which has to outlive it. */
VS_MUST_CHECK vs_status vs_result_init(vs_result *result, const vs_host *host, const vs_sim_machine *machine);
void vs_result_deinit(vs_result *result);

static inline vs_str vs_result_string(const vs_result *result, uint32_t id) {
  return vs_strings_at(&result->strings, id);
}

/* The process with that number, added if it is new; then it gets `child`. NULL: no memory. Valid until the next one is
 * added. */
vs_result_process *vs_result_process_of(vs_result *result, uint64_t pid, uint32_t child);

/* The card that a device in a process' statistics stands for. If they have no valid number of a card, the first card with the same
 * name. */
uint32_t vs_result_card_of(const vs_result *result, vs_json device);

/* The card that PyTorch's device of that number stands for in the process, by its statistics. False: it is unknown. */
VS_MUST_CHECK bool vs_result_card_of_number(const vs_result *result, const vs_result_process *process,
                                            uint64_t number, uint32_t *card);

/* The doubt with the same kind, texts and line, added if it is new; NULL: no memory. `line` below 0: none. */
vs_doubt *vs_result_doubt_of(vs_result *result, vs_doubt_kind kind, vs_str what, vs_str detail, int64_t line);

/* The reads of a place of --values, added if it is new; NULL: no memory. */
vs_place_use *vs_result_place_use_of(vs_result *result, vs_str text);

/* Executes the invariant, for tests and the hostile build. */
bool vs_result_check(const vs_result *result);

#endif
