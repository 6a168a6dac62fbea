/* The reply about a search for changes (docs/formats/fit.md) as text. */
#ifndef VS_FACES_DRYRUN_FIT_H
#define VS_FACES_DRYRUN_FIT_H

#include "faces/terminal/screen.h"
#include "codec/json_doc.h"

/* `file`: where the changes are written to; NULL: nowhere. */
void vs_fit_put(vs_screen *screen, vs_json reply, const char *file);

#endif
