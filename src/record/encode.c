/* Encodes messages as records, on the writer thread. A stack, text or context gets its number in the file when a message
 * first uses it. */
#include "record/recorder.h"
#include "base/hash.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/modules.h"
#include "os/process.h"

/* ---- numbers */

/* Makes the array long enough for entry `number`; new entries are 0. */
#define RESERVE(e, ids, number) \
  reserve_ids((e)->host, &(ids)->data, &(ids)->count, &(ids)->capacity, (number))

static vs_status reserve_ids(const vs_host *host, uint32_t **data, size_t *count, size_t *capacity,
                             size_t number) {
  if (number < *count) return VS_OK;
  const size_t more = number + 1 - *count;
  if (*capacity - *count < more)
    VS_TRY(vs_vec_grow(host, (void **)data, capacity, *count, more, sizeof **data));
  memset(*data + *count, 0, more * sizeof **data);
  VS_ASSERT(number < *capacity);
  *count = number + 1;
  return VS_OK;
}

static vs_status string_of(vs_encoder *e, vs_str text, uint32_t *id) {
  return vs_tracew_string(e->file, text, id);
}

static vs_status text_of(vs_encoder *e, uint32_t text, uint32_t *id) {
  *id = VS_TRACE_NONE;
  if (text == 0 || e->stacks == NULL) return VS_OK;
  VS_TRY(RESERVE(e, &e->text_ids, text));
  if (e->text_ids.data[text] == 0) {
    vs_str bytes = vs_record_text_at(e->stacks, text);
    if (bytes.size > VS_RECORD_MOST_TEXT) bytes.size = VS_RECORD_MOST_TEXT;
    VS_TRY(string_of(e, bytes, &e->text_ids.data[text]));
  }
  *id = e->text_ids.data[text];
  return VS_OK;
}

/* ---- modules: of several that were loaded at an address the newest counts */

static vs_status add_module(void *ctx, const vs_module *module) {
  vs_encoder *e = ctx;
  for (size_t i = e->modules.count; i != 0; i--) {
    const vs_known_module *known = &e->modules.data[i - 1];
    if (known->start < module->end && module->start < known->end) {
      if (known->start == module->start && known->end == module->end && known->base == module->base)
        return VS_OK;
      break;
    }
  }
  vs_trace_module record = {.base = module->base, .size = module->end - module->base};
  const vs_str build_id = {(const char *)module->build_id, module->build_id_size};
  vs_known_module known = {.start = module->start, .end = module->end, .base = module->base};
  VS_TRY(string_of(e, vs_str_from(module->path), &record.path));
  VS_TRY(string_of(e, build_id, &record.build_id));
  VS_TRY(vs_tracew_module(e->file, &record, &known.id));
  VS_TRY(vs_vec_reserve(e->host, &e->modules, 1));
  e->modules.data[e->modules.count++] = known;
  return VS_OK;
}

static vs_status look_at_modules(vs_encoder *e) {
  const uint64_t version = vs_modules_version();
  if (version == e->modules_version) return VS_OK;
  VS_TRY(vs_modules_visit(add_module, e));
  e->modules_version = version;
  return VS_OK;
}

static const vs_known_module *module_at(const vs_encoder *e, uint64_t address) {
  for (size_t i = e->modules.count; i != 0; i--)
    if (address >= e->modules.data[i - 1].start && address < e->modules.data[i - 1].end)
      return &e->modules.data[i - 1];
  return NULL;
}

/* ---- stacks */

/* Code that was generated at run time belongs to no file. Its addresses are those of a module without path and base. */
static vs_status native_frame(vs_encoder *e, uint64_t address, uint32_t *id) {
  const vs_known_module *module = module_at(e, address - 1);
  if (module != NULL) return vs_tracew_native(e->file, module->id, address - module->base, id);
  const vs_trace_module nowhere = {.path = VS_TRACE_EMPTY, .build_id = VS_TRACE_EMPTY};
  uint32_t number;
  VS_TRY(vs_tracew_module(e->file, &nowhere, &number));
  return vs_tracew_native(e->file, number, address, id);
}

static vs_status named_frame(vs_encoder *e, uint64_t word, uint32_t *id) {
  const size_t number = (size_t)(word & ~VS_RECORD_NAMED_FRAME);
  VS_ASSERT((word & VS_RECORD_NAMED_FRAME) != 0);
  VS_TRY(RESERVE(e, &e->frame_ids, number));
  if (e->frame_ids.data[number] == 0) {
    const vs_record_frame frame = vs_record_frame_at(e->stacks, word);
    vs_trace_frame record = {.line = frame.line};
    VS_TRY(string_of(e, frame.function, &record.name));
    VS_TRY(string_of(e, frame.file, &record.file));
    VS_TRY(vs_tracew_frame(e->file, &record, id));
    e->frame_ids.data[number] = *id + 1;
  }
  *id = e->frame_ids.data[number] - 1;
  return VS_OK;
}

static vs_status define_stack(vs_encoder *e, vs_context stack, uint32_t *id) {
  const uint64_t *words;
  const uint32_t count = vs_record_stack_at(e->stacks, stack, &words);
  uint32_t frames[VS_RECORD_DEPTH_MOST];
  VS_ASSERT(count <= VS_RECORD_DEPTH_MOST);
  bool has_looked = false;
  for (uint32_t i = 0; i < count; i++) {
    if ((words[i] & VS_RECORD_NAMED_FRAME) != 0) {
      VS_TRY(named_frame(e, words[i], &frames[i]));
      continue;
    }
    if (!has_looked) VS_TRY(look_at_modules(e));
    has_looked = true;
    VS_TRY(native_frame(e, words[i], &frames[i]));
  }
  return vs_tracew_stack(e->file, frames, count, id);
}

static vs_status stack_of(vs_encoder *e, vs_context stack, uint32_t *id) {
  *id = VS_TRACE_NONE;
  if (stack == VS_CONTEXT_NONE || e->stacks == NULL) return VS_OK;
  if (stack < e->stack_ids.count) *id = e->stack_ids.data[stack];
  if (*id != VS_TRACE_NONE) return VS_OK;
  VS_TRY(RESERVE(e, &e->stack_ids, stack));
  VS_TRY(define_stack(e, stack, id));
  e->stack_ids.data[stack] = *id;
  return VS_OK;
}

/* As in PyTorch's snapshots, segments and blocks always have a list of frames: an empty one if the stack is unknown. */
static vs_status stack_of_state(vs_encoder *e, vs_context stack, uint32_t *id) {
  VS_TRY(stack_of(e, stack, id));
  if (*id == VS_TRACE_NONE) *id = VS_TRACE_EMPTY;
  return VS_OK;
}

/* ---- contexts: the properties that many events share */

static vs_status define_context(vs_encoder *e, const vs_context_key *key, uint32_t *id) {
  vs_trace_context context = {.stream = key->stream,
                              .pool = key->pool,
                              .thread = key->thread,
                              .device = key->device,
                              .has_pool = !e->has_no_pools};
  VS_TRY(text_of(e, key->metadata, &context.user_metadata));
  VS_TRY(text_of(e, key->compile_context, &context.compile_context));
  return vs_tracew_context(e->file, &context, id);
}

static vs_status context_of(vs_encoder *e, const vs_context_key *key, uint32_t *id) {
  vs_known_context *known = &e->contexts[vs_hash_bytes(key, sizeof *key) & (VS_KNOWN_CONTEXTS - 1)];
  if (!known->is_used || memcmp(&known->key, key, sizeof *key) != 0) {
    VS_TRY(define_context(e, key,
                          &known->id)); /* a key that was replaced in this cache gets the same number again */
    known->key = *key;
    known->is_used = true;
  }
  *id = known->id;
  return VS_OK;
}

/* ---- messages */

static int64_t time_of(const vs_encoder *e, uint64_t time_ns) {
  return ((int64_t)time_ns + e->wall_at_zero) / 1000;
}

static vs_status context_of_event(vs_encoder *e, const vs_ring *ring, const vs_slot *m, uint32_t *id) {
  const uint32_t pool = (uint32_t)(m->words[5] >> 32);
  if (m->slots == 1 && e->last.is_set && e->last.stream == m->words[4] && e->last.thread == ring->thread &&
      e->last.pool == pool && e->last.device == m->device && e->last.metadata == m->metadata) {
    *id = e->last.id;
    return VS_OK;
  }
  vs_event_more more = {.metadata = m->metadata};
  if (m->slots > 1) vs_ring_get(ring, &more, sizeof more);
  const vs_context_key key = {.stream = m->words[4],
                              .pool = pool == VS_POOL_IN_MORE ? more.pool : vs_pool_unpack(pool),
                              .thread = ring->thread,
                              .device = m->device,
                              .metadata = more.metadata,
                              .compile_context = more.compile_context};
  VS_TRY(context_of(e, &key, id));
  e->last.is_set = m->slots == 1;
  e->last.stream = m->words[4];
  e->last.thread = ring->thread;
  e->last.pool = pool;
  e->last.device = m->device;
  e->last.metadata = m->metadata;
  e->last.id = *id;
  return VS_OK;
}

static vs_status put_event(vs_encoder *e, const vs_ring *ring, const vs_slot *m) {
  vs_trace_event event = {.time_us = time_of(e, m->words[0]),
                          .address = m->words[1],
                          .size = m->words[2],
                          .rounded = m->words[3],
                          .kind = m->kind};
  VS_TRY(context_of_event(e, ring, m, &event.context));
  VS_TRY(stack_of(e, (vs_context)m->words[5], &event.stack));
  if (m->type != VS_MESSAGE_FREE) return vs_tracew_event(e->file, &event);
  event.kind = VS_EVENT_FREE_REQUESTED;
  VS_TRY(vs_tracew_event(e->file, &event));
  event.kind = VS_EVENT_FREE_COMPLETED;
  return vs_tracew_event(e->file, &event);
}

/* ---- annotations */

static vs_status put_range(vs_encoder *e, const vs_open_range *range, vs_str stage) {
  vs_trace_annotation annotation = {
      .time_us = time_of(e, range->time_ns), .thread = range->thread, .device = range->device};
  VS_TRY(text_of(e, range->name, &annotation.name));
  VS_TRY(string_of(e, stage, &annotation.stage));
  return vs_tracew_annotation(e->file, &annotation);
}

static vs_status add_open(vs_encoder *e, const vs_open_range *range) {
  if (e->open.count == VS_RECORDER_MOST_OPEN) return VS_OK;
  VS_TRY(vs_vec_reserve(e->host, &e->open, 1));
  e->open.data[e->open.count++] = *range;
  return VS_OK;
}

/* An end closes the latest open range of its name, as where the file is read (analyze/annotations.h). */
static void remove_open(vs_encoder *e, const vs_open_range *end) {
  for (size_t i = e->open.count; i != 0; i--) {
    const vs_open_range *range = &e->open.data[i - 1];
    if (range->name != end->name || range->device != end->device) continue;
    memmove(&e->open.data[i - 1], &e->open.data[i], (e->open.count - i) * sizeof *range);
    e->open.count--;
    return;
  }
}

static vs_status put_annotation(vs_encoder *e, const vs_ring *ring, const vs_slot *m) {
  const bool is_start = m->words[2] != 0;
  const vs_open_range range = {
      .time_ns = m->words[0], .thread = ring->thread, .name = (uint32_t)m->words[1], .device = m->device};
  if (e->keeps_newest && is_start) VS_TRY(add_open(e, &range));
  else if (e->keeps_newest) remove_open(e, &range);
  return put_range(e, &range, is_start ? VS_STR("START") : VS_STR("END"));
}

/* ---- libraries */

static vs_status put_total(vs_encoder *e, const vs_library_total *total) {
  vs_trace_library library = {
      .time_us = time_of(e, total->time_ns), .bytes = total->bytes, .device = total->device};
  VS_TRY(text_of(e, total->name, &library.name));
  return vs_tracew_library(e->file, &library);
}

static vs_status keep_total(vs_encoder *e, const vs_library_total *total) {
  for (size_t i = 0; i < e->libraries.count; i++) {
    vs_library_total *known = &e->libraries.data[i];
    if (known->name != total->name || known->device != total->device) continue;
    *known = *total;
    return VS_OK;
  }
  VS_TRY(vs_vec_reserve(e->host, &e->libraries, 1));
  e->libraries.data[e->libraries.count++] = *total;
  return VS_OK;
}

static vs_status put_library(vs_encoder *e, const vs_slot *m) {
  const vs_library_total total = {
      .time_ns = m->words[0], .name = (uint32_t)m->words[1], .bytes = m->words[2], .device = m->device};
  if (e->keeps_newest) VS_TRY(keep_total(e, &total));
  return put_total(e, &total);
}

/* ---- facts */

static vs_status keep_device(vs_encoder *e, const vs_trace_device *device) {
  for (size_t i = 0; i < e->devices.count; i++)
    if (e->devices.data[i].device == device->device) {
      e->devices.data[i] = *device;
      return VS_OK;
    }
  VS_TRY(vs_vec_reserve(e->host, &e->devices, 1));
  e->devices.data[e->devices.count++] = *device;
  return VS_OK;
}

/* words: bytes of the name, of the card */
static vs_status put_device(vs_encoder *e, const vs_ring *ring, const vs_slot *m) {
  char name[VS_RECORD_MOST_TEXT];
  VS_ASSERT(m->words[0] <= sizeof name);
  vs_trace_device device = {.device = m->device, .total_bytes = m->words[1]};
  vs_ring_get(ring, name, (size_t)m->words[0]);
  VS_TRY(string_of(e, (vs_str){name, (size_t)m->words[0]}, &device.name));
  if (e->keeps_newest) VS_TRY(keep_device(e, &device));
  return vs_tracew_device(e->file, &device);
}

/* words: bytes of the key, of the text behind it, kind, depth, bits */
static vs_status put_setting(vs_encoder *e, const vs_ring *ring, const vs_slot *m) {
  char bytes[2 * VS_RECORD_MOST_TEXT];
  const size_t key = (size_t)m->words[0], text = (size_t)m->words[1];
  VS_ASSERT(key <= VS_RECORD_MOST_TEXT && text <= VS_RECORD_MOST_TEXT);
  vs_ring_get(ring, bytes, key + text);
  vs_trace_setting setting = {
      .kind = (uint8_t)m->words[2], .depth = (uint8_t)m->words[3], .bits = m->words[4]};
  VS_TRY(string_of(e, (vs_str){bytes, key}, &setting.key));
  if (setting.kind == VS_RECORD_SETTING_STRING) {
    uint32_t id;
    VS_TRY(string_of(e, (vs_str){bytes + key, text}, &id));
    setting.bits = id;
  }
  return vs_tracew_setting(e->file, &setting);
}

static vs_status put_segment(vs_encoder *e, const vs_ring *ring) {
  vs_record_segment from;
  vs_ring_get(ring, &from, sizeof from);
  vs_trace_segment to = {
      .address = from.address,
      .total_size = from.size,
      .allocated = from.allocated,
      .active = from.active,
      .requested = from.requested,
      .registration_counter = from.registration < 0 ? VS_TRACE_NO_COUNTER : from.registration,
      .stream = from.stream,
      .pool = from.pool,
      .device = from.device,
      .has_pool = !e->has_no_pools,
      .is_expandable = from.is_expandable,
      .has = VS_TRACE_HAS_ALLOCATED | VS_TRACE_HAS_ACTIVE | VS_TRACE_HAS_REQUESTED | VS_TRACE_HAS_EXPANDABLE};
  VS_TRY(string_of(e, from.is_small ? VS_STR("small") : VS_STR("large"), &to.type));
  VS_TRY(stack_of_state(e, from.context, &to.stack));
  return vs_tracew_segment(e->file, &to);
}

static vs_status put_block(vs_encoder *e, const vs_ring *ring) {
  vs_record_block from;
  vs_ring_get(ring, &from, sizeof from);
  vs_trace_block to = {.address = from.address, .size = from.size, .requested = from.requested};
  to.state = from.state == VS_RECORD_ALLOCATED ? VS_TRACE_ALLOCATED
             : from.state == VS_RECORD_PENDING ? VS_TRACE_PENDING
                                               : VS_TRACE_INACTIVE;
  VS_TRY(stack_of_state(e, from.context, &to.stack));
  return vs_tracew_block(e->file, &to);
}

/* words: its number, then the bytes of its name, which ends with a 0 */
static vs_status put_thread(vs_encoder *e, const vs_slot *m) {
  char name[VS_THREAD_NAME + 1] = "";
  vs_trace_thread thread = {.thread = m->words[0]};
  memcpy(name, &m->words[1], VS_THREAD_NAME);
  if (name[0] == 0) return VS_OK;
  VS_TRY(string_of(e, vs_str_from(name), &thread.name));
  return vs_tracew_thread(e->file, &thread);
}

vs_status vs_encoder_put(vs_encoder *e, const vs_ring *ring, const vs_slot *m) {
  switch ((vs_message_type)m->type) {
    case VS_MESSAGE_EVENT:
    case VS_MESSAGE_FREE: return put_event(e, ring, m);
    case VS_MESSAGE_ANNOTATION: return put_annotation(e, ring, m);
    case VS_MESSAGE_LIBRARY: return put_library(e, m);
    case VS_MESSAGE_CLOCK: e->wall_at_zero = (int64_t)m->words[0]; return VS_OK;
    case VS_MESSAGE_DEVICE: return put_device(e, ring, m);
    case VS_MESSAGE_SETTING: return put_setting(e, ring, m);
    case VS_MESSAGE_STATE_BEGIN:
      return vs_tracew_state_begin(e->file, (vs_trace_moment)m->words[1], time_of(e, m->words[0]));
    case VS_MESSAGE_SEGMENT: return put_segment(e, ring);
    case VS_MESSAGE_BLOCK: return put_block(e, ring);
    case VS_MESSAGE_STATE_END: return vs_tracew_state_end(e->file);
    case VS_MESSAGE_THREAD: return put_thread(e, m);
  }
  return VS_OK;
}

vs_status vs_encoder_lost(vs_encoder *e, uint64_t lost, uint64_t since) {
  VS_ASSERT(lost >= e->lost_written);
  if (lost == e->lost_written) return VS_OK;
  const vs_trace_lost record = {.events = lost,
                                .since_us = since == 0 ? VS_TRACE_NO_TIME : time_of(e, since)};
  VS_TRY(vs_tracew_lost(e->file, &record));
  e->lost_written = lost;
  return VS_OK;
}

vs_status vs_encoder_stopped(vs_encoder *e, const char *reason, uint64_t time_ns) {
  vs_trace_stopped record = {.time_us = time_of(e, time_ns)};
  VS_TRY(string_of(e, vs_str_from(reason), &record.reason));
  return vs_tracew_stopped(e->file, &record);
}

/* ---- creating and destroying */

static vs_status put_process(vs_encoder *e, const vs_record_options *options) {
  char path[4096], host[256];
  vs_trace_process process = {.is_simulated = options->is_simulated,
                              .has_no_completions = options->has_no_completions};
  VS_TRY(string_of(e, VS_STR("vramscope " VS_VERSION_TEXT), &process.writer));
  if (options->is_simulated) return vs_tracew_process(e->file, &process);
  vs_process_program(path, sizeof path);
  vs_process_host(host, sizeof host);
  process.pid = (uint32_t)vs_process_id();
  process.parent = (uint32_t)vs_process_parent();
  process.monotonic_ns = vs_clock_ns();
  process.wall_us = (int64_t)(vs_clock_wall_ns() / 1000);
  VS_TRY(string_of(e, vs_str_from(host), &process.host));
  VS_TRY(string_of(e, vs_str_from(path), &process.program));
  return vs_tracew_process(e->file, &process);
}

vs_status vs_encoder_init(vs_recorder *r) {
  vs_encoder *e = &r->encoder;
  const vs_tracew_sink sink = vs_sink_of(&r->sink);
  const vs_tracew_options options = {.process = r->options.is_simulated ? 1 : (uint32_t)vs_process_id(),
                                     .keeps_slots = true};
  e->host = r->host;
  e->stacks = r->options.stacks;
  e->has_no_pools = r->options.has_no_pools;
  e->keeps_newest = r->options.max_bytes != 0 || r->options.max_ns != 0;
  if (!r->options.is_simulated) e->wall_at_zero = (int64_t)(vs_clock_wall_ns() - vs_clock_ns());
  VS_TRY(vs_tracew_create(r->host, &sink, &options, &e->file));
  return put_process(e, &r->options);
}

vs_status vs_encoder_repeat(vs_encoder *e, const vs_record_options *options) {
  VS_TRY(vs_tracew_checkpoint(e->file));
  VS_TRY(put_process(e, options));
  for (size_t i = e->open.count; i != 0; i--) VS_TRY(put_range(e, &e->open.data[i - 1], VS_STR("")));
  for (size_t i = 0; i < e->devices.count; i++) VS_TRY(vs_tracew_device(e->file, &e->devices.data[i]));
  for (size_t i = 0; i < e->libraries.count; i++) VS_TRY(put_total(e, &e->libraries.data[i]));
  return VS_OK;
}

void vs_encoder_deinit(vs_encoder *e) {
  vs_tracew_destroy(e->file);
  vs_vec_free(e->host, &e->stack_ids);
  vs_vec_free(e->host, &e->text_ids);
  vs_vec_free(e->host, &e->frame_ids);
  vs_vec_free(e->host, &e->modules);
  vs_vec_free(e->host, &e->open);
  vs_vec_free(e->host, &e->devices);
  vs_vec_free(e->host, &e->libraries);
  e->file = NULL;
}
