/* One rank of a job of any size, alone: the rendezvous that `dryrun --world` brings, and what a rank is told.
 *
 * A program that calls torch.distributed.init_process_group() finds its peers through a store of keys and values, a TCP
 * server whose address stands in MASTER_ADDR and MASTER_PORT. dryrun is that server: a thread with a poll loop on a free
 * port of 127.0.0.1. What it answers is decided in store.h.
 *
 *   vs_job job = {.world_size = 1024, .rank = 0, .processes = 1, .devices = 1};
 *   vs_store_server *server;
 *   VS_TRY(vs_store_start(&job, NULL, &server, error));  job.port is set
 *   vs_variable variables[VS_RANK_VARIABLES];
 *   size_t count = vs_rank_environment(&job, 0, variables);
 *   ...                                                  start the process with them, wait for it
 *   vs_store_stop(server);
 *
 * Real ranks (`--ranks N`) use the same server. It then only keeps what it is given: world_size = processes = N. That the
 * launcher holds the store, as torchrun does too, frees the port from races, and a rank 0 that ends first takes nobody's
 * store away: simulated collectives do not wait for each other. */
#ifndef VS_RENDEZVOUS_SERVER_H
#define VS_RENDEZVOUS_SERVER_H

#include "rendezvous/job.h"

typedef struct vs_store_server vs_store_server;

/* Who is told what the user should know, one sentence each, on the store's own thread. */
typedef struct vs_store_voice {
  void *ctx;
  void (*say)(void *ctx, const char *sentence); /* NULL: sentences are dropped */
} vs_store_voice;

/* Checks the job and serves its store until it is stopped. Fails: VS_BAD_ARGUMENT (the job makes no sense), VS_IO,
 * VS_NO_MEMORY, each with a sentence. `voice`: NULL: sentences are dropped. */
VS_MUST_CHECK vs_status vs_store_start(vs_job *job, const vs_store_voice *voice, vs_store_server **server,
                                       vs_error *error);
void vs_store_stop(vs_store_server *server); /* NULL is fine */

/* The sum over all clients: what the report says of the rendezvous. */
typedef struct vs_store_figures {
  uint64_t requests;
  uint64_t made_up; /* answers in the place of ranks that do not run */
  uint64_t refused; /* clients sent away with a sentence */
} vs_store_figures;
vs_store_figures vs_store_figures_of(vs_store_server *server);

#endif
