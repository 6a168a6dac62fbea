#include "query/advice.h"
#include "analyze/replay.h"

const char vs_advice_how_to_record[] =
    "call torch.cuda.memory._record_memory_history() before the first allocation";

const char *vs_explain_fragmentation(const vs_holes *holes) {
  if (holes->reserved == 0) return "nothing is reserved";
  if (holes->free == 0) return "nothing is cached";
  if (holes->free < holes->reserved / 10)
    return "little of the reserved memory is cached, so fragmentation hardly matters";
  if (holes->releasable >= holes->free - holes->free / 10)
    return "nearly all cached memory is in segments or pages without live blocks and is releasable";
  if (holes->is_unusable_known && holes->unusable >= holes->free / 4)
    return "much of the cached memory is in free blocks smaller than any request of the program";
  if (holes->pinned >= holes->free / 2)
    return "most of the cached memory shares segments with live blocks: it can be reused, but is not "
           "releasable";
  return "some of the cached memory shares segments with live blocks; the rest is releasable";
}

const char *vs_explain_growth(const vs_growth *growth, vs_steps_source source) {
  if (growth->kind == VS_GROWTH_PENDING)
    return "was freed, but waits for another stream (record_stream): more of it every step";
  if (growth->kind == VS_GROWTH_FREED) return "grew every step, and most of it was freed since";
  if (source == VS_STEPS_ROUNDS)
    return "grows every step of a loop and is still allocated: a leak, an unbounded cache, or memory that "
           "the "
           "loop builds up";
  if (growth->blocks == 0) return "grows with the steps: its blocks get larger, not more";
  if (growth->rises == growth->steps)
    return "grows every step and is still allocated: likely a leak or an unbounded cache";
  return "grows nearly every step and is still allocated: likely a leak or an unbounded cache";
}

const char *vs_explain_oom(vs_oom_verdict verdict) {
  switch (verdict) {
    case VS_OOM_FULL: return "the GPU was full: neither free nor cached memory was enough";
    case VS_OOM_FRAGMENTED:
      return "fragmentation: enough memory was cached where the request could use it, but no free block was "
             "large enough";
    case VS_OOM_ELSEWHERE:
      return "enough memory was cached, but most of it belongs to another stream, pool or kind of segment "
             "and could not be reused";
    case VS_OOM_LIMIT:
      return "the GPU had enough free memory: a limit of the process refused the request, or the driver did";
    case VS_OOM_UNKNOWN: break;
  }
  return "the recording does not contain enough to tell why";
}

static bool expandable_segments_are_on(const vs_snapshot *s) {
  vs_alloc_settings settings;
  bool is_known;
  for (size_t i = 0; i < s->segments.count; i++)
    if (s->segments.data[i].is_expandable) return true;
  vs_replay_settings_of(s, &settings, &is_known);
  return settings.expandable_segments;
}

const char *vs_advice_for_oom(const vs_snapshot *snapshot, vs_oom_verdict verdict) {
  switch (verdict) {
    case VS_OOM_FULL:
      return "allocate less at that moment: a smaller batch, activation checkpointing, optimizer state on "
             "the host";
    case VS_OOM_FRAGMENTED:
      if (expandable_segments_are_on(snapshot))
        return "expandable_segments is already on: allocate long-lived blocks before short-lived ones, so "
               "that "
               "they do not lie between them";
      return "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets PyTorch grow one segment instead of "
             "allocating separate ones";
    case VS_OOM_ELSEWHERE:
      return "allocate on the stream and in the pool that cached it, or free the live blocks that share its "
             "segments";
    case VS_OOM_LIMIT:
      return "check for a limit: torch.cuda.set_per_process_memory_fraction, the container, the driver";
    case VS_OOM_UNKNOWN: break;
  }
  return NULL;
}
