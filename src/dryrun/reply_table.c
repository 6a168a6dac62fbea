#include "dryrun/reply_table.h"
#include "dryrun/need.h"
#include "dryrun/reply.h"

/* ---- the axes */

static void put_command(vs_jsonw *w, char *const *words) {
  vs_jsonw_key(w, VS_STR("command"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; words[i] != NULL; i++) vs_jsonw_str(w, vs_str_from(words[i]));
  vs_jsonw_array_end(w);
}

/* A value, null where it is left away. */
static void put_value(vs_jsonw *w, const char *value) {
  if (*value == 0) vs_jsonw_null(w);
  else vs_jsonw_str(w, vs_str_from(value));
}

static void put_names(vs_jsonw *w, const vs_vary *vary, const vs_vary_axis *axis) {
  vs_jsonw_key(w, VS_STR("names"));
  vs_jsonw_array_begin(w);
  for (uint32_t n = axis->first_name; n < axis->first_name + axis->name_count; n++) {
    const vs_vary_name *name = &vary->names[n];
    vs_jsonw_object_begin(w);
    vs_jsonw_member_str(w, "name", name->text);
    vs_jsonw_member_str(w, "kind", vs_str_from(vs_vary_kind_word(name->kind)));
    vs_jsonw_member_bool(w, "added", vs_vary_is_added(name));
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
}

static void put_values(vs_jsonw *w, const vs_vary *vary, const vs_vary_axis *axis) {
  vs_jsonw_key(w, VS_STR("values"));
  vs_jsonw_array_begin(w);
  for (size_t v = 0; v < axis->value_count; v++) {
    vs_jsonw_array_begin(w);
    for (size_t n = 0; n < axis->name_count; n++)
      put_value(w, vary->texts.bytes.data + vary->values.data[axis->first_value + v * axis->name_count + n]);
    vs_jsonw_array_end(w);
  }
  vs_jsonw_array_end(w);
}

void vs_reply_table_head(vs_jsonw *w, vs_str method, const vs_vary *vary) {
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "schema", 1);
  vs_jsonw_member_str(w, "method", method);
  vs_jsonw_member_bool(w, "simulated", true);
  put_command(w, vary->plan->command);
}

void vs_reply_table_axes(vs_jsonw *w, const vs_vary *vary) {
  vs_jsonw_key(w, VS_STR("axes"));
  vs_jsonw_array_begin(w);
  for (uint32_t i = 0; i < vary->axis_count; i++) {
    vs_jsonw_object_begin(w);
    put_names(w, vary, &vary->axes[i]);
    put_values(w, vary, &vary->axes[i]);
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
  vs_jsonw_member_u64(w, "run_count", vary->run_count);
}

void vs_reply_table_begin(vs_jsonw *w, const vs_vary *vary) {
  vs_reply_table_head(w, VS_STR("dryrun_vary"), vary);
  vs_reply_table_axes(w, vary);
  vs_jsonw_key(w, VS_STR("runs"));
  vs_jsonw_array_begin(w);
}

void vs_reply_table_end(vs_jsonw *w, bool was_interrupted, vs_str why) {
  vs_jsonw_array_end(w);
  vs_jsonw_member_bool(w, "interrupted", was_interrupted);
  if (why.size == 0) vs_jsonw_member_null(w, "why");
  else vs_jsonw_member_str(w, "why", why);
}

void vs_reply_table_values(vs_text *text, const vs_vary *vary, uint32_t run) {
  for (uint32_t n = 0; n < vary->name_count; n++) {
    vs_text_format(text, n == 0 ? "%S=" : ", %S=", vary->names[n].text);
    vs_text_format(text, "%s", vs_vary_value(vary, run, n));
  }
}

/* ---- a run */

static void put_word(void *ctx, vs_str word) { vs_jsonw_str(ctx, word); }

void vs_reply_table_command(vs_jsonw *w, const vs_vary_run *run) {
  vs_text scratch;
  put_command(w, run->plan.command);
  vs_text_init(&scratch, run->host, NULL);
  vs_jsonw_key(w, VS_STR("alone"));
  vs_jsonw_array_begin(w);
  vs_vary_run_alone(run, &scratch, w, put_word);
  vs_jsonw_array_end(w);
  if (scratch.status != VS_OK && w->text->status == VS_OK) w->text->status = scratch.status;
  vs_text_deinit(&scratch);
}

static void put_settings(vs_jsonw *w, const vs_table_row *row) {
  vs_jsonw_key(w, VS_STR("settings"));
  vs_jsonw_object_begin(w);
  for (uint32_t n = 0; n < row->vary->name_count; n++) {
    vs_jsonw_key(w, row->vary->names[n].text);
    put_value(w, vs_vary_value(row->vary, row->number, n));
  }
  vs_jsonw_object_end(w);
  vs_reply_table_command(w, row->run);
}

static void put_known(vs_jsonw *w, const char *key, bool is_known, uint64_t value) {
  if (is_known) vs_jsonw_member_u64(w, key, value);
  else vs_jsonw_member_null(w, key);
}

static void put_figures(vs_jsonw *w, const vs_outcome *outcome) {
  const vs_result *result = outcome->result;
  const uint32_t busiest = vs_outcome_busiest(outcome);
  const bool is_used = busiest != result->card_count;
  const vs_result_card none = {0}, *card = is_used ? &result->cards[busiest] : &none;
  vs_jsonw_member_u64(w, "devices_used", outcome->need_count);
  put_known(w, "device", is_used, busiest);
  put_known(w, "total_bytes", is_used, is_used ? card->card->figures.total_bytes : 0);
  put_known(w, "needed_bytes", is_used, is_used ? vs_need_with_pools(card) : 0);
  put_known(w, "driver_peak_bytes", is_used, card->driver_peak_bytes);
  put_known(w, "peak_reserved_bytes", card->torch.is_known, card->torch.peak_reserved_bytes);
  put_known(w, "peak_allocated_bytes", card->torch.is_known, card->torch.peak_allocated_bytes);
  if (outcome->verdict == VS_VERDICT_FITS)
    vs_jsonw_member_i64(w, "headroom_bytes", vs_outcome_headroom(outcome));
  else vs_jsonw_member_null(w, "headroom_bytes");
  vs_jsonw_key(w, VS_STR("kv_cache"));
  vs_dryrun_reply_kv_cache(w, result);
}

void vs_reply_table_run(vs_jsonw *w, const vs_table_row *row) {
  const vs_outcome *outcome = row->outcome;
  vs_jsonw_object_begin(w);
  put_settings(w, row);
  vs_jsonw_member_str(w, "verdict", vs_str_from(vs_verdict_word(outcome->verdict)));
  vs_jsonw_member_i64(w, "exit_code", outcome->exit_code);
  put_known(w, "signal", outcome->signal != 0, (uint64_t)outcome->signal);
  vs_jsonw_member_u64(w, "time_us", outcome->launch->took_us);
  put_figures(w, outcome);
  if (row->output.size == 0) vs_jsonw_member_null(w, "output");
  else vs_jsonw_member_str(w, "output", row->output);
  vs_jsonw_key(w, VS_STR("reply"));
  vs_dryrun_reply_put(w, outcome);
  vs_jsonw_object_end(w);
}
