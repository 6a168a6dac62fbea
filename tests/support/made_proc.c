#include "support/made_proc.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 8192 };

static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    (void)mkdir(path, 0700);
    *slash = '/';
  }
}

static void put(const vs_folder *folder, const char *name, const char *bytes, size_t size) {
  char path[PATH];
  vs_format(path, sizeof path, "%s/%s", folder->path, name);
  make_folders(path);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

void made_proc_file(const vs_folder *folder, const char *name, const char *text) {
  put(folder, name, text, strlen(text));
}

void made_proc_namespace(const vs_folder *folder, const char *target) {
  char path[PATH];
  vs_format(path, sizeof path, "%s/self/ns/pid", folder->path);
  make_folders(path);
  (void)unlink(path);
  assert_int_equal(symlink(target, path), 0);
}

void made_proc_begin(vs_folder *folder) {
  vs_error error;
  expect_ok(vs_folder_create(folder, "vramscope-proc", &error));
  made_proc_file(folder, "stat",
                 "cpu  1 2 3 4\ncpu0 1 2 3 4\nintr 5 6 7\nctxt 8\nbtime 1000000\nprocesses 9\n");
  made_proc_file(folder, "meminfo",
                 "MemTotal:       67108864 kB\nMemFree:         1000 kB\nMemAvailable:   41943040 kB\n");
  made_proc_namespace(folder, "pid:[4026531836]");
}

static void put_of(const vs_folder *folder, uint64_t pid, const char *name, const char *text) {
  char path[64];
  vs_format(path, sizeof path, "%U/%s", pid, name);
  made_proc_file(folder, path, text);
}

void made_proc_process(const vs_folder *folder, const made_process *process) {
  char text[4096], path[64], numbers[32];
  const char *name = process->name != NULL ? process->name : "python3";
  vs_format(numbers, sizeof numbers, "%U", process->pid);
  vs_format(text, sizeof text, "Name:\t%s\nUmask:\t0022\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t%s\nThreads:\t1\n",
            name, process->user, process->user, process->user, process->user,
            process->numbers != NULL ? process->numbers : numbers);
  put_of(folder, process->pid, "status", text);
  vs_format(text, sizeof text, "%U (%s) S 1 1 1 0 -1 4194560 5 6 7 8 9 10 11 12 20 0 1 0 %U 1000 10\n",
            process->pid, name, process->start_ticks);
  put_of(folder, process->pid, "stat", text);
  put_of(folder, process->pid, "cgroup", process->groups != NULL ? process->groups : "0::/\n");
  if (process->maps != NULL) put_of(folder, process->pid, "maps", process->maps);

  const char *arguments = process->arguments != NULL ? process->arguments : "";
  const size_t size = strlen(arguments);
  for (size_t i = 0; i < size; i++) text[i] = arguments[i] == '|' ? 0 : arguments[i];
  vs_format(path, sizeof path, "%U/cmdline", process->pid);
  put(folder, path, text, size);
}
