#include "faces/dryrun/fit.h"
#include "faces/dryrun/sheet.h"
#include "faces/terminal/table.h"

/* The text while it is written. `sheet` is about the reply of the first run. */
typedef struct page {
  vs_sheet sheet;
  vs_json reply, runs, answer, plain;
  uint64_t capacity;
} page;

static vs_str end_of(const page *p) { return vs_reply_str(p->answer, "end"); }

static bool ends(const page *p, const char *how) { return vs_str_equal(end_of(p), vs_str_from(how)); }

/* The run with the number that is a member; absent where it is null. */
static vs_json run_at(const page *p, vs_json object, const char *key) {
  return vs_json_at(p->runs, vs_json_u64(vs_reply_at(object, key), SIZE_MAX));
}

static uint64_t needed_of(vs_json run) { return vs_reply_u64(run, "needed_bytes"); }

/* ---- the headline */

/* "GPU with 24.00 GiB (simulated)" */
static void put_machine(page *p) {
  vs_text *line = &p->sheet.line;
  if (vs_reply_bool(p->reply, "is_only_size")) {
    vs_text_cstr(line, "a GPU with ");
    vs_sheet_bytes(&p->sheet, p->capacity);
  } else {
    vs_sheet_name(&p->sheet, p->reply);
  }
  vs_text_cstr(line, " (simulated)");
}

static void put_need(page *p) {
  vs_text *line = vs_sheet_begin(&p->sheet);
  vs_text_cstr(line, "The program needs ");
  vs_sheet_bytes(&p->sheet, needed_of(p->plain));
  vs_text_cstr(line, "; ");
  put_machine(p);
  if (!vs_reply_bool(p->reply, "is_only_size")) {
    vs_text_cstr(line, " has ");
    vs_sheet_bytes(&p->sheet, p->capacity);
  }
  vs_text_cstr(line, ": ");
  if (needed_of(p->plain) > p->capacity) {
    vs_sheet_bytes(&p->sheet, needed_of(p->plain) - p->capacity);
    vs_text_cstr(line, " too much");
  } else {
    vs_text_cstr(line, "it does not fit there");
  }
}

static bool is_engine(const page *p) { return vs_reply_bool(p->answer, "is_engine"); }

/* "51,472 tokens of KV cache, 6.28 requests of 8,192 tokens at once": of a run of an engine for inference. */
static void put_cache(page *p, vs_json run) {
  const vs_json cache = vs_reply_at(vs_reply_at(run, "reply"), "kv_cache");
  vs_text *line = &p->sheet.line;
  vs_words_count(line, vs_reply_u64(cache, "tokens"), "token");
  vs_text_cstr(line, " of KV cache, ");
  vs_sheet_put_requests(line, cache);
  vs_text_cstr(line, " requests of ");
  vs_text_count(line, vs_reply_u64(cache, "max_model_len"));
  vs_text_cstr(line, " tokens at once");
}

/* An engine takes what the GPU gives, so there is no number of bytes that it needs. */
static void put_engine_starts(page *p, bool starts) {
  vs_text *line = vs_sheet_begin(&p->sheet);
  const vs_json cache = vs_reply_at(vs_reply_at(p->plain, "reply"), "kv_cache");
  vs_screen_safe(line, vs_reply_str(cache, "engine"));
  vs_text_cstr(line, starts ? " starts on " : " does not start on ");
  put_machine(p);
  if (!starts) {
    vs_text_cstr(line, ", but on one with more memory");
    return;
  }
  vs_text_cstr(line, ": ");
  put_cache(p, run_at(p, p->answer, "proof"));
}

static void put_fits(page *p) {
  vs_text *line = vs_sheet_begin(&p->sheet);
  const vs_json run = run_at(p, p->answer, "proof");
  vs_text_cstr(line, "Fits in ");
  put_machine(p);
  vs_text_cstr(line, " without a change: ");
  vs_sheet_bytes(&p->sheet, p->capacity - vs_min_u64(needed_of(run), p->capacity));
  vs_text_cstr(line, " to spare");
  if (vs_reply_u64(run, "retries") != 0)
    vs_text_cstr(line, "; PyTorch has to release cached memory for that");
}

static void put_no_answer(page *p) {
  vs_text *line = vs_sheet_begin(&p->sheet);
  if (ends(p, "no_cuda")) vs_text_cstr(line, "The program did not use the GPU");
  else if (ends(p, "too_large"))
    vs_text_cstr(line, "The program runs out of memory on a GPU of many times the size, too");
  else if (ends(p, "interrupted")) vs_text_cstr(line, "Interrupted");
  else if (ends(p, "not_started")) vs_text_cstr(line, "A run could not be started");
  else
    vs_text_format(line, "The program failed (exit status %D), not because of memory",
                   vs_reply_i64(p->plain, "exit_code"));
}

static void put_headline(page *p) {
  const bool has_need = ends(p, "found") || ends(p, "none");
  if (is_engine(p)) put_engine_starts(p, ends(p, "fits"));
  else if (has_need) put_need(p);
  else if (ends(p, "fits")) put_fits(p);
  else put_no_answer(p);
  vs_sheet_headline(&p->sheet, ends(p, "fits") || ends(p, "found") ? VS_STYLE_GOOD : VS_STYLE_BAD);
}

/* ---- what holds the memory at the peak */

static void put_peak(page *p) {
  static const struct {
    const char *key, *name;
  } parts[] = {{"weights_bytes", "weights"},
               {"optimizer_state_bytes", "optimizer state"},
               {"optimizer_step_bytes", "temporaries of the optimizer's step"},
               {"backward_bytes", "backward pass"},
               {"forward_bytes", "forward pass and other lines"},
               {"cached_bytes", "cached"},
               {"outside_bytes", "context and libraries"}};
  const vs_json peak = vs_reply_at(p->plain, "at_peak");
  vs_text *line = vs_sheet_begin(&p->sheet);
  bool has_any = false;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const uint64_t bytes = vs_reply_u64(peak, parts[i].key);
    if (bytes < p->capacity / 200) continue; /* too small to decide anything */
    vs_text_cstr(line, has_any ? ", " : "");
    vs_sheet_bytes(&p->sheet, bytes);
    vs_text_format(line, " %s", parts[i].name);
    has_any = true;
  }
  if (has_any) vs_sheet_end(&p->sheet, "At the peak", VS_STYLE_TITLE);
}

/* "expandable_segments:True reserves 29.45 GiB, 1.82 GiB less than the program's own settings (33 were replayed)" */
static void put_replay(page *p) {
  const vs_json replay = vs_reply_at(p->plain, "replay");
  const uint64_t own = vs_reply_u64(replay, "own_reserved_bytes"),
                 least = vs_reply_u64(replay, "reserved_bytes");
  if (vs_json_is_absent(vs_reply_at(replay, "settings"))) return;
  vs_text *line = vs_sheet_begin(&p->sheet);
  if (least < own) {
    vs_screen_safe(line, vs_reply_str(replay, "settings"));
    vs_text_cstr(line, " reserves ");
    vs_sheet_bytes(&p->sheet, least);
    vs_text_cstr(line, ", ");
    vs_sheet_bytes(&p->sheet, own - least);
    vs_text_cstr(line, " less than");
  } else {
    vs_text_cstr(line, "none reserve less than");
  }
  vs_text_format(line, " the program's own settings (%U were replayed)", vs_reply_u64(replay, "tried"));
  vs_sheet_end(&p->sheet, "Settings", VS_STYLE_TITLE);
}

/* "4 blocks of 625.0 MiB at the peak are as large as the logits of the loss at finetune_1b.py:42 main: ..." */
static void put_advice(page *p) {
  const vs_json logits = vs_reply_at(p->plain, "logits");
  if (!vs_reply_knows(p->plain, "logits")) return;
  vs_text *line = vs_sheet_begin(&p->sheet);
  vs_words_count(line, vs_reply_u64(logits, "blocks"), "block");
  vs_text_cstr(line, " of ");
  vs_sheet_bytes(&p->sheet, vs_reply_u64(logits, "block_bytes"));
  vs_text_cstr(line, " at the peak are as large as the logits of the loss at ");
  vs_screen_safe(line, vs_reply_str(logits, "place"));
  vs_text_cstr(
      line, ": a loss in chunks of the sequence needs only a part of them (a change of the source, not run)");
  vs_sheet_end(&p->sheet, "Advice", VS_STYLE_TITLE);
}

/* ---- changes */

/* To what a change was applied; empty if it was not. */
static vs_str applied_to(vs_json change) {
  const vs_json outcomes = vs_reply_at(change, "outcomes");
  for (size_t i = 0; i < vs_json_count(outcomes); i++)
    if (vs_reply_bool(vs_json_at(outcomes, i), "applied"))
      return vs_reply_str(vs_json_at(outcomes, i), "text");
  return VS_STR("");
}

/* "checkpoint 9 of 12 x Block (GPT.blocks)": with the blocks, of others the title. */
static void put_change(vs_text *text, vs_json change) {
  if (!vs_str_equal(vs_reply_str(change, "name"), VS_STR("checkpoint"))) {
    vs_screen_safe(text, vs_reply_str(change, "title"));
    return;
  }
  vs_text_cstr(text, "checkpoint ");
  vs_screen_safe(text, applied_to(change));
}

static vs_json changes_of(vs_json run) { return vs_reply_at(vs_reply_at(run, "reply"), "changes"); }

/* "+24% kernels, 1.20 GiB copied a step", "up to 1.20 GiB copied a step": what a run costs more than the one before it. */
static void put_cost(const page *p, vs_text *cell, vs_json before, vs_json run) {
  enum { SHOWN = 200 }; /* from one part in so many on */
  const uint64_t had = vs_reply_u64(before, "kernels"), has = vs_reply_u64(run, "kernels");
  const uint64_t plain = vs_reply_u64(p->plain, "kernels"), steps = vs_reply_u64(run, "steps");
  const uint64_t copied = vs_reply_u64(run, "copied_bytes") -
                          vs_min_u64(vs_reply_u64(before, "copied_bytes"), vs_reply_u64(run, "copied_bytes"));
  const bool is_more = has > had && (has - had) * SHOWN > plain;
  if (is_more) {
    vs_text_byte(cell, '+');
    vs_text_percent(cell, has - had, plain);
    vs_text_cstr(cell, " kernels");
  }
  if (copied == 0) return;
  vs_text_cstr(cell, is_more ? ", " : "");
  vs_text_cstr(cell, vs_reply_bool(run, "copied_at_most") ? "up to " : "");
  vs_text_bytes(cell, steps == 0 ? copied : copied / steps, p->sheet.screen->unit);
  vs_text_cstr(cell, steps == 0 ? " copied" : " copied a step");
}

/* ---- the answer */

static void put_found(page *p) {
  const vs_json proof = run_at(p, p->answer, "proof");
  uint64_t time_us = 0;
  for (size_t i = 0; i < vs_json_count(p->runs); i++)
    time_us += vs_reply_u64(vs_json_at(p->runs, i), "time_us");
  vs_text *line = vs_sheet_begin(&p->sheet);
  vs_text_cstr(line, "fits with ");
  vs_sheet_bytes(&p->sheet, p->capacity - vs_min_u64(needed_of(proof), p->capacity));
  vs_text_cstr(line, " to spare (");
  vs_words_count(line, vs_json_count(p->runs), "run");
  vs_text_cstr(line, ", ");
  vs_text_duration(line, time_us);
  vs_text_byte(line, ')');
  if (vs_reply_bool(p->answer, "is_cut"))
    vs_text_cstr(line, "; there were no runs left to look for a cheaper set: see --runs");
  vs_sheet_end(&p->sheet, "Found", VS_STYLE_GOOD);
}

static void put_steps(page *p) {
  static const vs_column columns[] = {{NULL, VS_COLUMN_RIGHT},
                                      {NULL, VS_COLUMN_LEFT},
                                      {NULL, VS_COLUMN_RIGHT},
                                      {NULL, VS_COLUMN_RIGHT},
                                      {NULL, VS_COLUMN_LEFT}};
  const vs_json steps = vs_reply_at(p->answer, "steps");
  const vs_json changes = changes_of(run_at(p, p->answer, "proof"));
  vs_json before = p->plain;
  vs_table table;
  vs_table_begin(&table, p->sheet.screen, 2, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < vs_json_count(steps); i++) {
    const vs_json run = run_at(p, vs_json_at(steps, i), "run");
    vs_text_format(vs_table_cell(&table), "%U", (uint64_t)i + 1);
    put_change(vs_table_cell(&table), vs_json_at(changes, i));
    vs_sheet_put_figure(&p->sheet, vs_table_cell(&table), vs_reply_at(before, "needed_bytes"));
    vs_text *after = vs_table_cell(&table);
    vs_text_cstr(after, "-> ");
    vs_sheet_put_figure(&p->sheet, after, vs_reply_at(run, "needed_bytes"));
    put_cost(p, vs_table_cell(&table), before, run);
    before = run;
  }
  vs_table_put(&table);
}

/* ---- changes alone */

static void put_alone(page *p, bool fits, const char *label) {
  const vs_json alone = vs_reply_at(p->answer, "alone");
  vs_text *line = vs_sheet_begin(&p->sheet);
  bool has_any = false;
  for (size_t i = 0; i < vs_json_count(alone); i++) {
    const vs_json run = vs_json_at(p->runs, vs_json_u64(vs_json_at(alone, i), SIZE_MAX));
    if (!vs_reply_knows(run, "needed_bytes") || (needed_of(run) <= p->capacity) != fits) continue;
    vs_text_cstr(line, has_any ? ", " : "");
    for (size_t k = 0; k < vs_json_count(changes_of(run)); k++) {
      const vs_json change = vs_json_at(changes_of(run), k);
      if (vs_reply_bool(change, "applied")) put_change(line, change);
    }
    vs_text_cstr(line, " (");
    vs_sheet_bytes(&p->sheet, needed_of(run));
    vs_text_byte(line, ')');
    has_any = true;
  }
  if (has_any) vs_sheet_end(&p->sheet, label, VS_STYLE_TITLE);
}

/* "batch=5 (23.1 GiB)". One that no run was left for says so. */
static void put_parameter(page *p, vs_json parameter) {
  const vs_json run = run_at(p, parameter, "run");
  vs_text *line = vs_sheet_begin(&p->sheet);
  vs_screen_safe(line, vs_reply_str(parameter, "name"));
  if (vs_reply_knows(parameter, "largest")) {
    vs_text_format(line, "=%U is the largest that fits", vs_reply_u64(parameter, "largest"));
    vs_text_cstr(line, vs_reply_knows(parameter, "changes") ? " with " : " without a change");
    if (vs_reply_knows(parameter, "changes")) vs_screen_safe(line, vs_reply_str(run, "title"));
    vs_text_cstr(line, " (");
    if (is_engine(p)) put_cache(p, run);
    else vs_sheet_bytes(&p->sheet, needed_of(run));
    vs_text_byte(line, ')');
  } else {
    vs_text_cstr(line, vs_reply_bool(parameter, "was_tried") ? ": none of the values that ran fits"
                                                             : ": not tried, no run was left (--runs)");
  }
  vs_sheet_end(&p->sheet, "Parameter", VS_STYLE_TITLE);
}

static void put_parameters(page *p) {
  const vs_json parameters = vs_reply_at(p->answer, "parameters");
  for (size_t i = 0; i < vs_json_count(parameters); i++) put_parameter(p, vs_json_at(parameters, i));
}

static void put_none(page *p) {
  vs_text *line = vs_sheet_begin(&p->sheet);
  if (vs_reply_is_unknown(vs_reply_at(p->sheet.card, "torch"))) {
    vs_text_cstr(
        line,
        "the program does not use PyTorch's allocator, and the changes are those of PyTorch's programs");
    vs_sheet_end(&p->sheet, "Not found", VS_STYLE_BAD);
    return;
  }
  uint64_t least = UINT64_MAX;
  vs_json best = p->plain;
  for (size_t i = 0; i < vs_json_count(p->runs); i++) {
    const vs_json run = vs_json_at(p->runs, i);
    if (!vs_reply_knows(run, "needed_bytes") || vs_reply_knows(run, "value") || needed_of(run) >= least)
      continue;
    least = needed_of(run);
    best = run;
  }
  vs_text_cstr(line, "no set of changes that ran is enough (");
  vs_words_count(line, vs_json_count(p->runs), "run");
  vs_text_cstr(line, "). Least: ");
  vs_sheet_bytes(&p->sheet, needed_of(best));
  vs_text_cstr(line, " with ");
  vs_screen_safe(line, vs_reply_str(best, "title"));
  if (vs_reply_bool(p->answer, "is_cut")) vs_text_cstr(line, "; more runs (--runs) may find less");
  vs_sheet_end(&p->sheet, "Not found", VS_STYLE_BAD);
}

/* ---- what was not applied, and what failed */

static bool is_shown_before(const page *p, size_t run, vs_str name) {
  for (size_t i = 0; i < run; i++) {
    const vs_json changes = changes_of(vs_json_at(p->runs, i));
    for (size_t k = 0; k < vs_json_count(changes); k++)
      if (vs_str_equal(vs_reply_str(vs_json_at(changes, k), "name"), name)) return true;
  }
  return false;
}

static void put_not_applied(page *p) {
  for (size_t i = 0; i < vs_json_count(p->runs); i++) {
    const vs_json changes = changes_of(vs_json_at(p->runs, i));
    for (size_t k = 0; k < vs_json_count(changes); k++) {
      const vs_json change = vs_json_at(changes, k);
      const vs_json first = vs_json_at(vs_reply_at(change, "outcomes"), 0);
      if (vs_reply_bool(change, "applied") || is_shown_before(p, i, vs_reply_str(change, "name"))) continue;
      vs_text *line = vs_sheet_begin(&p->sheet);
      vs_screen_safe(line, vs_reply_str(change, "name"));
      vs_text_cstr(line, ": ");
      vs_screen_safe(line, vs_reply_str(first, "text"));
      vs_sheet_end(&p->sheet, "Not applied", VS_STYLE_TITLE);
    }
  }
}

static void put_failed(page *p) {
  for (size_t i = 1; i < vs_json_count(p->runs); i++) {
    const vs_json run = vs_json_at(p->runs, i);
    if (!vs_str_equal(vs_reply_str(run, "verdict"), VS_STR("stopped"))) continue;
    vs_text *line = vs_sheet_begin(&p->sheet);
    vs_screen_safe(line, vs_reply_str(run, "title"));
    vs_text_cstr(line, ": the program failed with it (");
    vs_sheet_failure(&p->sheet, vs_reply_at(run, "reply"));
    vs_text_cstr(line, "), see --json");
    vs_sheet_end(&p->sheet, "Failed", VS_STYLE_BAD);
  }
}

/* The places where zeros that were read may decide what the program does. */
static void put_doubts(page *p) {
  const vs_json doubts = vs_reply_at(vs_reply_at(p->plain, "reply"), "doubts");
  vs_text *line = vs_sheet_begin(&p->sheet);
  bool has_any = false;
  for (size_t i = 0; i < vs_json_count(doubts); i++) {
    const vs_json doubt = vs_json_at(doubts, i);
    if (!vs_str_equal(vs_reply_str(doubt, "kind"), VS_STR("value_read"))) continue;
    vs_text_cstr(line, has_any ? ", " : "the program reads values from the GPU; here they are zeros: ");
    vs_screen_safe(line, vs_reply_str(doubt, "place"));
    has_any = true;
  }
  if (!has_any) return;
  vs_text_cstr(line, ". If your code branches on them, it may need more: give them values with --values");
  vs_sheet_end(&p->sheet, "Unknown", VS_STYLE_TITLE);
}

/* ---- how to apply them */

static void put_command(page *p, vs_text *line) {
  const vs_json words = vs_reply_at(p->reply, "command");
  for (size_t i = 0; i < vs_json_count(words); i++) {
    vs_text_byte(line, ' ');
    vs_words_shell(line, vs_json_str(vs_json_at(words, i), VS_STR("")));
  }
}

static void put_apply(page *p, const char *file) {
  vs_text *line = vs_sheet_begin(&p->sheet);
  if (file == NULL) {
    vs_text_cstr(line, "add -o fit.json, then: vramscope run --with fit.json --");
  } else {
    vs_text_cstr(line, "vramscope run --with ");
    vs_words_shell(line, vs_str_from(file));
    vs_text_cstr(line, " --");
  }
  put_command(p, line);
  vs_sheet_end(&p->sheet, "Apply", VS_STYLE_TITLE);
  line = vs_sheet_begin(&p->sheet);
  vs_text_cstr(line, "or at the beginning of the program: import vramscope; vramscope.apply(\"");
  vs_screen_safe(line, vs_str_from(file == NULL ? "fit.json" : file));
  vs_text_cstr(line, "\")");
  vs_sheet_end(&p->sheet, "", VS_STYLE_PLAIN);
}

/* ---- engines for inference */

/* "weights of 8 bits: at most 7.48 GiB more for the KV cache, 112,000 tokens" */
static void put_estimate(page *p, vs_json estimate) {
  const uint64_t freed = vs_reply_u64(estimate, "freed_bytes");
  vs_text *line = vs_sheet_begin(&p->sheet);
  vs_screen_safe(line, vs_reply_str(estimate, "what"));
  if (freed != 0) {
    vs_text_cstr(line, ": at most ");
    vs_sheet_bytes(&p->sheet, freed);
    vs_text_cstr(line, " more for the KV cache");
  }
  if (vs_reply_knows(estimate, "tokens")) {
    vs_text_cstr(line, freed == 0 ? ": at most " : ", ");
    vs_words_count(line, vs_reply_u64(estimate, "tokens"), "token");
  }
  vs_text_cstr(line, " (arithmetic, not run)");
  vs_sheet_end(&p->sheet, "Estimate", VS_STYLE_TITLE);
}

static void put_engine(page *p) {
  const vs_json estimates = vs_reply_at(p->answer, "estimates");
  if (ends(p, "none")) {
    vs_text *line = vs_sheet_begin(&p->sheet);
    vs_text_cstr(line, "what it printed is in the member \"output\" of --json");
    if (vs_json_count(vs_reply_at(p->answer, "parameters")) == 0)
      vs_text_cstr(
          line, "; --batch max-model-len=1024..131072:1024 finds the longest context with which it starts");
    vs_sheet_end(&p->sheet, "Why", VS_STYLE_TITLE);
  }
  put_parameters(p);
  for (size_t i = 0; i < vs_json_count(estimates); i++) put_estimate(p, vs_json_at(estimates, i));
}

/* ---- the page */

static void put_answer(page *p, const char *file) {
  const bool is_found = ends(p, "found"), is_none = ends(p, "none");
  if (is_found || is_none) put_peak(p);
  if (is_found || is_none) put_replay(p);
  if (is_found || is_none) put_advice(p);
  if (is_found) {
    put_found(p);
    put_steps(p);
  } else if (is_none) {
    put_none(p);
  }
  put_alone(p, true, "Alone, enough");
  put_alone(p, false, "Not enough");
  put_parameters(p);
  put_not_applied(p);
  put_failed(p);
  if (is_found || is_none || ends(p, "fits")) put_doubts(p);
  if (is_found) put_apply(p, file);
}

void vs_fit_put(vs_screen *screen, vs_json reply, const char *file) {
  page p = {.reply = reply, .runs = vs_reply_at(reply, "runs"), .answer = vs_reply_at(reply, "answer")};
  p.plain = vs_json_at(p.runs, 0);
  p.capacity = vs_reply_u64(reply, "capacity_bytes");
  vs_sheet_init(&p.sheet, screen, vs_reply_at(p.plain, "reply"));
  put_headline(&p);
  if (is_engine(&p)) put_engine(&p);
  else put_answer(&p, file);
  vs_sheet_deinit(&p.sheet);
}
