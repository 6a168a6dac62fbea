#include "snapshot/vram_writer.h"
#include "tracefile/writer.h"

/* By id of a table of the snapshot: 1 + the id in the file; 0: not written yet. */
typedef struct names {
  uint32_t *ids;
  size_t count;
} names;

typedef struct converter {
  const vs_snapshot *s;
  const vs_host *host;
  vs_tracew *w;
  names strings, texts, frames, stacks;
  VS_VEC(uint32_t) scratch;
  const vs_writer *to;
  void *memory; /* of the current frame */
  size_t memory_size;
  vs_trace_context last; /* of the event before, and its id */
  uint32_t last_id;
  bool has_last;
} converter;

/* ---- the memory of frames, which is written when it is full -------------------------------------------- */

static vs_status begin_frame(void *ctx, size_t at_least, void **memory, size_t *size) {
  converter *c = ctx;
  if (c->memory_size < at_least) {
    void *grown = c->host->resize(c->host->ctx, c->memory, c->memory_size, at_least);
    if (grown == NULL) return VS_NO_MEMORY;
    c->memory = grown;
    c->memory_size = at_least;
  }
  *memory = c->memory;
  *size = at_least;
  VS_ASSERT(c->memory_size >= at_least);
  return VS_OK;
}

static vs_status sealed_frame(void *ctx, void *memory, size_t size) {
  const converter *c = ctx;
  return c->to->write(c->to->ctx, memory, size);
}

/* ---- dictionaries -------------------------------------------------------------------------------------- */

static vs_status init_names(const vs_host *host, names *n, size_t count) {
  size_t bytes;
  if (count == 0) return VS_OK;
  if (!vs_mul_size(count, sizeof *n->ids, &bytes)) return VS_NO_MEMORY;
  n->ids = vs_host_alloc(host, bytes);
  if (n->ids == NULL) return VS_NO_MEMORY;
  memset(n->ids, 0, bytes);
  n->count = count;
  return VS_OK;
}

static void deinit_names(const vs_host *host, names *n) {
  vs_host_free(host, n->ids, n->count * sizeof *n->ids);
}

static vs_status string_id(converter *c, uint32_t string, uint32_t *id) {
  uint32_t *known = &c->strings.ids[string];
  VS_ASSERT(string < c->strings.count);
  if (string == VS_STRING_NONE) {
    *id = VS_TRACE_NONE;
    return VS_OK;
  }
  if (*known == 0) {
    VS_TRY(vs_tracew_string(c->w, vs_snapshot_string(c->s, string), id));
    *known = *id + 1;
  }
  *id = *known - 1;
  return VS_OK;
}

static vs_status frame_id(converter *c, uint32_t frame, uint32_t *id) {
  uint32_t *known = &c->frames.ids[frame];
  VS_ASSERT(frame < c->frames.count);
  if (*known == 0) {
    const vs_frame *f = &c->s->stacks.frames.data[frame];
    vs_trace_frame out = {.line = f->line};
    VS_TRY(string_id(c, f->name, &out.name));
    VS_TRY(string_id(c, f->file, &out.file));
    if (f->detail != 0) {
      const vs_frame_detail *detail = &c->s->stacks.details.data[f->detail - 1];
      VS_TRY(string_id(c, detail->fx_node_op, &out.detail.fx_node_op));
      VS_TRY(string_id(c, detail->fx_node_name, &out.detail.fx_node_name));
      VS_TRY(string_id(c, detail->fx_node_target, &out.detail.fx_node_target));
      VS_TRY(string_id(c, detail->fx_original_trace, &out.detail.fx_original_trace));
    }
    VS_TRY(vs_tracew_frame(c->w, &out, id));
    *known = *id + 1;
  }
  *id = *known - 1;
  return VS_OK;
}

/* Puts the file's ids of a list's items, by `item_id`, into the scratch array. */
static vs_status gather(converter *c, vs_list list,
                        vs_status (*item_id)(converter *c, uint32_t item, uint32_t *id)) {
  c->scratch.count = 0;
  VS_TRY(vs_vec_reserve(c->host, &c->scratch, list.count));
  for (uint32_t i = 0; i < list.count; i++) VS_TRY(item_id(c, list.items[i], &c->scratch.data[i]));
  c->scratch.count = list.count;
  return VS_OK;
}

static vs_status stack_id(converter *c, uint32_t stack, uint32_t *id) {
  stack = vs_snapshot_recorded_stack(c->s, stack);
  *id = stack;
  if (stack <= VS_LIST_EMPTY) return VS_OK; /* the first two ids are the same in the file */
  uint32_t *known = &c->stacks.ids[stack];
  VS_ASSERT(stack < c->stacks.count);
  if (*known == 0) {
    VS_TRY(gather(c, vs_stacks_at(&c->s->stacks, stack), frame_id));
    VS_TRY(vs_tracew_stack(c->w, c->scratch.data, c->scratch.count, id));
    *known = *id + 1;
  }
  *id = *known - 1;
  return VS_OK;
}

static vs_status texts_id(converter *c, uint32_t texts, uint32_t *id) {
  *id = texts;
  if (texts <= VS_LIST_EMPTY) return VS_OK;
  uint32_t *known = &c->texts.ids[texts];
  VS_ASSERT(texts < c->texts.count);
  if (*known == 0) {
    VS_TRY(gather(c, vs_lists_at(&c->s->texts, texts), string_id));
    VS_TRY(vs_tracew_texts(c->w, c->scratch.data, c->scratch.count, id));
    *known = *id + 1;
  }
  *id = *known - 1;
  return VS_OK;
}

/* ---- events -------------------------------------------------------------------------------------------- */

static vs_pool_id pool_of(const converter *c, uint32_t pool) {
  VS_ASSERT(pool <= c->s->pools.count);
  return pool == 0 ? (vs_pool_id){0, 0} : c->s->pools.data[pool - 1];
}

static bool is_same(const vs_trace_context *a, const vs_trace_context *b) {
  return a->stream == b->stream && vs_pool_id_equal(a->pool, b->pool) && a->device == b->device &&
         a->has_pool == b->has_pool && a->compile_context == b->compile_context &&
         a->user_metadata == b->user_metadata && a->category == b->category &&
         a->forward_frames == b->forward_frames;
}

static vs_status context_id(converter *c, int32_t device, uint32_t row, uint32_t *id) {
  const vs_events *events = &c->s->events;
  const uint32_t pool = vs_events_pool(events, row);
  vs_trace_context context = {
      .stream = c->s->streams.data[vs_events_stream(events, row)],
      .device = device,
      .has_pool = pool != 0,
      .pool = pool_of(c, pool),
  };
  VS_TRY(string_id(c, vs_events_compile_context(events, row), &context.compile_context));
  VS_TRY(string_id(c, vs_events_user_metadata(events, row), &context.user_metadata));
  VS_TRY(string_id(c, vs_events_category(events, row), &context.category));
  VS_TRY(texts_id(c, vs_events_forward_frames(events, row), &context.forward_frames));
  if (!c->has_last || !is_same(&c->last, &context)) {
    VS_TRY(vs_tracew_context(c->w, &context, &c->last_id));
    c->last = context;
    c->has_last = true;
  }
  *id = c->last_id;
  return VS_OK;
}

static vs_status put_event(converter *c, int32_t device, uint32_t row) {
  const vs_events *events = &c->s->events;
  const uint16_t action = vs_events_action(events, row);
  vs_trace_event event = {
      .address = vs_events_address(events, row),
      .size = vs_events_size(events, row),
      .time_us = vs_events_time_us(events, row),
      .kind = (uint8_t)vs_events_kind(events, row),
      .no_address = (vs_events_missing(events, row) & VS_EVENT_NO_ADDRESS) != 0,
  };
  if (event.kind == VS_EVENT_UNKNOWN) VS_TRY(string_id(c, c->s->actions.data[action], &event.action));
  VS_TRY(stack_id(c, vs_events_stack(events, row), &event.stack));
  VS_TRY(context_id(c, device, row, &event.context));
  return vs_tracew_event(c->w, &event);
}

static vs_status put_traces(converter *c) {
  for (size_t i = 0; i < c->s->traces.count; i++) {
    const vs_trace *trace = &c->s->traces.data[i];
    for (uint32_t row = 0; row < trace->count; row++) VS_TRY(put_event(c, trace->device, trace->first + row));
  }
  return VS_OK;
}

/* ---- segments and blocks ------------------------------------------------------------------------------- */

static vs_status put_block(converter *c, const vs_block *block) {
  vs_trace_block out = {
      .address = block->address,
      .size = block->size,
      .requested = block->requested_size,
      .state = block->state,
      .is_address_derived = (block->has & VS_BLOCK_HAS_ADDRESS) == 0,
      .is_requested_derived = (block->has & VS_BLOCK_HAS_REQUESTED) == 0,
  };
  VS_TRY(stack_id(c, block->stack, &out.stack));
  VS_TRY(texts_id(c, block->forward_frames, &out.forward_frames));
  if (block->state == VS_BLOCK_UNKNOWN) VS_TRY(string_id(c, block->state_name, &out.state_name));
  return vs_tracew_block(c->w, &out);
}

static vs_status put_segment(converter *c, const vs_segment *segment) {
  vs_trace_segment out = {
      .address = segment->address,
      .total_size = segment->total_size,
      .allocated = segment->allocated_size,
      .active = segment->active_size,
      .requested = segment->requested_size,
      .registration_counter = segment->registration_counter,
      .stream = c->s->streams.data[segment->stream],
      .pool = pool_of(c, segment->pool),
      .has_pool = segment->pool != 0,
      .device = segment->device,
      .is_expandable = segment->is_expandable,
      .has = segment->has,
  };
  VS_TRY(string_id(c, segment->type, &out.type));
  VS_TRY(stack_id(c, segment->stack, &out.stack));
  VS_TRY(texts_id(c, segment->forward_frames, &out.forward_frames));
  VS_TRY(vs_tracew_segment(c->w, &out));
  for (uint32_t i = 0; i < segment->block_count; i++)
    VS_TRY(put_block(c, &c->s->blocks.data[segment->first_block + i]));
  return VS_OK;
}

static vs_status put_state(converter *c) {
  VS_TRY(vs_tracew_state_begin(c->w, VS_TRACE_AT_END, VS_TRACE_NO_TIME));
  for (size_t i = 0; i < c->s->segments.count; i++) VS_TRY(put_segment(c, &c->s->segments.data[i]));
  return vs_tracew_state_end(c->w);
}

/* ---- settings, annotations, shape ---------------------------------------------------------------------- */

static vs_status put_settings(converter *c) {
  for (size_t i = 0; i < c->s->settings.count; i++) {
    const vs_setting *setting = &c->s->settings.data[i];
    vs_trace_setting out = {.kind = setting->kind, .depth = setting->depth, .bits = setting->bits};
    uint32_t string = VS_TRACE_NONE;
    VS_TRY(string_id(c, setting->key, &out.key));
    if (setting->kind == VS_SETTING_STRING) {
      VS_TRY(string_id(c, (uint32_t)setting->bits, &string));
      out.bits = string;
    }
    VS_TRY(vs_tracew_setting(c->w, &out));
  }
  return VS_OK;
}

static vs_status put_annotations(converter *c) {
  for (size_t i = 0; i < c->s->annotations.count; i++) {
    const vs_annotation *annotation = &c->s->annotations.data[i];
    vs_trace_annotation out = {.time_us = annotation->time_us, .device = annotation->device};
    VS_TRY(string_id(c, annotation->name, &out.name));
    VS_TRY(string_id(c, annotation->stage, &out.stage));
    VS_TRY(vs_tracew_annotation(c->w, &out));
  }
  return VS_OK;
}

static vs_status put_libraries(converter *c) {
  for (size_t i = 0; i < c->s->libraries.count; i++) {
    const vs_library_memory *library = &c->s->libraries.data[i];
    vs_trace_library out = {.time_us = library->time_us, .bytes = library->bytes, .device = library->device};
    VS_TRY(string_id(c, library->name, &out.name));
    VS_TRY(vs_tracew_library(c->w, &out));
  }
  return VS_OK;
}

static vs_status put_shape(converter *c) {
  vs_trace_shape shape = {.parts = c->s->has};
  for (size_t i = 0; i < c->s->traces.count; i++) {
    if (c->s->traces.data[i].device == VS_DEVICE_HOST) shape.has_host = true;
    else shape.devices++;
  }
  return vs_tracew_shape(c->w, &shape);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

_Static_assert((int)VS_TRACE_SETTING_DICT == (int)VS_SETTING_DICT, "the kinds of settings are the same");
_Static_assert((int)VS_TRACE_OTHER == (int)VS_BLOCK_UNKNOWN, "the states of blocks are the same");
_Static_assert((int)VS_TRACE_HAS_EXPANDABLE == (int)VS_SEGMENT_HAS_EXPANDABLE,
               "what segments have is the same");
// NOLINTNEXTLINE(misc-redundant-expression): two lists of names that have to mean the same
_Static_assert(VS_TRACE_NO_TIME == VS_NO_TIME && VS_TRACE_NO_COUNTER == VS_NO_COUNTER, "so is the unknown");

static vs_status init(converter *c) {
  const vs_snapshot *s = c->s;
  VS_TRY(init_names(c->host, &c->strings, vs_strings_count(&s->strings)));
  VS_TRY(init_names(c->host, &c->texts, vs_lists_count(&s->texts)));
  VS_TRY(init_names(c->host, &c->frames, s->stacks.frames.count));
  VS_TRY(init_names(c->host, &c->stacks, vs_lists_count(&s->stacks.lists)));
  const vs_tracew_sink sink = {.ctx = c, .begin = begin_frame, .sealed = sealed_frame};
  return vs_tracew_create(c->host, &sink, NULL, &c->w);
}

/* Writes all stacks first, so that they have the same numbers when the file is read. */
static vs_status put_stacks(converter *c) {
  const vs_forward *forward = &c->s->forward;
  const uint32_t end =
      forward->recorded.count != 0 ? forward->first_stack : vs_lists_count(&c->s->stacks.lists);
  uint32_t id;
  for (uint32_t stack = VS_LIST_EMPTY + 1; stack < end; stack++) VS_TRY(stack_id(c, stack, &id));
  return VS_OK;
}

static vs_status convert(converter *c) {
  VS_TRY(put_shape(c));
  VS_TRY(put_settings(c));
  VS_TRY(put_stacks(c));
  VS_TRY(put_traces(c));
  VS_TRY(put_annotations(c));
  VS_TRY(put_libraries(c));
  VS_TRY(put_state(c));
  return vs_tracew_flush(c->w);
}

vs_status vs_snapshot_write_vram(const vs_snapshot *snapshot, const vs_writer *to) {
  converter c = {.s = snapshot, .host = snapshot->host, .to = to};
  vs_status status = init(&c);
  if (status == VS_OK) status = convert(&c);
  vs_tracew_destroy(c.w);
  deinit_names(c.host, &c.strings);
  deinit_names(c.host, &c.texts);
  deinit_names(c.host, &c.frames);
  deinit_names(c.host, &c.stacks);
  vs_vec_free(c.host, &c.scratch);
  vs_host_free(c.host, c.memory, c.memory_size);
  return status;
}
