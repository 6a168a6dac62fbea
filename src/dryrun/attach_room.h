/* What vs_attach knows, and its two ways into the program. Private to attach*.c. */
#ifndef VS_DRYRUN_ATTACH_ROOM_H
#define VS_DRYRUN_ATTACH_ROOM_H

#include "base/text.h"
#include "dryrun/attach.h"
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
  bool is_pending; /* the program was asked to run a script, and has not yet: the folder stays */
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

/* Has a debugger (gdb) load the recorder into the program, which then runs the script. `text` is room for what it says. Fails with a
 * sentence. */
VS_MUST_CHECK vs_status vs_attach_by_gdb(vs_attach_room *room, vs_text *text, vs_error *error);

#endif
