/* Standard error: one line for a failure, and a progress line that is erased at the end. */
#ifndef VS_CLI_STANDARD_ERROR_H
#define VS_CLI_STANDARD_ERROR_H

#include "faces/commands/commands.h"
#include "intake/input_file.h"

enum { VS_ERROR_LINE_MOST = 500 }; /* bytes of a line, with its line feed */

/* "vramscope: SUBJECT: sentence (at byte N)", one line of at most VS_ERROR_LINE_MOST bytes, made safe for terminals. `subject`
 * is the file in question, or empty. Returns the exit code that goes with the status. */
vs_exit vs_print_error(vs_str subject, const vs_error *error);

/* The exit code for a failure. */
vs_exit vs_exit_for(vs_status status);

/* ---- progress: shown only on a terminal, and only after half a second */

typedef struct vs_progress {
  bool is_wanted;
  bool is_shown;
  uint64_t began_us, drawn_us;
  char name[64];
} vs_progress;

void vs_progress_begin(vs_progress *progress, bool is_wanted, vs_str name);
/* `total`: VS_NO_SIZE if it is unknown. */
void vs_progress_bytes(vs_progress *progress, uint64_t done, uint64_t total);
/* Shows how much of a file was read. `progress` must outlive it. */
vs_input_watch vs_progress_watch(vs_progress *progress);
/* The file was read; the engine computes the answer. */
void vs_progress_working(vs_progress *progress);
void vs_progress_end(vs_progress *progress);

#endif
