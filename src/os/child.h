/* Child processes: started with a changed environment, watched, and ended with us.
 *
 *   vs_child child;
 *   VS_TRY(vs_child_start(&child, &plan, error));
 *   while (vs_children_wait(&child, 1, 500000) != 0) draw_progress();
 *   ...                                        child.exit_code, child.signal
 *
 * From the first start until vs_children_done, signals that would end this process do not. A signal to this process
 * alone is forwarded to the running children; those of the terminal (Ctrl-C) reach them anyway. So this process can
 * still report on them. If it dies nevertheless (SIGKILL), its children get a signal to end; what they started ends with
 * a folder that was made for it (folder.h). Only a program's main thread calls these. */
#ifndef VS_OS_CHILD_H
#define VS_OS_CHILD_H

#include "os/tcp.h"
#include <vramscope/base.h>

/* A change to the environment: `value` NULL takes the variable away. */
typedef struct vs_child_variable {
  const char *name, *value;
} vs_child_variable;

typedef enum vs_child_streams {
  VS_CHILD_STREAMS_OURS,      /* standard input, output and error are those of this process */
  VS_CHILD_STREAMS_TO_STDERR, /* what it writes to standard output goes to our standard error */
  VS_CHILD_STREAMS_NONE,      /* empty input, discarded output */
} vs_child_streams;

typedef struct vs_child_plan {
  char *const *words; /* the program, looked for in PATH, and its arguments; NULL behind the last */
  const vs_child_variable *variables;
  size_t variable_count;
  vs_child_streams streams;
  bool
      fixes_addresses; /* the kernel does not randomise the addresses of the program and of those that it starts */
  bool
      is_apart; /* in a session of its own: it goes on if this process dies, and gets no signal that is not sent to it by vs_children_... */
  const char *output; /* with VS_CHILD_STREAMS_NONE: a new file for its output; NULL: discarded */
} vs_child_plan;

typedef struct vs_child {
  int64_t pid;
  bool is_running, is_apart;
  bool has_fixed_addresses; /* as the plan wanted; false too where the system does not allow it */
  int exit_code;            /* once it has ended: what it returned, 0 where a signal ended it */
  int signal;               /* the signal that ended it, 0 if none did */
} vs_child;

/* Fails: VS_NOT_FOUND  there is no such program; VS_IO  it cannot be started; `error` says why. */
VS_MUST_CHECK vs_status vs_child_start(vs_child *child, const vs_child_plan *plan, vs_error *error);

/* Waits until one of the children ends, or for `most_us`. Returns how many still run. */
size_t vs_children_wait(vs_child *children, size_t count, uint64_t most_us);

/* Sends a signal to those that run; vs_children_wait tells when they have ended. */
void vs_children_signal(const vs_child *children, size_t count, int number);
/* The same to those that run, to all that descend from them as far as their parents run, and to those that got such a signal
 * before. */
void vs_children_interrupt(const vs_child *children,
                           size_t count); /* SIGINT: what a terminal sends at Ctrl-C */
void vs_children_terminate(const vs_child *children, size_t count); /* SIGTERM */
void vs_children_kill(const vs_child *children, size_t count);      /* SIGKILL */

/* How many of those that got such a signal since the last vs_children_done still run, children or not: a process may outlive the one
 * that started it. */
size_t vs_children_left(void);

/* The time of a processor that they have used, with all that descend from them. */
uint64_t vs_children_cpu_us(const vs_child *children, size_t count);

/* The TCP sockets on which they and all that descend from them listen; returns how many, at most `capacity`. */
size_t vs_children_listening(const vs_child *children, size_t count, vs_tcp_socket *sockets, size_t capacity);

/* Whether this process got a signal to end (INT, TERM, HUP) since the last vs_children_done. */
bool vs_children_interrupted(void);

/* Whether this process got a signal to stop (Ctrl-Z), which makes vs_children_wait return. The children have stopped
 * already; this process stops in vs_children_stop, until it is continued. */
bool vs_children_stopped(void);
void vs_children_stop(void);

/* Blocks the signals, as the first start does: for programs that start threads before it, which inherit this. */
void vs_children_begin(void);

/* Restores the signals. */
void vs_children_done(void);

/* "killed", "segmentation fault": what a signal's number means. */
const char *vs_signal_text(int number);

#endif
