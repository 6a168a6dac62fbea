/* Peaks of scopes: what a reading means for each of them. */
#include "faces/python/torch_peaks.h"
#include "base/check.h"

enum { MOST_RESETS = 8 }; /* at a beginning, until no other thread disturbs it */

static const uint16_t STAT_OF[VS_PEAK_KINDS] = {
#define VS_PEAK(name, stat) [VS_PEAK_##name] = (stat),
    VS_PEAKS(VS_PEAK)
#undef VS_PEAK
};

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- the open scopes */

static void link_scope(vs_peak_card *card, vs_peak_scope *scope) {
  vs_peak_scope *first = card->open;
  scope->next = scope->previous = scope;
  if (first != NULL) {
    scope->next = first;
    scope->previous = first->previous;
    scope->previous->next = first->previous = scope;
  }
  card->open = scope;
}

void vs_peak_drop(vs_peak_card *card, vs_peak_scope *scope) {
  VS_ASSERT(scope->next->previous == scope && scope->previous->next == scope);
  if (card->open == scope) card->open = scope->next == scope ? NULL : scope->next;
  scope->previous->next = scope->next;
  scope->next->previous = scope->previous;
  scope->next = scope->previous = scope;
}

/* Merges into the open scopes that the bytes reached `peak` since the last reading, and at most `most`. */
static void give(vs_peak_card *card, vs_peak_kind kind, int64_t peak, int64_t most, uint32_t note) {
  vs_peak_scope *scope = card->open;
  if (scope == NULL) return;
  do {
    vs_peak_bytes *bytes = &scope->bytes[kind];
    bytes->peak = larger(bytes->peak, peak);
    if (most > bytes->most) bytes->most = most, scope->notes |= note;
    bytes->most = larger(bytes->most, bytes->peak);
    VS_ASSERT(scope->next->previous == scope && bytes->peak <= bytes->most);
    scope = scope->next;
  } while (scope != card->open);
}

static void note_all(vs_peak_card *card, uint32_t note) {
  vs_peak_scope *scope = card->open;
  if (scope == NULL) return;
  do scope->notes |= note, scope = scope->next;
  while (scope != card->open);
}

/* ---- what happened between two readings */

/* The most that the bytes can have reached from one reading to another whose peak does not cover all of that
 * time. */
static int64_t bound(const vs_torch_stat *from, const vs_torch_stat *to) {
  const int64_t allocated = to->allocated - from->allocated, freed = to->freed - from->freed;
  if (allocated < 0 || freed < 0) return INT64_MAX; /* the sums were reset */
  if (allocated == 0 || freed == 0) return larger(from->current, to->current);
  return from->current + allocated;
}

static bool sums_fell(const vs_torch_stats *from, const vs_torch_stats *to) {
  const vs_torch_stat *a = &from->of[VS_TORCH_allocation], *b = &to->of[VS_TORCH_allocation];
  return b->allocated < a->allocated || b->freed < a->freed;
}

static bool peaks_fell(const vs_torch_stats *from, const vs_torch_stats *to) {
  for (size_t i = 0; i < VS_TORCH_STATS; i++)
    if (to->of[i].peak < from->of[i].peak) return true;
  return false;
}

/* Handles resets of the peaks by other code since the last reading: the peak before such a reset is lost. */
static void look_behind(vs_peak_card *card, const vs_torch_stats *now) {
  if (!card->is_known) return;
  if (sums_fell(&card->last, now)) note_all(card, VS_PEAK_SUMS);
  if (!peaks_fell(&card->last, now)) return;
  card->behinds++;
  card->has_taken = false; /* that code expects the peaks to start at its reset */
  for (vs_peak_kind kind = 0; kind < VS_PEAK_KINDS; kind++) {
    const vs_torch_stat *was = &card->last.of[STAT_OF[kind]], *is = &now->of[STAT_OF[kind]];
    give(card, kind, larger(was->current, is->current), bound(was, is), VS_PEAK_BEHIND);
  }
}

void vs_peak_seen(vs_peak_card *card, const vs_torch_stats *now) {
  look_behind(card, now);
  for (vs_peak_kind kind = 0; kind < VS_PEAK_KINDS; kind++) {
    const vs_torch_stat *stat = &now->of[STAT_OF[kind]];
    const int64_t peak = larger(stat->peak, stat->current);
    give(card, kind, peak, peak, 0);
  }
  card->last = *now;
  card->is_known = true;
}

/* ---- resets */

/* Peaks were reset somewhere between `card->last` and `after`. */
static void passed_reset(vs_peak_card *card, const vs_torch_stats *after) {
  bool is_bounded = false;
  for (vs_peak_kind kind = 0; kind < VS_PEAK_KINDS; kind++) {
    const vs_torch_stat *was = &card->last.of[STAT_OF[kind]], *is = &after->of[STAT_OF[kind]];
    const int64_t peak = larger(is->peak, is->current), most = bound(was, is);
    give(card, kind, peak, most, VS_PEAK_WINDOW);
    is_bounded = is_bounded || most > larger(was->peak, peak);
  }
  card->windows += is_bounded;
  card->last = *after;
}

/* Keeps the peaks that a reset is about to discard, for the user's own figures. */
static void take(vs_peak_card *card) {
  for (size_t i = 0; i < VS_TORCH_STATS; i++) {
    const int64_t peak = larger(card->last.of[i].peak, card->last.of[i].current);
    card->taken[i] = card->has_taken ? larger(card->taken[i], peak) : peak;
  }
  card->has_taken = true;
}

void vs_peak_user_reset(vs_peak_card *card, const vs_torch_stats *after) {
  if (card->is_known) passed_reset(card, after);
  card->has_taken = false;
  card->last = *after;
  card->is_known = true;
}

/* The sums begin again below the open scopes, whose bases move with them. */
static void move_bases(vs_peak_card *card, const vs_torch_stats *after) {
  vs_peak_scope *scope = card->open;
  if (scope == NULL) return;
  do {
    scope->retries_base -= card->last.retries - after->retries;
    scope->ooms_base -= card->last.ooms - after->ooms;
    scope = scope->next;
  } while (scope != card->open);
}

void vs_peak_user_reset_sums(vs_peak_card *card, const vs_torch_stats *after) {
  if (card->is_known) move_bases(card, after);
  card->last = *after;
  card->is_known = true;
}

/* ---- scopes */

static bool has_old_peak(const vs_torch_stats *stats) {
  for (vs_peak_kind kind = 0; kind < VS_PEAK_KINDS; kind++)
    if (stats->of[STAT_OF[kind]].peak != stats->of[STAT_OF[kind]].current) return true;
  return false;
}

static void count_blocks(const vs_peak_card *card, int64_t blocks[2]) {
  blocks[0] = card->last.of[VS_TORCH_allocation].allocated;
  blocks[1] = card->last.of[VS_TORCH_allocation].freed;
}

/* What a sum grew by. A sum that is smaller than before was reset in between, in a way that was not seen. */
static int64_t since(int64_t base, int64_t now) { return now >= base ? now - base : now; }

/* Resets the peaks to the current bytes. Tries again if other threads changed them meanwhile, at most MOST_RESETS times. */
static int make_new_peak(vs_peak_card *card, const vs_peak_source *source) {
  vs_torch_stats now;
  if (source->read(source->ctx, &now) != 0) return -1;
  vs_peak_seen(card, &now);
  for (int i = 0; i < MOST_RESETS && has_old_peak(&card->last); i++) {
    take(card);
    if (source->reset(source->ctx) != 0 || source->read(source->ctx, &now) != 0) return -1;
    passed_reset(card, &now);
  }
  return 0;
}

int vs_peak_begin(vs_peak_card *card, const vs_peak_source *source, vs_peak_scope *scope) {
  *scope = (vs_peak_scope){0};
  scope->next = scope->previous = scope;
  if (source != NULL) {
    if (make_new_peak(card, source) != 0) return -1;
    if (has_old_peak(&card->last)) scope->notes |= VS_PEAK_BEGUN;
    count_blocks(card, scope->begun);
    scope->retries_base = card->last.retries;
    scope->ooms_base = card->last.ooms;
    scope->fragmented = card->last.of[VS_TORCH_inactive_split_bytes].current;
    for (vs_peak_kind kind = 0; kind < VS_PEAK_KINDS; kind++) {
      const vs_torch_stat *stat = &card->last.of[STAT_OF[kind]];
      scope->bytes[kind] = (vs_peak_bytes){stat->current, stat->current, stat->current, stat->current};
    }
  }
  VS_ASSERT(source != NULL || scope->notes == 0);
  link_scope(card, scope);
  return 0;
}

int vs_peak_read(vs_peak_card *card, const vs_peak_source *source, vs_peak_scope *scope) {
  if (source == NULL) return 0;
  vs_torch_stats now;
  if (source->read(source->ctx, &now) != 0) return scope->notes |= VS_PEAK_UNREAD, -1;
  vs_peak_seen(card, &now);
  count_blocks(card, scope->ended);
  scope->retries = since(scope->retries_base, now.retries);
  scope->ooms = since(scope->ooms_base, now.ooms);
  scope->fragmented = now.of[VS_TORCH_inactive_split_bytes].current;
  for (vs_peak_kind kind = 0; kind < VS_PEAK_KINDS; kind++)
    scope->bytes[kind].end = now.of[STAT_OF[kind]].current;
  return 0;
}

int vs_peak_end(vs_peak_card *card, const vs_peak_source *source, vs_peak_scope *scope) {
  const int status = vs_peak_read(card, source, scope);
  vs_peak_drop(card, scope);
  return status;
}
