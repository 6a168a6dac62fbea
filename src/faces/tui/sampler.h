/* The thread that asks the driver, so that nobody who draws or waits for a key ever does: a call of the
 * driver may take seconds, and one that hangs cannot be ended.
 *
 * Three samples go round: one is filled by the thread, one is ready, one is the reader's. They are
 * exchanged, never copied. */
#ifndef VS_TUI_SAMPLER_H
#define VS_TUI_SAMPLER_H

#include "faces/tui/collect.h"
#include "os/thread.h"

typedef struct vs_top_sampler {
  const vs_host *host;
  vs_top_collector collector; /* the thread's; `at` is everybody's */
  vs_thread thread;
  vs_wakeup wake;
  vs_lock lock;
  vs_top_sample filling; /* the thread's */
  vs_top_sample ready;   /* guarded by lock */
  vs_status status;      /* likewise: how it failed, at the beginning or for want of memory */
  vs_error error;        /* likewise */
  _Atomic uint64_t interval_us;
  _Atomic uint64_t asked_us; /* when the look at hand began; 0: none is under way */
  _Atomic bool is_over, has_ended;
} vs_top_sampler;

/* Begins to look, once if `interval_us` is 0. It may not move. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_top_sampler_start(vs_top_sampler *sampler, const vs_host *host,
                                             const char *selection, uint64_t interval_us);

/* Ends it. false: the driver does not answer, so the thread is still there, and nothing was freed; a
 * program that ends may end all the same. */
bool vs_top_sampler_stop(vs_top_sampler *sampler);

/* From the next look on; it comes at once if it is due. */
void vs_top_sampler_set_interval(vs_top_sampler *sampler, uint64_t interval_us);

/* Exchanges `mine` for the newest sample if there is a newer one (sets *is_new). Fails: as vs_top_collect,
 * when the thread did */
VS_MUST_CHECK vs_status vs_top_sampler_take(vs_top_sampler *sampler, vs_top_sample *mine, bool *is_new,
                                            vs_error *error);

/* For how long the driver has owed an answer, and about which row of devices (UINT32_MAX: none of them). */
uint64_t vs_top_sampler_silence(const vs_top_sampler *sampler, uint32_t *row);

#endif
