/* NCCL 2.27 to 2.30: the types and the functions written by hand. Layouts are those of 2.30; older ones are its beginning. */
#ifndef VS_SIMCUDA_ABI_NCCL_H
#define VS_SIMCUDA_ABI_NCCL_H

#include <limits.h>

#include "faces/simcuda/abi/math_types.h"

#if VS_ABI_TOOLKIT
#include <nccl.h>
#else
#define NCCL_UNIQUE_ID_BYTES  128
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_SPLIT_NOCOLOR    (-1)
#define NCCL_VERSION_CODE     23007

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;

typedef struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum ncclResult_t {
  ncclSuccess,
  ncclUnhandledCudaError,
  ncclSystemError,
  ncclInternalError,
  ncclInvalidArgument,
  ncclInvalidUsage,
  ncclRemoteError,
  ncclInProgress,
  ncclTimeout
} ncclResult_t;

typedef enum ncclRedOp_t {
  ncclSum,
  ncclProd,
  ncclMax,
  ncclMin,
  ncclAvg,
  ncclNumOps,
  ncclMaxRedOp = INT_MAX
} ncclRedOp_t;

typedef enum ncclDataType_t {
  ncclInt8,
  ncclUint8,
  ncclInt32,
  ncclUint32,
  ncclInt64,
  ncclUint64,
  ncclFloat16,
  ncclFloat32,
  ncclFloat64,
  ncclBfloat16,
  ncclFloat8e4m3,
  ncclFloat8e5m2,
  ncclNumTypes
} ncclDataType_t;

typedef enum ncclScalarResidence_t { ncclScalarDevice, ncclScalarHostImmediate } ncclScalarResidence_t;

typedef struct ncclConfig_t {
  size_t size; /* what the caller's version of this struct has */
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char *netName;
  int splitShare, trafficClass;
  const char *commName;
  int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs, nChannelsPerNetPeer,
      nvlinkCentricSched; /* the end of 2.28 */
  int graphUsageMode, numRmaCtx, maxP2pPeers, graphStreamOrdering;
} ncclConfig_t;

typedef struct ncclSimInfo_t {
  size_t size;
  unsigned magic, version;
  float estimatedTime;
} ncclSimInfo_t;
#endif

#if NCCL_VERSION_CODE < 22900 || !VS_ABI_TOOLKIT
typedef enum ncclCommMemStat_t {
  ncclStatGpuMemSuspend,
  ncclStatGpuMemSuspended,
  ncclStatGpuMemPersist,
  ncclStatGpuMemTotal
} ncclCommMemStat_t;

typedef struct ncclWaitSignalDesc_t {
  int opCnt, peer, sigIdx, ctx;
} ncclWaitSignalDesc_t;
#endif

/* ---- the library */
ncclResult_t sim_ncclGetVersion(int *version);
ncclResult_t sim_ncclGetUniqueId(ncclUniqueId *id);
const char *sim_ncclGetErrorString(ncclResult_t result);
const char *sim_ncclGetLastError(ncclComm_t comm);
void sim_ncclResetDebugInit(void);

/* ---- communicators */
ncclResult_t sim_ncclCommInitRank(ncclComm_t *comm, int count, ncclUniqueId id, int rank);
ncclResult_t sim_ncclCommInitRankConfig(ncclComm_t *comm, int count, ncclUniqueId id, int rank,
                                        ncclConfig_t *config);
ncclResult_t sim_ncclCommInitRankScalable(ncclComm_t *comm, int count, int rank, int id_count,
                                          ncclUniqueId *ids, ncclConfig_t *config);
ncclResult_t sim_ncclCommInitAll(ncclComm_t *comms, int count, const int *devices);
ncclResult_t sim_ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child, ncclConfig_t *config);
ncclResult_t sim_ncclCommShrink(ncclComm_t comm, int *excluded, int excluded_count, ncclComm_t *child,
                                ncclConfig_t *config, int flags);
ncclResult_t sim_ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id);
ncclResult_t sim_ncclCommGrow(ncclComm_t comm, int count, const ncclUniqueId *id, int rank, ncclComm_t *grown,
                              ncclConfig_t *config);
ncclResult_t sim_ncclCommFinalize(ncclComm_t comm);
ncclResult_t sim_ncclCommDestroy(ncclComm_t comm);
ncclResult_t sim_ncclCommAbort(ncclComm_t comm);
ncclResult_t sim_ncclCommRevoke(ncclComm_t comm, int flags);
ncclResult_t sim_ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
ncclResult_t sim_ncclCommCount(const ncclComm_t comm, int *count);
ncclResult_t sim_ncclCommCuDevice(const ncclComm_t comm, int *device);
ncclResult_t sim_ncclCommUserRank(const ncclComm_t comm, int *rank);
ncclResult_t sim_ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t sim_ncclCommResume(ncclComm_t comm);
ncclResult_t sim_ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t stat, uint64_t *value);

/* ---- memory */
ncclResult_t sim_ncclMemAlloc(void **memory, size_t size);
ncclResult_t sim_ncclMemFree(void *memory);
ncclResult_t sim_ncclCommRegister(const ncclComm_t comm, void *memory, size_t size, void **handle);
ncclResult_t sim_ncclCommDeregister(const ncclComm_t comm, void *handle);
ncclResult_t sim_ncclCommWindowRegister(ncclComm_t comm, void *memory, size_t size, ncclWindow_t *window,
                                        int flags);
ncclResult_t sim_ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window);
ncclResult_t sim_ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void **memory);

/* ---- operators */
ncclResult_t sim_ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
                                          ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t sim_ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

/* ---- collectives */
ncclResult_t sim_ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                            int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t sim_ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t sim_ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                               ncclComm_t comm, cudaStream_t stream);
ncclResult_t sim_ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream);
ncclResult_t sim_ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
                                   ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t sim_ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                               cudaStream_t stream);
ncclResult_t sim_ncclAlltoAll(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                              cudaStream_t stream);
ncclResult_t sim_ncclGather(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                            ncclComm_t comm, cudaStream_t stream);
ncclResult_t sim_ncclScatter(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                             ncclComm_t comm, cudaStream_t stream);
ncclResult_t sim_ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                          cudaStream_t stream);
ncclResult_t sim_ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                          cudaStream_t stream);
ncclResult_t sim_ncclPutSignal(const void *from, size_t count, ncclDataType_t type, int peer,
                               ncclWindow_t window, size_t offset, int signal, int context, unsigned flags,
                               ncclComm_t comm, cudaStream_t stream);
ncclResult_t sim_ncclSignal(int peer, int signal, int context, unsigned flags, ncclComm_t comm,
                            cudaStream_t stream);
ncclResult_t sim_ncclWaitSignal(int count, ncclWaitSignalDesc_t *signals, ncclComm_t comm,
                                cudaStream_t stream);

/* ---- groups */
ncclResult_t sim_ncclGroupStart(void);
ncclResult_t sim_ncclGroupEnd(void);
ncclResult_t sim_ncclGroupSimulateEnd(ncclSimInfo_t *info);

#endif
