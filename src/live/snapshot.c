#include "live/snapshot.h"
#include "alloc/settings_entries.h"
#include "live/backend.h"
#include "live/snapshot_walk.h"
#include "os/modules.h"
#include "snapshot/writer.h"

/* A module of the process, for the names of native frames. */
typedef struct module {
  uint64_t base, start, end;
  uint32_t path; /* string */
} module;

typedef struct shot {
  vs_live *live;
  vs_snapshot *s;
  vs_map stack_of, frame_of; /* contexts, words of frames: to ids in s->stacks */
  VS_VEC(module) modules;
  VS_VEC(uint32_t) frames; /* of the stack that is being built */
  uint32_t unnamed;        /* string "??" */
  uint32_t compile_context, small, large;
  uint32_t states[3]; /* strings, by vs_alloc_block_state */
} shot;

static vs_status intern(shot *t, vs_str text, uint32_t *id) {
  return vs_strings_intern(t->s->host, &t->s->strings, text, id);
}

/* ---- stacks */

static vs_status see_module(void *ctx, const vs_module *seen) {
  shot *t = ctx;
  module m = {.base = seen->base, .start = seen->start, .end = seen->end};
  VS_TRY(intern(t, vs_str_from(seen->path), &m.path));
  VS_TRY(vs_vec_reserve(t->s->host, &t->modules, 1));
  t->modules.data[t->modules.count++] = m;
  return VS_OK;
}

/* PyTorch's form of frames without a name: the library's path, and the offset in it instead of the line. */
static vs_status name_native(shot *t, uint64_t address, vs_frame *frame) {
  if (t->modules.count == 0) VS_TRY(vs_modules_visit(see_module, t));
  *frame = (vs_frame){.name = t->unnamed, .file = VS_STRING_EMPTY, .line = (int64_t)address};
  for (size_t i = 0; i < t->modules.count; i++) {
    const module *m = &t->modules.data[i];
    if (address < m->start || address >= m->end) continue;
    frame->file = m->path;
    frame->line = (int64_t)(address - m->base);
  }
  return VS_OK;
}

static vs_status frame_id(shot *t, uint64_t word, uint32_t *id) {
  const vs_host *host = t->s->host;
  const size_t slot = vs_map_find(&t->frame_of, word);
  vs_frame frame = {0};
  if (slot != VS_MAP_NONE) {
    *id = t->frame_of.slots[slot].value;
    return VS_OK;
  }
  if ((word & VS_RECORD_NAMED_FRAME) != 0) {
    const vs_record_frame named = vs_record_frame_at(t->live->stacks, word);
    VS_TRY(intern(t, named.function, &frame.name));
    VS_TRY(intern(t, named.file, &frame.file));
    frame.line = named.line;
  } else {
    VS_TRY(name_native(t, word, &frame));
  }
  VS_TRY(vs_stacks_frame(host, &t->s->stacks, frame.name, frame.file, frame.line, NULL, id));
  VS_TRY(vs_map_reserve(host, &t->frame_of));
  vs_map_add(&t->frame_of, word, *id);
  return VS_OK;
}

/* `none` is the id for a context without a stack. */
static vs_status stack_id(shot *t, vs_context context, uint32_t none, uint32_t *id) {
  const vs_host *host = t->s->host;
  const size_t slot = vs_map_find(&t->stack_of, context);
  const uint64_t *words;
  *id = none;
  if (context == VS_CONTEXT_NONE) return VS_OK;
  if (slot != VS_MAP_NONE) {
    *id = t->stack_of.slots[slot].value;
    return VS_OK;
  }
  const uint32_t count = vs_record_stack_at(t->live->stacks, context, &words);
  t->frames.count = 0;
  VS_TRY(vs_vec_reserve(host, &t->frames, count));
  for (uint32_t i = 0; i < count; i++) VS_TRY(frame_id(t, words[i], &t->frames.data[i]));
  VS_TRY(vs_lists_intern(host, &t->s->stacks.lists, t->frames.data, count, id));
  VS_ASSERT(*id != VS_LIST_NONE);
  VS_TRY(vs_map_reserve(host, &t->stack_of));
  vs_map_add(&t->stack_of, context, *id);
  return VS_OK;
}

/* ---- streams and pools: few, so a linear search is enough */

static vs_status stream_index(shot *t, uint64_t stream, uint32_t *index) {
  vs_snapshot *s = t->s;
  for (*index = 0; *index < s->streams.count; ++*index)
    if (s->streams.data[*index] == stream) return VS_OK;
  VS_TRY(vs_vec_reserve(s->host, &s->streams, 1));
  s->streams.data[s->streams.count++] = stream;
  return VS_OK;
}

static vs_status pool_number(shot *t, vs_pool_id pool, uint32_t *number) {
  vs_snapshot *s = t->s;
  for (*number = 1; *number <= s->pools.count; ++*number)
    if (vs_pool_id_equal(s->pools.data[*number - 1], pool)) return VS_OK;
  VS_TRY(vs_vec_reserve(s->host, &s->pools, 1));
  s->pools.data[s->pools.count++] = pool;
  return VS_OK;
}

/* ---- segments and blocks */

static vs_status add_block(shot *t, const vs_alloc_block_info *seen) {
  static const vs_block_state states[] = {[VS_ALLOC_BLOCK_ALLOCATED] = VS_BLOCK_ALLOCATED,
                                          [VS_ALLOC_BLOCK_PENDING] = VS_BLOCK_PENDING,
                                          [VS_ALLOC_BLOCK_FREE] = VS_BLOCK_INACTIVE};
  VS_ASSERT(seen->state == VS_ALLOC_BLOCK_FREE || seen->requested <= seen->size);
  vs_block block = {.address = seen->address,
                    .size = seen->size,
                    .requested_size = seen->requested,
                    .state_name = t->states[seen->state],
                    .state = (uint8_t)states[seen->state],
                    .has = VS_BLOCK_HAS_ADDRESS | VS_BLOCK_HAS_REQUESTED};
  VS_TRY(stack_id(t, seen->context, VS_LIST_EMPTY, &block.stack));
  VS_TRY(vs_vec_reserve(t->s->host, &t->s->blocks, 1));
  t->s->blocks.data[t->s->blocks.count++] = block;
  return VS_OK;
}

static vs_status add_segment(shot *t, const vs_alloc_segment_info *seen, uint32_t device, uint32_t blocks) {
  vs_segment segment = {.address = seen->address,
                        .total_size = seen->size,
                        .allocated_size = seen->allocated,
                        .active_size = seen->active,
                        .requested_size = seen->requested,
                        .registration_counter = VS_NO_COUNTER, /* 2.15 writes none */
                        .device = (int32_t)device,
                        .type = seen->is_small ? t->small : t->large,
                        .first_block = (uint32_t)t->s->blocks.count,
                        .block_count = blocks,
                        .has = VS_SEGMENT_HAS_ALLOCATED | VS_SEGMENT_HAS_ACTIVE | VS_SEGMENT_HAS_REQUESTED |
                               VS_SEGMENT_HAS_EXPANDABLE,
                        .is_expandable = seen->is_expandable};
  VS_TRY(stream_index(t, seen->stream, &segment.stream));
  VS_TRY(pool_number(t, seen->pool, &segment.pool));
  VS_TRY(stack_id(t, seen->context, VS_LIST_EMPTY, &segment.stack));
  VS_TRY(vs_vec_reserve(t->s->host, &t->s->segments, 1));
  t->s->segments.data[t->s->segments.count++] = segment;
  return VS_OK;
}

static vs_status add_segments(shot *t, const vs_live_snapshot_walk *walk, uint32_t device) {
  size_t next = 0;
  if (walk->blocks.count > UINT32_MAX - t->s->blocks.count) return VS_LIMIT;
  for (size_t i = 0; i < walk->segments.count; i++) {
    const uint32_t blocks = walk->block_counts.data[i];
    VS_TRY(add_segment(t, &walk->segments.data[i], device, blocks));
    for (uint32_t b = 0; b < blocks; b++) VS_TRY(add_block(t, &walk->blocks.data[next++]));
  }
  VS_ASSERT(next == walk->blocks.count);
  return VS_OK;
}

/* ---- traces */

static vs_status add_event(shot *t, const vs_live_snapshot_walk *walk, const vs_history_entry *entry) {
  const vs_host *host = t->s->host;
  vs_events *events = &t->s->events;
  const vs_history_place *place = &walk->history.places.data[entry->place];
  uint32_t row, stream, pool, stack, metadata = VS_STRING_EMPTY;
  VS_ASSERT(entry->place < walk->history.places.count);
  VS_TRY(stream_index(t, place->stream, &stream));
  VS_TRY(pool_number(t, place->pool, &pool));
  VS_TRY(stack_id(t, entry->context, VS_LIST_NONE, &stack));
  if (entry->metadata != 0) VS_TRY(intern(t, vs_record_text_at(t->live->stacks, entry->metadata), &metadata));
  VS_TRY(vs_events_add(host, events, &row));
  VS_TRY(vs_events_set_action(host, events, row, (uint16_t)entry->kind));
  VS_TRY(vs_events_set_address(host, events, row, entry->address));
  VS_TRY(vs_events_set_size(host, events, row, entry->size));
  VS_TRY(vs_events_set_stream(host, events, row, stream));
  VS_TRY(vs_events_set_time_us(host, events, row, vs_live_time_us(t->live, entry->time_ns)));
  VS_TRY(vs_events_set_stack(host, events, row, stack));
  VS_TRY(vs_events_set_pool(host, events, row, pool));
  VS_TRY(vs_events_set_compile_context(host, events, row, t->compile_context));
  return vs_events_set_user_metadata(host, events, row, metadata);
}

static vs_status add_trace(shot *t, const vs_live_snapshot_walk *walk, uint32_t device) {
  vs_snapshot *s = t->s;
  const vs_trace trace = {
      .device = (int32_t)device, .first = s->events.count, .count = (uint32_t)walk->history.entries.count};
  if (walk->history.entries.count > UINT32_MAX - 2 - s->events.count) return VS_LIMIT;
  for (size_t i = 0; i < walk->history.entries.count; i++)
    VS_TRY(add_event(t, walk, &walk->history.entries.data[i]));
  VS_TRY(vs_vec_reserve(s->host, &s->traces, 1));
  s->traces.data[s->traces.count++] = trace;
  return VS_OK;
}

/* ---- settings and annotations */

_Static_assert((int)VS_ALLOC_ENTRY_BOOL == (int)VS_SETTING_BOOL &&
                   (int)VS_ALLOC_ENTRY_DICT == (int)VS_SETTING_DICT,
               "the kinds of settings are the same");

static vs_status add_setting(void *ctx, const vs_alloc_entry *entry) {
  const shot *t = ctx;
  const vs_setting setting = {.kind = (uint8_t)entry->kind, .depth = entry->depth, .bits = entry->bits};
  return vs_snapshot_setting_add(t->s, entry->key, setting, entry->text);
}

/* A trace that lost its oldest events is marked as such, by the keys that tools read. */
static vs_status add_settings(shot *t, const vs_live_snapshot_walk *walk) {
  const vs_alloc_settings *settings = &walk->settings;
  const vs_setting overflowed = {.kind = VS_SETTING_BOOL, .bits = 1};
  const vs_setting most = {.kind = VS_SETTING_INT, .bits = walk->max_entries};
  VS_TRY(vs_alloc_entries_visit(settings, (vs_str){settings->text, settings->text_size}, add_setting, t));
  if (walk->overwritten == 0) return VS_OK;
  VS_TRY(vs_snapshot_setting_add(t->s, VS_STR("trace_alloc_overflowed"), overflowed, VS_STR("")));
  return vs_snapshot_setting_add(t->s, VS_STR("trace_alloc_max_entries"), most, VS_STR(""));
}

static vs_status add_annotations(shot *t) {
  const vs_live_annotations *kept = &t->live->annotations;
  const vs_host *host = t->s->host;
  const uint64_t count = kept->entries.count;
  VS_ASSERT(kept->first < count || kept->first == 0);
  VS_TRY(vs_vec_reserve(host, &t->s->annotations, count));
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t at = kept->first + i;
    const vs_live_annotation *from = &kept->entries.data[at < count ? at : at - count];
    vs_annotation annotation = {.time_us = vs_live_time_us(t->live, from->time_ns),
                                .device = (int32_t)from->device};
    VS_TRY(intern(t, vs_record_text_at(t->live->stacks, from->name), &annotation.name));
    VS_TRY(intern(t, from->is_start ? VS_STR("START") : VS_STR("END"), &annotation.stage));
    t->s->annotations.data[t->s->annotations.count++] = annotation;
  }
  return VS_OK;
}

/* ---- the whole */

static vs_status intern_names(shot *t) {
  VS_TRY(intern(t, VS_STR("??"), &t->unnamed));
  VS_TRY(intern(t, VS_STR("N/A"), &t->compile_context));
  VS_TRY(intern(t, VS_STR("small"), &t->small));
  VS_TRY(intern(t, VS_STR("large"), &t->large));
  VS_TRY(
      intern(t, vs_str_from(vs_block_state_name(VS_BLOCK_ALLOCATED)), &t->states[VS_ALLOC_BLOCK_ALLOCATED]));
  VS_TRY(intern(t, vs_str_from(vs_block_state_name(VS_BLOCK_PENDING)), &t->states[VS_ALLOC_BLOCK_PENDING]));
  return intern(t, vs_str_from(vs_block_state_name(VS_BLOCK_INACTIVE)), &t->states[VS_ALLOC_BLOCK_FREE]);
}

static vs_status fill(shot *t, bool with_history) {
  vs_live *live = t->live;
  VS_TRY(intern_names(t));
  for (uint32_t i = 0; i < live->machine.count; i++) {
    vs_live_snapshot_walk walk;
    VS_TRY(vs_live_snapshot_walk_init(&walk, live->devices[i], with_history));
    vs_status status = i == 0 ? add_settings(t, &walk) : VS_OK;
    if (status == VS_OK) status = add_segments(t, &walk, i);
    if (status == VS_OK) status = add_trace(t, &walk, i);
    vs_live_snapshot_walk_deinit(&walk);
    if (status != VS_OK) return status;
  }
  if (!with_history) return VS_OK;
  vs_live_lock_take(&live->annotations.lock);
  const vs_status status = add_annotations(t);
  vs_live_lock_give(&live->annotations.lock);
  return status;
}

vs_status vs_live_snapshot(vs_live *live, bool with_history, vs_snapshot **out) {
  shot t = {.live = live};
  *out = NULL;
  VS_TRY(vs_snapshot_create(live->host, &t.s));
  t.s->format = VS_FORMAT_PICKLE;
  t.s->has = VS_HAS_SEGMENTS | VS_HAS_TRACES | VS_HAS_SETTINGS | VS_HAS_ANNOTATIONS | VS_HAS_HOST_SEGMENTS |
             VS_HAS_HOST_TRACES;
  const vs_status status = fill(&t, with_history);
  vs_map_deinit(live->host, &t.stack_of);
  vs_map_deinit(live->host, &t.frame_of);
  vs_vec_free(live->host, &t.modules);
  vs_vec_free(live->host, &t.frames);
  if (status == VS_OK) *out = t.s;
  else vs_snapshot_destroy(t.s);
  return status;
}

vs_status vs_live_snapshot_write(vs_live *live, vs_live_format format, bool with_history, vs_writer to,
                                 vs_error *error) {
  vs_snapshot *snapshot = NULL;
  VS_TRY(vs_backend_refuse_async(live, "snapshots", error));
  vs_status status = vs_live_snapshot(live, with_history, &snapshot);
  if (status != VS_OK) return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  status =
      vs_snapshot_write(snapshot, format == VS_LIVE_JSON ? VS_FORMAT_JSON : VS_FORMAT_PICKLE, &to, error);
  vs_snapshot_destroy(snapshot);
  return status;
}
