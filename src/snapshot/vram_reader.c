#include "snapshot/vram_reader.h"
#include "base/text.h"
#include "snapshot/vram_reconcile.h"
#include "snapshot/vram_state.h"
#include "tracefile/reader.h"

/* The ids of the file and those of the snapshot differ: by id of the file, 1 + the id in the snapshot; 0: not in the
 * file. */
typedef VS_VEC(uint32_t) names;

/* The frames of the snapshot for one frame of the file: several, if calls were inlined. */
typedef struct run {
  uint32_t first, count; /* in run_items */
} run;

typedef struct module {
  uint32_t path, build_id; /* strings */
} module;

typedef struct context {
  int32_t device;
  uint32_t stream, pool;
  uint32_t compile_context, user_metadata, category, forward_frames;
} context;

/* A hostile file may have many losses, each followed by a tiny state: this many are reconciled. */
enum { MOST_RECONCILED = 1 << 16 };

/* Invariant: events.count = devices.count = rounded.count; pending_* are the rows of the state that is being read;
 * gap_rows[cause] is 1 + the number of events before the first gap of that cause, or 0. */
typedef struct builder {
  vs_snapshot *s;
  const vs_host *host;
  const vs_read_options *options;
  names strings, texts, stacks;
  VS_VEC(run) frames;
  VS_VEC(uint32_t) run_items;
  VS_VEC(module) modules;
  VS_VEC(context) contexts;
  uint32_t first_context; /* the file's number of contexts.data[0]; earlier frames' contexts are dropped */
  VS_VEC(uint32_t) scratch;
  VS_VEC(int32_t) devices;  /* by event */
  VS_VEC(uint64_t) rounded; /* by event */
  vs_map stream_by_handle, pool_by_hash, action_by_string;
  uint32_t states[VS_BLOCK_UNKNOWN]; /* the names of the block states */
  VS_VEC(vs_segment) pending_segments;
  VS_VEC(vs_block) pending_blocks;
  bool is_in_state;
  int64_t pending_us;
  const vs_trace_report *report;
  uint64_t damages;    /* of the report, noted already */
  uint64_t missing;    /* events lost by damage, noted already */
  uint64_t lost;       /* by the last record LOST */
  bool is_gap_open;    /* events were lost since the last state */
  uint32_t reconciled; /* gaps */
  uint32_t gap_rows[VS_GAP_CAUSES];
  vs_trace_moment pending_moment, moment; /* of the state that is being read; of the last complete one */
  uint32_t state_row;                     /* the number of events before the last complete state */
  int64_t oldest_us;                      /* of all events and annotations; INT64_MAX: there are none */
  uint32_t device_count;
  bool has_host, has_shape, has_no_completions;
} builder;

/* ---- tables of the snapshot ---------------------------------------------------------------------------- */

static uint32_t lookup(const uint32_t *data, size_t count, uint32_t id) {
  return id < count && data[id] != 0 ? data[id] - 1 : 0; /* id 0 means none in every table */
}
#define LOOKUP(names, id) lookup((names).data, (names).count, (id))

static uint32_t string_of(const builder *b, uint32_t id) {
  return id <= VS_TRACE_EMPTY ? id : LOOKUP(b->strings, id);
}
static uint32_t texts_of(const builder *b, uint32_t id) {
  return id <= VS_TRACE_EMPTY ? id : LOOKUP(b->texts, id);
}
static uint32_t stack_of(const builder *b, uint32_t id) {
  return id <= VS_TRACE_EMPTY ? id : LOOKUP(b->stacks, id);
}

static vs_status put_name(builder *b, names *n, uint32_t id, uint32_t here) {
  if (id >= n->count) {
    VS_TRY(vs_vec_reserve(b->host, n, id + (size_t)1 - n->count));
    memset(n->data + n->count, 0, (id + (size_t)1 - n->count) * sizeof *n->data);
    n->count = id + (size_t)1;
  }
  n->data[id] = here + 1;
  return VS_OK;
}

static vs_status stream_index(builder *b, uint64_t handle, uint32_t *index) {
  const size_t slot = vs_map_find(&b->stream_by_handle, handle);
  if (slot != VS_MAP_NONE) {
    *index = b->stream_by_handle.slots[slot].value;
    return VS_OK;
  }
  VS_TRY(vs_vec_reserve(b->host, &b->s->streams, 1));
  VS_TRY(vs_map_reserve(b->host, &b->stream_by_handle));
  *index = (uint32_t)b->s->streams.count;
  b->s->streams.data[b->s->streams.count++] = handle;
  vs_map_add(&b->stream_by_handle, handle, *index);
  return VS_OK;
}

/* 1 + the index of a pool; 0 if it is unknown. */
static vs_status pool_number(builder *b, bool has_pool, vs_pool_id id, uint32_t *number) {
  *number = 0;
  if (!has_pool) return VS_OK;
  const uint64_t hash = vs_hash_mix(vs_hash_u64(id.a), id.b ^ UINT64_C(0x9fb21c651e98df25));
  for (size_t slot = vs_map_find(&b->pool_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&b->pool_by_hash, slot)) {
    *number = b->pool_by_hash.slots[slot].value + 1;
    if (vs_pool_id_equal(b->s->pools.data[*number - 1], id)) return VS_OK;
  }
  VS_TRY(vs_vec_reserve(b->host, &b->s->pools, 1));
  VS_TRY(vs_map_reserve(b->host, &b->pool_by_hash));
  vs_map_add(&b->pool_by_hash, hash, (uint32_t)b->s->pools.count);
  b->s->pools.data[b->s->pools.count++] = id;
  *number = (uint32_t)b->s->pools.count;
  return VS_OK;
}

static vs_status intern(builder *b, vs_str text, uint32_t *id) {
  return vs_strings_intern(b->host, &b->s->strings, text, id);
}

/* ---- frames -------------------------------------------------------------------------------------------- */

static vs_status begin_run(builder *b, uint32_t id) {
  if (id >= b->frames.count) {
    VS_TRY(vs_vec_reserve(b->host, &b->frames, id + (size_t)1 - b->frames.count));
    memset(b->frames.data + b->frames.count, 0, (id + (size_t)1 - b->frames.count) * sizeof(run));
    b->frames.count = id + (size_t)1;
  }
  b->frames.data[id] = (run){.first = (uint32_t)b->run_items.count};
  return VS_OK;
}

static vs_status add_to_run(builder *b, uint32_t id, uint32_t name, uint32_t file, int64_t line,
                            const vs_frame_detail *detail) {
  uint32_t frame;
  VS_TRY(vs_stacks_frame(b->host, &b->s->stacks, name, file, line, detail, &frame));
  VS_TRY(vs_vec_reserve(b->host, &b->run_items, 1));
  b->run_items.data[b->run_items.count++] = frame;
  VS_ASSERT(id < b->frames.count &&
            b->frames.data[id].first + b->frames.data[id].count + 1 == b->run_items.count);
  b->frames.data[id].count++;
  return VS_OK;
}

static vs_status take_frame(builder *b, const vs_trace_frame *frame) {
  const vs_trace_detail *from = &frame->detail;
  const vs_frame_detail detail = {
      .fx_node_op = string_of(b, from->fx_node_op),
      .fx_node_name = string_of(b, from->fx_node_name),
      .fx_node_target = string_of(b, from->fx_node_target),
      .fx_original_trace = string_of(b, from->fx_original_trace),
  };
  const bool is_detailed =
      (detail.fx_node_op | detail.fx_node_name | detail.fx_node_target | detail.fx_original_trace) != 0;
  VS_TRY(begin_run(b, frame->id));
  return add_to_run(b, frame->id, string_of(b, frame->name), string_of(b, frame->file), frame->line,
                    is_detailed ? &detail : NULL);
}

static vs_status take_module(builder *b, const vs_trace_module *from) {
  if (from->id >= b->modules.count) {
    VS_TRY(vs_vec_reserve(b->host, &b->modules, from->id + (size_t)1 - b->modules.count));
    while (b->modules.count <= from->id) b->modules.data[b->modules.count++] = (module){0};
  }
  b->modules.data[from->id] =
      (module){.path = string_of(b, from->path), .build_id = string_of(b, from->build_id)};
  return VS_OK;
}

/* "libtorch.so+0x12ab" */
static vs_status name_by_offset(builder *b, vs_str path, uint64_t offset, uint32_t *name) {
  size_t base = path.size;
  while (base > 0 && path.data[base - 1] != '/') base--;
  vs_text text;
  vs_text_init(&text, b->host, NULL);
  vs_text_put(&text, path.data + base, path.size - base);
  vs_text_cstr(&text, "+0x");
  vs_text_hex(&text, offset);
  vs_status status = text.status;
  if (status == VS_OK) status = intern(b, vs_text_view(&text), name);
  vs_text_deinit(&text);
  return status;
}

/* Without names the frame is "library+offset", as in PyTorch where it has no file and no line. */
static vs_status take_native(builder *b, const vs_trace_native *native) {
  const module of = native->module < b->modules.count ? b->modules.data[native->module] : (module){0};
  const vs_read_options *options = b->options;
  vs_place_name places[VS_MOST_PLACE_NAMES];
  uint32_t name, file;
  size_t count = 0;
  VS_TRY(begin_run(b, native->id));
  if (options != NULL && options->name != NULL)
    count = options->name(options->name_ctx, vs_snapshot_string(b->s, of.path),
                          vs_snapshot_string(b->s, of.build_id), native->offset, places);
  for (size_t i = 0; i < count; i++) {
    VS_ASSERT(count <= VS_MOST_PLACE_NAMES);
    VS_TRY(intern(b, places[i].name, &name));
    VS_TRY(intern(b, places[i].file, &file));
    VS_TRY(add_to_run(b, native->id, name, file, places[i].line, NULL));
  }
  if (count != 0) return VS_OK;
  VS_TRY(name_by_offset(b, vs_snapshot_string(b->s, of.path), native->offset, &name));
  return add_to_run(b, native->id, name, of.path, (int64_t)native->offset, NULL);
}

static vs_status take_stack(builder *b, const vs_trace_list *list) {
  uint32_t id;
  b->scratch.count = 0;
  for (uint32_t i = 0; i < list->count; i++) {
    const run frames = list->items[i] < b->frames.count ? b->frames.data[list->items[i]] : (run){0};
    VS_TRY(vs_vec_reserve(b->host, &b->scratch, frames.count));
    for (uint32_t j = 0; j < frames.count; j++)
      b->scratch.data[b->scratch.count++] = b->run_items.data[frames.first + j];
  }
  VS_TRY(vs_lists_intern(b->host, &b->s->stacks.lists, b->scratch.data, b->scratch.count, &id));
  return put_name(b, &b->stacks, list->id, id);
}

static vs_status take_texts(builder *b, const vs_trace_list *list) {
  uint32_t id;
  b->scratch.count = 0;
  VS_TRY(vs_vec_reserve(b->host, &b->scratch, list->count));
  for (uint32_t i = 0; i < list->count; i++)
    b->scratch.data[b->scratch.count++] = string_of(b, list->items[i]);
  VS_TRY(vs_lists_intern(b->host, &b->s->texts, b->scratch.data, b->scratch.count, &id));
  return put_name(b, &b->texts, list->id, id);
}

static vs_status take_string(builder *b, const vs_trace_string *string) {
  uint32_t id;
  VS_TRY(intern(b, string->text, &id));
  return put_name(b, &b->strings, string->id, id);
}

/* ---- events -------------------------------------------------------------------------------------------- */

static void note_device(builder *b, int32_t device) {
  if (device == VS_DEVICE_HOST) b->has_host = true;
  else if ((uint32_t)device >= b->device_count) b->device_count = (uint32_t)device + 1;
}

static vs_status take_context(builder *b, const vs_trace_context_entry *entry) {
  const vs_trace_context *from = &entry->context;
  context to = {
      .device = from->device,
      .compile_context = string_of(b, from->compile_context),
      .user_metadata = string_of(b, from->user_metadata),
      .category = string_of(b, from->category),
      .forward_frames = texts_of(b, from->forward_frames),
  };
  VS_TRY(stream_index(b, from->stream, &to.stream));
  VS_TRY(pool_number(b, from->has_pool, from->pool, &to.pool));
  VS_TRY(vs_vec_reserve(b->host, &b->contexts, 1));
  VS_ASSERT(entry->id == b->contexts.count);
  b->contexts.data[b->contexts.count++] = to;
  return VS_OK;
}

/* The index of an action; an action with the name of a known kind is that kind. */
static vs_status action_index(builder *b, uint32_t string, uint16_t *index) {
  if (string == VS_STRING_NONE) VS_TRY(intern(b, VS_STR("unknown"), &string));
  const size_t slot = vs_map_find(&b->action_by_string, string);
  if (slot != VS_MAP_NONE) {
    *index = (uint16_t)b->action_by_string.slots[slot].value;
    return VS_OK;
  }
  for (size_t kind = 0; kind < VS_EVENT_KIND_COUNT; kind++)
    if (b->s->actions.data[kind] == string) {
      *index = (uint16_t)kind;
      return VS_OK;
    }
  if (b->s->actions.count >= UINT16_MAX) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(b->host, &b->s->actions, 1));
  VS_TRY(vs_map_reserve(b->host, &b->action_by_string));
  *index = (uint16_t)b->s->actions.count;
  b->s->actions.data[b->s->actions.count++] = string;
  vs_map_add(&b->action_by_string, string, *index);
  return VS_OK;
}

static void note_time(builder *b, int64_t time_us) {
  if (time_us < b->oldest_us) b->oldest_us = time_us;
}

static vs_status take_event(builder *b, const vs_trace_event *event) {
  const context *where = &b->contexts.data[event->context];
  vs_events *events = &b->s->events;
  VS_ASSERT(event->context < b->contexts.count && event->kind <= VS_EVENT_UNKNOWN);
  uint32_t row;
  uint16_t action = event->kind;
  if (event->kind == VS_EVENT_UNKNOWN) VS_TRY(action_index(b, string_of(b, event->action), &action));
  VS_TRY(vs_vec_reserve(b->host, &b->devices, 1));
  VS_TRY(vs_vec_reserve(b->host, &b->rounded, 1));
  VS_TRY(vs_events_add(b->host, events, &row));
  b->devices.data[b->devices.count++] = where->device;
  b->rounded.data[b->rounded.count++] = event->rounded;
  VS_ASSERT(b->devices.count == events->count && b->rounded.count == events->count);
  note_device(b, where->device);
  note_time(b, event->time_us);
  VS_TRY(vs_events_set_action(b->host, events, row, action));
  VS_TRY(vs_events_set_address(b->host, events, row, event->address));
  VS_TRY(vs_events_set_size(b->host, events, row, event->size));
  VS_TRY(vs_events_set_stream(b->host, events, row, where->stream));
  VS_TRY(vs_events_set_time_us(b->host, events, row, event->time_us));
  VS_TRY(vs_events_set_stack(b->host, events, row, stack_of(b, event->stack)));
  VS_TRY(vs_events_set_pool(b->host, events, row, where->pool));
  VS_TRY(vs_events_set_compile_context(b->host, events, row, where->compile_context));
  VS_TRY(vs_events_set_user_metadata(b->host, events, row, where->user_metadata));
  VS_TRY(vs_events_set_category(b->host, events, row, where->category));
  VS_TRY(vs_events_set_forward_frames(b->host, events, row, where->forward_frames));
  return vs_events_set_missing(b->host, events, row, event->no_address ? VS_EVENT_NO_ADDRESS : 0);
}

/* ---- states -------------------------------------------------------------------------------------------- */

static void begin_state(builder *b, const vs_trace_state *state) {
  b->pending_segments.count = b->pending_blocks.count = 0;
  b->pending_moment = state->moment;
  b->pending_us = state->time_us;
  b->is_in_state = true;
}

static vs_status take_segment(builder *b, const vs_trace_segment *from) {
  if (!b->is_in_state || b->pending_segments.count >= UINT32_MAX - 2) return VS_OK;
  vs_segment to = {
      .address = from->address,
      .total_size = from->total_size,
      .allocated_size = from->allocated,
      .active_size = from->active,
      .requested_size = from->requested,
      .registration_counter = from->registration_counter,
      .device = from->device,
      .type = string_of(b, from->type),
      .stack = stack_of(b, from->stack),
      .forward_frames = texts_of(b, from->forward_frames),
      .first_block = (uint32_t)b->pending_blocks.count,
      .has = from->has,
      .is_expandable = from->is_expandable,
  };
  VS_TRY(stream_index(b, from->stream, &to.stream));
  VS_TRY(pool_number(b, from->has_pool, from->pool, &to.pool));
  VS_TRY(vs_vec_reserve(b->host, &b->pending_segments, 1));
  b->pending_segments.data[b->pending_segments.count++] = to;
  return VS_OK;
}

static vs_status take_block(builder *b, const vs_trace_block *from) {
  if (!b->is_in_state || b->pending_segments.count == 0 || b->pending_blocks.count >= UINT32_MAX - 2)
    return VS_OK;
  vs_block to = {
      .address = from->address,
      .size = from->size,
      .requested_size = from->requested,
      .stack = stack_of(b, from->stack),
      .forward_frames = texts_of(b, from->forward_frames),
      .state_name = string_of(b, from->state_name),
      .state = from->state,
      .has = (uint8_t)((from->is_address_derived ? 0 : VS_BLOCK_HAS_ADDRESS) |
                       (from->is_requested_derived ? 0 : VS_BLOCK_HAS_REQUESTED)),
  };
  for (uint8_t i = 0; i < VS_BLOCK_UNKNOWN && to.state == VS_BLOCK_UNKNOWN; i++)
    if (to.state_name == b->states[i]) to.state = i; /* an unknown state with the name of a known one */
  if (to.state < VS_BLOCK_UNKNOWN) to.state_name = b->states[to.state];
  else if (to.state_name == VS_STRING_NONE) VS_TRY(intern(b, VS_STR("unknown"), &to.state_name));
  VS_TRY(vs_vec_reserve(b->host, &b->pending_blocks, 1));
  b->pending_blocks.data[b->pending_blocks.count++] = to;
  VS_ASSERT(to.state <= VS_BLOCK_UNKNOWN);
  b->pending_segments.data[b->pending_segments.count - 1].block_count++;
  return VS_OK;
}

/* ---- gaps: where events are missing ------------------------------------------------------------------------ */

static int64_t last_time(const builder *b) {
  const uint32_t count = b->s->events.count;
  return count == 0 ? VS_NO_TIME : vs_events_time_us(&b->s->events, count - 1);
}

/* The last gap, if it has that cause and is not ended by a state. */
static vs_gap *open_gap(builder *b, vs_gap_cause cause) {
  vs_recording *recording = &b->s->recording;
  vs_gap *last = recording->gaps.count == 0 ? NULL : &recording->gaps.data[recording->gaps.count - 1];
  if (last == NULL || recording->gaps.count == VS_MOST_GAPS) return last;
  return last->cause == cause && last->to_us == VS_NO_TIME ? last : NULL;
}

static vs_status note_gap(builder *b, vs_gap_cause cause, uint64_t events, int64_t from_us) {
  vs_recording *recording = &b->s->recording;
  vs_gap *gap = open_gap(b, cause);
  if (b->gap_rows[cause] == 0) b->gap_rows[cause] = b->s->events.count + 1;
  if (gap != NULL && (cause != VS_GAP_DAMAGED || recording->gaps.count == VS_MOST_GAPS)) {
    gap->events = vs_sat_add_u64(gap->events, events);
    return VS_OK;
  }
  VS_TRY(vs_vec_reserve(b->host, &recording->gaps, 1));
  VS_ASSERT(recording->gaps.count < VS_MOST_GAPS);
  recording->gaps.data[recording->gaps.count++] =
      (vs_gap){.cause = cause,
               .events = events,
               .from_us = from_us != VS_NO_TIME ? from_us : last_time(b),
               .to_us = VS_NO_TIME};
  return VS_OK;
}

static vs_status take_lost(builder *b, const vs_trace_lost *lost) {
  const bool is_stopped = b->s->recording.stopped != VS_STRING_NONE;
  const uint64_t events = lost->events - vs_min_u64(b->lost, lost->events);
  b->lost = vs_max_u64(b->lost, lost->events);
  if (events == 0) return VS_OK;
  b->is_gap_open = true;
  return note_gap(b, is_stopped ? VS_GAP_STOPPED : VS_GAP_UNRECORDED, events, lost->since_us);
}

static vs_status take_stopped(builder *b, const vs_trace_stopped *stopped) {
  vs_recording *recording = &b->s->recording;
  const uint32_t reason = string_of(b, stopped->reason);
  if (recording->stopped != VS_STRING_NONE) return VS_OK;
  if (reason != VS_STRING_NONE) recording->stopped = reason;
  else VS_TRY(intern(b, VS_STR("unknown"), &recording->stopped));
  return note_gap(b, VS_GAP_STOPPED, 0, stopped->time_us);
}

/* The report has new damage, which is between the last event and the next record. */
static vs_status note_damage(builder *b) {
  const uint64_t events = b->report->lost_events - b->missing;
  b->damages = b->report->damages;
  b->missing = b->report->lost_events;
  return note_gap(b, VS_GAP_DAMAGED, events, VS_NO_TIME);
}

static vs_status add_change(void *ctx, const vs_vram_change *change) {
  builder *b = ctx;
  vs_events *events = &b->s->events;
  uint32_t row;
  VS_TRY(vs_vec_reserve(b->host, &b->devices, 1));
  VS_TRY(vs_vec_reserve(b->host, &b->rounded, 1));
  VS_TRY(vs_events_add(b->host, events, &row));
  b->devices.data[b->devices.count++] = change->device;
  b->rounded.data[b->rounded.count++] = change->rounded;
  b->s->recording.derived++;
  VS_TRY(vs_events_set_action(b->host, events, row, (uint16_t)change->kind));
  VS_TRY(vs_events_set_address(b->host, events, row, change->address));
  VS_TRY(vs_events_set_size(b->host, events, row, change->size));
  VS_TRY(vs_events_set_stream(b->host, events, row, change->stream));
  VS_TRY(vs_events_set_time_us(b->host, events, row, b->pending_us));
  VS_TRY(vs_events_set_stack(b->host, events, row, change->stack));
  VS_TRY(vs_events_set_pool(b->host, events, row, change->pool));
  return vs_events_set_forward_frames(b->host, events, row, change->forward_frames);
}

static vs_status rebuild(builder *b) {
  if (b->state_row == b->s->events.count) return VS_OK;
  const vs_vram_rows rows = {.first = b->state_row,
                             .rounded = b->rounded.data,
                             .devices = b->devices.data,
                             .device_count = b->device_count,
                             .frees_at_request = b->has_no_completions};
  return vs_vram_rebuild(b->s, &rows);
}

/* The state that was just read ends a gap: events for what happened in it make the trace agree with the state. So it is right
 * up to the gap and from the state on, whichever end it is read from. */
static vs_status reconcile(builder *b) {
  vs_recording *recording = &b->s->recording;
  if (!b->is_gap_open || b->reconciled == MOST_RECONCILED) return VS_OK;
  b->is_gap_open = false;
  b->reconciled++;
  for (size_t i = 0; i < b->pending_segments.count; i++) note_device(b, b->pending_segments.data[i].device);
  VS_TRY(rebuild(b));
  const vs_vram_memory before = {.segments = b->s->segments.data,
                                 .segment_count = b->s->segments.count,
                                 .blocks = b->s->blocks.data,
                                 .block_count = b->s->blocks.count};
  const vs_vram_memory after = {.segments = b->pending_segments.data,
                                .segment_count = b->pending_segments.count,
                                .blocks = b->pending_blocks.data,
                                .block_count = b->pending_blocks.count};
  for (size_t i = 0; i < recording->gaps.count; i++)
    if (recording->gaps.data[i].to_us == VS_NO_TIME) recording->gaps.data[i].to_us = b->pending_us;
  return vs_vram_reconcile(b->host, &before, &after, &(vs_vram_changes){.ctx = b, .change = add_change});
}

/* The state is complete, so it replaces the one before. */
static vs_status end_state(builder *b) {
  vs_snapshot *s = b->s;
  if (!b->is_in_state) return VS_OK;
  b->is_in_state = false;
  VS_TRY(reconcile(b));
  VS_TRY(vs_vec_reserve(b->host, &s->segments, b->pending_segments.count));
  VS_TRY(vs_vec_reserve(b->host, &s->blocks, b->pending_blocks.count));
  for (size_t i = 0; i < b->pending_segments.count; i++) {
    s->segments.data[i] = b->pending_segments.data[i];
    note_device(b, s->segments.data[i].device);
  }
  if (b->pending_blocks.count != 0)
    memcpy(s->blocks.data, b->pending_blocks.data, b->pending_blocks.count * sizeof *s->blocks.data);
  s->segments.count = b->pending_segments.count;
  s->blocks.count = b->pending_blocks.count;
  b->moment = b->pending_moment;
  b->state_row = s->events.count;
  return VS_OK;
}

/* ---- settings, annotations, the process ---------------------------------------------------------------- */

/* A ring file repeats the settings: the first key of all starts them again. An entry whose depth does not fit the
 * dict before it, because a part of that was lost, is left out. */
static vs_status take_setting(builder *b, const vs_trace_setting *from) {
  vs_snapshot *s = b->s;
  const vs_setting to = {
      .key = string_of(b, from->key),
      .kind = from->kind,
      .depth = from->depth,
      .bits = from->kind == VS_TRACE_SETTING_STRING ? string_of(b, (uint32_t)from->bits) : from->bits,
  };
  if (s->settings.count != 0 && to.depth == 0 && to.key == s->settings.data[0].key) s->settings.count = 0;
  const vs_setting *last = s->settings.count == 0 ? NULL : &s->settings.data[s->settings.count - 1];
  const unsigned deepest = last == NULL ? 0 : last->depth + (last->kind == VS_SETTING_DICT ? 1u : 0u);
  const bool opens_too_deep = to.kind == VS_SETTING_DICT && to.depth + 1 >= VS_MAX_SETTING_DEPTH;
  if (to.depth > deepest || opens_too_deep || s->settings.count >= VS_MAX_SETTINGS) return VS_OK;
  VS_TRY(vs_vec_reserve(b->host, &s->settings, 1));
  s->settings.data[s->settings.count++] = to;
  return VS_OK;
}

/* Sets the number of entries that each dict has after losses. */
static void count_settings(vs_snapshot *s) {
  size_t open[VS_MAX_SETTING_DEPTH] = {0};
  for (size_t i = 0; i < s->settings.count; i++) {
    vs_setting *setting = &s->settings.data[i];
    VS_ASSERT(setting->depth < VS_MAX_SETTING_DEPTH);
    if (setting->depth > 0) s->settings.data[open[setting->depth - 1]].bits++;
    if (setting->kind != VS_SETTING_DICT) continue;
    setting->bits = 0;
    open[setting->depth] = i;
  }
}

/* A ring file has the ranges that are open at each checkpoint, the newest first. They count if they began before all that came so far;
 * the beginnings of the others are there already. */
static vs_status take_annotation(builder *b, const vs_trace_annotation *from) {
  vs_snapshot *s = b->s;
  vs_annotation to = {.time_us = from->time_us,
                      .device = from->device,
                      .name = string_of(b, from->name),
                      .stage = string_of(b, from->stage)};
  if (from->stage == VS_TRACE_EMPTY) {
    if (from->time_us >= b->oldest_us) return VS_OK;
    VS_TRY(vs_strings_intern(b->host, &s->strings, VS_STR("START"), &to.stage));
  }
  note_time(b, from->time_us);
  if (s->annotations.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(b->host, &s->annotations, 1));
  s->annotations.data[s->annotations.count++] = to;
  return VS_OK;
}

/* A ring file repeats what is known at each checkpoint. */
static vs_status take_library(builder *b, const vs_trace_library *from) {
  vs_snapshot *s = b->s;
  if (s->libraries.count >= UINT32_MAX - 2) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(b->host, &s->libraries, 1));
  s->libraries.data[s->libraries.count++] = (vs_library_memory){.time_us = from->time_us,
                                                                .bytes = from->bytes,
                                                                .name = string_of(b, from->name),
                                                                .device = from->device};
  return VS_OK;
}

/* The first process record is that of the recorded process. */
static void take_process(builder *b, const vs_trace_process *from) {
  vs_recording *recording = &b->s->recording;
  if (recording->pid != 0) return;
  recording->pid = from->pid;
  recording->parent = from->parent;
  recording->host = string_of(b, from->host);
  recording->program = string_of(b, from->program);
  recording->writer = string_of(b, from->writer);
  recording->wall_us = from->wall_us;
  recording->is_simulated = from->is_simulated;
  b->has_no_completions = from->has_no_completions;
}

static vs_status take_device(builder *b, const vs_trace_device *from) {
  vs_recording *recording = &b->s->recording;
  const vs_recorded_device device = {
      .device = from->device, .name = string_of(b, from->name), .total_bytes = from->total_bytes};
  note_device(b, from->device);
  for (size_t i = 0; i < recording->devices.count; i++)
    if (recording->devices.data[i].device == from->device) {
      recording->devices.data[i] = device;
      return VS_OK;
    }
  VS_TRY(vs_vec_reserve(b->host, &recording->devices, 1));
  recording->devices.data[recording->devices.count++] = device;
  return VS_OK;
}

static void take_shape(builder *b, const vs_trace_shape *shape) {
  b->s->has = shape->parts & ((VS_HAS_ONLY_SEGMENTS << 1) - 1);
  b->has_shape = true;
  b->has_host |= shape->has_host;
  if (shape->devices > b->device_count) b->device_count = shape->devices;
}

static vs_status visit(void *ctx, const vs_trace_item *item) {
  builder *b = ctx;
  if (b->report->damages != b->damages) VS_TRY(note_damage(b));
  switch (item->tag) {
    case VS_TRACE_STRING: return take_string(b, &item->is.string);
    case VS_TRACE_TEXTS: return take_texts(b, &item->is.list);
    case VS_TRACE_MODULE: return take_module(b, &item->is.module);
    case VS_TRACE_FRAME: return take_frame(b, &item->is.frame);
    case VS_TRACE_NATIVE: return take_native(b, &item->is.native);
    case VS_TRACE_STACK: return take_stack(b, &item->is.list);
    case VS_TRACE_CONTEXT: return take_context(b, &item->is.context);
    case VS_TRACE_EVENT: return take_event(b, &item->is.event);
    case VS_TRACE_ANNOTATION: return take_annotation(b, &item->is.annotation);
    case VS_TRACE_LIBRARY: return take_library(b, &item->is.library);
    case VS_TRACE_STATE_BEGIN: begin_state(b, &item->is.state); return VS_OK;
    case VS_TRACE_SEGMENT: return take_segment(b, &item->is.segment);
    case VS_TRACE_BLOCK: return take_block(b, &item->is.block);
    case VS_TRACE_STATE_END: return end_state(b);
    case VS_TRACE_PROCESS: take_process(b, &item->is.process); return VS_OK;
    case VS_TRACE_DEVICE: return take_device(b, &item->is.device);
    case VS_TRACE_SETTING: return take_setting(b, &item->is.setting);
    case VS_TRACE_SHAPE: take_shape(b, &item->is.shape); return VS_OK;
    case VS_TRACE_LOST: return take_lost(b, &item->is.lost);
    case VS_TRACE_STOPPED: return take_stopped(b, &item->is.stopped);
    case VS_TRACE_THREAD:
    case VS_TRACE_BASE:
    case VS_TRACE_CHECKPOINT: break;
  }
  return VS_OK;
}

/* ---- the end ------------------------------------------------------------------------------------------- */

/* The index of a device's trace: the host comes last. */
static uint32_t rank_of(const builder *b, int32_t device) {
  VS_ASSERT(device == VS_DEVICE_HOST ? b->has_host : (uint32_t)device < b->device_count);
  return device == VS_DEVICE_HOST ? b->device_count : (uint32_t)device;
}

static vs_status gather_column(const vs_host *host, void **data, size_t *capacity, size_t size,
                               const uint32_t *order, size_t count) {
  uint8_t *gathered = vs_host_alloc(host, count * size);
  if (gathered == NULL) return VS_NO_MEMORY;
  for (size_t i = 0; i < count; i++)
    memcpy(gathered + i * size, (const uint8_t *)*data + order[i] * size, size);
  vs_host_free(host, *data, *capacity * size);
  *data = gathered;
  *capacity = count;
  return VS_OK;
}

static vs_status gather_events(builder *b, const uint32_t *order) {
  vs_events *events = &b->s->events;
  const uint32_t count = events->count;
  events->count = events->capacity = 0; /* until all columns have the new length */
#define VS_EVENT_COLUMN(type, name, absent)                                                              \
  if (events->name != NULL)                                                                              \
    VS_TRY(gather_column(b->host, (void **)&events->name, &events->name##_capacity, sizeof(type), order, \
                         count));
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN
  events->count = events->capacity = count;
  return VS_OK;
}

/* Where the gaps are in the traces: behind as many events of the device as there are before the gap. */
static void find_gaps(builder *b) {
  for (int cause = 0; cause < VS_GAP_CAUSES; cause++) {
    if (b->gap_rows[cause] == 0) continue;
    for (size_t i = 0; i < b->s->traces.count; i++) b->s->traces.data[i].missing_from[cause] = 1;
    for (uint32_t row = 0; row < b->gap_rows[cause] - 1; row++)
      b->s->traces.data[rank_of(b, b->devices.data[row])].missing_from[cause]++;
  }
}

/* Distributes the events, which are in one order for all devices, to the traces of the devices; each keeps its
 * order. */
static vs_status make_traces(builder *b) {
  vs_snapshot *s = b->s;
  const uint32_t traces = b->device_count + b->has_host, count = s->events.count;
  VS_ASSERT(b->devices.count == count);
  VS_TRY(vs_vec_reserve(b->host, &s->traces, traces));
  for (uint32_t i = 0; i < traces; i++)
    s->traces.data[s->traces.count++] =
        (vs_trace){.device = i < b->device_count ? (int32_t)i : VS_DEVICE_HOST};
  for (uint32_t row = 0; row < count; row++) s->traces.data[rank_of(b, b->devices.data[row])].count++;
  find_gaps(b);
  bool is_in_order = true;
  for (uint32_t i = 0, first = 0; i < traces; first += s->traces.data[i++].count)
    s->traces.data[i].first = first;
  for (uint32_t row = 1; row < count; row++)
    is_in_order = is_in_order && rank_of(b, b->devices.data[row - 1]) <= rank_of(b, b->devices.data[row]);
  if (is_in_order) return VS_OK;
  uint32_t *order = vs_host_alloc(b->host, count * sizeof *order);
  if (order == NULL) return VS_NO_MEMORY;
  for (uint32_t row = 0; row < count; row++) {
    vs_trace *trace = &s->traces.data[rank_of(b, b->devices.data[row])];
    order[trace->first++] = row;
  }
  for (uint32_t i = 0; i < traces; i++) s->traces.data[i].first -= s->traces.data[i].count;
  const vs_status status = gather_events(b, order);
  vs_host_free(b->host, order, count * sizeof *order);
  return status;
}

static void take_report(vs_snapshot *s, const vs_trace_report *report) {
  vs_recording *recording = &s->recording;
  recording->frames = report->frames;
  recording->compacted_frames = report->compacted_frames;
  recording->open_frames = report->open_frames;
  recording->lost_frames = report->lost_frames;
  recording->lost_bytes = report->lost_bytes;
  recording->lost_events = report->lost_events;
  recording->lost_entries = report->lost_entries;
  recording->earlier_frames = report->earlier_frames;
  recording->unrecorded = report->unrecorded;
  recording->unknown_records = report->unknown_records;
  s->bytes = report->bytes;
}

static vs_status finish(builder *b) {
  vs_snapshot *s = b->s;
  VS_ASSERT(b->state_row <= s->events.count);
  if (b->report->damages != b->damages) VS_TRY(note_damage(b));
  count_settings(s);
  if (!b->has_shape) {
    s->has = VS_HAS_SEGMENTS | VS_HAS_TRACES | VS_HAS_ANNOTATIONS;
    if (s->settings.count != 0) s->has |= VS_HAS_SETTINGS;
    if (b->has_host) s->has |= VS_HAS_HOST_SEGMENTS | VS_HAS_HOST_TRACES;
  }
  if (b->state_row < s->events.count) {
    VS_TRY(rebuild(b));
    s->recording.is_rebuilt = true;
  }
  s->recording.is_ended =
      b->moment == VS_TRACE_AT_END && !s->recording.is_rebuilt && s->recording.open_frames == 0;
  VS_TRY(make_traces(b));
  return vs_forward_join(s);
}

static vs_status init(builder *b) {
  b->s->recording.wall_us = VS_NO_TIME;
  for (int i = 0; i < VS_BLOCK_UNKNOWN; i++)
    VS_TRY(intern(b, vs_str_from(vs_block_state_name((vs_block_state)i)), &b->states[i]));
  return VS_OK;
}

static void deinit(builder *b) {
  const vs_host *host = b->host;
  vs_vec_free(host, &b->strings);
  vs_vec_free(host, &b->texts);
  vs_vec_free(host, &b->stacks);
  vs_vec_free(host, &b->frames);
  vs_vec_free(host, &b->run_items);
  vs_vec_free(host, &b->modules);
  vs_vec_free(host, &b->contexts);
  vs_vec_free(host, &b->scratch);
  vs_vec_free(host, &b->devices);
  vs_vec_free(host, &b->rounded);
  vs_vec_free(host, &b->pending_segments);
  vs_vec_free(host, &b->pending_blocks);
  vs_map_deinit(host, &b->stream_by_handle);
  vs_map_deinit(host, &b->pool_by_hash);
  vs_map_deinit(host, &b->action_by_string);
}

vs_status vs_vram_read(vs_snapshot *s, vs_input *input, const vs_read_options *options, vs_error *error) {
  builder b = {.s = s, .host = s->host, .options = options, .oldest_us = INT64_MAX};
  const vs_trace_visitor visitor = {.ctx = &b, .visit = visit};
  vs_trace_inflate inflate = {0};
  if (options != NULL && options->inflate != NULL)
    inflate = (vs_trace_inflate){.ctx = options->inflate_ctx, .inflate = options->inflate};
  vs_trace_report report = {0};
  b.report = &report;
  vs_status status = init(&b);
  if (status == VS_OK)
    status =
        vs_trace_read(s->host, input, inflate.inflate == NULL ? NULL : &inflate, &visitor, &report, error);
  if (status == VS_OK) {
    take_report(s, &report);
    status = finish(&b);
  }
  deinit(&b);
  return status;
}
