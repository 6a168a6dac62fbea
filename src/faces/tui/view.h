/* A sample as the user wants to see it: which processes are listed, in which order, and which device and process are
 * selected.
 *
 * Invariants (vs_top_view_check): rows are rows of sample.processes, each once; device < sample.devices.count, or 0 without
 * devices; chosen < rows.count or VS_TOP_NONE. */
#ifndef VS_TUI_VIEW_H
#define VS_TUI_VIEW_H

#include "faces/tui/state.h"

#define VS_TOP_NONE SIZE_MAX

typedef struct vs_top_view {
  size_t device; /* the row of the selected device */
  VS_VEC(uint32_t) rows;
  size_t chosen;   /* index into rows of the process that the arrows chose */
  size_t left_out; /* processes that a filter, -u, -p or the selected device hides */
  bool has_containers;
  bool has_recordings; /* what one of the rows has is known from its recording */
} vs_top_view;

void vs_top_view_deinit(const vs_host *host, vs_top_view *view);
VS_MUST_CHECK vs_status vs_top_view_build(const vs_host *host, vs_top_view *view, const vs_top_sample *sample,
                                          const vs_top_state *state);

/* NULL if the invariants above hold for a view of this sample; else which one does not. For tests and assertions. */
const char *vs_top_view_check(const vs_top_view *view, const vs_top_sample *sample);

/* Whether the largest value stands first, in the order that the user chose. */
bool vs_top_is_falling(const vs_top_state *state);

/* Whether -u and -p let a process through. */
bool vs_top_is_wanted(const vs_top_wanted *wanted, const vs_top_process *process);

/* The command line of a process, or a note that it belongs to another pid namespace. */
vs_str vs_top_command(const vs_top_process *process);

#endif
