#include "query/advice.h"
#include "base/text.h"

const char vs_advice_how_to_record[] =
    "call torch.cuda.memory._record_memory_history() before the first allocation";

const char *vs_explain_fragmentation(const vs_holes *holes) {
  if (holes->reserved == 0) return "nothing is reserved";
  if (holes->free == 0) return "nothing is cached";
  if (holes->free < holes->reserved / 10)
    return "little of the reserved memory is cached, so fragmentation hardly matters";
  if (holes->releasable >= holes->free - holes->free / 10)
    return "nearly all cached memory is in segments without live blocks and is releasable";
  if (holes->is_unusable_known && holes->unusable >= holes->free / 4)
    return "much of the cached memory is in free blocks smaller than any request of the program";
  if (holes->pinned_pages >= holes->pinned / 2)
    return "cached memory shares segments with live blocks, but most of it is whole pages, which are "
           "releasable";
  if (holes->pinned >= holes->free / 2)
    return "most of the cached memory shares segments with live blocks: it can be reused, but is not "
           "releasable";
  return "some of the cached memory shares segments with live blocks; the rest is releasable";
}

const char *vs_explain_growth(const vs_growth *growth) {
  if (growth->blocks == 0) return "grows with the steps: its blocks get larger, not more";
  if (growth->rises == growth->steps)
    return "grows every step and is still allocated: likely a leak or an unbounded cache";
  return "grows nearly every step and is still allocated: likely a leak or an unbounded cache";
}

const char *vs_explain_oom(vs_oom_verdict verdict) {
  switch (verdict) {
    case VS_OOM_FULL: return "cached and free memory together were not enough for the request";
    case VS_OOM_FRAGMENTED:
      return "fragmentation: enough memory was cached, but no free block was large enough";
    case VS_OOM_ELSEWHERE:
      return "a large enough block was cached, but it belongs to another stream, pool or kind of segment and "
             "could not be reused";
    case VS_OOM_REFUSED: return "the GPU had enough free memory, but the request was refused";
    case VS_OOM_UNKNOWN: break;
  }
  return "the recording does not contain enough to tell why";
}

/* Whether the file says that expandable segments were on: in its settings, or by having one. */
static bool expandable_segments_are_on(const vs_snapshot *s) {
  for (size_t i = 0; i < s->segments.count; i++)
    if (s->segments.data[i].is_expandable) return true;
  for (size_t i = 0; i < s->settings.count; i++) {
    const vs_setting *setting = &s->settings.data[i];
    if (setting->depth == 0 && setting->kind == VS_SETTING_BOOL && setting->bits != 0 &&
        vs_str_equal(vs_snapshot_string(s, setting->key), VS_STR("expandable_segments")))
      return true;
  }
  return false;
}

const char *vs_advice_for_oom(const vs_snapshot *snapshot, vs_oom_verdict verdict) {
  switch (verdict) {
    case VS_OOM_FULL:
      return "allocate less at that moment: a smaller batch, activation checkpointing, optimizer state on "
             "the host";
    case VS_OOM_FRAGMENTED:
      if (expandable_segments_are_on(snapshot))
        return "expandable_segments is already on: free long-lived blocks together, or call "
               "torch.cuda.empty_cache() before the request";
      return "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets PyTorch grow one segment instead of "
             "allocating separate ones";
    case VS_OOM_ELSEWHERE:
      return "call torch.cuda.empty_cache() before the request, or allocate on the stream and pool that "
             "cached the block";
    case VS_OOM_REFUSED:
      return "check for a limit: torch.cuda.set_per_process_memory_fraction, the container, the driver";
    case VS_OOM_UNKNOWN: break;
  }
  return NULL;
}
