/* The runs of "whatif": the engine's lines, and a table of the best runs; with --export one run as a snapshot, too. */
#include "faces/cli/words.h"

enum { ROWS = 10 };

/* The values of an option that may be given several times. */
static void put_list(const vs_cli *cli, vs_client *client, const char *name, vs_option_id id) {
  if (!vs_cli_has(cli, id)) return;
  vs_jsonw_key(&client->writer, vs_str_from(name));
  vs_jsonw_array_begin(&client->writer);
  for (size_t i = 0; i < cli->line->repeated_count; i++)
    if (cli->line->repeated[i].option == id)
      vs_jsonw_str(&client->writer, vs_str_from(cli->line->repeated[i].value));
  vs_jsonw_array_end(&client->writer);
}

/* ---- the table */

static void put_name(vs_table *table, vs_json run, bool has_edits) {
  const vs_json asked = vs_reply_at(run, "asked");
  const vs_str settings = vs_json_str(asked, VS_STR(""));
  vs_text *cell = vs_table_cell(table);
  if (vs_reply_is_unknown(asked)) vs_text_cstr(cell, "as recorded");
  else if (settings.size == 0) vs_text_cstr(cell, "defaults");
  else vs_screen_safe(cell, settings);
  if (has_edits) vs_text_cstr(cell, ", changed");
}

static void put_capacity(vs_cli *cli, vs_table *table, vs_json run) {
  const vs_str card = vs_reply_str(run, "card");
  vs_text *cell = vs_table_cell(table);
  if (card.size != 0) {
    vs_screen_safe(cell, card);
    vs_text_cstr(cell, ": ");
  }
  if (vs_reply_is_unknown(vs_reply_at(run, "capacity_bytes"))) vs_text_cstr(cell, "unlimited");
  else vs_words_bytes(&cli->screen, cell, vs_reply_at(run, "capacity_bytes"));
}

static const char *outcome_of(vs_json run) {
  if (vs_reply_bool(run, "passes")) return "passes";
  return vs_reply_bool(run, "is_cut") ? "cut off" : "fails";
}

static void put_run(vs_cli *cli, vs_table *table, vs_json run, bool has_edits, bool has_capacity) {
  if (has_capacity) put_capacity(cli, table, run);
  vs_text_cstr(vs_table_cell(table), outcome_of(run));
  vs_words_bytes(&cli->screen, vs_table_cell(table), vs_reply_at(run, "reserved_peak_bytes"));
  vs_words_bytes(&cli->screen, vs_table_cell(table), vs_reply_at(run, "allocated_peak_bytes"));
  vs_text_count(vs_table_cell(table), vs_reply_u64(run, "device_allocs"));
  vs_text_count(vs_table_cell(table), vs_reply_u64(run, "retries"));
  put_name(table, run, has_edits);
}

static bool has_other_capacity(vs_json recorded, vs_json run) {
  return vs_reply_str(run, "card").size != 0 ||
         vs_reply_u64(run, "capacity_bytes") != vs_reply_u64(recorded, "capacity_bytes");
}

static bool have_other_capacity(vs_json reply) {
  const vs_json runs = vs_reply_at(reply, "runs");
  bool is_any = false;
  for (size_t i = 0; i < vs_json_count(runs); i++)
    is_any |= has_other_capacity(vs_reply_at(reply, "recorded"), vs_json_at(runs, i));
  return is_any;
}

static void put_caption(vs_cli *cli) {
  vs_screen_style(&cli->screen, VS_STYLE_FAINT);
  vs_screen_paragraphs(&cli->screen, 0,
                       VS_STR("Peaks of the runs, the best first. driver: allocations requested from "
                              "the driver; flushes: how often the cache was emptied for a request"));
  vs_screen_style(&cli->screen, VS_STYLE_PLAIN);
}

/* The run as recorded first, then the best of the others. What they can reserve is told where it is not the same for all.
 * The settings stand last, because they are long. */
static void put_runs(vs_cli *cli, vs_json reply) {
  static const vs_column columns[] = {{"can reserve", VS_COLUMN_LEFT}, {"", VS_COLUMN_LEFT},
                                      {"reserved", VS_COLUMN_RIGHT},   {"allocated", VS_COLUMN_RIGHT},
                                      {"driver", VS_COLUMN_RIGHT},     {"flushes", VS_COLUMN_RIGHT},
                                      {"settings", VS_COLUMN_LIST}};
  const vs_json ranking = vs_reply_at(reply, "ranking"), runs = vs_reply_at(reply, "runs");
  const uint64_t rows = vs_words_top(cli, ROWS), count = vs_json_count(ranking);
  const bool has_edits = !vs_reply_is_unknown(vs_reply_at(reply, "edits"));
  const bool has_capacity = have_other_capacity(reply);
  const size_t first = has_capacity ? 0 : 1;
  vs_table table;
  put_caption(cli);
  vs_table_begin(&table, &cli->screen, 0, columns + first, sizeof columns / sizeof *columns - first);
  put_run(cli, &table, vs_reply_at(reply, "recorded"), false, has_capacity);
  for (size_t i = 0; i < count && i < rows; i++)
    put_run(cli, &table, vs_json_at(runs, vs_json_u64(vs_json_at(ranking, i), 0)), has_edits, has_capacity);
  vs_table_put(&table);
  if (count > rows) vs_text_format(&cli->screen.text, "and %U more: --top 0 shows all\n", count - rows);
}

static void put_reply(vs_cli *cli, vs_json reply) {
  vs_words_title(cli, reply, VS_STR("replayed"), VS_STR(""));
  vs_words_lines(&cli->screen, vs_reply_at(reply, "lines"));
  if (vs_reply_is_unknown(vs_reply_at(vs_reply_at(reply, "recorded"), "last_event")))
    return; /* nothing was replayed */
  vs_text_byte(&cli->screen.text, '\n');
  put_runs(cli, reply);
}

static void begin_request(const vs_cli *cli, vs_client *client, const char *method) {
  vs_client_begin(client, method);
  vs_cli_pass_options(cli, client, VS_OPTION_BIT(VS_OPTION_DEVICE));
  put_list(cli, client, "set", VS_OPTION_SET);
  put_list(cli, client, "cards", VS_OPTION_CARD);
  put_list(cli, client, "without", VS_OPTION_WITHOUT);
  put_list(cli, client, "scale", VS_OPTION_SCALE);
  put_list(cli, client, "free_early", VS_OPTION_FREE_EARLY);
  put_list(cli, client, "free", VS_OPTION_FREE);
  put_list(cli, client, "checkpoint", VS_OPTION_CHECKPOINT);
  if (vs_cli_has(cli, VS_OPTION_EMPTY_CACHE)) vs_jsonw_member_bool(&client->writer, "empty_cache", true);
}

static vs_exit ask(vs_cli *cli, vs_client *client) {
  begin_request(cli, client, "whatif");
  vs_cli_pass_unit(cli, client);
  if (vs_cli_has(cli, VS_OPTION_JSON)) return vs_cli_pass_reply(cli, client);
  vs_json_doc reply;
  const vs_exit code = vs_client_ask(client, &reply);
  if (code != VS_EXIT_OK) return code;
  put_reply(cli, vs_json_root(&reply));
  vs_json_doc_deinit(&reply);
  return VS_EXIT_OK;
}

/* ---- --export */

static vs_str export_name(const vs_cli *cli) { return vs_str_from(cli->line->values[VS_OPTION_EXPORT]); }

static bool ends_with(vs_str name, vs_str end) {
  return name.size >= end.size && vs_str_equal((vs_str){name.data + name.size - end.size, end.size}, end);
}

/* By the ending of the name, a pickle if that is another; the formats of a whole snapshot are the first ones. */
static const vs_export_format *format_of(vs_str name) {
  enum { WHOLE = 3 };
  const vs_export_format *found = &vs_export_formats[0];
  for (size_t i = 0; i < WHOLE; i++)
    if (ends_with(name, vs_str_from(vs_export_formats[i].extension))) found = &vs_export_formats[i];
  return found;
}

/* The snapshot first, because it is what can be refused. */
static vs_exit write_and_ask(vs_cli *cli, vs_client *client, vs_outfile *file) {
  begin_request(cli, client, "whatif_snapshot");
  vs_client_param(client, "format", format_of(export_name(cli))->name);
  const vs_exit code = vs_client_pass(client, vs_outfile_writer(file));
  return code == VS_EXIT_OK ? ask(cli, client) : code;
}

static vs_exit export_and_ask(vs_cli *cli, vs_client *client) {
  static vs_outfile file; /* its buffer is large for a stack */
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const char *name = cli->line->values[VS_OPTION_EXPORT];
  if (vs_str_equal(export_name(cli), VS_STR("-"))) {
    vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--export needs a file: the answer is on standard output");
    return vs_print_error(VS_STR(""), &error);
  }
  if (vs_outfile_create(&file, name, vs_cli_has(cli, VS_OPTION_FORCE), &error) != VS_OK)
    return vs_cli_say_output(export_name(cli), &error);
  const vs_exit code = write_and_ask(cli, client, &file);
  if (code != VS_EXIT_OK && file.error.status == VS_OK) {
    vs_outfile_abandon(&file);
    return code;
  }
  if (vs_outfile_finish(&file, &error) != VS_OK) return vs_cli_say_output(export_name(cli), &error);
  vs_cli_say_written(cli, name, ", a simulated snapshot", format_of(export_name(cli))->opens_in);
  return VS_EXIT_OK;
}

vs_exit vs_cli_whatif(vs_cli *cli) {
  return vs_cli_answer(cli, vs_cli_has(cli, VS_OPTION_EXPORT) ? export_and_ask : ask);
}
