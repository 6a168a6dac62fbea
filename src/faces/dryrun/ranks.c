#include "faces/dryrun/ranks.h"
#include "base/check.h"

enum { ROWS = 12, RANGES = 4, NAMES = 6 };

/* ---- texts */

/* "0-3, 8-11, 16 and 5 more ranks" */
static void put_ranges(vs_text *text, vs_json ranges) {
  const size_t count = vs_json_count(ranges);
  uint64_t more = 0;
  for (size_t i = 0; i < count; i++) {
    const vs_json range = vs_json_at(ranges, i);
    const uint64_t first = vs_json_u64(vs_json_at(range, 0), 0), last = vs_json_u64(vs_json_at(range, 1), 0);
    if (i >= RANGES) {
      more += last - first + 1;
      continue;
    }
    vs_text_format(text, i == 0 ? "%U" : ", %U", first);
    if (last != first) vs_text_format(text, "-%U", last);
  }
  if (more != 0) vs_text_format(text, " and %U more", more);
}

/* "tp (2), pp (4), dp (8)": the kinds of process groups and their sizes. */
static void put_axes(vs_text *text, vs_json axes) {
  const size_t count = vs_json_count(axes);
  for (size_t i = 0; i < count && i < NAMES; i++) {
    const vs_json axis = vs_json_at(axes, i);
    const vs_str name = vs_reply_str(axis, "name");
    if (i != 0) vs_text_cstr(text, ", ");
    if (name.size == 0) vs_text_cstr(text, "a group");
    else vs_screen_safe(text, name);
    vs_text_format(text, " (%U)", vs_reply_u64(axis, "size"));
  }
  if (count > NAMES) vs_text_format(text, " and %U more", (uint64_t)(count - NAMES));
}

/* ---- the sentences */

static void put_assumption(vs_sheet *p, vs_json ranks, uint64_t assumed) {
  const vs_json axes = vs_reply_at(ranks, "axes");
  const uint64_t checks = vs_reply_u64(ranks, "checks"), failed = vs_reply_u64(ranks, "failed_checks");
  vs_text *line = vs_sheet_begin(p);
  vs_text_format(line, "the other %U are assumed to have the memory of the rank in their row: ", assumed);
  if (vs_json_count(axes) == 0) {
    vs_text_cstr(line, "each is between two ranks that ran and are equal");
  } else {
    vs_text_cstr(line, "along each kind of process group, ");
    put_axes(line, axes);
    vs_text_cstr(line, ", they are between ranks that ran and are equal");
  }
  if (checks != 0) {
    vs_text_cstr(line, "; checked on ");
    vs_words_count(line, checks, "further rank");
    if (failed != 0) vs_text_format(line, ", of which %U had other memory: more of them may", failed);
  }
  vs_sheet_end(p, "  assumed", failed != 0 ? VS_STYLE_BAD : VS_STYLE_TITLE);
}

static void put_unknown(vs_sheet *p, vs_json ranks, uint64_t unknown) {
  const vs_str why = vs_reply_str(ranks, "why");
  vs_text *line = vs_sheet_begin(p);
  vs_words_count(line, unknown, "rank");
  vs_text_cstr(line, ": ");
  put_ranges(line, vs_reply_at(ranks, "unknown_ranks"));
  if (why.size != 0) {
    vs_text_cstr(line, "; ");
    vs_screen_safe(line, why);
  }
  if (vs_reply_u64(ranks, "runs") >= vs_reply_u64(ranks, "most_runs") && vs_reply_u64(ranks, "most_runs") > 1)
    vs_text_format(line, " for %U runs: --ranks-that-differ=%U allows more", vs_reply_u64(ranks, "most_runs"),
                   2 * vs_reply_u64(ranks, "most_runs"));
  vs_sheet_end(p, "  unknown", VS_STYLE_BAD);
}

/* ---- the table */

static void put_row(vs_sheet *p, vs_table *table, vs_json row) {
  vs_text_format(vs_table_cell(table), "%U", vs_reply_u64(row, "rank"));
  vs_sheet_put_figure(p, vs_table_cell(table), vs_reply_at(row, "peak_allocated_bytes"));
  vs_sheet_put_figure(p, vs_table_cell(table), vs_reply_at(row, "peak_reserved_bytes"));
  vs_text_bytes(vs_table_cell(table), vs_reply_u64(row, "needed_bytes"), p->screen->unit);
  vs_sheet_put_ended(vs_table_cell(table), row);
  vs_text_format(vs_table_cell(table), "%U", vs_reply_u64(row, "count"));
  put_ranges(vs_table_cell(table), vs_reply_at(row, "ranks"));
}

static void put_rows(vs_sheet *p, vs_json rows) {
  static const vs_column columns[] = {{"rank", VS_COLUMN_RIGHT},     {"allocated", VS_COLUMN_RIGHT},
                                      {"reserved", VS_COLUMN_RIGHT}, {"on the GPU", VS_COLUMN_RIGHT},
                                      {"run", VS_COLUMN_LEFT},       {"ranks", VS_COLUMN_RIGHT},
                                      {"which", VS_COLUMN_NAME}};
  const size_t count = vs_json_count(rows);
  vs_table table;
  vs_text_byte(&p->screen->text, '\n');
  vs_table_begin(&table, p->screen, 2, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < count && i < ROWS; i++) put_row(p, &table, vs_json_at(rows, i));
  vs_table_put(&table);
  if (count > ROWS) {
    vs_text_format(&p->screen->text, "  %U more rows: see them with --json\n", (uint64_t)(count - ROWS));
  }
  vs_text_byte(&p->screen->text, '\n');
}

/* ---- the section */

void vs_dryrun_put_ranks(vs_sheet *p) {
  const vs_json ranks = vs_reply_at(p->reply, "ranks");
  if (vs_reply_is_unknown(ranks)) return;
  const uint64_t world = vs_reply_u64(ranks, "world_size"), runs = vs_reply_u64(ranks, "runs"),
                 unknown = vs_reply_u64(ranks, "unknown");
  const size_t differ = vs_json_count(vs_reply_at(ranks, "rows"));
  VS_ASSERT(runs + unknown <= world);
  vs_text_format(vs_sheet_begin(p), "%U of %U ran", runs, world);
  if (differ == 1) vs_text_cstr(&p->line, ", all with equal memory");
  else vs_text_format(&p->line, ", with %U different peaks", (uint64_t)differ);
  vs_sheet_end(p, "Ranks", VS_STYLE_TITLE);
  if (world != runs + unknown) put_assumption(p, ranks, world - runs - unknown);
  if (unknown != 0) put_unknown(p, ranks, unknown);
  put_rows(p, vs_reply_at(ranks, "rows"));
  vs_text_cstr(vs_sheet_begin(p),
               "what follows is about rank 0; for another one: --rank N, without --ranks-that-differ");
  vs_sheet_end(p, "Rank 0", VS_STYLE_TITLE);
}

void vs_dryrun_put_most(vs_sheet *p) {
  const vs_json rows = vs_reply_at(vs_reply_at(p->reply, "ranks"), "rows");
  vs_json most = vs_json_at(rows, 0);
  for (size_t i = 1; i < vs_json_count(rows); i++)
    if (vs_reply_u64(vs_json_at(rows, i), "needed_bytes") > vs_reply_u64(most, "needed_bytes"))
      most = vs_json_at(rows, i);
  vs_text_cstr(&p->line, "at most ");
  vs_sheet_shares(p, most);
  vs_text_format(&p->line, ", on rank %U", vs_reply_u64(most, "rank"));
}
