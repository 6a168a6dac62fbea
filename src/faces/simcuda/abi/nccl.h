/* NCCL 2.27 to 2.30: the types, and declarations of the functions of its list. Layouts are those of 2.30; older ones are prefixes of them. */
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
  size_t size; /* the size of this struct in the caller's version */
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

#include "faces/simcuda/abi/declare.h"
#include "faces/simcuda/abi/nccl_names.def"
#include "faces/simcuda/abi/declared.h"

#endif
