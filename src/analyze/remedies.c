#include "analyze/remedies.h"

#include "analyze/arrange.h"
#include "analyze/edits.h"
#include "analyze/line_rows.h"
#include "analyze/replay_fork.h"

/* Tries from one fork: bounded by what they copy, so that a file with many blocks does not take for ever. */
#define MOST_COPIED (UINT64_C(1) << 30)
/* Requests of all replays in which a line allocates less. */
#define MOST_SHRUNK_REQUESTS (UINT64_C(1) << 22)
enum {
  MOST_ALONE = 512,  /* blocks of one line that are tried alone */
  MOST_HOLDERS = 24, /* lines, those that hold most */
  MOST_PAIRED = 8,   /* of these, in pairs */
  MOST_SHRUNK = 2,   /* lines that hold most, each of which is made smaller */
  LEAST_SHRUNK = 10, /* and holds at least this part of all: 1 / LEAST_SHRUNK */
  MOST_PERCENT = 90, /* by which allocations are made smaller */
};

static const char *const WORDS[] = {
#define VS_REMEDY(name, word) word,
#include "analyze/remedies.def"
};

const char *vs_remedy_word(vs_remedy_kind kind) {
  VS_ASSERT((uint32_t)kind < VS_REMEDY_KINDS);
  return WORDS[kind];
}

typedef struct finder {
  const vs_host *host;
  const vs_remedy_case *of;
  const vs_lifetimes *lifetimes;
  vs_remedies *out;
  vs_replay_options options; /* recorded settings in out->capacity, up to the request */
  vs_held held;
  vs_replay_fork *fork;
  uint64_t tries_left;
  uint64_t shrinks; /* replays of smaller allocations */
} finder;

static vs_status add(finder *f, vs_remedy remedy) {
  VS_TRY(vs_vec_reserve(f->host, &f->out->list, 1));
  f->out->list.data[f->out->list.count++] = remedy;
  return VS_OK;
}

/* Of the run that proves it. */
static void take_figures(vs_remedy *remedy, const vs_replay *replay) {
  remedy->reserved_peak = replay->reserved_peak;
  remedy->device_allocs = replay->device_allocs;
  remedy->retries = replay->retries;
}

/* ---- what the process could reserve -------------------------------------------------------------------- */

/* The most bytes that were reserved when the request came. */
static uint64_t reserved_by_then(const vs_replay_plan *plan, uint32_t event) {
  uint64_t reserved = plan->start.reserved, most = reserved;
  for (size_t i = 0; i < plan->steps.count && plan->steps.data[i].event < event; i++) {
    const vs_replay_step *step = &plan->steps.data[i];
    reserved = vs_replay_gives(step->kind) ? vs_sat_add_u64(reserved, step->size)
                                           : reserved - vs_min_u64(reserved, step->size);
    most = vs_max_u64(most, reserved);
  }
  return most;
}

static bool is_reproduced(const vs_replay *replay, uint32_t event) {
  return !replay->ran_out && !replay->is_cut && replay->refused_last == event;
}

static vs_status basis_try(finder *f, vs_remedy_basis basis, uint64_t capacity) {
  vs_remedies *out = f->out;
  if (out->basis != VS_BASIS_NONE || capacity == 0) return VS_OK;
  vs_replay_deinit(f->host, &out->baseline);
  f->options.card = capacity;
  if (basis == VS_BASIS_LEAST)
    f->options.settings.memory_fraction = 1; /* the capacity stands for the limit */
  VS_TRY(vs_replay_run(f->host, f->of->plan, &f->options, &out->baseline));
  out->capacity = capacity;
  if (is_reproduced(&out->baseline, f->of->event)) out->basis = basis;
  return VS_OK;
}

static vs_status basis_find(finder *f) {
  f->out->recorded = vs_capacity_recorded(f->of->plan);
  if (f->out->recorded.is_known) VS_TRY(basis_try(f, VS_BASIS_RECORDED, f->out->recorded.bytes));
  return basis_try(f, VS_BASIS_LEAST, reserved_by_then(f->of->plan, f->of->event));
}

/* ---- settings ------------------------------------------------------------------------------------------ */

static uint32_t settings_count(const char *text) {
  uint32_t count = 1;
  for (; *text != 0; text++) count += *text == ',';
  return count;
}

static vs_status setting_try(finder *f, size_t index) {
  vs_replay replay;
  vs_replay_options options = f->options;
  if (!vs_whatif_search_settings(vs_str_from(vs_whatif_search_at(index)), f->of->recorded->settings.rules,
                                 f->of->rules_of_age, &options.settings))
    return VS_OK;
  f->out->settings_tried++;
  VS_TRY(vs_replay_run(f->host, f->of->plan, &options, &replay));
  vs_remedy remedy = {
      .kind = VS_REMEDY_SETTINGS, .settings = vs_whatif_search_at(index), .capacity = options.card};
  take_figures(&remedy, &replay);
  const bool passes = vs_replay_serves(&replay, f->of->event);
  vs_replay_deinit(f->host, &replay);
  f->out->settings_passing += passes;
  return passes ? add(f, remedy) : VS_OK;
}

/* The order of a search: less reserved, then fewer calls of the driver. */
static bool is_setting_before(const void *ctx, uint32_t left, uint32_t right) {
  const vs_remedy *a = (const vs_remedy *)ctx + left, *b = (const vs_remedy *)ctx + right;
  if (a->reserved_peak != b->reserved_peak) return a->reserved_peak < b->reserved_peak;
  return a->device_allocs + a->retries < b->device_allocs + b->retries;
}

/* One setting changes less than a pair: pairs are tried only where no single one passes. */
static vs_status settings_find(finder *f) {
  for (uint32_t size = 1; size <= 2 && f->out->list.count == 0; size++)
    for (size_t i = 0; i < vs_whatif_search_count(); i++)
      if (settings_count(vs_whatif_search_at(i)) == size) VS_TRY(setting_try(f, i));
  return vs_arrange(f->host, f->out->list.data, f->out->list.count, sizeof(vs_remedy), is_setting_before,
                    f->out->list.data);
}

/* ---- freeing ------------------------------------------------------------------------------------------- */

static vs_status try_what(finder *f, vs_replay_try what, vs_replay *replay, bool *passes) {
  *passes = false;
  if (f->tries_left == 0) {
    f->out->is_cut = true;
    return VS_OK;
  }
  f->tries_left--;
  VS_TRY(vs_replay_fork_try(f->fork, &what, replay));
  *passes = vs_replay_serves(replay, f->of->event);
  return VS_OK;
}

static vs_status try_rows(finder *f, const uint32_t *rows, size_t count, vs_replay *replay, bool *passes) {
  return try_what(f, (vs_replay_try){.rows = rows, .count = count}, replay, passes);
}

static uint64_t size_of(const finder *f, uint32_t row) { return f->lifetimes->rows.data[row].size; }

/* Adds a part of `remedy`: these rows of that line. */
static vs_status part_add(finder *f, vs_remedy *remedy, const vs_group *group, const uint32_t *rows,
                          uint32_t count) {
  vs_remedies *out = f->out;
  VS_TRY(vs_vec_reserve(f->host, &out->parts, 1));
  VS_TRY(vs_vec_reserve(f->host, &out->rows, count));
  if (remedy->part_count++ == 0) remedy->first_part = (uint32_t)out->parts.count;
  vs_remedy_part *part = &out->parts.data[out->parts.count++];
  *part = (vs_remedy_part){.group = *group, .first = (uint32_t)out->rows.count, .count = count};
  for (uint32_t i = 0; i < count; i++) {
    out->rows.data[out->rows.count++] = rows[i];
    part->bytes = vs_sat_add_u64(part->bytes, size_of(f, rows[i]));
  }
  remedy->bytes = vs_sat_add_u64(remedy->bytes, part->bytes);
  return VS_OK;
}

static vs_status cache_find(finder *f) {
  vs_replay replay;
  bool passes;
  vs_remedy remedy = {.kind = VS_REMEDY_EMPTY_CACHE, .capacity = f->out->capacity};
  VS_TRY(try_what(f, (vs_replay_try){.empties_cache = true}, &replay, &passes));
  if (!passes) return VS_OK;
  take_figures(&remedy, &replay);
  return add(f, remedy);
}

/* The beginning of the step in which the request came; VS_NO_EVENT: no step began before. */
static uint32_t last_boundary(const finder *f) {
  const vs_steps *steps = f->of->steps;
  uint32_t last = VS_NO_EVENT;
  for (size_t i = 0; i < steps->boundaries.count && steps->boundaries.data[i] <= f->of->event; i++)
    last = steps->boundaries.data[i];
  return last;
}

/* What one growing line allocated before the last step. */
static vs_status growth_try(finder *f, const vs_growth *growth, uint32_t before) {
  VS_VEC(uint32_t) rows = {0};
  const vs_holder *holder = vs_held_of_stack(&f->held, f->lifetimes, growth->stack);
  vs_replay replay;
  bool passes = false;
  if (holder == NULL || growth->kind == VS_GROWTH_PENDING) return VS_OK;
  vs_status status = vs_vec_reserve(f->host, &rows, holder->count);
  for (uint32_t i = 0; i < holder->count && status == VS_OK; i++) {
    const uint32_t row = f->held.rows.data[holder->first + i], start = f->lifetimes->rows.data[row].start;
    if (start != VS_NO_EVENT && start < before) rows.data[rows.count++] = row;
  }
  if (status == VS_OK && rows.count != 0) status = try_rows(f, rows.data, rows.count, &replay, &passes);
  if (status == VS_OK && passes) {
    vs_remedy remedy = {.kind = VS_REMEDY_GROWTH, .capacity = f->out->capacity, .before_event = before};
    take_figures(&remedy, &replay);
    status = part_add(f, &remedy, &holder->group, rows.data, (uint32_t)rows.count);
    if (status == VS_OK) status = add(f, remedy);
  }
  vs_vec_free(f->host, &rows);
  return status;
}

/* Whether a growth is attributed to a line of which a remedy is there already. */
static bool is_told(const finder *f, const vs_growth *growth) {
  const vs_holder *holder = vs_held_of_stack(&f->held, f->lifetimes, growth->stack);
  for (size_t i = 0; i < f->out->list.count && holder != NULL; i++) {
    const vs_remedy *remedy = &f->out->list.data[i];
    if (remedy->kind == VS_REMEDY_GROWTH &&
        f->out->parts.data[remedy->first_part].group.key == holder->group.key)
      return true;
  }
  return false;
}

static vs_status growth_find(finder *f) {
  const uint32_t before = last_boundary(f);
  for (size_t i = 0; i < f->of->growths->list.count && i < MOST_HOLDERS && before != VS_NO_EVENT; i++)
    if (!is_told(f, &f->of->growths->list.data[i]))
      VS_TRY(growth_try(f, &f->of->growths->list.data[i], before));
  return VS_OK;
}

/* Tries each block of a line alone: how many are enough, and the smallest that is. */
static vs_status alone_find(finder *f, const vs_holder *holder, uint32_t *enough, uint32_t *smallest,
                            vs_replay *proof) {
  *enough = 0;
  for (uint32_t i = 0; i < holder->count; i++) { /* sizes fall */
    vs_replay replay;
    bool passes;
    VS_TRY(try_rows(f, &f->held.rows.data[holder->first + i], 1, &replay, &passes));
    if (!passes) continue;
    ++*enough;
    *smallest = holder->first + i;
    *proof = replay;
  }
  return VS_OK;
}

/* The fewest blocks, largest first, that are enough: all of them are. */
static vs_status fewest_find(finder *f, const vs_holder *holder, uint32_t *count, vs_replay *proof) {
  uint32_t fails = 0;
  *count = holder->count;
  while (*count - fails > 1) {
    const uint32_t middle = fails + (*count - fails) / 2;
    vs_replay replay;
    bool passes;
    VS_TRY(try_rows(f, &f->held.rows.data[holder->first], middle, &replay, &passes));
    if (!passes) {
      fails = middle;
      continue;
    }
    *count = middle;
    *proof = replay;
  }
  return VS_OK;
}

static vs_status holder_try(finder *f, const vs_holder *holder) {
  vs_remedy remedy = {.kind = VS_REMEDY_OWNER, .capacity = f->out->capacity};
  uint32_t enough = 0, first = holder->first, count = 1;
  vs_replay proof;
  bool passes;
  VS_TRY(try_rows(f, &f->held.rows.data[first], holder->count, &proof, &passes));
  if (!passes) return VS_OK;
  if (holder->count <= MOST_ALONE && holder->count <= f->tries_left)
    VS_TRY(alone_find(f, holder, &enough, &first, &proof));
  if (enough == 0) VS_TRY(fewest_find(f, holder, &count, &proof));
  remedy.alone = enough;
  remedy.is_any = enough == holder->count;
  take_figures(&remedy, &proof);
  VS_TRY(part_add(f, &remedy, &holder->group, &f->held.rows.data[first], count));
  return add(f, remedy);
}

/* Lines that the user can find in the program. */
static bool has_name(const finder *f, const vs_holder *holder) {
  vs_group_name name;
  vs_group_name_get(f->lifetimes->slice->snapshot, f->of->frames, VS_BY_LINE, &holder->group, &name);
  return name.known;
}

/* All blocks of two lines, neither of which is enough alone. */
static vs_status pair_try(finder *f, const vs_holder *a, const vs_holder *b, vs_remedy *best) {
  VS_VEC(uint32_t) rows = {0};
  vs_replay replay;
  bool passes = false;
  const uint64_t bytes = vs_sat_add_u64(a->group.bytes, b->group.bytes);
  if (best->part_count != 0 && best->bytes <= bytes) return VS_OK;
  vs_status status = vs_vec_reserve(f->host, &rows, (size_t)a->count + b->count);
  for (uint32_t i = 0; i < a->count && status == VS_OK; i++)
    rows.data[rows.count++] = f->held.rows.data[a->first + i];
  for (uint32_t i = 0; i < b->count && status == VS_OK; i++)
    rows.data[rows.count++] = f->held.rows.data[b->first + i];
  if (status == VS_OK) status = try_rows(f, rows.data, rows.count, &replay, &passes);
  if (status == VS_OK && passes) {
    *best = (vs_remedy){.kind = VS_REMEDY_OWNER, .capacity = f->out->capacity};
    take_figures(best, &replay);
    status = part_add(f, best, &a->group, rows.data, a->count);
    if (status == VS_OK) status = part_add(f, best, &b->group, rows.data + a->count, b->count);
  }
  vs_vec_free(f->host, &rows);
  return status;
}

static vs_status pairs_find(finder *f) {
  const size_t all = f->held.holders.count, count = all < MOST_PAIRED ? all : MOST_PAIRED;
  vs_remedy best = {0};
  for (size_t i = 0; i < count; i++)
    for (size_t j = i + 1; j < count; j++)
      if (has_name(f, &f->held.holders.data[i]) && has_name(f, &f->held.holders.data[j]))
        VS_TRY(pair_try(f, &f->held.holders.data[i], &f->held.holders.data[j], &best));
  return best.part_count != 0 ? add(f, best) : VS_OK;
}

/* By kind; of owners fewer blocks first, one of any before one of some; then fewer bytes. */
static bool is_kind_before(const void *ctx, uint32_t left, uint32_t right) {
  const finder *f = ctx;
  const vs_remedy *a = &f->out->list.data[left], *b = &f->out->list.data[right];
  if (a->kind != b->kind) return a->kind < b->kind;
  if (a->kind == VS_REMEDY_SHRINK) return a->bytes < b->bytes;
  if (a->kind != VS_REMEDY_OWNER) return false;
  const uint32_t a_count = f->out->parts.data[a->first_part].count,
                 b_count = f->out->parts.data[b->first_part].count;
  if (a_count != b_count) return a_count < b_count;
  if (a->is_any != b->is_any) return a->is_any;
  return a->bytes < b->bytes;
}

static vs_status owners_find(finder *f) {
  const size_t before = f->out->list.count;
  for (size_t i = 0; i < f->held.holders.count && i < MOST_HOLDERS; i++)
    if (has_name(f, &f->held.holders.data[i])) VS_TRY(holder_try(f, &f->held.holders.data[i]));
  if (f->out->list.count == before) VS_TRY(pairs_find(f));
  return VS_OK;
}

/* All that is tried from the moment of the request. */
static vs_status frees_find(finder *f) {
  VS_TRY(vs_replay_fork_create(f->host, f->of->plan, &f->options, f->of->event, &f->fork));
  f->out->is_cut = f->fork == NULL;
  if (f->fork == NULL) return VS_OK;
  f->tries_left = f->of->most_tries;
  if (f->tries_left == 0)
    f->tries_left = vs_min_u64(MOST_COPIED / (vs_replay_fork_bytes(f->fork) + 1), VS_REMEDY_MOST_TRIES);
  VS_TRY(cache_find(f));
  VS_TRY(growth_find(f));
  return owners_find(f);
}

/* ---- smaller allocations ------------------------------------------------------------------------------- */

/* Allocations that are smaller by some percent, over the whole trace. Borrows the bits of vs_edit. */
typedef struct shrunk {
  const uint64_t *rows, *events;
} shrunk;

static vs_status shrink_try(finder *f, shrunk what, uint32_t percent, vs_replay *replay, bool *passes) {
  const vs_edit edit = {
      .kind = VS_EDIT_SCALE, .rows = what.rows, .events = what.events, .factor = 1 - percent / 100.0};
  vs_replay_options options = f->options;
  vs_edited edited;
  VS_TRY(vs_edits_apply(f->host, f->of->plan, &edit, 1, &edited));
  options.requests = &edited.requests;
  f->shrinks++;
  const vs_status status = vs_replay_run(f->host, f->of->plan, &options, replay);
  vs_edited_deinit(f->host, &edited);
  VS_TRY(status);
  *passes = vs_replay_serves(replay, f->of->event);
  vs_replay_deinit(f->host, replay);
  return VS_OK;
}

/* The smallest reduction, by bisection over whole percents, with the figures of its run; remedy->percent stays 0 where none is
 * enough. */
static vs_status shrink_find(finder *f, shrunk what, vs_remedy *remedy) {
  uint32_t fails = 0, enough = MOST_PERCENT;
  vs_replay replay, proof;
  bool passes;
  VS_TRY(shrink_try(f, what, enough, &proof, &passes));
  if (!passes) return VS_OK;
  while (enough - fails > 1) {
    const uint32_t middle = fails + (enough - fails) / 2;
    VS_TRY(shrink_try(f, what, middle, &replay, &passes));
    if (!passes) fails = middle;
    else enough = middle, proof = replay;
  }
  remedy->percent = enough;
  take_figures(remedy, &proof);
  return VS_OK;
}

static uint64_t percent_of(uint64_t bytes, uint32_t percent) {
  return (uint64_t)((double)bytes * percent / 100);
}

static vs_status activations_try(finder *f, const vs_activations *activations) {
  vs_remedy remedy = {.kind = VS_REMEDY_ACTIVATIONS, .capacity = f->out->capacity};
  VS_TRY(shrink_find(f, (shrunk){activations->rows.data, activations->events.data}, &remedy));
  if (remedy.percent == 0) return VS_OK;
  for (size_t i = 0; i < activations->lines.count; i++)
    VS_TRY(part_add(f, &remedy, &activations->lines.data[i], NULL, 0));
  remedy.bytes = percent_of(activations->live_bytes, remedy.percent);
  return add(f, remedy);
}

static vs_status line_try(finder *f, vs_keys *keys, uint32_t key, const vs_holder *holder) {
  vs_remedy remedy = {.kind = VS_REMEDY_SHRINK, .capacity = f->out->capacity};
  vs_line_rows line;
  VS_TRY(vs_line_rows_build(f->host, f->lifetimes, keys, key, &line));
  vs_status status = shrink_find(f, (shrunk){line.rows.data, line.events.data}, &remedy);
  vs_line_rows_deinit(f->host, &line);
  VS_TRY(status);
  if (remedy.percent == 0) return VS_OK;
  VS_TRY(part_add(f, &remedy, &holder->group, NULL, 0));
  remedy.bytes = percent_of(holder->group.bytes, remedy.percent);
  return add(f, remedy);
}

/* Whether it holds so much that its size is worth a thought. */
static bool is_large(const finder *f, const vs_holder *holder) {
  uint64_t all = 0;
  for (size_t i = 0; i < f->held.holders.count; i++)
    all = vs_sat_add_u64(all, f->held.holders.data[i].group.bytes);
  return holder->group.bytes >= all / LEAST_SHRUNK;
}

/* The lines that hold most. A long trace allows few replays of all of it: at least one line is tried. */
static vs_status lines_try(finder *f, vs_keys *keys) {
  const uint64_t most = MOST_SHRUNK_REQUESTS / (f->of->plan->requests.count + 1);
  uint32_t tried = 0;
  f->shrinks = 0;
  for (size_t i = 0; i < f->held.holders.count && tried < MOST_SHRUNK; i++) {
    const vs_holder *holder = &f->held.holders.data[i];
    const vs_keyed keyed = vs_keyed_lifetime(f->lifetimes, NULL, f->held.rows.data[holder->first]);
    uint32_t key;
    if (!is_large(f, holder) || (tried > 0 && f->shrinks >= most)) break;
    if (!has_name(f, holder)) continue;
    VS_TRY(vs_key_of(keys, &keyed, &key));
    VS_TRY(line_try(f, keys, key, holder));
    tried++;
  }
  return VS_OK;
}

static vs_status lines_find(finder *f) {
  vs_keys keys;
  VS_TRY(vs_keys_init(&keys, f->host, f->lifetimes->slice, VS_BY_LINE, f->of->frames));
  const vs_status status = lines_try(f, &keys);
  vs_keys_deinit(&keys);
  return status;
}

/* All that is smaller from the first request on. In a training the sizes of weights, inputs and activations follow from one
 * another, so that no line of it is made smaller alone. Where the memory is not full but fragmented, slightly smaller blocks may come to
 * lie otherwise and leave room, and blocks smaller by one percent more may not: that is luck and no remedy. */
static vs_status smaller_find(finder *f) {
  vs_activations activations;
  VS_TRY(vs_activations_build(f->host, f->lifetimes, f->of->frames, f->of->event, &activations));
  f->out->has_backward = activations.has_backward;
  vs_status status = VS_OK;
  if (activations.live_bytes != 0) status = activations_try(f, &activations);
  else if (!activations.has_backward && f->out->is_full) status = lines_find(f);
  vs_activations_deinit(f->host, &activations);
  return status;
}

/* ---- a card -------------------------------------------------------------------------------------------- */

static uint64_t room_of(const finder *f, const vs_sim_profile *card) {
  return vs_sim_room_bytes(card, card->figures.total_bytes, f->of->plan->has_streams);
}

static const vs_sim_profile *card_with(const finder *f, uint64_t bytes) {
  const vs_sim_profile *best = NULL;
  for (uint32_t i = 0; i < vs_sim_profile_count(); i++) {
    const vs_sim_profile *card = vs_sim_profile_at(i);
    if (room_of(f, card) >= bytes && (best == NULL || room_of(f, card) < room_of(f, best))) best = card;
  }
  return best;
}

/* The smallest card that is known to be enough: whether a program runs may not rise with the size. */
static vs_status card_choose(finder *f, vs_remedy *remedy) {
  uint64_t bytes = remedy->capacity;
  for (remedy->card = card_with(f, bytes); remedy->card != NULL; remedy->card = card_with(f, bytes)) {
    vs_replay replay;
    vs_replay_options options = f->options;
    options.card = remedy->room = room_of(f, remedy->card);
    options.total = remedy->card->figures.total_bytes;
    VS_TRY(vs_replay_run(f->host, f->of->plan, &options, &replay));
    const bool passes = vs_replay_serves(&replay, f->of->event);
    vs_replay_deinit(f->host, &replay);
    if (passes) return VS_OK;
    bytes = options.card + 1;
  }
  return VS_OK;
}

static vs_status card_find(finder *f) {
  vs_smallest smallest;
  const vs_replay_options options = f->options;
  VS_TRY(vs_whatif_smallest(f->host, f->of->plan, &options, f->out->capacity, &smallest));
  if (!smallest.is_known) return VS_OK;
  const bool is_limit =
      f->of->is_limited && f->out->recorded.is_known && f->out->recorded.bytes >= smallest.bytes;
  vs_remedy remedy = {.kind = is_limit ? VS_REMEDY_LIMIT : VS_REMEDY_CARD,
                      .capacity = smallest.bytes,
                      .reserved_peak = smallest.reserved_peak,
                      .device_allocs = smallest.device_allocs};
  if (!is_limit) VS_TRY(card_choose(f, &remedy));
  return add(f, remedy);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* What no setting changes: blocks that the program holds take at least their requests, rounded up to 512. */
static void look_whether_full(finder *f) {
  const vs_events *events = &f->lifetimes->slice->snapshot->events;
  const uint64_t wanted =
      vs_round_request(vs_events_size(events, vs_slice_row(f->lifetimes->slice, f->of->event)));
  f->out->held = f->held.rounded;
  f->out->is_full = vs_sat_add_u64(f->held.rounded, wanted) > f->out->capacity;
}

static vs_status find(finder *f) {
  VS_TRY(vs_held_build(f->host, f->lifetimes, f->of->spans, f->of->frames, f->of->event, &f->held));
  VS_TRY(basis_find(f));
  if (f->out->basis == VS_BASIS_NONE) return VS_OK;
  look_whether_full(f);
  if (!f->out->is_full) VS_TRY(settings_find(f));
  VS_TRY(frees_find(f));
  VS_TRY(smaller_find(f));
  VS_TRY(card_find(f));
  return vs_arrange(f->host, f->out->list.data, f->out->list.count, sizeof(vs_remedy), is_kind_before, f);
}

vs_status vs_remedies_find(const vs_host *host, const vs_remedy_case *of, vs_remedies *out) {
  *out = (vs_remedies){0};
  finder f = {.host = host, .of = of, .lifetimes = of->plan->lifetimes, .out = out, .options = *of->recorded};
  f.options.follows = false;
  f.options.until = of->event;
  f.options.requests = NULL;
  const vs_status status = find(&f);
  vs_replay_fork_destroy(f.fork);
  vs_held_deinit(host, &f.held);
  if (status != VS_OK) vs_remedies_deinit(host, out);
  return status;
}

void vs_remedies_deinit(const vs_host *host, vs_remedies *remedies) {
  vs_replay_deinit(host, &remedies->baseline);
  vs_vec_free(host, &remedies->list);
  vs_vec_free(host, &remedies->parts);
  vs_vec_free(host, &remedies->rows);
}
