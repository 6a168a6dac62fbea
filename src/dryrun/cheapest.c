#include "dryrun/cheapest.h"
#include "base/check.h"

static bool has(vs_change_set set, size_t change) { return (set >> change & 1) != 0; }

uint64_t vs_cheapest_cost(const vs_cheapest *search, vs_change_set set) {
  uint64_t cost = 0;
  for (size_t i = 0; i < search->change_count; i++) cost += has(set, i) ? search->changes[i].cost : 0;
  return cost;
}

bool vs_cheapest_is_allowed(const vs_cheapest *search, vs_change_set set) {
  if ((set & search->left_out) != 0) return false;
  for (size_t i = 0; i < search->change_count; i++)
    if (has(set, i) && (search->changes[i].excludes & set) != 0) return false;
  return true;
}

/* ---- the runs */

static const vs_cheapest_run *run_of(const vs_cheapest *search, vs_change_set set) {
  for (size_t i = 0; i < search->run_count; i++)
    if (search->runs[i].set == set) return &search->runs[i];
  return NULL;
}

static bool fits(const vs_cheapest *search, const vs_cheapest_run *run) {
  return !run->has_failed && run->needed_bytes <= search->capacity_bytes;
}

/* The cheapest one that fits; of equals the one with more to spare. NULL: none does. */
static const vs_cheapest_run *best_of(const vs_cheapest *search) {
  const vs_cheapest_run *best = NULL;
  for (size_t i = 0; i < search->run_count; i++) {
    const vs_cheapest_run *run = &search->runs[i];
    if (!fits(search, run)) continue;
    const uint64_t cost = vs_cheapest_cost(search, run->set);
    const uint64_t least = best == NULL ? UINT64_MAX : vs_cheapest_cost(search, best->set);
    if (cost < least || (cost == least && run->needed_bytes < best->needed_bytes)) best = run;
  }
  return best;
}

/* Whether a set within it failed. */
static bool is_broken(const vs_cheapest *search, vs_change_set set) {
  for (size_t i = 0; i < search->run_count; i++)
    if (search->runs[i].has_failed && (search->runs[i].set & ~set) == 0) return true;
  return false;
}

static int count_changes(vs_change_set set) { return __builtin_popcount(set); }

/* The largest run set within it; of equals the one that needs least. There is always one, that without changes. */
static const vs_cheapest_run *base_of(const vs_cheapest *search, vs_change_set set) {
  const vs_cheapest_run *base = &search->runs[0];
  for (size_t i = 1; i < search->run_count; i++) {
    const vs_cheapest_run *run = &search->runs[i];
    if (run->has_failed || (run->set & ~set) != 0) continue;
    const int more = count_changes(run->set) - count_changes(base->set);
    if (more > 0 || (more == 0 && run->needed_bytes < base->needed_bytes)) base = run;
  }
  return base;
}

/* ---- guesses */

typedef struct guess {
  double needed, least; /* bytes; below 0 where the savings of changes overlap */
} guess;

/* What a change saved in the runs: of its pairs of runs, without and with it, that of the largest ones within `set`. One that saves nothing alone may do
 * so where others have lowered the peak that hid it. */
static guess saving_of(const vs_cheapest *search, size_t change, vs_change_set set) {
  const vs_change_set bit = (vs_change_set)1 << change;
  guess saving = {.needed = 0};
  int most = -1;
  for (size_t i = 0; i < search->run_count; i++) {
    const vs_cheapest_run *without = &search->runs[i];
    if (without->has_failed || (without->set & ~(set & ~bit)) != 0 || count_changes(without->set) <= most)
      continue;
    const vs_cheapest_run *with = run_of(search, without->set | bit);
    if (with == NULL || with->has_failed) continue;
    most = count_changes(without->set);
    saving.needed = (double)without->needed_bytes - (double)with->needed_bytes;
    saving.least = (double)without->least_bytes - (double)with->least_bytes;
  }
  return saving;
}

static guess guess_of(const vs_cheapest *search, vs_change_set set) {
  const vs_cheapest_run *base = base_of(search, set);
  guess g = {.needed = (double)base->needed_bytes, .least = (double)base->least_bytes};
  for (size_t i = 0; i < search->change_count; i++) {
    if (!has(set & ~base->set, i)) continue;
    const guess saving = saving_of(search, i, set);
    g.needed -= saving.needed;
    g.least -= saving.least > 0 ? saving.least : 0;
  }
  return g;
}

static vs_change_set idle_of(const vs_cheapest *search) {
  vs_change_set set = 0;
  for (size_t i = 0; i < search->change_count; i++)
    if (search->changes[i].is_idle) set |= (vs_change_set)1 << i;
  return set;
}

/* Whether a change of the set saves nothing, by all that is known: what it makes smaller is not there at the peak of the program as it is, and the
 * other changes do not lower that peak. */
static bool is_vain(const vs_cheapest *search, vs_change_set set) {
  enum { SHARE = 100 }; /* less than one part in so many is not lower */
  const vs_change_set idle = idle_of(search) & set;
  const double plain = (double)search->runs[0].least_bytes;
  return idle != 0 && guess_of(search, set & ~idle).least > plain - plain / (double)SHARE;
}

/* Whether more is missing without one of its changes than the change is tried for. */
static bool is_too_little(const vs_cheapest *search, vs_change_set set) {
  for (size_t i = 0; i < search->change_count; i++) {
    if (!has(set, i) || search->changes[i].within_bytes == 0) continue;
    const guess without = guess_of(search, set & ~((vs_change_set)1 << i));
    const double least = without.least < without.needed ? without.least : without.needed;
    if (least > (double)search->capacity_bytes + (double)search->changes[i].within_bytes) return true;
  }
  return false;
}

/* Whether the set is so far from fitting that no guess is wrong by as much. */
static bool is_hopeless(const vs_cheapest *search, guess g) {
  enum { PART = 3 }; /* one part in so many above the card */
  const double capacity = (double)search->capacity_bytes;
  return g.least > capacity + capacity / (double)PART;
}

/* A set that did not run. */
typedef struct candidate {
  bool is_there;
  int promise; /* 2: it fits by the guess of what it needs; 1: by that of what is allocated; 0: by none, for guesses are wrong where peaks hide each other */
  vs_change_set set;
  uint64_t cost;
  double needed;
} candidate;

/* Sets that may fit are tried by their cost, others by what is missing. */
static bool is_better(const candidate *a, const candidate *b) {
  if (!b->is_there) return true;
  if (a->promise != b->promise) return a->promise > b->promise;
  if (a->promise >= 1 && a->cost != b->cost) return a->cost < b->cost;
  return a->needed < b->needed || (a->needed == b->needed && a->cost < b->cost);
}

/* Whether the set has all changes of `ground`, but for those that others of its changes exclude. */
static bool covers(const vs_cheapest *search, vs_change_set set, vs_change_set ground) {
  vs_change_set excluded = 0;
  for (size_t i = 0; i < search->change_count; i++)
    if (has(set, i)) excluded |= search->changes[i].excludes;
  return (ground & ~set & ~excluded) == 0;
}

/* `limit`: only sets that cost less, and may fit; UINT64_MAX: none that fits is known. `ground`: only sets that cover these changes. */
static candidate choose(const vs_cheapest *search, uint64_t limit, vs_change_set ground) {
  candidate best = {.is_there = false};
  const double capacity = (double)search->capacity_bytes;
  for (vs_change_set set = 1; set >> search->change_count == 0; set++) {
    const uint64_t cost = vs_cheapest_cost(search, set);
    if (cost >= limit || !covers(search, set, ground) || !vs_cheapest_is_allowed(search, set) ||
        is_broken(search, set) || run_of(search, set) != NULL || is_too_little(search, set))
      continue;
    const guess g = guess_of(search, set);
    if (limit != UINT64_MAX && (is_hopeless(search, g) || is_vain(search, set))) continue;
    const candidate one = {.is_there = true,
                           .promise = g.needed <= capacity  ? 2
                                      : g.least <= capacity ? 1
                                                            : 0,
                           .set = set,
                           .cost = cost,
                           .needed = g.needed};
    if (is_better(&one, &best)) best = one;
  }
  return best;
}

/* All free changes; of two that exclude each other the cheaper one. */
static vs_change_set free_of(const vs_cheapest *search) {
  vs_change_set set = 0;
  for (size_t i = 0; i < search->change_count; i++) {
    const vs_change_set more = set | (vs_change_set)1 << i;
    if (search->changes[i].is_free && vs_cheapest_is_allowed(search, more) && !is_broken(search, more))
      set = more;
  }
  return set;
}

/* ---- the next step */

/* The set that needs least; there is always one, that without changes. */
static vs_change_set least_of(const vs_cheapest *search) {
  const vs_cheapest_run *least = &search->runs[0];
  for (size_t i = 1; i < search->run_count; i++) {
    const vs_cheapest_run *run = &search->runs[i];
    if (!run->has_failed && run->needed_bytes < least->needed_bytes) least = run;
  }
  return least->set;
}

static vs_cheapest_step answer(const vs_cheapest *search, const vs_cheapest_run *best, bool is_cut) {
  if (best == NULL)
    return (vs_cheapest_step){.kind = VS_CHEAPEST_NONE, .set = least_of(search), .is_cut = is_cut};
  return (vs_cheapest_step){.kind = VS_CHEAPEST_FOUND, .set = best->set, .is_cut = is_cut};
}

/* The next change alone that is worth a run; 0: there is none. */
static vs_change_set next_alone(const vs_cheapest *search, uint64_t limit) {
  for (size_t i = 0; i < search->change_count; i++) {
    const vs_change_set alone = (vs_change_set)1 << i;
    if (!search->changes[i].is_idle && !search->changes[i].is_rare && search->changes[i].cost < limit &&
        vs_cheapest_is_allowed(search, alone) && run_of(search, alone) == NULL &&
        !is_too_little(search, alone))
      return alone;
  }
  return 0;
}

/* The next set; 0: all that could be cheaper than `limit` ran. `has_best`: one that fits is known. */
static vs_change_set next_set(const vs_cheapest *search, uint64_t limit, bool has_best) {
  const vs_change_set alone = next_alone(search, limit);
  if (alone != 0) return alone;
  const vs_change_set ground = free_of(search);
  if (!has_best && run_of(search, ground) == NULL) return ground;
  candidate next = {.is_there = false};
  if (!has_best) next = choose(search, limit, ground);
  if (!next.is_there) next = choose(search, limit, 0);
  return next.is_there ? next.set : 0;
}

vs_cheapest_step vs_cheapest_next(const vs_cheapest *search) {
  VS_ASSERT(search->change_count <= VS_CHEAPEST_MOST);
  if (search->run_count == 0) return (vs_cheapest_step){.kind = VS_CHEAPEST_TRY, .set = 0};
  VS_ASSERT(search->runs[0].set == 0);
  if (search->runs[0].has_failed) return answer(search, NULL, false);
  const vs_cheapest_run *best = best_of(search);
  if (best != NULL && best->set == 0) return answer(search, best, false);
  const uint64_t limit = best == NULL ? UINT64_MAX : vs_cheapest_cost(search, best->set);
  const vs_change_set next = next_set(search, limit, best != NULL);
  if (next == 0) return answer(search, best, false);
  if (search->run_count >= search->most_runs) return answer(search, best, true);
  return (vs_cheapest_step){.kind = VS_CHEAPEST_TRY, .set = next};
}
