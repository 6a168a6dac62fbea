/* "whatif": the trace run through the allocator under other settings, on other GPUs, or with some allocations changed. */
#include "base/double_text.h"
#include "device/sim/own_memory.h"
#include "query/items.h"
#include "query/reply.h"
#include "query/rows.h"
#include "query/whatif_answer.h"

enum { MOST_RUNS = 4096 };

/* ---- edits --------------------------------------------------------------------------------------------- */

/* The bits that one text of an edit keeps: rows of lifetimes and events. */
typedef struct kept {
  VS_VEC(uint64_t) rows, events;
} kept;

typedef struct edit_list {
  const vs_host *host;
  VS_VEC(vs_edit) edits;
  VS_VEC(kept) kept;
} edit_list;

static void edit_list_deinit(edit_list *list) {
  for (size_t i = 0; i < list->kept.count; i++) {
    vs_vec_free(list->host, &list->kept.data[i].rows);
    vs_vec_free(list->host, &list->kept.data[i].events);
  }
  vs_vec_free(list->host, &list->kept);
  vs_vec_free(list->host, &list->edits);
}

static vs_status keep_rows(edit_list *list, kept *k, const vs_filter_bitmap *bitmap, size_t rows) {
  const size_t words = rows / 64 + 1;
  VS_TRY(vs_vec_reserve(list->host, &k->rows, words));
  for (size_t i = 0; i < words; i++)
    k->rows.data[k->rows.count++] = bitmap == NULL ? UINT64_MAX : bitmap->bits.data[i];
  return VS_OK;
}

/* The failed requests that the filter keeps; of what only blocks have, such as a lifetime, they have nothing. */
static vs_status keep_failures(vs_call *call, edit_list *list, kept *k, const vs_filter *filter,
                               const vs_replay_plan *plan) {
  const vs_slice *slice = call->device->slice;
  VS_TRY(vs_vec_reserve(list->host, &k->events, slice->event_count / 64 + 1));
  for (size_t i = 0; i <= slice->event_count / 64; i++) k->events.data[k->events.count++] = 0;
  for (size_t i = 0; i < plan->requests.count; i++) {
    const vs_replay_request *request = &plan->requests.data[i];
    if (request->kind != VS_REPLAY_FAIL) continue;
    const vs_filter_row row = vs_row_of_event(slice, request->event);
    if (vs_filter_is_empty(filter) || vs_filter_keeps(filter, call->engine->snapshot, &row))
      k->events.data[request->event / 64] |= UINT64_C(1) << request->event % 64;
  }
  return VS_OK;
}

static vs_status edit_fill(vs_call *call, edit_list *list, kept *k, vs_filter *filter,
                           const vs_replay_plan *plan) {
  vs_items items;
  const vs_filter_bitmap *bitmap;
  VS_TRY(vs_items_init(call->engine->host, call->device, VS_DRAWN_allocations, &items));
  VS_TRY(vs_items_bitmap(call, &items, filter, &bitmap));
  VS_ASSERT(bitmap == NULL || bitmap->size == plan->lifetimes->rows.count);
  VS_TRY(keep_rows(list, k, bitmap, plan->lifetimes->rows.count));
  if (!vs_filter_is_empty(filter))
    VS_TRY(vs_filter_prepare(filter, call->engine->snapshot, &call->engine->frames));
  return keep_failures(call, list, k, filter, plan);
}

static vs_status edit_add(vs_call *call, edit_list *list, vs_edit edit, vs_str text,
                          const vs_replay_plan *plan) {
  vs_filter filter;
  VS_TRY(vs_vec_reserve(list->host, &list->edits, 1));
  VS_TRY(vs_vec_reserve(list->host, &list->kept, 1));
  VS_TRY(vs_filter_init(&filter, list->host, text, call->error));
  kept *k = &list->kept.data[list->kept.count++];
  *k = (kept){0};
  const vs_status status = edit_fill(call, list, k, &filter, plan);
  vs_filter_deinit(&filter);
  VS_TRY(status);
  edit.rows = k->rows.data;
  edit.events = k->events.data;
  list->edits.data[list->edits.count++] = edit;
  return VS_OK;
}

/* "FILTER=0.5": the factor follows the last '='. */
static vs_status scale_add(vs_call *call, edit_list *list, vs_str text, const vs_replay_plan *plan) {
  size_t split = text.size;
  while (split > 0 && text.data[split - 1] != '=') split--;
  double factor = 0;
  if (split == 0 || !vs_parse_f64((vs_str){text.data + split, text.size - split}, &factor) ||
      !vs_f64_is_finite(factor) || factor <= 0 || factor > 1e6)
    return vs_fail(call->error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "scale: '%S' has to be FILTER=FACTOR, the factor above 0, for example 'model.py=0.5'",
                   text);
  return edit_add(call, list, (vs_edit){.kind = VS_EDIT_SCALE, .factor = factor},
                  (vs_str){text.data, split - 1}, plan);
}

/* All functions are one edit: where one calls another, the outer one counts. */
static vs_status checkpoint_add(vs_call *call, edit_list *list, vs_whatif_answer *a) {
  const vs_texts *texts = &call->request->checkpoint;
  VS_VEC(vs_str) functions = {0};
  if (texts->ends.count == 0) return VS_OK;
  VS_TRY(vs_vec_reserve(list->host, &list->edits, 1));
  VS_TRY(vs_vec_reserve(list->host, &functions, texts->ends.count));
  for (size_t i = 0; i < texts->ends.count; i++) functions.data[functions.count++] = vs_texts_at(texts, i);
  const vs_status status = vs_checkpoint_build(list->host, a->plan, &call->engine->frames, functions.data,
                                               functions.count, call->error, &a->checkpoint);
  vs_vec_free(list->host, &functions);
  VS_TRY(status);
  list->edits.data[list->edits.count++] =
      (vs_edit){.kind = VS_EDIT_CHECKPOINT, .rows = a->checkpoint.saved.data, .checkpoint = &a->checkpoint};
  return VS_OK;
}

static vs_status edits_collect(vs_call *call, edit_list *list, vs_whatif_answer *a) {
  const vs_replay_plan *plan = a->plan;
  const vs_request *r = call->request;
  for (size_t i = 0; i < r->without.ends.count; i++)
    VS_TRY(edit_add(call, list, (vs_edit){.kind = VS_EDIT_WITHOUT}, vs_texts_at(&r->without, i), plan));
  for (size_t i = 0; i < r->free_early.ends.count; i++)
    VS_TRY(edit_add(call, list, (vs_edit){.kind = VS_EDIT_FREE_EARLY}, vs_texts_at(&r->free_early, i), plan));
  for (size_t i = 0; i < r->scale.ends.count; i++)
    VS_TRY(scale_add(call, list, vs_texts_at(&r->scale, i), plan));
  for (size_t i = 0; i < r->free.ends.count; i++)
    VS_TRY(edit_add(call, list, (vs_edit){.kind = VS_EDIT_FREE}, vs_texts_at(&r->free, i), plan));
  VS_TRY(checkpoint_add(call, list, a));
  if (!r->empty_cache) return VS_OK;
  VS_TRY(vs_vec_reserve(list->host, &list->edits, 1));
  list->edits.data[list->edits.count++] = (vs_edit){.kind = VS_EDIT_EMPTY_CACHE};
  return VS_OK;
}

vs_status vs_whatif_edits(vs_call *call, vs_whatif_answer *a) {
  edit_list list = {.host = call->engine->host};
  vs_status status = edits_collect(call, &list, a);
  a->has_edits = list.edits.count != 0;
  if (status == VS_OK && a->has_edits)
    status = vs_edits_apply(list.host, a->plan, list.edits.data, list.edits.count, &a->edited);
  edit_list_deinit(&list);
  return status;
}

static void edits_use(const vs_whatif_answer *a, vs_replay_options *options) {
  if (!a->has_edits) return;
  options->requests = &a->edited.requests;
  options->copies = a->edited.copies;
  options->causes = a->edited.causes.data;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

vs_replay_options vs_whatif_options(const vs_whatif_answer *a, const vs_whatif_run *run, bool with_edits) {
  vs_replay_options options = a->replays->recorded;
  options.follows = false;
  options.settings = run->settings;
  options.card = run->card.capacity_bytes;
  options.total = run->card.total_bytes;
  if (with_edits) edits_use(a, &options);
  return options;
}

static vs_status run(vs_call *call, const vs_whatif_answer *a, vs_whatif_run *out, bool with_edits) {
  const vs_replay_options options = vs_whatif_options(a, out, with_edits);
  return vs_replay_run(call->engine->host, a->plan, &options, &out->replay);
}

static vs_status row_add(vs_call *call, vs_whatif_answer *a, vs_whatif_run row) {
  const vs_host *host = call->engine->host;
  if (a->runs.count == MOST_RUNS)
    return vs_fail(call->error, VS_LIMIT, VS_NO_OFFSET, "whatif makes %u runs at most", (unsigned)MOST_RUNS);
  VS_TRY(vs_vec_reserve(host, &a->runs, 1));
  a->runs.data[a->runs.count++] = row;
  return VS_OK;
}

static vs_status card_of(vs_call *call, const vs_whatif_answer *a, vs_str text, vs_whatif_card *out) {
  vs_sim_gpu gpu;
  vs_error inner = {.offset = VS_NO_OFFSET};
  if (call->engine->handlers->read_gpu == NULL)
    return vs_fail(call->error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "cards: this engine does not know the names of GPUs");
  if (call->engine->handlers->read_gpu(text, &gpu, &inner) != VS_OK)
    return vs_fail(call->error, VS_BAD_ARGUMENT, inner.offset, "cards: %s", inner.text);
  const uint64_t total = gpu.total_bytes != 0 ? gpu.total_bytes : gpu.profile->figures.total_bytes;
  *out = (vs_whatif_card){.asked = text,
                          .total_bytes = total,
                          .capacity_bytes = vs_sim_room_bytes(gpu.profile, total, a->plan->has_streams)};
  if (out->capacity_bytes == 0)
    return vs_fail(call->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "cards: '%S' has no room for the allocator",
                   text);
  return VS_OK;
}

/* One row for each of the cards, or one on what the recorded process could reserve. */
static vs_status rows_on_cards(vs_call *call, vs_whatif_answer *a, vs_whatif_run row) {
  const vs_texts *cards = &call->request->cards;
  row.card = (vs_whatif_card){.asked = VS_STR(""), .capacity_bytes = a->capacity.bytes};
  if (cards->ends.count == 0) return row_add(call, a, row);
  for (size_t i = 0; i < cards->ends.count; i++) {
    VS_TRY(card_of(call, a, vs_texts_at(cards, i), &row.card));
    VS_TRY(row_add(call, a, row));
  }
  return VS_OK;
}

static vs_status rows_of_text(vs_call *call, vs_whatif_answer *a, vs_str text) {
  vs_whatif_run row = {.asked = text};
  VS_TRY(vs_replay_settings_parse(text, a->replays->recorded.settings.rules, &row.settings, call->error));
  return rows_on_cards(call, a, row);
}

vs_status vs_whatif_rows(vs_call *call, vs_whatif_answer *a) {
  const vs_texts *set = &call->request->set;
  if (set->ends.count == 0)
    return rows_on_cards(
        call, a,
        (vs_whatif_run){.asked = VS_STR(""), .is_recorded = true, .settings = a->replays->recorded.settings});
  for (size_t i = 0; i < set->ends.count; i++) VS_TRY(rows_of_text(call, a, vs_texts_at(set, i)));
  return VS_OK;
}

/* Runs the rows from `first` on; where one fails, they are as if they had not been requested. */
static vs_status rows_run(vs_call *call, vs_whatif_answer *a, size_t first) {
  vs_status status = VS_OK;
  for (size_t i = first; i < a->runs.count && status == VS_OK; i++)
    status = run(call, a, &a->runs.data[i], true);
  if (status != VS_OK) a->runs.count = first;
  return status;
}

static vs_status run_of_search(vs_call *call, vs_whatif_answer *a, size_t index) {
  vs_whatif_run row = {.asked = vs_str_from(vs_whatif_search_at(index))};
  const size_t first = a->runs.count;
  if (!vs_settings_of_search(row.asked, a->replays, &row.settings)) return VS_OK;
  const vs_status status = rows_on_cards(call, a, row);
  if (status != VS_OK) a->runs.count = first;
  return status == VS_OK ? rows_run(call, a, first) : status;
}

static vs_status runs_make(vs_call *call, vs_whatif_answer *a) {
  VS_TRY(vs_whatif_rows(call, a));
  return rows_run(call, a, 0);
}

static bool is_before(const void *ctx, uint32_t left, uint32_t right) {
  const vs_whatif_run *runs = ctx;
  const vs_replay *a = &runs[left].replay, *b = &runs[right].replay;
  const bool a_passes = vs_replay_passes(a), b_passes = vs_replay_passes(b);
  if (a_passes != b_passes) return a_passes;
  if (a->reserved_peak != b->reserved_peak) return a->reserved_peak < b->reserved_peak;
  return a->device_allocs + a->retries < b->device_allocs + b->retries;
}

static vs_status rank(const vs_host *host, vs_whatif_answer *a) {
  a->ranking.count = 0;
  VS_TRY(vs_vec_reserve(host, &a->ranking, a->runs.count));
  for (uint32_t i = 0; i < a->runs.count; i++) a->ranking.data[a->ranking.count++] = i;
  return vs_sort_rows(host, a->ranking.data, a->ranking.count, is_before, a->runs.data);
}

static vs_status smallest_recorded(const vs_host *host, vs_whatif_answer *a) {
  vs_replay_options options = a->replays->recorded;
  edits_use(a, &options);
  return vs_whatif_smallest(host, a->plan, &options, 0, &a->smallest_recorded);
}

static vs_status smallest_best(const vs_host *host, vs_whatif_answer *a) {
  vs_replay_options options = a->replays->recorded;
  edits_use(a, &options);
  if (!vs_whatif_has_better(a)) return VS_OK;
  options.settings = vs_whatif_best(a)->settings;
  return vs_whatif_smallest(host, a->plan, &options, 0, &a->smallest_best);
}

/* ---- the reply ------------------------------------------------------------------------------------------ */

void vs_reply_check(vs_call *call, const vs_replay_options *recorded, const vs_replay *check) {
  vs_jsonw *json = call->json;
  vs_reply_object_begin(json, "check");
  vs_reply_alloc_settings(call, &recorded->settings);
  vs_jsonw_member_bool(json, "settings_known", recorded->settings_known);
  vs_jsonw_member_bool(json, "is_equal", vs_whatif_is_equal(check));
  vs_reply_matches(call, check);
  vs_jsonw_object_end(json);
}

static void write_run_members(vs_call *call, const vs_whatif_run *row) {
  vs_jsonw *json = call->json;
  const vs_replay *replay = &row->replay;
  if (row->is_recorded) vs_jsonw_member_null(json, "asked");
  else vs_jsonw_member_str(json, "asked", row->asked);
  vs_reply_alloc_settings(call, &row->settings);
  if (row->card.asked.size == 0) vs_jsonw_member_null(json, "card");
  else vs_jsonw_member_str(json, "card", row->card.asked);
  vs_reply_u64_or_null(json, "total_bytes", row->card.total_bytes != 0, row->card.total_bytes);
  vs_reply_u64_or_null(json, "capacity_bytes", row->card.capacity_bytes != 0, row->card.capacity_bytes);
  vs_jsonw_member_bool(json, "passes", vs_replay_passes(replay));
  vs_reply_ran_out(call, replay);
  vs_jsonw_member_u64(json, "refused_ooms", replay->refused);
  vs_jsonw_member_u64(json, "avoided_ooms", replay->avoided);
  vs_jsonw_member_bool(json, "is_cut", replay->is_cut);
  vs_reply_event(json, "last_event", replay->last_event);
  vs_reply_peaks(call, replay);
}

static void write_runs(vs_call *call, const vs_whatif_answer *a) {
  vs_jsonw *json = call->json;
  vs_reply_object_begin(json, "recorded");
  write_run_members(call, &a->baseline);
  vs_jsonw_object_end(json);
  vs_reply_array_begin(json, "runs");
  for (size_t i = 0; i < a->runs.count; i++) {
    vs_jsonw_object_begin(json);
    write_run_members(call, &a->runs.data[i]);
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
  vs_reply_array_begin(json, "ranking");
  for (size_t i = 0; i < a->ranking.count; i++) vs_jsonw_u64(json, a->ranking.data[i]);
  vs_jsonw_array_end(json);
  const bool passes = a->runs.count != 0 && vs_replay_passes(&vs_whatif_best(a)->replay);
  vs_reply_u64_or_null(json, "best", passes, passes ? a->ranking.data[0] : 0);
}

static void write_smallest(vs_call *call, const vs_whatif_answer *a, const vs_alloc_settings *settings,
                           const vs_smallest *smallest) {
  vs_jsonw_object_begin(call->json);
  vs_reply_alloc_settings(call, settings);
  vs_reply_u64_or_null(call->json, "capacity_bytes", smallest->is_known, smallest->bytes);
  vs_reply_u64_or_null(call->json, "card_bytes", smallest->is_known,
                       vs_sim_size_with_room(smallest->bytes, a->plan->has_streams));
  vs_jsonw_member_u64(call->json, "runs", smallest->runs);
  vs_jsonw_object_end(call->json);
}

/* Texts are those of the request, in its order. */
static void write_checkpoint(vs_call *call, const vs_whatif_answer *a) {
  vs_jsonw *json = call->json;
  vs_jsonw_key(json, VS_STR("checkpoint"));
  if (a->checkpoint.functions.count == 0) {
    vs_jsonw_null(json);
    return;
  }
  vs_jsonw_object_begin(json);
  vs_reply_array_begin(json, "functions");
  for (size_t i = 0; i < a->checkpoint.functions.count; i++) {
    const vs_checkpointed *sum = &a->checkpoint.functions.data[i];
    vs_jsonw_object_begin(json);
    vs_jsonw_member_str(json, "function", vs_texts_at(&call->request->checkpoint, i));
    vs_jsonw_member_u64(json, "calls", sum->calls);
    vs_jsonw_member_u64(json, "recomputed", sum->recomputed);
    vs_jsonw_member_u64(json, "blocks", sum->blocks);
    vs_jsonw_member_u64(json, "bytes", sum->bytes);
    vs_jsonw_member_u64(json, "most_bytes", sum->most_bytes);
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
  vs_reply_object_begin(json, "told_by");
  vs_jsonw_member_u64(json, "lines", a->checkpoint.told[VS_CALLS_LINES]);
  vs_jsonw_member_u64(json, "sizes", a->checkpoint.told[VS_CALLS_SIZES]);
  vs_jsonw_member_u64(json, "stacks", a->checkpoint.told[VS_CALLS_STACKS]);
  vs_jsonw_member_u64(json, "runs", a->checkpoint.told[VS_CALLS_RUNS]);
  vs_jsonw_object_end(json);
  vs_jsonw_object_end(json);
}

static void write_edits(vs_call *call, const vs_whatif_answer *a) {
  vs_jsonw *json = call->json;
  vs_jsonw_key(json, VS_STR("edits"));
  if (!a->has_edits) {
    vs_jsonw_null(json);
    return;
  }
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "allocations", a->edited.allocs);
  vs_jsonw_member_u64(json, "bytes", a->edited.bytes);
  vs_jsonw_member_u64(json, "older", a->edited.start_allocs);
  write_checkpoint(call, a);
  vs_jsonw_object_end(json);
}

static void write_steps(vs_call *call, const vs_whatif_answer *a) {
  vs_jsonw *json = call->json;
  vs_jsonw_key(json, VS_STR("steps"));
  if (!a->is_search) {
    vs_jsonw_null(json);
    return;
  }
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "done", a->steps);
  vs_jsonw_member_u64(json, "all", vs_whatif_steps());
  vs_jsonw_object_end(json);
}

static void write_figures(vs_call *call, const vs_whatif_answer *a) {
  vs_jsonw *json = call->json;
  vs_reply_array_begin(json, "smallest");
  if (a->has_smallest) {
    write_smallest(call, a, &a->replays->recorded.settings, &a->smallest_recorded);
    if (vs_whatif_has_better(a)) write_smallest(call, a, &vs_whatif_best(a)->settings, &a->smallest_best);
  }
  vs_jsonw_array_end(json);
  vs_jsonw_key(json, VS_STR("bound"));
  if (!a->has_bound) {
    vs_jsonw_null(json);
    return;
  }
  vs_jsonw_object_begin(json);
  vs_jsonw_member_u64(json, "lower_bytes", a->packing.lower);
  vs_reply_u64_or_null(json, "plan_bytes", a->packing.has_plan, a->packing.plan);
  vs_jsonw_object_end(json);
}

static void write_answer(vs_call *call, const vs_whatif_answer *a) {
  vs_jsonw *json = call->json;
  vs_reply_device(call, call->device);
  vs_jsonw_member_u64(json, "events", call->device->slice->event_count);
  vs_whatif_lines(call, a);
  vs_reply_check(call, &a->replays->recorded, &a->replays->check);
  vs_reply_u64_or_null(json, "capacity_bytes", a->capacity.is_known, a->capacity.bytes);
  vs_reply_event(json, "capacity_event", a->capacity.event);
  vs_jsonw_member_u64(json, "start_reserved_bytes", a->plan->start.reserved);
  vs_jsonw_member_bool(json, "is_search", a->is_search);
  write_steps(call, a);
  write_edits(call, a);
  write_runs(call, a);
  write_figures(call, a);
}

/* ---- the search ------------------------------------------------------------------------------------------ */

enum { FIGURE_STEPS = 3 }; /* the two smallest sizes, the bound */

uint32_t vs_whatif_steps(void) { return (uint32_t)vs_whatif_search_count() + FIGURE_STEPS; }

vs_status vs_whatif_begin(vs_call *call, vs_whatif_answer *a) {
  VS_TRY(vs_cached_check(call, &a->replays));
  a->capacity = vs_capacity_recorded(&a->replays->plan);
  a->plan = &a->replays->plan;
  return VS_OK;
}

/* Everything but the runs; a->plan is NULL until it has succeeded. */
static vs_status answer_begin(vs_call *call, vs_whatif_answer *a) {
  VS_TRY(vs_whatif_begin(call, a));
  a->baseline = (vs_whatif_run){.asked = VS_STR(""),
                                .is_recorded = true,
                                .settings = a->replays->recorded.settings,
                                .card = {.asked = VS_STR(""), .capacity_bytes = a->capacity.bytes}};
  const vs_status status = run(call, a, &a->baseline, false);
  if (status != VS_OK) a->plan = NULL;
  return status;
}

static vs_status step(vs_call *call, vs_whatif_answer *a) {
  const vs_host *host = call->engine->host;
  const size_t strings = vs_whatif_search_count();
  VS_ASSERT(a->steps < vs_whatif_steps() && a->runs_of_step.count == a->steps);
  VS_TRY(vs_vec_reserve(host, &a->runs_of_step, 1));
  if (a->steps < strings) VS_TRY(run_of_search(call, a, a->steps));
  else if (a->steps == strings) VS_TRY(smallest_recorded(host, a));
  else if (a->steps == strings + 1) {
    VS_TRY(rank(host, a));
    VS_TRY(smallest_best(host, a));
  } else VS_TRY(vs_packing_of(host, a->plan->lifetimes, &a->packing));
  a->runs_of_step.data[a->runs_of_step.count++] = (uint32_t)a->runs.count;
  a->steps++;
  return VS_OK;
}

vs_status vs_whatif_search(vs_call *call, uint32_t steps, vs_whatif_answer **out) {
  const vs_host *host = call->engine->host;
  const vs_replay_cache *replays;
  VS_TRY(vs_cached_check(call, &replays)); /* the device may keep a search from now on */
  vs_whatif_answer **slot = &call->device->replays.search;
  if (*slot == NULL) {
    vs_whatif_answer *a = vs_host_alloc(host, sizeof *a);
    if (a == NULL) return VS_NO_MEMORY;
    *a = (vs_whatif_answer){.is_search = true};
    *slot = a;
  }
  *out = *slot;
  if ((*out)->plan == NULL) VS_TRY(answer_begin(call, *out));
  while ((*out)->steps < steps) VS_TRY(step(call, *out));
  return VS_OK;
}

/* The answer as it was after `steps`, so that a reply does not depend on what was requested before. */
static vs_status answer_search(vs_call *call) {
  const vs_host *host = call->engine->host;
  const uint64_t asked = call->request->steps, all = vs_whatif_steps();
  const uint32_t steps = (uint32_t)(asked == 0 ? all : vs_min_u64(asked, all));
  const size_t strings = vs_whatif_search_count();
  vs_whatif_answer *found;
  VS_TRY(vs_whatif_search(call, steps, &found));
  vs_whatif_answer shown = *found;
  shown.ranking.data = NULL;
  shown.ranking.count = shown.ranking.capacity = 0;
  shown.steps = steps;
  shown.runs.count = found->runs_of_step.data[steps - 1];
  shown.has_smallest = steps >= strings + 2;
  shown.has_bound = steps == all;
  const vs_status status = rank(host, &shown);
  if (status == VS_OK) write_answer(call, &shown);
  vs_vec_free(host, &shown.ranking);
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

static vs_status answer_make(vs_call *call, vs_whatif_answer *a) {
  const vs_host *host = call->engine->host;
  VS_TRY(answer_begin(call, a));
  VS_TRY(vs_whatif_edits(call, a));
  VS_TRY(runs_make(call, a));
  VS_TRY(rank(host, a));
  VS_TRY(smallest_recorded(host, a));
  VS_TRY(smallest_best(host, a));
  a->has_smallest = a->has_bound = true;
  return vs_packing_of(host, a->plan->lifetimes, &a->packing);
}

bool vs_whatif_is_search(const vs_request *r) {
  const size_t edits = r->without.ends.count + r->scale.ends.count + r->free_early.ends.count +
                       r->free.ends.count + r->checkpoint.ends.count;
  return r->set.ends.count == 0 && r->cards.ends.count == 0 && edits == 0 && !r->empty_cache;
}

vs_status vs_method_whatif(vs_call *call) {
  vs_whatif_answer a = {0};
  if (vs_whatif_is_search(call->request)) return answer_search(call);
  const vs_status status = answer_make(call, &a);
  if (status == VS_OK) write_answer(call, &a);
  vs_whatif_answer_deinit(call->engine->host, &a);
  return status;
}
