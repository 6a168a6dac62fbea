/* The process itself: its standard streams, signals, environment and clock.
 *
 * vs_process_prepare and vs_process_guard change what belongs to the whole process; only a program's main thread calls
 * them, never a library. */
#ifndef VS_OS_PROCESS_H
#define VS_OS_PROCESS_H

#include <vramscope/base.h>

typedef enum vs_stream { VS_STDIN, VS_STDOUT, VS_STDERR } vs_stream;

/* First thing in main: a closed standard stream becomes one whose every use fails (else the next file opened would take
 * its place), and writing into a pipe that nobody reads fails instead of killing. */
void vs_process_prepare(void);

/* In a child that is about to become another program: what prepare changed and a program inherits is as it was. */
void vs_process_unprepare(void);

/* The file that has to go if a signal ends the process now (Ctrl-C, TERM, HUP); NULL: none. One at a time. */
void vs_process_guard(const char *path);

/* From now on a wish to end the process (Ctrl-C, TERM, HUP) waits to be asked for, in this thread and in those that it starts.
 * What the parent chose to ignore (nohup) stays ignored. */
void vs_process_hold_end(void);
/* Waits for such a wish, but not longer than `most_us`; true: there was one. Then the next one ends the process at once. */
bool vs_process_wait_end(uint64_t most_us);

/* Starts a program, looked for in PATH, which may outlive this process and has nothing to do with its terminal. Nobody
 * waits for it. Fails: VS_NOT_FOUND  there is none; VS_IO  it cannot be started; `error` says why. */
VS_MUST_CHECK vs_status vs_process_launch(const char *program, const char *argument, vs_error *error);

/* The value of an environment variable, NULL where it is not set. Borrowed until the environment changes. */
const char *vs_process_variable(const char *name);

/* The path of the running program, and the folder that it lies in; "" where the system does not say. */
void vs_process_program(char *path, size_t capacity);
void vs_process_folder(char *path, size_t capacity);

uint64_t vs_process_id(void);
uint64_t vs_process_parent(void);

/* The name of the machine. */
void vs_process_host(char *name, size_t capacity);

/* Whether a process with that number exists; one that has ended and waits for its parent does not. */
bool vs_process_is_alive(int64_t pid);

/* Microseconds of a clock that only goes forward; its zero means nothing. */
uint64_t vs_process_clock_us(void);

bool vs_stream_is_terminal(vs_stream stream);
/* Columns of the terminal behind `stream`, 0 if it is none or does not say. */
uint32_t vs_stream_columns(vs_stream stream);
uint32_t vs_stream_rows(vs_stream stream); /* likewise */

/* Writes a message to standard error as one piece, so that lines of several processes do not mix. What cannot be written
 * there cannot be reported either: failures are dropped. */
void vs_stderr_put(const char *data, size_t size);

#endif
