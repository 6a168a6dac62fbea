/* What a store of keys and values answers: bytes of PyTorch's TCPStore protocol in, bytes out. No sockets, no clock, no
 * threads; queries.def is the protocol, server.h the server.
 *
 * A store may stand for ranks that do not run (`copies` > 1). The rule is a WORLD OF IDENTICAL RANKS: all of them do what
 * this one does, and this one is always the last to come.
 *
 *   1. What this rank adds, all ranks add. ADD(key, n) counts n * copies, BARRIER counts copies. So a count of arrivals is
 *      full the moment this rank arrives, in every round.
 *   2. A key that this rank set is there, and says what it said. Nothing below ever takes its place.
 *   3. A key that nobody set, but that is like one that this rank did set ("synced/0" is there, "synced/7" is asked for:
 *      equal but for the digits), was set by another rank: its value is that of the key it is like, the latest of them.
 *   4. A key that nobody set beside a count ("barrier:last_worker" beside "barrier", "join/last_member" beside
 *      "join/num_members") was set by the last one to be counted: "1".
 *   5. A key under which process groups exchange NCCL's unique ids is there with an id of 128 bytes.
 *   6. Any other key is not there. CHECK says so, WAIT waits as it would; when it has waited for VS_STORE_PATIENCE_US the
 *      store says in one sentence that no rank will come to set it, and lets the client's own timeout end the wait.
 *
 * So values that differ from rank to rank (an address, a ticket, the choice of rank 0) are this rank's own. What is popped
 * from a queue is what this rank pushed. With copies = 1 only 2 holds: an ordinary store.
 *
 * Clients are not trusted. Every length is checked against the bounds of scan.h; memory is bounded for the store as a whole;
 * bytes that are no query are refused with a sentence, and their client is to be closed. */
#ifndef VS_RENDEZVOUS_STORE_H
#define VS_RENDEZVOUS_STORE_H

#include "base/text.h"

#define VS_STORE_MAGIC       UINT32_C(0x3c85f7ce) /* what VALIDATE brings */
#define VS_STORE_PATIENCE_US UINT64_C(3000000)

enum { VS_STORE_SENTENCE = 400 };

typedef struct vs_store_settings {
  uint64_t copies; /* ranks that the clients stand for, from 1 up to 2^20 */
  uint64_t memory; /* bytes that the store may use, clients and all */
  void *ctx;
  void (*say)(void *ctx, const char *sentence); /* a sentence for the user; NULL: dropped */
} vs_store_settings;

typedef struct vs_store vs_store;
typedef struct vs_store_client vs_store_client;

VS_MUST_CHECK vs_status vs_store_create(const vs_host *host, const vs_store_settings *settings,
                                        vs_store **store);
/* Disconnects the clients that are still connected. */
void vs_store_destroy(vs_store *store);

VS_MUST_CHECK vs_status vs_store_connect(vs_store *store, vs_store_client **client);
void vs_store_disconnect(vs_store *store, vs_store_client *client);

/* Takes bytes from a client, in pieces of any size. Answers, also those that other clients waited for, collect in the
 * clients' outputs. A failure ends the client: VS_BAD_FORMAT (no such query, a number that is none), VS_LIMIT (a bound),
 * VS_NO_MEMORY; `error` has the sentence. What came before it was done. */
VS_MUST_CHECK vs_status vs_store_feed(vs_store *store, vs_store_client *client, const void *bytes,
                                      size_t size, vs_error *error);

/* What is to be sent to a client; borrowed until the next call. */
vs_str vs_store_output(const vs_store_client *client);
void vs_store_sent(vs_store_client *client, size_t count);

/* Tells the time, so that waits that no rank will end are named. */
void vs_store_tick(vs_store *store, uint64_t now_us);

uint64_t vs_store_requests(const vs_store *store);
uint64_t vs_store_made_up(const vs_store *store); /* answers by the rules 3, 4 and 5 */

bool vs_store_check(const vs_store *store);

#endif
