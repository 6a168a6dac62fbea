/* The state of the GPUs at one moment, as plain data: the devices in the order in which they are shown, and the
 * processes on them.
 *
 * One thread makes a sample and another reads it, so it holds no pointers into the devices object: texts are
 * copied, and cut where they are longer than any terminal.
 *
 * Invariants (vs_top_sample_check): process.device < devices.count; every text ends; attributed + unattributed = used
 * where all three are known and the memory is not the machine's. */
#ifndef VS_TUI_SAMPLE_H
#define VS_TUI_SAMPLE_H

#include "base/text.h"
#include <vramscope/devices.h>

enum {
  VS_TOP_LABEL = 24,
  VS_TOP_USER = 48,
  VS_TOP_NAME = 64,
  VS_TOP_COMMAND = 1024,
  VS_TOP_CONTAINER = 24,
  VS_TOP_WHY = 128
};

typedef struct vs_top_device {
  vs_devices_info info;
  char label[VS_TOP_LABEL]; /* "0", of a MIG device "0:2" */
  vs_devices_memory memory;
  vs_metric utilization, memory_utilization, temperature, power, power_limit;
  vs_metric clock_reasons, recovery_action;
  vs_metric process_count;
  bool may_miss;   /* processes may be missing: vramscope runs in a pid namespace of its own */
  bool is_sharing; /* a MIG device that shares its memory with others of its GPU instance */
} vs_top_device;

/* What a recording that the process writes says of its memory of the device: PyTorch's allocated and reserved bytes, and what other
 * libraries requested of the driver; with a clause, why they are unknown. */
typedef struct vs_top_recorded {
  vs_metric allocated, reserved, libraries;
  vs_metric peak_allocated, peak_reserved, fragmented; /* of PyTorch; peaks since the recording began */
  vs_metric retries, ooms;   /* requests after cudaMalloc failed and the cache was flushed; and that failed */
  vs_metric growth_per_step; /* allocated bytes that each step of the training loop adds and keeps */
  char pytorch_why[VS_TOP_WHY], libraries_why[VS_TOP_WHY]; /* "" if known */
} vs_top_recorded;

typedef struct vs_top_process {
  uint32_t device; /* row of devices */
  uint64_t pid, inner_pid;
  uint64_t start_us; /* since 1970, 0: unknown */
  vs_metric bytes;
  bool is_visible;
  bool is_read; /* its recording was looked for; `recorded` has the answer */
  vs_top_recorded recorded;
  char kind[8];
  char user[VS_TOP_USER], name[VS_TOP_NAME], command[VS_TOP_COMMAND], container[VS_TOP_CONTAINER];
} vs_top_process;

typedef struct vs_top_sample {
  uint64_t number;  /* 1, 2, ...; 0: empty */
  uint64_t at_us;   /* by the monotonic clock */
  uint64_t wall_us; /* since 1970 */
  char clock[12];   /* wall_us in local time: "22:10:46" */
  char host[64];
  vs_devices_driver driver;
  /* Why there is no driver now; "" while there is one. Then all figures are unknown. */
  char trouble[VS_ERROR_TEXT_SIZE];
  VS_VEC(vs_top_device) devices;
  VS_VEC(vs_top_process) processes;
} vs_top_sample;

/* Looks into the recording of a process. `devices`: of how many it has memory, 0: unknown; `uuid`: of the one that is meant. Called on the
 * sampler's thread, for processes that are visible here. */
typedef struct vs_top_recordings {
  void *ctx;
  void (*read)(void *ctx, const vs_top_process *process, const char *uuid, uint32_t devices,
               vs_top_recorded *out);
} vs_top_recordings;

/* Fills in `recorded` of the processes that were listed anew. `is_selection`: other devices may be left out. */
void vs_top_sample_read_recordings(vs_top_sample *sample, const vs_top_recordings *recordings,
                                   bool is_selection);

void vs_top_sample_deinit(const vs_host *host, vs_top_sample *sample);

/* Sets wall_us, and `clock` to what it is in the time zone of the process. */
void vs_top_sample_set_time(vs_top_sample *sample, uint64_t wall_us);

/* Makes `to` equal to `from`, and reuses the memory that it has. */
VS_MUST_CHECK vs_status vs_top_sample_copy(const vs_host *host, vs_top_sample *to, const vs_top_sample *from);

/* The row of the device with this UUID; devices.count where there is none. */
size_t vs_top_sample_device(const vs_top_sample *sample, const char *uuid);

/* NULL if the invariants above hold; else which one does not. For tests and assertions. */
const char *vs_top_sample_check(const vs_top_sample *sample);

#endif
