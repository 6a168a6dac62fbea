/* The stack and the metadata that a thread sets for its events. */
#include "live/error_text.h"

vs_status vs_live_stack(vs_live *live, const vs_live_frame *frames, size_t count, vs_stack *stack) {
  uint64_t words[VS_RECORD_DEPTH_MOST];
  const size_t kept = count < VS_RECORD_DEPTH_MOST ? count : VS_RECORD_DEPTH_MOST;
  VS_ASSERT(frames != NULL || count == 0);
  *stack = VS_STACK_NONE;
  for (size_t i = 0; i < kept; i++) {
    const vs_record_frame frame = {.function = vs_str_from(frames[i].function),
                                   .file = vs_str_from(frames[i].file),
                                   .line = frames[i].line};
    const vs_status status = vs_record_frame_intern(live->stacks, &frame, &words[i]);
    if (status != VS_OK) return vs_live_result(live, status);
  }
  *stack = vs_record_intern(live->stacks, words, (uint32_t)kept);
  if (*stack != VS_STACK_NONE) return VS_OK;
  return vs_live_fail(live, VS_LIMIT, "no room for more stacks");
}

vs_stack vs_live_stack_set(vs_live *live, vs_stack stack) {
  vs_live_thread *thread = vs_live_thread_make(&live->identity);
  const vs_stack before = thread->stack;
  thread->stack = stack;
  return before;
}

vs_status vs_live_metadata_set(vs_live *live, const char *text) {
  enum { MOST = 64 * 1024 };
  const vs_str wanted = text == NULL ? VS_STR("") : vs_str_from(text);
  uint32_t id = 0;
  if (wanted.size > MOST) return vs_live_fail(live, VS_LIMIT, "metadata of more than %d bytes", MOST);
  const vs_status status = wanted.size == 0 ? VS_OK : vs_record_text_intern(live->stacks, wanted, &id);
  if (status != VS_OK) return vs_live_result(live, status);
  vs_live_thread_make(&live->identity)->metadata = id;
  return VS_OK;
}
