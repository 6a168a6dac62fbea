/* Samples from the driver: the one place of this face that asks `devices`. Used by one thread. */
#ifndef VS_TUI_COLLECT_H
#define VS_TUI_COLLECT_H

#include "base/vec.h"
#include "faces/tui/sample.h"
#include <stdatomic.h>

typedef struct vs_top_collector {
  const vs_host *host;
  const char *selection;  /* NULL: every card with its MIG devices */
  vs_devices *devices;    /* NULL: not opened yet */
  VS_VEC(uint32_t) units; /* in the order in which they are shown */
  uint64_t count;         /* samples so far */
  uint64_t listed_us;     /* when processes were asked for last, 0: not since the driver was opened */
  _Atomic uint32_t at;    /* the row that is asked about, for who waits and wonders why; UINT32_MAX: none */
} vs_top_collector;

void vs_top_collector_init(vs_top_collector *collector, const vs_host *host, const char *selection);
void vs_top_collector_deinit(vs_top_collector *collector);

/* A look at everything. The first one opens the driver, and fails where there is none or the selection
 * makes no sense. Later ones do not: without a driver the devices stay as they were, with all figures
 * unknown, and sample.trouble says why; each look then tries to open it again.
 *
 * Fails: VS_DEVICE  there is no driver, or no GPU; VS_NOT_FOUND, VS_BAD_ARGUMENT, VS_UNSUPPORTED  the
 * selection; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_top_collect(vs_top_collector *collector, vs_top_sample *sample, vs_error *error);

#endif
