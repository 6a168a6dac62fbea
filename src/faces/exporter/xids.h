/* The XID errors of the cards since the exporter began. The driver tells an error once, to those that wait for it, so a thread with its own
 * connection waits all the time.
 *
 * While there is no connection, errors are missed: the driver does not tell later how many there were. */
#ifndef VS_EXPORTER_XIDS_H
#define VS_EXPORTER_XIDS_H

#include "base/vec.h"
#include "devices/xids.h"

enum { VS_XID_NUMBERS = 24 };

/* Of one card. Invariant: counts[0 .. kinds) have different numbers, in the order in which they came first; `others` are the errors of further
 * numbers; last_us is 0 exactly if there was none. */
typedef struct vs_xid_card {
  char uuid[VS_TELEMETRY_NAME];
  uint32_t index;
  vs_metric watched; /* known: each error is counted now; else why not */
  uint32_t kinds;
  struct {
    uint32_t number;
    uint64_t count;
  } counts[VS_XID_NUMBERS];
  uint64_t others;
  uint32_t last;    /* the number of the last one, ... */
  uint64_t last_us; /* ... and when it came, since 1970 */
} vs_xid_card;

typedef VS_VEC(vs_xid_card) vs_xid_cards;
typedef struct vs_xids vs_xids;

/* Starts the thread, and waits until it watches, at most a few seconds. Owner: the caller, vs_xids_free. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_xids_start(vs_xids **out, const vs_host *host);
/* Fills `cards` with all cards that there were. Any thread. */
VS_MUST_CHECK vs_status vs_xids_read(vs_xids *xids, vs_xid_cards *cards);
/* Ends the thread; what it has counted can be read still. Where the driver hangs, it goes on, and the process may end. NULL is allowed. */
void vs_xids_stop(vs_xids *xids);
/* After vs_xids_stop, once nothing reads it any more. False: the thread goes on, and nothing is freed. NULL is allowed. */
bool vs_xids_free(vs_xids *xids);

/* Our words for a number; "" for one that has none. */
const char *vs_xid_text(uint32_t number);

#endif
