/* Inventories made at random, as JSON, and the reply of a difference of two of them. */
#ifndef VS_TESTS_DIFF_SAMPLE_H
#define VS_TESTS_DIFF_SAMPLE_H

#include "codec/json_reply.h"
#include "diff/diff.h"
#include "support/test.h"

enum { SAMPLE_FRAMES = 12, SAMPLE_STACKS = 10 };

typedef struct sample_random {
  uint64_t state;
} sample_random;

static inline uint32_t sample_below(sample_random *random, uint32_t bound) {
  random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(random->state >> 33) % bound;
}

static inline void sample_put_frame(vs_text *text, sample_random *random) {
  static const char *const kinds[] = {"user", "user", "library", "native"};
  static const char *const folders[] = {"/home/me/job/", "/home/me/job/layers/",
                                        "/usr/lib/python3.11/site-packages/torch/", ""};
  const uint32_t kind = sample_below(random, 4);
  vs_text_format(text, "{\"function\":\"f%u\",\"file\":\"%s%s.py\",\"line\":%u,\"kind\":\"%s\"}",
                 sample_below(random, 5), folders[kind],
                 (const char *[]){"a", "b", "c"}[sample_below(random, 3)], 1 + sample_below(random, 9),
                 kinds[kind]);
}

static inline void sample_put_stack(vs_text *text, sample_random *random, uint64_t *bytes) {
  const uint32_t depth = sample_below(random, 5);
  const bool has_owner = depth != 0 && sample_below(random, 4) != 0;
  uint32_t owner = 0;
  vs_text_cstr(text, "{\"frames\":[");
  for (uint32_t i = 0; i < depth; i++) {
    const uint32_t frame = sample_below(random, SAMPLE_FRAMES);
    if (i == 0) owner = frame;
    vs_text_format(text, "%s%u", i == 0 ? "" : ",", frame);
  }
  vs_text_format(
      text, "],\"label\":\"label %u\",\"operation\":\"aten::op%u\",\"is_forward\":%s,\"owner_frame\":", owner,
      sample_below(random, 3), sample_below(random, 5) == 0 ? "true" : "false");
  if (has_owner) vs_text_format(text, "%u", owner);
  else vs_text_cstr(text, "null");
  vs_text_cstr(text, ",\"sizes\":[");
  const uint32_t sizes = 1 + sample_below(random, 3);
  for (uint32_t i = 0; i < sizes; i++) {
    const uint64_t size = (uint64_t)(4 - i) * 512, count = 1 + sample_below(random, 4);
    vs_text_format(text, "%s[%U,%U]", i == 0 ? "" : ",", size, count);
    *bytes += size * count;
  }
  vs_text_cstr(text, "]}");
}

/* `bytes`: the sum of its sizes. */
static inline void sample_put_inventory(vs_text *text, uint64_t seed, uint64_t *bytes) {
  sample_random random = {.state = seed};
  *bytes = 0;
  vs_text_cstr(text, "{\"frames\":[");
  for (uint32_t i = 0; i < SAMPLE_FRAMES; i++) {
    if (i != 0) vs_text_byte(text, ',');
    sample_put_frame(text, &random);
  }
  vs_text_cstr(text, "],\"stacks\":[");
  const uint32_t stacks = sample_below(&random, SAMPLE_STACKS);
  for (uint32_t i = 0; i < stacks; i++) {
    if (i != 0) vs_text_byte(text, ',');
    sample_put_stack(text, &random, bytes);
  }
  vs_text_cstr(text, "]}");
}

/* Of two texts. `error` may be NULL. */
static inline vs_status sample_diff(const vs_host *host, vs_str before, vs_str after, vs_diff_options options,
                                    vs_text *reply, vs_error *error) {
  vs_json_doc documents[2];
  VS_TRY(vs_json_doc_init(&documents[0], host, before, error));
  vs_status status = vs_json_doc_init(&documents[1], host, after, error);
  if (status == VS_OK) {
    status =
        vs_diff_put(host, vs_json_root(&documents[0]), vs_json_root(&documents[1]), options, reply, error);
    vs_json_doc_deinit(&documents[1]);
  }
  vs_json_doc_deinit(&documents[0]);
  return status;
}

#endif
