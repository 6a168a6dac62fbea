#include "dryrun/attach_room.h"
#include "os/child.h"
#include "os/process.h"

typedef vs_attach_room room;

#define FAIL(status, ...) vs_fail(error, (status), VS_NO_OFFSET, __VA_ARGS__)

/* ---- the commands
 *
 * gdb ends a file of commands at the first failure, and goes on with the next one of its own command line. So the steps are functions, each
 * called there. A gdb before 14 fails after each function that it called in a process whose processor has AMX registers: it cannot write
 * those back ("Couldn't write extended state status"). The function has run then, and the other registers are right again, so its answer is
 * read from memory. For the same reason its argument is written below the stack by us: gdb would call malloc for it. */

static void put_quoted(room *r, const char *text) {
  vs_attach_put(r, "\"");
  for (; *text != 0; text++) {
    const uint8_t c = (uint8_t)*text;
    const bool is_plain = c >= ' ' && c < 0x7f && c != '"' && c != '\\';
    const char octal[] = {'\\', (char)('0' + (c >> 6)), (char)('0' + (c >> 3 & 7)), (char)('0' + (c & 7)), 0};
    vs_attach_put(r, is_plain ? (const char[]){*text, 0} : octal);
  }
  vs_attach_put(r, "\"");
}

/* Into the room that vramscope-stop made on the stack. */
static void put_argument(room *r, const char *text) {
  char size[24];
  vs_format(size, sizeof size, "%U", (uint64_t)strlen(text) + 1);
  vs_attach_put(r, "set {char[");
  vs_attach_put(r, size);
  vs_attach_put(r, "]}$sp = ");
  put_quoted(r, text);
  vs_attach_put(r, "\n");
}

/* The program gets its signals. 258: RTLD_NOW | RTLD_GLOBAL. The steps do nothing unless the program was stopped where Python may be called, at the first
 * breakpoint that was hit: anywhere else it may hold a lock. 16 KiB are more than a path, and than what a function may use below its stack. */
static vs_status write_commands(room *r, vs_error *error) {
  VS_TRY(vs_outfile_create(&r->out, r->commands, false, error));
  vs_attach_put(
      r, "set pagination off\nset confirm off\nset breakpoint pending off\nhandle all nostop noprint pass\n"
         "set $vramscope_sp = 0\n"
         "define vramscope-library\nif $vramscope_sp\n");
  put_argument(r, r->library);
  vs_attach_put(r, "call (void)((void *(*)(const char *, int))dlopen)((const char *)$sp, 258)\nend\nend\n"
                   "define vramscope-script\nif $vramscope_sp\nsharedlibrary libvramscope-record\n"
                   "set *(int *)&vramscope_record_script_answer = -1\n");
  put_argument(r, r->script);
  vs_attach_put(r, "call ((void (*)(const char *))vramscope_record_script)((const char *)$sp)\nend\nend\n"
                   "define vramscope-answer\nif $vramscope_sp\n"
                   "printf \"vramscope-script %d\\n\", *(int *)&vramscope_record_script_answer\nend\nend\n"
                   "define vramscope-end\nif $vramscope_sp\nset $sp = $vramscope_sp\nend\n"
                   "delete breakpoints\ndetach\nend\n"
                   "sharedlibrary libc.so\nsharedlibrary libdl\nsharedlibrary libpython\n"
                   "break PyEval_SaveThread\nbreak PyEval_RestoreThread\nbreak PyErr_CheckSignals\n"
                   "break PyGILState_Ensure\n"
                   "commands 1-4\ndelete breakpoints\nprintf \"vramscope-stopped\\n\"\n"
                   "set $vramscope_sp = $sp\nset $sp = $sp - 16384\nend\n"
                   "continue\n");
  return vs_outfile_finish(&r->out, error);
}

/* ---- the debugger */

/* Interrupts it once the program was not stopped for long: then it detaches. */
static void wait_for(vs_child *child) {
  const uint64_t began = vs_process_clock_us();
  bool is_told = false;
  while (vs_children_wait(child, 1, VS_ATTACH_PAUSE_US) != 0) {
    if (vs_children_stopped()) vs_children_stop();
    const bool is_late = vs_process_clock_us() - began > VS_ATTACH_PATIENCE_US;
    if (is_told || (!is_late && !vs_children_interrupted())) continue;
    vs_children_interrupt(child, 1);
    is_told = true;
  }
}

static vs_status say_missing(const room *r, vs_error *error) {
  static const char how[] = "Debian and Ubuntu: apt install gdb";
  if (r->is_pending)
    return FAIL(VS_UNSUPPORTED,
                "the main thread of process %U did not run Python for %u seconds, and gdb, which does not "
                "need that, is "
                "not installed here (%s)",
                r->plan->pid, (unsigned)(VS_ATTACH_MAIN_THREAD_US / 1000000), how);
  return FAIL(VS_UNSUPPORTED, "a running program is attached to with gdb, which is not installed here (%s)",
              how);
}

static vs_status debug(room *r, vs_error *error) {
  char *const words[] = {(char[]){"gdb"},
                         (char[]){"-nx"},
                         (char[]){"-q"},
                         (char[]){"-batch"},
                         (char[]){"-iex"},
                         (char[]){"set auto-load no"},
                         (char[]){"-iex"},
                         (char[]){"set auto-solib-add off"},
                         (char[]){"-p"},
                         r->pid,
                         (char[]){"-x"},
                         r->commands,
                         (char[]){"-ex"},
                         (char[]){"vramscope-library"},
                         (char[]){"-ex"},
                         (char[]){"vramscope-script"},
                         (char[]){"-ex"},
                         (char[]){"vramscope-answer"},
                         (char[]){"-ex"},
                         (char[]){"vramscope-end"},
                         NULL};
  const vs_child_variable quiet = {.name = "DEBUGINFOD_URLS", .value = NULL}; /* nothing is fetched */
  const vs_child_plan plan = {.words = words,
                              .variables = &quiet,
                              .variable_count = 1,
                              .streams = VS_CHILD_STREAMS_NONE,
                              .is_apart = true,
                              .output = r->output};
  vs_child child;
  const vs_status status = vs_child_start(&child, &plan, error);
  if (status == VS_NOT_FOUND) return say_missing(r, error);
  if (status == VS_OK) wait_for(&child);
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

static vs_status judge(const room *r, const char *said, vs_error *error) {
  const uint64_t pid = r->plan->pid;
  if (strstr(said, "vramscope-script 0") != NULL) return VS_OK;
  if (strstr(said, "vramscope-script 1") != NULL)
    return FAIL(VS_UNSUPPORTED, "process %U is ending, or is being attached to already", pid);
  if (strstr(said, "\"vramscope_record_script_answer\" in current context") != NULL)
    return FAIL(VS_UNSUPPORTED, "process %U cannot load %s", pid, r->library);
  if (strstr(said, "not permitted") != NULL || strstr(said, "already traced") != NULL)
    return say_forbidden(r, error);
  if (strstr(said, "\"PyEval_SaveThread\" not defined") != NULL)
    return FAIL(VS_UNSUPPORTED, "process %U (%s) does not run Python", pid, r->proc.name);
  if (!vs_process_is_alive((int64_t)pid)) return FAIL(VS_NOT_FOUND, "process %U has ended", pid);
  if (strstr(said, "vramscope-stopped") != NULL)
    return FAIL(VS_UNSUPPORTED, "gdb stopped process %U, and could not call functions there", pid);
  if (strstr(said, "Breakpoint 4 at") != NULL)
    return FAIL(VS_UNSUPPORTED,
                "process %U did not run Python for %u seconds, so nothing was changed there: try again", pid,
                (unsigned)(VS_ATTACH_PATIENCE_US / 1000000));
  return FAIL(VS_UNSUPPORTED, "gdb could not attach to process %U", pid);
}

vs_status vs_attach_by_gdb(room *r, vs_text *text, vs_error *error) {
  if (strchr(r->library, '\n') != NULL || strchr(r->script, '\n') != NULL)
    return FAIL(VS_UNSUPPORTED, "a folder's name has a line feed, which gdb's commands cannot hold: %s",
                strchr(r->library, '\n') != NULL ? "that of the recorder"
                                                 : "that for temporary files (TMPDIR)");
  VS_TRY(write_commands(r, error));
  VS_TRY(debug(r, error));
  VS_TRY(vs_attach_read(r->output, text));
  return judge(r, text->bytes.data, error);
}
