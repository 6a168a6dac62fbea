/* The report on one screen: the engine's lines, laid out and coloured. Only the suggested next commands are composed here. */
#include "base/check.h"
#include "faces/cli/library_words.h"
#include "faces/cli/rank_files.h"
#include "faces/cli/ranks.h"
#include "faces/cli/words.h"

enum { OWNERS = 5, OTHERS = 8 };

/* ---- several devices */

static bool is_device(vs_json device, vs_json number) {
  return vs_reply_i64(device, "device") == vs_json_i64(number, -1);
}

static void put_summary(vs_cli *cli, vs_json device, const char *label) {
  vs_words_labelled(&cli->screen, label, VS_STYLE_TITLE, vs_reply_str(device, "summary"));
}

static void put_others(vs_cli *cli, vs_json devices, vs_json host, vs_json shown) {
  const size_t count = vs_json_count(devices);
  size_t lines = 0;
  if (count > 1 || !vs_reply_is_unknown(host)) vs_text_byte(&cli->screen.text, '\n');
  for (size_t i = 0; i < count; i++) {
    const vs_json device = vs_json_at(devices, i);
    if (is_device(device, shown) || ++lines > OTHERS) continue;
    char label[32];
    vs_format(label, sizeof label, "GPU %D", vs_reply_i64(device, "device"));
    put_summary(cli, device, label);
  }
  VS_ASSERT(lines + 1 == count); /* all but the one shown */
  if (lines > OTHERS) {
    char more[64];
    vs_format(more, sizeof more, "and %u more GPUs: see them with --device N", (unsigned)(lines - OTHERS));
    vs_words_labelled(&cli->screen, "", VS_STYLE_PLAIN, vs_str_from(more));
  }
  if (!vs_reply_is_unknown(host)) put_summary(cli, host, "Pinned host");
}

/* Why the GPU shown is the default one. */
static const char *reason(vs_json devices, vs_json shown) {
  size_t failed = 0;
  for (size_t i = 0; i < vs_json_count(devices); i++)
    failed += vs_json_count(vs_reply_at(vs_json_at(devices, i), "ooms")) != 0;
  if (vs_json_count(vs_reply_at(shown, "ooms")) == 0)
    return vs_reply_is_unknown(vs_reply_at(shown, "peak_reserved"))
               ? "the one with the highest peak"
               : "the one with the highest peak reserved";
  return failed > 1 ? "the first that ran out of memory" : "the one that ran out of memory";
}

/* ---- the page */

static void put_next(vs_cli *cli, vs_json device, size_t device_count) {
  const vs_json next = vs_reply_at(device, "next");
  char command[32], at[32], purpose[64];
  vs_format(command, sizeof command, "%S", vs_reply_str(next, "method"));
  vs_format(at, sizeof at, "%S", vs_reply_str(next, "at"));
  vs_format(purpose, sizeof purpose, "%S", vs_reply_str(next, "text"));
  const vs_next line = {
      .command = command,
      .option = *at != 0 ? "at" : NULL,
      .value = at,
      .device = device_count == 0
                    ? "host"
                    : NULL, /* --device is passed on; without it all commands take the same default */
      .purpose = purpose,
  };
  vs_text_byte(&cli->screen.text, '\n');
  vs_words_next(cli, &line);
  vs_words_next_view(cli);
}

static void put_header(vs_cli *cli, vs_json file) {
  vs_text title;
  vs_scratch_init(&title, &cli->screen);
  vs_text_format(&title, ": %S", vs_reply_str(file, "title"));
  vs_words_file(&cli->screen, vs_reply_str(file, "name"), vs_text_view(&title));
  vs_text_byte(&cli->screen.text, '\n');
  vs_text_deinit(&title);
}

static void put_empty(vs_cli *cli, vs_json lines) {
  for (size_t i = 0; i < vs_json_count(lines); i++)
    vs_words_paragraphs(&cli->screen, vs_reply_str(vs_json_at(lines, i), "text"));
}

static void put_report(vs_cli *cli, vs_json report, vs_json libraries) {
  const vs_json devices = vs_reply_at(report, "devices"), host = vs_reply_at(report, "host"),
                busiest = vs_reply_at(report, "busiest");
  const size_t count = vs_json_count(devices);
  if (vs_library_words_are_alone(libraries)) {
    vs_library_words_alone(cli, vs_reply_at(report, "file"), libraries);
    return;
  }
  put_header(cli, vs_reply_at(report, "file"));
  put_empty(cli, vs_reply_at(report, "lines"));
  if (count == 0 && vs_reply_is_unknown(host)) return;
  vs_json shown = host;
  for (size_t i = 0; i < count; i++)
    if (is_device(vs_json_at(devices, i), busiest)) shown = vs_json_at(devices, i);
  VS_ASSERT(count == 0 || is_device(shown, busiest));
  char title[64] = "Pinned host memory\n";
  if (count != 0)
    vs_format(title, sizeof title, "GPU %D, %s\n", vs_json_i64(busiest, 0), reason(devices, shown));
  if (count > 1 || (count == 0 && !vs_cli_has(cli, VS_OPTION_DEVICE)))
    vs_screen_styled(&cli->screen, VS_STYLE_TITLE, vs_str_from(title));
  vs_words_lines(&cli->screen, vs_reply_at(shown, "lines"));
  if (count != 0) vs_library_words_below(cli, libraries, vs_json_i64(busiest, -1));
  if (count != 0) put_others(cli, devices, host, busiest);
  if (!vs_cli_has(cli, VS_OPTION_DEVICE)) vs_library_words_others(cli, libraries);
  put_next(cli, shown, count);
}

/* Of a file without PyTorch's memory the engine knows no device, so --device is left to the words. */
static vs_exit ask_report(vs_cli *cli, vs_client *client, vs_json libraries) {
  const vs_option_set device = VS_OPTION_BIT(VS_OPTION_DEVICE);
  vs_client_begin(client, "report");
  vs_cli_pass_options(cli, client,
                      vs_library_words_are_alone(libraries) ? VS_EVERY_OPTION & ~device : VS_EVERY_OPTION);
  vs_cli_pass_unit(cli, client);
  if (vs_cli_has(cli, VS_OPTION_JSON)) return vs_cli_pass_reply(cli, client);
  if (!vs_cli_has(cli, VS_OPTION_TOP)) vs_client_param_u64(client, "top", OWNERS);
  vs_json_doc reply;
  const vs_exit code = vs_client_ask(client, &reply);
  if (code != VS_EXIT_OK) return code;
  put_report(cli, vs_json_root(&reply), libraries);
  vs_json_doc_deinit(&reply);
  return VS_EXIT_OK;
}

static vs_exit ask(vs_cli *cli, vs_client *client) {
  vs_json_doc libraries;
  vs_client_begin(client, "libraries");
  vs_exit code = vs_client_ask(client, &libraries);
  if (code != VS_EXIT_OK) return code;
  code = ask_report(cli, client, vs_json_root(&libraries));
  vs_json_doc_deinit(&libraries);
  return code;
}

vs_exit vs_cli_report(vs_cli *cli) {
  return vs_cli_names_ranks(cli) || vs_cli_has(cli, VS_OPTION_CSV) ? vs_cli_ranks(cli)
                                                                          : vs_cli_answer(cli, ask);
}
