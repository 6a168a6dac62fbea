/* Settings: from a text or the environment, the same for all cards. */
#include "live/settings.h"
#include "os/process.h"
#include "live/error_text.h"

vs_status vs_live_settings_init(vs_alloc_settings *settings, const char *text, vs_error *error) {
  const char *values[VS_ALLOC_VARIABLES];
  vs_alloc_settings_init(settings);
  if (text != NULL) return vs_alloc_settings_parse(settings, vs_str_from(text), error);
  for (size_t i = 0; i < VS_ALLOC_VARIABLES; i++) values[i] = vs_process_variable(vs_alloc_variables[i]);
  const uint32_t which = vs_alloc_variable_choose(values);
  if (which == VS_ALLOC_VARIABLES) return VS_OK;
  vs_error inner = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = vs_alloc_settings_parse(settings, vs_str_from(values[which]), &inner);
  if (status == VS_OK) return VS_OK;
  return vs_fail(error, status, inner.offset, "%s: %s", vs_alloc_variables[which], inner.text);
}

/* Every card has the same settings, so either all cards accept new ones or the first refuses. */
vs_status vs_live_settings_apply(vs_live *live, const char *text, vs_error *error) {
  vs_live_lock_all(live);
  vs_alloc_settings settings = *vs_alloc_settings_of(live->devices[0]->alloc);
  vs_status status = vs_alloc_settings_parse(&settings, vs_str_from(text), error);
  for (uint32_t i = 0; i < live->machine.count && status == VS_OK; i++) {
    status = vs_alloc_settings_apply(live->devices[i]->alloc, &settings);
    VS_ASSERT(status == VS_OK || i == 0);
    if (status != VS_OK)
      vs_fail(error, status, VS_NO_OFFSET, "the back end and the version cannot change after the beginning");
  }
  vs_live_unlock_all(live);
  return status;
}

vs_status vs_live_settings_write(vs_live *live, vs_writer to) {
  vs_text text;
  vs_text_init(&text, live->host, NULL);
  vs_live_lock_take(&live->devices[0]->lock);
  const vs_alloc_settings settings = *vs_alloc_settings_of(live->devices[0]->alloc);
  vs_live_lock_give(&live->devices[0]->lock);
  vs_status status = vs_alloc_settings_write(&settings, &text);
  if (status == VS_OK) status = vs_alloc_settings_warn(&settings, &text);
  if (status == VS_OK) status = vs_text_finish(&text);
  if (status == VS_OK) status = to.write(to.ctx, text.bytes.data, text.bytes.count);
  vs_text_deinit(&text);
  return vs_live_result(live, status);
}
