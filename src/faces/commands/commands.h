/* The tables of commands, options and exit codes, and the command line read with them. */
#ifndef VS_COMMANDS_COMMANDS_H
#define VS_COMMANDS_COMMANDS_H

#include "base/machine.h"
#include "base/text.h"

typedef enum vs_option_id {
#define VS_OPTION(id, name, letter, argument, group, sentence) VS_OPTION_##id,
#include "faces/commands/options.def"
#undef VS_OPTION
  VS_OPTION_COUNT
} vs_option_id;

typedef enum vs_command_id {
#define VS_COMMAND(id, arguments, options, summary, description) VS_COMMAND_##id,
#define VS_EXAMPLE(id, line, purpose)
#include "faces/commands/commands.def"
#undef VS_COMMAND
#undef VS_EXAMPLE
  VS_COMMAND_COUNT
} vs_command_id;

typedef enum vs_exit {
#define VS_EXIT(name, value, meaning) VS_EXIT_##name = (value),
#include "faces/commands/exits.def"
#undef VS_EXIT
} vs_exit;

/* The headings of the options in the help. */
typedef enum vs_option_group {
  VS_GROUP_RUN,
  VS_GROUP_WHAT,
  VS_GROUP_HOW,
  VS_GROUP_COMMON, /* of nearly every command: explained once, in `vramscope help` */
  VS_GROUP_COUNT
} vs_option_group;

/* A set of options is bits: there are more than 64. */
__extension__ typedef unsigned __int128 vs_option_set;
#define VS_OPTION_BIT(id) ((vs_option_set)1 << (id))
#define VS_EVERY_OPTION   (~(vs_option_set)0)

typedef struct vs_option {
  const char *name;     /* "output" */
  const char *argument; /* "peak|end|EVENT", NULL: it takes none; "[N]": it may be left out */
  const char *sentence;
  char letter; /* 'o', 0: it has none */
  vs_option_group group;
} vs_option;

typedef struct vs_command {
  const char *name;
  const char *arguments; /* "FILE [FORMAT]"; "FILE...": one or more; "COMMAND...": a program's command line;
                            "FILE|COMMAND...": one file, or behind "--" a program's command line */
  const char *summary;
  const char *description;
  vs_option_set options; /* bit VS_OPTION_x: it takes that option */
} vs_command;

typedef struct vs_example {
  vs_command_id command;
  const char *line; /* without the program's name */
  const char *purpose;
} vs_example;

extern const vs_option vs_options[VS_OPTION_COUNT];
extern const vs_command vs_commands[VS_COMMAND_COUNT];
extern const vs_example vs_examples[];
extern const size_t vs_example_count;

/* What `export` writes. */
typedef struct vs_export_format {
  const char *name, *extension, *opens_in, *sentence;
} vs_export_format;
extern const vs_export_format vs_export_formats[];
extern const size_t vs_export_format_count;

/* ---- words of an option's argument: "peak|end|EVENT" has three, of which two are choices */

/* The word behind *rest, which moves on; false at the end. */
bool vs_option_next_word(const char **rest, vs_str *word);
/* Of an option with an argument: whether that may be left out. */
bool vs_option_may_stand_alone(const vs_option *option);
/* Whether it may be given several times: then all of its values count. */
bool vs_option_may_repeat(const vs_option *option);
/* In small letters: one of the words that the option accepts as they are. */
bool vs_option_is_choice(vs_str word);

/* Whether an option of the command takes a filter. */
bool vs_command_takes_filter(const vs_command *command);

/* ---- the command line */

enum { VS_MAX_ARGUMENTS = 256 };

/* A value of an option that may be given several times. */
typedef struct vs_repeated {
  vs_option_id option;
  const char *value;
} vs_repeated;

typedef struct vs_line {
  vs_command_id command;               /* VS_COMMAND_COUNT: none was given */
  vs_option_set given;                 /* bit VS_OPTION_x */
  const char *values[VS_OPTION_COUNT]; /* the last value of each */
  vs_repeated
      repeated[VS_MAX_ARGUMENTS]; /* all values of those that may be given several times, in their order */
  size_t repeated_count;
  const char *arguments[VS_MAX_ARGUMENTS]; /* NULL: not given */
  size_t argument_count;
  char *const *words; /* the program to run and its arguments, NULL behind the last; NULL: none */
} vs_line;

static inline bool vs_line_has(const vs_line *line, vs_option_id id) { return (line->given >> id & 1) != 0; }

_Static_assert(VS_OPTION_COUNT <= 128, "options are bits of a vs_option_set");

/* Reads the command line. Checked here: that the command exists and takes the options and arguments, and that choices
 * and numbers are such.
 *
 * Fails: VS_BAD_ARGUMENT  `error` has the sentence, with what was probably meant */
VS_MUST_CHECK vs_status vs_line_parse(vs_line *line, int argc, char *const *argv, vs_error *error);

/* The command called `name`; VS_COMMAND_COUNT if there is none, then `error` suggests one. */
vs_command_id vs_command_find(vs_str name, vs_error *error);

#endif
