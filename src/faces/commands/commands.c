#include "base/nearest.h"
#include "faces/commands/commands.h"

/* ---- the tables */

const vs_option vs_options[VS_OPTION_COUNT] = {
#define VS_OPTION(id, name_, letter_, argument_, group_, sentence_) \
  [VS_OPTION_##id] = {.name = name_,                                \
                      .letter = letter_,                            \
                      .argument = argument_,                        \
                      .group = VS_GROUP_##group_,                   \
                      .sentence = sentence_},
#include "faces/commands/options.def"
#undef VS_OPTION
};

/* Beside what a command lists, each takes these. */
#define VS_O(id)         VS_OPTION_BIT(VS_OPTION_##id)
#define VS_EVERY_COMMAND (VS_O(HELP) | VS_O(VERSION))

const vs_command vs_commands[VS_COMMAND_COUNT] = {
#define VS_COMMAND(id, arguments_, options_, summary_, description_) \
  [VS_COMMAND_##id] = {                                              \
      .name = #id,                                                   \
      .arguments = arguments_,                                       \
      .options = (options_) | VS_EVERY_COMMAND,                      \
      .summary = summary_,                                           \
      .description = description_,                                   \
  },
#define VS_EXAMPLE(id, line, purpose)
#include "faces/commands/commands.def"
#undef VS_COMMAND
#undef VS_EXAMPLE
};

const vs_example vs_examples[] = {
#define VS_COMMAND(id, arguments, options, summary, description)
#define VS_EXAMPLE(id, line_, purpose_) {.command = VS_COMMAND_##id, .line = line_, .purpose = purpose_},
#include "faces/commands/commands.def"
#undef VS_COMMAND
#undef VS_EXAMPLE
};
const size_t vs_example_count = sizeof vs_examples / sizeof vs_examples[0];

const vs_export_format vs_export_formats[] = {
#define VS_EXPORT(name_, extension_, opens_in_, sentence_) {#name_, extension_, opens_in_, sentence_},
#include "query/exports.def"
#undef VS_EXPORT
    {"sqlite", ".sqlite", "sqlite3, DB Browser, pandas", "all tables as an SQLite database"},
};
const size_t vs_export_format_count = sizeof vs_export_formats / sizeof vs_export_formats[0];

/* Options of several letters behind one dash. */
static const struct {
  vs_command_id command;
  const char *word;
  vs_option_id option;
} spellings[] = {
#define VS_SPELLING(command_, word_, option_) \
  {.command = VS_COMMAND_##command_, .word = word_, .option = VS_OPTION_##option_},
#include "faces/commands/spellings.def"
#undef VS_SPELLING
};

/* ---- words of an option's argument */

bool vs_option_next_word(const char **rest, vs_str *word) {
  if (*rest == NULL || **rest == 0) return false;
  const char *start = *rest;
  while (**rest != 0 && **rest != '|') ++*rest;
  *word = (vs_str){start, (size_t)(*rest - start)};
  if (**rest == '|') ++*rest;
  return true;
}

bool vs_option_may_stand_alone(const vs_option *option) { return option->argument[0] == '['; }

bool vs_command_takes_filter(const vs_command *command) {
  const vs_option_set filters = VS_OPTION_BIT(VS_OPTION_FILTER) | VS_OPTION_BIT(VS_OPTION_WITHOUT) |
                                VS_OPTION_BIT(VS_OPTION_SCALE) | VS_OPTION_BIT(VS_OPTION_FREE_EARLY) |
                                VS_OPTION_BIT(VS_OPTION_FREE);
  return (command->options & filters) != 0;
}

bool vs_option_is_choice(vs_str word) { return word.size != 0 && word.data[0] >= 'a' && word.data[0] <= 'z'; }

/* ---- what values may look like */

static bool is_number(vs_str value) {
  uint64_t number;
  return vs_parse_u64(value, &number);
}

/* Numbers with a comma between each two. */
static bool is_number_list(vs_str value) {
  size_t begin = 0;
  for (size_t i = 0; i <= value.size; i++) {
    if (i < value.size && value.data[i] != ',') continue;
    if (!is_number((vs_str){value.data + begin, i - begin})) return false;
    begin = i + 1;
  }
  return true;
}

bool vs_option_may_repeat(const vs_option *option) {
  return option->argument != NULL && vs_str_contains(vs_str_from(option->argument), VS_STR("..."));
}

/* A number, perhaps with a fraction, and a unit: "1.5s". */
static bool is_time(vs_str value) {
  static const char *const units[] = {"us", "ms", "s", "min"};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    const vs_str unit = vs_str_from(units[i]);
    if (value.size <= unit.size || memcmp(value.data + value.size - unit.size, unit.data, unit.size) != 0)
      continue;
    size_t points = 0, digits = 0, others = 0;
    for (size_t k = 0; k < value.size - unit.size; k++) {
      const char c = value.data[k];
      if (c == '.') points++;
      else if (c >= '0' && c <= '9') digits++;
      else others++;
    }
    if (others == 0 && points <= 1 && digits > 0) return true;
  }
  return false;
}

static bool fits_word(vs_option_id id, vs_str word, vs_str value) {
  if (vs_option_is_choice(word)) return vs_str_equal(word, value);
  if (vs_str_equal(word, VS_STR("N")) || vs_str_equal(word, VS_STR("[N]"))) return is_number(value);
  if (vs_str_equal(word, VS_STR("N,N"))) return is_number_list(value);
  if (id != VS_OPTION_AT) return true;
  if (vs_str_equal(word, VS_STR("STEP"))) return vs_str_starts(value, VS_STR("step"));
  return vs_str_equal(word, VS_STR("EVENT")) ? is_number(value) : is_time(value);
}

static vs_status check_value(vs_option_id id, vs_str value, vs_error *error) {
  const vs_option *option = &vs_options[id];
  vs_nearest nearest = vs_nearest_to(value);
  vs_str word;
  for (const char *rest = option->argument; vs_option_next_word(&rest, &word);) {
    if (fits_word(id, word, value)) return VS_OK;
    if (vs_option_is_choice(word)) vs_nearest_offer(&nearest, word);
  }
  const char *hint = nearest.best.size == 0 ? "" : "; did you mean ";
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--%s takes %s, not \"%S\"%s%S%s", option->name,
                 option->argument, value, hint, nearest.best, *hint == 0 ? "" : "?");
}

/* ---- finding */

vs_command_id vs_command_find(vs_str name, vs_error *error) {
  vs_nearest nearest = vs_nearest_to(name);
  for (unsigned id = 0; id < VS_COMMAND_COUNT; id++) {
    const vs_str known = vs_str_from(vs_commands[id].name);
    if (vs_str_equal(known, name)) return (vs_command_id)id;
    vs_nearest_offer(&nearest, known);
  }
  if (nearest.best.size != 0)
    vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "unknown command \"%S\"; did you mean \"%S\"?", name,
            nearest.best);
  else vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "unknown command \"%S\"; see: vramscope help", name);
  return VS_COMMAND_COUNT;
}

static bool takes(vs_command_id command, unsigned id) {
  return command != VS_COMMAND_COUNT && (vs_commands[command].options & VS_OPTION_BIT(id)) != 0;
}

/* A name may stand for several options, but only for one of those that a command takes. */
static vs_option_id find_option(vs_command_id command, vs_str name, vs_error *error) {
  vs_nearest nearest = vs_nearest_to(name);
  unsigned found = VS_OPTION_COUNT;
  for (unsigned id = 0; id < VS_OPTION_COUNT; id++) {
    const vs_str known = vs_str_from(vs_options[id].name);
    vs_nearest_offer(&nearest, known);
    if (!vs_str_equal(known, name)) continue;
    if (found == VS_OPTION_COUNT || takes(command, id)) found = id;
  }
  if (found != VS_OPTION_COUNT) return (vs_option_id)found;
  const char *hint = nearest.best.size == 0 ? "; see: vramscope help" : "; did you mean --";
  vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "unknown option --%S%s%S%s", name, hint, nearest.best,
          nearest.best.size == 0 ? "" : "?");
  return VS_OPTION_COUNT;
}

/* A letter may stand for several options, but only for one of those that a command takes. */
static vs_option_id find_letter(vs_command_id command, char letter, vs_error *error) {
  unsigned found = VS_OPTION_COUNT;
  for (unsigned id = VS_OPTION_COUNT; id-- > 0;) {
    if (vs_options[id].letter != letter) continue;
    if (takes(command, id)) return (vs_option_id)id;
    found = id;
  }
  if (found != VS_OPTION_COUNT) return (vs_option_id)found;
  vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "unknown option -%S; see: vramscope help",
          (vs_str){&letter, 1});
  return VS_OPTION_COUNT;
}

/* ---- reading the command line */

typedef struct parser {
  vs_line *line;
  int argc;
  char *const *argv;
  int at;              /* the next word */
  bool only_arguments; /* "--" was read */
  vs_error *error;
} parser;

/* `attached` is the rest of the same word after = or the letter, NULL if there is none. */
static vs_status take_option(parser *p, vs_option_id id, const char *attached) {
  const vs_option *option = &vs_options[id];
  const char *value = attached;
  if (option->argument == NULL && attached != NULL)
    return vs_fail(p->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--%s takes no value", option->name);
  if (option->argument != NULL && value == NULL && vs_option_may_stand_alone(option)) {
    if (p->at < p->argc && is_number(vs_str_from(p->argv[p->at]))) value = p->argv[p->at++];
  } else if (option->argument != NULL && value == NULL) {
    if (p->at >= p->argc)
      return vs_fail(p->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--%s needs a value: %s", option->name,
                     option->argument);
    value = p->argv[p->at++];
  }
  if (value != NULL) VS_TRY(check_value(id, vs_str_from(value), p->error));
  p->line->given |= VS_OPTION_BIT(id);
  p->line->values[id] = value;
  if (!vs_option_may_repeat(option)) return VS_OK;
  if (p->line->repeated_count == VS_MAX_ARGUMENTS)
    return vs_fail(p->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "too many options: %d can be repeated at most",
                   (int)VS_MAX_ARGUMENTS);
  p->line->repeated[p->line->repeated_count++] = (vs_repeated){.option = id, .value = value};
  return VS_OK;
}

static vs_status take_long(parser *p, const char *word) {
  size_t size = 0;
  while (word[size] != 0 && word[size] != '=') size++;
  const vs_option_id id = find_option(p->line->command, (vs_str){word, size}, p->error);
  if (id == VS_OPTION_COUNT) return VS_BAD_ARGUMENT;
  return take_option(p, id, word[size] == '=' ? word + size + 1 : NULL);
}

/* "-lms 100" and "-lms=100", where the command has such a spelling; else VS_OPTION_COUNT. *value is what stands behind =. */
static vs_option_id find_spelling(const parser *p, const char *word, const char **value) {
  size_t size = 0;
  while (word[size] != 0 && word[size] != '=') size++;
  *value = word[size] == '=' ? word + size + 1 : NULL;
  for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
    if (spellings[i].command == p->line->command &&
        vs_str_equal(vs_str_from(spellings[i].word), (vs_str){word, size}))
      return spellings[i].option;
  return VS_OPTION_COUNT;
}

/* "-qf" and "-oFILE". */
static vs_status take_letters(parser *p, const char *letters) {
  const char *value;
  const vs_option_id spelt = find_spelling(p, letters, &value);
  if (spelt != VS_OPTION_COUNT) return take_option(p, spelt, value);
  for (; *letters != 0; letters++) {
    const vs_option_id id = find_letter(p->line->command, *letters, p->error);
    if (id == VS_OPTION_COUNT) return VS_BAD_ARGUMENT;
    const bool takes_rest = vs_options[id].argument != NULL && letters[1] != 0;
    VS_TRY(take_option(p, id, takes_rest ? letters + 1 : NULL));
    if (takes_rest) break;
  }
  return VS_OK;
}

static bool takes_program(const vs_command *command) {
  return vs_str_equal(vs_str_from(command->arguments), VS_STR("COMMAND..."));
}

/* Whether it takes a program behind "--", and a file otherwise. */
static bool may_take_program(const vs_command *command) {
  return vs_str_equal(vs_str_from(command->arguments), VS_STR("FILE|COMMAND..."));
}

/* The last word taken and all behind it. */
static vs_status take_program(parser *p) {
  p->line->words = p->argv + p->at - 1;
  p->at = p->argc;
  return VS_OK;
}

static bool looks_like_file(vs_str word) {
  return vs_str_equal(word, VS_STR("-")) || vs_str_contains(word, VS_STR(".")) ||
         vs_str_contains(word, VS_STR("/"));
}

/* The first word: a command, or a file to report on. */
static vs_status take_command(parser *p, const char *word) {
  vs_line *line = p->line;
  if (looks_like_file(vs_str_from(word))) {
    line->command = VS_COMMAND_report;
    line->arguments[line->argument_count++] = word;
    return VS_OK;
  }
  line->command = vs_command_find(vs_str_from(word), p->error);
  return line->command == VS_COMMAND_COUNT ? VS_BAD_ARGUMENT : VS_OK;
}

static vs_status take_argument(parser *p, const char *word) {
  vs_line *line = p->line;
  if (line->command == VS_COMMAND_COUNT) return take_command(p, word);
  const vs_command *command = &vs_commands[line->command];
  if (takes_program(command) || (may_take_program(command) && p->only_arguments)) return take_program(p);
  if (line->argument_count == VS_MAX_ARGUMENTS)
    return vs_fail(p->error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "at most %d arguments can be given; a folder of recordings is one argument",
                   (int)VS_MAX_ARGUMENTS);
  line->arguments[line->argument_count++] = word;
  return VS_OK;
}

/* The words in `arguments` of a command, and how many of them are not in brackets. One with "..." stands for many. */
static void count_arguments(const char *arguments, size_t *most, size_t *least) {
  *most = *least = 0;
  const bool are_many = vs_str_contains(vs_str_from(arguments), VS_STR("..."));
  for (const char *c = arguments; *c != 0; c++) {
    const bool begins = c == arguments || c[-1] == ' ';
    *most += begins;
    *least += begins && *c != '[';
  }
  if (are_many) *most = VS_MAX_ARGUMENTS;
}

static const char *what_is_missing(const vs_line *line) {
  if (line->command == VS_COMMAND_diff) return line->argument_count == 0 ? "two files" : "a second file";
  return line->argument_count == 0 ? "a file" : "a format";
}

static vs_status check_arguments(const parser *p) {
  const vs_command *command = &vs_commands[p->line->command];
  if (takes_program(command)) {
    if (p->line->words != NULL) return VS_OK;
    return vs_fail(p->error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "%s needs a program to run: vramscope %s -- python3 train.py", command->name,
                   command->name);
  }
  if (may_take_program(command)) {
    if ((p->line->words != NULL) != (p->line->argument_count == 1) && p->line->argument_count <= 1)
      return VS_OK;
    return vs_fail(p->error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "%s takes one file, or a program to run: vramscope %s -- python3 train.py", command->name,
                   command->name);
  }
  size_t most, least;
  count_arguments(command->arguments, &most, &least);
  if (p->line->argument_count > most)
    return vs_fail(p->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "unexpected argument \"%S\": %s takes %s",
                   vs_str_from(p->line->arguments[most]), command->name,
                   command->arguments[0] == 0 ? "none" : command->arguments);
  if (p->line->argument_count < least)
    return vs_fail(p->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s needs %s: vramscope %s %s", command->name,
                   what_is_missing(p->line), command->name, command->arguments);
  return VS_OK;
}

/* Every option given is one that the command takes; else the sentence says which commands do. */
static vs_status check_options(const parser *p) {
  const vs_command *command = &vs_commands[p->line->command];
  const vs_option_set foreign = p->line->given & ~command->options;
  if (foreign == 0) return VS_OK;
  int id = 0;
  while ((foreign & VS_OPTION_BIT(id)) == 0) id++;
  char takers[128] = "", longer[128];
  for (unsigned i = 0; i < VS_COMMAND_COUNT; i++) {
    if ((vs_commands[i].options & VS_OPTION_BIT(id)) == 0) continue;
    vs_format(longer, sizeof longer, "%s%s%s", takers, takers[0] == 0 ? "" : ", ", vs_commands[i].name);
    memcpy(takers, longer, sizeof takers);
  }
  return vs_fail(p->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s does not take --%s (these do: %s)",
                 command->name, vs_options[id].name, takers);
}

vs_status vs_line_parse(vs_line *line, int argc, char *const *argv, vs_error *error) {
  *line = (vs_line){.command = VS_COMMAND_COUNT};
  parser p = {.line = line, .argc = argc, .argv = argv, .at = 1, .error = error};
  while (p.at < argc) {
    const char *word = argv[p.at++];
    if (p.only_arguments || word[0] != '-' || word[1] == 0) VS_TRY(take_argument(&p, word));
    else if (word[1] != '-') VS_TRY(take_letters(&p, word + 1));
    else if (word[2] != 0) VS_TRY(take_long(&p, word + 2));
    else p.only_arguments = true;
  }
  if ((line->given & VS_EVERY_COMMAND) != 0 || line->command == VS_COMMAND_COUNT) return VS_OK;
  VS_TRY(check_options(&p));
  return check_arguments(&p);
}
