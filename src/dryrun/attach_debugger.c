#include "dryrun/attach_room.h"
#include "os/child.h"
#include "os/process.h"

typedef vs_attach_room room;

#define FAIL(status, ...) vs_fail(error, (status), VS_NO_OFFSET, __VA_ARGS__)

/* ---- texts of the commands */

void vs_attach_put_quoted(room *r, const char *text) {
  vs_attach_put(r, "\"");
  for (; *text != 0; text++) {
    const uint8_t c = (uint8_t)*text;
    const bool is_plain = c >= ' ' && c < 0x7f && strchr("\"\\`$%", c) == NULL;
    const char octal[] = {'\\', (char)('0' + (c >> 6)), (char)('0' + (c >> 3 & 7)), (char)('0' + (c & 7)), 0};
    vs_attach_put(r, is_plain ? (const char[]){*text, 0} : octal);
  }
  vs_attach_put(r, "\"");
}

/* ---- the run */

static bool has_said(const room *r, const char *phrase, vs_text *text) {
  return vs_attach_read(r->output, text) == VS_OK && strstr(text->bytes.data, phrase) != NULL;
}

/* In microseconds since the debugger was started. */
typedef struct patience {
  uint64_t now;
  uint64_t waits_since; /* for the program to come to a place where Python may be called; 0: not yet */
} patience;

/* Whether the debugger is to let go of the program: once it waits there, because before that it may not be attached yet. While it calls functions
 * in the program, it gets time to end that: an interrupt would leave the program in the middle of one. */
static bool is_enough(const room *r, const vs_attach_debugger *debugger, patience *time, vs_text *text) {
  if (time->now > (r->is_interrupted ? 1 : 4) * (uint64_t)VS_ATTACH_PATIENCE_US) return true;
  if (has_said(r, debugger->says.stopped, text)) return false;
  if (time->waits_since == 0 && has_said(r, debugger->says.waiting, text)) time->waits_since = time->now;
  if (time->waits_since == 0) return false;
  return r->is_interrupted || time->now - time->waits_since > VS_ATTACH_PATIENCE_US ||
         (debugger->waits_without_python && has_said(r, debugger->says.no_python, text));
}

static void wait_for(room *r, const vs_attach_debugger *debugger, vs_child *child, vs_text *text) {
  const uint64_t began = vs_process_clock_us();
  patience time = {.now = 0};
  bool is_told = false;
  while (vs_children_wait(child, 1, VS_ATTACH_PAUSE_US) != 0) {
    if (vs_children_stopped()) vs_children_stop();
    time.now = vs_process_clock_us() - began;
    r->is_interrupted = vs_children_interrupted();
    if (is_told || !is_enough(r, debugger, &time, text)) continue;
    debugger->interrupt(r, child);
    is_told = true;
  }
}

vs_status vs_attach_start(room *r, char *const words[], vs_child *child, vs_error *error) {
  const vs_child_variable variables[] = {{.name = "DEBUGINFOD_URLS", .value = NULL}, /* nothing is fetched */
                                         {.name = "TMPDIR", .value = r->folder.path}};
  const vs_child_plan plan = {.words = words,
                              .variables = variables,
                              .variable_count = sizeof variables / sizeof variables[0],
                              .streams = VS_CHILD_STREAMS_NONE,
                              .is_apart = true,
                              .output = r->output};
  return vs_child_start(child, &plan, error);
}

/* Fails: VS_NOT_FOUND, if it is not installed */
static vs_status debug(room *r, const vs_attach_debugger *debugger, vs_text *text, vs_error *error) {
  vs_child child;
  vs_format(r->commands, sizeof r->commands, "%s/commands.%s", r->folder.path, debugger->name);
  vs_format(r->output, sizeof r->output, "%s/%s.txt", r->folder.path, debugger->name);
  const vs_status status = debugger->start(r, &child, error);
  if (status == VS_OK) wait_for(r, debugger, &child, text);
  vs_children_done();
  return status;
}

/* ---- what it said */

static vs_status say_forbidden(const room *r, vs_error *error) {
  char scope[16] = "";
  (void)vs_proc_text("/proc", "sys/kernel/yama/ptrace_scope", scope, sizeof scope);
  if (scope[0] == '1' || scope[0] == '2')
    return FAIL(VS_UNSUPPORTED,
                "the system does not let a debugger attach to process %U (kernel.yama.ptrace_scope is %c): "
                "run vramscope as root, "
                "or: sysctl kernel.yama.ptrace_scope=0",
                r->plan->pid, scope[0]);
  return FAIL(VS_UNSUPPORTED,
              "the system does not let a debugger attach to process %U: another debugger is attached, or "
              "this is a container "
              "without CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)",
              r->plan->pid);
}

static vs_status judge(const room *r, const vs_attach_debugger *debugger, const char *said, vs_error *error) {
  const vs_attach_phrases *const says = &debugger->says;
  const uint64_t pid = r->plan->pid;
  if (strstr(said, says->started) != NULL) return VS_OK;
  if (strstr(said, says->not_started) != NULL)
    return FAIL(VS_UNSUPPORTED, "process %U is ending, or is being attached to already", pid);
  if (strstr(said, says->not_loaded) != NULL)
    return FAIL(VS_UNSUPPORTED, "process %U cannot load %s", pid, r->library);
  if (strstr(said, says->not_permitted) != NULL || strstr(said, says->already_traced) != NULL)
    return say_forbidden(r, error);
  if (strstr(said, says->no_python) != NULL)
    return FAIL(VS_UNSUPPORTED, "process %U (%s) does not run Python", pid, r->proc.name);
  if (!vs_process_is_alive((int64_t)pid)) return FAIL(VS_NOT_FOUND, "process %U has ended", pid);
  if (strstr(said, says->stopped) != NULL)
    return FAIL(VS_UNSUPPORTED, "%s stopped process %U, and could not call functions there", debugger->name,
                pid);
  if (r->is_interrupted)
    return FAIL(VS_UNSUPPORTED, "interrupted before process %U ran Python: nothing was changed there", pid);
  if (strstr(said, says->waiting) != NULL)
    return FAIL(VS_UNSUPPORTED,
                "process %U did not run Python for %u seconds, so nothing was changed there: try again", pid,
                (unsigned)(VS_ATTACH_PATIENCE_US / 1000000));
  return FAIL(VS_UNSUPPORTED, "%s could not attach to process %U", debugger->name, pid);
}

static vs_status check_paths(const room *r, vs_error *error) {
  if (strchr(r->library, '\n') == NULL && strchr(r->script, '\n') == NULL) return VS_OK;
  return FAIL(VS_UNSUPPORTED, "a folder's name has a line feed, which a debugger's commands cannot hold: %s",
              strchr(r->library, '\n') != NULL ? "that of the recorder"
                                               : "that for temporary files (TMPDIR)");
}

vs_status vs_attach_by_debugger(room *r, const vs_attach_debugger *debugger, bool *is_installed,
                                vs_text *text, vs_error *error) {
  *is_installed = true;
  VS_TRY(check_paths(r, error));
  const vs_status status = debug(r, debugger, text, error);
  *is_installed = status != VS_NOT_FOUND;
  VS_TRY(status);
  VS_TRY(vs_attach_read(r->output, text));
  return judge(r, debugger, text->bytes.data, error);
}
