#include "dryrun/attach_room.h"
#include "os/child.h"
#include "os/process.h"
#include <signal.h>

typedef vs_attach_room room;

/* ---- the commands
 *
 * lldb has no conditions, and where it is interrupted it may end the program. So all that is to happen happens in the commands of the
 * breakpoint, and SIGURG, which a program that does not handle it never notices, stops the program where the breakpoint was not hit for long: the last
 * command, and the one for a program that failed (-k), detach. An expression that fails ends the commands of the breakpoint. 258: RTLD_NOW | RTLD_GLOBAL. */

static void put_call(room *r, const char *function, const char *argument, const char *rest) {
  vs_attach_put(r, "expression -l c++ -i true -u true -- ");
  vs_attach_put(r, function);
  vs_attach_put(r, "(");
  vs_attach_put_quoted(r, argument);
  vs_attach_put(r, rest);
  vs_attach_put(r, ")\n");
}

static vs_status write_commands(room *r, vs_error *error) {
  VS_TRY(vs_outfile_create(&r->out, r->commands, false, error));
  vs_attach_put(r, "settings set auto-confirm true\n"
                   "settings set target.preload-symbols false\n"
                   "settings set target.load-script-from-symbol-file false\n"
                   "settings set symbols.enable-external-lookup false\n"
                   "settings set plugin.jit-loader.gdb.enable off\n"
                   "process handle -p true -s false -n false SIGHUP SIGINT SIGQUIT SIGILL SIGABRT SIGBUS "
                   "SIGFPE SIGUSR1 SIGSEGV SIGUSR2 "
                   "SIGPIPE SIGALRM SIGTERM SIGCHLD SIGCONT SIGTSTP SIGTTIN SIGTTOU SIGXCPU SIGXFSZ "
                   "SIGVTALRM SIGPROF SIGWINCH SIGIO\n"
                   "process handle -p false -s true -n false SIGURG\n"
                   "breakpoint set -n PyEval_SaveThread -n PyEval_RestoreThread -n PyErr_CheckSignals "
                   "-n PyGILState_Ensure\n"
                   "breakpoint command add 1\n"
                   "breakpoint disable\n");
  put_call(r, "(void)((void *(*)(const char *, int))dlopen)", r->library, ", 258");
  put_call(r, "(int)((int (*)(const char *))vramscope_record_script)", r->script, "");
  vs_attach_put(r, "DONE\nprocess continue\ndetach\n");
  return vs_outfile_finish(&r->out, error);
}

/* ---- the debugger */

static vs_status start(room *r, vs_child *child, vs_error *error) {
  char *const words[] = {(char[]){"lldb"}, (char[]){"-x"}, (char[]){"-b"}, (char[]){"-k"}, (char[]){"detach"},
                         (char[]){"-p"},   r->pid,         (char[]){"-s"}, r->commands,    NULL};
  VS_TRY(write_commands(r, error));
  return vs_attach_start(r, words, child, error);
}

static void interrupt(const room *r, const vs_child *child) {
  (void)child;
  vs_process_signal((int64_t)r->plan->pid, SIGURG);
}

const vs_attach_debugger vs_attach_lldb = {
    .name = "lldb",
    .start = start,
    .interrupt = interrupt,
    .waits_without_python = true,
    .says = {.started = "(int) $0 = 0",
             .not_started = "(int) $0 = 1",
             .not_loaded = "undeclared identifier 'vramscope_record_script'",
             .not_permitted = "not permitted",
             .already_traced = "attach failed",
             .no_python = "no locations (pending)",
             .stopped = "All breakpoints disabled",
             .waiting = "Breakpoint 1: "},
};
