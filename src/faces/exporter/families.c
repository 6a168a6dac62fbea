#include "faces/exporter/families.h"
#include "base/check.h"
#include "devices/json.h"
#include <stddef.h>

/* ---- the rows of families.def */

typedef struct row {
  const char *family;
  vs_family_type type;
  bool is_memory;
  size_t at; /* of memory: the offset in vs_devices_memory; else a vs_series */
  vs_metric_unit unit;
  const char *labels, *help, *dcgm;
} row;

const vs_metric_id vs_series_metrics[VS_SERIES_COUNT] = {
#define VS_MEMORY(family, member, help, dcgm)
#define VS_SERIES(family, type, metric, labels, help, dcgm) VS_METRIC_ID_##metric,
#define VS_PROCESS(name, type, unit, member, help)
#define VS_XID(family, type, unit, what, help, dcgm)
#include "faces/exporter/families.def"
#undef VS_MEMORY
#undef VS_SERIES
#undef VS_PROCESS
#undef VS_XID
};

static const row rows[] = {
#define VS_MEMORY(family, member, help, dcgm) \
  {family, VS_FAMILY_GAUGE, true, offsetof(vs_devices_memory, member), VS_METRIC_BYTES, "", help, dcgm},
#define VS_SERIES(family, type, metric, labels, help, dcgm) \
  {family, VS_FAMILY_##type, false, VS_SERIES_##metric, VS_METRIC_COUNT, labels, help, dcgm},
#define VS_PROCESS(name, type, unit, member, help)
#define VS_XID(family, type, unit, what, help, dcgm)
#include "faces/exporter/families.def"
#undef VS_MEMORY
#undef VS_SERIES
#undef VS_PROCESS
#undef VS_XID
};
enum { ROWS = sizeof rows / sizeof rows[0], NAME = 64 };

static vs_metric_unit unit_of(const row *r) {
  return r->is_memory ? r->unit : vs_metric_describe(vs_series_metrics[r->at])->unit;
}

static const char *help_of(const row *r) {
  return r->help[0] != 0 ? r->help : vs_metric_describe(vs_series_metrics[r->at])->text;
}

/* ---- units: figures are told in base units */

typedef struct scale {
  const char *unit; /* of the name */
  uint32_t places;  /* the figure is in 10^-places of it */
  int64_t times;    /* or in `times` of it */
} scale;

static scale scale_of(vs_metric_unit unit) {
  switch (unit) {
    case VS_METRIC_BYTES: return (scale){"bytes", 0, 1};
    case VS_METRIC_PERCENT: return (scale){"ratio", 2, 1};
    case VS_METRIC_CELSIUS: return (scale){"celsius", 0, 1};
    case VS_METRIC_MILLIWATTS: return (scale){"watts", 3, 1};
    case VS_METRIC_MILLIJOULES: return (scale){"joules", 3, 1};
    case VS_METRIC_MHZ: return (scale){"hertz", 0, 1000000};
    case VS_METRIC_MICROSECONDS: return (scale){"seconds", 6, 1};
    default: return (scale){"", 0, 1};
  }
}

static vs_decimal decimal_of(vs_metric_unit unit, uint64_t value) {
  const scale s = scale_of(unit);
  return (vs_decimal){.digits = (int64_t)value * s.times, .places = s.places};
}

/* DCGM has MiB, W and C; the others as they are. */
static vs_decimal dcgm_decimal(vs_metric_unit unit, uint64_t value) {
  if (unit == VS_METRIC_BYTES) return (vs_decimal){.digits = (int64_t)(value >> 20)};
  return (vs_decimal){.digits = (int64_t)value, .places = unit == VS_METRIC_MILLIWATTS ? 3 : 0};
}

/* ---- labels */

typedef struct putting {
  vs_exposition e;
  const vs_exporter_sample *sample;
  const vs_families_choice *choice;
} putting;

static void put_label(putting *p, const char *name, const char *value) {
  if (value[0] != 0) vs_exposition_label(&p->e, name, vs_str_from(value));
}

static void put_number_label(putting *p, const char *name, uint64_t number) {
  char text[24];
  vs_format(text, sizeof text, "%U", number);
  put_label(p, name, text);
}

/* A MIG device has the number of its card and, as `mig`, its own. */
static void put_device_labels(putting *p, const vs_top_device *device) {
  put_label(p, "uuid", device->info.uuid);
  put_number_label(p, "gpu", device->info.index);
  if (device->info.is_mig) put_number_label(p, "mig", device->info.mig_index);
}

static void put_dcgm_labels(putting *p, const vs_top_device *device) {
  char name[24];
  vs_format(name, sizeof name, "nvidia%u", device->info.index);
  put_number_label(p, "gpu", device->info.index);
  put_label(p, "UUID", device->info.uuid);
  put_label(p, "pci_bus_id", device->info.bus_id);
  put_label(p, "device", name);
  put_label(p, "modelName", device->info.name);
  put_label(p, "hostname", p->sample->top.host);
  if (device->info.is_mig) put_number_label(p, "GPU_I_ID", device->info.gpu_instance);
}

/* "key=value" */
static void put_constant_label(putting *p, const char *label) {
  char key[NAME];
  const size_t size = strcspn(label, "=");
  if (label[0] == 0) return;
  vs_format(key, sizeof key, "%S", (vs_str){label, size});
  put_label(p, key, label + size + 1);
}

/* ---- figures of devices */

static vs_metric figure_of(const putting *p, size_t device, const row *r) {
  vs_metric figure;
  const vs_devices_memory *memory = &p->sample->top.devices.data[device].memory;
  if (!r->is_memory) return p->sample->devices.data[device].figures[r->at];
  memcpy(&figure, (const char *)memory + r->at, sizeof figure);
  return figure;
}

/* Figures of a card other than its memory are told once, and not again for each of its MIG devices. */
static bool is_told(const putting *p, size_t device, const row *r) {
  return r->is_memory || !p->sample->top.devices.data[device].info.is_mig;
}

static vs_family family_of(const row *r, char name[NAME]) {
  const char *unit = scale_of(unit_of(r)).unit;
  vs_format(name, NAME, "vramscope_%s%s%s", r->family, unit[0] == 0 ? "" : "_", unit);
  return (vs_family){.name = name, .type = r->type, .unit = unit, .help = help_of(r)};
}

static bool begins_family(size_t i) {
  return i == 0 || !vs_str_equal(vs_str_from(rows[i].family), vs_str_from(rows[i - 1].family));
}

static void put_figures(putting *p) {
  char name[NAME];
  vs_family family = {0};
  for (size_t i = 0; i < ROWS; i++) {
    if (begins_family(i)) {
      family = family_of(&rows[i], name);
      vs_exposition_family(&p->e, &family);
    }
    for (size_t d = 0; d < p->sample->top.devices.count; d++) {
      const vs_metric figure = figure_of(p, d, &rows[i]);
      if (!is_told(p, d, &rows[i]) || !vs_metric_is_known(figure)) continue;
      vs_exposition_begin(&p->e, &family);
      put_device_labels(p, &p->sample->top.devices.data[d]);
      put_constant_label(p, rows[i].labels);
      vs_exposition_value(&p->e, decimal_of(unit_of(&rows[i]), figure.value));
    }
  }
}

static void put_dcgm(putting *p) {
  for (size_t i = 0; i < ROWS; i++) {
    const vs_family family = {rows[i].dcgm, VS_FAMILY_GAUGE, "", help_of(&rows[i])};
    if (family.name[0] == 0) continue;
    vs_exposition_family(&p->e, &family);
    for (size_t d = 0; d < p->sample->top.devices.count; d++) {
      const vs_metric figure = figure_of(p, d, &rows[i]);
      if (!is_told(p, d, &rows[i]) || !vs_metric_is_known(figure)) continue;
      vs_exposition_begin(&p->e, &family);
      put_dcgm_labels(p, &p->sample->top.devices.data[d]);
      vs_exposition_value(&p->e, dcgm_decimal(unit_of(&rows[i]), figure.value));
    }
  }
}

static void put_infos(putting *p) {
  static const vs_family info = {"vramscope_gpu", VS_FAMILY_INFO, "", "GPUs and MIG devices"};
  vs_exposition_family(&p->e, &info);
  for (size_t d = 0; d < p->sample->top.devices.count; d++) {
    const vs_top_device *device = &p->sample->top.devices.data[d];
    vs_exposition_begin(&p->e, &info);
    put_device_labels(p, device);
    put_label(p, "name", device->info.name);
    put_label(p, "bus_id", device->info.bus_id);
    if (device->info.is_mig) put_number_label(p, "gpu_instance", device->info.gpu_instance);
    if (device->info.is_mig) put_number_label(p, "compute_instance", device->info.compute_instance);
    put_label(p, "divided", device->info.is_divided ? "true" : "");
    put_label(p, "simulated", device->info.is_simulated ? "true" : "");
    vs_exposition_value(&p->e, (vs_decimal){.digits = 1});
  }
}

/* ---- XID errors */

typedef enum xid_what { XID_COUNTS, XID_LAST, XID_TIME } xid_what;

typedef struct xid_family {
  vs_family family;
  xid_what what;
  const char *dcgm;
} xid_family;

static const xid_family xid_families[] = {
#define VS_MEMORY(family, member, help, dcgm)
#define VS_SERIES(family, type, metric, labels, help, dcgm)
#define VS_XID(family, type, unit, what, help, dcgm) \
  {{"vramscope_" family, VS_FAMILY_##type, unit, help}, XID_##what, dcgm},
#define VS_PROCESS(name, type, unit, member, help)
#include "faces/exporter/families.def"
#undef VS_MEMORY
#undef VS_SERIES
#undef VS_PROCESS
#undef VS_XID
};
enum { XID_FAMILIES = sizeof xid_families / sizeof xid_families[0] };

/* The errors of a whole card; NULL: it was never seen. A card that is lost may no longer tell its UUID. */
static const vs_xid_card *xids_of(const putting *p, const vs_top_device *device) {
  for (size_t i = 0; i < p->sample->xids.count && !device->info.is_mig; i++) {
    const vs_xid_card *card = &p->sample->xids.data[i];
    const bool is_same = device->info.uuid[0] != 0
                             ? vs_str_equal(vs_str_from(card->uuid), vs_str_from(device->info.uuid))
                             : card->index == device->info.index;
    if (is_same) return card;
  }
  return NULL;
}

/* That there was none is known only while errors are watched; one that there was stays known. */
static bool is_last_known(const vs_xid_card *card) {
  return card->last_us != 0 || vs_metric_is_known(card->watched);
}

static void put_xid(putting *p, const vs_family *family, const vs_top_device *device, const char *number,
                    const char *text, uint64_t times) {
  vs_exposition_begin(&p->e, family);
  put_device_labels(p, device);
  put_label(p, "xid", number);
  put_label(p, "text", text);
  vs_exposition_value(&p->e, (vs_decimal){.digits = (int64_t)times});
}

static void put_xid_counts(putting *p, const vs_family *family, const vs_top_device *device,
                           const vs_xid_card *card) {
  for (uint32_t i = 0; i < card->kinds; i++) {
    char number[16];
    vs_format(number, sizeof number, "%u", card->counts[i].number);
    put_xid(p, family, device, number, vs_xid_text(card->counts[i].number), card->counts[i].count);
  }
  if (card->others != 0) put_xid(p, family, device, "other", "", card->others);
}

static void put_xids(putting *p) {
  for (size_t i = 0; i < XID_FAMILIES; i++) {
    const xid_family *f = &xid_families[i];
    vs_exposition_family(&p->e, &f->family);
    for (size_t d = 0; d < p->sample->top.devices.count; d++) {
      const vs_top_device *device = &p->sample->top.devices.data[d];
      const vs_xid_card *card = xids_of(p, device);
      if (card == NULL || (f->what == XID_LAST && !is_last_known(card)) ||
          (f->what == XID_TIME && card->last_us == 0))
        continue;
      if (f->what == XID_COUNTS) {
        put_xid_counts(p, &f->family, device, card);
        continue;
      }
      vs_exposition_begin(&p->e, &f->family);
      put_device_labels(p, device);
      vs_exposition_value(&p->e, f->what == XID_LAST
                                     ? (vs_decimal){.digits = card->last}
                                     : (vs_decimal){.digits = (int64_t)card->last_us, .places = 6});
    }
  }
}

/* Samples of vramscope_gpu_unknown. */
static void put_unknown_xids(putting *p, const vs_family *unknown) {
  for (size_t i = 0; i < XID_FAMILIES; i++) {
    for (size_t d = 0; d < p->sample->top.devices.count && xid_families[i].what == XID_LAST; d++) {
      char reason[VS_DEVICES_REASON_SIZE];
      const vs_top_device *device = &p->sample->top.devices.data[d];
      const vs_xid_card *card = xids_of(p, device);
      if (card == NULL || vs_metric_is_known(card->watched)) continue;
      vs_devices_reason_key(reason, card->watched.reason);
      vs_exposition_begin(&p->e, unknown);
      put_device_labels(p, device);
      put_label(p, "figure", xid_families[i].family.name);
      put_label(p, "reason", reason);
      vs_exposition_value(&p->e, (vs_decimal){.digits = 1});
    }
  }
}

static void put_dcgm_xids(putting *p) {
  for (size_t i = 0; i < XID_FAMILIES; i++) {
    const vs_family family = {xid_families[i].dcgm, VS_FAMILY_GAUGE, "", xid_families[i].family.help};
    if (family.name[0] == 0) continue;
    vs_exposition_family(&p->e, &family);
    for (size_t d = 0; d < p->sample->top.devices.count; d++) {
      const vs_top_device *device = &p->sample->top.devices.data[d];
      const vs_xid_card *card = xids_of(p, device);
      if (card == NULL || !is_last_known(card)) continue;
      vs_exposition_begin(&p->e, &family);
      put_dcgm_labels(p, device);
      vs_exposition_value(&p->e, (vs_decimal){.digits = card->last});
    }
  }
}

/* ---- what is unknown */

static void put_unknown(putting *p) {
  static const vs_family family = {"vramscope_gpu_unknown", VS_FAMILY_GAUGE, "",
                                   "figures that the driver does not tell, with the reason"};
  vs_exposition_family(&p->e, &family);
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t d = 0; d < p->sample->top.devices.count; d++) {
      char name[NAME], reason[VS_DEVICES_REASON_SIZE];
      const vs_metric figure = figure_of(p, d, &rows[i]);
      if (!is_told(p, d, &rows[i]) || vs_metric_is_known(figure)) continue;
      vs_devices_reason_key(reason, figure.reason);
      vs_exposition_begin(&p->e, &family);
      put_device_labels(p, &p->sample->top.devices.data[d]);
      put_label(p, "figure", family_of(&rows[i], name).name);
      put_constant_label(p, rows[i].labels);
      put_label(p, "reason", reason);
      vs_exposition_value(&p->e, (vs_decimal){.digits = 1});
    }
  }
  if (p->sample->has_xids) put_unknown_xids(p, &family);
}

/* ---- processes */

/* A row of the list: what a process has on one GPU. */
typedef struct process_family {
  vs_family family;
  size_t at; /* in vs_top_process */
} process_family;

static const process_family process_families[] = {
#define VS_MEMORY(family, member, help, dcgm)
#define VS_SERIES(family, type, metric, labels, help, dcgm)
#define VS_XID(family, type, unit, what, help, dcgm)
#define VS_PROCESS(name, type, unit, member, help) \
  {{"vramscope_process_" name, VS_FAMILY_##type, unit, help}, offsetof(vs_top_process, member)},
#include "faces/exporter/families.def"
#undef VS_MEMORY
#undef VS_SERIES
#undef VS_PROCESS
#undef VS_XID
};

static void put_process_labels(putting *p, size_t i) {
  const vs_top_process *process = &p->sample->top.processes.data[i];
  const vs_exporter_process *more = &p->sample->processes.data[i];
  put_device_labels(p, &p->sample->top.devices.data[process->device]);
  put_number_label(p, "pid", process->pid);
  put_label(p, "name", process->name);
  put_label(p, "user", process->user);
  put_label(p, "container", process->container);
  put_label(p, "pod", more->pod);
  put_label(p, "job", more->job);
  put_label(p, "rank", more->rank);
}

/* How many processes of the same GPU come before it; they are listed by falling memory. */
static uint64_t place_of(const vs_top_sample *sample, size_t process) {
  uint64_t before = 0;
  for (size_t i = 0; i < process; i++)
    before += sample->processes.data[i].device == sample->processes.data[process].device;
  return before;
}

static void put_process_family(putting *p, const process_family *family) {
  const vs_top_sample *top = &p->sample->top;
  vs_exposition_family(&p->e, &family->family);
  for (size_t i = 0; i < top->processes.count; i++) {
    vs_metric figure;
    memcpy(&figure, (const char *)&top->processes.data[i] + family->at, sizeof figure);
    if (!vs_metric_is_known(figure) || place_of(top, i) >= p->choice->most_processes) continue;
    vs_exposition_begin(&p->e, &family->family);
    put_process_labels(p, i);
    vs_exposition_value(&p->e, (vs_decimal){.digits = (int64_t)figure.value});
  }
}

static void put_processes(putting *p) {
  static const vs_family count = {"vramscope_gpu_processes", VS_FAMILY_GAUGE, "",
                                  "processes with memory on the GPU"};
  vs_exposition_family(&p->e, &count);
  for (size_t d = 0; d < p->sample->top.devices.count; d++) {
    const vs_top_device *device = &p->sample->top.devices.data[d];
    if (!vs_metric_is_known(device->process_count)) continue;
    vs_exposition_begin(&p->e, &count);
    put_device_labels(p, device);
    vs_exposition_value(&p->e, (vs_decimal){.digits = (int64_t)device->process_count.value});
  }
  for (size_t i = 0; i < sizeof process_families / sizeof process_families[0]; i++)
    put_process_family(p, &process_families[i]);
}

/* ---- the exporter and the driver */

static void put_one(putting *p, const vs_family *family, vs_decimal value) {
  vs_exposition_family(&p->e, family);
  vs_exposition_begin(&p->e, family);
  vs_exposition_value(&p->e, value);
}

static void put_itself(putting *p) {
  static const vs_family up = {"vramscope_driver_up", VS_FAMILY_GAUGE, "", "1: the driver answers"};
  static const vs_family took = {"vramscope_sample_duration_seconds", VS_FAMILY_GAUGE, "seconds",
                                 "how long the driver took to tell these figures"};
  static const vs_family build = {"vramscope_build", VS_FAMILY_INFO, "", "the exporter"};
  static const vs_family driver = {"vramscope_driver", VS_FAMILY_INFO, "", "the driver"};
  const vs_devices_driver *d = &p->sample->top.driver;
  put_one(p, &up, (vs_decimal){.digits = p->sample->top.trouble[0] == 0});
  put_one(p, &took, (vs_decimal){.digits = (int64_t)p->sample->took_us, .places = 6});
  vs_exposition_family(&p->e, &build);
  vs_exposition_begin(&p->e, &build);
  put_label(p, "version", VS_VERSION_TEXT);
  vs_exposition_value(&p->e, (vs_decimal){.digits = 1});
  vs_exposition_family(&p->e, &driver);
  vs_exposition_begin(&p->e, &driver);
  put_label(p, "driver_version", d->driver_version);
  put_label(p, "nvml_version", d->library_version);
  put_label(p, "kernel_version", d->kernel_version);
  put_label(p, "simulated", d->is_simulated ? "true" : "");
  vs_exposition_value(&p->e, (vs_decimal){.digits = 1});
}

void vs_families_put(vs_text *text, const vs_exporter_sample *sample, const vs_families_choice *choice) {
  putting p = {.e = {.text = text, .format = choice->format}, .sample = sample, .choice = choice};
  VS_ASSERT(sample->devices.count == sample->top.devices.count &&
            sample->processes.count == sample->top.processes.count);
  put_itself(&p);
  put_infos(&p);
  put_figures(&p);
  if (sample->has_xids) put_xids(&p);
  put_processes(&p);
  put_unknown(&p);
  if (choice->has_dcgm_names) put_dcgm(&p);
  if (choice->has_dcgm_names && sample->has_xids) put_dcgm_xids(&p);
  vs_exposition_end(&p.e);
}
