/* Communicators: creating, splitting, querying, destroying. */
#include "faces/simcuda/nccl/comm.h"

#include "base/text.h"
#include "faces/simcuda/core/process_groups.h"
#include "os/process.h"
#include <stdatomic.h>
#include <unistd.h>

enum { VERSION = 23007, CONFIG_MAGIC = (int)0xcafebeef, VERSION_OF_NAMES = 22700, SENTENCE = 256 };

static vs_shelf comms = VS_SHELF(VS_TAG_NCCL, struct ncclComm);

ncclResult_t vs_nccl_check(ncclComm_t comm, const char *name) {
  if (vs_object_is(comm, VS_TAG_NCCL)) return ncclSuccess;
  return vs_nccl_fail(ncclInvalidArgument, "%s: this is no communicator, or one that was destroyed", name);
}

static ncclResult_t check_pointer(const void *pointer, const char *name) {
  return pointer != NULL ? ncclSuccess : vs_nccl_fail(ncclInvalidArgument, "%s: an argument is NULL", name);
}

#define CHECK_COMM_AND(pointer)                                     \
  do {                                                              \
    NCCL_TRY(vs_nccl_check(comm, __func__ + 4)); /* without sim_ */ \
    NCCL_TRY(check_pointer(pointer, __func__ + 4));                 \
  } while (0)

/* ---- the library */

ncclResult_t sim_ncclGetVersion(int *version) {
  NCCL_TRY(check_pointer(version, "ncclGetVersion"));
  *version = VERSION;
  return ncclSuccess;
}

/* The id differs for each call. Its content does not matter, because it is never used to find another rank. */
ncclResult_t sim_ncclGetUniqueId(ncclUniqueId *id) {
  static _Atomic uint64_t last;
  NCCL_TRY(check_pointer(id, "ncclGetUniqueId"));
  memset(id, 0, sizeof *id);
  vs_format(id->internal, sizeof id->internal, "simulated NCCL, process %D, id %U", (int64_t)getpid(),
            ++last);
  return ncclSuccess;
}

void sim_ncclResetDebugInit(void) {}

uint32_t vs_nccl_enter(uint32_t device) {
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  const uint32_t before = thread->device;
  thread->device = device;
  return before;
}

void vs_nccl_leave(uint32_t device_before) { vs_simcuda_this_thread()->device = device_before; }

/* ---- configuration */

typedef struct vs_nccl_settings {
  vs_nccl_limits limits;
  char name[SENTENCE]; /* empty: none */
} vs_nccl_settings;

/* A program built with an older NCCL has a shorter struct. */
static ncclResult_t read_config(const ncclConfig_t *given, vs_nccl_settings *settings) {
  *settings = (vs_nccl_settings){.name = ""};
  if (given == NULL) return ncclSuccess;
  ncclConfig_t config;
  memset(&config, 0, sizeof config);
  config.blocking = config.minCTAs = config.maxCTAs = config.nvlsCTAs = config.splitShare =
      NCCL_CONFIG_UNDEF_INT;
  memcpy(&config, given, given->size < sizeof config ? given->size : sizeof config);
  if (config.magic != (unsigned)CONFIG_MAGIC)
    return vs_nccl_fail(ncclInvalidArgument, "the configuration was not made with NCCL_CONFIG_INITIALIZER");
  const bool has_least = config.minCTAs != NCCL_CONFIG_UNDEF_INT,
             has_most = config.maxCTAs != NCCL_CONFIG_UNDEF_INT;
  if (config.blocking != NCCL_CONFIG_UNDEF_INT && config.blocking != 0 && config.blocking != 1)
    return vs_nccl_fail(ncclInvalidArgument, "the configuration's blocking is %d", config.blocking);
  if ((has_least && config.minCTAs <= 0) || (has_most && config.maxCTAs <= 0) ||
      (has_least && has_most && config.minCTAs > config.maxCTAs))
    return vs_nccl_fail(ncclInvalidArgument, "the configuration's CTAs are %d to %d", config.minCTAs,
                        config.maxCTAs);
  if (config.splitShare != NCCL_CONFIG_UNDEF_INT && config.splitShare != 0 && config.splitShare != 1)
    return vs_nccl_fail(ncclInvalidArgument, "the configuration's splitShare is %d", config.splitShare);
  settings->limits.least_channels = has_least ? config.minCTAs : 0;
  settings->limits.most_channels = has_most ? config.maxCTAs : 0;
  if (config.version < VERSION_OF_NAMES) return ncclSuccess;
  settings->limits.nvls_channels = config.nvlsCTAs != NCCL_CONFIG_UNDEF_INT ? config.nvlsCTAs : 0;
  if (config.commName != NULL) vs_format(settings->name, sizeof settings->name, "%s", config.commName);
  return ncclSuccess;
}

/* ---- creating */

/* The child's members as ranks of the first communicator. With equal distances in both they have equal distances. */
static ncclResult_t take_members(ncclComm_t comm, const vs_nccl_shape *parent, const vs_nccl_shape *child) {
  comm->shape = (vs_nccl_shape){.count = child->count,
                                .base = parent->base + child->base * parent->stride,
                                .stride = child->stride * parent->stride};
  if (parent->ranks == NULL && child->ranks == NULL) return ncclSuccess;
  if (vs_vec_reserve(vs_host_default(), &comm->members, (size_t)child->count) != VS_OK)
    return vs_nccl_fail(ncclSystemError, "no memory on the host");
  for (int i = 0; i < child->count; i++)
    comm->members.data[comm->members.count++] = (int)vs_nccl_member(parent, (int)vs_nccl_member(child, i));
  comm->shape = (vs_nccl_shape){.count = child->count, .ranks = comm->members.data};
  return ncclSuccess;
}

static void discard(ncclComm_t comm) {
  vs_nccl_disconnect(comm);
  vs_vec_free(vs_host_default(), &comm->members);
  (void)vs_shelf_put_back(&comms, comm);
}

static ncclResult_t connect_at_once(ncclComm_t comm) {
  const char *when = vs_process_variable("NCCL_RUNTIME_CONNECT");
  if (when == NULL || strcmp(when, "0") != 0) return ncclSuccess;
  return vs_nccl_connect(comm, VS_NCCL_RING | VS_NCCL_TREE | VS_NCCL_NVLS);
}

/* `child` are ranks of `parent`. */
static ncclResult_t make(ncclComm_t *out, uint32_t device, int rank, const vs_nccl_shape *parent,
                         const vs_nccl_shape *child, const vs_nccl_settings *settings) {
  *out = NULL;
  const vs_sim_error error = vs_simcuda_use(device);
  if (error != VS_SIM_OK) return vs_nccl_fail_sim(error, "a communicator's context");
  ncclComm_t comm = vs_shelf_take(&comms);
  if (comm == NULL) return vs_nccl_fail(ncclSystemError, "no memory on the host");
  comm->device = device;
  comm->rank = rank;
  comm->count = child->count;
  comm->limits = settings->limits;
  ncclResult_t result = take_members(comm, parent, child);
  if (result == ncclSuccess) result = connect_at_once(comm);
  if (result == ncclSuccess) *out = comm;
  else discard(comm);
  return result;
}

/* The first `count` ranks, in their order. */
static vs_nccl_shape first_ranks(int count) { return (vs_nccl_shape){.count = count, .stride = 1}; }

static ncclResult_t make_world(ncclComm_t *comm, uint32_t device, int count, int rank,
                               const ncclConfig_t *config) {
  NCCL_TRY(check_pointer(comm, "ncclCommInitRank"));
  if (count < 1 || rank < 0 || rank >= count)
    return vs_nccl_fail(ncclInvalidArgument, "ncclCommInitRank: there is no rank %d of %d", rank, count);
  vs_nccl_settings settings;
  NCCL_TRY(read_config(config, &settings));
  const vs_nccl_shape all = first_ranks(count);
  return make(comm, device, rank, &all, &all, &settings);
}

static ncclResult_t make_here(ncclComm_t *comm, int count, int rank, const ncclConfig_t *config) {
  const vs_sim_error error = vs_simcuda_begin();
  if (error != VS_SIM_OK) return vs_nccl_fail_sim(error, "ncclCommInitRank");
  return make_world(comm, vs_simcuda_this_thread()->device, count, rank, config);
}

ncclResult_t sim_ncclCommInitRank(ncclComm_t *comm, int count, ncclUniqueId id, int rank) {
  (void)id;
  return make_here(comm, count, rank, NULL);
}

ncclResult_t sim_ncclCommInitRankConfig(ncclComm_t *comm, int count, ncclUniqueId id, int rank,
                                        ncclConfig_t *config) {
  (void)id;
  return make_here(comm, count, rank, config);
}

ncclResult_t sim_ncclCommInitRankScalable(ncclComm_t *comm, int count, int rank, int id_count,
                                          ncclUniqueId *ids, ncclConfig_t *config) {
  NCCL_TRY(check_pointer(ids, "ncclCommInitRankScalable"));
  if (id_count < 1 || id_count > count)
    return vs_nccl_fail(ncclInvalidArgument, "ncclCommInitRankScalable: %d ids for %d ranks", id_count,
                        count);
  return make_here(comm, count, rank, config);
}

/* All ranks are in this process: the only case in which all of them exist. */
ncclResult_t sim_ncclCommInitAll(ncclComm_t *comm, int count, const int *devices) {
  NCCL_TRY(check_pointer(comm, "ncclCommInitAll"));
  if (count < 0) return vs_nccl_fail(ncclInvalidArgument, "ncclCommInitAll: %d devices", count);
  const vs_sim_error error = vs_simcuda_begin();
  if (error != VS_SIM_OK) return vs_nccl_fail_sim(error, "ncclCommInitAll");
  for (int i = 0; i < count; i++) {
    const int device = devices == NULL ? i : devices[i];
    if (device < 0 || (uint32_t)device >= vs_simcuda_device_count())
      return vs_nccl_fail(ncclInvalidArgument, "ncclCommInitAll: there is no device %d", device);
    for (int k = 0; devices != NULL && k < i; k++)
      if (devices[k] == device)
        return vs_nccl_fail(ncclInvalidUsage, "ncclCommInitAll: device %d is named twice", device);
  }
  for (int i = 0; i < count; i++) {
    const ncclResult_t result =
        make_world(&comm[i], devices == NULL ? (uint32_t)i : (uint32_t)devices[i], count, i, NULL);
    if (result == ncclSuccess) continue;
    while (i-- > 0) (void)sim_ncclCommDestroy(comm[i]);
    return result;
  }
  return ncclSuccess;
}

/* ---- creating from another communicator */

/* The group that the program named so; some versions of PyTorch put its description before the name, and a colon between. */
static const vs_process_group *told_as(const char *name) {
  const vs_process_group *told = vs_simcuda_find_group(name);
  const char *last = strrchr(name, ':');
  return told == NULL && last != NULL && last[1] != 0 ? vs_simcuda_find_group(last + 1) : told;
}

static bool is_of(const vs_nccl_split *split, const vs_process_group *told, vs_nccl_shape *shape,
                  bool *is_hash) {
  return told != NULL && vs_nccl_is_split_of(split, told->ranks, told->count, shape, is_hash);
}

/* The group with that hash, or what the arguments alone say, or at last the group that was told last, if it can be. */
static bool members_without_name(const vs_nccl_split *split, vs_nccl_shape *shape) {
  const vs_process_group *newest = vs_simcuda_find_group(NULL);
  bool is_hash;
  for (const vs_process_group *told = newest; told != NULL; told = told->older)
    if (is_of(split, told, shape, &is_hash) && is_hash) return true;
  if (vs_nccl_recognise(split, shape)) return true;
  vs_nccl_shape of_newest;
  if (is_of(split, newest, &of_newest, &is_hash)) *shape = of_newest;
  return false;
}

/* false: *shape is a guess. */
static bool members_of(const vs_nccl_split *split, vs_nccl_shape *shape) {
  bool is_hash;
  if (*split->name == 0) return members_without_name(split, shape);
  return is_of(split, told_as(split->name), shape, &is_hash) || vs_nccl_recognise(split, shape);
}

ncclResult_t sim_ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child, ncclConfig_t *config) {
  CHECK_COMM_AND(child);
  *child = NULL;
  if (comm->is_suspended)
    return vs_nccl_fail(ncclInvalidUsage, "ncclCommSplit: the communicator is suspended");
  if (color == NCCL_SPLIT_NOCOLOR)
    return ncclSuccess; /* any other color, a negative one too, is that of a group */
  vs_nccl_settings settings;
  NCCL_TRY(read_config(config, &settings));
  if (config == NULL) settings.limits = comm->limits;
  const vs_nccl_split split = {comm->count, comm->rank, color, key, settings.name};
  vs_nccl_shape shape;
  if (!members_of(&split, &shape))
    vs_simcuda_guess("nccl_split", 0,
                     "a communicator was split by a color that does not tell which ranks went along, so how "
                     "many they are is a "
                     "guess, and what is gathered from them too");
  const int rank = shape.ranks != NULL ? key : (comm->rank - shape.base) / shape.stride;
  return make(child, comm->device, rank, &comm->shape, &shape, &settings);
}

static bool is_among(int rank, const int *ranks, int count) {
  for (int i = 0; i < count; i++)
    if (ranks[i] == rank) return true;
  return false;
}

ncclResult_t sim_ncclCommShrink(ncclComm_t comm, int *excluded, int excluded_count, ncclComm_t *child,
                                ncclConfig_t *config, int flags) {
  (void)flags; /* whether to abort running work: there is none */
  CHECK_COMM_AND(child);
  *child = NULL;
  NCCL_TRY(check_pointer(excluded, "ncclCommShrink"));
  if (excluded_count <= 0 || is_among(comm->rank, excluded, excluded_count))
    return vs_nccl_fail(ncclInvalidArgument, "ncclCommShrink: %d ranks go, the caller perhaps among them",
                        excluded_count);
  vs_nccl_settings settings;
  NCCL_TRY(read_config(config, &settings));
  if (config == NULL) settings.limits = comm->limits;
  VS_VEC(int) left = {0};
  if (vs_vec_reserve(vs_host_default(), &left, (size_t)comm->count) != VS_OK)
    return vs_nccl_fail(ncclSystemError, "no memory on the host");
  int before = 0;
  for (int rank = 0; rank < comm->count; rank++) {
    if (is_among(rank, excluded, excluded_count)) continue;
    if (rank < comm->rank) before++;
    left.data[left.count++] = rank;
  }
  const vs_nccl_shape shape = {.count = (int)left.count, .ranks = left.data};
  const ncclResult_t result = make(child, comm->device, before, &comm->shape, &shape, &settings);
  vs_vec_free(vs_host_default(), &left);
  return result;
}

ncclResult_t sim_ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id) {
  CHECK_COMM_AND(id);
  return sim_ncclGetUniqueId(id);
}

/* Existing ranks pass their communicator and rank -1, new ones no communicator and their rank. */
ncclResult_t sim_ncclCommGrow(ncclComm_t comm, int count, const ncclUniqueId *id, int rank, ncclComm_t *grown,
                              ncclConfig_t *config) {
  NCCL_TRY(check_pointer(grown, "ncclCommGrow"));
  *grown = NULL;
  if (comm == NULL) {
    NCCL_TRY(check_pointer(id, "ncclCommGrow"));
    return make_here(grown, count, rank, config);
  }
  NCCL_TRY(vs_nccl_check(comm, "ncclCommGrow"));
  if (rank != -1 || count < comm->count)
    return vs_nccl_fail(ncclInvalidArgument, "ncclCommGrow: rank %d, from %d to %d ranks", rank, comm->count,
                        count);
  vs_nccl_settings settings;
  NCCL_TRY(read_config(config, &settings));
  const vs_nccl_shape all = first_ranks(count);
  return make(grown, comm->device, comm->rank, &comm->shape, &all, &settings);
}

/* ---- queries */

ncclResult_t sim_ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  CHECK_COMM_AND(error);
  *error = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t sim_ncclCommCount(const ncclComm_t comm, int *count) {
  CHECK_COMM_AND(count);
  *count = comm->count;
  return ncclSuccess;
}

ncclResult_t sim_ncclCommCuDevice(const ncclComm_t comm, int *device) {
  CHECK_COMM_AND(device);
  *device = (int)comm->device;
  return ncclSuccess;
}

ncclResult_t sim_ncclCommUserRank(const ncclComm_t comm, int *rank) {
  CHECK_COMM_AND(rank);
  *rank = comm->rank;
  return ncclSuccess;
}

ncclResult_t sim_ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t *value) {
  CHECK_COMM_AND(value);
  switch (stat) {
    case ncclStatGpuMemSuspend:
    case ncclStatGpuMemTotal: *value = comm->buffers.bytes; return ncclSuccess;
    case ncclStatGpuMemSuspended: *value = comm->is_suspended; return ncclSuccess;
    case ncclStatGpuMemPersist: *value = 0; return ncclSuccess;
    default: return vs_nccl_fail(ncclInvalidArgument, "ncclCommMemStats: there is no figure %d", (int)stat);
  }
}

/* ---- suspending and destroying */

ncclResult_t sim_ncclCommSuspend(ncclComm_t comm, int flags) {
  (void)flags;
  NCCL_TRY(vs_nccl_check(comm, "ncclCommSuspend"));
  if (comm->is_suspended) return vs_nccl_fail(ncclInvalidUsage, "ncclCommSuspend: it is suspended already");
  return vs_nccl_suspend(comm);
}

ncclResult_t sim_ncclCommResume(ncclComm_t comm) {
  NCCL_TRY(vs_nccl_check(comm, "ncclCommResume"));
  if (!comm->is_suspended) return vs_nccl_fail(ncclInvalidUsage, "ncclCommResume: it is not suspended");
  return vs_nccl_resume(comm);
}

ncclResult_t sim_ncclCommFinalize(ncclComm_t comm) { return vs_nccl_check(comm, "ncclCommFinalize"); }

ncclResult_t sim_ncclCommRevoke(ncclComm_t comm, int flags) {
  NCCL_TRY(vs_nccl_check(comm, "ncclCommRevoke"));
  if (flags != 0) return vs_nccl_fail(ncclInvalidArgument, "ncclCommRevoke: the flags are %d", flags);
  comm->is_revoked = true;
  return ncclSuccess;
}

ncclResult_t sim_ncclCommDestroy(ncclComm_t comm) {
  if (comm == NULL) return ncclSuccess;
  NCCL_TRY(vs_nccl_check(comm, "ncclCommDestroy"));
  discard(comm);
  return ncclSuccess;
}

ncclResult_t sim_ncclCommAbort(ncclComm_t comm) { return sim_ncclCommDestroy(comm); }

/* ---- user-defined operators */

ncclResult_t sim_ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
                                          ncclScalarResidence_t residence, ncclComm_t comm) {
  CHECK_COMM_AND(op);
  NCCL_TRY(check_pointer(scalar, "ncclRedOpCreatePreMulSum"));
  if ((unsigned)type >= ncclNumTypes || (unsigned)residence > ncclScalarHostImmediate)
    return vs_nccl_fail(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: type %d, residence %d", (int)type,
                        (int)residence);
  for (unsigned i = 0; i < VS_NCCL_OPERATORS; i++) {
    const uint64_t bit = UINT64_C(1) << (i % 64);
    if (comm->operators[i / 64] & bit) continue;
    comm->operators[i / 64] |= bit;
    *op = (ncclRedOp_t)(ncclNumOps + i);
    return ncclSuccess;
  }
  return vs_nccl_fail(ncclInternalError, "ncclRedOpCreatePreMulSum: more than %d operators",
                      VS_NCCL_OPERATORS);
}

ncclResult_t sim_ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  NCCL_TRY(vs_nccl_check(comm, "ncclRedOpDestroy"));
  const unsigned i = (unsigned)op - ncclNumOps;
  const uint64_t bit = UINT64_C(1) << (i % 64);
  if ((unsigned)op < ncclNumOps || i >= VS_NCCL_OPERATORS || (comm->operators[i / 64] & bit) == 0)
    return vs_nccl_fail(ncclInvalidArgument, "ncclRedOpDestroy: there is no operator %d of the program",
                        (int)op);
  comm->operators[i / 64] &= ~bit;
  return ncclSuccess;
}
