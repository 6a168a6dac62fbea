#include "dryrun/found.h"

const vs_found_run *vs_found_run_of(const vs_found *found, vs_change_set set, uint64_t first) {
  for (size_t i = 0; i < found->count; i++) {
    const vs_found_run *run = &found->runs[i];
    if (run->set == set && run->first == first && run->is_roomy && !run->has_value &&
        run->trial.changed.is_known)
      return run;
  }
  return NULL;
}

static bool needs_numerics(vs_change_set set) {
  for (size_t i = 0; i < VS_ATTEMPTS; i++)
    if (vs_found_has(set, i) && vs_change_row_of(vs_attempt_of(i)->change)->results == VS_RESULTS_OTHER)
      return true;
  return false;
}

/* The members of an attempt's object beside its name. The settings are plain text (search.def). */
static void put_parameters(vs_text *text, const vs_found *found, const vs_attempt *attempt) {
  if (attempt->change == VS_CHANGE_allocator && found->settings[0] != 0)
    vs_text_format(text, ", \"settings\": \"%s\"", found->settings);
  else if (attempt->parameters[0] != 0) vs_text_format(text, ", %s", attempt->parameters);
}

void vs_found_put_changes(vs_text *text, const vs_found *found, vs_change_set set, uint64_t first) {
  const char *before = "";
  vs_text_cstr(text, "{\"schema\": 1, ");
  if (needs_numerics(set)) vs_text_cstr(text, "\"allows_numerics\": true, ");
  vs_text_cstr(text, "\"changes\": [");
  for (size_t i = 0; i < VS_ATTEMPTS; i++) {
    if (!vs_found_has(set, i)) continue;
    const vs_attempt *attempt = vs_attempt_of(i);
    vs_text_format(text, "%s{\"name\": \"%s\"", before, vs_change_row_of(attempt->change)->name);
    put_parameters(text, found, attempt);
    if (first != 0 && vs_found_is_checkpoint(i)) vs_text_format(text, ", \"first\": %U", first);
    vs_text_byte(text, '}');
    before = ", ";
  }
  vs_text_cstr(text, "]}");
}
