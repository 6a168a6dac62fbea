#include "faces/simcuda/core/machine.h"
#include "os/clock.h"
#include "os/sharedlock.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert((int)VS_SHAREDLOCK_SIZE <= (int)VS_SHARE_MACHINE_OFFSET, "the lock fits before the machine");

/* ---- open */

static bool complain(char *problem, const char *what, const char *why) {
  vs_format(problem, VS_CONFIGURATION_PROBLEM, "%s: %s", what, why);
  return false;
}

static bool open_own(vs_machine *machine, const vs_configuration *configuration, char *problem) {
  void *memory = mmap(NULL, VS_SHARE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return complain(problem, "the simulated machine", strerror(errno));
  machine->memory = memory;
  machine->sim_machine = (vs_sim_machine *)(void *)(machine->memory + VS_SHARE_MACHINE_OFFSET);
  if (vs_sharedlock_init(memory) != VS_OK) return complain(problem, "the simulated machine", "no lock");
  if (vs_sim_machine_init(machine->sim_machine, configuration->gpus, configuration->gpu_count) != VS_OK)
    return complain(problem, "VRAMSCOPE_SIM_CONTEXT", "more than a card has");
  return true;
}

/* Maps the whole file. NULL with errno; EINVAL if it is too small. */
static void *map_file(const char *path) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return NULL;
  struct stat about;
  void *memory = MAP_FAILED;
  if (fstat(fd, &about) != 0) {
  } else if ((uint64_t)about.st_size < VS_SHARE_SIZE) {
    errno = EINVAL;
  } else {
    memory = mmap(NULL, VS_SHARE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int number = errno;
  (void)close(fd);
  errno = number;
  return memory == MAP_FAILED ? NULL : memory;
}

static bool open_shared(vs_machine *machine, const char *path, char *problem) {
  void *memory = map_file(path);
  if (memory == NULL && errno == ENOENT)
    return complain(problem, "VRAMSCOPE_SIM_NODE", "the dry run that this program belonged to is over");
  if (memory == NULL && errno != EINVAL) return complain(problem, "VRAMSCOPE_SIM_NODE", strerror(errno));
  machine->memory = memory;
  machine->is_shared = true;
  if (memory != NULL)
    machine->sim_machine = (vs_sim_machine *)(void *)(machine->memory + VS_SHARE_MACHINE_OFFSET);
  if (memory == NULL || !vs_sharedlock_is_ours(memory) ||
      !vs_sim_machine_is_ours(machine->sim_machine, VS_SHARE_SIZE - VS_SHARE_MACHINE_OFFSET))
    return complain(problem, "VRAMSCOPE_SIM_NODE", "not a simulated machine of this version of vramscope");
  return true;
}

bool vs_machine_open(vs_machine *machine, const vs_configuration *configuration,
                     char problem[static VS_CONFIGURATION_PROBLEM]) {
  *machine = (vs_machine){.slot = VS_MACHINE_NO_SLOT};
  return configuration->node[0] == 0 ? open_own(machine, configuration, problem)
                                     : open_shared(machine, configuration->node, problem);
}

void vs_machine_forked(vs_machine *machine) {
  machine->slot = VS_MACHINE_NO_SLOT;
  if (machine->is_shared) return;
  const vs_status status = vs_sharedlock_init(machine->memory); /* it succeeded when the machine was opened */
  VS_ASSERT(status == VS_OK);
  (void)status;
  vs_sim_machine_repair(machine->sim_machine);
}

/* ---- lock */

void vs_machine_lock(vs_machine *machine) {
  VS_ASSERT(machine->memory != NULL);
  if (vs_sharedlock_take(machine->memory) != VS_SHAREDLOCK_LEFT) return;
  vs_sim_machine_repair(machine->sim_machine);
  vs_sharedlock_mended(machine->memory);
}

void vs_machine_unlock(vs_machine *machine) {
  if (vs_sim_machine_has_new_peak(machine->sim_machine))
    vs_sim_machine_time_peaks(machine->sim_machine, vs_clock_wall_ns() / 1000);
  vs_sharedlock_give(machine->memory);
}

/* ---- processes */

/* The text of /proc/PID/stat from the state on ("S 1 ..."). The name before it is in brackets and may contain
 * brackets itself, so the last one counts. */
static const char *behind_name(const char *text, size_t size) {
  for (size_t i = size; i > 2; i--)
    if (text[i - 1] == ')') return text + i + 1;
  return NULL;
}

uint64_t vs_process_started(uint32_t pid) {
  enum { STARTED = 19 }; /* fields from the state to the one before the start time */
  char path[64] = "/proc/self/stat", text[1024];
  if (pid != 0) vs_format(path, sizeof path, "/proc/%u/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t size = read(fd, text, sizeof text - 1);
  (void)close(fd);
  text[size < 0 ? 0 : size] = 0;
  const char *field = behind_name(text, strlen(text));
  if (field == NULL || *field == 'Z' || *field == 'X') return 0;
  for (int i = 0; i < STARTED && field != NULL; i++) {
    field = strchr(field, ' ');
    if (field != NULL) field++;
  }
  uint64_t started;
  if (field == NULL || !vs_parse_u64((vs_str){field, strcspn(field, " ")}, &started)) return 0;
  return started == 0 ? 1 : started;
}

static bool is_alive(void *ctx, uint32_t pid, uint64_t started) {
  (void)ctx;
  return vs_process_started(pid) == started;
}

bool vs_machine_reap(vs_machine *machine) {
  return machine->is_shared && vs_sim_machine_reap(machine->sim_machine, is_alive, NULL) != 0;
}

/* Removes the entry of the program that this process ran before an exec: it has the same pid and start time, so
 * reaping takes it for a live process. */
static void leave_former_program(vs_machine *machine, uint32_t pid) {
  for (uint32_t slot = 0; slot < machine->sim_machine->process_limit; slot++) {
    const vs_sim_process *process = &machine->sim_machine->processes[slot];
    if (process->state == VS_SIM_PROCESS_LIVE && process->pid == pid)
      vs_sim_machine_leave(machine->sim_machine, slot);
  }
}

vs_sim_error vs_machine_enter(vs_machine *machine) {
  VS_ASSERT(machine->slot == VS_MACHINE_NO_SLOT);
  const uint64_t started = vs_process_started(0);
  const uint32_t pid = (uint32_t)getpid();
  vs_machine_lock(machine);
  leave_former_program(machine, pid);
  (void)vs_machine_reap(machine);
  const vs_sim_error error = vs_sim_machine_enter(machine->sim_machine, pid, started, &machine->slot);
  vs_machine_unlock(machine);
  if (error != VS_SIM_OK) machine->slot = VS_MACHINE_NO_SLOT;
  VS_ASSERT(error != VS_SIM_OK || machine->slot != VS_MACHINE_NO_SLOT);
  return error;
}

void vs_machine_leave(vs_machine *machine) {
  if (machine->slot == VS_MACHINE_NO_SLOT) return;
  vs_machine_lock(machine);
  vs_sim_machine_leave(machine->sim_machine, machine->slot);
  vs_machine_unlock(machine);
  machine->slot = VS_MACHINE_NO_SLOT;
}
