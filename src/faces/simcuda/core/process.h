/* The simulated CUDA of this process: one simulation, shared by all faces that are loaded.
 *
 *   face (cudart, driver, cuBLAS, NVML ...)  conversions of one library: handles, error codes, structs
 *     | calls
 *   this header                              lock, configuration, threads, what copies read back, notes
 *     | calls, under the lock
 *   vs_sim (device/sim)                      memory, streams, events, capture: pure
 *
 * The simulation begins at the first call that needs it, never when a library is loaded. A forked child cannot
 * use its parent's simulation: every call there fails with VS_SIM_NOT_INITIALIZED, as CUDA's does.
 *
 * Addresses of the GPU are uint64_t here; faces convert. Unless said otherwise, functions may be called by any
 * thread, and the caller does not hold the lock. Functions that fail return a vs_sim_error, whose values are
 * those that the driver and the runtime share; a face passes them on. */
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

/* Begins the simulation on the first call, and returns whether it can be used: VS_SIM_OK, VS_SIM_NO_DEVICE (no
 * card, or all hidden by CUDA_VISIBLE_DEVICES), VS_SIM_NOT_INITIALIZED (a forked child, or an invalid
 * configuration, which is reported once on standard error). */
VS_SIMCUDA_API vs_sim_error vs_simcuda_begin(void);

/* Whether the simulation has begun and can be used; does not begin it. (The first call of the runtime also
 * initialises the driver, so cuInit is no longer needed after it.) */
VS_SIMCUDA_API bool vs_simcuda_has_begun(void);

/* The simulation, locked; NULL where vs_simcuda_begin fails. Functions of device/sim are called only while the
 * lock is held, and nothing else that may wait is called then. The lock is not recursive. */
VS_SIMCUDA_API vs_sim *vs_simcuda_lock(void);
VS_SIMCUDA_API void vs_simcuda_unlock(void);

/* The ways in which a call of CUDA ends: release the lock, and return what the call answers. Functions of the
 * program that graphs left to be called go to the thread that calls them (callbacks.h).
 *   leave               most calls
 *   leave_synchronized  calls that wait for work: they return after those functions have returned
 *   leave_query         calls that ask whether work is done: VS_SIM_NOT_READY while such functions are to be called */
VS_SIMCUDA_API vs_sim_error vs_simcuda_leave(vs_sim_error error);
VS_SIMCUDA_API vs_sim_error vs_simcuda_leave_synchronized(vs_sim_error error);
VS_SIMCUDA_API vs_sim_error vs_simcuda_leave_query(vs_sim_error error);

/* ---- devices. Programs count the visible ones (CUDA_VISIBLE_DEVICES); the machine counts all, as NVML does. */

/* The number of visible devices; 0 where the simulation cannot be used. */
VS_SIMCUDA_API uint32_t vs_simcuda_device_count(void);
/* The card of the machine that is this visible device; UINT32_MAX if there is no such device. */
VS_SIMCUDA_API uint32_t vs_simcuda_card(uint32_t device);
/* Properties of a visible device. The results stay valid as long as the process, and are NULL if there is no
 * such device. total_bytes of the figures is the size that was configured for the card. The name says that the
 * device is simulated. */
VS_SIMCUDA_API const vs_sim_gpu *vs_simcuda_gpu(uint32_t device);
VS_SIMCUDA_API const vs_sim_figures *vs_simcuda_figures(uint32_t device);
VS_SIMCUDA_API const char *vs_simcuda_name(uint32_t device);
/* Free and total memory of a visible device, over all processes. Memory of killed processes counts as free.
 * Makes the context. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_memory_info(uint32_t device, uint64_t *free_bytes,
                                                   uint64_t *total_bytes);
/* The machine, locked, for faces that count cards (NVML). Does not begin the simulation, so a process that only
 * counted cards may fork children that use CUDA. Removes killed processes first. NULL where there is no
 * machine because the configuration is invalid. */
VS_SIMCUDA_API vs_sim_machine *vs_simcuda_lock_machine(void);
VS_SIMCUDA_API void vs_simcuda_unlock_machine(void);

/* Makes the context of this process on a visible device if it has none, and charges the context's memory to the
 * card. Calls that allocate, ask for free memory or make a stream call this first; calls that only ask for
 * properties do not. Fails: VS_SIM_OUT_OF_MEMORY where even the context does not fit; VS_SIM_INVALID_DEVICE. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_use(uint32_t device);
/* Counts an object of the driver or of a library, and charges its memory to the card (device/sim/own_memory.h). `take_first` does
 * so only if there is no object of that kind yet. Fail as vs_simcuda_use does. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_own_take(uint32_t device, vs_sim_own_kind kind);
VS_SIMCUDA_API vs_sim_error vs_simcuda_own_take_first(uint32_t device, vs_sim_own_kind kind);
VS_SIMCUDA_API void vs_simcuda_own_give(uint32_t device, vs_sim_own_kind kind);
/* Whether this process has a context on the device (cuDevicePrimaryCtxGetState). */
VS_SIMCUDA_API bool vs_simcuda_is_used(uint32_t device);
/* cudaDeviceReset, cuDevicePrimaryCtxReset: frees everything that this process holds on the device. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_reset(uint32_t device);

/* ---- threads */

typedef struct vs_simcuda_thread {
  uint32_t device;     /* the current device, visible numbering */
  int last_error;      /* the runtime's last error, kept until the program asks for it */
  union {              /* two names for the same fields */
    vs_sim_thread sim; /* what device/sim reads of the calling thread */
    struct {
      uint64_t id;                      /* number of this thread in the process, from 1 */
      vs_sim_capture_mode capture_mode; /* set by cudaThreadExchangeStreamCaptureMode */
    };
  };
  /* The driver's stack of contexts, the top last. The driver face defines what the pointers mean. */
  void *contexts[64];
  uint32_t context_count;
  /* Launch configurations of __cudaPushCallConfiguration, the innermost last. */
  uint32_t configuration_count;
  struct vs_simcuda_launch {
    uint32_t grid[3], block[3];
    uint64_t shared_bytes;
    uint64_t stream;
  } configurations[16];
  uint32_t account;           /* for whom memory is taken: vs_simcuda_charge */
  const void *charged_caller; /* the caller whose calls are all for `account`; NULL: any may be for another */
} vs_simcuda_thread;

/* For whom the simulation takes memory of a card in the calls of this thread from now on: an account of device/sim/accounts.def, or the
 * library of the program that contains `caller`, as it calls us. Called without the lock. */
VS_SIMCUDA_API void vs_simcuda_charge(uint32_t account);
VS_SIMCUDA_API void vs_simcuda_charge_caller(const void *caller);

/* The calling thread's state; valid as long as the thread. Never NULL. */
VS_SIMCUDA_API vs_simcuda_thread *vs_simcuda_this_thread(void);

/* ---- work. Kernels do nothing; they are only counted. */

typedef enum vs_simcuda_work {
  VS_SIMCUDA_KERNEL, /* a kernel, or a library call that launches kernels */
  VS_SIMCUDA_HOST_FUNCTION,
} vs_simcuda_work;

/* Adds work to a stream of the calling thread's current device: makes the context, checks the stream, adds a
 * node if the stream captures, advances the virtual clock. A kernel invalidates fresh values (see below). */
VS_SIMCUDA_API vs_sim_error vs_simcuda_work_on(uint64_t stream, vs_simcuda_work work);
/* Counts kernels for faces that launch by other means (graphs), and invalidates fresh values. Under the lock. */
VS_SIMCUDA_API void vs_simcuda_kernels_ran(uint64_t count);

/* ---- values: what the host reads back
 *
 * Device memory has no contents, and kernels compute nothing. VRAMSCOPE_SIM_VALUES decides what copies read from
 * the device:
 *
 *   zeros  zeros, except fresh bytes: those that copies and memsets wrote since the last kernel of this process
 *          are read back as written (up to 1 MiB in total). So values that are only moved through the device
 *          arrive, and stale values are never read.
 *   true   like zeros, but a read of a single byte that is not fresh gives 1, so that a truth test of a device
 *          value is true.
 *   keep   all bytes that copies and memsets wrote are kept; kernels do not invalidate them.
 *
 * Reads of single places of a Python program may be given other values (device/sim/values.h). The innermost frame of
 * the reading thread's stack that is at such a place decides.
 *
 * Pinned and managed host memory has real contents. The functions below find the kind of memory from the
 * addresses, check that each range lies in one allocation, add graph nodes on capturing streams, and count reads
 * for the report.
 *   stream     the stream, or VS_SIMCUDA_NO_STREAM for the synchronous forms, which use the default stream, and
 *              wait for it and for functions of the program
 * Fail: VS_SIM_INVALID_VALUE (a device range that is not allocated), VS_SIM_INVALID_HANDLE (stream), capture
 * errors. */
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
/* `height` rows of `width` bytes; the pitches are the distances between the starts of rows. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_copy_rows(uint64_t to, uint64_t to_pitch, uint64_t from,
                                                 uint64_t from_pitch, uint64_t width, uint64_t height,
                                                 vs_simcuda_direction direction, uint64_t stream);
/* `count` elements of element_size (1, 2, 4) bytes in each of `height` rows; the pitch is ignored for one row. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_fill(uint64_t to, uint64_t pitch, uint32_t value,
                                            uint32_t element_size, uint64_t count, uint64_t height,
                                            uint64_t stream);
/* Writes a small result that a library call computes on the device (a pivot count, a status word). The bytes are
 * fresh until the next kernel. The address is not checked against allocations. */
VS_SIMCUDA_API void vs_simcuda_put(uint64_t to, const void *bytes, uint64_t size);

/* ---- host memory that CUDA allocates or registers (cudaHostAlloc, cudaHostRegister, cudaMallocManaged) */

/* Real, zeroed, page-aligned memory. Its range has a user value that only the core reads; a face adds memory
 * that the program registers itself by vs_sim_host_add with user 0. Fails: VS_SIM_INVALID_VALUE (size 0; free:
 * not from vs_simcuda_host_alloc), VS_SIM_OUT_OF_MEMORY. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_host_alloc(uint64_t size, void **memory);
VS_SIMCUDA_API vs_sim_error vs_simcuda_host_free(void *memory);
/* Managed memory is real memory at an address of the current device; vs_sim_free unmaps its pages. */
VS_SIMCUDA_API vs_sim_error vs_simcuda_managed_alloc(uint64_t size, void **memory);

/* ---- notes for the report: written at once into the file notes.<pid>.jsonl of VRAMSCOPE_SIM_RUN, if that is
 * set */

VS_SIMCUDA_API void vs_simcuda_add_face(vs_face *face);
VS_SIMCUDA_API void vs_simcuda_remove_face(vs_face *face);
/* Called by the trampoline of a name that is not simulated: reports the name once, returns call->refusal. */
VS_SIMCUDA_API uint64_t vs_simcuda_refused(vs_face_call *call);
/* The same for a part of a function: "cudaGraphAddNode with a conditional node". Each text is reported once. */
VS_SIMCUDA_API void vs_simcuda_not_simulated(const char *library, const char *what);
/* A figure of the report rests on a guess: `what` is a key in small letters, `why` a sentence. Each key is noted
 * once; its bytes are summed. */
VS_SIMCUDA_API void vs_simcuda_guess(const char *what, uint64_t bytes, const char *why);
/* The same where a bound is known: they are `most` bytes at most. Bounds of a key are summed, too; after UINT64_MAX
 * (or vs_simcuda_guess) it has none. */
VS_SIMCUDA_API void vs_simcuda_guess_below(const char *what, uint64_t bytes, uint64_t most, const char *why);
/* Writes one line "vramscope: SENTENCE" to standard error; each text once. */
VS_SIMCUDA_API void vs_simcuda_say_once(const char *sentence);
/* The same, and a note for the report: `file` cannot run here, and why. */
VS_SIMCUDA_API void vs_simcuda_cannot_run(const char *file, const char *sentence);
/* Counts a training step, which `vramscope dryrun` shows while the program runs. Python calls it by name. */
VS_SIMCUDA_API void vs_simcuda_note_step(void);
/* Notes what is noted at the end of a process, which leaves now without calling destructors. The hook in a Python program calls it by
 * name before os._exit. */
VS_SIMCUDA_API void vs_simcuda_note_exit(void);
/* The path by which the program opened NVIDIA's own NVRTC, and got the simulated one, which forwards to it. The first that is told
 * counts; NULL: none was. The hook in a Python program (vramscope_libraries.py) tells it, and calls that by name. */
VS_SIMCUDA_API void vs_simcuda_tell_nvrtc(const char *path);
VS_SIMCUDA_API const char *vs_simcuda_told_nvrtc(void);
/* For the hook in a Python program, which knows a value that the program computes on the GPU: reads of 1, 2, 4 or
 * 8 bytes by the calling thread, with a frame of this code object at a line from `first` to `last`, get this integer, until another one is given, or all are taken back (`code` NULL). The caller keeps the code object alive. While
 * a thread has such values, its loops count as ones that end. */
VS_SIMCUDA_API void vs_simcuda_give(void *code, int first, int last, int64_t value);
/* For the same hook, which knows that the loops of the calling thread end, whatever they read: no loop of it is reported as one
 * that makes no progress, from now on. */
VS_SIMCUDA_API void vs_simcuda_trust_loops(void);
/* Whether copies keep values (VRAMSCOPE_SIM_VALUES=keep), for libraries that could compute something. */
VS_SIMCUDA_API bool vs_simcuda_keeps_values(void);

#endif
