/* The report of a dry run as text, made from the reply alone. */
#ifndef VS_FACES_DRYRUN_REPORT_H
#define VS_FACES_DRYRUN_REPORT_H

#include "codec/json_reply.h"
#include "faces/terminal/screen.h"

/* What it says at its end to type next. */
typedef struct vs_dryrun_next {
  bool is_shown;
  const char *snapshot; /* the file with the program's snapshot; NULL: it was not kept */
} vs_dryrun_next;

void vs_dryrun_put_report(vs_screen *screen, vs_json reply, vs_dryrun_next next);

#endif
