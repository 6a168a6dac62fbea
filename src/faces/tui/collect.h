/* Samples from the driver. No other file of this face asks `devices`. Used by one thread, except for `at`. */
#ifndef VS_TUI_COLLECT_H
#define VS_TUI_COLLECT_H

#include "base/vec.h"
#include "faces/tui/sample.h"
#include <stdatomic.h>

typedef struct vs_top_collector {
  const vs_host *host;
  const char *selection;  /* NULL: every card with its MIG devices */
  vs_devices *devices;    /* NULL: not opened yet */
  VS_VEC(uint32_t) units; /* in the order in which they are shown, each once */
  uint64_t count;         /* samples so far */
  uint64_t listed_us;     /* when processes were last listed; 0: not since the driver was opened */
  _Atomic uint32_t
      at; /* the row that the driver is being asked about; UINT32_MAX: none. Any thread may read it. */
} vs_top_collector;

void vs_top_collector_init(vs_top_collector *collector, const vs_host *host, const char *selection);
void vs_top_collector_deinit(vs_top_collector *collector);

/* Takes a sample of everything. `sample` is the previous one, or empty at first: figures that are not read each time,
 * such as the list of processes, stay in it.
 *
 * The first call opens the driver, and fails where there is none or the selection is wrong. Later calls do not fail for
 * that: without a driver the devices stay, with all figures unknown, sample.trouble says why, and each call tries to open
 * the driver again.
 *
 * Fails: VS_DEVICE  there is no driver, or no GPU; VS_NOT_FOUND, VS_BAD_ARGUMENT, VS_UNSUPPORTED  the
 * selection; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_top_collect(vs_top_collector *collector, vs_top_sample *sample, vs_error *error);

#endif
