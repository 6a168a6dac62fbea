#include "faces/cli/dryrun_limits.h"
#include "base/check.h"

/* ---- the cards */

static void put_room(vs_sheet *p, vs_text *cell, vs_json row) {
  const vs_str fits = vs_reply_str(row, "fits");
  const int64_t room = vs_reply_i64(row, "headroom_bytes");
  if (vs_str_equal(fits, VS_STR("tight"))) {
    vs_text_cstr(cell, "only with cache flushes");
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
    vs_text_cstr(line, named++ == 0 ? ". Cards to try next: " : ", ");
    vs_sheet_name(p, row);
  }
  if (vs_reply_u64(largest, "total_bytes") > own)
    vs_text_format(line, "; --gpu %S shows the whole run", vs_reply_str(largest, "gpu"));
  vs_sheet_end(p, "Needs", VS_STYLE_TITLE);
}

void vs_dryrun_put_cards(vs_sheet *p) {
  /* The later need of a program that stopped is unknown, so "fits" holds only up to that point. */
  const vs_column columns[] = {{"Card", VS_COLUMN_LEFT},
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

/* "train.py:40 log (12 times)", "cudnn_workspace 2.00 MiB": one doubt among its kind. */
static void put_doubt(vs_sheet *p, vs_json doubt) {
  static const char *const names[] = {"place", "what", "name"};
  const vs_str kind = vs_reply_str(doubt, "kind");
  const uint64_t count = vs_reply_u64(doubt, "count"), bytes = vs_reply_u64(doubt, "bytes");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    vs_screen_safe(&p->line, vs_reply_str(doubt, names[i]));
  if (vs_str_equal(kind, VS_STR("value_read")) && count > 1) vs_text_format(&p->line, " (%U times)", count);
  if (vs_str_equal(kind, VS_STR("refused"))) {
    vs_text_cstr(&p->line, " of ");
    vs_screen_safe(&p->line, vs_reply_str(doubt, "library"));
  }
  if (vs_str_equal(kind, VS_STR("guess")) && bytes != 0) {
    vs_text_byte(&p->line, ' ');
    vs_sheet_bytes(p, bytes);
  }
  if (vs_str_equal(kind, VS_STR("not_recorded"))) {
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
    else if (count < DOUBTS) vs_text_cstr(&p->line, ", ");
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

void vs_dryrun_put_doubts(vs_sheet *p) {
  const char *label = "Unknown";
  if (put_doubts_of(p, "value_read", values_read(p))) {
    vs_text_cstr(&p->line, ". If your code branches on them, use --values");
    vs_sheet_end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  if (put_doubts_of(p, "guess", "guessed: ")) {
    vs_sheet_end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  if (put_doubts_of(p, "refused", "not simulated, and refused: ")) {
    vs_sheet_end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  if (put_doubts_of(p, "history_lost", lost(p))) {
    vs_text_cstr(
        &p->line,
        " ended by a signal or os._exit: PyTorch's figures are lost, and only the driver's are known");
    vs_sheet_end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  if (put_doubts_of(p, "not_recorded", "not recorded: ")) vs_sheet_end(p, label, VS_STYLE_TITLE);
}
