/* The answers of a store of keys and values: bytes of PyTorch's TCPStore protocol in, bytes out. It has no sockets, clock or
 * threads; queries.def is the protocol, server.h the server.
 *
 * A store may also answer for ranks that do not run (`copies` > 1). The rule is a WORLD OF IDENTICAL RANKS: all of them do
 * what this one does, and this one always arrives last.
 *
 *   1. All ranks add what this rank adds. ADD(key, n) counts n * copies, BARRIER counts copies. So a count of arrivals is
 *      complete when this rank arrives, in every round.
 *   2. A key that this rank has set keeps its value. No rule below replaces it.
 *   3. A key that is not set, but differs only in its digits from one that this rank has set ("synced/7" is wanted and
 *      "synced/0" is set), counts as set by another rank. It has the value of the latest such key.
 *   4. A key that is not set and belongs to a count ("barrier:last_worker" to "barrier", "join/last_member" to
 *      "join/num_members") counts as set by the last rank that was counted: "1".
 *   5. A key under which process groups exchange NCCL's unique ids has an id of 128 bytes.
 *   6. Any other key is missing. CHECK reports it, WAIT waits. After VS_STORE_PATIENCE_US the store tells the user in one
 *      sentence that no rank will set the key; the client's own timeout ends the wait.
 *
 * So values that differ between ranks (an address, a ticket, the choice of rank 0) are always this rank's own. A queue returns
 * the values that this rank pushed. With copies = 1 only rule 2 applies: an ordinary store.
 *
 * Clients are not trusted. Every length is checked against the bounds of scan.h; memory is bounded for the store as a whole;
 * bytes that form no query are refused with a sentence, and the caller closes their client. */
#ifndef VS_RENDEZVOUS_STORE_H
#define VS_RENDEZVOUS_STORE_H

#include "base/text.h"

#define VS_STORE_MAGIC       UINT32_C(0x3c85f7ce) /* the number that VALIDATE sends */
#define VS_STORE_PATIENCE_US UINT64_C(3000000)

enum { VS_STORE_SENTENCE = 400 };

typedef struct vs_store_settings {
  uint64_t copies; /* ranks that each client represents, from 1 to 2^20 */
  uint64_t memory; /* bytes that the store may use, with its clients */
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

/* Takes bytes from a client, cut anywhere. Answers are appended to the outputs of this client and of those whose wait ends.
 * After a failure the caller closes the client: VS_BAD_FORMAT (not a query, or not a number), VS_LIMIT (a bound),
 * VS_NO_MEMORY; `error` has the sentence. The queries before the failed one were executed. */
VS_MUST_CHECK vs_status vs_store_feed(vs_store *store, vs_store_client *client, const void *bytes,
                                      size_t size, vs_error *error);

/* The bytes to send to a client; borrowed until the next call. vs_store_sent removes the first `count` of them. */
vs_str vs_store_output(const vs_store_client *client);
void vs_store_sent(vs_store_client *client, size_t count);

/* Passes the time, so that the store can report waits that no rank will end. */
void vs_store_tick(vs_store *store, uint64_t now_us);

uint64_t vs_store_requests(const vs_store *store);
uint64_t vs_store_inferred(const vs_store *store); /* answers by rules 3, 4 and 5 */

/* Executes the invariants of entries.h, and that clients are linked and within their buffers. */
bool vs_store_check(const vs_store *store);

#endif
