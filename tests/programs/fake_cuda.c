/* A program that uses a simulated GPU without any of its libraries: what they do to the shared machine and to
 * the notes, it does by itself, word by word of its command line. For tests of what watches such programs.
 *
 *   context D        the context on card D           take D BYTES     memory of card D
 *   give D BYTES     some of it back                 step             a training step
 *   note TEXT        a line in the notes             file NAME TEXT   a file beside them; %p in NAME is the process id
 *   print TEXT       to standard output              complain TEXT    to standard error
 *   sleep MS         waits                           leave            gives all back
 *   exit N           ends; without it: 0             kill N           ends by signal N
 *   need BYTES       exits with 9 if a take failed, or the first card has less in all */
#include "base/text.h"
#include "device/sim/share.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static vs_sim_machine *machine;
static uint32_t slot;
static bool was_refused;

static void die(const char *what) {
  fprintf(stderr, "fake_cuda: %s\n", what);
  exit(99);
}

static void open_machine(void) {
  const char *path = getenv("VRAMSCOPE_SIM_NODE");
  const int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) die("no machine");
  char *memory = mmap(NULL, VS_SHARE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) die("the machine cannot be mapped");
  machine = (vs_sim_machine *)(memory + VS_SHARE_MACHINE_OFFSET);
  if (!vs_sim_machine_is_ours(machine, sizeof *machine)) die("the machine is not ours");
  if (vs_sim_machine_enter(machine, (uint32_t)getpid(), 1, &slot) != VS_SIM_OK) die("the machine is full");
}

static void write_file(const char *name, const char *text, const char *mode) {
  char path[4096], pid[24] = "";
  const char *mark = strstr(name, "%p");
  if (mark != NULL) snprintf(pid, sizeof pid, "%d", (int)getpid());
  snprintf(path, sizeof path, "%s/%.*s%s%s", getenv("VRAMSCOPE_SIM_RUN"),
           mark == NULL ? (int)strlen(name) : (int)(mark - name), name, pid, mark == NULL ? "" : mark + 2);
  FILE *file = fopen(path, mode);
  if (file == NULL) die("a file cannot be written");
  fputs(text, file);
  fclose(file);
}

static char *const *next;
static const char *word(void) {
  if (*next == NULL) die("a word is missing");
  return *next++;
}
static uint64_t number(void) { return strtoull(word(), NULL, 0); }

static void run(const char *what) {
  if (machine == NULL && strcmp(what, "print") != 0 && strcmp(what, "exit") != 0) open_machine();
  if (strcmp(what, "context") == 0) {
    was_refused = vs_sim_machine_context(machine, slot, (uint32_t)number()) != VS_SIM_OK || was_refused;
  } else if (strcmp(what, "take") == 0) {
    const uint32_t card = (uint32_t)number();
    was_refused = vs_sim_machine_take(machine, slot, card, VS_SIM_ACCOUNT_UNKNOWN, number()) != VS_SIM_OK ||
                  was_refused;
  } else if (strcmp(what, "give") == 0) {
    const uint32_t card = (uint32_t)number();
    vs_sim_machine_give(machine, slot, card, VS_SIM_ACCOUNT_UNKNOWN, number());
  } else if (strcmp(what, "step") == 0) {
    machine->processes[slot].steps++;
  } else if (strcmp(what, "note") == 0) {
    char line[4096];
    snprintf(line, sizeof line, "%s\n", word());
    write_file("notes.%p.jsonl", line, "a");
  } else if (strcmp(what, "file") == 0) {
    const char *name = word();
    write_file(name, word(), "w");
  } else if (strcmp(what, "print") == 0) {
    puts(word());
    fflush(stdout);
  } else if (strcmp(what, "complain") == 0) {
    fprintf(stderr, "%s\n", word());
  } else if (strcmp(what, "sleep") == 0) {
    usleep((useconds_t)number() * 1000);
  } else if (strcmp(what, "leave") == 0) {
    vs_sim_machine_leave(machine, slot);
  } else if (strcmp(what, "need") == 0) {
    if (number() > machine->cards[0].figures.total_bytes || was_refused) exit(9);
  } else if (strcmp(what, "exit") == 0) {
    exit((int)number());
  } else if (strcmp(what, "kill") == 0) {
    raise((int)number());
  } else {
    die(what);
  }
}

int main(int argc, char **argv) {
  (void)argc;
  next = argv + 1;
  while (*next != NULL) run(word());
  return 0;
}
