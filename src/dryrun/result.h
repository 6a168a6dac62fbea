/* What a dry run left behind, put together (gather.h) from the machine (what the driver saw), the notes of the simulated
 * libraries, and what PyTorch's allocator said of itself (python/vramscope_dryrun).
 *
 * Invariant: no two processes have one pid, no two doubts the same kind, words and line; cards[c] is the sum over the
 * processes' use[c] (sums.h); `main` is a process or SIZE_MAX. */
#ifndef VS_DRYRUN_RESULT_H
#define VS_DRYRUN_RESULT_H

#include "base/interned_strings.h"
#include "codec/json_doc.h"
#include "device/sim/machine.h"

enum { VS_NO_CHILD = UINT32_MAX };

/* An allocator's figures on one card. Of several processes the most that those living at the same time had
 * together. */
typedef struct vs_torch_figures {
  bool is_known;
  uint64_t peak_allocated_bytes, peak_requested_bytes, peak_reserved_bytes;
  uint64_t ooms, retries;
} vs_torch_figures;

/* One process on one card. */
typedef struct vs_result_use {
  bool is_used;
  uint64_t driver_peak_bytes; /* its context included */
  uint64_t refused_count, largest_refused_bytes;
  vs_torch_figures torch;
} vs_result_use;

typedef enum vs_process_end { VS_PROCESS_ENDED, VS_PROCESS_KILLED, VS_PROCESS_RUNS } vs_process_end;

typedef struct vs_result_process {
  uint64_t pid;
  uint32_t child;   /* which of those that were started; VS_NO_CHILD: one that they started */
  uint32_t program; /* string; its name, as far as it is known */
  vs_process_end end;
  bool used_cuda;   /* it used the simulated CUDA */
  bool has_stats;   /* its allocator's figures were written, at its beginning at least */
  bool is_complete; /* and at its end */
  bool has_snapshot;
  uint64_t steps, reads, kernels;
  uint64_t began_us, ended_us; /* of its use of CUDA; 0 and UINT64_MAX where not known */
  vs_json_doc stats;
  vs_result_use use[VS_SIM_MAX_DEVICES];
} vs_result_process;

/* What the simulation could not know. */
typedef enum vs_doubt_kind {
  VS_DOUBT_READ,
  VS_DOUBT_GUESS,
  VS_DOUBT_REFUSED,
  VS_DOUBT_HISTORY,
  VS_DOUBT_NOT_RECORDED /* the hook in the program failed at something */
} vs_doubt_kind;

typedef struct vs_doubt {
  vs_doubt_kind kind;
  uint32_t what; /* string: the place of a read, the key of a guess, what is not simulated, what is missing */
  uint32_t detail; /* string: the file of a read, the sentence of a guess, the library, why it is missing */
  int64_t line;    /* of a read; below 0: not known */
  uint64_t count;  /* of reads, of processes */
  uint64_t bytes;  /* of one read, of all that is guessed */
} vs_doubt;

typedef struct vs_result_card {
  const vs_sim_card *card; /* of the machine */
  bool is_used;
  uint64_t driver_peak_bytes;
  uint32_t contexts; /* processes that had one at the same time, at most */
  uint64_t refused_count;
  vs_torch_figures torch;
} vs_result_card;

/* A request of memory that failed, and made it to the program. */
typedef struct vs_result_oom {
  bool is_there;
  uint32_t card;
  uint64_t asked_bytes, free_bytes;
  bool has_torch;
  uint64_t allocated_bytes, reserved_bytes; /* with has_torch: at that moment */
} vs_result_oom;

typedef struct vs_result {
  const vs_host *host;
  const vs_sim_machine *machine; /* borrowed */
  vs_strings strings;
  VS_VEC(vs_result_process) processes; /* those that are known to have used CUDA */
  VS_VEC(vs_doubt) doubts;
  vs_result_card cards[VS_SIM_MAX_DEVICES];
  uint32_t card_count;
  uint64_t steps;    /* of the process that did most */
  uint64_t ooms;     /* out-of-memory errors that PyTorch raised */
  uint64_t refused;  /* requests that the driver refused in programs without it */
  vs_result_oom oom; /* the last one, of the process that died of it if one did */
  size_t
      main; /* the process to look into: one with an out-of-memory error, else the biggest; SIZE_MAX: none */
} vs_result;

/* An empty result for this machine, which outlives it. */
VS_MUST_CHECK vs_status vs_result_init(vs_result *result, const vs_host *host, const vs_sim_machine *machine);
void vs_result_deinit(vs_result *result);

static inline vs_str vs_result_string(const vs_result *result, uint32_t id) {
  return vs_strings_at(&result->strings, id);
}

/* The process with that number, added if it is new; NULL: no memory. `child` counts only where it is added. Valid until the
 * next one is added. */
vs_result_process *vs_result_process_of(vs_result *result, uint64_t pid, uint32_t child);

/* The doubt with the same words, added if it is new; NULL: no memory. `line` below 0: none. */
vs_doubt *vs_result_doubt_of(vs_result *result, vs_doubt_kind kind, vs_str what, vs_str detail, int64_t line);

#endif
