#include "faces/cli/words.h"
#include "base/check.h"
#include "faces/server/server.h"

void vs_words_file(vs_screen *screen, vs_str name, vs_str rest) {
  enum { NAME_LEAST = 24 };
  vs_text line, safe;
  vs_scratch_init(&line, screen);
  vs_scratch_init(&safe, screen);
  vs_screen_safe(&safe, vs_client_shown_name(name));
  const size_t taken = vs_screen_width(rest);
  vs_screen_fit_end(&line, vs_text_view(&safe),
                    taken + NAME_LEAST < screen->columns ? screen->columns - taken : NAME_LEAST);
  vs_text_str(&line, rest);
  vs_screen_paragraphs(screen, 0, vs_text_view(&line));
  vs_text_deinit(&safe);
  vs_text_deinit(&line);
}

void vs_words_title(vs_cli *cli, vs_json reply, vs_str where, vs_str what) {
  VS_ASSERT(cli->line->arguments[0] != NULL);
  vs_text title;
  vs_scratch_init(&title, &cli->screen);
  const vs_json device = vs_reply_at(reply, "device");
  vs_text_cstr(&title, ", ");
  if (vs_json_i64(device, 0) < 0) vs_text_cstr(&title, "pinned host memory, ");
  else if (!vs_reply_is_unknown(device)) vs_text_format(&title, "GPU %D, ", vs_json_i64(device, 0));
  vs_text_str(&title, where);
  vs_words_file(&cli->screen, vs_str_from(cli->line->arguments[0]), vs_text_view(&title));
  vs_screen_paragraphs(&cli->screen, 0, what);
  vs_text_byte(&cli->screen.text, '\n');
  vs_text_deinit(&title);
}

void vs_words_live_title(vs_cli *cli, vs_json reply, const char *usual) {
  vs_text where, what;
  vs_scratch_init(&where, &cli->screen);
  vs_scratch_init(&what, &cli->screen);
  vs_words_moment(cli, &where, usual, vs_json_i64(vs_reply_at(vs_reply_at(reply, "at"), "event"), -1));
  vs_text_bytes(&what, vs_reply_u64(reply, "bytes"), cli->screen.unit);
  vs_text_cstr(&what, " requested in ");
  vs_words_count(&what, vs_reply_u64(reply, "count"), "block");
  if (vs_cli_has(cli, VS_OPTION_FILTER)) vs_text_cstr(&what, " that match the filter");
  vs_words_title(cli, reply, vs_text_view(&where), vs_text_view(&what));
  vs_text_deinit(&what);
  vs_text_deinit(&where);
}

const char *vs_words_at(const vs_cli *cli, const char *usual) {
  const char *at = cli->line->values[VS_OPTION_AT];
  return at == NULL ? usual : at;
}

void vs_words_moment(const vs_cli *cli, vs_text *text, const char *usual, int64_t event) {
  const vs_str asked = vs_str_from(vs_words_at(cli, usual));
  const bool is_end = vs_str_equal(asked, VS_STR("end")), is_start = vs_str_equal(asked, VS_STR("start"));
  uint64_t number;
  if (is_end || is_start) {
    vs_text_format(text, "at the %s", is_end ? "end" : "start");
    return;
  }
  if (vs_parse_u64(asked, &number)) {
    vs_text_cstr(text, "at event ");
    vs_text_count(text, number);
    return;
  }
  if (vs_str_equal(asked, VS_STR("peak"))) vs_text_cstr(text, "at the peak");
  else if (vs_str_equal(asked, VS_STR("oom"))) vs_text_cstr(text, "at the first out-of-memory error");
  else vs_text_format(text, "at %S", asked);
  if (event < 0) return;
  vs_text_cstr(text, " (event ");
  vs_text_count(text, (uint64_t)event);
  vs_text_byte(text, ')');
}

uint64_t vs_words_top(const vs_cli *cli, uint64_t usual) {
  const char *top = cli->line->values[VS_OPTION_TOP];
  uint64_t number = usual;
  if (top != NULL) (void)vs_parse_u64(vs_str_from(top), &number);
  return number == 0 ? UINT64_MAX : number;
}

static const char next_label[] = "Next: ", next_margin[] = "      ";

static void put_next(vs_cli *cli, const char *label, vs_str line, const char *purpose) {
  if (vs_cli_has(cli, VS_OPTION_QUIET)) return;
  vs_screen_styled(&cli->screen, label == next_label ? VS_STYLE_TITLE : VS_STYLE_PLAIN, vs_str_from(label));
  vs_text_str(&cli->screen.text, line);
  const size_t width = strlen(label) + vs_screen_width(line);
  if (width + strlen("  # ") + strlen(purpose) <= cli->screen.columns) {
    vs_screen_style(&cli->screen, VS_STYLE_FAINT);
    vs_text_format(&cli->screen.text, "  # %s", purpose);
    vs_screen_style(&cli->screen, VS_STYLE_PLAIN);
  }
  vs_text_byte(&cli->screen.text, '\n');
}

void vs_words_next_line(vs_cli *cli, vs_str line, const char *purpose) {
  put_next(cli, next_label, line, purpose);
}

void vs_words_next_below(vs_cli *cli, vs_str line, const char *purpose) {
  put_next(cli, next_margin, line, purpose);
}

void vs_words_next_view(vs_cli *cli) {
  const char *name = cli->line->arguments[0];
  VS_ASSERT(name != NULL);
  if (vs_server_version() == NULL || vs_str_equal(vs_str_from(name), VS_STR("-"))) return;
  vs_text line;
  vs_scratch_init(&line, &cli->screen);
  vs_text_cstr(&line, "vramscope view ");
  vs_words_shell(&line, vs_str_from(name));
  put_next(cli, next_margin, vs_text_view(&line), "explore it in the browser");
  vs_text_deinit(&line);
}

void vs_words_next(vs_cli *cli, const vs_next *next) {
  VS_ASSERT(cli->line->arguments[0] != NULL && (next->option == NULL || next->value != NULL));
  const char *device = next->device != NULL ? next->device : cli->line->values[VS_OPTION_DEVICE];
  vs_text line;
  vs_scratch_init(&line, &cli->screen);
  vs_text_format(&line, "vramscope %s", next->command);
  if (device != NULL) vs_text_format(&line, " --device %s", device);
  if (next->option != NULL) vs_text_format(&line, " --%s %s", next->option, next->value);
  vs_text_byte(&line, ' ');
  vs_words_shell(&line, vs_str_from(cli->line->arguments[0]));
  vs_words_next_line(cli, vs_text_view(&line), next->purpose);
  vs_text_deinit(&line);
}
