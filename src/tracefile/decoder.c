#include "tracefile/decoder.h"

enum { MOST_ENTRIES = 1 << 28, UNFOLDED_BASE = 1 << 20, UNFOLDED_FACTOR = 64 };

static void begin_at_first(vs_decoder *d) {
  for (int i = 0; i < VS_DICT_COUNT; i++) d->next[i] = vs_dictionary_first((vs_dictionary)i);
}

vs_status vs_decoder_init(vs_decoder *d, const vs_host *host, const vs_trace_visitor *visitor,
                          vs_trace_report *report) {
  memset(d, 0, sizeof *d);
  d->host = host;
  d->visitor = visitor;
  d->report = report;
  begin_at_first(d);
  for (int i = 0; i < VS_DICT_COUNT; i++) {
    const vs_status status = vs_vec_reserve(host, &d->known[i], 16);
    if (status != VS_OK) {
      vs_decoder_deinit(d);
      return status;
    }
    while (d->known[i].count < d->next[i]) d->known[i].data[d->known[i].count++] = 1;
  }
  return VS_OK;
}

void vs_decoder_deinit(vs_decoder *d) {
  vs_vec_free(d->host, &d->model.sites);
  vs_vec_free(d->host, &d->model.sizes);
  vs_vec_free(d->host, &d->blocks);
  vs_vec_free(d->host, &d->contexts);
  vs_vec_free(d->host, &d->stack);
  vs_vec_free(d->host, &d->items);
  for (int i = 0; i < VS_DICT_COUNT; i++) vs_vec_free(d->host, &d->known[i]);
}

/* ---- known entries ------------------------------------------------------------------------------------- */

static uint32_t string(vs_decoder *d, vs_bytes *body) {
  return vs_decoder_reference(d, VS_DICT_STRINGS, body);
}

/* The number of the next entry; makes room for it in `known`. */
static vs_status next_entry(vs_decoder *d, vs_dictionary dictionary, uint32_t *id) {
  *id = d->next[dictionary];
  if (*id >= MOST_ENTRIES) return VS_LIMIT;
  const size_t have = d->known[dictionary].count;
  if (*id < have) return VS_OK;
  VS_TRY(vs_vec_reserve(d->host, &d->known[dictionary], *id + (size_t)1 - have));
  memset(d->known[dictionary].data + have, 0, *id + (size_t)1 - have);
  d->known[dictionary].count = *id + (size_t)1;
  return VS_OK;
}

static vs_status give_entry(vs_decoder *d, vs_dictionary dictionary, vs_trace_tag tag) {
  VS_ASSERT(d->next[dictionary] < d->known[dictionary].count);
  d->known[dictionary].data[d->next[dictionary]++] = 1;
  return vs_decoder_give(d, tag);
}

/* ---- entries ------------------------------------------------------------------------------------------- */

static vs_status take_string(vs_decoder *d, vs_bytes *body) {
  vs_trace_string *entry = &d->item.is.string;
  VS_TRY(next_entry(d, VS_DICT_STRINGS, &entry->id));
  entry->text = (vs_str){(const char *)body->at, vs_bytes_left(body)};
  return give_entry(d, VS_DICT_STRINGS, VS_TRACE_STRING);
}

/* Reads a list of ids into `items`; lost entries become VS_MODEL_NONE. */
static vs_status take_items(vs_decoder *d, vs_bytes *body, uint64_t count, vs_dictionary dictionary) {
  d->items.count = 0;
  if (count > vs_bytes_left(body)) return VS_BAD_FORMAT;
  VS_TRY(vs_vec_reserve(d->host, &d->items, count));
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t id = vs_get_varint(body);
    const bool known = vs_decoder_knows(d, dictionary, id);
    d->items.data[d->items.count++] = known ? (uint32_t)id : VS_MODEL_NONE;
    d->report->lost_entries += !known;
  }
  return body->is_bad ? VS_BAD_FORMAT : VS_OK;
}

/* Gives `items` without the lost ones. */
static vs_status give_items(vs_decoder *d, vs_dictionary dictionary, vs_trace_tag tag) {
  vs_trace_list *list = &d->item.is.list;
  size_t kept = 0;
  for (size_t i = 0; i < d->items.count; i++)
    if (d->items.data[i] != VS_MODEL_NONE) d->items.data[kept++] = d->items.data[i];
  VS_TRY(next_entry(d, dictionary, &list->id));
  list->items = d->items.data;
  list->count = (uint32_t)kept;
  return give_entry(d, dictionary, tag);
}

static vs_status take_texts(vs_decoder *d, vs_bytes *body) {
  VS_TRY(take_items(d, body, vs_get_varint(body), VS_DICT_STRINGS));
  return give_items(d, VS_DICT_TEXTS, VS_TRACE_TEXTS);
}

/* A stack: its own inner frames, and a number of outer frames that it shares with the stack before. */
static vs_status take_stack(vs_decoder *d, vs_bytes *body) {
  const uint64_t shared = vs_get_varint(body), fresh = vs_get_varint(body);
  if (body->is_bad || shared > d->stack.count) return VS_BAD_FORMAT;
  VS_TRY(take_items(d, body, fresh, VS_DICT_FRAMES));
  d->unfolded += shared + fresh;
  if (d->unfolded > UNFOLDED_BASE + UNFOLDED_FACTOR * d->plain) return VS_LIMIT;
  VS_ASSERT(d->items.count == fresh);
  VS_TRY(vs_vec_reserve(d->host, &d->items, shared));
  for (size_t i = d->stack.count - (size_t)shared; i < d->stack.count; i++)
    d->items.data[d->items.count++] = d->stack.data[i];
  d->stack.count = 0;
  VS_TRY(vs_vec_reserve(d->host, &d->stack, d->items.count));
  if (d->items.count != 0) memcpy(d->stack.data, d->items.data, d->items.count * sizeof *d->items.data);
  d->stack.count = d->items.count;
  return give_items(d, VS_DICT_STACKS, VS_TRACE_STACK);
}

static vs_status take_module(vs_decoder *d, vs_bytes *body) {
  vs_trace_module *module = &d->item.is.module;
  VS_TRY(next_entry(d, VS_DICT_MODULES, &module->id));
  module->path = string(d, body);
  module->build_id = string(d, body);
  module->base = vs_get_varint(body);
  module->size = vs_get_varint(body);
  return body->is_bad ? VS_BAD_FORMAT : give_entry(d, VS_DICT_MODULES, VS_TRACE_MODULE);
}

static vs_status take_frame(vs_decoder *d, vs_bytes *body) {
  vs_trace_frame *frame = &d->item.is.frame;
  *frame = (vs_trace_frame){0};
  VS_TRY(next_entry(d, VS_DICT_FRAMES, &frame->id));
  frame->name = string(d, body);
  frame->file = string(d, body);
  frame->line = vs_get_signed(body);
  if (vs_bytes_left(body) != 0) {
    frame->detail.fx_node_op = string(d, body);
    frame->detail.fx_node_name = string(d, body);
    frame->detail.fx_node_target = string(d, body);
    frame->detail.fx_original_trace = string(d, body);
  }
  return body->is_bad ? VS_BAD_FORMAT : give_entry(d, VS_DICT_FRAMES, VS_TRACE_FRAME);
}

/* A frame of a lost module is lost, too; its number is skipped. */
static vs_status take_native(vs_decoder *d, vs_bytes *body) {
  vs_trace_native *native = &d->item.is.native;
  VS_TRY(next_entry(d, VS_DICT_FRAMES, &native->id));
  const uint64_t module = vs_get_varint(body);
  native->offset = vs_get_varint(body);
  if (body->is_bad) return VS_BAD_FORMAT;
  native->module = (uint32_t)module;
  if (vs_decoder_knows(d, VS_DICT_MODULES, module)) return give_entry(d, VS_DICT_FRAMES, VS_TRACE_NATIVE);
  d->report->lost_entries++;
  d->next[VS_DICT_FRAMES]++;
  return VS_OK;
}

/* Contexts are no entries of a dictionary: their numbers count in one frame of the file. The reader gives each its
 * own id. */
static vs_status take_context(vs_decoder *d, vs_bytes *body) {
  vs_trace_context *context = &d->item.is.context.context;
  context->device = vs_decoder_device(body);
  context->stream = vs_get_varint(body);
  context->has_pool = vs_decoder_truth(body);
  context->pool.a = vs_get_varint(body);
  context->pool.b = vs_get_varint(body);
  context->thread = vs_get_varint(body);
  context->compile_context = string(d, body);
  context->user_metadata = string(d, body);
  context->category = string(d, body);
  context->forward_frames = vs_decoder_reference(d, VS_DICT_TEXTS, body);
  if (body->is_bad || (!context->has_pool && !vs_pool_id_is_default(context->pool))) return VS_BAD_FORMAT;
  if (d->next_context == MOST_ENTRIES) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(d->host, &d->contexts, 1));
  d->item.is.context.id = d->next_context++;
  d->contexts.data[d->contexts.count++] = d->item.is.context.id;
  return vs_decoder_give(d, VS_TRACE_CONTEXT);
}

/* ---- the base of numbers ------------------------------------------------------------------------------- */

static vs_status take_base(vs_decoder *d, vs_bytes *body) {
  uint32_t next[VS_DICT_COUNT];
  for (int i = 0; i < VS_DICT_COUNT; i++) {
    next[i] = vs_get_varint32(body);
    if (next[i] < vs_dictionary_first((vs_dictionary)i) || next[i] > MOST_ENTRIES) return VS_BAD_FORMAT;
  }
  if (body->is_bad) return VS_BAD_FORMAT;
  memcpy(d->next, next, sizeof next);
  return VS_OK;
}

static vs_status take_record(vs_decoder *d, uint8_t tag, vs_bytes *body) {
  switch (tag) {
    case VS_TRACE_BASE: return take_base(d, body);
    case VS_TRACE_CHECKPOINT: begin_at_first(d); return VS_OK;
    case VS_TRACE_STRING: return take_string(d, body);
    case VS_TRACE_TEXTS: return take_texts(d, body);
    case VS_TRACE_MODULE: return take_module(d, body);
    case VS_TRACE_FRAME: return take_frame(d, body);
    case VS_TRACE_NATIVE: return take_native(d, body);
    case VS_TRACE_STACK: return take_stack(d, body);
    case VS_TRACE_CONTEXT: return take_context(d, body);
    default: return vs_decoder_record(d, tag, body);
  }
}

/* ---- a frame ------------------------------------------------------------------------------------------- */

static vs_status take_next(vs_decoder *d, vs_bytes *rest) {
  VS_ASSERT(rest->at < rest->end);
  const uint8_t first = *rest->at++;
  if (first >= VS_EVENT_AS_IT_IS) return vs_decoder_event(d, first, rest);
  const uint64_t size = vs_get_varint(rest);
  if (rest->is_bad || size > vs_bytes_left(rest)) return VS_BAD_FORMAT;
  vs_bytes body = {.at = rest->at, .end = rest->at + size};
  rest->at += size;
  d->is_freeing = false;
  return take_record(d, first, &body);
}

vs_status vs_decoder_frame(vs_decoder *d, const uint8_t *records, size_t size, uint64_t base_address,
                           int64_t base_time, size_t *used) {
  vs_bytes rest = {.at = records, .end = records + size};
  vs_model_begin(&d->model, base_address, base_time);
  d->blocks.count = d->contexts.count = d->stack.count = 0;
  d->events = 0;
  d->is_freeing = false;
  d->plain += size;
  vs_status status = VS_OK;
  for (*used = 0; rest.at < rest.end && *rest.at != 0 && status == VS_OK;) {
    status = take_next(d, &rest);
    if (status == VS_OK) *used = (size_t)(rest.at - records);
  }
  VS_ASSERT(*used <= size);
  return status;
}
