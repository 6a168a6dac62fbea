/* A consumer that keeps nothing but counts, and breaks off the run when a reader hands it something that cannot be.
 *
 * Each container gets the next serial number. What it holds must be scalars, strings that were handed over, and containers
 * with smaller numbers; and a reader cannot hand over more than the input has bytes to say. */
#ifndef VS_TESTS_COUNTING_FOLD_H
#define VS_TESTS_COUNTING_FOLD_H

#include <stdlib.h>

#include "codec/fold.h"

enum { COUNTED_CONTAINER = VS_VALUE_USER };

typedef struct counting_fold {
  uint64_t strings, containers;
  uint64_t most;   /* of each: one needs at least one byte */
  uint8_t touched; /* every byte was: a sanitizer sees one that is not there */
} counting_fold;

static inline void must(bool condition) {
  if (!condition) abort();
}

static inline void check_values(const counting_fold *counted, const vs_value *values, size_t count) {
  must(values != NULL || count == 0);
  for (size_t i = 0; i < count; i++) {
    const vs_value value = values[i];
    must(value.kind < VS_VALUE_READER || value.kind == COUNTED_CONTAINER);
    must(value.kind != VS_VALUE_BOOL || value.bits <= 1);
    must(value.kind != VS_VALUE_UINT || value.bits > INT64_MAX);
    must(value.kind != VS_VALUE_STRING || value.bits < counted->strings);
    must(value.kind != COUNTED_CONTAINER || value.bits < counted->containers);
  }
}

static inline vs_status count_string(void *ctx, vs_str utf8, vs_value *out, vs_error *error) {
  counting_fold *counted = ctx;
  (void)error;
  for (size_t i = 0; i < utf8.size; i++) counted->touched ^= (uint8_t)utf8.data[i];
  *out = (vs_value){.bits = counted->strings++, .kind = VS_VALUE_STRING};
  must(counted->strings <= counted->most);
  return VS_OK;
}

static inline vs_status count_container(counting_fold *counted, const vs_value *values, size_t count,
                                        vs_value *out) {
  check_values(counted, values, count);
  *out = (vs_value){.bits = counted->containers++, .kind = COUNTED_CONTAINER};
  must(counted->containers <= counted->most);
  return VS_OK;
}

static inline vs_status count_sequence(void *ctx, const vs_value *items, size_t count, bool is_tuple,
                                       vs_value *out, vs_error *error) {
  (void)is_tuple;
  (void)error;
  return count_container(ctx, items, count, out);
}

static inline vs_status count_mapping(void *ctx, const vs_value *pairs, size_t pair_count, vs_value *out,
                                      vs_error *error) {
  (void)error;
  return count_container(ctx, pairs, 2 * pair_count, out);
}

static inline vs_str count_text(void *ctx, vs_value string) {
  const counting_fold *counted = ctx;
  must(string.kind == VS_VALUE_STRING && string.bits < counted->strings);
  return (vs_str){"text", 4};
}

static inline vs_fold counting_fold_init(counting_fold *counted, size_t input_size) {
  *counted = (counting_fold){.most = input_size};
  return (vs_fold){.ctx = counted,
                   .string = count_string,
                   .sequence = count_sequence,
                   .mapping = count_mapping,
                   .text = count_text};
}

/* What every reader promises about its answer: a value, or a failure with a sentence and a place inside the input. */
static inline void check_answer(const counting_fold *counted, vs_status status, const vs_value *root,
                                const vs_error *error) {
  if (status == VS_OK) {
    check_values(counted, root, 1);
    return;
  }
  must(error->status == status && error->text[0] != 0);
  must(error->offset <= counted->most);
}

#endif
