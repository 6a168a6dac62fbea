#include "faces/cli/ranks.h"
#include "base/check.h"
#include "codec/csv_writer.h"
#include "diff/job.h"
#include "faces/cli/diff_words.h"
#include "faces/cli/rank_files.h"
#include "faces/cli/rank_words.h"
#include "faces/cli/words.h"

enum { ROWS = 20, OWNERS = 5, ODD_SHOWN = 3 };

/* ---- reading the files */

typedef struct reading {
  vs_cli *cli;
  vs_job job;
  bool has_failed;
} reading;

enum { INVENTORY, REPORT };

static vs_status ask(const void *ctx, size_t number, const char *name, vs_engine *engine,
                     vs_rank_replies *replies, vs_error *error) {
  const reading *r = ctx;
  (void)number, (void)name;
  VS_TRY(vs_cli_ask_rank(r->cli, engine, "inventory", "", replies, error));
  return vs_cli_ask_rank(r->cli, engine, "report", "\"top\": 1, ", replies, error);
}

static vs_status take(void *ctx, size_t number, const char *name, const vs_rank_replies *replies,
                      vs_engine **engine, vs_error *error) {
  reading *r = ctx;
  (void)number, (void)engine, (void)error;
  return vs_job_add(&r->job, vs_str_from(name), vs_rank_reply(replies, INVENTORY),
                    vs_rank_reply(replies, REPORT));
}

static vs_status fail(void *ctx, size_t number, const char *name, bool was_asked, const char *why) {
  reading *r = ctx;
  (void)number, (void)was_asked;
  r->has_failed = true;
  return vs_job_add_failed(&r->job, vs_str_from(name), vs_str_from(why));
}

/* ---- the table */

static void put_file(const reading *r, vs_table *table, vs_json file, bool is_odd) {
  const vs_screen *screen = &r->cli->screen;
  static const char *const keys[] = {"peak_allocated_bytes", "peak_reserved_bytes", "growth_bytes_per_step"};
  vs_screen_safe(vs_table_cell(table), vs_reply_str(file, "name"));
  if (vs_reply_knows(file, "error")) {
    for (size_t i = 0; i < 5; i++) vs_text_byte(vs_table_cell(table), '-');
    vs_text_cstr(vs_table_cell(table), "not read");
    return;
  }
  for (size_t i = 0; i < 3; i++) vs_words_bytes(screen, vs_table_cell(table), vs_reply_at(file, keys[i]));
  vs_text_u64(vs_table_cell(table), vs_reply_u64(file, "ooms"));
  vs_diff_words_change(screen, vs_table_cell(table), vs_reply_i64(file, "delta_bytes"));
  vs_text_cstr(vs_table_cell(table), is_odd ? "differs" : "");
}

static bool is_odd(vs_json file) { return vs_reply_u64(file, "differing_bytes") != 0; }

/* The odd ranks, then those that were not read, then the others, each in their order. */
static void put_table(const reading *r, vs_json reply) {
  static const vs_column columns[] = {{"file", VS_COLUMN_LEFT},      {"allocated", VS_COLUMN_RIGHT},
                                      {"reserved", VS_COLUMN_RIGHT}, {"growth\na step", VS_COLUMN_RIGHT},
                                      {"ooms", VS_COLUMN_RIGHT},     {"against\nthe median", VS_COLUMN_RIGHT},
                                      {"", VS_COLUMN_LEFT}};
  const vs_json files = vs_reply_at(reply, "files"), odd = vs_reply_at(reply, "odd");
  const size_t count = vs_json_count(files);
  const uint64_t top = vs_words_top(r->cli, ROWS);
  uint64_t shown = 0;
  vs_table table;
  vs_text_byte(&r->cli->screen.text, '\n');
  vs_table_begin(&table, &r->cli->screen, 2, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < vs_json_count(odd) && shown < top; i++, shown++)
    put_file(r, &table, vs_json_at(files, (size_t)vs_json_u64(vs_json_at(odd, i), 0)), true);
  for (unsigned failed = 2; failed-- > 0;)
    for (size_t i = 0; i < count && shown < top; i++) {
      const vs_json file = vs_json_at(files, i);
      if (is_odd(file) || vs_reply_knows(file, "error") != (failed == 1)) continue;
      put_file(r, &table, file, false);
      shown++;
    }
  vs_table_put(&table);
  if (count > shown)
    vs_text_format(&r->cli->screen.text, "  and %U more: see them with --top 0\n", (uint64_t)count - shown);
}

/* Why a rank is odd: the owners in which it differs from the median one. */
static void put_owners(const reading *r, vs_json file, uint64_t others) {
  vs_screen *screen = &r->cli->screen;
  vs_text title;
  vs_scratch_init(&title, screen);
  vs_text_byte(&title, '\n');
  vs_screen_safe(&title, vs_reply_str(file, "name"));
  if (others != 0) vs_text_format(&title, " and %U more", others);
  vs_text_format(&title, ": how %s from the median rank's\n",
                 others == 0 ? "its peak differs" : "their peaks differ");
  vs_screen_styled(screen, VS_STYLE_TITLE, vs_text_view(&title));
  vs_text_deinit(&title);
  vs_rank_words_rows(screen, vs_reply_at(file, "rows"));
}

/* How many more of the odd ranks have the same inventory. */
static uint64_t others_like(vs_json files, vs_json odd, uint64_t number) {
  uint64_t count = 0;
  for (size_t i = 0; i < vs_json_count(odd); i++)
    count += vs_reply_u64(vs_json_at(files, (size_t)vs_json_u64(vs_json_at(odd, i), 0)), "same_as") == number;
  return count - 1;
}

static void put_text(const reading *r, vs_json reply) {
  const vs_json files = vs_reply_at(reply, "files"), odd = vs_reply_at(reply, "odd");
  vs_words_lines(&r->cli->screen, vs_reply_at(reply, "lines"));
  for (size_t i = 0, shown = 0; i < vs_json_count(odd) && shown < ODD_SHOWN; i++) {
    const uint64_t number = vs_json_u64(vs_json_at(odd, i), 0);
    const vs_json file = vs_json_at(files, (size_t)number);
    if (vs_reply_u64(file, "same_as") != number) continue;
    put_owners(r, file, others_like(files, odd, number));
    shown++;
  }
  put_table(r, reply);
  vs_rank_words_failures(&r->cli->screen, files);
}

/* ---- CSV */

static void put_csv(const reading *r, vs_json reply) {
  static const char *const keys[] = {
      "peak_allocated_bytes", "peak_requested_bytes", "peak_reserved_bytes", "growth_bytes_per_step", "ooms",
      "delta_bytes",          "differing_bytes"};
  enum { KEYS = sizeof keys / sizeof *keys };
  const vs_json files = vs_reply_at(reply, "files");
  vs_csv csv;
  vs_csv_begin(&csv, &r->cli->screen.text);
  vs_csv_str(&csv, VS_STR("file"));
  for (size_t i = 0; i < KEYS; i++) vs_csv_str(&csv, vs_str_from(keys[i]));
  vs_csv_str(&csv, VS_STR("error"));
  vs_csv_row_end(&csv);
  for (size_t i = 0; i < vs_json_count(files); i++) {
    const vs_json file = vs_json_at(files, i);
    vs_csv_str(&csv, vs_reply_str(file, "name"));
    for (size_t k = 0; k < KEYS; k++) {
      if (vs_reply_knows(file, keys[k])) vs_csv_i64(&csv, vs_reply_i64(file, keys[k]));
      else vs_csv_unknown(&csv);
    }
    if (vs_reply_knows(file, "error")) vs_csv_str(&csv, vs_reply_str(file, "error"));
    else vs_csv_unknown(&csv);
    vs_csv_row_end(&csv);
  }
}

/* ---- the command */

static vs_exit put_reply(const reading *r, const vs_text *reply) {
  vs_json_doc document;
  vs_error error;
  if (vs_cli_has(r->cli, VS_OPTION_JSON)) {
    vs_text_str(&r->cli->screen.text, vs_text_view(reply));
    vs_text_byte(&r->cli->screen.text, '\n');
    return VS_EXIT_OK;
  }
  if (vs_json_doc_init(&document, r->cli->host, vs_text_view(reply), &error) != VS_OK)
    return vs_print_error(VS_STR(""), &error);
  if (vs_cli_has(r->cli, VS_OPTION_CSV)) put_csv(r, vs_json_root(&document));
  else put_text(r, vs_json_root(&document));
  vs_json_doc_deinit(&document);
  return VS_EXIT_OK;
}

static vs_exit answer(reading *r, const vs_rank_files *files) {
  const vs_rank_reader reader = {.ctx = r, .ask = ask, .take = take, .fail = fail};
  vs_text reply;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_job_options options = {.top = vs_cli_has(r->cli, VS_OPTION_JSON) ? 0 : OWNERS,
                                  .unit = r->cli->screen.unit};
  vs_text_init(&reply, r->cli->host, NULL);
  vs_status status = vs_cli_read_ranks(r->cli, files, &reader);
  if (status == VS_OK) status = vs_job_put(&r->job, options, &reply, &error);
  vs_exit code = VS_EXIT_OK;
  if (status == VS_OK) {
    code = put_reply(r, &reply);
  } else {
    if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
    code = vs_print_error(VS_STR(""), &error);
  }
  vs_text_deinit(&reply);
  if (r->has_failed) r->cli->program_exit = VS_EXIT_FILE; /* the answer about the others is shown */
  return code;
}

vs_exit vs_cli_ranks(vs_cli *cli) {
  reading r = {.cli = cli};
  vs_rank_files files;
  vs_exit code = vs_cli_list_ranks(cli, cli->line->arguments, cli->line->argument_count, &files);
  if (code == VS_EXIT_OK) code = vs_job_init(&r.job, cli->host) == VS_OK ? VS_EXIT_OK : VS_EXIT_NO_MEMORY;
  if (code == VS_EXIT_OK) {
    code = answer(&r, &files);
    vs_job_deinit(&r.job);
  }
  vs_rank_files_deinit(&files);
  return code;
}
