#include "analyze/whatif.h"

#include "analyze/ooms.h"

/* ---- what the recording had ---------------------------------------------------------------------------- */

/* Reserved bytes after the steps of a request. */
static uint64_t reserved_after(const vs_replay_plan *plan, uint32_t steps) {
  uint64_t reserved = plan->start.reserved;
  for (uint32_t i = 0; i < steps; i++) {
    const vs_replay_step *step = &plan->steps.data[i];
    reserved = vs_replay_gives(step->kind) ? vs_sat_add_u64(reserved, step->size)
                                           : reserved - vs_min_u64(reserved, step->size);
  }
  return reserved;
}

vs_capacity vs_capacity_recorded(const vs_replay_plan *plan) {
  const vs_slice *slice = plan->lifetimes->slice;
  for (size_t i = plan->requests.count; i-- > 0;) {
    const vs_replay_request *request = &plan->requests.data[i];
    vs_capacity found = {.is_known = true, .event = request->event};
    if (request->kind == VS_REPLAY_FAIL &&
        vs_oom_capacity(slice, request->event, reserved_after(plan, request->steps), &found.bytes))
      return found;
  }
  return (vs_capacity){.event = VS_NO_EVENT};
}

/* ---- the smallest card --------------------------------------------------------------------------------- */

enum { PROBES = 8, DOUBLINGS = 6 };

typedef struct trier {
  const vs_host *host;
  const vs_replay_plan *plan;
  vs_replay_options options;
  vs_smallest *out;
} trier;

static vs_status try_size(trier *t, uint64_t granules, bool *passes, uint64_t *reserved_peak) {
  vs_replay replay;
  const uint32_t until = t->options.until;
  t->options.card = granules * VS_WHATIF_GRANULE;
  t->out->runs++;
  VS_TRY(vs_replay_run(t->host, t->plan, &t->options, &replay));
  *passes = until == VS_NO_EVENT ? vs_replay_passes(&replay) : vs_replay_serves(&replay, until);
  if (reserved_peak != NULL) *reserved_peak = replay.reserved_peak;
  if (*passes) { /* the last size that passes is the answer */
    t->out->reserved_peak = replay.reserved_peak;
    t->out->device_allocs = replay.device_allocs;
  }
  vs_replay_deinit(t->host, &replay);
  return VS_OK;
}

/* The smallest size in (fails, passes] that passes, where the first is known to fail and the second to pass. */
static vs_status bisect(trier *t, uint64_t fails, uint64_t passes, uint64_t *found) {
  while (passes - fails > 1) {
    const uint64_t middle = fails + (passes - fails) / 2;
    bool does;
    VS_TRY(try_size(t, middle, &does, NULL));
    if (does) passes = middle;
    else fails = middle;
  }
  *found = passes;
  return VS_OK;
}

/* The largest of the probed sizes between the two that fails; 0: none does. */
static vs_status probe(trier *t, uint64_t from, uint64_t to, uint64_t *fails) {
  const vs_smallest answer = *t->out;
  *fails = 0;
  for (uint64_t i = PROBES; i > 0 && *fails == 0; i--) {
    const uint64_t at = from + (to - from) * i / (PROBES + 1);
    bool does;
    if (at == from || at == to) continue;
    VS_TRY(try_size(t, at, &does, NULL));
    if (!does) *fails = at;
  }
  t->out->reserved_peak = answer.reserved_peak;
  t->out->device_allocs = answer.device_allocs;
  return VS_OK;
}

/* Raises *most to a size that passes, and *fails with it. A card with room for the peak may be too small: limits and the address
 * ranges of expandable segments are parts of its size. */
static vs_status pass_find(trier *t, uint64_t *fails, uint64_t *most, bool *passes) {
  VS_TRY(try_size(t, *most, passes, NULL));
  for (int i = 0; i < DOUBLINGS && !*passes; i++) {
    *fails = *most;
    *most *= 2;
    VS_TRY(try_size(t, *most, passes, NULL));
  }
  return VS_OK;
}

static vs_status find(trier *t, uint64_t fails) {
  uint64_t peak, found;
  bool passes;
  VS_TRY(try_size(t, 0, &passes, &peak)); /* unlimited */
  uint64_t most = vs_max_u64((peak + VS_WHATIF_GRANULE - 1) / VS_WHATIF_GRANULE, fails + 1);
  if (!passes) return VS_OK;
  VS_TRY(pass_find(t, &fails, &most, &passes));
  if (!passes) return VS_OK;
  const vs_smallest at_most = *t->out;
  do {
    t->out->reserved_peak = at_most.reserved_peak;
    t->out->device_allocs = at_most.device_allocs;
    VS_TRY(bisect(t, fails, most, &found));
    VS_TRY(probe(t, found, most, &fails));
  } while (fails != 0);
  t->out->is_known = true;
  t->out->bytes = found * VS_WHATIF_GRANULE;
  return VS_OK;
}

vs_status vs_whatif_smallest(const vs_host *host, const vs_replay_plan *plan,
                             const vs_replay_options *options, uint64_t fails, vs_smallest *out) {
  *out = (vs_smallest){0};
  trier t = {.host = host, .plan = plan, .options = *options, .out = out};
  t.options.follows = false;
  return find(&t, fails / VS_WHATIF_GRANULE);
}

/* ---- the search ---------------------------------------------------------------------------------------- */

static const char *const search[] = {
#define VS_SEARCH(text) text,
#include "analyze/search.def"
};

size_t vs_whatif_search_count(void) { return sizeof search / sizeof *search; }
const char *vs_whatif_search_at(size_t index) {
  VS_ASSERT(index < vs_whatif_search_count());
  return search[index];
}

bool vs_whatif_search_settings(vs_str text, const vs_alloc_rules *rules, const vs_alloc_rules *rules_of_age,
                               vs_alloc_settings *out) {
  const vs_alloc_rules *const tried[] = {rules, rules_of_age};
  for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
    vs_error ignored = {.offset = VS_NO_OFFSET};
    vs_alloc_settings_init(out);
    out->rules = tried[i];
    if (vs_alloc_settings_parse(out, text, &ignored) == VS_OK) return true;
  }
  return false;
}
