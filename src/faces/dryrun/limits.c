#include "faces/dryrun/limits.h"
#include "base/check.h"

/* ---- the cards */

static void put_room(vs_sheet *p, vs_text *cell, vs_json row) {
  const vs_str fits = vs_reply_str(row, "fits");
  const int64_t room = vs_reply_i64(row, "headroom_bytes");
  if (vs_str_equal(fits, VS_STR("tight"))) {
    const char *owner;
    (void)vs_sheet_pool(p->card, &owner);
    if (owner == NULL) vs_text_cstr(cell, "only with cache flushes");
    else vs_text_format(cell, "only if %s may take more of it", owner);
  } else if (vs_str_equal(fits, VS_STR("unknown"))) {
    vs_text_cstr(cell, "unknown: it may need more than this run showed");
  } else {
    vs_text_bytes(cell, room < 0 ? 0 - (uint64_t)room : (uint64_t)room, p->screen->unit);
    vs_text_cstr(cell, room < 0 ? " short" : " to spare");
  }
}

/* For a run that stopped at an out-of-memory error: its whole need is unknown, only what the failed request needed. */
static void put_least(vs_sheet *p, vs_json needs) {
  const vs_json fits = vs_reply_at(p->reply, "fit"), largest = vs_json_at(fits, vs_json_count(fits) - 1);
  const uint64_t own = vs_reply_u64(p->card, "total_bytes");
  VS_ASSERT(vs_json_count(fits) != 0);
  uint64_t least = 0;
  for (size_t i = 0; i < vs_json_count(needs); i++)
    least = vs_max_u64(least, vs_reply_u64(vs_json_at(needs, i), "least_bytes"));
  vs_text *line = vs_sheet_begin(p);
  vs_text_cstr(line, "at least ");
  vs_sheet_bytes(p, least);
  vs_text_cstr(line, " to get past this point; what follows is unknown");
  uint32_t named = 0;
  for (size_t i = 0; i < vs_json_count(fits) && named < 3; i++) {
    const vs_json row = vs_json_at(fits, i);
    if (vs_str_equal(vs_reply_str(row, "fits"), VS_STR("no")) || vs_reply_u64(row, "total_bytes") <= own)
      continue;
    vs_text_cstr(line, named++ == 0 ? ". GPUs to try next: " : ", ");
    vs_sheet_name(p, row);
  }
  if (vs_reply_u64(largest, "total_bytes") > own)
    vs_text_format(line, "; --gpu %S shows the whole run", vs_reply_str(largest, "gpu"));
  vs_sheet_end(p, "Needs", VS_STYLE_TITLE);
}

void vs_dryrun_put_cards(vs_sheet *p) {
  /* The later need of a program that stopped is unknown, so "fits" holds only up to that point. */
  const vs_column columns[] = {{"GPU", VS_COLUMN_LEFT},
                               {"memory", VS_COLUMN_RIGHT},
                               {vs_sheet_is(p, "stopped") ? "fits so far" : "fits", VS_COLUMN_LEFT},
                               {"", VS_COLUMN_NAME}};
  const vs_json fits = vs_reply_at(p->reply, "fit"), needs = vs_reply_at(p->reply, "needs");
  const size_t need_count = vs_json_count(needs);
  if (vs_json_count(fits) == 0) return;
  if (vs_reply_is_unknown(vs_reply_at(vs_json_at(needs, 0), "bytes"))) {
    put_least(p, needs);
    return;
  }
  vs_text_byte(&p->screen->text, '\n');
  vs_table table;
  vs_table_begin(&table, p->screen, 0, columns, 4);
  for (size_t i = 0; i < vs_json_count(fits); i++) {
    const vs_json row = vs_json_at(fits, i);
    if (!vs_reply_bool(row, "shown")) continue;
    vs_text *cell = vs_table_cell(&table);
    if (need_count > 1) vs_text_format(cell, "%U x ", (uint64_t)need_count);
    vs_screen_safe(cell, vs_sheet_short_name(row));
    vs_text_bytes(vs_table_cell(&table), vs_reply_u64(row, "total_bytes"), p->screen->unit);
    const vs_str word = vs_reply_str(row, "fits");
    vs_screen_safe(vs_table_cell(&table), vs_str_equal(word, VS_STR("unknown")) ? VS_STR("?") : word);
    put_room(p, vs_table_cell(&table), row);
  }
  vs_table_put(&table);
}

/* ---- the smallest */

void vs_dryrun_put_search(vs_sheet *p) {
  const vs_json search = vs_reply_at(p->reply, "search"), fits = vs_reply_at(p->reply, "fit");
  const vs_json smallest = vs_reply_at(p->reply, "smallest_bytes");
  const uint64_t bytes = vs_json_u64(smallest, 0);
  if (vs_reply_is_unknown(search)) return;
  vs_text *line = vs_sheet_begin(p);
  if (vs_reply_is_unknown(smallest)) {
    vs_text_format(line, "not found: %S", vs_reply_str(search, "why"));
    vs_sheet_end(p, "Smallest", VS_STYLE_BAD);
    return;
  }
  vs_text_bytes_up(line, bytes, p->screen->unit);
  vs_text_format(line, " (±1%%, --gpu %S), after ", vs_reply_str(search, "gpu"));
  vs_words_count(line, vs_reply_u64(search, "runs"), "more run");
  unsigned named = 0;
  for (size_t i = 0; i < vs_json_count(fits) && named < 3; i++) {
    const vs_json row = vs_json_at(fits, i);
    if (vs_reply_u64(row, "total_bytes") < bytes) continue;
    vs_text_cstr(line, named == 0 ? "; the smallest GPUs with as much: " : ", ");
    vs_sheet_name(p, row);
    named++;
  }
  vs_sheet_end(p, "Smallest", VS_STYLE_GOOD);
}

/* ---- what the simulation could not know */

/* " 202.0 MiB (at most 1.20 GiB)" */
static void put_guess(vs_sheet *p, uint64_t bytes, uint64_t most) {
  if (bytes != 0 || most != 0) {
    vs_text_byte(&p->line, ' ');
    vs_sheet_bytes(p, bytes);
  }
  if (most == 0) return; /* no bound is known */
  vs_text_cstr(&p->line, " (at most ");
  vs_sheet_bytes(p, most);
  vs_text_byte(&p->line, ')');
}

/* "train.py:40 log (12 times)", "cudnn_workspace 2.00 MiB", "... equal this rank's (train.py:12 main, 3 times)": one doubt among
 * its kind. */
static void put_doubt(vs_sheet *p, vs_json doubt) {
  const vs_str kind = vs_reply_str(doubt, "kind"), place = vs_reply_str(doubt, "place");
  const uint64_t count = vs_reply_u64(doubt, "count"), bytes = vs_reply_u64(doubt, "bytes");
  const bool is_read = vs_str_equal(kind, VS_STR("value_read"));
  vs_screen_safe(&p->line, vs_reply_str(doubt, "what"));
  vs_screen_safe(&p->line, vs_reply_str(doubt, "name"));
  if (!is_read && place.size != 0) vs_text_cstr(&p->line, " (");
  vs_screen_safe(&p->line, place);
  if (count > 1) vs_text_format(&p->line, is_read ? " (%U times)" : ", %U times", count);
  if (!is_read && place.size != 0) vs_text_byte(&p->line, ')');
  if (vs_str_equal(kind, VS_STR("refused"))) {
    vs_text_cstr(&p->line, " of ");
    vs_screen_safe(&p->line, vs_reply_str(doubt, "library"));
  }
  if (vs_str_equal(kind, VS_STR("history_cut"))) vs_sheet_bytes(p, bytes);
  if (vs_str_equal(kind, VS_STR("guess"))) put_guess(p, bytes, vs_reply_u64(doubt, "most_bytes"));
  if (vs_str_equal(kind, VS_STR("not_recorded"))) {
    if (vs_reply_u64(doubt, "processes") > 1)
      vs_text_format(&p->line, " of %U processes", vs_reply_u64(doubt, "processes"));
    vs_text_cstr(&p->line, " (");
    vs_screen_safe(&p->line, vs_reply_str(doubt, "why"));
    vs_text_byte(&p->line, ')');
  }
}

/* Begins a line with `before` and lists the first few doubts of a kind. Returns false if there are none. */
static bool put_doubts_of(vs_sheet *p, const char *kind, const char *before) {
  enum { DOUBTS = 3 };
  const vs_json doubts = vs_reply_at(p->reply, "doubts");
  uint64_t count = 0;
  for (size_t i = 0; i < vs_json_count(doubts); i++) {
    const vs_json doubt = vs_json_at(doubts, i);
    if (!vs_str_equal(vs_reply_str(doubt, "kind"), vs_str_from(kind))) continue;
    if (count == 0) vs_text_cstr(vs_sheet_begin(p), before);
    else if (count < DOUBTS)
      vs_text_cstr(&p->line, vs_str_equal(vs_reply_str(doubt, "kind"), VS_STR("assumed")) ? "; " : ", ");
    if (count++ < DOUBTS) put_doubt(p, doubt);
  }
  if (count > DOUBTS) vs_text_format(&p->line, " and %U more", count - DOUBTS);
  return count != 0;
}

static const char *values_read(const vs_sheet *p) {
  const vs_str values = vs_reply_str(p->reply, "values");
  if (vs_str_equal(values, VS_STR("zeros")))
    return "the program reads values from the GPU; here they are zeros: ";
  return vs_str_equal(values, VS_STR("true"))
             ? "the program reads values from the GPU; here they are zeros, and true for truth tests: "
             : "the program reads values from the GPU; here they are what copies wrote last: ";
}

static const char *lost(const vs_sheet *p) {
  const vs_json doubts = vs_reply_at(p->reply, "doubts");
  for (size_t i = 0; i < vs_json_count(doubts); i++)
    if (vs_str_equal(vs_reply_str(vs_json_at(doubts, i), "kind"), VS_STR("history_lost")) &&
        vs_reply_u64(vs_json_at(doubts, i), "processes") == 1)
      return "a process";
  return "several processes";
}

/* What made the program fail, if it did: it stands first. */
static void put_cannot_run(vs_sheet *p) {
  const vs_json doubts = vs_reply_at(p->reply, "doubts");
  for (size_t i = 0; i < vs_json_count(doubts); i++) {
    if (!vs_str_equal(vs_reply_str(vs_json_at(doubts, i), "kind"), VS_STR("cannot_run"))) continue;
    vs_screen_safe(vs_sheet_begin(p), vs_reply_str(vs_json_at(doubts, i), "sentence"));
    vs_sheet_end(p, "Cannot run", VS_STYLE_BAD);
  }
}

/* What to pass for the first place that has a file. */
static void put_advice(vs_sheet *p) {
  const vs_json doubts = vs_reply_at(p->reply, "doubts");
  for (size_t i = 0; i < vs_json_count(doubts); i++) {
    const vs_str give = vs_reply_str(vs_json_at(doubts, i), "give");
    if (give.size == 0) continue;
    vs_text_cstr(&p->line, ". If your code branches on them, give them values: --values ");
    vs_words_shell(&p->line, give);
    return;
  }
  vs_text_cstr(&p->line, ". If your code branches on them, use --values");
}

/* The loops that were seen to make no progress. */
static const char *put_stuck(vs_sheet *p, const char *label) {
  const vs_json doubts = vs_reply_at(p->reply, "doubts");
  for (size_t i = 0; i < vs_json_count(doubts); i++) {
    const vs_json doubt = vs_json_at(doubts, i);
    const uint64_t repeats = vs_reply_u64(doubt, "repeats");
    if (repeats == 0) continue;
    vs_screen_safe(vs_sheet_begin(p), vs_reply_str(doubt, "place"));
    vs_text_format(
        &p->line,
        " read the same value %U times while nothing else changed. If it waits for another one: --values ",
        repeats);
    vs_words_shell(&p->line, vs_reply_str(doubt, "give"));
    vs_sheet_end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  return label;
}

/* The places of --values that had no effect, or not on all reads. */
static const char *put_places(vs_sheet *p, const char *label) {
  const vs_json places = vs_reply_at(p->reply, "value_places");
  for (size_t i = 0; i < vs_json_count(places); i++) {
    const vs_json place = vs_json_at(places, i);
    const uint64_t reads = vs_reply_u64(place, "reads"), misfits = vs_reply_u64(place, "misfits");
    const vs_str nearest = vs_reply_str(place, "nearest");
    if (reads != 0 && misfits == 0) continue;
    vs_screen_safe(vs_sheet_begin(p), vs_reply_str(place, "place"));
    if (reads == 0) {
      vs_text_cstr(&p->line, " read nothing from the GPU, so its --values had no effect");
      vs_text_cstr(&p->line, nearest.size == 0 ? "" : "; did you mean ");
      vs_screen_safe(&p->line, nearest);
      vs_text_cstr(&p->line, nearest.size == 0 ? "" : "?");
    } else {
      vs_text_format(
          &p->line, ": its --values did not fit %U of %U reads; give the type of the elements, as in 1:int64",
          misfits, reads);
    }
    vs_sheet_end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  return label;
}

/* A line of these doubts, if there are any. Returns the label of the next line: only the first one has it. */
static const char *put_kind(vs_sheet *p, const char *label, const char *kind, const char *before) {
  if (!put_doubts_of(p, kind, before)) return label;
  vs_sheet_end(p, label, VS_STYLE_TITLE);
  return "";
}

void vs_dryrun_put_doubts(vs_sheet *p) {
  const char *label = "Unknown";
  put_cannot_run(p);
  if (put_doubts_of(p, "value_read", values_read(p))) {
    put_advice(p);
    vs_sheet_end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  label = put_stuck(p, label);
  label = put_places(p, label);
  label = put_kind(p, label, "assumed", "assumed: ");
  label = put_kind(p, label, "guess", "guessed: ");
  label = put_kind(p, label, "refused", "not simulated, and refused: ");
  if (put_doubts_of(p, "history_lost", lost(p))) {
    vs_text_cstr(&p->line, " did not end by Python's exit: what PyTorch allocated and reserved is known, but "
                           "not by which lines");
    vs_sheet_end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  if (put_doubts_of(p, "history_cut", "a process was killed before its last events were recorded: ")) {
    vs_text_cstr(&p->line, " of its peak have no owner");
    vs_sheet_end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  if (put_doubts_of(p, "not_recorded", "not recorded: ")) vs_sheet_end(p, label, VS_STYLE_TITLE);
}
