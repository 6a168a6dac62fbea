/* A /proc that a test makes: files and folders as the kernel writes them, below a temporary folder. */
#ifndef VS_TESTS_MADE_PROC_H
#define VS_TESTS_MADE_PROC_H

#include "os/folder.h"

typedef struct made_process {
  uint64_t pid;
  const char *name;      /* as in /proc/PID/stat; NULL: "python3" */
  const char *arguments; /* with '|' for the 0 behind each: "python3|train.py|" */
  uint32_t user;
  const char *numbers; /* of NSpid: "4711\t7"; NULL: the pid alone */
  uint64_t start_ticks;
  const char *groups; /* /proc/PID/cgroup; NULL: "0::/\n" */
  const char *maps;   /* NULL: none */
} made_process;

/* The tree with a boot time of 1000000 s, 64 GiB of memory of which 40 are to be had, and the view of the whole
 * machine. */
void made_proc_begin(vs_folder *folder);
void made_proc_process(const vs_folder *folder, const made_process *process);
/* A file below it; folders on the way are made. */
void made_proc_file(const vs_folder *folder, const char *name, const char *text);
/* What self/ns/pid points at: "pid:[4026531836]" is the whole machine. */
void made_proc_namespace(const vs_folder *folder, const char *target);

#endif
