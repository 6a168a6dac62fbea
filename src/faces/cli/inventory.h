/* The inventory of a file for a command: asked of the engine for a snapshot or a recording, or read where an earlier run wrote it
 * as JSON (its reply, or that of a dry run). */
#ifndef VS_CLI_INVENTORY_H
#define VS_CLI_INVENTORY_H

#include "faces/cli/cli.h"

/* `at`: the moment, NULL for the peak. *inventory is a part of the document. Owner of the document: the caller, if this returns
 * VS_EXIT_OK; otherwise the failure was printed. */
VS_MUST_CHECK vs_exit vs_cli_inventory(vs_cli *cli, const char *path, const char *at, vs_json_doc *document,
                                       vs_json *inventory);

#endif
