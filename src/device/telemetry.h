/* The figures of the machine's cards, as a table of functions that device/nvml implements.
 *
 * A unit is a whole card or a MIG device; the MIG devices of a card come directly behind it. Units are numbered from 0 and keep
 * their number until reopen. The functions answer with a vs_metric, so an unknown figure always has a reason; only reopen returns
 * a status.
 *
 * Only one thread at a time may use an object. A call goes to the driver, which may be slow and cannot be interrupted. */
#ifndef VS_DEVICE_TELEMETRY_H
#define VS_DEVICE_TELEMETRY_H

#include <vramscope/metric.h>

enum {
  VS_TELEMETRY_NONE = -1, /* no parent, no GPU instance, no compute instance */
  VS_TELEMETRY_NAME = 96, /* bytes of a name or UUID with its NUL: NVML's own largest */
};

/* The constant facts about a unit. A text that the driver does not tell is empty; text() has the reason. */
typedef struct vs_telemetry_unit {
  uint32_t
      index; /* NVML's number of the card, which may change at the next boot; a MIG device has its card's */
  bool is_mig;
  int32_t parent;                         /* of a MIG device: the unit of its card */
  int32_t mig_slot;                       /* of a MIG device: its number on the card; there may be gaps */
  int32_t gpu_instance, compute_instance; /* of a MIG device */
  char name[VS_TELEMETRY_NAME];           /* "NVIDIA H200", "NVIDIA H200 MIG 3g.71gb" */
  char uuid[VS_TELEMETRY_NAME];           /* "GPU-..." or "MIG-..." */
  char serial[VS_TELEMETRY_NAME];
  char bus_id[VS_TELEMETRY_NAME]; /* "00000000:83:00.0" */
  uint32_t pci_domain, pci_bus, pci_device, pci_function;
  vs_metric bus;         /* whether the five above are known */
  vs_metric total_bytes; /* of its memory */
  vs_metric handle;      /* with LOST and the like the card exists but cannot be queried */
} vs_telemetry_unit;

/* Four figures of one instant: total = reserved + used + free if all are known. */
typedef struct vs_telemetry_memory {
  vs_metric total, reserved, used, free;
  uint32_t api; /* the version of the call: 2, or 1, which counts reserved as used; 0: no call succeeded */
} vs_telemetry_memory;

typedef enum vs_process_kind { /* bits */
                               VS_PROCESS_COMPUTE = 1,
                               VS_PROCESS_GRAPHICS = 2,
                               VS_PROCESS_MPS = 4, /* a client of the MPS server */
                               VS_PROCESS_ALL = 7,
} vs_process_kind;

/* A process that has memory on a unit; for a card with MIG devices, on one of these. */
typedef struct vs_telemetry_process {
  uint32_t pid;              /* in the driver's pid namespace, which differs from ours in a container */
  uint32_t kinds;            /* bits of vs_process_kind */
  vs_metric bytes;           /* NOT_VISIBLE: the system does not let the driver know */
  vs_metric protected_bytes; /* under confidential computing */
  int32_t gpu_instance, compute_instance;
} vs_telemetry_process;

/* The kinds as nvidia-smi writes them: "C", "G", "C+G", "M". */
const char *vs_process_kind_text(uint32_t kinds);

/* A process in the driver's accounting, which may have ended. */
typedef struct vs_telemetry_account {
  uint32_t pid;
  bool is_running;
  vs_metric gpu_utilization, memory_utilization; /* percent, over its life */
  vs_metric peak_bytes;                          /* its peak memory */
  vs_metric time_us, start_us;                   /* how long it had a context; its start, since 1970 */
} vs_telemetry_account;

/* An XID error: what the driver calls a fault of a card, by a number. */
typedef struct vs_telemetry_xid {
  uint32_t unit; /* the card */
  uint32_t number;
} vs_telemetry_xid;

typedef enum vs_driver_text {
  VS_DRIVER_VERSION,      /* "590.48.01" */
  VS_DRIVER_NVML_VERSION, /* "13.590.48.01": of the library */
  VS_DRIVER_CUDA_VERSION, /* "13.1": the newest CUDA that the driver supports */
} vs_driver_text;

/* The time spent so far in one function of the driver's library. */
typedef struct vs_telemetry_cost {
  const char *function; /* "nvmlDeviceGetMemoryInfo_v2" */
  bool is_missing;      /* the library has no such function */
  uint64_t calls, total_ns, max_ns;
} vs_telemetry_cost;

/* Why a connection could not be opened or reopened. */
typedef struct vs_telemetry_failure {
  int32_t code;             /* NVML's number; 12 if its library was not found */
  char text[192];           /* our sentence, without a full stop */
  char library_version[48]; /* if the versions differ (18) and it is known: "550.144"; else empty */
} vs_telemetry_failure;

typedef struct vs_telemetry_ops {
  uint32_t (*count)(void *ctx);
  /* Borrowed until reopen or close. */
  const vs_telemetry_unit *(*unit)(void *ctx, uint32_t unit);

  vs_metric (*metric)(void *ctx, uint32_t unit, vs_metric_id id);
  /* `count` figures at once. Those that one call of the driver returns are of one instant, and the call is made once. */
  void (*metrics)(void *ctx, uint32_t unit, const vs_metric_id *ids, size_t count, vs_metric *to);
  void (*memory)(void *ctx, uint32_t unit, vs_telemetry_memory *memory);
  /* `text` has VS_METRIC_TEXT_SIZE bytes. It is empty unless the text is known; the value is its length. */
  vs_metric (*text)(void *ctx, uint32_t unit, vs_metric_text_id id, char *text);

  /* Processes of the kinds (bits), by pid; each pair of process and MIG instance occurs once. The value is their number; the list
   * is borrowed until the next call. A card with MIG devices lists the processes of all of them, a MIG device its own. If host
   * memory ran out the reason is FAILED with the code 20, and there is no list. */
  vs_metric (*processes)(void *ctx, uint32_t unit, uint32_t kinds, const vs_telemetry_process **list);
  /* The processes in the driver's accounting, in the same form. */
  vs_metric (*accounts)(void *ctx, uint32_t unit, const vs_telemetry_account **list);

  /* Has the XID errors of a card reported from now on. */
  vs_metric (*watch_xids)(void *ctx, uint32_t unit);
  /* Waits for the next one of any watched card, at most so long. The value is 1, and *xid it, or 0: none came. If several came since the last
   * call, the driver may tell the last number for each of them. */
  vs_metric (*next_xid)(void *ctx, uint32_t milliseconds, vs_telemetry_xid *xid);

  vs_metric (*driver)(void *ctx, vs_driver_text which, char *text);
  /* The file that the driver's library was loaded from; "" where there is none. Borrowed until reopen or close. */
  const char *(*library)(void *ctx);

  /* The functions and their costs; borrowed until close and updated by each call. */
  uint32_t (*costs)(void *ctx, const vs_telemetry_cost **list);

  /* The last code by which the driver ended the connection (1, 9, 15, 18, 28); 0: it is open. */
  int32_t (*lifecycle)(void *ctx);
  /* Closes the connection and opens it again; the units may differ afterwards. After a failure there are none. */
  vs_status (*reopen)(void *ctx, vs_telemetry_failure *failure);

  void (*close)(void *ctx);
} vs_telemetry_ops;

typedef struct vs_telemetry {
  const vs_telemetry_ops *ops;
  void *ctx;
} vs_telemetry;

#endif
