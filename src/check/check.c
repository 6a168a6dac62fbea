#include "check/check.h"
#include "check/owners.h"
#include "check/ranges.h"
#include "check/settings.h"
#include "diff/baseline.h"
#include "diff/diff.h"

typedef enum verdict { HOLDS, BROKEN, UNKNOWN } verdict;

static const char *const verdict_words[] = {"holds", "broken", "unknown"};

/* A check while it is made. */
typedef struct checking {
  const vs_host *host;
  const vs_check_run *run;
  vs_check_options options;
  vs_check_settings settings;
  vs_facts facts;
  bool has_side; /* what was live at the peak is known */
  vs_side side;
  vs_json old;      /* the baseline; absent: none */
  vs_json diff;     /* from the baseline, or from nothing, to this run; absent if has_side is false */
  vs_text text;     /* the reply */
  vs_text sentence; /* of one finding */
  vs_jsonw w;
  uint64_t counts[3]; /* findings by verdict */
} checking;

static bool has_baseline(const checking *c) { return !vs_json_is_absent(c->old); }

static vs_json reports_of(const checking *c) {
  return vs_json_is_absent(c->run->dryrun) ? vs_reply_at(c->run->report, "devices")
                                           : vs_reply_at(c->run->dryrun, "report");
}

/* ---- what a budget is about: the whole run, or steps of it */

typedef struct scope {
  const vs_side *side;      /* what was live at the peak; NULL: unknown */
  vs_str no_side;           /* the reason, as a clause, never empty */
  vs_str incomplete;        /* why figures are lower bounds, as a clause; empty: they are exact */
  vs_str incomplete_owners; /* the same of sums of owners */
  bool is_within;           /* of steps, then: */
  vs_check_range range;
  vs_side own; /* `side` points at it */
} scope;

/* The peaks of a dry run are PyTorch's own, so they may be exact where its history is not. */
static void take_run(const checking *c, scope *s) {
  s->side = c->has_side ? &c->side : NULL;
  s->no_side = vs_str_from(c->facts.no_inventory);
  if (s->incomplete.size == 0 && !vs_reply_bool(c->facts.inventory, "complete"))
    s->incomplete_owners = VS_STR("the history of the run is incomplete");
}

static void take_steps(checking *c, const vs_check_budget *budget, scope *s) {
  s->is_within = true;
  s->range = vs_check_range_of(c->run->ranges, budget->steps);
  s->no_side = s->range.why;
  if (s->incomplete.size == 0) s->incomplete = s->incomplete_owners = s->range.incomplete;
  if (vs_json_is_absent(s->range.inventory)) return;
  vs_error ignored; /* of inventories of this run; its status says enough */
  const vs_status status = vs_side_init(&s->own, c->host, s->range.inventory, &ignored);
  if (status == VS_OK) s->side = &s->own;
  else s->no_side = vs_str_from(vs_status_text(status));
  if (c->text.status == VS_OK) c->text.status = status;
}

static void scope_init(checking *c, const vs_check_budget *budget, scope *s) {
  *s = (scope){.incomplete = vs_text_view(&c->facts.incomplete)};
  s->incomplete_owners = s->incomplete;
  if (budget->steps.size == 0) take_run(c, s);
  else take_steps(c, budget, s);
  if (s->no_side.size == 0) s->no_side = VS_STR("it was not recorded");
}

static void scope_deinit(const checking *c, scope *s) {
  if (s->side == &s->own) vs_side_deinit(c->host, &s->own);
}

/* ---- a finding */

typedef enum place_kind { PLACES_NONE, PLACES_MORE, PLACES_MATCHING, PLACES_GROWING } place_kind;

typedef struct finding {
  const char *key;
  const vs_check_budget *budget;
  verdict verdict;
  bool has_measured, has_limit, is_bytes;
  uint64_t measured, limit;
  bool is_tighter; /* lower than the baseline allows for */
  place_kind places;
  const vs_side *side; /* of PLACES_MATCHING, with */
  vs_str pattern;
} finding;

static void put_amount(checking *c, uint64_t value, bool is_bytes) {
  if (is_bytes) vs_text_bytes(&c->sentence, value, c->options.unit);
  else vs_text_count(&c->sentence, value);
}

static void put_number(vs_jsonw *w, const char *key, bool is_known, uint64_t value) {
  if (is_known) vs_jsonw_member_u64(w, key, value);
  else vs_jsonw_member_null(w, key);
}

/* What the bytes of the places are: what each has more than in the baseline, or all that it has. */
static vs_str places_are(const checking *c, const finding *f) {
  const bool is_more = f->places == PLACES_GROWING || (f->places == PLACES_MORE && has_baseline(c));
  return is_more ? VS_STR("more") : VS_STR("all");
}

static void put_places(checking *c, const finding *f) {
  vs_jsonw_member_str(&c->w, "places_are", places_are(c, f));
  if (f->verdict != BROKEN) vs_owners_put_none(&c->w);
  else if (f->places == PLACES_GROWING) vs_owners_put_growing(&c->w, reports_of(c));
  else if (f->places == PLACES_MATCHING && f->side != NULL)
    vs_owners_put_matching(&c->w, c->host, f->side, f->pattern);
  else if (f->places == PLACES_MORE && c->has_side) vs_owners_put_more(&c->w, &c->side, c->diff);
  else vs_owners_put_none(&c->w);
}

/* Writes the finding, whose sentence has been composed. */
static void put_finding(checking *c, const finding *f) {
  vs_jsonw *w = &c->w;
  c->counts[f->verdict]++;
  vs_jsonw_object_begin(w);
  if (f->budget->name.size == 0) vs_jsonw_member_null(w, "budget");
  else vs_jsonw_member_str(w, "budget", f->budget->name);
  if (f->budget->steps.size == 0) vs_jsonw_member_null(w, "steps");
  else vs_jsonw_member_str(w, "steps", f->budget->steps);
  vs_jsonw_member_str(w, "key", vs_str_from(f->key));
  vs_jsonw_member_str(w, "verdict", vs_str_from(verdict_words[f->verdict]));
  put_number(w, "measured", f->has_measured, f->measured);
  put_number(w, "limit", f->has_limit, f->limit);
  vs_jsonw_member_bool(w, "is_bytes", f->is_bytes);
  vs_jsonw_member_bool(w, "tighter", f->is_tighter);
  vs_jsonw_member_str(w, "sentence", vs_text_view(&c->sentence));
  put_places(c, f);
  vs_jsonw_object_end(w);
  if (c->text.status == VS_OK) c->text.status = c->sentence.status;
  c->sentence.bytes.count = 0;
}

/* ---- limits of figures */

/* "6.42 GiB allocated at the peak: 430.0 MiB above the limit of 6.00 GiB". */
static void say_above(checking *c, const finding *f, const char *what) {
  put_amount(c, f->measured, f->is_bytes);
  vs_text_format(&c->sentence, " %s: ", what);
  put_amount(c, f->measured - f->limit, f->is_bytes);
  vs_text_cstr(&c->sentence, " above the limit of ");
  put_amount(c, f->limit, f->is_bytes);
}

static void say_within(checking *c, const finding *f, const char *what) {
  if (f->measured == 0 && f->budget->owner.size == 0) {
    vs_text_format(&c->sentence, "no %s", what);
    return;
  }
  put_amount(c, f->measured, f->is_bytes);
  vs_text_format(&c->sentence, " %s, of at most ", what);
  put_amount(c, f->limit, f->is_bytes);
}

static void say_unknown(checking *c, const char *what, vs_str why) {
  vs_text_format(&c->sentence, "%s: unknown, because %S", what, why);
}

/* Judges a value that is known, and says so. If it is incomplete, for the reason given, it may be higher. */
static void judge(checking *c, finding *f, const char *what, vs_str incomplete) {
  f->has_measured = f->has_limit = true;
  f->verdict = f->measured > f->limit ? BROKEN : incomplete.size != 0 ? UNKNOWN : HOLDS;
  if (f->verdict == BROKEN) {
    say_above(c, f, what);
  } else {
    if (f->verdict == UNKNOWN) vs_text_cstr(&c->sentence, "at least ");
    say_within(c, f, what);
    if (f->verdict == UNKNOWN) {
      vs_text_cstr(&c->sentence, "; there may be more, because ");
      vs_text_str(&c->sentence, incomplete);
    }
  }
  put_finding(c, f);
}

enum { WHAT = 224 };

/* "allocated at the peak", and within which steps. */
static void name_what(char *to, const vs_check_budget *budget, const char *what) {
  if (budget->steps.size == 0) vs_format(to, WHAT, "%s", what);
  else vs_format(to, WHAT, "%s within steps %S", what, budget->steps);
}

static void judge_figure(checking *c, finding *f, const char *kind, const vs_fact *fact, const scope *s) {
  char what[WHAT];
  name_what(what, f->budget, kind);
  if (fact->is_known) {
    f->measured = fact->value;
    judge(c, f, what, s->incomplete);
    return;
  }
  f->verdict = UNKNOWN;
  f->has_limit = true;
  say_unknown(c, what, s->is_within ? s->no_side : vs_str_from(fact->why));
  put_finding(c, f);
}

static void check_fact(checking *c, const vs_check_budget *budget, const scope *s, vs_fact_id id) {
  const vs_fact within = {.is_known = s->side != NULL, .value = s->range.peaks[id]};
  finding f = {.key = vs_fact_kinds[id].key,
               .budget = budget,
               .is_bytes = vs_fact_kinds[id].is_bytes,
               .limit = budget->most[id],
               .side = s->side,
               .pattern = VS_STR("*"),
               .places = s->is_within                                  ? PLACES_MATCHING
                         : id == VS_FACT_GROWTH                        ? PLACES_GROWING
                         : id == VS_FACT_OOMS || id == VS_FACT_RETRIES ? PLACES_NONE
                                                                       : PLACES_MORE};
  judge_figure(c, &f, vs_fact_kinds[id].what, s->is_within ? &within : &c->facts.list[id], s);
}

/* ---- budgets of owners */

/* `side`: of the budget's scope. */
static uint64_t sum_of(checking *c, const vs_check_budget *budget, const vs_side *side) {
  uint64_t bytes = 0;
  const vs_status status = vs_owners_sum(c->host, side, budget->owner, &bytes);
  if (c->text.status == VS_OK) c->text.status = status;
  return bytes;
}

static vs_str owner_why(const checking *c, const vs_check_budget *budget, const scope *s) {
  if (s->side == NULL) return s->no_side;
  if (!budget->max.is_more) return VS_STR("");
  if (!has_baseline(c)) return VS_STR("it is compared with a baseline, and there is none");
  if (vs_reply_is_unknown(vs_json_member(vs_reply_at(c->old, "budgets"), budget->name)))
    return VS_STR("the baseline does not have this budget: update it");
  return VS_STR("");
}

static void check_owner(checking *c, const vs_check_budget *budget, const scope *s) {
  char owner[WHAT], what[WHAT];
  const vs_str why = owner_why(c, budget, s);
  finding f = {.key = "max",
               .budget = budget,
               .is_bytes = true,
               .places = PLACES_MATCHING,
               .side = s->side,
               .pattern = budget->owner};
  vs_format(owner, sizeof owner, "in %S at the peak", budget->owner);
  name_what(what, budget, owner);
  if (why.size != 0) {
    f.verdict = UNKNOWN;
    say_unknown(c, what, why);
    put_finding(c, &f);
    return;
  }
  f.measured = sum_of(c, budget, s->side);
  f.limit = vs_bound_most(&budget->max,
                          vs_json_u64(vs_json_member(vs_reply_at(c->old, "budgets"), budget->name), 0));
  judge(c, &f, what, s->incomplete_owners);
}

/* ---- the baseline */

typedef struct compared {
  vs_fact_id id;
  const char *key, *member; /* of the finding, of the baseline */
} compared;

static const compared comparisons[] = {
    {VS_FACT_ALLOCATED, "baseline-allocated", "peak_allocated_bytes"},
    {VS_FACT_RESERVED, "baseline-reserved", "peak_reserved_bytes"},
    {VS_FACT_DRIVER, "baseline-driver", "peak_driver_bytes"},
};

static void say_compared(checking *c, const finding *f, const char *what, uint64_t before) {
  const bool is_more = f->measured >= before;
  put_amount(c, f->measured, true);
  vs_text_format(&c->sentence, " %s", what);
  if (f->measured == before) {
    vs_text_cstr(&c->sentence, ", as in the baseline");
    return;
  }
  const uint64_t change = is_more ? f->measured - before : before - f->measured;
  vs_text_cstr(&c->sentence, ": ");
  put_amount(c, change, true);
  vs_text_cstr(&c->sentence, " (");
  vs_text_percent(&c->sentence, change, before);
  vs_text_format(&c->sentence, ") %s than the baseline's ", is_more ? "more" : "less");
  put_amount(c, before, true);
}

/* The lower end of the band: as much below the baseline as the tolerance allows above it. */
static uint64_t least_of(uint64_t before, uint64_t most) {
  const uint64_t band = most - before;
  return before > band ? before - band : 0;
}

static void compare(checking *c, const compared *with) {
  const vs_fact *fact = &c->facts.list[with->id];
  const vs_json old = vs_reply_at(c->old, with->member);
  const uint64_t before = vs_json_u64(old, 0);
  const vs_bound *tolerance = &c->settings.tolerance;
  finding f = {.key = with->key,
               .budget = &c->settings.budgets.data[0],
               .is_bytes = true,
               .has_measured = fact->is_known,
               .has_limit = true,
               .measured = fact->value,
               .limit = vs_bound_most(tolerance, before),
               .places = PLACES_MORE};
  if (vs_reply_is_unknown(old)) return; /* the baseline is of a recording that does not have it */
  if (!fact->is_known) {
    f.verdict = UNKNOWN;
    say_unknown(c, vs_fact_kinds[with->id].what, vs_str_from(fact->why));
  } else {
    const bool is_complete = c->facts.incomplete.bytes.count == 0;
    f.verdict = f.measured > f.limit ? BROKEN : is_complete ? HOLDS : UNKNOWN;
    f.is_tighter = f.verdict == HOLDS && f.measured < least_of(before, f.limit);
    say_compared(c, &f, vs_fact_kinds[with->id].what, before);
    if (f.verdict == BROKEN && tolerance->text.size != 0)
      vs_text_format(&c->sentence, "; the tolerance is %S", tolerance->text);
    if (f.is_tighter) vs_text_cstr(&c->sentence, "; the baseline can be tightened");
    if (f.verdict == UNKNOWN) {
      vs_text_cstr(&c->sentence, "; there may be more, because ");
      vs_text_str(&c->sentence, vs_text_view(&c->facts.incomplete));
    }
  }
  put_finding(c, &f);
}

/* ---- the reply */

static void check_budget(checking *c, const vs_check_budget *budget) {
  scope s;
  if (budget->program.size != 0 && !vs_pattern_matches(budget->program, c->run->name)) return;
  scope_init(c, budget, &s);
  for (vs_fact_id id = 0; id < VS_FACT_COUNT; id++)
    if (budget->has_most[id]) check_fact(c, budget, &s, id);
  if (budget->owner.size != 0) check_owner(c, budget, &s);
  scope_deinit(c, &s);
}

/* A run whose figures are unknown, with nothing that would say so, is no run that holds. */
static void check_all(checking *c) {
  vs_jsonw_key(&c->w, VS_STR("checks"));
  vs_jsonw_array_begin(&c->w);
  for (size_t i = 0; i < c->settings.budgets.count; i++) check_budget(c, &c->settings.budgets.data[i]);
  if (has_baseline(c))
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) compare(c, &comparisons[i]);
  vs_jsonw_array_end(&c->w);
}

/* What a budget of an owner has, where that is known. */
static void put_budget(checking *c, vs_jsonw *w, const vs_check_budget *budget) {
  scope s;
  if (budget->owner.size == 0) return;
  scope_init(c, budget, &s);
  if (s.side != NULL) {
    vs_jsonw_key(w, budget->name);
    vs_jsonw_u64(w, sum_of(c, budget, s.side));
  }
  scope_deinit(c, &s);
}

/* The figures of the run, as a baseline has them. */
static void put_figures(checking *c, vs_jsonw *w) {
  for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
    const vs_fact *fact = &c->facts.list[comparisons[i].id];
    put_number(w, comparisons[i].member, fact->is_known, fact->value);
  }
  put_number(w, "growth_bytes", c->facts.list[VS_FACT_GROWTH].is_known, c->facts.list[VS_FACT_GROWTH].value);
  put_number(w, "ooms", c->facts.list[VS_FACT_OOMS].is_known, c->facts.list[VS_FACT_OOMS].value);
  vs_jsonw_member_bool(w, "complete", c->facts.incomplete.bytes.count == 0);
  vs_jsonw_key(w, VS_STR("budgets"));
  vs_jsonw_object_begin(w);
  for (size_t i = 0; i < c->settings.budgets.count; i++) put_budget(c, w, &c->settings.budgets.data[i]);
  vs_jsonw_object_end(w);
}

static void put_head(checking *c) {
  vs_jsonw *w = &c->w;
  vs_jsonw_object_begin(w);
  vs_jsonw_member_u64(w, "schema", 1);
  vs_jsonw_member_str(w, "method", VS_STR("check"));
  vs_jsonw_member_str(w, "name", c->run->name);
  vs_jsonw_key(w, VS_STR("run"));
  vs_jsonw_object_begin(w);
  put_figures(c, w);
  vs_jsonw_object_end(w);
}

static void put_end(checking *c) {
  vs_jsonw *w = &c->w;
  const verdict all = c->counts[BROKEN] != 0 ? BROKEN : c->counts[UNKNOWN] != 0 ? UNKNOWN : HOLDS;
  vs_jsonw_member_str(w, "verdict", vs_str_from(verdict_words[all]));
  vs_jsonw_member_u64(w, "broken", c->counts[BROKEN]);
  vs_jsonw_member_u64(w, "unknown", c->counts[UNKNOWN]);
  vs_jsonw_key(w, VS_STR("diff"));
  if (has_baseline(c) && c->has_side) vs_reply_put(w, c->diff);
  else vs_jsonw_null(w);
  vs_jsonw_object_end(w);
  vs_jsonw_end(w);
}

static vs_status write(checking *c) {
  vs_jsonw_begin(&c->w, &c->text, 0);
  put_head(c);
  check_all(c);
  put_end(c);
  return c->text.status;
}

/* ---- the baseline of the run, and its difference from the old one */

static vs_status make_baseline(checking *c, vs_text *baseline, vs_error *error) {
  vs_json_doc figures;
  vs_text text;
  vs_jsonw w;
  vs_text_init(&text, c->host, NULL);
  vs_jsonw_begin(&w, &text, 0);
  vs_jsonw_object_begin(&w);
  put_figures(c, &w);
  vs_jsonw_object_end(&w);
  vs_jsonw_end(&w);
  vs_status status = text.status == VS_OK ? c->text.status : text.status;
  if (status == VS_OK) status = vs_json_doc_init(&figures, c->host, vs_text_view(&text), error);
  if (status == VS_OK) {
    status = vs_baseline_put(c->host, c->facts.inventory, vs_json_root(&figures), baseline, error);
    vs_json_doc_deinit(&figures);
  }
  vs_text_deinit(&text);
  return status;
}

/* Both sides as baselines, so that equal runs have no difference; from nothing if there is no old one. */
static vs_status make_diff(checking *c, const vs_text *baseline, vs_text *reply, vs_error *error) {
  vs_json_doc nothing, now;
  const vs_diff_options options = {.by = VS_DIFF_BY_line, .unit = c->options.unit};
  VS_TRY(vs_json_doc_init(&nothing, c->host, VS_STR("{\"owners\": []}"), error));
  vs_status status = vs_json_doc_init(&now, c->host, vs_text_view(baseline), error);
  if (status == VS_OK) {
    status = vs_diff_put(c->host, has_baseline(c) ? c->old : vs_json_root(&nothing), vs_json_root(&now),
                         options, reply, error);
    vs_json_doc_deinit(&now);
  }
  vs_json_doc_deinit(&nothing);
  return status;
}

static vs_status compare_and_write(checking *c, vs_text *baseline, vs_error *error) {
  vs_json_doc diff;
  vs_text reply;
  vs_text_init(&reply, c->host, NULL);
  vs_status status = make_baseline(c, baseline, error);
  if (status == VS_OK) status = make_diff(c, baseline, &reply, error);
  if (status == VS_OK) status = vs_json_doc_init(&diff, c->host, vs_text_view(&reply), error);
  vs_text_deinit(&reply);
  if (status != VS_OK) return status;
  c->diff = vs_json_root(&diff);
  status = write(c);
  vs_json_doc_deinit(&diff);
  return status;
}

static vs_status with_side(checking *c, vs_text *baseline, vs_error *error) {
  c->has_side = !vs_json_is_absent(c->facts.inventory);
  if (!c->has_side) return write(c);
  VS_TRY(vs_side_init(&c->side, c->host, c->facts.inventory, error));
  const vs_status status = compare_and_write(c, baseline, error);
  vs_side_deinit(c->host, &c->side);
  return status;
}

static vs_status check(checking *c, vs_json settings, vs_text *baseline, vs_error *error) {
  vs_status status = vs_check_settings_init(&c->settings, c->host, settings, error);
  if (status == VS_OK) {
    status = vs_facts_init(&c->facts, c->host, c->run);
    if (status == VS_OK) status = with_side(c, baseline, error);
    vs_facts_deinit(&c->facts);
  }
  vs_check_settings_deinit(&c->settings);
  return status;
}

vs_status vs_check_put(const vs_host *host, const vs_check_run *run, vs_json settings, vs_json old,
                       vs_check_options options, vs_text *reply, vs_text *baseline, vs_error *error) {
  checking c = {.host = host, .run = run, .options = options, .old = old};
  vs_error why = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_text own;
  vs_text_init(&own, host, NULL);
  vs_text_init(&c.text, host, NULL);
  vs_text_init(&c.sentence, host, NULL);
  const vs_status status = check(&c, settings, &own, &why);
  if (status == VS_OK) {
    vs_text_str(reply, vs_text_view(&c.text));
    if (baseline != NULL) vs_text_str(baseline, vs_text_view(&own));
  }
  vs_text_deinit(&c.text);
  vs_text_deinit(&c.sentence);
  vs_text_deinit(&own);
  if (status == VS_OK)
    return baseline != NULL && baseline->status != VS_OK ? baseline->status : reply->status;
  if (why.status == VS_OK) vs_fail(&why, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  if (error != NULL) *error = why;
  return status;
}
