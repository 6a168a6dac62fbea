#include "faces/cli/cli.h"
#include "faces/commands/help.h"

vs_exit vs_cli_help(vs_cli *cli) {
  vs_screen *screen = &cli->screen;
  const char *topic = cli->line->arguments[0];
  const bool is_manual = vs_cli_has(cli, VS_OPTION_MAN);
  vs_error error;
  const vs_command_id id = topic == NULL ? VS_COMMAND_COUNT : vs_command_find(vs_str_from(topic), &error);
  if (topic != NULL && id == VS_COMMAND_COUNT) return vs_print_error(VS_STR(""), &error);
  if (vs_cli_has(cli, VS_OPTION_COMPLETION))
    vs_help_completion(&screen->text, vs_str_from(cli->line->values[VS_OPTION_COMPLETION]));
  else if (topic == NULL && is_manual) vs_help_manual(&screen->text);
  else if (topic == NULL) vs_help_overview(screen);
  else if (is_manual) vs_help_manual_of(&screen->text, id);
  else vs_help_command(screen, id);
  return VS_EXIT_OK;
}
