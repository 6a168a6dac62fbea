/* The files of the command line, for both ways of `view`. */
#include "faces/cli/view.h"
#include <string.h>

vs_exit vs_view_refuse(const char *sentence) {
  vs_error error;
  vs_fail(&error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "%s", sentence);
  return vs_print_error(VS_STR(""), &error);
}

static bool is_stdin(const char *name) { return vs_str_equal(vs_str_from(name), VS_STR("-")); }

static vs_exit check_stdin(const vs_cli *cli) {
  size_t times = 0;
  for (size_t i = 0; i < cli->line->argument_count; i++) times += is_stdin(cli->line->arguments[i]);
  return times > 1 ? vs_view_refuse("standard input can be read once only") : VS_EXIT_OK;
}

static vs_exit look_at(const char *path, uint64_t *bytes) {
  *bytes = VS_NO_SIZE;
  if (is_stdin(path))
    return VS_EXIT_OK; /* not opened before it is read: opening a pipe twice would read it twice */
  vs_infile file;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  if (vs_infile_open(&file, path, &error) != VS_OK) {
    error.status = VS_IO; /* a missing file is an input that cannot be read */
    return vs_print_error(vs_str_from(path), &error);
  }
  *bytes = file.size;
  vs_infile_close(&file);
  return VS_EXIT_OK;
}

/* The bytes of all names up to and with the last slash that they share; of a single name, of its folder. */
static size_t shared_folder(char *const *names, size_t count) {
  const char *first = NULL;
  size_t shared = 0;
  for (size_t i = 0; i < count; i++) {
    if (is_stdin(names[i])) continue;
    size_t same = 0;
    if (first == NULL) same = strlen(first = names[i]);
    else
      while (same < shared && names[i][same] == first[same]) same++;
    while (same != 0 && first[same - 1] != '/') same--;
    shared = same;
  }
  return shared;
}

vs_exit vs_view_files(const vs_cli *cli, vs_page_file files[VS_MAX_ARGUMENTS]) {
  const size_t count = cli->line->argument_count;
  char *const *names = (char *const *)(uintptr_t)cli->line->arguments;
  const size_t folder = shared_folder(names, count);
  vs_exit code = check_stdin(cli);
  for (size_t i = 0; i < count && code == VS_EXIT_OK; i++) {
    files[i].name = is_stdin(names[i]) ? "standard input" : names[i] + folder;
    code = look_at(names[i], &files[i].bytes);
  }
  return code;
}
