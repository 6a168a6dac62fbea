#include "faces/cli/oom_ranks.h"
#include "base/check.h"
#include "codec/csv_writer.h"
#include "diff/job_oom.h"
#include "faces/cli/post_mortem.h"
#include "faces/cli/rank_files.h"
#include "faces/cli/rank_words.h"
#include "faces/cli/words.h"
#include "os/infile.h"

enum { ROWS = 20, OWNERS = 5, NAME = 24 };

/* ---- reading the files */

typedef struct reading {
  vs_cli *cli;
  vs_rank_files files;
  vs_job_oom job;
  VS_VEC(vs_engine *)
  kept; /* by file: the engine of one that ran out of memory and cannot be read twice; else NULL */
  bool has_failed;
} reading;

static vs_status keep(reading *r, const char *name, vs_json oom, vs_engine **engine) {
  VS_TRY(vs_vec_reserve(r->cli->host, &r->kept, 1));
  const bool is_kept = vs_job_oom_moment(oom) >= 0 && !vs_infile_is_regular(name);
  r->kept.data[r->kept.count++] = is_kept ? *engine : NULL;
  if (is_kept) *engine = NULL;
  return VS_OK;
}

enum { OOM, INVENTORY };

/* The inventory is that of the moment of the error. */
static vs_status ask(const void *ctx, size_t number, const char *name, vs_engine *engine,
                     vs_rank_replies *replies, vs_error *error) {
  const reading *r = ctx;
  char at[40] = "";
  (void)number, (void)name;
  VS_TRY(vs_cli_ask_rank(r->cli, engine, "oom", "\"remedies\": false, \"top\": 1, ", replies, error));
  const int64_t event = vs_job_oom_moment(vs_rank_reply(replies, OOM));
  if (event >= 0) vs_format(at, sizeof at, "\"at\": %D, ", event);
  return vs_cli_ask_rank(r->cli, engine, "inventory", at, replies, error);
}

static vs_status take(void *ctx, size_t number, const char *name, const vs_rank_replies *replies,
                      vs_engine **engine, vs_error *error) {
  reading *r = ctx;
  const vs_json oom = vs_rank_reply(replies, OOM);
  (void)number, (void)error;
  VS_TRY(vs_job_oom_add(&r->job, vs_str_from(name), vs_rank_reply(replies, INVENTORY), oom));
  return keep(r, name, oom, engine);
}

static vs_status fail(void *ctx, size_t number, const char *name, bool was_asked, const char *why) {
  reading *r = ctx;
  (void)number, (void)was_asked;
  r->has_failed = true;
  VS_TRY(vs_vec_reserve(r->cli->host, &r->kept, 1));
  r->kept.data[r->kept.count++] = NULL;
  return vs_job_oom_add_failed(&r->job, vs_str_from(name), vs_str_from(why));
}

/* ---- the table of those that ran out of memory */

static void put_rank(const reading *r, vs_table *table, vs_json file, bool have_numbers) {
  vs_text *cell = vs_table_cell(table), shown;
  if (have_numbers) {
    vs_text_u64(cell, vs_reply_u64(file, "rank"));
    return;
  }
  vs_scratch_init(&shown, &r->cli->screen);
  vs_screen_safe(&shown, vs_client_shown_name(vs_reply_str(file, "name")));
  vs_screen_fit_end(cell, vs_text_view(&shown), NAME);
  vs_text_deinit(&shown);
}

static void put_device(vs_table *table, vs_json file) {
  if (vs_reply_knows(file, "device"))
    vs_text_format(vs_table_cell(table), "%D", vs_reply_i64(file, "device"));
  else vs_text_byte(vs_table_cell(table), '-');
}

/* How long after the first one. */
static void put_after(vs_text *cell, uint64_t after_us, bool is_first) {
  if (is_first) {
    vs_text_cstr(cell, "first");
    return;
  }
  vs_text_byte(cell, '+');
  vs_text_duration(cell, after_us);
}

static void put_failed(const reading *r, vs_table *table, vs_json file, bool have_numbers, bool is_ordered,
                       bool is_first) {
  const vs_screen *screen = &r->cli->screen;
  const vs_json oom = vs_json_at(vs_reply_at(file, "ooms"), 0);
  put_rank(r, table, file, have_numbers);
  put_device(table, file);
  if (is_ordered) put_after(vs_table_cell(table), vs_reply_u64(file, "after_us"), is_first);
  vs_words_bytes(screen, vs_table_cell(table), vs_reply_at(oom, "requested_bytes"));
  vs_words_bytes(screen, vs_table_cell(table), vs_reply_at(oom, "short_bytes"));
  vs_screen_safe(vs_table_cell(table), vs_reply_str(oom, "cause"));
  vs_words_label_cell(table, oom);
}

static void put_more(vs_screen *screen, uint64_t count, uint64_t shown) {
  if (count > shown) vs_text_format(&screen->text, "  and %U more: see them with --top 0\n", count - shown);
}

static void put_failed_table(const reading *r, vs_json reply, bool have_numbers) {
  const vs_json files = vs_reply_at(reply, "files"), failed = vs_reply_at(reply, "failed");
  const uint64_t count = vs_json_count(failed), shown = vs_min_u64(count, vs_words_top(r->cli, ROWS));
  const bool is_ordered = vs_reply_knows(reply, "first") && count > 1;
  vs_column columns[7] = {{have_numbers ? "rank" : "file", have_numbers ? VS_COLUMN_RIGHT : VS_COLUMN_LEFT},
                          {"GPU", VS_COLUMN_RIGHT}};
  size_t next = 2;
  if (is_ordered) columns[next++] = (vs_column){"when", VS_COLUMN_RIGHT};
  columns[next++] = (vs_column){"requested", VS_COLUMN_RIGHT};
  columns[next++] = (vs_column){"short by", VS_COLUMN_RIGHT};
  columns[next++] = (vs_column){"cause", VS_COLUMN_LEFT};
  columns[next++] = (vs_column){"failed at", VS_COLUMN_NAME};
  if (count == 0) return;
  vs_table table;
  vs_text_byte(&r->cli->screen.text, '\n');
  vs_table_begin(&table, &r->cli->screen, 2, columns, next);
  for (uint64_t i = 0; i < shown; i++)
    put_failed(r, &table, vs_json_at(files, (size_t)vs_json_u64(vs_json_at(failed, i), 0)), have_numbers,
               is_ordered, i == 0);
  vs_table_put(&table);
  put_more(&r->cli->screen, count, shown);
}

/* ---- the table of the others */

static const char *outcome_of(vs_json file) {
  if (vs_reply_knows(file, "error")) return "not read";
  return vs_str_equal(vs_reply_str(file, "outcome"), VS_STR("unknown")) ? "unknown: no history"
                                                                        : "no out-of-memory error";
}

static void put_headroom(const vs_screen *screen, vs_text *cell, vs_json headroom) {
  const int64_t bytes = vs_json_i64(headroom, 0);
  if (!vs_reply_is_unknown(headroom) && bytes < 0) vs_text_bytes_change(cell, bytes, screen->unit);
  else vs_words_bytes(screen, cell, headroom);
}

static void put_other(const reading *r, vs_table *table, vs_json file, bool have_numbers, bool has_headroom) {
  const vs_screen *screen = &r->cli->screen;
  put_rank(r, table, file, have_numbers);
  put_device(table, file);
  vs_words_bytes(screen, vs_table_cell(table), vs_reply_at(file, "peak_allocated_bytes"));
  vs_words_bytes(screen, vs_table_cell(table), vs_reply_at(file, "peak_reserved_bytes"));
  if (has_headroom) put_headroom(screen, vs_table_cell(table), vs_reply_at(file, "headroom_bytes"));
  vs_text_cstr(vs_table_cell(table), outcome_of(file));
}

static void put_other_table(const reading *r, vs_json reply, bool have_numbers) {
  const vs_json files = vs_reply_at(reply, "files"), rest = vs_reply_at(reply, "rest");
  const uint64_t count = vs_json_count(rest), shown = vs_min_u64(count, vs_words_top(r->cli, ROWS));
  const bool has_headroom = vs_reply_knows(reply, "capacity_bytes");
  vs_column columns[6] = {{have_numbers ? "rank" : "file", have_numbers ? VS_COLUMN_RIGHT : VS_COLUMN_LEFT},
                          {"GPU", VS_COLUMN_RIGHT},
                          {"peak\nallocated", VS_COLUMN_RIGHT},
                          {"peak\nreserved", VS_COLUMN_RIGHT}};
  size_t next = 4;
  if (has_headroom) columns[next++] = (vs_column){"headroom", VS_COLUMN_RIGHT};
  columns[next++] = (vs_column){"", VS_COLUMN_LEFT};
  if (count == 0) return;
  vs_table table;
  vs_text_byte(&r->cli->screen.text, '\n');
  vs_table_begin(&table, &r->cli->screen, 2, columns, next);
  for (uint64_t i = 0; i < shown; i++)
    put_other(r, &table, vs_json_at(files, (size_t)vs_json_u64(vs_json_at(rest, i), 0)), have_numbers,
              has_headroom);
  vs_table_put(&table);
  put_more(&r->cli->screen, count, shown);
}

/* ---- the one that is shown in full */

/* The lines at which it had more; of those at which it had less only their sum, because it stopped before them. */
static void put_difference(const reading *r, vs_json file) {
  vs_screen *screen = &r->cli->screen;
  vs_text title;
  if (vs_reply_u64(file, "more_bytes") == 0) return;
  vs_scratch_init(&title, screen);
  vs_text_byte(&title, '\n');
  vs_screen_safe(&title, vs_client_shown_name(vs_reply_str(file, "name")));
  vs_text_cstr(&title, ": what it had more than the median rank\n");
  vs_screen_styled(screen, VS_STYLE_TITLE, vs_text_view(&title));
  vs_text_deinit(&title);
  vs_rank_words_more(screen, vs_reply_at(file, "rows"), vs_words_top(r->cli, OWNERS));
  if (vs_reply_u64(file, "less_bytes") == 0) return;
  vs_text_cstr(&screen->text, "  and ");
  vs_text_bytes(&screen->text, vs_reply_u64(file, "less_bytes"), screen->unit);
  vs_text_cstr(&screen->text, " less at other lines\n");
}

static void put_post_mortem(const reading *r, vs_json reply, vs_json file) {
  vs_cli *cli = r->cli;
  const vs_json post_mortem = vs_reply_at(reply, "post_mortem");
  if (vs_reply_is_unknown(post_mortem)) return;
  vs_line line = *cli->line;
  const vs_line *whole = cli->line;
  line.arguments[0] = vs_rank_files_at(&r->files, (size_t)vs_reply_u64(reply, "shown"));
  cli->line = &line;
  put_difference(r, file);
  vs_text_byte(&cli->screen.text, '\n');
  vs_screen_styled(&cli->screen, VS_STYLE_TITLE,
                   vs_json_count(vs_reply_at(reply, "failed")) == 1
                       ? VS_STR("The only one that ran out of memory\n")
                   : vs_reply_knows(reply, "first")
                       ? VS_STR("The first that ran out of memory\n")
                       : VS_STR("The one with the largest shortfall; which one was the first is unknown\n"));
  vs_post_mortem_put(cli, post_mortem);
  cli->line = whole;
}

static bool have_numbers(vs_json reply) { return vs_reply_bool(reply, "named_by_rank"); }

static void put_text(const reading *r, vs_json reply) {
  const vs_json files = vs_reply_at(reply, "files");
  vs_words_lines(&r->cli->screen, vs_reply_at(reply, "lines"));
  put_failed_table(r, reply, have_numbers(reply));
  put_other_table(r, reply, have_numbers(reply));
  vs_rank_words_failures(&r->cli->screen, files);
  if (vs_reply_knows(reply, "shown"))
    put_post_mortem(r, reply, vs_json_at(files, (size_t)vs_reply_u64(reply, "shown")));
}

/* ---- CSV */

typedef struct csv_column {
  const char *key;
  bool is_of_request, is_text;
} csv_column;

static const csv_column csv_columns[] = {{"rank", false, false},
                                         {"outcome", false, true},
                                         {"device", false, false},
                                         {"time_us", true, false},
                                         {"after_us", false, false},
                                         {"requested_bytes", true, false},
                                         {"short_bytes", true, false},
                                         {"cause", true, true},
                                         {"label", true, true},
                                         {"peak_allocated_bytes", false, false},
                                         {"peak_requested_bytes", false, false},
                                         {"peak_reserved_bytes", false, false},
                                         {"headroom_bytes", false, false},
                                         {"delta_bytes", false, false},
                                         {"differing_bytes", false, false},
                                         {"error", false, true}};
enum { CSV_COLUMNS = sizeof csv_columns / sizeof *csv_columns };

static void put_csv(const reading *r, vs_json reply) {
  const vs_json files = vs_reply_at(reply, "files");
  vs_csv csv;
  vs_csv_begin(&csv, &r->cli->screen.text);
  vs_csv_str(&csv, VS_STR("file"));
  for (size_t k = 0; k < CSV_COLUMNS; k++) vs_csv_str(&csv, vs_str_from(csv_columns[k].key));
  vs_csv_row_end(&csv);
  for (size_t i = 0; i < vs_json_count(files); i++) {
    const vs_json file = vs_json_at(files, i), oom = vs_json_at(vs_reply_at(file, "ooms"), 0);
    vs_csv_str(&csv, vs_reply_str(file, "name"));
    for (size_t k = 0; k < CSV_COLUMNS; k++) {
      const vs_json of = csv_columns[k].is_of_request ? oom : file;
      if (!vs_reply_knows(of, csv_columns[k].key)) vs_csv_unknown(&csv);
      else if (csv_columns[k].is_text) vs_csv_str(&csv, vs_reply_str(of, csv_columns[k].key));
      else vs_csv_i64(&csv, vs_reply_i64(of, csv_columns[k].key));
    }
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

static vs_exit say(vs_status status, vs_error *error) {
  if (error->status == VS_OK) vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return vs_print_error(VS_STR(""), error);
}

/* `post_mortem`: NULL if there is none. */
static vs_exit put(reading *r, const vs_json_doc *post_mortem) {
  const vs_job_options options = {.is_brief = !vs_cli_has(r->cli, VS_OPTION_JSON),
                                  .unit = r->cli->screen.unit};
  const vs_json absent = {.value = {.kind = VS_JSON_ABSENT}};
  vs_text reply;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_text_init(&reply, r->cli->host, NULL);
  const vs_status status = vs_job_oom_put(
      &r->job, options, post_mortem == NULL ? absent : vs_json_root(post_mortem), &reply, &error);
  const vs_exit code = status == VS_OK ? put_reply(r, &reply) : say(status, &error);
  vs_text_deinit(&reply);
  return code;
}

/* The post-mortem of a file, which is read again unless its engine was kept. */
static vs_exit ask_why(const reading *r, uint32_t number, vs_json_doc *reply) {
  const char *name = vs_rank_files_at(&r->files, number);
  vs_client client;
  vs_exit code = VS_EXIT_OK;
  if (r->kept.data[number] != NULL) vs_client_open_engine(&client, r->cli->host, name, r->kept.data[number]);
  else code = vs_client_open(&client, r->cli->host, name, name, !vs_cli_has(r->cli, VS_OPTION_QUIET));
  if (code != VS_EXIT_OK) return code;
  r->kept.data[number] = NULL;
  vs_post_mortem_begin(r->cli, &client, true);
  code = vs_client_ask(&client, reply);
  vs_client_close(&client);
  return code;
}

/* Where the post-mortem fails, the table is shown without it. */
static vs_exit answer(reading *r) {
  const uint32_t first = vs_job_oom_first(&r->job);
  vs_json_doc post_mortem;
  if (r->has_failed) r->cli->program_exit = VS_EXIT_FILE; /* the answer about the others is shown */
  if (first == VS_JOB_NO_RANK || vs_cli_has(r->cli, VS_OPTION_CSV)) return put(r, NULL);
  vs_exit code = ask_why(r, first, &post_mortem);
  if (code != VS_EXIT_OK) {
    r->cli->program_exit = (int)code;
    return put(r, NULL);
  }
  code = put(r, &post_mortem);
  vs_json_doc_deinit(&post_mortem);
  return code;
}

static vs_exit read_and_answer(reading *r) {
  const vs_rank_reader reader = {.ctx = r, .ask = ask, .take = take, .fail = fail};
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_status status = vs_cli_read_ranks(r->cli, &r->files, &reader);
  if (status == VS_OK) status = vs_job_oom_sort(&r->job);
  const vs_exit code = status == VS_OK ? answer(r) : say(status, &error);
  for (size_t i = 0; i < r->kept.count; i++) vs_engine_destroy(r->kept.data[i]);
  vs_vec_free(r->cli->host, &r->kept);
  return code;
}

vs_exit vs_cli_oom_ranks(vs_cli *cli) {
  reading r = {.cli = cli};
  vs_exit code = vs_cli_list_ranks(cli, cli->line->arguments, cli->line->argument_count, &r.files);
  if (code == VS_EXIT_OK) code = vs_job_oom_init(&r.job, cli->host) == VS_OK ? VS_EXIT_OK : VS_EXIT_NO_MEMORY;
  if (code == VS_EXIT_OK) {
    code = read_and_answer(&r);
    vs_job_oom_deinit(&r.job);
  }
  vs_rank_files_deinit(&r.files);
  return code;
}
