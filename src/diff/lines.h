/* The sentences of the reply, for people. A face chooses only layout and colour. */
#ifndef VS_DIFF_LINES_H
#define VS_DIFF_LINES_H

#include "codec/json_writer.h"
#include "diff/comparison.h"

/* Writes the member "lines": {"about", "label", "depth", "tone", "text"} each. `rows`: how many of the rows changed, and how many of
 * those that did not are at another line. */
void vs_diff_lines_put(vs_jsonw *json, const vs_comparison *c);

#endif
