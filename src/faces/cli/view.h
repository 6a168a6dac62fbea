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

/* ---- a page of other files: begun before they exist, so that they are not made in vain */

typedef struct vs_view_page {
  const char *const *paths;
  const vs_page_file *files; /* as the page names them */
  size_t count;
  vs_str above; /* HTML, above what the page shows */
} vs_view_page;

/* Prints an error if this build cannot write a page, with or without files. */
VS_MUST_CHECK vs_exit vs_view_check_build(bool has_files);
/* Creates the file. Prints an error about it. After it one of the next two. */
VS_MUST_CHECK vs_exit vs_view_begin_page(vs_cli *cli, const char *name);
/* `page` has at least one file. */
VS_MUST_CHECK vs_exit vs_view_end_page(const vs_view_page *page);
void vs_view_abandon_page(void); /* nothing stays of it */

#endif
