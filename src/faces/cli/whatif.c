/* The runs of "whatif": the engine's lines, and a table of the best runs. */
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

static void put_run(vs_cli *cli, vs_table *table, vs_json run, bool has_edits) {
  put_name(table, run, has_edits);
  put_capacity(cli, table, run);
  vs_text_cstr(vs_table_cell(table), outcome_of(run));
  vs_words_bytes(&cli->screen, vs_table_cell(table), vs_reply_at(run, "reserved_peak_bytes"));
  vs_words_bytes(&cli->screen, vs_table_cell(table), vs_reply_at(run, "allocated_peak_bytes"));
  vs_text_count(vs_table_cell(table), vs_reply_u64(run, "device_allocs"));
  vs_text_count(vs_table_cell(table), vs_reply_u64(run, "retries"));
}

/* The run as recorded first, then the best of the others. */
static void put_runs(vs_cli *cli, vs_json reply) {
  static const vs_column columns[] = {{"settings", VS_COLUMN_LEFT},
                                      {"can reserve", VS_COLUMN_LEFT},
                                      {"", VS_COLUMN_LEFT},
                                      {"peak reserved", VS_COLUMN_RIGHT},
                                      {"allocated", VS_COLUMN_RIGHT},
                                      {"driver allocations", VS_COLUMN_RIGHT},
                                      {"cache flushes", VS_COLUMN_RIGHT}};
  const vs_json ranking = vs_reply_at(reply, "ranking"), runs = vs_reply_at(reply, "runs");
  const uint64_t rows = vs_words_top(cli, ROWS), count = vs_json_count(ranking);
  const bool has_edits = !vs_reply_is_unknown(vs_reply_at(reply, "edits"));
  vs_table table;
  vs_table_begin(&table, &cli->screen, 0, columns, sizeof columns / sizeof *columns);
  put_run(cli, &table, vs_reply_at(reply, "recorded"), false);
  for (size_t i = 0; i < count && i < rows; i++)
    put_run(cli, &table, vs_json_at(runs, vs_json_u64(vs_json_at(ranking, i), 0)), has_edits);
  vs_table_put(&table);
  if (count > rows) vs_text_format(&cli->screen.text, "and %U more: --top 0 shows all\n", count - rows);
}

static void put_reply(vs_cli *cli, vs_json reply) {
  vs_words_title(cli, reply, VS_STR("replayed"), VS_STR(""));
  vs_words_lines(cli, vs_reply_at(reply, "lines"));
  if (vs_reply_is_unknown(vs_reply_at(vs_reply_at(reply, "recorded"), "last_event")))
    return; /* nothing was replayed */
  vs_text_byte(&cli->screen.text, '\n');
  put_runs(cli, reply);
}

static vs_exit ask(vs_cli *cli, vs_client *client) {
  vs_client_begin(client, "whatif");
  vs_cli_pass_options(cli, client, VS_OPTION_BIT(VS_OPTION_DEVICE));
  vs_cli_pass_unit(cli, client);
  put_list(cli, client, "set", VS_OPTION_SET);
  put_list(cli, client, "cards", VS_OPTION_CARD);
  put_list(cli, client, "without", VS_OPTION_WITHOUT);
  put_list(cli, client, "scale", VS_OPTION_SCALE);
  put_list(cli, client, "free_early", VS_OPTION_FREE_EARLY);
  put_list(cli, client, "free", VS_OPTION_FREE);
  if (vs_cli_has(cli, VS_OPTION_EMPTY_CACHE)) vs_jsonw_member_bool(&client->writer, "empty_cache", true);
  if (vs_cli_has(cli, VS_OPTION_JSON)) return vs_cli_pass_reply(cli, client);
  vs_json_doc reply;
  const vs_exit code = vs_client_ask(client, &reply);
  if (code != VS_EXIT_OK) return code;
  put_reply(cli, vs_json_root(&reply));
  vs_json_doc_deinit(&reply);
  return VS_EXIT_OK;
}

vs_exit vs_cli_whatif(vs_cli *cli) { return vs_cli_answer(cli, ask); }
