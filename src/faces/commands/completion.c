/* Completions of the shells, from the same tables as the help. Options are offered as the command takes them, choices
 * behind the options that have some, files and formats where arguments stand. */
#include "alloc/settings.h"
#include "faces/commands/help.h"

/* Words, with `separator` between them. */
static void put_words(vs_text *text, const char *const *words, size_t count, const char *separator) {
  for (size_t i = 0; i < count; i++) vs_text_format(text, "%s%s", i == 0 ? "" : separator, words[i]);
}

static void put_command_names(vs_text *text) {
  const char *names[VS_COMMAND_COUNT];
  for (unsigned id = 0; id < VS_COMMAND_COUNT; id++) names[id] = vs_commands[id].name;
  put_words(text, names, VS_COMMAND_COUNT, " ");
}

static void put_format_names(vs_text *text) {
  for (size_t i = 0; i < vs_export_format_count; i++)
    vs_text_format(text, "%s%s", i == 0 ? "" : " ", vs_export_formats[i].name);
}

static void put_setting_names(vs_text *text) {
  uint32_t count;
  const vs_alloc_setting *list = vs_alloc_setting_list(&count);
  for (uint32_t i = 0; i < count; i++) vs_text_format(text, "%s%s", i == 0 ? "" : " ", list[i].key);
}

/* The choices of an option, with spaces between them; false if it has none. */
static bool put_choices(vs_text *text, const vs_option *option) {
  bool any = false;
  vs_str word;
  for (const char *rest = option->argument; vs_option_next_word(&rest, &word);) {
    if (!vs_option_is_choice(word)) continue;
    if (any) vs_text_byte(text, ' ');
    vs_text_str(text, word);
    any = true;
  }
  return any;
}

static bool has_choices(const vs_option *option) {
  vs_str word;
  for (const char *rest = option->argument; vs_option_next_word(&rest, &word);)
    if (vs_option_is_choice(word)) return true;
  return false;
}

static bool takes_file(const vs_option *option) {
  return option->argument != NULL && vs_str_equal(vs_str_from(option->argument), VS_STR("FILE"));
}

/* ---- bash */

static void put_bash(vs_text *text) {
  vs_text_cstr(text, "# bash completion of vramscope " VS_VERSION_TEXT "\n_vramscope() {\n"
                     "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
                     "  COMPREPLY=()\n"
                     "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
                     "    case ${COMP_WORDS[i]} in\n      ");
  const char *names[VS_COMMAND_COUNT];
  for (unsigned id = 0; id < VS_COMMAND_COUNT; id++) names[id] = vs_commands[id].name;
  put_words(text, names, VS_COMMAND_COUNT, "|");
  vs_text_cstr(text, ") command=${COMP_WORDS[i]}; break ;;\n    esac\n  done\n  case $before in\n");
  for (unsigned id = 0; id < VS_OPTION_COUNT; id++) {
    const vs_option *option = &vs_options[id];
    if (option->argument == NULL) continue;
    vs_text_format(text, "    --%s", option->name);
    if (option->letter != 0) vs_text_format(text, "|-%c", option->letter);
    vs_text_cstr(text, ") ");
    if (has_choices(option)) {
      vs_text_cstr(text, "COMPREPLY=($(compgen -W '");
      (void)put_choices(text, option);
      vs_text_cstr(text, "' -- \"$word\")); ");
    } else if (takes_file(option)) {
      vs_text_cstr(text, "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\")); ");
    }
    vs_text_cstr(text, "return ;;\n");
  }
  vs_text_cstr(text, "  esac\n  local words=\n  case $command in\n    '') words='");
  put_command_names(text);
  vs_text_cstr(text, " --help --version' ;;\n");
  for (unsigned id = 0; id < VS_COMMAND_COUNT; id++) {
    vs_text_format(text, "    %s) words='", vs_commands[id].name);
    const char *separator = "";
    for (unsigned option = 0; option < VS_OPTION_COUNT; option++) {
      if ((vs_commands[id].options >> option & 1) == 0) continue;
      vs_text_format(text, "%s--%s", separator, vs_options[option].name);
      separator = " ";
    }
    vs_text_cstr(text, "' ;;\n");
  }
  vs_text_cstr(text, "  esac\n"
                     "  if [[ $word == -* || -z $command ]]; then\n"
                     "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                     "    return\n"
                     "  fi\n"
                     "  compopt -o filenames\n"
                     "  COMPREPLY=($(compgen -f -- \"$word\"))\n"
                     "  case $command in\n"
                     "    export) COMPREPLY+=($(compgen -W '");
  put_format_names(text);
  vs_text_cstr(text, "' -- \"$word\")) ;;\n    help) COMPREPLY=($(compgen -W '");
  put_command_names(text);
  vs_text_cstr(text, "' -- \"$word\")) ;;\n    settings) compopt +o filenames -o nospace; "
                     "COMPREPLY=($(compgen -S : -W '");
  put_setting_names(text);
  vs_text_cstr(text, "' -- \"$word\")) ;;\n  esac\n}\ncomplete -F _vramscope vramscope\n");
}

/* ---- zsh */

/* A sentence inside [...] of _arguments, inside single quotes. */
static void put_zsh_sentence(vs_text *text, const char *sentence) {
  for (; *sentence != 0; sentence++) {
    if (*sentence == '\'') vs_text_cstr(text, "'\\''");
    else if (*sentence == '[' || *sentence == ']' || *sentence == ':')
      vs_text_format(text, "\\%c", *sentence);
    else vs_text_byte(text, (uint8_t)*sentence);
  }
}

static void put_zsh_option(vs_text *text, const vs_option *option, const char *name) {
  vs_text_format(text, " \\\n        '%s[", name);
  put_zsh_sentence(text, option->sentence);
  vs_text_byte(text, ']');
  if (takes_file(option)) {
    vs_text_cstr(text, ":file:_files");
  } else if (has_choices(option)) {
    vs_text_format(text, ":%s:(", option->name);
    (void)put_choices(text, option);
    vs_text_byte(text, ')');
  } else if (option->argument != NULL) {
    vs_text_format(text, ":%s: ", option->name);
  }
  vs_text_byte(text, '\'');
}

static void put_zsh_arguments(vs_text *text, vs_command_id id) {
  if (id == VS_COMMAND_help) {
    vs_text_cstr(text, " \\\n        '1:command:(");
    put_command_names(text);
    vs_text_cstr(text, ")'");
    return;
  }
  if (id == VS_COMMAND_dryrun || id == VS_COMMAND_run) {
    vs_text_cstr(text, " \\\n        '*::program:_normal'");
    return;
  }
  if (id == VS_COMMAND_settings) {
    vs_text_cstr(text, " \\\n        '1:settings:(");
    put_setting_names(text);
    vs_text_cstr(text, ")'");
    return;
  }
  vs_text_cstr(text, id == VS_COMMAND_view ? " \\\n        '*:snapshot:_files'"
                                           : " \\\n        '1:snapshot:_files'");
  if (id != VS_COMMAND_export) return;
  vs_text_cstr(text, " \\\n        '2:format:(");
  put_format_names(text);
  vs_text_cstr(text, ")'");
}

static void put_zsh(vs_text *text) {
  vs_text_cstr(text, "#compdef vramscope\n# zsh completion of vramscope " VS_VERSION_TEXT "\n_vramscope() {\n"
                     "  local -a commands\n  commands=(\n");
  for (unsigned id = 0; id < VS_COMMAND_COUNT; id++) {
    vs_text_format(text, "    '%s:", vs_commands[id].name);
    put_zsh_sentence(text, vs_commands[id].summary);
    vs_text_cstr(text, "'\n");
  }
  vs_text_cstr(text, "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
                     "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n");
  for (unsigned id = 0; id < VS_COMMAND_COUNT; id++) {
    vs_text_format(text, "    %s)\n      _arguments -s", vs_commands[id].name);
    for (unsigned option = 0; option < VS_OPTION_COUNT; option++) {
      if ((vs_commands[id].options >> option & 1) == 0) continue;
      char name[32];
      vs_format(name, sizeof name, "--%s", vs_options[option].name);
      put_zsh_option(text, &vs_options[option], name);
      vs_format(name, sizeof name, "-%c", vs_options[option].letter);
      if (vs_options[option].letter != 0) put_zsh_option(text, &vs_options[option], name);
    }
    put_zsh_arguments(text, (vs_command_id)id);
    vs_text_cstr(text, " ;;\n");
  }
  vs_text_cstr(text, "  esac\n}\n_vramscope \"$@\"\n");
}

/* ---- fish */

static void put_fish_sentence(vs_text *text, const char *sentence) {
  for (; *sentence != 0; sentence++) {
    if (*sentence == '\'' || *sentence == '\\') vs_text_byte(text, '\\');
    vs_text_byte(text, (uint8_t)*sentence);
  }
}

static void put_fish_option(vs_text *text, unsigned id) {
  const vs_option *option = &vs_options[id];
  vs_text_cstr(text, "complete -c vramscope -n '__fish_seen_subcommand_from");
  for (unsigned command = 0; command < VS_COMMAND_COUNT; command++)
    if ((vs_commands[command].options >> id & 1) != 0) vs_text_format(text, " %s", vs_commands[command].name);
  vs_text_format(text, "' -l %s", option->name);
  if (option->letter != 0) vs_text_format(text, " -s %c", option->letter);
  if (takes_file(option)) vs_text_cstr(text, " -r -F");
  else if (option->argument != NULL) vs_text_cstr(text, " -x");
  if (has_choices(option)) {
    vs_text_cstr(text, " -a '");
    (void)put_choices(text, option);
    vs_text_byte(text, '\'');
  }
  vs_text_cstr(text, " -d '");
  put_fish_sentence(text, option->sentence);
  vs_text_cstr(text, "'\n");
}

static void put_fish(vs_text *text) {
  vs_text_cstr(text, "# fish completion of vramscope " VS_VERSION_TEXT "\n");
  for (unsigned id = 0; id < VS_COMMAND_COUNT; id++) {
    vs_text_format(text, "complete -c vramscope -f -n __fish_use_subcommand -a %s -d '",
                   vs_commands[id].name);
    put_fish_sentence(text, vs_commands[id].summary);
    vs_text_cstr(text, "'\n");
  }
  for (unsigned id = 0; id < VS_OPTION_COUNT; id++) put_fish_option(text, id);
  vs_text_cstr(text, "complete -c vramscope -n '__fish_seen_subcommand_from export' -a '");
  put_format_names(text);
  vs_text_cstr(text, "'\ncomplete -c vramscope -f -n '__fish_seen_subcommand_from help' -a '");
  put_command_names(text);
  vs_text_cstr(text, "'\ncomplete -c vramscope -f -n '__fish_seen_subcommand_from settings' -a '");
  put_setting_names(text);
  vs_text_cstr(text, "'\n");
}

void vs_help_completion(vs_text *text, vs_str shell) {
  if (vs_str_equal(shell, VS_STR("bash"))) put_bash(text);
  else if (vs_str_equal(shell, VS_STR("zsh"))) put_zsh(text);
  else put_fish(text);
}
