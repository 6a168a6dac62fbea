#include "faces/cli/recorded_figures.h"
#include "record/figures.h"
#include "os/proc.h"

static const char proc[] = "/proc";

static bool is_of(const vs_figures *f, uint64_t pid) {
  return f->magic == VS_FIGURES_MAGIC && f->version == VS_FIGURES_VERSION &&
         f->devices == VS_FIGURES_DEVICES && f->pid == pid;
}

/* A process has its own figures open, and those of the processes that it was forked from. */
static bool read_own(vs_figures *f, uint64_t pid, uint64_t inner_pid) {
  for (uint32_t i = 0; vs_proc_read_shared(proc, pid, VS_FIGURES_NAME, i, f, sizeof *f) == VS_OK; i++)
    if (is_of(f, inner_pid)) return true;
  return false;
}

static bool is_told(const vs_figures *f, uint32_t device) {
  const uint64_t era = vs_figures_get(&f->era);
  return era != 0 && vs_figures_get(&f->device[device].era) == era;
}

/* The only row if the process has memory of one GPU, else the one of its number. NULL: unknown, or there is none. */
static const vs_figures_device *row_of(const vs_figures *f, uint32_t cards, vs_metric number) {
  uint32_t count = 0, only = 0;
  for (uint32_t i = 0; i < VS_FIGURES_DEVICES; i++)
    if (is_told(f, i)) {
      count++;
      only = i;
    }
  if (cards == 1 && count == 1) return &f->device[only];
  if (!vs_metric_is_known(number) || number.value >= VS_FIGURES_DEVICES) return NULL;
  return is_told(f, (uint32_t)number.value) ? &f->device[number.value] : NULL;
}

static vs_metric known(uint64_t value) { return (vs_metric){.reason = VS_REASON_KNOWN, .value = value}; }

/* A call may be in the middle of telling its totals, so a peak is at least the total that is told with it. */
static vs_metric peak_of(const _Atomic uint64_t *peak, vs_metric now) {
  const uint64_t value = vs_figures_get(peak);
  return known(value > now.value ? value : now.value);
}

bool vs_recorded_figures_read(vs_recorded_figures *out, uint64_t pid, uint64_t inner_pid, uint32_t cards,
                              vs_metric number) {
  const vs_metric none = {.reason = VS_REASON_NOT_SAMPLED};
  vs_figures f;
  *out = (vs_recorded_figures){none, none, none, none, none, none};
  const vs_figures_device *row = read_own(&f, pid, inner_pid) ? row_of(&f, cards, number) : NULL;
  if (row == NULL) return false;
  const uint64_t retries = vs_figures_get(&row->retries);
  out->allocated = known(vs_figures_get(&row->allocated));
  out->reserved = known(vs_figures_get(&row->reserved));
  out->peak_allocated = peak_of(&row->peak_allocated, out->allocated);
  out->peak_reserved = peak_of(&row->peak_reserved, out->reserved);
  if (retries != VS_FIGURES_UNKNOWN) out->retries = known(retries);
  out->ooms = known(vs_figures_get(&row->ooms));
  return true;
}
