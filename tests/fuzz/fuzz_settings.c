/* Any bytes as a settings string: values within their bounds, or a refusal with a sentence and the byte, which leaves the
 * settings as they were. What the report says of them can be said to the parser again. */
#include <stdio.h>
#include <stdlib.h>

#include "alloc/settings.h"
#include "fuzz.h"

static void must(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "fuzz_settings: %s\n", what);
  abort();
}

static void check_bounds(const vs_alloc_settings *s) {
  must(s->large_segment_size > 10 * VS_MIB, "a large segment is above 10 MiB");
  must(s->garbage_collection_threshold >= 0 && s->garbage_collection_threshold < 1, "a threshold is below 1");
  must(s->memory_fraction >= 0 && s->memory_fraction <= 1, "a fraction is within 0 .. 1");
  must(s->pinned_register_threads >= 1 && s->pinned_register_threads <= 128, "1 to 128 threads");
  must(s->class_count <= VS_ALLOC_MOST_CLASSES, "classes fit");
  for (int i = 0; i < VS_ALLOC_DIVISIONS; i++)
    must((s->roundup_divisions[i] & (s->roundup_divisions[i] - 1)) == 0, "divisions are powers of two, or 0");
}

/* Whether the report's words for a value are some that the parser knows. */
static bool can_be_said(vs_str value) {
  return !vs_str_equal(value, VS_STR("none")) && !vs_str_equal(value, VS_STR("unlimited")) &&
         !vs_str_equal(value, VS_STR("off")) && !vs_str_equal(value, VS_STR("0"));
}

static void check_report(const vs_alloc_settings *settings) {
  vs_alloc_settings again = *settings;
  vs_text text;
  uint32_t count;
  const vs_alloc_setting *list = vs_alloc_setting_list(&count);
  for (uint32_t i = 0; i < count; i++) {
    if (settings->rules->version < list[i].since || settings->rules->version > list[i].until) continue;
    vs_text_init(&text, vs_host_default(), NULL);
    vs_alloc_setting_write(settings, &list[i], &text);
    if (can_be_said(vs_text_view(&text)) && list[i].kind != VS_ALLOC_ABOVE_SEGMENT &&
        (list[i].kind != VS_ALLOC_DIVISION_LIST || settings->rules->has_zero_divisions))
      must(vs_alloc_settings_set(&again, vs_str_from(list[i].key), vs_text_view(&text), NULL) == VS_OK,
           "what is reported can be said");
    vs_text_deinit(&text);
  }
  must(memcmp(again.roundup_divisions, settings->roundup_divisions, sizeof again.roundup_divisions) == 0,
       "and means the same");
  vs_text_init(&text, vs_host_default(), NULL);
  must(vs_alloc_settings_write(settings, &text) == VS_OK, "settings can be reported");
  must(vs_alloc_settings_warn(settings, &text) == VS_OK, "and warned of");
  vs_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  vs_alloc_settings settings, before;
  vs_error error = {.offset = VS_NO_OFFSET};
  vs_alloc_settings_init(&settings);
  before = settings;
  const vs_status status = vs_alloc_settings_parse(&settings, (vs_str){(const char *)data, size}, &error);
  if (status == VS_OK) {
    check_bounds(&settings);
    check_report(&settings);
    return 0;
  }
  must(status == VS_BAD_FORMAT || status == VS_LIMIT, "no other failure");
  must(error.status == status && error.text[0] != 0 && error.offset <= size, "a sentence, and where");
  must(memcmp(&settings, &before, sizeof before) == 0, "all or nothing");
  return 0;
}
