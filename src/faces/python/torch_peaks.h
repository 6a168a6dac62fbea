/* Exact peaks of any number of scopes, from an allocator that keeps one peak for all.
 *
 * PyTorch keeps for each statistic one peak, since the last reset. A scope begins with a peak of its own, so
 * at its beginning the allocator's peak is read, given to all that it belongs to, and reset:
 *
 *   to every open scope of that card, whatever thread began it
 *   to `taken`, from which the user's own figures come back: peak = max(the allocator's, taken)
 *
 * The end of a scope reads and gives, too, but resets nothing: what the peak says belongs to all who are
 * left.
 *
 * What cannot be seen is bounded. Between a reading and the reset that follows it (about a microsecond)
 * another thread may allocate and free; the sums `allocated` and `freed`, read before and after, tell. Where
 * both changed, the peak of that moment lies between what is known and current + what was allocated. Every
 * scope has such a pair, [peak, most], and its figure is exact where they are equal: a bound that a later
 * peak exceeds bounds nothing any more. The same serves when the peak is lower than what we left: somebody
 * reset it behind our back.
 *
 * Threads: none of its own; the caller has one lock for everything (Python's). */
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
  VS_PEAK_BEHIND = 2, /* somebody reset the peak without our knowing */
  VS_PEAK_SUMS = 4,   /* somebody reset the sums without our knowing */
  VS_PEAK_UNREAD = 8, /* the statistics could not be read at its end */
  VS_PEAK_BEGUN = 16, /* other threads used memory all the while it began: where it begins is uncertain */
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
      ended[2]; /* blocks allocated and freed until then: its place among all events of the card */
  uint32_t notes;
};

/* A card. All zero is one of which nothing is known. */
typedef struct vs_peak_card {
  vs_peak_scope *open; /* a ring; NULL: none */
  bool is_known;       /* `last` is */
  vs_torch_stats last; /* what we left */
  bool has_taken;
  int64_t taken[VS_TORCH_STATS]; /* peaks that our resets took away, since the user's own last reset */
  uint64_t windows, behinds;     /* how often that happened, scope or none */
} vs_peak_card;

/* Whoever reads the statistics and resets the peaks: 0, or -1 when it failed. */
typedef struct vs_peak_source {
  void *ctx;
  int (*read)(void *ctx, vs_torch_stats *stats);
  int (*reset)(void *ctx);
} vs_peak_source;

/* `source` NULL: CUDA has not begun, and all is 0. */
int vs_peak_begin(vs_peak_card *card, const vs_peak_source *source, vs_peak_scope *scope);

/* The figures until now; the scope goes on. */
int vs_peak_read(vs_peak_card *card, const vs_peak_source *source, vs_peak_scope *scope);

/* The same, and it is over. Where reading fails it is over, too, with what was known. */
int vs_peak_end(vs_peak_card *card, const vs_peak_source *source, vs_peak_scope *scope);

/* It is over without figures. */
void vs_peak_drop(vs_peak_card *card, vs_peak_scope *scope);

/* The statistics are `now`, as somebody else has read them. */
void vs_peak_seen(vs_peak_card *card, const vs_torch_stats *now);

/* The user has reset the peaks, or the sums; before and after, by readings. */
void vs_peak_user_reset(vs_peak_card *card, const vs_torch_stats *after);
void vs_peak_user_reset_sums(vs_peak_card *card, const vs_torch_stats *after);

#endif
