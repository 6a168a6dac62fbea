/* The settings of a recorded allocator. */
#include "analyze/replay.h"

#include "base/text.h"

static double real_of(const vs_setting *setting) {
  double value;
  if (setting->kind == VS_SETTING_INT) return (double)(int64_t)setting->bits;
  memcpy(&value, &setting->bits, sizeof value);
  return value;
}

/* Entries {"1": 4, "2": 4, ...}: a power of two in MiB, and the divisions from there on. */
static void take_divisions(const vs_snapshot *snapshot, size_t at, vs_alloc_settings *settings) {
  const vs_setting *dict = &snapshot->settings.data[at];
  for (uint64_t i = 1; i <= dict->bits && at + i < snapshot->settings.count; i++) {
    const vs_setting *entry = &snapshot->settings.data[at + i];
    uint64_t mib;
    if (entry->depth != dict->depth + 1 || entry->kind != VS_SETTING_INT || (int64_t)entry->bits < 0) return;
    if (!vs_parse_u64(vs_snapshot_string(snapshot, entry->key), &mib) || mib == 0) continue;
    const uint32_t index = 63 - (uint32_t)__builtin_clzll(mib);
    const bool is_power = (entry->bits & (entry->bits - 1)) == 0;
    if (index < VS_ALLOC_DIVISIONS && is_power) settings->roundup_divisions[index] = entry->bits;
  }
}

static void take_setting(const vs_snapshot *snapshot, size_t at, vs_alloc_settings *settings) {
  const vs_setting *setting = &snapshot->settings.data[at];
  const vs_str key = vs_snapshot_string(snapshot, setting->key);
  const bool is_number = setting->kind == VS_SETTING_INT || setting->kind == VS_SETTING_REAL;
  if (vs_str_equal(key, VS_STR("expandable_segments")) && setting->kind == VS_SETTING_BOOL)
    settings->expandable_segments = setting->bits != 0;
  if (vs_str_equal(key, VS_STR("max_split_size")) && setting->kind == VS_SETTING_INT)
    settings->max_split_size =
        (int64_t)setting->bits < (int64_t)settings->large_segment_size ? UINT64_MAX : setting->bits;
  if (vs_str_equal(key, VS_STR("garbage_collection_threshold")) && is_number) {
    const double threshold = real_of(setting);
    settings->garbage_collection_threshold = threshold > 0 && threshold < 1 ? threshold : 0;
  }
  if (vs_str_equal(key, VS_STR("roundup_power2_divisions")) && setting->kind == VS_SETTING_DICT)
    take_divisions(snapshot, at, settings);
}

static bool has_key(const vs_snapshot *snapshot, vs_str key) {
  for (size_t i = 0; i < snapshot->settings.count; i++)
    if (vs_str_equal(vs_snapshot_string(snapshot, snapshot->settings.data[i].key), key)) return true;
  return false;
}

/* Whether there is more in allocator_settings than the marks of vramscope's own exports. */
static bool has_settings(const vs_snapshot *snapshot) {
  for (size_t i = 0; i < snapshot->settings.count; i++) {
    const vs_setting *setting = &snapshot->settings.data[i];
    if (setting->depth == 0 &&
        !vs_str_starts(vs_snapshot_string(snapshot, setting->key), VS_STR("vramscope_")))
      return true;
  }
  return false;
}

/* Files do not name PyTorch's version, but each version added keys. */
static const vs_alloc_rules *rules_of(const vs_snapshot *snapshot) {
  const char *name = "torch-1.13";
  for (size_t i = 0; i < snapshot->segments.count; i++)
    if ((snapshot->segments.data[i].has & VS_SEGMENT_HAS_EXPANDABLE) != 0) name = "torch-2.1";
  const bool has_marks_only = snapshot->settings.count != 0 && !has_settings(snapshot);
  if ((snapshot->has & VS_HAS_SETTINGS) != 0 && !has_marks_only)
    name = (snapshot->has & VS_HAS_ANNOTATIONS) != 0 ? "torch-2.6" : "torch-2.4";
  if (has_key(snapshot, VS_STR("graph_capture_record_stream_reuse"))) name = "torch-2.11";
  if (has_key(snapshot, VS_STR("max_cached_size"))) name = "torch-2.15";
  return vs_alloc_rules_find(vs_str_from(name));
}

void vs_replay_settings_of(const vs_snapshot *snapshot, vs_alloc_settings *settings, bool *is_known) {
  vs_alloc_settings_init(settings);
  settings->rules = rules_of(snapshot);
  *is_known = (snapshot->has & VS_HAS_SETTINGS) != 0 && has_settings(snapshot);
  for (size_t i = 0; i < snapshot->settings.count; i++) {
    const vs_setting *setting = &snapshot->settings.data[i];
    if (setting->depth != 0 || setting->kind != VS_SETTING_STRING) continue;
    const vs_str key = vs_snapshot_string(snapshot, setting->key);
    if (!vs_str_equal(key, VS_STR("PYTORCH_CUDA_ALLOC_CONF")) &&
        !vs_str_equal(key, VS_STR("PYTORCH_ALLOC_CONF")))
      continue;
    vs_alloc_settings parsed = *settings;
    vs_error error;
    if (vs_alloc_settings_parse(&parsed, vs_snapshot_string(snapshot, (uint32_t)setting->bits), &error) ==
        VS_OK)
      *settings = parsed;
  }
  for (size_t i = 0; i < snapshot->settings.count; i++)
    if (snapshot->settings.data[i].depth == 0) take_setting(snapshot, i, settings);
}

vs_status vs_replay_settings_parse(vs_str text, const vs_alloc_rules *rules, vs_alloc_settings *settings,
                                   vs_error *error) {
  vs_error inner;
  vs_status status;
  if (rules == NULL) rules = vs_alloc_rules_default();
  do {
    vs_alloc_settings_init(settings);
    settings->rules = rules;
    inner = (vs_error){.offset = VS_NO_OFFSET};
    status = vs_alloc_settings_parse_run(settings, text, &inner);
    rules = vs_alloc_rules_newer(rules);
  } while (status != VS_OK && rules != NULL);
  if (status != VS_OK) return vs_fail(error, VS_BAD_ARGUMENT, inner.offset, "settings: %s", inner.text);
  if (settings->backend != VS_ALLOC_NATIVE)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "settings: only backend:native can be replayed");
  return VS_OK;
}

/* Appends "key:value" if it is not the default. */
static void write_setting(const vs_alloc_settings *settings, const vs_alloc_settings *defaults,
                          const vs_alloc_setting *setting, vs_text *out) {
  vs_text mine, usual;
  vs_text_init(&mine, out->host, NULL);
  vs_text_init(&usual, out->host, NULL);
  vs_alloc_setting_write(settings, setting, &mine);
  vs_alloc_setting_write(defaults, setting, &usual);
  if (mine.status == VS_OK && !vs_str_equal(vs_text_view(&mine), vs_text_view(&usual))) {
    if (out->bytes.count > 0) vs_text_byte(out, ',');
    vs_text_cstr(out, setting->key);
    vs_text_byte(out, ':');
    vs_text_str(out, vs_text_view(&mine));
  }
  if (out->status == VS_OK) out->status = mine.status != VS_OK ? mine.status : usual.status;
  vs_text_deinit(&mine);
  vs_text_deinit(&usual);
}

void vs_replay_settings_write(const vs_alloc_settings *settings, vs_text *out) {
  vs_alloc_settings defaults;
  vs_alloc_settings_init(&defaults);
  uint32_t count;
  const vs_alloc_setting *list = vs_alloc_setting_list(&count);
  for (uint32_t i = 0; i < count; i++) write_setting(settings, &defaults, &list[i], out);
}

void vs_replay_options_init(vs_replay_options *options, const vs_snapshot *snapshot) {
  *options = (vs_replay_options){.follows = true, .until = VS_NO_EVENT};
  vs_replay_settings_of(snapshot, &options->settings, &options->settings_known);
}
