/* The process itself: its standard streams, signals, environment and clock.
 *
 * vs_process_prepare, vs_process_guard and vs_process_create_guarded change what belongs to the whole process; only a
 * program's main thread calls them, never a library. */
#ifndef VS_OS_PROCESS_H
#define VS_OS_PROCESS_H

#include <vramscope/base.h>

typedef enum vs_stream { VS_STDIN, VS_STDOUT, VS_STDERR } vs_stream;

/* Called first in main. A closed standard stream is replaced by one whose every use fails (else the next file opened
 * would get its number), and writing to a pipe without a reader fails instead of ending the process. */
void vs_process_prepare(void);

/* In a child before exec: restores what prepare changed and a program inherits. */
void vs_process_unprepare(void);

/* The file to remove if a signal ends the process (Ctrl-C, TERM, HUP); NULL: none. One at a time. */
void vs_process_guard(const char *path);

/* Creates a file, which does not exist yet, for writing and guards it; no signal ends the process between the two. The
 * descriptor, or -1 with errno. */
int vs_process_create_guarded(const char *path);

/* Blocks the signals that end the process (Ctrl-C, TERM, HUP), in this thread and in those that it starts, until
 * vs_process_wait_end takes them. Signals that the parent ignores (nohup) stay ignored. */
void vs_process_hold_end(void);
/* Waits for such a signal, at most `most_us`; true: there was one. The next one ends the process at once. */
bool vs_process_wait_end(uint64_t most_us);

/* Writes what stdio has, and ends the process at once, without destructors: a thread is in a call of a library that does not return, which
 * the library's own destructors would disturb. */
_Noreturn void vs_process_leave(int status);

/* Starts a program, looked for in PATH, detached from this process and its terminal; it is not waited for. Fails:
 * VS_NOT_FOUND  there is none; VS_IO  it cannot be started; `error` says why. */
VS_MUST_CHECK vs_status vs_process_launch(const char *program, const char *argument, vs_error *error);

/* The value of an environment variable, NULL if it is not set. Borrowed until the environment changes. */
const char *vs_process_variable(const char *name);

/* The path of the running program, and its folder; "" if unknown. */
void vs_process_program(char *path, size_t capacity);
void vs_process_folder(char *path, size_t capacity);

/* The folder that relative paths begin in; "" if unknown. */
void vs_process_working_folder(char *path, size_t capacity);

uint64_t vs_process_id(void);
uint64_t vs_process_parent(void);

/* The number of the user whose rights it has; 0: an administrator. */
uint32_t vs_process_user(void);

/* The name of the machine. */
void vs_process_host(char *name, size_t capacity);

/* Whether a process with that number runs; a zombie does not. */
bool vs_process_is_alive(int64_t pid);

/* Sends a signal to a process, whichever it is; nothing happens where there is none, or it is another user's. */
void vs_process_signal(int64_t pid, int number);

/* A monotonic clock in microseconds, from an arbitrary zero. */
uint64_t vs_process_clock_us(void);

bool vs_stream_is_terminal(vs_stream stream);
/* Columns of the terminal of `stream`, 0 if it is none or unknown. */
uint32_t vs_stream_columns(vs_stream stream);
uint32_t vs_stream_rows(vs_stream stream); /* likewise */

/* Writes a message to standard error in one call, so that lines of several processes do not mix. Failures are
 * ignored, because they cannot be reported anywhere else. */
void vs_stderr_put(const char *data, size_t size);

#endif
