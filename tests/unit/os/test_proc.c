/* What /proc says, read from trees that were made for it, and once from the real one. */
#include "os/proc.h"
#include "base/text.h"
#include "os/process.h"
#include "os/shared.h"
#include "support/made_proc.h"
#include "support/test.h"

#include <unistd.h>

#define CONTAINER "3f2a9c1e5b7d3f2a9c1e5b7d3f2a9c1e5b7d3f2a9c1e5b7d3f2a9c1e5b7d3f2a"

static void test_process(void **state) {
  vs_folder folder;
  vs_proc proc;
  char command[64];
  size_t program;
  (void)state;
  made_proc_begin(&folder);
  made_proc_process(&folder, &(made_process){.pid = 41234,
                                             .arguments = "python3|train.py|--epochs|3|",
                                             .user = 1000,
                                             .numbers = "41234\t17",
                                             .start_ticks = 250});
  expect_ok(vs_proc_read(folder.path, 41234, &proc));
  assert_int_equal(proc.user_id, 1000);
  assert_int_equal(proc.inner_pid, 17);
  assert_string_equal(proc.name, "python3");
  assert_string_equal(proc.container, "");
  assert_int_equal(sysconf(_SC_CLK_TCK), 100); /* everywhere that we know; the next figure stands on it */
  assert_int_equal(proc.start_us, UINT64_C(1000002500000));
  assert_int_equal(vs_proc_command(folder.path, 41234, command, sizeof command, &program), 27);
  assert_int_equal(program, 7);
  assert_string_equal(command, "python3 train.py --epochs 3");
  char cut[10];
  assert_int_equal(vs_proc_command(folder.path, 41234, cut, sizeof cut, &program), 9);
  assert_int_equal(program, 7);
  assert_string_equal(cut, "python3 t");
  expect_status(vs_proc_read(folder.path, 41235, &proc), VS_NOT_FOUND);
  expect_status(vs_proc_read(folder.path, 0, &proc), VS_NOT_FOUND);
  expect_status(vs_proc_read("/not/there", 41234, &proc), VS_NOT_FOUND);
  assert_int_equal(vs_proc_command(folder.path, 41235, command, sizeof command, &program), 0);
  assert_int_equal(program, 0);
  assert_string_equal(command, "");
  vs_folder_remove(&folder);
}

/* A name may hold what the line is made of. */
static void test_odd_name(void **state) {
  vs_folder folder;
  vs_proc proc;
  (void)state;
  made_proc_begin(&folder);
  made_proc_process(&folder, &(made_process){.pid = 5, .name = "a) S 9 (b", .start_ticks = 100});
  expect_ok(vs_proc_read(folder.path, 5, &proc));
  assert_string_equal(proc.name, "a) S 9 (b");
  assert_int_equal(proc.start_us, UINT64_C(1000001000000));
  assert_int_equal(proc.inner_pid, 5);
  /* As the kernel writes a\b, a line feed and n; what is cut off ends well. */
  made_proc_process(&folder, &(made_process){.pid = 5, .name = "a\\\\b\\n\\\\n\\"});
  expect_ok(vs_proc_read(folder.path, 5, &proc));
  assert_string_equal(proc.name, "a\\b\n\\n\\");
  vs_folder_remove(&folder);
}

/* With hundreds of processors the line of the boot time stands far behind, and may be cut by a read. */
static void test_boot_time_far_behind(void **state) {
  static char text[16384];
  vs_folder folder;
  vs_proc proc;
  (void)state;
  made_proc_begin(&folder);
  made_proc_process(&folder, &(made_process){.pid = 5, .start_ticks = 100});
  for (size_t before = 4060; before < 4110; before++) {
    memset(text, '7', before);
    vs_format(text + before, sizeof text - before, "\nbtime 2000000\nprocesses 1\n");
    made_proc_file(&folder, "stat", text);
    expect_ok(vs_proc_read(folder.path, 5, &proc));
    assert_int_equal(proc.start_us, UINT64_C(2000001000000));
  }
  made_proc_file(&folder, "stat", "cpu 1\n");
  expect_ok(vs_proc_read(folder.path, 5, &proc));
  assert_int_equal(proc.start_us, 0); /* not told, so not guessed */
  vs_folder_remove(&folder);
}

static void test_containers(void **state) {
  static const struct {
    const char *groups, *wanted;
  } cases[] = {
      {"0::/\n", ""},
      {"0::/user.slice/user-1000.slice/session-3.scope\n", ""},
      {"12:memory:/docker/" CONTAINER "\n11:cpu:/docker/" CONTAINER "\n", "3f2a9c1e5b7d"},
      {"0::/system.slice/docker-" CONTAINER ".scope\n", "3f2a9c1e5b7d"},
      {"0::/kubepods.slice/kubepods-pod0a1b2c3d_0001.slice/cri-containerd-" CONTAINER ".scope\n",
       "3f2a9c1e5b7d"},
      {"0::/machine.slice/libpod-" CONTAINER ".scope/container\n", "3f2a9c1e5b7d"},
      {"4:pids:/\n0::/lxc.payload.web/init.scope\n", "web"},
      {"4:pids:/lxc/db\n", "db"},
      {"0::/" CONTAINER "a\n", ""}, /* 65 digits are something else */
  };
  vs_folder folder;
  vs_proc proc;
  (void)state;
  made_proc_begin(&folder);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    made_proc_process(&folder, &(made_process){.pid = 7, .groups = cases[i].groups});
    expect_ok(vs_proc_read(folder.path, 7, &proc));
    assert_string_equal(proc.container, cases[i].wanted);
  }
  vs_folder_remove(&folder);
}

#define POD_UID "8f6c0a1b-2c3d-4e5f-8a9b-0c1d2e3f4a5b"

static void test_pods(void **state) {
  static const struct {
    const char *groups, *wanted;
  } cases[] = {
      {"0::/\n", ""},
      {"0::/user.slice/podman.scope\n", ""},
      {"0::/kubepods/burstable/pod" POD_UID "/" CONTAINER "\n", POD_UID},
      {"0::/kubepods.slice/kubepods-besteffort.slice/"
       "kubepods-besteffort-pod8f6c0a1b_2c3d_4e5f_8a9b_0c1d2e3f4a5b.slice/"
       "cri-containerd-" CONTAINER ".scope\n",
       POD_UID},
      {"0::/podlike/pod1234/kubepods/pod" POD_UID "\n", POD_UID},
      {"0::/kubepods/pod0123456789abcdef0123456789abcdef/" CONTAINER "\n",
       "0123456789abcdef0123456789abcdef"},
      {"0::/kubepods/pod" POD_UID "0/" CONTAINER "\n", ""}, /* 37 characters are something else */
  };
  vs_folder folder;
  char pod[40];
  (void)state;
  made_proc_begin(&folder);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    made_proc_process(&folder, &(made_process){.pid = 7, .groups = cases[i].groups});
    vs_proc_pod(folder.path, 7, pod, sizeof pod);
    assert_string_equal(pod, cases[i].wanted);
  }
  vs_proc_pod(folder.path, 8, pod, sizeof pod);
  assert_string_equal(pod, "");
  char small[36]; /* one too few */
  made_proc_process(&folder, &(made_process){.pid = 7, .groups = cases[2].groups});
  vs_proc_pod(folder.path, 7, small, sizeof small);
  assert_string_equal(small, "");
  vs_folder_remove(&folder);
}

static void test_maps(void **state) {
  static const char *const parts[] = {"/dev/nvidia", "libcuda.so", NULL};
  static char text[40000];
  vs_folder folder;
  (void)state;
  made_proc_begin(&folder);
  made_proc_process(&folder,
                    &(made_process){.pid = 7, .maps = "7f00-7f01 r-xp 0 08:01 1 /usr/lib/libc.so.6\n"});
  assert_false(vs_proc_has_mapped(folder.path, 7, parts));
  for (size_t before = 16300; before < 16400; before++) { /* across the end of a piece */
    memset(text, 'x', before);
    vs_format(text + before, sizeof text - before, " /usr/lib/libcuda.so.1\n");
    made_proc_process(&folder, &(made_process){.pid = 7, .maps = text});
    assert_true(vs_proc_has_mapped(folder.path, 7, parts));
  }
  assert_false(vs_proc_has_mapped(folder.path, 8, parts));
  vs_folder_remove(&folder);
}

/* Memory that a process has open, by its name: the first one, the next one, and none that is too short. Another process reads it by /proc. */
static void test_shared_memory_of_a_process(void **state) {
  vs_shared first, other, second;
  vs_error error;
  char found[8];
  uint32_t seen = 0;
  (void)state;
  expect_ok(vs_shared_create(&first, "test-figures", 4096, &error));
  expect_ok(vs_shared_create(&other, "test-figures-other", 4096, &error));
  expect_ok(vs_shared_create(&second, "test-figures", 4096, &error));
  memcpy(first.memory, "first", 6);
  memcpy(other.memory, "other", 6);
  memcpy(second.memory, "second", 7);
  const uint64_t pid = vs_process_id();
  for (uint32_t i = 0; i < 2; i++) {
    expect_ok(vs_proc_read_shared("/proc", pid, "test-figures", i, found, sizeof found));
    seen |= strcmp(found, "first") == 0 ? 1 : strcmp(found, "second") == 0 ? 2 : 4;
  }
  assert_int_equal(seen, 3);
  assert_int_equal(vs_proc_read_shared("/proc", pid, "test-figures", 2, found, sizeof found), VS_NOT_FOUND);
  static char large[8192];
  assert_int_equal(vs_proc_read_shared("/proc", pid, "test-figures", 0, large, sizeof large), VS_NOT_FOUND);
  assert_int_equal(vs_proc_read_shared("/proc", 0, "test-figures", 0, found, sizeof found), VS_IO);
  assert_int_equal(vs_proc_read_shared("/nowhere", pid, "test-figures", 0, found, sizeof found), VS_IO);
  vs_shared_close(&second);
  vs_shared_close(&other);
  vs_shared_close(&first);
}

/* A mapped file by its ending, also across pieces of the file; and a variable of the environment. */
static void test_mapped_file_and_variable(void **state) {
  static char text[60000];
  char found[64];
  vs_folder folder;
  (void)state;
  made_proc_begin(&folder);
  made_proc_process(&folder,
                    &(made_process){.pid = 7, .maps = "7f00-7f01 r-xp 0 08:01 1 /a/run.vram (deleted)\n"});
  assert_int_equal(vs_proc_mapped_file(folder.path, 7, ".vram", found, sizeof found), VS_NOT_FOUND);
  assert_int_equal(vs_proc_mapped_file(folder.path, 8, ".vram", found, sizeof found), VS_IO);
  for (size_t before = 4080; before < 4110; before++) { /* the path stands across the end of a piece */
    memset(text, '\n', before);
    vs_format(text + before, sizeof text - before,
              "7f00-7f01 rw-s 0 08:01 1 [heap]\n7f02 /a b/c.vram\n7f03 /d.vram");
    made_proc_process(&folder, &(made_process){.pid = 7, .maps = text});
    assert_int_equal(vs_proc_mapped_file(folder.path, 7, ".vram", found, sizeof found), VS_OK);
    assert_string_equal(found, "/a b/c.vram");
    assert_int_equal(vs_proc_mapped_file(folder.path, 7, ".vram", found, 5), VS_LIMIT);
    assert_int_equal(vs_proc_mapped_file(folder.path, 7, "d.vram", found, sizeof found), VS_OK);
    assert_string_equal(found, "/d.vram"); /* the last line has no end */
  }
  made_proc_file(&folder, "7/environ", "CUDA=0,1");
  assert_int_equal(vs_proc_variable(folder.path, 7, "CUDA", found, sizeof found), VS_OK);
  assert_string_equal(found, "0,1");
  assert_int_equal(vs_proc_variable(folder.path, 7, "CUD", found, sizeof found), VS_NOT_FOUND);
  assert_int_equal(vs_proc_variable(folder.path, 7, "CUDA", found, 3), VS_LIMIT);
  assert_int_equal(vs_proc_variable(folder.path, 8, "CUDA", found, sizeof found), VS_IO);
  vs_folder_remove(&folder);
}

static void test_machine(void **state) {
  vs_folder folder;
  uint64_t total, available;
  char text[16];
  (void)state;
  made_proc_begin(&folder);
  assert_true(vs_proc_memory(folder.path, &total, &available));
  assert_int_equal(total, UINT64_C(64) << 30);
  assert_int_equal(available, UINT64_C(40) << 30);
  made_proc_file(&folder, "meminfo", "MemTotal: 5 kB\n"); /* before Linux 3.14 */
  assert_false(vs_proc_memory(folder.path, &total, &available));
  assert_int_equal(vs_proc_view_of(folder.path), VS_PROC_WHOLE);
  made_proc_namespace(&folder, "pid:[4026532500]");
  assert_int_equal(vs_proc_view_of(folder.path), VS_PROC_OWN);
  made_proc_namespace(&folder, "pid:[40265318360]");
  assert_int_equal(vs_proc_view_of(folder.path), VS_PROC_OWN);
  made_proc_namespace(&folder, "nowhere");
  assert_int_equal(vs_proc_view_of(folder.path), VS_PROC_UNKNOWN);
  assert_int_equal(vs_proc_view_of("/not/there"), VS_PROC_UNKNOWN);
  made_proc_file(&folder, "driver/nvidia/version", "0123456789abcdefgh");
  assert_int_equal(vs_proc_text(folder.path, "driver/nvidia/version", text, sizeof text), 15);
  assert_string_equal(text, "0123456789abcde");
  assert_int_equal(vs_proc_text(folder.path, "nothing", text, sizeof text), 0);
  assert_string_equal(text, "");
  vs_folder_remove(&folder);
}

static void expect_family(const char *root, const int64_t *roots, size_t count, const char *wanted) {
  vs_proc_member members[8];
  char found[200] = "";
  const size_t size = vs_proc_family(root, roots, count, members, 8);
  for (size_t i = 0; i < size; i++) {
    char one[40];
    vs_format(one, sizeof one, "%D:%U ", members[i].pid, members[i].cpu_us / 10000);
    strcat(found, one);
  }
  assert_int_equal(strlen(found), strlen(wanted));
  for (size_t i = 0; i < size; i++) { /* folders are listed in any order */
    char one[40];
    vs_format(one, sizeof one, "%D:%U ", members[i].pid, members[i].cpu_us / 10000);
    if (strstr(wanted, one) == NULL) fail_msg("%sis not in %s", one, wanted);
  }
}

/* With the time of each: its own, and that of children that ended. A child may have a lower number than its parent. */
static void test_family(void **state) {
  static const struct {
    int pid, parent, ticks;
  } processes[] = {{50, 1, 1}, {60, 50, 10}, {30, 60, 100}, {20, 30, 1000},
                   {70, 1, 7}, {80, 70, 8},  {501, 5, 9}};
  vs_folder folder;
  vs_proc_member members[2];
  (void)state;
  made_proc_begin(&folder);
  for (size_t i = 0; i < sizeof processes / sizeof *processes; i++) {
    char name[40], text[160];
    vs_format(name, sizeof name, "%d/stat", processes[i].pid);
    vs_format(text, sizeof text, "%d (a) S 9 (b) S %d 1 1 0 -1 0 0 0 0 0 %d 2 30 400 20 0 1 0 5\n",
              processes[i].pid, processes[i].parent, processes[i].ticks);
    made_proc_file(&folder, name, text);
  }
  made_proc_file(&folder, "90/stat", "90 (cut) S 60 1");
  made_proc_file(&folder, "60x/stat", "60 (no process) S 50 1");
  expect_family(folder.path, (const int64_t[]){50}, 1, "50:433 60:442 30:532 20:1432 ");
  expect_family(folder.path, (const int64_t[]){70, 30}, 2, "70:439 80:440 30:532 20:1432 ");
  expect_family(folder.path, (const int64_t[]){99}, 1, "");
  expect_family("/not/there", (const int64_t[]){50}, 1, "");
  assert_int_equal(vs_proc_family(folder.path, (const int64_t[]){50}, 1, members, 2), 2);
  vs_folder_remove(&folder);
}

static void test_this_process(void **state) {
  vs_proc proc;
  char text[4096], user[64];
  (void)state;
  expect_ok(vs_proc_read("/proc", vs_process_id(), &proc));
  assert_int_equal(proc.user_id, getuid());
  assert_int_not_equal(proc.inner_pid, 0);
  assert_true(proc.start_us > UINT64_C(1600000000) * 1000000);
  assert_int_not_equal(proc.name[0], 0);
  assert_true(vs_proc_command("/proc", vs_process_id(), text, sizeof text, NULL) > 4);
  char own[4096], told[4096];
  vs_process_program(own, sizeof own);
  assert_true(vs_proc_program("/proc", vs_process_id(), told, sizeof told));
  assert_string_equal(told, own);
  assert_false(vs_proc_program("/proc", vs_process_id(), told, 8)); /* does not fit */
  assert_string_equal(told, "");
  assert_false(vs_proc_program("/proc", 0, told, sizeof told));
  assert_true(vs_str_contains(vs_str_from(text), VS_STR("os.proc")));
  assert_true(vs_proc_has_mapped("/proc", vs_process_id(), (const char *const[]){"libc.so", NULL}));
  vs_proc_user(0, user, sizeof user);
  assert_string_equal(user, "root");
  vs_proc_user(3999999999u, user, sizeof user);
  assert_string_equal(user, "3999999999");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_process),
      cmocka_unit_test(test_odd_name),
      cmocka_unit_test(test_boot_time_far_behind),
      cmocka_unit_test(test_containers),
      cmocka_unit_test(test_pods),
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_shared_memory_of_a_process),
      cmocka_unit_test(test_mapped_file_and_variable),
      cmocka_unit_test(test_machine),
      cmocka_unit_test(test_family),
      cmocka_unit_test(test_this_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
