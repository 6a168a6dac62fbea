/* vramscope devices: which GPUs this machine has, how full they are, and who holds their memory.
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
 * The figures are those of NVML, NVIDIA's management library, which is looked for at run time: nothing here needs a
 * GPU, a driver or CUDA to compile, link or start. Nothing here makes a CUDA context, and nothing loads CUDA's
 * driver but what says so.
 *
 * Units     Sizes are bytes, times microseconds. `unit` is a number from 0 to vs_devices_count - 1: a whole card,
 *           or a MIG device, which stands behind its card. It is nobody else's number: NVML's, CUDA's and that of
 *           another run may differ. Who keeps anything about a card keeps its UUID.
 * Unknown   A figure is a vs_metric: a value, or the reason why there is none (<vramscope/metric.h>). 0 never means
 *           unknown.
 * Texts     NUL terminated; "" where there is none.
 * Threads   One object is used by one thread at a time. A call of NVML may take seconds, and one that hangs cannot
 *           be ended: who draws a screen asks on another thread.
 * Statuses  VS_BAD_ARGUMENT is also: no such unit. VS_NO_MEMORY is the host's memory.
 * Stable    Structs that a program hands in or has filled may get more members at their ends: the functions that take them are inline
 *           and pass their size. Rows of arrays (vs_devices_process, vs_devices_account, vs_devices_cost) stay as they are.
 * Sources   Names and rules are NVML's and CUDA's as NVIDIA documents them; where that is silent, a comment says whose
 *           observation it is.
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

/* All zero are the defaults. Texts are read during vs_devices_open and vs_devices_refresh; they live as long as the
 * object. */
typedef struct vs_devices_options {
  const vs_host *host; /* NULL: vs_host_default() */

  /* The NVML library: a path. NULL: the variable VRAMSCOPE_NVML, and without it the usual names. */
  const char *nvml;

  /* What stands for /proc, for tests; NULL: "/proc". */
  const char *proc;

  /* CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER by which cards get CUDA's numbers; NULL: the variables of this
   * process. */
  const char *visible, *order;

  /* CUDA's driver may be loaded and initialised in this process where the variables alone do not give CUDA's
   * numbers, and only when somebody selects by them ("cuda:0"). That takes a tenth of a second to several seconds,
   * and a process that forks afterwards cannot use CUDA in the child. No context is made, no memory of a card is
   * taken. */
  bool may_ask_cuda;

  /* Politeness. A figure that costs NVML long is asked again when the last answer is this old; until then the last
   * answer stands. 0: 1 s. */
  uint64_t slow_us;
  /* Figures for which NVML takes a lock that programs on the card wait for, too, are answered; else they are "not
   * sampled". vs_devices_processes_of and a memory_of with processes are such requests themselves and need no
   * permission. */
  bool with_locks;

  /* A clock that only goes forward, microseconds, for tests; NULL: the system's. */
  uint64_t (*clock)(void *ctx);
  void *clock_ctx;
} vs_devices_options;

/* What is known of the driver, whether it answers or not. */
typedef struct vs_devices_driver {
  char library[512]; /* the NVML library that was found, by path where the system says it */
  char library_version
      [80]; /* NVML's own, "13.590.48.01"; its digits behind the first dot are those of the driver it is from */
  char driver_version[80]; /* of the driver as NVML says it, "590.48.01" */
  char kernel_version[80]; /* of the kernel module, by /proc/driver/nvidia/version */
  vs_metric cuda_version;  /* the newest CUDA that the driver has: 13000 is 13.0 */
  bool versions_differ;    /* library and kernel module: after an upgrade, until the next boot */
  bool is_simulated;       /* NVML is the simulated one (vramscope dryrun) */
  bool is_wsl;             /* NVML is that of Windows: memory of single processes is unknown */
  /* This process lives in a pid namespace of its own, as in a container: the driver's list of processes has the host's
   * numbers, or is empty. KNOWN 0 or 1; FAILED: the system does not say. */
  vs_metric is_pid_hidden;
} vs_devices_driver;

typedef struct vs_devices_failure {
  vs_status status;
  int32_t
      code; /* what NVML returned (12: no library, 9: no driver, 18: versions differ ...), 0: it was not NVML */
  char text
      [VS_ERROR_TEXT_SIZE]; /* one line without a final full stop: what is wrong and, where there is a way, what to do */
  vs_devices_driver driver; /* what could be found out all the same */
} vs_devices_failure;

/* Looks for NVML, starts it and lists what it sees: without a GPU this fails within a millisecond or so. No card is a
 * success: count 0. `options` and `failure` may be NULL.
 *
 * Owner: the caller, vs_devices_close.
 * Fails: VS_NOT_FOUND  there is no NVML library (code 12) or no driver runs (9)
 *        VS_DEVICE     NVML says anything else; `code` is its number
 *        VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_devices_open_sized(const vs_devices_options *options, size_t options_size,
                                                     vs_devices **devices, vs_devices_failure *failure,
                                                     size_t failure_size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status
vs_devices_open(const vs_devices_options *options, vs_devices **devices, vs_devices_failure *failure) {
  return vs_devices_open_sized(options, sizeof *options, devices, failure, sizeof *failure);
}
VS_API void vs_devices_close(vs_devices *devices); /* NULL is fine */

/* Whether NVML has said that it lost the driver or a card (its returns 1, 9, 15, 18, 28): figures stay unknown until
 * vs_devices_refresh. */
VS_API bool vs_devices_is_stale(const vs_devices *devices);

/* Closes NVML, opens it anew and lists the units again: after vs_devices_is_stale, or where cards may have been
 * divided (MIG) anew. Unit numbers may mean others then: look them up by UUID. After a failure there are no units,
 * and it may be tried again. Fails: as vs_devices_open */
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
  char uuid[96];   /* "GPU-...", "MIG-..."; "" where NVML does not say */
  char bus_id[32]; /* of the card, as NVML writes it: "00000000:83:00.0" */
  char serial[32]; /* of the card, "" on most that are not for servers */
  uint32_t pci_domain, pci_bus, pci_device, pci_function; /* the same as numbers */
  uint32_t index;     /* NVML's number of the card; may change at each boot */
  bool is_mig;        /* a MIG device; the next four are VS_DEVICES_NONE for a whole card */
  uint32_t parent;    /* its card's unit */
  uint32_t mig_index; /* its number among those of the card: the 2 of "0:2" */
  uint32_t gpu_instance, compute_instance; /* the driver's GI and CI */
  bool is_numa;      /* its memory is a NUMA node of the operating system (GH200, GB200) */
  bool is_divided;   /* a whole card in MIG mode: programs run on its MIG devices */
  bool is_simulated; /* there is no such card: its name ends with "(simulated)" */
  /* Its memory is the machine's (GB10, Jetson): CUDA's driver says so, where it was asked, or NVML has no memory of
   * its own to tell of. */
  bool is_unified;
  /* The number by which CUDA, and so PyTorch, knows it in this process: "cuda:0". NOT_VISIBLE: CUDA does not offer it.
   * NOT_SAMPLED: only CUDA's driver knows, see vs_devices_ask_cuda. */
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

/* Loads and initialises CUDA's driver in this process (no context) and takes CUDA's numbers from it, cards matched
 * by UUID, then by PCI id, never by number. From then on cuda_index is what this process' CUDA says, whatever the
 * variables say now. Needed only where CUDA_DEVICE_ORDER is not PCI_BUS_ID and several cards differ. Does nothing
 * the second time.
 *
 * Fails: VS_NOT_FOUND (there is no libcuda), VS_DEVICE (it does not start), VS_NO_MEMORY; `error` has the sentence */
VS_API VS_MUST_CHECK vs_status vs_devices_ask_cuda(vs_devices *devices, vs_error *error);

/* Which units a person means. `text` is a list separated by commas; spaces around an entry do not count. An entry is
 *
 *   0            NVML's number of a card                      0:2            the third MIG device of card 0
 *   GPU-8f6c     a UUID, or the beginning of just one         MIG-4c1e       likewise of a MIG device
 *   83:00.0      a PCI id: domain, function and leading zeros may be left out (0000:83:00.0, 00000000:83:00)
 *   1654922006536  a serial number                            cuda:0         CUDA's number in this process
 *   all          every whole card
 *
 * and MIG-GPU-<UUID>/<GI>/<CI>, as old drivers write it. Letters may be small or capital. NULL is "all". Units come
 * in the order in which they are named, each once. Stores up to `capacity` of them; *count is how many there are in
 * all, which may be more. "cuda:0" may ask CUDA's driver, see vs_devices_options.
 *
 * Fails: VS_NOT_FOUND     nothing here answers to an entry
 *        VS_BAD_ARGUMENT  an entry that means nothing, or more than one card
 *        VS_UNSUPPORTED   CUDA's numbers are wanted and not known
 *        `error` has the sentence, with "did you mean", and the byte at which the entry begins. Nothing is stored
 *        then. */
VS_API VS_MUST_CHECK vs_status vs_devices_select(vs_devices *devices, const char *text, uint32_t *units,
                                                 size_t capacity, size_t *count, vs_error *error);

/* The unit with this UUID, whole and exact but for the case of letters, or VS_DEVICES_NONE. */
VS_API uint32_t vs_devices_with_uuid(const vs_devices *devices, const char *uuid);

/* ---- memory ----------------------------------------------------------------------------------------------- */

/* Where all are known: total = reserved + used + free, and used = attributed + unattributed. */
typedef struct vs_devices_memory {
  vs_metric total;
  vs_metric reserved; /* by the driver for itself; NOT_SUPPORTED with api 1 */
  vs_metric used;     /* by programs and contexts; with api 1 the driver's own is in it */
  vs_metric free;
  /* The sum over the processes that NVML lists, of a MIG device over those of its GPU instance. NOT_SAMPLED: nobody
   * asked for processes. NOT_VISIBLE: the bytes of one of them are unknown. */
  vs_metric attributed;
  /* The rest of used: processes that are not listed, and what the driver counts for none. STALE: the two figures are of
   * different moments and contradict each other. */
  vs_metric unattributed;
  uint32_t api; /* which of NVML's two memory calls told it: 1, 2; 0: none did, it is the machine's memory */
  /* The memory is the machine's (is_unified): total is MemTotal and free MemAvailable of /proc/meminfo, shared with
   * the host and all its programs; used is `attributed`, so they do not add up. */
  bool is_shared;
  /* Memory of the card is a NUMA node that the operating system manages (GH200, GB200): pages of files may lie
   * there, and what a program left stays for a while. */
  bool is_approximate;
  /* MIG: memory belongs to the GPU instance. The first unit of those that share it, for who sums up; else the unit
   * itself. */
  uint32_t shared_with;
} vs_devices_memory;

/* `with_processes` also asks who holds it, for which NVML takes a lock (milliseconds).
 * Fails: VS_BAD_ARGUMENT, VS_NO_MEMORY; what NVML does not tell is a reason in the figures */
VS_API VS_MUST_CHECK vs_status vs_devices_memory_of_sized(vs_devices *devices, uint32_t unit,
                                                          bool with_processes, vs_devices_memory *memory,
                                                          size_t size);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status
vs_devices_memory_of(vs_devices *devices, uint32_t unit, bool with_processes, vs_devices_memory *memory) {
  return vs_devices_memory_of_sized(devices, unit, with_processes, memory, sizeof *memory);
}

/* `used` alone, in one call of NVML and no bookkeeping (about 10 us): for who asks often. Of unified memory it is
 * unknown. */
VS_API vs_metric vs_devices_used_fast(vs_devices *devices, uint32_t unit);

/* The unit with the most free memory among those on which programs can run: whole cards that are not divided, and
 * MIG devices; of equals the first. `cuda_only`: only what CUDA offers to this process. *unit is VS_DEVICES_NONE
 * and *bytes 0 where there is none. Fails: VS_UNSUPPORTED (cuda_only, and CUDA's numbers are not known),
 * VS_NO_MEMORY */
VS_API VS_MUST_CHECK vs_status vs_devices_most_free(vs_devices *devices, bool cuda_only, uint32_t *unit,
                                                    uint64_t *bytes);

/* ---- processes -------------------------------------------------------------------------------------------- */

/* What a process does on the card; bits. */
typedef enum vs_devices_kind {
  VS_DEVICES_COMPUTE = 1,
  VS_DEVICES_GRAPHICS = 2,
  VS_DEVICES_MPS = 4 /* a client of the multi-process service */
} vs_devices_kind;

/* Texts are borrowed until the object is asked for processes again, or closed. */
typedef struct vs_devices_process {
  uint64_t pid;  /* the driver's number: that of the host, whatever namespace this process lives in */
  uint32_t unit; /* the card, or the MIG device that it runs on */
  /* Device memory; managed memory is not in it. NOT_VISIBLE: the driver does not tell (Windows, WSL). */
  vs_metric bytes;
  vs_metric protected_bytes;               /* of those, under confidential computing */
  uint32_t kinds;                          /* bits of vs_devices_kind */
  const char *kind;                        /* the same as people write it: "C", "G", "C+G", "M" */
  uint32_t gpu_instance, compute_instance; /* VS_DEVICES_NONE: no MIG */

  /* Whether /proc here shows this very process. Not where the number belongs to another pid namespace: in a
   * container, a process of the same number is believed to be it only if it has CUDA or a GPU open. If not, all
   * below is unknown: say "pid not visible here". */
  bool is_visible;
  bool is_self;
  uint64_t inner_pid;  /* the number that it has in its own pid namespace: inside its container; 0: unknown */
  uint64_t start_us;   /* since 1970; 0: unknown */
  uint32_t user_id;    /* VS_DEVICES_NONE: unknown */
  const char *user;    /* name, or the number as text where it has none here */
  const char *name;    /* short: "python3" */
  const char *command; /* with its arguments, separated by spaces; control bytes and all: faces escape it */
  const char *program; /* of that the first argument: as it was started, "python3", "/opt/my tools/train" */
  const char *container; /* its id by the control group, 12 digits as docker prints it; "": none */
} vs_devices_process;

typedef struct vs_devices_processes {
  vs_metric count;                /* of rows; with its reason where NVML does not list them */
  const vs_devices_process *rows; /* by falling bytes, unknown ones last, then by pid */
  bool may_miss; /* the list may lack processes: this process lives in a pid namespace of its own */
} vs_devices_processes;

/* Who holds memory of the unit; of a divided card, who holds any of its MIG devices'. NVML takes a lock for it
 * (measured by others: 4.5 ms on an RTX 4090), so not more often than a person can read.
 * Fails: VS_NO_MEMORY, VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_devices_processes_of(vs_devices *devices, uint32_t unit,
                                                       vs_devices_processes *processes);

/* A process of the driver's own account, which may have ended: kept where accounting mode is on. */
typedef struct vs_devices_account {
  uint64_t pid; /* the driver's number */
  bool is_running;
  vs_metric peak_bytes; /* the most memory that it had at a time: the driver's own high-water mark */
  vs_metric gpu_utilization, memory_utilization; /* percent of its life */
  vs_metric time_us, start_us;                   /* how long it had a context; since 1970, when it began */
} vs_devices_account;

typedef struct vs_devices_accounts {
  vs_metric count;
  const vs_devices_account *rows; /* borrowed until the object is asked for accounts again, or closed */
} vs_devices_accounts;

/* Fails: VS_NO_MEMORY, VS_BAD_ARGUMENT */
VS_API VS_MUST_CHECK vs_status vs_devices_accounts_of(vs_devices *devices, uint32_t unit,
                                                      vs_devices_accounts *accounts);

/* ---- everything else that NVML measures --------------------------------------------------------------------- */

/* A number of <vramscope/metric.h>, which has its unit and cost. What is slow or takes locks is subject to the
 * politeness of the options: a slow one may be the last answer again, one that takes locks is NOT_SAMPLED unless
 * they are allowed. NOT_FOUND: no such unit or metric. */
VS_API vs_metric vs_devices_metric(vs_devices *devices, uint32_t unit, vs_metric_id id);

/* `count` of them into `to`, under the same rules. What one function of NVML tells (total, used and free memory,
 * say) is asked once and of one instant, up to VS_METRIC_ID_COUNT of them at a time. */
VS_API void vs_devices_metrics(vs_devices *devices, uint32_t unit, const vs_metric_id *ids, size_t count,
                               vs_metric *to);

/* A text into `to`, which holds VS_METRIC_TEXT_SIZE bytes; the value is its length. "" unless it is known. */
VS_API vs_metric vs_devices_text(vs_devices *devices, uint32_t unit, vs_metric_text_id id, char *to);

/* ---- what things cost ------------------------------------------------------------------------------------- */

/* What making CUDA's primary context on a card took. */
typedef struct vs_devices_preload_cost {
  uint64_t bytes; /* by which the card's used memory grew meanwhile, as NVML counts; 0: nobody tells */
  uint64_t us;    /* how long it took */
  bool was_there; /* the process had it already: it cost nothing now */
} vs_devices_preload_cost;

/* Makes this process' primary context on CUDA's card `cuda_index` and keeps it until the process ends, so that it
 * is not in what is measured later. Loads CUDA's driver, whatever the options say.
 * Fails: VS_NOT_FOUND (no libcuda, no such card), VS_DEVICE_MEMORY, VS_DEVICE; `error` has the sentence */
VS_API VS_MUST_CHECK vs_status vs_devices_preload_sized(vs_devices *devices, uint32_t cuda_index,
                                                        vs_devices_preload_cost *cost, size_t size,
                                                        vs_error *error);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status
vs_devices_preload(vs_devices *devices, uint32_t cuda_index, vs_devices_preload_cost *cost, vs_error *error) {
  return vs_devices_preload_sized(devices, cuda_index, cost, sizeof *cost, error);
}

/* What one function of NVML cost this object so far, those that have not been called included. */
typedef struct vs_devices_cost {
  const char *function; /* "nvmlDeviceGetMemoryInfo_v2"; borrowed until close */
  bool is_missing;      /* this NVML has no such function: what needs it has the reason NO_FUNCTION */
  uint64_t calls;
  uint64_t total_ns, most_ns; /* in all, and the slowest call */
} vs_devices_cost;

/* Stores up to `capacity` rows, the most expensive first and then by name; returns how many there are in all. */
VS_API size_t vs_devices_costs(const vs_devices *devices, vs_devices_cost *costs, size_t capacity);

/* How many questions were answered without asking NVML, out of politeness. */
VS_API uint64_t vs_devices_spared(const vs_devices *devices);

#ifdef __cplusplus
}
#endif
#endif
