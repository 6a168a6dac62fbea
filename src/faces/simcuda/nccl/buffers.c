#include "faces/simcuda/nccl/buffers.h"

#include "base/text.h"
#include "faces/simcuda/nccl/comm.h"
#include "os/process.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

enum { CHANNELS_MOST = 64, P2P_CHANNELS = 32, FAR_STEPS = 16, FAR_CHUNK_KIB = 128 };

/* ---- sizes */

static uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = vs_process_variable(name);
  uint64_t value;
  return text != NULL && vs_parse_u64(vs_str_from(text), &value) ? value : otherwise;
}

static uint64_t whole_granules(uint64_t bytes) {
  return (bytes + VS_SIM_GRANULE - 1) / VS_SIM_GRANULE * VS_SIM_GRANULE;
}

static bool has(const char *text, const char *part) {
  return text != NULL && vs_str_contains(vs_str_from(text), vs_str_from(part));
}

/* Cards of machines with an NVSwitch between all cards: the SXM kinds of V100, A100, H100, B200 and similar cards. */
static bool has_switch(const vs_nccl_place *place) {
  const uint32_t major = place->figures->compute_major, minor = place->figures->compute_minor;
  const bool is_kind = (major == 7 && minor == 0) || (major == 8 && minor == 0) || major == 9 || major == 10;
  return is_kind && !has(place->card, "PCIe") && !has(place->card, "NVL");
}

/* Typical results of NCCL's search for rings on such machines: 24 between A100, 16 between H100, 24 between B200,
 * 12 between V100; over PCIe one ring, used twice. */
static uint64_t channels_of(const vs_nccl_place *place) {
  uint64_t channels = 2;
  if (has_switch(place))
    channels = place->figures->compute_major == 9 ? 16 : place->figures->compute_major == 7 ? 12 : 24;
  const vs_nccl_limits *limits = &place->limits;
  uint64_t least = setting("NCCL_MIN_CTAS", setting("NCCL_MIN_NCHANNELS", 0));
  uint64_t most = setting("NCCL_MAX_CTAS", setting("NCCL_MAX_NCHANNELS", CHANNELS_MOST));
  if (least == 0 && limits->least_channels > 0) least = (uint64_t)limits->least_channels;
  if (limits->most_channels > 0) most = vs_min_u64(most, (uint64_t)limits->most_channels);
  most = vs_max_u64(1, vs_min_u64(most, CHANNELS_MOST));
  return vs_min_u64(vs_max_u64(channels, least), most);
}

static uint64_t buffers_of(bool with_ll) {
  const uint64_t simple = setting("NCCL_BUFFSIZE", 4 * MIB),
                 ll128 = setting("NCCL_LL128_BUFFSIZE", 4800 * KIB);
  return simple + ll128 + (with_ll ? setting("NCCL_LL_BUFFSIZE", 512 * KIB) : 0);
}

/* The buffers of one channel: to one neighbour, and from one. */
static uint64_t connection_bytes(bool is_far) {
  const uint64_t receiver = whole_granules(buffers_of(true) + 4 * KIB);
  return receiver + whole_granules((is_far ? buffers_of(false) : 0) + 4 * KIB);
}

/* NCCL_ALGO is a list of allowed algorithms or, after '^', of forbidden ones. */
static bool may_use_nvls(const vs_nccl_place *place) {
  const char *algorithms = vs_process_variable("NCCL_ALGO");
  if (setting("NCCL_NVLS_ENABLE", 1) == 0 || place->figures->compute_major < 9 || !has_switch(place))
    return false;
  if (place->local < 2) return false;
  return algorithms == NULL || *algorithms == 0 ||
         (*algorithms == '^') != (has(algorithms, "NVLS") || has(algorithms, "nvls"));
}

static uint64_t nvls_bytes(const vs_nccl_place *place) {
  if (!may_use_nvls(place)) return 0;
  const bool is_one_machine = place->local == place->count;
  uint64_t channels = place->figures->compute_major == 9 ? 16 : is_one_machine ? 24 : 32;
  if (place->limits.nvls_channels > 0) channels = (uint64_t)place->limits.nvls_channels;
  channels = setting("NCCL_NVLS_NCHANNELS", channels);
  return vs_min_u64(channels, CHANNELS_MOST) * 2 * 8 * setting("NCCL_NVLS_CHUNKSIZE", 128 * KIB) *
         (uint64_t)place->local;
}

uint64_t vs_nccl_bytes_of(const vs_nccl_place *place, vs_nccl_use use) {
  if (place->count < 2) return 0;
  switch (use) {
    case VS_NCCL_RING: return channels_of(place) * connection_bytes(place->local < 2);
    case VS_NCCL_TREE: return place->count < 3 ? 0 : channels_of(place) * connection_bytes(place->local < 3);
    case VS_NCCL_NVLS: return nvls_bytes(place);
    case VS_NCCL_PEERS_FAR: return UINT64_C(2) * P2P_CHANNELS * FAR_STEPS * FAR_CHUNK_KIB * KIB;
  }
  return 0;
}

uint64_t vs_nccl_bytes_of_peer(const vs_nccl_place *place) {
  const uint64_t channels = has_switch(place) ? P2P_CHANNELS : channels_of(place);
  return vs_min_u64(channels, setting("NCCL_MAX_P2P_NCHANNELS", CHANNELS_MOST)) * connection_bytes(false);
}

static int64_t machine_of(const vs_nccl_shape *shape, int rank) {
  return vs_nccl_member(shape, rank) / VS_NCCL_MACHINE;
}

/* Members at equal distances that share a machine are neighbours; those of a list can stand anywhere in it. */
int vs_nccl_local(const vs_nccl_shape *shape, int rank) {
  const int64_t machine = machine_of(shape, rank);
  int local = 0, first = rank;
  if (shape->ranks != NULL) first = 0;
  else
    while (first > 0 && machine_of(shape, first - 1) == machine) first--;
  for (int i = first; i < shape->count; i++) {
    if (machine_of(shape, i) == machine) local++;
    else if (shape->ranks == NULL) break;
  }
  return local;
}

/* ---- charging the card */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the buffers of all communicators */

static vs_nccl_place place_of(ncclComm_t comm) {
  return (vs_nccl_place){.figures = vs_simcuda_figures(comm->device),
                         .card = vs_simcuda_name(comm->device),
                         .count = comm->count,
                         .local = vs_nccl_local(&comm->shape, comm->rank),
                         .limits = comm->limits};
}

static vs_sim_error take_piece(uint32_t device, vs_nccl_piece *piece) {
  vs_simcuda_charge(VS_SIM_ACCOUNT_NCCL);
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return VS_SIM_NOT_INITIALIZED;
  const vs_sim_error error = vs_sim_physical_create(sim, device, piece->size, 0, &piece->physical);
  vs_simcuda_unlock();
  return error;
}

/* After a device reset the memory no longer exists, and nothing is freed. */
static void give_piece(vs_nccl_piece *piece) {
  vs_sim *sim = piece->physical != 0 ? vs_simcuda_lock() : NULL;
  if (sim == NULL) return;
  const vs_sim_error error = vs_sim_physical_release(sim, piece->physical);
  (void)error;
  vs_simcuda_unlock();
  piece->physical = 0;
}

static ncclResult_t charge(ncclComm_t comm, uint64_t bytes) {
  if (bytes == 0) return ncclSuccess;
  vs_nccl_buffers *buffers = &comm->buffers;
  if (vs_vec_reserve(vs_host_default(), &buffers->pieces, 1) != VS_OK)
    return vs_nccl_fail(ncclSystemError, "no memory on the host");
  vs_nccl_piece piece = {.size = whole_granules(bytes)};
  const vs_sim_error error = take_piece(comm->device, &piece);
  if (error != VS_SIM_OK) return vs_nccl_fail_sim(error, "buffers of a connection");
  buffers->pieces.data[buffers->pieces.count++] = piece;
  buffers->bytes += piece.size;
  vs_simcuda_guess(
      "nccl_buffers", piece.size,
      "NCCL takes buffers on the device when ranks first talk; their number follows from the "
      "machine that the "
      "ranks run on, which is taken to have eight of these cards, and to find as many channels as "
      "such machines do");
  return ncclSuccess;
}

static ncclResult_t connect_locked(ncclComm_t comm, unsigned uses) {
  const vs_nccl_place place = place_of(comm);
  for (unsigned use = VS_NCCL_RING; use <= VS_NCCL_PEERS_FAR; use <<= 1) {
    if ((uses & use) == 0 || (comm->buffers.uses & use) != 0) continue;
    NCCL_TRY(charge(comm, vs_nccl_bytes_of(&place, (vs_nccl_use)use)));
    comm->buffers.uses |= use;
  }
  return ncclSuccess;
}

ncclResult_t vs_nccl_connect(ncclComm_t comm, unsigned uses) {
  (void)pthread_mutex_lock(&lock);
  const ncclResult_t result = (uses & ~comm->buffers.uses) == 0 ? ncclSuccess : connect_locked(comm, uses);
  (void)pthread_mutex_unlock(&lock);
  return result;
}

static bool is_near(ncclComm_t comm, int peer) {
  return machine_of(&comm->shape, peer) == machine_of(&comm->shape, comm->rank);
}

static ncclResult_t connect_near(ncclComm_t comm, int peer) {
  vs_nccl_buffers *buffers = &comm->buffers;
  const size_t word = (size_t)peer / 64;
  const uint64_t bit = UINT64_C(1) << (peer % 64);
  while (buffers->peers.count <= word) {
    if (vs_vec_reserve(vs_host_default(), &buffers->peers, 1) != VS_OK)
      return vs_nccl_fail(ncclSystemError, "no memory on the host");
    buffers->peers.data[buffers->peers.count++] = 0;
  }
  if (buffers->peers.data[word] & bit) return ncclSuccess;
  const vs_nccl_place place = place_of(comm);
  NCCL_TRY(charge(comm, vs_nccl_bytes_of_peer(&place)));
  buffers->peers.data[word] |= bit;
  return ncclSuccess;
}

ncclResult_t vs_nccl_connect_peer(ncclComm_t comm, int peer) {
  if (peer == comm->rank) return ncclSuccess;
  if (!is_near(comm, peer)) return vs_nccl_connect(comm, VS_NCCL_PEERS_FAR);
  (void)pthread_mutex_lock(&lock);
  const ncclResult_t result = connect_near(comm, peer);
  (void)pthread_mutex_unlock(&lock);
  return result;
}

void vs_nccl_disconnect(ncclComm_t comm) {
  (void)pthread_mutex_lock(&lock);
  vs_nccl_buffers *buffers = &comm->buffers;
  for (size_t i = 0; i < buffers->pieces.count; i++) give_piece(&buffers->pieces.data[i]);
  vs_vec_free(vs_host_default(), &buffers->pieces);
  vs_vec_free(vs_host_default(), &buffers->peers);
  *buffers = (vs_nccl_buffers){.uses = 0};
  (void)pthread_mutex_unlock(&lock);
}

ncclResult_t vs_nccl_suspend(ncclComm_t comm) {
  (void)pthread_mutex_lock(&lock);
  for (size_t i = 0; i < comm->buffers.pieces.count; i++) give_piece(&comm->buffers.pieces.data[i]);
  comm->is_suspended = true;
  (void)pthread_mutex_unlock(&lock);
  return ncclSuccess;
}

ncclResult_t vs_nccl_resume(ncclComm_t comm) {
  vs_sim_error error = VS_SIM_OK;
  (void)pthread_mutex_lock(&lock);
  for (size_t i = 0; i < comm->buffers.pieces.count && error == VS_SIM_OK; i++)
    if (comm->buffers.pieces.data[i].physical == 0)
      error = take_piece(comm->device, &comm->buffers.pieces.data[i]);
  comm->is_suspended = error != VS_SIM_OK;
  (void)pthread_mutex_unlock(&lock);
  return error == VS_SIM_OK ? ncclSuccess : vs_nccl_fail_sim(error, "ncclCommResume");
}
