/* Who asks for a value, by an interpreter that this program pretends to have: its functions are found by
 * name, as those of a real one are. A real one is asked in test_preload.c and tests/sim. */
#include "faces/simcuda/core/notes.h"
#include "faces/simcuda/core/python.h"
#include "faces/simcuda/core/readback_sites.h"
#include "faces/simcuda/core/process.h"
#include "unit/faces/simcuda/apart.h"
#include <errno.h>
#include <fcntl.h>

#define EXPORTED __attribute__((visibility("default")))

/* ---- the interpreter: code objects and frames of one thread, and the calls that it received */

typedef struct object {
  int references;
  const char *text;            /* of a string */
  const char *name, *file;     /* of a code object */
  struct object *code, *outer; /* of a frame */
  int offset;
} object;

static object innermost_code = {1, NULL, "inner", "a.py", NULL, NULL, 0};
static object outermost_code = {1, NULL, "outer", "b \"quoted\".py", NULL, NULL, 0};
static object outermost = {1, NULL, NULL, NULL, &outermost_code, NULL, 20};
static object innermost = {1, NULL, NULL, NULL, &innermost_code, &outermost, 10};

static bool initialized = true, finalizing, known_thread = true, has_frames = true, reads_again;
static int has_lock, most_locks, asked, exceptions_aside;

EXPORTED int Py_IsInitialized(void);
EXPORTED int Py_IsFinalizing(void);
EXPORTED void *PyGILState_GetThisThreadState(void);
EXPORTED int PyGILState_Ensure(void);
EXPORTED void PyGILState_Release(int state);
EXPORTED void PyErr_Fetch(void **type, void **value, void **trace);
EXPORTED void PyErr_Restore(void *type, void *value, void *trace);
EXPORTED void PyErr_Clear(void);
EXPORTED void *PyEval_GetFrame(void);
EXPORTED void *PyFrame_GetBack(void *frame);
EXPORTED void *PyFrame_GetCode(void *frame);
EXPORTED int PyFrame_GetLineNumber(void *frame);
EXPORTED int PyFrame_GetLasti(void *frame);
EXPORTED int PyCode_Addr2Line(void *code, int offset);
EXPORTED void *PyObject_GetAttrString(void *self, const char *name);
EXPORTED const char *PyUnicode_AsUTF8(void *self);
EXPORTED void Py_IncRef(void *self);
EXPORTED void Py_DecRef(void *self);

int Py_IsInitialized(void) { return initialized; }
int Py_IsFinalizing(void) { return finalizing; }
void *PyGILState_GetThisThreadState(void) { return known_thread ? &known_thread : NULL; }
int PyGILState_Ensure(void) {
  CHECK(known_thread && initialized && !finalizing);
  /* Nothing of ours is held, or two threads could wait for each other for ever. */
  CHECK(vs_simcuda_lock() != NULL);
  vs_simcuda_unlock();
  CHECK(vs_simcuda_lock_machine() != NULL);
  vs_simcuda_unlock_machine();
  if (++has_lock > most_locks) most_locks = has_lock;
  return 42;
}
void PyGILState_Release(int state) {
  CHECK(state == 42);
  has_lock--;
}
void PyErr_Fetch(void **type, void **value, void **trace) {
  exceptions_aside++;
  *type = &asked;
  *value = &has_lock;
  *trace = NULL;
}
void PyErr_Restore(void *type, void *value, void *trace) {
  CHECK(has_lock != 0 && type == &asked && value == &has_lock && trace == NULL);
  exceptions_aside--;
}
void PyErr_Clear(void) { CHECK(exceptions_aside != 0); } /* only our own */
void *PyEval_GetFrame(void) {
  CHECK(has_lock != 0 && exceptions_aside != 0);
  asked++;
  errno = 7;
  if (reads_again) (void)vs_readback_sites_note(4, NULL); /* Python code that runs now reads a value itself */
  return has_frames ? &innermost : NULL;
}
void *PyFrame_GetBack(void *frame) {
  object *outer = ((object *)frame)->outer;
  if (outer != NULL) outer->references++;
  return outer;
}
void *PyFrame_GetCode(void *frame) {
  ((object *)frame)->code->references++;
  return ((object *)frame)->code;
}
int PyFrame_GetLineNumber(void *frame) {
  (void)frame;
  CHECK(false); /* costly, where offsets are there */
  return 0;
}
int PyFrame_GetLasti(void *frame) { return ((object *)frame)->offset; }
int PyCode_Addr2Line(void *code, int offset) {
  (void)code;
  return offset * 10;
}
void *PyObject_GetAttrString(void *self, const char *name) {
  const object *code = self;
  const char *text = strcmp(name, "co_name") == 0       ? code->name
                     : strcmp(name, "co_filename") == 0 ? code->file
                                                        : NULL;
  if (text == NULL) return NULL; /* co_qualname came with 3.11 */
  object *string = calloc(1, sizeof *string);
  string->references = 1;
  string->text = text;
  return string;
}
const char *PyUnicode_AsUTF8(void *self) { return ((object *)self)->text; }
void Py_IncRef(void *self) { ((object *)self)->references++; }
void Py_DecRef(void *self) {
  object *o = self;
  CHECK(has_lock != 0 && o->references > 0);
  if (--o->references == 0) free(o);
}

/* ---- what the notes say */

static char folder[64], variable[96], text[1 << 20];

static const char *notes_of(pid_t child) {
  char path[128];
  (void)snprintf(path, sizeof path, "%s/notes.%d.jsonl", folder, (int)child);
  const int fd = open(path, O_RDONLY);
  assert_true(fd >= 0);
  read_all(fd, text, sizeof text);
  (void)close(fd);
  assert_int_equal(unlink(path), 0);
  return text;
}

static const char *values = "VRAMSCOPE_SIM_VALUES="; /* VRAMSCOPE_SIM_VALUES=... */

/* Runs `body` in a child and gives its notes. */
static const char *notes_of_run(void (*body)(void), const char *stacks) {
  char setting[64];
  (void)snprintf(setting, sizeof setting, "VRAMSCOPE_SIM_STACKS=%s", stacks);
  (void)snprintf(folder, sizeof folder, "/tmp/vramscope-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  (void)snprintf(variable, sizeof variable, "VRAMSCOPE_SIM_RUN=%s", folder);
  (void)fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    clear_environment();
    (void)putenv(variable);
    (void)putenv(setting);
    (void)putenv((char *)(uintptr_t)values);
    CHECK(vs_simcuda_begin() == VS_SIM_OK);
    body();
    CHECK(has_lock == 0 && exceptions_aside == 0 && most_locks <= 1);
    CHECK(innermost.references == 1 && outermost.references == 1);
    exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  const char *notes = notes_of(child);
  assert_int_equal(rmdir(folder), 0);
  return notes;
}

static bool has(const char *notes, const char *line) { return strstr(notes, line) != NULL; }

#define INNER "{\"name\":\"inner\",\"file\":\"a.py\",\"line\":100}"
#define OUTER "{\"name\":\"outer\",\"file\":\"b \\\"quoted\\\".py\",\"line\":200}"

static void read_at_places(void) {
  for (int i = 0; i < 5; i++) {
    errno = 3;
    (void)vs_readback_sites_note(4, NULL);
    CHECK(errno == 3);
  }
  const int references = innermost_code.references;
  CHECK(references == 2); /* one stays, so that the place keeps its meaning */
  innermost.offset = 11;  /* the next line */
  (void)vs_readback_sites_note(8, NULL);
  (void)vs_readback_sites_note(VS_READBACK_LARGE + 1, NULL); /* not the same, from the same place */
  (void)vs_readback_sites_note(VS_READBACK_LARGE + 2, NULL);
  CHECK(asked == 8);
}

static void each_place_is_noted_once(void **state) {
  (void)state;
  const char *notes = notes_of_run(read_at_places, "1");
  assert_true(has(notes, "{\"note\":\"read\",\"id\":1,\"bytes\":4,\"frames\":[" INNER "," OUTER "]}\n"));
  assert_true(has(notes, "{\"note\":\"read\",\"id\":2,\"bytes\":8,\"frames\":[{\"name\":\"inner\",\"file\":"
                         "\"a.py\",\"line\":110},"));
  assert_true(has(notes, "{\"note\":\"read\",\"id\":3,\"bytes\":65537,"));
  assert_true(has(notes, "{\"note\":\"reads\",\"id\":1,\"count\":5,\"bytes\":20}\n"));
  assert_true(has(notes, "{\"note\":\"reads\",\"id\":2,\"count\":1,\"bytes\":8}\n"));
  assert_true(has(notes, "{\"note\":\"reads\",\"id\":3,\"count\":2,\"bytes\":131075}\n"));
  assert_false(has(notes, "\"id\":4") || has(notes, "\"id\":0"));
}

static void read_where_nobody_is(void) {
  initialized = false;
  (void)vs_readback_sites_note(1, NULL);
  initialized = true;
  finalizing = true;
  (void)vs_readback_sites_note(1, NULL);
  finalizing = false;
  known_thread = false;
  (void)vs_readback_sites_note(1, NULL);
  known_thread = true;
  CHECK(asked == 0);
  has_frames = false;
  (void)vs_readback_sites_note(1, NULL);
  CHECK(asked == 1);
}

static void nobody_is_asked_in_vain(void **state) {
  (void)state;
  const char *notes = notes_of_run(read_where_nobody_is, "1");
  assert_true(has(notes, "{\"note\":\"read\",\"id\":0,\"bytes\":1,\"frames\":[]}\n"));
  assert_true(has(notes, "{\"note\":\"reads\",\"id\":0,\"count\":4,\"bytes\":4}\n"));
  assert_false(has(notes, "\"id\":1"));
}

static void read_without_asking(void) {
  (void)vs_readback_sites_note(1, NULL);
  CHECK(asked == 0);
}

static void stacks_can_be_switched_off(void **state) {
  (void)state;
  assert_true(has(notes_of_run(read_without_asking, "0"), "\"id\":0,\"count\":1,"));
}

static void read_within_a_read(void) {
  reads_again = true;
  (void)vs_readback_sites_note(4, NULL);
  CHECK(asked == 1);
}

static void a_read_within_a_read_does_not_ask(void **state) {
  (void)state;
  const char *notes = notes_of_run(read_within_a_read, "1");
  assert_true(has(notes, "{\"note\":\"reads\",\"id\":0,\"count\":1,\"bytes\":4}\n"));
  assert_true(has(notes, "{\"note\":\"reads\",\"id\":1,\"count\":1,\"bytes\":4}\n"));
}

static void read_everywhere(void) {
  for (int i = 0; i < 3 * VS_READBACK_SITES; i++) {
    innermost.offset = i;
    (void)vs_readback_sites_note(1, NULL);
  }
  const int references = innermost_code.references;
  CHECK(references == VS_READBACK_SITES); /* ours and those of the places, no more */
}

static void places_are_bounded(void **state) {
  (void)state;
  const char *notes = notes_of_run(read_everywhere, "1");
  assert_true(has(notes, "\"note\":\"read\",\"id\":1,"));
  assert_false(has(notes, "\"id\":1024,"));
}

/* ---- values of places */

static vs_readback_override read_value(uint64_t bytes) { return vs_readback_sites_note(bytes, NULL); }

/* The frames are a.py:100 in b "quoted".py:200. */
static void read_at_given_places(void) {
  vs_readback_override given = read_value(8);
  CHECK(given.is_there && given.place == 1 && given.value.integer == 7); /* the innermost decides */
  CHECK(read_value(8).is_there && read_value(VS_READBACK_LARGE + 1).is_there);
  innermost.offset = 11;
  given = read_value(8);
  CHECK(given.is_there && given.place == 2 && given.value.kind == VS_GIVEN_KEEP);
  outermost.offset = 21;
  CHECK(!read_value(8).is_there);
  known_thread = false;
  CHECK(!read_value(8).is_there);
  known_thread = true;
  innermost.offset = 10;
  for (int i = 0; i < 2 * VS_READBACK_SITES; i++) { /* also of sites that the table has no space for */
    outermost.offset = 30 + i;
    CHECK(read_value(1).place == 1);
  }
  vs_readback_sites_misfit(1, 1);
}

static void places_are_given_values(void **state) {
  (void)state;
  values = "VRAMSCOPE_SIM_VALUES=true,c.py:100=1,a.py:100=7,b \"quoted\".py:200=keep,a.py:300=1";
  const char *notes = notes_of_run(read_at_given_places, "1");
  values = "VRAMSCOPE_SIM_VALUES=";
  assert_true(has(notes, "{\"note\":\"given\",\"place\":\"a.py:100=7\",\"count\":1,\"misfits\":0}\n"));
  assert_true(has(notes, "{\"note\":\"given\",\"place\":\"a.py:100=7\",\"count\":2051,\"misfits\":1}\n"));
  assert_true(has(notes, "\"place\":\"b \\\"quoted\\\".py:200=keep\",\"count\":1,"));
  assert_false(has(notes, "c.py:100=1") || has(notes, "a.py:300"));
}

static void read_what_the_hook_gives(void) {
  CHECK(!read_value(8).is_there);
  vs_simcuda_give(&outermost_code, 199, 200, 5);
  vs_readback_override given = read_value(8);
  CHECK(given.is_there && given.value.kind == VS_GIVEN_INTEGER && given.value.integer == 5);
  vs_simcuda_give(&outermost_code, 199, 200, 6);
  CHECK(read_value(8).value.integer == 6);
  vs_simcuda_give(&innermost_code, 101, 200, 9);
  CHECK(read_value(8).value.integer == 6); /* another line */
  vs_simcuda_give(&innermost_code, 100, 100, 9);
  CHECK(read_value(8).value.integer == 9);
  innermost.offset = 30;
  CHECK(read_value(8).value.integer == 3 && read_value(8).place == 0); /* the user's is further in */
  vs_simcuda_give(NULL, 0, 0, 0);
  innermost.offset = 10;
  CHECK(!read_value(8).is_there);
}

static void the_hook_gives_values(void **state) {
  (void)state;
  values = "VRAMSCOPE_SIM_VALUES=a.py:300=3";
  (void)notes_of_run(read_what_the_hook_gives, "1");
  values = "VRAMSCOPE_SIM_VALUES=";
}

/* ---- a loop that makes no progress */

static int read_times(int count, uint64_t bytes, vs_readback_state *now, int changes_at, uint64_t *changes) {
  for (int i = 0; i < count; i++) {
    now->kernels += 3;
    if (i == changes_at) ++*changes;
    (void)vs_readback_sites_note(bytes, now);
  }
  return count;
}

static void read_for_ever(void) {
  vs_readback_state now = {.is_zero = true};
  uint64_t *const changes[] = {&now.written, &now.memory, &now.steps, &now.value, &now.kernels, &now.thread};
  for (int i = 0; i < 6; i++) { /* one change in each interval is progress */
    outermost.offset = 30 + i;
    for (int k = 0; k < 4; k++) read_times(VS_READBACK_REPEATS - 10, 1, &now, 20, changes[i]);
  }
  outermost.offset = 40;
  read_times(VS_READBACK_REPEATS, 1, &now, -1, NULL);
  outermost.offset = 41; /* the first of equal intervals ends at the second read */
  read_times(VS_READBACK_REPEATS + 1, 4, &now, -1, NULL);
  outermost.offset = 42;
  now.is_zero = false;
  read_times(VS_READBACK_REPEATS + 100, 1, &now, -1, NULL);
  outermost.offset = 43;
  vs_simcuda_give(&outermost_code, 1, 1, 1); /* the hook knows that it ends */
  read_times(VS_READBACK_REPEATS + 100, 1, &now, -1, NULL);
  vs_simcuda_give(NULL, 0, 0, 0);
  outermost.offset = 44;
  vs_simcuda_trust_loops(); /* and that all of this thread do */
  read_times(VS_READBACK_REPEATS + 100, 1, &now, -1, NULL);
}

static void a_loop_without_progress_is_noted(void **state) {
  (void)state;
  const char *notes = notes_of_run(read_for_ever, "1");
  assert_true(has(notes, "{\"note\":\"stuck\",\"id\":8,\"repeats\":500,\"give\":\"a.py:100=true\"}\n"));
  assert_true(has(notes, "{\"note\":\"stuck\",\"id\":9,\"repeats\":500,\"give\":\"a.py:100=zeros\"}\n"));
  const char *first = strstr(notes, "\"stuck\"");
  assert_non_null(strstr(first, "\"id\":8"));
  int count = 0;
  for (const char *at = notes; (at = strstr(at, "\"stuck\"")) != NULL; at++) count++;
  assert_int_equal(count, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_place_is_noted_once),   cmocka_unit_test(nobody_is_asked_in_vain),
      cmocka_unit_test(stacks_can_be_switched_off), cmocka_unit_test(a_read_within_a_read_does_not_ask),
      cmocka_unit_test(places_are_bounded),         cmocka_unit_test(places_are_given_values),
      cmocka_unit_test(the_hook_gives_values),      cmocka_unit_test(a_loop_without_progress_is_noted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
