/* What vs_attach knows, and its ways into the program. Private to attach*.c. */
#ifndef VS_DRYRUN_ATTACH_ROOM_H
#define VS_DRYRUN_ATTACH_ROOM_H

#include "base/text.h"
#include "dryrun/attach.h"
#include "os/child.h"
#include "os/infile.h"
#include "os/outfile.h"
#include "os/proc.h"

/* Large for a stack. */
typedef struct vs_attach_room {
  const vs_host *host;
  const vs_attach_plan *plan;
  vs_proc proc;
  vs_folder folder;
  char recorder[VS_FOLDER_PATH]; /* its folder */
  char library[VS_FOLDER_PATH], path[VS_FOLDER_PATH];
  char script[VS_FOLDER_PATH]; /* what runs in the program */
  char answer[VS_FOLDER_PATH]; /* what it writes */
  char commands[VS_FOLDER_PATH], output[VS_FOLDER_PATH];
  vs_outfile out;
  char pid[24];
  bool is_pending;     /* the program was asked to run a script, and has not yet: the folder stays */
  bool is_interrupted; /* Ctrl-C, while a debugger waited for the program */
} vs_attach_room;

enum {
  VS_ATTACH_PATIENCE_US = 30 * 1000 * 1000,
  VS_ATTACH_MAIN_THREAD_US = 10 * 1000 * 1000, /* as far as it is the main thread that has to run Python */
  VS_ATTACH_PAUSE_US = 20 * 1000,
};

/* Writes to the file that is open. What fails is told by vs_outfile_finish. */
void vs_attach_put(vs_attach_room *room, const char *text);

/* The text of a file, at most the first part of it, with a 0 behind it; empty if there is none. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_attach_read(const char *path, vs_text *text);

/* Asks the program's own Python, of 3.14 or later, to run the script there (sys.remote_exec). False: it cannot be asked, or refuses, and
 * nothing has changed. The program runs the script the next time that its main thread runs Python. */
bool vs_attach_by_python(vs_attach_room *room);

/* ---- by a debugger */

/* What a debugger writes, by what it means: a part of a line. */
typedef struct vs_attach_phrases {
  const char *started;     /* the recorder runs the script */
  const char *not_started; /* it does not */
  const char *not_loaded;  /* it is not in the program */
  const char *not_permitted, *already_traced;
  const char *no_python; /* nowhere to stop the program */
  const char *stopped;   /* the program was, at such a place */
  const char *waiting;   /* it was to be */
} vs_attach_phrases;

typedef struct vs_attach_debugger {
  const char *name; /* of the program, too */
  vs_status (*start)(vs_attach_room *room, vs_child *child,
                     vs_error *error); /* VS_NOT_FOUND: it is not installed */
  void (*interrupt)(const vs_attach_room *room,
                    const vs_child *child); /* so that it lets go of the program, and ends */
  bool waits_without_python;                /* for ever: it is interrupted then */
  vs_attach_phrases says;
} vs_attach_debugger;

extern const vs_attach_debugger vs_attach_gdb, vs_attach_lldb;

/* Text of a command in quotes, with escapes that gdb and lldb read as C does. */
void vs_attach_put_quoted(vs_attach_room *room, const char *text);

/* Starts a debugger, which writes to room->output. Fails: VS_NOT_FOUND, VS_IO */
VS_MUST_CHECK vs_status vs_attach_start(vs_attach_room *room, char *const words[], vs_child *child,
                                        vs_error *error);

/* Has the debugger load the recorder into the program, which then runs the script. `text` is room for what it says. Fails with a sentence;
 * VS_NOT_FOUND where it is not installed, too, which is_installed tells apart. */
VS_MUST_CHECK vs_status vs_attach_by_debugger(vs_attach_room *room, const vs_attach_debugger *debugger,
                                              bool *is_installed, vs_text *text, vs_error *error);

#endif
