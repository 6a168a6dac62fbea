/* "oom": why a request failed, and what would have let it pass. */
#include "query/advice.h"
#include "query/oom_answer.h"
#include "query/replays.h"
#include "query/whatif_answer.h"

enum {
  MOST_ROWS = 16,      /* blocks that a repetition names one by one */
  MOST_NUMBERS = 1024, /* numbers of blocks in a reply */
  MOST_LINES = 16,     /* lines that it names */
};

/* ---- a remedy as parameters of "whatif" ---------------------------------------------------------------- */

static void list_begin(vs_call *call, const char *key) { vs_reply_array_begin(call->json, key); }

/* The filter that keeps a line, with what may follow it. */
static void put_line_filter(vs_call *call, const vs_group *group) {
  if (!vs_put_group_filter(call, VS_BY_LINE, group)) call->scratch.bytes.count = 0;
}

static void write_text(vs_call *call) {
  vs_jsonw_str(call->json, vs_text_view(&call->scratch));
  call->scratch.bytes.count = 0;
}

/* The blocks of a part: the whole line, or each by its number. */
static void write_blocks(vs_call *call, const vs_remedies *remedies, const vs_remedy_part *part) {
  if (part->count == part->group.count) {
    put_line_filter(call, &part->group);
    write_text(call);
    return;
  }
  for (uint32_t i = 0; i < part->count; i++) {
    vs_text_format(&call->scratch, "row=%u", remedies->rows.data[part->first + i]);
    write_text(call);
  }
}

static void write_free(vs_call *call, const vs_remedies *remedies, const vs_remedy *remedy) {
  list_begin(call, "free");
  for (uint32_t i = 0; i < remedy->part_count; i++) {
    const vs_remedy_part *part = vs_remedy_part_at(remedies, remedy, i);
    if (remedy->kind != VS_REMEDY_GROWTH) {
      write_blocks(call, remedies, part);
      continue;
    }
    put_line_filter(call, &part->group);
    vs_text_format(&call->scratch, " event<%u", remedy->before_event);
    write_text(call);
  }
  vs_jsonw_array_end(call->json);
}

static void write_scale(vs_call *call, const vs_remedies *remedies, const vs_remedy *remedy) {
  list_begin(call, "scale");
  for (uint32_t i = 0; i < remedy->part_count; i++) {
    put_line_filter(call, &vs_remedy_part_at(remedies, remedy, i)->group);
    vs_text_format(&call->scratch, "=0.%s%u", remedy->percent > 90 ? "0" : "", 100 - remedy->percent);
    write_text(call);
  }
  vs_jsonw_array_end(call->json);
}

/* Whether a filter names each of its lines. */
static bool has_filters(vs_call *call, const vs_remedies *remedies, const vs_remedy *remedy) {
  bool has = true;
  for (uint32_t i = 0; i < remedy->part_count && has; i++) {
    has = vs_put_group_filter(call, VS_BY_LINE, &vs_remedy_part_at(remedies, remedy, i)->group);
    call->scratch.bytes.count = 0;
  }
  return has;
}

/* Whether the same replay can be asked of "whatif", which takes the recorded capacity, filters and named cards. */
static bool is_repeatable(vs_call *call, const vs_remedies *remedies, const vs_remedy *remedy) {
  if (remedies->basis != VS_BASIS_RECORDED || remedy->part_count > MOST_LINES) return false;
  if (remedy->kind == VS_REMEDY_CARD) return remedy->card != NULL;
  for (uint32_t i = 0; i < remedy->part_count; i++) {
    const vs_remedy_part *part = vs_remedy_part_at(remedies, remedy, i);
    if (part->count > MOST_ROWS && part->count != part->group.count && remedy->kind == VS_REMEDY_OWNER)
      return false;
  }
  return has_filters(call, remedies, remedy);
}

static void write_repetition(vs_call *call, const vs_remedies *remedies, const vs_remedy *remedy) {
  vs_jsonw *json = call->json;
  vs_jsonw_key(json, VS_STR("whatif"));
  if (!is_repeatable(call, remedies, remedy)) {
    vs_jsonw_null(json);
    return;
  }
  vs_jsonw_object_begin(json);
  switch (remedy->kind) {
    case VS_REMEDY_SETTINGS:
      list_begin(call, "set");
      vs_jsonw_str(json, vs_str_from(remedy->settings));
      vs_jsonw_array_end(json);
      break;
    case VS_REMEDY_EMPTY_CACHE: vs_jsonw_member_bool(json, "empty_cache", true); break;
    case VS_REMEDY_GROWTH:
    case VS_REMEDY_OWNER: write_free(call, remedies, remedy); break;
    case VS_REMEDY_SHRINK:
    case VS_REMEDY_ACTIVATIONS: write_scale(call, remedies, remedy); break;
    case VS_REMEDY_LIMIT: break;
    case VS_REMEDY_CARD:
      list_begin(call, "cards");
      vs_jsonw_str(json, vs_str_from(remedy->card->key));
      vs_jsonw_array_end(json);
      break;
  }
  vs_jsonw_object_end(json);
}

/* ---- remedies ------------------------------------------------------------------------------------------ */

static void write_parts(vs_call *call, const vs_remedies *remedies, const vs_remedy *remedy) {
  vs_jsonw *json = call->json;
  vs_reply_array_begin(json, "parts");
  for (uint32_t i = 0; i < remedy->part_count; i++) {
    const vs_remedy_part *part = vs_remedy_part_at(remedies, remedy, i);
    vs_jsonw_object_begin(json);
    vs_reply_group_name(call, VS_BY_LINE, &part->group);
    vs_jsonw_member_u64(json, "blocks", part->count);
    vs_reply_array_begin(json, "rows");
    for (uint32_t r = 0; r < part->count && r < MOST_NUMBERS; r++)
      vs_jsonw_u64(json, remedies->rows.data[part->first + r]);
    vs_jsonw_array_end(json);
    vs_jsonw_member_u64(json, "bytes", part->bytes);
    vs_jsonw_member_u64(json, "of_blocks", part->group.count);
    vs_jsonw_member_u64(json, "of_bytes", part->group.bytes);
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
}

static void write_card(vs_call *call, const vs_remedy *remedy) {
  vs_jsonw *json = call->json;
  const vs_sim_profile *card = remedy->card;
  vs_jsonw_key(json, VS_STR("card"));
  if (card == NULL) {
    vs_jsonw_null(json);
    return;
  }
  vs_jsonw_object_begin(json);
  vs_jsonw_member_str(json, "key", vs_str_from(card->key));
  vs_jsonw_member_str(json, "name", vs_str_from(card->name));
  vs_jsonw_member_u64(json, "total_bytes", card->figures.total_bytes);
  vs_jsonw_member_u64(json, "room_bytes", remedy->room);
  vs_jsonw_object_end(json);
}

static void write_remedy(vs_call *call, const vs_remedies *remedies, const vs_remedy *remedy) {
  vs_jsonw *json = call->json;
  vs_jsonw_object_begin(json);
  vs_jsonw_member_str(json, "kind", vs_str_from(vs_remedy_word(remedy->kind)));
  if (remedy->settings == NULL) vs_jsonw_member_null(json, "settings");
  else vs_jsonw_member_str(json, "settings", vs_str_from(remedy->settings));
  vs_jsonw_member_u64(json, "capacity_bytes", remedy->capacity);
  if (remedy->part_count == 0) vs_jsonw_member_null(json, "owner");
  else {
    vs_put_group_label(call, VS_BY_LINE, &vs_remedy_part_at(remedies, remedy, 0)->group);
    vs_reply_scratch(call, "owner");
  }
  write_parts(call, remedies, remedy);
  vs_jsonw_member_bool(json, "is_any", remedy->is_any);
  vs_reply_u64_or_null(json, "percent", remedy->percent != 0, remedy->percent);
  vs_reply_u64_or_null(json, "bytes", remedy->bytes != 0, remedy->bytes);
  write_card(call, remedy);
  vs_jsonw_member_bool(json, "passes", true); /* others are not in the list */
  vs_jsonw_member_u64(json, "reserved_peak_bytes", remedy->reserved_peak);
  vs_jsonw_member_u64(json, "device_allocs", remedy->device_allocs);
  write_repetition(call, remedies, remedy);
  vs_jsonw_object_end(json);
}

static const char *basis_word(vs_remedy_basis basis) {
  switch (basis) {
    case VS_BASIS_RECORDED: return "recorded";
    case VS_BASIS_LEAST: return "least";
    case VS_BASIS_NONE: break;
  }
  return NULL;
}

static void write_remedies(vs_call *call, const vs_oom_answer *a) {
  vs_jsonw *json = call->json;
  const vs_remedies *remedies = &a->remedies;
  const bool is_searched = a->search == VS_SEARCHED;
  const char *word = is_searched ? basis_word(remedies->basis) : NULL;
  if (word == NULL) vs_jsonw_member_null(json, "replayed_as");
  else vs_jsonw_member_str(json, "replayed_as", vs_str_from(word));
  vs_reply_u64_or_null(json, "replayed_bytes", word != NULL, remedies->capacity);
  vs_reply_u64_or_null(json, "replayed_allocs", word != NULL, remedies->baseline.device_allocs);
  vs_reply_u64_or_null(json, "settings_tried", is_searched, remedies->settings_tried);
  vs_reply_u64_or_null(json, "settings_passing", is_searched, remedies->settings_passing);
  vs_jsonw_member_bool(json, "is_cut", remedies->is_cut);
  if (!is_searched) {
    vs_jsonw_member_null(json, "remedies");
    return;
  }
  vs_reply_array_begin(json, "remedies");
  for (size_t i = 0; i < remedies->list.count; i++) write_remedy(call, remedies, &remedies->list.data[i]);
  vs_jsonw_array_end(json);
}

/* ---- the failed request -------------------------------------------------------------------------------- */

static void write_failure(vs_call *call, const vs_oom_answer *a) {
  vs_jsonw *json = call->json;
  const vs_oom *oom = a->failure;
  const uint64_t reserved = oom->reserved < 0 ? 0 : (uint64_t)oom->reserved;
  vs_jsonw_object_begin(json);
  vs_reply_device(call, call->device);
  vs_jsonw_member_u64(json, "event", oom->event);
  vs_reply_time(json, "time_us", oom->time_us);
  vs_reply_stream(call, oom->stream);
  vs_jsonw_member_u64(json, "requested_bytes", oom->size);
  vs_reply_u64_or_null(json, "short_bytes", oom->is_short_known, oom->short_by);
  vs_jsonw_member_str(json, "cause", vs_str_from(vs_oom_verdict_name(oom->verdict)));
  vs_jsonw_member_str(json, "sentence", vs_str_from(vs_explain_oom(oom->verdict)));
  vs_reply_u64_or_null(json, "capacity_bytes", oom->is_free_known,
                       vs_sat_add_u64(reserved, oom->device_free));
  vs_reply_cached(call, "reserved_bytes", reserved);
  vs_reply_u64_or_null(json, "allocated_bytes", oom->is_looked_at, oom->active);
  vs_reply_u64_or_null(json, "cached_bytes", oom->is_looked_at && vs_reply_knows_segments(call), oom->cached);
  vs_reply_u64_or_null(json, "cached_usable_bytes", oom->is_looked_at && vs_reply_knows_segments(call),
                       oom->cached_usable);
  vs_reply_u64_or_null(json, "free_bytes", oom->is_free_known, oom->device_free);
  vs_jsonw_member_bool(json, "is_exact", oom->is_exact);
  vs_reply_owners(call, &oom->owners, oom->is_looked_at);
  vs_reply_owner(call, oom->stack, false);
  vs_reply_stack(call, oom->stack);
  write_remedies(call, a);
  vs_jsonw_object_end(json);
}

/* Other GPUs that have a failed request: the first of each. */
static void write_others(vs_call *call) {
  vs_jsonw *json = call->json;
  const vs_device_caches *devices = &call->engine->devices;
  vs_reply_array_begin(json, "others");
  for (size_t i = 0; i < devices->count; i++) {
    vs_device_cache *device = &devices->data[i];
    if (device == call->device || vs_cached_failures(device)->count == 0) continue;
    const vs_failures *failures = vs_cached_failures(device);
    const uint32_t row = vs_slice_row(device->slice, failures->first);
    vs_jsonw_object_begin(json);
    vs_reply_device(call, device);
    vs_jsonw_member_u64(json, "event", failures->first);
    vs_reply_time(json, "time_us", failures->time_us);
    vs_jsonw_member_u64(json, "requested_bytes", vs_events_size(&call->engine->snapshot->events, row));
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
}

static void write_answer(vs_call *call, const vs_oom_answer *a) {
  vs_jsonw *json = call->json;
  vs_reply_device(call, call->device);
  vs_jsonw_member_u64(json, "events", call->device->slice->event_count);
  vs_reply_time(json, "first_time_us", a->told.times->first_us);
  vs_oom_lines(call, a);
  if (a->search == VS_SEARCHED) vs_reply_check(call, &a->replays->recorded, &a->replays->check);
  else vs_jsonw_member_null(json, "check");
  vs_jsonw_member_u64(json, "failures", a->told.report->ooms.list.count);
  vs_reply_array_begin(json, "ooms");
  if (a->failure != NULL) write_failure(call, a);
  vs_jsonw_array_end(json);
  write_others(call);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static vs_remedy_search search_of(const vs_call *call, const vs_oom_answer *a) {
  vs_replay_options recorded;
  vs_replay_options_init(&recorded, call->engine->snapshot);
  if (a->failure == NULL) return VS_NO_FAILURE;
  if (recorded.settings.backend != VS_ALLOC_NATIVE || call->device->slice->device == VS_DEVICE_HOST)
    return VS_OTHER_ALLOCATOR;
  return call->request->remedies ? VS_SEARCHED : VS_NOT_ASKED_FOR;
}

static vs_status search(vs_call *call, vs_oom_answer *a) {
  const vs_host *host = call->engine->host;
  const vs_report *report = a->told.report;
  const vs_moment_index *moments;
  a->search = search_of(call, a);
  if (a->search != VS_SEARCHED) return VS_OK;
  VS_TRY(vs_cached_moments(host, call->device, &moments));
  VS_TRY(vs_cached_check(call, &a->replays));
  const vs_remedy_case of = {.plan = &a->replays->plan,
                             .recorded = &a->replays->recorded,
                             .rules_of_age = a->replays->rules_of_age,
                             .spans = &moments->spans,
                             .growths = &report->growths,
                             .steps = &report->steps,
                             .frames = &call->engine->frames,
                             .event = a->failure->event,
                             .is_limited = a->failure->verdict == VS_OOM_LIMIT};
  return vs_remedies_find(host, &of, &a->remedies);
}

vs_status vs_method_oom(vs_call *call) {
  const vs_host *host = call->engine->host;
  vs_report *report;
  vs_oom_answer a = {.failure = NULL};
  VS_TRY(vs_cached_report(host, call->device, &report));
  VS_TRY(vs_cached_times(host, call->device, &a.told.times));
  a.told.report = report;
  if (report->ooms.list.count != 0) a.failure = &report->ooms.list.data[report->ooms.list.count - 1];
  const vs_status status = search(call, &a);
  if (status == VS_OK) write_answer(call, &a);
  vs_remedies_deinit(host, &a.remedies);
  return status;
}
