/* The help, the manual pages and the completions, made from commands.def, options.def and exits.def. */
#ifndef VS_COMMANDS_HELP_H
#define VS_COMMANDS_HELP_H

#include "faces/commands/commands.h"
#include "faces/terminal/screen.h"

/* Paragraphs: what vramscope does, what FILE may be, and what a filter is, before the list of its keys. */
extern const char vs_help_intro[], vs_help_files[], vs_help_filters[];

/* `vramscope help`: the overview, with all commands. */
void vs_help_overview(vs_screen *screen);
/* `vramscope help COMMAND`. */
void vs_help_command(vs_screen *screen, vs_command_id id);

/* vramscope.1 as roff source, with all commands. */
void vs_help_manual(vs_text *text);
/* vramscope-COMMAND.1. */
void vs_help_manual_of(vs_text *text, vs_command_id id);
/* `shell`: bash, zsh or fish. */
void vs_help_completion(vs_text *text, vs_str shell);

#endif
