/* Frames and dictionaries. */
#include "tracefile/frame.h"
#include "tracefile/writer_internal.h"

/* ---- creating and destroying ------------------------------------------------------------------------------------- */

static void forget_written(vs_tracew *w) {
  for (int d = 0; d < VS_DICT_COUNT; d++) w->written[d] = vs_dictionary_first((vs_dictionary)d);
}

vs_status vs_tracew_create(const vs_host *host, const vs_tracew_sink *sink, const vs_tracew_options *options,
                           vs_tracew **out) {
  *out = NULL;
  vs_tracew *w = vs_host_alloc(host, sizeof *w);
  if (w == NULL) return VS_NO_MEMORY;
  memset(w, 0, sizeof *w);
  w->host = host;
  w->sink = *sink;
  if (options != NULL) w->options = *options;
  w->sequence = w->options.sequence;
  w->modules.width = VS_MODULE_WORDS;
  w->frames.width = VS_FRAME_WORDS;
  w->contexts.width = VS_CONTEXT_WORDS;
  forget_written(w);
  vs_status status = vs_strings_init(host, &w->strings);
  if (status == VS_OK) status = vs_lists_init(host, &w->texts);
  if (status == VS_OK) status = vs_lists_init(host, &w->stacks);
  if (status != VS_OK) {
    vs_tracew_destroy(w);
    return status;
  }
  *out = w;
  return VS_OK;
}

void vs_tracew_destroy(vs_tracew *w) {
  if (w == NULL) return;
  const vs_host *host = w->host;
  vs_strings_deinit(host, &w->strings);
  vs_lists_deinit(host, &w->texts);
  vs_lists_deinit(host, &w->stacks);
  vs_rows_deinit(host, &w->modules);
  vs_rows_deinit(host, &w->frames);
  vs_rows_deinit(host, &w->contexts);
  vs_map_deinit(host, &w->site_by_hash);
  vs_map_deinit(host, &w->sizes_by_hash);
  vs_vec_free(host, &w->locals);
  vs_vec_free(host, &w->model.sites);
  vs_vec_free(host, &w->model.sizes);
  vs_host_free(host, w, sizeof *w);
}

uint64_t vs_tracew_events(const vs_tracew *w) { return w->events + w->frame_events; }

uint64_t vs_tracew_bytes(const vs_tracew *w) {
  return w->bytes + (w->frame == NULL ? 0 : (uint64_t)(w->at - w->frame));
}

/* ---- records ------------------------------------------------------------------------------------------- */

uint8_t *vs_tracew_body(vs_tracew *w) { return w->at + 2; }

/* The body was written after one byte for its length; a longer length moves it. The tag is stored last: until then a
 * reader sees the end of the frame here. */
void vs_tracew_record(vs_tracew *w, vs_trace_tag tag, uint8_t *end) {
  const size_t size = (size_t)(end - (w->at + 2));
  VS_ASSERT(w->frame != NULL && end >= w->at + 2 && end <= w->limit);
  uint8_t length[VS_VARINT_MOST];
  const size_t more = (size_t)(vs_put_varint(length, size) - length);
  if (more > 1) memmove(w->at + 1 + more, w->at + 2, size);
  memcpy(w->at + 1, length, more);
  __atomic_signal_fence(__ATOMIC_RELEASE);
  *w->at = (uint8_t)tag;
  w->at += 1 + more + size;
  VS_ASSERT(w->at <= w->limit);
  w->freeing = NULL;
}

/* ---- frames -------------------------------------------------------------------------------------------- */

enum { BEGINNING = VS_FRAME_HEADER + 2 * VS_RECORD_FRAMING + VS_DICT_COUNT * VS_VARINT_MOST };

static void put_header(vs_tracew *w, size_t size, size_t stored) {
  const vs_frame_header header = {
      .version = VS_FRAME_VERSION,
      .size = (uint32_t)size,
      .stored = (uint32_t)stored,
      .plain = (uint32_t)stored,
      .process = w->options.process,
      .flags = vs_get_u32(w->frame + 36),
      .sequence = w->sequence,
      .events_before = w->events,
      .base_time = (int64_t)vs_get_u64(w->frame + 56),
      .base_address = vs_get_u64(w->frame + 64),
      .events = w->frame_events,
  };
  vs_frame_header_put(w->frame, &header);
}

static vs_status seal(vs_tracew *w) {
  VS_ASSERT(w->frame != NULL && w->at >= w->frame + VS_FRAME_HEADER && w->at <= w->limit);
  const size_t used = (size_t)(w->at - w->frame), stored = used - VS_FRAME_HEADER;
  const size_t size = w->options.keeps_slots ? w->frame_size : used;
  put_header(w, size, stored);
  vs_frame_seal(w->frame, stored);
  uint8_t *frame = w->frame;
  w->frame = w->ready = NULL;
  w->freeing = NULL;
  w->sequence++;
  w->events += w->frame_events;
  w->frame_events = 0;
  w->bytes += size;
  const vs_status status = w->sink.sealed(w->sink.ctx, frame, size);
  if (status != VS_OK) w->needs_checkpoint = true;
  return status;
}

/* The first record: the number of entries in the file so far. */
static void put_base(vs_tracew *w) {
  uint8_t *at = vs_tracew_body(w);
  for (int d = 0; d < VS_DICT_COUNT; d++) at = vs_put_varint(at, w->written[d]);
  vs_tracew_record(w, VS_TRACE_BASE, at);
}

/* The model of a new frame is empty. */
static void forget_model(vs_tracew *w) {
  vs_model_begin(&w->model, w->model.address, w->model.time_us);
  vs_map_clear(&w->site_by_hash);
  vs_map_clear(&w->sizes_by_hash);
  w->ready = NULL;
}

static vs_status begin(vs_tracew *w, size_t bytes) {
  const size_t usual = w->options.frame_size == 0 ? VS_TRACE_FRAME_SIZE : w->options.frame_size;
  const size_t at_least = bytes + BEGINNING > usual ? bytes + BEGINNING : usual;
  if (at_least > VS_TRACE_MOST_FRAME_SIZE) return VS_LIMIT;
  void *memory;
  size_t size;
  VS_TRY(w->sink.begin(w->sink.ctx, at_least, &memory, &size));
  VS_ASSERT(size >= bytes + BEGINNING && size <= VS_TRACE_MOST_FRAME_SIZE);
  memset(memory, 0, size);
  forget_model(w);
  w->frame = memory;
  w->frame_size = size;
  w->at = w->frame + VS_FRAME_HEADER;
  w->limit = w->frame + size;
  w->stack = VS_TRACE_NONE;
  const bool is_checkpoint = w->needs_checkpoint;
  vs_put_u32(w->frame + 36, is_checkpoint ? VS_FRAME_HAS_CHECKPOINT : 0);
  vs_put_u64(w->frame + 56, (uint64_t)w->model.time_us);
  vs_put_u64(w->frame + 64, w->model.address);
  put_header(w, size, 0);
  vs_frame_open(w->frame);
  if (is_checkpoint) {
    forget_written(w);
    w->is_behind = true;
    w->ready = NULL;
    w->needs_checkpoint = false;
  }
  put_base(w);
  if (is_checkpoint) vs_tracew_record(w, VS_TRACE_CHECKPOINT, vs_tracew_body(w));
  return VS_OK;
}

static vs_status room(vs_tracew *w, size_t bytes) {
  if (w->frame != NULL && (size_t)(w->limit - w->at) < bytes) VS_TRY(seal(w));
  return w->frame == NULL ? begin(w, bytes) : VS_OK;
}

vs_status vs_tracew_flush(vs_tracew *w) {
  if (w->frame == NULL && !w->is_behind) return VS_OK;
  VS_TRY(vs_tracew_prepare(w, 0));
  return seal(w);
}

/* ---- dictionaries: writing entries --------------------------------------------------------- */

static uint32_t entries(const vs_tracew *w, vs_dictionary dictionary) {
  switch (dictionary) {
    case VS_DICT_STRINGS: return vs_strings_count(&w->strings);
    case VS_DICT_TEXTS: return vs_lists_count(&w->texts);
    case VS_DICT_MODULES: return vs_rows_count(&w->modules);
    case VS_DICT_FRAMES: return vs_rows_count(&w->frames);
    case VS_DICT_STACKS: return vs_lists_count(&w->stacks);
    case VS_DICT_COUNT: break;
  }
  return 0;
}

static uint8_t *put_words(uint8_t *at, const uint64_t *words, size_t count) {
  for (size_t i = 0; i < count; i++) at = vs_put_varint(at, words[i]);
  return at;
}

static vs_status put_string(vs_tracew *w, uint32_t id) {
  const vs_str text = vs_strings_at(&w->strings, id);
  VS_TRY(room(w, text.size + VS_RECORD_FRAMING));
  uint8_t *at = vs_tracew_body(w);
  if (text.size != 0) memcpy(at, text.data, text.size);
  vs_tracew_record(w, VS_TRACE_STRING, at + text.size);
  return VS_OK;
}

static vs_status put_texts(vs_tracew *w, uint32_t id) {
  const vs_list list = vs_lists_at(&w->texts, id);
  VS_TRY(room(w, (list.count + (size_t)1) * VS_VARINT_MOST + VS_RECORD_FRAMING));
  uint8_t *at = vs_put_varint(vs_tracew_body(w), list.count);
  for (uint32_t i = 0; i < list.count; i++) at = vs_put_varint(at, list.items[i]);
  vs_tracew_record(w, VS_TRACE_TEXTS, at);
  return VS_OK;
}

/* Outer frames that it shares with the stack before are not repeated. */
static vs_status put_stack(vs_tracew *w, uint32_t id) {
  const vs_list list = vs_lists_at(&w->stacks, id);
  VS_TRY(room(w, (list.count + (size_t)2) * VS_VARINT_MOST + VS_RECORD_FRAMING));
  const vs_list before = vs_lists_at(&w->stacks, w->stack);
  uint32_t shared = 0;
  while (shared < list.count && shared < before.count &&
         list.items[list.count - 1 - shared] == before.items[before.count - 1 - shared])
    shared++;
  uint8_t *at = vs_put_varint(vs_tracew_body(w), shared);
  at = vs_put_varint(at, list.count - shared);
  for (uint32_t i = 0; i < list.count - shared; i++) at = vs_put_varint(at, list.items[i]);
  vs_tracew_record(w, VS_TRACE_STACK, at);
  w->stack = id;
  return VS_OK;
}

static vs_status put_module(vs_tracew *w, uint32_t id) {
  VS_TRY(room(w, VS_MODULE_WORDS * (size_t)VS_VARINT_MOST + VS_RECORD_FRAMING));
  vs_tracew_record(w, VS_TRACE_MODULE,
                   put_words(vs_tracew_body(w), vs_rows_at(&w->modules, id), VS_MODULE_WORDS));
  return VS_OK;
}

/* Words: 1, module, offset; or 0, name, file, folded line, and the fields of torch.fx if there are any. */
static vs_status put_frame(vs_tracew *w, uint32_t id) {
  VS_TRY(room(w, VS_FRAME_WORDS * VS_VARINT_MOST + VS_RECORD_FRAMING));
  const uint64_t *row = vs_rows_at(&w->frames, id);
  if (row[0] != 0) {
    vs_tracew_record(w, VS_TRACE_NATIVE, put_words(vs_tracew_body(w), row + 1, 2));
    return VS_OK;
  }
  const bool is_detailed = (row[4] | row[5] | row[6] | row[7]) != 0;
  vs_tracew_record(w, VS_TRACE_FRAME, put_words(vs_tracew_body(w), row + 1, is_detailed ? 7 : 3));
  return VS_OK;
}

static vs_status put_entry(vs_tracew *w, vs_dictionary dictionary, uint32_t id) {
  switch (dictionary) {
    case VS_DICT_STRINGS: return put_string(w, id);
    case VS_DICT_TEXTS: return put_texts(w, id);
    case VS_DICT_MODULES: return put_module(w, id);
    case VS_DICT_FRAMES: return put_frame(w, id);
    case VS_DICT_STACKS: return put_stack(w, id);
    case VS_DICT_COUNT: break;
  }
  return VS_OK;
}

/* Writes all missing entries. If the sink loses a frame meanwhile, this fails, and the next frame begins with a
 * checkpoint. */
static vs_status catch_up(vs_tracew *w) {
  for (int d = 0; d < VS_DICT_COUNT;) {
    const vs_dictionary dictionary = (vs_dictionary)d;
    if (w->written[d] == entries(w, dictionary)) {
      d++;
      continue;
    }
    VS_ASSERT(w->written[d] < entries(w, dictionary));
    VS_TRY(put_entry(w, dictionary, w->written[d]));
    w->written[d]++;
  }
  w->is_behind = false;
  return VS_OK;
}

vs_status vs_tracew_prepare(vs_tracew *w, size_t bytes) {
  VS_TRY(room(w, bytes));
  while (w->is_behind) {
    VS_TRY(catch_up(w));
    VS_TRY(room(w, bytes));
  }
  VS_ASSERT(w->frame != NULL && (size_t)(w->limit - w->at) >= bytes);
  return VS_OK;
}

vs_status vs_tracew_checkpoint(vs_tracew *w) {
  VS_TRY(vs_tracew_flush(w));
  w->needs_checkpoint = true;
  return vs_tracew_prepare(w, 0);
}

/* ---- dictionaries: ids ------------------------------------------------------------- */

/* Writes a new entry. If that fails, it is written before the next record. */
static vs_status known(vs_tracew *w, vs_dictionary dictionary) {
  if (w->written[dictionary] == entries(w, dictionary)) return VS_OK;
  w->is_behind = true;
  w->ready = NULL;
  return vs_tracew_prepare(w, 0);
}

vs_status vs_tracew_string(vs_tracew *w, vs_str text, uint32_t *id) {
  if (text.size > VS_TRACE_MOST_FRAME_SIZE / 2) return VS_LIMIT;
  VS_TRY(vs_strings_intern(w->host, &w->strings, text, id));
  return known(w, VS_DICT_STRINGS);
}

vs_status vs_tracew_texts(vs_tracew *w, const uint32_t *strings, size_t count, uint32_t *id) {
  if (count > VS_TRACE_MOST_FRAME_SIZE / (2 * VS_VARINT_MOST)) return VS_LIMIT;
  for (size_t i = 0; i < count; i++)
    if (!vs_tracew_has_string(w, strings[i])) return VS_BAD_ARGUMENT;
  VS_TRY(vs_lists_intern(w->host, &w->texts, strings, count, id));
  return known(w, VS_DICT_TEXTS);
}

vs_status vs_tracew_stack(vs_tracew *w, const uint32_t *frames, size_t count, uint32_t *id) {
  if (count > VS_TRACE_MOST_FRAME_SIZE / (2 * VS_VARINT_MOST)) return VS_LIMIT;
  for (size_t i = 0; i < count; i++)
    if (frames[i] >= vs_rows_count(&w->frames)) return VS_BAD_ARGUMENT;
  VS_TRY(vs_lists_intern(w->host, &w->stacks, frames, count, id));
  return known(w, VS_DICT_STACKS);
}

vs_status vs_tracew_module(vs_tracew *w, const vs_trace_module *module, uint32_t *id) {
  if (!vs_tracew_has_string(w, module->path) || !vs_tracew_has_string(w, module->build_id))
    return VS_BAD_ARGUMENT;
  const uint64_t row[VS_MODULE_WORDS] = {module->path, module->build_id, module->base, module->size};
  VS_TRY(vs_rows_intern(w->host, &w->modules, row, id));
  return known(w, VS_DICT_MODULES);
}

vs_status vs_tracew_frame(vs_tracew *w, const vs_trace_frame *frame, uint32_t *id) {
  const vs_trace_detail *detail = &frame->detail;
  const uint64_t row[VS_FRAME_WORDS] = {
      0,
      frame->name,
      frame->file,
      vs_fold_sign(frame->line),
      detail->fx_node_op,
      detail->fx_node_name,
      detail->fx_node_target,
      detail->fx_original_trace,
  };
  for (size_t i = 1; i < VS_FRAME_WORDS; i++)
    if (i != 3 && !vs_tracew_has_string(w, (uint32_t)row[i])) return VS_BAD_ARGUMENT;
  VS_TRY(vs_rows_intern(w->host, &w->frames, row, id));
  return known(w, VS_DICT_FRAMES);
}

vs_status vs_tracew_native(vs_tracew *w, uint32_t module, uint64_t offset, uint32_t *id) {
  if (module >= vs_rows_count(&w->modules)) return VS_BAD_ARGUMENT;
  const uint64_t row[VS_FRAME_WORDS] = {1, module, offset};
  VS_TRY(vs_rows_intern(w->host, &w->frames, row, id));
  return known(w, VS_DICT_FRAMES);
}

vs_status vs_tracew_context(vs_tracew *w, const vs_trace_context *context, uint32_t *id) {
  if (context->device < VS_TRACE_HOST || context->device >= VS_TRACE_MOST_DEVICES ||
      !vs_tracew_has_string(w, context->compile_context) ||
      !vs_tracew_has_string(w, context->user_metadata) || !vs_tracew_has_string(w, context->category) ||
      !vs_tracew_has_texts(w, context->forward_frames))
    return VS_BAD_ARGUMENT;
  const uint64_t row[VS_CONTEXT_WORDS] = {
      vs_fold_sign(context->device),
      context->stream,
      context->has_pool,
      context->has_pool ? context->pool.a : 0,
      context->has_pool ? context->pool.b : 0,
      context->thread,
      context->compile_context,
      context->user_metadata,
      context->category,
      context->forward_frames,
  };
  VS_TRY(vs_vec_reserve(w->host, &w->locals, 1));
  VS_TRY(vs_rows_intern(w->host, &w->contexts, row, id));
  if (*id == w->locals.count) w->locals.data[w->locals.count++] = (vs_local){0}; /* model.frame is never 0 */
  VS_ASSERT(*id < w->locals.count);
  return VS_OK;
}

/* ---- the check ----------------------------------------------------------------------------------------- */

const char *vs_tracew_check(const vs_tracew *w) {
  for (int d = 0; d < VS_DICT_COUNT; d++) {
    const uint32_t count = entries(w, (vs_dictionary)d);
    if (w->written[d] < vs_dictionary_first((vs_dictionary)d) || w->written[d] > count)
      return "more entries are written than there are";
    if (w->written[d] != count && !w->is_behind) return "entries are missing in the file";
  }
  if (w->locals.count != vs_rows_count(&w->contexts)) return "contexts and their local numbers differ";
  if (w->frame == NULL)
    return w->ready == NULL && w->freeing == NULL ? NULL : "a writer without a frame has a position in one";
  if (w->at < w->frame + VS_FRAME_HEADER || w->at > w->limit || w->limit != w->frame + w->frame_size)
    return "the writer is outside its frame";
  for (const uint8_t *at = w->at; at < w->limit; at++)
    if (*at != 0) return "bytes after the last record are not 0";
  if (!vs_frame_begins(w->frame)) return "an open frame has no magic";
  return vs_model_check(&w->model);
}
