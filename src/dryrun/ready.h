/* Whether a server of the program says that it is ready (--until ready): its processes' TCP sockets are asked over HTTP.
 *
 * A socket that listens says little: PyTorch's store for ranks listens before a model is loaded. So each one is asked for the pages by
 * which servers tell how they are (ready_pages.def), one after the other, and the status of the answer decides:
 *
 *   200 to 299            it is ready
 *   500 to 599            it is not yet, such as 503 while a model is loaded
 *   others, for all pages it has no such page: it answers, no more is known
 *   no HTTP               another protocol; that socket is not asked again
 *
 * Of several servers the one that says most counts. A question never waits: it is sent at one look, and its answer taken at a later
 * one. A server that has not answered for VS_READY_PATIENCE_US is asked anew. TLS is no HTTP. */
#ifndef VS_DRYRUN_READY_H
#define VS_DRYRUN_READY_H

#include "os/tcp.h"

#define VS_READY_PATIENCE_US UINT64_C(10000000)

enum { VS_READY_MOST = 32 }; /* sockets of a program that are asked */

typedef enum vs_ready { VS_READY_NO, VS_READY_ANSWERS, VS_READY_YES } vs_ready;

/* Invariant: `says` is that of the last pages that were answered; while `is_asked` the question for `page` is on its way. */
typedef struct vs_ready_server {
  vs_tcp_socket socket;
  vs_tcp_question question;
  uint64_t asked_us;
  uint32_t page;
  bool is_asked, is_there; /* is_there: it was found at this look */
  bool is_other;           /* it speaks no HTTP */
  vs_ready says;
} vs_ready_server;

/* All zero at the start of a run. */
typedef struct vs_ready_watch {
  vs_ready_server servers[VS_READY_MOST];
  size_t count;
} vs_ready_watch;

/* Takes answers and sends questions. `found`: the sockets on which the program's processes listen now. */
vs_ready vs_ready_look(vs_ready_watch *watch, const vs_tcp_socket *found, size_t count, uint64_t now_us);
void vs_ready_close(vs_ready_watch *watch);

/* The status of the beginning of an answer, as in "HTTP/1.1 200 OK"; 0: this is no HTTP. */
uint32_t vs_ready_status(vs_str head);

#endif
