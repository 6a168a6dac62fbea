/* The ranks of a job: how many the program is told of, which of them run, and what each is told. */
#ifndef VS_RENDEZVOUS_JOB_H
#define VS_RENDEZVOUS_JOB_H

#include <vramscope/base.h>

enum { VS_RANK_VARIABLES = 24, VS_WORLD_MOST = 1 << 20 };

typedef struct vs_job {
  uint32_t world_size; /* ranks that the program is told of, up to VS_WORLD_MOST */
  uint32_t rank;       /* of the first process; others count on from here */
  uint32_t processes;  /* that really run: 1, or world_size */
  uint32_t devices;    /* simulated cards of each machine of the job; a rank uses the card `rank % devices` */
  uint16_t port;       /* of the store; set by vs_store_start */
} vs_job;

/* Fails: VS_BAD_ARGUMENT  the job makes no sense; `error` says why */
VS_MUST_CHECK vs_status vs_job_check(const vs_job *job, vs_error *error);

typedef struct vs_variable {
  const char *name;
  char value[24];
} vs_variable;

/* What torchrun would set for this rank, MASTER_ADDR and MASTER_PORT of our store included. Returns how many. Three more
 * are no torchrun's: TORCHELASTIC_USE_AGENT_STORE makes rank 0 a client of the store that is there, and
 * TORCH_GLOO_LAZY_INIT, where a rank runs alone, lets a gloo group begin without peers (its collectives still fail). */
size_t vs_rank_environment(const vs_job *job, uint32_t rank, vs_variable variables[VS_RANK_VARIABLES]);

/* The launcher that a command line begins with ("torchrun", "accelerate launch", "python -m torch.distributed.run", ...),
 * NULL where it starts the program itself. A launcher makes a world of its own: its ranks are told what it decides, so
 * dryrun refuses --world and --ranks with one, and without them lets it run as it is: each of its local ranks sees the
 * simulated cards. */
const char *vs_launcher_of(int count, char *const *command);

#endif
