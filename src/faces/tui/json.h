/* A sample as JSON: sizes in bytes, times in microseconds, null for what is not known, with the reason
 * under "unknown". Keys stay; new ones may come ("schema" counts changes that are none of that kind). */
#ifndef VS_TUI_JSON_H
#define VS_TUI_JSON_H

#include "faces/tui/view.h"

enum { VS_TOP_SCHEMA = 1 };

/* `indent` 0: all on one line, which a line feed ends either way. */
void vs_top_put_json(vs_text *text, const vs_top_sample *sample, const vs_top_view *view, uint32_t indent);

#endif
