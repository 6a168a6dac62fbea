/* The two ways of `view`: a server, and a page that holds everything. */
#ifndef VS_CLI_VIEW_H
#define VS_CLI_VIEW_H

#include "faces/cli/cli.h"
#include "faces/cli/page.h"

enum { VS_VIEW_NAME = 4096 };

/* What the page is told of the files of the command line: names as short as they can be and differ, and how
 * large they are. A name that is not there, or cannot be read, is said. */
VS_MUST_CHECK vs_exit vs_view_files(const vs_cli *cli, vs_page_file files[VS_MAX_ARGUMENTS]);

/* Says a sentence about the command line. */
VS_MUST_CHECK vs_exit vs_view_refuse(const char *sentence);

/* `view FILE... --html OUT` */
VS_MUST_CHECK vs_exit vs_view_write_page(vs_cli *cli);

#endif
