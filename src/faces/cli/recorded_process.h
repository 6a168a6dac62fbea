/* What the recording of a process on this machine tells of its memory of one GPU, now. */
#ifndef VS_CLI_RECORDED_PROCESS_H
#define VS_CLI_RECORDED_PROCESS_H

#include "base/text.h"
#include "codec/json_doc.h"
#include <vramscope/devices.h>

typedef struct vs_recorded_process {
  bool is_known;
  vs_error why;     /* unless known */
  bool has_pytorch; /* the recording has memory of PyTorch's allocator of this GPU */
  vs_metric
      growth_per_step; /* of the lines that the report says grow, in total; known if its steps are and not guessed from a pattern */
  vs_json_doc reply;
  vs_json
      device; /* of has_pytorch: the reply of "reserved"; else a device of that of "libraries". Borrowed from `reply` */
} vs_recorded_process;

/* `cards`: of how many GPUs the process has memory, 0: unknown. `cuda`: the number that this one has in the process. Without `has_growth`,
 * which takes longer, growth_per_step is unknown. */
void vs_recorded_process_read(vs_recorded_process *out, const vs_host *host, uint64_t pid, uint32_t cards,
                              vs_metric cuda, bool has_growth);
void vs_recorded_process_deinit(vs_recorded_process *process);

/* The GPUs of this machine with the numbers that they have in the process. Fails: as vs_devices_open */
VS_MUST_CHECK vs_status vs_recorded_process_open_devices(const vs_host *host, uint64_t pid,
                                                         vs_devices **devices, vs_devices_failure *failure);

/* The number that the process has for the GPU of this UUID, by its CUDA_VISIBLE_DEVICES. */
vs_metric vs_recorded_process_number(const vs_host *host, uint64_t pid, const char *uuid);

/* The recording that the process writes, by a path that can be opened here. Fails with a clause, as in vs_ledger_figure.why. */
enum { VS_RECORDED_PATH = 4096 };
VS_MUST_CHECK vs_status vs_recorded_process_find(uint64_t pid, char path[VS_RECORDED_PATH], vs_error *why);

#endif
