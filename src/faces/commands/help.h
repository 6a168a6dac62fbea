/* The help, the manual page and the completions, made from commands.def, options.def and exits.def. */
#ifndef VS_COMMANDS_HELP_H
#define VS_COMMANDS_HELP_H

#include "faces/commands/commands.h"
#include "faces/terminal/screen.h"

/* Paragraphs: what vramscope does, and what FILE may be. */
extern const char vs_help_intro[], vs_help_files[];

/* `vramscope help`: the overview, with all commands. */
void vs_help_overview(vs_screen *screen);
/* `vramscope help COMMAND`. */
void vs_help_command(vs_screen *screen, vs_command_id id);

/* vramscope.1 as roff source. */
void vs_help_manual(vs_text *text);
/* `shell`: bash, zsh or fish. */
void vs_help_completion(vs_text *text, vs_str shell);

#endif
