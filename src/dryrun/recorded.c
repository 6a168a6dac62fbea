#include "dryrun/recorded.h"
#include "base/human.h"
#include "base/machine.h"
#include "dryrun/launch.h"
#include "os/infile.h"
#include "os/mapfile.h"
#include "os/outfile.h"
#include "os/process.h"

/* What the processes get. The texts live as long as the run. */
typedef struct room {
  const vs_recorded_plan *plan;
  vs_recorded *recorded;
  vs_folder folder;
  char recorder[VS_FOLDER_PATH];
  char path[VS_FOLDER_PATH], list[VS_FOLDER_PATH];
  char ring[32]; /* bytes, or seconds and an s, in decimals */
  vs_changed changed;
  vs_simulated simulated; /* where the hook is */
  char hook[VS_FOLDER_PATH];
  vs_child_variable variables[6 + VS_CHANGED_VARIABLES + 1];
  size_t count;
  vs_text preload, python;
  vs_outfile out;
  vs_dryrun_plan dryrun;
  vs_dryrun_setup setup;
  vs_launch launch;
} room;

static void set(room *r, const char *name, const char *value) {
  VS_ASSERT(r->count < sizeof r->variables / sizeof *r->variables);
  r->variables[r->count++] = (vs_child_variable){.name = name, .value = value};
}

/* ---- the file of the recording */

/* "train" of "python3 train.py", else the program's name. */
static vs_str program_name(char *const *words) {
  const char *slash = strrchr(words[0], '/'), *name = slash == NULL ? words[0] : slash + 1;
  if (vs_str_starts(vs_str_from(name), VS_STR("python")) && words[1] != NULL && words[1][0] != '-') {
    slash = strrchr(words[1], '/');
    name = slash == NULL ? words[1] : slash + 1;
  }
  const size_t size = strlen(name);
  const bool is_script = size > 3 && strcmp(name + size - 3, ".py") == 0;
  return (vs_str){name, is_script ? size - 3 : size};
}

static vs_status name_recording(room *r, vs_error *error) {
  char folder[VS_FOLDER_PATH];
  const char *wanted = r->plan->path;
  vs_process_working_folder(folder, sizeof folder);
  if (wanted == NULL)
    vs_format(r->path, sizeof r->path, "%s/%S.vram", folder, program_name(r->plan->command));
  else if (wanted[0] == '/') vs_format(r->path, sizeof r->path, "%s", wanted);
  else vs_format(r->path, sizeof r->path, "%s/%s", folder, wanted);
  if (strlen(r->path) + 1 < sizeof r->path && (folder[0] != 0 || r->path[1] != 0)) return VS_OK;
  return vs_fail(error, VS_IO, VS_NO_OFFSET, "the path is too long");
}

/* The recorder creates the file when the program uses the GPU's memory. That it can be created is tried before, so that the program does not run
 * in vain; an older file is removed. */
static vs_status try_recording(room *r, vs_error *error) {
  vs_mapfile file;
  if (r->plan->path == NULL) return VS_OK;
  const vs_status status = vs_mapfile_create(&file, r->path, r->plan->may_replace, error);
  if (status == VS_OK) vs_mapfile_abandon(&file);
  else r->recorded->subject = r->plan->path;
  return status;
}

/* A state of the memory, and all names, have to lie in a quarter of it. */
static vs_status bound(room *r, vs_error *error) {
  enum { LEAST = 16 << 20 };
  uint64_t bytes, seconds;
  if (r->plan->ring == NULL) return VS_OK;
  if (vs_parse_seconds(vs_str_from(r->plan->ring), &seconds)) {
    if (seconds == 0) return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--ring takes at least 1s");
    vs_format(r->ring, sizeof r->ring, "%Us", seconds);
    return VS_OK;
  }
  if (!vs_parse_bytes(vs_str_from(r->plan->ring), &bytes))
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "--ring takes a size such as 200MB or a time such as 5min, not \"%s\"", r->plan->ring);
  if (bytes < LEAST) return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "--ring takes at least 16MiB");
  vs_format(r->ring, sizeof r->ring, "%U", bytes);
  return VS_OK;
}

static vs_status prepare(room *r, vs_error *error) {
  if (!VS_HAS_RECORDER) return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, VS_NO_RECORDER);
  vs_recorder_find(r->recorder);
  if (r->recorder[0] == 0)
    return vs_fail(error, VS_IO, VS_NO_OFFSET,
                   "the recorder is missing: libvramscope-record.so belongs beside the program (preload/) or "
                   "in the library "
                   "folder (vramscope/preload/)");
  VS_TRY(bound(r, error));
  VS_TRY(vs_changed_read(&r->changed, r->recorded->host, r->plan->with, error));
  VS_TRY(name_recording(r, error));
  VS_TRY(try_recording(r, error));
  VS_TRY(vs_folder_create(&r->folder, "vramscope-run-", error));
  vs_changed_begin(&r->changed, r->folder.path);
  vs_format(r->list, sizeof r->list, "%s/recordings", r->folder.path);
  VS_TRY(vs_outfile_log(&r->out, r->list, error));
  VS_TRY(vs_outfile_finish(&r->out, error));
  set(r, "VRAMSCOPE_RECORD", r->path);
  set(r, "VRAMSCOPE_RECORD_LIST", r->list);
  set(r, "VRAMSCOPE_RECORD_EACH", r->plan->path == NULL ? "1" : NULL);
  set(r, "VRAMSCOPE_RECORD_ON_OOM", r->plan->is_on_oom ? "1" : NULL);
  set(r, "VRAMSCOPE_RECORD_RING", r->plan->ring == NULL ? NULL : r->ring);
  return VS_OK;
}

static vs_status put_changes(room *r) {
  vs_jsonw w;
  vs_jsonw_begin(&w, &r->recorded->changes, 0);
  const vs_status status = vs_changed_put(&w, r->recorded->host, &r->changed);
  vs_jsonw_end(&w);
  return status == VS_OK ? r->recorded->changes.status : status;
}

/* ---- on the machine's own GPUs */

static vs_status preload(room *r, vs_error *error) {
  char folder[VS_FOLDER_PATH], path[VS_FOLDER_PATH + 64];
  VS_TRY(vs_launch_name_plainly(r->recorder, &r->folder, "preload", folder, error));
  vs_recorder_path(path, sizeof path, folder);
  vs_launch_put_first(&r->preload, path, "LD_PRELOAD");
  set(r, "LD_PRELOAD", r->preload.bytes.data);
  return r->preload.status;
}

/* The changes, and the hook that applies them. */
static vs_status change(room *r, vs_error *error) {
  const size_t count = vs_changed_variables(&r->changed, r->variables + r->count);
  if (count == 0) return VS_OK;
  r->count += count;
  vs_simulated_find(&r->simulated, NULL);
  if (r->simulated.python[0] == 0)
    return vs_fail(
        error, VS_IO, VS_NO_OFFSET,
        "the hook that applies changes is missing: sitecustomize.py belongs beside the program (dryrun/) "
        "or in the library folder (vramscope/dryrun/)");
  VS_TRY(vs_launch_name_plainly(r->simulated.python, &r->folder, "python", r->hook, error));
  vs_launch_put_first(&r->python, r->hook, "PYTHONPATH");
  set(r, "PYTHONPATH", r->python.bytes.data);
  return r->python.status;
}

static void wait_for(vs_child *child) {
  enum { WAKE_US = 10 * 1000 * 1000 };
  while (vs_children_wait(child, 1, WAKE_US) != 0)
    if (vs_children_stopped()) vs_children_stop();
}

static vs_status run_here(room *r, vs_error *error) {
  static const vs_child_streams streams[] = {
      [VS_DRYRUN_STREAMS_OURS] = VS_CHILD_STREAMS_OURS,
      [VS_DRYRUN_STREAMS_TO_STDERR] = VS_CHILD_STREAMS_TO_STDERR,
      [VS_DRYRUN_STREAMS_NONE] = VS_CHILD_STREAMS_NONE,
  };
  vs_child child;
  VS_TRY(preload(r, error));
  VS_TRY(change(r, error));
  const vs_child_plan plan = {.words = r->plan->command,
                              .variables = r->variables,
                              .variable_count = r->count,
                              .streams = streams[r->plan->streams]};
  vs_status status = vs_child_start(&child, &plan, error);
  if (status == VS_OK) {
    wait_for(&child);
    r->recorded->exit_code = child.signal != 0 ? 128 + child.signal : child.exit_code;
    status = put_changes(r);
  } else {
    r->recorded->exit_code = status == VS_NOT_FOUND ? 127 : 126;
    r->recorded->subject = r->plan->command[0];
  }
  vs_children_done();
  return status;
}

/* ---- on simulated ones: a launch of dryrun without its history */

static vs_status run_simulated(room *r, vs_error *error) {
  r->dryrun = (vs_dryrun_plan){.command = r->plan->command,
                               .gpu = r->plan->gpu,
                               .has_no_history = true,
                               .with = r->plan->with,
                               .streams = r->plan->streams};
  VS_TRY(vs_dryrun_setup_init(&r->setup, r->recorded->host, &r->dryrun, NULL, error));
  r->setup.recorder = r->recorder;
  r->setup.variables = r->variables;
  r->setup.variable_count = r->count;
  vs_status status = vs_launch_run(&r->launch, &r->setup, r->setup.gpus, VS_LAUNCH_SHOWN, error);
  if (status == VS_OK) {
    r->recorded->exit_code = vs_launch_exit(&r->launch);
    vs_changed_begin(&r->changed, r->launch.folder.path);
    status = put_changes(r);
  } else if (r->launch.start_exit != 0) {
    r->recorded->exit_code = r->launch.start_exit;
    r->recorded->subject = r->plan->command[0];
  }
  vs_launch_close(&r->launch);
  return status;
}

/* ---- the recordings */

/* "PID\t=": about the newest recording of that process. */
static void note_pytorch(vs_recorded *recorded, int64_t pid) {
  for (size_t i = recorded->files.count; i-- > 0;) {
    if (recorded->files.data[i].pid != pid) continue;
    recorded->files.data[i].has_pytorch = true;
    return;
  }
}

/* Cuts the line at `text`, "PID\tPATH", into its parts; lines of another form are not about recordings. What is kept because a request of
 * PyTorch's failed has its memory. */
static vs_status take_line(vs_recorded *recorded, char *text, bool is_on_oom) {
  uint64_t pid;
  char *tab = strchr(text, '\t');
  if (tab == NULL || (tab[1] != '/' && tab[1] != '=')) return VS_OK;
  *tab = 0;
  if (!vs_parse_u64(vs_str_from(text), &pid) || pid > INT64_MAX) return VS_OK;
  const vs_recorded_file file = {.pid = (int64_t)pid, .path = tab + 1, .has_pytorch = is_on_oom};
  if (tab[1] == '=') {
    note_pytorch(recorded, file.pid);
    return VS_OK;
  }
  VS_TRY(vs_vec_reserve(recorded->host, &recorded->files, 1));
  recorded->files.data[recorded->files.count++] = file;
  return VS_OK;
}

static vs_status take_lines(vs_recorded *recorded, bool is_on_oom) {
  char *line = recorded->lines.bytes.data;
  for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = 0;
    VS_TRY(take_line(recorded, line, is_on_oom));
  }
  return VS_OK;
}

static vs_status gather(room *r, vs_error *error) {
  VS_TRY(vs_infile_text(r->list, SIZE_MAX, &r->recorded->lines, error));
  vs_text_byte(&r->recorded->lines, 0);
  return r->recorded->lines.status == VS_OK ? take_lines(r->recorded, r->plan->is_on_oom)
                                            : r->recorded->lines.status;
}

/* ---- the whole */

static vs_status run(room *r, vs_error *error) {
  VS_TRY(prepare(r, error));
  VS_TRY(r->plan->gpu == NULL ? run_here(r, error) : run_simulated(r, error));
  return gather(r, error);
}

vs_status vs_recorded_run(vs_recorded *recorded, const vs_host *host, const vs_recorded_plan *plan,
                          vs_error *error) {
  *recorded = (vs_recorded){.host = host};
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_text_init(&recorded->lines, host, NULL);
  vs_text_init(&recorded->changes, host, NULL);
  room *r = vs_host_alloc(host, sizeof *r); /* large for a stack */
  if (r == NULL) return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
  memset(r, 0, sizeof *r);
  r->plan = plan;
  r->recorded = recorded;
  r->folder.fd = -1;
  vs_text_init(&r->preload, host, NULL);
  vs_text_init(&r->python, host, NULL);
  const vs_status status = run(r, error);
  if (status != VS_OK && error->text[0] == 0)
    (void)vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  error->status = status;
  vs_text_deinit(&r->preload);
  vs_text_deinit(&r->python);
  vs_folder_remove(&r->folder);
  vs_host_free(host, r, sizeof *r);
  return status;
}

void vs_recorded_deinit(vs_recorded *recorded) {
  vs_vec_free(recorded->host, &recorded->files);
  vs_text_deinit(&recorded->lines);
  vs_text_deinit(&recorded->changes);
}
