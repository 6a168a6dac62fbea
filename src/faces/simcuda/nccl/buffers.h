/* The memory that NCCL takes for itself on the device: buffers of each connection of each channel, and of NVLink SHARP. It is
 * charged to the simulated card when an algorithm is used for the first time, as NCCL has connected since 2.22 (at once with
 * NCCL_RUNTIME_CONNECT=0), and goes when the communicator does.
 *
 * What a connection takes was read in NCCL's source and is sure. How many channels it would make, and which ranks share a
 * machine, it finds out from the machine; that is guessed here, by the card, for machines of eight cards, and said in the
 * report. NCCL_BUFFSIZE, NCCL_LL_BUFFSIZE, NCCL_LL128_BUFFSIZE, NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS (and their newer names
 * NCCL_MIN_CTAS, NCCL_MAX_CTAS), NCCL_MAX_P2P_NCHANNELS, NCCL_NVLS_ENABLE, NCCL_NVLS_NCHANNELS and NCCL_ALGO are obeyed.
 *
 *   ring        channels x (receiver + sender)     receiver: LL + LL128 + SIMPLE + 4 KiB, whole granules = 10 MiB
 *   tree        the same, where there are more     sender:   4 KiB, a whole granule = 2 MiB; to another machine as the
 *               than two ranks: other neighbours             receiver without LL
 *   NVLS        channels x 2 x 8 x 128 KiB x ranks of the machine
 *   send, recv  on a machine: p2p channels x (receiver + sender) for each peer; to others buffers that all peers share */
#ifndef VS_SIMCUDA_NCCL_BUFFERS_H
#define VS_SIMCUDA_NCCL_BUFFERS_H

#include "base/vec.h"
#include "device/sim/profile.h"
#include "faces/simcuda/abi/nccl.h"

enum { VS_NCCL_MACHINE = 8 /* cards */ };

/* From the communicator's configuration; 0: not set. */
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
  unsigned uses; /* of vs_nccl_use, those that are paid for */
  VS_VEC(vs_nccl_piece) pieces;
  VS_VEC(uint64_t) peers; /* a bit for each peer of this machine that is paid for */
  uint64_t bytes;         /* sum of the pieces */
} vs_nccl_buffers;

/* ---- how much: a function of plain numbers */

typedef struct vs_nccl_place {
  const vs_sim_figures *figures;
  const char *card; /* the name, where PCIe or NVL may stand */
  int count;        /* ranks */
  int local;        /* of them on this machine, this one included */
  vs_nccl_limits limits;
} vs_nccl_place;

uint64_t vs_nccl_bytes_of(const vs_nccl_place *place, vs_nccl_use use);
uint64_t vs_nccl_bytes_of_peer(const vs_nccl_place *place);

/* How many members of a group share this rank's machine. */
int vs_nccl_local(int count, int base, int stride, int rank);

/* ---- charging it. Each may be called by any thread. */

/* The first use of some algorithms; later ones cost nothing. */
ncclResult_t vs_nccl_connect(ncclComm_t comm, unsigned uses);
ncclResult_t vs_nccl_connect_peer(ncclComm_t comm, int peer);
void vs_nccl_disconnect(ncclComm_t comm);
ncclResult_t vs_nccl_suspend(ncclComm_t comm);
ncclResult_t vs_nccl_resume(ncclComm_t comm);

#endif
