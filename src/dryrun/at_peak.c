#include "dryrun/at_peak.h"
#include "codec/json_reply.h"
#include "dryrun/need.h"

/* ---- the stacks of the inventory */

/* PyTorch's optimizers are in torch/optim, those of bitsandbytes and others in folders of this name, too. */
static bool is_in_optimizer(vs_json inventory, vs_json stack) {
  const vs_json all = vs_reply_at(inventory, "frames"), frames = vs_reply_at(stack, "frames");
  for (size_t i = 0; i < vs_json_count(frames); i++) {
    const vs_json frame = vs_json_at(all, vs_json_u64(vs_json_at(frames, i), SIZE_MAX));
    if (vs_str_contains(vs_reply_str(frame, "file"), VS_STR("/optim/"))) return true;
  }
  return false;
}

typedef struct stack_sums {
  uint64_t optimizer, backward, others;
} stack_sums;

/* Threads of autograd have no Python stack. */
static stack_sums sum_stacks(vs_json inventory) {
  stack_sums sums = {0};
  const vs_json stacks = vs_reply_at(inventory, "stacks");
  for (size_t i = 0; i < vs_json_count(stacks); i++) {
    const vs_json stack = vs_json_at(stacks, i);
    const uint64_t bytes = vs_reply_u64(stack, "bytes");
    if (vs_json_count(vs_reply_at(stack, "frames")) == 0) sums.backward += bytes;
    else if (is_in_optimizer(inventory, stack)) sums.optimizer += bytes;
    else sums.others += bytes;
  }
  return sums;
}

vs_at_peak vs_at_peak_of(const vs_outcome *outcome) {
  const vs_result *result = outcome->result;
  const uint32_t busiest = vs_outcome_busiest(outcome);
  const vs_json inventory =
      vs_outcome_entry_of(outcome, vs_reply_at(outcome->history, "inventories"), busiest);
  if (vs_json_is_absent(inventory)) return (vs_at_peak){.is_known = false};
  const vs_result_card *card = &result->cards[busiest];
  const vs_json model = vs_need_model(result);
  const stack_sums sums = sum_stacks(inventory);
  const uint64_t reserved = card->torch.peak_reserved_bytes;
  const uint64_t requested = sums.optimizer + sums.backward + sums.others;
  vs_at_peak parts = {.is_known = true, .backward = sums.backward};
  parts.weights = vs_min_u64(vs_reply_u64(model, "parameter_bytes"), sums.others);
  parts.forward = sums.others - parts.weights;
  parts.optimizer_state = vs_min_u64(vs_reply_u64(model, "optimizer_bytes"), sums.optimizer);
  parts.optimizer_step = sums.optimizer - parts.optimizer_state;
  parts.cached = reserved - vs_min_u64(requested, reserved);
  parts.outside = card->driver_peak_bytes - vs_min_u64(reserved, card->driver_peak_bytes);
  return parts;
}

/* ---- what is too small to matter */

uint32_t vs_at_peak_idle(const vs_at_peak *parts) {
  enum { SHARE = 100 }; /* one part in so many of what PyTorch reserved */
  const struct {
    vs_part part;
    uint64_t bytes;
  } all[] = {{VS_PART_WEIGHTS, parts->weights},
             {VS_PART_OPTIMIZER_STATE, parts->optimizer_state},
             {VS_PART_OPTIMIZER_STEP, parts->optimizer_step},
             {VS_PART_BACKWARD, parts->backward},
             {VS_PART_FORWARD, parts->forward},
             {VS_PART_CACHED, parts->cached}};
  uint64_t sum = 0;
  uint32_t idle = 0;
  if (!parts->is_known) return 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) sum += all[i].bytes;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].bytes < sum / SHARE) idle |= (uint32_t)all[i].part;
  return idle;
}

/* ---- the reply */

void vs_at_peak_put(vs_jsonw *w, const vs_at_peak *parts) {
  if (!parts->is_known) {
    vs_jsonw_null(w);
    return;
  }
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "weights_bytes", parts->weights);
  vs_jsonw_member_u64(w, "optimizer_state_bytes", parts->optimizer_state);
  vs_jsonw_member_u64(w, "optimizer_step_bytes", parts->optimizer_step);
  vs_jsonw_member_u64(w, "backward_bytes", parts->backward);
  vs_jsonw_member_u64(w, "forward_bytes", parts->forward);
  vs_jsonw_member_u64(w, "cached_bytes", parts->cached);
  vs_jsonw_member_u64(w, "outside_bytes", parts->outside);
  vs_jsonw_object_end(w);
}
