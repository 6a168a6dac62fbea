/* The CUDA driver of this process, loaded at run time: CUDA is not linked.
 *
 *   vs_cuda *cuda;
 *   vs_cuda_open(host, NULL, &cuda, &failure, &error);
 *   vs_cuda_identity_of(cuda, 0, &identity);
 *
 * Numbers are the driver's. They depend on CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER at the time when the process first
 * initialises CUDA. Opening initialises the driver (cuInit), which takes no memory of a card and makes no context; afterwards
 * children that the process forks cannot use CUDA.
 *
 * A process may open several of these, and any thread may use one, because it is constant once it is open. */
#ifndef VS_DEVICE_CUDA_CUDA_H
#define VS_DEVICE_CUDA_CUDA_H

#include "device/abi/driver_types.h"
#include "os/library.h"
#include <vramscope/base.h>

/* The purpose of each function: see cuda_api.def. */
typedef enum vs_cuda_need { VS_CUDA_INIT, VS_CUDA_IDENTITY, VS_CUDA_ALLOC, VS_CUDA_EXTRA } vs_cuda_need;

/* The driver's functions; NULL if the library does not have one. */
typedef struct vs_cuda_api {
#define VS_CUDA(need, name, symbol, parameters) CUresult(*name) parameters;
#include "device/cuda/cuda_api.def"
#undef VS_CUDA
} vs_cuda_api;

typedef struct vs_cuda {
  vs_cuda_api api; /* all functions of INIT are present */
  const vs_host *host;
  vs_library library;
  int32_t driver_version; /* 1000 * major + 10 * minor of the newest CUDA that it supports: 13020 */
  uint32_t count;         /* cards that this process may use; 0 is not a failure */
} vs_cuda;

typedef enum vs_cuda_reason {
  VS_CUDA_OPENED,
  VS_CUDA_NO_LIBRARY, /* there is no driver, or it does not load */
  VS_CUDA_NO_SYMBOL,  /* the library is not a CUDA driver: a function of INIT is missing */
  VS_CUDA_REFUSED     /* `code` is the reason */
} vs_cuda_reason;

/* Why CUDA cannot be used. A driver without cards (CUDA_ERROR_NO_DEVICE) opens with a count of 0. */
typedef struct vs_cuda_failure {
  vs_cuda_reason reason;
  int32_t code;      /* the driver's number (CUresult); 0: none */
  char name[48];     /* its name, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"; "" */
  char sentence[96]; /* the driver's text for it */
} vs_cuda_failure;

/* `path` is a library to use instead of libcuda.so.1; NULL: that one, or the one in the variable VRAMSCOPE_CUDA.
 * Owner: the caller, vs_cuda_close. `failure` and `error` may be NULL.
 * Fails: VS_NOT_FOUND (no library), VS_IO (one that does not load), VS_UNSUPPORTED (the rest: `failure`), VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_cuda_open(const vs_host *host, const char *path, vs_cuda **cuda,
                                     vs_cuda_failure *failure, vs_error *error);

/* The driver itself stays initialised. NULL is fine. */
void vs_cuda_close(vs_cuda *cuda);

/* Number `number` of the functions that this driver lacks, in the order of cuda_api.def; NULL after the last. */
const char *vs_cuda_missing(const vs_cuda *cuda, uint32_t number, vs_cuda_need *need);

/* The name and text of an error, from the driver or else from our table; never NULL. */
const char *vs_cuda_error_name(const vs_cuda *cuda, CUresult error);
const char *vs_cuda_error_text(const vs_cuda *cuda, CUresult error);

/* ---- the identity of a card, read without making a context */

/* A fact that the driver does not tell is zero, and its bit is set in `unknown`. */
enum {
  VS_CUDA_NAME = 1,
  VS_CUDA_UUID = 2,
  VS_CUDA_BUS_ID = 4,
  VS_CUDA_TOTAL = 8,
  VS_CUDA_INTEGRATED = 16,
  VS_CUDA_CAPABILITY = 32
};

typedef struct vs_cuda_identity {
  uint32_t unknown;
  char name[96];
  char uuid[44];      /* "GPU-..." or, for a MIG device, "MIG-...": as NVML and nvidia-smi write it */
  char card_uuid[44]; /* of the whole card; different only for a MIG device */
  bool is_mig;
  char bus_id[24];      /* "0000:17:00.0"; of the card, for a MIG device too */
  uint64_t total_bytes; /* CUDA's total, which is less than NVML's */
  bool is_integrated;   /* the card uses the processor's memory: free and total are the machine's */
  int32_t major, minor; /* compute capability */
} vs_cuda_identity;

/* Fails: VS_BAD_ARGUMENT (no such card) */
VS_MUST_CHECK vs_status vs_cuda_identity_of(const vs_cuda *cuda, uint32_t card, vs_cuda_identity *identity);

/* ---- the primary context, which all users of CUDA in a process share, PyTorch too */

/* Whether the card's primary context exists in this process; false if the driver does not tell. */
bool vs_cuda_context_is_active(const vs_cuda *cuda, uint32_t card);

typedef struct vs_cuda_context {
  CUcontext handle;
  uint32_t card;
  bool was_there;        /* it existed already, so it cost nothing now */
  uint64_t microseconds; /* time that retaining took */
  uint64_t bytes;        /* by which the card's used memory grew, by the caller's gauge */
} vs_cuda_context;

/* Measures the used memory of the card without a context (NVML's used bytes). `used` returns false if it is unknown. */
typedef struct vs_cuda_gauge {
  bool (*used)(void *ctx, uint64_t *bytes);
  void *ctx;
} vs_cuda_gauge;

/* Retains the card's primary context, which makes it if necessary. `gauge` (may be NULL) is read before and afterwards; other
 * processes affect it, too. If it is unknown, `bytes` is 0.
 * Fails: VS_BAD_ARGUMENT, VS_UNSUPPORTED (a function is missing), VS_DEVICE_MEMORY, VS_DEVICE */
VS_MUST_CHECK vs_status vs_cuda_context_retain(const vs_cuda *cuda, uint32_t card, const vs_cuda_gauge *gauge,
                                               vs_cuda_context *context, vs_error *error);
void vs_cuda_context_release(const vs_cuda *cuda, const vs_cuda_context *context);

/* Free and total bytes of the context's card, by the driver. Fails: VS_UNSUPPORTED, VS_DEVICE */
VS_MUST_CHECK vs_status vs_cuda_memory_info(const vs_cuda *cuda, const vs_cuda_context *context,
                                            uint64_t *free_bytes, uint64_t *total_bytes);

#endif
