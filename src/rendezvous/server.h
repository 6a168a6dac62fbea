/* The rendezvous of `dryrun --world`, with which one rank of a job of any size runs alone.
 *
 * A program that calls torch.distributed.init_process_group() finds its peers through a store of keys and values, a TCP
 * server whose address is in MASTER_ADDR and MASTER_PORT. dryrun is that server: a thread with a poll loop on a free port of
 * 127.0.0.1. store.h decides its answers.
 *
 *   vs_job job = {.world_size = 1024, .rank = 0, .processes = 1, .devices = 1};
 *   vs_store_server *server;
 *   VS_TRY(vs_store_start(&job, NULL, &server, error));  job.port is set
 *   vs_variable variables[VS_RANK_VARIABLES];
 *   size_t count = vs_rank_environment(&job, 0, variables);
 *   ...                                                  start the process with them, wait for it
 *   vs_store_stop(server);
 *
 * Real ranks (`--ranks N`) use the same server, as an ordinary store: world_size = processes = N. The launcher owns the store,
 * as with torchrun. So no two ranks race for the port, and the store outlives a rank 0 that ends before the others, which
 * happens because simulated collectives do not wait for each other. */
#ifndef VS_RENDEZVOUS_SERVER_H
#define VS_RENDEZVOUS_SERVER_H

#include "rendezvous/job.h"

typedef struct vs_store_server vs_store_server;

/* Receives messages for the user, one sentence each, on the store's own thread. */
typedef struct vs_store_voice {
  void *ctx;
  void (*say)(void *ctx, const char *sentence); /* NULL: sentences are dropped */
} vs_store_voice;

/* Checks the job and serves its store until it is stopped. `voice` NULL: messages are dropped.
 * Fails: VS_BAD_ARGUMENT (vs_job_check), VS_IO, VS_NO_MEMORY, each with a sentence */
VS_MUST_CHECK vs_status vs_store_start(vs_job *job, const vs_store_voice *voice, vs_store_server **server,
                                       vs_error *error);
void vs_store_stop(vs_store_server *server); /* NULL is fine */

/* Sums over all clients, for tests and reports. */
typedef struct vs_store_figures {
  uint64_t requests;
  uint64_t inferred; /* answers by rules 3 to 5 of store.h */
  uint64_t refused;  /* clients that were closed because of an error */
} vs_store_figures;
vs_store_figures vs_store_figures_of(vs_store_server *server);

#endif
