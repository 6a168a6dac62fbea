/* A sample as JSON: sizes in bytes, times in microseconds, null for an unknown value, with the reason
 * under "unknown". New keys may be added; any other change of the format changes "schema".
 *
 * The document has everything that is drawn: `top --once` reads it back and draws it. */
#ifndef VS_TUI_JSON_H
#define VS_TUI_JSON_H

#include "codec/json_doc.h"
#include "faces/tui/view.h"

enum { VS_TOP_SCHEMA = 1 };

/* Appends the document and a line feed; `indent` 0: on one line. */
void vs_top_put_json(vs_text *text, const vs_top_sample *sample, const vs_top_view *view, uint32_t indent);

/* The sample of such a document, with the processes that are listed there; *left_out: how many are not. Owner: the caller,
 * vs_top_sample_deinit, also after a failure. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_top_take_json(const vs_host *host, vs_json document, vs_top_sample *sample,
                                         size_t *left_out);

#endif
