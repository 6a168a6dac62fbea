/* The recorder in a program that runs already. There are two ways in; each has the program run a script of a temporary folder, whose answer is
 * a file of that folder:
 *
 *   Python 3.14 and later   attach_python.c   the program's own interpreter asks it to (sys.remote_exec): its main thread does
 *   else                    attach_debugger.c gdb (attach_gdb.c) or lldb (attach_lldb.c) stops the program where it gives or takes Python's lock
 *                                             ──▶  dlopen of the recorder, which starts a thread that waits for Python's lock
 *
 * At such a place the stopped thread holds neither the loader's lock nor the heap's. A debugger is never ended, and goes on where this
 * process is killed: if it ended, it would leave its breakpoints in the program. */
#ifndef VS_DRYRUN_ATTACH_H
#define VS_DRYRUN_ATTACH_H

#include "os/folder.h"
#include <vramscope/base.h>

typedef struct vs_attach_plan {
  uint64_t pid;
  bool ends;        /* the recording that is being written; the members below are not used then */
  const char *path; /* of the recording; relative: in this process' folder */
  bool may_replace; /* the file there */
} vs_attach_plan;

/* Waits until the recording has begun, or is complete; its path is written to `path`. Ends this process' signals (os/child.h), so only a
 * program's main thread calls it.
 * Fails with a sentence that says what to do: VS_NOT_FOUND (no such process), VS_UNSUPPORTED (no debugger, the system forbids it, no Python),
 * VS_BAD_ARGUMENT (it is recorded already, or not at all), VS_IO, VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_attach(const vs_host *host, const vs_attach_plan *plan, char path[VS_FOLDER_PATH],
                                  vs_error *error);

#endif
