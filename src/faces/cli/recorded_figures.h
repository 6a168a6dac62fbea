/* What a process that records tells of its memory of one GPU at once (record/figures.h), without its recording being read. */
#ifndef VS_CLI_RECORDED_FIGURES_H
#define VS_CLI_RECORDED_FIGURES_H

#include <vramscope/devices.h>

/* Each figure is known, or has the reason VS_REASON_NOT_SAMPLED. */
typedef struct vs_recorded_figures {
  vs_metric allocated, reserved, peak_allocated, peak_reserved, retries, ooms;
} vs_recorded_figures;

/* `inner_pid`: its number in its own pid namespace. `cards`: of how many GPUs it has memory, 0: unknown; `number`: the one that this GPU has in the
 * process. False: it tells nothing of this GPU. */
bool vs_recorded_figures_read(vs_recorded_figures *out, uint64_t pid, uint64_t inner_pid, uint32_t cards,
                              vs_metric number);

#endif
