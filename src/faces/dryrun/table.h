/* A table of dry runs (--vary, --find-largest) as text, made from the reply alone. */
#ifndef VS_FACES_DRYRUN_TABLE_H
#define VS_FACES_DRYRUN_TABLE_H

#include "codec/json_reply.h"
#include "faces/terminal/screen.h"

/* `shows_next`: ends with a command to type next. */
void vs_dryrun_put_table(vs_screen *screen, vs_json reply, bool shows_next);

#endif
