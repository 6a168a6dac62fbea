#include "dryrun/attach_room.h"
#include "os/child.h"

typedef vs_attach_room room;

/* ---- the commands
 *
 * gdb ends a file of commands at the first failure, and goes on with the next one of its own command line. So the steps are functions, each
 * called there. A gdb before 14 fails after each function that it called in a process whose processor has AMX registers: it cannot write
 * those back ("Couldn't write extended state status"). The function has run then, and the other registers are right again, so its answer is
 * read from memory. For the same reason its argument is written below the stack by us: gdb would call malloc for it. */

/* Into the room that vramscope-stop made on the stack. */
static void put_argument(room *r, const char *text) {
  char size[24];
  vs_format(size, sizeof size, "%U", (uint64_t)strlen(text) + 1);
  vs_attach_put(r, "set {char[");
  vs_attach_put(r, size);
  vs_attach_put(r, "]}$sp = ");
  vs_attach_put_quoted(r, text);
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

static vs_status start(room *r, vs_child *child, vs_error *error) {
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
  VS_TRY(write_commands(r, error));
  return vs_attach_start(r, words, child, error);
}

/* It stops the program, and goes on with its commands, which detach. */
static void interrupt(const room *r, const vs_child *child) {
  (void)r;
  vs_children_interrupt(child, 1);
}

const vs_attach_debugger vs_attach_gdb = {
    .name = "gdb",
    .start = start,
    .interrupt = interrupt,
    .says = {.started = "vramscope-script 0",
             .not_started = "vramscope-script 1",
             .not_loaded = "\"vramscope_record_script_answer\" in current context",
             .not_permitted = "not permitted",
             .already_traced = "already traced",
             .no_python = "\"PyEval_SaveThread\" not defined",
             .stopped = "vramscope-stopped",
             .waiting = "Breakpoint 4 at"},
};
