/* What there is to read off the cards of this machine, as a value: the face that device/nvml stands behind.
 *
 * A unit is a whole card, or a MIG device; the MIG devices of a card come right behind it. Units are numbered from 0 and keep
 * their number until reopen. Everything answers with a vs_metric, so "unknown" always has its reason; nothing here fails
 * otherwise, but for reopen.
 *
 * One object is for one thread at a time. A call goes to the driver, which may take its time and cannot be interrupted. */
#ifndef VS_DEVICE_TELEMETRY_H
#define VS_DEVICE_TELEMETRY_H

#include <vramscope/metric.h>

enum {
  VS_TELEMETRY_NONE = -1, /* no parent, no GPU instance, no compute instance */
  VS_TELEMETRY_NAME = 96, /* bytes of a name or UUID with its NUL: NVML's own largest */
};

/* What does not change while the connection stands. Texts that the driver would not tell are empty: text() has the reason. */
typedef struct vs_telemetry_unit {
  uint32_t
      index; /* NVML's number of the card, which may be another after the next start; of a MIG device its card's */
  bool is_mig;
  int32_t parent;                         /* of a MIG device the unit of its card */
  int32_t mig_slot;                       /* of a MIG device its number on the card, which may have gaps */
  int32_t gpu_instance, compute_instance; /* of a MIG device */
  char name[VS_TELEMETRY_NAME];           /* "NVIDIA H200", "NVIDIA H200 MIG 3g.71gb" */
  char uuid[VS_TELEMETRY_NAME];           /* "GPU-..." or "MIG-..." */
  char serial[VS_TELEMETRY_NAME];
  char bus_id[VS_TELEMETRY_NAME]; /* "00000000:83:00.0" */
  uint32_t pci_domain, pci_bus, pci_device, pci_function;
  vs_metric bus;         /* whether the five above are known */
  vs_metric total_bytes; /* of its memory */
  vs_metric handle;      /* LOST and the like: the card is there, and nothing can be asked of it */
} vs_telemetry_unit;

/* The four of one instant: total = reserved + used + free where all are known. */
typedef struct vs_telemetry_memory {
  vs_metric total, reserved, used, free;
  uint32_t api; /* which call told it: 2, or 1, which counts reserved as used; 0: neither */
} vs_telemetry_memory;

typedef enum vs_process_kind { /* bits */
                               VS_PROCESS_COMPUTE = 1,
                               VS_PROCESS_GRAPHICS = 2,
                               VS_PROCESS_MPS = 4, /* a client of the MPS server */
                               VS_PROCESS_ALL = 7,
} vs_process_kind;

/* A process that has memory on a unit; of a card with MIG devices, on one of those. */
typedef struct vs_telemetry_process {
  uint32_t pid;              /* in the driver's own namespace, which in a container is not ours */
  uint32_t kinds;            /* bits of vs_process_kind */
  vs_metric bytes;           /* NOT_VISIBLE: the system does not let the driver know */
  vs_metric protected_bytes; /* under confidential computing */
  int32_t gpu_instance, compute_instance;
} vs_telemetry_process;

/* "C", "G", "C+G", "M": how a vendor's table names the kinds. */
const char *vs_process_kind_text(uint32_t kinds);

/* A process that the driver keeps account of, though it may have ended. */
typedef struct vs_telemetry_account {
  uint32_t pid;
  bool is_running;
  vs_metric gpu_utilization, memory_utilization; /* percent, over its life */
  vs_metric peak_bytes;                          /* most memory that it had at a time */
  vs_metric time_us, start_us;                   /* how long it had a context; since 1970, when it began */
} vs_telemetry_account;

typedef enum vs_driver_text {
  VS_DRIVER_VERSION,      /* "590.48.01" */
  VS_DRIVER_NVML_VERSION, /* "13.590.48.01": of the library */
  VS_DRIVER_CUDA_VERSION, /* "13.1": the newest CUDA that the driver can do */
} vs_driver_text;

/* What one function of the driver's library cost so far. */
typedef struct vs_telemetry_cost {
  const char *function; /* "nvmlDeviceGetMemoryInfo_v2" */
  bool is_missing;      /* the library has no such function */
  uint64_t calls, total_ns, max_ns;
} vs_telemetry_cost;

/* Why a connection did not come about, or is to be opened again. */
typedef struct vs_telemetry_failure {
  int32_t code;   /* NVML's number; 12 where its library was not found */
  char text[192]; /* our sentence, without a full stop */
  char
      library_version[48]; /* where the versions differ (18) and the library told it: "550.144"; else empty */
} vs_telemetry_failure;

typedef struct vs_telemetry_ops {
  uint32_t (*count)(void *ctx);
  /* Borrowed until reopen or close. */
  const vs_telemetry_unit *(*unit)(void *ctx, uint32_t unit);

  vs_metric (*metric)(void *ctx, uint32_t unit, vs_metric_id id);
  /* `count` of them at once: what one call of the driver tells is of one instant, and it is asked once. */
  void (*metrics)(void *ctx, uint32_t unit, const vs_metric_id *ids, size_t count, vs_metric *to);
  void (*memory)(void *ctx, uint32_t unit, vs_telemetry_memory *memory);
  /* `text` holds VS_METRIC_TEXT_SIZE bytes and is empty unless it is known; the value is its length. */
  vs_metric (*text)(void *ctx, uint32_t unit, vs_metric_text_id id, char *text);

  /* Processes of the kinds (bits), each once, by number. The value is how many; the list is borrowed until the next call. A
   * card with MIG devices lists those of all of them, a MIG device its own. Where our own memory ran out the reason is
   * FAILED with the code 20, and there is no list. */
  vs_metric (*processes)(void *ctx, uint32_t unit, uint32_t kinds, const vs_telemetry_process **list);
  /* The processes in the driver's account, the same way. */
  vs_metric (*accounts)(void *ctx, uint32_t unit, const vs_telemetry_account **list);

  vs_metric (*driver)(void *ctx, vs_driver_text which, char *text);
  /* The file that the driver's library was loaded from; "" where there is none. Borrowed until reopen or close. */
  const char *(*library)(void *ctx);

  /* The functions and what they cost; borrowed until close, and counting on. */
  uint32_t (*costs)(void *ctx, const vs_telemetry_cost **list);

  /* The driver said that the connection is over (code 1, 9, 15, 18, 28), with the last such number; 0: it stands. */
  int32_t (*lifecycle)(void *ctx);
  /* Ends the connection and begins it anew; units may be others afterwards. What fails leaves none: no units. */
  vs_status (*reopen)(void *ctx, vs_telemetry_failure *failure);

  void (*close)(void *ctx);
} vs_telemetry_ops;

typedef struct vs_telemetry {
  const vs_telemetry_ops *ops;
  void *ctx;
} vs_telemetry;

#endif
