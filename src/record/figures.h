/* What a process that records knows of its memory now: totals and counters in memory that other processes of the same user read
 * (os/shared.h), while it goes on. The recorder writes it (faces/preload), `vramscope exporter` reads it.
 *
 *   vs_figures            magic, version, the process, the era of its recording
 *   vs_figures_device     one row for each device that the program has, by its number there
 *
 * Invariants
 *   a row is about the recording that is written now if its era is that of the whole; else it is about none, and its figures mean nothing
 *   allocated <= peak_allocated, reserved <= peak_reserved, once a report is written; a reader may see half of one
 *   peaks, retries and ooms only grow within an era
 *
 * One thread at a time writes a row. Every member is a plain store of 8 bytes, so a reader never sees a part of a figure. */
#ifndef VS_RECORD_FIGURES_H
#define VS_RECORD_FIGURES_H

#include <stdatomic.h>
#include <vramscope/base.h>

#define VS_FIGURES_NAME  "vramscope-figures"
#define VS_FIGURES_MAGIC UINT64_C(0x7365727567696676) /* "vfigures" */
enum { VS_FIGURES_VERSION = 1, VS_FIGURES_DEVICES = 128 };

/* Retries that cannot be counted any more. */
#define VS_FIGURES_UNKNOWN UINT64_MAX

typedef struct vs_figures_device {
  _Atomic uint64_t era;                           /* 0: the allocator has reported nothing */
  _Atomic uint64_t allocated, reserved;           /* as the allocator told them last */
  _Atomic uint64_t peak_allocated, peak_reserved; /* since the recording began */
  _Atomic uint64_t
      retries; /* requests for which cudaMalloc failed and the cache was flushed; or VS_FIGURES_UNKNOWN */
  _Atomic uint64_t ooms; /* requests that failed */
  uint64_t unused;
} vs_figures_device;

typedef struct vs_figures {
  uint64_t magic;
  uint32_t version, devices; /* VS_FIGURES_VERSION, VS_FIGURES_DEVICES */
  uint64_t pid; /* in its own namespace: a child of a fork has its parent's, too, until it has its own */
  _Atomic uint64_t era; /* of the recording that is written; 0: none is */
  uint64_t unused[4];
  vs_figures_device device[VS_FIGURES_DEVICES];
} vs_figures;

static inline uint64_t vs_figures_get(const _Atomic uint64_t *figure) {
  return atomic_load_explicit(figure, memory_order_relaxed);
}
static inline void vs_figures_set(_Atomic uint64_t *figure, uint64_t value) {
  atomic_store_explicit(figure, value, memory_order_relaxed);
}
static inline void vs_figures_raise(_Atomic uint64_t *peak, uint64_t value) {
  if (value > vs_figures_get(peak)) vs_figures_set(peak, value);
}

/* What the allocator says that it has, after a call. */
static inline void vs_figures_tell(vs_figures_device *row, uint64_t era, uint64_t allocated,
                                   uint64_t reserved) {
  vs_figures_raise(&row->peak_allocated, allocated);
  vs_figures_raise(&row->peak_reserved, reserved);
  vs_figures_set(&row->allocated, allocated);
  vs_figures_set(&row->reserved, reserved);
  vs_figures_set(&row->era, era);
}

/* One more, unless it is unknown how many there are. */
static inline void vs_figures_count(_Atomic uint64_t *counter) {
  const uint64_t count = vs_figures_get(counter);
  if (count != VS_FIGURES_UNKNOWN) vs_figures_set(counter, count + 1);
}

/* Empties a row, which belongs to no era then. */
static inline void vs_figures_clear(vs_figures_device *row) {
  vs_figures_set(&row->era, 0);
  vs_figures_set(&row->allocated, 0);
  vs_figures_set(&row->reserved, 0);
  vs_figures_set(&row->peak_allocated, 0);
  vs_figures_set(&row->peak_reserved, 0);
  vs_figures_set(&row->retries, 0);
  vs_figures_set(&row->ooms, 0);
}

#endif
