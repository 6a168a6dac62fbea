#include "dryrun/logits.h"
#include "base/check.h"
#include "codec/json_reply.h"

/* ---- the stacks of an inventory */

static bool is_cross_entropy(vs_json inventory, vs_json stack) {
  const vs_json all = vs_reply_at(inventory, "frames"), frames = vs_reply_at(stack, "frames");
  for (size_t i = 0; i < vs_json_count(frames); i++) {
    const vs_json frame = vs_json_at(all, vs_json_u64(vs_json_at(frames, i), SIZE_MAX));
    if (vs_str_equal(vs_reply_str(frame, "function"), VS_STR("cross_entropy")) &&
        vs_str_ends(vs_reply_str(frame, "file"), VS_STR("torch/nn/functional.py")))
      return true;
  }
  return false;
}

static uint64_t size_of(vs_json sizes, size_t row) {
  return vs_json_u64(vs_json_at(vs_json_at(sizes, row), 0), 0);
}

/* How many blocks of a stack have that size. */
static uint64_t blocks_of(vs_json stack, uint64_t bytes) {
  const vs_json sizes = vs_reply_at(stack, "sizes");
  for (size_t i = 0; i < vs_json_count(sizes); i++)
    if (size_of(sizes, i) == bytes) return vs_json_u64(vs_json_at(vs_json_at(sizes, i), 1), 0);
  return 0;
}

/* ---- the logits */

vs_logits vs_logits_of(vs_json inventory) {
  enum { SHARE = 20 }; /* one part in so many of what PyTorch's tensors have */
  const vs_json stacks = vs_reply_at(inventory, "stacks");
  vs_logits logits = {0};
  for (size_t i = 0; i < vs_json_count(stacks); i++) {
    const vs_json stack = vs_json_at(stacks, i);
    const uint64_t largest = size_of(vs_reply_at(stack, "sizes"), 0);
    if (largest <= logits.block_bytes || !is_cross_entropy(inventory, stack)) continue;
    logits.block_bytes = largest;
    vs_format(logits.place, sizeof logits.place, "%S", vs_reply_str(stack, "label"));
  }
  if (logits.block_bytes == 0) return logits;
  for (size_t i = 0; i < vs_json_count(stacks); i++)
    logits.blocks = vs_sat_add_u64(logits.blocks, blocks_of(vs_json_at(stacks, i), logits.block_bytes));
  const uint64_t matters = vs_reply_u64(inventory, "bytes") / SHARE;
  if (vs_sat_mul_u64(logits.blocks, logits.block_bytes) < matters) return (vs_logits){0};
  return logits;
}

/* ---- the reply */

void vs_logits_put(vs_jsonw *w, const vs_logits *logits) {
  if (logits->block_bytes == 0) {
    vs_jsonw_null(w);
    return;
  }
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "place", vs_str_from(logits->place));
  vs_jsonw_member_u64(w, "block_bytes", logits->block_bytes);
  vs_jsonw_member_u64(w, "blocks", logits->blocks);
  vs_jsonw_object_end(w);
}
