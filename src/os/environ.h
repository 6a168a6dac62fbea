/* Processes that have a text in the environment that they were started with (private). */
#ifndef VS_OS_ENVIRON_H
#define VS_OS_ENVIRON_H

#include <vramscope/base.h>

/* Sends a signal to each of them, but for this process; 0: none. Returns how many there are. `proc` is "/proc", or a test's folder. Async-signal-safe. */
size_t vs_environ_signal(const char *proc, const char *text, int number);

#endif
