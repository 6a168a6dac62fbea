#include "faces/cli/diff_ranks.h"
#include "base/check.h"
#include "diff/job_diff.h"
#include "diff/rank_names.h"
#include "faces/cli/diff_csv.h"
#include "faces/cli/diff_options.h"
#include "faces/cli/diff_words.h"
#include "faces/cli/rank_files.h"
#include "faces/cli/rank_words.h"
#include "faces/cli/words.h"

enum { NAME = 24 };

typedef struct reading {
  vs_cli *cli;
  vs_rank_files sides[2];
  VS_VEC(uint32_t)
  mates; /* by file before: the one after, or VS_RANK_ALONE; of the pairs once the others were left out */
  vs_text at[2]; /* the parameter of the moment; empty: not given */
  vs_job_diff job;
  bool has_failed;
} reading;

/* ---- pairing */

static const char *mate_of(const reading *r, size_t pair) {
  return vs_rank_files_at(&r->sides[1], r->mates.data[pair]);
}

static vs_status pair_names(reading *r) {
  const vs_host *host = r->cli->host;
  VS_VEC(vs_str) names[2] = {{0}, {0}};
  vs_status status = VS_OK;
  for (size_t side = 0; side < 2 && status == VS_OK; side++) {
    const size_t count = vs_rank_files_count(&r->sides[side]);
    status = vs_vec_reserve(host, &names[side], count);
    for (size_t i = 0; i < count && status == VS_OK; i++)
      names[side].data[names[side].count++] = vs_str_from(vs_rank_files_at(&r->sides[side], i));
  }
  if (status == VS_OK) status = vs_vec_reserve(host, &r->mates, names[0].count);
  if (status == VS_OK)
    status =
        vs_rank_names_pair(host, names[0].data, names[0].count, names[1].data, names[1].count, r->mates.data);
  if (status == VS_OK) r->mates.count = names[0].count;
  for (size_t side = 0; side < 2; side++) vs_vec_free(host, &names[side]);
  return status;
}

static bool has_mate(const reading *r, size_t after) {
  for (size_t i = 0; i < r->mates.count; i++)
    if (r->mates.data[i] == after) return true;
  return false;
}

/* Names the files without a partner, and leaves the pairs. */
static vs_status leave_pairs(reading *r) {
  size_t pairs = 0;
  for (size_t i = 0; i < vs_rank_files_count(&r->sides[1]); i++)
    if (!has_mate(r, i))
      VS_TRY(vs_job_diff_add_alone(&r->job, 1, vs_str_from(vs_rank_files_at(&r->sides[1], i))));
  for (size_t i = 0; i < r->mates.count; i++) {
    if (r->mates.data[i] == VS_RANK_ALONE) {
      VS_TRY(vs_job_diff_add_alone(&r->job, 0, vs_str_from(vs_rank_files_at(&r->sides[0], i))));
      continue;
    }
    r->mates.data[pairs] = r->mates.data[i];
    vs_rank_files_move(&r->sides[0], i, pairs++);
  }
  r->mates.count = pairs;
  vs_rank_files_cut(&r->sides[0], pairs);
  return VS_OK;
}

/* ---- reading the pairs */

enum { BEFORE, AFTER };

static vs_status ask_side(const reading *r, vs_engine *engine, unsigned side, vs_rank_replies *replies,
                          vs_error *error) {
  vs_text at;
  vs_text_init(&at, r->cli->host, NULL);
  vs_text_str(&at, vs_text_view(&r->at[side]));
  vs_text_byte(&at, 0);
  vs_status status = at.status;
  if (status == VS_OK) status = vs_cli_ask_rank(r->cli, engine, "inventory", at.bytes.data, replies, error);
  vs_text_deinit(&at);
  return status;
}

/* The failure of a file names it, because there are two. */
static vs_status name_failure(vs_status status, const char *name, vs_error *error) {
  char sentence[sizeof error->text];
  memcpy(sentence, error->text, sizeof sentence);
  if (status == VS_OK || status == VS_NO_MEMORY) return status;
  return vs_fail(error, status, VS_NO_OFFSET, "%s: %s", name,
                 error->status == VS_OK ? vs_status_text(status) : sentence);
}

static vs_status ask_after(const reading *r, const char *name, vs_rank_replies *replies, vs_error *error) {
  const vs_intake intake = {.name = vs_str_from(name)};
  vs_engine *engine = NULL;
  vs_status status = vs_intake_open(r->cli->host, &intake, name, &engine, error);
  if (status == VS_OK) status = ask_side(r, engine, AFTER, replies, error);
  vs_engine_destroy(engine);
  return name_failure(status, name, error);
}

static vs_status ask(const void *ctx, size_t number, const char *name, vs_engine *engine,
                     vs_rank_replies *replies, vs_error *error) {
  const reading *r = ctx;
  VS_TRY(name_failure(ask_side(r, engine, BEFORE, replies, error), name, error));
  return ask_after(r, mate_of(r, number), replies, error);
}

static vs_status take(void *ctx, size_t number, const char *name, const vs_rank_replies *replies,
                      vs_engine **engine, vs_error *error) {
  reading *r = ctx;
  (void)engine;
  return vs_job_diff_add(&r->job, vs_str_from(name), vs_str_from(mate_of(r, number)),
                         vs_rank_reply(replies, BEFORE), vs_rank_reply(replies, AFTER), error);
}

/* A failure behind the opening names its file itself, because there are two. */
static vs_status fail(void *ctx, size_t number, const char *name, bool was_asked, const char *why) {
  reading *r = ctx;
  vs_text sentence;
  vs_text_init(&sentence, r->cli->host, NULL);
  if (!was_asked) vs_text_format(&sentence, "%S: ", vs_str_from(name));
  vs_text_cstr(&sentence, why);
  r->has_failed = true;
  vs_status status = sentence.status;
  if (status == VS_OK)
    status = vs_job_diff_add_failed(&r->job, vs_str_from(name), vs_str_from(mate_of(r, number)),
                                    vs_text_view(&sentence));
  vs_text_deinit(&sentence);
  return status;
}

/* ---- text for a terminal */

static bool have_numbers(vs_json reply) { return vs_reply_bool(reply, "named_by_rank"); }

static void put_name(const vs_screen *screen, vs_text *cell, vs_json reply, vs_json pair) {
  vs_text shown;
  if (have_numbers(reply)) {
    vs_text_u64(cell, vs_reply_u64(pair, "rank"));
    return;
  }
  vs_scratch_init(&shown, screen);
  vs_screen_safe(&shown, vs_json_str(vs_json_at(vs_reply_at(pair, "files"), 0), VS_STR("")));
  vs_screen_fit_end(cell, vs_text_view(&shown), NAME);
  vs_text_deinit(&shown);
}

static const char *const peaks[2][2] = {{"peak_allocated_bytes", "peak_allocated_delta_bytes"},
                                        {"peak_reserved_bytes", "peak_reserved_delta_bytes"}};

static bool was_compared(vs_json pair) { return !vs_reply_knows(pair, "error"); }

/* The largest group is what is usual, unless no two changed alike; the others are marked. */
static bool is_odd(vs_json reply, vs_json pair) {
  const vs_json usual = vs_json_at(vs_reply_at(reply, "groups"), 0);
  return vs_json_count(usual) > 1 && vs_reply_u64(pair, "same_as") != vs_json_u64(vs_json_at(usual, 0), 0);
}

static void put_pair(vs_table *table, vs_json reply, vs_json pair) {
  const vs_screen *screen = table->screen;
  put_name(screen, vs_table_cell(table), reply, pair);
  for (size_t i = 0; i < 2; i++) {
    vs_words_bytes(screen, vs_table_cell(table), vs_reply_at(vs_reply_at(pair, "a"), peaks[i][0]));
    vs_words_bytes(screen, vs_table_cell(table), vs_reply_at(vs_reply_at(pair, "b"), peaks[i][0]));
    vs_text *cell = vs_table_cell(table);
    if (was_compared(pair)) vs_diff_words_change(screen, cell, vs_reply_i64(pair, peaks[i][1]));
    else vs_text_byte(cell, '-');
  }
  vs_text_cstr(vs_table_cell(table), !was_compared(pair) ? "not read" : is_odd(reply, pair) ? "odd" : "");
}

/* Of many pairs those that are odd or were not read first. */
static bool is_shown_first(vs_json reply, vs_json pair) { return !was_compared(pair) || is_odd(reply, pair); }

static void put_pairs(vs_cli *cli, vs_json reply) {
  const vs_json pairs = vs_reply_at(reply, "pairs");
  const uint64_t count = vs_json_count(pairs), top = vs_words_top(cli, VS_DIFF_WORDS_ROWS);
  const vs_column columns[] = {
      {have_numbers(reply) ? "\nrank" : "\nfile", have_numbers(reply) ? VS_COLUMN_RIGHT : VS_COLUMN_LEFT},
      {"allocated\nbefore", VS_COLUMN_RIGHT},
      {"\nafter", VS_COLUMN_RIGHT},
      {"\nchange", VS_COLUMN_RIGHT},
      {"reserved\nbefore", VS_COLUMN_RIGHT},
      {"\nafter", VS_COLUMN_RIGHT},
      {"\nchange", VS_COLUMN_RIGHT},
      {"", VS_COLUMN_LEFT}};
  vs_table table;
  uint64_t shown = 0;
  vs_text_byte(&cli->screen.text, '\n');
  vs_table_begin(&table, &cli->screen, 2, columns, sizeof columns / sizeof *columns);
  const bool are_all_shown = count <= top;
  for (unsigned round = are_all_shown ? 1 : 0; round < 2; round++)
    for (size_t i = 0; i < count && shown < top; i++) {
      const vs_json pair = vs_json_at(pairs, i);
      if (!are_all_shown && is_shown_first(reply, pair) != (round == 0)) continue;
      put_pair(&table, reply, pair);
      shown++;
    }
  vs_table_put(&table);
  if (count > shown)
    vs_text_format(&cli->screen.text, "  and %U more: see them with --top 0\n", count - shown);
}

static void put_failures(vs_screen *screen, vs_json pairs) {
  for (size_t i = 0; i < vs_json_count(pairs); i++) {
    const vs_json pair = vs_json_at(pairs, i);
    if (was_compared(pair)) continue;
    vs_text_cstr(&screen->text, "  ");
    vs_screen_safe(&screen->text, vs_reply_str(pair, "error"));
    vs_text_byte(&screen->text, '\n');
  }
}

static void put_title(vs_cli *cli, vs_json reply) {
  const vs_json pairs = vs_reply_at(reply, "pairs");
  vs_text title;
  vs_scratch_init(&title, &cli->screen);
  vs_screen_safe(&title, vs_str_from(cli->line->arguments[0]));
  vs_text_cstr(&title, cli->screen.has_unicode ? " → " : " -> ");
  vs_screen_safe(&title, vs_str_from(cli->line->arguments[1]));
  vs_text_cstr(&title, ", ");
  vs_text_counted(&title, vs_json_count(pairs), "rank");
  vs_text_format(&title, ", at %s, by %S\n\n",
                 vs_cli_has(cli, VS_OPTION_AT_EACH) ? cli->line->values[VS_OPTION_AT_EACH] : "peak",
                 vs_reply_str(reply, "by"));
  vs_screen_styled(&cli->screen, VS_STYLE_TITLE, vs_text_view(&title));
  vs_text_deinit(&title);
}

/* "Rank 3, which changed most" */
static void put_most_title(vs_text *title, vs_json reply, vs_json most) {
  vs_text_cstr(title, have_numbers(reply) ? "Rank " : "");
  if (have_numbers(reply)) vs_text_u64(title, vs_reply_u64(most, "rank"));
  else vs_screen_safe(title, vs_json_str(vs_json_at(vs_reply_at(most, "files"), 0), VS_STR("")));
  const bool is_alike = vs_json_count(vs_reply_at(reply, "groups")) == 1;
  const bool is_only = vs_json_count(vs_reply_at(reply, "pairs")) == 1;
  vs_text_cstr(title, is_only ? "" : is_alike ? "; the others changed alike" : ", which changed most");
}

static void put_text(vs_cli *cli, vs_json reply) {
  const vs_json most = vs_json_at(vs_reply_at(reply, "pairs"), (size_t)vs_reply_u64(reply, "most"));
  put_title(cli, reply);
  vs_words_lines(&cli->screen, vs_reply_at(reply, "lines"));
  put_pairs(cli, reply);
  put_failures(&cli->screen, vs_reply_at(reply, "pairs"));
  if (!vs_reply_knows(reply, "most")) return;
  vs_text title;
  vs_scratch_init(&title, &cli->screen);
  vs_text_byte(&title, '\n');
  put_most_title(&title, reply, most);
  vs_screen_styled(&cli->screen, VS_STYLE_TITLE, vs_text_view(&title));
  vs_text_deinit(&title);
  vs_diff_words_rows(cli, vs_reply_at(most, "rows"), vs_reply_u64(most, "changed_rows"));
}

/* ---- Markdown, for a pull request */

static void put_markdown_pair(vs_cli *cli, vs_json reply, vs_json pair) {
  vs_text *text = &cli->screen.text;
  vs_text_cstr(text, "| ");
  put_name(&cli->screen, text, reply, pair);
  for (size_t i = 0; i < 2; i++) {
    vs_text_cstr(text, " | ");
    vs_words_bytes(&cli->screen, text, vs_reply_at(vs_reply_at(pair, "a"), peaks[i][0]));
    vs_text_cstr(text, " | ");
    vs_words_bytes(&cli->screen, text, vs_reply_at(vs_reply_at(pair, "b"), peaks[i][0]));
    vs_text_cstr(text, " | ");
    if (was_compared(pair)) vs_diff_words_change(&cli->screen, text, vs_reply_i64(pair, peaks[i][1]));
    else vs_text_cstr(text, "not read");
  }
  vs_text_cstr(text, " |\n");
}

static void put_markdown(vs_cli *cli, vs_json reply) {
  const vs_json pairs = vs_reply_at(reply, "pairs"),
                most = vs_json_at(pairs, (size_t)vs_reply_u64(reply, "most"));
  const uint64_t count = vs_json_count(pairs),
                 shown = vs_min_u64(count, vs_words_top(cli, VS_DIFF_WORDS_ROWS));
  vs_text *text = &cli->screen.text;
  vs_text_format(text, "### GPU memory of %U rank%s\n\n", count, count == 1 ? "" : "s");
  vs_diff_words_markdown_lines(cli, vs_reply_at(reply, "lines"));
  vs_text_format(text,
                 "\n| %s | allocated before | after | change | reserved before | after | change |\n"
                 "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
                 have_numbers(reply) ? "rank" : "file");
  for (size_t i = 0; i < shown; i++) put_markdown_pair(cli, reply, vs_json_at(pairs, i));
  if (count > shown) vs_text_format(text, "\nand %U more\n", count - shown);
  if (!vs_reply_knows(reply, "most")) return;
  vs_text_cstr(text, "\n#### ");
  put_most_title(text, reply, most);
  vs_text_byte(text, '\n');
  vs_diff_words_markdown_rows(cli, vs_reply_at(most, "rows"), vs_reply_str(reply, "by"),
                              vs_reply_u64(most, "changed_rows"));
}

/* ---- CSV, for a database */

static void put_csv(vs_cli *cli, vs_json reply) {
  const vs_json pairs = vs_reply_at(reply, "pairs");
  vs_csv csv;
  vs_diff_csv_begin(&csv, &cli->screen.text);
  for (size_t i = 0; i < vs_json_count(pairs); i++) {
    const vs_json pair = vs_json_at(pairs, i), files = vs_reply_at(pair, "files");
    const vs_diff_csv_pair row = {.rank = vs_reply_at(pair, "rank"),
                                  .files = {vs_json_str(vs_json_at(files, 0), VS_STR("")),
                                            vs_json_str(vs_json_at(files, 1), VS_STR(""))},
                                  .rows = vs_reply_at(pair, "rows"),
                                  .error = vs_reply_at(pair, "error")};
    vs_diff_csv_put(&csv, &row);
  }
}

/* ---- the command */

static vs_exit put_reply(vs_cli *cli, const vs_text *reply) {
  vs_json_doc document;
  vs_error error;
  if (vs_cli_has(cli, VS_OPTION_JSON)) {
    vs_text_str(&cli->screen.text, vs_text_view(reply));
    vs_text_byte(&cli->screen.text, '\n');
    return VS_EXIT_OK;
  }
  if (vs_json_doc_init(&document, cli->host, vs_text_view(reply), &error) != VS_OK)
    return vs_print_error(VS_STR(""), &error);
  if (vs_cli_has(cli, VS_OPTION_MARKDOWN)) put_markdown(cli, vs_json_root(&document));
  else if (vs_cli_has(cli, VS_OPTION_CSV)) put_csv(cli, vs_json_root(&document));
  else put_text(cli, vs_json_root(&document));
  vs_json_doc_deinit(&document);
  return VS_EXIT_OK;
}

static vs_exit say(vs_status status, const char *sentence, const char *subject) {
  vs_error error;
  vs_fail(&error, status, VS_NO_OFFSET, "%s", sentence);
  return vs_print_error(vs_str_from(subject), &error);
}

static vs_exit answer(reading *r) {
  const vs_rank_reader reader = {.ctx = r, .ask = ask, .take = take, .fail = fail};
  vs_text reply;
  vs_text_init(&reply, r->cli->host, NULL);
  vs_status status = vs_cli_read_ranks(r->cli, &r->sides[0], &reader);
  if (status == VS_OK) status = vs_job_diff_put(&r->job, &reply);
  const vs_exit code = status == VS_OK ? put_reply(r->cli, &reply) : say(status, vs_status_text(status), "");
  vs_text_deinit(&reply);
  if (r->has_failed) r->cli->program_exit = VS_EXIT_FILE; /* the answer about the others is shown */
  return code;
}

/* `"at": "peak", `, as vs_cli_ask_rank takes it. */
static void put_moment(reading *r, unsigned side) {
  vs_text scratch;
  vs_text_init(&scratch, r->cli->host, NULL);
  const char *at = vs_diff_moment_of(r->cli, &scratch, side);
  if (at != NULL) {
    vs_jsonw json;
    vs_text_cstr(&r->at[side], "\"at\": ");
    vs_jsonw_begin(&json, &r->at[side], 0);
    vs_jsonw_str(&json, vs_str_from(at));
    vs_jsonw_end(&json);
    vs_text_cstr(&r->at[side], ", ");
  }
  if (r->at[side].status == VS_OK) r->at[side].status = scratch.status;
  vs_text_deinit(&scratch);
}

static vs_exit pair_and_answer(reading *r) {
  vs_status status = pair_names(r);
  if (status == VS_OK) status = leave_pairs(r);
  for (unsigned side = 0; side < 2; side++) put_moment(r, side);
  if (status != VS_OK) return say(status, vs_status_text(status), "");
  if (r->mates.count == 0)
    return say(VS_IO,
               "no file has the rank of one in the other folder; files are paired by the numbers of the "
               "ranks in their names",
               r->cli->line->arguments[0]);
  return answer(r);
}

static vs_exit open_and_answer(reading *r) {
  const bool has_all = vs_cli_has(r->cli, VS_OPTION_JSON) || vs_cli_has(r->cli, VS_OPTION_CSV);
  const vs_job_diff_options options = {.by = vs_diff_by_of(r->cli),
                                       .unit = r->cli->screen.unit,
                                       .most =
                                           has_all ? UINT64_MAX : vs_words_top(r->cli, VS_DIFF_WORDS_ROWS)};
  if (vs_job_diff_init(&r->job, r->cli->host, options) != VS_OK) return VS_EXIT_NO_MEMORY;
  for (size_t side = 0; side < 2; side++) vs_text_init(&r->at[side], r->cli->host, NULL);
  const vs_exit code = pair_and_answer(r);
  for (size_t side = 0; side < 2; side++) vs_text_deinit(&r->at[side]);
  vs_vec_free(r->cli->host, &r->mates);
  vs_job_diff_deinit(&r->job);
  return code;
}

vs_exit vs_cli_diff_ranks(vs_cli *cli) {
  reading r = {.cli = cli};
  vs_exit code = vs_cli_list_ranks(cli, &cli->line->arguments[0], 1, &r.sides[0]);
  if (code == VS_EXIT_OK) {
    code = vs_cli_list_ranks(cli, &cli->line->arguments[1], 1, &r.sides[1]);
    if (code == VS_EXIT_OK) code = open_and_answer(&r);
    vs_rank_files_deinit(&r.sides[1]);
  }
  vs_rank_files_deinit(&r.sides[0]);
  return code;
}
