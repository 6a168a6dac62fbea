/* The cheapest set of changes with which a program fits. A pure function of the runs so far says which set to run next, or the answer; every
 * answer was run.
 *
 * First the program as it is, then the changes alone, but for rare ones and those that make nothing smaller of what is there at its peak. Then all that are free
 * together: they are the ground on which others are tried until a set fits, because the peak moves: where activations are smaller, the optimizer's
 * temporaries may be the peak. Then cheaper sets are tried. Which one is next is guessed: the need of a set is that of the largest run set within
 * it, less what each further change saved in the largest runs without and with it. The guess is better for what is allocated than for what is cached,
 * which may rise with a change and fall with two. So sets are tried that fit by the guess of their need, then by that of their allocated bytes,
 * then, as long as there are runs left, others, but for those that are far from fitting. */
#ifndef VS_DRYRUN_CHEAPEST_H
#define VS_DRYRUN_CHEAPEST_H

#include <vramscope/base.h>

enum { VS_CHEAPEST_MOST = 16 }; /* changes */

typedef uint32_t vs_change_set; /* bit i: change i */

typedef struct vs_cheapest_change {
  uint32_t cost;          /* to the user; that of a set is the sum */
  bool is_free;           /* nothing is slower with it */
  bool is_idle;           /* what it makes smaller is not there at the peak of the program as it is */
  bool is_rare;           /* it suits few programs, so it is tried only with others */
  uint64_t within_bytes;  /* it is tried where at most so much is missing without it; 0: always */
  vs_change_set excludes; /* changes that cannot be in a set with it */
} vs_cheapest_change;

typedef struct vs_cheapest_run {
  vs_change_set set;
  bool has_failed; /* not for lack of memory: its figures are unknown, and sets that contain it are not run */
  uint64_t needed_bytes; /* what the program needs of a card, also where that is more than the card has */
  uint64_t least_bytes;  /* the same without what PyTorch cached at its peak; at most needed_bytes */
} vs_cheapest_run;

/* The runs so far, in their order, no two of one set, that without changes first. */
typedef struct vs_cheapest {
  const vs_cheapest_change *changes;
  size_t change_count;    /* at most VS_CHEAPEST_MOST, by rising cost */
  vs_change_set left_out; /* changes that turned out to do nothing in this program: they are not run */
  uint64_t capacity_bytes;
  const vs_cheapest_run *runs;
  size_t run_count, most_runs;
} vs_cheapest;

typedef enum vs_cheapest_kind {
  VS_CHEAPEST_TRY,   /* run `set` */
  VS_CHEAPEST_FOUND, /* `set` fits: the cheapest of those that ran */
  VS_CHEAPEST_NONE,  /* no set that ran fits */
} vs_cheapest_kind;

typedef struct vs_cheapest_step {
  vs_cheapest_kind kind;
  vs_change_set set; /* with VS_CHEAPEST_NONE the one that needs least */
  bool
      is_cut; /* of an answer: most_runs ended the search, so there are more sets that may be cheaper and fit */
} vs_cheapest_step;

vs_cheapest_step vs_cheapest_next(const vs_cheapest *search);

/* The sum of the costs. */
uint64_t vs_cheapest_cost(const vs_cheapest *search, vs_change_set set);

/* Whether no two changes of the set exclude each other, and none is left out. */
bool vs_cheapest_is_allowed(const vs_cheapest *search, vs_change_set set);

#endif
