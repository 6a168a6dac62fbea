/* Which cards a run would fit in, from what one run took on a simulated card.
 *
 *   needed on a card X = peak of the driver's "used" in the run - contexts there + contexts on X
 *
 * and the allocator's cached memory is the slack: a card that has room for less than that, but for all that
 * was allocated, is "tight": PyTorch would have to give cached memory back at the right moments, and may fail
 * for fragmentation. */
#ifndef VS_DRYRUN_FIT_H
#define VS_DRYRUN_FIT_H

#include "base/vec.h"
#include "device/sim/profile.h"

/* What a run needed of one card. */
typedef struct vs_fit_need {
  uint64_t bytes; /* at the driver's peak, contexts included */
  uint64_t
      cached_bytes; /* of these at best to be given back: the peak of reserved less the peak of allocated */
  uint64_t context_bytes; /* what the context of one process took there */
  uint32_t contexts;      /* of processes at the same time */
  bool is_context_given;  /* by the user: the same on every card */
  bool is_open_ended;     /* the program met the end of the memory: what it needs beyond is not known */
  uint64_t
      least_bytes; /* then: what it would have needed to get past that, at the least; contexts included */
} vs_fit_need;

typedef enum vs_fit { VS_FIT_YES, VS_FIT_TIGHT, VS_FIT_NO, VS_FIT_UNKNOWN } vs_fit;

/* "yes", "tight", "no", "unknown". */
const char *vs_fit_word(vs_fit fit);

/* A card of total_bytes, on which a context takes context_bytes. *headroom: what is to spare, negative what
 * is short; of VS_FIT_UNKNOWN it means nothing. */
vs_fit vs_fit_judge(const vs_fit_need *need, uint64_t total_bytes, uint64_t context_bytes, int64_t *headroom);

typedef struct vs_fit_row {
  const vs_sim_profile *profile;
  uint64_t total_bytes;
  vs_fit fit; /* the worst over the needs: each on a card of its own, all of this kind */
  int64_t headroom_bytes;
} vs_fit_row;

typedef struct vs_fit_table {
  VS_VEC(vs_fit_row) rows; /* by rising size */
} vs_fit_table;

VS_MUST_CHECK vs_status vs_fit_table_init(vs_fit_table *table, const vs_host *host, const vs_fit_need *needs,
                                          size_t count);
void vs_fit_table_deinit(vs_fit_table *table, const vs_host *host);

/* The rows worth a screen, by rising size: around the smallest that will do, and the one called `own` (NULL:
 * none). Marks them in `shown`, one for each row of the table; returns how many. */
size_t vs_fit_select(const vs_fit_table *table, const vs_sim_profile *own, size_t most, bool *shown);

/* The first row that fits, NULL if none does. */
const vs_fit_row *vs_fit_smallest(const vs_fit_table *table);

#endif
