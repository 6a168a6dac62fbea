/* The records that are neither entries nor events, in the order of fields of writer_records.c. */
#include "tracefile/decoder.h"

static uint32_t string(vs_decoder *d, vs_bytes *body) {
  return vs_decoder_reference(d, VS_DICT_STRINGS, body);
}

static vs_status give(vs_decoder *d, vs_trace_tag tag, const vs_bytes *body) {
  return body->is_bad ? VS_BAD_FORMAT : vs_decoder_give(d, tag);
}

static int64_t take_time(vs_decoder *d, vs_bytes *body) {
  if (!vs_decoder_truth(body)) return VS_TRACE_NO_TIME;
  d->model.time_us = (int64_t)((uint64_t)d->model.time_us + (uint64_t)vs_get_signed(body));
  return d->model.time_us;
}

static vs_status take_process(vs_decoder *d, vs_bytes *body) {
  vs_trace_process *process = &d->item.is.process;
  process->pid = vs_get_varint32(body);
  process->parent = vs_get_varint32(body);
  process->host = string(d, body);
  process->program = string(d, body);
  process->writer = string(d, body);
  process->wall_us = vs_get_signed(body);
  process->monotonic_ns = vs_get_varint(body);
  process->is_simulated = vs_decoder_truth(body);
  process->has_no_completions = vs_bytes_left(body) != 0 && vs_decoder_truth(body);
  return give(d, VS_TRACE_PROCESS, body);
}

static vs_status take_device(vs_decoder *d, vs_bytes *body) {
  vs_trace_device *device = &d->item.is.device;
  device->device = vs_decoder_device(body);
  device->name = string(d, body);
  device->total_bytes = vs_get_varint(body);
  return give(d, VS_TRACE_DEVICE, body);
}

static vs_status take_thread(vs_decoder *d, vs_bytes *body) {
  vs_trace_thread *thread = &d->item.is.thread;
  thread->thread = vs_get_varint(body);
  thread->name = string(d, body);
  return give(d, VS_TRACE_THREAD, body);
}

static vs_status take_setting(vs_decoder *d, vs_bytes *body) {
  vs_trace_setting *setting = &d->item.is.setting;
  setting->key = string(d, body);
  const uint64_t kind = vs_get_varint(body), depth = vs_get_varint(body);
  if (kind > VS_TRACE_SETTING_DICT || depth > UINT8_MAX) return VS_BAD_FORMAT;
  setting->kind = (uint8_t)kind;
  setting->depth = (uint8_t)depth;
  switch ((vs_trace_setting_kind)kind) {
    case VS_TRACE_SETTING_BOOL: setting->bits = vs_decoder_truth(body); break;
    case VS_TRACE_SETTING_INT: setting->bits = (uint64_t)vs_get_signed(body); break;
    case VS_TRACE_SETTING_STRING: setting->bits = string(d, body); break;
    case VS_TRACE_SETTING_NONE:
    case VS_TRACE_SETTING_REAL:
    case VS_TRACE_SETTING_DICT: setting->bits = vs_get_varint(body); break;
  }
  return give(d, VS_TRACE_SETTING, body);
}

static vs_status take_shape(vs_decoder *d, vs_bytes *body) {
  vs_trace_shape *shape = &d->item.is.shape;
  shape->parts = vs_get_varint32(body);
  shape->devices = vs_get_varint32(body);
  shape->has_host = vs_decoder_truth(body);
  if (shape->devices > VS_TRACE_MOST_DEVICES) return VS_BAD_FORMAT;
  return give(d, VS_TRACE_SHAPE, body);
}

static vs_status take_lost(vs_decoder *d, vs_bytes *body) {
  vs_trace_lost *lost = &d->item.is.lost;
  lost->events = vs_get_varint(body);
  lost->since_us = vs_bytes_left(body) == 0 ? VS_TRACE_NO_TIME : vs_get_signed(body);
  if (!body->is_bad) d->report->unrecorded = lost->events;
  return give(d, VS_TRACE_LOST, body);
}

static vs_status take_stopped(vs_decoder *d, vs_bytes *body) {
  vs_trace_stopped *stopped = &d->item.is.stopped;
  stopped->reason = string(d, body);
  stopped->time_us = vs_get_signed(body);
  return give(d, VS_TRACE_STOPPED, body);
}

static vs_status take_annotation(vs_decoder *d, vs_bytes *body) {
  vs_trace_annotation *annotation = &d->item.is.annotation;
  annotation->time_us = take_time(d, body);
  annotation->device = vs_decoder_device(body);
  annotation->thread = vs_get_varint(body);
  annotation->name = string(d, body);
  annotation->stage = string(d, body);
  return give(d, VS_TRACE_ANNOTATION, body);
}

static vs_status take_library(vs_decoder *d, vs_bytes *body) {
  vs_trace_library *library = &d->item.is.library;
  library->time_us = take_time(d, body);
  library->device = vs_decoder_device(body);
  library->name = string(d, body);
  library->bytes = vs_get_varint(body);
  return give(d, VS_TRACE_LIBRARY, body);
}

static vs_status take_state_begin(vs_decoder *d, vs_bytes *body) {
  d->item.is.state.time_us = take_time(d, body);
  const uint64_t moment = vs_get_varint(body);
  if (moment > VS_TRACE_AT_END) return VS_BAD_FORMAT;
  d->item.is.state.moment = (vs_trace_moment)moment;
  return give(d, VS_TRACE_STATE_BEGIN, body);
}

/* Whether all members are 0 that the segment's flags declare absent. */
static bool is_silent_where_absent(const vs_trace_segment *segment) {
  return ((segment->has & VS_TRACE_HAS_ALLOCATED) != 0 || segment->allocated == 0) &&
         ((segment->has & VS_TRACE_HAS_ACTIVE) != 0 || segment->active == 0) &&
         ((segment->has & VS_TRACE_HAS_REQUESTED) != 0 || segment->requested == 0) &&
         ((segment->has & VS_TRACE_HAS_EXPANDABLE) != 0 || !segment->is_expandable) &&
         (segment->has_pool || vs_pool_id_is_default(segment->pool));
}

static vs_status take_segment(vs_decoder *d, vs_bytes *body) {
  vs_trace_segment *segment = &d->item.is.segment;
  segment->device = vs_decoder_device(body);
  segment->address = vs_get_varint(body);
  segment->total_size = vs_get_varint(body);
  const uint64_t flags = vs_get_varint(body);
  segment->has = flags & 15;
  segment->has_pool = (flags >> 4 & 1) != 0;
  segment->is_expandable = (flags >> 5 & 1) != 0;
  segment->allocated = vs_get_varint(body);
  segment->active = vs_get_varint(body);
  segment->requested = vs_get_varint(body);
  segment->stream = vs_get_varint(body);
  segment->pool.a = vs_get_varint(body);
  segment->pool.b = vs_get_varint(body);
  segment->type = string(d, body);
  segment->stack = vs_decoder_reference(d, VS_DICT_STACKS, body);
  segment->forward_frames = vs_decoder_reference(d, VS_DICT_TEXTS, body);
  const int64_t counter = vs_get_signed(body);
  segment->registration_counter = (flags >> 6 & 1) != 0 ? counter : VS_TRACE_NO_COUNTER;
  if (!is_silent_where_absent(segment)) return VS_BAD_FORMAT;
  return give(d, VS_TRACE_SEGMENT, body);
}

static vs_status take_block(vs_decoder *d, vs_bytes *body) {
  vs_trace_block *block = &d->item.is.block;
  const uint64_t flags = vs_get_varint(body);
  block->state = flags & 3;
  block->is_address_derived = (flags >> 2 & 1) != 0;
  block->is_requested_derived = (flags >> 3 & 1) != 0;
  block->address = vs_get_varint(body);
  block->size = vs_get_varint(body);
  block->requested = vs_get_varint(body);
  block->stack = vs_decoder_reference(d, VS_DICT_STACKS, body);
  block->forward_frames = vs_decoder_reference(d, VS_DICT_TEXTS, body);
  block->state_name = string(d, body);
  return give(d, VS_TRACE_BLOCK, body);
}

vs_status vs_decoder_record(vs_decoder *d, uint8_t tag, vs_bytes *body) {
  switch (tag) {
    case VS_TRACE_PROCESS: return take_process(d, body);
    case VS_TRACE_DEVICE: return take_device(d, body);
    case VS_TRACE_SETTING: return take_setting(d, body);
    case VS_TRACE_THREAD: return take_thread(d, body);
    case VS_TRACE_SHAPE: return take_shape(d, body);
    case VS_TRACE_ANNOTATION: return take_annotation(d, body);
    case VS_TRACE_LIBRARY: return take_library(d, body);
    case VS_TRACE_LOST: return take_lost(d, body);
    case VS_TRACE_STOPPED: return take_stopped(d, body);
    case VS_TRACE_STATE_BEGIN: return take_state_begin(d, body);
    case VS_TRACE_SEGMENT: return take_segment(d, body);
    case VS_TRACE_BLOCK: return take_block(d, body);
    case VS_TRACE_STATE_END: return give(d, VS_TRACE_STATE_END, body);
    default: d->report->unknown_records++; return VS_OK;
  }
}
