/* The two ways of `view`: a server, and a page that contains everything. */
#ifndef VS_CLI_VIEW_H
#define VS_CLI_VIEW_H

#include "faces/cli/cli.h"
#include "faces/cli/page.h"

enum { VS_VIEW_NAME = 4096 };

/* The names and sizes of the command line's files for the page; names lose the folders that all of them share. Prints an
 * error for a file that does not exist or cannot be read. */
VS_MUST_CHECK vs_exit vs_view_files(const vs_cli *cli, vs_page_file files[VS_MAX_ARGUMENTS]);

/* Prints an error about the command line. */
VS_MUST_CHECK vs_exit vs_view_refuse(const char *sentence);

/* `view FILE... --html OUT` */
VS_MUST_CHECK vs_exit vs_view_write_page(vs_cli *cli);

#endif
