/* The core in other people's processes, as LD_PRELOAD brings it: who uses no CUDA does not notice, and a
 * real Python is asked where it read a value. VRAMSCOPE_SIMCUDA is the folder of the libraries. */
#include "unit/faces/simcuda/apart.h"
#include <dirent.h>
#include <fcntl.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

static char preload[1024], folder[64], run[96];

static int prepare(void **state) {
  (void)state;
  const char *libraries = getenv("VRAMSCOPE_SIMCUDA");
  if (IS_SANITIZED) {
    print_message("skipped: a sanitizer's library cannot be preloaded into programs that do not have it\n");
    return -1;
  }
  if (libraries == NULL) {
    print_message("VRAMSCOPE_SIMCUDA is not set: ctest sets it to the folder of the libraries\n");
    return -1;
  }
  (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s/libvramscope-sim.so", libraries);
  (void)snprintf(folder, sizeof folder, "/tmp/vramscope-test-XXXXXX");
  if (mkdtemp(folder) == NULL) return -1;
  (void)snprintf(run, sizeof run, "VRAMSCOPE_SIM_RUN=%s", folder);
  return 0;
}

static size_t files_in_folder(char *name, size_t capacity) {
  size_t count = 0;
  DIR *open_folder = opendir(folder);
  assert_non_null(open_folder);
  for (const struct dirent *entry; (entry = readdir(open_folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    (void)snprintf(name, capacity, "%s/%s", folder, entry->d_name);
    count++;
  }
  (void)closedir(open_folder);
  return count;
}

static int tidy(void **state) {
  (void)state;
  char name[512];
  while (files_in_folder(name, sizeof name) != 0) (void)unlink(name);
  return rmdir(folder);
}

typedef struct finished {
  int status;
  char out[APART_OUTPUT], errors[APART_OUTPUT];
} finished;

/* Runs a program, with the core preloaded or not. */
static void run_program(char *const words[], bool with_core, finished *result) {
  int out[2], errors[2];
  assert_int_equal(pipe(out) | pipe(errors), 0);
  (void)fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    (void)dup2(out[1], STDOUT_FILENO);
    (void)dup2(errors[1], STDERR_FILENO);
    for (int fd = 3; fd < 64; fd++) (void)close(fd);
    clear_environment();
    (void)putenv(run);
    if (with_core) (void)putenv(preload);
    (void)execvp(words[0], words);
    _exit(127);
  }
  (void)close(out[1]);
  (void)close(errors[1]);
  read_all(out[0], result->out, sizeof result->out);
  read_all(errors[0], result->errors, sizeof result->errors);
  (void)close(out[0]);
  (void)close(errors[0]);
  assert_int_equal(waitpid(child, &result->status, 0), child);
}

static void expect_unchanged(char *const words[]) {
  static finished without, with;
  char name[512];
  run_program(words, false, &without);
  run_program(words, true, &with);
  assert_int_equal(with.status, without.status);
  assert_string_equal(with.out, without.out);
  assert_string_equal(with.errors, without.errors);
  assert_int_equal(files_in_folder(name, sizeof name), 0);
}

#define PROGRAM(...) ((char *[]){__VA_ARGS__, NULL})

static void programs_without_cuda_do_not_notice(void **state) {
  (void)state;
  expect_unchanged(PROGRAM("true"));
  expect_unchanged(PROGRAM("false"));
  expect_unchanged(PROGRAM("sh", "-c", "echo out; echo err >&2; exit 7"));
  expect_unchanged(PROGRAM("sh", "-c", "kill -9 $$"));
  expect_unchanged(PROGRAM("python3", "-c",
                           "import os, sys\n"
                           "if os.fork() == 0: sys.exit(3)\n"
                           "print(os.waitstatus_to_exitcode(os.wait()[1]), len(os.listdir('/proc/self/fd')),"
                           " len(os.listdir('/proc/self/task')))\n"));
}

/* The simulation in a real interpreter, through ctypes: CDLL lets go of the interpreter's lock around a call,
 * PyDLL does not. */
static const char reading[] =
    "import ctypes, sys, threading, time\n"
    "U64 = ctypes.c_uint64\n"
    "free, held = ctypes.CDLL(None), ctypes.PyDLL(None)\n"
    "free.vs_simcuda_lock.restype = ctypes.c_void_p\n"
    "address = U64()\n"
    "sim = free.vs_simcuda_lock()\n"
    "assert sim\n"
    "assert free.vs_sim_alloc(ctypes.c_void_p(sim), 0, U64(1 << 21), ctypes.byref(address)) == 0\n"
    "free.vs_simcuda_unlock()\n"
    "value = ctypes.create_string_buffer(8)\n"
    "def read(library):\n"
    "    assert library.vs_simcuda_copy(U64(ctypes.addressof(value)), address, U64(8), 2, U64(0)) == 0\n"
    "def many(library, count):\n"
    "    for _ in range(count): read(library)\n";

static void run_python(const char *rest, finished *result) {
  char program[4096];
  (void)snprintf(program, sizeof program, "%s%s", reading, rest);
  run_program(PROGRAM("python3", "-c", program), true, result);
  if (result->status != 0) fail_msg("status %x\n%s", (unsigned)result->status, result->errors);
}

static char notes[1 << 20];

static void read_notes(void) {
  char name[512];
  assert_int_equal(files_in_folder(name, sizeof name), 1);
  const int fd = open(name, O_RDONLY);
  assert_true(fd >= 0);
  read_all(fd, notes, sizeof notes);
  (void)close(fd);
  assert_int_equal(unlink(name), 0);
}

static void a_real_python_says_where(void **state) {
  (void)state;
  static finished result;
  run_python("many(free, 3)\nmany(held, 4)\n", &result);
  assert_string_equal(result.errors, "");
  read_notes();
#define FRAME(name, line) "{\"name\":\"" name "\",\"file\":\"<string>\",\"line\":" line "}"
  assert_non_null(strstr(
      notes, "\"frames\":[" FRAME("read", "12") "," FRAME("many", "14") "," FRAME("<module>", "15") "]}\n"));
  assert_non_null(strstr(
      notes, "\"frames\":[" FRAME("read", "12") "," FRAME("many", "14") "," FRAME("<module>", "16") "]}\n"));
  assert_non_null(strstr(notes, "{\"note\":\"reads\",\"id\":1,\"count\":3,\"bytes\":24}\n"));
  assert_non_null(strstr(notes, "{\"note\":\"reads\",\"id\":2,\"count\":4,\"bytes\":32}\n"));
  assert_non_null(strstr(notes, "{\"note\":\"exit\"}\n"));
}

/* Threads that have the interpreter's lock, threads that do not, and one that rarely releases it:
 * no thread waits for ever. A thread's frames are its own. */
static void threads_of_python_do_not_wait_for_each_other(void **state) {
  (void)state;
  static finished result;
  run_python("stop = False\n"
             "def spin():\n"
             "    while not stop: pass\n"
             "threads = [threading.Thread(target=many, args=(l, 300)) for l in (free, held) * 4]\n"
             "spinner = threading.Thread(target=spin)\n"
             "sys.setswitchinterval(0.0001)\n"
             "spinner.start()\n"
             "for t in threads: t.start()\n"
             "for t in threads: t.join()\n"
             "stop = True\n"
             "spinner.join()\n",
             &result);
  assert_string_equal(result.errors, "");
  read_notes();
  assert_non_null(strstr(notes, FRAME("read", "12") "," FRAME("many", "14")));
  assert_non_null(strstr(notes, "\"count\":2400,\"bytes\":19200}\n"));
}

/* Nothing, or the two lines that say that a line of the program reads for ever, which the threads below do. */
static void expect_no_errors(const finished *result) {
  static const char *const notices[] = {
      "vramscope: <string>:12 read has read the same value from the GPU 500 times",
      "vramscope: one line has read 10,000 values from the GPU"};
  const char *at = result->errors;
  for (size_t i = 0; i < 2; i++) {
    const char *end = strchr(at, '\n');
    if (end != NULL && strncmp(at, notices[i], strlen(notices[i])) == 0) at = end + 1;
  }
  assert_string_equal(at, "");
}

/* A daemon thread reads while the interpreter ends: it may be stopped anywhere, and the process ends well. */
static void an_ending_python_ends(void **state) {
  (void)state;
  static finished result;
  for (int i = 0; i < 10; i++) {
    run_python(
        "for l in (free, held): threading.Thread(target=many, args=(l, 1 << 60), daemon=True).start()\n"
        "time.sleep(0.02)\n",
        &result);
    expect_no_errors(&result);
    read_notes();
  }
}

/* multiprocessing's workers: a forked child has no simulation, and what it inherited does no harm. */
static void a_forked_python_goes_on(void **state) {
  (void)state;
  static finished result;
  run_python("import os\n"
             "read(free)\n"
             "if os.fork() == 0:\n"
             "    assert free.vs_simcuda_begin() == 3\n"
             "    sys.exit(5)\n"
             "print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
             "read(free)\n",
             &result);
  assert_string_equal(result.out, "5\n");
  assert_string_equal(result.errors, "");
  read_notes();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(programs_without_cuda_do_not_notice),
      cmocka_unit_test(a_real_python_says_where),
      cmocka_unit_test(threads_of_python_do_not_wait_for_each_other),
      cmocka_unit_test(an_ending_python_ends),
      cmocka_unit_test(a_forked_python_goes_on),
  };
  if (prepare(NULL) != 0) return IS_SANITIZED ? 77 : 1;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return tidy(NULL) != 0 ? 1 : failed;
}
