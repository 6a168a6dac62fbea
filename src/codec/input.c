#include "codec/input.h"

vs_status vs_input_init(vs_input *input, const vs_host *host, vs_reader reader) {
  *input = (vs_input){.host = host, .reader = reader, .capacity = VS_INPUT_WINDOW};
  input->data = vs_host_alloc(host, input->capacity);
  return input->data == NULL ? VS_NO_MEMORY : VS_OK;
}

void vs_input_deinit(vs_input *input) {
  vs_host_free(input->host, input->data, input->capacity);
  input->data = NULL;
}

/* Moves the unread bytes to the front of the window, and doubles the window if it is still full. */
static vs_status make_room(vs_input *input) {
  if (input->pos > 0) {
    memmove(input->data, input->data + input->pos, input->end - input->pos);
    input->base += input->pos;
    input->end -= input->pos;
    input->pos = 0;
  }
  if (input->end < input->capacity) return VS_OK;
  if (input->capacity > SIZE_MAX / 2) return VS_NO_MEMORY;
  uint8_t *grown = input->host->resize(input->host->ctx, input->data, input->capacity, input->capacity * 2);
  if (grown == NULL) return VS_NO_MEMORY;
  input->data = grown;
  input->capacity *= 2;
  return VS_OK;
}

vs_status vs_input_fill(vs_input *input, size_t count) {
  while (input->end - input->pos < count) {
    if (input->at_end) return VS_TRUNCATED;
    VS_TRY(make_room(input));
    size_t got = 0;
    VS_TRY(
        input->reader.read(input->reader.ctx, input->data + input->end, input->capacity - input->end, &got));
    VS_ASSERT(got <= input->capacity - input->end);
    input->end += got;
    input->at_end = got == 0;
    if (input->budget != NULL) input->budget->limit += got * input->budget_factor;
    if (input->progress != NULL && !input->progress(input->progress_ctx, input->base + input->end))
      return VS_CANCELLED;
  }
  return VS_OK;
}
