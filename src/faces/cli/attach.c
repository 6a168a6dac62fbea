/* vramscope attach, vramscope detach: a recording of a program that runs already. */
#include "dryrun/attach.h"
#include "base/text.h"
#include "faces/cli/words.h"
#include "os/proc.h"

static vs_exit fail(const vs_error *error) { return vs_print_error(VS_STR(""), error); }

static bool take_pid(const vs_cli *cli, uint64_t *pid, vs_error *error) {
  const vs_str word = vs_str_from(cli->line->arguments[0]);
  if (vs_parse_u64(word, pid) && *pid != 0 && *pid <= INT32_MAX) return true;
  (void)vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "\"%S\" is not the number of a process", word);
  return false;
}

/* "python3.1234.vram" */
static const char *name_of(uint64_t pid, char name[128]) {
  vs_proc proc;
  const bool is_known = vs_proc_read("/proc", pid, &proc) == VS_OK && strchr(proc.name, '/') == NULL;
  vs_format(name, 128, "%s.%U.vram", is_known ? proc.name : "process", pid);
  return name;
}

vs_exit vs_cli_attach(vs_cli *cli) {
  char name[128], path[VS_FOLDER_PATH];
  vs_error error;
  vs_attach_plan plan = {.path = cli->line->values[VS_OPTION_RECORDING],
                         .may_replace = vs_cli_has(cli, VS_OPTION_FORCE)};
  if (!take_pid(cli, &plan.pid, &error)) return fail(&error);
  if (plan.path == NULL) plan.path = name_of(plan.pid, name);
  if (vs_attach(cli->host, &plan, path, &error) != VS_OK) return fail(&error);
  if (vs_cli_has(cli, VS_OPTION_QUIET)) return VS_EXIT_OK;
  vs_text *text = &cli->screen.text;
  vs_text_format(text, "recording process %U to ", plan.pid);
  vs_screen_safe(text, vs_str_from(path));
  vs_text_format(text, "\nvramscope detach %U completes it\n", plan.pid);
  return VS_EXIT_OK;
}

vs_exit vs_cli_detach(vs_cli *cli) {
  char path[VS_FOLDER_PATH];
  vs_error error;
  vs_attach_plan plan = {.ends = true};
  if (!take_pid(cli, &plan.pid, &error)) return fail(&error);
  if (vs_attach(cli->host, &plan, path, &error) != VS_OK) return fail(&error);
  if (vs_cli_has(cli, VS_OPTION_QUIET)) return VS_EXIT_OK;
  vs_text *text = &cli->screen.text;
  vs_screen_safe(text, vs_str_from(path));
  vs_text_cstr(text, " is complete\n");
  return VS_EXIT_OK;
}
