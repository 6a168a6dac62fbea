#include "faces/preload/recording.h"
#include "base/hot.h"
#include "base/text.h"
#include "faces/preload/recording_file.h"
#include "os/thread.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH = VS_PRELOAD_PATH };

#define ON_OOM_BYTES (UINT64_C(256) << 20)
#define SECOND       UINT64_C(1000000000)

/* The program may change its environment, and its folder: so the paths are kept, and are absolute. Guarded by `lock`, but for `is_wanted`. */
static struct {
  char path[PATH], list[PATH];
  bool has_pid_always, is_quiet, has_python_only;
  uint64_t most_bytes, most_ns; /* of the file, which keeps the newest events; 0: all */
} wanted;
static VS_HOT _Atomic bool is_wanted, is_on_oom;

/* Constant once the library is loaded. */
static bool (*checkpoint)(void *ctx, vs_recorder *recorder);
static void (*tell_opened)(vs_recorder *recorder);

/* Guarded by `lock`, but for `opened` and the recorder. `opened` is the era of `current`, 0 before the first. */
static vs_lock lock;
static VS_HOT _Atomic uint32_t begun; /* recordings that were begun from inside */
static VS_HOT _Atomic uint32_t opened;
static VS_HOT vs_preload_recording current;
static char current_path[PATH], kept_path[PATH];
static _Atomic uint32_t kept_era; /* of `kept_path` */

uint32_t vs_recording_era(void) {
  return vs_fork_generation() + atomic_load_explicit(&begun, memory_order_relaxed) + 1;
}

bool vs_recording_is_wanted(void) { return atomic_load_explicit(&is_wanted, memory_order_relaxed); }

bool vs_recording_is_on_oom(void) { return atomic_load_explicit(&is_on_oom, memory_order_relaxed); }

const char *vs_recording_path(void) { return current.recorder == NULL ? "" : current_path; }

const char *vs_recording_kept(void) { return kept_era == vs_recording_era() ? kept_path : ""; }

/* ---- preparing */

static void keep_path(char path[PATH], const char *value) {
  char folder[PATH] = "";
  path[0] = 0;
  if (value == NULL || *value == 0) return;
  if (*value != '/' && getcwd(folder, sizeof folder) == NULL) folder[0] = 0;
  vs_format(path, PATH, "%s%s%s", folder, folder[0] == 0 ? "" : "/", value);
}

static void set_bounds(bool keeps_only_oom, uint64_t most_bytes, uint64_t most_ns) {
  const bool is_bounded = most_bytes != 0 || most_ns != 0;
  is_on_oom = keeps_only_oom;
  wanted.most_bytes = keeps_only_oom && !is_bounded ? ON_OOM_BYTES : most_bytes;
  wanted.most_ns = most_ns;
}

/* A number of bytes, or of seconds; anything else is as if it were not set. */
static void read_bounds(bool keeps_only_oom, const char *value) {
  vs_str text = vs_str_from(value == NULL ? "" : value);
  const bool is_time = text.size != 0 && text.data[text.size - 1] == 's';
  uint64_t number = 0;
  text.size -= is_time;
  if (!vs_parse_u64(text, &number) || (is_time && number > UINT64_MAX / SECOND)) number = 0;
  set_bounds(keeps_only_oom, is_time ? 0 : number, is_time ? number * SECOND : 0);
}

void vs_recording_prepare(bool is_early, bool (*put_state)(void *ctx, vs_recorder *recorder),
                          void (*tell)(vs_recorder *recorder)) {
  checkpoint = put_state;
  tell_opened = tell;
  keep_path(wanted.path, getenv("VRAMSCOPE_RECORD"));
  keep_path(wanted.list, getenv("VRAMSCOPE_RECORD_LIST"));
  wanted.has_pid_always = getenv("VRAMSCOPE_RECORD_EACH") != NULL;
  read_bounds(getenv("VRAMSCOPE_RECORD_ON_OOM") != NULL, getenv("VRAMSCOPE_RECORD_RING"));
  const char *stacks = getenv("VRAMSCOPE_RECORD_STACKS");
  wanted.is_quiet = getenv("VRAMSCOPE_RECORD_QUIET") != NULL;
  wanted.has_python_only = stacks != NULL && strcmp(stacks, "python") == 0;
  is_wanted = is_early && wanted.path[0] != 0;
  vs_fork_watch();
}

vs_record_stacks *vs_recording_stacks(void) { return current.stacks; }

bool vs_recording_gives_way(void) { return wanted.is_quiet && vs_recording_is_on(); }

bool vs_recording_has_native_stacks(void) { return !wanted.has_python_only; }

/* ---- messages */

/* One call of write, so that lines of several processes do not mix. */
static void list(const char *what, const char *text) {
  char line[2 * PATH];
  if (wanted.list[0] == 0) return;
  vs_format(line, sizeof line, "%D\t%s%s\n", (int64_t)getpid(), what, text);
  const int fd = open(wanted.list, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, line, strlen(line));
  (void)close(fd);
}

void vs_recording_note_pytorch(void) {
  const int before = errno;
  list("=", "");
  errno = before;
}

void vs_recording_say(const char *sentence) {
  char line[PATH + 1024];
  const int before = errno;
  vs_format(line, sizeof line, "vramscope: %s\n", sentence);
  if (!wanted.is_quiet) (void)!write(STDERR_FILENO, line, strlen(line));
  list("\t", sentence);
  errno = before;
}

static void say(void *ctx, const char *sentence) {
  (void)ctx;
  vs_recording_say(sentence);
}

/* ---- opening */

static vs_status open_at(vs_recorder **recorder, const char *path, bool may_replace, vs_error *error) {
  const vs_record_options options = {.path = path,
                                     .may_replace = may_replace,
                                     .wait = true,
                                     .wait_ms = 1000,
                                     .stacks = current.stacks,
                                     .say = say,
                                     .checkpoint = checkpoint,
                                     .max_bytes = wanted.most_bytes,
                                     .max_ns = wanted.most_ns,
                                     .has_no_pools = true,
                                     .has_no_completions = true};
  return vs_record_open(vs_host_default(), &options, recorder, error);
}

/* The first name that is free. */
static vs_status open_file(vs_recorder **recorder, char path[PATH], vs_error *error) {
  vs_status status = VS_IO;
  for (uint32_t try = wanted.has_pid_always; try < VS_PRELOAD_MOST_NAMES && status != VS_OK; try++) {
    vs_recording_name(path, wanted.path, try, !wanted.has_pid_always);
    status = open_at(recorder, path, false, error);
    if (status != VS_OK && !vs_recording_is_there(path)) return status; /* not because of another file */
  }
  return status;
}

/* PyTorch's own snapshots have them under these names, too. */
void vs_recording_put_settings(vs_recorder *recorder) {
  static const char *const names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    const vs_record_setting_value setting = {.key = vs_str_from(names[i]),
                                             .kind = VS_RECORD_SETTING_STRING,
                                             .text = vs_str_from(value == NULL ? "" : value)};
    if (value != NULL) vs_record_put_setting(recorder, &setting);
  }
}

/* The parent's recorder is left as it is: its memory is the child's, too, and its file and thread are not. `wish` is NULL for a recording
 * that the environment asked for, or a parent. */
static vs_status open_recording(const vs_recording_wish *wish, vs_error *error) {
  vs_recorder *recorder = NULL;
  current.recorder = NULL;
  vs_status status = current.stacks != NULL ? VS_OK : vs_record_stacks_create(NULL, &current.stacks);
  vs_format(current_path, PATH, "%s", wanted.path);
  if (status != VS_OK) return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  if (is_on_oom) vs_recording_name_part(current_path, wanted.path, 0);
  if (is_on_oom) status = open_at(&recorder, current_path, true, error);
  else if (wish != NULL) status = open_at(&recorder, current_path, wish->may_replace, error);
  else status = open_file(&recorder, current_path, error);
  if (status != VS_OK) return status;
  vs_recording_put_settings(recorder);
  tell_opened(recorder);
  current.recorder = recorder;
  if (!is_on_oom) list(current_path, "");
  return VS_OK;
}

static void open_wanted(void) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  char sentence[PATH + VS_ERROR_TEXT_SIZE];
  current.recorder = NULL;
  if (!is_wanted || open_recording(NULL, &error) == VS_OK) return;
  vs_format(sentence, sizeof sentence, "not recording: %s: %s", current_path, error.text);
  vs_recording_say(sentence);
}

const vs_preload_recording *vs_recording_now(void) {
  const uint32_t here = vs_recording_era();
  if (__builtin_expect(atomic_load_explicit(&opened, memory_order_acquire) == here, 1)) return &current;
  const int before = errno;
  vs_lock_take(&lock);
  if (atomic_load_explicit(&opened, memory_order_relaxed) != vs_recording_era()) {
    open_wanted();
    atomic_store_explicit(&opened, vs_recording_era(), memory_order_release);
  }
  vs_lock_give(&lock);
  errno = before;
  return &current;
}

/* A recording that was wanted and could not be opened is none. */
bool vs_recording_is_on(void) {
  return is_wanted && (atomic_load(&opened) != vs_recording_era() || current.recorder != NULL);
}

vs_recorder *vs_recording_current(void) {
  return atomic_load_explicit(&opened, memory_order_acquire) == vs_recording_era() ? current.recorder : NULL;
}

static vs_status begin(const vs_recording_wish *wish, vs_error *error) {
  if (vs_recording_is_on())
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "this process is being recorded already, to %s",
                   current.recorder == NULL ? wanted.path : current_path);
  if (wish->path == NULL && wanted.path[0] == 0)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "VRAMSCOPE_RECORD is not set");
  if (wish->path != NULL) {
    keep_path(wanted.path, wish->path);
    wanted.has_pid_always = wanted.is_quiet = wanted.has_python_only = false;
    set_bounds(wish->is_on_oom, wish->most_bytes, wish->most_ns);
  }
  atomic_fetch_add(&begun, 1);
  is_wanted = true;
  if (wish->path == NULL) return VS_OK; /* opened by the first call */
  const vs_status status = open_recording(wish, error);
  is_wanted = status == VS_OK;
  atomic_store_explicit(&opened, vs_recording_era(), memory_order_release);
  return status;
}

vs_status vs_recording_begin(const vs_recording_wish *wish, vs_error *error) {
  vs_lock_take(&lock);
  const vs_status status = begin(wish, error);
  vs_lock_give(&lock);
  return status;
}

/* ---- ending */

bool vs_recording_take(vs_recording_taken *taken) {
  is_wanted = false;
  taken->recorder = NULL;
  if (atomic_load_explicit(&opened, memory_order_acquire) != vs_recording_era()) return false;
  taken->recorder = atomic_exchange(&current.recorder, NULL);
  vs_format(taken->path, PATH, "%s", current_path);
  return taken->recorder != NULL;
}

/* The file that was there keeps its name until it is complete, so the next one has another. */
vs_recorder *vs_recording_change(vs_recording_taken *taken) {
  vs_error error;
  vs_recorder *recorder = NULL;
  static _Atomic uint32_t number;
  taken->recorder = atomic_exchange(&current.recorder, NULL);
  vs_format(taken->path, PATH, "%s", current_path);
  vs_recording_name_part(current_path, wanted.path, atomic_fetch_add(&number, 1) + 1);
  if (open_at(&recorder, current_path, true, &error) != VS_OK) {
    vs_recording_say("recording has ended: another file cannot be written");
    return NULL;
  }
  vs_recording_put_settings(recorder);
  current.recorder = recorder;
  return recorder;
}

static vs_status keep(const vs_recording_taken *taken, vs_error *error) {
  char sentence[2 * PATH];
  const bool is_first = kept_era != vs_recording_era();
  if (is_first) kept_path[0] = 0;
  kept_era = vs_recording_era();
  VS_TRY(vs_recording_keep(taken->path, wanted.path, kept_path, error));
  if (!is_first) return VS_OK;
  list(kept_path, "");
  vs_format(sentence, sizeof sentence,
            "out of memory: what led to it is recorded in %s (vramscope oom shows it)", kept_path);
  vs_recording_say(sentence);
  return VS_OK;
}

vs_status vs_recording_close(const vs_recording_taken *taken, bool has_oom, vs_error *error) {
  const vs_status status = vs_record_close(taken->recorder, NULL, error);
  if (!is_on_oom) return status;
  vs_lock_take(&lock);
  vs_status kept = VS_OK;
  if (has_oom) kept = keep(taken, status == VS_OK ? error : NULL);
  else (void)unlink(taken->path);
  vs_lock_give(&lock);
  return status == VS_OK ? kept : status;
}
