#include "support/recordings.h"
#include "base/hash.h"

/* ---- writing into memory ------------------------------------------------------------------------------- */

static vs_status begin(void *ctx, size_t at_least, void **memory, size_t *size) {
  recording *r = ctx;
  if (r->size < at_least) {
    void *grown = r->host->resize(r->host->ctx, r->memory, r->size, at_least);
    if (grown == NULL) return VS_NO_MEMORY;
    r->memory = grown;
    r->size = at_least;
  }
  memset(r->memory, 0xa5, r->size);
  *memory = r->memory;
  *size = at_least;
  return VS_OK;
}

static vs_status sealed(void *ctx, void *memory, size_t size) {
  recording *r = ctx;
  if (r->frames++ == r->fail_frame) return VS_IO;
  vs_text_put(&r->bytes, memory, size);
  return r->bytes.status;
}

void recording_init(recording *r, const vs_host *host) {
  *r = (recording){.host = host, .fail_frame = FAULT_NEVER};
  vs_text_init(&r->bytes, host, NULL);
}

void recording_deinit(recording *r) {
  vs_text_deinit(&r->bytes);
  vs_host_free(r->host, r->memory, r->size);
}

vs_tracew_sink recording_sink(recording *r) {
  return (vs_tracew_sink){.ctx = r, .begin = begin, .sealed = sealed};
}

/* ---- reading back -------------------------------------------------------------------------------------- */

static uint64_t join(uint64_t a, uint64_t b) {
  return vs_hash_mix(vs_hash_u64(a), b ^ UINT64_C(0x9fb21c651e98df25));
}

#define PUT(r, vec, id, value)                                      \
  do {                                                              \
    while ((vec)->count <= (id)) {                                  \
      VS_TRY(vs_vec_reserve((r)->host, (vec), 1));                  \
      memset(&(vec)->data[(vec)->count++], 0, sizeof *(vec)->data); \
    }                                                               \
    (vec)->data[id] = (value);                                      \
  } while (0)

#define AT(vec, id) ((id) < (vec).count ? (vec).data[id] : 0)
static uint64_t string_at(const reading_back *r, uint32_t id) {
  return id <= VS_TRACE_EMPTY ? id : AT(r->strings, id);
}
static uint64_t texts_at(const reading_back *r, uint32_t id) {
  return id <= VS_TRACE_EMPTY ? id : AT(r->texts, id);
}
static uint64_t stack_at(const reading_back *r, uint32_t id) {
  return id <= VS_TRACE_EMPTY ? id : AT(r->stacks, id);
}

static uint64_t hash_frame(const reading_back *r, const vs_trace_frame *frame) {
  uint64_t hash = join(string_at(r, frame->name), string_at(r, frame->file));
  hash = join(hash, (uint64_t)frame->line);
  hash = join(hash, join(string_at(r, frame->detail.fx_node_op), string_at(r, frame->detail.fx_node_name)));
  return join(
      hash, join(string_at(r, frame->detail.fx_node_target), string_at(r, frame->detail.fx_original_trace)));
}

static uint64_t hash_module(const reading_back *r, const vs_trace_module *module) {
  return join(join(string_at(r, module->path), string_at(r, module->build_id)),
              join(module->base, module->size));
}

static uint64_t hash_other(const reading_back *r, const vs_trace_item *item) {
  const uint64_t tag = item->tag;
  switch (item->tag) {
    case VS_TRACE_ANNOTATION: {
      const vs_trace_annotation *a = &item->is.annotation;
      return join(join(tag, (uint64_t)a->time_us),
                  join(a->thread, join((uint64_t)(int64_t)a->device,
                                       join(string_at(r, a->name), string_at(r, a->stage)))));
    }
    case VS_TRACE_LIBRARY: {
      const vs_trace_library *l = &item->is.library;
      return join(join(tag, (uint64_t)l->time_us),
                  join(l->bytes, join((uint64_t)(int64_t)l->device, string_at(r, l->name))));
    }
    case VS_TRACE_STATE_BEGIN:
      return join(tag, join(item->is.state.moment, (uint64_t)item->is.state.time_us));
    case VS_TRACE_SEGMENT: {
      const vs_trace_segment *s = &item->is.segment;
      uint64_t hash = join(join(tag, s->address), join(s->total_size, s->allocated));
      hash =
          join(hash, join(s->active, join(s->requested, join((uint64_t)s->registration_counter, s->stream))));
      hash = join(hash, join(s->pool.a, join(s->pool.b, join((uint64_t)(int64_t)s->device, s->has_pool))));
      hash = join(hash, join(s->is_expandable, join(s->has, string_at(r, s->type))));
      return join(hash, join(stack_at(r, s->stack), texts_at(r, s->forward_frames)));
    }
    case VS_TRACE_BLOCK: {
      const vs_trace_block *b = &item->is.block;
      uint64_t hash = join(join(tag, b->address), join(b->size, b->requested));
      hash = join(hash, join(b->state, join(b->is_address_derived, b->is_requested_derived)));
      return join(hash, join(stack_at(r, b->stack),
                             join(texts_at(r, b->forward_frames), string_at(r, b->state_name))));
    }
    case VS_TRACE_PROCESS: {
      const vs_trace_process *p = &item->is.process;
      uint64_t hash = join(join(tag, p->pid), join(p->parent, string_at(r, p->host)));
      hash = join(hash, join(string_at(r, p->program), string_at(r, p->writer)));
      return join(hash, join((uint64_t)p->wall_us, join(p->monotonic_ns, p->is_simulated)));
    }
    case VS_TRACE_DEVICE:
      return join(join(tag, (uint64_t)(int64_t)item->is.device.device),
                  join(string_at(r, item->is.device.name), item->is.device.total_bytes));
    case VS_TRACE_THREAD: return join(tag, join(item->is.thread.thread, string_at(r, item->is.thread.name)));
    case VS_TRACE_SETTING: {
      const vs_trace_setting *s = &item->is.setting;
      const uint64_t bits = s->kind == VS_TRACE_SETTING_STRING ? string_at(r, (uint32_t)s->bits) : s->bits;
      return join(join(tag, string_at(r, s->key)), join(s->kind, join(s->depth, bits)));
    }
    case VS_TRACE_SHAPE:
      return join(tag, join(item->is.shape.parts, join(item->is.shape.devices, item->is.shape.has_host)));
    case VS_TRACE_LOST: return join(tag, join(item->is.lost.events, (uint64_t)item->is.lost.since_us));
    case VS_TRACE_STOPPED:
      return join(tag, join((uint64_t)item->is.stopped.time_us, string_at(r, item->is.stopped.reason)));
    default: return tag;
  }
}

static vs_status visit_event(reading_back *r, const vs_trace_item *item) {
  plain_event plain = {.event = item->is.event, .frame = item->offset};
  plain.stack = stack_at(r, plain.event.stack);
  assert_true(plain.event.context < r->contexts.count);
  plain.context = r->contexts.data[plain.event.context];
  plain.event.action = (uint32_t)string_at(r, plain.event.action);
  plain.event.stack = plain.event.context = 0;
  VS_TRY(vs_vec_reserve(r->host, &r->events, 1));
  r->events.data[r->events.count++] = plain;
  return VS_OK;
}

static vs_status visit_context(reading_back *r, const vs_trace_context_entry *entry) {
  vs_trace_context context = entry->context;
  context.compile_context = (uint32_t)string_at(r, context.compile_context);
  context.user_metadata = (uint32_t)string_at(r, context.user_metadata);
  context.category = (uint32_t)string_at(r, context.category);
  context.forward_frames = (uint32_t)texts_at(r, context.forward_frames);
  PUT(r, &r->contexts, entry->id, context);
  return VS_OK;
}

static uint64_t hash_texts(const reading_back *r, const vs_trace_list *list) {
  uint64_t hash = list->count;
  for (uint32_t i = 0; i < list->count; i++) hash = join(hash, string_at(r, list->items[i]));
  return list->count == 0 ? 1 : hash | 2;
}

static uint64_t hash_stack(const reading_back *r, const vs_trace_list *list) {
  uint64_t hash = list->count;
  for (uint32_t i = 0; i < list->count; i++) hash = join(hash, AT(r->frames, list->items[i]));
  return list->count == 0 ? 1 : hash | 2;
}

static vs_status visit(void *ctx, const vs_trace_item *item) {
  reading_back *r = ctx;
  if (r->visits++ == r->fail_at) return VS_CANCELLED;
  switch (item->tag) {
    case VS_TRACE_STRING: {
      const vs_str text = item->is.string.text;
      PUT(r, &r->strings, item->is.string.id, vs_hash_bytes(text.data, text.size) | 2);
      return VS_OK;
    }
    case VS_TRACE_TEXTS: {
      const uint64_t hash = hash_texts(r, &item->is.list);
      PUT(r, &r->texts, item->is.list.id, hash);
      return VS_OK;
    }
    case VS_TRACE_MODULE:
      PUT(r, &r->modules, item->is.module.id, hash_module(r, &item->is.module));
      return VS_OK;
    case VS_TRACE_FRAME: PUT(r, &r->frames, item->is.frame.id, hash_frame(r, &item->is.frame)); return VS_OK;
    case VS_TRACE_NATIVE: {
      const uint64_t hash = join(AT(r->modules, item->is.native.module), item->is.native.offset);
      PUT(r, &r->frames, item->is.native.id, hash);
      return VS_OK;
    }
    case VS_TRACE_STACK: {
      const uint64_t hash = hash_stack(r, &item->is.list);
      PUT(r, &r->stacks, item->is.list.id, hash);
      return VS_OK;
    }
    case VS_TRACE_CONTEXT: return visit_context(r, &item->is.context);
    case VS_TRACE_EVENT: return visit_event(r, item);
    default:
      VS_TRY(vs_vec_reserve(r->host, &r->others, 1));
      r->others.data[r->others.count++] = hash_other(r, item);
      return VS_OK;
  }
}

void reading_back_init(reading_back *r, const vs_host *host) {
  *r = (reading_back){.host = host, .fail_at = FAULT_NEVER};
}

vs_status read_back(reading_back *r, vs_str bytes, const vs_trace_inflate *inflate, vs_error *error) {
  vs_memory_reader memory;
  vs_input input;
  VS_TRY(vs_input_init(&input, r->host, vs_reader_from_bytes(&memory, bytes.data, bytes.size)));
  const vs_trace_visitor visitor = {.ctx = r, .visit = visit};
  const vs_status status = vs_trace_read(r->host, &input, inflate, &visitor, &r->report, error);
  vs_input_deinit(&input);
  return status;
}

void reading_back_deinit(reading_back *r) {
  vs_vec_free(r->host, &r->events);
  vs_vec_free(r->host, &r->others);
  vs_vec_free(r->host, &r->strings);
  vs_vec_free(r->host, &r->texts);
  vs_vec_free(r->host, &r->modules);
  vs_vec_free(r->host, &r->frames);
  vs_vec_free(r->host, &r->stacks);
  vs_vec_free(r->host, &r->contexts);
}

bool same_event(const plain_event *a, const plain_event *b) {
  const vs_trace_context *x = &a->context, *y = &b->context;
  return a->event.address == b->event.address && a->event.size == b->event.size &&
         a->event.rounded == b->event.rounded && a->event.time_us == b->event.time_us &&
         a->event.action == b->event.action && a->event.kind == b->event.kind &&
         a->event.no_address == b->event.no_address && a->stack == b->stack && x->stream == y->stream &&
         vs_pool_id_equal(x->pool, y->pool) && x->thread == y->thread && x->device == y->device &&
         x->has_pool == y->has_pool && x->compile_context == y->compile_context &&
         x->user_metadata == y->user_metadata && x->category == y->category &&
         x->forward_frames == y->forward_frames;
}

/* ---- a synthetic recording with every kind of record ---------------------------------------------------------------- */

static uint64_t below(made_up *m, uint64_t bound) { return random_below(&m->random, bound); }

/* Any number, small ones and the largest ones more often. */
static uint64_t any(made_up *m) {
  const uint64_t value = random_u64(&m->random) >> below(m, 64);
  return below(m, 16) == 0 ? UINT64_MAX - (value & 3) : value;
}

void made_up_init(made_up *m, vs_tracew *w, reading_back *expected, uint64_t seed) {
  *m = (made_up){.w = w, .expected = expected, .random = {seed}, .time_us = INT64_C(1700000000000000)};
  m->strings[1] = m->texts[1] = m->stacks[1] = 1;
  m->string_count = m->text_count = m->stack_count = 2;
}

/* ---- each call of the writer, noted as it ought to be read ---- */

static vs_status note(made_up *m, vs_trace_tag tag, vs_trace_item item) {
  item.tag = tag;
  return m->expected == NULL ? VS_OK : visit(m->expected, &item);
}

static vs_status say_string(made_up *m, vs_str text, uint32_t *id) {
  VS_TRY(vs_tracew_string(m->w, text, id));
  return *id <= VS_TRACE_EMPTY ? VS_OK : note(m, VS_TRACE_STRING, (vs_trace_item){.is.string = {*id, text}});
}

static vs_status say_list(made_up *m, vs_trace_tag tag, const uint32_t *items, uint32_t count, uint32_t *id) {
  if (tag == VS_TRACE_STACK) VS_TRY(vs_tracew_stack(m->w, items, count, id));
  else VS_TRY(vs_tracew_texts(m->w, items, count, id));
  return *id <= VS_TRACE_EMPTY ? VS_OK : note(m, tag, (vs_trace_item){.is.list = {*id, count, items}});
}

static vs_status say_module(made_up *m, vs_trace_module module, uint32_t *id) {
  VS_TRY(vs_tracew_module(m->w, &module, id));
  module.id = *id;
  return note(m, VS_TRACE_MODULE, (vs_trace_item){.is.module = module});
}

static vs_status say_frame(made_up *m, vs_trace_frame frame, uint32_t *id) {
  VS_TRY(vs_tracew_frame(m->w, &frame, id));
  frame.id = *id;
  return note(m, VS_TRACE_FRAME, (vs_trace_item){.is.frame = frame});
}

static vs_status say_native(made_up *m, uint32_t module, uint64_t offset, uint32_t *id) {
  VS_TRY(vs_tracew_native(m->w, module, offset, id));
  return note(m, VS_TRACE_NATIVE, (vs_trace_item){.is.native = {*id, module, offset}});
}

static vs_status say_context(made_up *m, const vs_trace_context *context, uint32_t *id) {
  VS_TRY(vs_tracew_context(m->w, context, id));
  return note(m, VS_TRACE_CONTEXT, (vs_trace_item){.is.context = {*id, *context}});
}

#define SAY(TAG, name)                                                    \
  static vs_status say_##name(made_up *m, const vs_trace_##name *value) { \
    VS_TRY(vs_tracew_##name(m->w, value));                                \
    return note(m, VS_TRACE_##TAG, (vs_trace_item){.is.name = *value});   \
  }
SAY(EVENT, event)
SAY(ANNOTATION, annotation)
SAY(PROCESS, process)
SAY(DEVICE, device)
SAY(THREAD, thread)
SAY(SETTING, setting)
SAY(SHAPE, shape)
SAY(SEGMENT, segment)
SAY(BLOCK, block)
SAY(LOST, lost)
SAY(STOPPED, stopped)
#undef SAY

static vs_status say_state(made_up *m, vs_trace_state state) {
  VS_TRY(vs_tracew_state_begin(m->w, state.moment, state.time_us));
  VS_TRY(note(m, VS_TRACE_STATE_BEGIN, (vs_trace_item){.is.state = state}));
  VS_TRY(vs_tracew_state_end(m->w));
  return note(m, VS_TRACE_STATE_END, (vs_trace_item){0});
}

static uint32_t pick(made_up *m, const uint32_t *ids, uint32_t count) { return ids[below(m, count)]; }

static vs_status new_string(made_up *m, uint32_t *id) {
  char text[300];
  size_t size = below(m, 8) == 0 ? (size_t)below(m, sizeof text) : (size_t)below(m, 20);
  for (size_t i = 0; i < size; i++) text[i] = (char)random_u64(&m->random);
  VS_TRY(say_string(m, (vs_str){text, size}, id));
  if (m->string_count < 64) m->strings[m->string_count++] = *id;
  else m->strings[below(m, 64)] = *id;
  return VS_OK;
}

static vs_status new_frame(made_up *m) {
  uint32_t id;
  if (below(m, 4) == 0) {
    if (m->module_count == 0 || (m->module_count < 4 && below(m, 4) == 0)) {
      const vs_trace_module module = {.path = pick(m, m->strings, m->string_count),
                                      .build_id = pick(m, m->strings, m->string_count),
                                      .base = any(m),
                                      .size = any(m)};
      VS_TRY(say_module(m, module, &m->modules[m->module_count]));
      m->module_count++;
    }
    VS_TRY(say_native(m, pick(m, m->modules, m->module_count), any(m), &id));
  } else {
    vs_trace_frame frame = {.name = pick(m, m->strings, m->string_count),
                            .file = pick(m, m->strings, m->string_count),
                            .line = (int64_t)any(m)};
    if (below(m, 4) == 0) frame.detail.fx_original_trace = pick(m, m->strings, m->string_count);
    VS_TRY(say_frame(m, frame, &id));
  }
  if (m->frame_count < 64) m->frames[m->frame_count++] = id;
  else m->frames[below(m, 64)] = id;
  return VS_OK;
}

static vs_status new_stack(made_up *m) {
  uint32_t frames[80], id;
  const uint32_t count = (uint32_t)below(m, below(m, 8) == 0 ? 80 : 8);
  if (m->frame_count == 0) VS_TRY(new_frame(m));
  for (uint32_t i = 0; i < count; i++) frames[i] = m->frames[(i * 7 + below(m, 3)) % m->frame_count];
  VS_TRY(say_list(m, VS_TRACE_STACK, frames, count, &id));
  if (m->stack_count < 64) m->stacks[m->stack_count++] = id;
  else m->stacks[below(m, 64)] = id;
  return VS_OK;
}

static vs_status new_texts(made_up *m) {
  uint32_t strings[5], id;
  const uint32_t count = (uint32_t)below(m, 5);
  for (uint32_t i = 0; i < count; i++) strings[i] = pick(m, m->strings, m->string_count);
  VS_TRY(say_list(m, VS_TRACE_TEXTS, strings, count, &id));
  if (m->text_count < 8) m->texts[m->text_count++] = id;
  return VS_OK;
}

static vs_status new_context(made_up *m) {
  vs_trace_context context = {
      .stream = any(m),
      .thread = any(m),
      .device = (int32_t)below(m, 1025) - 1,
      .has_pool = below(m, 2) == 0,
      .compile_context = pick(m, m->strings, m->string_count),
      .user_metadata = pick(m, m->strings, m->string_count),
      .category = pick(m, m->strings, m->string_count),
      .forward_frames = pick(m, m->texts, m->text_count),
  };
  uint32_t id;
  if (context.has_pool) context.pool = (vs_pool_id){any(m), any(m)};
  VS_TRY(say_context(m, &context, &id));
  if (m->context_count < 32) m->contexts[m->context_count++] = id;
  else m->contexts[below(m, 32)] = id;
  return VS_OK;
}

/* Anything an event can say. */
static vs_status any_event(made_up *m) {
  vs_trace_event event = {
      .address = any(m),
      .size = any(m),
      .rounded = any(m),
      .time_us = (int64_t)any(m),
      .stack = pick(m, m->stacks, m->stack_count),
      .context = pick(m, m->contexts, m->context_count),
      .kind = (uint8_t)below(m, VS_EVENT_UNKNOWN + 1),
      .no_address = below(m, 8) == 0,
  };
  if (below(m, 8) == 0) event.time_us = VS_TRACE_NO_TIME;
  else if (below(m, 2) == 0) event.time_us = m->time_us;
  if (event.kind == VS_EVENT_UNKNOWN)
    while (event.action == VS_TRACE_NONE) VS_TRY(new_string(m, &event.action));
  if (event.no_address) event.address = 0;
  return say_event(m, &event);
}

static vs_status alloc(made_up *m) {
  const uint64_t size = below(m, 3) == 0 ? any(m) : 100 * below(m, 20);
  const uint32_t i = m->live_count;
  vs_trace_event event = {
      .address =
          i != 0 && below(m, 2) == 0 ? m->live[i - 1].address + m->live[i - 1].rounded : below(m, 64) * 512,
      .size = size,
      .rounded = below(m, 3) == 0   ? 0
                 : below(m, 2) == 0 ? (size + 511) / 512 * 512
                                    : any(m),
      .time_us = m->time_us,
      .stack = pick(m, m->stacks, m->stack_count),
      .context = m->contexts[0],
      .kind = VS_EVENT_ALLOC,
  };
  VS_TRY(say_event(m, &event));
  m->live[i].address = event.address;
  m->live[i].size = event.size;
  m->live[i].rounded = event.rounded;
  m->live[i].stack = event.stack;
  m->live[i].context = event.context;
  m->live_count++;
  return VS_OK;
}

static vs_status release(made_up *m) {
  const uint32_t i = below(m, 2) == 0 ? m->live_count - 1 : (uint32_t)below(m, m->live_count);
  vs_trace_event event = {
      .address = m->live[i].address,
      .size = m->live[i].size,
      .rounded = m->live[i].rounded,
      .time_us = m->time_us,
      .stack = below(m, 2) == 0 ? m->live[i].stack : pick(m, m->stacks, m->stack_count),
      .context = m->live[i].context,
      .kind = VS_EVENT_FREE_REQUESTED,
  };
  VS_TRY(say_event(m, &event));
  m->live[i] = m->live[--m->live_count];
  if (below(m, 3) == 0) { /* another stream uses it: it is completed some time, or never */
    m->pending[m->pending_count++ % 8] = event;
    return VS_OK;
  }
  event.kind = VS_EVENT_FREE_COMPLETED;
  if (below(m, 4) == 0) event.time_us = m->time_us += (int64_t)below(m, 300);
  if (below(m, 16) == 0) event.stack = pick(m, m->stacks, m->stack_count);
  return say_event(m, &event);
}

static vs_status complete_late(made_up *m) {
  vs_trace_event event = m->pending[below(m, m->pending_count < 8 ? m->pending_count : 8)];
  event.kind = VS_EVENT_FREE_COMPLETED;
  if (below(m, 8) != 0) event.time_us = m->time_us;
  if (below(m, 16) == 0) event.stack = pick(m, m->stacks, m->stack_count);
  return say_event(m, &event);
}

static vs_status other(made_up *m) {
  const uint32_t a = pick(m, m->strings, m->string_count), b = pick(m, m->strings, m->string_count);
  const int64_t time_us = below(m, 3) == 0 ? VS_TRACE_NO_TIME : (int64_t)any(m);
  const int32_t device = (int32_t)below(m, 1025) - 1;
  switch (below(m, 10)) {
    case 0:
      return say_annotation(
          m, &(vs_trace_annotation){
                 .time_us = time_us, .thread = any(m), .device = device, .name = a, .stage = b});
    case 1:
      return say_process(m, &(vs_trace_process){.pid = (uint32_t)any(m),
                                                .parent = (uint32_t)any(m),
                                                .host = a,
                                                .program = b,
                                                .writer = a,
                                                .wall_us = (int64_t)any(m),
                                                .monotonic_ns = any(m),
                                                .is_simulated = below(m, 2) == 0});
    case 2: return say_device(m, &(vs_trace_device){.device = device, .name = a, .total_bytes = any(m)});
    case 3: return say_thread(m, &(vs_trace_thread){.thread = any(m), .name = b});
    case 4: {
      vs_trace_setting setting = {
          .key = a, .kind = (uint8_t)below(m, 6), .depth = (uint8_t)below(m, 256), .bits = any(m)};
      if (setting.kind == VS_TRACE_SETTING_BOOL) setting.bits &= 1;
      if (setting.kind == VS_TRACE_SETTING_STRING) setting.bits = b;
      return say_setting(m, &setting);
    }
    case 5:
      return say_shape(m, &(vs_trace_shape){.parts = (uint32_t)any(m),
                                            .devices = (uint32_t)below(m, 1025),
                                            .has_host = below(m, 2) == 0});
    case 6: return say_lost(m, &(vs_trace_lost){.events = any(m), .since_us = time_us});
    case 8: return say_stopped(m, &(vs_trace_stopped){.time_us = time_us, .reason = a});
    case 7: return say_state(m, (vs_trace_state){(vs_trace_moment)below(m, 3), time_us});
    default: break;
  }
  vs_trace_segment segment = {.address = any(m),
                              .total_size = any(m),
                              .registration_counter = (int64_t)any(m),
                              .stream = any(m),
                              .device = device,
                              .has_pool = below(m, 2) == 0,
                              .has = (uint8_t)below(m, 16),
                              .type = a,
                              .stack = pick(m, m->stacks, m->stack_count),
                              .forward_frames = pick(m, m->texts, m->text_count)};
  if (segment.has & VS_TRACE_HAS_ALLOCATED) segment.allocated = any(m);
  if (segment.has & VS_TRACE_HAS_ACTIVE) segment.active = any(m);
  if (segment.has & VS_TRACE_HAS_REQUESTED) segment.requested = any(m);
  if (segment.has & VS_TRACE_HAS_EXPANDABLE) segment.is_expandable = below(m, 2) == 0;
  if (segment.has_pool) segment.pool = (vs_pool_id){any(m), any(m)};
  if (below(m, 2) == 0) segment.registration_counter = VS_TRACE_NO_COUNTER;
  VS_TRY(say_segment(m, &segment));
  const vs_trace_block block = {.address = any(m),
                                .size = any(m),
                                .requested = any(m),
                                .stack = pick(m, m->stacks, m->stack_count),
                                .state = (uint8_t)below(m, 4),
                                .state_name = b,
                                .is_address_derived = below(m, 2) == 0,
                                .is_requested_derived = below(m, 2) == 0};
  return say_block(m, &block);
}

vs_status made_up_step(made_up *m) {
  uint32_t id;
  if (below(m, 3) != 0) m->time_us += (int64_t)below(m, below(m, 8) == 0 ? 100000 : 4);
  if (m->context_count == 0 || below(m, 200) == 0) VS_TRY(new_context(m));
  if (below(m, 40) == 0) VS_TRY(new_string(m, &id));
  if (below(m, 40) == 0) VS_TRY(new_frame(m));
  if (below(m, 40) == 0) VS_TRY(new_stack(m));
  if (below(m, 200) == 0) VS_TRY(new_texts(m));
  if (below(m, 1000) == 0) VS_TRY(vs_tracew_checkpoint(m->w));
  if (below(m, 20) == 0) return any_event(m);
  if (below(m, 40) == 0) return other(m);
  if (m->pending_count != 0 && below(m, 8) == 0) return complete_late(m);
  if (m->live_count == 0 || (m->live_count < 256 && below(m, 2) == 0)) return alloc(m);
  return release(m);
}
