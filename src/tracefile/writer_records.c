/* The records that are neither entries nor events. Each is a list of numbers, which docs/formats/vram.md names. */
#include "tracefile/writer_internal.h"

enum { MOST_NUMBERS = 16, MOST_BYTES = (MOST_NUMBERS + 1) * VS_VARINT_MOST + VS_RECORD_FRAMING };

static vs_status put_numbers(vs_tracew *w, vs_trace_tag tag, const uint64_t *numbers, size_t count) {
  VS_ASSERT(count <= MOST_NUMBERS);
  VS_TRY(vs_tracew_prepare(w, MOST_BYTES));
  uint8_t *at = vs_tracew_body(w);
  for (size_t i = 0; i < count; i++) at = vs_put_varint(at, numbers[i]);
  vs_tracew_record(w, tag, at);
  return VS_OK;
}

/* Likewise, after a time. */
static vs_status put_timed(vs_tracew *w, vs_trace_tag tag, int64_t time_us, const uint64_t *numbers,
                           size_t count) {
  VS_ASSERT(count <= MOST_NUMBERS - 1);
  VS_TRY(vs_tracew_prepare(w, MOST_BYTES));
  uint8_t *at = vs_tracew_put_time(w, vs_tracew_body(w), time_us);
  for (size_t i = 0; i < count; i++) at = vs_put_varint(at, numbers[i]);
  vs_tracew_record(w, tag, at);
  return VS_OK;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool is_device(int32_t device) { return device >= VS_TRACE_HOST && device < VS_TRACE_MOST_DEVICES; }

vs_status vs_tracew_process(vs_tracew *w, const vs_trace_process *process) {
  if (!vs_tracew_has_string(w, process->host) || !vs_tracew_has_string(w, process->program) ||
      !vs_tracew_has_string(w, process->writer))
    return VS_BAD_ARGUMENT;
  const uint64_t numbers[] = {process->pid,          process->parent,       process->host,
                              process->program,      process->writer,       vs_fold_sign(process->wall_us),
                              process->monotonic_ns, process->is_simulated, process->has_no_completions};
  return put_numbers(w, VS_TRACE_PROCESS, numbers, COUNT(numbers) - !process->has_no_completions);
}

vs_status vs_tracew_device(vs_tracew *w, const vs_trace_device *device) {
  if (!is_device(device->device) || !vs_tracew_has_string(w, device->name)) return VS_BAD_ARGUMENT;
  const uint64_t numbers[] = {vs_fold_sign(device->device), device->name, device->total_bytes};
  return put_numbers(w, VS_TRACE_DEVICE, numbers, COUNT(numbers));
}

vs_status vs_tracew_thread(vs_tracew *w, const vs_trace_thread *thread) {
  if (!vs_tracew_has_string(w, thread->name)) return VS_BAD_ARGUMENT;
  const uint64_t numbers[] = {thread->thread, thread->name};
  return put_numbers(w, VS_TRACE_THREAD, numbers, COUNT(numbers));
}

vs_status vs_tracew_setting(vs_tracew *w, const vs_trace_setting *setting) {
  if (!vs_tracew_has_string(w, setting->key) || setting->kind > VS_TRACE_SETTING_DICT ||
      (setting->kind == VS_TRACE_SETTING_BOOL && setting->bits > 1) ||
      (setting->kind == VS_TRACE_SETTING_STRING && setting->bits >= vs_strings_count(&w->strings)))
    return VS_BAD_ARGUMENT;
  const uint64_t bits =
      setting->kind == VS_TRACE_SETTING_INT ? vs_fold_sign((int64_t)setting->bits) : setting->bits;
  const uint64_t numbers[] = {setting->key, setting->kind, setting->depth, bits};
  return put_numbers(w, VS_TRACE_SETTING, numbers, COUNT(numbers));
}

vs_status vs_tracew_shape(vs_tracew *w, const vs_trace_shape *shape) {
  if (shape->devices > VS_TRACE_MOST_DEVICES) return VS_BAD_ARGUMENT;
  const uint64_t numbers[] = {shape->parts, shape->devices, shape->has_host};
  return put_numbers(w, VS_TRACE_SHAPE, numbers, COUNT(numbers));
}

/* Both times are absolute: a reader that does not know them must not lose the time of the frame. */
vs_status vs_tracew_lost(vs_tracew *w, const vs_trace_lost *lost) {
  const uint64_t numbers[] = {lost->events, vs_fold_sign(lost->since_us)};
  return put_numbers(w, VS_TRACE_LOST, numbers, lost->since_us == VS_TRACE_NO_TIME ? 1 : 2);
}

vs_status vs_tracew_stopped(vs_tracew *w, const vs_trace_stopped *stopped) {
  if (!vs_tracew_has_string(w, stopped->reason)) return VS_BAD_ARGUMENT;
  const uint64_t numbers[] = {stopped->reason, vs_fold_sign(stopped->time_us)};
  return put_numbers(w, VS_TRACE_STOPPED, numbers, COUNT(numbers));
}

vs_status vs_tracew_annotation(vs_tracew *w, const vs_trace_annotation *annotation) {
  if (!is_device(annotation->device) || !vs_tracew_has_string(w, annotation->name) ||
      !vs_tracew_has_string(w, annotation->stage))
    return VS_BAD_ARGUMENT;
  const uint64_t numbers[] = {vs_fold_sign(annotation->device), annotation->thread, annotation->name,
                              annotation->stage};
  return put_timed(w, VS_TRACE_ANNOTATION, annotation->time_us, numbers, COUNT(numbers));
}

vs_status vs_tracew_library(vs_tracew *w, const vs_trace_library *library) {
  if (!is_device(library->device) || !vs_tracew_has_string(w, library->name)) return VS_BAD_ARGUMENT;
  const uint64_t numbers[] = {vs_fold_sign(library->device), library->name, library->bytes};
  return put_timed(w, VS_TRACE_LIBRARY, library->time_us, numbers, COUNT(numbers));
}

/* ---- states -------------------------------------------------------------------------------------------- */

vs_status vs_tracew_state_begin(vs_tracew *w, vs_trace_moment moment, int64_t time_us) {
  if (moment > VS_TRACE_AT_END) return VS_BAD_ARGUMENT;
  return put_timed(w, VS_TRACE_STATE_BEGIN, time_us, (const uint64_t[]){moment}, 1);
}

vs_status vs_tracew_state_end(vs_tracew *w) { return put_numbers(w, VS_TRACE_STATE_END, NULL, 0); }

vs_status vs_tracew_segment(vs_tracew *w, const vs_trace_segment *segment) {
  if (!is_device(segment->device) || !vs_tracew_has_string(w, segment->type) ||
      !vs_tracew_has_stack(w, segment->stack) || !vs_tracew_has_texts(w, segment->forward_frames))
    return VS_BAD_ARGUMENT;
  const bool has_counter = segment->registration_counter != VS_TRACE_NO_COUNTER;
  const uint64_t flags = segment->has | (uint64_t)segment->has_pool << 4 |
                         (uint64_t)segment->is_expandable << 5 | (uint64_t)has_counter << 6;
  const uint64_t numbers[] = {
      vs_fold_sign(segment->device),
      segment->address,
      segment->total_size,
      flags,
      segment->allocated,
      segment->active,
      segment->requested,
      segment->stream,
      segment->has_pool ? segment->pool.a : 0,
      segment->has_pool ? segment->pool.b : 0,
      segment->type,
      segment->stack,
      segment->forward_frames,
      has_counter ? vs_fold_sign(segment->registration_counter) : 0,
  };
  return put_numbers(w, VS_TRACE_SEGMENT, numbers, COUNT(numbers));
}

vs_status vs_tracew_block(vs_tracew *w, const vs_trace_block *block) {
  if (block->state > VS_TRACE_OTHER || !vs_tracew_has_string(w, block->state_name) ||
      !vs_tracew_has_stack(w, block->stack) || !vs_tracew_has_texts(w, block->forward_frames))
    return VS_BAD_ARGUMENT;
  const uint64_t flags =
      block->state | (uint64_t)block->is_address_derived << 2 | (uint64_t)block->is_requested_derived << 3;
  const uint64_t numbers[] = {flags,        block->address,        block->size,      block->requested,
                              block->stack, block->forward_frames, block->state_name};
  return put_numbers(w, VS_TRACE_BLOCK, numbers, COUNT(numbers));
}
