#include "faces/cli/post_mortem.h"
#include "base/check.h"
#include "faces/cli/words.h"

enum { OWNERS = 5, COMMANDS = 3, MOST_TEXTS = 3 };

void vs_post_mortem_begin(const vs_cli *cli, vs_client *client, bool with_remedies) {
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

/* ---- the reply */

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

void vs_post_mortem_put(vs_cli *cli, vs_json reply) {
  const vs_json oom = vs_json_at(vs_reply_at(reply, "ooms"), 0);
  vs_words_title(cli, reply, VS_STR("out-of-memory errors"), VS_STR(""));
  vs_words_lines(&cli->screen, vs_reply_at(reply, "lines"));
  put_others(cli, vs_reply_at(reply, "others"));
  if (vs_json_count(vs_reply_at(reply, "ooms")) == 0) return;
  vs_text_byte(&cli->screen.text, '\n');
  put_commands(cli, vs_reply_at(oom, "remedies"));
  vs_words_next_view(cli);
}
