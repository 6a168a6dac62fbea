/* The parts of "where". */
#ifndef VS_CLI_WHERE_H
#define VS_CLI_WHERE_H

#include "faces/cli/cli.h"
#include "ledger/ledger.h"

/* Adds the cards of this machine to the ledger, as the driver shows them now: those of the process `pid` with what is known of its
 * memory; 0: all of them, with all processes. --device chooses one card. On failure a sentence was printed. */
VS_MUST_CHECK vs_exit vs_where_add_live(vs_cli *cli, uint64_t pid, vs_ledger *ledger);

/* Shows the document of "where" (docs/formats/where.md). */
void vs_where_put(vs_cli *cli, vs_json document);

#endif
