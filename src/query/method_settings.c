/* "settings": the values that a settings string gives the allocator, and warnings about entries without effect. */
#include "alloc/settings.h"
#include "query/reply.h"

/* The settings without the string. max_non_split_rounding defaults to large_segment_size, as in every parse. */
static vs_alloc_settings defaults_beside(const vs_alloc_settings *settings) {
  vs_alloc_settings defaults;
  vs_alloc_settings_init(&defaults);
  defaults.max_non_split_rounding = settings->large_segment_size;
  return defaults;
}

static bool is_known(const vs_alloc_rules *rules, const vs_alloc_setting *setting) {
  return rules->version >= setting->since && rules->version <= setting->until;
}

/* Writes a value and its default; compares them as texts. */
static bool write_value(vs_call *call, const vs_alloc_setting *setting, const vs_alloc_settings *settings,
                        const vs_alloc_settings *defaults) {
  vs_text usual;
  vs_text_init(&usual, call->engine->host, NULL);
  vs_alloc_setting_write(defaults, setting, &usual);
  vs_alloc_setting_write(settings, setting, &call->scratch);
  const bool differs = !vs_str_equal(vs_text_view(&call->scratch), vs_text_view(&usual));
  if (call->scratch.status == VS_OK) call->scratch.status = usual.status;
  vs_reply_scratch(call, "value");
  vs_jsonw_member_str(call->json, "default", vs_text_view(&usual));
  vs_jsonw_member_bool(call->json, "differs", differs);
  vs_text_deinit(&usual);
  return differs;
}

static void write_settings(vs_call *call, const vs_alloc_settings *settings) {
  const vs_alloc_settings defaults = defaults_beside(settings);
  uint32_t count;
  uint64_t differing = 0;
  const vs_alloc_setting *list = vs_alloc_setting_list(&count);
  vs_reply_array_begin(call->json, "settings");
  for (uint32_t i = 0; i < count; i++) {
    if (!is_known(settings->rules, &list[i])) continue;
    vs_jsonw_object_begin(call->json);
    vs_jsonw_member_str(call->json, "key", vs_str_from(list[i].key));
    differing += write_value(call, &list[i], settings, &defaults);
    vs_jsonw_member_str(call->json, "bounds", vs_str_from(list[i].bounds));
    vs_jsonw_member_str(call->json, "sentence", vs_str_from(list[i].sentence));
    vs_jsonw_object_end(call->json);
  }
  vs_jsonw_array_end(call->json);
  vs_jsonw_member_u64(call->json, "differing", differing);
}

/* vs_alloc_settings_warn puts each warning on a line of its own. */
static vs_status write_warnings(vs_call *call, const vs_alloc_settings *settings) {
  VS_TRY(vs_alloc_settings_warn(settings, &call->scratch));
  const vs_str lines = vs_text_view(&call->scratch);
  vs_reply_array_begin(call->json, "warnings");
  for (size_t at = 0, end = 0; end < lines.size; at = ++end) {
    while (end < lines.size && lines.data[end] != '\n') end++;
    vs_jsonw_str(call->json, (vs_str){lines.data + at, end - at});
  }
  vs_jsonw_array_end(call->json);
  call->scratch.bytes.count = 0;
  return VS_OK;
}

vs_status vs_method_settings(vs_call *call) {
  const vs_given_text *given = &call->request->settings;
  vs_alloc_settings settings;
  vs_error inner = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_alloc_settings_init(&settings);
  if (given->is_given) {
    const vs_status status = vs_alloc_settings_parse(&settings, vs_given_text_view(given), &inner);
    if (status == VS_NO_MEMORY) return status;
    if (status != VS_OK) return vs_fail(call->error, VS_BAD_ARGUMENT, inner.offset, "%s", inner.text);
  }
  vs_jsonw_key(call->json, VS_STR("text"));
  if (given->is_given) vs_jsonw_str(call->json, vs_given_text_view(given));
  else vs_jsonw_null(call->json);
  vs_jsonw_member_str(call->json, "rules", vs_str_from(settings.rules->name));
  vs_jsonw_member_str(call->json, "backend",
                      vs_str_from(settings.backend == VS_ALLOC_ASYNC ? "cudaMallocAsync" : "native"));
  write_settings(call, &settings);
  return write_warnings(call, &settings);
}
