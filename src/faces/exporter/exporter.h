/* The metrics of this machine, kept fresh for those who ask: a thread of its own asks the driver, because a driver can hang.
 *
 * An answer is at most VS_EXPORTER_FRESH_US old when it is given. Who asks waits for a fresh one, at most VS_EXPORTER_PATIENCE_US; those who ask at
 * the same time get the same. */
#ifndef VS_EXPORTER_EXPORTER_H
#define VS_EXPORTER_EXPORTER_H

#include "faces/exporter/families.h"

#define VS_EXPORTER_FRESH_US    UINT64_C(1000000)
#define VS_EXPORTER_PATIENCE_US UINT64_C(5000000)

typedef struct vs_exporter vs_exporter;

/* Texts and `recordings` are borrowed, and outlive the exporter. */
typedef struct vs_exporter_plan {
  const vs_host *host;
  const char *selection; /* vs_devices_select; NULL: every GPU */
  uint64_t most_processes;
  bool has_dcgm_names;
  bool has_xids; /* XID errors are watched as long as it runs */
  const vs_top_recordings *recordings;
} vs_exporter_plan;

/* Takes the first sample, or says why there is none. Owner: the caller, vs_exporter_stop. Fails: VS_DEVICE  there is no driver, no GPU, or no
 * answer within the patience; as vs_top_collect for a wrong selection; VS_NO_MEMORY; with a sentence */
VS_MUST_CHECK vs_status vs_exporter_start(vs_exporter **out, const vs_exporter_plan *plan, vs_error *error);

/* Appends fresh metrics. Any thread. Fails: VS_DEVICE  the driver has not answered within the patience; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_exporter_read(vs_exporter *x, vs_exposition_format format, vs_text *text);

/* False: a call of the driver does not return; its thread goes on, and nothing is freed. The process ends by vs_process_leave then. */
bool vs_exporter_stop(vs_exporter *x);

#endif
