/* One rank of a job of any size, alone: the rendezvous that `dryrun --world` brings, and what a rank is told.
 *
 * A program that calls torch.distributed.init_process_group() finds its peers through a store of keys and values, a TCP
 * server whose address stands in MASTER_ADDR and MASTER_PORT. dryrun is that server: a thread with a poll loop on a free
 * port of 127.0.0.1. What it answers is decided in store_protocol.h.
 *
 *   vs_job job = {.world_size = 1024, .rank = 0, .processes = 1, .devices = 1};
 *   vs_store_server *server;
 *   VS_TRY(vs_store_start(&job, &server, error));        job.port is set
 *   vs_variable variables[VS_RANK_VARIABLES];
 *   size_t count = vs_rank_environment(&job, 0, variables);
 *   ...                                                  start the process with them, wait for it
 *   vs_store_stop(server);
 *
 * Real ranks (`--ranks N`) use the same server. It then only keeps what it is given: world_size = processes = N. That the
 * launcher holds the store, as torchrun does too, frees the port from races, and a rank 0 that ends first takes nobody's
 * store away: simulated collectives do not wait for each other. */
#ifndef VS_CLI_STORE_H
#define VS_CLI_STORE_H

#include <vramscope/base.h>

enum { VS_RANK_VARIABLES = 24, VS_WORLD_MOST = 1 << 20 };

typedef struct vs_job {
  uint32_t world_size; /* ranks that the program is told of, up to VS_WORLD_MOST */
  uint32_t rank;       /* of the first process; others count on from here */
  uint32_t processes;  /* that really run: 1, or world_size */
  uint32_t devices;    /* simulated cards of each machine of the job; a rank uses the card `rank % devices` */
  uint16_t port;       /* of the store; set by vs_store_start */
} vs_job;

typedef struct vs_store_server vs_store_server;

/* Checks the job and serves its store until it is stopped. Fails: VS_BAD_ARGUMENT (the job makes no sense), VS_IO,
 * VS_NO_MEMORY, each with a sentence. */
VS_MUST_CHECK vs_status vs_store_start(vs_job *job, vs_store_server **server, vs_error *error);
void vs_store_stop(vs_store_server *server); /* NULL is fine */

/* The sum over all clients: what the report says of the rendezvous. */
typedef struct vs_store_figures {
  uint64_t requests;
  uint64_t made_up; /* answers in the place of ranks that do not run */
  uint64_t refused; /* clients sent away with a sentence */
} vs_store_figures;
vs_store_figures vs_store_figures_of(vs_store_server *server);

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
