/* The figures of a moment from the driver, from /proc, and from the recordings of processes. One thread uses it. */
#ifndef VS_EXPORTER_GATHER_H
#define VS_EXPORTER_GATHER_H

#include "faces/exporter/families.h"
#include "faces/tui/collect.h"

typedef struct vs_gatherer {
  vs_top_collector collector;
  const vs_top_recordings *recordings;
  vs_xids *xids;             /* borrowed; NULL: XID errors are not watched */
  vs_exporter_sample sample; /* the last one */
} vs_gatherer;

/* `selection`: vs_devices_select; NULL: every GPU. Texts and `recordings` are borrowed. */
void vs_gatherer_init(vs_gatherer *gatherer, const vs_host *host, const char *selection,
                      const vs_top_recordings *recordings);
void vs_gatherer_deinit(vs_gatherer *gatherer);

/* Fills gatherer->sample anew. Fails as vs_top_collect does: only the first call for want of a driver. */
VS_MUST_CHECK vs_status vs_gather_sample(vs_gatherer *gatherer, vs_error *error);

#endif
