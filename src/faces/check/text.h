/* The reply of a check (docs/formats/check.md) for people: on a terminal, and as Markdown for a pull request. */
#ifndef VS_FACES_CHECK_TEXT_H
#define VS_FACES_CHECK_TEXT_H

#include "codec/json_reply.h"
#include "faces/terminal/screen.h"

void vs_check_put_text(vs_screen *screen, vs_json reply);

/* `screen`: its unit. */
void vs_check_put_markdown(vs_text *text, const vs_screen *screen, vs_json reply);

#endif
