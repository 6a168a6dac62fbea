/* The manual pages, from the same tables as the help. roff: https://man7.org/linux/man-pages/man7/man-pages.7.html */
#include "faces/commands/help.h"

const char vs_help_intro[] =
    "vramscope shows where GPU memory went, why it ran out, and whether a program "
    "will fit. It reads PyTorch's memory snapshots and the memory accounts of other programs, and "
    "records its own.";

const char vs_help_files[] =
    "FILE is a snapshot written by torch.cuda.memory._dump_snapshot() of any PyTorch version (the pickle is "
    "read, never executed), its JSON form, or a recording (.vram); or a trace of PyTorch's profiler "
    "(profile_memory=True), a log of RMM, or a device memory profile of JAX. It may be compressed with gzip. "
    "- is "
    "standard input.";

const char vs_help_filters[] =
    "A filter has one or more terms, separated by spaces; a row has to match all of them. A term is text "
    "that a "
    "function or file of the stack contains, or KEY OPERATOR VALUE without spaces, with = != < <= > >=. Put "
    "values with spaces in double quotes: annotation=\"step 3\".";

/* Text for roff: a backslash is \e, a hyphen \-, and a dot or quote that would begin a request is hidden by \&. */
static void put(vs_text *text, const char *plain) {
  if (*plain == '.' || *plain == '\'') vs_text_cstr(text, "\\&");
  for (; *plain != 0; plain++) {
    if (*plain == '\\') vs_text_cstr(text, "\\e");
    else if (*plain == '-') vs_text_cstr(text, "\\-");
    else vs_text_byte(text, (uint8_t)*plain);
  }
}

static void put_macro(vs_text *text, const char *macro, const char *plain) {
  vs_text_format(text, "%s ", macro);
  put(text, plain);
  vs_text_byte(text, '\n');
}

/* Paragraphs are separated by an empty line. */
static void put_paragraphs(vs_text *text, const char *plain) {
  for (const char *at = plain; *at != 0;) {
    char paragraph[2048];
    size_t size = 0;
    while (*at != 0 && *at != '\n' && size + 1 < sizeof paragraph) paragraph[size++] = *at++;
    paragraph[size] = 0;
    put(text, paragraph);
    vs_text_byte(text, '\n');
    if (*at == '\n') vs_text_cstr(text, ".PP\n");
    while (*at == '\n') at++;
  }
}

/* "FILE [COMMAND]": words in capitals are to be replaced, so in italics. */
static void put_option(vs_text *text, const vs_option *option) {
  vs_text_cstr(text, ".TP\n\\fB");
  if (option->letter != 0) vs_text_format(text, "\\-%c\\fR, \\fB", option->letter);
  vs_text_format(text, "\\-\\-%s\\fR", option->name);
  vs_str word;
  const char *separator = " ";
  for (const char *rest = option->argument; vs_option_next_word(&rest, &word); separator = "|") {
    vs_text_format(text, "%s%s", separator, vs_option_is_choice(word) ? "\\fB" : "\\fI");
    vs_text_str(text, word);
    vs_text_cstr(text, "\\fR");
  }
  vs_text_byte(text, '\n');
  put(text, option->sentence);
  vs_text_byte(text, '\n');
}

static void put_command(vs_text *text, vs_command_id id) {
  const vs_command *command = &vs_commands[id];
  vs_text_format(text, ".SS \"%s\"\n.B vramscope %s\n.RI [ OPTION ]...\\&\n.I ", command->name,
                 command->name);
  put(text, command->arguments);
  vs_text_cstr(text, "\n.PP\n");
  put_paragraphs(text, command->description);
  vs_text_cstr(text, ".PP\nOptions:");
  const char *separator = " ";
  for (unsigned option = 0; option < VS_OPTION_COUNT; option++) {
    if ((command->options >> option & 1) == 0) continue;
    vs_text_format(text, "%s\\fB\\-\\-%s\\fR", separator, vs_options[option].name);
    separator = ", ";
  }
  vs_text_cstr(text, ".\n");
}

/* ".SH FORMATS": what `export` writes. */
static void put_formats(vs_text *text) {
  vs_text_cstr(text, ".SH FORMATS\nWhat \\fBexport\\fR can write:\n");
  for (size_t i = 0; i < vs_export_format_count; i++) {
    const vs_export_format *format = &vs_export_formats[i];
    put_macro(text, ".TP\n.B", format->name);
    put(text, format->sentence);
    vs_text_cstr(text, ". Opens in ");
    put(text, format->opens_in);
    vs_text_format(text, "; the usual ending is \\fB%s\\fR.\n", format->extension);
  }
}

/* Of one command, or of all: VS_COMMAND_COUNT. */
static void put_examples(vs_text *text, vs_command_id id) {
  vs_text_cstr(text, ".SH EXAMPLES\n");
  for (size_t i = 0; i < vs_example_count; i++) {
    if (id != VS_COMMAND_COUNT && vs_examples[i].command != id) continue;
    vs_text_cstr(text, ".TP\n.B vramscope ");
    put(text, vs_examples[i].line);
    vs_text_byte(text, '\n');
    put(text, vs_examples[i].purpose);
    vs_text_byte(text, '\n');
  }
}

/* A word of a list with its meaning, which has no full stop. */
static void put_entry(vs_text *text, const char *word, const char *meaning) {
  put_macro(text, ".TP\n.B", word);
  put(text, meaning);
  vs_text_cstr(text, ".\n");
}

/* `smi` has the exit codes of nvidia-smi. */
static void put_exits(vs_text *text, vs_command_id id) {
  vs_text_cstr(text, ".SH EXIT STATUS\n");
#define VS_SMI_EXIT(name, value, meaning) \
  if (id == VS_COMMAND_smi) put_entry(text, #value, meaning);
#include "faces/smi/exits.def"
#undef VS_SMI_EXIT
#define VS_EXIT(name, value, meaning) \
  if (id != VS_COMMAND_smi) put_entry(text, #value, meaning);
#include "faces/commands/exits.def"
#undef VS_EXIT
  if (id != VS_COMMAND_smi) vs_text_cstr(text, ".PP\nAn error is one line on standard error.\n");
}

static void put_filters(vs_text *text) {
  vs_text_cstr(text, ".SH FILTERS\n");
  put_paragraphs(text, vs_help_filters);
#define VS_FILTER_KEY(name, TYPE, sentence) put_entry(text, #name, sentence);
#include "query/filter_keys.def"
#undef VS_FILTER_KEY
}

static void put_title(vs_text *text, const char *name) {
  vs_text_format(text, ".TH %s 1 \"\" \"vramscope " VS_VERSION_TEXT "\" \"User Commands\"\n", name);
}

static void put_see_also(vs_text *text) {
  vs_text_cstr(text, ".SH SEE ALSO\n.BR vramscope (1)");
  for (unsigned id = 0; id < VS_COMMAND_COUNT; id++)
    vs_text_format(text, ",\n.BR vramscope\\-%s (1)", vs_commands[id].name);
  vs_text_byte(text, '\n');
}

void vs_help_manual_of(vs_text *text, vs_command_id id) {
  const vs_command *command = &vs_commands[id];
  char title[64];
  vs_format(title, sizeof title, "VRAMSCOPE\\-%s", command->name);
  for (char *at = title; *at != 0; at++)
    if (*at >= 'a' && *at <= 'z') *at = (char)(*at - 'a' + 'A');
  put_title(text, title);
  vs_text_format(text, ".SH NAME\nvramscope\\-%s \\- ", command->name);
  put(text, command->summary);
  vs_text_format(text, "\n.SH SYNOPSIS\n.B vramscope %s\n.RI [ OPTION ]...\\&\n", command->name);
  if (command->arguments[0] != 0) put_macro(text, ".I", command->arguments);
  vs_text_cstr(text, ".SH DESCRIPTION\n");
  put_paragraphs(text, command->description);
  if (strstr(command->arguments, "FILE") != NULL) {
    vs_text_cstr(text, ".PP\n");
    put_paragraphs(text, vs_help_files);
  }
  vs_text_cstr(text, ".SH OPTIONS\n");
  for (unsigned option = 0; option < VS_OPTION_COUNT; option++)
    if ((command->options >> option & 1) != 0) put_option(text, &vs_options[option]);
  if (vs_command_takes_filter(command)) put_filters(text);
  if (id == VS_COMMAND_export) put_formats(text);
  put_examples(text, id);
  put_exits(text, id);
  put_see_also(text);
}

void vs_help_manual(vs_text *text) {
  put_title(text, "VRAMSCOPE");
  vs_text_cstr(text, ".SH NAME\nvramscope \\- see where your GPU memory went\n");
  vs_text_cstr(text, ".SH SYNOPSIS\n.B vramscope\n.I COMMAND\n.RI [ OPTION ]...\\&\n.I FILE\n");
  vs_text_cstr(text, ".SH DESCRIPTION\n");
  put_paragraphs(text, vs_help_intro);
  vs_text_cstr(text, ".PP\n");
  put_paragraphs(text, vs_help_files);
  vs_text_cstr(text, ".SH COMMANDS\n");
  for (unsigned id = 0; id < VS_COMMAND_COUNT; id++) put_command(text, (vs_command_id)id);
  vs_text_cstr(text, ".SH OPTIONS\n");
  for (unsigned id = 0; id < VS_OPTION_COUNT; id++) put_option(text, &vs_options[id]);
  put_filters(text);
  put_formats(text);
  vs_text_cstr(text, ".SH RECORDING\nPut this before the first allocation of the program:\n.PP\n.EX\n");
  vs_text_cstr(text, "torch.cuda.memory._record_memory_history()\n.EE\n.PP\n");
  vs_text_cstr(text, "and this where you want to look, for example where the out\\-of\\-memory error is "
                     "caught:\n.PP\n.EX\n");
  vs_text_cstr(text, "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")\n.EE\n");
  put_examples(text, VS_COMMAND_COUNT);
  put_exits(text, VS_COMMAND_COUNT);
  vs_text_cstr(
      text,
      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nIf set and not empty: no colours, unless \\fB\\-\\-color "
      "always\\fR "
      "asks for them.\n.TP\n.B COLUMNS\nThe width of the output where that is no terminal; 80 if it is not "
      "set.\n.TP\n.BR LC_ALL \", \" LC_CTYPE \", \" LANG\nWhere these name UTF\\-8, bars are drawn with "
      "block "
      "characters.\n");
  put_see_also(text);
}
