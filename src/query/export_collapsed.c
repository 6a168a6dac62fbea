/* Folded stacks: one line for each stack, the outermost frame first, then the live bytes. */
#include "query/export.h"

/* Puts a frame's label without the characters that the format uses: ';' separates frames, a line feed stacks. */
static void put_frame(vs_call *call, uint32_t frame) {
  vs_text *scratch = &call->scratch;
  VS_ASSERT(scratch->bytes.count == 0);
  vs_frames_put_label(&call->engine->frames, scratch, frame);
  for (size_t i = 0; i < scratch->bytes.count; i++) {
    char *byte = &scratch->bytes.data[i];
    if (*byte == ';') *byte = ':';
    else if ((uint8_t)*byte < 0x20) *byte = ' ';
  }
  vs_text_clean(call->text, vs_text_view(scratch));
  scratch->bytes.count = 0;
}

static void put_stack(vs_call *call, const vs_group *group) {
  const vs_list list = vs_stacks_at(&call->engine->snapshot->stacks, group->stack);
  bool is_first = true;
  for (uint32_t i = list.count; i-- > 0;) {
    if (vs_profile_frame(call, list, i) != i) continue;
    if (!is_first) vs_text_byte(call->text, ';');
    put_frame(call, list.items[i]);
    is_first = false;
  }
  if (is_first) vs_text_cstr(call->text, vs_owner_words(vs_profile_owner(group)));
}

vs_status vs_export_collapsed(vs_call *call) {
  vs_profile profile;
  VS_TRY(vs_profile_build(call, &profile));
  for (size_t i = 0; i < profile.groups.list.count; i++) {
    const vs_group *group = &profile.groups.list.data[i];
    if (group->bytes == 0) continue; /* some readers refuse a line with weight 0 */
    put_stack(call, group);
    vs_text_format(call->text, " %U\n", group->bytes);
  }
  vs_profile_deinit(call, &profile);
  return VS_OK;
}
