/* The post-mortem of "oom": the engine's lines, and the commands that repeat its replays. Of several files, one line each, and the
 * first that ran out of memory in full. */
#include "base/check.h"
#include "faces/cli/words.h"

enum { OWNERS = 5, COMMANDS = 3, MOST_TEXTS = 3, NAME = 24 };

static void begin(vs_cli *cli, vs_client *client, bool with_remedies) {
  vs_client_begin(client, "oom");
  vs_cli_pass_options(cli, client, VS_EVERY_OPTION);
  vs_cli_pass_unit(cli, client);
  if (!vs_cli_has(cli, VS_OPTION_JSON) && !vs_cli_has(cli, VS_OPTION_TOP))
    vs_client_param_u64(client, "top", OWNERS);
  if (!with_remedies) vs_jsonw_member_bool(&client->writer, "remedies", false);
}

/* ---- the commands to type next */

/* The options of `whatif` for the texts of one of its parameters. */
static void put_option(vs_text *line, vs_json whatif, const char *key, const char *option) {
  const vs_json values = vs_reply_at(whatif, key);
  for (size_t i = 0; i < vs_json_count(values); i++) {
    vs_text_format(line, " --%s ", option);
    vs_words_shell(line, vs_json_str(vs_json_at(values, i), VS_STR("")));
  }
}

static void put_command(const vs_cli *cli, vs_text *line, vs_json whatif) {
  vs_text_cstr(line, "vramscope whatif");
  if (vs_cli_has(cli, VS_OPTION_DEVICE))
    vs_text_format(line, " --device %s", cli->line->values[VS_OPTION_DEVICE]);
  put_option(line, whatif, "set", "set");
  put_option(line, whatif, "cards", "card");
  put_option(line, whatif, "free", "free");
  put_option(line, whatif, "scale", "scale");
  if (vs_reply_bool(whatif, "empty_cache")) vs_text_cstr(line, " --empty-cache");
  vs_text_byte(line, ' ');
  vs_words_shell(line, vs_str_from(cli->line->arguments[0]));
}

static const char *purpose_of(vs_str kind) {
  static const struct {
    const char *kind, *purpose;
  } purposes[] = {{"settings", "with these settings"},
                  {"empty_cache", "with an empty cache"},
                  {"growth", "without what grew"},
                  {"owner", "with these blocks freed"},
                  {"shrink", "with less of that line"},
                  {"activations", "with a smaller batch"},
                  {"card", "on this GPU"}};
  for (size_t i = 0; i < sizeof purposes / sizeof *purposes; i++)
    if (vs_str_equal(kind, vs_str_from(purposes[i].kind))) return purposes[i].purpose;
  return "again";
}

/* Whether the command is short enough to be typed. */
static bool is_short(vs_json whatif) {
  return vs_json_count(vs_reply_at(whatif, "scale")) <= MOST_TEXTS &&
         vs_json_count(vs_reply_at(whatif, "free")) <= MOST_TEXTS;
}

/* The first remedy of each kind, as far as they go. */
static void put_commands(vs_cli *cli, vs_json remedies) {
  vs_str last = VS_STR("");
  size_t shown = 0;
  for (size_t i = 0; i < vs_json_count(remedies) && shown < COMMANDS; i++) {
    const vs_json remedy = vs_json_at(remedies, i);
    const vs_str kind = vs_reply_str(remedy, "kind");
    const vs_json whatif = vs_reply_at(remedy, "whatif");
    if (vs_reply_is_unknown(whatif) || !is_short(whatif) || vs_str_equal(kind, last)) continue;
    vs_text line;
    vs_scratch_init(&line, &cli->screen);
    put_command(cli, &line, whatif);
    if (shown++ == 0) vs_words_next_line(cli, vs_text_view(&line), purpose_of(kind));
    else vs_words_next_below(cli, vs_text_view(&line), purpose_of(kind));
    vs_text_deinit(&line);
    last = kind;
  }
  if (shown == 0) {
    const vs_next next = {
        .command = "tree", .option = "at", .value = "oom", .purpose = "what was allocated then"};
    vs_words_next(cli, &next);
  }
}

/* ---- one file */

static void put_others(vs_cli *cli, vs_json others) {
  for (size_t i = 0; i < vs_json_count(others); i++) {
    const vs_json other = vs_json_at(others, i);
    char label[32];
    vs_text text;
    vs_format(label, sizeof label, "GPU %D", vs_reply_i64(other, "device"));
    vs_scratch_init(&text, &cli->screen);
    vs_text_cstr(&text, "failed to allocate ");
    vs_text_bytes(&text, vs_reply_u64(other, "requested_bytes"), cli->screen.unit);
    vs_text_format(&text, ", too: --device %D", vs_reply_i64(other, "device"));
    vs_screen_end_line(&cli->screen, &text, label, 15, VS_STYLE_TITLE);
    vs_text_deinit(&text);
  }
}

static void put_reply(vs_cli *cli, vs_json reply) {
  const vs_json oom = vs_json_at(vs_reply_at(reply, "ooms"), 0);
  vs_words_title(cli, reply, VS_STR("out-of-memory errors"), VS_STR(""));
  vs_words_lines(&cli->screen, vs_reply_at(reply, "lines"));
  put_others(cli, vs_reply_at(reply, "others"));
  if (vs_json_count(vs_reply_at(reply, "ooms")) == 0) return;
  vs_text_byte(&cli->screen.text, '\n');
  put_commands(cli, vs_reply_at(oom, "remedies"));
  vs_words_next_view(cli);
}

static vs_exit ask(vs_cli *cli, vs_client *client) {
  begin(cli, client, true);
  if (vs_cli_has(cli, VS_OPTION_JSON)) return vs_cli_pass_reply(cli, client);
  vs_json_doc reply;
  const vs_exit code = vs_client_ask(client, &reply);
  if (code != VS_EXIT_OK) return code;
  put_reply(cli, vs_json_root(&reply));
  vs_json_doc_deinit(&reply);
  return VS_EXIT_OK;
}

/* ---- several files */

/* Microseconds since 1970 are above this, others count from the start of a program and cannot be compared. */
#define FIRST_WALL_CLOCK_US INT64_C(1000000000000000)

/* What was found in the files so far. */
typedef struct post_mortem {
  vs_cli *cli;
  vs_table table;
  vs_text replies; /* with --json */
  size_t failed;   /* files in which a request failed */
  bool is_ordered; /* their times tell which was the first */
  size_t first;    /* of those; meaningful where failed != 0 */
  int64_t first_us;
} post_mortem;

static void take_time(post_mortem *all, size_t file, vs_json oom) {
  const vs_json time = vs_reply_at(oom, "time_us");
  const int64_t time_us = vs_json_i64(time, 0);
  if (vs_reply_is_unknown(time) || time_us < FIRST_WALL_CLOCK_US) all->is_ordered = false;
  if (all->failed++ != 0 && time_us >= all->first_us) return;
  all->first = file;
  all->first_us = time_us;
}

/* One line of the table; of a file in which no request failed, what is known of it. */
static void put_line(post_mortem *all, const char *name, vs_json reply) {
  const vs_json oom = vs_json_at(vs_reply_at(reply, "ooms"), 0);
  const bool has_failed = vs_json_count(vs_reply_at(reply, "ooms")) != 0;
  vs_table *table = &all->table;
  vs_text shown;
  vs_scratch_init(&shown, &all->cli->screen);
  vs_screen_safe(&shown, vs_client_shown_name(vs_str_from(name)));
  vs_screen_fit_end(vs_table_cell(table), vs_text_view(&shown), NAME);
  vs_text_deinit(&shown);
  vs_text_format(vs_table_cell(table), "%D", vs_reply_i64(reply, "device"));
  vs_words_bytes(&all->cli->screen, vs_table_cell(table), vs_reply_at(oom, "requested_bytes"));
  vs_words_bytes(&all->cli->screen, vs_table_cell(table), vs_reply_at(oom, "short_bytes"));
  vs_text_str(vs_table_cell(table), has_failed ? vs_reply_str(oom, "cause") : VS_STR("-"));
  if (has_failed) vs_words_label_cell(table, oom);
  else vs_text_cstr(vs_table_cell(table), vs_reply_u64(reply, "events") == 0 ? "no history" : "no error");
}

static void take_reply(post_mortem *all, size_t file, const char *name, vs_json reply) {
  const vs_json ooms = vs_reply_at(reply, "ooms");
  if (vs_json_count(ooms) != 0) take_time(all, file, vs_json_at(ooms, 0));
  if (!vs_cli_has(all->cli, VS_OPTION_JSON)) put_line(all, name, reply);
}

static vs_exit ask_one(post_mortem *all, size_t file, vs_client *client) {
  vs_cli *cli = all->cli;
  const char *name = cli->line->arguments[file];
  const bool is_json = vs_cli_has(cli, VS_OPTION_JSON);
  vs_json_doc reply;
  vs_exit code = vs_client_open(client, cli->host, name, name, !vs_cli_has(cli, VS_OPTION_QUIET));
  if (code != VS_EXIT_OK) return code;
  begin(cli, client, false);
  code = vs_client_ask(client, &reply);
  if (code == VS_EXIT_OK) {
    take_reply(all, file, name, vs_json_root(&reply));
    vs_json_doc_deinit(&reply);
  }
  if (code == VS_EXIT_OK && is_json) {
    if (file != 0) vs_text_byte(&all->replies, ',');
    begin(cli, client, true);
    code = vs_client_pass(client, vs_text_writer(&all->replies));
  }
  if (code != VS_EXIT_OK) vs_client_close(client);
  return code;
}

/* The file in full, as if it were alone. */
static vs_exit put_first(post_mortem *all, vs_client *client) {
  vs_cli *cli = all->cli;
  vs_line line = *cli->line;
  const vs_line *whole = cli->line;
  line.arguments[0] = whole->arguments[all->first];
  cli->line = &line;
  vs_text_byte(&cli->screen.text, '\n');
  vs_screen_styled(&cli->screen, VS_STYLE_TITLE,
                   all->failed == 1 ? VS_STR("The only one that ran out of memory\n")
                   : all->is_ordered
                       ? VS_STR("The first that ran out of memory\n")
                       : VS_STR("Which one was the first is unknown: the recordings have no times that can "
                                "be compared. One of them\n"));
  const vs_exit code = ask(cli, client);
  cli->line = whole;
  return code;
}

static void put_json(post_mortem *all) {
  vs_text *text = &all->cli->screen.text;
  vs_text_cstr(text, "{\"first\":");
  if (all->failed != 0 && (all->is_ordered || all->failed == 1)) vs_text_u64(text, all->first);
  else vs_text_cstr(text, "null");
  vs_text_cstr(text, ",\"files\":[");
  vs_text_str(text, vs_text_view(&all->replies));
  vs_text_cstr(text, "]}\n");
  if (text->status == VS_OK) text->status = all->replies.status;
}

/* Keeps the engine of the file that is to be shown in full, since standard input cannot be read twice. */
static vs_exit ask_all(post_mortem *all) {
  vs_client kept = {.engine = NULL}, next;
  bool has_kept = false;
  vs_exit code = VS_EXIT_OK;
  for (size_t i = 0; i < all->cli->line->argument_count && code == VS_EXIT_OK; i++) {
    code = ask_one(all, i, &next);
    if (code != VS_EXIT_OK) break;
    const bool is_first = all->failed != 0 && all->first == i;
    if (is_first && has_kept) vs_client_close(&kept);
    if (is_first) kept = next;
    else vs_client_close(&next);
    has_kept |= is_first;
  }
  const bool is_json = vs_cli_has(all->cli, VS_OPTION_JSON);
  if (is_json && code == VS_EXIT_OK) put_json(all);
  if (!is_json) vs_table_put(&all->table);
  if (!is_json && code == VS_EXIT_OK && has_kept) code = put_first(all, &kept);
  if (has_kept) vs_client_close(&kept);
  return code;
}

static vs_exit several(vs_cli *cli) {
  static const vs_column columns[] = {{"file", VS_COLUMN_LEFT},       {"GPU", VS_COLUMN_RIGHT},
                                      {"requested", VS_COLUMN_RIGHT}, {"short by", VS_COLUMN_RIGHT},
                                      {"cause", VS_COLUMN_LEFT},      {"failed at", VS_COLUMN_NAME}};
  post_mortem all = {.cli = cli, .is_ordered = true};
  vs_table_begin(&all.table, &cli->screen, 0, columns, sizeof columns / sizeof *columns);
  vs_text_init(&all.replies, cli->host, NULL);
  const vs_exit code = ask_all(&all);
  vs_text_deinit(&all.replies);
  return code;
}

vs_exit vs_cli_oom(vs_cli *cli) {
  VS_ASSERT(cli->line->argument_count != 0);
  return cli->line->argument_count == 1 ? vs_cli_answer(cli, ask) : several(cli);
}
