/* Exact peaks of any number of scopes, from an allocator that keeps one peak.
 *
 * PyTorch keeps one peak for each statistic, since the last reset. A scope needs a peak of its own, so when it begins, the
 * allocator's peak is read, merged into the peaks that it belongs to, and reset. It belongs to
 *
 *   every open scope of that card, whichever thread began it
 *   `taken`, from which the user's own figures are computed: peak = max(the allocator's, taken)
 *
 * When a scope ends, the peak is read and merged as well, but not reset: it still belongs to the other open scopes.
 *
 * Unseen peaks are bounded. Between a reading and the reset that follows it (about a microsecond) another thread may
 * allocate and free; the sums `allocated` and `freed`, read before and after, show that. If both changed, the peak of that
 * time lies between the known one and current + the bytes allocated. So each scope has a pair [peak, most], and its figure
 * is exact where they are equal, which a later higher peak makes them. The same is done when the peak is lower than after
 * our last reading, because other code has reset it.
 *
 * Threads: the caller holds one lock for all calls (Python's). */
#ifndef VS_PYTHON_TORCH_PEAKS_H
#define VS_PYTHON_TORCH_PEAKS_H

#include "faces/python/torch_layout.h"

/* The bytes that a scope has figures of: VS_PEAK(name, its statistic). */
#define VS_PEAKS(VS_PEAK)                      \
  VS_PEAK(allocated, VS_TORCH_allocated_bytes) \
  VS_PEAK(requested, VS_TORCH_requested_bytes) \
  VS_PEAK(active, VS_TORCH_active_bytes)       \
  VS_PEAK(reserved, VS_TORCH_reserved_bytes)

typedef enum vs_peak_kind {
#define VS_PEAK(name, stat) VS_PEAK_##name,
  VS_PEAKS(VS_PEAK)
#undef VS_PEAK
      VS_PEAK_KINDS
} vs_peak_kind;

/* Why a figure may be a bound. */
typedef enum vs_peak_note {
  VS_PEAK_WINDOW = 1, /* other threads used memory while the peak was reset */
  VS_PEAK_BEHIND = 2, /* other code reset the peak */
  VS_PEAK_SUMS = 4,   /* other code reset the sums */
  VS_PEAK_UNREAD = 8, /* the statistics could not be read at its end */
  VS_PEAK_BEGUN = 16, /* other threads used memory all the time while it began, so its start is uncertain */
} vs_peak_note;

typedef struct vs_peak_scope vs_peak_scope;

typedef struct vs_peak_bytes {
  int64_t start, end;
  int64_t peak, most; /* peak <= the true peak <= most */
} vs_peak_bytes;

struct vs_peak_scope {
  vs_peak_scope *previous,
      *next; /* the open scopes of its card; both point to itself when it is in no list */
  vs_peak_bytes bytes[VS_PEAK_KINDS];
  int64_t begun[2],
      ended[2];          /* blocks allocated and freed until then: its place among all events of the card */
  int64_t retries, ooms; /* since it began */
  int64_t retries_base,
      ooms_base;      /* what to take from PyTorch's sums for that; less than 0 after they were reset */
  int64_t fragmented; /* inactive_split_bytes when it ended, or was last read */
  uint32_t notes;
};

/* A card. All zero: nothing is known of it. */
typedef struct vs_peak_card {
  vs_peak_scope *open; /* a ring; NULL: none */
  bool is_known;       /* `last` is */
  vs_torch_stats last; /* the last reading */
  bool has_taken;
  int64_t taken[VS_TORCH_STATS]; /* peaks that our resets took away, since the user's own last reset */
  uint64_t windows, behinds;     /* how often that happened, scope or none */
} vs_peak_card;

/* Functions that read the statistics and reset the peaks. They return 0, or -1 on failure. */
typedef struct vs_peak_source {
  void *ctx;
  int (*read)(void *ctx, vs_torch_stats *stats);
  int (*reset)(void *ctx);
} vs_peak_source;

/* Begins a scope. `source` NULL: CUDA is not initialized, and all figures are 0. */
int vs_peak_begin(vs_peak_card *card, const vs_peak_source *source, vs_peak_scope *scope);

/* Updates the figures of an open scope. */
int vs_peak_read(vs_peak_card *card, const vs_peak_source *source, vs_peak_scope *scope);

/* Updates the figures and ends the scope, which also ends if reading fails; then it keeps the last figures. */
int vs_peak_end(vs_peak_card *card, const vs_peak_source *source, vs_peak_scope *scope);

/* Ends a scope without figures. */
void vs_peak_drop(vs_peak_card *card, vs_peak_scope *scope);

/* Passes on a reading of the card that the caller made. */
void vs_peak_seen(vs_peak_card *card, const vs_torch_stats *now);

/* The user has reset the peaks, or the sums; with the readings before and after. */
void vs_peak_user_reset(vs_peak_card *card, const vs_torch_stats *after);
void vs_peak_user_reset_sums(vs_peak_card *card, const vs_torch_stats *after);

#endif
