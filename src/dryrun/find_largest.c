#include "dryrun/find_largest.h"
#include "dryrun/largest.h"
#include "dryrun/reply_table.h"
#include "dryrun/rows.h"

/* How the search ended. */
typedef enum ending { FOUND, ALL_FIT, NONE_FITS, FAILED, NO_CUDA, INTERRUPTED, NOT_STARTED } ending;

typedef struct search {
  vs_rows *rows;
  vs_integers values;
  vs_largest_point points[VS_VARY_RUNS];
  size_t count;
  bool is_ended; /* by a run that says nothing about memory, `last` */
  uint64_t last; /* the number of the value that ran last */
  ending ending;
} search;

static vs_largest runs_of(const search *s) {
  return (vs_largest){.values = &s->values, .points = s->points, .count = s->count};
}

static uint64_t value_of(const search *s, uint64_t number) { return vs_integers_at(&s->values, number); }

/* ---- the values and their name */

static const char *behind_name(const char *axis) {
  while (*axis != 0 && *axis != '=') axis++;
  return axis + (*axis == '=');
}

static vs_status parse(search *s, const vs_dryrun_plan *plan, vs_error *error) {
  static const char option[] = "--find-largest";
  const char *text = behind_name(plan->find_largest);
  VS_TRY(vs_vary_init_open(&s->rows->vary, s->rows->host, plan, option, plan->find_largest, error));
  if (vs_integers_parse(&s->values, vs_str_from(text), error) == VS_OK) return VS_OK;
  const vs_error cause = *error;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s %S: %s", option, vs_str_from(plan->find_largest),
                 cause.text);
}

/* Makes the value one of the runs. */
static vs_status append(search *s, uint64_t number, vs_error *error) {
  char text[32];
  vs_format(text, sizeof text, "%U", value_of(s, number));
  return vs_vary_append(&s->rows->vary, text, error);
}

/* ---- the runs */

/* "16 fits, 128 does not": what is known before a run. */
static void put_known(const search *s, char *text, size_t size) {
  const vs_largest runs = runs_of(s);
  const vs_largest_bounds bounds = vs_largest_bounds_of(&runs);
  text[0] = 0;
  if (bounds.fitting == 0) return;
  const uint64_t fits = value_of(s, bounds.fitting - 1);
  if (bounds.failing == s->values.count) vs_format(text, size, "%U fits", fits);
  else vs_format(text, size, "%U fits, %U does not", fits, value_of(s, bounds.failing));
}

/* An error that was handled is one: with that value the program does not do what it does with less memory in use. */
static void take(search *s, uint64_t number, const vs_row_end *row) {
  s->last = number;
  s->is_ended = row->verdict == VS_VERDICT_STOPPED || row->verdict == VS_VERDICT_NO_CUDA;
  if (row->verdict == VS_VERDICT_STOPPED || row->exit_code != 0) s->ending = FAILED;
  else s->ending = NO_CUDA;
  if (s->is_ended) return;
  const bool fits = row->verdict == VS_VERDICT_FITS && !row->met_errors;
  VS_ASSERT(s->count < VS_VARY_RUNS);
  s->points[s->count++] = (vs_largest_point){.number = number,
                                             .fits = fits,
                                             .is_squeezed = row->was_squeezed,
                                             .spare_bytes = fits ? row->headroom_bytes : 0};
}

static vs_status try(search *s, uint64_t number, vs_error *error) {
  char known[64];
  vs_row_end row;
  vs_dryrun_progress progress = {.stage = VS_DRYRUN_FINDING};
  put_known(s, known, sizeof known);
  progress.known = vs_str_from(known);
  VS_TRY(append(s, number, error));
  const uint32_t run = s->rows->vary.run_count - 1;
  if (run == 0) VS_TRY(vs_rows_check(s->rows, run, error));
  VS_TRY(vs_rows_make(s->rows, run, &progress, &row, error));
  if (!vs_rows_are_ended(s->rows)) take(s, number, &row);
  return VS_OK;
}

static ending ending_of(const search *s, vs_largest_kind kind) {
  if (s->rows->was_interrupted) return INTERRUPTED;
  if (vs_rows_are_ended(s->rows)) return NOT_STARTED;
  if (s->is_ended) return s->ending;
  return kind == VS_LARGEST_FOUND ? FOUND : kind == VS_LARGEST_ALL_FIT ? ALL_FIT : NONE_FITS;
}

/* The search takes at most 2 log2(count) + 8 runs, so a table has room for them. */
static vs_status find(search *s, vs_error *error) {
  vs_status status = VS_OK;
  vs_largest_step step = {VS_LARGEST_TRY, 0};
  while (status == VS_OK && step.kind == VS_LARGEST_TRY && !s->is_ended && !vs_rows_are_ended(s->rows)) {
    const vs_largest runs = runs_of(s);
    step = vs_largest_next(&runs);
    if (step.kind == VS_LARGEST_TRY) status = try(s, step.number, error);
  }
  vs_dryrun_show_end(&s->rows->setup);
  s->ending = ending_of(s, step.kind);
  return status;
}

/* ---- the reply */

static void put_values(vs_jsonw *w, const vs_integers *values) {
  vs_jsonw_key(w, VS_STR("values"));
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "count", values->count);
  vs_jsonw_member_u64(w, "first", vs_integers_at(values, 0));
  vs_jsonw_member_u64(w, "last", vs_integers_at(values, values->count - 1));
  if (values->is_list) vs_jsonw_member_null(w, "step");
  else vs_jsonw_member_u64(w, "step", values->step);
  vs_jsonw_object_end(w);
}

static void put_number(vs_jsonw *w, const char *key, const search *s, bool is_known, uint64_t number) {
  if (is_known) vs_jsonw_member_u64(w, key, value_of(s, number));
  else vs_jsonw_member_null(w, key);
}

static void put_contradiction(vs_jsonw *w, const search *s) {
  const vs_largest runs = runs_of(s);
  vs_largest_contradiction found;
  vs_jsonw_key(w, VS_STR("contradiction"));
  if (!vs_largest_fall(&runs, &found)) {
    vs_jsonw_null(w);
    return;
  }
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "smaller", value_of(s, found.smaller));
  vs_jsonw_member_u64(w, "larger", value_of(s, found.larger));
  vs_jsonw_member_u64(w, "bytes", found.bytes);
  vs_jsonw_object_end(w);
}

static void put_answer(vs_jsonw *w, const search *s) {
  static const char *const words[] = {"found",   "all_fit",     "none_fits",  "failed",
                                      "no_cuda", "interrupted", "not_started"};
  const vs_largest runs = runs_of(s);
  const vs_largest_bounds bounds = vs_largest_bounds_of(&runs);
  vs_jsonw_key(w, VS_STR("answer"));
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "end", vs_str_from(words[s->ending]));
  put_number(w, "largest", s, s->ending == FOUND || s->ending == ALL_FIT, bounds.fitting - 1);
  put_number(w, "fits", s, bounds.fitting != 0, bounds.fitting - 1);
  put_number(w, "does_not_fit", s, bounds.failing != s->values.count, bounds.failing);
  put_number(w, "failed", s, s->ending == FAILED || s->ending == NO_CUDA, s->last);
  put_contradiction(w, s);
  vs_jsonw_object_end(w);
}

static int exit_of(ending how) {
  switch (how) {
    case FOUND:
    case ALL_FIT: return VS_DRYRUN_EXIT_FITS;
    case NONE_FITS: return VS_DRYRUN_EXIT_DOES_NOT_FIT;
    case INTERRUPTED: return VS_DRYRUN_EXIT_INTERRUPTED;
    case FAILED:
    case NO_CUDA:
    case NOT_STARTED: break;
  }
  return VS_DRYRUN_EXIT_FAILED;
}

static vs_status answer(search *s, vs_error *error) {
  vs_jsonw *w = &s->rows->w;
  vs_reply_table_head(w, VS_STR("dryrun_find_largest"), &s->rows->vary);
  put_values(w, &s->values);
  vs_jsonw_key(w, VS_STR("runs"));
  vs_jsonw_array_begin(w);
  VS_TRY(find(s, error));
  vs_rows_put_end(s->rows);
  vs_reply_table_axes(w, &s->rows->vary);
  put_answer(w, s);
  vs_jsonw_object_end(w);
  vs_jsonw_end(w);
  s->rows->end->exit_code = exit_of(s->ending);
  return s->rows->text.status;
}

static vs_status run(search *s, const vs_dryrun_plan *plan, vs_writer reply, vs_error *error) {
  VS_TRY(parse(s, plan, error));
  VS_TRY(answer(s, error));
  const vs_text *text = &s->rows->text;
  return reply.write(reply.ctx, text->bytes.data, text->bytes.count);
}

vs_status vs_find_largest_run(const vs_host *host, const vs_dryrun_plan *plan, const vs_dryrun_watch *watch,
                              vs_writer reply, vs_dryrun_end *end, vs_error *error) {
  VS_TRY(vs_dryrun_plan_check(plan, error));
  search s = {.rows = vs_rows_new(host, watch, end)};
  if (s.rows == NULL) return VS_NO_MEMORY;
  const vs_status status = run(&s, plan, reply, error);
  vs_rows_free(s.rows);
  return status;
}
