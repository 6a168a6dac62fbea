#include "dryrun/attach.h"
#include "base/text.h"
#include "dryrun/libraries.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/infile.h"
#include "os/outfile.h"
#include "os/proc.h"
#include "os/process.h"

static const char proc_root[] = "/proc";

enum { PATIENCE_US = 30 * 1000 * 1000, PAUSE_US = 20 * 1000, MOST_OUTPUT = 1 << 16 };

/* Large for a stack. */
typedef struct room {
  const vs_host *host;
  const vs_attach_plan *plan;
  vs_proc proc;
  vs_folder folder;
  char recorder[VS_FOLDER_PATH]; /* its folder */
  char library[VS_FOLDER_PATH], path[VS_FOLDER_PATH];
  char script[VS_FOLDER_PATH], commands[VS_FOLDER_PATH], output[VS_FOLDER_PATH], answer[VS_FOLDER_PATH];
  vs_outfile out;
  vs_infile in;
  char pid[24];
} room;

#define FAIL(status, ...) vs_fail(error, (status), VS_NO_OFFSET, __VA_ARGS__)

/* ---- what is known before */

static vs_status look(room *r, vs_error *error) {
  const uint64_t pid = r->plan->pid;
  const uint32_t user = vs_process_user();
  if (vs_proc_read(proc_root, pid, &r->proc) != VS_OK)
    return FAIL(VS_NOT_FOUND, "there is no process %U", pid);
  if (pid == vs_process_id()) return FAIL(VS_BAD_ARGUMENT, "process %U is vramscope itself", pid);
  if (user != 0 && r->proc.user_id != VS_PROC_NO_USER && r->proc.user_id != user) {
    char name[64];
    vs_proc_user(r->proc.user_id, name, sizeof name);
    return FAIL(VS_UNSUPPORTED, "process %U belongs to %s: run vramscope as that user, or as root", pid,
                name);
  }
  if (!vs_proc_shares_paths(proc_root, pid))
    return FAIL(VS_UNSUPPORTED, "process %U runs in a container of its own: run vramscope inside of it", pid);
  vs_recorder_find(r->recorder);
  if (r->recorder[0] == 0) return FAIL(VS_IO, "the recorder is missing: libvramscope-record.so");
  vs_recorder_path(r->library, sizeof r->library, r->recorder);
  return VS_OK;
}

static vs_status name_recording(room *r, vs_error *error) {
  char folder[VS_FOLDER_PATH] = "";
  if (r->plan->ends) return VS_OK;
  if (r->plan->path[0] != '/') vs_process_working_folder(folder, sizeof folder);
  vs_format(r->path, sizeof r->path, "%s%s%s", folder, folder[0] == 0 ? "" : "/", r->plan->path);
  return strlen(r->path) + 1 < sizeof r->path ? VS_OK : FAIL(VS_IO, "the path is too long");
}

/* ---- the files */

static void put(room *r, vs_str text) {
  const vs_writer writer = vs_outfile_writer(&r->out);
  const vs_status status = writer.write(writer.ctx, text.data, text.size);
  (void)status; /* told by vs_outfile_finish */
}

static void put_cstr(room *r, const char *text) { put(r, vs_str_from(text)); }

/* Text of Python's that has no character but digits, whatever the path has. */
static void put_hex(room *r, const char *text) {
  static const char digits[] = "0123456789abcdef";
  put_cstr(r, "bytes.fromhex('");
  for (; *text != 0; text++)
    put(r, (vs_str){&digits[(unsigned char)*text >> 4], 1}), put(r, (vs_str){&digits[*text & 15], 1});
  put_cstr(r, "')");
}

/* python/vramscope/_recorder.py lies beside the recorder. */
static vs_status write_script(room *r, vs_error *error) {
  char module[VS_FOLDER_PATH];
  vs_format(module, sizeof module, "%s/vramscope_recorder.py", r->recorder);
  VS_TRY(vs_outfile_create(&r->out, r->script, false, error));
  put_cstr(r, "space = {'__name__': 'vramscope_recorder'}\nexec(compile(open(");
  put_hex(r, module);
  put_cstr(r, ").read(), 'vramscope_recorder.py', 'exec'), space)\nspace['answer'](");
  put_hex(r, r->library);
  put_cstr(r, ", ");
  if (r->plan->ends) put_cstr(r, "None");
  else put_hex(r, r->path);
  put_cstr(r, r->plan->may_replace ? ", True, " : ", False, ");
  put_hex(r, r->answer);
  put_cstr(r, ")\n");
  return vs_outfile_finish(&r->out, error);
}

static void put_quoted(room *r, const char *text) {
  put_cstr(r, "\"");
  for (; *text != 0; text++) {
    if (*text == '"' || *text == '\\') put_cstr(r, "\\");
    put(r, (vs_str){text, 1});
  }
  put_cstr(r, "\"");
}

/* The program gets its signals. 258: RTLD_NOW | RTLD_GLOBAL. The commands of the breakpoints are what is done at the first that is hit. */
static vs_status write_commands(room *r, vs_error *error) {
  VS_TRY(vs_outfile_create(&r->out, r->commands, false, error));
  put_cstr(r,
           "set pagination off\nset confirm off\nset breakpoint pending off\nhandle all nostop noprint pass\n"
           "sharedlibrary libc.so\nsharedlibrary libdl\nsharedlibrary libpython\n"
           "break PyEval_SaveThread\nbreak PyEval_RestoreThread\nbreak PyErr_CheckSignals\nbreak "
           "PyGILState_Ensure\n"
           "commands 1-4\ndelete breakpoints\n"
           "printf \"vramscope-library %d\\n\", ((void *(*)(const char *, int))dlopen)(");
  put_quoted(r, r->library);
  put_cstr(r, ", 258) != 0\nsharedlibrary libvramscope-record\n"
              "printf \"vramscope-script %d\\n\", ((int (*)(const char *))vramscope_record_script)(");
  put_quoted(r, r->script);
  put_cstr(r, ")\nend\ncontinue\ndelete breakpoints\ndetach\n");
  return vs_outfile_finish(&r->out, error);
}

static vs_status prepare(room *r, vs_error *error) {
  VS_TRY(look(r, error));
  VS_TRY(name_recording(r, error));
  VS_TRY(vs_folder_create(&r->folder, "vramscope-attach-", error));
  if (r->proc.user_id != vs_process_user() && r->proc.user_id != VS_PROC_NO_USER)
    VS_TRY(vs_folder_give(&r->folder, r->proc.user_id, error));
  vs_format(r->script, sizeof r->script, "%s/script.py", r->folder.path);
  vs_format(r->commands, sizeof r->commands, "%s/commands.gdb", r->folder.path);
  vs_format(r->output, sizeof r->output, "%s/gdb.txt", r->folder.path);
  vs_format(r->answer, sizeof r->answer, "%s/answer", r->folder.path);
  vs_format(r->pid, sizeof r->pid, "%U", r->plan->pid);
  if (strchr(r->library, '\n') != NULL || strchr(r->script, '\n') != NULL)
    return FAIL(VS_UNSUPPORTED, "a folder's name has a line feed, which gdb's commands cannot hold: %s",
                strchr(r->library, '\n') != NULL ? "that of the recorder"
                                                 : "that for temporary files (TMPDIR)");
  VS_TRY(write_script(r, error));
  return write_commands(r, error);
}

/* ---- the debugger */

/* Interrupts it once the program was not stopped for long: then it detaches. */
static void wait_for(vs_child *child) {
  const uint64_t began = vs_process_clock_us();
  bool is_told = false;
  while (vs_children_wait(child, 1, PAUSE_US) != 0) {
    if (vs_children_stopped()) vs_children_stop();
    const bool is_late = vs_process_clock_us() - began > PATIENCE_US;
    if (is_told || (!is_late && !vs_children_interrupted())) continue;
    vs_children_interrupt(child, 1);
    is_told = true;
  }
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
  if (status == VS_NOT_FOUND)
    return FAIL(VS_UNSUPPORTED,
                "a running program is attached to with gdb, which is not installed here (Debian and "
                "Ubuntu: apt install gdb)");
  if (status == VS_OK) wait_for(&child);
  vs_children_done();
  return status;
}

/* The text of a file, at most the first part of it; "" if there is none. */
static vs_status read_text(room *r, const char *path, vs_text *text) {
  size_t count = 1;
  vs_error ignored;
  text->bytes.count = 0;
  if (vs_infile_open(&r->in, path, &ignored) == VS_OK) {
    const vs_reader reader = vs_infile_reader(&r->in);
    while (count != 0 && text->bytes.count < MOST_OUTPUT) {
      char piece[4096];
      if (reader.read(reader.ctx, piece, sizeof piece, &count) != VS_OK) break;
      vs_text_put(text, piece, count);
    }
    vs_infile_close(&r->in);
  }
  vs_text_byte(text, 0);
  return text->status;
}

static vs_status say_forbidden(const room *r, vs_error *error) {
  char scope[16] = "";
  (void)vs_proc_text(proc_root, "sys/kernel/yama/ptrace_scope", scope, sizeof scope);
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
  if (strstr(said, "vramscope-library 0") != NULL)
    return FAIL(VS_UNSUPPORTED, "process %U cannot load %s", pid, r->library);
  if (strstr(said, "not permitted") != NULL || strstr(said, "already traced") != NULL)
    return say_forbidden(r, error);
  if (strstr(said, "\"PyEval_SaveThread\" not defined") != NULL)
    return FAIL(VS_UNSUPPORTED, "process %U (%s) does not run Python", pid, r->proc.name);
  if (!vs_process_is_alive((int64_t)pid)) return FAIL(VS_NOT_FOUND, "process %U has ended", pid);
  if (strstr(said, "Breakpoint 4 at") != NULL)
    return FAIL(VS_UNSUPPORTED,
                "process %U did not run Python for %u seconds, so nothing was changed there: try again", pid,
                (unsigned)(PATIENCE_US / 1000000));
  return FAIL(VS_UNSUPPORTED, "gdb could not attach to process %U", pid);
}

/* ---- the answer: the name of a status, a line feed, a text */

static vs_status take_answer(room *r, char *said, char path[VS_FOLDER_PATH], vs_error *error) {
  char *const end = strchr(said, '\n');
  if (end == NULL) return FAIL(VS_IO, "process %U does not answer", r->plan->pid);
  *end = 0;
  if (strcmp(said, "OK") != 0)
    return FAIL(strcmp(said, "BAD_ARGUMENT") == 0 ? VS_BAD_ARGUMENT : VS_IO, "process %U: %s", r->plan->pid,
                end + 1);
  vs_format(path, VS_FOLDER_PATH, "%s", end + 1);
  return VS_OK;
}

static vs_status wait_for_answer(room *r, vs_text *text, char path[VS_FOLDER_PATH], vs_error *error) {
  const uint64_t began = vs_process_clock_us();
  for (;;) {
    VS_TRY(read_text(r, r->answer, text));
    if (text->bytes.data[0] != 0) return take_answer(r, text->bytes.data, path, error);
    if (!vs_process_is_alive((int64_t)r->plan->pid))
      return FAIL(VS_NOT_FOUND, "process %U has ended", r->plan->pid);
    if (vs_process_clock_us() - began > PATIENCE_US)
      return FAIL(VS_UNSUPPORTED,
                  "process %U does not give Python's lock away, so nothing was changed there: try again",
                  r->plan->pid);
    vs_clock_sleep_ns((uint64_t)PAUSE_US * 1000);
  }
}

/* ---- the whole */

static vs_status attach(room *r, vs_text *text, char path[VS_FOLDER_PATH], vs_error *error) {
  VS_TRY(prepare(r, error));
  VS_TRY(debug(r, error));
  VS_TRY(read_text(r, r->output, text));
  VS_TRY(judge(r, text->bytes.data, error));
  return wait_for_answer(r, text, path, error);
}

vs_status vs_attach(const vs_host *host, const vs_attach_plan *plan, char path[VS_FOLDER_PATH],
                    vs_error *error) {
  vs_text text;
  room *r = vs_host_alloc(host, sizeof *r);
  if (r == NULL) return FAIL(VS_NO_MEMORY, "%s", vs_status_text(VS_NO_MEMORY));
  memset(r, 0, sizeof *r);
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_text_init(&text, host, NULL);
  r->host = host;
  r->plan = plan;
  r->folder.fd = -1;
  const vs_status status = attach(r, &text, path, error);
  if (status != VS_OK && error->text[0] == 0) (void)FAIL(status, "%s", vs_status_text(status));
  error->status = status;
  vs_folder_remove(&r->folder);
  vs_text_deinit(&text);
  vs_host_free(host, r, sizeof *r);
  return status;
}
