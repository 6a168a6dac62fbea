/* The lines of JSON that processes leave: the notes of the simulated libraries, and what the hook in a Python program could
 * not record. A line that makes no sense is left out, as if it were not there. */
#ifndef VS_DRYRUN_NOTES_H
#define VS_DRYRUN_NOTES_H

#include "dryrun/result.h"

/* notes.PID.jsonl, by process `pid`, number `child` of those that were started. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_notes_take(vs_result *result, vs_str text, uint64_t pid, uint32_t child);

/* problems.PID.jsonl, of any process. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_problems_take(vs_result *result, vs_str text);

/* JSON that may be torn or wrong: then the document has no root. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_notes_parse(vs_json_doc *document, const vs_host *host, vs_str text);

#endif
