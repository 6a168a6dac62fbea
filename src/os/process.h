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

/* The file that has to go if a signal ends the process now (Ctrl-C, TERM, HUP); NULL: none. One at a time. */
void vs_process_guard(const char *path);

/* The value of an environment variable, NULL where it is not set. Borrowed until the environment changes. */
const char *vs_process_variable(const char *name);

/* Microseconds of a clock that only goes forward; its zero means nothing. */
uint64_t vs_process_clock_us(void);

bool vs_stream_is_terminal(vs_stream stream);
/* Columns of the terminal behind `stream`, 0 if it is none or does not say. */
uint32_t vs_stream_columns(vs_stream stream);

/* Writes a message to standard error as one piece, so that lines of several processes do not mix. What cannot be written
 * there cannot be reported either: failures are dropped. */
void vs_stderr_put(const char *data, size_t size);

#endif
