/* What a process leaves for the report: every line is JSON, is there at once, and survives what programs
 * do to files. */
#include "codec/json_doc.h"
#include "faces/simcuda/core/notes.h"
#include "faces/simcuda/core/process.h"
#include "unit/faces/simcuda/apart.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#define MIB (UINT64_C(1) << 20)

/* ---- a folder, and the notes of the one process that wrote there */

enum { MOST_LINES = 4096 };

typedef struct notes {
  char folder[64];
  char variable[96]; /* VRAMSCOPE_SIM_RUN=... */
  char *text;
  vs_json_doc lines[MOST_LINES];
  size_t count;
} notes;

static notes n;

static void make_folder(void) {
  (void)snprintf(n.folder, sizeof n.folder, "/tmp/vramscope-test-XXXXXX");
  assert_non_null(mkdtemp(n.folder));
  (void)snprintf(n.variable, sizeof n.variable, "VRAMSCOPE_SIM_RUN=%s", n.folder);
  n.count = 0;
  n.text = NULL;
}

/* The files of the folder, whose names go into `name`, the last one last. */
static size_t find_files(char *name, size_t capacity) {
  size_t count = 0;
  DIR *folder = opendir(n.folder);
  assert_non_null(folder);
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    (void)snprintf(name, capacity, "%s/%s", n.folder, entry->d_name);
    count++;
  }
  (void)closedir(folder);
  return count;
}

static char *read_file(const char *path) {
  struct stat about;
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_int_equal(fstat(fileno(file), &about), 0);
  char *text = malloc((size_t)about.st_size + 1);
  assert_int_equal(fread(text, 1, (size_t)about.st_size, file), about.st_size);
  text[about.st_size] = 0;
  (void)fclose(file);
  return text;
}

/* Parses each line of the one file. */
static void read_notes(void) {
  char name[512];
  assert_int_equal(find_files(name, sizeof name), 1);
  n.text = read_file(name);
  for (char *line = n.text, *end; *line != 0; line = end + 1) {
    end = strchr(line, '\n');
    assert_non_null(end); /* no line without its end */
    assert_true(n.count < MOST_LINES);
    vs_error error;
    const vs_str text = {line, (size_t)(end - line)};
    if (vs_json_doc_init(&n.lines[n.count], vs_host_default(), text, &error) != VS_OK)
      fail_msg("%s in %.*s", error.text, (int)text.size, text.data);
    n.count++;
  }
}

static void drop_folder(void) {
  char name[512];
  while (find_files(name, sizeof name) != 0) assert_int_equal(unlink(name), 0);
  assert_int_equal(rmdir(n.folder), 0);
  for (size_t i = 0; i < n.count; i++) vs_json_doc_deinit(&n.lines[i]);
  free(n.text);
}

static vs_json member(size_t line, const char *name) {
  return vs_json_member(vs_json_root(&n.lines[line]), vs_str_from(name));
}
static bool is_kind(size_t line, const char *kind) {
  return vs_str_equal(vs_json_str(member(line, "note"), VS_STR("")), vs_str_from(kind));
}

/* How many notes of a kind there are; the last of them in *line. */
static size_t count_notes(const char *kind, size_t *line) {
  size_t count = 0;
  for (size_t i = 0; i < n.count; i++) {
    if (!is_kind(i, kind)) continue;
    *line = i;
    count++;
  }
  return count;
}

static void expect_figure(size_t line, const char *name, uint64_t wanted) {
  assert_int_equal(vs_json_u64(member(line, name), UINT64_MAX), wanted);
}
static void expect_word(size_t line, const char *name, const char *wanted) {
  const vs_str got = vs_json_str(member(line, name), VS_STR("(none)"));
  if (!vs_str_equal(got, vs_str_from(wanted)))
    fail_msg("%s: %.*s, not %s", name, (int)got.size, got.data, wanted);
}

/* ---- a face without a library */

static vs_face_call calls[] = {
    {0, "cudaMalloc", 0, 0}, {0, "cudaGraphicsMap", 801, 0}, {0, "cudaFree", 0, 0}};
static vs_face face = {"cudart", calls, calls + 3, NULL};

static void call_things(void) {
  vs_simcuda_add_face(&face);
  calls[0].count = 12;
  CHECK(vs_simcuda_begin() == VS_SIM_OK);
  for (int i = 0; i < 3; i++) {
    calls[1].count++;
    CHECK(vs_simcuda_refused(&calls[1]) == 801);
    vs_simcuda_not_simulated("cuSPARSE", "a \"conditional\" node\n\x01");
  }
  for (uint64_t i = 1; i <= 10; i++) vs_simcuda_guess("workspace", 100 * i, "nobody knows");
  vs_simcuda_guess("buffers", 0, "none at all");
  for (uint64_t i = 1; i <= 10; i++) vs_simcuda_guess_below("bounded", 1, i, "somebody knows a bound");
  vs_simcuda_guess_below("unbounded", 1, 2, "a bound is known for some");
  vs_simcuda_guess("unbounded", 1, "a bound is known for some");
  for (int i = 0; i < 3; i++) vs_simcuda_note_step();
  vs_simcuda_remove_face(&face); /* as the end of its library does */
}

/* The last note of a guess; `most` UINT64_MAX: no bound is noted. */
static void expect_guess(const char *what, uint64_t bytes, uint64_t most) {
  size_t last = n.count;
  for (size_t i = 0; i < n.count; i++)
    if (is_kind(i, "guess") && vs_str_equal(vs_json_str(member(i, "what"), VS_STR("")), vs_str_from(what)))
      last = i;
  assert_true(last < n.count);
  assert_int_equal(vs_json_u64(member(last, "bytes"), UINT64_MAX), bytes);
  assert_int_equal(vs_json_u64(member(last, "most"), UINT64_MAX), most);
}

static void notes_are_complete(void **state) {
  (void)state;
  size_t line = 0;
  make_folder();
  expect_apart(call_things, WITH(n.variable),
               "vramscope: cudaGraphicsMap (cudart) is not simulated\n"
               "vramscope: a \"conditional\" node\n\x01 (cuSPARSE) is not simulated\n");
  read_notes();
  assert_true(is_kind(0, "start"));
  expect_word(0, "face", "cudart");
  expect_word(0, "program", program_invocation_short_name);
  assert_true(vs_json_u64(member(0, "pid"), 0) != 0);
  assert_int_equal(count_notes("refused", &line), 2);
  expect_word(line, "name", "a \"conditional\" node\n\x01");
  expect_word(line, "library", "cuSPARSE");
  assert_int_equal(count_notes("calls", &line), 1);
  expect_word(line, "library", "cudart");
  const vs_json counts = member(line, "counts");
  assert_int_equal(vs_json_count(counts), 2); /* those that were called */
  assert_int_equal(vs_json_u64(vs_json_member(counts, VS_STR("cudaMalloc")), 0), 12);
  assert_int_equal(vs_json_u64(vs_json_member(counts, VS_STR("cudaGraphicsMap")), 0), 3);
  assert_int_equal(count_notes("exit", &line), 1);
  assert_int_equal(line, n.count - 1);
  expect_guess("workspace", 5500, UINT64_MAX);
  expect_guess("buffers", 0, UINT64_MAX);
  expect_guess("bounded", 10, 55);
  expect_guess("unbounded", 2, UINT64_MAX);
  drop_folder();
}

/* ---- reads */

static void read_values(void) {
  uint64_t memory;
  static char bytes[100000];
  vs_sim *sim = vs_simcuda_lock();
  CHECK(vs_sim_alloc(sim, 0, MIB, &memory) == VS_SIM_OK);
  vs_simcuda_unlock();
  for (int i = 0; i < 5; i++)
    CHECK(vs_simcuda_copy((uintptr_t)bytes, memory, 8, VS_SIMCUDA_DEVICE_TO_HOST, VS_SIMCUDA_NO_STREAM) ==
          VS_SIM_OK);
  CHECK(vs_simcuda_copy((uintptr_t)bytes, memory, sizeof bytes, VS_SIMCUDA_DEVICE_TO_HOST, 0) == VS_SIM_OK);
  CHECK(vs_simcuda_copy(memory, (uintptr_t)bytes, 8, VS_SIMCUDA_HOST_TO_DEVICE, 0) == VS_SIM_OK);
  CHECK(vs_simcuda_copy(memory, memory + 8, 8, VS_SIMCUDA_DEVICE_TO_DEVICE, 0) == VS_SIM_OK);
  const vs_sim_machine *machine = vs_simcuda_lock_machine();
  CHECK(machine->processes[0].reads == 6);
  vs_simcuda_unlock_machine();
}

static void reads_without_python_are_elsewhere(void **state) {
  (void)state;
  size_t line = 0;
  make_folder();
  expect_apart(read_values, WITH(n.variable), "");
  read_notes();
  assert_int_equal(count_notes("read", &line), 1);
  expect_figure(line, "id", 0);
  assert_int_equal(vs_json_count(member(line, "frames")), 0);
  assert_int_equal(count_notes("reads", &line), 1);
  expect_figure(line, "count", 6);
  expect_figure(line, "bytes", 5 * 8 + 100000);
  drop_folder();
}

/* ---- out of memory */

static void ask_for_too_much(void) {
  uint64_t memory;
  for (int i = 0; i < 150; i++) {
    vs_sim *sim = vs_simcuda_lock();
    CHECK(vs_sim_alloc(sim, 0, UINT64_C(100) << 30, &memory) == VS_SIM_OUT_OF_MEMORY);
    vs_simcuda_unlock();
  }
}

static void refused_memory_is_noted(void **state) {
  (void)state;
  size_t line = 0;
  make_folder();
  expect_apart(ask_for_too_much, WITH(n.variable, "VRAMSCOPE_SIM_GPU=24GiB", "VRAMSCOPE_SIM_CONTEXT=1GiB"),
               "");
  read_notes();
  assert_int_equal(count_notes("oom", &line), 100); /* and no more */
  expect_figure(line, "device", 0);
  expect_figure(line, "bytes", UINT64_C(100) << 30);
  expect_figure(line, "free", UINT64_C(23) << 30);
  drop_folder();
}

/* ---- what programs do to files */

static void close_everything(void) {
  CHECK(vs_simcuda_begin() == VS_SIM_OK);
  for (int fd = 3; fd < 1024; fd++) (void)close(fd);
  CHECK(chdir("/") == 0);
  /* A file of the program's own may now have the number that ours had. */
  char path[96];
  (void)snprintf(path, sizeof path, "%s/mine", getenv("VRAMSCOPE_SIM_RUN"));
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  CHECK(fd >= 0);
  for (int copy = 500; copy < 520; copy++) CHECK(dup2(fd, copy) == copy);
  vs_simcuda_not_simulated("x", "after all was closed");
  CHECK(lseek(fd, 0, SEEK_END) == 0);
  CHECK(unlink(path) == 0);
}

static void closed_files_are_opened_again(void **state) {
  (void)state;
  size_t line = 0;
  make_folder();
  expect_apart(close_everything, WITH(n.variable), "vramscope: after all was closed (x) is not simulated\n");
  read_notes();
  assert_int_equal(count_notes("refused", &line), 1);
  assert_int_equal(count_notes("exit", &line), 1);
  drop_folder();
}

static void be_killed(void) {
  CHECK(vs_simcuda_begin() == VS_SIM_OK);
  vs_simcuda_not_simulated("x", "the last thing");
  (void)raise(SIGKILL);
}

static void killed_processes_leave_what_they_had(void **state) {
  (void)state;
  size_t line = 0;
  apart result;
  make_folder();
  run_apart(be_killed, WITH(n.variable), &result);
  assert_true(WIFSIGNALED(result.status));
  read_notes();
  assert_int_equal(n.count, 2);
  assert_int_equal(count_notes("refused", &line), 1);
  drop_folder();
}

static void fork_and_end(void) {
  CHECK(vs_simcuda_begin() == VS_SIM_OK);
  (void)fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    vs_simcuda_not_simulated("x", "in the child");
    exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void a_forked_child_writes_nothing(void **state) {
  (void)state;
  size_t line = 0;
  make_folder();
  expect_apart(fork_and_end, WITH(n.variable), "vramscope: in the child (x) is not simulated\n");
  read_notes();
  assert_int_equal(count_notes("refused", &line), 0);
  assert_int_equal(count_notes("exit", &line), 1);
  drop_folder();
}

static void *write_many(void *unused) {
  (void)unused;
  for (uint64_t i = 0; i < 200; i++) {
    vs_note note;
    vs_note_begin(&note, "test");
    vs_note_number(&note, "number", i);
    vs_note_string(&note, "filler",
                   VS_STR("0123456789012345678901234567890123456789012345678901234567890123456789"));
    vs_note_end(&note);
  }
  return NULL;
}

static void write_from_threads(void) {
  pthread_t threads[8];
  CHECK(vs_simcuda_begin() == VS_SIM_OK);
  for (int i = 0; i < 8; i++) CHECK(pthread_create(&threads[i], NULL, write_many, NULL) == 0);
  for (int i = 0; i < 8; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void lines_never_mix(void **state) {
  (void)state;
  size_t line = 0;
  make_folder();
  expect_apart(write_from_threads, WITH(n.variable), "");
  read_notes();
  assert_int_equal(count_notes("test", &line), 1600);
  drop_folder();
}

static void do_nothing(void) {}
static void only_look(void) {
  CHECK(vs_simcuda_lock_machine() != NULL);
  vs_simcuda_unlock_machine();
}

static void who_uses_no_cuda_leaves_no_file(void **state) {
  (void)state;
  char name[512];
  make_folder();
  expect_apart(do_nothing, WITH(n.variable), "");
  assert_int_equal(find_files(name, sizeof name), 0);
  expect_apart(only_look, WITH(n.variable), "");
  assert_int_equal(find_files(name, sizeof name), 0);
  drop_folder();
}

/* ---- text */

static void any_bytes_become_json(void **state) {
  (void)state;
  static const struct {
    vs_str bytes;
    const char *wanted;
  } cases[] = {
      {VS_STR("plain"), "\"plain\""},
      {VS_STR("a\"b\\c"), "\"a\\\"b\\\\c\""},
      {VS_STR("\n\t\x1f"), "\"\\u000a\\u0009\\u001f\""},
      {VS_STR("\xc3\xa9"), "\"\xc3\xa9\""},
      {VS_STR("\xff-\xc3"), "\"\xef\xbf\xbd-\xef\xbf\xbd\""},
      {VS_STR("\xed\xb2\x80"), "\"\\udc80\""}, /* what Python makes of a byte that is no text */
      {VS_STR("\xed\x9f\xbf"), "\"\xed\x9f\xbf\""},
      {VS_STR(""), "\"\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_text text;
    vs_text_init(&text, vs_host_default(), NULL);
    vs_note_quoted(&text, cases[i].bytes);
    expect_str_at(vs_text_view(&text), vs_str_from(cases[i].wanted), __FILE__, __LINE__);
    vs_text_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(notes_are_complete),
      cmocka_unit_test(reads_without_python_are_elsewhere),
      cmocka_unit_test(refused_memory_is_noted),
      cmocka_unit_test(closed_files_are_opened_again),
      cmocka_unit_test(killed_processes_leave_what_they_had),
      cmocka_unit_test(a_forked_child_writes_nothing),
      cmocka_unit_test(lines_never_mix),
      cmocka_unit_test(who_uses_no_cuda_leaves_no_file),
      cmocka_unit_test(any_bytes_become_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
