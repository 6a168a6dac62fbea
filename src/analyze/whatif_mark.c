#include "analyze/whatif_mark.h"

#define NAME VS_STR("vramscope_whatif")

enum { MEMBERS = 4 };

static void read_member(const vs_snapshot *s, const vs_setting *member, vs_whatif_mark *mark) {
  const vs_str key = vs_snapshot_string(s, member->key);
  const bool is_set = member->kind == VS_SETTING_BOOL && member->bits != 0;
  const uint64_t number = member->kind == VS_SETTING_INT ? member->bits : 0;
  if (vs_str_equal(key, VS_STR("is_estimate"))) mark->is_estimate = is_set;
  if (vs_str_equal(key, VS_STR("ran_out"))) mark->ran_out = is_set;
  if (vs_str_equal(key, VS_STR("capacity_bytes"))) mark->capacity_bytes = number;
  if (vs_str_equal(key, VS_STR("edited_allocations"))) mark->edited = number;
}

vs_whatif_mark vs_whatif_mark_of(const vs_snapshot *s) {
  vs_whatif_mark mark = {.is_there = false};
  for (size_t i = 0; i < s->settings.count; i++) {
    const vs_setting *setting = &s->settings.data[i];
    if (setting->depth != 0 || !vs_str_equal(vs_snapshot_string(s, setting->key), NAME)) continue;
    mark.is_there = true;
    for (size_t m = i + 1; m < s->settings.count && s->settings.data[m].depth != 0; m++)
      read_member(s, &s->settings.data[m], &mark);
  }
  return mark;
}

static vs_status add(vs_snapshot *s, vs_str key, vs_setting_kind kind, uint64_t bits) {
  const vs_setting setting = {.kind = (uint8_t)kind, .depth = 1, .bits = bits};
  return vs_snapshot_setting_add(s, key, setting, VS_STR(""));
}

vs_status vs_whatif_mark_add(vs_snapshot *s, const vs_whatif_mark *mark) {
  const vs_setting dict = {.kind = VS_SETTING_DICT, .bits = MEMBERS};
  VS_ASSERT(mark->is_there && mark->capacity_bytes <= INT64_MAX && mark->edited <= INT64_MAX);
  VS_TRY(vs_snapshot_setting_add(s, NAME, dict, VS_STR("")));
  VS_TRY(add(s, VS_STR("is_estimate"), VS_SETTING_BOOL, mark->is_estimate));
  VS_TRY(add(s, VS_STR("ran_out"), VS_SETTING_BOOL, mark->ran_out));
  VS_TRY(add(s, VS_STR("capacity_bytes"), mark->capacity_bytes == 0 ? VS_SETTING_NONE : VS_SETTING_INT,
             mark->capacity_bytes));
  return add(s, VS_STR("edited_allocations"), VS_SETTING_INT, mark->edited);
}
