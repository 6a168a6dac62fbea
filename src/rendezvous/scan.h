/* From bytes to queries: queries.def is the grammar. Clients are not trusted: every length is checked against the bounds
 * below, which are PyTorch's own where it has one. */
#ifndef VS_RENDEZVOUS_SCAN_H
#define VS_RENDEZVOUS_SCAN_H

#include "base/text.h"

enum {
  VS_STORE_KEY_MOST = 8 * 1024,
  VS_STORE_VALUE_MOST = 8 * 1024 * 1024,
  VS_STORE_COUNT_MOST = 128 * 1024,
  VS_STORE_QUERY_MOST = 32 * 1024 * 1024, /* bytes of one query; ours, PyTorch has none */
};

typedef enum vs_query {
#define VS_STORE_QUERY(name, code, grammar) VS_QUERY_##name = (code),
#include "rendezvous/queries.def"
#undef VS_STORE_QUERY
} vs_query;

/* How far the first query was found to be whole, so that no byte is looked at twice while more come.
 * Invariant: `at` <= size; `field` points into the query's grammar, `items` fields are still to come of a list. */
typedef struct vs_scan {
  const uint8_t *data; /* of the last call */
  size_t size;
  const char *field; /* NULL: not begun */
  size_t at;
  uint64_t items;
  bool is_list; /* its count was read */
} vs_scan;

/* Finds out whether the first query in the `size` bytes at `data` is whole, going on where it stopped the last time: then
 * the data began with the same bytes. A whole query has `at` bytes. `is_valid`: the client has sent the magic number.
 * Fails: VS_BAD_FORMAT, VS_UNSUPPORTED, VS_LIMIT, each with a sentence */
VS_MUST_CHECK vs_status vs_scan_query(vs_scan *scan, const uint8_t *data, size_t size, bool is_valid,
                                      bool *is_whole, vs_error *error);

#endif
