/* Which cards a run would fit in, computed from one run on a simulated card.
 *
 *   needed on a card X = peak of the driver's "used" in the run - contexts there + contexts on X
 *
 * The allocator's cached memory is the slack. A card that is smaller than the need but holds all that was allocated is
 * "tight": PyTorch would have to release cached memory at the right moments, and may fail because of fragmentation. */
#ifndef VS_DRYRUN_FIT_H
#define VS_DRYRUN_FIT_H

#include "base/vec.h"
#include "device/sim/profile.h"

/* What a run needed of one card. */
typedef struct vs_fit_need {
  uint64_t bytes; /* at the driver's peak, contexts included */
  /* At most this part of `bytes` can be released: peak reserved - peak allocated. */
  uint64_t cached_bytes;
  uint64_t context_bytes; /* taken by the context of one process */
  uint32_t contexts;      /* of processes at the same time */
  bool is_context_given;  /* by the user: the same on every card */
  bool is_open_ended;     /* the program ran out of memory, so its whole need is unknown */
  /* With is_open_ended: at least this much was needed to continue; contexts included. */
  uint64_t least_bytes;
} vs_fit_need;

typedef enum vs_fit { VS_FIT_YES, VS_FIT_TIGHT, VS_FIT_NO, VS_FIT_UNKNOWN } vs_fit;

/* "yes", "tight", "no", "unknown". */
const char *vs_fit_word(vs_fit fit);

/* Judges a card of total_bytes on which a context takes context_bytes. *headroom is the memory to spare, or negative the
 * memory that is missing; with VS_FIT_UNKNOWN it has no meaning. */
vs_fit vs_fit_judge(const vs_fit_need *need, uint64_t total_bytes, uint64_t context_bytes, int64_t *headroom);

typedef struct vs_fit_row {
  const vs_sim_profile *profile;
  uint64_t total_bytes;
  vs_fit fit; /* the worst over the needs; each need has a card of this kind of its own */
  int64_t headroom_bytes;
} vs_fit_row;

typedef struct vs_fit_table {
  VS_VEC(vs_fit_row) rows; /* by rising size */
} vs_fit_table;

VS_MUST_CHECK vs_status vs_fit_table_init(vs_fit_table *table, const vs_host *host, const vs_fit_need *needs,
                                          size_t count);
void vs_fit_table_deinit(vs_fit_table *table, const vs_host *host);

/* Chooses at most `most` rows for a screen: those around the smallest card that is enough, and the one of `own` (NULL: none).
 * Marks them in `shown`, which has an entry for each row of the table; returns how many there are. */
size_t vs_fit_select(const vs_fit_table *table, const vs_sim_profile *own, size_t most, bool *shown);

/* The first row that fits, NULL if none does. */
const vs_fit_row *vs_fit_smallest(const vs_fit_table *table);

#endif
