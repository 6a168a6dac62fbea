/* Finds queries in the bytes of a client; queries.def is the grammar. Clients are not trusted: every length is checked
 * against the bounds below, which are PyTorch's own if it has one. */
#ifndef VS_RENDEZVOUS_SCAN_H
#define VS_RENDEZVOUS_SCAN_H

#include "base/text.h"

enum {
  VS_STORE_KEY_MOST = 8 * 1024,
  VS_STORE_VALUE_MOST = 8 * 1024 * 1024,
  VS_STORE_COUNT_MOST = 128 * 1024,
  VS_STORE_QUERY_MOST = 32 * 1024 * 1024, /* bytes of one query; our bound, PyTorch has none */
};

typedef enum vs_query {
#define VS_STORE_QUERY(name, code, grammar) VS_QUERY_##name = (code),
#include "rendezvous/queries.def"
#undef VS_STORE_QUERY
} vs_query;

/* How much of the first query has arrived, so that no byte is scanned twice.
 * Invariant: `at` <= size; `field` points into the query's grammar; with is_list, `items` fields of the list are missing. */
typedef struct vs_scan {
  const uint8_t *data; /* of the last call */
  size_t size;
  const char *field; /* NULL: no query has begun */
  size_t at;
  uint64_t items;
  bool is_list; /* its count was read */
} vs_scan;

/* Determines whether the first query in the `size` bytes at `data` is complete. It continues where the last call stopped, so
 * the data must begin with the same bytes. A complete query has `at` bytes. `is_valid`: the client has sent the magic number.
 * Fails: VS_BAD_FORMAT, VS_UNSUPPORTED, VS_LIMIT, each with a sentence */
VS_MUST_CHECK vs_status vs_scan_query(vs_scan *scan, const uint8_t *data, size_t size, bool is_valid,
                                      bool *is_whole, vs_error *error);

#endif
