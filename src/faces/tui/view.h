/* Which processes are listed, in which order, and which device and process are at hand: a sample as the
 * user wants to see it.
 *
 * Invariant: rows are rows of sample.processes, each once; device < sample.devices.count unless there is
 * none; chosen < rows.count or VS_TOP_NOBODY. */
#ifndef VS_TUI_VIEW_H
#define VS_TUI_VIEW_H

#include "faces/tui/state.h"

#define VS_TOP_NOBODY SIZE_MAX

typedef struct vs_top_view {
  size_t device;
  VS_VEC(uint32_t) rows;
  size_t chosen;   /* the row that the arrows moved to */
  size_t left_out; /* processes that a filter, -u, -p or the device at hand hides */
  bool has_containers;
} vs_top_view;

void vs_top_view_deinit(const vs_host *host, vs_top_view *view);
VS_MUST_CHECK vs_status vs_top_view_build(const vs_host *host, vs_top_view *view, const vs_top_sample *sample,
                                          const vs_top_state *state);

/* Whether -u and -p let a process through. */
bool vs_top_is_wanted(const vs_top_wanted *wanted, const vs_top_process *process);

/* What is shown for a process that cannot be seen from here. */
vs_str vs_top_command(const vs_top_process *process);

#endif
