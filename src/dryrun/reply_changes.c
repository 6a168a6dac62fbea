#include "dryrun/reply_changes.h"
#include "codec/json_reply.h"

/* ---- before the runs */

void vs_reply_changes_begin(vs_trials *t) {
  vs_jsonw *w = &t->w;
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "schema", 1);
  vs_jsonw_member_str(w, "method", VS_STR("fit"));
  vs_jsonw_member_bool(w, "simulated", true);
  vs_jsonw_key(w, VS_STR("command"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; t->plan->command[i] != NULL; i++) vs_jsonw_str(w, vs_str_from(t->plan->command[i]));
  vs_jsonw_array_end(w);
  vs_jsonw_member_str(w, "name", vs_str_from(t->name));
  vs_jsonw_member_bool(w, "is_only_size", t->setup.gpus[0].is_only_size);
  vs_jsonw_member_u64(w, "capacity_bytes", t->capacity_bytes);
  vs_jsonw_member_u64(w, "most_runs", t->plan->most_runs);
  vs_jsonw_key(w, VS_STR("runs"));
  vs_jsonw_array_begin(w);
}

/* ---- values */

static void put_run(vs_jsonw *w, const char *key, const vs_found_run *run) {
  if (run == NULL) vs_jsonw_member_null(w, key);
  else vs_jsonw_member_u64(w, key, run->trial.number);
}

/* The fit.json of a set; null of none. */
static void put_changes(vs_jsonw *w, const vs_host *host, const char *key, const vs_found *found,
                        vs_change_set set, uint64_t first) {
  vs_text text;
  vs_json_doc list;
  vs_error ignored;
  vs_jsonw_key(w, vs_str_from(key));
  if (set == 0) {
    vs_jsonw_null(w);
    return;
  }
  vs_text_init(&text, host, NULL);
  vs_found_put_changes(&text, found, set, first);
  vs_status status = text.status;
  if (status == VS_OK) status = vs_json_doc_init(&list, host, vs_text_view(&text), &ignored);
  if (status == VS_OK) {
    vs_reply_put(w, vs_json_root(&list));
    vs_json_doc_deinit(&list);
  } else {
    vs_jsonw_null(w);
    w->text->status = status;
  }
  vs_text_deinit(&text);
}

/* ---- the answer */

/* What each change adds to those before it: the numbers of the runs. */
static void put_steps(vs_jsonw *w, const vs_found *found) {
  vs_change_set set = 0;
  vs_jsonw_key(w, VS_STR("steps"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < VS_ATTEMPTS && found->end == VS_FOUND_SET; i++) {
    if (!vs_found_has(found->set, i)) continue;
    set |= (vs_change_set)1 << i;
    uint64_t first = 0;
    for (size_t k = 0; k < VS_ATTEMPTS; k++)
      if (vs_found_has(set, k) && vs_found_is_checkpoint(k)) first = found->first;
    const vs_found_run *run = vs_found_run_of(found, set, first);
    vs_jsonw_object_begin(w);
    vs_jsonw_member_str(w, "name", vs_str_from(vs_change_row_of(vs_attempt_of(i)->change)->name));
    put_run(w, "run", run);
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
}

/* Whether the run is that of one change, as its attempt says; of equal ones the first. */
static bool is_alone(const vs_found *found, const vs_found_run *run) {
  const bool is_one = run->set != 0 && (run->set & (run->set - 1)) == 0;
  return is_one && run->first == 0 && vs_found_run_of(found, run->set, 0) == run;
}

static void put_alone(vs_jsonw *w, const vs_found *found) {
  vs_jsonw_key(w, VS_STR("alone"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < found->count; i++) {
    if (is_alone(found, &found->runs[i])) vs_jsonw_u64(w, found->runs[i].trial.number);
  }
  vs_jsonw_array_end(w);
}

static void put_parameter(vs_jsonw *w, const vs_trials *t, const vs_found *found, uint32_t number) {
  const vs_found_value *value = &found->parameters[number];
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "name", t->parameters[number].vary.names[0].text);
  if (value->is_found) vs_jsonw_member_u64(w, "largest", value->value);
  else vs_jsonw_member_null(w, "largest");
  vs_jsonw_member_bool(w, "was_tried", value->was_made);
  put_run(w, "run", value->is_found ? value->run : NULL);
  put_changes(w, t->host, "changes", found, value->set, 0);
  vs_jsonw_object_end(w);
}

static void put_parameters(vs_jsonw *w, const vs_trials *t, const vs_found *found) {
  vs_jsonw_key(w, VS_STR("parameters"));
  vs_jsonw_array_begin(w);
  for (uint32_t i = 0; i < t->parameter_count; i++) put_parameter(w, t, found, i);
  vs_jsonw_array_end(w);
}

static void put_engine(vs_jsonw *w, const vs_found *found) {
  const uint64_t tokens = found->proof == NULL ? 0 : found->proof->trial.engine.tokens;
  vs_jsonw_member_bool(w, "is_engine", found->is_engine);
  vs_jsonw_key(w, VS_STR("estimates"));
  vs_engine_put_estimates(w, &found->runs[0].trial.engine, found->is_engine ? tokens : 0);
}

void vs_reply_changes_end(vs_trials *t, const vs_found *found) {
  static const char *const words[] = {"fits",   "found",   "none",        "too_large",
                                      "failed", "no_cuda", "interrupted", "not_started"};
  vs_jsonw *w = &t->w;
  vs_jsonw_array_end(w);
  vs_jsonw_member_bool(w, "interrupted", t->was_interrupted);
  if (t->why.text[0] == 0) vs_jsonw_member_null(w, "why");
  else vs_jsonw_member_str(w, "why", vs_str_from(t->why.text));
  vs_jsonw_key(w, VS_STR("answer"));
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "end", vs_str_from(words[found->end]));
  put_changes(w, t->host, "changes", found, found->end == VS_FOUND_SET ? found->set : 0, found->first);
  put_run(w, "proof", found->proof);
  put_steps(w, found);
  vs_jsonw_member_bool(w, "is_cut", found->is_cut);
  put_engine(w, found);
  put_changes(w, t->host, "least", found, found->end == VS_FOUND_NONE ? found->set : 0, 0);
  put_alone(w, found);
  put_parameters(w, t, found);
  vs_jsonw_object_end(w);
  vs_jsonw_object_end(w);
  vs_jsonw_end(w);
}
