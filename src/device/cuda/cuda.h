/* The CUDA driver of this process, found at run time: nothing of CUDA is linked.
 *
 *   vs_cuda *cuda;
 *   vs_cuda_open(host, NULL, &cuda, &failure, &error);
 *   vs_cuda_identity_of(cuda, 0, &identity);
 *
 * Numbers are the driver's, which CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER decide as they are when the process first
 * initialises CUDA. Opening initialises the driver (cuInit), which takes no memory of any card and makes no context; a
 * process that has done so cannot use CUDA in children that it forks.
 *
 * Any number of these may be open in a process, and any thread may use one: it is constant once it is open. */
#ifndef VS_DEVICE_CUDA_CUDA_H
#define VS_DEVICE_CUDA_CUDA_H

#include "device/abi/driver_types.h"
#include "os/library.h"
#include <vramscope/base.h>

/* What each function is for: see cuda_api.def. */
typedef enum vs_cuda_need { VS_CUDA_INIT, VS_CUDA_IDENTITY, VS_CUDA_ALLOC, VS_CUDA_EXTRA } vs_cuda_need;

/* The driver's functions, NULL where the library has them not. */
typedef struct vs_cuda_api {
#define VS_CUDA(need, name, symbol, parameters) CUresult(*name) parameters;
#include "device/cuda/cuda_api.def"
#undef VS_CUDA
} vs_cuda_api;

typedef struct vs_cuda {
  vs_cuda_api api; /* all of INIT are there */
  const vs_host *host;
  vs_library library;
  int32_t driver_version; /* 1000 * major + 10 * minor of the newest CUDA that it serves: 13020 */
  uint32_t count;         /* cards that this process may use; 0 is no failure */
} vs_cuda;

typedef enum vs_cuda_reason {
  VS_CUDA_OPENED,
  VS_CUDA_NO_LIBRARY, /* there is no driver, or it does not load */
  VS_CUDA_NO_SYMBOL,  /* a library of that name that is none: one of INIT is missing */
  VS_CUDA_REFUSED     /* `code` says why */
} vs_cuda_reason;

/* Why there is no CUDA. A driver without cards (CUDA_ERROR_NO_DEVICE) opens with a count of 0. */
typedef struct vs_cuda_failure {
  vs_cuda_reason reason;
  int32_t code;      /* the driver's number (CUresult); 0: none */
  char name[48];     /* its name, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"; "" */
  char sentence[96]; /* its words */
} vs_cuda_failure;

/* `path` is a library in place of libcuda.so.1; NULL: that one, or what the variable VRAMSCOPE_CUDA names.
 * Owner: the caller, vs_cuda_close. `failure` and `error` may be NULL.
 * Fails: VS_NOT_FOUND (no library), VS_IO (one that does not load), VS_UNSUPPORTED (the rest: `failure`), VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_cuda_open(const vs_host *host, const char *path, vs_cuda **cuda,
                                     vs_cuda_failure *failure, vs_error *error);

/* The driver itself stays initialised. NULL is fine. */
void vs_cuda_close(vs_cuda *cuda);

/* The functions that this driver has not got, in the order of cuda_api.def: NULL behind the last. */
const char *vs_cuda_missing(const vs_cuda *cuda, uint32_t number, vs_cuda_need *need);

/* The name of an error and its words, as the driver says them, else as we know them; never NULL. */
const char *vs_cuda_error_name(const vs_cuda *cuda, CUresult error);
const char *vs_cuda_error_text(const vs_cuda *cuda, CUresult error);

/* ---- who a card is: no context is made */

/* What the driver would not say is zero, and its bit is set in `unknown`. */
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
  char card_uuid[44]; /* of the whole card: the same, but for a MIG device */
  bool is_mig;
  char bus_id[24];      /* "0000:17:00.0"; of the card, for a MIG device too */
  uint64_t total_bytes; /* as CUDA counts, which is less than NVML's total */
  bool
      is_integrated; /* the card has no memory of its own and uses the processor's: free and total are the machine's */
  int32_t major, minor; /* compute capability */
} vs_cuda_identity;

/* Fails: VS_BAD_ARGUMENT (no such card) */
VS_MUST_CHECK vs_status vs_cuda_identity_of(const vs_cuda *cuda, uint32_t card, vs_cuda_identity *identity);

/* ---- the primary context: what everybody in a process shares, PyTorch too */

/* Whether somebody in this process has one on the card already; false where the driver does not say. */
bool vs_cuda_context_is_active(const vs_cuda *cuda, uint32_t card);

typedef struct vs_cuda_context {
  CUcontext handle;
  uint32_t card;
  bool was_there;        /* somebody in this process had it already: it cost nothing now */
  uint64_t microseconds; /* that retaining took */
  uint64_t bytes;        /* that the card has less since, by the caller's measure */
} vs_cuda_context;

/* How much of the card is in use, as somebody sees it who needs no context (NVML's used bytes). False: not known. */
typedef struct vs_cuda_gauge {
  bool (*used)(void *ctx, uint64_t *bytes);
  void *ctx;
} vs_cuda_gauge;

/* Keeps the card's primary context alive, and makes it if need be. `gauge` (may be NULL) is asked before and behind;
 * other processes move it too. Where it does not know, bytes are 0.
 * Fails: VS_BAD_ARGUMENT, VS_UNSUPPORTED (a function is missing), VS_DEVICE_MEMORY, VS_DEVICE */
VS_MUST_CHECK vs_status vs_cuda_context_retain(const vs_cuda *cuda, uint32_t card, const vs_cuda_gauge *gauge,
                                               vs_cuda_context *context, vs_error *error);
void vs_cuda_context_release(const vs_cuda *cuda, const vs_cuda_context *context);

/* Free and total bytes of the context's card, by the driver. Fails: VS_UNSUPPORTED, VS_DEVICE */
VS_MUST_CHECK vs_status vs_cuda_memory_info(const vs_cuda *cuda, const vs_cuda_context *context,
                                            uint64_t *free_bytes, uint64_t *total_bytes);

#endif
