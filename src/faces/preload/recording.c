#include "faces/preload/recording.h"
#include "base/text.h"
#include "os/thread.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4096, MOST_NAMES = 1000 };

/* Constant once the library is loaded: the program may change its environment, and its folder. */
static struct {
  char path[PATH], list[PATH];
  bool has_pid_always, is_quiet, has_python_only;
} wanted;

/* Guarded by `lock`, but for `state`. `forks` is 1 + the generation of the process that opened it, 0 before the first. */
static vs_lock lock;
static _Atomic uint32_t forks;
static vs_preload_recording current;

/* ---- preparing */

static void keep_path(char path[PATH], const char *variable) {
  const char *value = getenv(variable);
  char folder[PATH] = "";
  path[0] = 0;
  if (value == NULL || *value == 0) return;
  if (*value != '/' && getcwd(folder, sizeof folder) == NULL) folder[0] = 0;
  vs_format(path, PATH, "%s%s%s", folder, folder[0] == 0 ? "" : "/", value);
}

bool vs_recording_prepare(void) {
  keep_path(wanted.path, "VRAMSCOPE_RECORD");
  keep_path(wanted.list, "VRAMSCOPE_RECORD_LIST");
  const char *stacks = getenv("VRAMSCOPE_RECORD_STACKS");
  wanted.has_pid_always = getenv("VRAMSCOPE_RECORD_EACH") != NULL;
  wanted.is_quiet = getenv("VRAMSCOPE_RECORD_QUIET") != NULL;
  wanted.has_python_only = stacks != NULL && strcmp(stacks, "python") == 0;
  vs_fork_watch();
  return wanted.path[0] != 0;
}

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

void vs_recording_say(const char *sentence) {
  char line[1024];
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

/* The path of try number `try`: 0 is the one that was asked for. */
static void name_file(char path[PATH], uint32_t try) {
  static const char ending[] = ".vram";
  const size_t size = strlen(wanted.path), end = sizeof ending - 1;
  const bool has_ending = size > end && strcmp(wanted.path + size - end, ending) == 0;
  char number[16] = "";
  if (try == 0) {
    vs_format(path, PATH, "%s", wanted.path);
    return;
  }
  if (try > 1) vs_format(number, sizeof number, ".%u", try);
  vs_format(path, PATH, "%S.%D%s%s", (vs_str){wanted.path, has_ending ? size - end : size}, (int64_t)getpid(),
            number, has_ending ? ending : "");
}

static bool is_there(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0;
}

static vs_status open_file(vs_recorder **recorder, char path[PATH], vs_error *error) {
  vs_record_options options = {.path = path,
                               .wait = true,
                               .wait_ms = 1000,
                               .stacks = current.stacks,
                               .say = say,
                               .has_no_pools = true,
                               .has_no_completions = true};
  vs_status status = VS_IO;
  for (uint32_t try = wanted.has_pid_always; try < MOST_NAMES && status != VS_OK; try++) {
    name_file(path, try);
    status = vs_record_open(vs_host_default(), &options, recorder, error);
    if (status != VS_OK && !is_there(path)) return status; /* not because of another file */
  }
  return status;
}

/* PyTorch's own snapshots have them under these names, too. */
static void put_settings(vs_recorder *recorder) {
  static const char *const names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    const vs_record_setting_value setting = {.key = vs_str_from(names[i]),
                                             .kind = VS_RECORD_SETTING_STRING,
                                             .text = vs_str_from(value == NULL ? "" : value)};
    if (value != NULL) vs_record_put_setting(recorder, &setting);
  }
}

/* The parent's recorder is left as it is: its memory is the child's, too, and its file and thread are not. */
static void open_recording(void) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  char path[PATH], sentence[PATH + VS_ERROR_TEXT_SIZE];
  vs_recorder *recorder = NULL;
  current.recorder = NULL;
  if (wanted.path[0] == 0) return;
  vs_status status = current.stacks != NULL ? VS_OK : vs_record_stacks_create(NULL, &current.stacks);
  path[0] = 0;
  if (status != VS_OK) (void)vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  else status = open_file(&recorder, path, &error);
  if (status == VS_OK) {
    put_settings(recorder);
    current.recorder = recorder;
    list(path, "");
    return;
  }
  vs_format(sentence, sizeof sentence, "not recording: %s: %s", path[0] == 0 ? wanted.path : path,
            error.text);
  vs_recording_say(sentence);
}

const vs_preload_recording *vs_recording_now(void) {
  const uint32_t here = vs_fork_generation() + 1;
  if (__builtin_expect(atomic_load_explicit(&forks, memory_order_acquire) == here, 1)) return &current;
  const int before = errno;
  vs_lock_take(&lock);
  if (atomic_load_explicit(&forks, memory_order_relaxed) != here) {
    open_recording();
    atomic_store_explicit(&forks, here, memory_order_release);
  }
  vs_lock_give(&lock);
  errno = before;
  return &current;
}

vs_recorder *vs_recording_take(void) {
  if (atomic_load_explicit(&forks, memory_order_acquire) != vs_fork_generation() + 1) return NULL;
  return atomic_exchange(&current.recorder, NULL);
}
