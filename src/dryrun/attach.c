#include "dryrun/attach_room.h"
#include "base/machine.h"
#include "dryrun/libraries.h"
#include "os/clock.h"
#include "os/process.h"

typedef vs_attach_room room;

static const char proc_root[] = "/proc";

#define FAIL(status, ...) vs_fail(error, (status), VS_NO_OFFSET, __VA_ARGS__)

/* ---- what is known before */

static vs_status look(room *r, vs_error *error) {
  const uint64_t pid = r->plan->pid;
  const uint32_t user = vs_process_user();
  if (!VS_HAS_RECORDER) return FAIL(VS_UNSUPPORTED, VS_NO_RECORDER);
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

/* Text of Python's that has no character but digits, whatever the path has. */
static void put_hex(room *r, const char *text) {
  static const char digits[] = "0123456789abcdef";
  vs_attach_put(r, "bytes.fromhex('");
  for (; *text != 0; text++)
    vs_attach_put(r, (const char[]){digits[(unsigned char)*text >> 4], digits[*text & 15], 0});
  vs_attach_put(r, "')");
}

/* python/vramscope/_recorder.py lies beside the recorder. */
static vs_status write_script(room *r, vs_error *error) {
  char module[VS_FOLDER_PATH];
  vs_format(module, sizeof module, "%s/vramscope_recorder.py", r->recorder);
  VS_TRY(vs_outfile_create(&r->out, r->script, false, error));
  vs_attach_put(r, "space = {'__name__': 'vramscope_recorder'}\nexec(compile(open(");
  put_hex(r, module);
  vs_attach_put(r, ").read(), 'vramscope_recorder.py', 'exec'), space)\nspace['answer'](");
  put_hex(r, r->library);
  vs_attach_put(r, ", ");
  if (r->plan->ends) vs_attach_put(r, "None");
  else put_hex(r, r->path);
  vs_attach_put(r, r->plan->may_replace ? ", True, " : ", False, ");
  put_hex(r, r->answer);
  vs_attach_put(r, ")\n");
  return vs_outfile_finish(&r->out, error);
}

static vs_status prepare(room *r, vs_error *error) {
  VS_TRY(look(r, error));
  VS_TRY(name_recording(r, error));
  VS_TRY(vs_folder_create(&r->folder, "vramscope-attach-", error));
  if (r->proc.user_id != vs_process_user() && r->proc.user_id != VS_PROC_NO_USER)
    VS_TRY(vs_folder_give(&r->folder, r->proc.user_id, error));
  vs_format(r->script, sizeof r->script, "%s/script.py", r->folder.path);
  vs_format(r->answer, sizeof r->answer, "%s/answer", r->folder.path);
  vs_format(r->pid, sizeof r->pid, "%U", r->plan->pid);
  return write_script(r, error);
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

static bool is_answered(const vs_text *text) { return text->bytes.data[0] != 0; }

/* Empty text: there is none yet. */
static vs_status wait_for_answer(room *r, uint64_t most_us, vs_text *text, vs_error *error) {
  const uint64_t began = vs_process_clock_us();
  for (;;) {
    VS_TRY(vs_attach_read(r->answer, text));
    if (is_answered(text)) return VS_OK;
    if (!vs_process_is_alive((int64_t)r->plan->pid))
      return FAIL(VS_NOT_FOUND, "process %U has ended", r->plan->pid);
    if (vs_process_clock_us() - began > most_us) return VS_OK;
    vs_clock_sleep_ns((uint64_t)VS_ATTACH_PAUSE_US * 1000);
  }
}

/* ---- by a debugger */

static vs_status say_missing(const room *r, vs_error *error) {
  static const char how[] = "Debian and Ubuntu: apt install gdb";
  if (r->is_pending)
    return FAIL(VS_UNSUPPORTED,
                "the main thread of process %U did not run Python for %u seconds, and gdb or lldb, which do "
                "not need that, are not installed here (%s)",
                r->plan->pid, (unsigned)(VS_ATTACH_MAIN_THREAD_US / 1000000), how);
  return FAIL(VS_UNSUPPORTED,
              "a running program is attached to with gdb or lldb, which are not installed here (%s)", how);
}

/* By the first one that is installed. */
static vs_status debug(room *r, vs_text *text, vs_error *error) {
  const vs_attach_debugger *const debuggers[] = {&vs_attach_gdb, &vs_attach_lldb};
  for (size_t i = 0; i < sizeof debuggers / sizeof debuggers[0]; i++) {
    bool is_installed;
    const vs_status status = vs_attach_by_debugger(r, debuggers[i], &is_installed, text, error);
    if (is_installed) return status;
  }
  return say_missing(r, error);
}

/* ---- the whole */

static vs_status say_unanswered(const room *r, vs_error *error) {
  return FAIL(VS_UNSUPPORTED,
              "process %U does not give Python's lock away, so nothing was changed there: try again",
              r->plan->pid);
}

/* The program was asked and has not answered. It may still read the script when nobody waits for it any more, so the script is emptied. */
static vs_status withdraw(room *r, vs_error *error) {
  VS_TRY(vs_outfile_create(&r->out, r->script, true, error));
  return vs_outfile_finish(&r->out, error);
}

/* The program's Python is asked first, where it can be; its main thread may be in a call that does not end. */
static vs_status ask(room *r, vs_text *text, vs_error *error) {
  if (vs_attach_by_python(r)) {
    VS_TRY(wait_for_answer(r, VS_ATTACH_MAIN_THREAD_US, text, error));
    if (is_answered(text)) return VS_OK;
    VS_TRY(withdraw(r, error));
    VS_TRY(vs_attach_read(r->answer, text)); /* it may have answered meanwhile */
    if (is_answered(text)) return VS_OK;
    r->is_pending = true;
    vs_format(r->script, sizeof r->script, "%s/again.py", r->folder.path);
    VS_TRY(write_script(r, error));
  }
  VS_TRY(debug(r, text, error));
  return wait_for_answer(r, VS_ATTACH_PATIENCE_US, text, error);
}

static vs_status attach(room *r, vs_text *text, char path[VS_FOLDER_PATH], vs_error *error) {
  VS_TRY(prepare(r, error));
  VS_TRY(ask(r, text, error));
  return is_answered(text) ? take_answer(r, text->bytes.data, path, error) : say_unanswered(r, error);
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
  if (r->is_pending) vs_folder_leave(&r->folder);
  else vs_folder_remove(&r->folder);
  vs_text_deinit(&text);
  vs_host_free(host, r, sizeof *r);
  return status;
}
