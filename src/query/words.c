#include "query/words.h"
#include "base/text.h"

const char vs_words_how_to_record[] =
    "call torch.cuda.memory._record_memory_history() before the first allocation";

const char *vs_words_of_fragmentation(const vs_holes *holes) {
  if (holes->reserved == 0) return "nothing is reserved";
  if (holes->free == 0) return "all reserved memory is in use";
  if (holes->free < holes->reserved / 10)
    return "little of the reserved memory is free, so it hardly matters in how many pieces";
  if (holes->releasable >= holes->free - holes->free / 10)
    return "nearly all that is free lies in segments of its own and can go back to the driver";
  if (holes->is_unusable_known && holes->unusable >= holes->free / 4)
    return "much of what is free lies in holes too small for anything that the program asked for";
  if (holes->pinned_pages >= holes->pinned / 2)
    return "what is free lies between blocks in use, but most of it are whole pages, which can go back to "
           "the driver";
  if (holes->pinned >= holes->free / 2)
    return "most of what is free lies in segments that blocks in use pin: it can be used again, but not go "
           "back to the driver";
  return "some of what is free lies in segments that blocks in use pin, the rest can go back to the driver";
}

const char *vs_words_of_growth(const vs_growth *growth) {
  if (growth->blocks == 0) return "grows with the steps: its blocks get larger, not more";
  if (growth->rises == growth->steps)
    return "grows every step and is still held: likely a leak or an unbounded cache";
  return "grows nearly every step and is still held: likely a leak or an unbounded cache";
}

const char *vs_words_of_oom(vs_oom_verdict verdict) {
  switch (verdict) {
    case VS_OOM_FULL: return "cached and free memory together were not enough for the request";
    case VS_OOM_FRAGMENTED:
      return "fragmentation: enough memory was cached, but no free block was large enough";
    case VS_OOM_ELSEWHERE:
      return "a large enough block was cached, but it belongs to another stream, pool or kind of segment and "
             "could not be reused";
    case VS_OOM_REFUSED: return "the device had enough free memory, and yet the request was refused";
    case VS_OOM_UNKNOWN: break;
  }
  return "the recording does not say enough to tell why";
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
      return "hold less at that moment: a smaller batch, checkpointed activations, optimizer state on the "
             "host";
    case VS_OOM_FRAGMENTED:
      if (expandable_segments_are_on(snapshot))
        return "expandable segments are on already: free long-lived blocks together, or call "
               "torch.cuda.empty_cache() before";
      return "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets PyTorch grow one segment instead of "
             "allocating separate ones";
    case VS_OOM_ELSEWHERE:
      return "use one stream and one pool for memory that is to be used again, or torch.cuda.empty_cache() "
             "before the request";
    case VS_OOM_REFUSED:
      return "look for a limit: torch.cuda.set_per_process_memory_fraction, or one of the container or the "
             "driver";
    case VS_OOM_UNKNOWN: break;
  }
  return NULL;
}
