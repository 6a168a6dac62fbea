/* A window over a reader: the bytes that a parser works on, contiguous, with their offset in the whole input.
 *
 * Invariant: 0 <= pos <= end <= capacity; data[pos] is byte base + pos of the input; bytes from pos on are kept. */
#ifndef VS_CODEC_INPUT_H
#define VS_CODEC_INPUT_H

#include "base/host.h"

typedef struct vs_input {
  const vs_host *host;
  vs_reader reader;
  uint8_t *data;
  size_t pos, end, capacity;
  uint64_t base;
  bool at_end;       /* the reader returned 0 bytes */
  vs_budget *budget; /* may be NULL: grows with every byte read, by budget_factor */
  uint64_t budget_factor;
  bool (*progress)(void *ctx, uint64_t bytes_read); /* may be NULL; false cancels */
  void *progress_ctx;
} vs_input;

enum { VS_INPUT_WINDOW = VS_HOSTILE ? 64 : 256 * 1024 };

VS_MUST_CHECK vs_status vs_input_init(vs_input *input, const vs_host *host, vs_reader reader);
void vs_input_deinit(vs_input *input);

/* Reads until `count` bytes are in the window; VS_TRUNCATED and at_end if the input ends before. The window grows
 * only as bytes arrive, so a false length takes no memory. */
VS_MUST_CHECK vs_status vs_input_fill(vs_input *input, size_t count);

static inline VS_MUST_CHECK vs_status vs_input_need(vs_input *input, size_t count) {
  VS_ASSERT(input->pos <= input->end && input->end <= input->capacity);
  return input->end - input->pos >= count ? VS_OK : vs_input_fill(input, count);
}

/* Whether a failure of fill or need means the end of the input: a reader itself can fail with VS_TRUNCATED, too. */
static inline bool vs_input_ended(const vs_input *input, vs_status status) {
  return status == VS_TRUNCATED && input->at_end;
}

static inline uint64_t vs_input_offset(const vs_input *input) { return input->base + input->pos; }

#endif
