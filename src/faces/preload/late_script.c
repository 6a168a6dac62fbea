/* A Python program that runs on a thread of ours, because a debugger asked for it. */
#include "faces/preload/late.h"
#include "base/text.h"
#include "faces/preload/python.h"
#include "os/library.h"
#include "os/thread.h"
#include <string.h>

enum { MOST_PATH = 4096 };

static struct {
  vs_thread thread;
  _Atomic bool is_running;
  char path[MOST_PATH];
} script;

/* The path goes through Python as hexadecimal digits, so that it may have any characters. */
static void write_program(char *to, size_t capacity) {
  static const char digits[] = "0123456789abcdef";
  char hex[2 * MOST_PATH + 1];
  size_t size = 0;
  for (const char *at = script.path; *at != 0; at++) {
    hex[size++] = digits[(unsigned char)*at >> 4];
    hex[size++] = digits[*at & 15];
  }
  hex[size] = 0;
  vs_format(
      to, capacity,
      "try:\n"
      "  exec(compile(open(bytes.fromhex('%s')).read(), 'vramscope', 'exec'), {'__name__': 'vramscope'})\n"
      "except FileNotFoundError: pass\n", /* its caller has not waited so long */
      hex);
}

static void run(void *ctx) {
  char program[2 * MOST_PATH + 256];
  int (*ensure)(void) = NULL, (*run_program)(const char *) = NULL;
  void (*release)(int) = NULL;
  (void)ctx;
  vs_library_loaded_function(NULL, "PyGILState_Ensure", &ensure);
  vs_library_loaded_function(NULL, "PyGILState_Release", &release);
  vs_library_loaded_function(NULL, "PyRun_SimpleString", &run_program);
  write_program(program, sizeof program);
  if (ensure != NULL && release != NULL && run_program != NULL) {
    const int state = ensure();
    (void)run_program(program); /* it writes where its caller looks */
    release(state);
  }
  script.is_running = false;
}

int vramscope_record_script_answer;

static bool start(const char *path) {
  if (!vs_python_is_running() || script.is_running || strlen(path) >= sizeof script.path) return false;
  vs_thread_join(&script.thread);
  vs_format(script.path, sizeof script.path, "%s", path);
  script.is_running = true;
  if (vs_thread_start(&script.thread, "vramscope", run, NULL) == VS_OK) return true;
  script.is_running = false;
  return false;
}

int vramscope_record_script(const char *path) {
  vramscope_record_script_answer = start(path) ? 0 : 1;
  return vramscope_record_script_answer;
}
