#include "faces/dryrun/table.h"
#include "base/check.h"
#include "faces/dryrun/largest.h"
#include "faces/dryrun/sheet.h"

enum { MOST_SORTED = 64 };

/* The table while it is written. */
typedef struct page {
  vs_sheet sheet; /* of the first run's reply */
  vs_json reply, runs;
  size_t run_count;
  bool is_search;            /* for the largest value */
  bool has_notes;            /* below the table */
  size_t order[MOST_SORTED]; /* of a search: the runs by their values */
} page;

/* The run in a row of the table. */
static vs_json run_at(const page *p, size_t row) {
  return vs_json_at(p->runs, p->is_search && p->run_count <= MOST_SORTED ? p->order[row] : row);
}

/* Few runs, so they are sorted by insertion. */
static void sort_runs(page *p) {
  for (size_t i = 0; i < p->run_count && p->run_count <= MOST_SORTED; i++) {
    const uint64_t value = vs_largest_value(p->reply, vs_json_at(p->runs, i));
    size_t at = i;
    for (; at > 0 && vs_largest_value(p->reply, vs_json_at(p->runs, p->order[at - 1])) > value; at--)
      p->order[at] = p->order[at - 1];
    p->order[at] = i;
  }
}

/* A column: what is in its cells, and what stands above it. */
typedef struct column {
  void (*put)(const page *p, const struct column *column, vs_text *cell, vs_json run);
  const char *figure; /* the member of a run that `put` shows */
  vs_str name;        /* the setting that `put` shows */
  size_t width;
  unsigned
      turn; /* to be left away where the screen is too narrow: 1 .. TURNS, the first ones first; 0: never */
  bool is_left; /* it is left away */
  vs_column_kind kind;
  char heading[96];
} column;

enum { NAMES = 8, COLUMNS = NAMES + 8, TURNS = 3 };
_Static_assert((int)COLUMNS <= (int)VS_TABLE_COLUMNS, "all columns are in one table");

typedef struct columns {
  column all[COLUMNS];
  size_t count;
} columns;

/* ---- cells */

static void put_setting(const page *p, const column *c, vs_text *cell, vs_json run) {
  (void)p;
  const vs_json value = vs_json_member(vs_reply_at(run, "settings"), c->name);
  if (vs_reply_is_unknown(value)) vs_text_byte(cell, '-');
  else vs_screen_safe(cell, vs_json_str(value, VS_STR("")));
}

static void put_ended(const page *p, const column *c, vs_text *cell, vs_json run) {
  (void)p, (void)c;
  vs_sheet_put_ended(cell, run);
}

static void put_figure(const page *p, const column *c, vs_text *cell, vs_json run) {
  vs_sheet_put_figure(&p->sheet, cell, vs_reply_at(run, c->figure));
}

static void put_count(const page *p, const column *c, vs_text *cell, vs_json run) {
  (void)p;
  vs_text_count(cell, vs_reply_u64(run, c->figure));
}

static void put_tokens(const page *p, const column *c, vs_text *cell, vs_json run) {
  (void)p, (void)c;
  const vs_json cache = vs_reply_at(run, "kv_cache");
  if (vs_reply_is_unknown(cache)) vs_text_byte(cell, '-');
  else vs_text_count(cell, vs_reply_u64(cache, "tokens"));
}

static void put_requests(const page *p, const column *c, vs_text *cell, vs_json run) {
  (void)p, (void)c;
  const vs_json cache = vs_reply_at(run, "kv_cache");
  if (vs_reply_is_unknown(cache)) vs_text_byte(cell, '-');
  else vs_sheet_put_requests(cell, cache);
}

/* The part of the card that the run needs; 0 where that is unknown, as of a run that ran out of memory. */
static double share_of(const page *p, vs_json run) {
  if (!vs_reply_knows(run, "headroom_bytes")) return 0;
  const double total = vs_reply_f64(p->sheet.card, "total_bytes");
  return total > 0 ? vs_reply_f64(run, "needed_bytes") / total : 0;
}

static void put_no_text(const page *p, const column *c, vs_text *cell, vs_json run) {
  (void)p, (void)c, (void)cell, (void)run;
}

/* ---- columns */

static bool some_run_knows(const page *p, const char *figure) {
  for (size_t i = 0; i < p->run_count; i++)
    if (vs_reply_knows(vs_json_at(p->runs, i), figure)) return true;
  return false;
}

static bool is_number(vs_str text) {
  size_t digits = 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] >= '0' && text.data[i] <= '9') digits++;
    else if (text.data[i] != '.') return false;
  }
  return digits != 0;
}

/* Whether all values of a setting are numbers. */
static bool are_numbers(const page *p, vs_str name) {
  for (size_t i = 0; i < p->run_count; i++) {
    const vs_json value = vs_json_member(vs_reply_at(vs_json_at(p->runs, i), "settings"), name);
    if (!vs_reply_is_unknown(value) && !is_number(vs_json_str(value, VS_STR("")))) return false;
  }
  return true;
}

static column *add(columns *all, column c) {
  VS_ASSERT(all->count < COLUMNS);
  all->all[all->count] = c;
  return &all->all[all->count++];
}

static void add_figure(const page *p, columns *all, const char *figure, const char *heading, unsigned turn) {
  if (!some_run_knows(p, figure)) return;
  column *c = add(all, (column){.put = put_figure, .figure = figure, .kind = VS_COLUMN_RIGHT, .turn = turn});
  vs_format(c->heading, sizeof c->heading, "%s", heading);
}

static void add_text(columns *all, void (*put)(const page *, const column *, vs_text *, vs_json),
                     const char *figure, vs_column_kind kind, const char *heading) {
  column *c = add(all, (column){.put = put, .figure = figure, .kind = kind});
  vs_format(c->heading, sizeof c->heading, "%s", heading);
}

static void add_settings(const page *p, columns *all) {
  const vs_json axes = vs_reply_at(p->reply, "axes");
  for (size_t i = 0; i < vs_json_count(axes); i++) {
    const vs_json names = vs_reply_at(vs_json_at(axes, i), "names");
    for (size_t n = 0; n < vs_json_count(names) && all->count < NAMES; n++) {
      const vs_str name = vs_reply_str(vs_json_at(names, n), "name");
      (void)add(all, (column){.put = put_setting,
                              .name = name,
                              .kind = are_numbers(p, name) ? VS_COLUMN_RIGHT : VS_COLUMN_LEFT});
    }
  }
}

static bool has_several_gpus(const page *p) {
  for (size_t i = 0; i < p->run_count; i++)
    if (vs_reply_u64(vs_json_at(p->runs, i), "devices_used") > 1) return true;
  return false;
}

static void add_all(const page *p, columns *all) {
  const bool has_cache = some_run_knows(p, "kv_cache");
  add_settings(p, all);
  add_text(all, put_ended, NULL, VS_COLUMN_LEFT, "run");
  if (has_several_gpus(p)) add_text(all, put_count, "devices_used", VS_COLUMN_RIGHT, "GPUs");
  add_figure(p, all, "needed_bytes", has_several_gpus(p) ? "on one\nGPU" : "on the\nGPU", 0);
  if (p->is_search && some_run_knows(p, "headroom_bytes"))
    add_text(all, put_no_text, NULL, VS_COLUMN_BAR, "");
  add_figure(p, all, "peak_reserved_bytes", "reserved", 2);
  add_figure(p, all, "peak_allocated_bytes", "allocated", 1);
  if (has_cache) {
    add_text(all, put_tokens, NULL, VS_COLUMN_RIGHT, "tokens of\nKV cache");
    add_text(all, put_requests, NULL, VS_COLUMN_RIGHT, "requests\nat once");
  }
  add_figure(p, all, "headroom_bytes", "to spare", has_cache ? 3 : 0);
}

/* ---- widths */

static size_t measure(const page *p, const column *c) {
  size_t widest = 0;
  for (size_t i = 0; i < p->run_count; i++) {
    vs_text cell;
    vs_scratch_init(&cell, p->sheet.screen);
    c->put(p, c, &cell, vs_json_at(p->runs, i));
    const size_t width = cell.bytes.count == 0 ? 0 : vs_screen_width(vs_text_view(&cell));
    vs_text_deinit(&cell);
    if (width > widest) widest = width;
  }
  return widest;
}

static bool is_joint(char c) { return c == '-' || c == '_' || c == '.' || c == ':'; }

/* Breaks a long name behind its joints, so that the heading is not much wider than the values. */
static void wrap(column *c, vs_str safe) {
  enum { ROOM = 11 };
  const size_t room = c->width > ROOM ? c->width : ROOM;
  size_t written = 0, begin = 0, joint = 0;
  for (size_t i = 0; i < safe.size && written + 2 < sizeof c->heading; i++) {
    if (i - begin >= room && joint > begin) {
      memmove(c->heading + written - (i - joint) + 1, c->heading + written - (i - joint), i - joint);
      c->heading[written - (i - joint)] = '\n';
      written++;
      begin = joint;
    }
    c->heading[written++] = safe.data[i];
    if (is_joint(safe.data[i])) joint = i + 1;
  }
  c->heading[written] = 0;
}

/* "gpu" of "dryrun:gpu": a name of the program's that would look the same has a prefix or dashes of its own. */
static vs_str shown_name(vs_str name) {
  const vs_str prefix = VS_STR("dryrun:");
  if (!vs_str_starts(name, prefix)) return name;
  return (vs_str){name.data + prefix.size, name.size - prefix.size};
}

static void set_heading(const page *p, column *c) {
  vs_text safe;
  vs_scratch_init(&safe, p->sheet.screen);
  vs_screen_safe(&safe, shown_name(c->name));
  if (safe.bytes.count != 0) wrap(c, vs_text_view(&safe));
  vs_text_deinit(&safe);
}

static void set_widths(const page *p, columns *all) {
  for (size_t i = 0; i < all->count; i++) {
    column *c = &all->all[i];
    c->width = measure(p, c);
    if (c->name.size != 0) set_heading(p, c);
    const size_t heading = vs_table_heading_width(c->heading);
    if (heading > c->width) c->width = heading;
    if (c->kind == VS_COLUMN_BAR) c->width = VS_TABLE_BAR;
  }
}

static size_t width_of(const columns *all) {
  size_t width = 0;
  for (size_t i = 0; i < all->count; i++)
    if (!all->all[i].is_left) width += all->all[i].width + (width == 0 ? 0 : 2);
  return width;
}

/* Leaves columns away until the table fits. Returns how many. */
static size_t narrow(const page *p, columns *all) {
  size_t left = 0;
  for (unsigned turn = 1; turn <= TURNS; turn++)
    for (size_t i = 0; i < all->count && width_of(all) > p->sheet.screen->columns; i++) {
      if (all->all[i].turn != turn) continue;
      all->all[i].is_left = true;
      left++;
    }
  return left;
}

/* ---- the table */

static void put_rows(const page *p, const columns *all) {
  vs_column shown[COLUMNS];
  size_t count = 0;
  for (size_t i = 0; i < all->count; i++)
    if (!all->all[i].is_left) shown[count++] = (vs_column){all->all[i].heading, all->all[i].kind};
  vs_table table;
  vs_table_begin(&table, p->sheet.screen, 0, shown, count);
  for (size_t r = 0; r < p->run_count; r++)
    for (size_t i = 0; i < all->count; i++) {
      if (all->all[i].is_left) continue;
      if (all->all[i].kind == VS_COLUMN_BAR) vs_table_bar(&table, share_of(p, run_at(p, r)));
      else all->all[i].put(p, &all->all[i], vs_table_cell(&table), run_at(p, r));
    }
  vs_table_put(&table);
}

/* Puts the line that was begun below the table, the first one behind an empty line. */
static void put_note(page *p, const char *label, vs_style style) {
  if (!p->has_notes) vs_text_byte(&p->sheet.screen->text, '\n');
  p->has_notes = true;
  vs_sheet_end(&p->sheet, label, style);
}

static void put_left(page *p, const columns *all) {
  const char *separator = "";
  vs_text *line = vs_sheet_begin(&p->sheet);
  for (size_t i = 0; i < all->count; i++) {
    if (!all->all[i].is_left) continue;
    vs_text_format(line, "%s\"%s\"", separator, all->all[i].heading);
    separator = ", ";
  }
  vs_text_cstr(line, " in a wider terminal (COLUMNS=120), or with --json");
  put_note(p, "More", VS_STYLE_TITLE);
}

/* ---- the answer */

/* What became of a run. */
typedef enum end { FITS, HANDLED, OUT_OF_MEMORY, FAILED, NO_GPU, ENDS } end;

static end end_of(vs_json run) {
  static const char *const words[ENDS] = {"fits", "handled", "does_not_fit", "stopped", "no_cuda"};
  const vs_str verdict = vs_reply_str(run, "verdict");
  end found = FITS;
  while (found < NO_GPU && !vs_str_equal(verdict, vs_str_from(words[found]))) found++;
  return found == NO_GPU && vs_reply_i64(run, "exit_code") != 0 ? FAILED : found;
}

static size_t count(const page *p, end wanted) {
  size_t found = 0;
  for (size_t i = 0; i < p->run_count; i++) found += end_of(vs_json_at(p->runs, i)) == wanted;
  return found;
}

static bool varies(const page *p, const char *name) {
  const vs_json axes = vs_reply_at(p->reply, "axes");
  for (size_t i = 0; i < vs_json_count(axes); i++) {
    const vs_json names = vs_reply_at(vs_json_at(axes, i), "names");
    for (size_t n = 0; n < vs_json_count(names); n++) {
      const vs_json one = vs_json_at(names, n);
      const vs_str text = vs_reply_str(one, "name"), prefix = VS_STR("dryrun:");
      const vs_str bare =
          vs_str_starts(text, prefix) ? (vs_str){text.data + prefix.size, text.size - prefix.size} : text;
      if (vs_str_equal(vs_reply_str(one, "kind"), VS_STR("dryrun")) && vs_str_equal(bare, vs_str_from(name)))
        return true;
    }
  }
  return false;
}

/* "9 fit, 2 ran out of memory, 1 failed". */
static void put_counts(page *p) {
  static const char *const words[ENDS] = {"fit", "completed with out-of-memory errors that were handled",
                                          "ran out of memory", "failed, not because of memory",
                                          "did not use the GPU"};
  const char *separator = ": ";
  for (end i = FITS; i < ENDS; i++) {
    const size_t found = count(p, i);
    if (found == 0) continue;
    vs_text_format(&p->sheet.line, "%s%U %s", separator, (uint64_t)found,
                   i == FITS && found == 1 ? "fits" : words[i]);
    separator = ", ";
  }
}

static void put_answer(page *p) {
  const uint64_t wanted = vs_reply_u64(p->reply, "run_count");
  vs_text *line = vs_sheet_begin(&p->sheet);
  if (p->run_count < wanted)
    vs_text_format(line,
                   vs_reply_bool(p->reply, "interrupted") ? "Interrupted: %U of " : "Incomplete: %U of ",
                   (uint64_t)p->run_count);
  vs_words_count(line, wanted, "run");
  vs_text_cstr(line, " on ");
  if (p->run_count == 0 || varies(p, "gpu") || varies(p, "ranks")) vs_text_cstr(line, "simulated GPUs");
  else vs_sheet_machine(&p->sheet);
  put_counts(p);
  vs_sheet_headline(&p->sheet, p->run_count < wanted      ? VS_STYLE_BAD
                               : count(p, FITS) == wanted ? VS_STYLE_GOOD
                                                          : VS_STYLE_TITLE);
}

/* ---- below the table */

/* What stands in the command line for a name: "--batch" of "batch". */
static void put_option(vs_text *line, vs_str name) {
  const vs_str prefix = VS_STR("flag:");
  if (vs_str_starts(name, prefix)) name = (vs_str){name.data + prefix.size, name.size - prefix.size};
  if (!vs_str_starts(name, VS_STR("-"))) vs_text_cstr(line, "--");
  vs_screen_safe(line, name);
}

static void put_added(page *p) {
  const vs_json axes = vs_reply_at(p->reply, "axes");
  const char *separator = "";
  vs_text *line = vs_sheet_begin(&p->sheet);
  for (size_t i = 0; i < vs_json_count(axes); i++) {
    const vs_json names = vs_reply_at(vs_json_at(axes, i), "names");
    for (size_t n = 0; n < vs_json_count(names); n++) {
      if (!vs_reply_bool(vs_json_at(names, n), "added")) continue;
      vs_text_cstr(line, separator);
      put_option(line, vs_reply_str(vs_json_at(names, n), "name"));
      separator = ", ";
    }
  }
  if (*separator == 0) return;
  vs_text_cstr(line, ": not in the command, so added at its end");
  put_note(p, "Added", VS_STYLE_TITLE);
}

static void put_values(page *p, vs_json run) {
  const vs_json settings = vs_reply_at(run, "settings");
  for (size_t i = 0; i < vs_json_count(settings); i++) {
    const vs_json value = vs_json_at(settings, i);
    if (i != 0) vs_text_cstr(&p->sheet.line, ", ");
    vs_screen_safe(&p->sheet.line, vs_json_name_at(settings, i));
    vs_text_byte(&p->sheet.line, '=');
    vs_screen_safe(&p->sheet.line, vs_json_str(value, VS_STR("")));
  }
}

/* The last line of a text; of one that was drawn over itself (a progress bar) what was drawn last. */
static vs_str last_line(vs_str text) {
  size_t begin = text.size;
  while (begin > 0 && text.data[begin - 1] != '\n' && text.data[begin - 1] != '\r') begin--;
  return (vs_str){text.data + begin, text.size - begin};
}

/* The runs that failed, but not for lack of memory, with the last line of their output. */
static void put_failed(page *p) {
  enum { MOST = 4 };
  const char *label = "Failed";
  size_t failed = 0;
  for (size_t i = 0; i < p->run_count; i++) {
    const vs_json run = vs_json_at(p->runs, i);
    if (end_of(run) != FAILED || failed++ >= MOST) continue;
    vs_text *line = vs_sheet_begin(&p->sheet);
    put_values(p, run);
    vs_text_format(line, ": exit status %D", vs_reply_i64(run, "exit_code"));
    if (vs_reply_knows(run, "output")) {
      vs_text_cstr(line, "; ");
      vs_screen_safe(line, last_line(vs_reply_str(run, "output")));
    }
    put_note(p, label, VS_STYLE_BAD);
    label = "";
  }
  if (failed <= MOST) return;
  vs_text_format(vs_sheet_begin(&p->sheet), "and %U more: see \"output\" of --json",
                 (uint64_t)(failed - MOST));
  put_note(p, "", VS_STYLE_PLAIN);
}

/* Of a search: why a larger value than the one found may fit. */
static void put_doubt(page *p) {
  if (!vs_largest_has_doubt(p->reply)) return;
  vs_largest_put_doubt(&p->sheet, p->reply);
  put_note(p, "Doubt", VS_STYLE_BAD);
}

static void put_why(page *p) {
  const vs_str why = vs_reply_str(p->reply, "why");
  if (why.size == 0 || vs_reply_bool(p->reply, "interrupted")) return;
  vs_screen_safe(vs_sheet_begin(&p->sheet), why);
  put_note(p, "Ended", VS_STYLE_BAD);
}

/* The run to look into: of a search the one that was found, else the first one that did not fit, or the first one. */
static vs_json run_to_show(const page *p) {
  const vs_json largest = vs_reply_at(vs_reply_at(p->reply, "answer"), "largest");
  for (size_t i = 0; p->is_search && !vs_reply_is_unknown(largest) && i < p->run_count; i++)
    if (vs_largest_value(p->reply, vs_json_at(p->runs, i)) == vs_json_u64(largest, 0))
      return vs_json_at(p->runs, i);
  for (size_t i = 0; i < p->run_count; i++)
    if (end_of(vs_json_at(p->runs, i)) != FITS) return vs_json_at(p->runs, i);
  return vs_json_at(p->runs, 0);
}

static void put_next(page *p) {
  const vs_json run = run_to_show(p), words = vs_reply_at(run, "alone");
  vs_text *line = vs_sheet_begin(&p->sheet);
  vs_text_byte(&p->sheet.screen->text, '\n');
  vs_screen_styled(p->sheet.screen, VS_STYLE_TITLE, VS_STR("Next: "));
  vs_text_cstr(line, "the report of one of these runs");
  for (size_t i = 0; i < vs_json_count(words); i++) {
    vs_text_cstr(line, i == 0 ? "\n  " : " ");
    vs_words_shell(line, vs_json_str(vs_json_at(words, i), VS_STR("")));
  }
  vs_text_str(&p->sheet.screen->text, vs_text_view(line));
  vs_text_byte(&p->sheet.screen->text, '\n');
}

void vs_dryrun_put_table(vs_screen *screen, vs_json reply, bool shows_next) {
  page p = {.reply = reply, .runs = vs_reply_at(reply, "runs")};
  columns all = {.count = 0};
  p.run_count = vs_json_count(p.runs);
  p.is_search = vs_largest_is(reply);
  sort_runs(&p);
  vs_sheet_init(&p.sheet, screen, vs_reply_at(vs_json_at(p.runs, 0), "reply"));
  if (p.is_search) vs_largest_put_headline(&p.sheet, reply);
  else put_answer(&p);
  if (p.run_count != 0) {
    vs_text_byte(&screen->text, '\n');
    add_all(&p, &all);
    set_widths(&p, &all);
    const size_t left = narrow(&p, &all);
    put_rows(&p, &all);
    if (left != 0) put_left(&p, &all);
    if (p.is_search) put_doubt(&p);
    put_added(&p);
    put_failed(&p);
  }
  put_why(&p);
  if (p.run_count != 0 && shows_next) put_next(&p);
  vs_sheet_deinit(&p.sheet);
}
