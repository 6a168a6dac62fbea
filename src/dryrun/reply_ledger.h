/* The ledger of a card: for whom its memory was at the card's peak, to the byte. */
#ifndef VS_DRYRUN_REPLY_LEDGER_H
#define VS_DRYRUN_REPLY_LEDGER_H

#include "codec/json_writer.h"
#include "dryrun/result.h"

enum { VS_LEDGER_OF_ALL = 0 }; /* no process has this number */

/* Writes the member "ledger" (docs/formats/dryrun.md): a row for each owner with its kind (ledger.h), the largest first. Those of VS_LEDGER_OF_ALL sum up to the
 * card's peak, those of a process `pid` to its part of that. If there is no memory for it, the text has that status. */
void vs_dryrun_reply_ledger(vs_jsonw *w, const vs_result *result, uint32_t card, uint64_t pid);

/* What PyTorch's allocator in the process `pid` had of the card at the card's peak. */
uint64_t vs_dryrun_ledger_pytorch(const vs_result *result, uint32_t card, uint64_t pid);

#endif
