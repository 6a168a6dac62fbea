#include "faces/commands/help.h"

static const char recording[] = "To record one, put this before the first allocation:\n"
                                "    torch.cuda.memory._record_memory_history()\n"
                                "and this where you want to look, such as where the out-of-memory error is\n"
                                "caught:\n"
                                "    torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")";

/* ---- pieces */

static void put_line(vs_screen *screen, const char *line) {
  vs_text_cstr(&screen->text, line);
  vs_text_byte(&screen->text, '\n');
}

static void put_heading(vs_screen *screen, const char *heading) {
  vs_text_byte(&screen->text, '\n');
  vs_screen_styled(screen, VS_STYLE_TITLE, vs_str_from(heading));
  vs_text_cstr(&screen->text, ":\n");
}

/* "  name        sentence": a name that is too long gets a line of its own. */
static void put_row(vs_screen *screen, const char *name, size_t columns, const char *sentence) {
  vs_text row;
  vs_scratch_init(&row, screen);
  vs_text_format(&row, "  %s", name);
  const size_t width = vs_text_view(&row).size;
  if (width + 2 > columns) {
    vs_text_str(&screen->text, vs_text_view(&row));
    vs_text_byte(&screen->text, '\n');
    vs_screen_labelled(screen, "", columns, VS_STYLE_PLAIN, vs_str_from(sentence));
  } else {
    vs_text_byte(&row, 0);
    if (row.status == VS_OK)
      vs_screen_labelled(screen, row.bytes.data, columns, VS_STYLE_PLAIN, vs_str_from(sentence));
  }
  vs_text_deinit(&row);
}

static void put_options(vs_screen *screen, vs_option_set options, vs_option_group group,
                        const char *heading) {
  bool first = true;
  for (unsigned id = 0; id < VS_OPTION_COUNT; id++) {
    const vs_option *option = &vs_options[id];
    if ((options >> id & 1) == 0 || option->group != group) continue;
    if (first) put_heading(screen, heading);
    first = false;
    char name[128], letter[8] = "    ";
    if (option->letter != 0) vs_format(letter, sizeof letter, "-%c, ", option->letter);
    vs_format(name, sizeof name, "%s--%s%s%s", letter, option->name, option->argument == NULL ? "" : " ",
              option->argument == NULL ? "" : option->argument);
    put_row(screen, name, 26, option->sentence);
  }
}

/* ---- the overview */

void vs_help_overview(vs_screen *screen) {
  vs_screen_paragraphs(screen, 0, vs_str_from(vs_help_intro));
  put_heading(screen, "Usage");
  put_line(screen, "  vramscope COMMAND [OPTION]... FILE");
  put_line(screen, "  vramscope FILE                       the same as vramscope report FILE");
  put_heading(screen, "Commands");
  for (unsigned id = 0; id < VS_COMMAND_COUNT; id++) {
    char name[64];
    vs_format(name, sizeof name, "%s %s", vs_commands[id].name, vs_commands[id].arguments);
    put_row(screen, name, 22, vs_commands[id].summary);
  }
  put_options(screen, VS_EVERY_OPTION, VS_GROUP_COMMON, "Common options");
  put_heading(screen, "Exit status");
#define VS_EXIT(name, value, meaning) put_row(screen, #value, 7, meaning);
#include "faces/commands/exits.def"
#undef VS_EXIT
  put_heading(screen, "Start with");
  put_line(screen, "  vramscope demo");
  put_line(screen, "  vramscope report snapshot.pickle");
  put_line(screen, "  vramscope help report");
  vs_text_byte(&screen->text, '\n');
  vs_screen_paragraphs(screen, 0, vs_str_from(vs_help_files));
  vs_text_byte(&screen->text, '\n');
  put_line(screen, recording);
}

/* ---- a command */

/* The names of the common options that a command takes, in one paragraph. */
static void put_common(vs_screen *screen, vs_option_set options) {
  vs_text names;
  vs_scratch_init(&names, screen);
  for (unsigned id = 0; id < VS_OPTION_COUNT; id++) {
    const vs_option *option = &vs_options[id];
    if ((options >> id & 1) == 0 || option->group != VS_GROUP_COMMON) continue;
    if (names.bytes.count != 0) vs_text_cstr(&names, ", ");
    if (option->letter != 0) vs_text_format(&names, "-%c/", option->letter);
    vs_text_format(&names, "--%s", option->name);
  }
  put_heading(screen, "Common options (see: vramscope help)");
  vs_screen_paragraphs(screen, 2, vs_text_view(&names));
  vs_text_deinit(&names);
}

static void put_filters(vs_screen *screen) {
  put_heading(screen, "Filters");
  vs_screen_paragraphs(screen, 2, vs_str_from(vs_help_filters));
#define VS_FILTER_KEY(name, TYPE, sentence) put_row(screen, #name, 14, sentence);
#include "query/filter_keys.def"
#undef VS_FILTER_KEY
}

static void put_formats(vs_screen *screen) {
  put_heading(screen, "Formats");
  for (size_t i = 0; i < vs_export_format_count; i++) {
    const vs_export_format *format = &vs_export_formats[i];
    char text[256];
    vs_format(text, sizeof text, "%s; opens in %s", format->sentence, format->opens_in);
    put_row(screen, format->name, 15, text);
  }
}

/* Of `smi`, whose exit codes are those of nvidia-smi. */
static void put_smi_exits(vs_screen *screen) {
  put_heading(screen, "Exit status");
#define VS_SMI_EXIT(name, value, meaning) put_row(screen, #value, 7, meaning);
#include "faces/smi/exits.def"
#undef VS_SMI_EXIT
}

void vs_help_command(vs_screen *screen, vs_command_id id) {
  const vs_command *command = &vs_commands[id];
  char usage[128];
  vs_format(usage, sizeof usage, "vramscope %s [OPTION]...%s%s", command->name,
            command->arguments[0] == 0 ? "" : " ", command->arguments);
  vs_screen_styled(screen, VS_STYLE_TITLE, vs_str_from(usage));
  vs_text_cstr(&screen->text, "\n\n");
  vs_screen_paragraphs(screen, 0, vs_str_from(command->description));
  if (id == VS_COMMAND_export) put_formats(screen);
  put_options(screen, command->options, VS_GROUP_RUN, "What to simulate");
  put_options(screen, command->options, VS_GROUP_WHAT, "What to show");
  put_options(screen, command->options, VS_GROUP_HOW, "How to show it");
  if (vs_command_takes_filter(command)) put_filters(screen);
  put_heading(screen, "Examples");
  for (size_t i = 0; i < vs_example_count; i++) {
    if (vs_examples[i].command != id) continue;
    char line[128];
    vs_format(line, sizeof line, "vramscope %s", vs_examples[i].line);
    put_row(screen, line, 6, vs_examples[i].purpose);
  }
  if (id == VS_COMMAND_smi) put_smi_exits(screen);
  put_common(screen, command->options);
}
