/* A thread that asks the driver. A call of the driver may take seconds, and one that hangs cannot be ended, so the thread
 * that draws and reads keys never makes one.
 *
 * There are three samples: one that the thread fills, one that is ready, one that belongs to the reader. Handing over
 * exchanges two of them and copies nothing. */
#ifndef VS_TUI_SAMPLER_H
#define VS_TUI_SAMPLER_H

#include "faces/tui/collect.h"
#include "os/thread.h"

typedef struct vs_top_sampler {
  const vs_host *host;
  const vs_top_recordings *recordings;
  vs_top_collector collector; /* the thread's, except for `at`, which any thread may read */
  vs_thread thread;
  vs_wakeup wake;
  vs_lock lock;
  vs_top_sample filling; /* the thread's */
  vs_top_sample ready;   /* guarded by lock */
  vs_status status;      /* likewise: why the thread ended early, at the first sample or without memory */
  vs_error error;        /* likewise */
  _Atomic uint64_t interval_us;
  _Atomic uint64_t asked_us; /* when the sample that is being taken was begun; 0: none is */
  _Atomic bool is_over, has_ended;
} vs_top_sampler;

/* Starts the thread; `interval_us` 0: it takes one sample and ends. The thread holds pointers to `sampler` and `recordings`, so they must
 * not move. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_top_sampler_start(vs_top_sampler *sampler, const vs_host *host,
                                             const char *selection, const vs_top_recordings *recordings,
                                             uint64_t interval_us);

/* Ends the thread and frees. Returns false if a call of the driver has not returned: then the thread still runs, so nothing
 * was freed. It is safe to exit the process then. */
bool vs_top_sampler_stop(vs_top_sampler *sampler);

/* Applies from the next sample on, which is taken at once if it is due by the new interval. */
void vs_top_sampler_set_interval(vs_top_sampler *sampler, uint64_t interval_us);

/* Exchanges `mine` for the newest sample if there is a newer one (sets *is_new). Fails: as vs_top_collect,
 * when the thread did */
VS_MUST_CHECK vs_status vs_top_sampler_take(vs_top_sampler *sampler, vs_top_sample *mine, bool *is_new,
                                            vs_error *error);

/* For how long the driver has not answered the call under way (0: there is none), and about which row of devices
 * (UINT32_MAX: not about a single one). */
uint64_t vs_top_sampler_silence(const vs_top_sampler *sampler, uint32_t *row);

#endif
