#include "analyze/replay_snapshot.h"

#include "alloc/settings_entries.h"

_Static_assert((int)VS_ALLOC_ENTRY_BOOL == (int)VS_SETTING_BOOL &&
                   (int)VS_ALLOC_ENTRY_DICT == (int)VS_SETTING_DICT,
               "the kinds of settings are the same");

/* ---- causes: an event of the trace; behind these, a row of lifetimes; behind these, a segment of the start -------- */

vs_context vs_replay_block_cause(const vs_replay_course *r, uint32_t lifetime) {
  const uint64_t cause = (uint64_t)r->plan->lifetimes->slice->event_count + lifetime;
  return lifetime == VS_NO_ROW || cause >= VS_CONTEXT_NONE ? VS_CONTEXT_NONE : (vs_context)cause;
}

vs_context vs_replay_segment_cause(const vs_replay_course *r, size_t segment) {
  const vs_lifetimes *lifetimes = r->plan->lifetimes;
  const uint64_t cause = (uint64_t)lifetimes->slice->event_count + lifetimes->rows.count + segment;
  return cause >= VS_CONTEXT_NONE ? VS_CONTEXT_NONE : (vs_context)cause;
}

/* A stack, with the lines of the forward pass that were recorded beside it. */
typedef struct stack {
  uint32_t frames, forward;
} stack;

static stack stack_of_row(const vs_snapshot *s, uint32_t row) {
  return (stack){vs_events_stack(&s->events, row), vs_events_forward_frames(&s->events, row)};
}

/* Of a block from before the trace: of the end state, or of its free if that tells it. */
static stack stack_of_lifetime(const vs_replay_course *r, uint32_t row) {
  const vs_lifetimes *lifetimes = r->plan->lifetimes;
  const vs_lifetime *life = &lifetimes->rows.data[row];
  const uint32_t event = vs_lifetime_event(life);
  if (life->block != VS_NO_ROW) {
    const vs_block *block = &r->snapshot->blocks.data[life->block];
    return (stack){block->stack, block->forward_frames};
  }
  if (event == VS_NO_EVENT || !lifetimes->frees_tell_alloc) return (stack){VS_LIST_NONE, VS_LIST_NONE};
  return stack_of_row(r->snapshot, vs_slice_row(lifetimes->slice, event));
}

static stack stack_of_segment(const vs_replay_course *r, size_t index) {
  VS_ASSERT(index < r->plan->start.segments.count);
  const uint32_t row = r->plan->start.segments.data[index].row;
  if (row == VS_NO_ROW) return (stack){VS_LIST_NONE, VS_LIST_NONE};
  const vs_segment *segment = &r->snapshot->segments.data[row];
  return (stack){segment->stack, segment->forward_frames};
}

static stack stack_of(const vs_replay_course *r, vs_context cause) {
  const vs_slice *slice = r->plan->lifetimes->slice;
  const size_t rows = r->plan->lifetimes->rows.count;
  if (cause == VS_CONTEXT_NONE) return (stack){VS_LIST_NONE, VS_LIST_NONE};
  if (cause < slice->event_count) return stack_of_row(r->snapshot, vs_slice_row(slice, cause));
  cause -= slice->event_count;
  return cause < rows ? stack_of_lifetime(r, cause) : stack_of_segment(r, cause - rows);
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

/* The recorded event whose time and metadata an event gets. */
static uint32_t source_of(const vs_replay_snapshot *it, vs_event_kind kind) {
  return kind == VS_EVENT_FREE_COMPLETED && it->completed_at != VS_NO_EVENT ? it->completed_at : it->now;
}

static vs_status copy_metadata(vs_replay_snapshot *it, uint32_t row, const vs_events *from, uint32_t source) {
  const vs_host *host = it->snapshot.host;
  vs_events *events = &it->snapshot.events;
  VS_TRY(vs_events_set_time_us(host, events, row, vs_events_time_us(from, source)));
  VS_TRY(vs_events_set_compile_context(host, events, row, vs_events_compile_context(from, source)));
  VS_TRY(vs_events_set_user_metadata(host, events, row, vs_events_user_metadata(from, source)));
  return vs_events_set_category(host, events, row, vs_events_category(from, source));
}

static vs_status add_event(vs_replay_course *r, vs_replay_snapshot *it, const vs_event *event) {
  const vs_host *host = it->snapshot.host;
  vs_events *events = &it->snapshot.events;
  const vs_slice *slice = r->plan->lifetimes->slice;
  if (source_of(it, event->kind) > it->source) it->source = source_of(it, event->kind);
  const uint32_t source = vs_slice_row(slice, it->source);
  const stack s =
      event->kind == VS_EVENT_SNAPSHOT ? stack_of_row(r->snapshot, source) : stack_of(r, event->context);
  uint32_t row;
  VS_TRY(vs_events_add(host, events, &row));
  VS_TRY(vs_events_set_action(host, events, row, (uint16_t)event->kind));
  VS_TRY(vs_events_set_address(host, events, row, event->address));
  VS_TRY(vs_events_set_size(host, events, row, event->size));
  VS_TRY(vs_events_set_stream(host, events, row, vs_replay_names_stream(&it->names, event->stream)));
  VS_TRY(vs_events_set_pool(host, events, row, vs_replay_names_pool(&it->names, event->pool)));
  VS_TRY(vs_events_set_stack(host, events, row, s.frames));
  VS_TRY(vs_events_set_forward_frames(host, events, row, s.forward));
  return copy_metadata(it, row, &r->snapshot->events, source);
}

void vs_replay_snapshot_observe(void *ctx, const vs_event *event) {
  vs_replay_course *r = ctx;
  vs_replay_snapshot *it = r->options->snapshot;
  if (it->now == VS_NO_EVENT || r->status != VS_OK) return;
  r->status = add_event(r, it, event);
}

/* That of a private pool visits all blocks, which a hostile file could ask for with every event. */
static void take_snapshot(vs_replay_course *r, vs_pool_id pool) {
  if (!vs_pool_id_is_default(pool)) r->device.work += vs_replay_visit_work(r);
  r->out->is_cut |= r->device.work > r->device.most_work;
  if (!r->out->is_cut) vs_alloc_mark_snapshot(r->alloc, pool);
}

/* Snapshots that the program took before the event `end`. */
static vs_status pass(vs_replay_course *r, vs_replay_snapshot *it, uint32_t end) {
  const vs_slice *slice = r->plan->lifetimes->slice;
  const vs_events *events = &r->snapshot->events;
  VS_ASSERT(end <= slice->event_count);
  for (; it->next < end && !r->out->is_cut; it->next++) {
    const uint32_t row = vs_slice_row(slice, it->next);
    if (vs_events_kind(events, row) != VS_EVENT_SNAPSHOT) continue;
    it->now = it->next;
    take_snapshot(r, vs_replay_pool(r, vs_events_pool(events, row)));
  }
  return r->status;
}

vs_status vs_replay_snapshot_begin(vs_replay_course *r) {
  return r->options->snapshot == NULL ? VS_OK : vs_replay_names_init(r, &r->options->snapshot->names);
}

vs_status vs_replay_snapshot_step(vs_replay_course *r, const vs_replay_request *request) {
  vs_replay_snapshot *it = r->options->snapshot;
  if (it == NULL) return VS_OK;
  VS_TRY(pass(r, it, request->event));
  it->now = request->event;
  it->completed_at = VS_NO_EVENT;
  if (request->kind != VS_REPLAY_FREE || request->is_prompt) return VS_OK;
  const uint32_t end = r->plan->lifetimes->rows.data[request->lifetime].end;
  if (end == request->event + 1) it->completed_at = end;
  return VS_OK;
}

vs_status vs_replay_snapshot_rest(vs_replay_course *r) {
  vs_replay_snapshot *it = r->options->snapshot;
  if (it == NULL || r->out->ran_out) return VS_OK;
  return pass(r, it, r->plan->lifetimes->slice->event_count);
}

/* ---- segments and blocks ----------------------------------------------------------------------------------------- */

static uint32_t stack_or_empty(uint32_t frames) { return frames == VS_LIST_NONE ? VS_LIST_EMPTY : frames; }

static vs_status see_segment(void *ctx, const vs_alloc_segment_info *seen) {
  const vs_replay_course *r = ctx;
  vs_replay_snapshot *it = r->options->snapshot;
  vs_snapshot *s = &it->snapshot;
  const stack cause = stack_of(r, seen->context);
  VS_TRY(vs_vec_reserve(s->host, &s->segments, 1));
  s->segments.data[s->segments.count++] =
      (vs_segment){.address = seen->address,
                   .total_size = seen->size,
                   .allocated_size = seen->allocated,
                   .active_size = seen->active,
                   .requested_size = seen->requested,
                   .registration_counter = VS_NO_COUNTER,
                   .device = r->plan->lifetimes->slice->device,
                   .stream = vs_replay_names_stream(&it->names, seen->stream),
                   .pool = vs_replay_names_pool(&it->names, seen->pool),
                   .type = seen->is_small ? it->small : it->large,
                   .stack = stack_or_empty(cause.frames),
                   .forward_frames = cause.forward,
                   .first_block = (uint32_t)s->blocks.count,
                   .has = VS_SEGMENT_HAS_ALLOCATED | VS_SEGMENT_HAS_ACTIVE | VS_SEGMENT_HAS_REQUESTED |
                          VS_SEGMENT_HAS_EXPANDABLE,
                   .is_expandable = seen->is_expandable};
  return VS_OK;
}

static vs_status see_block(void *ctx, const vs_alloc_block_info *seen) {
  static const vs_block_state states[] = {[VS_ALLOC_BLOCK_ALLOCATED] = VS_BLOCK_ALLOCATED,
                                          [VS_ALLOC_BLOCK_PENDING] = VS_BLOCK_PENDING,
                                          [VS_ALLOC_BLOCK_FREE] = VS_BLOCK_INACTIVE};
  const vs_replay_course *r = ctx;
  vs_replay_snapshot *it = r->options->snapshot;
  vs_snapshot *s = &it->snapshot;
  const stack cause = stack_of(r, seen->context);
  VS_ASSERT(s->segments.count != 0);
  if (s->blocks.count == UINT32_MAX) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(s->host, &s->blocks, 1));
  s->blocks.data[s->blocks.count++] = (vs_block){.address = seen->address,
                                                 .size = seen->size,
                                                 .requested_size = seen->requested,
                                                 .stack = stack_or_empty(cause.frames),
                                                 .forward_frames = cause.forward,
                                                 .state_name = it->states[seen->state],
                                                 .state = (uint8_t)states[seen->state],
                                                 .has = VS_BLOCK_HAS_ADDRESS | VS_BLOCK_HAS_REQUESTED};
  s->segments.data[s->segments.count - 1].block_count++;
  return VS_OK;
}

/* A trace for each GPU of the file, of which only that of the replay has events. */
static vs_status add_traces(const vs_replay_course *r, vs_snapshot *s) {
  const int32_t device = r->plan->lifetimes->slice->device;
  for (size_t i = 0; i < r->snapshot->traces.count; i++) {
    const vs_trace *recorded = &r->snapshot->traces.data[i];
    if (recorded->device == VS_DEVICE_HOST) continue;
    const uint32_t before = recorded->device > device ? s->events.count : 0;
    VS_TRY(vs_vec_reserve(s->host, &s->traces, 1));
    s->traces.data[s->traces.count++] = (vs_trace){.device = recorded->device,
                                                   .first = before,
                                                   .count = recorded->device == device ? s->events.count : 0};
  }
  return VS_OK;
}

vs_status vs_replay_snapshot_end(vs_replay_course *r) {
  vs_replay_snapshot *it = r->options->snapshot;
  if (it == NULL || r->out->is_cut) return VS_OK;
  const vs_alloc_visitor visitor = {.ctx = r, .segment = see_segment, .block = see_block};
  VS_TRY(add_traces(r, &it->snapshot));
  return vs_alloc_visit(r->alloc, (vs_pool_id){0, 0}, &visitor);
}

/* ---- before and behind the run --------------------------------------------------------------------------------- */

/* In the same order, so that each has the same id. */
static vs_status copy_strings(vs_snapshot *s, const vs_strings *from) {
  VS_TRY(vs_strings_init(s->host, &s->strings));
  for (uint32_t i = VS_STRING_EMPTY; i < vs_strings_count(from); i++) {
    uint32_t id;
    VS_TRY(vs_strings_intern(s->host, &s->strings, vs_strings_at(from, i), &id));
    VS_ASSERT(id == i);
  }
  return VS_OK;
}

static vs_status intern_words(vs_replay_snapshot *it) {
  static const vs_block_state states[] = {[VS_ALLOC_BLOCK_ALLOCATED] = VS_BLOCK_ALLOCATED,
                                          [VS_ALLOC_BLOCK_PENDING] = VS_BLOCK_PENDING,
                                          [VS_ALLOC_BLOCK_FREE] = VS_BLOCK_INACTIVE};
  vs_snapshot *s = &it->snapshot;
  VS_TRY(vs_strings_intern(s->host, &s->strings, VS_STR("small"), &it->small));
  VS_TRY(vs_strings_intern(s->host, &s->strings, VS_STR("large"), &it->large));
  for (size_t i = 0; i < sizeof states / sizeof *states; i++)
    VS_TRY(
        vs_strings_intern(s->host, &s->strings, vs_str_from(vs_block_state_name(states[i])), &it->states[i]));
  return VS_OK;
}

vs_status vs_replay_snapshot_init(vs_replay_snapshot *out, const vs_host *host, const vs_snapshot *recorded) {
  *out = (vs_replay_snapshot){.now = VS_NO_EVENT, .completed_at = VS_NO_EVENT};
  vs_snapshot *s = &out->snapshot;
  s->host = host;
  s->stacks = recorded->stacks;
  s->texts = recorded->texts;
  s->forward = recorded->forward;
  memcpy(&s->annotations, &recorded->annotations, sizeof s->annotations);
  memcpy(&s->streams, &recorded->streams, sizeof s->streams);
  memcpy(&s->pools, &recorded->pools, sizeof s->pools);
  memcpy(&s->actions, &recorded->actions, sizeof s->actions);
  s->format = VS_FORMAT_PICKLE;
  s->has = VS_HAS_SEGMENTS | VS_HAS_TRACES | VS_HAS_SETTINGS | VS_HAS_ANNOTATIONS | VS_HAS_HOST_SEGMENTS |
           VS_HAS_HOST_TRACES;
  VS_TRY(copy_strings(s, &recorded->strings));
  return intern_words(out);
}

void vs_replay_snapshot_deinit(vs_replay_snapshot *it) {
  vs_snapshot *s = &it->snapshot;
  vs_strings_deinit(s->host, &s->strings);
  vs_events_deinit(s->host, &s->events);
  vs_vec_free(s->host, &s->traces);
  vs_vec_free(s->host, &s->segments);
  vs_vec_free(s->host, &s->blocks);
  vs_vec_free(s->host, &s->settings);
  vs_replay_names_deinit(s->host, &it->names);
}

static vs_status add_entry(void *ctx, const vs_alloc_entry *entry) {
  const vs_setting setting = {.kind = (uint8_t)entry->kind, .depth = entry->depth, .bits = entry->bits};
  return vs_snapshot_setting_add(ctx, entry->key, setting, entry->text);
}

/* The settings string as it was given, if that says all that is in force, as far as PyTorch's keys do; else one that does. */
static void put_settings(const vs_alloc_settings *settings, vs_text *out) {
  const vs_str given = {settings->text, settings->text_size};
  vs_alloc_settings shown = *settings, parsed;
  vs_error error;
  vs_text other;
  vs_text_init(&other, out->host, NULL);
  shown.rules = vs_alloc_rules_default();
  vs_replay_settings_write(&shown, out);
  if (vs_replay_settings_parse(given, NULL, &parsed, &error) == VS_OK)
    vs_replay_settings_write(&parsed, &other);
  if (other.status == VS_OK && vs_str_equal(vs_text_view(out), vs_text_view(&other))) {
    out->bytes.count = 0;
    vs_text_str(out, given);
  }
  if (other.status != VS_OK && out->status == VS_OK) out->status = other.status;
  vs_text_deinit(&other);
}

vs_status vs_replay_snapshot_seal(vs_replay_snapshot *it, const vs_alloc_settings *settings,
                                  const vs_whatif_mark *mark, bool is_cut_off) {
  vs_snapshot *s = &it->snapshot;
  const vs_setting overflowed = {.kind = VS_SETTING_BOOL, .bits = 1};
  vs_text text;
  vs_text_init(&text, s->host, NULL);
  put_settings(settings, &text);
  vs_status status = text.status;
  if (status == VS_OK) status = vs_alloc_entries_visit(settings, vs_text_view(&text), add_entry, s);
  vs_text_deinit(&text);
  VS_TRY(status);
  if (is_cut_off)
    VS_TRY(vs_snapshot_setting_add(s, VS_STR("trace_alloc_overflowed"), overflowed, VS_STR("")));
  return vs_whatif_mark_add(s, mark);
}
