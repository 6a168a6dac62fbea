/* The metrics of a moment as text. families.def lists those that are figures of a GPU; the others are here: the exporter itself, the driver, the
 * processes, and which figures are unknown. An unknown figure has no sample; vramscope_gpu_unknown names it with the reason. */
#ifndef VS_EXPORTER_FAMILIES_H
#define VS_EXPORTER_FAMILIES_H

#include "faces/exporter/exposition.h"
#include "faces/exporter/xids.h"
#include "faces/tui/sample.h"

/* The rows of families.def that are not of the memory. */
typedef enum vs_series {
#define VS_MEMORY(family, member, help, dcgm)
#define VS_SERIES(family, type, metric, labels, help, dcgm) VS_SERIES_##metric,
#define VS_PROCESS(name, type, unit, member, help)
#define VS_XID(family, type, unit, what, help, dcgm)
#include "faces/exporter/families.def"
#undef VS_MEMORY
#undef VS_SERIES
#undef VS_PROCESS
#undef VS_XID
  VS_SERIES_COUNT
} vs_series;

extern const vs_metric_id vs_series_metrics[VS_SERIES_COUNT];

/* What families.def lists of a device; of a MIG device nothing. */
typedef struct vs_exporter_device {
  vs_metric figures[VS_SERIES_COUNT];
} vs_exporter_device;

enum { VS_EXPORTER_POD = 40, VS_EXPORTER_JOB = 64, VS_EXPORTER_RANK = 12 };

/* What is known of a process beyond vs_top_process; "" for what is not. */
typedef struct vs_exporter_process {
  char pod[VS_EXPORTER_POD]; /* the uid of its Kubernetes pod */
  char job[VS_EXPORTER_JOB], rank[VS_EXPORTER_RANK];
} vs_exporter_process;

/* Invariant: `devices` and `processes` belong to those of `top`, one to one. */
typedef struct vs_exporter_sample {
  vs_top_sample top;
  VS_VEC(vs_exporter_device) devices;
  VS_VEC(vs_exporter_process) processes;
  bool has_xids; /* XID errors are watched: `xids` has the cards, also those that are not in `top` */
  vs_xid_cards xids;
  uint64_t took_us; /* to read it from the driver */
} vs_exporter_sample;

typedef struct vs_families_choice {
  vs_exposition_format format;
  uint64_t most_processes; /* of each GPU, those with the most memory */
  bool has_dcgm_names;     /* also under the names, units and labels of dcgm-exporter */
} vs_families_choice;

/* Appends all of it to `text`, whose status says whether there was memory. */
void vs_families_put(vs_text *text, const vs_exporter_sample *sample, const vs_families_choice *choice);

#endif
