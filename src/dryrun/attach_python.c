#include "dryrun/attach_room.h"
#include "os/child.h"
#include "os/process.h"

/* "/usr/bin/python3.14": the interpreter of a version that has sys.remote_exec. Other programs that contain Python, and builds without the
 * global lock, are left to the debugger. */
static bool is_new_python(const char *program) {
  static const char name[] = "python3.";
  const char *const slash = strrchr(program, '/');
  uint64_t minor;
  if (slash == NULL || strncmp(slash + 1, name, strlen(name)) != 0) return false;
  return vs_parse_u64(vs_str_from(slash + 1 + strlen(name)), &minor) && minor >= 14;
}

bool vs_attach_by_python(vs_attach_room *room) {
  char program[VS_FOLDER_PATH];
  if (!vs_proc_program("/proc", room->plan->pid, program, sizeof program) || !is_new_python(program))
    return false;
  char *const words[] = {program,
                         (char[]){"-I"},
                         (char[]){"-S"},
                         (char[]){"-c"},
                         (char[]){"import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])"},
                         room->pid,
                         room->script,
                         NULL};
  const vs_child_plan plan = {.words = words, .streams = VS_CHILD_STREAMS_NONE, .is_apart = true};
  vs_child child;
  vs_error ignored; /* then the debugger is asked, and says what is wrong */
  if (vs_child_start(&child, &plan, &ignored) != VS_OK) return false;
  const uint64_t began = vs_process_clock_us();
  while (vs_children_wait(&child, 1, VS_ATTACH_PAUSE_US) != 0) {
    if (vs_children_stopped()) vs_children_stop();
    if (vs_children_interrupted() || vs_process_clock_us() - began > VS_ATTACH_PATIENCE_US)
      vs_children_kill(&child, 1);
  }
  vs_children_done();
  return child.signal == 0 && child.exit_code == 0;
}
