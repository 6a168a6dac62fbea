/* The world: the simulated machine as this process sees it. One for each process; all faces stand on it.
 *
 *   face (cudart, driver, cuBLAS, NVML ...)  conversions of one library: handles, error codes, structs
 *     | calls
 *   world (this header)                      lock, configuration, threads, what copies read back, notes
 *     | calls, under the lock
 *   vs_sim (device/sim)                      memory, streams, events, capture: pure
 *
 * The world begins at the first call that needs it, never when a library is loaded. After a fork the child
 * has no world any more: every call of it fails with VS_SIM_NOT_INITIALIZED, as CUDA's does.
 *
 * Addresses of the GPU are uint64_t here; faces convert. Unless said otherwise functions may be called by
 * any thread, and the caller does not hold the lock. Functions that fail return a vs_sim_error, whose
 * values are those that the driver and the runtime share; a face passes them on. */
#ifndef VS_SIMCUDA_PROCESS_H
#define VS_SIMCUDA_PROCESS_H

#include <stddef.h>

#include "device/sim/graph.h"
#include "device/sim/memory.h"
#include "device/sim/sim.h"
#include "device/sim/stream.h"
#include "faces/simcuda/core/face.h"

#define VS_SIMCUDA_API __attribute__((visibility("default"))) /* what the core library exports to the faces */

/* ---- begin, lock */

/* Begins the world where it has not begun, and says whether it can be used: VS_SIM_OK, VS_SIM_NO_DEVICE
 * (no card, or all hidden by CUDA_VISIBLE_DEVICES), VS_SIM_NOT_INITIALIZED (a forked child, a
 * configuration that makes no sense: said once on standard error). */
VS_SIMCUDA_API vs_sim_error vs_simcuda_begin(void);

/* Whether somebody began it here, and it can be used; does not begin it. (The first call of the runtime
 * makes the driver ready, too: cuInit is then no longer needed.) */
VS_SIMCUDA_API bool vs_simcuda_has_begun(void);

/* The process' simulation, locked; NULL where vs_simcuda_begin fails. Everything of device/sim is called
 * between these two, and nothing else that may wait is. Not recursive. */
VS_SIMCUDA_API vs_sim *vs_simcuda_lock(void);
VS_SIMCUDA_API void vs_simcuda_unlock(void);

/* How a call of CUDA ends: lets the lock go, and returns what the call answers. What graphs left to be called in
 * the program (callbacks.h) goes to the thread that calls it.
 *   leave               most calls
 *   leave_synchronized  calls that promise that work is done: functions of the program have returned, too
 *   leave_query         questions whether work is done: VS_SIM_NOT_READY while such functions are to be called */
VS_SIMCUDA_API vs_sim_error vs_simcuda_leave(vs_sim_error error);
VS_SIMCUDA_API vs_sim_error vs_simcuda_leave_synchronized(vs_sim_error error);
VS_SIMCUDA_API vs_sim_error vs_simcuda_leave_query(vs_sim_error error);

/* ---- devices. Programs count the visible ones (CUDA_VISIBLE_DEVICES); the machine counts all, as NVML does. */

/* The visible ones; 0 where the world cannot be used. */
VS_SIMCUDA_API uint32_t vs_simcuda_device_count(void);
/* The card of the machine that a visible device stands for; UINT32_MAX for one that is not there. */
VS_SIMCUDA_API uint32_t vs_simcuda_card(uint32_t device);
/* Of a visible device; all three live as long as the process, and are NULL for a device that is not there.
 * The figures are those of the card as it was asked for: total_bytes is what this machine has. The name
 * says that it is simulated. */
VS_SIMCUDA_API const vs_sim_gpu *vs_simcuda_gpu(uint32_t device);
VS_SIMCUDA_API const vs_sim_figures *vs_simcuda_figures(uint32_t device);
VS_SIMCUDA_API const char *vs_simcuda_name(uint32_t device);
/* Free and total memory of a visible device over all processes, those that were killed not counted; makes
 * the context. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_memory_info(uint32_t device, uint64_t *free_bytes,
                                                   uint64_t *total_bytes);
/* The machine for the faces that count cards (NVML); under the machine's lock. Does not begin the world, so
 * that a process that only looked may fork children that use CUDA. Processes that were killed have left
 * when it returns. NULL where there is no machine (a configuration that makes no sense). */
VS_SIMCUDA_API vs_sim_machine *vs_simcuda_lock_machine(void);
VS_SIMCUDA_API void vs_simcuda_unlock_machine(void);

/* Makes the context of this process on a visible device, if it has none: its memory is charged to the
 * card. What allocates, asks for free memory or makes a stream calls this first; what only asks for
 * properties does not.
 * Fails: VS_SIM_OUT_OF_MEMORY where even the context does not fit; VS_SIM_INVALID_DEVICE. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_use(uint32_t device);
/* Whether it has one (cuDevicePrimaryCtxGetState). */
VS_SIMCUDA_API bool vs_simcuda_is_used(uint32_t device);
/* cudaDeviceReset, cuDevicePrimaryCtxReset: gives back all that this process holds on the device. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_reset(uint32_t device);

/* ---- threads */

typedef struct vs_simcuda_thread {
  uint32_t device;     /* the current device, visible numbering */
  int last_error;      /* the runtime's sticky-until-asked last error */
  union {              /* the same under two names */
    vs_sim_thread sim; /* what streams and captures want to know of a thread */
    struct {
      uint64_t id;                      /* of this thread in the process, from 1 */
      vs_sim_capture_mode capture_mode; /* of cudaThreadExchangeStreamCaptureMode */
    };
  };
  void *contexts
      [64]; /* the driver's stack of contexts, the top last; the driver face gives the pointers a meaning */
  uint32_t context_count;
  uint32_t configuration_count; /* __cudaPushCallConfiguration; the launches below, the innermost last */
  struct vs_simcuda_launch {
    uint32_t grid[3], block[3];
    uint64_t shared_bytes;
    uint64_t stream;
  } configurations[16];
} vs_simcuda_thread;

/* The calling thread's; valid as long as the thread. Never NULL. */
VS_SIMCUDA_API vs_simcuda_thread *vs_simcuda_this_thread(void);

/* ---- work. Kernels do nothing; what counts is that they were there. */

typedef enum vs_simcuda_work {
  VS_SIMCUDA_KERNEL, /* a kernel, or a library call that launches some */
  VS_SIMCUDA_HOST_FUNCTION,
} vs_simcuda_work;

/* Work on a stream of the calling thread's current device: makes the context, checks the stream, adds a
 * node where it captures, advances the virtual clock. After a kernel fresh contents are no longer trusted
 * (see below). */
VS_SIMCUDA_API vs_sim_error vs_simcuda_work_on(uint64_t stream, vs_simcuda_work work);
/* For faces that launch by other means (graphs): the caller holds the lock. Kernels have run, so fresh
 * contents are old. */
VS_SIMCUDA_API void vs_simcuda_kernels_ran(uint64_t count);

/* ---- contents: what the host reads back
 *
 * Device memory has no contents; kernels compute nothing. What copies read from the device is decided by
 * VRAMSCOPE_SIM_VALUES:
 *
 *   zeros  zeros, but for fresh bytes: what copies and memsets wrote since the last kernel of this process is
 *          read back as written (up to 1 MiB in all). So what is only moved through the device arrives, and
 *          nothing stale is ever read.
 *   true   as zeros, and the read of a single byte that is not fresh gives 1: a truth test of a device value
 *          is true.
 *   keep   everything that copies and memsets wrote is kept, whatever kernels did since.
 *
 * Pinned and managed host memory has real contents. The functions below tell the kinds of memory by the
 * addresses, check that every range lies in one allocation, add graph nodes on capturing streams, and
 * count what is read (next part).
 *   stream     the stream, or VS_SIMCUDA_NO_STREAM for the synchronous forms, which use the default stream and
 *              wait, for functions of the program, too
 * Fail: VS_SIM_INVALID_VALUE (a device range that is not allocated), VS_SIM_INVALID_HANDLE (stream),
 * capture errors. */
#define VS_SIMCUDA_NO_STREAM UINT64_MAX

typedef enum vs_simcuda_direction { /* values of cudaMemcpyKind */
                                    VS_SIMCUDA_HOST_TO_HOST,
                                    VS_SIMCUDA_HOST_TO_DEVICE,
                                    VS_SIMCUDA_DEVICE_TO_HOST,
                                    VS_SIMCUDA_DEVICE_TO_DEVICE,
                                    VS_SIMCUDA_BY_ADDRESS,
} vs_simcuda_direction;

VS_SIMCUDA_API vs_sim_error vs_simcuda_copy(uint64_t to, uint64_t from, uint64_t size,
                                            vs_simcuda_direction direction, uint64_t stream);
/* Rows of `width` bytes, `height` of them, whose starts lie pitch bytes apart. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_copy_rows(uint64_t to, uint64_t to_pitch, uint64_t from,
                                                 uint64_t from_pitch, uint64_t width, uint64_t height,
                                                 vs_simcuda_direction direction, uint64_t stream);
/* `count` elements of element_size (1, 2, 4) bytes, in rows as above (height 1: pitch does not matter). */
VS_SIMCUDA_API vs_sim_error vs_simcuda_fill(uint64_t to, uint64_t pitch, uint32_t value,
                                            uint32_t element_size, uint64_t count, uint64_t height,
                                            uint64_t stream);
/* Writes bytes that a library call computes on the device (a pivot count, a status word: small); they are
 * fresh until the next kernel. Not checked against allocations. */
VS_SIMCUDA_API void vs_simcuda_put(uint64_t to, const void *bytes, uint64_t size);

/* ---- host memory that CUDA gives out or knows (cudaHostAlloc, cudaHostRegister, cudaMallocManaged) */

/* Real, zeroed, page-aligned memory. A range that the program registers itself is added by vs_sim_host_add
 * with user 0; what user holds for memory from here is the core's.
 * Fails: VS_SIM_INVALID_VALUE (size 0; free: not from vs_simcuda_host_alloc), VS_SIM_OUT_OF_MEMORY. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_host_alloc(uint64_t size, void **memory);
VS_SIMCUDA_API vs_sim_error vs_simcuda_host_free(void *memory);
/* Managed memory is real memory at an address of the current device; vs_sim_free takes its pages away too. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_managed_alloc(uint64_t size, void **memory);

/* ---- notes for the report: written at once into the file notes.<pid>.jsonl of VRAMSCOPE_SIM_RUN, if that
 * is set */

VS_SIMCUDA_API void vs_simcuda_add_face(vs_face *face);
VS_SIMCUDA_API void vs_simcuda_remove_face(vs_face *face);
/* Called by the trampoline of a name that is not simulated: says so once, returns call->refusal. */
VS_SIMCUDA_API uint64_t vs_simcuda_refused(vs_face_call *call);
/* The same for something finer than a name: "cudaGraphAddNode with a conditional node". Said once for each
 * text. */
VS_SIMCUDA_API void vs_simcuda_not_simulated(const char *library, const char *what);
/* A figure of the report rests on a guess: `what` is a key in small letters, `why` a sentence. Noted once
 * for each key, the bytes are added up. */
VS_SIMCUDA_API void vs_simcuda_guess(const char *what, uint64_t bytes, const char *why);
/* One line on standard error, begun with "vramscope: "; once for each text. */
VS_SIMCUDA_API void vs_simcuda_say_once(const char *sentence);
/* A training step is done; the watcher shows the count. Called from Python by name. */
VS_SIMCUDA_API void vs_simcuda_note_step(void);
/* Whether copies are to keep values, for libraries that have something to compute (see contents). */
VS_SIMCUDA_API bool vs_simcuda_keeps_values(void);

#endif
