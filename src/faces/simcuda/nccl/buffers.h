/* NCCL's own memory on the device: buffers of each connection of each channel, and of NVLink SHARP. It is charged
 * to the simulated card when an algorithm is used for the first time, as NCCL connects since 2.22 (at once with
 * NCCL_RUNTIME_CONNECT=0), and freed with the communicator.
 *
 * The sizes per connection are those of NCCL's source, and exact. NCCL derives the number of channels and which
 * ranks share a machine from the machine; here both are a guess from the card, for machines of eight cards, and
 * the report says so. NCCL_BUFFSIZE, NCCL_LL_BUFFSIZE, NCCL_LL128_BUFFSIZE, NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS
 * (and their newer names NCCL_MIN_CTAS, NCCL_MAX_CTAS), NCCL_MAX_P2P_NCHANNELS, NCCL_NVLS_ENABLE,
 * NCCL_NVLS_NCHANNELS and NCCL_ALGO are obeyed.
 *
 *   ring        channels x (receiver + sender)     receiver: LL + LL128 + SIMPLE + 4 KiB, whole granules = 10 MiB
 *   tree        the same, if there are more        sender:   4 KiB, a whole granule = 2 MiB; to another machine as the
 *               than two ranks: other neighbours             receiver without LL
 *   NVLS        channels x 2 x 8 x 128 KiB x ranks of the machine
 *   send, recv  on a machine: p2p channels x (receiver + sender) for each peer; to others buffers that all peers share */
#ifndef VS_SIMCUDA_NCCL_BUFFERS_H
#define VS_SIMCUDA_NCCL_BUFFERS_H

#include "base/vec.h"
#include "device/sim/profile.h"
#include "faces/simcuda/abi/nccl.h"
#include "faces/simcuda/nccl/groups.h"

enum { VS_NCCL_MACHINE = 8 /* cards */ };

/* Limits of the communicator's configuration; 0: not set. */
typedef struct vs_nccl_limits {
  int least_channels, most_channels, nvls_channels;
} vs_nccl_limits;

typedef enum vs_nccl_use {
  VS_NCCL_RING = 1,
  VS_NCCL_TREE = 2,
  VS_NCCL_NVLS = 4,
  VS_NCCL_PEERS_FAR = 8, /* send and receive between machines */
} vs_nccl_use;

typedef struct vs_nccl_piece {
  uint64_t size;
  uint64_t physical; /* 0: suspended */
} vs_nccl_piece;

typedef struct vs_nccl_buffers {
  unsigned uses; /* bits of vs_nccl_use whose buffers are charged */
  VS_VEC(vs_nccl_piece) pieces;
  VS_VEC(uint64_t) peers; /* one bit for each peer of this machine whose buffers are charged */
  uint64_t bytes;         /* sum of the pieces */
} vs_nccl_buffers;

/* ---- sizes: functions of plain numbers */

typedef struct vs_nccl_place {
  const vs_sim_figures *figures;
  const char *card; /* the name, which may contain PCIe or NVL */
  int count;        /* ranks */
  int local;        /* ranks on this machine, including this one */
  vs_nccl_limits limits;
} vs_nccl_place;

uint64_t vs_nccl_bytes_of(const vs_nccl_place *place, vs_nccl_use use);
uint64_t vs_nccl_bytes_of_peer(const vs_nccl_place *place);

/* The number of members of a group that share this rank's machine. */
int vs_nccl_local(const vs_nccl_shape *shape, int rank);

/* ---- charging the card. Thread-safe. */

/* Charges the buffers of some algorithms at their first use; later uses cost nothing. */
ncclResult_t vs_nccl_connect(ncclComm_t comm, unsigned uses);
ncclResult_t vs_nccl_connect_peer(ncclComm_t comm, int peer);
void vs_nccl_disconnect(ncclComm_t comm);
ncclResult_t vs_nccl_suspend(ncclComm_t comm);
ncclResult_t vs_nccl_resume(ncclComm_t comm);

#endif
