/* The lines of JSON that processes write: the notes of the simulated libraries, and what the hook in a Python program could
 * not record. A damaged line is ignored. */
#ifndef VS_DRYRUN_NOTES_H
#define VS_DRYRUN_NOTES_H

#include "dryrun/result.h"

/* Takes notes.PID.jsonl of process `pid`, the child number `child` of the launch. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_notes_take(vs_result *result, vs_str text, uint64_t pid, uint32_t child);

/* Takes problems.PID.jsonl, of any process. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_problems_take(vs_result *result, vs_str text);

/* Parses JSON that may be torn or wrong; then the document has no root. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_notes_parse(vs_json_doc *document, const vs_host *host, vs_str text);

#endif
