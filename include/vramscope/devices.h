/* vramscope devices: the GPUs of this machine, how full they are, and which processes have memory on them.
 *
 *   vs_devices *devices;
 *   vs_devices_failure failure;
 *   if (vs_devices_open(NULL, &devices, &failure) != VS_OK) ... failure.text says why, in one sentence
 *   for (uint32_t i = 0; i < vs_devices_count(devices); i++) {
 *     vs_devices_info info;
 *     vs_devices_memory memory;
 *     if (vs_devices_info_of(devices, i, &info) != VS_OK) break;
 *     if (vs_devices_memory_of(devices, i, false, &memory) != VS_OK) break;
 *     ... info.name, memory.used.value
 *   }
 *   vs_devices_close(devices);
 *
 * The figures come from NVML, NVIDIA's management library, which is loaded at run time: compiling, linking and starting need no
 * GPU, driver or CUDA. No function makes a CUDA context or loads CUDA's driver unless its comment says so.
 *
 * Units     Sizes are bytes, times microseconds. `unit` is a number from 0 to vs_devices_count - 1: a whole card,
 *           or a MIG device, which comes behind its card. The numbers of NVML, of CUDA and of another run may differ;
 *           the UUID identifies a card permanently.
 * Unknown   A figure is a vs_metric: a value, or the reason why there is none (<vramscope/metric.h>). 0 never means
 *           unknown.
 * Texts     NUL terminated; "" if there is none.
 * Threads   Only one thread at a time may use an object. A call of NVML may take seconds, and one that hangs cannot
 *           be ended, so a program that draws a screen should call it on another thread.
 * Statuses  VS_BAD_ARGUMENT is also: no such unit. VS_NO_MEMORY is the host's memory.
 * Stable    Structs that a program passes in or has filled in may get more members at their ends: the functions that take them are inline
 *           and pass their size. Rows of arrays (vs_devices_process, vs_devices_account, vs_devices_cost) stay as they are.
 * Sources   Names and rules are those of NVIDIA's documentation of NVML and CUDA; for other facts a comment names the
 *           observer.
 */
#ifndef VRAMSCOPE_DEVICES_H
#define VRAMSCOPE_DEVICES_H

#include <vramscope/base.h>
#include <vramscope/metric.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vs_devices vs_devices;

#define VS_DEVICES_NONE UINT32_MAX

/* ---- open and close --------------------------------------------------------------------------------------- */

/* Zero means the default of each option. Texts are read during vs_devices_open and vs_devices_refresh; they have to live as long
 * as the object. */
typedef struct vs_devices_options {
  const vs_host *host; /* NULL: vs_host_default() */

  /* The path of the NVML library. NULL: the one in the variable VRAMSCOPE_NVML, else the usual names. */
  const char *nvml;

  /* The folder to use as /proc, for tests; NULL: "/proc". */
  const char *proc;

  /* The values of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, which determine CUDA's numbers; NULL: the variables of
   * this process. */
  const char *visible, *order;

  /* Allows loading and initialising CUDA's driver in this process, when the program selects by CUDA's numbers ("cuda:0")
   * and the variables do not determine them. That takes a tenth of a second to several seconds, and children that the
   * process forks afterwards cannot use CUDA. It makes no context and takes no memory of a card. */
  bool may_ask_cuda;

  /* A figure that is slow to read is read again only when the last answer is this old; until then the last answer is
   * returned. 0: 1 s. */
  uint64_t slow_us;
  /* Allows figures for which NVML takes a lock that programs on the card may wait for; else they are "not sampled".
   * vs_devices_processes_of and vs_devices_memory_of with processes need such a lock, too, but not this permission. */
  bool with_locks;

  /* A monotonic clock in microseconds, for tests; NULL: the system's. */
  uint64_t (*clock)(void *ctx);
  void *clock_ctx;
} vs_devices_options;

/* What is known about the driver, also if it does not answer. */
typedef struct vs_devices_driver {
  char library[512]; /* the NVML library that was found, with its path if the system tells it */
  char
      library_version[80]; /* NVML's own, "13.590.48.01"; behind the first dot is the version of its driver */
  char driver_version[80]; /* of the driver, as NVML reports it: "590.48.01" */
  char kernel_version[80]; /* of the kernel module, from /proc/driver/nvidia/version */
  vs_metric cuda_version;  /* the newest CUDA that the driver supports: 13000 is 13.0 */
  bool versions_differ;    /* of library and kernel module, as after an upgrade until the next boot */
  bool is_simulated;       /* NVML is the simulated one (vramscope dryrun) */
  bool is_wsl;             /* NVML is that of Windows: the memory of processes is unknown */
  /* This process runs in a pid namespace of its own, as in a container: the driver's list of processes has the host's
   * numbers, or is empty. KNOWN 0 or 1; FAILED: the system does not tell. */
  vs_metric is_pid_hidden;
} vs_devices_driver;

typedef struct vs_devices_failure {
  vs_status status;
  int32_t
      code; /* NVML's result (12: no library, 9: no driver, 18: versions differ ...); 0: the failure is not NVML's */
  char
      text[VS_ERROR_TEXT_SIZE]; /* one line without a full stop: what is wrong and, if possible, what to do */
  vs_devices_driver driver;     /* what is known in spite of the failure */
} vs_devices_failure;

/* Finds NVML, initialises it and lists the units. Without a GPU this fails within about a millisecond. A machine without cards is
 * a success with count 0. `options` and `failure` may be NULL.
 *
 * Owner: the caller, vs_devices_close.
 * Fails: VS_NOT_FOUND  there is no NVML library (code 12) or no driver runs (9)
 *        VS_DEVICE     any other failure of NVML; `code` is its number
 *        VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_devices_open_sized(const vs_devices_options *options, size_t options_size,
                                                     vs_devices **devices, vs_devices_failure *failure,
                                                     size_t failure_size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status
vs_devices_open(const vs_devices_options *options, vs_devices **devices, vs_devices_failure *failure) {
  return vs_devices_open_sized(options, sizeof *options, devices, failure, sizeof *failure);
}
VS_API void vs_devices_close(vs_devices *devices); /* NULL is allowed */

/* Whether NVML has reported that it lost the driver or a card (results 1, 9, 15, 18, 28). Figures stay unknown until
 * vs_devices_refresh. */
VS_API bool vs_devices_is_stale(const vs_devices *devices);

/* Closes NVML, opens it again and lists the units: after vs_devices_is_stale, or if the MIG devices may have changed. Afterwards
 * unit numbers may refer to other units: look them up by UUID. After a failure there are no units; it may be called
 * again. Fails: as vs_devices_open */
VS_API VS_MUST_CHECK vs_status vs_devices_refresh_sized(vs_devices *devices, vs_devices_failure *failure,
                                                        size_t size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status
vs_devices_refresh(vs_devices *devices, vs_devices_failure *failure) {
  return vs_devices_refresh_sized(devices, failure, sizeof *failure);
}

VS_API void vs_devices_driver_of_sized(const vs_devices *devices, vs_devices_driver *driver, size_t size);
__attribute__((unused)) static inline void vs_devices_driver_of(const vs_devices *devices,
                                                                vs_devices_driver *driver) {
  vs_devices_driver_of_sized(devices, driver, sizeof *driver);
}

/* ---- units ------------------------------------------------------------------------------------------------ */

VS_API uint32_t vs_devices_count(const vs_devices *devices);

typedef struct vs_devices_info {
  char name[96];   /* "NVIDIA H200"; of a MIG device its own, "NVIDIA H200 MIG 1g.18gb" */
  char uuid[96];   /* "GPU-...", "MIG-..."; "" if NVML does not tell */
  char bus_id[32]; /* of the card, as NVML writes it: "00000000:83:00.0" */
  char serial[32]; /* of the card; "" for most cards that are not for servers */
  uint32_t pci_domain, pci_bus, pci_device, pci_function; /* the same as numbers */
  uint32_t index;     /* NVML's number of the card; may change at each boot */
  bool is_mig;        /* a MIG device; the next four are VS_DEVICES_NONE for a whole card */
  uint32_t parent;    /* its card's unit */
  uint32_t mig_index; /* its number among those of the card: the 2 of "0:2" */
  uint32_t gpu_instance, compute_instance; /* the driver's GI and CI */
  bool is_numa;      /* its memory is a NUMA node of the operating system (GH200, GB200) */
  bool is_divided;   /* a whole card in MIG mode: programs run on its MIG devices */
  bool is_simulated; /* a simulated card: its name ends with "(simulated)" */
  /* Its memory is the machine's (GB10, Jetson), according to CUDA's driver if vs_devices_ask_cuda was called, else because
   * NVML reports no memory for it. */
  bool is_unified;
  /* Its number in CUDA, and so in PyTorch, in this process: "cuda:0". NOT_VISIBLE: CUDA does not offer it. NOT_SAMPLED: only
   * CUDA's driver knows it, see vs_devices_ask_cuda. */
  vs_metric cuda_index;
  uint64_t total_bytes; /* 0: unknown; vs_devices_memory_of has the reason */
} vs_devices_info;

/* Fails: VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_devices_info_of_sized(const vs_devices *devices, uint32_t unit,
                                                        vs_devices_info *info, size_t size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_devices_info_of(const vs_devices *devices,
                                                                                 uint32_t unit,
                                                                                 vs_devices_info *info) {
  return vs_devices_info_of_sized(devices, unit, info, sizeof *info);
}

/* Loads and initialises CUDA's driver in this process (no context) and reads CUDA's numbers from it. Cards are matched by UUID,
 * then by PCI id, never by number. From then on cuda_index is the number in this process' CUDA, even if the variables change.
 * Needed only if CUDA_DEVICE_ORDER is not PCI_BUS_ID and there are different cards. A second call does nothing. After a failure
 * the numbers are unchanged.
 *
 * Fails: VS_NOT_FOUND (there is no libcuda), VS_DEVICE (it does not start), VS_NO_MEMORY; `error` has the sentence */
VS_API VS_MUST_CHECK vs_status vs_devices_ask_cuda(vs_devices *devices, vs_error *error);

/* Finds the units that a user names. `text` is a list separated by commas; spaces around an entry are ignored. An entry is
 *
 *   0            NVML's number of a card                      0:2            the third MIG device of card 0
 *   GPU-8f6c     a UUID, or the beginning of just one         MIG-4c1e       likewise of a MIG device
 *   83:00.0      a PCI id: domain, function and leading zeros may be left out (0000:83:00.0, 00000000:83:00)
 *   1654922006536  a serial number                            cuda:0         CUDA's number in this process
 *   all          every whole card
 *
 * and MIG-GPU-<UUID>/<GI>/<CI>, as old drivers write it. Case is ignored. NULL is "all". The units have the order in
 * which they are named, each once. Stores up to `capacity` of them; *count is their total number, which may be larger.
 * "cuda:0" may load CUDA's driver, see vs_devices_options.
 *
 * Fails: VS_NOT_FOUND     no unit matches an entry
 *        VS_BAD_ARGUMENT  an entry is invalid or matches several cards
 *        VS_UNSUPPORTED   an entry needs CUDA's numbers, which are unknown
 *        `error` has the sentence, with "did you mean", and the offset of the entry. Then nothing is stored. */
VS_API VS_MUST_CHECK vs_status vs_devices_select(vs_devices *devices, const char *text, uint32_t *units,
                                                 size_t capacity, size_t *count, vs_error *error);

/* The unit with exactly this UUID, ignoring case, or VS_DEVICES_NONE. */
VS_API uint32_t vs_devices_with_uuid(const vs_devices *devices, const char *uuid);

/* ---- memory ----------------------------------------------------------------------------------------------- */

/* If all are known: total = reserved + used + free, and used = attributed + unattributed. */
typedef struct vs_devices_memory {
  vs_metric total;
  vs_metric reserved; /* by the driver for itself; NOT_SUPPORTED with api 1 */
  vs_metric used;     /* by programs and contexts; with api 1 it contains the driver's part */
  vs_metric free;
  /* The sum over the processes that NVML lists; for a MIG device over those of its GPU instance. NOT_SAMPLED: called without
   * `with_processes`. NOT_VISIBLE: the bytes of one process are unknown. */
  vs_metric attributed;
  /* The rest of used: processes that are not listed, and memory that the driver attributes to none. STALE: the two figures
   * are of different moments and contradict each other. */
  vs_metric unattributed;
  uint32_t api; /* the version of NVML's memory call: 1, 2; 0: none, it is the machine's memory */
  /* The memory is the machine's (is_unified): total is MemTotal and free MemAvailable of /proc/meminfo, shared with
   * the host and all its programs; used is `attributed`, so they do not add up. */
  bool is_shared;
  /* The card's memory is a NUMA node that the operating system manages (GH200, GB200): it may contain cached files, and memory
   * of a program that has ended may stay used for a while. */
  bool is_approximate;
  /* MIG: memory belongs to the GPU instance. The first of the units that share it, so that sums count it once; else the
   * unit itself. */
  uint32_t shared_with;
} vs_devices_memory;

/* `with_processes` also reads the processes, for which NVML takes a lock (milliseconds).
 * Fails: VS_BAD_ARGUMENT, VS_NO_MEMORY; figures that NVML does not tell have a reason */
VS_API VS_MUST_CHECK vs_status vs_devices_memory_of_sized(vs_devices *devices, uint32_t unit,
                                                          bool with_processes, vs_devices_memory *memory,
                                                          size_t size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status
vs_devices_memory_of(vs_devices *devices, uint32_t unit, bool with_processes, vs_devices_memory *memory) {
  return vs_devices_memory_of_sized(devices, unit, with_processes, memory, sizeof *memory);
}

/* Only `used`, in one call of NVML (about 10 us), for programs that sample often. It is unknown for unified memory. */
VS_API vs_metric vs_devices_used_fast(vs_devices *devices, uint32_t unit);

/* The unit with the most free memory among those on which programs can run: whole cards that are not divided, and
 * MIG devices; the first of equal ones. `cuda_only`: only units that CUDA offers to this process. If there is none, *unit is
 * VS_DEVICES_NONE and *bytes 0. Fails: VS_UNSUPPORTED (cuda_only, and CUDA's numbers are unknown), VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_devices_most_free(vs_devices *devices, bool cuda_only, uint32_t *unit,
                                                    uint64_t *bytes);

/* What a program needs. Zero means the default of each member. */
typedef struct vs_devices_wish {
  uint32_t count;      /* of units, at most 512; 0: one */
  uint64_t free_bytes; /* at least so much free memory on each */
  const char *among;   /* only these units, in the grammar of vs_devices_select; NULL: all */
} vs_devices_wish;

/* Stores the `wish->count` units with the most free memory, the one with the most first and the first of equal ones, among those on which
 * programs can run and that CUDA_VISIBLE_DEVICES does not hide. Units whose free memory is unknown are left out. More than one: whole
 * cards alone, because a process can use only one MIG device. In CUDA_VISIBLE_DEVICES their UUIDs name them in any case.
 *
 * Fails: VS_NOT_FOUND    there are fewer that have so much
 *        VS_UNSUPPORTED  CUDA_VISIBLE_DEVICES is set, and only CUDA's driver knows which cards it names (vs_devices_ask_cuda)
 *        as vs_devices_select for `among`; `error` has the sentence. Then nothing is stored. */
VS_API VS_MUST_CHECK vs_status vs_devices_pick_sized(vs_devices *devices, const vs_devices_wish *wish,
                                                     size_t size, uint32_t *units, vs_error *error);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_devices_pick(vs_devices *devices,
                                                                              const vs_devices_wish *wish,
                                                                              uint32_t *units,
                                                                              vs_error *error) {
  return vs_devices_pick_sized(devices, wish, sizeof *wish, units, error);
}

/* ---- processes -------------------------------------------------------------------------------------------- */

/* The kinds of use of a card; bits. */
typedef enum vs_devices_kind {
  VS_DEVICES_COMPUTE = 1,
  VS_DEVICES_GRAPHICS = 2,
  VS_DEVICES_MPS = 4 /* a client of the multi-process service */
} vs_devices_kind;

/* Texts are borrowed until the next vs_devices_processes_of, or vs_devices_close. */
typedef struct vs_devices_process {
  uint64_t pid;  /* the driver's number, which is the host's even if this process runs in a pid namespace */
  uint32_t unit; /* the card or MIG device on which it runs */
  /* Device memory without managed memory. NOT_VISIBLE: the driver does not tell (Windows, WSL). */
  vs_metric bytes;
  vs_metric protected_bytes;               /* the part under confidential computing */
  uint32_t kinds;                          /* bits of vs_devices_kind */
  const char *kind;                        /* the same as text: "C", "G", "C+G", "M" */
  uint32_t gpu_instance, compute_instance; /* VS_DEVICES_NONE: no MIG */

  /* Whether /proc shows this process. In a pid namespace, as in a container, a process with the same number counts as this
   * one only if it has CUDA or a GPU open. If false, all members below are unknown: show "pid not visible here". */
  bool is_visible;
  bool is_self;
  uint64_t inner_pid; /* its number in its own pid namespace, inside its container; 0: unknown */
  uint64_t start_us;  /* since 1970; 0: unknown */
  uint32_t user_id;   /* VS_DEVICES_NONE: unknown */
  const char *user;   /* name, or the number as text if it has no name here */
  const char *name;   /* short: "python3" */
  const char
      *command; /* with its arguments, separated by spaces; not escaped, so it may contain control bytes */
  const char *program; /* the first argument, as it was started: "python3", "/opt/my tools/train" */
  const char
      *container; /* the container's id from the control group, 12 digits as docker prints it; "": none */
} vs_devices_process;

typedef struct vs_devices_processes {
  vs_metric count;                /* of rows; with a reason if NVML does not list them */
  const vs_devices_process *rows; /* by falling bytes, unknown ones last, then by pid; none occurs twice */
  bool may_miss; /* the list may be incomplete, because this process runs in a pid namespace of its own */
} vs_devices_processes;

/* The processes with memory on the unit; for a divided card, on any of its MIG devices. NVML takes a lock for it
 * (measured by others: 4.5 ms on an RTX 4090), so call it rarely.
 * Fails: VS_NO_MEMORY, VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_devices_processes_of(vs_devices *devices, uint32_t unit,
                                                       vs_devices_processes *processes);

/* A process in the driver's accounting, which may have ended. It exists only in accounting mode. */
typedef struct vs_devices_account {
  uint64_t pid; /* the driver's number */
  bool is_running;
  vs_metric peak_bytes;                          /* its peak memory, recorded by the driver */
  vs_metric gpu_utilization, memory_utilization; /* percent of its life */
  vs_metric time_us, start_us;                   /* how long it had a context; its start, since 1970 */
} vs_devices_account;

typedef struct vs_devices_accounts {
  vs_metric count;
  const vs_devices_account *rows; /* borrowed until the next vs_devices_accounts_of, or vs_devices_close */
} vs_devices_accounts;

/* Fails: VS_NO_MEMORY, VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_devices_accounts_of(vs_devices *devices, uint32_t unit,
                                                      vs_devices_accounts *accounts);

/* ---- everything else that NVML measures --------------------------------------------------------------------- */

/* A number of <vramscope/metric.h>, which has its unit and cost. The options limit expensive figures: a slow one may be the last
 * answer again (slow_us), one that takes locks is NOT_SAMPLED unless with_locks is set. NOT_FOUND: no such unit or metric. */
VS_API vs_metric vs_devices_metric(vs_devices *devices, uint32_t unit, vs_metric_id id);

/* Stores `count` of them in `to`, by the same rules. Figures of one function of NVML (such as total, used and free memory) are
 * read once and of one instant, for up to VS_METRIC_ID_COUNT of them at a time. */
VS_API void vs_devices_metrics(vs_devices *devices, uint32_t unit, const vs_metric_id *ids, size_t count,
                               vs_metric *to);

/* Stores a text in `to`, which has VS_METRIC_TEXT_SIZE bytes; the value is its length. "" unless it is known. */
VS_API vs_metric vs_devices_text(vs_devices *devices, uint32_t unit, vs_metric_text_id id, char *to);

/* ---- costs ------------------------------------------------------------------------------------------------ */

/* The cost of making CUDA's primary context on a card. */
typedef struct vs_devices_preload_cost {
  uint64_t bytes; /* by which the card's used memory grew meanwhile, according to NVML; 0: unknown */
  uint64_t us;    /* how long it took */
  bool was_there; /* the process already had it, so it cost nothing */
} vs_devices_preload_cost;

/* Makes this process' primary context on CUDA's card `cuda_index` and keeps it until the process ends, so that later
 * measurements do not contain it. Loads CUDA's driver even without may_ask_cuda.
 * Fails: VS_NOT_FOUND (no libcuda, no such card), VS_DEVICE_MEMORY, VS_DEVICE; `error` has the sentence */
VS_API VS_MUST_CHECK vs_status vs_devices_preload_sized(vs_devices *devices, uint32_t cuda_index,
                                                        vs_devices_preload_cost *cost, size_t size,
                                                        vs_error *error);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status
vs_devices_preload(vs_devices *devices, uint32_t cuda_index, vs_devices_preload_cost *cost, vs_error *error) {
  return vs_devices_preload_sized(devices, cuda_index, cost, sizeof *cost, error);
}

/* The cost so far of one function of NVML; functions that were not called are listed, too. */
typedef struct vs_devices_cost {
  const char *function; /* "nvmlDeviceGetMemoryInfo_v2"; borrowed until close */
  bool is_missing;      /* this NVML lacks the function: its figures have the reason NO_FUNCTION */
  uint64_t calls;
  uint64_t total_ns, most_ns; /* of all calls, and of the slowest one */
} vs_devices_cost;

/* Stores up to `capacity` rows, the most expensive first, then by name; returns their total number. */
VS_API size_t vs_devices_costs(const vs_devices *devices, vs_devices_cost *costs, size_t capacity);

/* How many figures were answered without calling NVML, because of the limits in the options. */
VS_API uint64_t vs_devices_spared(const vs_devices *devices);

#ifdef __cplusplus
}
#endif
#endif
