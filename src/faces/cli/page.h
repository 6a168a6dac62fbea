/* The viewer's page as it lies in this program, and what is put into it for one use.
 *
 * In the page stands what it is to show, as JSON: {"mode": "empty"}. Replaced by
 *
 *   {"mode": "server", "files": [{"name", "bytes"}]}
 *       who serves the page answers below api/0, api/1, ...
 *   {"mode": "inlined", "files": [{"name", "bytes", "element"}]}
 *       the files follow in the page, each in the element of that id
 *
 * bytes: on disk, null of a pipe. */
#ifndef VS_CLI_PAGE_H
#define VS_CLI_PAGE_H

#include "base/text.h"

/* The page in pieces: before + JSON + between + whatever is put in + after. */
typedef struct vs_page {
  vs_str before, between, after;
  vs_str policy; /* its Content-Security-Policy, in `before` */
} vs_page;

typedef struct vs_page_file {
  const char *name;
  uint64_t bytes; /* VS_NO_SIZE: not known */
} vs_page_file;

typedef enum vs_page_mode { VS_PAGE_EMPTY, VS_PAGE_SERVER, VS_PAGE_INLINED } vs_page_mode;

void vs_page_open(vs_page *page);
/* It can read files by itself: the engine was built for it. */
bool vs_page_has_engine(void);

/* The JSON. What would end the element that it stands in is escaped. */
void vs_page_put_boot(vs_text *text, vs_page_mode mode, const vs_page_file *files, size_t count);

/* `text` with what a served page may do in place of what one from disk may: ask the server that it came
 * from. */
void vs_page_put_served(vs_text *text, vs_str part);

#endif
