/* The ranks of a job: the world size that the program sees, which ranks run, and the environment of each. */
#ifndef VS_RENDEZVOUS_JOB_H
#define VS_RENDEZVOUS_JOB_H

#include <vramscope/base.h>

enum { VS_RANK_VARIABLES = 24, VS_WORLD_MOST = 1 << 20 };

typedef struct vs_job {
  uint32_t world_size; /* the program sees this many ranks, up to VS_WORLD_MOST */
  uint32_t rank;       /* of the first process; the others have the next numbers */
  uint32_t processes;  /* ranks that run: 1, or world_size */
  uint32_t devices;    /* simulated cards of each machine of the job; a rank uses the card `rank % devices` */
  uint16_t port;       /* of the store; set by vs_store_start */
} vs_job;

/* Fails: VS_BAD_ARGUMENT  the job makes no sense; `error` says why */
VS_MUST_CHECK vs_status vs_job_check(const vs_job *job, vs_error *error);

typedef struct vs_variable {
  const char *name;
  char value[24];
} vs_variable;

/* Fills in the variables that torchrun sets for this rank, with MASTER_ADDR and MASTER_PORT of our store, and returns how
 * many there are. TORCHELASTIC_USE_AGENT_STORE makes rank 0 a client of this store instead of opening its own. For a rank
 * that runs alone TORCH_GLOO_LAZY_INIT lets a gloo group begin without peers (its collectives still fail). */
size_t vs_rank_environment(const vs_job *job, uint32_t rank, vs_variable variables[VS_RANK_VARIABLES]);

/* The launcher that a command line begins with ("torchrun", "accelerate launch", "python -m torch.distributed.run", ...);
 * NULL if it starts the program directly. A launcher sets the environment of its ranks itself, so dryrun refuses --world and
 * --ranks with one. Without these options the launcher runs unchanged, and each local rank sees the simulated cards. */
const char *vs_launcher_of(int count, char *const *command);

#endif
