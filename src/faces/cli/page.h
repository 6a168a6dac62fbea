/* The viewer's page, which is embedded in this program, and what is inserted into it for one use.
 *
 * The page contains what it shows as JSON: {"mode": "empty"}. It is replaced by
 *
 *   {"mode": "server", "files": [{"name", "bytes"}]}
 *       the server of the page answers requests at api/0, api/1, ...
 *   {"mode": "inlined", "files": [{"name", "bytes", "element"}]}
 *       the files follow in the page, each in the element with that id
 *
 * bytes: on disk; null of a pipe. */
#ifndef VS_CLI_PAGE_H
#define VS_CLI_PAGE_H

#include "base/text.h"

/* The page in pieces: before + JSON + between + the files + after. */
typedef struct vs_page {
  vs_str before, between, after;
  vs_str policy; /* its Content-Security-Policy, in `before` */
} vs_page;

typedef struct vs_page_file {
  const char *name;
  uint64_t bytes; /* VS_NO_SIZE: unknown */
} vs_page_file;

typedef enum vs_page_mode { VS_PAGE_EMPTY, VS_PAGE_SERVER, VS_PAGE_INLINED } vs_page_mode;

void vs_page_open(vs_page *page);
/* Whether the page contains the engine, so that it can read files by itself. */
bool vs_page_has_engine(void);

/* Appends the JSON. Text that would end the element around it is escaped. */
void vs_page_put_boot(vs_text *text, vs_page_mode mode, const vs_page_file *files, size_t count);

/* Appends the part `before` with `above` at the beginning of its body: HTML, above what the page shows. */
void vs_page_put_above(vs_text *text, vs_str before, vs_str above);

/* Appends `part` with the Content-Security-Policy of a served page, which may send requests to its server. */
void vs_page_put_served(vs_text *text, vs_str part);

#endif
